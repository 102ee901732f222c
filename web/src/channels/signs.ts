/** The signs channel: d numbers at once, reported as d signs. Duchi et al.'s multidimensional mechanism. */
import { comb, members } from "../exact.js";
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
  return {
    kind: "signs",
    ratio,
    alphabet: subsets(size),
    fits: (attributes) => areNumbers(size, false, attributes),
    draw(inputs, coins) {
      const truth = inputs.reduce((bits, u, j) => bits | (BigInt(coins.up(u!)) << BigInt(j)), 0n);
      const wanted = coins.toss(threshold);
      for (;;) {
        let corner = 0n;
        for (let start = 0; start < size; start += 64) corner |= coins.word() << BigInt(start);
        corner = BigInt.asUintN(size, corner);
        if (2 * members(corner ^ truth).length < size === wanted) return members(corner);
      }
    },
    likelihood(output, inputs) {
      const plus = new Set(output as readonly number[]);
      const differing = howMany(inputs.map((u, j) => (plus.has(j) ? 1 - upShare(u!) : upShare(u!))));
      return differing.reduce((sum, chance, i) => sum + chance * chances[2 * i < size ? 0 : 1]!, 0);
    },
  };
}
