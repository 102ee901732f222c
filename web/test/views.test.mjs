// Views and the channels of relations: what the vectors do not reach.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hush, planOf, small, vectors } from "./words.mjs";

const { Plan, Report, ReportError } = hush;
const R = 1n << 64n;
const [viewed] = vectors("bad-views").good;

/** A plan text with something replaced that must be there. */
function edited(text, from, to) {
  assert.ok(text.includes(from), from);
  return text.replace(from, to);
}

test("documents of version 1 are refused with advice, and others without", async () => {
  await assert.rejects(Plan.parse(edited(small.text, '"hush":2', '"hush":1')), /version 1 of hush: make the plan anew/);
  await assert.rejects(Plan.parse(edited(small.text, '"hush":2', '"hush":3')), /this plan is not of version 2/);
  const report = hush.randomise(small, { x: 0.5, c: "a" });
  const bytes = report.encode();
  for (const [version, rule] of [[1, /make the plan anew/], [3, /not of version 2/]]) {
    assert.throws(() => Report.decode(small, Uint8Array.of(version, ...bytes.slice(1))), rule);
    assert.throws(() => Report.fromJSON(small, { ...report.toJSON(), hush: version }), rule);
  }
  assert.throws(() => Report.decode(small, bytes.slice(0, 24)), ReportError);
});

test("floats of views are written as floats", async () => {
  assert.ok(await Plan.parse(viewed));
  for (const [from, to] of [
    ["[50000.0,100000.0]", "[50000,100000.0]"],
    ["[50000.0,100000.0]", "[5e4,100000.0]"],
    ["[60.0,100000.0]", "[60,100000.0]"],
    ['"reach":0.25', '"reach":1'],
    ['"reach":0.25', '"reach":0.250'],
    ['"cuts":[0.0]', '"cuts":[0]'],
  ]) {
    await assert.rejects(Plan.parse(edited(viewed, from, to)), /canonical/, to);
  }
  assert.ok(await Plan.parse(edited(viewed, '"reach":0.25', '"reach":1.0')));
});

test("a refusal names the attribute and the rule", async () => {
  for (const [from, to, rule] of [
    ["[50000.0,100000.0]", "[100000.0,50000.0]", /bands of \["income"\]: cuts must increase/],
    ["[50000.0,100000.0]", "[50000.0,200000.0]", /bands of \["income"\]: cuts must be floats from 0 to 200000/],
    ["[40.0,50000.0]", "[40.0]", /sides of \["age","income"\]: cuts must be 2/],
    ["[60.0,100000.0]", "[121.0,100000.0]", /product of \["age","income"\]: centres must be floats from 0 to 120/],
    ['"reach":0.25', '"reach":0.0', /reach must be a float/],
    ['"of":["city"]', '"of":["nobody"]', /must be of attributes: \["nobody"\]/],
    ['{"cuts":[0.0],"kind":"bands","of":["age"]}', '{"cuts":[0.0],"kind":"bands","of":["city"]}', /bands of \["city"\]: must be of numbers/],
    ['"kind":"sides","of":["age","income"]', '"kind":"sides","of":["age","city"]', /sides of \["age","city"\]: must be of numbers/],
  ]) {
    await assert.rejects(Plan.parse(edited(viewed, from, to)), rule);
  }
});

const number = (name, optional = false) => ({ high: 1.5, kind: "numeric", low: 0.25, name, optional, out_of_range: "error", scale: "linear", unit: null });
const category = (name, count, optional = false) => ({ kind: "categorical", name, optional, values: Array.from({ length: count }, (_, i) => i) });

/** The canonical text of a plan. Its floats are never whole, so that JSON writes them as it must. */
function text(schema, questions) {
  const sorted = (value) =>
    Array.isArray(value) || typeof value !== "object" || value === null
      ? value
      : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  const fields = { hush: 2, title: "", after: null, epsilon: "16.0", k: 1, weights: null, schema, questions };
  return JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? String(value) : sorted(value)));
}

const subset = (size) => ({ kind: "subset", size, weight: 1, threshold: (R / 4n) * 3n });
const cut = (i, count) => 0.25 + (1.25 * (i + 0.5)) / count;

test("a plan has at most 4096 questions, and bands at most 4095 cuts", async () => {
  const asking = (count) =>
    text([number("x")], Array.from({ length: count }, (_, i) => ({ channel: subset(2), views: [{ kind: "bands", of: ["x"], cuts: [cut(i, count)] }] })));
  assert.equal((await Plan.parse(asking(4096))).questions.length, 4096);
  await assert.rejects(Plan.parse(asking(4097)), /questions must be at most 4096/);
  const cuts = (count) => text([number("x")], [{ channel: subset(count + 1), views: [{ kind: "bands", of: ["x"], cuts: Array.from({ length: count }, (_, i) => cut(i, count)) }] }]);
  assert.ok(await Plan.parse(cuts(4095)));
  await assert.rejects(Plan.parse(cuts(4096)), /cuts must be 1 to 4095/);
  await assert.rejects(Plan.parse(text([number("x")], [{ channel: subset(2), views: [{ kind: "bands", of: ["x"], cuts: [] }] }])), /cuts must be 1 to 4095/);
});

/** All sets of a cell in each of `weight` of `rows` rows. */
function* sets(rows, weight, group, from = 0) {
  if (weight === 0) yield [];
  else
    for (let row = from; row < rows; row++)
      for (let cell = 0; cell < group; cell++)
        for (const rest of sets(rows, weight - 1, group, row + 1)) yield [row * group + cell, ...rest];
}

for (const [rows, weight, size, width, optional] of [[3, 1, 4, 2, false], [4, 2, 3, 1, true], [3, 2, 4, 2, true], [5, 4, 2, 1, false]]) {
  test(`rows: ${weight} of ${rows} with ${size} cells${optional ? " and missing" : ""} have the right probabilities`, async () => {
    const channel = { kind: "rows", rows, weight, size, width, threshold: R / 2n, levels: "even", optional };
    const views = ["c", "x"].map((name) => ({ kind: "value", of: [name] }));
    const plan = await Plan.parse(text([category("c", rows), number("x", optional)], [{ channel, views }]));
    const [top, bottom] = plan.ratio;
    const bound = Number(top) / Number(bottom);
    const outputs = [...sets(rows, weight, size + Number(optional))].map((set) => (weight === 1 ? set[0] : set));
    const records = [0.25, 0.3, 0.8, 1.5, ...(optional ? [null] : [])].flatMap((x) => Array.from({ length: rows }, (_, c) => ({ c, x })));
    const laws = records.map((record) => outputs.map((output) => hush.likelihood(plan, 0, output, record)));
    for (const law of laws) assert.ok(Math.abs(law.reduce((a, b) => a + b) - 1) < 1e-12);
    const ratios = outputs.map((_, i) => Math.max(...laws.map((law) => law[i])) / Math.min(...laws.map((law) => law[i])));
    assert.ok(Math.abs(Math.max(...ratios) / bound - 1) < 1e-12);
  });
}

test("sets of cells have the right probabilities, with numbers too", async () => {
  const views = ["c", "x"].map((name) => ({ kind: "value", of: [name] }));
  const channel = { kind: "cells", sizes: [3, null], weight: 3, threshold: (R / 3n) * 2n };
  const plan = await Plan.parse(text([category("c", 3), number("x")], [{ channel, views }]));
  const outputs = [...sets(6, 3, 1)];
  for (const c of [0, 1, 2])
    for (const x of [0.25, 0.6, 1.5]) {
      const sum = outputs.reduce((a, output) => a + hush.likelihood(plan, 0, output, { c, x }), 0);
      assert.ok(Math.abs(sum - 1) < 1e-12);
    }
});

test("a report names one cell of a row", async () => {
  const channel = { kind: "rows", rows: 3, weight: 2, size: 3, width: 1, threshold: R / 2n, levels: "even", optional: false };
  const views = ["c", "x"].map((name) => ({ kind: "value", of: [name] }));
  const plan = await Plan.parse(text([category("c", 3), number("x")], [{ channel, views }]));
  const report = (output) => new Report(plan, "00112233445566778899aabbccddeeff", [[0, output]]);
  for (const output of [[0, 3], [2, 3], [5, 8]]) assert.deepEqual(Report.decode(plan, report(output).encode()).answers, [[0, output]]);
  for (const output of [[0, 1], [0, 2], [1, 2], [3, 5], [7, 8], [0], [0, 3, 6], [0, 9], [3, 0]]) assert.throws(() => report(output), ReportError);
});

test("views are public: their names and what they give can be read, and not be changed", async () => {
  const plan = await Plan.parse(viewed);
  const kinds = plan.questions.map(({ views }) => views.map(({ kind }) => kind));
  assert.deepEqual(kinds, [["value"], ["bands"], ["sides"], ["product"], ["value", "bands"]]);
  assert.deepEqual(plan.questions[1].views[0].seen.values, ["up to 50000", "50000 to 100000", "above 100000"]);
  assert.deepEqual(plan.questions[4].names, ["city", "age"]);
  assert.throws(() => (plan.questions[1].views[0].of[0] = "age"), TypeError);
  assert.throws(() => plan.questions[1].views.pop(), TypeError);
});

test("of choices asked value by value, only the drawn values matter", async () => {
  const plan = await Plan.parse(vectors("channel-choices").plan);
  const counts = new Set();
  for (let i = 0; i < 40; i++) {
    const id = i.toString(16).padStart(32, "0");
    const views = hush.questionsOf(plan, id).flatMap((question) => plan.questions[question].views);
    const found = hush.membersBy(plan, id);
    for (const { name, kind, values } of plan.schema) {
      const drawn = views.filter((view) => view.kind === "member" && view.of[0] === name).map(({ value }) => value);
      assert.deepEqual(found[name], drawn.length > 0 ? drawn : undefined);
      assert.ok(drawn.every((value) => kind === "choices" && values.includes(value)));
      counts.add(drawn.length);
    }
  }
  assert.deepEqual([...counts].sort(), [0, 1, 2]);
  const picks = await Plan.parse(vectors("channel-picks").plan);
  for (let i = 0; i < 20; i++) assert.deepEqual(hush.membersBy(picks, i.toString(16).padStart(32, "0")), {});
});

test("the views of a question see the whole record", async () => {
  const plan = await Plan.parse(viewed);
  const seen = (record) => plan.questions.map((_, i) => plan.inputsOf(i, plan.encode(record)));
  assert.deepEqual(seen({ age: 0, income: 50000, city: "b" }), [[0], [0], [0], [(0.5 * 0.25 / 0.25 + 1) / 2], [1, 0]]);
  assert.deepEqual(seen({ age: 41, income: 50000, city: "b" })[2], [1]);
  assert.deepEqual(seen({ age: 40, income: 50001, city: "b" })[2], [1]);
  assert.deepEqual(seen({ age: 120, income: null, city: "c" }), [[1], [3], [2], [null], [2, 1]]);
});

test("what a view gives is described as an attribute of its own", async () => {
  const seen = async (plan, kind) => (await Plan.parse(plan)).questions.flatMap(({ views }) => views).find((view) => view.kind === kind)?.seen;
  assert.deepEqual(await seen(viewed, "sides"), { kind: "categorical", name: "age × income", values: ["same side", "different sides"], optional: true });
  assert.deepEqual(await seen(viewed, "product"), {
    kind: "numeric", name: "age × income", low: -1, high: 1, out_of_range: "clip", optional: true, scale: "linear", unit: null,
  });
  const member = await seen(vectors("channel-choices").plan, "member");
  assert.deepEqual(member.values, ["no", "yes"]);
  assert.match(member.name, /^[^:]+: [^:]+$/);
  for (const length of [59, 60, 61]) {
    const name = "😀".repeat(length);
    const { name: short } = await seen(viewed.replaceAll('"age"', JSON.stringify(name)), "sides");
    assert.equal(short, `${"😀".repeat(Math.min(length, 60))} × income`);
  }
});

test("the reach of a product is from 2^-20 to 1", async () => {
  const reach = (text) => Plan.parse(edited(viewed, '"reach":0.25', `"reach":${text}`));
  for (const good of ["9.5367431640625e-07", "1.0"]) assert.ok(await reach(good));
  for (const bad of ["9.536743164062499e-07", "1.0000000000000002", '"0.25"', "true", "null"]) await assert.rejects(reach(bad), /reach must be a float from 2\^-20 to 1/);
});

test("a product beyond its reach counts as the end", async () => {
  const plan = await Plan.parse(edited(viewed, '"reach":0.25', '"reach":0.125')); // of ages from 0 to 120, and incomes from 0 to 200000
  const place = (age, income) => plan.inputsOf(3, plan.encode({ age, income, city: "b" }))[0];
  assert.deepEqual([place(120, 200000), place(0, 200000), place(60, 0), place(90, 150000)], [1, 0, 0.5, 0.75]);
});

test("cuts are numbers of the domain below its end, and a centre may be at its end", async () => {
  const cuts = (text) => Plan.parse(edited(viewed, '"cuts":[0.0]', `"cuts":[${text}]`)); // of ages from 0 to 120
  assert.ok(await cuts("119.99999999999999"));
  for (const bad of ["120.0", "-0.0", "-1e-300", '"1.0"', "null", "true"]) await assert.rejects(cuts(bad), /bands of \["age"\]: cuts must be floats from 0 to 120/);
  const centres = (text) => Plan.parse(edited(viewed, "[60.0,100000.0]", text));
  for (const good of ["[0.0,0.0]", "[120.0,200000.0]"]) assert.ok(await centres(good));
  for (const bad of ["[60.0,-0.0]", "[60.0,200000.00000000003]"]) await assert.rejects(centres(bad), /centres must be floats/);
});

test("a member is one of the choices, and says whether it is listed", async () => {
  const choices = { kind: "choices", name: "c", values: ["a", "b", "d"], most: 2, optional: true };
  const asking = (value, attribute = choices) =>
    planOf([[subset(3), attribute]], { questions: [{ channel: subset(3), views: [{ kind: "member", of: ["c"], value }] }] });
  for (const [value, places] of [["a", [0, 1, 0, 2]], ["b", [0, 1, 1, 2]], ["d", [0, 0, 1, 2]]]) {
    const plan = await asking(value);
    assert.deepEqual([[], ["a", "b"], ["d", "b"], null].map((c) => plan.inputsOf(0, plan.encode({ c }))[0]), places);
    assert.deepEqual(plan.questions[0].views[0].seen, { kind: "categorical", name: `c: ${value}`, values: ["no", "yes"], optional: true });
  }
  for (const value of ["c", "", 0, null, ["a"]]) await assert.rejects(asking(value), /a member must be one of the choices/);
  await assert.rejects(asking(1, category("c", 2, true)), /a member must be one of the choices/);
});
