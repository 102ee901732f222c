// The first words about each attribute: a compact card with intervals in words, before any chart.

import { datedAs, spoken as date } from "./calendar.js";
import type { Attribute, EstimateRow } from "./documents.js";
import { html } from "./elements.js";
import { lacking, say, whole } from "./text.js";

export const MISSING = "(missing)"; // as in src/hush/core/naming.py
export const CHOICES = "choices"; // the kind of an attribute with several answers
const MOST_LINES = 4; // categories on one card; all are in the chart and its table
const YES = new Set(["yes", "true", "ja", "oui", "sí", "sì"]);

export const NONE = "Nobody has answered this yet.";
export const ELSEWHERE = "The plan asks about it in bands or with another attribute only: see Relations.";
export const UNTOLD = "cannot be told from none";

/** Whether the share of a category is more than noise: its interval lies above 0. */
export function told({ low }: EstimateRow): boolean {
  return low !== null && low > 0;
}

/** The largest share first; those that cannot be told from none come last. */
export function sorted(rows: readonly EstimateRow[]): EstimateRow[] {
  return [...rows].sort((a, b) => Number(told(b)) - Number(told(a)) || (b.point ?? 0) - (a.point ?? 0));
}

/** The share below which a category cannot be told from none, about: as wide as the noise of small shares. */
export function floor(rows: readonly EstimateRow[]): number | null {
  const noise = Math.max(...rows.filter((row) => !told(row)).map(({ point, high }) => (high ?? 0) - (point ?? 0)));
  if (!Number.isFinite(noise)) return null;
  const most = Math.min(1, ...rows.filter(told).map(({ point }) => point ?? 1));
  const least = Math.max(0, ...rows.filter((row) => !told(row)).map(({ point }) => point ?? 0));
  return Math.max(least, Math.min(noise, most)); // never between a share and its own verdict
}

interface Words {
  point: string;
  low: string;
  high: string;
}

/** Round an interval outwards, to digits that mean something: what is said then holds as often as the interval. */
export function rounded({ point, low, high }: Pick<EstimateRow, "point" | "low" | "high">, factor: 1 | 100): Words {
  const [from, to] = [factor * (low ?? 0), factor * (high ?? 0)];
  const power = to > from ? Math.floor(Math.log10((to - from) / 4)) : -2;
  const step = 10 ** power;
  const places = Math.min(20, Math.max(0, -power));
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: places, maximumFractionDigits: places, signDisplay: "negative" });
  const write = (steps: number): string => format.format(steps * step);
  return {
    point: write(Math.round((factor * (point ?? 0)) / step)),
    low: from > 0 && from < step ? first(from) : write(Math.floor(from / step + 1e-9)),
    high: write(Math.ceil(to / step - 1e-9)),
  };
}

/** The first digit of a small number, rounded down: not 0, as that would say something else. */
function first(value: number): string {
  const power = Math.floor(Math.log10(value));
  return (Math.floor(value / 10 ** power + 1e-9) * 10 ** power).toFixed(Math.min(20, Math.max(0, -power)));
}

/** A share with its margin: between 42 and 47 %. */
export function share(row: EstimateRow): string {
  const { low, high } = rounded(row, 100);
  return told(row) ? `between ${low} and ${high}\u00a0%` : `${UNTOLD}, at most ${high}\u00a0%`;
}

/** A mean with its margin: about 34.2, between 33.8 and 34.6. */
export function mean(row: EstimateRow): string {
  const dates = datedAs(row.attribute);
  if (dates !== undefined) {
    const said = (value: number | null): string => date(dates, value ?? 0);
    return `about ${said(row.point)}, between ${said(Math.floor(row.low ?? 0))} and ${said(Math.ceil(row.high ?? 0))}`;
  }
  const { point, low, high } = rounded(row, 1);
  return `about ${point}, between ${low} and ${high}`;
}

/** Of two categories the one to speak of: yes, or the larger one. Of choices each has a share of its own. */
export function spoken(rows: readonly EstimateRow[], holds: string): EstimateRow | undefined {
  if (holds === CHOICES) return undefined;
  const two = rows.filter(({ category }) => category !== MISSING);
  if (two.length !== 2) return undefined;
  return two.find(({ category }) => YES.has(String(category).toLowerCase())) ?? sorted(two)[0];
}

function named(category: string | number | null): string {
  const text = String(category);
  return YES.has(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

/** A sentence about a row that has no number, as too few people answered, or nobody. */
export function tooFew({ answers, needed }: Pick<EstimateRow, "answers" | "needed">): string {
  if (answers === 0) return NONE;
  const words = lacking(needed);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** The card of one attribute. It leads to the part of the page that has everything about it. */
export class Headline {
  readonly root: HTMLElement;
  private readonly body = html("div", { class: "said" }, html("p", { class: "quiet" }, "Loading."));
  private readonly since = html("p", { class: "small since", "data-testid": "since", hidden: true });

  constructor(
    private readonly attribute: Attribute,
    part: string,
  ) {
    const { name } = attribute;
    this.root = html(
      "li",
      { class: "card headcard", "data-testid": "headline", "data-attribute": name },
      html("h3", {}, html("a", { href: `#${part}` }, name)),
      this.body,
      this.since,
    );
  }

  /** Say what has changed since the period before, or nothing. */
  changed(words: string): void {
    this.since.hidden = words === "";
    say(this.since, words);
  }

  update(rows: readonly EstimateRow[], reports: number): void {
    const known = rows.filter((row) => row.point !== null);
    const few = rows.find((row) => row.needed !== null && row.category === null) ?? rows.find((row) => row.needed !== null);
    const said = known.length > 0 ? lines(known, this.attribute.holds) : [];
    if (few !== undefined && (few.category === null || said.length === 0)) said.unshift(html("p", { class: "quiet" }, tooFew(few)));
    this.show(said.length > 0 ? said : [html("p", { class: "quiet" }, rows.length === 0 && reports > 0 ? ELSEWHERE : NONE)]);
  }

  /** Say this. */
  show(said: readonly HTMLElement[]): void {
    if (said.map((node) => node.textContent).join("\n") !== [...this.body.children].map((node) => node.textContent).join("\n")) {
      this.body.replaceChildren(...said);
    }
  }
}

function lines(rows: readonly EstimateRow[], holds: string): HTMLElement[] {
  const number = rows.find(({ category }) => category === null);
  const shares = rows.filter(({ category }) => category !== null);
  const one = number === undefined ? spoken(shares, holds) : undefined;
  if (number === undefined && one === undefined) return ranked(shares);
  const said = [html("p", { class: "main" }, number === undefined ? "" : mean(number))];
  if (one !== undefined) say(said[0] as Node, `${named(one.category)}: ${share(one)}`);
  if (number !== undefined && number.beyond !== null) said.push(html("p", { class: "quiet small" }, "Very large numbers are clipped."));
  const missing = shares.find(({ category }) => category === MISSING);
  if (missing !== undefined) said.push(html("p", { class: "quiet small" }, `No answer: ${share(missing)}`));
  return said;
}

/** The largest categories, each on one line over its interval from 0 to 100 %, and how many others there are. */
function ranked(shares: readonly EstimateRow[]): HTMLElement[] {
  const order = sorted(shares);
  const above = order.filter(told);
  const list = html("ul", { class: "lines" });
  for (const row of above.slice(0, MOST_LINES)) {
    const line = html("li", {}, html("span", {}, `${String(row.category)}: `), html("span", { class: "number" }, share(row)));
    // Properties, not attributes: the policy of the page forbids styles in attributes.
    line.style.setProperty("--from", String(row.low ?? 0));
    line.style.setProperty("--to", String(row.high ?? 1));
    list.append(line);
  }
  const rest = [];
  const more = above.length - MOST_LINES;
  if (more > 0) rest.push(`${whole(more)} more`);
  const none = order.length - above.length;
  if (none > 0) rest.push(`${above.length === 0 ? `All ${whole(none)} categories` : whole(none)} ${UNTOLD}`);
  return [...(above.length > 0 ? [list] : []), ...(rest.length > 0 ? [html("p", { class: "quiet small" }, `${rest.join("; ")}.`)] : [])];
}
