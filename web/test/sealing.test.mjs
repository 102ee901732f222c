// Sealed reports: the published vector of HPKE, and those of spec/vectors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { beside, bytes, hex, hush, vectors } from "./words.mjs";

const sealing = await beside("seal.js");
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
    crypto.getRandomValues = (into) => {
      assert.equal(into.length, 32); // a secret of X25519
      into.set(bytes(ephemeral));
      return into;
    };
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

/** As much of a report as sealing needs, of a plan with these widths of answers, k of which are given. */
const made = (widths, k) => ({
  id: "1".repeat(32),
  plan: { id: "2".repeat(64), k, questions: widths.map((width) => ({ channel: { alphabet: { width } } })) },
  encode: () => new Uint8Array(3),
});

test("all sealed reports of a plan are as long as its longest", async () => {
  const alone = Array(256).fill(1);
  for (const [widths, k, longest] of [
    [[4], 1, 25 + 4],
    [[1, 9, 2], 3, 25 + 12], // all questions are answered, and need no numbers
    [[1, 9, 2], 2, 25 + 2 + 11],
    [[10, 9, 2], 1, 25 + 1 + 10],
    [[...alone.slice(1), 7], 1, 25 + 1 + 7],
    [alone, 2, 25 + 2 + 2],
    [[...alone, 7], 1, 25 + 2 + 7],
  ])
    assert.equal((await seal(made(widths, k), file.key)).length, 32 + longest + 16);
});

/** Puts others in the place of some functions while something is done. */
async function instead(of, functions, action) {
  const before = Object.entries(functions).map(([name]) => [name, Object.getOwnPropertyDescriptor(of, name)]);
  for (const [name, value] of Object.entries(functions)) Object.defineProperty(of, name, { value, configurable: true, writable: true });
  try {
    return await action();
  } finally {
    for (const [name, old] of before) old ? Object.defineProperty(of, name, old) : delete of[name];
  }
}

test("no key can be taken out of the browser again", async () => {
  const kinds = [];
  const { importKey, generateKey } = crypto.subtle;
  const spies = {
    importKey: (format, data, name, extractable, uses) => (kinds.push(extractable), importKey.call(crypto.subtle, format, data, name, extractable, uses)),
    generateKey: (name, extractable, uses) => (kinds.push(extractable), generateKey.call(crypto.subtle, name, extractable, uses)),
  };
  await instead(crypto.subtle, spies, async () => {
    await seal(made([4], 1), file.key);
    await sealing.canSeal();
  });
  assert.ok(kinds.length > 5);
  assert.deepEqual(new Set(kinds), new Set([false]));
});

const places = ["https://relay.example", "https://relay.example/", "https://relay.example///"];
let count = 0;
const another = () => ({ ...made([4], 1), id: `${++count}`.padStart(32, "0") });

test("a request has the report, and nothing that says who sends it", async () => {
  const asked = [];
  const times = [];
  const fetch = async (url, init) => (asked.push([url, init]), Response.json({ new: asked.length === 1 ? 1 : "1" }, { status: 202 }));
  const timeout = (time) => (times.push(time), "a signal");
  await instead(AbortSignal, { timeout }, async () => {
    const receipts = [];
    for (const place of places) receipts.push(await instead(globalThis, { fetch }, () => sealing.sendSealed(place, another(), file.key)));
    receipts.push(await sealing.sendSealed("https://relay.example/a//b/", another(), file.key, { fetch, timeout: 7 }));
    assert.deepEqual(receipts, [{ new: true }, ...Array(3).fill({ new: false })]);
  });
  assert.deepEqual(times, [10_000, 10_000, 10_000, 7]);
  const path = `/sealed/${"2".repeat(64)}`;
  assert.deepEqual(asked.map(([url]) => url), [...places.map(() => `https://relay.example${path}`), `https://relay.example/a//b${path}`]);
  for (const [, { body, ...init }] of asked) {
    assert.equal(body.length, 32 + 29 + 16);
    assert.deepEqual(init, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream" },
      redirect: "error",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      signal: "a signal",
    });
  }
});

test("pauses between tries double, and tries end", async () => {
  const tries = async (status, options) => {
    const [pauses, statuses] = [[], []];
    const setTimeout = (then, pause) => (pauses.push(pause), queueMicrotask(then));
    const fetch = async () => (statuses.push(status), new Response("", { status }));
    await instead(Math, { random: () => 0.25 }, () =>
      instead(globalThis, { setTimeout }, () =>
        assert.rejects(sealing.sendSealed(places[0], another(), file.key, { fetch, ...options }), (error) => {
          assert.ok(error instanceof sealing.RelayError);
          assert.equal(error.status, status);
          return true;
        }),
      ),
    );
    return [statuses.length, pauses];
  };
  assert.deepEqual(await tries(503, {}), [6, [375, 750, 1500, 3000, 6000]]);
  assert.deepEqual(await tries(503, { attempts: 3, pause: 8 }), [3, [6, 12]]);
  assert.deepEqual(await tries(503, { attempts: 1 }), [1, []]);
  for (const status of [408, 425, 429, 500, 502, 503, 504]) assert.equal((await tries(status, { attempts: 2 }))[0], 2, status);
  for (const status of [200, 201, 203, 400, 407, 409, 424, 426, 428, 430, 499, 501, 505]) assert.equal((await tries(status, { attempts: 2 }))[0], 1, status);
});

test("a report that could not be sealed is sealed when it is sent again", async () => {
  const report = another();
  const fetch = async () => Response.json({ new: 1 }, { status: 202 });
  const send = () => sealing.sendSealed(places[0], report, file.key, { fetch });
  const getRandomValues = () => {
    throw new Error("no random numbers");
  };
  await assert.rejects(instead(crypto, { getRandomValues }, send), /no random numbers/);
  assert.deepEqual(await send(), { new: true });
});

test("only the entry of the plan gets the sealed bytes, and only those for its plan and key are sent", async () => {
  const sent = [];
  const fetch = async (_, { body }) => (sent.push(hex(body)), Response.json({ new: 1 }, { status: 202 }));
  const report = another();
  const sealed = { key: file.key, bytes: Uint8Array.of(1, 2, 3) };
  const steps = [];
  const through = async (book) => {
    let found;
    const store = { update: async (change) => void (steps.push("kept"), (found = change(book))) };
    const noted = (step) => async () => void steps.push(step);
    const ledger = { store, entry: async () => undefined, sending: noted("sending"), arrived: noted("arrived") };
    assert.deepEqual(await sealing.sendKept(places[0], ledger, report, file.key, { fetch }), { new: true });
    return found;
  };
  assert.equal(await through(undefined), undefined); // the ledger was deleted meanwhile
  assert.deepEqual(steps, ["sending", "kept", "arrived"]);
  const others = [{ plan: "another", sealed }, { plan: report.plan.id, sealed: { ...sealed, key: "another" } }, { plan: "third" }];
  const book = await through({ cap: 7, entries: others });
  assert.equal(book.cap, 7);
  assert.deepEqual([book.entries[0], book.entries[2]], [others[0], others[2]]);
  assert.deepEqual(book.entries[1], { plan: report.plan.id, sealed: { key: file.key, bytes: Uint8Array.from(Buffer.from(sent[1], "hex")) } });
  assert.equal(await through({ entries: [others[0], { plan: report.plan.id, sealed }] }), undefined);
  assert.equal(sent[2], "010203");
});
