// Controls for the reader's choices.

import { html } from "./elements.js";
import { percent } from "./text.js";

export interface Choice {
  label: string;
  /** The text after it. */
  after?: string;
  testid: string;
  /** As the interface takes them: shares, unless `show` writes something else. */
  values: readonly string[];
  show?: (value: string) => string;
  /** Where a page has several such choices: something that only this one has. */
  key?: string;
  chosen: string;
  changed: (value: string) => void;
}

/** A choice among some values. */
export function choose({ label, after, testid, values, show, key, chosen, changed }: Choice): HTMLElement {
  const id = `choose-${testid}${key ?? ""}`;
  const written = show ?? ((value: string) => percent(Number(value)));
  const made = html("select", { id, "data-testid": testid });
  for (const value of values) made.append(html("option", { value, selected: value === chosen }, written(value)));
  made.addEventListener("change", () => changed(made.value));
  const row = html("div", { class: "row screen" }, html("label", { for: id }, label), made);
  if (after !== undefined) row.append(html("span", {}, after));
  return row;
}
