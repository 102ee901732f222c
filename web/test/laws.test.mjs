// The law of every channel, as likelihoods tell it: probabilities that add up, and whose largest ratio is what is paid for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hush, planOf } from "./words.mjs";

const R = 1n << 64n;
const HALF = R >> 1n;
const number = (name, optional = false) => ({ kind: "numeric", name, low: 0, high: 1, out_of_range: "error", optional, scale: "linear", unit: null });
const category = (name, count, optional = false) => ({ kind: "categorical", name, values: Array.from({ length: count }, (_, i) => i), optional });
const choices = (name, count, most, optional = false) => ({ kind: "choices", name, values: Array.from({ length: count }, (_, i) => `v${i}`), most, optional });

/** All outputs of a channel: symbols, or sets that are taken. */
function outputs({ size, sets, check }) {
  if (!sets) return Array.from({ length: size }, (_, i) => i);
  const found = [];
  for (let bits = 0; bits < 2 ** size; bits++) {
    const members = Array.from({ length: size }, (_, i) => i).filter((i) => (bits >> i) & 1);
    try {
      found.push(check(members));
    } catch (error) {
      assert.ok(error instanceof hush.ReportError);
    }
  }
  return found;
}

/** Some values of an attribute: all categories and lists, and numbers on and between the steps. */
function values({ kind, values, most, optional }) {
  const missing = optional ? [null] : [];
  if (kind === "numeric") return [0, 0.125, 0.4, 0.5, 0.75, 1, ...missing];
  if (kind === "categorical") return [...values, ...missing];
  const lists = Array.from({ length: 2 ** values.length }, (_, bits) => values.filter((_, i) => (bits >> i) & 1));
  return [...lists.filter(({ length }) => length <= most), ...missing];
}

const records = (attributes) =>
  attributes.reduce((all, attribute) => all.flatMap((record) => values(attribute).map((value) => ({ ...record, [attribute.name]: value }))), [{}]);

const window = { kind: "window", size: 8, width: 4, threshold: (R / 4n) * 3n, levels: "even", optional: false };
const ladder = { kind: "ladder", knots: [0, 1, 3, 4, 8], width: 4, threshold: (R / 4n) * 3n, optional: false };
const cases = {
  "subset, one": [{ kind: "subset", size: 3, weight: 1, threshold: HALF }, category("c", 3)],
  "subset, two": [{ kind: "subset", size: 5, weight: 2, threshold: HALF }, category("c", 4, true)],
  window: [window, number("x")],
  "window, narrow": [{ ...window, size: 5, width: 1, threshold: HALF }, number("x")],
  "window, missing": [{ ...window, optional: true }, number("x", true)],
  "window, levels": [{ ...window, size: 4, width: 2, levels: [-5, -1, 1, 5] }, number("x")],
  ladder: [ladder, number("x")],
  "ladder, missing": [{ ...ladder, optional: true }, number("x", true)],
  "rows, two": [{ kind: "rows", rows: 4, weight: 2, size: 3, width: 1, threshold: HALF, levels: "even", optional: false }, category("c", 4), number("x")],
  "picks, one": [{ kind: "picks", size: 3, held: 1, weight: 1, shares: [HALF, HALF] }, choices("c", 3, 1)],
  "picks, two": [{ kind: "picks", size: 5, held: 2, weight: 2, shares: [R / 8n, HALF, R / 8n + R / 4n] }, choices("c", 5, 2)],
  "picks, missing": [{ kind: "picks", size: 4, held: 2, weight: 2, shares: [R / 8n, HALF, R / 8n + R / 4n] }, choices("c", 3, 2, true)],
  "corners, one": [{ kind: "corners", size: 1, near: 1, threshold: (R / 4n) * 3n }, number("x")],
  "corners, some": [{ kind: "corners", size: 4, near: 2, threshold: HALF }, ...["w", "x", "y", "z"].map((name) => number(name))],
  "geometry, prime": [{ kind: "geometry", size: 13, order: 3, digits: 3, threshold: HALF }, category("c", 13)],
  "geometry, power": [{ kind: "geometry", size: 20, order: 4, digits: 3, threshold: HALF }, category("c", 20)],
  "geometry, long": [{ kind: "geometry", size: 14, order: 2, digits: 4, threshold: (R / 4n) * 3n }, category("c", 14)],
};

for (const [name, [channel, ...attributes]] of Object.entries(cases)) {
  test(`${name}: likelihoods add up, and their ratio is that of the channel`, async () => {
    const plan = await planOf([[channel, ...attributes]]);
    assert.equal(plan.questions[0].channel.kind, channel.kind);
    const [top, bottom] = plan.ratio;
    const all = outputs(plan.questions[0].channel.alphabet);
    const laws = records(attributes).map((record) => all.map((output) => hush.likelihood(plan, 0, output, record)));
    for (const law of laws) assert.ok(Math.abs(law.reduce((a, b) => a + b) - 1) < 1e-12);
    const ratios = all.map((_, i) => Math.max(...laws.map((law) => law[i])) / Math.min(...laws.map((law) => law[i])));
    assert.ok(Math.abs((Math.max(...ratios) * Number(bottom)) / Number(top) - 1) < 1e-12, `${Math.max(...ratios)}`);
  });
}
