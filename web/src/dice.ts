/** Words that can be drawn again: who mends their answers gets the report of the same dice, and not another one.
 *
 * Otherwise people could change and change back until they like what they see, and what is sent would say more about
 * them than the plan promises. The words are in the memory of the page alone, as the answers are.
 */
import { Coins, SystemCoins } from "hush-client";

export class Dice extends Coins {
  readonly #system = new SystemCoins();
  readonly #words: bigint[] = [];
  #next = 0;

  override word(): bigint {
    if (this.#next === this.#words.length) this.#words.push(this.#system.word());
    return this.#words[this.#next++]!;
  }

  /** Whether a word was drawn since the beginning. */
  get rolled(): boolean {
    return this.#next > 0;
  }

  /** Begin again with the first word. */
  rewind(): this {
    this.#next = 0;
    return this;
  }
}
