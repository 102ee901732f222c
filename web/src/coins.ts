/** Randomness as an argument: words of 64 bits, and exact draws from them. */
import { WORD } from "./exact.js";

const GUARD = WORD << 64n;
const MOST = 2n ** 56n; // outcomes that one word draws for several integers

/**
 * A source of independent uniform 64-bit words. spec/wire.md fixes how many are drawn, and in which order.
 *
 * The work is the same for every word, except for words that are drawn anew, which are independent of the result. So
 * the time of a draw reveals nothing about the input, or about a coin.
 */
export abstract class Coins {
  /** Returns the next word, uniform in 0..2^64-1. */
  abstract word(): bigint;

  /**
   * Returns 2^64 plus an exactly uniform integer in 0..n-1, for 1 <= n <= 2^64: words that would favour some are drawn
   * anew. There is no word for n = 1. With the 2^64 all results have one length, and take the same time further on.
   */
  rank(n: bigint): bigint {
    return (GUARD + this.#fair(n) * n) >> 64n;
  }

  /** Returns a word, of which as many give each of n results: 0 if there is one result. */
  #fair(n: bigint): bigint {
    const excess = WORD % n;
    let word = 0n;
    if (n > 1n) {
      do word = this.word();
      while (BigInt.asUintN(64, word * n) < excess);
    }
    return word;
  }

  /** Returns an exactly uniform integer in 0..n-1. */
  below(n: bigint): bigint {
    return this.rank(n) - WORD;
  }

  /**
   * Returns `count` exactly uniform integers below n, n + step, ...: as many from each word as the product of their
   * ranges allows. The high half of word*n is one of them, and the low half goes on in place of the word.
   */
  several(n: number, count: number, step = 1): number[] {
    const sizes = Array.from({ length: count }, (_, i) => BigInt(n + step * i));
    const found: number[] = [];
    while (found.length < count) {
      let product = 1n;
      let end = found.length;
      do product *= sizes[end++]!;
      while (end < count && product * sizes[end]! <= MOST);
      let word = this.#fair(product);
      for (const size of sizes.slice(found.length, end)) {
        const wide = GUARD + word * size;
        found.push(Number(BigInt.asUintN(56, wide >> 64n)));
        word = BigInt.asUintN(64, wide);
      }
    }
    return found;
  }

  /** Returns true with probability threshold/2^64, exactly. */
  toss(threshold: bigint): boolean {
    return this.word() < threshold;
  }

  /** Returns 1 for a share `fraction` of all words, to within 2^-53, else 0. It rounds inputs: not a private step. */
  up(fraction: number): number {
    return Number(Number(this.word() >> 11n) < fraction * 2 ** 53);
  }

  /** Returns fair bits: a word for every 64 of them, the lowest first. */
  bits(size: number): Uint8Array {
    const bits = new Uint8Array(size);
    let word!: bigint; // both are set before they are read, by the first i
    let half!: number;
    for (let i = 0; i < size; i++) {
      if (i % 64 === 0) word = this.word();
      if (i % 32 === 0) {
        half = Number(BigInt.asIntN(32, word));
        word >>= 32n;
      }
      bits[i] = (half >> i) & 1; // a shift is by i mod 32
    }
    return bits;
  }

  /** Marks one more of 0..top for each top in from..to-1: the steps of Floyd's algorithm for a uniform subset. The first
   * steps may be idle: they draw, and mark nothing. */
  mark(marks: Uint8Array, from: number, to: number, idle = 0): void {
    this.several(from + 1, to - from).forEach((pick, i) => floyd(marks, pick, from + i, Number(i >= idle)));
  }

  /**
   * Returns a uniform set of `weight` of 0..size-1 that has `place` if `contains` is 1, and has it not if it is 0. The
   * first of the others is drawn in any case, and kept if the place is not in the set.
   */
  around(size: number, weight: number, place: number, contains: number): number[] {
    const others = new Uint8Array(size);
    const from = size - weight;
    this.several(from, weight).forEach((pick, i) => floyd(others, pick, from + i - 1, i ? 1 : 1 - contains));
    return marked(others.map((_, i) => (i === place ? contains : others[i - Number(i > place)]!)));
  }

  /** Returns a uniform subset of 0..n-1 of this size, in order. */
  subset(n: number, size: number): number[] {
    const marks = new Uint8Array(n);
    if (size === n) marks.fill(1); // no word for what is certain
    else this.mark(marks, n - size, n);
    return marked(marks);
  }
}

/** Marks `pick`, or `top` if that is marked already; or nothing, if `live` is 0. The work is the same. */
function floyd(marks: Uint8Array, pick: number, top: number, live: number): void {
  const taken = marks[pick]!;
  marks[pick]! |= live;
  marks[top]! |= taken & live;
}

/** Returns the positions of marks, in order. */
export const marked = (marks: Uint8Array): number[] => [...marks.keys()].filter((i) => marks[i]);

/** Words from the cryptographic generator of the browser. Make one for each record, as `randomise` does. */
export class SystemCoins extends Coins {
  readonly #pool = new BigUint64Array(32);
  #left = 0;

  /** Returns the next word and erases it here, so that nothing left in memory explains a report. */
  word(): bigint {
    if (this.#left === 0) this.#left = crypto.getRandomValues(this.#pool).length;
    const word = this.#pool[--this.#left]!;
    this.#pool[this.#left] = 0n;
    return word;
  }
}
