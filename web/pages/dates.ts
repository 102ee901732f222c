/** Inputs for dates and times of day. */
import type { Numeric } from "hush-client";
import { Around, type Field } from "./around";
import { counted, iso, spoken } from "./calendar";
import { html } from "./elements";
import { language, t } from "./language";

const PICKED = 3 * 366; // days: in longer ranges, such as birthdays, typing is quicker than turning pages of a calendar

type Dates = Numeric & { readonly holds: "date" | "time" };

/** The input of a date or a time of day. */
export function dated(attribute: Dates, id: string): Field {
  const { name, low, high, holds, step = 60, optional, out_of_range } = attribute;
  const [from, to] = [low, high].map((end) => spoken(attribute, end, language()));
  const turn = 86400 / step;
  const free = holds === "time" && high - low + 1 === turn; // any time will do
  const bounds = t(free ? "anyTime" : holds, { low: from ?? "", high: to ?? "" });
  const rules = [bounds];
  if (out_of_range === "clip" && !free) rules.push(t("clippedDates"));
  if (optional) rules.push(t("optional"));
  const around = new Around(id, name, rules.join("; "));
  const parts = holds === "date" && high - low > PICKED ? typedParts(attribute, id, around) : picked(attribute, id, around);
  function wrong(): string {
    const text = parts.text();
    if (text === "") return optional ? "" : t("needed", { rule: bounds });
    const value = text === null ? NaN : counted(attribute, text);
    const outside = !(value >= low && value <= high);
    return Number.isNaN(value) || (outside && out_of_range === "error") ? t("mustBe", { rule: bounds }) : "";
  }
  return {
    element: parts.element,
    id,
    name,
    check: () => around.marked(parts.inputs, wrong()),
    value: () => parts.text() || null,
    begun: () => parts.text() !== "",
    focus: () => parts.inputs[0]?.focus(),
  };
}

interface Parts {
  element: HTMLElement;
  inputs: HTMLElement[];
  /** The date or the time; empty if nothing was entered, and null if it is none. */
  text(): string | null;
}

/** The browser's own input. */
function picked(attribute: Dates, id: string, around: Around): Parts {
  const { holds, low, high, step = 60, optional, out_of_range } = attribute;
  const input = html("input", {
    id,
    type: holds,
    step: holds === "time" && step % 60 !== 0 ? 1 : holds === "time" ? 60 : 1,
    autocomplete: "off",
    "aria-describedby": around.described,
    required: !optional,
  });
  // A range of times that goes past midnight is one that inputs know, too.
  if (out_of_range === "error") {
    input.min = iso(attribute, low);
    input.max = iso(attribute, high);
  }
  return { element: around.labelled(input), inputs: [input], text: () => (input.validity.badInput ? null : input.value) };
}

/** Day, month and year, in the order of the language. */
function typedParts({ optional }: Dates, id: string, around: Around): Parts {
  const typed = (part: "day" | "year", most: number): HTMLInputElement =>
    html("input", {
      id: `${id}-${part}`,
      type: "text",
      inputmode: "numeric",
      maxlength: most,
      size: most,
      autocomplete: "off",
      "aria-describedby": around.described,
      required: !optional,
    });
  const [day, year] = [typed("day", 2), typed("year", 4)];
  const names = Array.from({ length: 12 }, (_, month) =>
    new Intl.DateTimeFormat(language(), { month: "long", timeZone: "UTC" }).format(Date.UTC(2000, month, 1)),
  );
  const month = html(
    "select",
    { id: `${id}-month`, "aria-describedby": around.described, required: !optional },
    html("option", { value: "" }, ""),
    ...names.map((text, index) => html("option", { value: index + 1 }, text)),
  );
  const labelled = { day: [t("day"), day], month: [t("month"), month], year: [t("year"), year] } as const;
  const order = new Intl.DateTimeFormat(language(), { dateStyle: "long", timeZone: "UTC" })
    .formatToParts(0)
    .map(({ type }) => type)
    .filter((type): type is keyof typeof labelled => type in labelled);
  const inputs = order.map((part) => labelled[part][1]);
  if (inputs[0] !== undefined) inputs[0].id = id; // where links to the field lead
  const shown = order.map((part) => html("label", {}, html("span", { class: "small" }, labelled[part][0]), labelled[part][1]));
  const two = (text: string): string => text.padStart(2, "0");
  return {
    element: around.grouped("parts", ...shown),
    inputs,
    text: () => {
      const [d, m, y] = [day.value.trim(), month.value, year.value.trim()];
      if (d === "" && m === "" && y === "") return "";
      const text = `${y.padStart(4, "0")}-${two(m)}-${two(d)}`;
      const time = /^\d{4}-\d\d-\d\d$/.test(text) && y.length === 4 ? Date.parse(text) : NaN;
      return new Date(time || 0).toISOString().startsWith(text) && !Number.isNaN(time) ? text : null;
    },
  };
}
