/** From a person's record and label to the record of a plan: on the device, and before anything is drawn. */
import { encode, type PersonRecord } from "../schema.js";
import { clip, dot, exponential, flush, pointed, rotate, seededSigns, softplus, zero } from "./arithmetic.js";
import type { Training } from "./description.js";
import { unitsOf } from "./maps.js";
import { asksTarget, type Check, type Phase, type Round, type Stage } from "./phase.js";

const LARGEST = 1e40;

/** A public number, neither so large nor so small that processors may be slow with it or with quotients. */
const divisor = (value: number): number => clip(value, 1e-150, 1e150);

/**
 * Returns what a person is asked in a round, stage or check, as a record of its plan. A record or label that does not fit is a
 * RecordError. Nothing else decides whether there is an answer, and every step is taken for every record.
 */
export function answer(phase: Phase, record: PersonRecord, label: unknown): Record<string, number> {
  const { training, plan } = phase;
  const plain = features(training, record);
  const y = target(training, label);
  const found = answered(phase, plain, y);
  return Object.fromEntries(plan.schema.map(({ name }, i) => [name, found[i]!]));
}

function answered(phase: Phase, plain: Float64Array, y: number): ArrayLike<number> {
  if (phase.stage !== undefined) return spread(phase, plain, y);
  return phase.check === undefined ? gradient(phase, plain, y) : [loss(phase, plain, y)];
}

/** Returns the features of a record: numbers from -1 to 1, by public knowledge alone. */
export function features({ schema, ordered, dimensions }: Training, record: PersonRecord): Float64Array {
  const inputs = encode(schema, record);
  const found = new Float64Array(dimensions);
  let at = 0;
  schema.forEach((attribute, i) => {
    const input = inputs[i]!;
    if (attribute.kind === "numeric") {
      found[at++] = 2 * (input ?? 0.5) - 1; // 0 if it is missing
      if (attribute.optional) found[at++] = Number(input === null);
      return;
    }
    const { values, optional, other } = attribute;
    const indicators = values.length + Number(optional) + Number(!!other) - 1;
    for (let j = 0; j < indicators; j++) found[at++] = Number(input === j);
    if (ordered.includes(attribute.name))
      found[at++] = ((2 * input) / (values.length - 1) - 1) * Number(input < values.length);
  });
  return found;
}

/** Returns the target of a label: from -1 to 1. */
function target({ label, against }: Training, value: unknown): number {
  const input = encode([label], Object.fromEntries([[label.name, value]]))[0]!;
  if (label.kind === "numeric") return 2 * input - 1;
  return 2 * Number(input === (against ?? 1)) - 1;
}

/** Returns the factors of the weights. */
function factors({ training, lift }: Round | Check, plain: Float64Array): Float64Array {
  const { centre, scale, intercept, projection, seed, dimensions } = training;
  const all = new Float64Array(dimensions + (lift?.units.length ?? 0) + Number(intercept)).fill(1);
  plain.forEach((value, i) => {
    const moved = centre ? value - centre[i]! : value;
    all[i] = flush(clip(scale ? moved / scale[i]! : moved, -LARGEST, LARGEST));
  });
  if (lift) all.set(unitsOf(lift, all), dimensions);
  if (projection === null) return all;
  const size = all.length;
  const entries = seededSigns("projection", seed, projection * size).map((sign) => sign / size);
  return Float64Array.from({ length: projection }, (_, r) => flush(dot(entries.subarray(r * size, (r + 1) * size), all)));
}

const SLOPES = {
  squared: (score: number, y: number): number => 2 * (score - y),
  hinge: (score: number, y: number): number => -y * Number(y * score < 1),
  logistic: (score: number, y: number): number => -y / (1 + exponential(y * score)),
};

function gradient(round: Round, plain: Float64Array, y: number): Float64Array {
  const { training, plan, weights, coordinates, number } = round;
  const { loss, gradient: kind, bound, radius, seed, branch } = training;
  const inputs = factors(round, plain);
  const slope = flush(SLOPES[loss](dot(inputs, Float64Array.from(weights, zero)), y));
  const vector = Float64Array.from(coordinates, (j) => flush(slope * inputs[j]!));
  if (kind !== "vector") return vector.map((value) => clip(value / divisor(bound), -1, 1));
  const size = Math.min(Math.sqrt(dot(vector, vector)) / divisor(radius), 1);
  const [question, ...others] = plan.questions;
  const near = others.length === 0 ? question!.channel.near : undefined;
  return pointed(rotate(vector, `${seed}/${branch}${number}`), size, near ?? plan.schema.length);
}

const LOSSES = {
  squared: (score: number, y: number): number => flush(score - y) * flush(score - y),
  hinge: (score: number, y: number): number => Math.max(0, 1 - y * score),
  logistic: (score: number, y: number): number => softplus(-y * score),
};

/** Returns the loss of the weights. One that is tiny, or tiny beside the cap, is 0: processors are slow with such quotients. */
function loss(check: Check, plain: Float64Array, y: number): number {
  const { loss: kind, cap } = check.training;
  const score = dot(factors(check, plain), Float64Array.from(check.weights, zero));
  const value = Math.min(LOSSES[kind](score, y), cap);
  return value * Number(value > 1e-150 * Math.max(cap, 1));
}

function spread({ training, stage, middle }: Stage, plain: Float64Array, y: number): Float64Array {
  const { parts } = training;
  const asks = asksTarget(training);
  if (stage === "shares") {
    const places = parts
      .filter(({ number }) => !number)
      .map(({ start, indicators }) => {
        let place = indicators;
        for (let i = 0; i < indicators; i++) place += plain[start + i]! * (i - indicators);
        return place;
      });
    return Float64Array.from(asks ? places : [Number(y > 0), ...places]);
  }
  const values = parts.filter(({ number }) => number).map(({ start }) => plain[start]!);
  const all = Float64Array.from(asks ? [...values, y] : values);
  return stage === "means" ? all : all.map((value, i) => Math.min(Math.abs(value - middle[i]!), 1));
}
