/** Exact integers: bounds of e^x, binomial coefficients, decimals; and the way from them to a float. */

/** 2^64: probabilities of coins are integers out of this many. */
export const WORD = 1n << 64n;

/** A quotient of integers, not in lowest terms. */
export type Ratio = readonly [bigint, bigint];

/** Compares two quotients, for sorting: the larger one first. */
export const descending = ([a, b]: Ratio, [c, d]: Ratio): number => Number(c * b - a * d);

const PLACES = 24;

/** The unit in which decimals are counted: 10^-24. The epsilons of plans have at most 20 decimals. */
export const UNIT = 10n ** BigInt(PLACES);

/** Reads a decimal number as a multiple of 10^-24, exactly. */
export function decimal(text: string): bigint {
  const [whole, rest = ""] = text.split(".");
  return BigInt(whole + rest.padEnd(PLACES, "0"));
}

/** Writes a multiple of 10^-24 as a decimal number with a point, as epsilons are written. */
export function decimalText(units: bigint): string {
  const text = String(units).padStart(PLACES + 1, "0");
  return `${text.slice(0, -PLACES)}.${text.slice(-PLACES).replace(/(?!^)0+$/, "")}`;
}

/** Returns the lower bound of e^x of spec/wire.md, times 2^192, for x in units of 10^-24. */
export function lowerExp(x: bigint): bigint {
  let sum = 0n;
  for (let term = 1n << 192n, i = 1n; term; i++) {
    sum += term;
    term = (term * x) / (UNIT * i);
  }
  return sum;
}

/** Returns n over k. */
export function comb(n: number, k: number): bigint {
  let result = 1n;
  for (let i = 1; i <= k; i++) result = (result * BigInt(n - k + i)) / BigInt(i);
  return result;
}

/** Returns 1 over (n over k), as a float: 0 if that is too small for one. */
export function rarity(n: number, k: number): number {
  let result = 1;
  for (let i = 1; i <= k; i++) result *= i / (n - k + i);
  return result;
}

/**
 * Returns for every m and a up to `size` how many corners of an m-cube agree with a given one in at least a places. Of
 * all 2^64 corners of the 64-cube the array keeps 0, modulo 2^64. It is small, so that no entry is slower to reach.
 */
export function agreeing(size: number): BigUint64Array[] {
  const rows = [new BigUint64Array(size + 1)];
  rows[0]![0] = 1n;
  while (rows.length <= size) rows.push(rows.at(-1)!.map((count, a, row) => count + row[Math.max(a - 1, 0)]!));
  return rows;
}

/**
 * Returns a function that counts the limits, which increase, that are at most x. They are filled up with `end`, which is
 * above all x: among 2^m - 1 limits every search takes m steps, wherever it ends.
 */
export function counter<T extends number | bigint>(limits: readonly T[], end: T): (x: T) => number {
  const all = [...limits];
  while (all.length & (all.length + 1)) all.push(end);
  return (x) => {
    let count = 0;
    for (let step = (all.length + 1) / 2; step >= 1; step /= 2) count += step * Number(all[count + step - 1]! <= x);
    return count;
  };
}

/** Whether each number is larger than the one before it. */
export const increases = (numbers: readonly number[]): boolean =>
  numbers.every((number, i) => !i || numbers[i - 1]! < number);

/** Returns a/b as a float, to within two units in the last place. Both are below 2^1024, as a float must be. */
export const quotient = (a: bigint, b: bigint): number => Number(a) / Number(b);
