// The part of the page about one attribute: its mean and distribution, or its shares.

import { get } from "./api.js";
import { Block, type Cell, type Column, numeric, text } from "./blocks.js";
import { MOST_BARS } from "./charts.js";
import type { Attribute, Distribution, EstimateRow } from "./documents.js";
import { html } from "./elements.js";
import { Fresh } from "./fresh.js";
import { ELSEWHERE, floor, NONE, sorted, told, UNTOLD } from "./headlines.js";
import { column, largest, number, percent, percents, whole } from "./text.js";

const FEW = 12; // categories that need no search

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
  private readonly fresh: Fresh | undefined;
  private elsewhere = false;
  private wanted = "";
  private latest: { shares: readonly EstimateRow[]; level: number } | undefined;
  /** Where the page has it: the fragment of its address. */
  readonly part: string;

  constructor(
    private readonly plan: string,
    private readonly attribute: Attribute,
    cost: string,
  ) {
    const { name } = attribute;
    const id = `attribute-${Section.count}`;
    this.part = `about-${Section.count++}`;
    this.root = html(
      "section",
      { id: this.part, class: "card attribute", "data-testid": "attribute", "data-attribute": name, "aria-labelledby": id },
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
      const { spread } = this;
      this.fresh = new Fresh(spread, () => this.fetchSpread(spread));
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
      if (attribute.categories > FEW) this.shares.control(this.search(attribute.categories));
    }
  }

  private search(all: number): HTMLElement {
    const id = `${this.part}-search`;
    const field = html("input", { id, type: "search", autocomplete: "off", "data-testid": "search" });
    field.addEventListener("input", () => {
      this.wanted = field.value.trim().toLowerCase();
      this.fillShares();
    });
    return html("div", { class: "row screen" }, html("label", { for: id }, `Find one of ${whole(all)} categories`), field);
  }

  private static count = 0;

  private add(options: Omit<ConstructorParameters<typeof Block>[0], "level">): Block {
    const block = new Block({ ...options, level: 4 });
    this.blocks.push(block);
    this.root.append(block.root);
    return block;
  }

  update(rows: readonly EstimateRow[], reports: number, level: number): void {
    const known = rows.filter((row) => row.point !== null);
    this.elsewhere = rows.length === 0 && reports > 0;
    if (this.elsewhere) {
      for (const block of this.blocks) block.empty(ELSEWHERE);
      return;
    }
    const mean = known.find((row) => row.category === null);
    if (this.mean !== undefined) {
      if (mean === undefined) this.mean.empty(NONE);
      else {
        const { floor, ceiling, beyond } = mean;
        const [start, end] = beyond === null ? [this.attribute.low, this.attribute.high] : [floor, ceiling];
        this.mean.update({
          columns: ESTIMATES,
          rows: cells([mean], 1),
          level,
          values: [{ what: this.attribute.name, point: mean.point, low: mean.low, high: mean.high, start, end }],
          ...(beyond === null ? {} : { note: clipping(floor, ceiling, beyond) }),
        });
      }
    }
    this.latest = { shares: sorted(known.filter((row) => row.category !== null)), level };
    this.fillShares();
    this.fresh?.update(reports);
  }

  private fillShares(): void {
    if (this.shares === undefined || this.latest === undefined) return;
    const { shares, level } = this.latest;
    const found = shares.filter(({ category }) => String(category).toLowerCase().includes(this.wanted));
    if (found.length === 0) {
      this.shares.empty(shares.length === 0 ? NONE : "No category has this name.");
      return;
    }
    const drawn = found.slice(0, MOST_BARS);
    const left = found.length - drawn.length;
    const line = floor(shares);
    const notes = [];
    if (shares.length > 2) notes.push(`All ${whole(shares.length)} intervals hold at once with ${percent(level)} probability.`);
    if (line !== null) notes.push(`Shares below the dashed line, about ${percent(line, 2)}, ${UNTOLD}.`);
    if (left > 0) notes.push(`${whole(left)} smaller shares are in the table and not drawn.`);
    this.shares.update({
      columns: ESTIMATES,
      rows: cells(found, 100),
      level,
      values: drawn.map(({ category, point, low, high }) => ({ what: String(category), point, low, high, floor: line })),
      kind: line === null ? "shares" : "floored",
      ...(notes.length > 0 ? { note: notes.join(" ") } : {}),
    });
  }

  private async fetchSpread(spread: Block): Promise<void> {
    const { name } = this.attribute;
    const found = await get<Distribution>(`/plans/${this.plan}/distribution?attribute=${encodeURIComponent(name)}`);
    if (this.elsewhere) return;
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

/** How the mean of a wide number is clipped, and how many people may lie beyond. */
function clipping(floor: number | null, ceiling: number | null, beyond: number): string {
  const ends = [floor, ceiling].map((end) => number(end ?? 0)).join(" to ");
  return `The mean of numbers clipped to ${ends}: at most ${(100 * beyond).toPrecision(2)} % of the people lie beyond.`;
}

/** The name of a row, and whether a share is more than noise; files have the name alone. */
function named(row: EstimateRow): Cell {
  if (row.category === null) return text(row.beyond === null ? "mean" : "mean, clipped");
  const name = String(row.category);
  return { show: told(row) ? name : `${name} (${UNTOLD})`, raw: name };
}

/** Rows of a table: all numbers with the same decimals, so that half of the narrowest interval has two digits. */
function cells(rows: readonly EstimateRow[], factor: 1 | 100): Cell[][] {
  const halves = rows.map(({ low, high }) => (low === null || high === null ? 0 : (factor * (high - low)) / 2));
  const write = column(Math.min(...halves.filter((half) => half > 0)), 2);
  const unit = factor === 100 ? " %" : "";
  const cell = (value: number | null): Cell => numeric(value, (known) => write(factor * known) + unit);
  return rows.map((row) => [
    named(row),
    cell(row.point),
    cell(row.low),
    cell(row.high),
    numeric(row.answers, whole),
  ]);
}
