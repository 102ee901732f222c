/** Labelled inputs, made from the attributes of a plan's schema. */
import type { Attribute, Categorical, Numeric } from "hush-client";
import { html } from "./elements";
import { plain, UNSAID } from "./words";

export type Value = number | string | null;

/** An input on the page: its element, and its value once it is checked. */
export interface Field {
  element: HTMLElement;
  /** Check the input: return the problem in words, and mark the input. Empty if there is none. */
  check(): string;
  value(): Value;
  focus(): void;
  /** The id of the input, to link to. */
  id: string;
  name: string;
}

const MOST_RADIOS = 7;
const FEWEST_SUGGESTED = 40; // a longer list is searched by typing

export function field(attribute: Attribute, index: number): Field {
  return watched(made(attribute, `attribute-${index}`));
}

function made(attribute: Attribute, id: string): Field {
  if (attribute.kind === "numeric") return numeric(attribute, id);
  const choices = attribute.values.length + Number(attribute.optional);
  return choices <= MOST_RADIOS ? radios(attribute, id) : select(attribute, id);
}

/** Check a wrong input again as soon as it changes. */
function watched(found: Field): Field {
  const again = (): void => {
    if (found.element.querySelector("[aria-invalid]") !== null) found.check();
  };
  found.element.addEventListener("input", again);
  found.element.addEventListener("change", again);
  return found;
}

function problem(id: string): HTMLElement {
  return html("p", { class: "error", id: `${id}-problem`, hidden: true });
}

/** Show a problem beside its input, for screen readers too. The label names the input. */
function marked(inputs: HTMLElement[], place: HTMLElement, name: string, text: string): string {
  place.textContent = text.replace(`${name}: `, "");
  place.hidden = text === "";
  for (const input of inputs) {
    if (text === "") input.removeAttribute("aria-invalid");
    else input.setAttribute("aria-invalid", "true");
  }
  return text;
}

function numeric(attribute: Numeric, id: string): Field {
  const bounds = `a number from ${plain(attribute.low)} to ${plain(attribute.high)}`;
  const clipped = attribute.out_of_range === "clip" ? "; lower or higher numbers count as these" : "";
  const optional = attribute.optional ? "; leave it empty if you would rather not say" : "";
  const input = html("input", {
    id,
    type: "number",
    inputmode: "decimal",
    step: "any",
    autocomplete: "off",
    "aria-describedby": `${id}-hint ${id}-problem`,
    required: !attribute.optional,
  });
  const place = problem(id);
  const element = html(
    "div",
    { class: "field", "data-attribute": attribute.name },
    html("label", { for: id }, attribute.name),
    html("p", { class: "quiet small", id: `${id}-hint` }, `${bounds}${clipped}${optional}`),
    input,
    place,
  );
  function wrong(): string {
    if (input.validity.badInput) return `${attribute.name}: must be ${bounds}`;
    if (input.value === "") return attribute.optional ? "" : `${attribute.name}: is needed, ${bounds}`;
    const value = input.valueAsNumber;
    const outside = value < attribute.low || value > attribute.high;
    const bad = !Number.isFinite(value) || (outside && attribute.out_of_range === "error");
    return bad ? `${attribute.name}: must be ${bounds}` : "";
  }
  return {
    element,
    id,
    name: attribute.name,
    check: () => marked([input], place, attribute.name, wrong()),
    value: () => (input.value === "" ? null : input.valueAsNumber),
    focus: () => input.focus(),
  };
}

function radios(attribute: Categorical, id: string): Field {
  const place = problem(id);
  const element = html(
    "fieldset",
    { class: "field", "data-attribute": attribute.name, "aria-describedby": `${id}-problem` },
    html("legend", {}, attribute.name),
  );
  const inputs: HTMLInputElement[] = [];
  const labels = attribute.values.map(String).concat(attribute.optional ? [UNSAID] : []);
  labels.forEach((label, index) => {
    const input = html("input", { type: "radio", name: id, id: index === 0 ? id : `${id}-${index}` });
    inputs.push(input);
    element.append(html("label", { class: "choice" }, input, html("span", {}, label)));
  });
  element.append(place);
  const chosen = (): number => inputs.findIndex((input) => input.checked);
  return {
    element,
    id,
    name: attribute.name,
    check: () => marked(inputs, place, attribute.name, chosen() < 0 ? `${attribute.name}: choose one` : ""),
    value: () => attribute.values[chosen()] ?? null,
    focus: () => inputs[0]?.focus(),
  };
}

function select(attribute: Categorical, id: string): Field {
  if (attribute.values.length >= FEWEST_SUGGESTED) return typed(attribute, id);
  const place = problem(id);
  const input = html(
    "select",
    { id, "aria-describedby": `${id}-problem`, required: true },
    html("option", { value: "" }, "Choose …"),
    ...attribute.values.map((value, index) => html("option", { value: index }, String(value))),
    ...(attribute.optional ? [html("option", { value: attribute.values.length }, UNSAID)] : []),
  );
  return {
    element: html(
      "div",
      { class: "field", "data-attribute": attribute.name },
      html("label", { for: id }, attribute.name),
      input,
      place,
    ),
    id,
    name: attribute.name,
    check: () => marked([input], place, attribute.name, input.value === "" ? `${attribute.name}: choose one` : ""),
    value: () => (input.value === "" ? null : (attribute.values[Number(input.value)] ?? null)),
    focus: () => input.focus(),
  };
}

/** A field with suggestions, for lists that are too long to look through. */
function typed(attribute: Categorical, id: string): Field {
  const place = problem(id);
  const known = new Map(attribute.values.map((value) => [String(value), value]));
  const hint = `one of ${attribute.values.length} values: type a part of it, and choose`;
  const optional = attribute.optional ? "; leave it empty if you would rather not say" : "";
  const input = html("input", {
    id,
    type: "text",
    list: `${id}-values`,
    autocomplete: "off",
    "aria-describedby": `${id}-hint ${id}-problem`,
    required: !attribute.optional,
  });
  const list = html("datalist", { id: `${id}-values` }, ...[...known.keys()].map((value) => html("option", { value })));
  function wrong(): string {
    if (input.value === "" && attribute.optional) return "";
    return known.has(input.value) ? "" : `${attribute.name}: must be ${hint}`;
  }
  return {
    element: html(
      "div",
      { class: "field", "data-attribute": attribute.name },
      html("label", { for: id }, attribute.name),
      html("p", { class: "quiet small", id: `${id}-hint` }, `${hint}${optional}`),
      input,
      list,
      place,
    ),
    id,
    name: attribute.name,
    check: () => marked([input], place, attribute.name, wrong()),
    value: () => (input.value === "" && attribute.optional ? null : (known.get(input.value) ?? null)),
    focus: () => input.focus(),
  };
}
