/** The geometry channel: one of very many categories, reported as a point of a finite projective geometry. */
import { ensure } from "../errors.js";
import { big, integer } from "../json.js";
import { symbols } from "./alphabet.js";
import { type Channel, channelFields, groups, isCategory } from "./channel.js";

const MAX_POINTS = 2 ** 22;
const MAX_ORDER = 2047;
const MAX_POWER = 128;

/** How many points there are of this number of digits. */
const pointsOf = (order: number, digits: number): number => (order ** digits - 1) / (order - 1);

/** The arithmetic of a field: start - (a_0*b_0 + a_1*b_1 + ...), a product, and inverses. */
interface Field {
  against(start: number, a: readonly number[], b: readonly number[]): number;
  times(a: number, b: number): number;
  readonly inverses: readonly number[];
}

/** Returns the prime of which an order is a power. */
function primeOf(order: number): number {
  let prime = 2;
  while (order % prime) prime++;
  let rest = order;
  while (rest % prime === 0) rest /= prime;
  ensure(rest === 1 && (order === prime || order <= MAX_POWER), "order must be a prime, or a power of one up to 128");
  return prime;
}

/** Returns a field of prime order: arithmetic modulo the order. */
function primeField(order: number): Field {
  const inverses = [0];
  for (let a = 1; a < order; a++) {
    let power = 1; // a^(order - 2)
    for (let left = order - 2, base = a; left; left = Math.floor(left / 2), base = (base * base) % order)
      if (left % 2) power = (power * base) % order;
    inverses.push(power % order);
  }
  return {
    against(start, a, b) {
      const sum = a.reduce((total, digit, i) => total + digit * b[i]!, 0);
      return (start + order * order * a.length - sum) % order;
    },
    times: (a, b) => (a * b) % order,
    inverses,
  };
}

/** Returns a field whose elements are polynomials: their digits in base p are the coefficients, lowest first. */
function powerField(order: number, prime: number): Field {
  const combined = (a: number, b: number, sign: number): number => {
    let found = 0;
    for (let unit = 1; unit < order; unit *= prime) {
      const digit = (Math.floor(a / unit) % prime) + sign * (Math.floor(b / unit) % prime);
      found += ((digit + prime) % prime) * unit;
    }
    return found;
  };
  const top = order / prime;
  let powers: number[] = [];
  for (let rest = 0; powers.length < order - 1; rest++) {
    const multiples = [0];
    while (multiples.length < prime) multiples.push(combined(multiples.at(-1)!, rest, 1));
    powers = [1];
    for (let x = prime; x && !powers.includes(x); ) {
      powers.push(x);
      x = combined((x % top) * prime, multiples[Math.floor(x / top)]!, -1);
    }
  }
  const every = [...Array(order).keys()];
  const logs = every.map((a) => powers.indexOf(a));
  const products = every.map((a) => every.map((b) => (a && b ? powers[(logs[a]! + logs[b]!) % (order - 1)]! : 0)));
  const differences = every.map((a) => every.map((b) => combined(a, b, -1)));
  return {
    against: (start, a, b) => a.reduce((left, digit, i) => differences[left]![products[digit]![b[i]!]!]!, start),
    times: (a, b) => products[a]![b]!,
    inverses: products.map((row) => Math.max(row.indexOf(1), 0)),
  };
}

/** Reads a geometry channel. Of all points, `inside` are orthogonal to a given one, and `outside` are not. */
export function geometry(value: unknown): Channel {
  const found = channelFields(value, "geometry", "size", "order", "digits", "threshold");
  const order = integer(found["order"], 2, MAX_ORDER, "order");
  const digits = integer(found["digits"], 3, 22, "digits");
  const prime = primeOf(order);
  const points = pointsOf(order, digits);
  ensure(points <= MAX_POINTS, "points must be at most 2^22");
  const inside = pointsOf(order, digits - 1);
  const outside = order ** (digits - 1);
  const size = integer(found["size"], inside + 1, points, "size");
  const threshold = big(found["threshold"], "threshold");
  const { ratio, chances } = groups(threshold, BigInt(inside), BigInt(outside));
  const field = order === prime ? primeField(order) : powerField(order, prime);
  const places = [...Array(digits).keys()];
  const powers = [...places, digits].map((i) => order ** i);
  const firsts = places.map((i) => pointsOf(order, i));
  const gaps = places.map((i) => powers[i]! - firsts[i]!);
  /** The place of the highest digit of a point that has at most `count` digits. */
  const highest = (point: number, count: number): number =>
    firsts.reduce((sum, first, i) => sum + (Number(i > 0 && i < count) & Number(point >= first)), 0);
  const vector = (written: number): number[] => places.map((i) => Math.floor(written / powers[i]!) % order);
  const digitsOf = (point: number): number[] => vector(point + gaps[highest(point, digits)]!);
  return {
    kind: "geometry",
    ratio,
    alphabet: symbols(points),
    fits: (attributes) => isCategory(size, attributes),
    draw([input], coins) {
      const meets = Number(coins.toss(threshold));
      const near = Number(coins.below(BigInt(inside)));
      const far = Number(coins.below(BigInt(outside)));
      const free = [far, near + gaps[highest(near, digits - 1)]!][meets]!;
      const solved = digits - 1 - highest(input!, digits);
      const low = free % powers[solved]!;
      const found = vector((free - low) * order + low);
      found[solved] = field.against(1 - meets, found, digitsOf(input!).reverse());
      let top = 0;
      let lead = 0;
      found.forEach((digit, place) => {
        const here = Number(digit > 0);
        top += here * (place - top);
        lead += here * (digit - lead);
      });
      const inverse = field.inverses[lead]!;
      return found.reduce((sum, digit, i) => sum + field.times(inverse, digit) * powers[i]!, -gaps[top]!);
    },
    likelihood(output, [category]) {
      const meets = field.against(0, digitsOf(output as number), digitsOf(category!).reverse()) === 0;
      return chances[meets ? 0 : 1];
    },
  };
}
