// The rules of a training and of its map: each at its ends, and by the rule that refuses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hush, training as trainings, vectors } from "./words.mjs";

const BASE = JSON.parse(vectors("bad-phases").good[2]); // a number, and a category that can be missing: two features
const HUGE = "infinite"; // written as 1e999, which is JSON, and no finite number
const PLAN = /^the plan must have the title, the epsilon and the questions/; // what is asked last

const read = (value) => trainings.readPhase(JSON.stringify(value).replaceAll(`"${HUGE}"`, "1e999"));

/** The round with other settings, and weights for this many of them. */
const round = (change, width = 3) => {
  const weights = Array.from({ length: width }, () => 0);
  return { ...BASE, training: { ...BASE.training, ...change }, weights, average: weights };
};

/** The rule that refuses a training, or nothing. */
const rule = (change, width) =>
  read(round(change, width)).then(
    () => "",
    (error) => {
      assert.ok(error instanceof hush.PlanError, String(error.stack));
      return error.message;
    },
  );

async function hold(rows) {
  for (const [change, wanted, width] of rows) {
    const found = await rule(change, width);
    assert.ok(typeof wanted === "string" ? found === wanted : wanted.test(found), `${JSON.stringify(change).slice(0, 200)}: ${found}, not ${wanted}`);
  }
}

const each = (name, values, wanted, width) => values.map((value) => [{ [name]: value }, wanted, width]);
const category = (name, count, more = {}) => ({ kind: "categorical", name, optional: false, values: Array.from({ length: count }, (_, i) => i), ...more });
const [number] = BASE.training.schema;

test("no field is repeated, however it is written and wherever it is", async () => {
  const text = JSON.stringify(BASE);
  const refused = { name: "PlanError", message: "no field must be repeated" };
  await trainings.readPhase(text);
  await trainings.readPhase(new TextEncoder().encode(JSON.stringify(BASE, null, 2)));
  for (const [from, to] of [
    ['"hush":4', '"hush":4,"hush":4'],
    ['"hush":4', '"hush":4 , "\\u0068ush"\n :4'],
    ['"training":{', '"training":{"seed":"}\\"{",'],
    ['"schema":[{', '"schema":[{"name":"a",'],
    ['"plan":{', '"plan":{"title":"",'],
  ]) {
    assert.ok(text.includes(from) && JSON.parse(text.replace(from, to)));
    await assert.rejects(trainings.readPhase(text.replace(from, to)), refused, to);
    await assert.rejects(trainings.readPhase(new TextEncoder().encode(text.replace(from, to))), refused, to);
  }
  // Texts that look like fields are none, and two objects may have the same field.
  const odd = JSON.parse(text);
  odd.training.seed = '"seed": {"seed": [';
  odd.plan.title = odd.plan.title.replace(`[${BASE.training.seed}]`, () => `[${odd.training.seed}]`);
  await trainings.readPhase(JSON.stringify(odd));
});

test("settings are held at both ends", async () => {
  await hold([
    ...["title", "seed"].flatMap((name) => [
      ...each(name, ["x", "☂".repeat(128)], PLAN),
      ...each(name, ["", "x".repeat(129), "a\nb", 1, null], `${name} must be 1 to 128 printable characters`),
    ]),
    ...each("rounds", [1, 2 ** 20], ""),
    ...each("rounds", [0, 2 ** 20 + 1, 1.5, null, "3"], "rounds must be an integer from 1 to 1048576"),
    ...["epsilon", "step", "radius", "bound", "cap"].flatMap((name) => each(name, [0, -1, null, true, "1", HUGE], `${name} must be a finite number above 0`)),
    ...["step", "radius", "bound", "cap"].flatMap((name) => each(name, [5e-324, 0.5, 1.7e308], "")),
    ...each("epsilon", [0.001, 0.5, 16], PLAN),
    ...each("epsilon", [0.0009999, 16.000001], "epsilon must be from 0.001 to 16"),
    ...each("penalty", [0, 0.5, 2], ""),
    ...each("penalty", [-5e-324, -1, null, true, "0", HUGE], "penalty must be at least 0"),
    ...each("tail", [0, 0.25, 1], ""),
    ...each("tail", [-5e-324, -1, 1.0000001, 2, null, true, "0", HUGE], "tail must be from 0 to 1"),
    ...each("box", [null, 5e-324, 0.5, 2], ""),
    ...each("box", [0, -1, false, "1", HUGE], "box must be a finite number above 0"),
    ...["decay", "rising"].flatMap((name) => each(name, [true, false], "")),
    ...["decay", "rising", "intercept"].flatMap((name) => each(name, [0, 1, null, "true"], `${name} must be true or false`)),
    ...each("intercept", [false], "weights must be 2 finite numbers"),
    ...each("k", ["best", "paper", 1, 1024], ""),
    ...each("k", [0, 1025, 1.5, null, "other", ""], "k must be an integer from 1 to 1024"),
    ...each("selection", [null, [1, 1, 0], [2 ** 20, 2 ** 20, 3.5]], ""),
    ...each("selection", [[0, 1, 0], [2 ** 20 + 1, 1, 0], [1.5, 1, 0]], "n1 must be an integer from 1 to 1048576"),
    ...each("selection", [[1, 0, 0], [1, 2 ** 20 + 1, 0]], "n2 must be an integer from 1 to 1048576"),
    ...each("selection", [[1, 1, -5e-324], [1, 1, -1]], "tau must be at least 0"),
    ...each("selection", [[1, 1], [1, 1, 1, 1], [1, 1, HUGE], [1, 1, null]], "selection must be 3 finite numbers"),
    ...each("selection", [1], "selection must be an array"),
    ...each("projection", [1, 2], /^weights must be [12] finite numbers$/),
    ...each("projection", [0, 3, 1.5, "1"], "projection must be an integer from 1 to 2"),
  ]);
});

test("every gradient is known, and no other", async () => {
  const names = "vector minimax hybrid piecewise piecewise-sub duchi laplace scdf staircase duchi-multi cube".split(" ");
  for (const gradient of names) assert.match(await rule({ gradient }), gradient === "vector" ? /^$/ : PLAN);
  await hold(each("gradient", ["", "vector minimax", "gauss", null, ["vector"]], "gradient must be known"));
});

test("centres, scales and starts have a number for each feature, or weight, of a fair size", async () => {
  const after = (x) => x * (1 + 2 ** -52);
  const before = (x) => x * (1 - 2 ** -52);
  const fair = "centre must be 0, or from 1e-100 to 1e100 in size";
  await hold([
    ...each("centre", [null, [0, 0], [1, -1], [1e-100, 1e100], [-1e-100, -1e100]], ""),
    ...each("centre", [[0, before(1e-100)], [before(-1e-100), 0], [0, after(1e100)], [after(-1e100), 0]], fair),
    ...each("scale", [null, [1, 1], [1e-100, 1e100]], ""),
    ...each("scale", [[1, before(1e-100)], [after(1e100), 1], [1, 0], [-1, 1]], "scale must be from 1e-100 to 1e100"),
    ...each("start", [null, [0, 0, 0], [-1e300, 1e-300, 1]], ""),
    ...["centre", "scale"].flatMap((name) => each(name, [[1], [1, 1, 1], [1, null], [1, HUGE], [1, "1"]], `${name} must be 2 finite numbers`)),
    ...each("start", [[1, 1], [1, 1, 1, 1]], "start must be 3 finite numbers"),
    ...["centre", "scale", "start"].flatMap((name) => each(name, [1, "11"], `${name} must be an array`)),
  ]);
});

test("a label fits its loss, is no feature, and has classes that can be told apart", async () => {
  const [loss, label] = ["the label must fit the loss", (attribute, targets = [-1, 1]) => ({ attribute: { ...category("y", 2), ...attribute }, targets })];
  const spent = { attribute: { ...number, name: "spent" }, targets: [-1, 1] };
  const [two, three, many] = [label({}), label(category("y", 3)), "the label must have two classes, or more and one told apart"];
  await hold([
    [{ loss: "hinge", label: two }, ""],
    [{ loss: "logistic", label: two }, ""],
    [{ loss: "squared", label: spent }, ""],
    ...each("loss", ["absolute", ["logistic"], null, ""], "loss must be squared, logistic or hinge"),
    [{ loss: "squared", label: two }, loss],
    [{ loss: "hinge", label: spent }, loss],
    [{ loss: "logistic", label: spent }, loss],
    [{ loss: "squared", label: spent, against: 0 }, loss],
    [{ label: label({ values: ["a", "b"], other: true }) }, loss],
    [{ label: three }, many],
    ...[0, 1].map((against) => [{ label: two, against }, many]),
    ...[0, 1, 2].map((against) => [{ label: three, against }, PLAN]),
    ...[-1, 3, 0.5, "1"].map((against) => [{ label: three, against }, "against must be an integer from 0 to 2"]),
    [{ label: label({ optional: true }) }, "the label must not be optional"],
    [{ loss: "squared", label: { ...spent, attribute: { ...spent.attribute, optional: true } } }, "the label must not be optional"],
    [{ label: label({ name: "x" }) }, "the label must not be a feature"],
    [{ label: label({ name: "c" }) }, "the label must not be a feature"],
    ...[[1, -1], [0, 1], [-1, 1, 1], null, "-1,1"].map((targets) => [{ label: label({}, targets) }, "targets must be -1 and 1"]),
    [{ label: { attribute: two.attribute } }, /^a label must have the fields attribute,targets/],
    [{ label: null }, /^a label must have the fields attribute,targets/],
    [{ label: { attribute: { kind: "choices", name: "y", most: 1, optional: false, values: ["a", "b"] }, targets: [-1, 1] } }, 'attribute "y": must be a number or a category'],
    [{ schema: [number, { kind: "choices", name: "z", most: 1, optional: false, values: ["a", "b"] }] }, 'attribute "z": must be a number or a category'],
  ]);
});

test("categories in order have two values or more, and are named once", async () => {
  const schema = [number, category("c", 2), category("d", 1, { optional: true })];
  const values = "ordered must name categories with two values or more";
  await hold([
    [{ schema, ordered: ["c"] }, "", 5],
    [{ schema, ordered: [] }, "", 4],
    ...[["d"], ["x"], ["shoe"], ["c", "d"], [0]].map((ordered) => [{ schema, ordered }, values]),
    [{ schema, ordered: ["c", "c"] }, "ordered must name each once"],
    ...["c", null].map((ordered) => [{ schema, ordered }, "ordered must be an array"]),
  ]);
});

test("features are counted: numbers, those that can be missing, categories and their places", async () => {
  const { training } = await read(
    round(
      {
        schema: [number, { ...number, name: "z", optional: true }, category("c", 3), category("d", 4, { optional: true, values: ["a", "b", "e", "f"], other: true }), category("e", 2)],
        ordered: ["d", "e"],
      },
      14,
    ),
  );
  const parts = [[0, true, 0], [1, true, 0], [2, false, 1], [3, false, 2], [5, false, 5], [11, false, 1]];
  assert.deepEqual(training.parts.map(({ start, number, indicators }) => [start, number, indicators]), parts);
  assert.deepEqual([training.dimensions, training.width], [13, 14]);
});

test("a training has 1 to 1023 features", async () => {
  await hold([
    [{ schema: [category("c", 2)] }, "weights must be 2 finite numbers"],
    [{ schema: [category("c", 1, { optional: true }), number] }, ""],
    [{ schema: [category("c", 1024)] }, "", 1024],
    [{ schema: [category("c", 1025)] }, "the number of features must be an integer from 1 to 1023"],
  ]);
});

test("names, families and branches of trainings", async () => {
  const { training } = await read(BASE);
  assert.deepEqual([training.family, training.branch, training.name], ["who buys [5eed]: ", "", "who buys"]);
  assert.deepEqual([training.map, training.values], [null, BASE.training]);
  const apart = round({ label: { attribute: category("y", 3), targets: [-1, 1] }, against: 2 });
  const { training: third } = await read({ ...apart, plan: { ...BASE.plan, title: "who buys [5eed]: class 3, round 1" } });
  assert.deepEqual([third.branch, third.name, third.against], ["class 3, ", "who buys (class 3)", 2]);
  assert.match(await rule({ more: 1 }), /^a training must have the fields title,/);
  for (const value of [null, 7, []]) await assert.rejects(read({ ...BASE, training: value }), /^PlanError: a training must have the fields title,/);
});

const random = (change = {}) => ({ kind: "random", units: 4, inputs: 2, strength: 1, seed: "s", ...change });
const table = (units, change = {}) => ({ kind: "table", activation: "relu", units, strength: 1, ...change });
const maps = (some, wanted, width) => some.map((map) => [{ map }, wanted, width]);
const UNIT = [[0], [1], 0];

test("maps are held at both ends", async () => {
  const wide = [category("c", 129)];
  const all = Array.from({ length: 128 }, (_, i) => i);
  const row = [all, all.map(() => 1), 0];
  const long = (count) => [Array.from({ length: count }, (_, i) => i), Array.from({ length: count }, () => 1), 0];
  const strength = "the strength of a map must be above 0, at most 1e6";
  const both = "the weights and biases of a map must be numbers of at most 1e6";
  const place = (next) => `the next place of a unit must be an integer from ${next} to 1`;
  await hold([
    ...maps([random(), random({ inputs: 1 }), random({ inputs: 64 }), random({ strength: 5e-324 }), random({ strength: 1e6 }), random({ seed: "☂".repeat(128) })], "", 7),
    ...maps([0, -1, 1000001, 1000000.0000000001, null, "1", true, HUGE].map((one) => random({ strength: one })), strength),
    ...maps([0, 1000001, HUGE].map((one) => table([UNIT], { strength: one })), strength),
    ...maps([random({ units: 1 })], "", 4),
    ...maps([random({ units: 1000 })], "", 1003),
    ...maps([0, 1001, 1.5, null, [1]].map((units) => random({ units })), "the number of units must be an integer from 1 to 1000"),
    ...maps([0, 65, 1.5, null].map((inputs) => random({ inputs })), "the number of inputs must be an integer from 1 to 64"),
    ...maps(["", "x".repeat(129), "a\nb", 1].map((seed) => random({ seed })), "the seed of a map must be 1 to 128 printable characters"),
    ...maps([table([UNIT]), table([UNIT], { activation: "wave" })], "", 4),
    ...maps([table([UNIT], { kind: "python" }), table([UNIT], { kind: null })], "the kind of a map must be random or table"),
    ...maps(["cos", null, ["wave"]].map((activation) => table([UNIT], { activation })), "the activation of a map must be wave or relu"),
    ...maps([table([UNIT], { seed: "s" }), [], {}, "table", 7], /^a map must have the fields kind,activation,units,strength, /),
    ...maps([null], /^a map must have the fields kind,activation,units,strength, /),
    ...maps([random({ activation: "wave" })], /^a map must have the fields kind,units,inputs,strength,seed, /),
    ...maps([table(7), table(null)], "the units of a map must be an array"),
    ...maps([table(Array.from({ length: 1000 }, () => UNIT))], "", 1003),
    ...maps([table([]), table(Array.from({ length: 1001 }, () => UNIT))], "the number of units must be an integer from 1 to 1000"),
    [{ schema: wide, map: table(Array.from({ length: 512 }, () => row)) }, "", 641],
    [{ schema: wide, map: table([...Array.from({ length: 512 }, () => row), UNIT]) }, "the units of a map must have at most 65536 weights in all"],
    [{ schema: [category("c", 1003)], map: table([long(1000)]) }, "", 1004],
    [{ schema: [category("c", 1003)], map: table([long(1001)]) }, "the number of places of a unit must be an integer from 1 to 1000"],
    ...maps([table([[[], [], 0]])], "the number of places of a unit must be an integer from 1 to 1000"),
    ...maps([table([7]), table([null]), table([UNIT, "x"])], "a unit of a map must be an array"),
    ...maps([table([[[0], [1]]]), table([[[0], [1], 0, 0]]), table([[]])], "a unit of a map must have places, weights and a bias"),
    ...maps([table([[0, [1], 0]])], "the places of a unit must be an array"),
    ...maps([table([[[0], 1, 0]])], "the weights of a unit must be an array"),
    ...maps([table([[[0, 1], [1], 0]]), table([[[0], [1, 1], 0]])], "a unit of a map must have a weight for each place"),
    ...maps([table([[[1], [1], 0]]), table([[[0, 1], [1e6, -1e6], 1e6]]), table([[[0, 1], [0, 0], -1e6]])], "", 4),
    ...maps([table([[[2], [1], 0]]), table([[[-1], [1], 0]]), table([[[0.5], [1], 0]])], place(0)),
    ...maps([table([[[0, 0], [1, 1], 0]])], place(1)),
    ...maps([table([[[1, 0], [1, 1], 0]])], place(2)),
    ...maps([[[0, 1], [1, 1000001], 0], [[0, 1], [-1000001, 1], 0], [[0], [1], 1000001], [[0], [1], null], [[0], ["1"], 0], [[0], [1], HUGE]].map((one) => table([one])), both),
    [{ map: random(), projection: 1 }, "a training must not have both a map and a projection"],
    [{ schema: [category("c", 24)], map: random({ units: 1000 }) }, "", 1024],
    [{ schema: [category("c", 25)], map: random({ units: 1000 }) }, "the number of features and units must be an integer from 1 to 1024"],
    [{ schema: [category("c", 25)], map: random({ units: 1000 }), intercept: false }, "", 1024],
  ]);
});

test("the spread of a unit follows from shares and scales that are clipped, and is never negative", async () => {
  const { reluMoments, waveMoments } = trainings;
  const lift = async (unit, change = {}) => (await read(round({ map: table([unit]), ...change }, 4))).lift;
  const factor = (variance) => Math.sqrt(1 / (variance + 0.01));
  const cases = [
    [null, null, 0], // no share is known: as if there were none
    [[0, 0.5], null, 0.25],
    [[0, 1.5], [1, 1], 0], // a share above 1 counts as 1, and one below 0 as 0
    [[0, -0.5], [1, 1], 0],
    [[0, 0.25], [1, 1], 0.1875],
    [[0, 0.5], [1, 2000], 0.25 / 1e6],
    [[0, 0.5], [1, 1e-4], 0.25 / 1e-6],
  ];
  for (const [centre, scale, spread] of cases) {
    const { means, factors } = await lift([[1], [1000], 300], { centre, scale });
    const [mean, variance] = reluMoments(300, 1e6 * spread);
    const near = (found, right) => assert.ok(Math.abs(found / right - 1) < 1e-9, `${centre}, ${scale}: ${found}, not ${right}`);
    near(means[0], mean);
    near(factors[0], factor(variance));
  }
  for (const centre of [[0, 1.5], [0, -0.5], [0, 1]]) {
    const waves = await lift(UNIT, { centre, map: table([[[1], [0.25], 0.125]], { activation: "wave" }) });
    assert.deepEqual(waves.means, [waveMoments(0.125, 0)[0]]);
  }
  const [weight, bias] = [121635.29670136169, -968426.0402640336]; // nearly never positive: its variance is lost in rounding
  assert.ok(reluMoments(bias, weight * weight)[1] < -0.005);
  assert.deepEqual((await lift([[0], [weight], bias])).factors, [factor(0)]);
  assert.deepEqual(reluMoments(0, 9e-301), [0, 0]);
  assert.deepEqual(reluMoments(0, 1e-300), [3.989422804014327e-151, 3.4084505690810463e-301]);
});

test("the series of the normal law ends where it ends in Python, to the last bit", () => {
  for (const [z, below] of [[-7.987720767130743, -3.219646771412954e-15], [-7.992085935949653, -3.552713678800501e-15]]) assert.equal(trainings.normal(z)[1], below);
});

test("the bytes of a seed are enough for units of any number of inputs", async () => {
  for (let inputs = 1; inputs <= 64; inputs++) {
    const [[places, weights, bias]] = await trainings.randomUnits({ count: 1, inputs, seed: "enough" }, { parts: [], dimensions: 64 });
    assert.deepEqual([places.length, weights.length], [inputs, inputs]);
    assert.ok([...weights, bias].every(Number.isFinite) && bias >= 0 && bias < 1, String(inputs));
  }
});
