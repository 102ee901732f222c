// The ends of rules, and what is seldom reached. Written with a mutation tester at hand (docs/mutants.md): each of these
// tests fails for a change that no other noticed.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { channelFiles, hush, planOf, small, vectors, Words } from "./words.mjs";

const { Ledger, MemoryStore, Plan } = hush;
const R = 1n << 64n;
const HALF = R >> 1n;

const number = (name, change = {}) => ({ kind: "numeric", name, low: 0, high: 1, out_of_range: "error", optional: false, scale: "linear", unit: null, ...change });
const category = (name, values = ["a", "b"], change = {}) => ({ kind: "categorical", name, values, optional: false, ...change });
const subset = (threshold = HALF + 1n, size = 2, weight = 1) => ({ kind: "subset", size, weight, threshold });

test("likelihoods keep their digits where they are smallest", async () => {
  // All numbers are half way: every corner is as likely as any other, whatever the threshold.
  const halves = (numbers) => Object.fromEntries(numbers.map(({ name }) => [name, 0.5]));
  const some = (count) => Array.from({ length: count }, (_, i) => number(`x${i}`));
  const close = (found, right) => assert.ok(Math.abs(found / right - 1) < 1e-12, `${found} is not ${right}`);
  const cube = await planOf([[{ kind: "cube", size: 1024, sample: 64, agree: 33, threshold: HALF }, ...some(1024)]]);
  let ways = 1n; // to choose 64 of 1024
  for (let i = 1n; i <= 64n; i++) ways = (ways * (960n + i)) / i;
  const first = Array.from({ length: 64 }, (_, i) => 2 * i);
  close(hush.likelihood(cube, 0, first, halves(some(1024))), 1 / Number(ways << 64n));
  const signs = await planOf([[{ kind: "signs", size: 1000, threshold: HALF + HALF / 2n }, ...some(1000)]]);
  const corner = Array.from({ length: 500 }, (_, i) => 2 * i);
  close(hush.likelihood(signs, 0, corner, halves(some(1000))), 2 ** -1000);
});

test("what was spent is written with all of its digits, and no more", async () => {
  const ledger = await Ledger.open({ cap: 3.00405, store: new MemoryStore() });
  assert.equal(ledger.cap, "3.00405");
  for (const [i, epsilon] of ["1.0", "1.0", "1.001", "0.00105"].entries()) {
    const plan = await planOf([[subset(), category("c")]], { epsilon, title: `${i}` });
    await ledger.randomise(plan, { c: "a" });
  }
  assert.equal(await ledger.spent(), "3.00205");
});

test("errors have their names, and are all of one family", () => {
  for (const name of ["HushError", "PlanError", "RecordError", "ReportError", "LedgerError", "BudgetError", "CollectorError"]) {
    const error = new hush[name]("why");
    assert.equal(error.name, name);
    assert.equal(String(error), `${name}: why`);
    assert.ok(error instanceof hush.HushError);
  }
  assert.ok(new hush.BudgetError("why") instanceof hush.LedgerError);
  const { status, kind } = new hush.CollectorError("why");
  assert.deepEqual([status, kind], [undefined, ""]);
});

test("the version is that of plans and reports", () => {
  assert.equal(hush.VERSION, JSON.parse(small.text).hush);
  assert.equal(hush.VERSION, hush.randomise(small, { x: 0.5, c: "a" }).encode()[0]);
});

test("what cannot be read is refused for that, before anything else is looked at", async () => {
  const bytes = new TextEncoder().encode(small.text);
  const at = small.text.indexOf('"title":"') + 9;
  await assert.rejects(Plan.parse(Uint8Array.of(...bytes.slice(0, at), 0xff, ...bytes.slice(at))), /not UTF-8/);
  await assert.rejects(Plan.parse(small.text.slice(1)), /not JSON/);
  const { answers, ...rest } = hush.randomise(small, { x: 0.5, c: "a" }).toJSON();
  assert.throws(() => hush.Report.fromJSON(small, { ...rest, answer: answers }), /must have the fields/);
});

test("large integers are written in digits alone", async () => {
  for (const [before, after] of [["", "x"], ["", ".0"], ["", "n"], [" ", ""], ["+", ""], ["0x", ""], ["", "\\n"]]) {
    const text = small.text.replace(/"threshold":"(\d+)"/, `"threshold":"${before}$1${after}"`);
    assert.notEqual(text, small.text);
    await assert.rejects(Plan.parse(text), /from 1 to 2\^64 - 1, as a string/, after);
  }
});

test("a text that is too long is refused before it is read", async () => {
  const most = 2 ** 24;
  await assert.rejects(Plan.parse(" ".repeat(most)), /not JSON/);
  await assert.rejects(Plan.parse(" ".repeat(most + 1)), /shorter/);
  await assert.rejects(Plan.parse(new Uint8Array(most + 1)), /shorter/);
});

test("an answer is a pair, and nothing else", () => {
  const values = hush.randomise(small, { x: 0.5, c: "a" }).toJSON();
  for (const answer of [5, null, "00", [], [0], [0, 0, 0], { 0: 0, 1: 0, length: 2 }]) {
    const answers = [answer];
    assert.throws(() => hush.Report.fromJSON(small, { ...values, answers }), /an answer is a pair/, JSON.stringify(answer));
    assert.throws(() => hush.Report.fromJSON(small, JSON.stringify({ ...values, answers })), hush.ReportError);
  }
});

for (const [count, width] of [[256, 1], [257, 2], [600, 2]]) {
  test(`of ${count} questions an index takes ${width} bytes`, async () => {
    const plan = await planOf(Array.from({ length: count }, (_, i) => [subset(), category(`c${i}`)]));
    for (const question of [0, 1, 255, count - 1]) {
      const report = new hush.Report(plan, "00112233445566778899aabbccddeeff", [[question, 1]]);
      const bytes = report.encode();
      const index = width === 1 ? [question] : [question >> 8, question & 255];
      assert.deepEqual([...bytes.slice(25)], [...index, 1]);
      assert.deepEqual(hush.Report.decode(plan, bytes).answers, [[question, 1]]);
    }
  });
}

test("optional is true or false, and nothing like it", async () => {
  const asked = (optional) => planOf([[subset(R / 3n + 1n, 3), category("c", ["a", "b"], { optional })]]);
  assert.deepEqual((await asked(true)).encode({}), [2]);
  for (const other of [1, "1", [1], {}, "true"]) await assert.rejects(asked(other), /optional must be/);
});

/** The questions of a ticket, by the SHAKE-256 of Node. */
function dealt(plan, id) {
  class Shake extends hush.Coins {
    count = 0;

    word() {
      const count = Buffer.alloc(4);
      count.writeUInt32BE(++this.count);
      const hash = createHash("shake256", { outputLength: 8 }).update("hush ticket ").update(Buffer.from(plan.id + id, "hex"));
      return hash.update(count).digest().readBigUInt64BE();
    }
  }
  return new Shake().subset(plan.questions.length, plan.k);
}

test("tickets deal many questions, each by a word of its own", async () => {
  const questions = Array.from({ length: 300 }, (_, i) => [subset(), category(`c${i}`)]);
  const plan = await planOf(questions, { k: 290 });
  for (const id of ["0".repeat(32), "f".repeat(32)]) assert.deepEqual(hush.questionsOf(plan, id), dealt(plan, id));
});

test("a ticket of which one question is right is refused", async () => {
  const plan = await planOf(["c", "d", "e"].map((name) => [subset(), category(name)]), { k: 2 });
  const id = "00112233445566778899aabbccddeeff";
  const [first, second] = hush.questionsOf(plan, id);
  const answer = async (questions) => {
    const ticket = { id, questions, signature: "f".repeat(32) };
    const ledger = await Ledger.open({ cap: 16, store: new MemoryStore() });
    const client = new hush.Client("https://example.org", { ledger, tickets: true, fetch: async () => Response.json(ticket) });
    await client.prepare(plan, { c: "a", d: "a", e: "a" });
    return hush.Report.decode(plan, (await ledger.entry(plan)).report).answers.map(([question]) => question);
  };
  assert.deepEqual(await answer([first, second]), [first, second]);
  const other = [0, 1, 2].find((question) => question !== first && question !== second);
  for (const wrong of [[first, other], [other, second], [second, first]]) {
    await assert.rejects(answer(wrong), /do not follow from its id/);
  }
});

test("the coin of a mixture falls exactly where its share ends", async () => {
  const text = vectors("channel-hybrid").plan;
  const { shares, parts } = JSON.parse(text).questions[0].channel;
  const { channel } = (await Plan.parse(text)).questions[0];
  const share = BigInt(shares[0]);
  const drawn = (word) => channel.draw([0.5], new Words([word, HALF]));
  for (const word of [0n, share - 1n]) assert.ok(drawn(word) < parts[0].size);
  for (const word of [share, R - 1n]) assert.ok(drawn(word) >= parts[0].size);
});

const THREE_QUARTERS = HALF + HALF / 2n;
const refuses = (channel, ...attributes) => assert.rejects(planOf([[channel, ...attributes]]), hush.PlanError);

test("a cube shows at most 64 signs, near corners agree in more than half, and no sign is shown twice", async () => {
  const numbers = (count) => Array.from({ length: count }, (_, i) => number(`x${i}`));
  const cube = (size, sample, agree) => ({ kind: "cube", size, sample, agree, threshold: R - 1n });
  const accepts = (...given) => planOf([[cube(...given), ...numbers(given[0])]]);
  await assert.rejects(accepts(65, 65, 65), /sample must be an integer from 1 to 64/);
  await assert.rejects(accepts(4, 4, 2), /agree must be an integer from 3 to 4/);
  await assert.rejects(accepts(5, 5, 2), /agree must be an integer from 3 to 5/);
  const wide = { kind: "cube", size: 65, sample: 64, agree: 33, threshold: THREE_QUARTERS };
  assert.ok(await planOf([[wide, ...numbers(65)]]));
  const plan = await planOf([[{ ...cube(4, 2, 2), threshold: THREE_QUARTERS }, ...numbers(4)]]);
  const report = (output) => new hush.Report(plan, "00112233445566778899aabbccddeeff", [[0, output]]);
  assert.deepEqual(report([0, 3]).answers, [[0, [0, 3]]]);
  for (const output of [[0, 1], [6, 7]]) assert.throws(() => report(output), hush.ReportError);
});

test("additive noise has runs, and reaches from 2 steps to 32768", async () => {
  const decays = [4n, 16n, 256n, 65536n, 2n].map((share) => R / share);
  const additive = (change) => ({ kind: "additive", runs: [[4096, 1]], decays, reach: 32768, ...change });
  assert.ok(await planOf([[additive(), number("x")]]));
  await assert.rejects(planOf([[additive({ reach: 32769 }), number("x")]]), /reach must be an integer from 4096 to 32768/);
  await refuses(additive({ runs: [], decays: [HALF], reach: 2 }), number("x"));
  await refuses(additive({ runs: [[1, 1]], decays: [HALF], reach: 1 }), number("x"));
  assert.ok(await planOf([[additive({ runs: [[1, 1]], decays: [R / 4n, HALF], reach: 2 }), number("x")]]));
});

test("a window leaves a cell outside, and a word that is half way rounds down", async () => {
  const window = (change) => ({ kind: "window", size: 4, width: 2, threshold: THREE_QUARTERS, levels: "even", optional: false, ...change });
  for (const optional of [false, true]) {
    for (const size of [2, 1]) {
      await refuses(window({ size, width: 2, optional }), number("x", { optional }));
    }
  }
  const { channel } = (await planOf([[window(), number("x")]])).questions[0];
  const u = (halves) => halves / 2 ** 25; // a number between the first two starts, in halves of the steps that round
  assert.equal(channel.draw([u(5.5)], new Words([5n])), 0);
  assert.equal(channel.draw([u(5.5) + 2 ** -40], new Words([5n])), 1);
});

test("a channel has the kind that its plan says", async () => {
  for (const name of channelFiles) {
    const { text, questions } = await Plan.parse(vectors(name).plan);
    const kinds = JSON.parse(text).questions.map(({ channel }) => channel.kind);
    assert.deepEqual(questions.map(({ channel }) => channel.kind), kinds, name);
  }
});

test("a ladder has knots from 0 on, and a window leaves one out", async () => {
  const ladder = (change) => ({ kind: "ladder", knots: [0, 1, 2, 3], width: 2, threshold: THREE_QUARTERS, optional: false, ...change });
  const wide = number("x", { scale: "log" });
  for (const width of [0, 4]) {
    await assert.rejects(planOf([[ladder({ width }), wide]]), /width must be an integer from 1 to 3/);
  }
  await assert.rejects(planOf([[ladder({ knots: [-1, 0, 1] }), wide]]), /a knot must be an integer from 0 to/);
});

const numbers = (count) => Array.from({ length: count }, (_, i) => number(`x${i}`));
const cornersOf = (size, near, count = size) =>
  planOf([[{ kind: "corners", size, near, threshold: THREE_QUARTERS }, ...numbers(count)]]);

test("corners are of 1 to 1024 numbers, and a report names one of them", async () => {
  await assert.rejects(cornersOf(1025, 600, 2), /size must be an integer from 1 to 1024/);
  await assert.rejects(cornersOf(3, 0), /near must be an integer from 1 to 3/);
  const plan = await cornersOf(3, 2);
  const report = (output) => new hush.Report(plan, "00112233445566778899aabbccddeeff", [[0, output]]);
  assert.deepEqual(report(5).answers, [[0, 5]]);
  assert.throws(() => report(6), hush.ReportError);
});

for (const [sizes, near, expected] of [
  [[2, 3], 1, [1]],
  [[1, 1.5], 1, [0]], // both are 1, and of equal ones the first is near
  [[3, 3], 1, [0]],
  [[5, 3, 3], 2, [0, 1]],
  [[3, 4, 3], 2, [0, 1]],
  [[3, 3, 4], 2, [0, 2]],
  [[0, 0, 0], 2, [0, 1]],
  [[2 ** 30, 2 ** 30 - 1, 2 ** 30], 2, [0, 2]],
]) {
  test(`of distances ${sizes} in steps of 2^-31 the ${near} largest are near`, async () => {
    const { channel } = (await cornersOf(sizes.length, near)).questions[0];
    const inputs = sizes.map((size) => 0.5 + size / 2 ** 31);
    const chances = sizes.map((_, j) => [0, 1].map((sign) => channel.likelihood(2 * j + sign, inputs)));
    const far = 0.25 / (2 * sizes.length - near);
    const found = sizes.map((_, j) => j).filter((j) => chances[j].some((chance) => Math.abs(chance - far) > 1e-6));
    assert.deepEqual(found, expected);
  });
}

test("a word rounds the sign of a corner up exactly as often as it should", async () => {
  const { channel } = (await cornersOf(1, 1)).questions[0];
  assert.equal(channel.draw([0.5], new Words([HALF, 0n])), 0);
  assert.equal(channel.draw([0.5], new Words([HALF - 1n, 0n])), 1);
});

test("shares of picks favour what is held, and add up; nothing else is read", async () => {
  const picks = (size, held, weight, shares) => {
    const values = Array.from({ length: Math.max(2, Math.min(size, 1024)) }, (_, i) => `v${i}`);
    const attribute = { kind: "choices", name: "c", values, most: Math.max(1, Math.min(held, values.length)), optional: false };
    return planOf([[{ kind: "picks", size, held, weight, shares }, attribute]]);
  };
  const refused = (rule, ...given) => assert.rejects(picks(...given), rule);
  for (const size of [1, 1026]) await refused(/size must be an integer from 2 to 1025/, size, 1, 1, [HALF, HALF]);
  for (const held of [0, 4]) await refused(/held must be an integer from 1 to 3/, 4, held, 1, [HALF, HALF]);
  await refused(/held must be an integer from 1 to 64/, 100, 65, 1, [HALF, HALF]);
  for (const weight of [0, 3]) await refused(/weight must be an integer from 1 to 2/, 4, 2, weight, [HALF, HALF]);
  const rule = /shares must favour what is held/;
  await refused(rule, 5, 2, 3, [R / 10n, R - R / 10n]); // one share is missing
  await refused(rule, 3, 1, 1, [HALF / 2n, HALF]); // a quarter of all words leads nowhere
  await refused(rule, 5, 2, 3, [1n, 1n, R - 2n]); // sets with one held item are less likely than those without
  await refused(rule, 6, 2, 1, [(R / 4n) * 3n, R / 4n]); // all sets are equally likely
  await refused(rule, 3, 1, 1, [(R / 4n) * 3n, R / 4n]);
  assert.ok(await picks(3, 1, 1, [(R / 4n) * 3n - 1n, R / 4n + 1n]));
  assert.ok(await picks(2, 1, 1, [HALF, HALF]));
});
