// The client of a collector: it believes no server, sends the same bytes until they have arrived, and never elsewhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { beside, hex, hush, small, titled, vectors } from "./words.mjs";

const { askedBy, Client, CollectorError, Ledger, LedgerError, MemoryStore, Plan, PlanError, RecordError, Report, questionsOf } = hush;
const record = { x: 0.5, c: "a" };
const ID = "00112233445566778899aabbccddeeff";
const SIGNATURE = "f".repeat(32);

/** A plan that names a long list, by a name that no other test knows, and the list. */
function listed(name) {
  const { list, text } = vectors("lists").good[1];
  return { plan: vectors("channel-listed").plan.replace(list.name, name), list: list.sha256, bytes: Buffer.from(text, "hex") };
}

const json = (value, status = 200, headers = {}) => new Response(JSON.stringify(value), { status, headers });
const none = () => new Response(null, { status: 204 });
const receipt = ({ init }, change = {}) => {
  const id = hex(init.body.slice(9, 25));
  return json({ id, new: true, reports: 1, ...change }, 202);
};
const dealt = (change = {}) => json({ id: ID, questions: questionsOf(small, ID), signature: SIGNATURE, ...change });

const ledgerOf = (cap = 1) => Ledger.open({ cap, store: new MemoryStore() });
const ledgers = await Promise.all(Array.from({ length: 100 }, () => ledgerOf(1000))); // one for each that needs none of its own

/** A collector that answers as it is told, and remembers what it was asked. */
function faking(answers, options = {}) {
  const calls = [];
  const fetch = async (url, init) => {
    const call = { url, init, what: url.split("/").pop() };
    calls.push(call);
    const answer = answers[call.what] ?? answers.plan;
    return answer(call, calls.filter(({ what }) => what === call.what).length);
  };
  const client = new Client("https://example.org/base/", { fetch, pause: 1, ledger: ledgers.pop(), ...options });
  return { calls, client, of: (what) => calls.filter((call) => call.what === what) };
}

test("a plan is fetched, checked, and kept", async () => {
  const { client, calls } = faking({ plan: () => new Response(small.text) });
  assert.equal((await client.plan(small.id)).id, small.id);
  await client.plan(small.id);
  assert.equal(calls.length, 1);
  assert.equal(calls[0].url, `https://example.org/base/plans/${small.id}`);
  await assert.rejects(client.plan("0".repeat(64)), PlanError);
  for (const id of ["", "../x", small.id.toUpperCase(), `${small.id}/`, `x${small.id}`]) {
    await assert.rejects(client.plan(id), CollectorError);
  }
  assert.equal(calls.length, 2);
});

test("the lists that a plan names are fetched with it", async () => {
  const { plan, list, bytes } = listed("client.txt");
  const { client, calls } = faking({ plan: () => new Response(plan), [list]: () => new Response(bytes) }, { token: "abc" });
  const id = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(plan))));
  assert.equal((await client.plan(id)).id, id);
  assert.deepEqual(calls.map(({ url }) => url), [`plans/${id}`, `lists/${list}`].map((path) => `https://example.org/base/${path}`));
  assert.equal(calls[1].init.headers.Authorization, "Bearer abc");
});

test("a token goes to another machine by https only", async () => {
  const fetch = () => assert.fail("it was sent");
  const other = ["http://reports.example.org", "http://10.0.0.7:8000", "http://127.0.0.1.example.org", "http://localhost.example.org", "http://[::2]"];
  for (const url of other) {
    assert.throws(() => new Client(url, { token: "secret", fetch }), /without a token/);
    new Client(url, { fetch }); // without a token anybody may send
  }
  for (const url of ["https://reports.example.org", "http://localhost:8000", "http://127.0.0.1:8000", "http://127.9.0.1", "http://[::1]:80"])
    new Client(url, { token: "secret", fetch });
  for (const url of ["ftp://example.org", "example.org", ""]) assert.throws(() => new Client(url), /begins with https/);
});

test("requests carry a token, no cookies and no referrer, and follow nothing", async () => {
  const { client, calls } = faking({ reports: receipt }, { token: "secret" });
  await client.answer(small, record);
  assert.equal(calls.length, 1);
  for (const { init } of calls) {
    assert.equal(init.redirect, "error");
    assert.equal(init.credentials, "omit");
    assert.equal(init.referrerPolicy, "no-referrer");
    assert.equal(init.cache, "no-store");
    assert.equal(init.headers.Accept, "application/json");
    assert.equal(init.headers.Authorization, "Bearer secret");
    assert.ok(init.signal instanceof AbortSignal);
  }
  assert.equal(calls[0].init.method, "POST");
  assert.equal(calls[0].init.headers["Content-Type"], "application/vnd.hush.report");
  assert.equal(calls[0].url, `https://example.org/base/plans/${small.id}/reports`);
});

test("the same bytes are sent until they have arrived", async () => {
  const ledger = await ledgerOf();
  let state;
  const { client, of } = faking(
    {
      async reports(call, attempt) {
        state = (await ledger.entry(small)).state;
        if (attempt === 1) throw new TypeError("the network is down");
        if (attempt < 5) return json({}, [503, 429, 500][attempt - 2]);
        return receipt(call);
      },
    },
    { ledger },
  );
  assert.equal((await client.answer(small, record)).new, true);
  assert.equal(of("reports").length, 5);
  assert.equal(new Set(of("reports").map(({ init }) => hex(init.body))).size, 1);
  assert.equal(state, "sending");
  assert.equal((await ledger.entry(small)).state, "arrived");
});

test("after a failure the same report is sent again, by another collector object too", async () => {
  const ledger = await ledgerOf();
  const down = faking({ reports: () => json({}, 503) }, { ledger, attempts: 2 });
  await assert.rejects(down.client.answer(small, record), (error) => error.status === 503);
  assert.equal(down.of("reports").length, 2);
  assert.equal((await ledger.entry(small)).state, "sending");
  const up = faking({ reports: receipt }, { ledger });
  await up.client.answer(small, { x: 1, c: "b" });
  assert.equal(hex(up.of("reports")[0].init.body), hex(down.of("reports")[0].init.body));
  assert.equal(up.of("ticket").length, 0);
});

test("what is refused for good is not sent again", async () => {
  for (const status of [400, 401, 403, 404, 407, 409, 410, 413, 415, 422, 424, 426, 501, 505]) {
    const { client, of } = faking({ reports: () => json({ title: "no" }, status) });
    await assert.rejects(client.answer(small, record), (error) => error.status === status && error.message === "no");
    assert.equal(of("reports").length, 1);
  }
});

test("what may pass is sent again", async () => {
  for (const status of [408, 425, 429, 500, 502, 503, 504]) {
    const reports = (call, attempt) => (attempt > 1 ? receipt(call) : json({}, status));
    const { client, of } = faking({ reports });
    await client.answer(small, record);
    assert.equal(of("reports").length, 2, String(status));
  }
});

test("by default there are six attempts by the page's own fetch, and pauses double", async (context) => {
  const [waits, urls, clocks, ended] = [[], [], [], []];
  context.mock.method(Math, "random", () => 0.5);
  context.mock.method(globalThis, "clearTimeout", (clock) => ended.push(clock));
  context.mock.method(globalThis, "setTimeout", (action, wait) => {
    if (wait === 10_000) return clocks.push({}), clocks.at(-1);
    waits.push(wait);
    queueMicrotask(action);
  });
  context.mock.method(globalThis, "fetch", async (url, { method }) => (urls.push([url, method]), json({}, 503)));
  const report = hush.randomise(small, record);
  await assert.rejects(new Client("https://example.org").submit(report), (error) => error.status === 503);
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000]);
  assert.deepEqual(urls, Array(6).fill([`https://example.org/plans/${small.id}/reports`, "POST"]));
  assert.deepEqual(ended, clocks); // no attempt leaves its clock behind
  assert.equal(clocks.length, 6);
});

test("a plan is answered by its id as well", async () => {
  const { client, of } = faking({ plan: () => new Response(small.text), reports: receipt });
  assert.equal((await client.answer(small.id, record)).new, true);
  assert.equal(of(small.id).length, 1);
});

test("an answer may be empty, or as long as the longest plan, and no longer", async () => {
  const empty = faking({ reports: () => new Response(null, { status: 413 }) });
  await assert.rejects(empty.client.answer(small, record), /^CollectorError: the collector answered 413$/);
  for (const [size, error] of [[2 ** 24, PlanError], [2 ** 24 + 1, CollectorError]]) {
    const { client } = faking({ plan: () => new Response(new Uint8Array(size)) });
    await assert.rejects(client.plan(small.id), error);
  }
});

test("a collector that cannot be reached is tried as often as was said", async () => {
  const { client, calls } = faking({ plan: () => Promise.reject(new TypeError("no")) }, { attempts: 3 });
  await assert.rejects(client.plan(small.id), /cannot be reached: TypeError/);
  assert.equal(calls.length, 3);
});

test("a page of another origin hears that it may not be allowed, and what allows it", async () => {
  const fails = (error) => () => Promise.reject(error);
  const message = async (origin, error) => {
    globalThis.location = { origin, href: `${origin}/page.html` };
    try {
      const { client } = faking({ plan: fails(error) }, { attempts: 1 });
      return await client.plan(small.id).then(() => assert.fail(), (caught) => caught.message);
    } finally {
      delete globalThis.location;
    }
  };
  assert.equal(
    await message("http://127.0.0.1:8010", new TypeError("no")),
    "the collector cannot be reached, or does not allow this page (start it with --origin http://127.0.0.1:8010)",
  );
  // On the collector's own pages nothing need be allowed, and what timed out was.
  assert.equal(await message("https://example.org", new TypeError("no")), "the collector cannot be reached: TypeError");
  const late = new DOMException("late", "TimeoutError");
  assert.equal(await message("http://127.0.0.1:8010", late), "the collector cannot be reached: TimeoutError");
});

test("Retry-After is obeyed, within reason", async (t) => {
  const waits = [];
  t.mock.method(Math, "random", () => 0.125); // pauses differ between devices, from 0.5 to 1.5 times
  const original = globalThis.setTimeout;
  // The clock of an attempt is no pause.
  globalThis.setTimeout = (action, wait) => wait === 10_000 || (waits.push(wait), queueMicrotask(action));
  try {
    const after = ["2", "100000", "-1", "1e3", "x", "1000000000"];
    const { client } = faking(
      {
          reports: (call, i) => (i > after.length ? receipt(call) : json({}, 503, { "Retry-After": after[i - 1] })),
      },
      { attempts: 9, pause: 10 },
    );
    await client.answer(small, record);
  } finally {
    globalThis.setTimeout = original;
  }
  assert.equal(waits.length, 6);
  assert.equal(waits[0], 2000);
  assert.equal(waits[1], 60000);
  for (const [i, wait] of waits.entries()) {
    if (i > 1) assert.equal(wait, 6.25 * 2 ** i);
  }
});

test("receipts for something else are refused, and the report has not arrived", async () => {
  const bad = [
    { id: "0".repeat(32) },
    { new: "yes" },
    { new: undefined },
    { reports: 2 },
    { reports: "1" },
    { extra: 1 },
    { id: 7 },
  ];
  for (const change of bad) {
    const ledger = await ledgerOf();
    const { client } = faking({ reports: (call) => receipt(call, change) }, { ledger });
    await assert.rejects(client.answer(small, record), CollectorError, JSON.stringify(change));
    assert.equal((await ledger.entry(small)).state, "sending");
  }
  for (const body of ["", "null", "[]", "{", "1", "\xff"]) {
    const { client } = faking({ reports: () => new Response(body, { status: 202 }) });
    await assert.rejects(client.answer(small, record), CollectorError, body);
  }
});

test("prepared is not sent, is not shown, and stays", async () => {
  const ledger = await ledgerOf();
  const { client, of } = faking({ reports: receipt }, { ledger });
  await assert.rejects(client.send(small), LedgerError);
  assert.equal(await client.prepare(small, record), true);
  const { report, state } = await ledger.entry(small);
  assert.equal(state, "drawn");
  assert.equal(of("reports").length, 0);
  for (const other of [record, { x: 0, c: "b" }, {}]) assert.equal(await client.prepare(small, other), false);
  await client.answer(small, { x: 0, c: "b" });
  assert.equal(hex(of("reports")[0].init.body), hex(report));
});

test("answering needs a ledger; fetching plans and sending what was made elsewhere do not", async () => {
  const { client, calls } = faking({ plan: () => new Response(small.text), reports: receipt }, { ledger: undefined });
  for (const action of [() => client.prepare(small, record), () => client.answer(small, record)]) {
    await assert.rejects(action(), (error) => error instanceof LedgerError && /Ledger\.open\(\{ cap \}\)/.test(error.message));
  }
  await assert.rejects(client.send(small), LedgerError);
  assert.equal(calls.length, 0);
  await client.plan(small.id);
  await client.submit(hush.randomise(small, record));
});

test("a thrown-away ticket gives no new dice: the first draw is sent, with its ticket", async () => {
  const ledger = await ledgerOf();
  let count = 0;
  const ticket = () => {
    const id = hex(Uint8Array.from({ length: 16 }, () => count));
    return json({ id, questions: questionsOf(small, id), signature: `${count++}`.repeat(32) });
  };
  const refused = () => json({ type: "urn:hush:problem:bad-report", title: "no ticket of this collector" }, 422);
  const reports = [];
  for (const answer of [refused, refused, receipt]) {
    const tab = faking({ ticket, reports: answer }, { ledger, tickets: true }); // each as after a reload
    await tab.client.answer(small, { x: 1, c: "b" }).catch((error) => assert.equal(error.status, 422));
    reports.push(...tab.of("reports").map(({ init }) => hex(init.body) + init.headers["Hush-Ticket"]));
  }
  assert.equal(count, 1);
  assert.equal(reports.length, 3);
  assert.equal(new Set(reports).size, 1);
});

test("a ticket deals the questions and the id, and is kept with the report", async () => {
  const ledger = await ledgerOf();
  const { client, of } = faking({ ticket: () => dealt(), reports: receipt }, { ledger, tickets: true });
  assert.equal(await client.prepare(small, record), true);
  const report = Report.decode(small, (await ledger.entry(small)).report);
  assert.equal(report.id, ID);
  assert.deepEqual(report.answers.map(([question]) => question), questionsOf(small, ID));
  assert.equal((await ledger.entry(small)).ticket, SIGNATURE);
  await client.send(small);
  await client.answer(small, record);
  assert.equal(of("ticket").length, 1);
  for (const { init } of of("reports")) assert.equal(init.headers["Hush-Ticket"], SIGNATURE);
  assert.equal(new Set(of("reports").map(({ init }) => hex(init.body))).size, 1);
});

test("a person is asked what will be reported, and nothing else", async () => {
  for (const [tickets, signature] of [[false, undefined], [true, SIGNATURE]]) {
    const ledger = await ledgerOf();
    const { client, of } = faking({ plan: () => new Response(smallText), ticket: () => dealt(), reports: receipt }, { ledger, tickets });
    const names = await client.questions(small);
    assert.equal(names.length, 1);
    assert.deepEqual(await client.questions(small), names);
    assert.equal(of("ticket").length, Number(tickets), "the first ticket stays");
    assert.equal(of("reports").length, 0);
    await assert.rejects(client.answer(small, {}), RecordError);
    await client.answer(small, { [names[0]]: record[names[0]] });
    const [{ init }] = of("reports");
    const report = Report.decode(small, init.body);
    assert.deepEqual(report.answers.flatMap(([question]) => small.questions[question].names), names);
    assert.equal(report.id === ID, signature !== undefined, "a ticket alone names the report");
    assert.equal(init.headers["Hush-Ticket"], signature);
    assert.equal(of("ticket").length, Number(tickets));
    assert.equal(await client.questions(small), undefined, "nothing is left to ask");
  }
});

test("two that prepare at once send one report under one ticket", async () => {
  const ledger = await ledgerOf();
  let count = 0;
  const ticket = () => {
    const id = hex(Uint8Array.from({ length: 16 }, () => count));
    return json({ id, questions: questionsOf(small, id), signature: `${count++}`.repeat(32) });
  };
  const { client, of } = faking({ ticket, reports: receipt }, { ledger, tickets: true });
  await Promise.all([client.answer(small, record), client.answer(small, record)]);
  assert.equal(of("ticket").length, 2);
  assert.equal(new Set(of("reports").map(({ init }) => hex(init.body) + init.headers["Hush-Ticket"])).size, 1);
  const [{ init }] = of("reports");
  assert.equal(hex(init.body.slice(9, 10)), `0${init.headers["Hush-Ticket"][0]}`);
});

test("a wrong ticket is refused before anything is drawn", async () => {
  const wrong = 1 - questionsOf(small, ID)[0];
  const bad = [[wrong], [], [0, 1], "0", null].map((questions) => ({ questions }));
  bad.push({ id: ID.toUpperCase() }, { id: "0" }, { signature: "g".repeat(32) }, { signature: undefined });
  bad.push({ extra: 1 });
  for (const change of bad) {
    const ledger = await ledgerOf();
    const { client, of } = faking({ ticket: () => dealt(change), reports: receipt }, { ledger, tickets: true });
    await assert.rejects(client.answer(small, record), CollectorError, JSON.stringify(change));
    assert.equal(of("reports").length, 0);
    assert.deepEqual(await ledger.entries(), []);
  }
});

test("tickets are asked for where a collector deals them, and nowhere else", async () => {
  const must = faking({ ticket: none, reports: receipt }, { tickets: true });
  await assert.rejects(must.client.answer(small, record), { name: "CollectorError", message: /deals no tickets/ });
  assert.equal(must.of("reports").length, 0);
  for (const options of [{}, { tickets: false }, { tickets: undefined }]) {
    const never = faking({ ticket: () => dealt(), reports: receipt }, options);
    await never.client.answer(small, record);
    assert.equal(never.of("ticket").length, 0);
  }
  const failing = faking({ ticket: () => json({}, 403), reports: receipt }, { tickets: true });
  await assert.rejects(failing.client.answer(small, record), (error) => error.status === 403);
});

/** Answers with the plan in hand and no network, with a client of this kind; returns the report that was kept. */
async function offline(Kind) {
  const store = new MemoryStore();
  const calls = [];
  const fetch = async (url) => {
    // What is kept when the network is first asked: only that is left if the page ends now.
    calls.push([url.split("/").pop(), (await (await Ledger.open({ store })).entry(small))?.report]);
    throw new TypeError("no network");
  };
  const client = new Kind("https://example.org", { fetch, pause: 1, attempts: 2, ledger: await Ledger.open({ cap: 1, store }) });
  await assert.rejects(client.answer(small, record), CollectorError);
  const kept = (await (await Ledger.open({ store })).entry(small))?.report;
  for (const [what, before] of calls) {
    assert.equal(what, "reports");
    assert.deepEqual(before, kept, "the report is kept before any network");
  }
  assert.equal(calls.length, 2);
  // Later tabs, with a network, send these bytes; no retry and no other record draws again.
  const sent = [];
  const online = (_, init) => (sent.push(hex(init.body)), receipt({ init }));
  for (const other of [record, { x: 1, c: "b" }]) {
    const tab = new Kind("https://example.org", { fetch: online, ledger: await Ledger.open({ store }) });
    await tab.answer(small, other);
  }
  assert.deepEqual(new Set(sent), new Set([hex(kept)]));
}

test("without a network the report is drawn and kept, and leaves later", () => offline(Client));

test("a client that asks for a ticket first loses the answer, and is caught", async () => {
  class Asking extends Client {
    constructor(url, options) {
      super(url, { ...options, tickets: true });
    }
  }
  await assert.rejects(offline(Asking), (error) => error.code === "ERR_ASSERTION");
});

test("a report that went to a relay is not sent to the collector", async () => {
  const ledger = await ledgerOf();
  const { client, calls } = faking({ reports: receipt }, { ledger });
  await client.prepare(small, record);
  await ledger.store.update((book) => ({
    ...book,
    entries: book.entries.map((entry) => ({ ...entry, state: "sending", sealed: { key: "0".repeat(64), bytes: new Uint8Array(3) } })),
  }));
  await assert.rejects(client.send(small), /LedgerError: this report has gone to a relay, sealed/);
  await assert.rejects(client.answer(small, record), LedgerError);
  assert.equal((await ledger.entry(small)).state, "sending");
  assert.equal(calls.length, 0);
});

test("of two tabs one sends sealed and one as it is: the report leaves one way", async () => {
  const { sendKept } = await beside("seal.js");
  const key = "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d";
  for (const first of ["sealed", "plain"]) {
    const ledger = await ledgerOf();
    const { client, of } = faking({ reports: receipt }, { ledger });
    await client.prepare(small, record);
    const report = Report.decode(small, (await ledger.entry(small)).report);
    const sealed = [];
    const fetch = async (_, { body }) => (sealed.push(body), json({ reports: 1, new: 1 }, 202));
    const ways = [() => sendKept("https://relay.example", ledger, report, key, { fetch }), () => client.send(small)];
    const done = await Promise.allSettled((first === "sealed" ? ways : ways.reverse()).map((way) => way()));
    assert.equal(done.filter(({ status }) => status === "fulfilled").length, 1, first);
    assert.equal(sealed.length + of("reports").length, 1, first);
  }
});

test("questions follow from ids as Keccak says, for weights and for many questions too", async () => {
  const { createHash } = await import("node:crypto");
  for (const name of ["channel-weighted", "channel-mixed-k2", "channel-wide", "channel-duchi-multi-4"]) {
    const plan = await Plan.parse(vectors(name).plan);
    for (let i = 0; i < 20; i++) {
      const id = i.toString(16).padStart(32, "7");
      let count = 0;
      class Dealt extends hush.Coins {
        word() {
          const number = (++count).toString(16).padStart(8, "0");
          const hash = createHash("shake256", { outputLength: 8 }).update("hush ticket ");
          return BigInt(`0x${hash.update(Buffer.from(plan.id + id + number, "hex")).digest("hex")}`);
        }
      }
      const coins = new Dealt();
      const total = plan.weights?.reduce((a, b) => a + b);
      let left = total && Number(coins.below(BigInt(total)));
      const expected = total
        ? [plan.weights.findIndex((weight) => (left -= weight) < 0)]
        : coins.subset(plan.questions.length, plan.k);
      assert.deepEqual(questionsOf(plan, id), expected);
    }
  }
});

test("a bad record is refused before a ticket is asked for", async () => {
  const { client, calls } = faking({ ticket: () => dealt(), reports: receipt }, { tickets: true });
  await assert.rejects(client.answer(small, { x: 2, c: "a" }), RecordError);
  assert.equal(calls.length, 0);
});

test("a budget that is spent sends nothing", async () => {
  const { client, of } = faking({ reports: receipt }, { ledger: await ledgerOf(1) });
  await client.answer(small, record);
  await assert.rejects(client.answer(await titled("again"), record), hush.BudgetError);
  assert.equal(of("reports").length, 1);
});

test("a problem becomes one printable line", async () => {
  const detail = `no\nmore\u2028${"x".repeat(999)}`;
  const problem = { type: "urn:hush:problem:plan-closed", title: "closed\u001b[31m", detail };
  const { client } = faking({ reports: () => json(problem, 409) });
  await assert.rejects(client.answer(small, record), (error) => {
    assert.equal(error.kind, "plan-closed");
    assert.match(error.message, /^closed \[31m: no more x+$/);
    assert.ok(error.message.length < 620);
    return true;
  });
  const long = faking({ reports: () => json({ title: "t".repeat(301) }, 409) });
  await assert.rejects(long.client.answer(small, record), { message: "t".repeat(300) });
  for (const body of ["<html>", "null", '"x"', "{}", "[1]", '{"title":null}']) {
    const gateway = faking({ reports: () => new Response(body, { status: 413 }) });
    await assert.rejects(gateway.client.answer(small, record), /the collector answered 413/);
  }
});

test("a report that was made elsewhere can be sent as it is", async () => {
  const report = hush.randomise(small, record);
  const { client, calls } = faking({ reports: receipt });
  assert.deepEqual(await client.submit(report, { "X-Extra": "1" }), { id: report.id, new: true });
  assert.equal(calls[0].init.headers["X-Extra"], "1");
  assert.deepEqual(Report.decode(small, calls[0].init.body), report);
});

test("addresses that are none are refused, and what is behind a question mark is dropped", async () => {
  for (const url of ["", "ftp://example.org", "xhttps://example.org", "example.org", "javascript:1", "//", "https://"]) {
    assert.throws(() => new Client(url), CollectorError, url);
  }
  const calls = [];
  const fetch = async (url) => (calls.push(url), new Response(small.text));
  await new Client("https://user:pass@example.org/a//?token=1#x", { fetch }).plan(small.id);
  assert.deepEqual(calls, [`https://example.org/a/plans/${small.id}`]);
});

test("an attempt that takes too long is given up", async () => {
  const fetch = (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const keep = setTimeout(() => {}, 5000);
  const client = new Client("https://example.org", { fetch, timeout: 20, attempts: 2, pause: 1 });
  await assert.rejects(client.plan(small.id), /cannot be reached: TimeoutError/);
  clearTimeout(keep);
});

/** An answer of so many bytes at a time, without end; tells when it is given up. */
function endless(size, pause, signal) {
  const state = { sent: 0, over: false };
  const body = new ReadableStream({
    start: (queue) => signal.addEventListener("abort", () => ((state.over = true), queue.error(signal.reason))),
    async pull(queue) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (state.over) return;
      queue.enqueue(new Uint8Array(size));
      state.sent += size;
    },
    cancel: () => void (state.over = true),
  });
  return [state, new Response(body)];
}

for (const [what, size, pause, words] of [
  ["without end", 2 ** 20, 0, /^the collector's answer is too long$/],
  ["byte by byte", 1, 10, /cannot be reached: TimeoutError/],
]) {
  test(`an answer ${what} is given up`, async () => {
    let state;
    const fetch = async (_, { signal }) => {
      const [made, response] = endless(size, pause, signal);
      state = made;
      return response;
    };
    const client = new Client("https://example.org", { fetch, timeout: size > 1 ? 10_000 : 200, attempts: 1 });
    await assert.rejects(client.plan(small.id), { name: "CollectorError", message: words });
    assert.ok(state.over && state.sent <= 2 ** 24 + 2 * size);
  });
}

// -- a pilot, and the plan that follows it

const changed = async (plan, ...changes) => {
  let { text } = plan;
  for (const [from, to] of changes) {
    assert.ok(text.includes(from), from);
    text = text.replace(from, to);
  }
  return Plan.parse(text);
};
const pilot = await changed(small, ['"scale":"linear"', '"scale":"log"']);
const CLIP = ['"error"', '"clip"'];
const LINEAR = ['"log"', '"linear"'];
const NARROW = ['"high":1.0', '"high":0.25'];
const AFTER = ['"after":null', `"after":"${pilot.id}"`];
const second = await changed(pilot, CLIP, LINEAR, NARROW, AFTER);
const sibling = await changed(second, ['"high":0.25', '"high":0.5']);

/** A collector with these plans that names one of them. */
const naming = (current, plans, options) => {
  const text = ({ url }) => new Response(plans.find(({ id }) => url.endsWith(id)).text);
  return faking({ plan: text, current: () => json(current), reports: receipt }, options);
};

test("a pilot leads to itself, or to the plan that follows it", async () => {
  for (const plan of [pilot, second]) {
    const { client, of } = naming({ plan: plan.id }, [pilot, second]);
    assert.equal((await client.current(pilot.id)).id, plan.id);
    assert.deepEqual(of("current").map(({ url }) => url), [`https://example.org/base/plans/${pilot.id}/current`]);
  }
  const kept = await changed(pilot, AFTER); // the pilot saw too little of its number
  assert.equal((await naming({ plan: kept.id }, [pilot, kept]).client.current(pilot.id)).id, kept.id);
  const { client, of } = naming({ plan: sibling.id }, [second, sibling]);
  assert.equal((await client.current(second.id)).id, second.id); // a plan that follows is not followed
  assert.equal(of("current").length, 0);
});

test("a device answers one of the plans of a pilot, and gets that one again", async () => {
  for (const answered of [pilot, second]) {
    const ledger = await ledgerOf(16);
    const first = naming({ plan: answered.id }, [pilot, second, sibling], { ledger });
    await first.client.answer(await first.client.current(pilot.id), record);
    for (const named of [pilot, second, sibling]) {
      const { client, of } = naming({ plan: named.id }, [pilot, second, sibling], { ledger });
      for (const { id } of [pilot, second, sibling]) {
        const again = await client.current(id);
        assert.equal(again.id, answered.id);
        await client.answer(again, record);
      }
      assert.equal(of("current").length, 0);
    }
    assert.equal((await ledger.entries()).length, 1);
  }
});

test("of two tabs that a collector sends to two plans of a pilot, one draws", async () => {
  const ledger = await ledgerOf(16);
  const tabs = [second, sibling].map(({ id }) => naming({ plan: id }, [pilot, second, sibling], { ledger }));
  const asked = [];
  for (const { client } of tabs) asked.push(await client.current(pilot.id));
  await tabs[0].client.answer(asked[0], record);
  await assert.rejects(tabs[1].client.answer(asked[1], record), { name: "BudgetError", message: /excludes this plan/ });
  assert.equal(tabs[1].of("reports").length, 0);
  assert.deepEqual((await ledger.entries()).map(({ plan }) => plan), [second.id]);
  await ledger.draw(sibling, record); // the twin: who does not follow answers both
});

test("whoever was asked a second plan of a pilot is not led to another", async () => {
  const ledger = await ledgerOf(16);
  const one = naming({ plan: second.id }, [pilot, second, sibling], { ledger });
  await one.client.questions(await one.client.current(pilot.id));
  const two = naming({ plan: sibling.id }, [pilot, second, sibling], { ledger });
  assert.equal((await two.client.current(pilot.id)).id, second.id);
  await two.client.questions(await two.client.current(pilot.id));
  assert.deepEqual(Object.keys(await ledger.asked()), [second.id]);
});

test("the pilot decides whether a record fits, and not the range that a collector chose", async () => {
  const asked = Object.keys(record).find((name) => pilot.schema.find((one) => one.name === name).kind === "numeric");
  const beyond = { ...record, [asked]: 7 }; // the pilot refuses it, and the second plan alone would clip it
  second.encode(beyond);
  for (const named of [pilot, second]) {
    for (const first of [false, true]) {
      const ledger = await ledgerOf(16);
      const { client, of } = naming({ plan: named.id }, [pilot, second], { ledger });
      if (first) await client.questions(await client.current(pilot.id));
      const later = naming({ plan: named.id }, [pilot, second], { ledger }).client; // after a reload
      for (const one of [client, later]) {
        await assert.rejects(one.answer(await one.current(pilot.id), beyond), { name: "RecordError" });
      }
      assert.equal((await ledger.entries()).length, 0);
      assert.equal(of("reports").length, 0);
      if (!first) assert.equal(of("ticket").length, 0);
      await later.answer(await later.current(pilot.id), record);
      assert.equal((await later.answer(await later.current(pilot.id), beyond)).new, true); // the kept report, unread
      assert.deepEqual((await ledger.entries()).map(({ plan }) => plan), [named.id]);
    }
  }
});

test("other answers do not bind a device", async () => {
  const ledger = await ledgerOf(16);
  await ledger.draw(await titled("another"), record);
  const { client } = naming({ plan: second.id }, [pilot, second], { ledger });
  assert.equal((await client.current(pilot.id)).id, second.id);
  const upper = await changed(second, ['"high":0.25,"kind":"numeric","low":0.0', '"high":1.0,"kind":"numeric","low":0.5']); // up to the same end
  assert.equal((await naming({ plan: upper.id }, [pilot, upper]).client.current(pilot.id)).id, upper.id);
  const without = naming({ plan: second.id }, [pilot, second], { ledger: undefined });
  assert.equal((await without.client.current(pilot.id)).id, second.id);
});

test("a plan that is not the pilot's, narrowed, is refused", async () => {
  const epsilon = [`"epsilon":"${pilot.epsilon}"`, '"epsilon":"16.0"'];
  const others = [
    await changed(pilot, CLIP, LINEAR, NARROW), // it does not follow
    await changed(pilot, CLIP, LINEAR, NARROW, ["null", `"${"f".repeat(64)}"`]),
    await changed(second, epsilon),
    await changed(pilot, LINEAR, NARROW, AFTER), // whether a record fits would depend on the range
    await changed(second, ['"high":0.25', '"high":2.0']),
    await changed(second, ['"low":0.0', '"low":-1.0']),
    await changed(second, ['"name":"x"', '"name":"y"'], ['["x"]', '["y"]']),
    await changed(second, ['"values":["a","b"]', '"values":["a","d"]']),
  ];
  for (const plan of others) {
    const { client } = naming({ plan: plan.id }, [pilot, plan]);
    await assert.rejects(client.current(pilot.id), CollectorError, plan.text);
  }
  const plain = await changed(small, CLIP, NARROW, ['"after":null', `"after":"${small.id}"`]); // its number is not wide
  await assert.rejects(naming({ plan: plain.id }, [small, plain]).client.current(small.id), CollectorError);
});

test("odd answers about the current plan are refused", async () => {
  for (const answer of [{}, [], null, { plan: 7 }, { plan: null }, { plan: "x" }, { plan: pilot.id, more: 1 }]) {
    await assert.rejects(naming(answer, [pilot]).client.current(pilot.id), CollectorError);
  }
});
