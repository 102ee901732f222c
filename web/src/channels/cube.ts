/** The cube channel: the signs of k out of d numbers, drawn at random, in one report. The sign-cube. */
import { agreeing, rarity, WORD } from "../exact.js";
import { big, integer } from "../json.js";
import { subsets } from "./alphabet.js";
import { areNumbers, type Channel, channelFields, groups, howMany, upShare } from "./channel.js";

/** Reads a cube channel: near corners agree with the input's in `agree` places or more. */
export function cube(value: unknown): Channel {
  const found = channelFields(value, "cube", "size", "sample", "agree", "threshold");
  const size = integer(found["size"], 1, 1024, "size");
  const sample = integer(found["sample"], 1, Math.min(size, 64), "sample");
  const agree = integer(found["agree"], (sample >> 1) + 1, sample, "agree");
  const threshold = big(found["threshold"], "threshold");
  const rows = agreeing(sample);
  const near = rows[sample]![agree]!;
  const others = (1n << BigInt(sample)) - near;
  const { ratio, chances } = groups(threshold, near, others);
  const share = rarity(size, sample);
  return {
    kind: "cube",
    ratio,
    alphabet: subsets(2 * size, sample, 2),
    fits: (attributes) => areNumbers(size, false, attributes),
    draw(inputs, coins) {
      const truth = inputs.map((u) => coins.up(u!));
      const chosen = coins.subset(size, sample);
      const wanted = coins.toss(threshold);
      // Corners are ranked dimension by dimension, those that agree first: one word is enough however few are near. Both
      // ranks are drawn, as words that are drawn anew depend on how many corners there are.
      const ranks = [coins.rank(others), coins.rank(near)];
      let rank = ranks[Number(wanted)]!; // from 2^64 on, and so is what it is compared with
      let needed = agree;
      return chosen.map((j, i) => {
        const row = rows[sample - 1 - i]!;
        const count = row[Math.max(needed - 1, 0)]!;
        const first = WORD + [row[0]! - count, count][Number(wanted)]!;
        const agrees = Number(rank < first);
        needed -= agrees;
        rank = rank + WORD - (agrees ? WORD : first);
        return 2 * j + (truth[j]! ^ agrees ^ 1);
      });
    },
    likelihood(output, inputs) {
      const set = output as readonly number[];
      const agreed = howMany(
        set.map((member) => {
          const up = upShare(inputs[member >> 1]!);
          return member & 1 ? up : 1 - up;
        }),
      );
      const sum = agreed.reduce((total, chance, i) => total + chance * chances[i >= agree ? 0 : 1]!, 0);
      return sum * share;
    },
  };
}
