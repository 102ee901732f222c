// A block: a heading, a chart, a table of the same numbers, and both as files. It is filled when it comes into sight.

import { Chart, type Values } from "./charts.js";
import { html } from "./elements.js";
import type { Dated } from "./calendar.js";
import { csv, percent, type Raw, save, say } from "./text.js";

export interface Column {
  name: string;
  text?: boolean;
  /** Its name in files, if that differs. */
  file?: string;
}

/** A cell of a table: the text shown, and the value in the file. */
export interface Cell {
  show: string;
  raw: Raw;
}

export interface Content {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  values?: Values;
  /** The panel that draws it, if it is not that of the block. */
  kind?: string;
  note?: string;
  /** The probability of its intervals: captions and files are named after it. */
  level?: number;
}

export interface Options {
  heading: string;
  level: 2 | 3 | 4;
  /** The panel that draws it; none for a table alone. */
  kind?: string;
  testid: string;
  caption: string;
  description?: string;
  /** The title of the axis of numbers. */
  axis?: string;
  /** The attribute, if its numbers are dates or times of day; and the ends of the axis, if it is the whole scale. */
  dates?: Dated | undefined;
  ends?: readonly [number, number] | undefined;
  /** Whether the table needs as much room as the chart. */
  even?: boolean;
  /** The name of files, without their suffix. */
  file: string;
  /** More about it, above the chart. */
  words?: string;
  /** Whether it is filled before it comes into sight. */
  eager?: boolean;
}

const MOST_ROWS = 100; // of a table, unless the reader wants all

/** Screens on which tables lie open beside their charts; on others they are folded beneath. As in dashboard.css. */
const desk = matchMedia("(min-width: 56rem)");

const waiting = new Map<Element, Block>();
const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) waiting.get(entry.target)?.seen(entry.isIntersecting);
  },
  { rootMargin: "200px" },
);

document.addEventListener("hush-theme", () => {
  for (const block of waiting.values()) block.repaint();
});

/** Unfold all tables. */
export function unfold(): void {
  folded = false;
  for (const block of waiting.values()) block.unfold();
}

let folded = !desk.matches;
desk.addEventListener("change", () => {
  if (desk.matches) unfold();
  folded = !desk.matches;
});

/** Parts that were opened for paper alone. */
const opened: HTMLDetailsElement[] = [];

/** Show everything that is known: paper can be neither unfolded nor scrolled. */
function open(): void {
  for (const part of document.querySelectorAll<HTMLDetailsElement>("main details:not([open])")) {
    part.open = true;
    opened.push(part);
  }
  for (const block of waiting.values()) block.force(true);
}

addEventListener("beforeprint", open);
addEventListener("afterprint", () => {
  for (const part of opened.splice(0)) part.open = false;
  for (const block of waiting.values()) block.force(false);
});

const PATIENCE = 20_000; // milliseconds that printing waits for the collector

/** Load and draw everything, and print. A browser's own command prints only what is there already. */
export async function print(): Promise<void> {
  open();
  const last = Date.now() + PATIENCE;
  while ([...waiting.values()].some((block) => block.loading) && Date.now() < last) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  open(); // blocks that an answer has brought
  await Promise.all([...waiting.values()].map((block) => block.drawn));
  window.print();
}

let unique = 0;

export class Block {
  readonly root: HTMLElement;
  readonly tools: HTMLElement;
  private readonly chart: Chart | undefined;
  private readonly figure: HTMLElement | undefined;
  private readonly details: HTMLDetailsElement | undefined;
  private readonly note: HTMLElement;
  private readonly body: HTMLTableSectionElement;
  private readonly head: HTMLTableSectionElement;
  private readonly caption: HTMLElement;
  private readonly more: HTMLButtonElement;
  private content: Content | undefined;
  private near: boolean;
  private forced = false;
  private dirty = false;
  private all = false;
  private readonly pair: HTMLElement;
  /** Called when the block comes into sight. */
  onSight: () => void = () => undefined;

  constructor(private readonly options: Options) {
    unique += 1;
    const id = `block-${unique}`;
    const { heading, level, testid, kind } = options;
    // Only the large parts of the page are landmarks: there would be hundreds of the others.
    this.root =
      level === 2
        ? html("section", { id: testid, class: "block", "data-testid": testid, "aria-labelledby": id })
        : html("div", { class: "block", role: "group", "data-testid": testid, "aria-labelledby": id });
    this.root.append(html(`h${level}`, { id }, heading));
    if (options.words !== undefined) this.root.append(html("p", { class: "quiet small" }, options.words));
    this.near = options.eager === true;
    this.note = html("p", { class: "quiet small", "data-testid": "note" }, "Loading.");
    this.caption = html("caption", {}, options.caption);
    this.head = html("thead");
    this.body = html("tbody");
    const scroll = html(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${options.caption}` },
      html("table", { "data-testid": "table" }, this.caption, this.head, this.body),
    );
    this.more = html("button", { type: "button", class: "small screen" });
    this.more.hidden = true;
    this.more.addEventListener("click", () => {
      this.all = true;
      this.render();
    });
    this.pair = html("div", { class: "pair", hidden: true });
    if (kind !== undefined) {
      const place = html("div", { class: "vega" });
      this.figure = html("figure", { class: "chart", "data-testid": "chart" }, place);
      const { axis, dates, ends, description = options.caption } = options;
      this.chart = new Chart(place, { kind, description, dates, ends, ...(axis === undefined ? {} : { axis }) });
      const summary = html("summary", { class: "small" }, "In numbers", html("span", { class: "unseen" }, `: ${options.caption}`));
      this.details = html("details", { class: "tabled", open: !folded }, summary, scroll, this.more);
      this.pair.append(this.figure, this.details);
      this.pair.classList.toggle("even", options.even === true);
    } else {
      this.pair.classList.add("single");
      this.pair.append(html("div", { class: "tabled" }, scroll, this.more));
    }
    this.tools = html("div", { class: "row tools screen", hidden: true });
    this.button("CSV", "csv", () => this.saveCsv());
    if (this.chart !== undefined) {
      this.button("SVG", "svg", () => void this.saveSvg());
      this.button("PNG", "png", () => void this.savePng());
    }
    this.root.append(this.note, this.pair, this.tools);
    waiting.set(this.root, this);
    observer.observe(this.root);
  }

  private button(what: string, testid: string, act: () => void): void {
    const made = html("button", { type: "button", class: "small", "data-testid": `download-${testid}` }, what);
    made.append(html("span", { class: "unseen" }, ` of ${this.options.caption}`));
    made.addEventListener("click", act);
    this.tools.append(made);
  }

  /** Put a control above chart and table. */
  control(node: HTMLElement): void {
    this.note.before(node);
  }

  /** Show this from now on: at once if it is in sight. */
  update(content: Content): void {
    this.content = content;
    this.dirty = true;
    if (this.inSight) this.render();
  }

  /** Show a sentence in the place of chart and table. */
  empty(note: string): void {
    this.update({ columns: this.content?.columns ?? [], rows: [], note });
  }

  remove(): void {
    observer.unobserve(this.root);
    waiting.delete(this.root);
    this.chart?.clear();
    this.root.remove();
  }

  seen(near: boolean): void {
    this.near = near || this.options.eager === true;
    this.look();
  }

  /** Be filled although nobody looks, as on paper. */
  force(forced: boolean): void {
    this.forced = forced;
    this.look();
  }

  private look(): void {
    if (!this.inSight) return;
    if (this.dirty) this.render();
    this.onSight();
  }

  get inSight(): boolean {
    return this.near || this.forced;
  }

  /** Whether the collector has not answered yet. */
  get loading(): boolean {
    return this.content === undefined;
  }

  /** Ends when its chart is drawn. */
  get drawn(): Promise<void> {
    return this.chart?.done ?? Promise.resolve();
  }

  unfold(): void {
    if (this.details !== undefined) this.details.open = true;
  }

  /** Its caption, with the level of its intervals. */
  private get title(): string {
    const level = this.content?.level;
    return this.options.caption + (level === undefined ? "" : `, with ${percent(level)} intervals`);
  }

  /** The name of its file. */
  private file(suffix: string): string {
    const level = this.content?.level;
    return `${this.options.file}${level === undefined ? "" : `-${Number((100 * level).toFixed(4))}`}.${suffix}`;
  }

  /** Colours have changed. */
  repaint(): void {
    this.dirty = true;
    if (this.inSight) this.render();
  }

  private render(): void {
    const content = this.content;
    if (content === undefined) return;
    this.dirty = false;
    say(this.note, content.note ?? "");
    this.note.hidden = content.note === undefined;
    say(this.caption, this.title);
    const { columns, rows } = content;
    const none = rows.length === 0;
    this.pair.hidden = none;
    this.tools.hidden = none;
    if (none) return;
    this.fill(columns, this.all ? rows : rows.slice(0, MOST_ROWS));
    this.more.hidden = this.all || rows.length <= MOST_ROWS;
    if (!this.more.hidden) say(this.more, `Show all ${rows.length.toLocaleString("en")} rows`);
    const values = content.values ?? [];
    if (this.figure !== undefined) this.figure.hidden = values.length === 0;
    if (values.length === 0) this.unfold();
    if (this.chart !== undefined && values.length > 0) void this.chart.draw(values, content.kind);
  }

  private fill(columns: readonly Column[], rows: readonly (readonly Cell[])[]): void {
    const names = columns.map((column) => column.name).join("\n");
    if (this.head.dataset["names"] !== names) {
      this.head.dataset["names"] = names;
      this.head.replaceChildren(
        html(
          "tr",
          {},
          ...columns.map((column) =>
            html("th", { scope: "col", ...(column.text === true ? { class: "text" } : {}) }, column.name),
          ),
        ),
      );
      this.body.replaceChildren();
    }
    while (this.body.rows.length > rows.length) this.body.deleteRow(-1);
    while (this.body.rows.length < rows.length) {
      const row = this.body.insertRow();
      columns.forEach((column, index) => {
        const kind = column.text === true ? { class: "text" } : {};
        row.append(index === 0 ? html("th", { scope: "row", ...kind }) : html("td", kind));
      });
    }
    rows.forEach((cells, index) => {
      const row = this.body.rows[index];
      cells.forEach((cell, column) => {
        const place = row?.cells[column];
        if (place !== undefined) say(place, cell.show);
      });
    });
  }

  private saveCsv(): void {
    if (this.content === undefined) return;
    const { columns, rows } = this.content;
    const lines = [columns.map((column) => column.file ?? column.name), ...rows.map((row) => row.map((cell) => cell.raw))];
    save(this.file("csv"), "text/csv", csv(lines));
  }

  private async saveSvg(): Promise<void> {
    const { values, kind } = this.content ?? {};
    if (this.chart === undefined || values === undefined) return;
    save(this.file("svg"), "image/svg+xml", await this.chart.svg(values, this.title, kind));
  }

  private async savePng(): Promise<void> {
    const { values, kind } = this.content ?? {};
    if (this.chart === undefined || values === undefined) return;
    save(this.file("png"), "image/png", await pixels(await this.chart.svg(values, this.title, kind)));
  }
}

const SHARP = 2; // pixels of a picture for each of the drawing, as on a good screen

/** Return a drawing as a picture, made by this browser alone. */
async function pixels(drawing: string): Promise<Blob> {
  const address = URL.createObjectURL(new Blob([drawing], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = SHARP * image.width;
    canvas.height = SHARP * image.height;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const made = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
    if (made === null) throw new Error("This browser cannot make pictures.");
    return made;
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** A cell of text. */
export function text(value: string): Cell {
  return { show: value, raw: value };
}

/** A cell of a number, or of none. */
export function numeric(value: number | null, show: (value: number) => string, none = "unknown"): Cell {
  return { show: value === null ? none : show(value), raw: value };
}
