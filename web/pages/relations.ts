// Relations of a plan: tables, means by group, associations and ranges. Each is asked for when it comes into sight.

import { get } from "./api.js";
import { Block, type Cell, numeric, type Options, text } from "./blocks.js";
import { datedAs, drawnIn, iso, length } from "./calendar.js";
import { MOST_BARS, type Values } from "./charts.js";
import { choose } from "./controls.js";
import type { Range, Related, RelatedRow, Relation } from "./documents.js";
import { button, html } from "./elements.js";
import { Fresh } from "./fresh.js";
import { column, counted, lacking, percent, say, whole, type Write } from "./text.js";

const MOST_RELATIONS = 12; // at once, unless the reader wants more
/** How many columns of a heat map are wide enough for texts. */
const most = (): number => (matchMedia("(min-width: 56rem)").matches ? 12 : 5);
const PARTS: Record<string, string> = { all: "all people", rows: "each row", columns: "each column" };
const WHAT: Record<string, string> = { means: "means", differences: "differences" };

/** The part of the page about relations; nothing for a plan without them. */
export class Relations {
  readonly nodes: readonly HTMLElement[];
  private readonly shown: Shown[] = [];
  private readonly list = html("div", { "data-testid": "relation-list" });
  private readonly more = button("", () => this.arrange(), { "data-testid": "more-relations" });
  private reports = -1;
  private wanted: (attribute: string) => boolean = () => true;

  constructor(
    private readonly plan: string,
    private readonly relations: readonly Relation[],
    private level: string,
  ) {
    this.nodes =
      relations.length === 0
        ? []
        : [
            html(
              "section",
              { id: "relations", "aria-labelledby": "relations-heading", "data-testid": "relations" },
              html("h2", { id: "relations-heading" }, "Relations"),
              this.list,
              this.more,
            ),
          ];
    this.arrange();
  }

  /** Show some more of them. */
  private arrange(): void {
    for (const relation of this.relations.slice(this.shown.length, this.shown.length + MOST_RELATIONS)) {
      const made = new Shown(this.plan, relation, this.shown.length, () => this.level);
      if (this.reports >= 0) made.fresh.update(this.reports);
      this.shown.push(made);
      made.block.root.hidden = !this.wants(relation);
      this.list.append(made.block.root);
    }
    const left = this.relations.length - this.shown.length;
    this.more.hidden = left === 0;
    say(this.more, `Show ${whole(Math.min(left, MOST_RELATIONS))} more of ${whole(this.relations.length)} relations`);
  }

  /** Show those whose attributes are all wanted. */
  filter(wanted: (attribute: string) => boolean): void {
    this.wanted = wanted;
    for (const { block, relation } of this.shown) block.root.hidden = !this.wants(relation);
  }

  private wants({ attribute, by }: Relation): boolean {
    return this.wanted(attribute) && (by === null || this.wanted(by));
  }

  /** The number of reports has changed. */
  update(reports: number): void {
    this.reports = reports;
    for (const { fresh } of this.shown) fresh.update(reports);
  }

  /** The reader has chosen another level of intervals. */
  choose(level: string): void {
    this.level = level;
    for (const { fresh } of this.shown) fresh.again();
  }
}

/** One relation. */
class Shown {
  readonly block: Block;
  readonly fresh: Fresh;
  private chosen = "";

  constructor(
    private readonly plan: string,
    readonly relation: Relation,
    key: number,
    private readonly level: () => string,
  ) {
    const { kind, attribute, by } = relation;
    this.block = new Block({ level: 3, testid: "relation", ...described(relation) });
    this.block.root.classList.add("card");
    this.block.root.dataset["relation"] = [kind, attribute, by ?? ""].join("|");
    this.fresh = new Fresh(this.block, () => this.fill());
    if (kind === "table") this.choice("Per cent of", "parts", PARTS, key);
    if (kind === "means") this.choice("Show", "what", WHAT, key);
  }

  private choice(label: string, testid: string, words: Record<string, string>, key: number): void {
    const values = Object.keys(words);
    this.chosen = values[0] ?? "";
    const changed = (value: string): void => {
      this.chosen = value;
      this.fresh.again();
    };
    const show = (value: string): string => words[value] ?? value;
    this.block.control(choose({ label, testid, key: `-${key}`, values, show, chosen: this.chosen, changed }));
  }

  private async fill(): Promise<void> {
    const { kind, attribute, by } = this.relation;
    const asked = new URLSearchParams({ attribute, ...(by === null ? {} : { by }), level: this.level() });
    const ask = <T>(what: string): Promise<T> => get<T>(`/plans/${this.plan}/${what}?${asked.toString()}`);
    if (kind === "range") {
      this.spread(await ask<Range>("quantiles"));
      return;
    }
    if (kind === "table") asked.set("shares", this.chosen);
    if (kind === "means") asked.set("what", this.chosen);
    if (kind === "moments") asked.set("method", "moments");
    if (kind === "table" || kind === "means") asked.set("intervals", "together");
    const found = await ask<Related>({ table: "crosstab", means: "means", association: "association", moments: "association" }[kind]);
    const [first] = found.rows;
    if (found.why !== null || first === undefined) {
      this.block.empty(why(found.reports, found.why));
      return;
    }
    const many = found.rows.length > 1 && kind !== "association" && kind !== "moments";
    const held = many ? ` All ${whole(found.rows.length)} intervals hold at once with ${percent(found.level)} probability.` : "";
    const note = `From ${counted(first.answers, "answer")}.${held}`;
    if (kind === "table") this.table(found, note);
    else if (kind === "means") this.groups(found, note);
    else this.pair(found, note);
  }

  private table({ rows, level }: Related, note: string): void {
    const { attribute, by } = this.relation;
    const write = decimals(rows, 100);
    const cells = rows.map((row) => [text(String(row.category)), text(String(row.group)), ...bounds(row, 100, write, " %")]);
    const across = new Set(rows.map(({ group }) => group)).size;
    const large = Math.max(across, rows.length / across) > MOST_BARS;
    this.block.update({
      columns: [
        { name: attribute, text: true },
        { name: by ?? "", text: true },
        { name: "share" },
        { name: "from" },
        { name: "to" },
      ],
      rows: cells,
      level,
      values: large ? [] : known(rows.map((row) => cell(row, across <= most(), write))),
      note: large ? `${note} There are too many cells for a picture.` : note,
    });
  }

  private groups({ rows, level }: Related, note: string): void {
    const { by } = this.relation;
    const drawn = rows.slice(0, 2 * MOST_BARS);
    const what = this.chosen === "means" ? "mean" : "difference";
    const dates = datedAs(this.relation.attribute);
    const [units, size] = dates === undefined || what === "mean" ? ["", 1] : drawnIn(dates);
    const unit = units === "" ? "" : ` The picture is in ${units}.`;
    const write: Write = (value) => (dates === undefined ? "" : what === "mean" ? iso(dates, value) : length(dates, value));
    this.block.update({
      columns: [{ name: by ?? "", text: true }, { name: what }, { name: "from" }, { name: "to" }],
      rows: rows.map((row) => [text(String(row.group)), ...(dates === undefined ? bounds(row, 1, decimals(rows, 1), "") : said(row, write))]),
      level,
      kind: this.chosen === "means" ? "groups" : "differences",
      values: known(
        drawn.map((row) => {
          const [point, low, high] = [row.point, row.low, row.high].map((value) => (value === null ? null : value * size));
          return { what: String(row.group), point, low, high };
        }),
      ),
      note: this.chosen === "means" ? note : `${note} Groups differ if the interval of their difference does not contain 0.${unit}`,
    });
  }

  private pair({ rows, level }: Related, note: string): void {
    const { attribute, by, kind } = this.relation;
    const what = `${attribute} and ${by ?? ""}`;
    const about =
      kind === "association"
        ? "The correlation that two normal numbers would have; of skewed numbers it is not Pearson's."
        : "Pearson's correlation.";
    this.block.update({
      columns: [{ name: "numbers", text: true }, { name: "value" }, { name: "from" }, { name: "to" }],
      rows: rows.map((row) => [text(what), ...bounds(row, 1, decimals(rows, 1), "")]),
      level,
      values: rows
        .filter(({ point }) => point !== null)
        .map(({ point, low, high }) => ({ what, point, low, high, start: -1, end: 1 })),
      note: `${about} ${note}`,
    });
  }

  private spread(found: Range): void {
    const { below, quantiles, level, answers } = found;
    if (found.why !== null) {
      this.block.empty(why(found.reports, found.why));
      return;
    }
    const widest = Math.min(...quantiles.map(({ low, high }) => (high - low) / 2).filter((half) => half > 0));
    const dates = datedAs(this.relation.attribute);
    const write: Write = dates === undefined ? column(widest, 2) : (value) => iso(dates, value);
    const worded = (value: number | null): Cell => (dates === undefined || value === null ? numeric(value, write) : text(write(value)));
    const curve: Values = below
      .filter(({ point }) => point !== null)
      .map(({ cut, point, low, high }) => ({ kind: "below", value: cut, share: point, low, high }));
    const marks = quantiles
      .filter(({ point }) => point !== null)
      .map(({ share, point, low, high }) => ({ kind: "quantile", value: point, share, start: low, end: high }));
    this.block.update({
      columns: [{ name: "share below", text: true }, { name: "value" }, { name: "from" }, { name: "to" }],
      rows: quantiles.map(({ share, point, low, high, needed }): Cell[] => [
        { show: percent(share), raw: share },
        point === null ? numeric(null, write, lacking(needed)) : worded(point),
        worded(low),
        worded(high),
      ]),
      level,
      values: curve.length === 0 ? [] : [...curve, ...marks], // a line without a point
      note: `From ${counted(answers, "answer")}.`,
    });
  }
}

/** The rows of a picture, or none if all of their numbers are unknown: it would be empty. */
function known(values: Values): Values {
  return values.some(({ point }) => point !== null) ? values : [];
}

function why(reports: number, reason: string | null): string {
  return reports === 0 || reason === null ? "Nobody has answered this yet." : `There is none: ${reason}.`;
}

/** The heading of a relation, its panel, and its name in files. */
function described({ kind, attribute, by }: Relation): Omit<Options, "level" | "testid"> {
  const other = by ?? "";
  const ends = "The table has the numbers.";
  const scale = datedAs(attribute);
  switch (kind) {
    case "table":
      return {
        heading: `${attribute} × ${other}`,
        kind: "table",
        caption: `shares of ${attribute} by ${other}`,
        description: `A table of ${attribute} by ${other}: the share of each cell as its colour. ${ends}`,
        file: `${attribute}-by-${other}`,
      };
    case "means":
      return {
        heading: `${attribute} by ${other}`,
        kind: "groups",
        dates: datedAs(attribute),
        caption: `${attribute} by ${other}`,
        description: `${attribute} by ${other}: dots with intervals. ${ends}`,
        file: `${attribute}-by-${other}`,
      };
    case "range":
      return {
        heading: `Quantiles of ${attribute}`,
        kind: "below",
        ...(scale === undefined ? {} : { dates: scale, ends: [scale.low, scale.high] as const }),
        caption: `quantiles of ${attribute}`,
        axis: attribute,
        description: `The share of people below each value of ${attribute}, as a line with a band; quantiles as dots. ${ends}`,
        file: `${attribute}-quantiles`,
      };
    default:
      return {
        heading: `${kind === "moments" ? "Correlation" : "Association"} of ${attribute} and ${other}`,
        kind: "mean",
        caption: `${kind === "moments" ? "correlation" : "association"} of ${attribute} and ${other}`,
        axis: "from -1 to 1",
        description: `The ${kind} of ${attribute} and ${other} with its interval, from -1 to 1. ${ends}`,
        file: `${attribute}-and-${other}`,
      };
  }
}

/** Write all numbers with the same decimals, so that half of the narrowest interval has two digits. */
function decimals(rows: readonly RelatedRow[], factor: number): Write {
  const halves = rows.map(({ low, high }) => (low === null || high === null ? 0 : (factor * (high - low)) / 2));
  return column(Math.min(...halves.filter((half) => half > 0)), 2);
}

/** The same in words, such as dates. */
function said({ point, low, high, needed }: RelatedRow, write: Write): Cell[] {
  return [point, low, high].map((value) => text(value === null ? lacking(needed) : write(value)));
}

function bounds({ point, low, high, needed }: RelatedRow, factor: number, write: Write, unit: string): Cell[] {
  return [point, low, high].map((value) => numeric(value, (known) => write(factor * known) + unit, lacking(needed)));
}

/** A cell of the heat map. */
function cell({ category, group, point, low, high, needed }: RelatedRow, texts: boolean, write: Write): Values[number] {
  const known = point !== null && low !== null && high !== null;
  return {
    row: String(category),
    column: String(group),
    point,
    share: texts && known ? write(100 * point) : "",
    margin: !texts ? "" : known ? `±${write(50 * (high - low))}` : lacking(needed),
  };
}
