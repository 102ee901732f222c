// Records: read once, own properties alone, and a bad one is refused before a word is drawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hush, small, vectors, Words } from "./words.mjs";

const { Plan, RecordError, randomise, randomiseFrom } = hush;
const refused = (record, plan = small) => {
  assert.throws(
    () => randomiseFrom(new Words([]), plan, record),
    (error) => {
      assert.ok(error instanceof RecordError, String(error));
      return true;
    },
  );
};

test("values of other types are refused", () => {
  const numbers = [NaN, Infinity, -Infinity, true, false, "0.5", "", [], [0.5], {}, new Number(0.5), Symbol("x")];
  for (const x of numbers) refused({ x, c: "a" });
  for (const c of ["A", "a ", "", 0, 1, true, ["a"], new String("a"), {}, NaN, Symbol("a")]) refused({ x: 0.5, c });
  for (const missing of [{ x: 0.5 }, { c: "a" }, { x: null, c: "a" }, { x: 0.5, c: undefined }, {}]) refused(missing);
});

test("what is no plain object is refused", () => {
  class Person {
    x = 0.5;
    c = "a";
  }
  const fine = { x: 0.5, c: "a" };
  const pairs = Object.entries(fine);
  for (const record of [null, undefined, 5, "xc", [], pairs, new Map(pairs), new Person(), () => 0]) refused(record);
  refused(Object.create(fine));
  refused({ __proto__: fine });
  refused({ ...fine, y: undefined });
  refused({ ...fine, [Symbol("y")]: 1 });
  refused({ ...fine, constructor: 1 });
  assert.ok(randomise(small, Object.assign(Object.create(null), fine)));
  assert.ok(randomise(small, Object.freeze(fine)));
});

test("each value is read once: what was checked is what is used", () => {
  let reads = 0;
  const record = {
    get x() {
      return reads++ === 0 ? 0.5 : NaN;
    },
    c: "a",
  };
  assert.ok(randomise(small, record));
  assert.equal(reads, 1);
});

test("attributes may be called like what objects inherit, and their absence is noticed", async () => {
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", "isPrototypeOf"]) {
    const plan = await Plan.parse(small.text.replaceAll('"x"', `"${name}"`));
    const record = JSON.parse(`{"${name}": 0.25, "c": "b"}`);
    assert.deepEqual(plan.encode(record), [0.25, 1]);
    refused({ c: "b" }, plan);
  }
});

test("a polluted prototype is not read", () => {
  Object.prototype.x = 0.5;
  try {
    refused({ c: "a" });
  } finally {
    delete Object.prototype.x;
  }
});

/** The text of a plan with one attribute, n, whose values are integers. */
const codes = (values) =>
  `{"after":null,"epsilon":"16.0","hush":2,"k":1,"questions":[{"channel":{"kind":"subset","size":${values.length},` +
  `"threshold":"${3n << 62n}","weight":1},"views":[{"kind":"value","of":["n"]}]}],"schema":[{"kind":"categorical","name":"n","optional":false,"values":` +
  `[${values}]}],"title":"","weights":null}`;

test("integers are found in whatever order they are declared", async () => {
  const values = [30, -7, 2 ** 53 - 1, 0, 12, -(2 ** 53) + 1];
  const plan = await Plan.parse(codes(values));
  for (const [place, n] of values.entries()) assert.deepEqual(plan.encode({ n }), [place]);
  for (const n of [29, 31, 1, -8, 0.5, 2 ** 53, -(2 ** 53), "0", null]) refused({ n }, plan);
});

test("null, undefined and no entry are all missing where that is allowed", async () => {
  const plan = await Plan.parse(vectors("channel-optional-duchi").plan);
  for (const record of [{}, { income: null, smokes: null }, { income: undefined, smokes: undefined }]) {
    assert.deepEqual(plan.encode(record), [null, 2]);
  }
});

test("what may be missing takes its steps also if it is not asked for and left out", async () => {
  const attribute = (name, optional) => ({ kind: "categorical", name, optional, values: ["a", "b"] });
  const channel = { kind: "subset", size: 2, threshold: String(3n << 62n), weight: 1 };
  const question = (name, size) => ({ channel: { ...channel, size }, views: [{ kind: "value", of: [name] }] });
  const plan = await Plan.parse(
    JSON.stringify({ after: null, epsilon: "16.0", hush: 2, k: 1, questions: [question("c", 2), question("d", 3), question("e", 2)],
      schema: [attribute("c", false), attribute("d", true), attribute("e", false)], title: "", weights: null }),
  );
  // The place of "missing" is found as any other. A value that may not be missing is left out by the caller's choice.
  assert.deepEqual(plan.encode({ c: "b" }, ["c"]), [1, 2, null]);
});

test("numbers outside are clipped where that is declared, but not infinite ones", async () => {
  const plan = await Plan.parse(vectors("channel-duchi").plan); // x: 0 to 10, y: -1.5 to 2.25, clipped
  assert.deepEqual(plan.encode({ x: 10, y: 1e300 }), [1, 1]);
  assert.deepEqual(plan.encode({ x: 0, y: -2 }), [0, 0]);
  for (const y of [Infinity, -Infinity, NaN]) refused({ x: 1, y }, plan);
  refused({ x: 10.000000000000002, y: 0 }, plan);
});

test("a bigint is the integer that it is, however large", async () => {
  const plan = await Plan.parse(vectors("channel-duchi").plan);
  const [low, high] = [-(10n ** 400n), 10n ** 400n];
  for (const y of [3n, 2n ** 53n + 1n, high]) assert.deepEqual(plan.encode({ x: 5n, y }), [0.5, 1]);
  for (const y of [-2n, -(2n ** 53n) - 1n, low]) assert.deepEqual(plan.encode({ x: 10n, y }), [1, 0]);
  for (const x of [11n, -1n, high, low]) refused({ x, y: 0 }, plan);
  const wide = await Plan.parse(vectors("channel-duchi").plan.replace('"high":2.25,"low":-1.5', '"high":1e+16,"low":-1e+16'));
  assert.deepEqual(wide.encode({ x: 0n, y: 2n ** 53n + 1n }), wide.encode({ x: 0, y: 2 ** 53 })); // the nearest float64
  assert.deepEqual(wide.encode({ x: 0n, y: 2n ** 53n + 3n }), wide.encode({ x: 0, y: 2 ** 53 + 4 }));
  // JSON.parse makes an infinity of an integer that is beyond float64, so that it is refused like other infinities.
  refused({ x: 5, y: JSON.parse(`1${"0".repeat(400)}`) }, plan);
});

test("a bigint beyond 2^53 is no other code", async () => {
  const values = [2 ** 53 - 1, 0, -(2 ** 53) + 1];
  const plan = await Plan.parse(codes(values));
  for (const [place, n] of values.entries()) assert.deepEqual(plan.encode({ n: BigInt(n) }), [place]);
  for (const n of [2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n), 2n ** 64n, 10n ** 400n]) refused({ n }, plan);
  const right = codes([1, 2 ** 53 - 1]);
  assert.ok(await Plan.parse(right));
  for (const n of ["9007199254740992", "9007199254740993", "1e400", `1${"0".repeat(400)}`]) {
    await assert.rejects(Plan.parse(right.replace("9007199254740991", n)), /a value must be an integer from/);
  }
});

test("texts of all lengths are read with equally many characters, and none is hashed by the engine", async () => {
  const values = ["", "no", "y".repeat(256), "\u{1f600}"];
  const text = codes([0, 1, 2, 3]).replace("[0,1,2,3]", JSON.stringify(values));
  const plan = await Plan.parse(text.replace('"size":4', '"size":5').replace('"optional":false', '"optional":true'));
  const { get } = Map.prototype;
  const { charCodeAt } = String.prototype;
  for (const [place, n] of [...values, null].entries()) {
    let [characters, hashed] = [0, 0];
    Map.prototype.get = function (key) {
      hashed += Number(typeof key === "string");
      return get.call(this, key);
    };
    String.prototype.charCodeAt = function (at) {
      characters++;
      return charCodeAt.call(this, at);
    };
    try {
      assert.deepEqual(plan.encode({ n }), [place]);
    } finally {
      Map.prototype.get = get;
      String.prototype.charCodeAt = charCodeAt;
    }
    assert.deepEqual([characters, hashed], [258, 0]);
  }
  for (const n of ["no\0", "no\uffff", "no\uffff\0", "\0", "\uffff", "y".repeat(257), `${"y".repeat(256)}\0`]) refused({ n }, plan);
});

test("texts whose characters differ by powers of two are all found", async () => {
  const values = Array.from({ length: 4096 }, (_, i) => [...Array(12).keys()].map((bit) => (i >> bit) & 1 ? "\u8041" : "A").join(""));
  const plan = await Plan.parse(codes([...values.keys()]).replace(JSON.stringify([...values.keys()]), JSON.stringify(values)));
  for (const place of [0, 1, 2048, 4094, 4095]) assert.deepEqual(plan.encode({ n: values[place] }), [place]);
});

test("errors name the attribute and the rule, never the value", async () => {
  const secret = "Krankheit";
  const messages = [];
  const values = [[secret, "a"], [777.25, "a"], [0.5, secret], [0.5, 777.25]].map(([x, c]) => ({ x, c }));
  for (const record of [...values, { [secret]: 1 }]) {
    try {
      randomise(small, record);
      assert.fail();
    } catch (error) {
      assert.equal(error.name, "RecordError");
      messages.push(error.message);
    }
  }
  for (const message of messages) assert.doesNotMatch(message, /Krankheit|777/);
  assert.match(messages[1], /"x".*from 0 to 1/);
  assert.match(messages[2], /"c": must be one of the 2 strings declared: "a", "b"$/);
  assert.match(messages.at(-1), /not in the schema; there are: "x", "c"$/);
});

test("of many categories or attributes the first are named", async () => {
  const told = (record, plan) => {
    try {
      plan.encode(record);
    } catch (error) {
      return error.message;
    }
    return "";
  };
  const many = (n) => Array.from({ length: n }, (_, i) => ({ kind: "categorical", name: `c${i}`, optional: false, values: [1, 2] }));
  for (const n of [8, 9]) {
    const plan = { encode: (record) => Plan.prototype.encode.call({ schema: many(n) }, record) };
    const names = Array.from({ length: 8 }, (_, i) => `"c${i}"`).join(", ") + (n > 8 ? ", ..." : "");
    assert.equal(told({ d: 1 }, plan), `the record has an attribute that is not in the schema; there are: ${names}`);
  }
  assert.equal(told({ x: 0.5, c: 1 }, small), 'attribute "c": must be one of the 2 strings declared: "a", "b"');
});

test("the words of the system are fresh, and every report is another", () => {
  const coins = new hush.SystemCoins();
  const words = new Set(Array.from({ length: 1000 }, () => coins.word()));
  assert.equal(words.size, 1000);
  assert.ok([...words].every((word) => 0n <= word && word < 1n << 64n));
  assert.ok([...words].some((word) => word >> 63n));
  const ids = new Set(Array.from({ length: 100 }, () => randomise(small, { x: 0.5, c: "a" }).id));
  assert.equal(ids.size, 100);
});

test("a word that was drawn is nowhere else", (context) => {
  const pools = new Set();
  const fill = crypto.getRandomValues.bind(crypto);
  context.mock.method(crypto, "getRandomValues", (pool) => fill(pools.add(pool) && pool));
  const coins = new hush.SystemCoins();
  for (let i = 1; i <= 100; i++) {
    const word = coins.word();
    const left = [...pools].flatMap((pool) => [...pool]);
    assert.ok(!left.includes(word));
    assert.equal(left.filter((one) => one === 0n).length, ((i - 1) % left.length) + 1);
  }
});

test("reports that are drawn have the frequencies of their likelihoods", async () => {
  // 20000 reports of one question: a deviation of 6 sigma is a chance of 2e-9 per output, of which there are two.
  const plan = await Plan.parse(vectors("bad-plans").good[0]);
  const record = { x: 0.25, c: "a" };
  const counts = [[0, 0], [0, 0]];
  const n = 20000;
  for (let i = 0; i < n; i++) {
    const [[question, output]] = randomise(plan, record).answers;
    counts[question][output]++;
  }
  for (const [question, pair] of counts.entries()) {
    const asked = pair[0] + pair[1];
    assert.ok(Math.abs(asked - n / 2) < 6 * Math.sqrt(n / 4));
    const p = hush.likelihood(plan, question, 0, record);
    assert.ok(Math.abs(pair[0] - asked * p) < 6 * Math.sqrt(asked * p * (1 - p)));
    // The twin: for the opposite record the same counts would be far out.
    const q = hush.likelihood(plan, question, 0, { x: 0.75, c: "b" });
    assert.ok(Math.abs(pair[0] - asked * q) > 6 * Math.sqrt(asked * q * (1 - q)));
  }
});

test("a likelihood is of an output that exists, to a question that exists", () => {
  const record = { x: 0.5, c: "a" };
  for (const output of [-1, 2, 0.5, "0", [0], true, null]) {
    assert.throws(() => hush.likelihood(small, 0, output, record), hush.ReportError);
  }
  for (const question of [-1, 2, 0.5, "0"]) {
    assert.throws(() => hush.likelihood(small, question, 0, record), hush.PlanError);
  }
  // The record needs no more than the question looks at.
  assert.equal(hush.likelihood(small, 0, 0, { x: 0.5 }), hush.likelihood(small, 0, 0, record));
  assert.throws(() => hush.likelihood(small, 1, 0, { x: 0.5 }), RecordError);
  assert.throws(() => hush.likelihood(small, 0, 0, { c: "a" }), RecordError);
});

const DATED = vectors("channel-dates");

test("dates and times of day are texts, and nothing that only looks like one", async () => {
  const plan = await Plan.parse(DATED.plan);
  const fine = DATED.good.find(({ record }) => record.second === "06:30:30").record;
  assert.equal(plan.encode(fine).length, plan.schema.length);
  for (const value of [new Date(0), ["2000-01-01"], { toString: () => "2000-01-01" }, 10957, 10957n, true, new String("2000-01-01")])
    assert.throws(() => plan.encode({ ...fine, birthday: value }), /"birthday": must be a date$/);
  for (const value of [new Date(0), ["07:30"], 450, "7:30", "24:00"])
    assert.throws(() => plan.encode({ ...fine, wake_up: value }), /"wake_up": must be a time$/);
  assert.throws(() => plan.encode({ ...fine, birthday: "1920-02-28" }), /must be in the range$/);
});

test("a time outside counts as the bound that is nearer on the clock", async () => {
  const plan = await Plan.parse(DATED.plan);
  const fine = DATED.good.find(({ record }) => record.second === "06:30:30").record;
  const bed = (bed_time) => plan.encode({ ...fine, bed_time })[3];
  assert.deepEqual(["18:00", "00:00", "06:00", "06:01", "12:00", "12:01", "17:59"].map(bed), [0, 0.5, 1, 1, 1, 0, 0]);
});

test("a coin falls for exactly as many words as its threshold says", () => {
  const falls = (word, threshold) => new Words([word]).toss(threshold);
  for (const threshold of [1n, 1n << 63n]) assert.deepEqual([-1n, 0n].map((step) => falls(threshold + step, threshold)), [true, false]);
});

test("questions of equal weights are asked for equally many words", async () => {
  const plan = await Plan.parse(small.text.replace('"weights":null', '"weights":[1,1]'));
  const asked = (word) => randomiseFrom(new Words([word, ...Array(9).fill(1n)]), plan, { x: 0.5, c: "a" }).answers[0][0];
  assert.deepEqual([0n, (1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n].map(asked), [0, 0, 1, 1]);
});
