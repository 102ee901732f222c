/** The signs channel: d numbers at once, reported as d signs. Duchi et al.'s multidimensional mechanism. */
import { type Coins, marked } from "../coins.js";
import { comb } from "../exact.js";
import { big, integer } from "../json.js";
import { subsets } from "./alphabet.js";
import { areNumbers, type Channel, channelFields, groups, howMany, upShare } from "./channel.js";

/** Reads a signs channel: near corners agree with the input's in more than half of the dimensions. */
export function signs(value: unknown): Channel {
  const found = channelFields(value, "signs", "size", "threshold");
  const size = integer(found["size"], 1, 1024, "size");
  const threshold = big(found["threshold"], "threshold");
  const corners = 1n << BigInt(size);
  const near = (corners - (size % 2 ? 0n : comb(size, size / 2))) / 2n;
  const { ratio, chances } = groups(threshold, near, corners - near);

  /** Draws signs to change until their number is right; returns them, and whether they are more than half. */
  const changes = (coins: Coins, right: (surplus: number) => boolean): [Uint8Array, number] => {
    for (;;) {
      const bits = coins.bits(size);
      const surplus = 2 * bits.reduce((sum, bit) => sum + bit, 0) - size;
      if (right(surplus)) return [bits, Number(surplus > 0)];
    }
  };

  return {
    kind: "signs",
    ratio,
    alphabet: subsets(size),
    fits: (attributes) => areNumbers(size, false, attributes),
    draw(inputs, coins) {
      const truth = inputs.map((u) => coins.up(u!));
      const wanted = coins.toss(threshold);
      // The changes of a near corner and of another are both drawn, whichever is wanted.
      const [bits, most] = changes(coins, (surplus) => surplus !== 0);
      const few = bits.map((bit) => bit ^ most);
      const many = size % 2 ? few.map((bit) => bit ^ 1) : changes(coins, (surplus) => surplus >= 0)[0];
      return marked((wanted ? few : many).map((bit, j) => bit ^ truth[j]!));
    },
    likelihood(output, inputs) {
      const plus = new Set(output as readonly number[]);
      const differing = howMany(inputs.map((u, j) => (plus.has(j) ? 1 - upShare(u!) : upShare(u!))));
      return differing.reduce((sum, chance, i) => sum + chance * chances[2 * i < size ? 0 : 1]!, 0);
    },
  };
}
