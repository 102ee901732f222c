/** Strict reading of JSON values, and the one way in which a plan is written. */
import { ensure, type Failure, PlanError } from "./errors.js";
import { WORD } from "./exact.js";

export type Fields = Record<string, unknown>;

/** Reads JSON: text, or bytes of UTF-8. */
export function parsed(text: string | Uint8Array, Fail: Failure): unknown {
  const plain = utf8(text, Fail);
  try {
    return JSON.parse(plain);
  } catch {
    throw new Fail("this is not JSON");
  }
}

/** Reads UTF-8, strictly. A byte order mark stays, so that it is no JSON. Text stays as it is. */
export function utf8(text: string | Uint8Array, Fail: Failure): string {
  if (typeof text === "string") return text;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(text);
  } catch {
    throw new Fail("this is not UTF-8");
  }
}

/** Returns an object that has exactly these fields. */
export function fields(value: unknown, what: string, names: readonly string[], Fail?: Failure): Fields {
  ensure(
    typeof value === "object" &&
      value !== null &&
      Object.keys(value).length === names.length &&
      names.every((name) => Object.hasOwn(value, name)),
    `${what} must have the fields ${names}, and no others`,
    Fail,
  );
  return value as Fields;
}

/** Returns a value that is an integer in low..high. */
export function integer(value: unknown, low: number, high: number, what: string, Fail?: Failure): number {
  ensure(
    Number.isInteger(value) && low <= (value as number) && (value as number) <= high,
    `${what} must be an integer from ${low} to ${high}`,
    Fail,
  );
  return (value as number) + 0; // -0 becomes 0, which has one way to be written
}

/** Reads an integer from 1 to 2^64 - 1 that is written as a string, as JSON numbers are exact below 2^53 only. */
export function big(value: unknown, what: string): bigint {
  const number = typeof value === "string" && /^[1-9]\d{0,19}$/.test(value) ? BigInt(value) : WORD;
  ensure(number < WORD, `${what} must be an integer from 1 to 2^64 - 1, as a string`);
  return number;
}

/** The version of the wire format. */
export const VERSION = 2;

/** Refuses a document of another version. */
export function checkVersion(found: unknown, what: string, Fail?: Failure): void {
  const rule = found === 1 ? "was made for version 1 of hush: make the plan anew" : "is not of version 2";
  ensure(found === VERSION, `${what} ${rule}`, Fail);
}

/** Returns a value that is an array. */
export function listed(value: unknown, what: string, Fail?: Failure): readonly unknown[] {
  ensure(Array.isArray(value), `${what} must be an array`, Fail);
  return value;
}

/** Returns the field `optional`, a boolean. */
export function flag({ optional }: Fields): boolean {
  ensure(typeof optional === "boolean", "optional must be true or false");
  return optional;
}

/** Returns a value that is `count` lower-case hexadecimal digits. */
export function digits(value: unknown, count: number, what: string, Fail: Failure = PlanError): string {
  ensure(
    typeof value === "string" && value.length === count && /^[\da-f]*$/.test(value),
    `${what} must be ${count} lower-case hexadecimal digits`,
    Fail,
  );
  return value;
}

/** Whether a text has low to high characters, all printable: no control, format or unassigned ones, no separator but " ". */
export function printable(text: unknown, low: number, high: number): text is string {
  if (typeof text !== "string" || !/^(?:[^\p{C}\p{Z}]| )*$/u.test(text)) return false;
  const length = [...text].length;
  return low <= length && length <= high;
}

/** Writes a float as Python does: the same shortest digits as JavaScript's, in another layout. */
export function pythonFloat(x: number): string {
  const [mantissa, exponent] = x.toExponential().split("e") as [string, string];
  if (+exponent < -4 || +exponent > 15) return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  return Number.isInteger(x) ? `${x}.0` : `${x}`;
}

/** The floats of a plan: bounds and units of numbers, cuts, centres, and the reach of a product, at most 1; others are above. */
const isFloat = (key = "", value: unknown): boolean =>
  typeof value === "number" && (/^(low|high|unit|cuts|centres)$/.test(key) || (key === "reach" && value <= 1));

/** Writes checked values in the canonical form. */
export function canonical(value: unknown, key?: string): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, key)).join()}]`;
  if (typeof value === "object" && value !== null) {
    const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${pairs.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item, name)}`).join()}}`;
  }
  return isFloat(key, value) ? pythonFloat(value as number) : JSON.stringify(value);
}

/** Bytes in hexadecimal. */
export const toHex = (bytes: Iterable<number>): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Checked hexadecimal digits as bytes. */
export const fromHex = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
