// The part of the page about a text that nobody listed: those that many people hold, as far as noise lets them be seen.

import { Failure, get } from "./api.js";
import { Block, type Cell, type Column, numeric } from "./blocks.js";
import { MOST_BARS } from "./charts.js";
import type { Attribute, EstimateRow, Frequent, FrequentRow } from "./documents.js";
import { html } from "./elements.js";
import { Fresh } from "./fresh.js";
import { NONE, rounded } from "./headlines.js";
import { column, percent, whole } from "./text.js";

export const TEXT = "text"; // the kind of an attribute that is a text
const FEW = 12; // rows that need no search
const TOP = 100; // texts that are asked for
const MOST_NAMED = 3; // texts on a card, besides the most frequent one
const UNTOLD = "No text can be told from noise yet.";

const COLUMNS: Column[] = [{ name: "text", text: true }, { name: "share" }, { name: "from" }, { name: "to" }];

// Characters that would break a line, or turn the order of those around them. Marks that join emoji or letters stay.
const TURNING = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;
const BLANK = /^[\p{Cf}\p{Z}]*$/u;

/** A text as a page can show it: one line, in its own order, with an ellipsis if only its beginning is known. */
export function shown({ category, cut }: FrequentRow): string {
  const line = category.replace(TURNING, "\ufffd");
  if (line === "" && !cut) return "(empty)";
  return (BLANK.test(line) ? "(blank)" : line) + (cut ? "…" : "");
}

/** The texts as a page shows them. Two that look alike get numbers, so that a chart keeps them apart. */
function names(rows: readonly FrequentRow[]): string[] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const name = shown(row);
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return before === 0 ? name : `${name} (${before + 1})`;
  });
}

/** The part of the page about one text. */
export class TextSection {
  readonly root: HTMLElement;
  /** Where the page has it: the fragment of its address. */
  readonly part: string;
  /** Called with what a card says of it. */
  onFound: (said: HTMLElement[]) => void = () => undefined;
  private readonly block: Block;
  private readonly fresh: Fresh;
  private readonly finder: HTMLElement;
  private wanted = "";
  private level = 0.95; // as the page begins
  private found: Frequent | undefined;
  private static count = 0;

  /** `second`: a plan that follows this one, which may be a second round about the same texts. */
  constructor(
    private readonly plan: string,
    private readonly attribute: Attribute,
    cost: string,
    private second: string | undefined,
  ) {
    const { name } = attribute;
    this.part = `text-${TextSection.count++}`;
    const id = `${this.part}-heading`;
    this.block = new Block({
      heading: "Most frequent texts",
      level: 4,
      kind: "floored",
      testid: "frequent",
      caption: `most frequent texts of ${name}`,
      description: `The most frequent texts of ${name} as bars with intervals. The table has the numbers.`,
      file: `${name}-frequent`,
      eager: true, // the card above needs it too
    });
    this.finder = this.search();
    this.block.control(this.finder);
    this.root = html(
      "section",
      { id: this.part, class: "card attribute", "data-testid": "attribute", "data-attribute": name, "aria-labelledby": id },
      html("h3", { id }, name),
      html("p", { class: "quiet small" }, `Any text${attribute.optional ? ", or missing" : ""}. ${cost}`),
      this.block.root,
    );
    this.fresh = new Fresh(this.block, () => this.fetch());
  }

  private search(): HTMLElement {
    const id = `${this.part}-search`;
    const field = html("input", { id, type: "search", autocomplete: "off", "data-testid": "search" });
    field.addEventListener("input", () => {
      this.wanted = field.value.trim().toLowerCase();
      this.fill();
    });
    return html("div", { class: "row screen", hidden: true }, html("label", { for: id }, "Find a text"), field);
  }

  update(_: readonly EstimateRow[], reports: number, level: number): void {
    const again = this.level !== level;
    this.level = level;
    this.fresh.update(reports);
    if (again) this.fresh.again();
  }

  /** Ask for the texts, and return how many reports they are made of. */
  private async fetch(): Promise<number> {
    const query = `attribute=${encodeURIComponent(this.attribute.name)}&top=${TOP}&level=${this.level}`;
    const path = `/plans/${this.plan}/frequent?${query}`;
    const { second } = this;
    try {
      this.found = await get<Frequent>(second === undefined ? path : `${path}&second=${second}`);
    } catch (error) {
      if (second === undefined || !(error instanceof Failure) || error.status !== 404) {
        if (this.found === undefined) this.onFound([html("p", { class: "quiet" }, "It could not be loaded.")]);
        throw error;
      }
      this.second = undefined; // the plan that follows is no second round about this text
      return this.fetch();
    }
    this.fill();
    this.onFound(card(this.found));
    return this.found.reports;
  }

  private fill(): void {
    if (this.found === undefined) return;
    const { rows, floor, level, why } = this.found;
    this.finder.hidden = rows.length <= FEW;
    if (rows.length === 0) {
      this.block.empty(why === null ? sentences(this.found, 0).join(" ") : `There are none: ${why}.`);
      return;
    }
    const all = names(rows);
    const lines = rows.map((row, place) => ({ row, name: all[place] ?? "" }));
    const wanted = this.finder.hidden ? "" : this.wanted;
    const matching = lines.filter(({ row, name }) => `${row.category}\n${name}`.toLowerCase().includes(wanted));
    if (matching.length === 0) {
      this.block.empty("No frequent text has this in it.");
      return;
    }
    const drawn = matching.slice(0, MOST_BARS);
    this.block.update({
      columns: COLUMNS,
      rows: cells(matching),
      level,
      values: drawn.map(({ row: { share, low, high }, name }) => ({ what: name, point: share, low, high, floor })),
      note: sentences(this.found, matching.length - drawn.length).join(" "),
    });
  }

  remove(): void {
    this.block.remove();
    this.root.remove();
  }
}

/** What can be said of the texts that were found, and of those that were not. `left`: how many are not drawn. */
function sentences(found: Frequent, left: number): string[] {
  const { rows, others, missing, floor, liars, level, reports, reports_second } = found;
  if (floor === null) return [NONE];
  const about = (share: number): string => percent(Math.min(1, Math.max(0, share)), 2);
  const said = [];
  if (rows.length === 0) said.push(UNTOLD);
  else {
    said.push(`About ${about(others ?? 0)} of the people hold none of these texts${missing === null ? "" : `, and ${about(missing)} have no text`}.`);
  }
  said.push(`A text held by less than about ${about(floor)} of the people${rows.length === 0 ? "" : ", the dashed line,"} is likely missed.`);
  said.push(`About ${whole(liars)} people who lie together can add a text of their choice.`);
  if (rows.some(({ cut }) => cut)) said.push("An ellipsis marks texts of which only the beginning is known.");
  if (rows.length > 0) said.push(`On average, ${percent(level)} of these intervals are right, and at most 5 % of the texts are held by nobody.`);
  if (reports_second !== null) said.push(`From ${whole(reports)} reports of this round and ${whole(reports_second)} of the second.`);
  if (left > 0) said.push(`${whole(left)} smaller shares are in the table and not drawn.`);
  return said;
}

/** The lines of a card: the most frequent text with its interval, and the next ones by name. */
function card({ rows, floor }: Frequent): HTMLElement[] {
  const [first, ...rest] = rows;
  if (first === undefined) return [html("p", { class: "quiet" }, floor === null ? NONE : UNTOLD)];
  const { point, low, high } = rounded({ ...first, point: first.share }, 100);
  const main = html("p", { class: "main words" }, "Most frequent: ", isolated(first), `, about ${point}\u00a0% (${low} to ${high}\u00a0%)`);
  if (rest.length === 0) return [main];
  const next = html("p", { class: "quiet small words" }, "Then ");
  rest.slice(0, MOST_NAMED).forEach((row, place) => next.append(...(place > 0 ? [", "] : []), isolated(row)));
  const more = rest.length - MOST_NAMED;
  next.append(more > 0 ? `, and ${whole(more)} more.` : ".");
  return [main, next];
}

/** A text within a sentence, whose order it cannot turn. */
function isolated(row: FrequentRow): HTMLElement {
  return html("bdi", {}, shown(row));
}

/** Rows of the table: all numbers with the same decimals, so that half of the narrowest interval has two digits. */
function cells(lines: readonly { row: FrequentRow; name: string }[]): Cell[][] {
  const halves = lines.map(({ row }) => 50 * ((row.high ?? 0) - (row.low ?? 0)));
  const write = column(Math.min(...halves.filter((half) => half > 0)), 2);
  const cell = (value: number | null): Cell => numeric(value, (known) => `${write(100 * known)} %`);
  return lines.map(({ row, name }) => [
    { show: name, raw: row.category + (row.cut ? "…" : "") },
    cell(row.share),
    cell(row.low),
    cell(row.high),
  ]);
}
