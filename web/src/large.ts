/**
 * Large domains: the geometry channel, texts, and long lists of values that a plan names by their hash.
 *
 * It is a file of its own, as most plans need none of it. Import it, and plans with a geometry channel or texts are read; before a
 * plan with long lists is read, `fetchLists` gets the lists and checks that they are the very ones.
 */
import { geometry } from "./channels/geometry.js";
import { kinds } from "./channels/index.js";
import { ensure, PlanError } from "./errors.js";
import { digits, type Fields, fields, integer, parsed, printable, toHex, utf8 } from "./json.js";
import { lists, texts } from "./schema.js";
import { RULES } from "./texts.js";

kinds.set("geometry", geometry);
Object.assign(texts, RULES);

const MAX_LISTED = 2 ** 22 - 2;
const MAX_BYTES = 2 ** 28;
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
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** Gets the lists of a plan that are not known yet, from the collector at this address. */
export async function fetchLists(text: string | Uint8Array, collector: string | URL, how: Asking = {}): Promise<void> {
  const { token, fetch = (url, init) => globalThis.fetch(url, init) } = how;
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  for (const named of listsOf(text)) {
    if (lists.has(keyOf(named))) continue;
    const base = String(collector).replace(/\/?$/, "/");
    const url = new URL(`lists/${named.sha256}`, base);
    const response = await fetch(url.href, { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", headers });
    ensure(response.ok, `the list ${named.name} could not be fetched`);
    await addList(named, new Uint8Array(await response.arrayBuffer()));
  }
}
