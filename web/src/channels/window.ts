/** The window channel: one number, reported as a cell of a line, likelier in a window around it. */
import { ensure } from "../errors.js";
import { counter, increases, WORD } from "../exact.js";
import { big, type Fields, flag, integer, listed } from "../json.js";
import { symbols } from "./alphabet.js";
import { areNumbers, type Channel, channelFields, groups } from "./channel.js";

const ROUNDING = 2 ** 24; // the lower bits of a word round; the others draw
const MAX_LEVEL = 2 ** 30;

/** A window channel also has `optional`: the parts of a mixture must agree on it. */
export interface Window extends Channel {
  readonly optional: boolean;
}

/**
 * Reads a window. With probability T/2^64 the report is a uniform cell of the window, else a uniform other one. Both
 * groups are cut from one word without a remainder, so that its privacy is exact: this function checks that.
 */
export function window(value: unknown): Window {
  const found = channelFields(value, "window", "size", "width", "threshold", "levels", "optional");
  return windowed("window", found["threshold"], levelled(found));
}

/** Makes a channel whose states are windows of cells, and checks its threshold. */
export function windowed(kind: string, words: unknown, { size, width, optional, between }: Levelled): Window {
  const threshold = big(words, "threshold");
  const outside = optional ? size : size - width;
  const unit = BigInt(ROUNDING);
  ensure(
    threshold % (unit * BigInt(width)) === 0n && (WORD - threshold) % (unit * BigInt(outside)) === 0n,
    "threshold must be aligned",
  );
  const { ratio, chances } = groups(threshold, BigInt(width), BigInt(outside));
  // The upper 40 bits of a word draw. All numbers here are whole and below 2^53, so that floats hold them. A quotient x/a
  // that is not whole is 1/a or more below the next whole number, and rounding moves it by less: x/a * 2^-53.
  const inner = Number(threshold / unit);
  const inStep = inner / width;
  const outStep = (2 ** 40 - inner) / outside;

  return {
    kind,
    ratio,
    alphabet: symbols(size + Number(optional)),
    optional,
    fits: (attributes) => areNumbers(1, optional, attributes),
    draw([u], coins) {
      const word = coins.word();
      const upper = Number(word >> 24n);
      // "Missing" is rounded like a number, and then starts behind all others.
      const [s, fraction] = between(u ?? 0.5);
      const rounded = s + Number(Number(BigInt.asUintN(24, word)) + 0.5 < fraction * ROUNDING);
      const start = u === null ? size : rounded;
      const inside = start + Math.floor(upper / inStep);
      const other = Math.floor((upper - inner) / outStep);
      const beside = other + width * Number(other >= start);
      return Math.min(upper < inner ? inside : beside, size);
    },
    likelihood(output, [u]) {
      const [inside, other] = chances;
      const y = output as number;
      if (u == null) return y === size ? inside * width : other;
      if (y === size) return other * width;
      const [s, fraction] = between(u);
      const up = Math.min(Math.max(Math.ceil(fraction * ROUNDING - 0.5), 0), ROUNDING) / ROUNDING;
      const covers = (start: number): boolean => start <= y && y < start + width;
      const covered = (covers(s) ? 1 - up : 0) + (covers(s + 1) ? up : 0);
      return covered * inside + (1 - covered) * other;
    },
  };
}

/** A row of cells, and where inputs lie between its windows. */
export interface Levelled {
  readonly size: number;
  readonly width: number;
  readonly optional: boolean;
  readonly between: Between;
}

/** Reads a row of cells with levels, where windows stand for numbers. */
export function levelled(found: Fields): Levelled {
  const { levels } = found;
  const size = integer(found["size"], 2, 32768, "size");
  const width = integer(found["width"], 1, size - 1, "width");
  const optional = flag(found);
  const between = levels === "even" ? even(size - width) : knotted(windowSums(listed(levels, "levels"), size, width));
  return { size, width, optional, between };
}

/** Checks levels, and returns the sum of each window. */
function windowSums(levels: readonly unknown[], size: number, width: number): number[] {
  const checked = levels.map((level) => integer(level, -MAX_LEVEL, MAX_LEVEL, "a level"));
  ensure(
    checked.length === size &&
      checked.every((level, y) => level === 0 - checked[size - 1 - y]! && (y === 0 || checked[y - 1]! <= level)),
    "levels must be one per cell, antisymmetric, and not decrease",
  );
  let sum = checked.slice(0, width).reduce((a, b) => a + b);
  const sums = [sum];
  for (let s = width; s < size; s++) sums.push((sum += checked[s]! - checked[s - width]!));
  ensure(increases(sums), "levels must have rising sums");
  return sums;
}

/** Where an input lies: the start of the window below it, and how far it is on the way to the next. */
export type Between = (u: number) => [number, number];

// The start is one of the channel's for any float: privacy does not depend on earlier steps.
const even =
  (last: number): Between =>
  (u) => {
    const position = u * last;
    const s = position > 0 ? Math.floor(Math.min(position, last - 1)) : 0;
    return [s, position - s];
  };

/** Places inputs between numbers that increase: the first one stands for the input 0, the last one for 1. */
export function knotted(numbers: readonly number[]): Between {
  const low = numbers[0]!;
  const range = BigInt(numbers.at(-1)! - low);
  const knots = numbers.map((number) => Number((BigInt(number - low) << 53n) / range) / 2 ** 53);
  const reached = counter(knots, Infinity);
  return (u) => {
    const s = Math.min(Math.max(reached(u) - 1, 0), knots.length - 2);
    return [s, (u - knots[s]!) * (1 / (knots[s + 1]! - knots[s]!))];
  };
}
