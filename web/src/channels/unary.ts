/** The unary channel: one of K categories, reported as one noisy bit for each. */
import { ensure } from "../errors.js";
import { members, quotient, WORD } from "../exact.js";
import { big, integer } from "../json.js";
import { subsets } from "./alphabet.js";
import { type Channel, channelFields, isCategory } from "./channel.js";
import { MAX_SIZE } from "./subset.js";

/** Reads a unary channel. Two inputs differ in two bits: a 1 at one and a 0 at the other has the largest ratio. */
export function unary(value: unknown): Channel {
  const found = channelFields(value, "unary", "size", "true", "other");
  const size = integer(found["size"], 2, MAX_SIZE, "size");
  const truth = big(found["true"], "true");
  const other = big(found["other"], "other");
  ensure(other < truth, "threshold must favour the truth");
  return {
    kind: "unary",
    ratio: [truth * (WORD - other), other * (WORD - truth)],
    alphabet: subsets(size),
    fits: (attributes) => isCategory(size, attributes),
    draw([input], coins) {
      const category = BigInt(input!);
      let bits = 0n;
      for (let start = 0; start < size; start += 64) {
        // A word supplies one binary digit of 64 uniform numbers, compared with `other` until all are decided.
        let undecided = (1n << BigInt(Math.min(64, size - start))) - 1n;
        for (let digits = other; undecided && digits; digits = BigInt.asUintN(64, digits << 1n)) {
          const word = coins.word();
          const below = undecided & ~word;
          if (digits >> 63n) {
            bits |= below << BigInt(start);
            undecided &= word;
          } else undecided = below;
        }
      }
      bits &= ~(1n << category);
      return members(bits | (BigInt(coins.toss(truth)) << category));
    },
    likelihood(output, [category]) {
      const set = output as readonly number[];
      const held = set.includes(category!);
      const ones = set.length - Number(held);
      return (
        quotient(held ? truth : WORD - truth, WORD) *
        quotient(other, WORD) ** ones *
        quotient(WORD - other, WORD) ** (size - 1 - ones)
      );
    },
  };
}
