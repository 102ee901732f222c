/** The ledger: a device's memory of its answers, and of their cost. */
import { freshId, randomise } from "./randomise.js";
import { SystemCoins } from "./coins.js";
import { BudgetError, ensure, LedgerError } from "./errors.js";
import { decimal, decimalText } from "./exact.js";
import type { Plan } from "./plan.js";
import { Report } from "./report.js";
import type { PersonRecord } from "./schema.js";
import { type Asked, type Book, DatabaseStore, type Entry, type State, type Store } from "./stores.js";
import { answerAsked, answerTicket, type Ticket } from "./tickets.js";

/** How a ledger is opened. */
export interface LedgerOptions {
  /** The most that all answers together may cost. A new ledger needs it; later it is left out, or the same. */
  readonly cap?: number;
  /** The name of the database. */
  readonly name?: string;
  /** Where the book is kept, if not in a database of the browser. */
  readonly store?: Store;
}

/** A training, in which a device takes part once: its name, and whether a plan with some title belongs to it. */
export interface Once {
  readonly name: string;
  has(title: string): boolean;
}

/**
 * The answers of this device. A plan has one report for good: two of one record cost twice the epsilon, averaging
 * many reveals it, and a choice among them undoes the promise altogether. So nothing here forgets a report or draws
 * another one, and a plan that would take the total above the cap is refused.
 *
 * Every answer is one transaction: it is on disk before anybody sees it, and two tabs that ask at once get one report.
 * If the database is lost, its protection is lost too.
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
   * Draws the report to a plan and keeps it, unless one is kept: then this record is ignored. Returns whether this call
   * drew the report. A plan that would take the total above the cap is a BudgetError, and nothing is drawn. So is, with
   * `follow`, a plan if another one of the same pilot was answered: two tabs may have been sent to two plans. With `once`,
   * the report is kept as that of a training, unless one is kept to any plan with a title that belongs to it.
   */
  async draw(plan: Plan, record: PersonRecord, ticket?: Ticket, follow = false, once?: Once): Promise<boolean> {
    return (await this.#draw(plan, record, ticket, follow, once)).fresh;
  }

  /**
   * Draws the questions that this device will answer to a plan, once, and keeps them: by a ticket, or by its own dice.
   * The report then answers these, whatever else a record holds. Returns nothing if the plan is answered. A plan that
   * this device may not answer is a BudgetError, so that nobody is asked for nothing.
   */
  async ask(plan: Plan, ticket?: Ticket, follow = false): Promise<Ticket | undefined> {
    let found: Ticket | undefined;
    await this.#update((book) => {
      if (book.entries.some((entry) => entry.plan === plan.id)) return undefined;
      found = book.asked?.[plan.id];
      if (found) return undefined;
      affordable(plan, book, follow);
      found = { ...(ticket ?? { id: freshId(new SystemCoins()) }) };
      return { asked: { ...book.asked, [plan.id]: { ...found, first: plan.after ?? plan.id } } };
    });
    return found;
  }

  /** Returns the questions that were drawn first, by the ids of plans. */
  async asked(): Promise<Readonly<Record<string, Asked>>> {
    let found = {};
    await this.#update(({ asked }) => void (found = asked ?? found));
    return found;
  }

  /**
   * Does the same as `draw`, and returns the report that is kept: for code that carries reports itself. A person who sees a
   * report before it has left, and may keep it back, makes a choice; the reports sent then no longer follow the plan's law.
   */
  async randomise(plan: Plan, record: PersonRecord, ticket?: Ticket): Promise<Report> {
    return (await this.#draw(plan, record, ticket)).report;
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

  /** Returns the exact cost of all answers together: a decimal number. */
  async spent(): Promise<string> {
    return decimalText(total(await this.entries()));
  }

  /** Notes that the answer to a plan is about to leave the device, and returns it. */
  sending(plan: Pick<Plan, "id">): Promise<Entry> {
    return this.#move(plan, ({ state }) => (state === "arrived" ? state : "sending"));
  }

  /** Notes that the collector has the answer to a plan. */
  arrived(plan: Pick<Plan, "id">): Promise<Entry> {
    return this.#move(plan, () => "arrived");
  }

  async #draw(
    plan: Plan,
    record: PersonRecord,
    ticket?: Ticket,
    follow = false,
    once?: Once,
  ): Promise<{ report: Report; fresh: boolean }> {
    let report: Report | undefined;
    let fresh = false;
    await this.#update((book) => {
      const { entries } = book;
      const stored = entries.find((entry) => entry.plan === plan.id);
      if (stored) report = Report.decode(plan, stored.report);
      if (report || (once && entries.some(({ title }) => once.has(title)))) return undefined;
      affordable(plan, book, follow);
      const { id, signature } = book.asked?.[plan.id] ?? ticket ?? {};
      report = id ? (signature ? answerTicket : answerAsked)(plan, record, id) : randomise(plan, record);
      fresh = true;
      const entry: Entry = {
        plan: plan.id,
        title: plan.title,
        after: plan.after,
        epsilon: plan.epsilon,
        report: report.encode(),
        ...(signature && { ticket: signature }),
        ...(once && { once: once.name }),
        state: "drawn",
      };
      return { entries: [...entries, entry] };
    });
    return { report: report!, fresh };
  }

  async #move(plan: Pick<Plan, "id">, next: (entry: Entry) => State): Promise<Entry> {
    let moved: Entry | undefined;
    await this.#update(({ entries }) => ({
      entries: entries.map((entry) => (entry.plan === plan.id ? (moved = { ...entry, state: next(entry) }) : entry)),
    }));
    ensure(moved, "this device has no answer to this plan", LedgerError);
    return moved;
  }

  #update(change: (book: Book) => Partial<Book> | undefined): Promise<void> {
    return this.store.update((book) => {
      ensure(book, "the ledger is gone: its database was deleted", LedgerError);
      const changed = change(book);
      return changed && { ...book, ...changed };
    });
  }
}

/** Refuses a plan that this device may not answer: beside those that it has answered, or above its cap. */
function affordable(plan: Plan, { cap, entries, asked = {} }: Book, follow: boolean): void {
  ensure(
    !entries.some(
      ({ plan: id, after }) => id === plan.after || after === plan.id || (follow && plan.after && after === plan.after),
    ) && !(follow && Object.entries(asked).some(([id, { first }]) => id !== plan.id && first === (plan.after ?? plan.id))),
    "this device has answered a plan that excludes this plan",
    BudgetError,
  );
  const spent = total(entries);
  ensure(
    spent + decimal(plan.epsilon) <= decimal(cap),
    `this plan costs ${plan.epsilon}; of a cap of ${cap} this device has spent ${decimalText(spent)}`,
    BudgetError,
  );
}

const total = (entries: readonly Entry[]): bigint => entries.reduce((sum, { epsilon }) => sum + decimal(epsilon), 0n);
