// A stop-watch says nothing about the record. Two records that are as far apart as may be are drawn in random order, and
// each draw is timed. A guesser takes the threshold that is best for one half of the times, and guesses the records of
// the other half.
//
// If time says nothing, each guess is right with probability 1/2, independently, whatever else the machine does
// meanwhile: the records were chosen by fair coins. So the number of right guesses is binomial, and chance exceeds
// `most` with probability 1e-6 at most in all tests of this file together. Beyond that a share of .05 is allowed for
// what JavaScript leaves: caches, garbage collection, how an engine keeps a number.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawing, frequent, hostile, Pool, recordFor } from "./hostile.mjs";
import { hush } from "./words.mjs";

const { Coins, likelihood, Plan, randomiseFrom } = hush;
const KNOWN = { ...Object.fromEntries(Object.entries(hostile).filter(([name]) => !/^(subset|cells|rows|bands)/.test(name))), ...frequent };
const TESTS = 2 * Object.keys(hostile).length + 3 * Object.keys(KNOWN).length + 2;
const FRESH = 120;
const LEFT = 0.05;

/** The largest number of right guesses out of n that chance exceeds with probability 1e-6 / TESTS at most. */
function most(n) {
  let tail = 0n; // how many of the 2^n outcomes have more
  let ways = 1n;
  let right = n;
  for (; (tail + ways) * BigInt(TESTS) * 1_000_000n <= 1n << BigInt(n); right--) {
    tail += ways;
    ways = (ways * BigInt(right)) / BigInt(n - right + 1);
  }
  return right;
}

/** Times draws of two records in random order: [nanoseconds, which record]. `next` gives the plan of each. */
async function timed(draws, records, next) {
  const coins = new Pool();
  const found = [];
  for (let i = 0; i < draws; i++) {
    const plan = await next();
    const which = crypto.getRandomValues(new Uint8Array(1))[0] & 1;
    const record = recordFor(plan, records[which]);
    coins.fill();
    const start = process.hrtime.bigint();
    const report = randomiseFrom(coins, plan, record);
    found.push([Number(process.hrtime.bigint() - start), which, report]);
  }
  return found;
}

/** How many records of the second half are guessed by the threshold that is best for the first half. */
function guessed(times) {
  const half = times.length / 2;
  const known = times.slice(0, half).sort(([a], [b]) => a - b);
  const ones = known.filter(([, which]) => which).length;
  let best = { right: -1 };
  let above = ones; // how many are right if all times beyond this one mean the second record
  for (const [i, [time, which]] of known.entries()) {
    above += which ? -1 : 1;
    if (known[i + 1]?.[0] === time) continue;
    for (const [right, longer] of [[above, 1], [half - above, 0]]) if (right > best.right) best = { right, time, longer };
  }
  return times.slice(half).filter(([time, which]) => which === (time > best.time ? best.longer : 1 - best.longer)).length;
}

/** Says what was found, and whether it is within the limit. */
function hidden(t, times) {
  const [n, right] = [times.length / 2, guessed(times)];
  const limit = most(n) + LEFT * n;
  t.diagnostic(`${right} of ${n} guesses are right (${(right / n).toFixed(3)}), of ${limit} at most`);
  return right <= limit;
}

test("chance alone", () => {
  // By tables: of 100 fair coins 76 or more show heads with probability 1e-7.
  assert.ok(most(100) >= 74 && most(100) <= 78);
  assert.ok(most(FRESH / 2) + LEFT * (FRESH / 2) < 0.93 * (FRESH / 2)); // a twin that is guessed nearly always is above it
});

for (const [name, { text, small = text, records, draws }] of Object.entries(hostile)) {
  test(`${name}: later draws`, async (t) => {
    const plan = await Plan.parse(text);
    assert.ok(hidden(t, await timed(draws, records, () => plan)));
  });

  test(`${name}: the first draw from a plan that was just read`, async (t) => {
    assert.ok(hidden(t, await timed(FRESH, records, () => Plan.parse(small))));
  });
}

/**
 * The times of reports that favour the first record, of those that favour the second, and of the others. The coin of a
 * draw says nothing about the record, but together with the report it does: so time must not say it either.
 *
 * Of a report that is likelier under one record only as many are kept as the other record has of it. Then both
 * are equally likely given the report, and guesses are fair coins again if time says nothing.
 */
function byReport(plan, records, times) {
  const kinds = [[], [], []];
  for (const [time, which, { answers: [[question, output]] }] of times) {
    const chances = records.map((record) => likelihood(plan, question, output, record));
    const kind = chances[0] > chances[1] ? 0 : chances[0] < chances[1] ? 1 : 2;
    if (Math.random() * chances[which] < Math.min(...chances)) kinds[kind].push([time, which]);
  }
  return kinds.filter(({ length }) => length >= 100).map((kind) => kind.slice(kind.length % 2));
}

for (const [name, { text, small = text, records }] of Object.entries(KNOWN)) {
  test(`${name}: later draws, by their reports`, async (t) => {
    const plan = await Plan.parse(small);
    const known = records.map((record) => recordFor(plan, record));
    const kinds = byReport(plan, known, await timed(1600, known, () => plan));
    assert.ok(kinds.length >= 2);
    for (const kind of kinds) assert.ok(hidden(t, kind));
  });
}

test("a draw whose time tells the coin is noticed with the report, and not without", async (t) => {
  const { text, records } = frequent["subset of half"];
  const plan = await Plan.parse(text);
  const slow = drawing(plan, (channel, inputs, coins) => {
    const output = channel.draw(inputs, coins);
    if (output.includes(inputs[0])) channel.draw(inputs, coins);
    return output;
  });
  const times = await timed(2000, records, () => slow);
  assert.ok(hidden(t, times));
  const kinds = byReport(plan, records, times);
  assert.ok(kinds.length >= 2);
  for (const kind of kinds.slice(0, 2)) assert.ok(!hidden(t, kind));
});

const { small: window, records: optional } = hostile["window of 32768 uneven cells"];

test("knots that are made at the first draw of a present value are noticed", async (t) => {
  const { levels, width } = JSON.parse(window).questions[0].channel;
  let sum = levels.slice(0, width).reduce((a, b) => a + b);
  const sums = [sum, ...levels.slice(width).map((level, s) => (sum += level - levels[s]))];
  const total = BigInt(sum);
  const late = async () => {
    let knots;
    return drawing(await Plan.parse(window), (channel, inputs, coins) => {
      if (inputs[0] !== null) knots ??= sums.map((one) => Number(((BigInt(one) + total) << 53n) / (2n * total)) / 2 ** 53);
      return channel.draw(inputs, coins);
    });
  };
  assert.ok(!hidden(t, await timed(2 * FRESH, optional, late)));
});

test("a search that ends where the value lies is noticed", async (t) => {
  const knots = Float64Array.from({ length: 16384 }, (_, i) => i / 16384);
  const twin = drawing(await Plan.parse(window), (channel, inputs, coins) => {
    knots.find((knot) => knot >= inputs[0]);
    return channel.draw(inputs, coins);
  });
  const { records } = hostile["window, both ends"];
  assert.ok(!hidden(t, await timed(400, records, () => twin)));
});

/** A text that no engine has hashed yet, as of a field that somebody has just filled in. */
const fresh = (text) => new TextDecoder().decode(new TextEncoder().encode(text));

/** Times what is done with a short and a long text, always new ones, after some to warm up. */
function finding(draws, texts, find) {
  const found = Array.from({ length: 2 * draws }, () => {
    const which = crypto.getRandomValues(new Uint8Array(1))[0] & 1;
    const text = fresh(texts[which]);
    const start = process.hrtime.bigint();
    find(text);
    return [Number(process.hrtime.bigint() - start), which];
  });
  return found.slice(draws);
}

test("the length of a text that is looked up for the first time, and a twin that hashes it alone", async (t) => {
  const texts = ["no", "y".repeat(256)];
  const values = [...texts, "maybe"];
  const plan = await Plan.parse(
    `{"after":null,"epsilon":"16.0","hush":2,"k":1,"questions":[{"channel":{"kind":"subset","size":3,"threshold":` +
      `"${3n << 62n}","weight":1},"views":[{"kind":"value","of":["c"]}]}],"schema":[{"kind":"categorical","name":"c","optional":false,"values":` +
      `${JSON.stringify(values)}}],"title":"","weights":null}`,
  );
  const coins = new (class extends Coins {
    word = () => 0n;
  })();
  assert.ok(hidden(t, finding(10_000, texts, (c) => randomiseFrom(coins, plan, { c }))));
  const places = new Map(values.map((one, i) => [one, i]));
  assert.ok(!hidden(t, finding(10_000, texts, (text) => places.get(text))));
});

test("a search through the list of categories is noticed", async (t) => {
  const { text, records } = hostile["subset of one, of long words"];
  const plan = await Plan.parse(text);
  const [{ values }] = plan.schema;
  const twin = Object.create(plan, {
    encode: {
      value(record) {
        // Letter by letter: an engine finds a text that it holds only once by its address, in a moment.
        assert.ok(values.findIndex((one) => one.startsWith(record.c) && one.endsWith(record.c)) >= 0);
        return plan.encode(record);
      },
    },
  });
  const ends = [records[0], { c: values.at(-1) }];
  assert.ok(!hidden(t, await timed(400, ends, () => twin)));
});
