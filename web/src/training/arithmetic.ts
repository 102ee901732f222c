/**
 * The arithmetic of trainings (`spec/training.md`): sums, products, quotients and square roots, each rounded by itself.
 * JavaScript specifies these to the bit, and no other function of Math. The work is the same for all numbers.
 */
import { largest } from "../channels/corners.js";
import { permute } from "../tickets.js";

const TINY = 1e-150;
const REACH = 64;
const RATE = 136; // bytes of the state of SHAKE-256 that a message goes into
const UNIT = 2 ** 30;

export const clip = (x: number, low: number, high: number): number => Math.min(Math.max(x, low), high);

/** Returns 0 for numbers so small that processors may be slow with them. */
export const flush = (x: number): number => x * Number(Math.abs(x) > TINY);

/** Returns 0 for what is so small that products with features, or sums of those, could be subnormal. */
export const zero = (x: number): number => x * Number(Math.abs(x) > 1e-100);

/** Returns the sum of products, from the first to the last. */
export function dot(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += a[i]! * b[i]!;
  return total;
}

/** Returns e^x to within 1e-13, relatively; beyond -64 and 64 the value there. */
export function exponential(x: number): number {
  const t = clip(x, -REACH, REACH) / REACH;
  let found = 1;
  for (let n = 18; n > 0; n--) found = 1 + (t * found) / n;
  for (let i = 0; i < 6; i++) found *= found;
  return found;
}

/** Returns log(1 + e^x) to within 1e-13, relatively: twice the series of z + z^3/3 + ..., for z = e/(2 + e), e = e^-|x|. */
export function softplus(x: number): number {
  const e = exponential(-Math.abs(x));
  const z = e / (2 + e);
  const square = z * z;
  let found = 0;
  for (let n = 18; n > 0; n--) found = 1 / (2 * n - 1) + square * found;
  return Math.max(x, 0) + 2 * z * found;
}

/** Returns the first signs of a public seed: one for each bit of SHAKE-256. */
export function seededSigns(purpose: string, seed: string, count: number): Float64Array {
  const message = new TextEncoder().encode(`hush ${purpose} ${seed}`);
  const padded = new Uint8Array(RATE * (Math.floor(message.length / RATE) + 1));
  padded.set(message);
  padded[message.length] = 0x1f;
  padded[padded.length - 1]! |= 0x80;
  const view = new DataView(padded.buffer);
  const state = Array.from({ length: 25 }, () => 0n);
  for (let start = 0; start < padded.length; start += RATE) {
    for (let i = 0; i < RATE; i += 8) state[i / 8]! ^= view.getBigUint64(start + i, true);
    permute(state);
  }
  const signs = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const bit = i % (8 * RATE);
    if (i && !bit) permute(state);
    signs[i] = Number((state[bit >> 6]! >> BigInt(bit & 63)) & 1n) * 2 - 1;
  }
  return signs;
}

/** Returns the number of dimensions after padding. */
export function paddedSize(count: number): number {
  let size = 64;
  while (size < count) size *= 2;
  return size;
}

/** Rotates a vector, padded with zeros, by signs and Hadamard transforms that follow from a public seed. */
export function rotate(vector: Float64Array, seed: string): Float64Array {
  const size = paddedSize(vector.length);
  const signs = seededSigns("rotation", seed, 2 * size);
  const turned = new Float64Array(size);
  turned.set(vector);
  const scale = 1 / Math.sqrt(size);
  for (const start of [0, size]) {
    for (let i = 0; i < size; i++) turned[i]! *= signs[start + i]!;
    for (let half = 1; half < size; half *= 2) {
      for (let i = 0; i < size; i++) {
        if (i & half) continue;
        const [a, b] = [turned[i]!, turned[i + half]!];
        turned[i] = a + b;
        turned[i + half] = a - b;
      }
    }
    for (let i = 0; i < size; i++) turned[i]! *= scale;
  }
  return turned;
}

/** Returns the signs of the `near` largest numbers, times a size, and 0 for the others. */
export function pointed(turned: Float64Array, size: number, near: number): Float64Array {
  let total = 1e-304; // so that a vector of zeros has a length
  for (const value of turned) total += flush(value) * flush(value);
  const unit = UNIT / Math.sqrt(total);
  const marks = largest(Array.from(turned, (value) => Math.floor(Math.min(Math.abs(value) * unit, UNIT))), near);
  return turned.map((value, i) => size * (marks[i]! * (Number(value > 0) - Number(value < 0))));
}
