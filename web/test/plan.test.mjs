// A plan that loads was written in one way, and is as private as it says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { channelFiles, hush, small, vectors } from "./words.mjs";

const { Plan, PlanError } = hush;
const text = small.text;
const bytes = (value) => new TextEncoder().encode(value);

test("only the canonical text is taken", async () => {
  const others = {
    space: text.replace(",", ", "),
    "line end": `${text}\n`,
    "repeated key": text.replace('"hush":2', '"hush":2,"hush":2'),
    "repeated key of a channel": text.replace('"size":2', '"size":3,"size":2'),
    "another order": text.replace('"hush":2,"k":1', '"k":1,"hush":2'),
    "float for an integer": text.replace('"k":1', '"k":1.0'),
    "power of ten": text.replace('"k":1', '"k":1e0'),
    "integer for a float": text.replace('"low":0.0', '"low":0'),
    "minus zero": text.replace('"low":0.0', '"low":-0.0'),
    "longer float": text.replace('"high":1.0', '"high":1.00'),
    escape: text.replace('"numeric"', '"n\\u0075meric"'),
    "key as escape": text.replace('"title"', '"titl\\u0065"'),
  };
  for (const [why, other] of Object.entries(others)) {
    assert.notEqual(other, text, why);
    await assert.rejects(Plan.parse(other), PlanError, why);
    await assert.rejects(Plan.parse(bytes(other)), PlanError, why);
  }
});

test("a mark of byte order, bad UTF-8, half a character, and no JSON are refused", async () => {
  await assert.rejects(Plan.parse(Uint8Array.of(0xef, 0xbb, 0xbf, ...bytes(text))), PlanError);
  await assert.rejects(Plan.parse(Uint8Array.of(...bytes(text).slice(0, -1), 0xff)), PlanError);
  await assert.rejects(Plan.parse(text.replace('"title":""', '"title":"\ud800"')), /title/);
  for (const other of ["", "null", "[]", "1", '"x"', "{", "[".repeat(100_000), "NaN", text.slice(0, -1)]) {
    await assert.rejects(Plan.parse(other), PlanError, other.slice(0, 20));
  }
});

test("what is not printable in a title is refused, whatever its plane", async () => {
  const titled = (title) => Plan.parse(text.replace('"title":""', `"title":${JSON.stringify(title)}`));
  for (const title of ["größer ☂", "𝒳", "𝒳".repeat(256), 'a "b" \\']) {
    assert.equal((await titled(title)).title, title);
  }
  for (const title of ["\u200b", "\u00a0", "\u007f", "\u2028", "\ue000", "\u0378", "\t", "𝒳".repeat(257)]) {
    await assert.rejects(titled(title), /title/);
  }
});

test("the id is the hash of the text, and another plan is refused", async () => {
  assert.equal((await Plan.parse(text, small.id)).id, small.id);
  await assert.rejects(Plan.parse(text, "0".repeat(64)), /another plan/);
});

test("a plan cannot be changed once it was checked", async () => {
  assert.throws(() => small.questions.push(small.questions[0]), TypeError);
  assert.throws(() => (small.schema[0].low = -1), TypeError);
  assert.throws(() => (small.k = 2), TypeError);
  assert.throws(() => (small.questions[0].channel.ratio[0] = 1n), TypeError);
});

test("bounds are written as Python writes floats", async () => {
  for (const [low, high] of [
    ["1e-05", "0.0001"],
    ["-1e+16", "1e+16"],
    ["123456789012345.6", "1234567890123456.0"],
    ["1e+22", "1.5e+300"],
    ["5e-324", "1e-299"],
    ["-1.7976931348623157e+308", "0.0"],
  ]) {
    const bounded = text.replace('"high":1.0', `"high":${high}`).replace('"low":0.0', `"low":${low}`);
    assert.equal((await Plan.parse(bounded)).schema[0].low, Number(low));
  }
  for (const low of ["1e-5", "0.00001", "1E-05", "10000000000000000.0", "1e16", "0.10000000000000001"]) {
    const high = "1e+300";
    const bounded = text.replace('"high":1.0', `"high":${high}`).replace('"low":0.0', `"low":${low}`);
    await assert.rejects(Plan.parse(bounded), /canonical/, low);
  }
});

test("every plan of the vectors is within its epsilon, and no plan is with k raised", async () => {
  for (const name of channelFiles) {
    const plan = await Plan.parse(vectors(name).plan);
    assert.ok(plan.ratio[0] > plan.ratio[1]);
    assert.equal(plan.inclusions.length, plan.questions.length);
    assert.ok(Math.abs(plan.inclusions.reduce((a, b) => a + b) - plan.k) < 1e-12);
    if (plan.k < plan.questions.length) {
      const raised = plan.text.replace(`"k":${plan.k},`, `"k":${plan.k + 1},`);
      await assert.rejects(Plan.parse(raised), PlanError, name);
    }
  }
});

test("where the browser has no WebCrypto, a plan is refused with a reason", async () => {
  const real = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true });
  try {
    await assert.rejects(Plan.parse(text), /https/);
  } finally {
    Object.defineProperty(globalThis, "crypto", real);
  }
  assert.ok(await Plan.parse(text));
});

test("only the fields that hold floats are written as floats", () => {
  const value = { unit: 3, low: 1, high: [2], cuts: [1, 2], centres: [0], reach: 1, k: 1, lower: 1, allow: 1, units: 1, value: { reach: 2 } };
  assert.equal(
    hush.canonical(value),
    '{"allow":1,"centres":[0.0],"cuts":[1.0,2.0],"high":[2.0],"k":1,"low":1.0,"lower":1,"reach":1.0,"unit":3.0,"units":1,"value":{"reach":2}}',
  );
});
