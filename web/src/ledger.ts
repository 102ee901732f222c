/** The ledger: a device's memory of what it has answered, and what that cost. */
import { randomiseFrom } from "./client.js";
import { type Coins, SystemCoins } from "./coins.js";
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
 */
export class Ledger {
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
   * is returned. A plan that would take the total above the cap is a BudgetError, and nothing is drawn or stored.
   *
   * `coins` are for pages that let people mend their answers before anything is sent: with the same words again, the
   * same answers give the same report, and nobody can draw until they like what they see.
   */
  async randomise(plan: Plan, record: PersonRecord, ticket?: Ticket, coins: Coins = new SystemCoins()): Promise<Report> {
    let report: Report | undefined;
    await this.#update(({ cap, entries }) => {
      const stored = entries.find((entry) => entry.plan === plan.id);
      if (stored) report = Report.decode(plan, stored.report);
      if (report) return undefined;
      const spent = total(entries);
      ensure(
        spent + decimal(plan.epsilon) <= decimal(cap),
        `this plan costs ${plan.epsilon}; of a cap of ${cap} this device has spent ${decimalText(spent)}`,
        BudgetError,
      );
      report = ticket ? answerTicket(plan, record, ticket.id, coins) : randomiseFrom(coins, plan, record);
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
    return report!;
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
   * Notes that the answer to a plan is about to leave the device, and returns it. With the id of a report it is refused
   * if another one is kept: somebody in another tab may have answered meanwhile.
   */
  sending(plan: Plan, id?: string): Promise<Entry> {
    return this.#move(plan, ({ state, report }) => {
      const same = id === undefined || Report.decode(plan, report).id === id;
      ensure(same, "another report is kept for this plan", LedgerError);
      return state === "arrived" ? state : "sending";
    });
  }

  /** Notes that the collector has the answer to a plan. */
  arrived(plan: Plan): Promise<Entry> {
    return this.#move(plan, () => "arrived");
  }

  /**
   * Forgets the answer to a plan, and what it cost. It is refused once sending it was tried: the report may have
   * arrived whether or not the device heard of it, and what is known cannot be taken back.
   */
  async withdraw(plan: Plan): Promise<void> {
    await this.#update(({ entries }) => {
      const kept = entries.filter((entry) => entry.plan !== plan.id || entry.state !== "drawn");
      ensure(kept.length < entries.length, "there is no answer to this plan that was never sent", LedgerError);
      return kept;
    });
  }

  async #move(plan: Plan, next: (entry: Entry) => State): Promise<Entry> {
    let moved: Entry | undefined;
    await this.#update(({ entries }) =>
      entries.map((entry) => (entry.plan === plan.id ? (moved = { ...entry, state: next(entry) }) : entry)),
    );
    ensure(moved, "this device has no answer to this plan", LedgerError);
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

const total = (entries: readonly Entry[]): bigint => entries.reduce((sum, { epsilon }) => sum + decimal(epsilon), 0n);
