// How many words a draw takes says nothing about the record: with the same words it is the same number for every record.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawing, hostile, Pool, recordFor } from "./hostile.mjs";
import { channelFiles, hush, vectors } from "./words.mjs";

const { Plan, randomiseFrom } = hush;
const R = 1n << 64n;

/** The ends of an attribute, and its middle: of choices, no list, the longest one, and one value; of texts likewise. */
function ends({ kind, low, high, values, most, holds, step }) {
  if (kind === "text") return ["", "0-0-0-0-0-0", "0"];
  if (holds === "date") return [low, high, Math.floor((low + high) / 2)].map((day) => new Date(day * 864e5).toISOString().slice(0, 10));
  if (holds === "time") return [low, high, Math.floor((low + high) / 2)].map((one) => new Date(one * step * 1e3).toISOString().slice(11, 19));
  if (kind === "choices") return [[], values.slice(-most), [values[0]]];
  const middle = low / 2 + high / 2;
  return kind === "numeric" ? [low, high, holds ? Math.floor(middle) : middle] : [values[0], values.at(-1), values[values.length >> 1]];
}

/** Records at all corners: every attribute at one of its ends, in the middle, or missing. */
function corners({ schema }) {
  const values = schema.map((attribute) => [...ends(attribute), ...(attribute.optional ? [null] : [])]);
  const record = (pick) => Object.fromEntries(schema.map(({ name }, j) => [name, values[j][pick(j) % values[j].length]]));
  return [0, 1, 2, 3].flatMap((i) => [record(() => i), record((j) => i + j)]);
}

/** Returns the numbers of words that reports of these records take, with the same words for all of them. */
function counts(coins, plan, records) {
  return new Set(
    records.map((record) => {
      coins.again();
      randomiseFrom(coins, plan, record);
      return coins.used;
    }),
  );
}

/** How often the number of words was another for another record. */
function differing(plan, records, rounds) {
  const coins = new Pool();
  let found = 0;
  for (let i = 0; i < rounds; i++) {
    coins.fill();
    found += counts(coins, plan, records).size > 1;
  }
  return found;
}

for (const name of channelFiles) {
  test(`${name}: the same words, whatever the record`, async () => {
    const { plan: text, good } = vectors(name);
    const plan = await Plan.parse(text);
    assert.equal(differing(plan, [...corners(plan), ...good.map(({ record }) => record)], 24), 0);
  });
}

for (const [name, { text, small = text }] of Object.entries(hostile)) {
  test(`${name}: the same words, whatever the record`, async () => {
    const plan = await Plan.parse(small);
    assert.equal(differing(plan, corners(plan), 8), 0);
  });
}

test("a unary channel reads all digits, also when all bits are decided", async () => {
  const plan = await Plan.parse(hostile.unary.small);
  const coins = new Pool();
  for (const words of [0n, R - 1n, undefined]) {
    coins.fill(words);
    // 17 blocks with 64 digits each, the true bit, and the report's id
    assert.deepEqual([...counts(coins, plan, corners(plan))], [17 * 64 + 3]);
  }
});

test("signs that are drawn until they suit the record are noticed", async () => {
  const plan = await Plan.parse(hostile["signs, even"].small);
  const twin = drawing(plan, (_, inputs, coins) => {
    const truth = inputs.map((u) => coins.up(u));
    const near = coins.toss((R / 4n) * 3n);
    for (;;) {
      const bits = [...coins.bits(inputs.length)];
      const changed = bits.filter((bit, j) => bit !== truth[j]).length;
      if (2 * changed < bits.length === near) return bits.flatMap((bit, j) => (bit ? [j] : []));
    }
  });
  assert.ok(differing(twin, corners(plan), 24) > 12);
  assert.equal(differing(plan, corners(plan), 24), 0);
});

test("a missing value that takes no word is noticed", async () => {
  const plan = await Plan.parse(hostile["window, both ends"].small);
  const twin = drawing(plan, (channel, inputs, coins) => (inputs[0] === null ? 0 : channel.draw(inputs, coins)));
  assert.equal(differing(twin, corners(plan), 24), 24);
  const records = hostile["window, both ends"].records.map((record) => recordFor(plan, record));
  assert.equal(differing(twin, records, 24), 0); // both are present: corners are needed to see it
});
