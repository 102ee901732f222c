/** The interface of channels: random functions from a few inputs to a few outputs, sampled with integers. */
import type { Coins } from "../coins.js";
import { ensure } from "../errors.js";
import { quotient, type Ratio, WORD } from "../exact.js";
import { type Fields, fields } from "../json.js";
import { type Attribute, categories, type Input } from "../schema.js";
import type { Alphabet, Output } from "./alphabet.js";

/** A channel with its integers, checked. `ratio` makes it private; a device calls `draw`. */
export interface Channel {
  readonly kind: string;
  /** How many numbers a corners channel takes the signs of. */
  readonly near?: number;
  /** The largest ratio of one output's probability under two inputs, exactly; not in lowest terms. */
  readonly ratio: Ratio;
  /** How outputs are checked and written. */
  readonly alphabet: Alphabet;
  /** Whether the channel serves these attributes. */
  fits(attributes: readonly Attribute[]): boolean;
  /** Rounds the inputs at random and draws an output. The private part compares and divides integers only. */
  draw(inputs: readonly Input[], coins: Coins): Output;
  /** Returns the probability of a checked output given the inputs, rounding included. */
  likelihood(output: Output, inputs: readonly Input[]): number;
}

/** Returns the fields of a channel of this kind: exactly these. */
export function channelFields(value: unknown, kind: string, ...names: string[]): Fields {
  const found = fields(value, kind, ["kind", ...names]);
  ensure(found["kind"] === kind, `kind must be ${kind}`);
  return found;
}

interface Groups {
  readonly ratio: Ratio;
  readonly chances: readonly [number, number];
}

/**
 * Returns the ratio of two groups, one of `inside` outputs with probability T/2^64 and one of `outside` with the rest,
 * each uniform; and the probability of one output of each.
 */
export function groups(threshold: bigint, inside: bigint, outside: bigint): Groups {
  const ratio: Ratio = [threshold * outside, (WORD - threshold) * inside];
  ensure(ratio[0] > ratio[1], "threshold must favour the truth");
  // There are fewer than 2^1024 outputs, but 2^64 times as many could be more: so one after the other.
  const chance = (part: bigint, outputs: bigint): number => quotient(part, WORD) / Number(outputs);
  return { ratio, chances: [chance(threshold, inside), chance(WORD - threshold, outside)] };
}

/** Returns the share of words for which `coins.up`, exactly. */
export const upShare = (fraction: number): number => Math.min(Math.max(Math.ceil(fraction * 2 ** 53), 0) / 2 ** 53, 1);

/** Whether there is one attribute, with `size` categories. */
export const isCategory = (size: number, attributes: readonly Attribute[]): boolean =>
  attributes.length === 1 && attributes.every((only) => only.kind === "categorical" && categories(only) === size);

/** Whether there are `size` attributes, all of them numbers, and `optional` or not. */
export const areNumbers = (size: number, optional: boolean, attributes: readonly Attribute[]): boolean =>
  attributes.length === size && attributes.every((one) => one.kind === "numeric" && one.optional === optional);

/** Returns the probabilities that 0, 1, ... of independent events happen. */
export function howMany(chances: readonly number[]): number[] {
  const law = [1];
  for (const chance of chances) {
    law.push(0);
    for (let i = law.length - 1; i >= 0; i--) law[i] = law[i]! * (1 - chance) + (i && law[i - 1]! * chance);
  }
  return law;
}
