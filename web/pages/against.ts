// This plan against another one of the collector: the difference of all estimates that both ask alike.

import { get } from "./api.js";
import { Block, text } from "./blocks.js";
import { datedAs, drawnIn, iso, length } from "./calendar.js";
import { moved } from "./changing.js";
import { choose } from "./controls.js";
import type { ChangeRow, Changes, PlanEntry, Statement } from "./documents.js";
import { html } from "./elements.js";
import { Fresh } from "./fresh.js";
import { column, lacking, say, whole } from "./text.js";

const MOST_BARS = 32;
const NOBODY = ""; // no other plan is chosen

function named({ id, title }: PlanEntry): string {
  return title === "" ? `Plan ${id.slice(0, 12)}` : title;
}

/** The part of the page that compares plans; none if the collector has no other. */
export class Against {
  readonly nodes: readonly HTMLElement[];
  private readonly list = html("div", { "data-testid": "differences-list" });
  private readonly notes = html("p", { class: "quiet small", role: "status", "data-testid": "against-note" });
  private readonly others: readonly PlanEntry[];
  private readonly blocks = new Map<string, Block>();
  private readonly fresh: Fresh;
  private readonly first: Block;
  private chosen: string;

  constructor(
    private readonly plan: string,
    plans: readonly PlanEntry[],
    private readonly statement: Statement,
    private level: string,
  ) {
    this.others = plans.filter(({ id }) => id !== plan);
    const wanted = new URLSearchParams(location.search).get("against");
    this.chosen = this.others.some(({ id }) => id === wanted) ? String(wanted) : NOBODY;
    this.first = new Block({
      heading: "Against another plan",
      level: 2,
      testid: "against",
      caption: "differences between two plans",
      file: "differences",
      words: "The difference of every estimate that both plans ask alike: this plan minus the other one.",
    });
    this.first.control(
      choose({
        label: "Compare with",
        testid: "against-plan",
        values: [NOBODY, ...this.others.map(({ id }) => id)],
        show: (value) => this.title(value),
        chosen: this.chosen,
        changed: (value) => {
          this.chosen = value;
          const address = new URL(location.href);
          if (value === NOBODY) address.searchParams.delete("against");
          else address.searchParams.set("against", value);
          history.replaceState(null, "", address);
          this.fresh.again();
        },
      }),
    );
    this.fresh = new Fresh(this.first, () => this.fetch());
    this.nodes = this.others.length === 0 ? [] : [this.first.root, this.notes, this.list];
    if (this.nodes.length === 0) this.first.remove();
    this.notes.hidden = true;
  }

  private title(id: string): string {
    const found = this.others.find((entry) => entry.id === id);
    return found === undefined ? "no other plan" : named(found);
  }

  choose(level: string): void {
    this.level = level;
    this.fresh.again();
  }

  update(reports: number): void {
    if (this.nodes.length > 0) this.fresh.update(reports);
  }

  private clear(): void {
    for (const block of this.blocks.values()) block.remove();
    this.blocks.clear();
    this.notes.hidden = true;
  }

  private async fetch(): Promise<void> {
    if (this.chosen === NOBODY) {
      this.clear();
      this.first.empty("Choose a plan to compare with.");
      return;
    }
    const found = await get<Changes>(
      `/plans/${this.plan}/changes?against=${this.chosen}&intervals=together&level=${this.level}`,
    );
    if (found.against !== this.chosen) return;
    say(this.notes, found.left_out.join(" "));
    this.notes.hidden = found.left_out.length === 0;
    const names = this.statement.attributes.map(({ name }) => name);
    const rows = names.flatMap((name) => found.changes.filter(({ attribute }) => attribute === name));
    if (rows.length === 0) {
      this.clear();
      this.notes.hidden = found.left_out.length === 0;
      this.first.empty("These plans ask nothing alike, so nothing can be compared.");
      return;
    }
    this.first.update({
      columns: [
        { name: "estimate", text: true },
        { name: "this plan" },
        { name: "the other" },
        { name: "difference" },
        { name: "from" },
        { name: "to" },
        { name: "in words", text: true },
      ],
      rows: rows.map(cells),
      level: found.level,
      note: `${whole(found.reports)} reports here, ${whole(found.reports_against)} of ${this.title(this.chosen)}.`,
    });
    for (const name of names) this.draw(name, rows.filter(({ attribute }) => attribute === name), found.level);
  }

  /** Draw the differences of one attribute. */
  private draw(name: string, rows: readonly ChangeRow[], level: number): void {
    if (rows.length === 0) {
      this.blocks.get(name)?.remove();
      this.blocks.delete(name);
      return;
    }
    const block = this.blocks.get(name) ?? drawing(name, rows.some(({ category }) => category === null));
    if (!this.blocks.has(name)) this.list.append(block.root);
    this.blocks.set(name, block);
    const shares = rows.filter(({ category }) => category !== null);
    const shown = shares.length === rows.length ? shares : rows.filter(({ category }) => category === null);
    const dates = datedAs(name);
    const [unit, size] = dates === undefined || shares.length === rows.length ? ["", 1] : drawnIn(dates);
    const factor = shares.length === rows.length ? 100 : size;
    block.update({
      columns: [{ name: "estimate", text: true }, { name: "in words", text: true }],
      rows: shown.map((row) => [text(what(row)), text(moved(row))]),
      level,
      ...(unit === "" ? {} : { note: `The picture is in ${unit}.` }),
      values: shown.slice(0, MOST_BARS).map((row) => ({
        what: row.category === null ? name : String(row.category),
        point: row.point === null ? null : factor * row.point,
        low: factor * row.low,
        high: factor * row.high,
      })),
    });
  }
}

function drawing(name: string, mean: boolean): Block {
  return new Block({
    heading: name,
    level: 3,
    kind: "differences",
    testid: "difference-chart",
    caption: `differences of ${name}`,
    description: `Differences of ${name} between both plans${mean ? "" : ", in points"}, with intervals and a line at 0. The table has them in words.`,
    ...(mean ? { axis: `difference of ${name}` } : {}),
    file: `${name}-differences`,
  });
}

function what({ category }: ChangeRow): string {
  return category === null ? "mean" : `share of ${String(category)}`;
}

function cells(row: ChangeRow): { show: string; raw: string | number | null }[] {
  const factor = row.category === null ? 1 : 100;
  const write = column((factor * (row.high - row.low)) / 2, 2);
  const unit = factor === 100 ? " %" : "";
  const dates = row.category === null ? datedAs(row.attribute) : undefined;
  const none = lacking(row.needed);
  const cell = (value: number | null, difference = true): { show: string; raw: number | string | null } => {
    if (dates !== undefined && value !== null) return difference ? { show: length(dates, value), raw: value } : text(iso(dates, value));
    return { show: value === null ? none : write(factor * value) + unit, raw: value };
  };
  return [
    { show: `${row.attribute}: ${what(row)}`, raw: `${row.attribute}: ${what(row)}` },
    cell(row.after, false),
    cell(row.before, false),
    cell(row.point),
    cell(row.low),
    cell(row.high),
    text(moved(row)),
  ];
}
