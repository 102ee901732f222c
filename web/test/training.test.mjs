// Trainings: the vectors of rounds and stages, bit by bit, and what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hex, hush, training, trainingFiles, vectors, Words } from "./words.mjs";

const { PlanError, randomiseFrom, RecordError } = hush;
const { answer, cosine, exponential, normal, pointed, randomUnits, readPhase, reluMoments, rotate, seededSigns, softplus } = training;
const { unitsOf, waveMoments } = training;

const numbered = (value) => (value?.number === undefined ? value : Number(value.number));
const plain = (numbers) => Array.from(numbers, (one) => one + 0); // -0 becomes 0

assert.equal(trainingFiles.length, 33);

for (const name of trainingFiles) {
  const file = vectors(name);

  test(`${name}: people and words in, reports out`, async () => {
    const phase = await readPhase(file.phase);
    const read = await readPhase(new TextEncoder().encode(file.phase));
    assert.equal(read.plan.id, phase.plan.id);
    assert.ok(file.good.length >= 10);
    for (const { record, label, asked, words, report, json } of file.good) {
      const found = answer(phase, record, label);
      assert.deepEqual(plain(Object.values(found)), asked);
      const coins = new Words(words);
      const made = randomiseFrom(coins, phase.plan, found);
      assert.equal(coins.left, 0);
      assert.equal(hex(made.encode()), report);
      assert.equal(JSON.stringify(made), json);
    }
  });

  test(`${name}: records and labels that do not fit are refused, and not quoted`, async () => {
    const phase = await readPhase(file.phase);
    for (const { record, label, why } of file.bad) {
      const given = Object.fromEntries(Object.entries(record).map(([key, value]) => [key, numbered(value)]));
      assert.throws(
        () => answer(phase, given, label),
        (error) => {
          assert.ok(error instanceof RecordError, `${why}: ${error}`);
          assert.doesNotMatch(error.message, /1000000000|1000$|NaN|perhaps/, why);
          return true;
        },
        why,
      );
    }
  });
}

/** The text that a case stands for: one place has another value, or is gone. */
function changed(text, { at, ...rest }) {
  const whole = { "": JSON.parse(text) };
  const path = ["", ...at];
  const last = path.pop();
  const place = path.reduce((inner, name) => inner[name], whole);
  if ("value" in rest) place[last] = rest.value;
  else delete place[last];
  return JSON.stringify(whole[""]);
}

test("rounds and stages that break a rule are refused", async () => {
  const { good, bad } = vectors("bad-phases");
  for (const text of good) await readPhase(text);
  assert.ok(bad.length > 200);
  for (const one of bad) {
    await assert.rejects(readPhase(changed(good[one.of], one)), (error) => {
      assert.ok(error instanceof PlanError, `${one.why}: ${error.stack}`);
      return true;
    }, one.why);
  }
  for (const text of ["", "{", "[]", "1", '"round"', "null"]) await assert.rejects(readPhase(text), PlanError);
});

test("rounds and checks are counted from 1 to one more than there are, when all is over", async () => {
  for (const [name, field, word] of [["training-logistic", "number", "round"], ["training-check-logistic", "check", "loss"]]) {
    const at = (number, change = {}) => {
      const value = JSON.parse(vectors(name).phase);
      const title = value.plan.title.replace(/\d+$/, number);
      return readPhase(JSON.stringify({ ...value, [field]: number, plan: { ...value.plan, title }, ...change }));
    };
    const { rounds } = JSON.parse(vectors(name).phase).training;
    for (const [number, done] of [[1, false], [rounds, false], [rounds + 1, true]]) {
      const phase = await at(number);
      assert.deepEqual([phase[field], phase.done], [number, done]);
      assert.ok(phase.plan.title.endsWith(`${word} ${number}`));
    }
    for (const number of [0, rounds + 2]) await assert.rejects(at(number), new RegExp(`${field} must be an integer from 1 to ${rounds + 1}`));
    await assert.rejects(at(1, { weights: [] }), /weights must be \d+ finite numbers$/);
  }
  await assert.rejects(readPhase("{}"), /coordinates/);
});

test("a pilot asks for the target as a number if the loss is squared, or if all features are numbers", async () => {
  const [squared, classes] = ["number", "classes"].map((name) => JSON.parse(vectors(`training-${name}-pilot-means`).phase));
  const read = (change) => readPhase(JSON.stringify({ ...squared, training: { ...squared.training, ...change } }));
  const category = classes.training.schema.find(({ kind }) => kind === "categorical");
  const { label } = classes.training;
  const asked = ({ plan }) => plan.schema.map(({ name }) => name);
  for (const change of [{}, { loss: "logistic", label }, { schema: [...squared.training.schema, category] }]) assert.deepEqual(asked(await read(change)), ["x0", "x1", "target"]);
  await assert.rejects(read({ loss: "logistic", label, schema: [...squared.training.schema, category] }), PlanError);
});

test("spreads are measured from means that were moved towards 0 by what is probably noise", async () => {
  const means = await readPhase(vectors("training-number-pilot-means").phase);
  assert.deepEqual(means.middle, [0, 0, 0]);
  const spreads = JSON.parse(vectors("training-number-pilot-spreads").phase);
  const cases = [[[0, 0], 0], [[0, 0.5], 0], [[1, 0.5], 0.75], [[-1, 0.5], -0.75], [[1.25, 1.5], 0.45], [[0.5, 0.6], 0], [[-0.5, 0.25], -0.375], [[3, 0], 1], [[-3, 0], -1]];
  for (const [estimate, right] of cases) {
    const { middle } = await readPhase(JSON.stringify({ ...spreads, known: [[estimate, [0.5, 0], estimate]] }));
    assert.equal(middle[1], 0.5);
    for (const found of [middle[0], middle[2]]) assert.ok(Math.abs(found - right) < 1e-12, `${estimate}: ${found}`);
  }
});

test("cosines, normal numbers, moments and the units of seeds, bit by bit", async () => {
  const file = vectors("maps");
  for (const { t, value } of file.cosine) assert.equal(cosine(t), value);
  for (const { z, density, below } of file.normal) assert.deepEqual(normal(z), [density, below]);
  for (const { activation, bias, q, mean, variance } of file.moments)
    assert.deepEqual(plain((activation === "wave" ? waveMoments : reluMoments)(bias, q)), plain([mean, variance]));
  for (const { units, inputs, seed, dimensions, numbers, table } of file.random) {
    const parts = numbers.map((start) => ({ start, number: true, indicators: 0 }));
    assert.deepEqual(await randomUnits({ count: units, inputs, seed }, { parts, dimensions }), table);
  }
});

test("a map makes no subnormal number, whatever its weights", async () => {
  const { good } = vectors("bad-phases");
  for (const weight of [5e-324, 3e-308, 1e-200, 1e-160, 1e-101, 0.0264]) {
    for (const bias of [0, 5e-324, 1e-160, -1]) {
      for (const activation of ["relu", "wave"]) {
        const value = JSON.parse(good[5]);
        const { units } = value.training.map;
        Object.assign(value.training.map, { activation, units: units.map(() => [[0, 1], [weight, -weight], bias]) });
        const { lift } = await readPhase(JSON.stringify(value));
        for (const one of [0, 1e-149, 1e-10, 0.3, 1e40]) {
          const found = unitsOf(lift, Float64Array.from({ length: value.weights.length }, (_, j) => (j ? 0 : one)));
          assert.ok(found.every((x) => x === 0 || Math.abs(x) >= 2 ** -1022));
        }
      }
    }
  }
});

test("exponentials, signs, rotations and directions, bit by bit", () => {
  const file = vectors("rotations");
  for (const { x, value } of file.exponential) assert.equal(exponential(x), value);
  for (const { x, value } of file.softplus) assert.equal(softplus(x), value);
  for (const { purpose, seed, count, bits } of file.signs) {
    const found = new Uint8Array(Math.ceil(count / 8));
    seededSigns(purpose, seed, count).forEach((sign, i) => (found[i >> 3] |= (sign > 0) << (i & 7)));
    assert.equal(hex(found), bits);
  }
  for (const { seed, vector, turned } of file.rotated) assert.deepEqual([...rotate(Float64Array.from(vector), seed)], turned);
  for (const { vector, size, near, record } of file.pointed)
    assert.deepEqual(plain(pointed(Float64Array.from(vector), size, near)), record);
});

test("the exponential is near that of the engine", () => {
  for (let x = -70; x <= 70; x += 0.37) {
    const wanted = Math.exp(Math.min(Math.max(x, -64), 64));
    assert.ok(Math.abs(exponential(x) / wanted - 1) < 1e-13);
  }
});

test("series end where they end in Python, to the last bit", () => {
  for (const [x, value] of [[-61.47812076796728, 1.997061285751631e-27], [-62.71828691261322, 5.778220083450458e-28]]) assert.equal(exponential(x), value);
  for (const [x, value] of [
    [-0.08507230443262603, 0.6515154177933508],
    [0.03225435011613165, 0.7094043928690267],
    [-0.04429419669617918, 0.6712453091484034],
    [0.018521433480650273, 0.7024507771246471],
  ])
    assert.equal(softplus(x), value);
});

test("tiny numbers count as 0 up to a limit, and directions are told apart in steps of 2^-30", () => {
  for (const [rule, limit] of [[training.flush, 1e-150], [training.zero, 1e-100]]) {
    assert.deepEqual([rule(limit), rule(-limit) + 0], [0, 0]);
    for (const x of [limit * (1 + 2 ** -52), -limit * (1 + 2 ** -52), 1, 0]) assert.equal(rule(x), x);
  }
  assert.deepEqual(plain(pointed(Float64Array.from([1, 1 + 7.9e-10]), 1, 1)), [0, 1]);
  assert.deepEqual(plain(pointed(Float64Array.from([1, 1 + 1e-12]), 1, 1)), [1, 0]);
});

test("no cap makes a subnormal loss or quotient", async () => {
  const { phase: text, good } = vectors("training-check-squared");
  for (const cap of [1e-300, 1e-150, 1e150, 1e300]) {
    const value = JSON.parse(text);
    value.training.cap = value.plan.schema[0].high = cap;
    const phase = await readPhase(JSON.stringify(value));
    for (const { record, label } of good) {
      const { loss } = answer(phase, record, label);
      assert.ok(loss === 0 || (loss >= 2 ** -1022 && loss / cap >= 2 ** -1022), `${cap} ${loss}`);
    }
  }
});

test("a loss that is tiny, or tiny beside its cap, counts as 0", async () => {
  const { phase: text, good } = vectors("training-check-squared");
  const { record } = good[0];
  const lossOf = async (cap, spent) => {
    const value = JSON.parse(text);
    value.training.cap = value.plan.schema[0].high = cap;
    value.weights = value.weights.map(() => 0);
    return answer(await readPhase(JSON.stringify(value)), record, spent).loss; // of spent from 0 to 500
  };
  assert.equal(await lossOf(2, 250), 0);
  assert.equal(await lossOf(2, 0), 1);
  const near = 250 * (1 + 2 ** -50);
  assert.ok((await lossOf(2, near)) > 0);
  assert.equal(await lossOf(1e300, near), 0);
  assert.deepEqual([await lossOf(1e-200, 0), await lossOf(1.5e-150, 0)], [0, 1.5e-150]);
});

test("beyond the margin a hinge has neither slope nor loss", async () => {
  const constant = (value, weight) => value.weights.map((_, i) => (i + 1 === value.weights.length ? weight : 0));
  const { phase: text, good } = vectors("training-hinge");
  const { record } = good[0];
  const round = JSON.parse(text);
  for (const [weight, label, flat] of [[1, "yes", true], [-1, "no", true], [0.75, "yes", false], [1, "no", false], [2, "yes", true]]) {
    const phase = await readPhase(JSON.stringify({ ...round, weights: constant(round, weight) }));
    assert.equal(Object.values(answer(phase, record, label)).every((one) => one === 0), flat, `${weight} ${label}`);
  }
  const check = JSON.parse(vectors("training-check-logistic").phase);
  for (const [weight, label, right] of [[1, "yes", 0], [1.75, "yes", 0], [0.25, "yes", 0.75], [0.25, "no", 1.25], [9, "no", 2]]) {
    const phase = await readPhase(JSON.stringify({ ...check, training: { ...check.training, loss: "hinge" }, weights: constant(check, weight) }));
    assert.equal(answer(phase, record, label).loss, right);
  }
});

test("no bound and no radius make subnormal quotients, which processors are slow with", async () => {
  for (const name of ["training-hinge", "training-signs"]) {
    const { phase: text, good } = vectors(name);
    for (const size of [5e-324, 1e-300, 1e300, 1.7e308]) {
      const value = JSON.parse(text);
      Object.assign(value.training, { bound: size, radius: size });
      const phase = await readPhase(JSON.stringify(value));
      const found = good.flatMap(({ record, label }) => Object.values(answer(phase, record, label)));
      assert.ok(found.some((one) => one !== 0));
      assert.ok(found.every((one) => one === 0 || Math.abs(one) >= 2 ** -1022), `${name} ${size}`);
    }
  }
});
