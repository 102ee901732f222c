// The part of the page about one attribute: its mean and distribution, or its shares.

import { Failure, get } from "./api.js";
import { Block, type Cell, type Column, numeric, text } from "./blocks.js";
import { MOST_BARS } from "./charts.js";
import type { Attribute, Distribution, EstimateRow } from "./documents.js";
import { html } from "./elements.js";
import { column, largest, number, percents, whole } from "./text.js";

const REFRESH = 3000; // milliseconds between two questions for one distribution
const NONE = "Nobody has answered this yet.";
const UNSEEN = "The questions look at this in bands or together with others only.";

const ESTIMATES: Column[] = [
  { name: "estimate", text: true },
  { name: "value" },
  { name: "from" },
  { name: "to" },
  { name: "answers" },
];

/** The part of the page about one attribute. */
export class Section {
  readonly root: HTMLElement;
  private readonly blocks: Block[] = [];
  private readonly mean: Block | undefined;
  private readonly shares: Block | undefined;
  private readonly spread: Block | undefined;
  private asked = { reports: -1, at: 0, busy: false };
  private reports = 0;
  private unseen = false;

  constructor(
    private readonly plan: string,
    private readonly attribute: Attribute,
    cost: string,
  ) {
    const { name } = attribute;
    const id = `attribute-${Section.count++}`;
    this.root = html(
      "section",
      { class: "card attribute", "data-testid": "attribute", "data-attribute": name, "aria-labelledby": id },
      html("h3", { id }, name),
      html("p", { class: "quiet small" }, `${kindOf(attribute)} ${cost}`),
    );
    if (attribute.kind === "numeric") {
      this.mean = this.add({
        heading: "Mean",
        kind: "mean",
        testid: "mean",
        caption: `mean of ${name}`,
        axis: name,
        description: `The mean of ${name} with its interval, on the scale of the attribute. The table has the numbers.`,
        file: `${name}-mean`,
      });
      this.spread = this.add({
        heading: "Distribution",
        kind: "distribution",
        testid: "distribution",
        caption: `distribution of ${name}`,
        axis: name,
        description: `The likeliest distribution of ${name}, as bars. The table has the numbers.`,
        file: `${name}-distribution`,
      });
      this.spread.onSight = () => this.refresh();
    }
    if (attribute.kind === "categorical" || attribute.optional) {
      const what = attribute.kind === "numeric" ? "share of missing" : "shares";
      this.shares = this.add({
        heading: attribute.kind === "numeric" ? "Missing" : "Shares",
        kind: "shares",
        testid: "shares",
        caption: `${what} of ${name}`,
        description: `The ${what} of ${name} as bars with intervals. The table has the numbers.`,
        file: `${name}-shares`,
      });
    }
  }

  private static count = 0;

  private add(options: Omit<ConstructorParameters<typeof Block>[0], "level">): Block {
    const block = new Block({ ...options, level: 4 });
    this.blocks.push(block);
    this.root.append(block.root);
    return block;
  }

  update(rows: readonly EstimateRow[], reports: number, level: number): void {
    this.reports = reports;
    // What is estimated has a row, also before the first answer.
    const why = (estimated: (row: EstimateRow) => boolean): string => (rows.some(estimated) ? NONE : UNSEEN);
    const known = rows.filter((row) => row.point !== null);
    const mean = known.find((row) => row.category === null);
    if (this.mean !== undefined) {
      const none = why((row) => row.category === null);
      this.unseen = none === UNSEEN;
      if (this.unseen) this.spread?.empty(UNSEEN);
      if (mean === undefined) this.mean.empty(none);
      else {
        const { low: start, high: end } = this.attribute;
        this.mean.update({
          columns: ESTIMATES,
          rows: cells([mean], 1),
          level,
          values: [{ what: this.attribute.name, point: mean.point, low: mean.low, high: mean.high, start, end }],
        });
      }
    }
    const shares = known.filter((row) => row.category !== null);
    if (this.shares !== undefined) {
      if (shares.length === 0) this.shares.empty(why((row) => row.category !== null));
      else {
        const largest = new Set([...shares].sort((a, b) => (b.point ?? 0) - (a.point ?? 0)).slice(0, MOST_BARS));
        const drawn = shares.filter((row) => largest.has(row));
        const left = shares.length - drawn.length;
        this.shares.update({
          columns: ESTIMATES,
          rows: cells(shares, 100),
          level,
          values: drawn.map(({ category, point, low, high }) => ({ what: String(category), point, low, high })),
          ...(left > 0 ? { note: `${whole(left)} smaller shares are in the table and not drawn.` } : {}),
        });
      }
    }
    this.refresh();
  }

  /** Ask for the distribution if it is in sight, at most once in `REFRESH`. */
  private refresh(): void {
    const { spread, asked } = this;
    if (spread === undefined || this.unseen || !spread.inSight || asked.busy || asked.reports === this.reports) return;
    const rest = asked.at + REFRESH - Date.now();
    asked.busy = true;
    setTimeout(
      () => {
        void this.fetchSpread(spread).finally(() => {
          asked.at = Date.now();
          asked.busy = false;
          if (asked.reports !== this.reports) this.refresh();
        });
      },
      Math.max(0, rest),
    );
  }

  private async fetchSpread(spread: Block): Promise<void> {
    const { name } = this.attribute;
    try {
      const found = await get<Distribution>(`/plans/${this.plan}/distribution?attribute=${encodeURIComponent(name)}`);
      this.asked.reports = this.reports; // it may be a little older, and is then asked for with the next reports
      if (found.why !== null) {
        spread.empty(found.answers === 0 ? NONE : `There is none: ${found.why}.`);
        return;
      }
      const bins = found.shares.map((share, index) => ({
        start: found.edges[index] ?? 0,
        end: found.edges[index + 1] ?? 0,
        share,
      }));
      const width = Math.abs((found.edges[1] ?? 0) - (found.edges[0] ?? 0));
      const edge = column(width, 2);
      const part = percents(largest(found.shares));
      spread.update({
        columns: [{ name: "from" }, { name: "to" }, { name: "share" }],
        rows: bins.map((bin) => [
          numeric(bin.start, edge),
          numeric(bin.end, edge),
          numeric(bin.share, part),
        ]),
        values: bins,
        note: `The likeliest distribution, from ${whole(found.answers)} answers. It has no intervals: its shape is only a hint.`,
      });
    } catch (error) {
      this.asked.reports = this.reports;
      spread.empty(error instanceof Failure ? error.message : "It could not be loaded.");
    }
  }

  remove(): void {
    for (const block of this.blocks) block.remove();
    this.root.remove();
  }
}

function kindOf(attribute: Attribute): string {
  const missing = attribute.optional ? ", or missing" : "";
  if (attribute.kind === "numeric") {
    return `A number from ${number(attribute.low ?? 0)} to ${number(attribute.high ?? 0)}${missing}.`;
  }
  return `One of ${whole(attribute.categories)} categories${attribute.optional ? ", missing among them" : ""}.`;
}

/** Rows of a table: all numbers with the same decimals, so that half of the narrowest interval has two digits. */
function cells(rows: readonly EstimateRow[], factor: 1 | 100): Cell[][] {
  const halves = rows.map(({ low, high }) => (low === null || high === null ? 0 : (factor * (high - low)) / 2));
  const write = column(Math.min(...halves.filter((half) => half > 0)), 2);
  const unit = factor === 100 ? " %" : "";
  const cell = (value: number | null): Cell => numeric(value, (known) => write(factor * known) + unit);
  return rows.map((row) => [
    text(row.category === null ? "mean" : String(row.category)),
    cell(row.point),
    cell(row.low),
    cell(row.high),
    numeric(row.answers, whole),
  ]);
}
