/** The corners channel: the direction of d numbers, as one of their 2d signed dimensions. */
import { big, integer } from "../json.js";
import { symbols } from "./alphabet.js";
import { areNumbers, type Channel, channelFields, groups, upShare } from "./channel.js";

const UNIT = 2 ** 31;

/** Marks the inputs that are farthest from the middle. */
const farthest = (inputs: readonly number[], near: number): number[] =>
  largest(inputs.map((u) => Math.floor(Math.min(Math.abs(u - 0.5), 0.5) * UNIT)), near);

/** Marks the `near` largest of integers from 0 to 2^30, of equal ones the first, by steps that are always the same. */
export function largest(sizes: readonly number[], near: number): number[] {
  const reaching = (least: number): number => sizes.reduce((count, size) => count + Number(size >= least), 0);
  let cut = 0;
  for (let digit = 2 ** 30; digit >= 1; digit /= 2) cut += digit * Number(reaching(cut + digit) >= near);
  let spare = near - reaching(cut + 1);
  return sizes.map((size) => {
    const equal = Number(size === cut) & Number(spare > 0);
    spare -= equal;
    return Number(size > cut) | equal;
  });
}

/** Reads a corners channel: the `near` largest numbers, with their signs, are likelier than all other corners. */
export function corners(value: unknown): Channel {
  const found = channelFields(value, "corners", "size", "near", "threshold");
  const size = integer(found["size"], 1, 1024, "size");
  const near = integer(found["near"], 1, size, "near");
  const threshold = big(found["threshold"], "threshold");
  const { ratio, chances } = groups(threshold, BigInt(near), BigInt(2 * size - near));
  return {
    kind: "corners",
    near,
    ratio,
    alphabet: symbols(2 * size),
    fits: (attributes) => areNumbers(size, false, attributes),
    draw(inputs, coins) {
      const word = Number(coins.word() >> 11n); // it rounds all inputs: only one of them is reported
      const chosen = farthest(inputs as readonly number[], near);
      const corner = Array.from({ length: 2 * size }, (_, i) => {
        const plus = Number(word < inputs[i >> 1]! * 2 ** 53);
        return chosen[i >> 1]! & (plus ^ i ^ 1) & 1;
      });
      const wanted = Number(coins.toss(threshold));
      const ranks = [coins.below(BigInt(2 * size - near)), coins.below(BigInt(near))];
      let left = Number(ranks[wanted]!);
      let output = 0;
      corner.forEach((is, i) => {
        const fits = Number(is === wanted);
        output |= i & -(fits & Number(left === 0));
        left -= fits; // below 0 from the one on that is taken
      });
      return output;
    },
    likelihood(output, inputs) {
      const corner = output as number;
      const up = upShare(inputs[corner >> 1]!);
      const own = farthest(inputs as readonly number[], near)[corner >> 1]! * (corner & 1 ? up : 1 - up);
      return own * chances[0] + (1 - own) * chances[1];
    },
  };
}
