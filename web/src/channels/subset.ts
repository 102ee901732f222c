/** The subset channel: one of K categories, reported as a set of w of them; as one of them if w = 1. */
import { quotient, rarity, WORD } from "../exact.js";
import { big, integer } from "../json.js";
import { subsets, symbols } from "./alphabet.js";
import { type Channel, channelFields, groups, isCategory } from "./channel.js";

/** The largest number of categories: one more than a schema may declare, as "missing" is one too. */
export const MAX_SIZE = 4097;

/** Reads a subset channel. There are C(K-1, w-1) sets with the true category and C(K-1, w) without. */
export function subset(value: unknown): Channel {
  const found = channelFields(value, "subset", "size", "weight", "threshold");
  const size = integer(found["size"], 2, MAX_SIZE, "size");
  const weight = integer(found["weight"], 1, size - 1, "weight");
  return subsetOf(size, weight, big(found["threshold"], "threshold"));
}

/** Returns a subset channel whose numbers are in range. */
export function subsetOf(size: number, weight: number, threshold: bigint): Channel {
  const { ratio } = groups(threshold, BigInt(weight), BigInt(size - weight));
  const chances = [
    quotient(WORD - threshold, WORD) * rarity(size - 1, weight),
    quotient(threshold, WORD) * rarity(size - 1, weight - 1),
  ];
  return {
    kind: "subset",
    ratio,
    alphabet: weight === 1 ? symbols(size) : subsets(size, weight),
    fits: (attributes) => isCategory(size, attributes),
    draw([input], coins) {
      const set = coins.around(size, weight, input!, Number(coins.toss(threshold)));
      return weight === 1 ? set[0]! : set;
    },
    likelihood(output, [category]) {
      const contains = Array.isArray(output) ? output.includes(category) : output === category;
      return chances[Number(contains)]!;
    },
  };
}
