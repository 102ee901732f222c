// Change over time: each attribute by day or week, and what has changed since the period before, in words.

import { get } from "./api.js";
import { Block, type Cell, numeric, text } from "./blocks.js";
import { datedAs, iso, length } from "./calendar.js";
import { choose } from "./controls.js";
import type { Attribute, ChangeRow, EstimateRow, Period, Periods, Statement } from "./documents.js";
import { html } from "./elements.js";
import { MISSING, rounded, sorted, spoken } from "./headlines.js";
import { column, lacking, percents, say, whole } from "./text.js";

const MOST_BLOCKS = 12; // attributes with a chart; all are in the collector's CSV
const MOST_SAID = 2; // categories on one card
const AGAIN = 600_000; // milliseconds: a period ends once a day
const ALL = "all"; // the value of the choice that is no period
export const UNCHANGED = "no change that can be told from noise";

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** A change in words, rounded outwards: up by 1 to 4 points. */
export function moved(row: ChangeRow): string {
  if (row.told === null) return row.needed === null ? UNCHANGED : lacking(row.needed);
  const factor = row.category === null ? 1 : 100;
  const ends = row.told === "up" ? [row.low, row.high] : [-row.high, -row.low];
  const dates = row.category === null ? datedAs(row.attribute) : undefined;
  if (dates !== undefined) {
    const [least, most] = ends.map((end) => length(dates, end));
    return `${row.told === "up" ? "later" : "earlier"} by ${least} to ${most}`;
  }
  const { low, high } = rounded({ point: 0, low: ends[0] ?? 0, high: ends[1] ?? 0 }, factor);
  return `${row.told} by ${low} to ${high}${factor === 100 ? " points" : ""}`;
}

/** The days of a period. */
export function days({ first, last }: { first: string; last: string }): string {
  const [from, to] = [first, last].map((day) => DAY.format(new Date(`${day}T00:00:00Z`)));
  return first === last ? String(from) : `${from} – ${to}`;
}

/** What a card says of an attribute: its mean, one of two categories, or those that have changed. */
function summary(rows: readonly ChangeRow[], estimates: readonly EstimateRow[], holds: string): string {
  const mean = rows.find(({ category }) => category === null);
  const one = mean ?? rows.find(({ category }) => category === spoken(estimates, holds)?.category);
  if (one !== undefined) return moved(one);
  const told = rows.filter((row) => row.told !== null).sort((a, b) => Math.abs(b.point ?? 0) - Math.abs(a.point ?? 0));
  if (told.length === 0) return rows.length === 0 ? "" : UNCHANGED;
  const more = told.length - MOST_SAID;
  return told.slice(0, MOST_SAID).map((row) => `${String(row.category)} ${moved(row)}`).join("; ") + (more > 0 ? `; ${whole(more)} more changed` : "");
}

/** The chart of one attribute over periods. */
class Line {
  readonly block: Block;
  private category: string | number | null = null;
  private latest: Periods | undefined;
  private control: HTMLElement | undefined;

  constructor(private readonly attribute: Attribute) {
    const { name } = attribute;
    this.block = new Block({
      heading: name,
      level: 3,
      kind: attribute.kind === "numeric" ? "periods" : "period_shares",
      testid: "period-chart",
      caption: `${name} by period`,
      dates: datedAs(name),
      description: `Estimates of ${name} in each period, with intervals. The table has the numbers.`,
      file: `${name}-periods`,
      even: true,
    });
    this.block.root.dataset["attribute"] = name;
  }

  update(found: Periods): void {
    this.latest = found;
    if (this.attribute.kind === "categorical" && this.control === undefined) this.offer(found);
    this.fill();
  }

  /** Begin with the category to speak of, or the largest one; the reader may choose another. */
  private offer(found: Periods): void {
    const rows = (found.periods.at(-1)?.estimates ?? []).filter(({ attribute }) => attribute === this.attribute.name);
    const first = spoken(rows, this.attribute.holds) ?? sorted(rows)[0];
    if (first === undefined) return;
    this.category = first.category;
    const named = new Map(rows.map(({ category }) => [String(category), category]));
    this.control = choose({
      label: "Share of",
      testid: "period-category",
      key: this.attribute.name,
      values: [...named.keys()],
      show: (value) => value,
      chosen: String(this.category),
      changed: (value) => {
        this.category = named.get(value) ?? null;
        this.fill();
      },
    });
    this.block.control(this.control);
  }

  private fill(): void {
    if (this.latest === undefined) return;
    const { periods, level } = this.latest;
    const share = this.category !== null;
    const mine = (row: { attribute: string; category: string | number | null }): boolean =>
      row.attribute === this.attribute.name && row.category === this.category;
    const points = periods.map((period) => ({ period, row: period.estimates.find(mine), change: period.changes.find(mine) }));
    const halves = points.map(({ row }) => ((row?.high ?? 0) - (row?.low ?? 0)) / 2).filter((half) => half > 0);
    const write = share ? percents(Math.min(...halves), 2) : column(Math.min(...halves), 2);
    const rows: Cell[][] = points.map(({ period, row, change }) => [
      { show: days(period), raw: period.last },
      ...[row?.point, row?.low, row?.high].map((value, place): Cell => {
        const dates = share ? undefined : datedAs(this.attribute.name);
        return dates === undefined || value == null ? numeric(value ?? null, write, lacking(place === 0 ? row?.needed : null)) : text(iso(dates, value));
      }),
      text(change === undefined ? "" : moved(change)),
      numeric(period.reports, whole),
    ]);
    this.block.update({
      columns: [
        { name: "period", text: true },
        { name: "value" },
        { name: "from" },
        { name: "to" },
        { name: "change", text: true },
        { name: "reports" },
      ],
      rows: rows.reverse(),
      level,
      values: points.flatMap(({ period, row }) =>
        row?.point == null ? [] : [{ what: days(period), point: row.point, low: row.low, high: row.high }],
      ),
    });
  }
}

/** The part of the page about change. It is there once a collector that counts by period has shown one. */
export class Changing {
  readonly root: HTMLElement;
  private readonly words = html("p", { class: "quiet small", "data-testid": "change-note" });
  private readonly lines = new Map<string, Line>();
  private readonly attributes: readonly Attribute[];
  private readonly holds: ReadonlyMap<string, string>;
  private at = 0;
  private known = "";
  private found: Periods | undefined;
  private wanted: (attribute: string) => boolean = () => true;
  private first = "";
  private readonly picker = html("div", { "data-testid": "period-picker", hidden: true });

  constructor(
    private readonly plan: string,
    statement: Statement,
    private level: string,
    private readonly changed: (words: (attribute: string) => string, only: Period | undefined) => void,
    private readonly picked: (first: string) => void,
  ) {
    this.attributes = statement.attributes.slice(0, MOST_BLOCKS);
    this.holds = new Map(statement.attributes.map(({ name, holds }) => [name, holds]));
    this.root = html(
      "section",
      { id: "change", "aria-labelledby": "change-heading", "data-testid": "change", hidden: true },
      html("h2", { id: "change-heading" }, "Change"),
      this.words,
    );
  }

  choose(level: string): void {
    this.level = level;
    this.at = 0;
  }

  /** The choice of a period. It is there once there is one. */
  get control(): HTMLElement {
    return this.picker;
  }

  /** Show the results of the period that begins on this day, or of all for "". An unknown day is all. */
  pick(first: string): void {
    this.first = first;
    this.tell();
  }

  /** Show the charts of the attributes that are wanted. */
  filter(wanted: (attribute: string) => boolean): void {
    this.wanted = wanted;
    for (const [name, line] of this.lines) line.block.root.hidden = !wanted(name);
  }

  /** Ask for periods: at the start, for another level, and from time to time. */
  update(reports: number): void {
    if (reports === 0 || Date.now() - this.at < AGAIN) return;
    this.at = Date.now();
    void this.fetch().catch(() => {
      this.at = 0; // the stream says what is wrong
    });
  }

  private async fetch(): Promise<void> {
    const found = await get<Periods>(`/plans/${this.plan}/periods?intervals=together&level=${this.level}`);
    const text = JSON.stringify(found);
    if (text === this.known) return;
    this.known = text;
    const last = found.periods.at(-1);
    this.root.hidden = last === undefined;
    if (last === undefined) return;
    say(this.words, about(found, last));
    for (const attribute of this.attributes) {
      const { name } = attribute;
      if (!last.estimates.some((row) => row.attribute === name)) continue;
      const line = this.lines.get(name) ?? new Line(attribute);
      if (!this.lines.has(name)) this.root.append(line.block.root);
      this.lines.set(name, line);
      line.block.root.hidden = !this.wanted(name);
      line.update(found);
    }
    this.found = found;
    this.tell();
  }

  /** Say on the cards what has changed in the chosen period, or in the last one. */
  private tell(): void {
    const periods = this.found?.periods ?? [];
    const place = periods.findIndex(({ first }) => first === this.first);
    this.offer(periods, place);
    const last = periods.at(place);
    if (last === undefined) return;
    const before = place === 0 ? undefined : periods.at(place - 1);
    this.changed((name) => {
      const [rows, estimates] = [last.changes, last.estimates].map((all) => all.filter((row) => row.attribute === name && row.category !== MISSING));
      const said = summary((rows ?? []) as ChangeRow[], (estimates ?? []) as EstimateRow[], this.holds.get(name) ?? "");
      return said === "" || before === undefined ? "" : `${days(last)}, against ${days(before)}: ${said}.`;
    }, place < 0 ? undefined : last);
  }

  /** Let the reader choose a period; the latest come first. */
  private offer(periods: readonly Period[], place: number): void {
    const named = new Map(periods.map((period) => [period.first, days(period)]));
    this.picker.hidden = periods.length === 0;
    const offered = [...named.keys()].reverse();
    if (this.picker.dataset["offered"] === offered.join(" ")) {
      const select = this.picker.querySelector("select");
      if (select !== null) select.value = place < 0 ? ALL : this.first;
      return;
    }
    this.picker.dataset["offered"] = offered.join(" ");
    this.picker.replaceChildren(
      choose({
        label: "Results of",
        testid: "period",
        values: [ALL, ...offered],
        show: (value) => named.get(value) ?? "all periods",
        chosen: place < 0 ? ALL : this.first,
        changed: (value) => this.picked(value === ALL ? "" : value),
      }),
    );
  }
}

function about({ by, others }: Periods, last: Period): string {
  const rest = others > 0 ? ` ${whole(others)} reports are in no period that is over.` : "";
  return (
    `By ${by ?? "day"} (UTC), up to ${days(last)}. A report counts in the period in which it was first shown here; few reports ` +
    `are shown with the next period.${rest}`
  );
}
