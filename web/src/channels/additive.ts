/** The additive channel: one number on a lattice, plus integer noise. For the baselines of the paper. */
import { ensure } from "../errors.js";
import { quotient, WORD } from "../exact.js";
import { big, integer, listed } from "../json.js";
import { symbols } from "./alphabet.js";
import { areNumbers, type Channel, channelFields, upShare } from "./channel.js";

const MAX_STEPS = 4096;

/** Reads an additive channel. Noise of |z| + M is likelier than D/2^64 times that of |z|: hence the ratio. */
export function additive(value: unknown): Channel {
  const found = channelFields(value, "additive", "runs", "decay", "reach");
  const runs = listed(found["runs"], "runs").map((run) => {
    const pair = listed(run, "a run");
    ensure(pair.length === 2, "runs must be pairs");
    return [
      integer(pair[0], 1, MAX_STEPS, "length"),
      BigInt(integer(pair[1], 1, 2 ** 52 - 1, "weight")),
    ] as const;
  });
  const decay = big(found["decay"], "decay");
  const steps = runs.reduce((sum, [length]) => sum + length, 0);
  const reach = integer(found["reach"], steps, 32768, "reach");
  ensure(
    steps >= 1 &&
      steps <= MAX_STEPS &&
      runs.every(([, weight], i) => (i === 0 || runs[i - 1]![1] > weight) && weight * WORD >= runs[0]![1] * decay),
    "runs must be of 1 to 4096 steps, their weights decrease, by decay at most",
  );
  const total = runs.reduce((sum, [length, weight]) => sum + BigInt(length) * weight, 0n);
  const top = steps + 2 * reach;

  /** Returns the lattice point below an input, and how far it is on the way to the next. */
  const between = (u: number): [number, number] => {
    const position = u * steps;
    const x = Math.min(Math.max(Math.floor(position), 0), steps - 1);
    return [x, position - x];
  };

  /** Returns the weights of noise of magnitude i, and of i or more, for i < M. */
  const masses = (i: number): [number, number] => {
    let weight = 0n;
    let rest = 0n;
    let end = 0;
    for (const [length, each] of runs) {
      if (end <= i && i < end + length) weight = each;
      end += length;
      rest += BigInt(Math.min(Math.max(end - i, 0), length)) * each;
    }
    return [Number(weight), Number(rest)];
  };

  const law = (output: number, x: number): number => {
    const b = quotient(decay, WORD);
    const all = Number(total) / quotient(WORD - decay, WORD); // of all magnitudes, and of both signs but for the zero:
    const norm = 2 * all - Number(runs[0]![1]);
    const z = Math.abs(output - reach - x);
    const [one, rest] = masses(z % steps);
    return ((output === 0 || output === top ? rest + all * b : one) * b ** Math.floor(z / steps)) / norm;
  };

  return {
    kind: "additive",
    ratio: [WORD, decay],
    alphabet: symbols(top + 1),
    fits: (attributes) => areNumbers(1, false, attributes),
    draw([u], coins) {
      let [x, fraction] = between(u!);
      x += coins.up(fraction);
      for (;;) {
        let magnitude = 0;
        // Beyond this the output is the farthest one, however large the noise.
        while (magnitude <= reach + steps && coins.toss(decay)) magnitude += steps;
        let mass = coins.below(total);
        for (const [length, weight] of runs) {
          const size = BigInt(length) * weight;
          if (mass < size) {
            magnitude += Number(mass / weight);
            break;
          }
          magnitude += length;
          mass -= size;
        }
        const negative = coins.toss(WORD >> 1n);
        if (magnitude || !negative) return Math.min(Math.max(x + reach + (negative ? -magnitude : magnitude), 0), top);
      }
    },
    likelihood(output, [u]) {
      const [x, fraction] = between(u!);
      const up = upShare(fraction);
      return (1 - up) * law(output as number, x) + up * law(output as number, x + 1);
    },
  };
}
