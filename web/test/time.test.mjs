// A stop-watch says nothing about the record. Two records that are as far apart as may be are drawn in random order, and
// each draw is timed. A guesser takes the threshold that is best for one half of the times, and guesses the records of
// the other half.
//
// If time says nothing, each guess is right with probability 1/2, independently, whatever else the machine does
// meanwhile: the records were chosen by fair coins. So the number of right guesses is binomial, and chance exceeds
// `most` with probability 1e-6 at most in all tests of this file together. Beyond that a share of .05 is allowed for
// what JavaScript leaves: caches, garbage collection, how an engine keeps a number. The less noise a machine has, the
// smaller a difference it shows: times whose middles differ by at most 3 % of a report's time may be guessed more often.
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawing, frequent, hostile, Pool, recordFor } from "./hostile.mjs";
import { hush, training, vectors } from "./words.mjs";

const { Coins, likelihood, Plan, randomiseFrom } = hush;
const KNOWN = { ...Object.fromEntries(Object.entries(hostile).filter(([name]) => !/^(subset|cells|rows|bands|window, bounds)/.test(name))), ...frequent };
const TESTS = 2 * Object.keys(hostile).length + 3 * Object.keys(KNOWN).length + 13;
const FRESH = 120;
const LEFT = 0.05;
const SMALL = 0.03;

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

/** How far the middle times of the two records are apart, as a share of a report's time. */
function size(times) {
  const [one, other] = [0, 1].map((side) => {
    const found = times.filter(([, which]) => which === side).map(([time]) => time);
    return found.sort((a, b) => a - b)[found.length >> 1];
  });
  return Math.abs(one - other) / Math.min(one, other);
}

/** Says what was found, and whether it is within the limit. */
function hidden(t, times, small = SMALL) {
  const [n, right, apart] = [times.length / 2, guessed(times), size(times)];
  const limit = most(n) + LEFT * n;
  t.diagnostic(`${right} of ${n} guesses are right (${(right / n).toFixed(3)}), of ${limit} at most, and times differ by ${(100 * apart).toFixed(1)} %`);
  return right <= limit || apart <= small;
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
    if (output.includes(inputs[0])) for (let i = 0; i < 2; i++) channel.draw(inputs, coins); // seen on busy machines too
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

/** Times what is done with one of two values, always made anew, after some to warm up. */
function finding(draws, values, find, make = fresh) {
  const found = Array.from({ length: 2 * draws }, () => {
    const which = crypto.getRandomValues(new Uint8Array(1))[0] & 1;
    const value = make(values[which]);
    const start = process.hrtime.bigint();
    find(value);
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

test("the number of texts in a list, and a missing list; a twin that looks up no more than it holds is noticed", async (t) => {
  const values = Array.from({ length: 32 }, (_, i) => `${i}`.padStart(256, "y"));
  const plan = await Plan.parse(
    `{"after":null,"epsilon":"16.0","hush":2,"k":1,"questions":[{"channel":{"held":16,"kind":"picks","shares":["${1n << 63n}","${1n << 63n}"],` +
      `"size":33,"weight":1},"views":[{"kind":"value","of":["c"]}]}],"schema":[{"kind":"choices","most":16,"name":"c","optional":true,"values":` +
      `${JSON.stringify(values)}}],"title":"","weights":null}`,
  );
  const ends = [[], values.slice(16)];
  const anew = (list) => {
    const made = ends[1].map(fresh); // also if none is used: what they leave behind in memory takes time as well
    return list && made.slice(0, list.length);
  };
  const known = (list) => list && [...list]; // as of check boxes: an engine has hashed them, and keeps the hashes
  // What leaves a device is a whole report. A list of sixteen new texts is an object that the engine must walk through
  // for the first time, which code cannot hide; it is a small part of a report's time.
  const coins = new Pool();
  coins.fill();
  const whole = (c) => {
    coins.fill();
    return randomiseFrom(coins, plan, { c });
  };
  assert.ok(hidden(t, finding(4000, ends, whole, anew)));
  assert.ok(hidden(t, finding(4000, ends, whole, known)));
  assert.ok(hidden(t, finding(4000, [null, ends[1]], whole, anew)));
  const places = new Map(values.map((one, i) => [one, i]));
  const sparing = (list) => Array.from({ length: 16 }, (_, i) => places.get(list[i] ?? values[0]));
  assert.ok(!hidden(t, finding(4000, ends, sparing, anew)));
});

/** The text of a plan about a text of 64 characters that may be missing, by the first 16 bits of its code. */
function aboutText(alphabet) {
  const { attribute } = vectors("texts").good.find((one) => one.attribute.alphabet === alphabet);
  const { bits, code } = attribute;
  const asked = { alphabet, bits, case: "lower", code, kind: "text", length: 64, name: "t", optional: true };
  return (
    `{"after":null,"epsilon":"16.0","hush":2,"k":1,"questions":[{"channel":{"kind":"subset","size":9,"threshold":"${3n << 62n}","weight":1},` +
    `"views":[{"chunks":[8,0],"kind":"prefix","of":["t"],"points":8}]}],"schema":[${JSON.stringify(asked)}],"title":"","weights":null}`
  );
}

// What is left is how wide the characters of a text are: an engine keeps wide ones otherwise.
for (const [alphabet, texts, small] of [
  [null, [null, "y".repeat(64)]],
  [null, ["", "\u{1f600}".repeat(64)], 0.1],
  ["abcdefghijklmnopqrstuvwxyz ", [null, "y".repeat(64)]],
  ["abcdefghijklmnopqrstuvwxyz ", ["", "7".repeat(256)]],
])
  test(`a text of ${alphabet ? "letters" : "Unicode"}, ${texts[0] === "" ? "long or not" : "missing or not"}; a twin that codes what is there`, async (t) => {
    const plan = await Plan.parse(aboutText(alphabet));
    const coins = new Pool();
    const whole = (text) => {
      coins.fill();
      return randomiseFrom(coins, plan, { t: text });
    };
    const anew = (text) => {
      const made = texts.map((one) => fresh(one ?? ""));
      return text === null ? null : made[texts.indexOf(text)];
    };
    assert.ok(hidden(t, finding(2000, texts, whole, anew), small));
    const letters = (text) => [...`${text ?? ""}`].map((one) => `${one}${whole(text).id.length}`).length;
    assert.ok(!hidden(t, finding(1000, texts, letters, anew), small));
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

for (const name of ["training-logistic", "training-far", "training-wide", "training-classes-pilot-shares"])
  test(`${name}: the answers of two people; a twin that works longer for one`, async (t) => {
    const { phase: text, good } = vectors(name);
    const phase = await training.readPhase(text);
    // The corners of the domain: all numbers at their lower ends, and in the middle or missing.
    const people = [good[0], good[2]];
    const coins = new Pool();
    const whole = ({ record, label }) => {
      coins.fill();
      return randomiseFrom(coins, phase.plan, training.answer(phase, record, label));
    };
    assert.ok(hidden(t, finding(1500, people, whole, (person) => person)));
    const twin = (person) => Array.from({ length: person === people[0] ? 4 : 1 }, () => whole(person));
    assert.ok(!hidden(t, finding(1200, people, twin, (person) => person)));
  });
