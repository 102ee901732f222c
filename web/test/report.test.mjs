// Reports: a report that exists is a valid one, and reading it back gives the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hush, small, vectors } from "./words.mjs";

const { Plan, Report, ReportError, randomise } = hush;
const ID = "00112233445566778899aabbccddeeff";

test("answers that the plan does not have are refused", () => {
  const single = [[2, 0], [-1, 0], [0, 2], [0, -1], [0, [0]], [0.5, 0], ["0", 0]].map((answer) => [answer]);
  for (const answers of [...single, [], [[0, 0], [1, 0]]]) {
    assert.throws(() => new Report(small, ID, answers), ReportError, JSON.stringify(answers));
  }
  for (const id of ["", ID.slice(1), `${ID}0`, ID.toUpperCase(), 7, null]) {
    assert.throws(() => new Report(small, id, [[0, 0]]), ReportError, String(id));
  }
  assert.deepEqual(new Report(small, ID, [[-0, -0]]).answers, [[0, 0]]);
});

test("sets increase, and have the size that they must", async () => {
  const plan = await Plan.parse(vectors("channel-subset").plan);
  const question = plan.questions.findIndex(({ channel }) => channel.alphabet.sets);
  const { alphabet } = plan.questions[question].channel;
  const [output] = Array.from({ length: 200 }, () => randomise(plan, { two: "yes", ten: 3, many: 5 }))
    .flatMap(({ answers }) => answers)
    .filter(([index]) => index === question)
    .map(([, set]) => set);
  assert.deepEqual(alphabet.check(output), output);
  const bad = [output.slice(1), [...output].reverse(), output.map(() => output[0]), [...output.slice(1), alphabet.size], [-1, ...output.slice(1)]];
  for (const set of [...bad, output.map(String), new Set(output), Object.assign({}, output), 1, null, "01"]) {
    assert.throws(() => alphabet.check(set), ReportError);
  }
  const copy = [...output];
  const report = new Report(plan, ID, [[question, copy]]);
  copy[0] = -1;
  assert.deepEqual(report.answers, [[question, output]]);
});

test("text of a report may have spaces and another order, and nothing else", () => {
  const report = new Report(small, ID, [[1, 0]]);
  const text = JSON.stringify(report);
  const { hush: version, plan, id, answers } = JSON.parse(text);
  assert.deepEqual(Report.fromJSON(small, JSON.stringify({ plan, hush: version, answers, id }, null, 2)), report);
  for (const other of [
    text.replace("[1,0]", "[1.0,0]"),
    text.replace("[1,0]", "[1,0e5]"),
    text.replace("[1,0]", "[1,-0]"),
    text.replace("{", '{"id":"x",'),
    text.replace('"hush":2', '"hush":true'),
    `${text}{}`,
    `\ufeff${text}`,
  ]) {
    assert.throws(() => Report.fromJSON(small, other), ReportError, other);
  }
  const values = report.toJSON();
  for (const other of [null, [], 1, { hush: 2, plan, id }, { ...values, answers: {} }, { ...values, x: 1 }]) {
    assert.throws(() => Report.fromJSON(small, other), ReportError);
  }
});

test("bytes that are part of something larger are read as they are", () => {
  const report = randomise(small, { x: 0.5, c: "a" });
  const larger = Buffer.concat([Buffer.from("before"), report.encode(), Buffer.from("after")]);
  assert.deepEqual(Report.decode(small, larger.subarray(6, -5)), report);
});

test("a symbol takes the fewest bytes that hold all of them", async () => {
  for (const [size, width] of [[3, 1], [255, 1], [256, 1], [257, 2], [4096, 2]]) {
    const channel = { kind: "subset", size, threshold: "9223372036854775808", weight: 1 };
    const values = Array.from({ length: size }, (_, i) => i);
    const plan = await Plan.parse(
      JSON.stringify({
        after: null,
        epsilon: "16.0",
        hush: 2,
        k: 1,
        questions: [{ channel, views: [{ kind: "value", of: ["c"] }] }],
        schema: [{ kind: "categorical", name: "c", optional: false, values }],
        title: "",
        weights: null,
      }),
    );
    const { alphabet } = plan.questions[0].channel;
    assert.deepEqual([alphabet.sets, alphabet.width], [false, width], String(size));
    for (const symbol of [0, 1, size - 1]) {
      const bytes = new Report(plan, ID, [[0, symbol]]).encode();
      assert.equal(bytes.length, 25 + width);
      assert.deepEqual(Report.decode(plan, bytes).answers, [[0, symbol]]);
    }
  }
});

test("a report that is shorter than its head says so, whatever else it lacks", () => {
  const bytes = hush.randomise(small, { x: 0.5, c: "a" }).encode();
  for (const length of [0, 1, 9, 24]) assert.throws(() => Report.decode(small, bytes.slice(0, length)), /the report is cut short/);
});
