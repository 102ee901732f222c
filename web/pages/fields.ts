/** Labelled inputs, made from the attributes of a plan's schema and their presentation. */
import type { Attribute, Categorical, Numeric } from "hush-client";
import { html } from "./elements";
import { t } from "./language";
import { labelled, shownAs, titled } from "./presentation";
import { plain } from "./words";

export type Value = number | string | null;

/** An input on the page: its element, and its value once it is checked. */
export interface Field {
  element: HTMLElement;
  /** Check the input: return the problem in words, and mark the input. Empty if there is none. */
  check(): string;
  value(): Value;
  /** Whether something was chosen or typed. */
  begun(): boolean;
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
  const { order } = shownAs(attribute.name);
  const known = new Map<string, Value>(attribute.values.map((value) => [String(value), value]));
  const values = order.length === known.size ? order.map((text) => known.get(text) ?? null) : [...known.values()];
  const choices = values.map((value): Choice => [value, labelled(attribute.name, value)]);
  if (attribute.optional) choices.push([null, t("unsaid")]);
  if (choices.length <= MOST_RADIOS) return radios(attribute, id, choices);
  return attribute.values.length >= FEWEST_SUGGESTED ? typed(attribute, id, choices) : select(attribute, id, choices);
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

/** The words around an input: help, rules, and the place of a problem. */
class Around {
  readonly problem: HTMLElement;
  readonly hints: HTMLElement[] = [];
  readonly described: string;

  constructor(
    readonly id: string,
    readonly name: string,
    rule = "",
  ) {
    const { help } = shownAs(name);
    if (help !== "") this.hints.push(html("p", { class: "quiet help", id: `${id}-help` }, help));
    if (rule !== "") this.hints.push(html("p", { class: "quiet small", id: `${id}-hint` }, rule));
    this.problem = html("p", { class: "error", id: `${id}-problem`, hidden: true });
    this.described = [...this.hints.map((hint) => hint.id), `${id}-problem`].join(" ");
  }

  /** A field with one input, named by its label. */
  labelled(...inputs: HTMLElement[]): HTMLElement {
    const label = html("label", { for: this.id }, titled(this.name));
    return html("div", { class: "field", "data-attribute": this.name }, label, ...this.hints, ...inputs, this.problem);
  }

  /** A group of inputs, named by its legend. */
  grouped(kind: string, ...inputs: HTMLElement[]): HTMLElement {
    const legend = html("legend", {}, titled(this.name));
    const attributes = { class: "field", "data-attribute": this.name, "aria-describedby": this.described };
    return html("fieldset", attributes, legend, ...this.hints, html("div", { class: kind }, ...inputs), this.problem);
  }

  /** Show a problem beside its input, for screen readers too. */
  marked(inputs: HTMLElement[], text: string): string {
    this.problem.textContent = text;
    this.problem.hidden = text === "";
    for (const input of inputs) {
      if (text === "") input.removeAttribute("aria-invalid");
      else input.setAttribute("aria-invalid", "true");
    }
    return text;
  }
}

type Choice = readonly [Value, string];

function numeric(attribute: Numeric, id: string): Field {
  const { widget } = shownAs(attribute.name);
  if (widget === "buttons" || widget === "stars") return scale(attribute, id, widget);
  if (widget === "slider") return slider(attribute, id);
  const whole = widget === "number";
  const { unit } = shownAs(attribute.name);
  const bounds = t(whole ? "integer" : "number", { low: plain(attribute.low), high: plain(attribute.high) });
  const rules = [unit === "" ? bounds : `${bounds} (${unit})`];
  if (attribute.out_of_range === "clip") rules.push(t("clipped"));
  if (attribute.optional) rules.push(t("optional"));
  const around = new Around(id, attribute.name, rules.join("; "));
  const input = html("input", {
    id,
    type: "number",
    inputmode: whole && attribute.low >= 0 ? "numeric" : "decimal",
    step: whole ? "1" : "any",
    autocomplete: "off",
    "aria-describedby": around.described,
    required: !attribute.optional,
  });
  function wrong(): string {
    if (input.validity.badInput) return t("mustBe", { rule: bounds });
    if (input.value === "") return attribute.optional ? "" : t("needed", { rule: bounds });
    const value = input.valueAsNumber;
    const outside = value < attribute.low || value > attribute.high;
    const bad = !Number.isFinite(value) || (outside && attribute.out_of_range === "error");
    return bad || (whole && !Number.isInteger(value)) ? t("mustBe", { rule: bounds }) : "";
  }
  const shown = unit === "" ? [input] : [html("div", { class: "row" }, input, html("span", { "aria-hidden": "true" }, unit))];
  return {
    element: around.labelled(...shown),
    id,
    name: attribute.name,
    check: () => around.marked([input], wrong()),
    value: () => (input.value === "" ? null : input.valueAsNumber),
    begun: () => input.value !== "",
    focus: () => input.focus(),
  };
}

/** The integers of a short scale, to press. */
function scale({ name, low, high, optional }: Numeric, id: string, widget: "buttons" | "stars"): Field {
  const { unit } = shownAs(name);
  const values = Array.from({ length: high - low + 1 }, (_, index) => low + index);
  const choices = values.map((value): Choice => [value, widget === "stars" ? "★" : plain(value)]);
  const found = pressed(name, id, optional ? [...choices, [null, t("unsaid")]] : choices, widget, unit);
  if (widget === "stars") {
    const inputs = found.element.querySelectorAll("input");
    values.forEach((value, index) => inputs[index]?.setAttribute("aria-label", t("ofStars", { number: value, count: high })));
  }
  return found;
}

function radios({ name }: Categorical, id: string, choices: Choice[]): Field {
  return pressed(name, id, choices, "choices");
}

/** One of a few choices. */
function pressed(name: string, id: string, choices: readonly Choice[], kind: string, rule = ""): Field {
  const around = new Around(id, name, rule);
  const inputs = choices.map((_, index) => html("input", { type: "radio", name: id, id: index === 0 ? id : `${id}-${index}` }));
  const labels = choices.map(([value, label], index) => {
    const shown = html("span", {}, label);
    return html("label", { class: value === null && kind !== "choices" ? "choice unsaid" : "choice" }, inputs[index] ?? "", shown);
  });
  const chosen = (): number => inputs.findIndex((input) => input.checked);
  return {
    element: around.grouped(kind, ...labels),
    id,
    name,
    check: () => around.marked(inputs, chosen() < 0 ? t("chooseOne") : ""),
    value: () => choices[chosen()]?.[0] ?? null,
    begun: () => chosen() >= 0,
    focus: () => (inputs[chosen()] ?? inputs[0])?.focus(),
  };
}

/** A slider of integers. It has no answer until it is moved: its first place would be suggested to everybody. */
function slider({ name, low, high }: Numeric, id: string): Field {
  const { unit } = shownAs(name);
  const around = new Around(id, name);
  const input = html("input", { id, type: "range", min: low, max: high, step: 1, "aria-describedby": around.described, "aria-valuetext": t("unmoved") });
  input.value = String(Math.round((low + high) / 2));
  const told = html("output", { for: id, class: "moved" }, t("unmoved"));
  let moved = false;
  const tell = (): void => {
    moved = true;
    told.textContent = `${plain(input.valueAsNumber)}${unit === "" ? "" : ` ${unit}`}`;
    input.setAttribute("aria-valuetext", told.textContent);
  };
  for (const name of ["input", "change", "click"]) input.addEventListener(name, tell);
  const ends = html("div", { class: "ends small", "aria-hidden": "true" }, html("span", {}, plain(low)), html("span", {}, plain(high)));
  return {
    element: around.labelled(told, input, ends),
    id,
    name,
    check: () => around.marked([input], moved ? "" : t("slide")),
    value: () => (moved ? input.valueAsNumber : null),
    begun: () => moved,
    focus: () => input.focus(),
  };
}

function select({ name }: Categorical, id: string, choices: Choice[]): Field {
  const around = new Around(id, name);
  const input = html(
    "select",
    { id, "aria-describedby": around.described, required: true },
    html("option", { value: "" }, t("choose")),
    ...choices.map(([, label], index) => html("option", { value: index }, label)),
  );
  return {
    element: around.labelled(input),
    id,
    name,
    check: () => around.marked([input], input.value === "" ? t("chooseOne") : ""),
    value: () => (input.value === "" ? null : (choices[Number(input.value)]?.[0] ?? null)),
    begun: () => input.value !== "",
    focus: () => input.focus(),
  };
}

/** A field with suggestions, for lists that are too long to look through. */
function typed({ name, optional, values }: Categorical, id: string, choices: Choice[]): Field {
  const known = new Map(choices.filter(([value]) => value !== null).map(([value, label]) => [label, value]));
  const hint = t("typed", { count: values.length });
  const around = new Around(id, name, optional ? `${hint}; ${t("optional")}` : hint);
  const input = html("input", {
    id,
    type: "text",
    list: `${id}-values`,
    autocomplete: "off",
    "aria-describedby": around.described,
    required: !optional,
  });
  const list = html("datalist", { id: `${id}-values` }, ...[...known.keys()].map((value) => html("option", { value })));
  function wrong(): string {
    if (input.value === "" && optional) return "";
    return known.has(input.value) ? "" : t("mustBe", { rule: hint });
  }
  return {
    element: around.labelled(input, list),
    id,
    name,
    check: () => around.marked([input], wrong()),
    value: () => (input.value === "" && optional ? null : (known.get(input.value) ?? null)),
    begun: () => input.value !== "",
    focus: () => input.focus(),
  };
}
