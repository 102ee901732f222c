// Controls for the reader's choices.

import { html } from "./elements.js";
import { percent } from "./text.js";

export interface Choice {
  label: string;
  /** The text after it. */
  after?: string;
  testid: string;
  /** Shares, as the interface takes them. */
  values: readonly string[];
  chosen: string;
  changed: (value: string) => void;
}

/** A choice among some shares. */
export function choose({ label, after, testid, values, chosen, changed }: Choice): HTMLElement {
  const id = `choose-${testid}`;
  const made = html("select", { id, "data-testid": testid });
  for (const value of values) made.append(html("option", { value, selected: value === chosen }, percent(Number(value))));
  made.addEventListener("change", () => changed(made.value));
  const row = html("div", { class: "row screen" }, html("label", { for: id }, label), made);
  if (after !== undefined) row.append(html("span", {}, after));
  return row;
}
