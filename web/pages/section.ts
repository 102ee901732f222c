// The part of the page about one attribute: its mean and distribution, or its shares.

import { Failure, get } from "./api.js";
import { Block, type Cell, type Column, numeric, text } from "./blocks.js";
import { MOST_BARS } from "./charts.js";
import { datedAs, isDated, iso, spoken } from "./calendar.js";
import { choose } from "./controls.js";
import type { Attribute, Distribution, EstimateRow, Estimates } from "./documents.js";
import { html } from "./elements.js";
import { Fresh } from "./fresh.js";
import { CHOICES, ELSEWHERE, floor, NONE, sorted, told, tooFew, UNTOLD } from "./headlines.js";
import { atMost, column, counted, largest, number, percent, percents, whole } from "./text.js";

const FEW = 12; // categories that need no search
const MOST_SENT = 4098; // categories of which the collector sends all: 4,096 of a plan, "other" and "missing"
const PAUSE = 300; // milliseconds without typing, before the collector is asked

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
  private natural = false;
  private few: EstimateRow | undefined;
  private latest: { shares: readonly EstimateRow[]; level: number } | undefined;
  private looked: { wanted: string; shares: readonly EstimateRow[] } | undefined;
  private waiting: ReturnType<typeof setTimeout> | undefined;
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
      const scale = datedAs(name);
      const dates = scale === undefined ? {} : { dates: scale, ends: [scale.low, scale.high] as const };
      this.mean = this.add({
        ...dates,
        heading: "Mean",
        kind: "mean",
        testid: "mean",
        caption: `mean of ${name}`,
        axis: name,
        description: `The mean of ${name} with its interval, on the scale of the attribute. The table has the numbers.`,
        file: `${name}-mean`,
      });
      this.spread = this.add({
        ...dates,
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
      const { categories } = attribute;
      if (attribute.kind === "categorical" && categories > 2 && !this.long) this.shares.control(this.order());
      if (attribute.categories > FEW) this.shares.control(this.search(attribute.categories));
    }
  }

  /** Whether the collector sends only the largest shares of it. */
  private get long(): boolean {
    return this.attribute.categories > MOST_SENT;
  }

  /** Let the reader see categories in the order of the plan, such as never, seldom, always. */
  private order(): HTMLElement {
    return choose({
      label: "Order",
      testid: "order",
      key: this.part,
      values: ["size", "plan"],
      show: (value) => (value === "plan" ? "as in the plan" : "largest first"),
      chosen: "size",
      changed: (value) => {
        this.natural = value === "plan";
        this.fillShares();
      },
    });
  }

  private search(all: number): HTMLElement {
    const id = `${this.part}-search`;
    const field = html("input", { id, type: "search", autocomplete: "off", "data-testid": "search" });
    field.addEventListener("input", () => {
      this.wanted = field.value.trim().toLowerCase();
      this.fillShares();
      if (!this.long) return;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => void this.lookUp(), PAUSE);
    });
    return html("div", { class: "row screen" }, html("label", { for: id }, `Find one of ${whole(all)} categories`), field);
  }

  /** Ask the collector for the categories that the reader looks for, if it has not sent all of them. */
  private async lookUp(): Promise<void> {
    const { wanted, latest } = this;
    if (wanted === "" || latest === undefined) return;
    const query = new URLSearchParams({ search: wanted, level: String(latest.level), intervals: "together" });
    let shares: readonly EstimateRow[] = [];
    try {
      const { estimates } = await get<Estimates>(`/plans/${this.plan}/estimates?${query.toString()}`);
      shares = estimates.filter(({ attribute, point }) => attribute === this.attribute.name && point !== null);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (wanted === this.wanted) this.shares?.empty(error.message);
      return;
    }
    if (wanted !== this.wanted) return; // the reader has typed on
    this.looked = { wanted, shares };
    this.fillShares();
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
      const few = rows.find(({ category, needed }) => category === null && needed !== null);
      if (mean === undefined) this.mean.empty(few === undefined ? NONE : tooFew(few));
      else {
        const { floor, ceiling, beyond } = mean;
        const [start, end] = beyond === null ? [this.attribute.low, this.attribute.high] : [floor, ceiling];
        this.mean.update({
          columns: ESTIMATES,
          rows: cells([mean], 1),
          level,
          values: [{ what: this.attribute.name, point: mean.point, low: mean.low, high: mean.high, start, end }],
          ...(beyond === null ? {} : { note: clipping(floor, ceiling, beyond) }),
          ...(this.attribute.holds === "time" ? { note: CIRCLE } : {}),
        });
      }
    }
    this.few = rows.find(({ category, needed }) => category !== null && needed !== null);
    this.latest = { shares: known.filter((row) => row.category !== null), level };
    this.fillShares();
    this.fresh?.update(reports);
  }

  private fillShares(): void {
    if (this.shares === undefined || this.latest === undefined) return;
    const { level } = this.latest;
    const shares = this.natural ? this.latest.shares : sorted(this.latest.shares);
    const asked = this.long && this.wanted !== "" && shares.length > 0; // the collector looks for them
    if (asked && this.looked?.wanted !== this.wanted) {
      this.shares.empty("Searching …");
      return;
    }
    const among = asked ? sorted(this.looked?.shares ?? []) : shares;
    const found = among.filter(({ category }) => String(category).toLowerCase().includes(this.wanted) || asked);
    if (found.length === 0) {
      this.shares.empty(shares.length === 0 ? (this.few === undefined ? NONE : tooFew(this.few)) : "No category has this name.");
      return;
    }
    const drawn = found.slice(0, MOST_BARS);
    const left = found.length - drawn.length;
    const line = floor(shares);
    const notes = [];
    const all = this.long ? this.attribute.categories : shares.length;
    if (this.long && !asked) notes.push(`The ${whole(shares.length)} largest of ${whole(all)} shares: search to find others.`);
    if (all > 2) notes.push(`All ${whole(all)} intervals hold at once with ${percent(level)} probability.`);
    if (line !== null) notes.push(`Shares below the dashed line, about ${percent(line, 2)}, ${UNTOLD}.`);
    if (left > 0) notes.push(`${whole(left)} ${this.natural ? "later" : "smaller"} shares are in the table and not drawn.`);
    this.shares.update({
      columns: ESTIMATES,
      rows: cells(found, 100),
      level,
      values: drawn.map(({ category, point, low, high }) => ({ what: String(category), point, low, high, floor: line })),
      kind: line === null ? "shares" : "floored",
      ...(notes.length > 0 ? { note: notes.join(" ") } : {}),
    });
  }

  private async fetchSpread(spread: Block): Promise<number> {
    const { name } = this.attribute;
    const found = await get<Distribution>(`/plans/${this.plan}/distribution?attribute=${encodeURIComponent(name)}`);
    if (this.elsewhere) return found.reports;
    if (found.why !== null) {
      spread.empty(found.answers === 0 ? NONE : `There is none: ${found.why}.`);
      return found.reports;
    }
    const bins = found.shares.map((share, index) => ({
      start: found.edges[index] ?? 0,
      end: found.edges[index + 1] ?? 0,
      share,
      what: found.bins[index] ?? "",
    }));
    const steps = this.attribute.holds !== "";
    const middle = steps ? 0.5 : 0; // a bar stands over its whole number
    const width = Math.abs((found.edges[1] ?? 0) - (found.edges[0] ?? 0));
    const edge = column(width, 2);
    const part = percents(largest(found.shares));
    spread.update({
      columns: [...(steps ? [{ name: "values", text: true }] : [{ name: "from" }, { name: "to" }]), { name: "share" }],
      rows: bins.map((bin) => [
        ...(steps ? [text(bin.what)] : [numeric(bin.start, edge), numeric(bin.end, edge)]),
        numeric(bin.share, part),
      ]),
      values: bins.map((bin) => ({ ...bin, start: bin.start - middle, end: bin.end - middle })),
      note: `The likeliest distribution, from ${counted(found.answers, "answer")}. It has no intervals: its shape is only a hint.`,
    });
    return found.reports;
  }

  remove(): void {
    for (const block of this.blocks) block.remove();
    this.root.remove();
  }
}

function kindOf(attribute: Attribute): string {
  const missing = attribute.optional ? ", or missing" : "";
  if (isDated(attribute)) {
    const [from, to] = [attribute.low, attribute.high].map((end) => spoken(attribute, end ?? 0));
    return `A ${attribute.holds === "date" ? "date" : "time of day"} from ${from} to ${to}${missing}.`;
  }
  if (attribute.kind === "numeric") {
    return `A ${attribute.holds === "integer" ? "whole " : ""}number from ${number(attribute.low ?? 0)} to ${number(attribute.high ?? 0)}${missing}.`;
  }
  if (attribute.holds === CHOICES) {
    const count = attribute.categories - Number(attribute.optional);
    return `Any of ${whole(count)} values${missing}: each has a share of its own, and they do not add up to 100 %.`;
  }
  return `One of ${whole(attribute.categories)} categories${attribute.optional ? ", missing among them" : ""}.`;
}

const CIRCLE = "A mean of times depends on where the range begins, as the day is a circle. The distribution says more.";

/** How the mean of a wide number is clipped, and how many people may lie beyond. */
function clipping(floor: number | null, ceiling: number | null, beyond: number): string {
  const ends = [floor, ceiling].map((end) => number(end ?? 0)).join(" to ");
  return `The mean of numbers clipped to ${ends}: at most ${atMost(beyond)} of the people lie beyond.`;
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
  const cell = (value: number | null, { attribute, category }: EstimateRow): Cell => {
    const dates = category === null ? datedAs(attribute) : undefined;
    return dates === undefined || value === null ? numeric(value, (known) => write(factor * known) + unit) : text(iso(dates, value));
  };
  return rows.map((row) => [
    named(row),
    cell(row.point, row),
    cell(row.low, row),
    cell(row.high, row),
    numeric(row.answers, whole),
  ]);
}
