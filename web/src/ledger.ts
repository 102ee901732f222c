/** The ledger: a device's memory of what it has answered, and what that cost. */
import { randomiseFrom } from "./client.js";
import { Dice } from "./dice.js";
import { BudgetError, ensure, LedgerError } from "./errors.js";
import { decimal, decimalText } from "./exact.js";
import type { Plan } from "./plan.js";
import { Report } from "./report.js";
import type { PersonRecord } from "./schema.js";
import { type Book, DatabaseStore, type Entry, type State, type Store } from "./stores.js";
import { answerTicket, type Ticket } from "./tickets.js";

/** How a ledger is opened. */
export interface LedgerOptions {
  /** The most that all answers together may cost. A new ledger needs it; later it is left out, or the same. */
  readonly cap?: number;
  /** The name of the database. */
  readonly name?: string;
  /** Where the book is kept, if not in a database of the browser. */
  readonly store?: Store;
}

/**
 * What this device has answered. Asking twice returns the *same* stored report, as two of one record cost twice the
 * epsilon, and averaging many reveals it; and a plan that would take the total above the cap is refused.
 *
 * Every answer is one transaction: it is on disk before it is returned, and two tabs that ask at once get one report.
 * Lose the database and its protection is lost too.
 *
 * A plan has one draw. Somebody who could look at a report, discard it and draw another would send one that pleases,
 * which says more than the plan promises. The words of a draw stay in the memory of this object, until its report is
 * sent, so that answers can be mended: see `amend`. They are nowhere else.
 */
export class Ledger {
  readonly #dice = new Map<string, { dice: Dice; report: string }>();

  private constructor(
    readonly store: Store,
    /** The most that all answers together may cost: a decimal number. */
    readonly cap: string,
  ) {}

  /** Opens the ledger of this site, or makes it. Its cap is fixed when it is made. */
  static async open({ cap, name = "hush", store }: LedgerOptions = {}): Promise<Ledger> {
    ensure(
      cap === undefined || (Number.isFinite(cap) && cap >= 1e-6 && cap <= 1000),
      "the cap of a ledger must be a number from 0.000001 to 1000",
      LedgerError,
    );
    const wanted = cap === undefined ? undefined : decimalText(decimal(String(cap)));
    const kept = store ?? (await DatabaseStore.open(name));
    let found = "";
    await kept.update((book) => {
      ensure(book || wanted, "a new ledger needs a cap: the total epsilon that this device may spend", LedgerError);
      ensure(!book || book.version === 1, "this ledger is not of version 1", LedgerError);
      found = book?.cap ?? wanted!;
      ensure(!wanted || wanted === found, `this ledger has a cap of ${found}: open it without one`, LedgerError);
      return book ? undefined : { version: 1, cap: found, entries: [] };
    });
    return new Ledger(kept, found);
  }

  /**
   * Answers a plan once: returns the stored report, without a look at the record; or draws one and stores it before it
   * is returned. A plan that would take the total above the cap is a BudgetError, and nothing is drawn or stored. One
   * whose answer was withdrawn is a LedgerError.
   */
  async randomise(plan: Plan, record: PersonRecord, ticket?: Ticket): Promise<Report> {
    let report: Report | undefined;
    const dice = new Dice();
    let drawn = false;
    await this.#update(({ cap, entries }) => {
      const stored = entries.find((entry) => entry.plan === plan.id);
      ensure(stored?.state !== "withdrawn", GONE, LedgerError);
      if (stored) report = Report.decode(plan, stored.report);
      if (report) return undefined;
      const spent = total(entries);
      ensure(
        spent + decimal(plan.epsilon) <= decimal(cap),
        `this plan costs ${plan.epsilon}; of a cap of ${cap} this device has spent ${decimalText(spent)}`,
        BudgetError,
      );
      report = made(plan, record, dice, ticket?.id);
      drawn = true;
      const entry: Entry = {
        plan: plan.id,
        title: plan.title,
        epsilon: plan.epsilon,
        report: report.encode(),
        ...(ticket && { ticket: ticket.signature }),
        state: "drawn",
      };
      return [...entries, entry];
    });
    if (drawn) this.#dice.set(plan.id, { dice, report: report!.id });
    return report!;
  }

  /** Whether the answer to a plan was drawn by this object, in this page, and not sent: only then it can be mended. */
  mendable(plan: Plan): boolean {
    return this.#dice.has(plan.id);
  }

  /**
   * Replaces an answer that was drawn by this object and never sent by that of another record, with the same words: the
   * same record gives the same report again, so mending is no way to draw until one likes the report. The words do
   * not depend on a record, so the report that is sent has the law of the plan. Another page, or this one once it was loaded
   * again, does not have them, and is refused.
   */
  async amend(plan: Plan, record: PersonRecord): Promise<Report> {
    const held = this.#dice.get(plan.id);
    let report: Report | undefined;
    await this.#update(({ entries }) =>
      entries.map((entry) => {
        if (entry.plan !== plan.id || entry.state !== "drawn" || !held) return entry;
        const { id } = Report.decode(plan, entry.report);
        if (id !== held.report) return entry;
        report = made(plan, record, held.dice.rewind(), entry.ticket === undefined ? undefined : id);
        return { ...entry, report: report.encode() };
      }),
    );
    ensure(report, "only a report that was drawn in this page, and never sent, can be mended", LedgerError);
    this.#dice.set(plan.id, { dice: held!.dice, report: report.id });
    return report;
  }

  /** Returns all answers, in the order in which they were drawn. */
  async entries(): Promise<readonly Entry[]> {
    let found: readonly Entry[] = [];
    await this.#update(({ entries }) => void (found = entries));
    return found;
  }

  /** Returns the answer to a plan, if there is one. */
  async entry(plan: Plan): Promise<Entry | undefined> {
    return (await this.entries()).find((entry) => entry.plan === plan.id);
  }

  /** Returns what all answers together have cost, exactly: a decimal number. */
  async spent(): Promise<string> {
    return decimalText(total(await this.entries()));
  }

  /**
   * Notes that the answer to a plan is about to leave the device, and returns it. With the report that was shown it is
   * refused if another one is kept: answers may have been mended in another tab meanwhile.
   */
  sending(plan: Plan, shown?: Report): Promise<Entry> {
    return this.#move(plan, ({ state, report }) => {
      ensure(state !== "withdrawn", GONE, LedgerError);
      // By all of it: with the same dice a mended report may have the same id.
      ensure(!shown || String(shown.encode()) === String(report), "another report is kept for this plan", LedgerError);
      return state === "arrived" ? state : "sending";
    });
  }

  /** Notes that the collector has the answer to a plan. */
  arrived(plan: Plan): Promise<Entry> {
    return this.#move(plan, ({ state }) => {
      ensure(state !== "withdrawn", GONE, LedgerError);
      return "arrived";
    });
  }

  /**
   * Notes that the answer to a plan is never to be sent, in any tab and for good. No other is drawn in its place, and
   * its cost stays: the person has seen it. It is refused once sending it was tried: the report may have arrived whether
   * or not the device heard of it, and what is known cannot be taken back.
   */
  withdraw(plan: Plan): Promise<Entry> {
    return this.#move(plan, ({ state }) => {
      ensure(state === "drawn" || state === "withdrawn", "sending this report was tried: it may have arrived", LedgerError);
      return "withdrawn";
    });
  }

  async #move(plan: Plan, next: (entry: Entry) => State): Promise<Entry> {
    let moved: Entry | undefined;
    await this.#update(({ entries }) =>
      entries.map((entry) => (entry.plan === plan.id ? (moved = { ...entry, state: next(entry) }) : entry)),
    );
    ensure(moved, "this device has no answer to this plan", LedgerError);
    this.#dice.delete(plan.id); // the words would tell the answers from the report, and are needed no more
    return moved;
  }

  #update(change: (book: Book) => readonly Entry[] | undefined): Promise<void> {
    return this.store.update((book) => {
      ensure(book, "the ledger is gone: its database was deleted", LedgerError);
      const entries = change(book);
      return entries && { ...book, entries };
    });
  }
}

const GONE = "the answer to this plan was withdrawn: it is not sent, and no other is drawn";

/** Draws a report of a record; one under a ticket has the ticket's id. */
function made(plan: Plan, record: PersonRecord, dice: Dice, ticket: string | undefined): Report {
  return ticket === undefined ? randomiseFrom(dice, plan, record) : answerTicket(plan, record, ticket, dice);
}

const total = (entries: readonly Entry[]): bigint => entries.reduce((sum, { epsilon }) => sum + decimal(epsilon), 0n);
