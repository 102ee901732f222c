// Sealed reports: the published vector of HPKE, and those of spec/vectors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, hex, hush, vectors } from "./words.mjs";
import * as sealing from "../../src/hush/collector/static/seal.js";

const { seal, sealWith } = sealing;
const ascii = (text) => new TextEncoder().encode(text);

test("HPKE as published: RFC 9180, A.1.1", async () => {
  const sealed = await sealWith(
    bytes("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736"),
    ascii("Beauty is truth, truth beauty"),
    bytes("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"),
    ascii("Ode on a Grecian Urn"),
    ascii("Count-0"),
  );
  assert.equal(
    hex(sealed),
    "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431" +
      "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
  );
});

const file = vectors("sealed");

test("reports are sealed as by every implementation", async () => {
  const plan = await hush.Plan.parse(file.plan);
  const random = crypto.getRandomValues.bind(crypto);
  for (const { ephemeral, report, sealed } of file.cases) {
    crypto.getRandomValues = (into) => (into.set(bytes(ephemeral)), into);
    try {
      assert.equal(hex(await seal(hush.Report.decode(plan, bytes(report)), file.key)), sealed);
    } finally {
      crypto.getRandomValues = random;
    }
  }
  const report = hush.Report.decode(plan, bytes(file.cases[0].report));
  assert.notEqual(hex(await seal(report, file.key)), hex(await seal(report, file.key)));
});

test("keys that are none are refused", async () => {
  const plan = await hush.Plan.parse(file.plan);
  const report = hush.Report.decode(plan, bytes(file.cases[0].report));
  for (const key of ["", "00", "G".repeat(64), file.key.toUpperCase(), `${file.key}00`, undefined]) {
    await assert.rejects(seal(report, key), /64 hexadecimal digits/);
  }
  await assert.rejects(seal(report, "00".repeat(32))); // everybody knows what X25519 agrees on with it
});

test("a sealed report is sent until a relay holds it, with the same bytes", async () => {
  const plan = await hush.Plan.parse(file.plan);
  const report = hush.Report.decode(plan, bytes(file.cases[0].report));
  const seen = [];
  const answers = [
    () => Promise.reject(new TypeError("no network")),
    () => new Response("", { status: 503 }),
    () => new Response("half", { status: 202 }),
    () => Response.json({ reports: 1, new: 1 }, { status: 202 }),
    () => Response.json({ reports: 1, new: 0 }, { status: 202 }),
  ];
  const fetch = async (url, init) => (seen.push({ url, ...init }), answers[seen.length - 1]());
  const options = { fetch, pause: 1 };
  assert.deepEqual(await sealing.sendSealed("https://relay.example/", report, file.key, options), { new: true });
  assert.deepEqual(await sealing.sendSealed("https://relay.example", report, file.key, options), { new: false });
  assert.equal(new Set(seen.map(({ body }) => hex(body))).size, 1);
  assert.equal(seen.length, 5);
  for (const { url, method, headers, credentials, redirect } of seen) {
    assert.equal(url, `https://relay.example/sealed/${plan.id}`);
    assert.deepEqual([method, credentials, redirect], ["POST", "omit", "error"]);
    assert.deepEqual(headers, { "Content-Type": "application/octet-stream" });
  }
});

test("a relay that refuses is not asked again", async () => {
  const plan = await hush.Plan.parse(file.plan);
  const report = hush.Report.decode(plan, bytes(file.cases[0].report));
  for (const [status, tries] of [[422, 1], [404, 1], [500, 3]]) {
    let asked = 0;
    const fetch = async () => (asked++, new Response("", { status }));
    const options = { fetch, pause: 1, attempts: 3 };
    await assert.rejects(sealing.sendSealed("https://relay.example", report, file.key, options), RegExp(`${status}`));
    assert.equal(asked, tries);
  }
  await assert.rejects(sealing.sendSealed("https://relay.example", report, "00", {}), /64 hexadecimal digits/);
});

test("a report of a ledger is sealed once, for all tabs and visits", async () => {
  const store = new hush.MemoryStore();
  const ledger = await hush.Ledger.open({ cap: 16, store });
  const plan = await hush.Plan.parse(file.plan);
  const record = Object.fromEntries(plan.schema.map((field) => [field.name, field.kind === "numeric" ? field.low : field.values[0]]));
  const report = await ledger.randomise(plan, record);
  const seen = [];
  const down = { fetch: async () => (await ledger.entry(plan), Promise.reject(new TypeError("down"))), attempts: 1 };
  const up = { fetch: async (_, { body }) => (seen.push(hex(body)), Response.json({ reports: 1, new: 1 }, { status: 202 })) };
  await assert.rejects(sealing.sendKept("https://relay.example", ledger, report, file.key, down), (error) => {
    return error instanceof sealing.RelayError && error.status === undefined;
  });
  const first = await ledger.entry(plan);
  assert.equal(first.state, "sending");
  assert.equal(first.sealed.key, file.key);
  await sealing.sendKept("https://relay.example", await hush.Ledger.open({ store }), report, file.key, up);
  await Promise.all([1, 2].map(() => sealing.sendKept("https://relay.example", ledger, report, file.key, up)));
  assert.deepEqual(new Set(seen), new Set([hex(first.sealed.bytes)]));
  assert.equal((await ledger.entry(plan)).state, "arrived");
  assert.deepEqual((await ledger.entry(plan)).report, report.encode());
  const other = "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d";
  await sealing.sendKept("https://relay.example", ledger, report, other, up);
  assert.notEqual(seen.at(-1), seen[0]); // for another key the bytes are others, too
  assert.equal((await ledger.entry(plan)).sealed.key, other);
});

test("browsers that cannot seal are found before anything is drawn", async () => {
  assert.equal(await sealing.canSeal(), true);
  const make = crypto.subtle.generateKey;
  Object.defineProperty(crypto.subtle, "generateKey", { value: () => Promise.reject(new Error("old")), configurable: true });
  try {
    assert.equal(await sealing.canSeal(), false);
  } finally {
    Object.defineProperty(crypto.subtle, "generateKey", { value: make, configurable: true });
  }
});

test("a report with a ticket does not go through a relay", async () => {
  const plan = await hush.Plan.parse(file.plan);
  const record = Object.fromEntries(plan.schema.map((field) => [field.name, field.kind === "numeric" ? field.low : field.values[0]]));
  const ledger = await hush.Ledger.open({ cap: 16, store: new hush.MemoryStore() });
  const report = await ledger.randomise(plan, record, { id: "0".repeat(32), signature: "f".repeat(32) });
  const fetch = () => assert.fail("the collector knows this id");
  await assert.rejects(sealing.sendKept("https://relay.example", ledger, report, file.key, { fetch }), /with a ticket/);
  assert.equal((await ledger.entry(plan)).state, "drawn");
});
