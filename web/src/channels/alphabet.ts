/** The outputs of channels: how they are checked and written. */
import { ensure, ReportError } from "../errors.js";
import { integer, listed } from "../json.js";

/** One of some symbols, an integer; or a set, increasing integers. In JSON it is written as it is. */
export type Output = number | readonly number[];

/** The part of a channel that reports need. */
export interface Alphabet {
  /** How many symbols or possible members there are. */
  readonly size: number;
  /** How many bytes an output takes in a binary report. */
  readonly width: number;
  /** Whether outputs are sets. */
  readonly sets: boolean;
  /** Returns an output, a copy if it is a set; refuses other values. */
  check(output: unknown): Output;
  /** Writes a checked output in `width` bytes. */
  pack(output: Output): Uint8Array;
  /** Reads an output from `width` bytes. */
  unpack(bytes: Uint8Array): Output;
}

/** One of `size` symbols: the fewest bytes that hold them, most significant first. */
export function symbols(size: number): Alphabet {
  let width = 0;
  while (256 ** width < size) width++;
  const check = (output: unknown): number => integer(output, 0, size - 1, "an output", ReportError);
  return {
    size,
    width,
    sets: false,
    check,
    pack: (output) => Uint8Array.from({ length: width }, (_, i) => (output as number) / 256 ** (width - 1 - i)),
    unpack: (bytes) => check(bytes.reduce((sum, byte) => 256 * sum + byte, 0)),
  };
}

/**
 * Sets of members of 0..size-1: with `weight` members, or with any number of them. Members come in groups of `group`, such
 * as minus and plus of a sign; a set has at most one of each group. One bit per member, lowest first.
 */
export function subsets(size: number, weight?: number, group = 1): Alphabet {
  const width = Math.ceil(size / 8);
  const check = (output: unknown): readonly number[] => {
    const members = listed(output, "an output", ReportError);
    ensure(weight === undefined || members.length === weight, `an output must have ${weight} members`, ReportError);
    let next = 0;
    return members.map((member) => {
      const found = integer(member, next, size - 1, "the next member of an output", ReportError);
      next = found - (found % group) + group;
      return found;
    });
  };
  return {
    size,
    width,
    sets: true,
    check,
    pack(output) {
      const bytes = new Uint8Array(width);
      for (const member of output as readonly number[]) bytes[member >> 3]! |= 1 << (member & 7);
      return bytes;
    },
    unpack(bytes) {
      const members = [];
      for (let i = 0; i < 8 * width; i++) if ((bytes[i >> 3]! >> (i & 7)) & 1) members.push(i);
      return check(members);
    },
  };
}
