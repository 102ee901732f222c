// Replays spec/vectors, to which every implementation is held.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, channelFiles, hex, hush, vectors, Words } from "./words.mjs";

const { Plan, Report, RecordError, ReportError, PlanError, randomiseFrom } = hush;

const numbered = (value) => (value?.number === undefined ? value : Number(value.number));

test("there are vectors for every channel", async () => {
  const kinds = new Set();
  for (const name of channelFiles) {
    for (const { channel } of (await Plan.parse(vectors(name).plan)).questions) kinds.add(channel.kind);
  }
  assert.equal(kinds.size, 13);
});

for (const name of channelFiles) {
  const file = vectors(name);

  test(`${name}: words in, reports out`, async () => {
    const plan = await Plan.parse(file.plan, file.id);
    assert.equal(plan.id, file.id);
    assert.equal((await Plan.parse(new TextEncoder().encode(file.plan))).id, file.id);
    assert.ok(file.good.length > 0);
    for (const vector of file.good) {
      const coins = new Words(vector.words);
      const report = randomiseFrom(coins, plan, vector.record);
      assert.equal(coins.left, 0);
      assert.equal(hex(report.encode()), vector.report);
      assert.equal(JSON.stringify(report), vector.json);
      assert.deepEqual(Report.decode(plan, bytes(vector.report)), report);
      assert.deepEqual(Report.fromJSON(plan, vector.json), report);
      assert.deepEqual(Report.fromJSON(plan, JSON.parse(vector.json)), report);
      for (const [question, output] of report.answers) {
        assert.ok(hush.likelihood(plan, question, output, vector.record) > 0);
      }
    }
  });

  test(`${name}: bad records and reports are refused`, async () => {
    const plan = await Plan.parse(file.plan);
    for (const vector of file.bad_records) {
      const record = Object.fromEntries(Object.entries(vector.record).map(([key, value]) => [key, numbered(value)]));
      assert.throws(() => randomiseFrom(new Words([]), plan, record), RecordError, vector.why);
    }
    for (const vector of file.bad_reports) {
      assert.throws(() => Report.decode(plan, bytes(vector.report)), ReportError, vector.why);
    }
    for (const vector of file.bad_json) {
      assert.throws(() => Report.fromJSON(plan, vector.text), ReportError, vector.why);
    }
  });
}

for (const name of ["bad-plans", "bad-channels", "bad-views", "printable"]) {
  test(`${name}: bad plans are refused, and not for the way they are written`, async () => {
    const file = vectors(name);
    for (const text of [file.good].flat()) await Plan.parse(text);
    for (const { why, text } of file.bad) {
      await assert.rejects(Plan.parse(text), (error) => {
        assert.ok(error instanceof PlanError, why);
        assert.doesNotMatch(error.message, /canonical/, why);
        return true;
      });
    }
  });
}

test("below, from words", () => {
  for (const { n, words, below } of vectors("coins").cases) {
    const coins = new Words(words);
    assert.equal(coins.below(BigInt(n)), BigInt(below));
    assert.equal(coins.left, 0);
  }
});

test("several, from words", () => {
  for (const { sizes, words, integers } of vectors("coins").several) {
    const coins = new Words(words);
    const step = sizes.length > 1 ? sizes[1] - sizes[0] : 1;
    assert.deepEqual(coins.several(sizes[0], sizes.length, step), integers);
    assert.equal(coins.left, 0);
  }
});

test("the bound of e^x is the one of the vectors", async () => {
  // A threshold is as large as the bound allows, and no larger: for grr with two categories the ratio is T/(R-T).
  const R = 1n << 64n;
  const text = (x, threshold) =>
    `{"after":null,"epsilon":"${x}","hush":2,"k":1,"questions":[{"channel":{"kind":"subset","size":2,` +
    `"threshold":"${threshold}","weight":1},"views":[{"kind":"value","of":["c"]}]}],"schema":[{"kind":"categorical","name":"c","optional":false,` +
    `"values":["a","b"]}],"title":"","weights":null}`;
  for (const { x, lower } of vectors("exp").cases) {
    // T/(R-T) <= L/S, so T <= R*L/(S+L).
    const [L, S] = [BigInt(lower), 1n << 192n];
    const largest = (R * L) / (S + L);
    const plan = await Plan.parse(text(x, largest));
    assert.deepEqual(plan.ratio, [largest, R - largest]);
    await assert.rejects(Plan.parse(text(x, largest + 1n)), /costs more/);
  }
});
