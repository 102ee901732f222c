/** The picture of one answer: the probability of sending it, for every value that a person may have. */
import { html, svg } from "./elements";
import type { Value } from "./fields";
import { t } from "./language";
import { labelled } from "./presentation";
import { percent, plain, type Profile } from "./words";

const WIDTH = 640;
const HEIGHT = 240;
const LEFT = 78; // room for twice as large letters, on a phone
const RIGHT = 12;
const TOP = 26;
const BOTTOM = 52;
const MOST_BARS = 24;

let pictures = 0;

function text(x: number, y: number, content: string, anchor: string, kind = "tick"): SVGElement {
  return svg("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, class: kind }, content);
}

/** Draw a profile. The picture has a name and a description, and a table says the same in numbers. */
export function picture(found: Profile): HTMLElement {
  const { attribute } = found;
  const id = `picture-${pictures++}`;
  const numeric = attribute.kind === "numeric";
  const points = found.values.map((value, index) => ({ value, chance: found.chances[index] ?? 0 }));
  const drawn = numeric ? points.filter((point) => point.value !== null) : shortened(points, found.ownValue);
  const top = Math.max(...points.map((point) => point.chance), found.own) * 1.08 || 1;
  const y = (chance: number): number => HEIGHT - BOTTOM - (chance / top) * (HEIGHT - TOP - BOTTOM);
  const title = t("pictureTitle", { name: attribute.name });
  const chances = points.map((point) => point.chance);
  const ends = { low: percent(Math.min(...chances)), high: percent(Math.max(...chances)) };
  const graphic = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-labelledby": `${id}-t ${id}-d`, class: "profile" },
    svg("title", { id: `${id}-t` }, title),
    svg("desc", { id: `${id}-d` }, t("pictureSpread", { ...ends, own: percent(found.own) })),
  );
  for (const share of [0, 0.5, 1]) {
    const chance = (top / 1.08) * share;
    graphic.append(
      svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(chance).toFixed(1), y2: y(chance).toFixed(1), class: "grid" }),
      text(LEFT - 6, y(chance) + 4, percent(chance), "end"),
    );
  }
  if (numeric) curve(graphic, attribute, drawn, found, y);
  else bars(graphic, drawn, found, y);
  const hidden = numeric ? 0 : points.length - drawn.length;
  const axis = hidden > 0 ? t("pictureMore", { name: attribute.name, count: hidden }) : attribute.name;
  graphic.append(text((LEFT + WIDTH) / 2, HEIGHT - 4, axis, "middle", "axis"));
  return html("figure", { class: "profile" }, html("figcaption", {}, title), graphic, table(found, title));
}

type Point = { value: Value; chance: number };

function shortened(points: Point[], own: Value): Point[] {
  if (points.length <= MOST_BARS) return points;
  return [...points.filter((point) => point.value === own), ...points.filter((point) => point.value !== own)].slice(
    0,
    MOST_BARS,
  );
}

/** Four to eight round numbers within a domain. */
function ticks(low: number, high: number): number[] {
  const rough = (high / 5 - low / 5) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= rough * 0.99) ?? rough;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: Math.min(count, 12) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function curve(
  graphic: SVGElement,
  attribute: { low: number; high: number },
  points: Point[],
  found: Profile,
  y: (chance: number) => number,
): void {
  const { low, high } = attribute;
  const x = (value: number): number => {
    const share = (value / 2 - low / 2) / (high / 2 - low / 2); // halves, so that no difference overflows
    return LEFT + Math.min(Math.max(share, 0), 1) * (WIDTH - LEFT - RIGHT);
  };
  const path = points.map((point) => `${x(point.value as number).toFixed(1)},${y(point.chance).toFixed(1)}`);
  const floor = y(0).toFixed(1);
  graphic.append(
    svg("polygon", { points: `${LEFT},${floor} ${path.join(" ")} ${WIDTH - RIGHT},${floor}`, class: "area" }),
    svg("polyline", { points: path.join(" "), class: "curve" }),
  );
  for (const value of ticks(low, high)) {
    const place = x(value);
    const anchor = place < LEFT + 12 ? "start" : place > WIDTH - RIGHT - 12 ? "end" : "middle";
    graphic.append(text(place, HEIGHT - BOTTOM + 22, plain(value), anchor));
  }
  if (found.ownValue === null) return;
  const here = x(found.ownValue as number);
  graphic.append(
    svg("line", { x1: here.toFixed(1), x2: here.toFixed(1), y1: TOP - 6, y2: floor, class: "you" }),
    text(here, TOP - 10, t("you"), here > WIDTH - 40 ? "end" : "middle", "you-label"),
  );
}

function bars(graphic: SVGElement, points: Point[], found: Profile, y: (chance: number) => number): void {
  const step = (WIDTH - LEFT - RIGHT) / points.length;
  const room = Math.max(Math.floor(step / 7), 1); // letters under a bar
  points.forEach(({ value, chance }, index) => {
    const x = LEFT + step * index;
    const mine = value === found.ownValue;
    const label = labelled(found.attribute.name, value);
    graphic.append(
      svg("rect", {
        x: (x + step * 0.14).toFixed(1),
        y: y(chance).toFixed(1),
        width: (step * 0.72).toFixed(1),
        height: (y(0) - y(chance)).toFixed(1),
        class: mine ? "bar mine" : "bar",
      }),
      text(x + step / 2, HEIGHT - BOTTOM + 22, label.length > room ? `${label.slice(0, room - 1)}…` : label, "middle"),
    );
    if (mine) graphic.append(text(x + step / 2, y(chance) - 6, t("you"), "middle", "you-label"));
  });
}

/** The same in numbers; for a numeric attribute, some values only. */
function table(found: Profile, title: string): HTMLElement {
  const step = found.attribute.kind === "numeric" ? 12 : 1;
  const body = html("tbody");
  found.values.forEach((value, index) => {
    if (value !== null && index % step !== 0) return;
    const { kind, name: of } = found.attribute;
    const name = kind === "numeric" && value !== null ? plain(Number(value)) : labelled(of, value);
    const chance = percent(found.chances[index] ?? 0);
    body.append(html("tr", {}, html("th", { scope: "row" }, name), html("td", {}, chance)));
  });
  const head = html(
    "tr",
    {},
    html("th", { scope: "col" }, found.attribute.name),
    html("th", { scope: "col" }, t("probability")),
  );
  const whole = html("table", {}, html("caption", {}, title), html("thead", {}, head), body);
  return html("details", {}, html("summary", {}, t("inNumbers")), html("div", { class: "scroll", tabindex: 0 }, whole));
}
