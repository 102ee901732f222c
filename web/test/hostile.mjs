// Valid plans that make a device work as hard as a plan can: where a draw could take longer for some than for others.
import { hush } from "./words.mjs";

const R = 1n << 64n;
const MOST = String((R / 4n) * 3n);

const number = (name, optional = false) => ({ kind: "numeric", name, low: 0.25, high: 1.5, out_of_range: "error", optional, scale: "linear", unit: null });
const category = (values) => ({ kind: "categorical", name: "c", values, optional: true });
const upTo = (n) => Array.from({ length: n }, (_, i) => i);
const numbers = (n) => upTo(n).map((i) => number(`x${i}`));
const everywhere = (n, value) => Object.fromEntries(numbers(n).map(({ name }) => [name, value]));

/** An optional window with levels of its own: its knots are not equally spaced. */
function window(size) {
  const half = upTo(size / 2).map((i) => 2 * i + 1 + (i % 2));
  const levels = [...half.map((level) => -level).reverse(), ...half];
  return { kind: "window", size, width: size / 2, threshold: String(R / 2n), levels, optional: true };
}

/** As many knots as a ladder may have, most of them next to each other at the upper end. */
const ladder = (knots) => ({
  kind: "ladder",
  knots: upTo(knots).map((i) => (i ? 2 ** 44 - knots + 1 + i : 0)),
  width: 32,
  threshold: String(R / 4n),
  optional: true,
});

const mixture = (size) => ({
  kind: "mixture",
  shares: Array(8).fill(String(R / 8n)),
  parts: Array(8).fill(window(size)),
});

const additive = (steps) => ({
  kind: "additive",
  runs: upTo(steps).map((i) => [1, 2 * steps - i]),
  decays: [R / 4n, R / 10n + 1n, R / 16n].map(String),
  reach: 2 * steps,
});

const rows = (count, weight, size, threshold = MOST) => ({ ...window(size), kind: "rows", rows: count, weight, threshold });

/** Bands of x. None of their cuts is whole, so that JSON writes them as it must. */
const bands = (count) => ({ kind: "bands", of: ["x"], cuts: upTo(count - 1).map((i) => 0.25 + (1.25 * (i + 1)) / count) });

/** The canonical text of a plan with one question. Sizes and bounds are chosen so that JSON writes floats as it must. */
function text(schema, channel, views = schema.map(({ name }) => ({ kind: "value", of: [name] }))) {
  const sorted = (value) =>
    Array.isArray(value) || typeof value !== "object" || value === null
      ? value
      : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  const fields = { hush: 2, title: "", after: null, epsilon: "16.0", k: 1, weights: null, schema, questions: [{ views, channel }] };
  return JSON.stringify(fields, (_, value) => sorted(value));
}

/** Integers that one bucket of a map holds, if their hashes are mixed as V8 mixes them (Wang's function). */
function colliding(count) {
  const found = [];
  for (let code = 1; found.length < count; code++) {
    let hash = (~code + (code << 15)) >>> 0;
    hash = (hash ^ (hash >>> 12)) >>> 0;
    hash = (hash + (hash << 2)) >>> 0;
    hash = Math.imul((hash ^ (hash >>> 4)) >>> 0, 2057) >>> 0;
    if (((hash ^ (hash >>> 16)) & 4095) === 5) found.push(code);
  }
  return found;
}

const codes = colliding(4096);

/**
 * For every channel: a plan, two records that are as far apart as may be, how often a draw is timed, and a plan of the
 * same kind that is read sooner, for first draws.
 */
export const hostile = {
  "window of 32768 uneven cells": {
    text: text([number("x", true)], window(32768)),
    small: text([number("x", true)], window(4096)),
    records: [{ x: null }, { x: 1.234 }],
    draws: 1000,
  },
  "window, both ends": {
    text: text([number("x", true)], window(32768)),
    small: text([number("x", true)], window(4096)),
    records: [{ x: 0.25 }, { x: 1.5 }],
    draws: 1000,
  },
  "window, bounds far apart": {
    text: text([{ ...number("x", true), high: 1e308 }], window(32768)),
    small: text([{ ...number("x", true), high: 1e308 }], window(4096)),
    records: [{ x: 0.25 }, { x: 0.2500000001 }], // of the second, a part of the domain is a subnormal number
    draws: 1000,
  },
  "ladder, missing or not": {
    text: text([number("x", true)], ladder(97)),
    records: [{ x: null }, { x: 1.234 }],
    draws: 1000,
  },
  "ladder, both ends": {
    text: text([number("x", true)], ladder(97)),
    records: [{ x: 0.25 }, { x: 1.5 }],
    draws: 1000,
  },
  "mixture of 8 windows": {
    text: text([number("x", true)], mixture(4096)),
    small: text([number("x", true)], mixture(512)),
    records: [{ x: null }, { x: 1.234 }],
    draws: 1000,
  },
  "subset of all but one": {
    text: text([category(upTo(4096))], { kind: "subset", size: 4097, weight: 4096, threshold: String(R - R / 8192n) }),
    records: [{ c: 0 }, { c: null }],
    draws: 200,
  },
  "subset of one, of long words": {
    text: text([category(upTo(4096).map((i) => "a".repeat(250) + i))], { kind: "subset", size: 4097, weight: 1, threshold: MOST }),
    small: text([category(upTo(512).map((i) => "a".repeat(250) + i))], { kind: "subset", size: 513, weight: 1, threshold: MOST }),
    records: [{ c: `${"a".repeat(250)}0` }, { c: `${"a".repeat(250)}511` }],
    draws: 1000,
  },
  "subset of one, of codes that collide": {
    text: text([category(codes)], { kind: "subset", size: 4097, weight: 1, threshold: MOST }),
    records: [{ c: codes[0] }, { c: codes.at(-1) }],
    draws: 1000,
  },
  unary: {
    text: text([category(upTo(4096))], { kind: "unary", size: 4097, true: MOST, other: String(R / 2n - 1n) }),
    small: text([category(upTo(1024))], { kind: "unary", size: 1025, true: MOST, other: String(R / 2n - 1n) }),
    records: [{ c: 0 }, { c: null }],
    draws: 100,
  },
  "additive of 4096 runs": {
    text: text([number("x")], additive(4096)),
    small: text([number("x")], additive(512)),
    records: [{ x: 0.25 }, { x: 1.5 }],
    draws: 1000,
  },
  "signs, even": {
    text: text(numbers(1024), { kind: "signs", size: 1024, threshold: MOST }),
    small: text(numbers(128), { kind: "signs", size: 128, threshold: MOST }),
    records: [everywhere(1024, 0.25), everywhere(1024, 1.5)],
    draws: 300,
  },
  "signs, odd": {
    text: text(numbers(1023), { kind: "signs", size: 1023, threshold: MOST }),
    small: text(numbers(127), { kind: "signs", size: 127, threshold: MOST }),
    records: [everywhere(1023, 0.25), everywhere(1023, 1.5)],
    draws: 300,
  },
  cube: {
    text: text(numbers(1024), { kind: "cube", size: 1024, sample: 64, agree: 33, threshold: MOST }),
    small: text(numbers(128), { kind: "cube", size: 128, sample: 64, agree: 33, threshold: MOST }),
    records: [everywhere(1024, 0.25), everywhere(1024, 1.5)],
    draws: 300,
  },
  cells: {
    text: text([...numbers(6), category(upTo(63))], { kind: "cells", sizes: [...Array(6).fill(null), 64], weight: 1, threshold: MOST }),
    records: [
      { ...everywhere(6, 0.25), c: 0 },
      { ...everywhere(6, 1.5), c: null },
    ],
    draws: 1000,
  },
  "cells, sets of half": {
    text: text([...numbers(6), category(upTo(63))], { kind: "cells", sizes: [...Array(6).fill(null), 64], weight: 2048, threshold: MOST }),
    small: text([number("x0"), category(upTo(63))], { kind: "cells", sizes: [null, 64], weight: 64, threshold: MOST }),
    records: [
      { ...everywhere(6, 0.25), c: 0 },
      { ...everywhere(6, 1.5), c: null },
    ],
    draws: 200,
  },
  "rows, sets of half": {
    text: text([category(upTo(2047)), number("x", true)], rows(2048, 1024, 16)),
    small: text([category(upTo(127)), number("x", true)], rows(128, 64, 64)),
    records: [
      { c: 0, x: 1.5 },
      { c: null, x: null },
    ],
    draws: 200,
  },
  "rows, one of a few with many cells": {
    text: text([category(upTo(1)), number("x", true)], rows(2, 1, 16384)),
    small: text([category(upTo(1)), number("x", true)], rows(2, 1, 2048)),
    records: [
      { c: 0, x: 1.5 },
      { c: null, x: null },
    ],
    draws: 1000,
  },
  "bands, 4096 of them": {
    text: text([number("x", true)], { kind: "subset", size: 4097, weight: 1, threshold: MOST }, [bands(4096)]),
    small: text([number("x", true)], { kind: "subset", size: 513, weight: 1, threshold: MOST }, [bands(512)]),
    records: [{ x: 0.25 }, { x: null }],
    draws: 1000,
  },
  "sides and products": {
    text: text(numbers(2), { kind: "cells", sizes: [2, null], weight: 1, threshold: MOST }, [
      { kind: "sides", of: ["x0", "x1"], cuts: [0.5, 1.25] },
      { centres: [0.75, 1.25], kind: "product", of: ["x0", "x1"], reach: 0.5 },
    ]),
    records: [everywhere(2, 0.25), everywhere(2, 1.5)],
    draws: 1000,
  },
};

/** Where a report that favours a record is rare under the other one: plans of the same kind for which it is not. */
export const frequent = {
  "rows, half of a few": {
    text: text([category(upTo(7)), number("x", true)], rows(8, 4, 8, String(R / 3n))),
    records: [
      { c: 0, x: 1.5 },
      { c: null, x: null },
    ],
  },
  "rows, one of a few": {
    text: text([category(upTo(1)), number("x", true)], rows(2, 1, 8, String(R / 3n))),
    records: [
      { c: 0, x: 1.5 },
      { c: 0, x: 0.25 },
    ],
  },
  "subset of half": {
    text: text([category(upTo(127))], { kind: "subset", size: 128, weight: 64, threshold: MOST }),
    records: [{ c: 0 }, { c: 126 }],
  },
  "subset of one of four": {
    text: text([category(upTo(3))], { kind: "subset", size: 4, weight: 1, threshold: String(R / 2n) }),
    records: [{ c: 0 }, { c: null }],
  },
  "cells, a few": {
    text: text([number("x0"), category(upTo(1))], { kind: "cells", sizes: [null, 2], weight: 1, threshold: String(R / 2n) }),
    records: [
      { x0: 0.25, c: 0 },
      { x0: 1.5, c: null },
    ],
  },
};

/** The record without what a smaller plan does not ask for. */
export function recordFor(plan, record) {
  return Object.fromEntries(plan.schema.map(({ name }) => [name, record[name]]));
}

/** A plan whose one channel draws in another way: for twins that a test must catch. */
export function drawing(plan, draw) {
  const [{ views, names, channel }] = plan.questions;
  const questions = [{ views, names, channel: { ...channel, draw: (inputs, coins) => draw(channel, inputs, coins) } }];
  return Object.create(plan, { questions: { value: questions } });
}

/** Words that are drawn beforehand, so that none is fetched while a draw is timed. `used` says how many were. */
export class Pool extends hush.Coins {
  #words = new BigUint64Array(8192);
  used = 0;

  constructor() {
    super();
    this.fill();
  }

  fill(fixed) {
    if (fixed === undefined) crypto.getRandomValues(this.#words);
    else this.#words.fill(fixed);
    this.used = 0;
  }

  again() {
    this.used = 0;
  }

  word() {
    return this.#words[this.used++];
  }
}
