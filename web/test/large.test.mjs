// Long lists, and the channel for them.
import assert from "node:assert/strict";
import test from "node:test";
import { bytes, hush, large, vectors, Words } from "./words.mjs";

const { Plan, PlanError, RecordError } = hush;
const file = vectors("lists");
const listed = vectors("channel-listed").plan;

test("the lists of the vectors are taken, and others are not", async () => {
  for (const { list, text } of file.good) await large.addList(list, bytes(text));
  for (const { why, list, text } of file.bad) await assert.rejects(large.addList(list, bytes(text)), PlanError, why);
});

test("a plan whose list is not here is refused", async () => {
  const other = listed.replace(/"sha256":"[0-9a-f]{8}/, '"sha256":"00000000');
  await assert.rejects(Plan.parse(other), PlanError);
  await assert.rejects(Plan.parse(listed.replace('"count":5000', '"count":4999')), PlanError);
  assert.ok(await Plan.parse(listed));
});

test("the values of a list are found", async () => {
  const plan = await Plan.parse(listed);
  const encoded = (page) => plan.encode({ two: "yes", page })[1];
  assert.equal(encoded("https://example.org/0"), 0);
  assert.equal(encoded("https://example.org/☂4999"), 4999);
  assert.equal(encoded("elsewhere"), 5000);
  assert.equal(encoded(null), 5001);
  assert.throws(() => plan.encode({ two: "yes", page: 7 }), RecordError);
});

test("the lists of a plan are known from its text", () => {
  const [named, ...others] = large.listsOf(listed);
  assert.equal(others.length, 0);
  assert.deepEqual(named, file.good[1].list);
  assert.deepEqual(large.listsOf(vectors("channel-subset").plan), []);
  for (const bad of ['{"count":0', '{"count":4194303', '{"count":"5000"'])
    assert.throws(() => large.listsOf(listed.replace('{"count":5000', bad)), PlanError);
  assert.throws(() => large.listsOf(listed.replace("pages.txt", "../pages.txt")), PlanError);
  assert.throws(() => large.listsOf("{"), PlanError);
});

test("lists are fetched from the collector, once, and checked", async (t) => {
  const [good, asked] = [bytes(file.good[1].text), []];
  const text = listed.replace("pages.txt", "again.txt");
  let answer = new Response(good.slice(1));
  t.mock.method(globalThis, "fetch", async (url, options) => {
    asked.push(String(url));
    const { signal, ...others } = options;
    assert.ok(signal instanceof AbortSignal);
    assert.deepEqual(others, { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", headers: {} });
    return answer;
  });
  await assert.rejects(large.fetchLists(text, "https://example.org/hush"), /its hash is another one/);
  answer = new Response(null, { status: 404 });
  await assert.rejects(large.fetchLists(text, "https://example.org/hush/"), /could not be fetched/);
  answer = new Response(good);
  await large.fetchLists(text, "https://example.org/hush");
  await large.fetchLists(text, "https://example.org/hush");
  assert.equal(asked.length, 3);
  assert.ok(asked.every((url) => url === `https://example.org/hush/lists/${file.good[1].list.sha256}`));
  assert.ok(await Plan.parse(text));
});

test("a token goes with the request for a list, in a header", async () => {
  const text = listed.replace("pages.txt", "secret.txt");
  const asked = [];
  const fetch = async (url, { headers }) => {
    asked.push([url, headers]);
    return new Response(bytes(file.good[1].text));
  };
  await large.fetchLists(text, "https://example.org", { token: "abc", fetch });
  const url = `https://example.org/lists/${file.good[1].list.sha256}`;
  assert.deepEqual(asked, [[url, { Authorization: "Bearer abc" }]]);
});

test("a token for a list goes to another machine by https only", async () => {
  const text = listed.replace("pages.txt", "secret-http.txt");
  const never = () => assert.fail("it was sent");
  await assert.rejects(large.fetchLists(text, "http://example.org", { token: "abc", fetch: never }), /without a token/);
});

/** The text of a plan, as far as its lists are concerned. */
const naming = (...named) => JSON.stringify({ schema: [{ kind: "numeric" }, { values: null }, ...named.map((values) => ({ values }))] });
const sha256 = async (text) => Buffer.from(await crypto.subtle.digest("SHA-256", text)).toString("hex");

test("what a plan may say of a list ends where it ends in Python", () => {
  const named = { ...file.good[1].list };
  for (const good of [{ count: 1 }, { count: 4194302 }, { name: "x".repeat(64) }])
    assert.deepEqual(large.listsOf(naming({ ...named, ...good })), [{ ...named, ...good }]);
  for (const bad of [{ name: "x".repeat(65) }, { name: "a/b" }, { name: 7 }])
    assert.throws(() => large.listsOf(naming({ ...named, ...bad })), PlanError);
});

test("a list may be as long as 2^28 bytes, and a value as 256 characters", async () => {
  const named = file.good[1].list;
  await assert.rejects(large.addList(named, { length: 2 ** 28 + 1 }), /must be shorter/);
  await assert.rejects(large.addList(named, { length: 2 ** 28 }), TypeError); // it goes on, and these are no bytes
  const text = new TextEncoder().encode(`${"x".repeat(256)}\n`);
  await large.addList({ count: 1, name: "long.txt", sha256: await sha256(text) }, text);
});

test("a list that is known does not keep the next one from being fetched", async () => {
  const text = new TextEncoder().encode("a\nb\n");
  const next = { count: 2, name: "next.txt", sha256: await sha256(text) };
  const asked = [];
  const fetch = async (url) => (asked.push(url), new Response(text));
  await large.fetchLists(naming(file.good[1].list, next), "https://example.org", { fetch });
  assert.deepEqual(asked, [`https://example.org/lists/${next.sha256}`]);
});

/** A list that comes in parts of 64 KiB, as long as it is read, with pauses between them. */
function endless(most, pause = 0) {
  const found = { read: 0, cancelled: false };
  found.stream = new ReadableStream({
    async pull(control) {
      if (pause) await new Promise((resolve) => setTimeout(resolve, pause));
      found.read += 2 ** 16;
      if (found.read > most) control.close();
      else control.enqueue(new Uint8Array(2 ** 16).fill(0x61));
    },
    cancel() {
      found.cancelled = true;
    },
  });
  return found;
}

test("a list that is longer than its lines may be is not read to its end", async () => {
  const named = { count: 200, name: "endless.txt", sha256: "0".repeat(64) };
  const found = endless(2 ** 26);
  const fetch = async () => new Response(found.stream);
  await assert.rejects(large.fetchLists(naming(named), "https://example.org", { fetch }), /longer than the plan says/);
  assert.ok(found.read <= 2 ** 19 && found.cancelled); // 200 lines of 1025 bytes, and what was under way
  // A list that is as long as it may be is read.
  const text = new TextEncoder().encode(`${"\u{1f600}".repeat(256)}\n`);
  const whole = { count: 1, name: "wide.txt", sha256: await sha256(text) };
  assert.equal(text.length, 1025);
  await large.fetchLists(naming(whole), "https://example.org", { fetch: async () => new Response(text) });
});

test("a list that does not come, or stops coming, is given up", async () => {
  const named = { count: 4194302, name: "late.txt", sha256: "0".repeat(64) };
  const never = () => new Promise(() => undefined);
  const stopped = async () => new Response(new ReadableStream({ start: (control) => control.enqueue(new Uint8Array(9)) }));
  let signal;
  for (const way of [never, stopped, async () => new Response(endless(2 ** 28, 5).stream)]) {
    const fetch = (_, init) => ((signal = init.signal), way());
    const start = Date.now();
    const failure = await large.fetchLists(naming(named), "https://example.org", { fetch, timeout: 50 }).catch((error) => error);
    assert.ok(failure instanceof hush.CollectorError, String(failure));
    assert.match(failure.message, /the list late.txt could not be fetched: TimeoutError/);
    assert.ok(signal.aborted && Date.now() - start < 5000);
  }
  const refused = async () => Promise.reject(new TypeError("secret"));
  await assert.rejects(large.fetchLists(naming(named), "https://example.org", { fetch: refused }), /could not be fetched: TypeError$/);
});

test("a slow list is read if each megabyte comes in time", async () => {
  const text = new TextEncoder().encode(Array.from({ length: 2 ** 16 }, (_, i) => `${i}`.padStart(63, "x")).join("\n") + "\n"); // 4 MiB
  const named = { count: 2 ** 16, name: "slow.txt", sha256: await sha256(text) };
  let at = 0;
  const stream = new ReadableStream({
    async pull(control) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      if (at === text.length) return control.close();
      control.enqueue(text.slice(at, (at += 2 ** 20)));
    },
  });
  const fetch = async () => new Response(stream);
  await large.fetchLists(naming(named), "https://example.org", { fetch, timeout: 1000 });
  assert.ok(hush.lists.has(JSON.stringify(named)));
});

/** The text of a plan that asks for one of some numbered categories by a geometry channel. */
function asking(order, digits, size, threshold = 3n << 62n, categories = size) {
  const values = Array.from({ length: categories }, (_, i) => i);
  return (
    `{"after":null,"epsilon":"16.0","hush":2,"k":1,"questions":[{"channel":{"digits":${digits},"kind":"geometry","order":${order},` +
    `"size":${size},"threshold":"${threshold}"},"views":[{"kind":"value","of":["n"]}]}],"schema":[{"kind":"categorical","name":"n",` +
    `"optional":false,"values":${JSON.stringify(values)}}],"title":"","weights":null}`
  );
}

for (const [order, digits] of [[2, 3], [2, 4], [3, 3], [4, 3], [5, 3], [7, 3], [8, 3], [9, 3]]) {
  test(`geometry of order ${order} and ${digits} digits: every draw gives another point, and the right ones are likelier`, async () => {
    const points = (order ** digits - 1) / (order - 1);
    const inside = (order ** (digits - 1) - 1) / (order - 1);
    const plan = await Plan.parse(asking(order, digits, points));
    const { channel } = plan.questions[0];
    /** A word for which `below` gives i. */
    const word = (i, n) => ((BigInt(i) << 64n) + (1n << 63n)) / BigInt(n);
    const drawn = (category, meets, i, outputs) => {
      const words = [meets ? 0n : 3n << 62n, word(meets ? i : 0, inside), word(meets ? 0 : i, points - inside)];
      const coins = new Words(words);
      const output = channel.draw([category], coins);
      assert.equal(coins.left, 0);
      outputs.add(output);
      return hush.likelihood(plan, 0, output, { n: category });
    };
    for (let category = 0; category < points; category += points > 50 ? 7 : 1) {
      const outputs = new Set();
      for (let i = 0; i < inside; i++) assert.equal(drawn(category, true, i, outputs), 0.75 / inside);
      assert.equal(outputs.size, inside);
      for (let i = 0; i < points - inside; i++) assert.equal(drawn(category, false, i, outputs), 0.25 / (points - inside));
      assert.deepEqual([...outputs].sort((a, b) => a - b), [...Array(points).keys()]);
    }
  });
}

test("the rules of a geometry end where they end in Python", async () => {
  const fits = /the channel must fit/; // the channel was taken: it is the schema that has fewer categories
  for (const [order, digits, size] of [[2, 3, 7], [2, 22, 2 ** 22 - 1], [2, 22, 2 ** 21], [2039, 3, 4159561], [125, 3, 15751], [128, 3, 16513], [3, 14, 2391484]])
    await assert.rejects(Plan.parse(asking(order, digits, size, (1n << 64n) - (1n << 62n), 2)), fits);
  for (const [order, digits, size, rule] of [
    [1, 3, 7, /^order must be an integer from 2 to 2047$/],
    [2048, 3, 7, /^order must be an integer from 2 to 2047$/],
    [2, 2, 3, /^digits must be an integer from 3 to 22$/],
    [2, 23, 2 ** 23 - 1, /^digits must be an integer from 3 to 22$/],
    [6, 3, 43, /^order must be a prime/],
    [2047, 3, 7, /^order must be a prime/],
    [169, 3, 28731, /^order must be a prime, or a power of one up to 128$/],
    [3, 15, 7174453, /^points must be at most 2\^22$/],
    [2, 3, 3, /^size must be an integer from 4 to 7$/],
    [2, 3, 8, /^size must be an integer from 4 to 7$/],
  ])
    await assert.rejects(Plan.parse(asking(order, digits, size, 3n << 62n, 2)), (error) => error instanceof PlanError && rule.test(error.message));
  // Of 7 points 3 are orthogonal to a given one: with 3/7 of the words or fewer none is likelier.
  const even = ((1n << 64n) * 3n) / 7n;
  await assert.rejects(Plan.parse(asking(2, 3, 7, even)), /favour the truth/);
  assert.ok(await Plan.parse(asking(2, 3, 7, even + 1n)));
});

/** Adds a long list of random values, and returns it with a schema of one attribute that has them. */
async function longList(count) {
  const values = Array.from({ length: count }, (_, i) => `${Math.random().toString(36).slice(2, 12)}-${i}`);
  const text = new TextEncoder().encode(`${values.join("\n")}\n`);
  const named = { count, name: "long.txt", sha256: await sha256(text) };
  await large.addList(named, text);
  return [values, [{ kind: "categorical", name: "c", optional: true, other: true, values: named }]];
}

// One hash of 27 bits would have to be drawn anew some e^37 times until no two of these values had the same.
// tests/web/test_long_lists.py asks for more.
const COUNT = Number(process.env.HUSH_WEB_LISTED ?? 100_000);

test("a table of many values is made at once, and finds all of them", { timeout: 300_000 }, async () => {
  const [values, json] = await longList(COUNT);
  const schema = hush.readSchema(json);
  for (let i = 0; i < COUNT; i += Math.ceil(COUNT / 1000)) assert.deepEqual(hush.encode(schema, { c: values[i] }), [i]);
  assert.deepEqual(hush.encode(schema, { c: values.at(-1) }), [COUNT - 1]);
  assert.deepEqual(hush.encode(schema, { c: "another" }), [COUNT]);
  assert.deepEqual(hush.encode(schema, {}), [COUNT + 1]);
});

test("making a table ends, whatever is drawn", async (t) => {
  const schema = [{ kind: "categorical", name: "c", optional: false, values: ["one", "two", "three"] }];
  let drawn = 0;
  const tries = t.mock.method(crypto, "getRandomValues", (words) => {
    if (++drawn > 100) throw new Error("it goes on");
    return words.fill(0); // all texts have the same hash
  });
  assert.throws(() => hush.readSchema(schema), PlanError);
  assert.equal(drawn, 9);
  tries.mock.restore();
  assert.equal(hush.readSchema(schema).length, 1);
});
