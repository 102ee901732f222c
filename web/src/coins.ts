/** Randomness as an argument: words of 64 bits, and what is made of them exactly. */
import { WORD } from "./exact.js";

/** A source of independent uniform 64-bit words. spec/wire.md fixes how many are drawn, and in which order. */
export abstract class Coins {
  /** Returns the next word, uniform in 0..2^64-1. */
  abstract word(): bigint;

  /** Returns an exactly uniform integer in 0..n-1, for 1 <= n <= 2^64: words that would favour some are drawn anew. */
  below(n: bigint): bigint {
    for (;;) {
      const product = this.word() * n;
      if (product % WORD >= WORD % n) return product / WORD;
    }
  }

  /** Returns true with probability threshold/2^64, exactly. */
  toss(threshold: bigint): boolean {
    return this.word() < threshold;
  }

  /** Returns 1 for a share `fraction` of all words, to within 2^-53, else 0. It rounds inputs: not a private step. */
  up(fraction: number): 0 | 1 {
    return Number(this.word() >> 11n) < fraction * 2 ** 53 ? 1 : 0;
  }

  /** Returns a uniform subset of 0..n-1 of this size, in order (Floyd's algorithm: one draw per member). */
  subset(n: number, size: number): number[] {
    const chosen = new Set<number>();
    for (let top = n - size; top < n; top++) {
      const pick = size === n ? top : Number(this.below(BigInt(top + 1))); // what is certain takes no word
      chosen.add(chosen.has(pick) ? top : pick);
    }
    return [...chosen].sort((a, b) => a - b);
  }
}

/** Words from the cryptographic generator of the browser. Make one for each record, as `randomise` does. */
export class SystemCoins extends Coins {
  readonly #pool = new BigUint64Array(32);
  #left = 0;

  /** Returns the next word, which is then nowhere else: no report can be told from what is left in memory here. */
  word(): bigint {
    if (this.#left === 0) this.#left = crypto.getRandomValues(this.#pool).length;
    const word = this.#pool[--this.#left]!;
    this.#pool[this.#left] = 0n;
    return word;
  }
}
