/**
 * Large domains: the geometry channel, texts, and long lists of values that a plan names by their hash.
 *
 * It is a file of its own, as most plans need none of it. Import it, and plans with a geometry channel or texts are read; before a
 * plan with long lists is read, `fetchLists` gets the lists and checks that they are the very ones.
 */
import { baseOf } from "./addresses.js";
import { geometry } from "./channels/geometry.js";
import { kinds } from "./channels/index.js";
import { CollectorError, ensure, HushError, PlanError } from "./errors.js";
import { digits, type Fields, fields, integer, parsed, printable, toHex, utf8 } from "./json.js";
import { lists, texts } from "./schema.js";
import { RULES } from "./texts.js";

kinds.set("geometry", geometry);
Object.assign(texts, RULES);

const MAX_LISTED = 2 ** 22 - 2;
const MAX_BYTES = 2 ** 28;
const MAX_LINE = 4 * 256 + 1; // bytes of a value and its line feed
const PART = 2 ** 20; // bytes of a list that may take as long as another answer
const RESERVED = new Set(["(missing)", "(other)"]);

/** What a plan says of a long list. */
export interface Named {
  readonly count: number;
  readonly name: string;
  readonly sha256: string;
}

/** Returns what a plan says of its long lists, each once. The plan is not checked here. */
export function listsOf(text: string | Uint8Array): Named[] {
  const plan = parsed(text, PlanError) as Fields | null;
  const schema = plan?.["schema"];
  const found = new Map<string, Named>();
  for (const attribute of Array.isArray(schema) ? schema : []) {
    const values: unknown = (attribute as Fields | null)?.["values"];
    if (typeof values !== "object" || values === null || Array.isArray(values)) continue;
    const { count, name, sha256 } = fields(values, "a list", ["count", "name", "sha256"]);
    const one = {
      count: integer(count, 1, MAX_LISTED, "count"),
      name: typeof name === "string" ? name : "",
      sha256: digits(sha256, 64, "sha256"),
    };
    ensure(/^\w[\w.-]{0,63}$/.test(one.name), "the name of a list must be 1 to 64 letters, digits, dots and dashes");
    found.set(keyOf(one), one);
  }
  return [...found.values()];
}

/** The canonical text of what a plan says of a list. */
const keyOf = ({ count, name, sha256 }: Named): string => JSON.stringify({ count, name, sha256 });

/** Takes the text of a list, if it is the very one that a plan names. */
export async function addList(named: Named, text: Uint8Array<ArrayBuffer>): Promise<void> {
  ensure(text.length <= MAX_BYTES, "a list must be shorter");
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  ensure(toHex(hash) === named.sha256, `this is not the list ${named.name} of the plan: its hash is another one`);
  const values = utf8(text, PlanError).split("\n");
  ensure(values.pop() === "" && values.length === named.count, `the list ${named.name} must have ${named.count} lines`);
  for (const value of values)
    ensure(printable(value, 1, 256) && !RESERVED.has(value), "a value must be 1 to 256 printable characters");
  ensure(new Set(values).size === values.length, "values must differ");
  lists.set(keyOf(named), Object.freeze(values));
}

/** How lists are asked for: with a token if the collector wants one, and by another `fetch` than the browser's. */
export interface Asking {
  readonly token?: string | undefined;
  /** How long the beginning of a list may take, and each further megabyte, in milliseconds. */
  readonly timeout?: number;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** Gets the lists of a plan that are not known yet, from the collector at this address. */
export async function fetchLists(text: string | Uint8Array, collector: string | URL, how: Asking = {}): Promise<void> {
  const { token, timeout = 10_000, fetch = (url, init) => globalThis.fetch(url, init) } = how;
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  for (const named of listsOf(text)) {
    if (lists.has(keyOf(named))) continue;
    const href = `${baseOf(collector, token)}/lists/${named.sha256}`;
    const failed = `the list ${named.name} could not be fetched`;
    const ask = async (signal: AbortSignal): Promise<ReadableStream<Uint8Array<ArrayBuffer>> | null> => {
      const response = await fetch(href, { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", headers, signal });
      ensure(response.ok, failed, CollectorError);
      return response.body;
    };
    try {
      await addList(named, await read(ask, Math.min(MAX_LINE * named.count, MAX_BYTES), timeout));
    } catch (error) {
      throw error instanceof HushError ? error : new CollectorError(`${failed}: ${(error as Error).name}`, undefined, "unreachable");
    }
  }
}

/**
 * Reads an answer as it comes, and gives up when it is longer than it may be, or late. A list may be long where networks
 * are slow, so each part of it has its own time.
 */
async function read(
  ask: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array<ArrayBuffer>> | null>,
  most: number,
  timeout: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const control = new AbortController();
  const late = new Promise<never>((_, fail) => {
    control.signal.onabort = () => fail(control.signal.reason);
  });
  let [size, next, end] = [0, 0, 0];
  let clock: ReturnType<typeof setTimeout> | undefined;
  const wait = (): void => {
    clearTimeout(clock);
    clock = setTimeout(() => control.abort(new DOMException("", "TimeoutError")), timeout);
    end = Date.now() + timeout;
  };
  wait();
  let reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  try {
    // A `fetch` of the app may know nothing of signals, so they are waited for here as well.
    reader = (await Promise.race([ask(control.signal), late]))?.getReader();
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for (let part; (part = (await Promise.race([reader?.read(), late]))?.value); parts.push(part)) {
      ensure((size += part.length) <= most, "the list is longer than the plan says", CollectorError);
      if (Date.now() > end) control.abort(new DOMException("", "TimeoutError")); // parts that are here let no clock ring
      control.signal.throwIfAborted();
      if (size < next) continue;
      next = size + PART;
      wait();
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  } finally {
    clearTimeout(clock);
    late.catch(() => undefined);
    control.abort();
    void reader?.cancel().catch(() => undefined);
  }
}
