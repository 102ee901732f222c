// As much of IndexedDB as a ledger needs, with its rules: one readwrite transaction at a time, committed when nothing
// is asked of it any more, rolled back if it is aborted. Browsers have the real one: tests/web/test_browser.py uses it.
const databases = new Map();

export const asked = []; // the options of all transactions

const later = (action) => setTimeout(action, 0);

class Transaction {
  #database;
  #pending = 0;
  #draft;
  #queue = [];
  #over = false;

  constructor(database) {
    this.#database = database;
  }

  start() {
    this.#draft = structuredClone(this.#database.tables);
    this.#queue.splice(0).forEach((action) => action());
    this.#settle();
  }

  objectStore(name) {
    const ask = (action) => {
      if (this.#over) throw new DOMException("the transaction is over", "TransactionInactiveError");
      const request = {};
      this.#pending++;
      const act = () =>
        later(() => {
          if (this.#over) return;
          request.result = action(this.#draft.get(name));
          request.onsuccess?.();
          this.#pending--;
          this.#settle();
        });
      if (this.#draft) act();
      else this.#queue.push(act);
      return request;
    };
    return {
      get: (key) => ask((table) => structuredClone(table.get(key))),
      put: (value, key) => {
        const copy = structuredClone(value);
        return ask((table) => void table.set(key, copy));
      },
    };
  }

  abort() {
    this.#over = true;
    later(() => this.onabort?.());
    this.#database.next();
  }

  #settle() {
    if (this.#over || this.#pending > 0) return;
    this.#over = true;
    this.#database.tables = this.#draft;
    later(() => this.oncomplete?.());
    this.#database.next();
  }
}

class Database {
  tables = new Map();
  waiting = [];
  busy = false;

  next() {
    this.busy = false;
    const first = this.waiting.shift();
    if (first) {
      this.busy = true;
      later(() => first.start());
    }
  }
}

/** The names of the tables of a database. */
export const tablesOf = (name) => [...databases.get(name).tables.keys()];

export const indexedDB = {
  open(name) {
    const request = {};
    later(() => {
      const fresh = !databases.has(name);
      if (fresh) databases.set(name, new Database());
      const database = databases.get(name);
      let closed = false;
      request.result = {
        createObjectStore: (table) => database.tables.set(table, new Map()),
        close: () => void (closed = true),
        transaction(_, mode, options) {
          if (closed) throw new DOMException("the database was closed", "InvalidStateError");
          asked.push([mode, options]);
          const transaction = new Transaction(database);
          database.waiting.push(transaction);
          if (!database.busy) database.next();
          return transaction;
        },
      };
      if (fresh) request.onupgradeneeded?.();
      request.onsuccess?.();
    });
    return request;
  },
};
