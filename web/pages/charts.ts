// Charts: Vega-Lite from the collector itself, with the same specifications as the command line.
//
// Expressions are interpreted (`ast`), as the policy of the pages forbids turning strings into code.

import { get } from "./api.js";
import { type Dated, expression, marked, marks } from "./calendar.js";
import type { Charts } from "./documents.js";

export type Values = Record<string, unknown>[];
type Spec = Record<string, unknown>;

export const MOST_BARS = 32; // of one chart
const PICTURE = 640; // pixels: the width of a saved picture

interface View {
  data(name: string, values: Values): View;
  resize(): View;
  runAsync(): Promise<View>;
  toSVG(): Promise<string>;
  finalize(): void;
}

type Embed = (
  where: HTMLElement,
  spec: Record<string, unknown>,
  options: Record<string, unknown>,
) => Promise<{ view: View; finalize: () => void }>;

declare global {
  interface Window {
    vegaEmbed?: Embed;
  }
}

interface Ready {
  embed: Embed;
  charts: Charts;
}

let loading: Promise<Ready> | undefined;
let failed: (why: string) => void = () => undefined;

/** Call this if charts cannot be drawn. */
export function onFailure(tell: (why: string) => void): void {
  failed = tell;
}

function ready(): Promise<Ready> {
  loading ??= (async () => {
    try {
      const [charts] = await Promise.all([get<Charts>("/charts"), script("/pages/vega.js")]);
      if (window.vegaEmbed === undefined) throw new Error("The charts of this collector could not be loaded.");
      return { embed: window.vegaEmbed, charts };
    } catch (error) {
      failed(error instanceof Error ? error.message : "");
      throw error;
    }
  })();
  return loading;
}

/** Begin to load Vega before the first chart is in sight: the collector may have to build it. */
export function warm(): void {
  ready().catch(() => undefined);
}

function script(address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const made = document.createElement("script");
    made.src = address;
    made.onload = () => resolve();
    made.onerror = () => reject(new Error("The charts of this collector could not be loaded."));
    document.head.append(made);
  });
}

interface Encoding {
  x?: { axis?: Spec };
  y?: { type?: string };
}

/** Name the axis of numbers; a single row then needs no name of its own. */
function named(spec: Spec, axis: string): Spec {
  const layers = spec["layer"];
  if (Array.isArray(layers)) return { ...spec, layer: layers.map((layer: Spec) => named(layer, axis)) };
  const { x, y, ...rest } = spec["encoding"] as Encoding;
  return {
    ...spec,
    encoding: {
      ...rest,
      x: x?.axis === undefined ? x : { ...x, axis: { ...x.axis, title: axis } },
      y: y?.type === "nominal" ? { ...y, axis: null } : y,
    },
  };
}

interface Tip {
  field: string;
  type: string;
  format?: string;
}

const NUMBER = ",.6~r"; // the format of tooltips that have a number of the attribute: src/hush/plots/panels.py

/** Label the axes of numbers with dates or times of day, and write them in tooltips. */
function dated(spec: Spec, attribute: Dated, ends: readonly [number, number] | undefined): Spec {
  const layers = spec["layer"];
  if (Array.isArray(layers)) return { ...spec, layer: layers.map((layer: Spec) => dated(layer, attribute, ends)) };
  const { tooltip, ...rest } = spec["encoding"] as Record<string, { axis?: Spec } | undefined>;
  const values = ends === undefined ? {} : { values: marks(attribute, ...ends) };
  const axis = { ...values, labelBound: true, labelExpr: marked(attribute) };
  const labelled = (one: { axis?: Spec } | undefined): unknown =>
    one?.axis?.["labelExpr"] === undefined ? one : { ...one, axis: { ...one.axis, ...axis } };
  const tips = (Array.isArray(tooltip) ? tooltip : []) as Tip[];
  const numbers = tips.filter(({ format }) => format === NUMBER).map(({ field }) => field);
  const said = tips.map((tip) => (tip.format === NUMBER ? { ...tip, field: `${tip.field} said`, type: "nominal", format: undefined } : tip));
  const written = numbers.map((field) => ({ calculate: expression(attribute, `datum.${field}`), as: `${field} said` }));
  const before = (spec["transform"] ?? []) as Spec[];
  return {
    ...spec,
    ...(written.length > 0 ? { transform: [...before, ...written] } : {}),
    encoding: { ...rest, x: labelled(rest["x"]), y: labelled(rest["y"]), ...(tips.length > 0 ? { tooltip: said } : {}) },
  };
}

/** The ends of the intervals, for an axis that is as long as they reach. */
function reach(values: Values): readonly [number, number] | undefined {
  const found = values.flatMap(({ low, point, high }) => [low, point, high]).filter((one) => typeof one === "number");
  return found.length === 0 ? undefined : [Math.min(...found), Math.max(...found)];
}

const LETTER = 5.5; // pixels of a letter on an axis, about
const ROWS = 140; // pixels that the names of rows may take

/** Turn the names of columns if they would run into each other. */
function turned(spec: Spec, values: Values, width: number): Spec {
  const names = new Set(values.map(({ column }) => String(column)));
  const longest = Math.max(...[...names].map((name) => name.length));
  if (longest * LETTER < (width - ROWS) / names.size) return spec;
  const layers = spec["layer"] as (Spec & { encoding: { x: { axis: Spec } } })[];
  const axis = { labelAngle: -90, labelAlign: "left", labelBaseline: "middle" };
  return {
    ...spec,
    layer: layers.map((layer) => {
      const { x } = layer.encoding;
      return { ...layer, encoding: { ...layer.encoding, x: { ...x, axis: { ...x.axis, ...axis } } } };
    }),
  };
}

async function embedded(
  where: HTMLElement,
  { kind, axis, description, dates, ends }: Drawing,
  values: Values,
  theme: string,
  extra: Spec,
): Promise<{ view: View; finalize: () => void }> {
  const { embed, charts } = await ready();
  const plain = charts.charts[kind] ?? {};
  const titled = axis === undefined ? plain : named(plain, axis);
  const fitted = kind === "table" ? turned(titled, values, where.clientWidth || PICTURE) : titled;
  const spec = { ...(dates === undefined || kind === "differences" ? fitted : dated(fitted, dates, ends ?? reach(values))), description, ...extra, datasets: { rows: values } };
  return embed(where, spec, {
    mode: "vega-lite",
    renderer: "svg",
    ast: true,
    actions: false,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
    config: charts.themes[theme],
  });
}

export interface Drawing {
  /** The panel that draws it. */
  kind: string;
  description: string;
  /** The title of the axis of numbers, if it differs from other charts of its kind. */
  axis?: string;
  /** The attribute, if its numbers are dates or times of day; and the ends of the axis, if it is the whole scale. */
  dates?: Dated | undefined;
  ends?: readonly [number, number] | undefined;
}

/** A chart at a place of the page. It is made when it is first drawn, and redrawn when colours change. */
export class Chart {
  private shown: { view: View; finalize: () => void; theme: string; kind: string } | undefined;
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly where: HTMLElement,
    private readonly drawing: Drawing,
  ) {}

  /** Show values, by another panel if one is named. Calls are taken one after the other. */
  draw(values: Values, kind = this.drawing.kind): Promise<void> {
    this.turn = this.turn.then(() => this.drawn(values, kind)).catch(() => undefined);
    return this.turn;
  }

  private async drawn(values: Values, kind: string): Promise<void> {
    const theme = document.documentElement.dataset["theme"] ?? "light";
    if (this.shown?.theme === theme && this.shown.kind === kind) {
      await this.shown.view.data("rows", values).runAsync();
      this.hideEmpty();
      return;
    }
    this.shown?.finalize();
    this.shown = undefined;
    const made = await embedded(this.where, { ...this.drawing, kind }, values, theme, {});
    this.shown = { ...made, theme, kind };
    this.hideEmpty();
  }

  /** Marks of which there is none, as if all intervals are open, are pictures without a name for those who hear the page. */
  private hideEmpty(): void {
    for (const marks of this.where.querySelectorAll('g[role="graphics-symbol"], g[role="graphics-object"]')) {
      if (marks.childElementCount === 0) marks.setAttribute("aria-hidden", "true");
      else marks.removeAttribute("aria-hidden");
    }
  }

  /** Ends when everything is drawn that was asked for so far. */
  get done(): Promise<void> {
    return this.turn;
  }

  clear(): void {
    this.turn = this.turn.then(() => {
      this.shown?.finalize();
      this.shown = undefined;
      this.where.replaceChildren();
    });
  }

  /** Return a picture for a document: light, of a fixed width, with a title. */
  async svg(values: Values, title: string, kind = this.drawing.kind): Promise<string> {
    const aside = document.createElement("div");
    const { view, finalize } = await embedded(aside, { ...this.drawing, kind }, values, "light", { width: PICTURE, title });
    try {
      return await view.toSVG();
    } finally {
      finalize();
    }
  }
}
