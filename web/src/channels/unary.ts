/** The unary channel: one of K categories, reported as one noisy bit for each. */
import { marked } from "../coins.js";
import { ensure } from "../errors.js";
import { quotient, WORD } from "../exact.js";
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
  const digits = Array.from(other.toString(2).padStart(64, "0").replace(/0+$/, ""), Number);
  return {
    kind: "unary",
    ratio: [truth * (WORD - other), other * (WORD - truth)],
    alphabet: subsets(size),
    fits: (attributes) => isCategory(size, attributes),
    draw([input], coins) {
      const marks = new Uint8Array(size);
      for (let start = 0; start < size; start += 64) {
        // A word supplies one binary digit of 64 uniform numbers, compared with `other`. All its digits are read, also if
        // all comparisons are decided before.
        const block = marks.subarray(start, start + 64);
        const open = new Uint8Array(block.length).fill(1);
        for (const digit of digits) {
          coins.bits(block.length).forEach((bit, i) => {
            block[i]! |= digit & open[i]! & ~bit;
            open[i]! &= bit ^ digit ^ 1;
          });
        }
      }
      marks[input!] = Number(coins.toss(truth));
      return marked(marks);
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
