/**
 * Texts that nobody listed: a text becomes a fixed number of bits by public rules, and questions ask for its first bits,
 * hashed to a point. Every text takes the same steps: as many symbols are coded, and as many chunks are mixed.
 */
import { ensure } from "./errors.js";
import { counter } from "./exact.js";
import { type Fields, integer, listed, printable } from "./json.js";
import type { Attribute, Input } from "./schema.js";
import type { View } from "./views.js";

/** A text of which the first `length` characters count. */
export interface Text {
  readonly kind: "text";
  readonly name: string;
  readonly length: number;
  readonly alphabet: string | null;
  readonly case: "lower" | "keep";
  readonly code: readonly string[];
  readonly bits: number;
  readonly optional: boolean;
}

/** What the client needs to know of texts. */
export interface TextRules {
  /** The fields of attributes and views of their kinds. */
  own: ReadonlyMap<string, readonly string[]>;
  check(attribute: Fields): void;
  code(text: Text, value: unknown, fail: (rule: string) => never): Input;
  view(kind: string, found: Fields, of: readonly string[], text: Attribute, place: number): View;
}

/** A word of a prefix code: its bits from the left of 24, how many they are, and the row of the code behind it. */
type Word = readonly [number, number, number];

/** For each text of a plan: the points of its alphabet, with their places, and the words of its code. */
const TABLES = new WeakMap<object, { place(point: number): number; words: readonly Word[][] }>();

const BYTES = 256;
const LOOK = 4; // characters that are looked at, for each that counts
const MAX_WORD = 24; // bits of one symbol
const DIGITS = "0123456789abcdefghijklmno";
const mask = (x: bigint): bigint => BigInt.asUintN(64, x);

/** Mixes one more chunk of bits into the state of a prefix. */
function mixed(state: bigint, chunk: bigint, level: bigint): bigint {
  let x = mask(state + (chunk + 1n) * 0x9e3779b97f4a7c15n + level * 0xd6e8feb86659fd93n);
  x = mask((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
  x = mask((x ^ (x >> 27n)) * 0x94d049bb133111ebn);
  return x ^ (x >> 31n);
}

/** Checks a text of a schema, and makes its tables. */
function checkText(attribute: Fields): void {
  const { alphabet, bits, length } = attribute as unknown as Text;
  const rows = listed(attribute["code"], "code") as readonly string[];
  integer(length, 1, 64, "length");
  integer(bits, 8, 128, "bits");
  ensure(["lower", "keep"].includes(attribute["case"] as string), "case must be lower or keep");
  const letters = typeof alphabet === "string" ? [...alphabet] : [];
  if (alphabet !== null) {
    ensure(printable(alphabet, 2, BYTES), "alphabet must be 2 to 256 printable characters");
    ensure(new Set(letters).size === letters.length, "characters of the alphabet must differ");
    const normal = letters.map((one) => cased(one, attribute["case"] as string).normalize("NFC"));
    ensure(normal.every((one, i) => one === letters[i]), "the alphabet must be in its normal form");
  }
  const symbols = (alphabet === null ? BYTES : letters.length) + 1;
  ensure(rows.length === (alphabet === null ? 4 : symbols) || (alphabet !== null && rows.length === 1), "code must have a row for each symbol");
  const next = (row: number, symbol: number): number => {
    if (alphabet !== null) return rows.length > 1 ? symbol : 0;
    const ones = Math.clz32(~(symbol << 24)); // with which a byte of UTF-8 begins: one if it is not the first of a character
    return Math.max((ones === 1 ? row : ones) - 1, 0);
  };
  const words = rows.map((row, at) => {
    ensure(typeof row === "string" && row.length === symbols && /^[1-9a-o]+$/.test(row), "a row of the code must have lengths from 1 to 24");
    const lengths = [...row].map((digit) => DIGITS.indexOf(digit));
    ensure(lengths.reduce((sum, one) => sum + 2 ** -one, 0) <= 1, "the words of the code must be longer"); // exact: multiples of 2^-24
    const found: Word[] = [];
    let word = 0;
    for (const symbol of [...lengths.keys()].sort((i, j) => lengths[i]! - lengths[j]!)) {
      found[symbol] = [word, lengths[symbol]!, next(at, symbol)];
      word += 1 << (MAX_WORD - lengths[symbol]!);
    }
    return found;
  });
  const points = letters.map((one) => one.codePointAt(0)!);
  const order = [...points.keys()].sort((i, j) => points[i]! - points[j]!);
  const sorted = order.map((i) => points[i]!);
  const reached = counter(sorted, Infinity);
  const place = (point: number): number => {
    const at = Math.max(reached(point) - 1, 0); // before the first place an engine takes another way
    return sorted[at] === point ? order[at]! : -1;
  };
  TABLES.set(attribute, { place, words });
}

const cased = (text: string, rule: string): string => (rule === "lower" ? text.toLowerCase() : text);

/** Follows each text, and is no part of it: nothing joins it, and it has no other form. */
const WIDEST = "\0\u{10ffff}";

const isSpace = (point: number): number => Number(point === 32) | Number(point === 9) | Number(point === 10) | Number(point === 13);

/** Returns the code points of a text, as many as asked for, with zeros behind, and how many they are. */
function pointsOf(text: string, most: number): [Uint32Array, number] {
  const found = new Uint32Array(most);
  const padded = text.slice(0, 2 * most).padEnd(2 * most, "\0") + WIDEST; // as long and as wide as any: engines take other ways
  let [at, count] = [0, 0];
  for (let i = 0; i < most; i++) {
    count += Number(at < text.length);
    const point = padded.codePointAt(at)!;
    found[i] = point;
    at += 1 + Number(point > 0xffff);
  }
  return [found, count];
}

/** Returns the code points of a text that count, in their normal form, with anything behind, and how many they are. */
function normal(text: Text, value: string): [Uint32Array, number] {
  const seen = LOOK * text.length;
  const [given, held] = pointsOf(value, seen);
  // Engines are quicker with shorter and with narrower texts: all are made equally long, and as wide as any.
  const framed = cased(String.fromCodePoint(...given) + WIDEST, text.case).normalize("NFC");
  const [points, all] = pointsOf(framed, 4 * seen); // no character becomes more than three
  const counts = Math.min(all - (seen - held) - 2, seen);
  const { place } = TABLES.get(text)!;
  const kept = new Uint32Array(seen + 1);
  let count = 0;
  for (let i = 0; i < seen; i++) {
    kept[count] = points[i]!;
    count += Number(i < counts) & Number(text.alphabet === null || place(points[i]!) >= 0);
  }
  let [first, leading, last] = [0, 1, 0];
  for (let i = 0; i < seen; i++) {
    leading &= isSpace(kept[i]!) & Number(i < count);
    first += leading;
  }
  const found = new Uint32Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const point = kept[Math.min(first + i, seen)]!;
    const here = Number(first + i < count);
    found[i] = point;
    last = here & (1 - isSpace(point)) ? i + 1 : last;
  }
  return [found, last];
}

/** Returns the symbols of a text, as many as it can have, with ends behind. */
function symbolsOf(text: Text, end: number, [points, count]: [Uint32Array, number]): Uint16Array {
  const { place } = TABLES.get(text)!;
  if (text.alphabet !== null)
    return Uint16Array.from(points, (point, i) => {
      const at = place(point); // also behind the end: whether it is looked up would show
      const here = Number(i < count);
      return at * here + end * (1 - here);
    });
  const found = new Uint16Array(4 * text.length + 4).fill(end);
  let at = 0;
  points.forEach((point, i) => {
    const more = Number(point > 0x7f) + Number(point > 0x7ff) + Number(point > 0xffff);
    const here = Number(i < count);
    const lead = [0, 0xc0, 0xe0, 0xf0][more]! | (point >> (6 * more));
    for (let byte = 0; byte < 4; byte++) {
      const tail = 0x80 | ((point >> (6 * Math.max(more - byte, 0))) & 0x3f);
      const used = here & Number(byte <= more);
      found[at] = used ? (byte ? tail : lead) : end;
      at += used;
    }
  });
  return found.slice(0, 4 * text.length);
}

/** Returns the bits of a text as a bigint, or null if it is missing. */
function textCode(text: Text, value: unknown, fail: (rule: string) => never): Input {
  const given = value ?? "";
  if (typeof given !== "string") return fail("must be a string");
  if (given.length > 4096 && [...given].length > 4096) fail("must be a string of at most 4096 characters");
  const [looked] = pointsOf(given, LOOK * text.length);
  if (looked.reduce((half, point) => half | Number((point & 0xfffff800) === 0xd800), 0)) fail("must not hold half of a pair of surrogates, which is no character");
  const code = bitsOf(text, given);
  return (value === null ? null : code) as unknown as Input;
}

/** Returns the bits of a text that is there. */
function bitsOf(text: Text, given: string): bigint {
  const { words } = TABLES.get(text)!;
  const end = words[0]!.length - 1;
  const bits = new Uint8Array(text.bits + 1);
  let [row, going, at] = [text.alphabet === null ? 0 : words.length - 1, 1, 0];
  for (const symbol of symbolsOf(text, end, normal(text, given))) {
    const [word, length, next] = words[row]![symbol]!;
    for (let bit = 0; bit < MAX_WORD; bit++) {
      const used = going & Number(bit < length) & Number(at < text.bits);
      bits[at]! |= used & (word >> (MAX_WORD - 1 - bit));
      at += used;
    }
    going &= Number(symbol !== end);
    row = next;
  }
  return BigInt(`0b${bits.subarray(0, text.bits).join("")}`);
}

/** Returns the function from a code to the point of its first bits. */
function prefix(text: Text, chunks: readonly number[], points: number): (code: Input) => number {
  const steps: (readonly [bigint, bigint])[] = [];
  let at = text.bits;
  for (const chunk of chunks) {
    at -= chunk;
    steps.push([BigInt(at), (1n << BigInt(chunk)) - 1n]);
  }
  return (input) => {
    const code = (input ?? 0n) as unknown as bigint;
    let state = 0n;
    steps.forEach(([shift, bits], level) => {
      state = mixed(state, (code >> shift) & bits, BigInt(level));
    });
    const point = Number(state % BigInt(points));
    return input === null ? points : point;
  };
}

/** Returns the function from a code to the place of a listed text, behind which come all others, and missing ones. */
function among(text: Text, values: readonly string[]): (code: Input) => number {
  const codes = values.map((value) => {
    const [points, count] = normal(text, value);
    ensure(String.fromCodePoint(...points.subarray(0, count)) === value, "a listed text must be in its normal form");
    return bitsOf(text, value);
  });
  ensure(new Set(codes).size === codes.length, "listed texts must differ");
  const order = [...codes.keys()].sort((i, j) => Number(codes[i]! > codes[j]!) - Number(codes[i]! < codes[j]!));
  const sorted = order.map((i) => codes[i]!);
  const reached = counter(sorted, 1n << 128n);
  return (input) => {
    const code = (input ?? 0n) as unknown as bigint;
    const at = Math.max(reached(code) - 1, 0);
    const place = sorted[at] === code ? order[at]! : codes.length;
    return input === null ? codes.length + 1 : place;
  };
}

function view(kind: string, found: Fields, of: readonly string[], text: Attribute, at: number): View {
  ensure(text.kind === "text", "this view must be of a text");
  const { name, optional } = text;
  if (kind === "among") {
    const values = listed(found["values"], "values") as readonly string[];
    ensure(values.length && values.length < 4096, "values must be 1 to 4095");
    for (const value of values)
      ensure(printable(value, 0, 256) && value !== "(missing)" && value !== "(other)", "a value must be at most 256 printable characters");
    const place = among(text, values);
    return { kind, of, seen: { kind: "categorical", name, values, optional, other: true }, look: (inputs) => place(inputs[at]!) };
  }
  ensure(kind === "prefix", "the kind of a view must be known");
  const chunks = listed(found["chunks"], "chunks") as readonly number[];
  ensure(chunks.length >= 1 && chunks.length <= 32, "chunks must be 1 to 32");
  let bits = 0;
  for (const chunk of chunks) bits += integer(chunk, 0, 24, "a chunk");
  ensure(bits <= text.bits, "a prefix must have at most the bits of the text");
  const points = integer(found["points"], 2, 2 ** 22, "points");
  const place = prefix(text, chunks, points);
  const values = { length: points } as unknown as readonly number[]; // they have no names
  return { kind, of, seen: { kind: "categorical", name, values, optional }, look: (inputs) => place(inputs[at]!) };
}

/** The rules for texts. */
export const RULES: TextRules = {
  own: new Map([
    ["text", ["length", "alphabet", "case", "code", "bits"]],
    ["prefix", ["chunks", "points"]],
    ["among", ["values"]],
  ]),
  check: checkText,
  code: textCode,
  view,
};
