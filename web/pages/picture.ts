/** The picture of one answer: the probability of sending it, for every value that a person may have. */
import { html, svg } from "./elements";
import type { Numeric } from "hush-client";
import type { Value } from "./around";
import { isDated, mark, marks } from "./calendar";
import { t } from "./language";
import { labelled } from "./presentation";
import { percent, plain } from "./figures";
import { type Profile, written } from "./words";

const HEIGHT = 240;
const LEFT = 62;
const RIGHT = 12;
const TOP = 26;
const BOTTOM = 52;
const MOST_BARS = 24;
const LETTER = 7.5; // pixels, of a wide letter; a Chinese one is as wide as two
const LINE = 24; // pixels from one row to the next

/** How wide a picture is drawn: as wide as it is seen, about, so that letters have their size. */
const narrow = matchMedia("(max-width: 30rem)");
const width = (): number => (narrow.matches ? 330 : 640);

const long = (content: string): number => [...content].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 2 : 1), 0);

/** A text in a room of some pixels: its beginning if it is too long. */
function short(content: string, room: number): string {
  if (long(content) * LETTER <= room) return content;
  let kept = content;
  while (kept !== "" && (long(kept) + 1) * LETTER > room) kept = [...kept].slice(0, -1).join("");
  return `${kept}…`;
}

let pictures = 0;

function text(x: number, y: number, content: string, anchor: string, kind = "tick"): SVGElement {
  return svg("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, class: kind }, content);
}

/** Draw a profile. The picture has a name and a description, and a table says the same in numbers. */
export function picture(found: Profile): HTMLElement {
  const { attribute } = found;
  const id = `picture-${pictures++}`;
  const points = found.values.map((value, index) => ({ value, chance: found.chances[index] ?? 0 }));
  const title = t("pictureTitle", { name: attribute.name });
  const chances = points.map((point) => point.chance);
  const ends = { low: percent(Math.min(...chances)), high: percent(Math.max(...chances)) };
  const told = [
    svg("title", { id: `${id}-t` }, title),
    svg("desc", { id: `${id}-d` }, t("pictureSpread", { ...ends, own: percent(found.own) })),
  ];
  const top = Math.max(...chances, found.own) * 1.08 || 1;
  const drawn = attribute.kind === "numeric" ? points.filter((point) => point.value !== null) : shortened(points, found.ownValue);
  const hidden = attribute.kind === "numeric" ? 0 : points.length - drawn.length;
  const axis = hidden > 0 ? t("pictureMore", { name: attribute.name, count: hidden }) : attribute.name;
  const labels = drawn.map(({ value }) => long(labelled(attribute.name, value)));
  const [parts, height] =
    attribute.kind === "numeric"
      ? [curve(attribute, drawn, found, top), HEIGHT]
      : Math.max(...labels) * LETTER <= (width() - LEFT - RIGHT) / drawn.length
        ? [bars(drawn, found, top), HEIGHT]
        : [rows(drawn, found, top), drawn.length * LINE + TOP + BOTTOM];
  const name = text((LEFT + width()) / 2, height - 4, short(axis, width() - LEFT), "middle", "axis");
  const box = { viewBox: `0 0 ${width()} ${height}`, role: "img", "aria-labelledby": `${id}-t ${id}-d`, class: "profile" };
  return html("figure", { class: "profile" }, html("figcaption", {}, title), svg("svg", box, ...told, ...parts, name), table(found, title));
}

/** Where a probability is drawn, if 0 lies at the bottom and the largest at the top. */
const upwards = (top: number) => (chance: number): number => HEIGHT - BOTTOM - (chance / top) * (HEIGHT - TOP - BOTTOM);

/** Lines at none, half and all of the largest probability. */
function grid(top: number): SVGElement[] {
  const y = upwards(top);
  return [0, 0.5, 1].flatMap((share) => {
    const chance = (top / 1.08) * share;
    return [
      svg("line", { x1: LEFT, x2: width() - RIGHT, y1: y(chance).toFixed(1), y2: y(chance).toFixed(1), class: "grid" }),
      text(LEFT - 6, y(chance) + 4, percent(chance), "end"),
    ];
  });
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

function curve(attribute: Numeric, points: Point[], found: Profile, top: number): SVGElement[] {
  const y = upwards(top);
  const { low, high } = attribute;
  const room = width() - LEFT - RIGHT;
  const x = (value: number): number => {
    const share = (value / 2 - low / 2) / (high / 2 - low / 2); // halves, so that no difference overflows
    return LEFT + Math.min(Math.max(share, 0), 1) * room;
  };
  const path = points.map((point) => `${x(point.value as number).toFixed(1)},${y(point.chance).toFixed(1)}`);
  const floor = y(0).toFixed(1);
  const parts = [
    ...grid(top),
    svg("polygon", { points: `${LEFT},${floor} ${path.join(" ")} ${width() - RIGHT},${floor}`, class: "area" }),
    svg("polyline", { points: path.join(" "), class: "curve" }),
  ];
  const dates = isDated(attribute);
  const places = dates ? marks(attribute, low, high) : ticks(low, high);
  const labels = places.map((value) => (dates ? mark(attribute, value) : plain(value)));
  // Every second or third of them, if all would run into each other.
  const needed = (Math.max(...labels.map(long)) + 2) * LETTER;
  const every = Math.max(1, Math.ceil((needed * places.length) / room));
  labels.forEach((label, index) => {
    if (index % every !== 0) return;
    const place = x(places[index] ?? low);
    const half = (long(label) * LETTER) / 2;
    const anchor = place - half < LEFT - 20 ? "start" : place + half > width() ? "end" : "middle";
    parts.push(text(place, HEIGHT - BOTTOM + 22, label, anchor));
  });
  if (found.ownValue === null) return parts;
  const here = x(found.ownValue as number);
  parts.push(
    svg("line", { x1: here.toFixed(1), x2: here.toFixed(1), y1: TOP - 6, y2: floor, class: "you" }),
    text(here, TOP - 10, t("you"), here > width() - 40 ? "end" : "middle", "you-label"),
  );
  return parts;
}

/** Bars side by side, if their names fit beneath them. */
function bars(points: Point[], found: Profile, top: number): SVGElement[] {
  const y = upwards(top);
  const step = (width() - LEFT - RIGHT) / points.length;
  const parts = grid(top);
  points.forEach(({ value, chance }, index) => {
    const x = LEFT + step * index;
    const mine = value === found.ownValue;
    parts.push(
      svg("rect", {
        x: (x + step * 0.14).toFixed(1),
        y: y(chance).toFixed(1),
        width: (step * 0.72).toFixed(1),
        height: (y(0) - y(chance)).toFixed(1),
        class: mine ? "bar mine" : "bar",
      }),
      text(x + step / 2, HEIGHT - BOTTOM + 22, labelled(found.attribute.name, value), "middle"),
    );
    if (mine) parts.push(text(x + step / 2, y(chance) - 6, t("you"), "middle", "you-label"));
  });
  return parts;
}

/** Bars beneath each other, with their names before them. */
function rows(points: Point[], found: Profile, top: number): SVGElement[] {
  const end = width() - RIGHT - (long(t("you")) + 1) * LETTER; // room for "you" after the longest bar
  const names = points.map(({ value }) => labelled(found.attribute.name, value));
  const left = Math.min(0.45 * width(), Math.max(...names.map(long)) * LETTER) + 10;
  const x = (chance: number): number => left + (chance / top) * (end - left);
  const floor = TOP / 2 + points.length * LINE;
  const parts = [0, 0.5, 1].flatMap((share) => {
    const place = x((top / 1.08) * share);
    return [
      svg("line", { x1: place.toFixed(1), x2: place.toFixed(1), y1: TOP / 2, y2: floor, class: "grid" }),
      text(place, floor + 18, percent((top / 1.08) * share), "middle"),
    ];
  });
  points.forEach(({ value, chance }, index) => {
    const y = TOP / 2 + LINE * index;
    const mine = value === found.ownValue;
    parts.push(
      text(left - 6, y + LINE / 2 + 5, short(names[index] ?? "", left - 10), "end"),
      svg("rect", { x: left.toFixed(1), y: y + 4, width: (x(chance) - left).toFixed(1), height: LINE - 8, class: mine ? "bar mine" : "bar" }),
    );
    if (mine) parts.push(text(x(chance) + 6, y + LINE / 2 + 5, t("you"), "start", "you-label"));
  });
  return parts;
}

/** The same in numbers; for a numeric attribute, some values only. */
function table(found: Profile, title: string): HTMLElement {
  const step = found.attribute.kind === "numeric" ? Math.ceil(found.values.length / 9) : 1;
  const body = html("tbody");
  found.values.forEach((value, index) => {
    if (value !== null && index % step !== 0) return;
    const { attribute } = found;
    const name = attribute.kind === "numeric" && value !== null ? written(attribute, Number(value)) : labelled(attribute.name, value);
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
