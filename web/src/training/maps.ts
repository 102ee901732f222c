/** Public maps (`spec/training.md`): units are fixed functions of the features, and features like others. */
import { ensure } from "../errors.js";
import { fields, integer, listed, printable } from "../json.js";
import { clip, exponential, flush, zero } from "./arithmetic.js";
import { isNumber, type Training } from "./description.js";

const MOST_UNITS = 1000;
const MOST_PRODUCTS = 2 ** 16;
const LARGEST = 1e6;
const FARTHEST = 2 ** 20;
const WHOLE = 1.5 * 2 ** 52; // adding and subtracting it rounds a number to the nearest integer
const TURN = 2 * Math.PI;
const BULK = 8; // standard deviations
const BLOCK = 32; // bytes of SHA-256

/** The features that a unit looks at, in order, their weights, and the bias. */
export type Unit = readonly [places: readonly number[], weights: readonly number[], bias: number];

/** A checked map. A table has its units; those of a random one follow from its seed. */
export interface FeatureMap {
  readonly activation: "wave" | "relu";
  readonly strength: number;
  readonly count: number;
  readonly units?: readonly Unit[];
  readonly inputs: number;
  readonly seed: string;
}

/** A map for the features of one training: its units, and the mean and the factor of each. */
export interface Lift {
  readonly activation: "wave" | "relu";
  readonly units: readonly Unit[];
  readonly means: readonly number[];
  readonly factors: readonly number[];
}

/** Reads a map, strictly, for this many features. */
export function readMap(value: unknown, dimensions: number): FeatureMap {
  const random = (value as { kind?: unknown } | null)?.kind === "random";
  const names = random ? ["kind", "units", "inputs", "strength", "seed"] : ["kind", "activation", "units", "strength"];
  const { kind, units, inputs, strength, seed, activation } = fields(value, "a map", names);
  ensure(isNumber(strength) && strength > 0 && strength <= LARGEST, "the strength of a map must be above 0, at most 1e6");
  if (random) {
    const count = integer(units, 1, MOST_UNITS, "the number of units");
    const each = integer(inputs, 1, 64, "the number of inputs");
    ensure(printable(seed, 1, 128), "the seed of a map must be 1 to 128 printable characters");
    return { activation: "wave", strength, count, inputs: each, seed };
  }
  ensure(kind === "table", "the kind of a map must be random or table");
  ensure(activation === "wave" || activation === "relu", "the activation of a map must be wave or relu");
  const rows = listed(units, "the units of a map");
  integer(rows.length, 1, MOST_UNITS, "the number of units");
  const found = rows.map((row) => readUnit(row, dimensions));
  const products = found.reduce((total, [places]) => total + places.length, 0);
  ensure(products <= MOST_PRODUCTS, "the units of a map must have at most 65536 weights in all");
  return { activation, strength, count: rows.length, units: found, inputs: 1, seed: "" };
}

function readUnit(value: unknown, dimensions: number): Unit {
  const row = listed(value, "a unit of a map");
  ensure(row.length === 3, "a unit of a map must have places, weights and a bias");
  const places = listed(row[0], "the places of a unit");
  const weights = listed(row[1], "the weights of a unit");
  integer(places.length, 1, MOST_UNITS, "the number of places of a unit");
  ensure(places.length === weights.length, "a unit of a map must have a weight for each place");
  let next = 0;
  for (const one of places) next = integer(one, next, dimensions - 1, "the next place of a unit") + 1;
  ensure(
    [...weights, row[2]].every((one) => isNumber(one) && Math.abs(one) <= LARGEST),
    "the weights and biases of a map must be numbers of at most 1e6",
  );
  return row as unknown as Unit;
}

/** Returns a map with the means and factors that follow from the centres and scales of the features. */
export async function lifted(map: FeatureMap, training: Training): Promise<Lift> {
  const spread = variances(training);
  const units = (map.units ?? (await randomUnits(map, training))).map(
    ([places, weights, bias]): Unit => [places, weights.map(zero), zero(bias)],
  );
  const moments = map.activation === "wave" ? waveMoments : reluMoments;
  const found = units.map(([places, weights, bias]) => {
    let q = 0;
    places.forEach((j, i) => (q += weights[i]! * weights[i]! * spread[j]!));
    return moments(bias, q);
  });
  return {
    activation: map.activation,
    units,
    means: found.map(([mean]) => zero(mean)),
    factors: found.map(([, variance]) => Math.sqrt(map.strength / (units.length * (Math.max(variance, 0) + 0.01)))),
  };
}

/** Returns the values of all units, from centred and scaled features: the same steps for all of them. */
export function unitsOf({ activation, units, means, factors }: Lift, features: Float64Array): Float64Array {
  const act = activation === "wave" ? wave : (t: number): number => Math.max(t, 0);
  return Float64Array.from(units, ([places, weights, bias], k) => {
    let total = bias;
    for (let i = 0; i < places.length; i++) total += features[places[i]!]! * weights[i]!;
    return flush((act(zero(total)) - means[k]!) * factors[k]!);
  });
}

const beside = (t: number): number => Math.abs(t - (t + WHOLE - WHOLE));

function wave(t: number): number {
  const r = beside(clip(t, -FARTHEST, FARTHEST));
  return 1 - r * r * (24 - 32 * r);
}

/** Returns the variances of centred and scaled features, as far as they are known. */
function variances({ parts, dimensions, centre, scale }: Training): Float64Array {
  const found = new Float64Array(dimensions).fill(1);
  for (const { start, number, indicators } of parts) {
    if (number) continue;
    for (let j = start; j < start + indicators; j++) {
      const share = clip(centre?.[j] ?? 0, 0, 1);
      const size = scale ? clip(scale[j]!, 1e-3, 1e3) : 1;
      found[j] = (share * (1 - share)) / (size * size);
    }
  }
  return found;
}

/** Returns the cosine of a number of turns. */
export function cosine(t: number): number {
  const x = TURN * beside(t);
  const square = x * x;
  let found = 1;
  for (let n = 18; n > 0; n--) found = 1 - (square * found) / ((2 * n - 1) * (2 * n));
  return found;
}

/** Returns the density of a normal number at z, from -8 to 8, and the probability of a smaller one. */
export function normal(z: number): readonly [number, number] {
  const square = z * z;
  const density = exponential(-square / 2) / Math.sqrt(TURN);
  let found = 1;
  for (let n = 100; n > 0; n--) found = 1 + (square * found) / (2 * n + 1);
  return [density, 0.5 + z * found * density];
}

/** Returns mean and variance of a cosine of a normal number with this mean and variance, in turns. */
export function waveMoments(bias: number, variance: number): readonly [number, number] {
  const q = Math.min(variance, 1e3) * TURN * TURN;
  const mean = cosine(bias) * exponential(-q / 2);
  return [mean, (1 + cosine(2 * bias) * exponential(-2 * q)) / 2 - mean * mean];
}

/** Returns mean and variance of the positive part of a normal number with this mean and variance. */
export function reluMoments(bias: number, q: number): readonly [number, number] {
  if (q < 1e-300) return [Math.max(bias, 0), 0];
  const deviation = Math.sqrt(q);
  const z = clip(bias / deviation, -BULK, BULK);
  const [density, above] = normal(z);
  const mean = z * above + density;
  const variance = (z * z + 1) * above + z * density - mean * mean;
  return [deviation * mean + Math.max(bias - BULK * deviation, 0), q * variance];
}

/** Returns the units that follow from the seed of a random map. */
export async function randomUnits(
  { count, inputs, seed }: Pick<FeatureMap, "count" | "inputs" | "seed">,
  { parts, dimensions }: Pick<Training, "parts" | "dimensions">,
): Promise<Unit[]> {
  const numbers = parts.filter(({ number }) => number).map(({ start }) => start);
  const single = numbers.length ? Math.floor((count + 1) / 3) : 0;
  const several = Math.min(inputs, dimensions);
  return Promise.all(
    Array.from({ length: count }, async (_, index): Promise<Unit> => {
      const alone = index < single;
      const n = alone ? 1 : several;
      const next = reader(await stream(`${seed}/${index}`, (alone ? 0 : 4 * n) + 24 * n + 4));
      const left = Array.from({ length: dimensions }, (__, j) => j);
      const places = alone
        ? [numbers[index % numbers.length]!]
        : Array.from({ length: n }, () => left.splice(next(4) % left.length, 1)[0]!).sort((a, b) => a - b);
      const size = alone ? 1 : 1.5 / Math.sqrt(n);
      const weights = places.map(() => {
        let sum = 0;
        for (let i = 0; i < 12; i++) sum += next(2);
        return ((sum / 65536 - 6) * size) / TURN;
      });
      return [places, weights, next(4) / 2 ** 32];
    }),
  );
}

/** Returns the first bytes of a public seed: SHA-256 of it and 0, of it and 1, ... */
async function stream(seed: string, count: number): Promise<Uint8Array> {
  const found = new Uint8Array(BLOCK * Math.ceil(count / BLOCK));
  const digests = Array.from({ length: found.length / BLOCK }, async (_, block) => {
    const text = new TextEncoder().encode(`hush map ${seed} ${block}`);
    found.set(new Uint8Array(await crypto.subtle.digest("SHA-256", text)), BLOCK * block);
  });
  await Promise.all(digests);
  return found;
}

/** Returns a function that reads the next integer of so many bytes, the first one highest. */
function reader(bytes: Uint8Array): (size: number) => number {
  let at = 0;
  return (size) => {
    let found = 0;
    for (const end = at + size; at < end; at++) found = found * 256 + bytes[at]!;
    return found;
  };
}
