// Taking part in a training: once, whatever the round, in all tabs and after every reload; and only as the page expects.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pool } from "./hostile.mjs";
import { hex, hush, small, training, trainingFiles, vectors } from "./words.mjs";

const { BudgetError, Client, CollectorError, Ledger, LedgerError, MemoryStore, PlanError, randomiseFrom, RecordError } = hush;
const { answer, belongs, readPhase, subject, taken } = training;

const { phase: ROUND, good } = vectors("training-logistic");
const { record, label } = good[4];
const MEANS = vectors("training-classes-pilot-means").phase;
const CHECK = vectors("training-check-logistic").phase;
const CLASS = vectors("training-classes");

const json = (value, status = 200) => new Response(JSON.stringify(value), { status });
const counted = ({ init }) => json({ id: hex(init.body.slice(9, 25)), new: true, reports: 1 }, 202);

/** The same round under another number, or with other values. */
function changed(text, { number, ...rest } = {}) {
  const value = JSON.parse(text);
  if (number !== undefined) {
    value.number = number;
    value.plan.title = value.plan.title.replace(/\d+$/, number);
  }
  Object.assign(value.training, rest);
  return JSON.stringify(value);
}

/** A browser: a ledger, and a collector that answers as it is told. */
async function browser(rounds, post = counted, { cap = 4, store = new MemoryStore(), ...options } = {}) {
  const calls = [];
  const ledger = await Ledger.open({ cap, store });
  const fetch = async (url, init) => {
    const call = { path: url.slice("https://example.org".length), init };
    calls.push(call);
    if (init.method === "POST") return post(call);
    const [, , name, what] = call.path.split("/");
    const found = rounds(decodeURIComponent(name), what);
    return found === undefined ? json({}, 404) : new Response(found);
  };
  const client = new Client("https://example.org", { fetch, ledger, pause: 1, attempts: 2, ...options });
  const sent = () => calls.filter(({ init }) => init.method === "POST");
  return { calls, client, ledger, sent, store };
}

test("a person takes part once: the report goes to its round, and a second call sends nothing", async () => {
  const { client, calls, ledger, sent } = await browser(() => ROUND);
  const first = await client.train("who buys", record, label);
  assert.equal(first.new, true);
  assert.deepEqual(calls.map(({ path }) => path), ["/trainings/who%20buys/round", "/trainings/who%20buys/gradients?round=3"]);
  assert.equal(calls[1].init.headers["Content-Type"], "application/vnd.hush.report");
  const again = await client.train("who buys", { ...record, age: 90 }, "no");
  assert.deepEqual(again, { id: first.id, new: false });
  assert.equal(sent().length, 1);
  assert.equal((await ledger.entries()).length, 1);
  assert.equal(await ledger.spent(), "1.0");
  assert.equal(await taken(ledger, (await readPhase(ROUND)).training), "arrived");
});

/** The same phase with another seed, another title, or both. */
function reseeded(text, seed, title) {
  const value = JSON.parse(text);
  const old = value.training;
  value.training = { ...old, seed, title: title ?? old.title };
  value.plan.title = value.plan.title.replace(`${old.title} [${old.seed}]: `, () => `${title ?? old.title} [${seed}]: `);
  return JSON.stringify(value);
}

test("a server that fails and sends another seed gets the same report again, from a page that names a training or has it", async () => {
  for (const [first, check] of [[ROUND, false], [MEANS, false], [CHECK, true]]) {
    for (const object of [false, true]) {
      let now = first;
      const { client, ledger, sent } = await browser(() => now, () => json({}, 503), { cap: 100, attempts: 1 });
      const take = () => client.train(object ? { training: JSON.parse(now).training } : "who buys", record, label, { check });
      await assert.rejects(take(), CollectorError);
      for (const seed of ["b", `${JSON.parse(first).training.seed}]: `, "x] [y", "]: round 3"]) {
        now = reseeded(first, seed);
        await assert.rejects(take(), CollectorError);
      }
      assert.equal(sent().length, 5);
      assert.equal(new Set(sent().map(({ path, init }) => `${path} ${hex(init.body)}`)).size, 1);
      assert.equal((await ledger.entries()).length, 1);
    }
  }
});

test("subjects of names, and the plans that belong to them", () => {
  const { subjects, plans } = vectors("names");
  assert.ok(subjects.length > 10 && plans.length > 40);
  for (const { name, subject: own } of subjects) assert.equal(subject(name), own, name);
  for (const { name, title, belongs: own } of plans) assert.equal(belongs(title, name), own, title);
});

test("two tabs with two seeds draw one report", async () => {
  const store = new MemoryStore();
  const tabs = [ROUND, reseeded(ROUND, "b"), reseeded(ROUND, "c")].map((text) => browser(() => text, counted, { store, cap: 100 }));
  await Promise.all(tabs.map(async (tab) => (await tab).client.train("who buys", record, label)));
  assert.equal((await (await tabs[0]).ledger.entries()).length, 1);
});

test("a name that fits two titles has one report", async () => {
  const { training: one } = JSON.parse(CLASS.phase);
  const name = `${one.title} (class 2)`; // class 2 of its title, or a title of its own: the collector chooses
  let now = CLASS.phase;
  const { client, ledger } = await browser(() => now, () => json({}, 503), { cap: 100, attempts: 1 });
  await assert.rejects(client.train(name, CLASS.good[0].record, CLASS.good[0].label), CollectorError);
  now = reseeded(ROUND, "b", name);
  await assert.rejects(client.train(name, record, label));
  assert.equal((await ledger.entries()).length, 1);
  // Another name is another training, though it begins alike.
  now = reseeded(ROUND, "b", `${one.title}!`);
  await assert.rejects(client.train(`${one.title}!`, record, label), CollectorError);
  assert.equal((await ledger.entries()).length, 2);
});

test("a name that fits two titles has one description, though nobody answered", async () => {
  const { training: one } = JSON.parse(CLASS.phase);
  const name = `${one.title} (class 2)`;
  const other = reseeded(ROUND, "b", name);
  for (const [first, second, person] of [[CLASS.phase, other, { record, label }], [other, CLASS.phase, CLASS.good[0]]]) {
    let now = first;
    const { client, ledger } = await browser(() => now);
    await assert.rejects(client.train(name, {}, "nothing"), RecordError); // the description is kept
    now = second;
    for (const given of [person.record, {}]) await assert.rejects(client.train(name, given, person.label), LedgerError);
    assert.equal((await ledger.entries()).length, 0);
  }
});

test("of a training whose name looks like a seed of this one, nothing is sent to this one", async () => {
  for (const post of [counted, () => json({}, 503)]) {
    let now = reseeded(ROUND, "s", "who buys [x]");
    const { client, sent } = await browser(() => now, post, { cap: 100, attempts: 1 });
    await client.train("who buys [x]", record, label).catch(() => undefined);
    assert.equal(sent().length, 1);
    now = ROUND;
    await assert.rejects(client.train("who buys", record, label), BudgetError);
    assert.equal(sent().length, 1);
    // The other way round both are answered, each by its own.
    const other = await browser((name) => (name === "who buys" ? ROUND : reseeded(ROUND, "s", name)), post, { cap: 100, attempts: 1 });
    for (const name of ["who buys", "who buys [x]", "who buys"]) await other.client.train(name, record, label).catch(() => undefined);
    const paths = other.sent().map(({ path }) => path.split("/")[2]);
    assert.deepEqual(paths.slice(0, 2), ["who%20buys", "who%20buys%20%5Bx%5D"]);
    assert.deepEqual(paths.slice(2), post === counted ? [] : ["who%20buys"]);
  }
});

test("the report of a survey with such a title is not sent to a training", async () => {
  const { client, ledger, sent } = await browser(() => ROUND);
  const { plan } = await readPhase(changed(ROUND, { number: 2 })); // a collector can publish any plan as a survey
  await ledger.draw(plan, answer(await readPhase(changed(ROUND, { number: 2 })), record, label));
  await assert.rejects(client.train("who buys", record, label), BudgetError);
  assert.equal(sent().length, 0);
  assert.equal((await ledger.entries()).length, 1);
});

test("another round, or the round after the pilot, asks nobody twice", async () => {
  for (const first of [ROUND, MEANS]) {
    let now = first;
    const { client, ledger, sent } = await browser(() => now);
    await client.train("who buys", record, label);
    assert.match(sent()[0].path, first === MEANS ? /\/pilot\?stage=means$/ : /\/gradients\?round=3$/);
    for (now of [changed(ROUND, { number: 4 }), changed(ROUND, { number: 21 }), MEANS]) {
      assert.equal((await client.train("who buys", record, label)).new, false);
    }
    assert.equal(sent().length, 1);
    assert.equal((await ledger.entries()).length, 1);
  }
});

test("a held-out person reports a loss, and takes part in nothing else", async () => {
  const { client, calls, ledger, sent } = await browser((_, what) => (what === "check" ? CHECK : ROUND));
  const first = await client.train("who buys", record, label, { check: true });
  assert.deepEqual(calls.map(({ path }) => path), ["/trainings/who%20buys/check", "/trainings/who%20buys/losses?round=3"]);
  for (const options of [{ check: true }, {}]) {
    assert.deepEqual(await client.train("who buys", record, label, options), { id: first.id, new: false });
  }
  assert.equal(sent().length, 1);
  assert.equal((await ledger.entries()).length, 1);
  const other = await browser((_, what) => (what === "check" ? CHECK : ROUND));
  await other.client.train("who buys", record, label);
  assert.equal((await other.client.train("who buys", record, label, { check: true })).new, false);
  assert.match(other.sent()[0].path, /gradients\?round=3$/);
});

test("a lost loss is sent again to its round; one of several classes goes to its own", async () => {
  let up = false;
  const store = new MemoryStore();
  const post = (call) => (up ? counted(call) : json({}, 503));
  const first = await browser(() => CHECK, post, { store });
  await assert.rejects(first.client.train("who buys", record, label, { check: true }), CollectorError);
  up = true;
  const later = await browser(() => changed(ROUND, { number: 9 }), post, { store });
  await later.client.train("who buys", record, label);
  assert.equal(later.sent()[0].path, "/trainings/who%20buys/losses?round=3");
  assert.equal(hex(later.sent()[0].init.body), hex(first.sent()[0].init.body));
  const { phase, good: people } = vectors("training-check-classes");
  const classes = await browser(() => phase);
  await classes.client.train(JSON.parse(phase).training.title + " (class 2)", people[0].record, people[0].label, { check: true });
  assert.match(classes.sent()[0].path, /\(class%202\)\/losses\?round=12$/);
});

test("nobody is held out unasked, and a check is none of another training, nor after the end", async () => {
  const over = JSON.parse(CHECK);
  over.check = 21;
  over.plan.title = over.plan.title.replace(/\d+$/, "21");
  for (const [found, options, error] of [
    [CHECK, {}, /another training/],
    [ROUND, { check: true }, /another training/],
    [MEANS, { check: true }, /another training/],
    [changed(CHECK, { penalty: 0.5 }), { check: true }, /another training/],
    [JSON.stringify(over), { check: true }, /over/],
  ]) {
    const { client, sent, ledger } = await browser(() => found);
    await assert.rejects(client.train({ training: JSON.parse(ROUND).training }, record, label, options), error);
    assert.equal(sent().length, 0);
    assert.equal((await ledger.entries()).length, 0);
  }
});

test("two tabs in two rounds send one report", async () => {
  const store = new MemoryStore();
  const tabs = [await browser(() => ROUND, counted, { store }), await browser(() => changed(ROUND, { number: 4 }), counted, { store })];
  const receipts = await Promise.all(tabs.flatMap(({ client }) => [1, 2].map(() => client.train("who buys", record, label))));
  assert.equal(new Set(receipts.map(({ id }) => id)).size, 1);
  assert.equal((await tabs[0].ledger.entries()).length, 1);
  const bodies = tabs.flatMap(({ sent }) => sent().map(({ path, init }) => `${path} ${hex(init.body)}`));
  assert.ok(bodies.length >= 1);
  assert.equal(new Set(bodies).size, 1);
});

test("a report that did not arrive is sent again as it was, to the round in which it was drawn", async () => {
  let up = false;
  let now = ROUND;
  const store = new MemoryStore();
  const post = (call) => (up ? counted(call) : json({}, 503));
  const first = await browser(() => now, post, { store });
  await assert.rejects(first.client.train("who buys", record, label), CollectorError);
  assert.equal(first.sent().length, 2);
  up = true;
  now = changed(ROUND, { number: 9 });
  const later = await browser(() => now, post, { store }); // after a reload
  await later.client.train("who buys", { ...record, age: 20 }, "no");
  assert.equal(later.sent()[0].path, "/trainings/who%20buys/gradients?round=3");
  assert.equal(hex(later.sent()[0].init.body), hex(first.sent()[0].init.body));
});

test("a report that came too late is refused for good, and no other is drawn", async () => {
  const late = () => json({ type: "urn:hush:problem:late", title: "This round is over", status: 409 }, 409);
  const { client, ledger } = await browser(() => ROUND, late);
  for (let i = 0; i < 2; i++) {
    await assert.rejects(client.train("who buys", record, label), (error) => error.status === 409 && error.kind === "late");
  }
  assert.equal((await ledger.entries()).length, 1);
});

test("a record or label that does not fit costs and sends nothing", async () => {
  for (const [one, other] of [[{ ...record, age: 1234 }, label], [record, "perhaps"], [{}, label], [record, undefined], [{ ...record, shoe: 1 }, label]]) {
    const { client, ledger, sent } = await browser(() => ROUND);
    await assert.rejects(client.train("who buys", one, other), (error) => {
      assert.ok(error instanceof RecordError);
      assert.doesNotMatch(error.message, /1234|perhaps|shoe/);
      return true;
    });
    assert.equal(sent().length, 0);
    assert.equal((await ledger.entries()).length, 0);
    assert.equal((await client.train("who buys", record, label)).new, true);
  }
});

test("no other schema or label under the same title, whatever the record", async () => {
  const value = JSON.parse(ROUND);
  const narrow = value.training.schema.map((one) => (one.name === "age" ? { ...one, high: 60 } : one));
  const label2 = { ...value.training.label, attribute: { ...value.training.label.attribute, values: ["yes", "no"] } };
  for (const change of [{ schema: narrow }, { label: label2 }]) {
    let now = ROUND;
    const { client, ledger } = await browser(() => now);
    await assert.rejects(client.train("who buys", { ...record, age: 1234 }, label), RecordError); // the description is kept
    now = changed(ROUND, change);
    for (const age of [20, 61]) await assert.rejects(client.train("who buys", { ...record, age }, label), LedgerError);
    assert.equal((await ledger.entries()).length, 0);
    now = ROUND;
    assert.equal((await client.train("who buys", record, label)).new, true);
  }
});

test("no other map under the same title", async () => {
  const { phase, good: people } = vectors("training-map-waves");
  const { map } = JSON.parse(phase).training;
  let now = phase;
  const { client, ledger } = await browser(() => now);
  await assert.rejects(client.train("who buys", {}, people[0].label), RecordError); // the description is kept
  now = changed(phase, { map: { ...map, seed: "another" } });
  await assert.rejects(client.train("who buys", people[0].record, people[0].label), LedgerError);
  assert.equal((await ledger.entries()).length, 0);
  now = phase;
  assert.equal((await client.train("who buys", people[0].record, people[0].label)).new, true);
  const { client: held } = await browser(() => changed(phase, { map: { ...map, seed: "another" } }));
  await assert.rejects(held.train({ training: JSON.parse(phase).training }, people[0].record, people[0].label), /another training/);
});

test("of an expected training the pilot decides a few settings, and nobody anything else", async () => {
  const expected = { training: JSON.parse(MEANS).training }; // a course is such an object
  const { client } = await browser(() => ROUND);
  assert.equal((await client.train(expected, record, label)).new, true);
  for (const change of [{ penalty: 0.5 }, { bound: 2 }, { cap: 3 }, { k: "paper" }, { projection: null, selection: [1, 1, 0.5] }]) {
    const { client, sent, ledger } = await browser(() => changed(ROUND, change));
    await assert.rejects(client.train(expected, record, label), /another training/);
    assert.equal(sent().length, 0);
    assert.equal((await ledger.entries()).length, 0);
  }
  const { client: named } = await browser(() => changed(CLASS.phase));
  await assert.rejects(named.train("who buys", record, label), /another training/);
  await assert.rejects(named.train({ training: {} }, record, label), PlanError);
});

test("of several classes one is drawn, whatever the record, and only once", async () => {
  const text = (against) => {
    const value = JSON.parse(changed(CLASS.phase, { against }));
    value.plan.title = value.plan.title.replace(/class \d/, `class ${against + 1}`);
    return JSON.stringify(value);
  };
  const rounds = (name) => text(Number(/class (\d)/.exec(name)[1]) - 1);
  const expected = { training: JSON.parse(CLASS.phase).training };
  const [person] = CLASS.good;
  const drawn = [0, 0, 0];
  for (let i = 0; i < 120; i++) {
    const { client, ledger, sent } = await browser(rounds);
    await client.train(expected, person.record, person.label);
    await client.train(expected, person.record, person.label);
    const [call, ...others] = sent();
    assert.equal(others.length, 0);
    const [, place] = /^\/trainings\/Wege%20%E2%98%82%20\(class%20(\d)\)\/gradients\?round=12$/.exec(call.path);
    drawn[Number(place) - 1]++;
    assert.equal((await ledger.entries()).length, 1);
  }
  // Each count is binomial (120, 1/3), with a standard deviation of 5.2: beyond 40 +- 30 with probability 3e-8 at most.
  for (const count of drawn) assert.ok(count > 10 && count < 70, String(drawn));
});

test("a cap, and the most that a page allows, hold", async () => {
  const { client, ledger } = await browser(() => ROUND, counted, { cap: 0.5 });
  await assert.rejects(client.train("who buys", record, label), BudgetError);
  assert.equal((await ledger.entries()).length, 0);
  const other = await browser(() => ROUND);
  await assert.rejects(other.client.train("who buys", record, label, { epsilon: 0.5 }), BudgetError);
  assert.equal((await other.client.train("who buys", record, label, { epsilon: 1 })).new, true);
});

test("a training that is over asks nobody, and false answers are refused", async () => {
  const { client } = await browser(() => changed(ROUND, { number: 21 }));
  await assert.rejects(client.train("who buys", record, label), /over/);
  const { client: unknown } = await browser(() => undefined);
  await assert.rejects(unknown.train("who buys", record, label), (error) => error.status === 404);
  const { client: broken, ledger } = await browser(() => "{}");
  await assert.rejects(broken.train("who buys", record, label), PlanError);
  assert.equal((await ledger.entries()).length, 0);
  const { client: false_ } = await browser(() => ROUND, () => json({ id: "0".repeat(32), new: true, reports: 1 }, 202));
  await assert.rejects(false_.train("who buys", record, label), /receipt/);
  await assert.rejects(new Client("https://example.org").train("who buys", record, label), LedgerError);
});

test("an ordinary plan with a title of the training's family is not sent as a gradient", async () => {
  const value = JSON.parse(ROUND);
  const { family } = (await readPhase(ROUND)).training;
  const { client, ledger, sent } = await browser(() => ROUND);
  const plan = await hush.Plan.parse(hush.canonical({ ...value.plan, title: `${family}../../plans` }));
  await ledger.draw(plan, Object.fromEntries(plan.schema.map(({ name }) => [name, 0])));
  await assert.rejects(client.train("who buys", record, label), BudgetError);
  assert.equal(sent().length, 0);
});

test("a device that took no part says so, and sends nothing", async () => {
  const { ledger } = await browser(() => ROUND);
  const { training: own } = await readPhase(ROUND);
  const way = { get: () => assert.fail("asked"), post: () => assert.fail("sent") };
  assert.equal(await taken(ledger, own), undefined);
  await assert.rejects(training.send(way, ledger, own), (error) => error instanceof LedgerError && /has no answer to this training/.test(error.message));
});

test("a ledger that is gone is not begun anew by a training", async () => {
  const ledger = await Ledger.open({ cap: 4, store: new MemoryStore() });
  ledger.store.update = async (change) => assert.equal(change(undefined), "nothing is written");
  const way = { get: async () => new TextEncoder().encode(ROUND), post: () => assert.fail("sent") };
  await assert.rejects(training.train(way, ledger, "who buys", record, label), (error) => error instanceof LedgerError && /is gone/.test(error.message));
});

test("a training follows no survey: whether that was answered would show in the silence of the device", async () => {
  const survey = await hush.Plan.parse(small.text);
  const after = survey.id;
  for (const answered of [true, false]) {
    const { client, ledger, sent } = await browser(() => JSON.stringify({ ...JSON.parse(ROUND), plan: { ...JSON.parse(ROUND).plan, after } }), counted, { cap: 16 });
    if (answered) await ledger.draw(survey, { x: 0.5, c: "a" });
    await assert.rejects(client.train("who buys", record, label), /follow no other/);
    assert.equal(sent().length, 0);
  }
});

test("a report is noted as on its way before it leaves, and as arrived when it has", async () => {
  const { training: own } = await readPhase(ROUND);
  const states = [];
  const { client, ledger } = await browser(() => ROUND, async (call) => {
    states.push(await taken(ledger, own));
    return counted(call);
  });
  await client.train("who buys", record, label);
  assert.deepEqual([...states, await taken(ledger, own)], ["sending", "arrived"]);
});

test("a report goes to no place that is only a part of its title", async () => {
  const value = JSON.parse(ROUND);
  const { family } = (await readPhase(ROUND)).training;
  for (const end of ["../round 3", "means/../round 3", "round 3/..", "class 2, round 3?"]) {
    const { client, ledger, sent } = await browser(() => ROUND);
    const plan = await hush.Plan.parse(hush.canonical({ ...value.plan, title: family + end }));
    await ledger.draw(plan, Object.fromEntries(plan.schema.map(({ name }) => [name, 0])), undefined, false, family);
    await assert.rejects(client.train("who buys", record, label), (error) => error instanceof BudgetError && /another plan under this training's name/.test(error.message));
    assert.equal(sent().length, 0);
  }
});

for (const name of trainingFiles) {
  test(`${name}: the same words, whatever the record`, async () => {
    const { phase: text, good: people } = vectors(name);
    const phase = await readPhase(text);
    const coins = new Pool();
    for (let i = 0; i < 6; i++) {
      coins.fill();
      const counts = people.map((person) => {
        coins.again();
        randomiseFrom(coins, phase.plan, answer(phase, person.record, person.label));
        return coins.used;
      });
      assert.equal(new Set(counts).size, 1);
    }
  });
}
