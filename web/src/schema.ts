/** The attributes of a record, and the only place where a person's values are read. */
import { ensure, RecordError } from "./errors.js";
import { counter } from "./exact.js";
import { type Fields, fields, flag, integer, listed, printable } from "./json.js";
import type { Text, TextRules } from "./texts.js";

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
  /** The kind that the plan names, if it is another one. */
  readonly holds?: "integer" | "date" | "time";
  /** How many seconds a step of times of day has. */
  readonly step?: number;
}

/** One of a list of values: all strings, all integers, or false and true. */
export interface Categorical {
  readonly kind: "categorical";
  readonly name: string;
  readonly values: readonly string[] | readonly number[] | readonly boolean[];
  readonly optional: boolean;
  /** Whether all strings that are not listed count as one more category, behind those that are. */
  readonly other?: boolean;
  /** The kind that the plan names, if it is another one. */
  readonly holds?: "boolean";
}

/** Some of a list of strings, at most `most` of them. */
export interface Choices {
  readonly kind: "choices";
  readonly name: string;
  readonly values: readonly string[];
  readonly most: number;
  readonly optional: boolean;
}

/** An attribute, as it stands in the plan. */
export type Attribute = Numeric | Categorical | Choices | Text;

/** A person's values by the names of attributes; null, undefined and no entry mean missing. */
export type PersonRecord = { readonly [name: string]: unknown };

/** The input of a channel for one attribute: a number in [0, 1], the index of a category, or null for missing. (That of
 * choices is a Uint8Array, at which only their views and channel may look.) */
export type Input = number | null;

const MISSING = "(missing)";
const MAX_CODE = Number.MAX_SAFE_INTEGER;
const PRIME = 2 ** 27 - 39; // times 2^16, for a character, and 514, for 256 characters in two halves each, it is below 2^53

/** The rules for texts, if `large.ts` was loaded. */
export const texts: Partial<TextRules> = {};

/** The long lists that were read and checked, by what a plan says of them. `large.ts` adds some. */
export const lists = new Map<string, readonly string[]>();

/** Returns where a value of a categorical attribute is, with null for "missing" behind all others. */
type Find = (value: unknown) => number | undefined;

/** For each categorical attribute. A search through the list would take longer for some than for others. */
const PLACES = new WeakMap<object, Find>();

/**
 * Finds texts, in the same steps for all of them. A map of texts would not: an engine hashes a text character by
 * character when it is first looked up, and keeps the hash. So texts are filled up to one length and hashed here, twice,
 * by secret factors modulo a prime P. All sums are below 2^53, so they are exact, and so is the key of both hashes.
 *
 * It ends, whatever a plan or a list declares. Two texts differ in a character, by less than P, so for one remainder of
 * its factor alone their hashes are the same. A remainder has at most 33 of the 2^32 words, so that the first hashes
 * collide with a probability below 2^-26. Of the second ones 26 bits are kept: their difference must be 0, 2^26 or
 * -2^26, below 2^-25. Of fewer than 2^22 texts some two have the same key with a probability below 2^43 * 2^-51 = 2^-8.
 * Then other factors are drawn: 1.004 times on the average, and 9 times are too few with a probability below 2^-72.
 */
function textFinder(all: readonly string[]): Find {
  const longest = all.reduce((most, { length }) => Math.max(most, length), 0);
  const filler = "\uffff".padEnd(longest + 2, "\0"); // where the first character comes last, the text ends
  const filled = (text: string): string => text + filler.slice(0, longest + 2 - text.length);
  let factors!: Float64Array;
  const hash = (whole: string): number => {
    let [sum, other] = [0, 0];
    for (let i = 0; i < filler.length; i++) {
      const code = whole.charCodeAt(i);
      sum += factors[2 * i]! * code;
      other += factors[2 * i + 1]! * code;
    }
    return (sum % PRIME) * 2 ** 26 + ((other % PRIME) % 2 ** 26);
  };
  let places = new Map<number, number>();
  for (let tries = 0; places.size < all.length; tries++) {
    ensure(tries < 9, "values must differ");
    factors = Float64Array.from(crypto.getRandomValues(new Uint32Array(2 * filler.length)), (word) => word % PRIME);
    places = new Map();
    all.forEach((one, i) => places.set(hash(filled(one)), i));
  }
  return (value) => {
    // A longer text is none of them, and is cut: it takes no longer than others. Null takes the steps of the first text.
    const whole = filled((typeof value === "string" ? value : all[0]!).slice(0, longest + 1));
    const place = places.get(hash(whole)) ?? 0;
    const same = filled(all[place]!) === whole;
    return value === null ? all.length : typeof value === "string" && same ? place : undefined;
  };
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

/** Finds booleans, and nothing that only counts as one. */
const truthFinder: Find = (value) => (value === null ? 2 : typeof value === "boolean" ? Number(value) : undefined);

/** How many categories there are, "missing" among them. Choices are none. */
export const categories = (attribute: Categorical | Choices | Text): number =>
  attribute.kind !== "categorical"
    ? 0
    : attribute.values.length + Number(attribute.optional) + Number(!!attribute.other);

/** Reads a schema, strictly. */
export function readSchema(value: unknown): readonly Attribute[] {
  const all = listed(value, "schema");
  texts.limit?.(all);
  const attributes = all.map(readAttribute);
  ensure(attributes.length >= 1 && attributes.length <= 1024, "schema must have 1 to 1024 attributes");
  ensure(new Set(attributes.map(({ name }) => name)).size === attributes.length, "names must differ");
  return attributes;
}

/** The fields of each kind, beside those of all. */
const OWN = new Map([
  ["numeric", ["low", "high", "out_of_range", "scale", "unit"]],
  ["categorical", ["values"]],
  ["choices", ["values", "most"]],
  ["boolean", []],
  ["integer", ["low", "high", "out_of_range"]],
  ["date", ["low", "high", "out_of_range"]],
  ["time", ["low", "high", "out_of_range", "step"]],
]);

function readAttribute(value: unknown): Attribute {
  const kind = (value as Fields | null)?.["kind"];
  const own = typeof kind === "string" && (OWN.get(kind) ?? texts.own?.get(kind));
  ensure(own, "kind must be known");
  const other = (value as Fields)["other"] === true && kind === "categorical" ? ["other"] : [];
  const attribute = fields(value, "an attribute", ["kind", "name", ...own, ...other, "optional"]);
  ensure(printable(attribute["name"], 1, 128), "name must be 1 to 128 printable characters");
  flag(attribute);
  if (kind === "boolean") {
    const found = { ...attribute, kind: "categorical", values: [false, true], holds: kind };
    PLACES.set(found, truthFinder);
    return found as unknown as Attribute;
  }
  if (own.includes("low") && kind !== "numeric") {
    const found: Fields = { ...attribute, kind: "numeric", scale: "linear", unit: null, holds: kind };
    if (kind !== "integer") count(found);
    checkNumeric(found);
    ensure(Number.isSafeInteger(found["low"]) && Number.isSafeInteger(found["high"]), "bounds must be whole");
    return found as unknown as Attribute;
  }
  const list = kind === "categorical" && lists.get(JSON.stringify(attribute["values"]));
  const found = list ? { ...attribute, values: list } : attribute;
  (kind === "numeric" ? checkNumeric : kind === "text" ? texts.check! : checkCategorical)(found);
  return found as unknown as Attribute;
}

/** For each attribute of dates or times of day: the number of a value, or NaN. */
const COUNTS = new WeakMap<object, (value: unknown) => number>();

/** Turns the bounds of dates or times of day into numbers, of days since 1970 or of steps since midnight. */
function count(found: Fields): void {
  const { low, high, step, holds } = found;
  const clock = holds === "time";
  if (clock) integer(step, 1, 43200, "step");
  const unit = clock ? 1e3 * (step as number) : 864e5;
  const turn = clock ? 864e5 / unit : 1e7; // steps of the day; there are fewer days than that
  const around = (x: number): number => ((x % turn) + turn) % turn;
  const parsed = (text: unknown): number => {
    const whole = typeof text === "string" ? (clock ? `1970-01-01T${text}Z` : text) : "";
    const time = /^(?!0000)\d{4}-\d\d-\d\d(T\d\d(:\d\d){1,2}Z)?$/.test(whole) ? Date.parse(whole) : NaN;
    // Some engines take 02-30 for a day of March, and all take 24:00 for the next day.
    return new Date(time || 0).toISOString().includes(text as string) ? time / unit : NaN;
  };
  const [first, last] = [parsed(low), parsed(high)];
  const span = around(last - first); // a range of times may go past midnight
  ensure(
    turn % 1 === 0 && span > 0 && (clock ? `${low}${high}`.length === 16 : first < last),
    "low must be before high, both dates or times of day",
  );
  [found["low"], found["high"]] = [first, first + span];
  const start = first - Math.floor((turn - span - 1) / 2); // times nearer to low than to high are counted before it
  COUNTS.set(found, (value) => start + around(Math.floor(parsed(value ?? low)) - start));
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
  const { values, optional, other } = attribute;
  const all = listed(values, "values");
  // A long list is frozen: it was checked before.
  const few = Object.isFrozen(all) || all.length + Number(!!other) <= 4096;
  ensure(all.length >= (optional || other ? 1 : 2) && few, "values must be 2 to 4096");
  ensure(new Set(all).size === all.length, "values must differ");
  const texts = typeof all[0] === "string";
  ensure(texts || !other, "other must be of strings");
  for (const one of all) {
    if (texts) ensure(printable(one, 0, 256) && one !== MISSING && !(other && one === "(other)"), "a value must be at most 256 printable characters");
    else integer(one, -MAX_CODE, MAX_CODE, "a value");
  }
  if (attribute["kind"] === "choices") {
    ensure(texts && all.length >= 2 && all.length <= 1024, "values must be 2 to 1024 strings");
    integer(attribute["most"], 1, all.length, "most");
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
 * the others may be left out: their input must not be looked at. Those that may be missing take the same steps as if they
 * were given, or time would tell them from others.
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
    if (!given && !attribute.optional && asked && !asked.includes(attribute.name)) return null;
    const value = given ? asNumber(record[attribute.name] ?? null) : null;
    const fail = (text: string): never => {
      throw new RecordError(`attribute ${JSON.stringify(attribute.name)}: ${text}`);
    };
    if (value === null && !attribute.optional) fail("is missing, and not declared optional");
    if (attribute.kind === "choices") return chosen(attribute, value, fail);
    if (attribute.kind === "text") return texts.code!(attribute, value, fail);
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

function position(attribute: Numeric, value: unknown, fail: Fail): Input {
  const { low, high, out_of_range, holds } = attribute;
  const counts = COUNTS.get(attribute);
  const number = counts ? counts(value) : ((value ?? low) as number); // a missing one takes the same steps
  if (!Number.isFinite(number)) fail(`must be a ${counts ? holds : "finite number"}`);
  if (holds && !Number.isInteger(number)) fail("must be a whole number");
  if (out_of_range === "error" && (number < low || number > high)) fail(counts ? "must be in the range" : `must be from ${low} to ${high}`);
  const place = number < low ? 0 : number > high ? 1 : (number - low) / (high - low);
  return value === null ? null : place;
}

function index(attribute: Categorical, value: unknown, fail: Fail): Input {
  const { values, other } = attribute;
  const place = PLACES.get(attribute)!(value);
  if (other && value === null) return values.length + 1;
  if (other && typeof value === "string") return place ?? values.length;
  return place ?? fail(`must be one of the ${values.length} ${typeof values[0]}s declared: ${few(values)}`);
}

/** Marks the values of a list, each 0 or 1; all are 2 if it is missing. A short list takes as many steps as a long one. */
function chosen(attribute: Choices, value: unknown, fail: Fail): Input {
  const { values, most } = attribute;
  const held = (value ?? []) as readonly unknown[];
  if (!Array.isArray(held) || held.length > most) fail(`must be a list of at most ${most} strings`);
  const marks = new Uint8Array(values.length + 1);
  for (let i = 0; i < most; i++) {
    const here = i < held.length;
    const one = here ? held[i] : values[i]; // another one each time, as in a list
    const place = typeof one === "string" ? PLACES.get(attribute)!(one) : undefined;
    if (place === undefined || (here && marks[place])) fail(`must list some of these once: ${few(values)}`);
    marks[here ? place! : values.length] = 1;
  }
  const [found, absent] = [marks.subarray(0, -1), new Uint8Array(values.length).fill(2)];
  return (value === null ? absent : found) as unknown as Input;
}
