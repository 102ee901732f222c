/** The picks channel: a set of at most s values, padded with blanks, and reported as a set of w values and blanks. */
import { marked } from "../coins.js";
import { ensure } from "../errors.js";
import { comb, counter, descending, quotient, rarity, type Ratio, WORD } from "../exact.js";
import { big, integer, listed } from "../json.js";
import { subsets, symbols } from "./alphabet.js";
import { type Channel, channelFields } from "./channel.js";

const RULE = "shares must favour what is held";

/** Reads a picks channel. There are C(s, h) C(L, w-h) sets with h held items, all of them equally likely. */
export function picks(value: unknown): Channel {
  const found = channelFields(value, "picks", "size", "held", "weight", "shares");
  const size = integer(found["size"], 2, 1025, "size");
  const held = integer(found["held"], 1, Math.min(64, size - 1), "held");
  const weight = integer(found["weight"], 1, size - held, "weight");
  const shares = listed(found["shares"], "shares").map((share) => big(share, "a share"));
  let [sum, mean] = [0n, 0n];
  const limits = shares.map((share, h) => {
    mean += share * BigInt(h);
    return (sum += share);
  });
  ensure(shares.length === Math.min(held, weight) + 1 && sum === WORD, RULE);
  let others = comb(size, weight); // then each from the one before: a large binomial coefficient takes a millisecond
  const sets = shares.map((_, h) => {
    const found = comb(held, h) * others;
    others = (others * BigInt(weight - h)) / BigInt(size - weight + h + 1);
    return found;
  });
  const ratios = shares.map((share, h): Ratio => [share * sets[0]!, shares[0]! * sets[h]!]);
  ensure(
    ratios.every(([a, b]) => a >= b) && mean * BigInt(size) > (WORD * BigInt(weight) - mean) * BigInt(held),
    RULE,
  );
  const hits = counter(limits.slice(0, -1), WORD);
  const chances = shares.map((share, h) => quotient(share, WORD) * rarity(held, h) * rarity(size, weight - h));
  const items = (input: unknown): Uint8Array => {
    const marks = input as Uint8Array;
    let left = held;
    return new Uint8Array(size + held).map((_, i) => {
      const mark = i < marks.length ? marks[i]! & 1 : i < size ? marks[0]! >> 1 : Number(left > 0);
      left -= mark;
      return mark;
    });
  };
  return {
    kind: "picks",
    ratio: ratios.sort(descending)[0]!,
    alphabet: weight === 1 ? symbols(size + held) : subsets(size + held, weight),
    fits: (attributes) =>
      attributes.length === 1 &&
      attributes.every((one) => one.kind === "choices" && one.most === held && one.values.length + Number(one.optional) === size),
    draw([input], coins) {
      const count = hits(coins.word());
      const pools = [new Uint8Array(size), new Uint8Array(held)] as const;
      coins.mark(pools[1], 0, held, held - count);
      coins.mark(pools[0], size - weight, size, count);
      const next = [0, 0];
      const set = marked(items(input).map((mark) => pools[mark as 0 | 1][next[mark]!++]!));
      return weight === 1 ? set[0]! : set;
    },
    likelihood(output, [input]) {
      const marks = items(input);
      return chances[[output].flat().reduce((total, item) => total + marks[item]!, 0)]!;
    },
  };
}
