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
  assert.equal(file.bad_keys.length, 14);
  for (const { key, why } of file.bad_keys) await assert.rejects(seal(report, key), /is not a key/, why);
});

const PLACE = "https://relay.example";
const OTHER = "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d";
const held = (fresh = 1) => Response.json({ reports: 1, new: fresh }, { status: 202 });
const problem = (kind, status) => Response.json({ type: `urn:hush:problem:${kind}`, title: "no", status }, { status });

test("sealed bytes are sent until a relay holds them", async () => {
  const sealed = await seal(made([4], 1), file.key);
  const seen = [];
  const answers = [
    () => Promise.reject(new TypeError("no network")),
    () => new Response("", { status: 503 }),
    () => new Response("half", { status: 202 }),
    () => held(),
    () => held(0),
  ];
  const fetch = async (url, init) => (seen.push({ url, ...init }), answers[seen.length - 1]());
  const options = { fetch, pause: 1 };
  assert.deepEqual(await sealing.sendSealed(`${PLACE}/`, "2".repeat(64), sealed, file.key, options), { new: true });
  assert.deepEqual(await sealing.sendSealed(PLACE, "2".repeat(64), sealed, file.key, options), { new: false });
  assert.deepEqual(new Set(seen.map(({ body }) => hex(body))), new Set([hex(sealed)]));
  assert.equal(seen.length, 5);
  for (const { url, method, headers, credentials, redirect } of seen) {
    assert.equal(url, `${PLACE}/sealed/${"2".repeat(64)}`);
    assert.deepEqual([method, credentials, redirect], ["POST", "omit", "error"]);
    assert.deepEqual(headers, { "Content-Type": "application/octet-stream", "Hush-Key": file.key });
  }
});

test("a relay that refuses is not asked again, and says why", async () => {
  for (const [answer, tries, status, kind, message] of [
    [() => new Response("", { status: 422 }), 1, 422, "", "the relay answered 422"],
    [() => Response.json(null, { status: 404 }), 1, 404, "", "the relay answered 404"],
    [() => problem("plan-closed", 409), 1, 409, "plan-closed", "this survey has ended: its plan takes no more reports"],
    [() => problem("full", 507), 1, 507, "full", "the relay answered 507"],
    [() => problem("other-key", 409), 1, 409, "other-key", /another key than this report .* not delivered, and is not sealed again/],
    [() => problem("busy", 503), 3, 503, "busy", "the relay answered 503"],
  ]) {
    let asked = 0;
    const fetch = async () => (asked++, answer());
    await assert.rejects(sealing.sendSealed(PLACE, "2".repeat(64), new Uint8Array(9), file.key, { fetch, pause: 1, attempts: 3 }), {
      status,
      kind,
      message,
    });
    assert.equal(asked, tries);
  }
});

/** A ledger with an answer, its store, its plan and its report. */
async function answered(ticket) {
  const store = new hush.MemoryStore();
  const ledger = await hush.Ledger.open({ cap: 16, store });
  const plan = await hush.Plan.parse(file.plan);
  const record = Object.fromEntries(plan.schema.map((field) => [field.name, field.kind === "numeric" ? field.low : field.values[0]]));
  return { store, ledger, plan, report: await ledger.randomise(plan, record, ticket) };
}

test("a report of a ledger is sealed once, for all tabs and visits, and not sent when a relay has it", async () => {
  const { store, ledger, plan, report } = await answered();
  const seen = [];
  let kept;
  const down = { fetch: async () => ((kept = await ledger.entry(plan)), Promise.reject(new TypeError("down"))), attempts: 1 };
  const up = { fetch: async (_, { body }) => (seen.push(hex(body)), held()) };
  await assert.rejects(sealing.sendKept(PLACE, ledger, report, file.key, down), (error) => {
    return error instanceof sealing.RelayError && error.status === undefined && error.kind === "";
  });
  const first = await ledger.entry(plan);
  assert.deepEqual(kept, first, "the bytes are kept before they leave");
  assert.equal(first.state, "sending");
  assert.equal(first.sealed.key, file.key);
  const tabs = [1, 2, 3].map(async () => sealing.sendKept(PLACE, await hush.Ledger.open({ store }), report, file.key, up));
  await Promise.all(tabs);
  assert.deepEqual(new Set(seen), new Set([hex(first.sealed.bytes)]));
  assert.deepEqual(await ledger.entry(plan), { ...first, state: "arrived" });
  const nothing = { fetch: () => assert.fail("the relay has it") };
  for (const key of [file.key, OTHER]) assert.deepEqual(await sealing.sendKept(PLACE, ledger, report, key, nothing), { new: false });
});

test("two tabs that seal at once send the same bytes", async () => {
  const { store, ledger, plan, report } = await answered();
  const seen = [];
  const fetch = async (_, { body, headers }) => (seen.push([headers["Hush-Key"], hex(body)]), held(Number(seen.length === 1)));
  const send = async (key) => sealing.sendKept(PLACE, await hush.Ledger.open({ store }), report, key, { fetch });
  await Promise.all([file.key, file.key, OTHER].map(send));
  assert.equal(seen.length, 3);
  const { sealed } = await ledger.entry(plan);
  assert.deepEqual(new Set(seen.map(String)), new Set([`${sealed.key},${hex(sealed.bytes)}`]));
});

/** Sends the report of a ledger for one key, loses the answer, and tries again for another; returns all that has left. */
async function keyed(sendKept) {
  const { ledger, plan, report } = await answered();
  const left = [];
  const asked = (answer) => ({ fetch: async (_, { body, headers }) => (left.push([headers["Hush-Key"], hex(body)]), answer()), attempts: 1 });
  await assert.rejects(sendKept(PLACE, ledger, report, file.key, asked(() => Promise.reject(new TypeError("lost")))));
  await assert.rejects(sendKept(PLACE, ledger, report, OTHER, asked(() => problem("other-key", 409))), { kind: "other-key" });
  assert.equal((await ledger.entry(plan)).state, "sending");
  await sendKept(PLACE, ledger, report, OTHER, asked(() => held())); // the relay has the first key again
  assert.equal(left.length, 3);
  return new Set(left.map(String));
}

test("after another key a report leaves as it was sealed first, under the name of that key", async () => {
  const left = await keyed(sealing.sendKept);
  assert.equal(left.size, 1);
  assert.match([...left][0], RegExp(`^${file.key},`));
});

test("a page that seals anew for another key is caught", async () => {
  const anew = async (place, ledger, report, key, options) => {
    const forget = (entry) => ({ ...entry, sealed: entry.sealed?.key === key ? entry.sealed : undefined, state: "drawn" });
    await ledger.store.update((book) => ({ ...book, entries: book.entries.map(forget) }));
    return sealing.sendKept(place, ledger, report, key, options);
  };
  assert.equal((await keyed(anew)).size, 2);
});

test("a report that has left without a seal is not sealed, nor is one that a ledger does not have", async () => {
  const { ledger, plan, report } = await answered();
  await ledger.sending(plan);
  const nothing = { fetch: () => assert.fail("the collector knows this report") };
  await assert.rejects(sealing.sendKept(PLACE, ledger, report, file.key, nothing), /has left without a seal/);
  assert.equal((await ledger.entry(plan)).sealed, undefined);
  const other = await hush.Ledger.open({ cap: 16, store: new hush.MemoryStore() });
  await assert.rejects(sealing.sendKept(PLACE, other, report, file.key, nothing), /has no answer to this plan/);
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
  const { ledger, plan, report } = await answered({ id: "0".repeat(32), signature: "f".repeat(32) });
  const fetch = () => assert.fail("the collector knows this id");
  await assert.rejects(sealing.sendKept(PLACE, ledger, report, file.key, { fetch }), /with a ticket/);
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

const places = [PLACE, `${PLACE}/`, `${PLACE}///`];
const BYTES = Uint8Array.of(1, 2, 3);
const send = (place, options) => sealing.sendSealed(place, "2".repeat(64), BYTES, file.key, options);

test("a request has the report, and nothing that says who sends it", async () => {
  const asked = [];
  const times = [];
  const fetch = async (url, init) => (asked.push([url, init]), Response.json({ new: asked.length === 1 ? 1 : "1" }, { status: 202 }));
  const timeout = (time) => (times.push(time), "a signal");
  await instead(AbortSignal, { timeout }, async () => {
    const receipts = [];
    for (const place of places) receipts.push(await instead(globalThis, { fetch }, () => send(place)));
    receipts.push(await send(`${PLACE}/a//b/`, { fetch, timeout: 7 }));
    assert.deepEqual(receipts, [{ new: true }, ...Array(3).fill({ new: false })]);
  });
  assert.deepEqual(times, [10_000, 10_000, 10_000, 7]);
  const path = `/sealed/${"2".repeat(64)}`;
  assert.deepEqual(asked.map(([url]) => url), [...places.map(() => `https://relay.example${path}`), `https://relay.example/a//b${path}`]);
  for (const [, { body, ...init }] of asked) {
    assert.deepEqual(body, BYTES);
    assert.deepEqual(init, {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream", "Hush-Key": file.key },
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
        assert.rejects(send(PLACE, { fetch, ...options }), (error) => {
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
  for (const status of [200, 201, 203, 400, 407, 409, 424, 426, 428, 430, 499, 501, 505, 507]) assert.equal((await tries(status, { attempts: 2 }))[0], 1, status);
});

test("a report that could not be sealed is sealed when it is sent again", async () => {
  const { ledger, plan, report } = await answered();
  const getRandomValues = () => {
    throw new Error("no random numbers");
  };
  const kept = () => sealing.sendKept(PLACE, ledger, report, file.key, { fetch: async () => held() });
  await assert.rejects(instead(crypto, { getRandomValues }, kept), /no random numbers/);
  assert.equal((await ledger.entry(plan)).state, "drawn");
  assert.deepEqual(await kept(), { new: true });
});

test("only the entry of the plan gets the sealed bytes", async () => {
  const { store, ledger, plan, report } = await answered();
  const other = await hush.Plan.parse(vectors("channel-subset").plan);
  const record = Object.fromEntries(other.schema.map((field) => [field.name, field.kind === "numeric" ? field.low : field.values[0]]));
  await ledger.randomise(other, record);
  const before = await ledger.entry(other);
  await sealing.sendKept(PLACE, ledger, report, file.key, { fetch: async () => held() });
  assert.deepEqual(await ledger.entry(other), before);
  assert.equal((await ledger.entry(plan)).sealed.bytes.length, (await seal(report, file.key)).length);
  // A ledger that was deleted meanwhile: nothing leaves, as nobody would remember it.
  const gone = { store: { update: (change) => store.update((book) => (change(undefined), undefined)) }, entry: async () => undefined };
  const fetch = () => assert.fail("the ledger is gone");
  await assert.rejects(sealing.sendKept(PLACE, gone, report, file.key, { fetch }), /has no answer to this plan/);
});
