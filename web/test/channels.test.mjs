// The ends of the rules of channels, and words that lie where one output ends and the next begins.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hush, planOf, vectors, Words } from "./words.mjs";

const R = 1n << 64n;
const HALF = R >> 1n;
const THREE_QUARTERS = HALF + HALF / 2n;
const number = (name, change = {}) => ({ kind: "numeric", name, low: 0, high: 1, out_of_range: "error", optional: false, scale: "linear", unit: null, ...change });
const channelOf = async (channel, ...attributes) => (await planOf([[channel, ...attributes]])).questions[0].channel;
const refuses = (rule, channel, ...attributes) => assert.rejects(planOf([[channel, ...attributes]]), (error) => error instanceof hush.PlanError && rule.test(error.message));

const window = (change = {}) => ({ kind: "window", size: 4, width: 2, threshold: THREE_QUARTERS, levels: "even", optional: false, ...change });

test("a window has 2 to 32768 cells, and levels of at most 2^30", async () => {
  assert.ok(await channelOf(window({ size: 32768, width: 16384 }), number("x")));
  await refuses(/size must be an integer from 2 to 32768/, window({ size: 32769, width: 16385 }), number("x"));
  for (const width of [0, 4]) await refuses(/width must be an integer from 1 to 3/, window({ width }), number("x"));
  const most = 2 ** 30;
  assert.ok(await channelOf(window({ levels: [-most, -1, 1, most] }), number("x")));
  await refuses(/a level must be an integer from/, window({ levels: [-most - 1, -1, 1, most + 1] }), number("x"));
  const even = await channelOf(window({ levels: [-1, -1, 1, 1] }), number("x")); // levels may be equal, their sums must rise
  assert.equal(even.draw([0.5], new Words([0n])), 1);
});

test("a word of a window is inside up to the threshold, and outside from there on", async () => {
  const channel = await channelOf(window(), number("x"));
  const drawn = (word) => channel.draw([0.5], new Words([word])); // the window starts at 1
  assert.deepEqual([0n, THREE_QUARTERS / 2n - 1n, THREE_QUARTERS / 2n, THREE_QUARTERS - 1n].map(drawn), [1, 1, 2, 2]);
  assert.deepEqual([THREE_QUARTERS, R - HALF / 4n - 1n, R - HALF / 4n, R - 1n].map(drawn), [0, 0, 3, 3]);
});

test("the likelihood of a window counts the words that round up", async () => {
  const channel = await channelOf(window(), number("x"));
  // In parts of 2^-24 of the way to the next start; a word rounds up if it is more than one half below.
  for (const [part, words] of [[0, 0], [0.25, 0], [0.5, 0], [0.75, 1], [1.5, 1], [5.5, 5], [5.75, 6], [2 ** 24, 2 ** 24]]) {
    const up = words / 2 ** 24;
    const found = channel.likelihood(0, [part / 2 ** 25]);
    assert.ok(Math.abs(found - ((1 - up) * 0.375 + up * 0.125)) < 1e-15, `${part}`);
  }
});

const category = (name, count, change = {}) => ({ kind: "categorical", name, values: Array.from({ length: count }, (_, i) => i), optional: false, ...change });
const rows = (change = {}) => ({ kind: "rows", rows: 2, weight: 1, size: 3, width: 1, threshold: HALF, levels: "even", optional: false, ...change });

test("a table has at most 65536 cells", async () => {
  assert.ok(await channelOf(rows({ size: 32768, width: 16384 }), category("c", 2), number("x")));
  await refuses(/rows must have at most 65536 cells/, rows({ size: 32768, width: 16384, optional: true }), category("c", 2), number("x", { optional: true }));
});

test("the likelihood of a row is that of the windows around the number", async () => {
  const channel = await channelOf(rows(), category("c", 2), number("x"));
  const [near, far] = [0.5, 0.5 / 5];
  for (const [u, covered] of [[0, [1, 0, 0]], [0.125, [0.75, 0.25, 0]], [0.5, [0, 1, 0]], [0.75, [0, 0.5, 0.5]], [1, [0, 0, 1]]])
    for (const row of [0, 1])
      for (let output = 0; output < 6; output++) {
        const share = Math.floor(output / 3) === row ? covered[output % 3] : 0;
        assert.ok(Math.abs(channel.likelihood(output, [row, u]) - (share * near + (1 - share) * far)) < 1e-15, `${u} ${row} ${output}`);
      }
});

const choices = (name, count, most, optional = false) => ({ kind: "choices", name, values: Array.from({ length: count }, (_, i) => `v${i}`), most, optional });

test("picks are of one list of choices, with as many values and as many held", async () => {
  const picks = { kind: "picks", size: 4, held: 2, weight: 1, shares: [HALF, HALF] };
  for (const good of [choices("c", 4, 2), choices("c", 3, 2, true)]) assert.ok(await channelOf(picks, good));
  for (const bad of [[choices("c", 4, 1)], [choices("c", 4, 3)], [choices("c", 5, 2)], [choices("c", 3, 2)], [choices("c", 4, 2, true)], [category("c", 4)], [number("c")], [choices("c", 4, 2), choices("d", 4, 2)]])
    await refuses(/the channel must fit/, picks, ...bad);
});

test("all attributes of many numbers are numbers, and none may be missing", async () => {
  const corners = { kind: "corners", size: 2, near: 1, threshold: THREE_QUARTERS };
  assert.ok(await channelOf(corners, number("x"), number("y")));
  for (const bad of [[number("x"), category("y", 2)], [category("x", 2), number("y")], [number("x"), number("y", { optional: true })], [number("x")], [number("x"), number("y"), number("z")]])
    await refuses(/the channel must fit/, corners, ...bad);
});

test("the parts of a mixture are windows", async () => {
  const { plan } = vectors("channel-hybrid");
  const wrong = plan.replace('"kind":"window"', '"kind":"cells"');
  assert.notEqual(wrong, plan);
  await assert.rejects(hush.Plan.parse(wrong), /kind must be window/);
});

test("a subset is of 2 to 4097 categories, and leaves one out", async () => {
  const subset = (size, weight) => ({ kind: "subset", size, weight, threshold: THREE_QUARTERS });
  assert.ok(await channelOf(subset(4097, 1), category("c", 4096, { optional: true })));
  for (const size of [1, 4098]) await refuses(/size must be an integer from 2 to 4097/, subset(size, 1), category("c", 2));
  for (const weight of [0, 3, 4]) await refuses(/weight must be an integer from 1 to 2/, subset(3, weight), category("c", 3));
});

test("a ladder has 3 to 129 knots, of at most 2^44", async () => {
  const ladder = (knots, width = 2) => ({ kind: "ladder", knots, width, threshold: THREE_QUARTERS, optional: false });
  const count = (n) => Array.from({ length: n }, (_, i) => i);
  for (const knots of [[0, 1, 2 ** 44], count(129)]) assert.ok(await channelOf(ladder(knots), number("x")));
  for (const n of [2, 130]) await refuses(/how many knots must be an integer from 3 to 129/, ladder(count(n), 1), number("x"));
  await refuses(/a knot must be an integer from 0 to 17592186044416/, ladder([0, 1, 2 ** 44 + 1]), number("x"));
});

test("corners are of as many as 1024 numbers, and of one at least", async () => {
  const corners = (size, near) => ({ kind: "corners", size, near, threshold: THREE_QUARTERS });
  const numbers = (count) => Array.from({ length: count }, (_, i) => number(`x${i}`));
  assert.equal((await channelOf(corners(1024, 1024), ...numbers(1024))).near, 1024);
  await refuses(/size must be an integer from 1 to 1024/, corners(0, 1), number("x"));
  await refuses(/near must be an integer from 1 to 3/, corners(3, 4), ...numbers(3));
});

test("the likelihood of a corner is that of the signs around the numbers", async () => {
  const channel = await channelOf({ kind: "corners", size: 3, near: 2, threshold: HALF }, number("x"), number("y"), number("z"));
  const [near, far] = [0.5 / 2, 0.5 / 4];
  const inputs = [0.875, 0.5, 0.25]; // the first and the last are farthest from the middle
  const shares = [0.125, 0.875, 0, 0, 0.75, 0.25]; // minus and plus of each
  for (const [corner, share] of shares.entries())
    assert.ok(Math.abs(channel.likelihood(corner, inputs) - (share * near + (1 - share) * far)) < 1e-15, `${corner}`);
});
