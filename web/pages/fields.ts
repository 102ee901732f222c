/** Labelled inputs, made from the attributes of a plan's schema and their presentation. */
import type { Attribute, Categorical, Choices, Numeric, Text } from "hush-client";
import { Around, type Field, type Value } from "./around";
import { boxes } from "./boxes";
import { dated } from "./dates";
import { html } from "./elements";
import { t } from "./language";
import { asks, labelled, named, OTHER, shownAs } from "./presentation";
import { plain } from "./figures";

const MOST_RADIOS = 7;
const MOST_BUTTONS = 11; // of a scale: 0 to 10
const FEWEST_SUGGESTED = 40; // a longer list is searched by typing

const MOST_SUGGESTED = 4100; // of a longer list, those that match what was typed
const MOST_OFFERED = 30;

/** The input for an attribute. `members`: the only values of choices that the report will look at. */
export function field(attribute: Attribute, index: number, members?: readonly string[]): Field {
  return watched(made(attribute, `attribute-${index}`, members));
}

function made(attribute: Attribute, id: string, members?: readonly string[]): Field {
  if (attribute.kind === "numeric") return numeric(attribute, id);
  if (attribute.kind === "choices") return members?.length === 1 ? member(attribute, id, members) : boxes(attribute, id, members);
  if (attribute.kind === "text") return free(attribute, id);
  const { order } = shownAs(attribute.name);
  // "Yes" comes first where people read, whatever the order of the categories.
  const listed: readonly Value[] = attribute.holds === "boolean" ? [true, false] : attribute.values;
  const all = attribute.other ? [...listed, OTHER] : listed;
  const known = new Map<string, Value>(all.map((value) => [named(value), value]));
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

type Choice = readonly [Value, string];

function numeric(attribute: Numeric, id: string): Field {
  if (attribute.holds === "date" || attribute.holds === "time") return dated({ ...attribute, holds: attribute.holds }, id);
  const integer = attribute.holds === "integer";
  const short = integer && attribute.high - attribute.low < MOST_BUTTONS;
  const widget = shownAs(attribute.name).widget || (short ? "buttons" : "");
  if (widget === "buttons" || widget === "stars") return scale(attribute, id, widget);
  if (widget === "slider") return slider(attribute, id);
  const whole = integer || widget === "number";
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

/** A text of one's own. What lies outside the alphabet is dropped on the device, so nothing written here is wrong. */
function free(attribute: Text, id: string): Field {
  const rule = t("anyText", { count: attribute.length });
  const around = new Around(id, attribute.name, attribute.optional ? `${rule}; ${t("optional")}` : rule);
  const input = html("input", {
    id,
    type: "text",
    maxlength: "256",
    autocomplete: "off",
    "aria-describedby": around.described,
    required: !attribute.optional,
  });
  const wrong = (): string => (input.value === "" && !attribute.optional ? t("needed", { rule }) : "");
  return {
    element: around.labelled(input),
    id,
    name: attribute.name,
    check: () => around.marked([input], wrong()),
    value: () => (input.value === "" ? null : input.value),
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

/** Whether a person holds one value of choices, if the report will look at no other. */
function member({ name, optional }: Choices, id: string, members: readonly string[]): Field {
  const choices: Choice[] = [[members, t("yes")], [[], t("no")]];
  return pressed(name, id, optional ? [...choices, [null, t("unsaid")]] : choices, "choices", "", asks(name, members));
}

/** One of a few choices. */
function pressed(name: string, id: string, choices: readonly Choice[], kind: string, rule = "", title?: string): Field {
  const around = new Around(id, name, rule, title);
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

/** The first labels with this text in them: those that begin with it, then others. */
function matching(labels: readonly string[], text: string): string[] {
  const wanted = text.toLowerCase();
  const [first, others]: [string[], string[]] = [[], []];
  for (const label of labels) {
    const at = label.toLowerCase().indexOf(wanted);
    if (at === 0) first.push(label);
    else if (at > 0 && others.length < MOST_OFFERED) others.push(label);
    if (first.length === MOST_OFFERED) break;
  }
  return [...first, ...others].slice(0, MOST_OFFERED);
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
  const labels = [...known.keys()];
  const list = html("datalist", { id: `${id}-values` });
  const offer = (some: readonly string[]): void => list.replaceChildren(...some.map((value) => html("option", { value })));
  if (labels.length <= MOST_SUGGESTED) offer(labels);
  else input.addEventListener("input", () => offer(input.value === "" ? [] : matching(labels, input.value)));
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
