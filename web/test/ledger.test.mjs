// The ledger: one report per plan for good, and an exact cap.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, indexedDB, tablesOf } from "./database.mjs";
import { hex, hush, small, titled } from "./words.mjs";

const { askedBy, BudgetError, Ledger, LedgerError, MemoryStore, Plan, questionsOf, RecordError } = hush;
const record = { x: 0.5, c: "a" };

globalThis.indexedDB = indexedDB;
let names = 0;
const stores = {
  memory: () => ({ store: new MemoryStore() }),
  database: () => ({ name: `test ${names++}` }),
};

/** A plan of this epsilon. Its channel is hardly more than a fair coin, and so within any. */
async function costing(epsilon, title, after = null) {
  const subset = `{"kind":"subset","size":2,"threshold":"${(1n << 63n) + 1n}","weight":1}`;
  return Plan.parse(
    `{"after":${JSON.stringify(after)},"epsilon":"${epsilon}","hush":2,"k":1,"questions":[{"channel":${subset},"views":[{"kind":"value","of":["c"]}]}],"schema":[{"kind":` +
      `"categorical","name":"c","optional":false,"values":["a","b"]}],"title":"${title}","weights":null}`,
  );
}

for (const [kind, place] of Object.entries(stores)) {
  test(`${kind}: the same report again, whatever the record`, async () => {
    const where = place();
    const ledger = await Ledger.open({ cap: 1, ...where });
    const first = await ledger.randomise(small, record);
    const again = await ledger.randomise(small, { x: 1, c: "b" });
    const opened = await Ledger.open(where);
    assert.equal(hex(first.encode()), hex(again.encode()));
    assert.equal(hex((await opened.randomise(small, record)).encode()), hex(first.encode()));
    assert.equal(await opened.spent(), "1.0");
    assert.equal(opened.cap, "1.0");
    const [entry, ...others] = await opened.entries();
    assert.equal(others.length, 0);
    assert.deepEqual(Object.keys(entry).sort(), ["after", "epsilon", "plan", "report", "state", "title"]);
    assert.equal(entry.state, "drawn");
  });

  test(`${kind}: a cap is met exactly`, async () => {
    const ledger = await Ledger.open({ cap: 0.3, ...place() });
    await ledger.randomise(await costing("0.1", "one"), { c: "a" });
    await ledger.randomise(await costing("0.2", "two"), { c: "a" }); // 0.1 + 0.2 > 0.3 in floats
    assert.equal(await ledger.spent(), "0.3");
    await assert.rejects(ledger.randomise(await costing("0.001", "three"), { c: "a" }), BudgetError);
    assert.equal((await ledger.entries()).length, 2);
    const tight = await Ledger.open({ cap: 0.3, ...place() });
    await tight.randomise(await costing("0.30000000000000004", "above"), { c: "a" }).then(
      () => assert.fail("more than the cap"),
      (error) => assert.match(error.message, /costs 0.30000000000000004; of a cap of 0.3 this device has spent 0.0/),
    );
  });

  test(`${kind}: of all plans of a training one is answered, if that is wanted`, async () => {
    const ledger = await Ledger.open({ cap: 1, ...place() });
    const once = (name) => name && { name, has: (title) => title.startsWith(`training ${name}: `) };
    const draw = async (title, name) => ledger.draw(await costing("0.1", title), { c: "a" }, undefined, false, once(name));
    assert.equal(await draw("a survey"), true);
    assert.equal(await draw("training a: 1", "a"), true);
    assert.equal(await draw("training a: 2", "a"), false);
    assert.equal(await draw("training b: 1", "b"), true);
    assert.equal(await draw("training b: 2"), true);
    assert.equal(await ledger.spent(), "0.4");
    assert.deepEqual((await ledger.entries()).map(({ once }) => once), [undefined, "a", "b", undefined]);
  });

  test(`${kind}: of a plan and one that follows it one is answered, in either order`, async () => {
    const pilot = await costing("0.1", "pilot");
    const main = await costing("0.1", "main", pilot.id);
    const other = await costing("0.1", "another", "0".repeat(64));
    assert.equal(main.after, pilot.id);
    assert.equal(pilot.after, null);
    for (const [first, second] of [[pilot, main], [main, pilot]]) {
      const where = place();
      const ledger = await Ledger.open({ cap: 1, ...where });
      await ledger.randomise(first, { c: "a" });
      const opened = await Ledger.open(where); // it is on disk, and nothing was drawn for a plan that is refused
      await assert.rejects(opened.randomise(second, { c: "a" }), BudgetError);
      await assert.rejects(opened.draw(second, { c: "a" }), /excludes this plan/);
      assert.equal(await opened.spent(), "0.1");
      assert.equal(await opened.draw(first, { c: "b" }), false);
      assert.equal(await opened.draw(other, { c: "a" }), true);
    }
  });

  test(`${kind}: who is not led from a pilot may answer two plans that follow it`, async () => {
    const ledger = await Ledger.open({ cap: 1, ...place() });
    const [main, sibling, last] = await Promise.all(["main", "sibling", "last"].map((title) => costing("0.1", title, "0".repeat(64))));
    await ledger.randomise(main, { c: "a" });
    assert.ok(await ledger.ask(last));
    await ledger.randomise(sibling, { c: "a" });
    assert.equal(await ledger.spent(), "0.2");
    await assert.rejects(ledger.ask(await costing("0.1", "led", "0".repeat(64)), undefined, true), BudgetError); // the twin
  });

  test(`${kind}: questions are drawn once, before the answers, and are those of the report`, async () => {
    const where = place();
    const ledger = await Ledger.open({ cap: 1, ...where });
    const first = await ledger.ask(small);
    const names = askedBy(small, first.id);
    assert.equal(names.length, 1, "one question of two");
    for (let i = 0; i < 20; i++) assert.deepEqual(await ledger.ask(small, { id: "0".repeat(32) }), { ...first, first: small.id });
    const opened = await Ledger.open(where);
    assert.equal((await opened.asked())[small.id].id, first.id);
    assert.equal(await opened.spent(), "0.0");
    await assert.rejects(opened.randomise(small, {}), RecordError);
    const report = await opened.randomise(small, { [names[0]]: record[names[0]] });
    assert.notEqual(report.id, first.id); // a relay's own reports have ids that do not match either
    assert.deepEqual(report.answers.map(([question]) => question), questionsOf(small, first.id));
    assert.equal(await opened.spent(), "1.0");
    assert.equal(await ledger.ask(small), undefined);
    await assert.rejects(ledger.ask(await titled("another")), BudgetError); // nobody is asked for nothing
    assert.equal((await opened.entries())[0].ticket, undefined);
  });

  test(`${kind}: two tabs that ask at once draw the same questions`, async () => {
    const where = place();
    const tabs = [await Ledger.open({ cap: 1, ...where }), await Ledger.open(where)];
    const [one, two] = await Promise.all(tabs.map((ledger) => ledger.ask(small)));
    assert.equal(one.id, two.id);
    const whole = await tabs[0].randomise(small, record); // a whole record will do, and says no more
    assert.deepEqual(whole.answers.map(([question]) => question), questionsOf(small, one.id));
  });

  test(`${kind}: who was asked one plan of a pilot is asked no other`, async () => {
    const ledger = await Ledger.open({ cap: 1, ...place() });
    const pilot = await costing("0.1", "pilot");
    const [main, sibling] = [await costing("0.1", "main", pilot.id), await costing("0.1", "sibling", pilot.id)];
    await ledger.ask(main, undefined, true);
    await assert.rejects(ledger.ask(sibling, undefined, true), BudgetError);
    await assert.rejects(ledger.ask(pilot, undefined, true), BudgetError);
    await assert.rejects(ledger.draw(sibling, { c: "a" }, undefined, true), BudgetError);
    assert.equal(await ledger.draw(main, { c: "a" }, undefined, true), true);
    await assert.rejects(ledger.ask(pilot), BudgetError);
  });

  test(`${kind}: two tabs that answer a plan and one that follows it at once answer one`, async () => {
    const where = place();
    const one = await Ledger.open({ cap: 1, ...where });
    const two = await Ledger.open(where);
    const pilot = await costing("0.1", "pilot");
    const main = await costing("0.1", "main", pilot.id);
    const found = await Promise.allSettled([one.draw(main, { c: "a" }), two.draw(pilot, { c: "a" })]);
    assert.deepEqual(found.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    assert.equal((await one.entries()).length, 1);
  });

  test(`${kind}: two that ask at once get one report`, async () => {
    const where = place();
    const one = await Ledger.open({ cap: 1, ...where });
    const two = await Ledger.open(where);
    const reports = await Promise.all([one, two, one, two].map((ledger) => ledger.randomise(small, record)));
    assert.equal(new Set(reports.map((report) => report.id)).size, 1);
    assert.equal(await one.spent(), "1.0");
  });

  test(`${kind}: a bad record leaves no trace`, async () => {
    const ledger = await Ledger.open({ cap: 1, ...place() });
    await assert.rejects(ledger.randomise(small, { x: 2, c: "a" }), RecordError);
    assert.deepEqual(await ledger.entries(), []);
    assert.equal(await ledger.spent(), "0.0");
    assert.ok(await ledger.randomise(small, record));
  });

  test(`${kind}: it says whether a report is of this record`, async () => {
    const where = place();
    const [one, two] = [await Ledger.open({ cap: 1, ...where }), await Ledger.open({ cap: 1, ...where })];
    const drawn = await Promise.all([one, two, one].map((ledger) => ledger.draw(small, record)));
    assert.equal(drawn.filter(Boolean).length, 1);
    assert.equal(await two.draw(small, { x: 1, c: "b" }), false);
    await assert.rejects(one.draw(await titled("another"), record), BudgetError);
  });

  test(`${kind}: from drawn to arrived, and never back`, async () => {
    const ledger = await Ledger.open({ cap: 1, ...place() });
    await assert.rejects(ledger.sending(small), LedgerError);
    await assert.rejects(ledger.arrived(small), LedgerError);
    await ledger.draw(small, record);
    await assert.rejects(ledger.randomise(await titled("another"), record), BudgetError);
    assert.equal((await ledger.sending(small)).state, "sending");
    assert.equal((await ledger.arrived(small)).state, "arrived");
    assert.equal((await ledger.sending(small)).state, "arrived");
    assert.equal(await ledger.spent(), "1.0");
  });

  test(`${kind}: nothing that a ledger can do forgets a report or draws another one`, async () => {
    const ledger = await Ledger.open({ cap: 1, ...place() });
    const first = hex((await ledger.randomise(small, record)).encode());
    const methods = Object.getOwnPropertyNames(Ledger.prototype).filter((name) => name !== "constructor");
    assert.ok(methods.length >= 7);
    const tickets = [undefined, { id: "00112233445566778899aabbccddeeff", signature: "f".repeat(32) }];
    for (const ticket of tickets) {
      for (const name of [...methods, ...methods.reverse()]) {
        await ledger[name](small, { x: 1, c: "b" }, ticket);
        const [{ report }, ...others] = await ledger.entries();
        assert.equal(hex(report), first, name);
        assert.equal(others.length, 0, name);
      }
    }
    assert.equal(await ledger.spent(), "1.0");
  });

  test(`${kind}: the cap is fixed when the ledger is made`, async () => {
    const where = place();
    await assert.rejects(Ledger.open(where), /needs a cap/);
    for (const cap of [0, -1, NaN, Infinity, 1001, "1", null, 1e-7, true]) {
      await assert.rejects(Ledger.open({ cap, ...where }), LedgerError, String(cap));
    }
    await Ledger.open({ cap: 2, ...where });
    assert.equal((await Ledger.open({ cap: 2, ...where })).cap, "2.0");
    assert.equal((await Ledger.open(where)).cap, "2.0");
    await assert.rejects(Ledger.open({ cap: 1, ...where }), /cap of 2.0/);
    await assert.rejects(Ledger.open({ cap: 3, ...where }), /cap of 2.0/);
    assert.equal((await Ledger.open({ cap: 1e-6, ...place() })).cap, "0.000001");
  });

  test(`${kind}: what is handed out is a copy`, async () => {
    const ledger = await Ledger.open({ cap: 1, ...place() });
    const report = await ledger.randomise(small, record);
    (await ledger.entry(small)).report.fill(0);
    assert.deepEqual(await ledger.randomise(small, record), report);
  });
}

test("every transaction of a database is exclusive and durable", () => {
  assert.ok(asked.length > 20);
  for (const [mode, options] of asked) {
    assert.equal(mode, "readwrite");
    assert.deepEqual(options, { durability: "strict" });
  }
});

test("the ledger of a site has a name of its own", async () => {
  await assert.rejects(Ledger.open(), /needs a cap/);
  await Ledger.open({ cap: 3 });
  assert.equal((await Ledger.open({ name: "hush" })).cap, "3.0");
  assert.equal((await Ledger.open()).cap, "3.0");
});

test("a ledger of another version is refused, and one that is gone is not begun anew", async () => {
  const store = new MemoryStore();
  await store.update(() => ({ version: 2, cap: "1.0", entries: [] }));
  await assert.rejects(Ledger.open({ store }), /not of version 1/);
  const ledger = await Ledger.open({ cap: 1, store: new MemoryStore() });
  ledger.store.update = async (change) => assert.equal(change(undefined), "nothing is written");
  for (const ask of [() => ledger.randomise(small, record), () => ledger.spent(), () => ledger.sending(small)]) {
    await assert.rejects(ask, (error) => error instanceof LedgerError && /is gone/.test(error.message));
  }
});

test("a database is found again under its name, and closed when the person deletes it", async () => {
  const requests = [];
  globalThis.indexedDB = {
    open(...given) {
      const request = indexedDB.open(...given);
      requests.push([given, request]);
      return request;
    },
  };
  const ledger = await Ledger.open({ cap: 1, name: "deleted" });
  globalThis.indexedDB = indexedDB;
  const [[given, request], ...others] = requests;
  assert.equal(others.length, 0);
  assert.deepEqual(given, ["deleted ledger", 1]); // those on devices have these names
  assert.deepEqual(tablesOf("deleted ledger"), ["book"]);
  assert.equal(await ledger.spent(), "0.0");
  request.result.onversionchange();
  await assert.rejects(ledger.spent(), (error) => error instanceof LedgerError && /InvalidStateError/.test(error.message));
});

test("a database that cannot be opened is a LedgerError", async () => {
  for (const error of [new DOMException("", "QuotaExceededError"), null]) {
    const request = { error };
    globalThis.indexedDB = { open: () => setTimeout(() => request.onerror?.()) && request };
    const opened = Ledger.open({ cap: 1, name: "full" });
    globalThis.indexedDB = indexedDB;
    await assert.rejects(opened, (found) => {
      assert.ok(found instanceof LedgerError);
      assert.match(found.message, error ? /cannot be used: QuotaExceededError$/ : /cannot be used: unknown$/);
      return true;
    });
  }
});

test("without a database there is no ledger, and it is said", async () => {
  delete globalThis.indexedDB;
  await assert.rejects(Ledger.open({ cap: 1 }), LedgerError);
  globalThis.indexedDB = indexedDB;
});

test("a store that fails gives a LedgerError, or what it threw; nothing is returned that is not kept", async () => {
  const ledger = await Ledger.open({ cap: 1, store: new MemoryStore() });
  const { update } = ledger.store;
  ledger.store.update = async function (change) {
    await update.call(this, change);
    throw new LedgerError("the disk is full");
  };
  await assert.rejects(ledger.randomise(small, record), /disk is full/);
});
