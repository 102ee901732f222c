// The rules of schemas: what may be declared, to the last character, and where values are found.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hush, planOf, small } from "./words.mjs";

const { Plan, PlanError, RecordError } = hush;
const R = 1n << 64n;

const category = (values, change = {}) => ({ kind: "categorical", name: "c", values, optional: false, ...change });
const subset = (size) => ({ kind: "subset", size, weight: 1, threshold: (R / 4n) * 3n });
/** A plan that asks for one category. */
const one = (values, change = {}) =>
  planOf([[subset(values.length + Number(!!change.optional) + Number(!!change.other)), category(values, change)]]);
const count = (n) => Array.from({ length: n }, (_, i) => `v${i}`);

test("of one value alone it can be told whether it is missing, and nothing else is it", async () => {
  for (const value of ["only", "", 7]) {
    const plan = await one([value], { optional: true });
    assert.deepEqual([plan.encode({ c: value }), plan.encode({ c: null }), plan.encode({})], [[0], [1], [1]]);
    for (const c of ["other", "onl", 8, 6, 0, true]) assert.throws(() => plan.encode({ c }), RecordError);
    await assert.rejects(planOf([[subset(2), category([value])]]), /values must be 2 to 4096/);
  }
});

test("no longer text is taken for the longest one", async () => {
  const plan = await one(["no", "yes"]);
  for (const c of ["yes\uffff", "yes\uffff\0", "yes\0", "yess", "no\uffff", "no\uffff\0", "no\uffff\0\0"])
    assert.throws(() => plan.encode({ c }), RecordError);
});

test("a schema has at most 1024 attributes, and names of 1 to 128 characters", async () => {
  const many = (n) => planOf(count(n).map((name) => [subset(2), { ...category(["a", "b"]), name }]));
  assert.equal((await many(1024)).schema.length, 1024);
  await assert.rejects(many(1025), /schema must have 1 to 1024 attributes/);
  const named = (name) => planOf([[subset(2), { ...category(["a", "b"]), name }]]);
  for (const name of ["x", "𝒳".repeat(128)]) assert.equal((await named(name)).schema[0].name, name);
  for (const name of ["", "𝒳".repeat(129), 7, null]) await assert.rejects(named(name), /name must be 1 to 128 printable characters/);
  await assert.rejects(planOf([[subset(2), category(["a", "b"])], [subset(2), category(["a", "b"])]]), /names must differ/);
});

test("values are at most 4096, with other among them, and of at most 256 characters", async () => {
  assert.ok(await one(count(4096)));
  assert.ok(await one(count(4095), { other: true }));
  for (const [values, change] of [[count(4097)], [count(4096), { other: true }]]) await assert.rejects(one(values, change), /values must be 2 to 4096/);
  assert.ok(await one(["", "𝒳".repeat(256)]));
  for (const bad of ["𝒳".repeat(257), "(missing)", 1, "\n"]) await assert.rejects(one(["a", bad]), /a value must be at most 256 printable characters/);
  assert.deepEqual((await one(["a", "(other)"])).encode({ c: "(other)" }), [1]);
  for (const bad of ["a", null, 0.5, true]) await assert.rejects(one([1, bad]), /a value must be an integer/);
});

test("all other texts count as one category, and what is missing comes behind it", async () => {
  const plan = await one(["a", "b"], { other: true, optional: true });
  assert.deepEqual(["a", "b", "c", "", null].map((c) => plan.encode({ c })[0]), [0, 1, 2, 2, 3]);
  for (const c of [1, true, ["a"]]) assert.throws(() => plan.encode({ c }), /must be one of the 2 strings declared: "a", "b"$/);
  const alone = await one(["a"], { other: true });
  assert.deepEqual(["a", "b"].map((c) => alone.encode({ c })[0]), [0, 1]);
  assert.throws(() => alone.encode({}), /is missing/);
});

test("booleans are false and true, in this order", async () => {
  const plan = await planOf([[subset(3), { kind: "boolean", name: "b", optional: true }]]);
  assert.deepEqual([false, true, null].map((b) => plan.encode({ b })[0]), [0, 1, 2]);
  assert.deepEqual(plan.schema[0], { kind: "categorical", name: "b", optional: true, values: [false, true], holds: "boolean" });
  for (const b of [0, 1, "true", "", []]) assert.throws(() => plan.encode({ b }), /must be one of the 2 booleans declared: false, true$/);
});

const WINDOW = { kind: "window", size: 4, width: 2, threshold: (R / 4n) * 3n, levels: "even" };
/** A plan that asks for one date or time of day. */
const dated = (attribute) => planOf([[{ ...WINDOW, optional: !!attribute.optional }, { name: "d", out_of_range: "error", optional: false, ...attribute }]]);
const time = (low, high, change = {}) => dated({ kind: "time", low, high, step: 60, ...change });
const place = (plan, d) => plan.encode({ d })[0];

test("times of day have steps of a second to half a day", async () => {
  const half = await time("00:00:00", "12:00:00", { step: 43200 });
  assert.deepEqual(["00:00", "11:59:59", "12:00", "23:59"].map((d) => place(half, d)), [0, 0, 1, 1]);
  const second = await time("00:00:00", "00:00:04", { step: 1 });
  assert.equal(place(second, "00:00:01"), 0.25);
  for (const step of [0, 43201, 86400, 0.5, "60", null]) await assert.rejects(time("00:00:00", "12:00:00", { step }), /step must be an integer from 1 to 43200/);
  await assert.rejects(time("00:00:00", "00:00:07", { step: 7 }), /low must be before high/); // a day is no whole number of these
  const odd = await time("00:00:00", "00:02:08", { step: 128 }); // a day has 675 of these
  assert.equal(place(odd, "00:02:08"), 1);
});

test("times outside of an odd or even rest count as the nearer bound, and in the middle as the lower", async () => {
  const clipped = (low, high) => time(low, high, { step: 3600, out_of_range: "clip" });
  const hours = async (low, high) => {
    const plan = await clipped(low, high);
    return Array.from({ length: 24 }, (_, hour) => place(plan, `${String(hour).padStart(2, "0")}:00`)).join(" ");
  };
  const line = (...parts) => parts.flatMap(([times, value]) => Array(times).fill(value)).join(" ");
  // Outside of 0 to 20 are the three hours 21, 22 and 23; of 0 to 21 the two hours 22 and 23.
  const within = (last) => Array.from({ length: last + 1 }, (_, i) => [1, i / last]);
  assert.equal(await hours("00:00:00", "20:00:00"), line(...within(20), [2, 1], [1, 0]));
  assert.equal(await hours("00:00:00", "21:00:00"), line(...within(21), [1, 1], [1, 0]));
  assert.equal(await hours("00:00:00", "23:00:00"), line(...within(23)));
});

test("a range of times may go past midnight, and not around the clock", async () => {
  const plan = await time("22:00:00", "06:00:00");
  assert.deepEqual(["22:00", "00:00", "02:00", "06:00:59"].map((d) => place(plan, d)), [0, 0.25, 0.5, 1]);
  assert.deepEqual([plan.schema[0].low, plan.schema[0].high], [1320, 1800]);
  for (const d of ["21:59", "06:01"]) assert.throws(() => place(plan, d), /must be in the range$/);
  await assert.rejects(time("06:00:00", "06:00:00"), /low must be before high/);
  for (const [low, high] of [["06:00", "07:00:00"], ["06:00", "07:00"], ["06:00:00", "7:00:00"]]) await assert.rejects(time(low, high), /low must be before high/);
});

test("dates are days that exist, and the next day will do for a range", async () => {
  const days = (low, high, change = {}) => dated({ kind: "date", low, high, ...change });
  const plan = await days("1970-01-01", "1970-01-05", { optional: true });
  assert.deepEqual(["1970-01-01", "1970-01-02", "1970-01-05", null].map((d) => place(plan, d)), [0, 0.25, 1, null]);
  assert.deepEqual([plan.schema[0].low, plan.schema[0].high], [0, 4]);
  for (const d of ["1970-02-30", "1970-01-02T00:00Z", "01970-01-02", "+1970-01-02", "1970-01-02 ", "70-01-02", ""]) assert.throws(() => place(plan, d), /must be a date$/);
  assert.throws(() => place(plan, "1969-12-31"), /must be in the range$/);
  const before = await days("1969-12-30", "1969-12-31");
  assert.deepEqual(["1969-12-30", "1969-12-31"].map((d) => place(before, d)), [0, 1]);
  const ever = await days("0001-01-01", "9999-12-31");
  assert.deepEqual([ever.schema[0].low, ever.schema[0].high], [-719162, 2932896]);
  for (const d of ["0000-12-31", "10000-01-01", "+012345-01-01"]) assert.throws(() => place(ever, d), /must be a date$/);
  const clipped = await days("1970-01-01", "1970-01-05", { out_of_range: "clip" });
  assert.deepEqual(["0001-01-01", "9999-12-31"].map((d) => place(clipped, d)), [0, 1]);
  for (const [low, high] of [["1970-01-02", "1970-01-02"], ["1970-01-02", "1970-01-01"]]) await assert.rejects(days(low, high), /low must be before high/);
});

test("bounds are two numbers, neither too close nor too far apart", async () => {
  const number = (low, high) => dated({ kind: "numeric", low, high, scale: "linear", unit: null });
  for (const [low, high] of [[0, 1e-300], [-1e308, 7e307]]) assert.equal((await number(low, high)).schema[0].high, high);
  for (const [low, high] of [[0, 9e-301], [-1e308, 1e308], [0, "1"], ["0", 1], ["0", "1"], [null, 1], [0, true], [[0], 1]])
    await assert.rejects(number(low, high), /low must be below high/, `${low} ${high}`);
});

test("choices are 2 to 1024 texts, of which all may be listed", async () => {
  const choices = (values, most, optional) => ({ kind: "choices", name: "c", values, most, optional });
  const member = (value) => ({ kind: "member", of: ["c"], value });
  const asking = (values, most = 1, optional = false) =>
    planOf([[subset(2), choices(values, most, optional)]], { questions: [{ channel: subset(2 + Number(optional)), views: [member(values[0])] }] });
  assert.ok(await asking(count(1024), 1024));
  assert.deepEqual([...(await asking(["a", "b"], 2)).encode({ c: ["b", "a"] })[0]], [1, 1]);
  for (const values of [count(1025), [1, 2]]) await assert.rejects(asking(values), /values must be 2 to 1024 strings/);
  assert.ok(await asking(["a", "b"], 1, true));
  await assert.rejects(asking(["a"], 1, true), /values must be 2 to 1024 strings/);
  for (const most of [0, 3, 1.5, "1"]) await assert.rejects(asking(["a", "b"], most), /most must be an integer from 1 to 2/);
  const plan = await asking(["a", "b", "c"], 2);
  assert.deepEqual([[], ["a"], ["b", "c"]].map((c) => [...plan.encode({ c })[0]]), [[0, 0, 0], [1, 0, 0], [0, 1, 1]]);
  for (const c of [["a", "b", "c"], "ab", { length: 1, 0: "a" }, 1]) assert.throws(() => plan.encode({ c }), /must be a list of at most 2 strings$/);
  for (const c of [["d"], ["a", "a"], ["a", null], [0], [undefined]]) assert.throws(() => plan.encode({ c }), /must list some of these once: "a", "b", "c"$/);
});

test("without large.js, what it adds is not known", async () => {
  const alone = await import(`${process.env.HUSH_MODULE ?? "../../src/hush/collector/static/hush.js"}?alone`);
  assert.ok(await alone.Plan.parse(small.text));
  for (const [from, to] of [['"kind":"categorical"', '"kind":"text"'], ['"kind":"value"', '"kind":"prefix"']])
    await assert.rejects(alone.Plan.parse(small.text.replace(from, to)), alone.PlanError);
  await assert.rejects(Plan.parse(small.text.replace('"kind":"categorical"', '"kind":"texts"')), PlanError);
});
