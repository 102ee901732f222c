// The ledger: one draw per plan whatever becomes of it, an exact cap, and what has left the device cannot be withdrawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, indexedDB } from "./database.mjs";
import { hex, hush, small, titled } from "./words.mjs";

const { BudgetError, Ledger, LedgerError, MemoryStore, Plan, RecordError } = hush;
const record = { x: 0.5, c: "a" };

globalThis.indexedDB = indexedDB;
let names = 0;
const stores = {
  memory: () => ({ store: new MemoryStore() }),
  database: () => ({ name: `test ${names++}` }),
};

/** A plan of this epsilon. Its channel is hardly more than a fair coin, or die, and so within any. */
async function costing(epsilon, title, sides = 2, threshold = (1n << 64n) / BigInt(sides) + 1n) {
  const subset = `{"kind":"subset","size":${sides},"threshold":"${threshold}","weight":1}`;
  const values = JSON.stringify(["a", "b", "c"].slice(0, sides));
  return Plan.parse(
    `{"epsilon":"${epsilon}","hush":1,"k":1,"questions":[{"attributes":["c"],"channel":${subset}}],"schema":[{"kind":` +
      `"categorical","name":"c","optional":false,"values":${values}}],"title":"${title}","weights":null}`,
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
    assert.deepEqual(Object.keys(entry).sort(), ["epsilon", "plan", "report", "state", "title"]);
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

  test(`${kind}: withdrawn while nothing was sent, and not later`, async () => {
    const ledger = await Ledger.open({ cap: 1, ...place() });
    const other = await titled("another");
    await assert.rejects(ledger.withdraw(small), LedgerError);
    await assert.rejects(ledger.sending(small), LedgerError);
    await assert.rejects(ledger.arrived(small), LedgerError);
    const first = await ledger.randomise(small, record);
    await assert.rejects(ledger.randomise(other, record), BudgetError);
    await assert.rejects(ledger.withdraw(other), LedgerError);
    assert.equal((await ledger.sending(small, first)).state, "sending");
    await assert.rejects(ledger.withdraw(small), LedgerError);
    assert.equal((await ledger.arrived(small)).state, "arrived");
    assert.equal((await ledger.sending(small)).state, "arrived");
    await assert.rejects(ledger.withdraw(small), LedgerError);
    assert.equal((await ledger.entry(small)).state, "arrived");
    assert.equal(await ledger.spent(), "1.0");
  });

  test(`${kind}: what was withdrawn is never sent, and nothing is drawn in its place`, async () => {
    const where = place();
    const ledger = await Ledger.open({ cap: 1, ...where });
    const report = await ledger.randomise(small, record);
    const tab = await Ledger.open(where); // another tab, or the next visit
    assert.equal((await tab.withdraw(small)).state, "withdrawn");
    for (const each of [ledger, tab, await Ledger.open(where)]) {
      await assert.rejects(each.randomise(small, record), /withdrawn/);
      await assert.rejects(each.amend(small, record), LedgerError);
      await assert.rejects(each.sending(small), /withdrawn/);
      await assert.rejects(each.sending(small, report), /withdrawn/);
      await assert.rejects(each.arrived(small), /withdrawn/);
      assert.equal((await each.withdraw(small)).state, "withdrawn");
      assert.equal(await each.spent(), "1.0"); // somebody has seen it
      await assert.rejects(each.randomise(await titled("another"), record), BudgetError);
    }
  });

  test(`${kind}: nobody draws until it pleases`, async () => {
    // Of the 3 outputs of a fair die, one pleases. 200 draws miss it with probability (2/3)^200, below 1e-35.
    const die = await costing("0.001", "die", 3);
    const answer = async (ledger) => (await ledger.randomise(die, { c: "a" })).answers[0][1];
    /** Looks, withdraws what does not please, and asks again, in this tab and as the next visit. */
    const pleased = async (forgetful) => {
      const where = place();
      const seen = new Set();
      for (let attempt = 0; attempt < 200; attempt++) {
        const ledger = await Ledger.open({ cap: 1, ...where });
        const output = await answer(ledger).catch(() => undefined);
        if (output !== undefined) seen.add(output);
        if (output === 2) return seen;
        await ledger.withdraw(die);
        if (forgetful) await ledger.store.update((book) => ({ ...book, entries: [] })); // as it was once
      }
      return seen;
    };
    assert.ok((await pleased(true)).has(2));
    assert.equal((await pleased(false)).size, 1);
  });

  test(`${kind}: answers are mended with the same dice, by the object that drew, until they are sent`, async () => {
    const where = place();
    const ledger = await Ledger.open({ cap: 1, ...where });
    await assert.rejects(ledger.amend(small, record), LedgerError);
    assert.equal(ledger.mendable(small), false);
    const first = await ledger.randomise(small, record);
    const other = { x: 0.125, c: "b" };
    const [[question]] = first.answers;
    for (let i = 0; i < 3; i++) {
      const mended = await ledger.amend(small, other);
      assert.equal(mended.answers[0][0], question); // it is drawn before the record is looked at
      assert.deepEqual(await ledger.randomise(small, record), mended); // and kept in place of the first
      assert.deepEqual(await ledger.amend(small, record), first);
    }
    await assert.rejects(ledger.amend(small, { x: 7, c: "a" }), RecordError);
    assert.deepEqual(await ledger.randomise(small, record), first);
    assert.equal(await ledger.spent(), "1.0");
    const tab = await Ledger.open(where);
    assert.equal(tab.mendable(small), false);
    await assert.rejects(tab.amend(small, other), /in this page/);
    assert.deepEqual(await tab.randomise(small, other), first);
    assert.equal(ledger.mendable(small), true);
    // What one tab shows is not sent once another has mended it, not even under the same id.
    const words = await Ledger.open({ cap: 1, ...place() });
    const nearly = await costing("1.0", "nearly certain", 2, (1n << 63n) + (1n << 61n));
    let shown = await words.randomise(nearly, { c: "a" });
    let mended = await words.amend(nearly, { c: "b" });
    assert.equal(mended.id, shown.id);
    assert.notDeepEqual(mended.answers, shown.answers);
    await assert.rejects(words.sending(nearly, shown), /another report/);
    await words.sending(nearly, mended);
    await tab.sending(small);
    await assert.rejects(ledger.amend(small, other), /never sent/); // another tab has sent it
    await ledger.sending(small);
    assert.equal(ledger.mendable(small), false); // the words are gone
  });

  test(`${kind}: a report under a ticket keeps its id and questions when it is mended`, async () => {
    const ledger = await Ledger.open({ cap: 1, ...place() });
    const ticket = { id: "ab".repeat(16), signature: "cd".repeat(16) };
    const first = await ledger.randomise(small, record, ticket);
    const mended = await ledger.amend(small, { x: 0.125, c: "b" });
    assert.equal(mended.id, ticket.id);
    assert.deepEqual(mended.answers.map(([at]) => at), hush.questionsOf(small, ticket.id));
    assert.deepEqual(await ledger.amend(small, record), first);
    assert.equal((await ledger.entry(small)).ticket, ticket.signature);
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
