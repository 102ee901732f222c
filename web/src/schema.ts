/** The attributes of a record, and the only place where a person's values are read. */
import { ensure, RecordError } from "./errors.js";
import { counter } from "./exact.js";
import { type Fields, fields, flag, integer, listed, printable } from "./json.js";

/** A number from low to high; one outside is an error, or counts as the nearer bound. */
export interface Numeric {
  readonly kind: "numeric";
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly out_of_range: "error" | "clip";
  readonly optional: boolean;
  /** "log" for a range that is far wider than where people are. */
  readonly scale: "linear" | "log";
  /** With "log": a size below which numbers need not be told apart. */
  readonly unit: number | null;
}

/** One of a list of values, all strings or all integers. */
export interface Categorical {
  readonly kind: "categorical";
  readonly name: string;
  readonly values: readonly string[] | readonly number[];
  readonly optional: boolean;
}

/** An attribute, as it stands in the plan. */
export type Attribute = Numeric | Categorical;

/** A person's values by the names of attributes; null, undefined and no entry mean missing. */
export type PersonRecord = { readonly [name: string]: unknown };

/** The input of a channel for one attribute: a number in [0, 1], the index of a category, or null for missing. */
export type Input = number | null;

const MISSING = "(missing)";
const MAX_CODE = Number.MAX_SAFE_INTEGER;

/** Returns where a value of a categorical attribute is, with null for "missing" behind all others. */
type Find = (value: unknown) => number | undefined;

/** For each categorical attribute. A search through the list would take longer for some than for others. */
const PLACES = new WeakMap<object, Find>();

/**
 * Finds texts. Engines key the hashes of texts by a secret, and hash a text when it is first looked up, character by
 * character. So what a text lacks of the longest is looked up too: no declared text has such a character.
 */
function textFinder(all: readonly string[]): Find {
  const places = new Map<unknown, number>(all.map((one, i) => [one, i]));
  places.set(null, all.length);
  const rest = "\0".repeat(Math.max(...all.map(({ length }) => length)) + 1);
  return (value) => places.get(rest.slice(typeof value === "string" ? value.length : 0)) ?? places.get(value);
}

/**
 * Finds integers, in equally many steps for all of them. The hashes of integers are no secret: a plan could put all of
 * them into one bucket of a map, and those at its end would take a thousand steps.
 */
function codeFinder(all: readonly number[]): Find {
  const order = [...all.keys()].sort((i, j) => all[i]! - all[j]!);
  const sorted = order.map((i) => all[i]!);
  const reached = counter(sorted, Infinity);
  return (value) => {
    const code = value === null ? all[0] : value;
    if (typeof code !== "number") return undefined;
    const at = reached(code) - 1;
    const place = sorted[at] === code ? order[at] : undefined;
    return value === null ? all.length : place;
  };
}

/** How many categories there are, "missing" among them. */
export const categories = (attribute: Categorical): number => attribute.values.length + Number(attribute.optional);

/** Reads a schema, strictly. */
export function readSchema(value: unknown): readonly Attribute[] {
  const attributes = listed(value, "schema").map(readAttribute);
  ensure(attributes.length >= 1 && attributes.length <= 1024, "schema must have 1 to 1024 attributes");
  ensure(new Set(attributes.map(({ name }) => name)).size === attributes.length, "names must differ");
  return attributes;
}

function readAttribute(value: unknown): Attribute {
  const kind = (value as Fields | null)?.["kind"];
  ensure(kind === "numeric" || kind === "categorical", "kind must be known");
  const own = kind === "numeric" ? ["low", "high", "out_of_range", "scale", "unit"] : ["values"];
  const attribute = fields(value, "an attribute", ["kind", "name", ...own, "optional"]);
  ensure(printable(attribute["name"], 1, 128), "name must be 1 to 128 printable characters");
  flag(attribute);
  (kind === "numeric" ? checkNumeric : checkCategorical)(attribute);
  return attribute as unknown as Attribute;
}

function checkNumeric({ low, high, out_of_range, scale, unit }: Fields): void {
  // JSON has no infinities, but 1e999 reads as one. The canonical form sees to it that bounds are written as floats.
  const width = typeof low === "number" && typeof high === "number" ? high - low : 0;
  ensure(width >= 1e-300 && width < Infinity, "low must be below high");
  ensure(out_of_range === "error" || out_of_range === "clip", "out_of_range must be error or clip");
  ensure(scale === "linear" || scale === "log", "scale must be linear or log");
  ensure(
    unit === null || (scale === "log" && typeof unit === "number" && unit > 0 && unit < width),
    "unit must be null, or with scale log below high - low",
  );
}

function checkCategorical(attribute: Fields): void {
  const { values, optional } = attribute;
  const all = listed(values, "values");
  ensure(all.length >= (optional ? 1 : 2) && all.length <= 4096, "values must be 2 to 4096");
  ensure(new Set(all).size === all.length, "values must differ");
  const texts = typeof all[0] === "string";
  for (const one of all) {
    if (texts) ensure(printable(one, 0, 256) && one !== MISSING, "a value must be at most 256 printable characters");
    else integer(one, -MAX_CODE, MAX_CODE, "a value");
  }
  PLACES.set(attribute, texts ? textFinder(all as readonly string[]) : codeFinder(all as readonly number[]));
}

/**
 * One input for each item. An engine keeps an array of floats otherwise than one that holds null, and takes its time to
 * change: so all are made of nulls first.
 */
export function inputsFor<T>(items: readonly T[], input: (item: T) => Input): Input[] {
  const found: Input[] = items.map(() => null);
  items.forEach((item, i) => {
    found[i] = input(item);
  });
  return found;
}

/**
 * Checks a whole record and returns one input per attribute, in the schema's order. If only some attributes are asked,
 * the others may be left out: their input is null, and must not be looked at.
 *
 * Own properties alone count, and each is read once. A record with another prototype than that of plain objects is
 * refused: inherited properties would be taken as missing, a false answer that nobody would notice.
 */
export function encode(schema: readonly Attribute[], record: PersonRecord, asked?: readonly string[]): Input[] {
  ensure(isPlain(record), "a record must be a plain object", RecordError);
  const names = new Set<unknown>(schema.map(({ name }) => name));
  // Which one is not said: in a record with names and values swapped it would be a value.
  if (!Reflect.ownKeys(record).every((key) => names.has(key)))
    throw new RecordError(`the record has an attribute that is not in the schema; there are: ${few([...names])}`);
  return inputsFor(schema, (attribute) => {
    const given = Object.hasOwn(record, attribute.name);
    if (!given && asked && !asked.includes(attribute.name)) return null;
    const value = given ? asNumber(record[attribute.name] ?? null) : null;
    const fail = (text: string): never => {
      throw new RecordError(`attribute ${JSON.stringify(attribute.name)}: ${text}`);
    };
    if (value === null && !attribute.optional) fail("is missing, and not declared optional");
    return attribute.kind === "numeric" ? position(attribute, value, fail) : index(attribute, value, fail);
  });
}

/** A bigint becomes the nearest float64, the largest one if it is larger still. All else stays as it is. */
const asNumber = (value: unknown): unknown =>
  typeof value === "bigint" ? Math.min(Math.max(Number(value), -Number.MAX_VALUE), Number.MAX_VALUE) : value;

/** Whether a value is an object that inherits from nothing but the Object of this page, or of another frame. */
function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.hasOwn(prototype as object, "isPrototypeOf");
}

/** Lists the known values, which are public; the first few of many. */
const few = (all: readonly unknown[]): string =>
  all.slice(0, 8).map((one) => JSON.stringify(one)).join(", ") + (all.length > 8 ? ", ..." : "");

type Fail = (text: string) => never;

function position({ low, high, out_of_range }: Numeric, value: unknown, fail: Fail): Input {
  const number = (value ?? low) as number; // a missing one takes the same steps
  if (!Number.isFinite(number)) fail("must be a finite number");
  if (out_of_range === "error" && (number < low || number > high)) fail(`must be from ${low} to ${high}`);
  const place = number < low ? 0 : number > high ? 1 : (number - low) / (high - low);
  return value === null ? null : place;
}

function index(attribute: Categorical, value: unknown, fail: Fail): Input {
  const { values } = attribute;
  const place = PLACES.get(attribute)!(value);
  return place ?? fail(`must be one of the ${values.length} ${typeof values[0]}s declared: ${few(values)}`);
}
