/** Where a ledger keeps its book: in the browser's database, or in memory. */
import { ensure, LedgerError } from "./errors.js";
import type { Ticket } from "./tickets.js";

/**
 * How far an answer has come: kept, and nobody has tried to send it; perhaps sent; with the collector for certain, or
 * with the relay before it.
 */
export type State = "drawn" | "sending" | "arrived";

/** An answer of this device: a report, which is already private, and its cost. Never a record. */
export interface Entry {
  /** The id of the plan. */
  readonly plan: string;
  readonly title: string;
  /** The id of the plan that it follows, if it follows one: nobody answers both. */
  readonly after?: string | null;
  /** Its exact cost: a decimal number. */
  readonly epsilon: string;
  /** The report, in its binary form. */
  readonly report: Uint8Array;
  /** The signature of the ticket under which the report was drawn. */
  readonly ticket?: string;
  /** The name of the training that it was drawn for. */
  readonly once?: string;
  /** The report as it goes to a relay: sealed for the owner of the key (64 hexadecimal digits). */
  readonly sealed?: { readonly key: string; readonly bytes: Uint8Array };
  readonly state: State;
}

/** The content of a ledger. */
export interface Book {
  readonly version: 1;
  /** The most that all answers together may cost: a decimal number. */
  readonly cap: string;
  readonly entries: readonly Entry[];
  /** The questions that were drawn first, by the ids of plans. */
  readonly asked?: Readonly<Record<string, Asked>>;
  /** The hash of the schema and the label of each training, by its title: its name without classes at the end. */
  readonly trainings?: readonly { readonly title: string; readonly description: string }[];
}

/** Questions that were drawn before the answers, as a ticket, and the plan that must not be asked besides. */
export interface Asked extends Ticket {
  readonly first: string;
}

/**
 * Keeps one book. `update` passes it to a function and stores the result, as one transaction: while it runs nobody else
 * reads or writes, not even other tabs, and when its promise resolves the change is on disk. If the
 * function throws, or returns nothing, nothing changes.
 */
export interface Store {
  update(change: (book: Book | undefined) => Book | undefined): Promise<void>;
}

/**
 * A book that lasts as long as the page: for tests, and for programs that answer once. After a reload it is empty, and
 * the same person is asked again: a second report, at the full cost.
 */
export class MemoryStore implements Store {
  #book: Book | undefined;

  async update(change: (book: Book | undefined) => Book | undefined): Promise<void> {
    this.#book = structuredClone(change(structuredClone(this.#book)) ?? this.#book);
  }
}

const TABLE = "book";

/** A book in a database of the browser, which all tabs of the site share. */
export class DatabaseStore implements Store {
  private constructor(readonly database: IDBDatabase) {}

  /** Opens the database, or makes it. */
  static async open(name: string): Promise<DatabaseStore> {
    ensure(globalThis.indexedDB, "this browser keeps no database (IndexedDB): a ledger needs one", LedgerError);
    const request = indexedDB.open(`${name} ledger`, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
    return new Promise((resolve, reject) => {
      request.onerror = () => reject(failed(request.error));
      request.onsuccess = () => {
        const database = request.result;
        database.onversionchange = () => database.close(); // the person deletes the data of this site: let them
        resolve(new DatabaseStore(database));
      };
    });
  }

  update(change: (book: Book | undefined) => Book | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      let transaction: IDBTransaction;
      try {
        // strict: on disk, not in a cache, before the report is used; a power cut must not make a device forget it.
        transaction = this.database.transaction(TABLE, "readwrite", { durability: "strict" });
      } catch (error) {
        return reject(failed(error));
      }
      const table = transaction.objectStore(TABLE);
      const read = table.get(0);
      let failure: unknown;
      read.onsuccess = () => {
        // All in this one turn, draws included: the transaction stays open, and nothing comes in between.
        try {
          const book = change(read.result as Book | undefined);
          if (book) table.put(book, 0);
        } catch (error) {
          failure = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(failure ?? failed(transaction.error));
    });
  }
}

function failed(error: unknown): LedgerError {
  return new LedgerError(`the ledger cannot be used: ${(error as Error | null)?.name ?? "unknown"}`);
}
