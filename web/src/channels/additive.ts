/** The additive channel: one number on a lattice, plus noise of half steps. For the baselines of the paper. */
import { ensure } from "../errors.js";
import { counter, descending, quotient, type Ratio, WORD } from "../exact.js";
import { big, integer, listed } from "../json.js";
import { symbols } from "./alphabet.js";
import { areNumbers, type Channel, channelFields, upShare } from "./channel.js";

const MAX_STEPS = 4096;

/**
 * Reads an additive channel. Noise of magnitude g = j*M + i is w_i times F(j) likely, and j has independent binary
 * digits: from one j to the next F falls by one of the ratios `falls`. The largest is that of the channel.
 */
export function additive(value: unknown): Channel {
  const found = channelFields(value, "additive", "runs", "decays", "reach");
  const runs = listed(found["runs"], "runs").map((run) => {
    const pair = listed(run, "a run");
    ensure(pair.length === 2, "runs must be pairs");
    return [
      integer(pair[0], 1, MAX_STEPS, "length"),
      BigInt(integer(pair[1], 1, 2 ** 52 - 1, "weight")),
    ] as const;
  });
  const decays = listed(found["decays"], "decays").map((decay) => big(decay, "a decay"));
  const steps = runs.reduce((sum, [length]) => sum + length, 0);
  ensure(
    steps >= 1 && steps <= MAX_STEPS && runs.every(([, weight], i) => i === 0 || runs[i - 1]![1] > weight),
    "runs must be of 1 to 4096 steps, and their weights decrease",
  );
  const reach = integer(found["reach"], Math.max(steps, 2), 32768, "reach");
  // The last digit alone leads beyond the reach; the others number the periods within.
  const digits = decays.length - 1;
  const least = 32 - Math.clz32(Math.ceil((reach - 1) / steps));
  ensure(digits === least, `decays must be ${least + 1}`);
  const falls: Ratio[] = [];
  let [ones, zeros] = [1n, 1n]; // the products of the D and of the 2^64 - D before
  for (const decay of decays.slice(0, digits)) {
    falls.push([ones * (WORD - decay), zeros * decay]);
    ones *= decay;
    zeros *= WORD - decay;
  }
  const [first, last] = [runs[0]![1], runs.at(-1)![1]];
  const ratio = [...falls].sort(descending)[0]!;
  const top = decays[digits]!;
  ensure(
    falls.every(([a, b]) => last * a >= first * b) &&
      (ratio[0] - ratio[1]) * top << BigInt(64 * digits) >= (WORD - top) * ones * ratio[1],
    "the last weight must be at least that of the next period, and the last decay large enough",
  );

  const sums = [WORD]; // and the weights of the steps before: ranks begin there
  for (const [length, weight] of runs) for (let i = 0; i < length; i++) sums.push(sums.at(-1)! + weight);
  const total = sums[steps]! - WORD;
  const stepOf = counter(sums, 2n * WORD);
  const size = steps + 2 * reach;
  const chances = decays.map((decay) => [quotient(WORD - decay, WORD), quotient(decay, WORD)] as const);

  /** Returns the lattice point below an input, and how far it is on the way to the next. */
  const between = (u: number): [number, number] => {
    const position = u * steps;
    const x = Math.min(Math.max(Math.floor(position), 0), steps - 1);
    return [x, position - x];
  };

  /** Returns the probability of an output, given the lattice point. */
  const law = (output: number, x: number): number => {
    const z = output - reach - x;
    const g = z < 0 ? -1 - z : z;
    let [here, beyond] = [1, 0]; // the probability of this period, and of the later ones
    for (let k = digits; k >= 0; k--) {
      const digit = ((g / steps) >> k) & 1;
      if (!digit) beyond += here * chances[k]![1];
      here *= chances[k]![digit]!;
    }
    const i = g % steps;
    const end = output === 0 || output === size - 1;
    return (here * quotient(sums[end ? steps : i + 1]! - sums[i]!, total) + (end ? beyond : 0)) / 2;
  };

  return {
    kind: "additive",
    ratio,
    alphabet: symbols(size),
    fits: (attributes) => areNumbers(1, false, attributes),
    draw([u], coins) {
      const [x, fraction] = between(u!);
      const point = x + coins.up(fraction);
      const period = decays.reduce((sum, decay, k) => sum + (Number(coins.toss(decay)) << k), 0);
      const g = period * steps + stepOf(coins.rank(total)) - 1;
      const noise = coins.toss(WORD >> 1n) ? -1 - g : g;
      return Math.min(Math.max(point + reach + noise, 0), size - 1);
    },
    likelihood(output, [u]) {
      const [x, fraction] = between(u!);
      const up = upShare(fraction);
      return (1 - up) * law(output as number, x) + up * law(output as number, x + 1);
    },
  };
}
