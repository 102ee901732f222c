/** Words that can be drawn again: mended answers get the report of the same dice, and not another one. */
import { Coins, SystemCoins } from "./coins.js";

/**
 * Words of the system's generator that are remembered. Otherwise people could change their answers and change them back
 * until they like the report, and it would say more about them than the plan promises.
 */
export class Dice extends Coins {
  readonly #system = new SystemCoins();
  readonly #words: bigint[] = [];
  #next = 0;

  override word(): bigint {
    if (this.#next === this.#words.length) this.#words.push(this.#system.word());
    return this.#words[this.#next++]!;
  }

  /** Begins again with the first word. */
  rewind(): this {
    this.#next = 0;
    return this;
  }
}
