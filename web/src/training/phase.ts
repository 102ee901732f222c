/** What a collector sends to the people of a training: a round, a stage of its pilot, or a check. Checked as a whole. */
import { ensure, PlanError } from "../errors.js";
import { canonical, type Fields, fields, integer, listed, parsed, pythonFloat } from "../json.js";
import { Plan } from "../plan.js";
import { clip, paddedSize, zero } from "./arithmetic.js";
import { isNumber, numbers, readTraining, type Training } from "./description.js";
import { type Lift, lifted } from "./maps.js";

const VERSION = 4;
const LARGEST = 1e40;

interface Common {
  readonly training: Training;
  /** The plan that a person answers, checked as every plan is. */
  readonly plan: Plan;
  /** The map of the training, if it has one, for its centres and scales. */
  readonly lift: Lift | null;
}

/** One round: people report on the gradient at these weights. */
export interface Round extends Common {
  readonly stage?: never;
  readonly check?: never;
  readonly number: number;
  /** Whether all rounds are over. */
  readonly done: boolean;
  readonly weights: readonly number[];
  readonly coordinates: readonly number[];
}

/** One stage of the pilot: people report on their features. */
export interface Stage extends Common {
  readonly check?: never;
  readonly stage: "means" | "spreads" | "shares";
  readonly done: false;
  /** The means from which people report their distance. */
  readonly middle: readonly number[];
}

/** A check: held-out people report the loss of these weights, and take part in nothing else. */
export interface Check extends Common {
  readonly stage?: never;
  /** The number of the round that goes on meanwhile. */
  readonly check: number;
  readonly done: boolean;
  readonly weights: readonly number[];
}

export type Phase = Round | Stage | Check;

const READERS: readonly (readonly [readonly string[], (training: Training, found: Fields) => Read])[] = [
  [["stage", "known"], readStage],
  [["check", "weights"], readCheck],
  [["number", "weights", "coordinates", "average", "averaged"], readRound],
];

/** Reads a round, a stage or a check, and checks all of it, the privacy of its plan included. */
export async function readPhase(text: string | Uint8Array): Promise<Phase> {
  const value = parsed(text, PlanError) as Fields | null;
  ensure(!repeats(typeof text === "string" ? text : new TextDecoder().decode(text)), "no field must be repeated");
  const [own, read] = READERS.find(([[name]]) => Object.hasOwn(Object(value), name!)) ?? READERS[2]!;
  const found = fields(value, "a round, stage or check", ["hush", "training", ...own, "plan"]);
  ensure(found["hush"] === VERSION, `a round, stage or check must be of version ${VERSION}`);
  const training = readTraining(found["training"]);
  const { title, schema, more } = read(training, found);
  const plan = await Plan.parse(canonical(found["plan"]));
  ensure(
    plan.title === training.family + training.branch + title &&
      plan.epsilon === pythonFloat(training.epsilon) &&
      plan.after === null && // a device would be silent if it has answered the plan that is named there
      canonical(plan.schema) === canonical(schema),
    "the plan must have the title, the epsilon and the questions of its training, and follow no other",
  );
  const lift = training.map && (await lifted(training.map, training));
  return { training, plan, lift, ...more } as Phase;
}

/** Returns whether an object of a JSON text has a field twice: other languages refuse that, and `JSON.parse` takes the last one. */
function repeats(text: string): boolean {
  const open: Set<unknown>[] = [];
  for (const [token, word, colon] of text.matchAll(/("(?:[^"\\]+|\\.)*")(\s*:)?|[{}[\]]/g)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (!word) open.pop();
    else if (colon && open.at(-1)!.size === open.at(-1)!.add(JSON.parse(word)).size) return true;
  }
  return false;
}

/** What a plan must be titled and ask, and what is particular to the phase. */
interface Read {
  readonly title: string;
  readonly schema: readonly object[];
  readonly more: object;
}

const numeric = (name: string, low = -1, high = 1): object => ({
  kind: "numeric", name, low, high, out_of_range: "error", optional: false, scale: "linear", unit: null,
});

const category = (name: string, most: number): object => ({
  kind: "categorical", name, values: Array.from({ length: most + 1 }, (_, i) => i), optional: false,
});

function weighty(value: unknown, width: number, name: string): readonly number[] {
  const found = numbers(value, width, name);
  ensure(found.every((one) => Math.abs(one) <= LARGEST), `${name} must be at most 1e40`);
  return found;
}

function readCheck({ rounds, width, cap }: Training, found: Fields): Read {
  const check = integer(found["check"], 1, rounds + 1, "check");
  const weights = weighty(found["weights"], width, "weights");
  return { title: `loss ${check}`, schema: [numeric("loss", 0, cap)], more: { check, done: check > rounds, weights } };
}

function readRound({ rounds, width, gradient }: Training, found: Fields): Read {
  const number = integer(found["number"], 1, rounds + 1, "number");
  integer(found["averaged"], 0, rounds, "averaged");
  for (const name of ["weights", "average"]) weighty(found[name], width, name);
  const coordinates = listed(found["coordinates"], "coordinates");
  let next = 0;
  for (const one of coordinates) next = integer(one, next, width - 1, "the next coordinate") + 1;
  ensure(next, "coordinates must be one or more");
  const size = gradient === "vector" ? paddedSize(coordinates.length) : coordinates.length;
  return {
    title: `round ${number}`,
    schema: Array.from({ length: size }, (_, j) => numeric(`g${j}`)),
    more: { number, done: number > rounds, weights: found["weights"], coordinates },
  };
}

/** Whether the target is asked for as a number. Otherwise the class is asked for among the categories. */
export const asksTarget = ({ loss, parts }: Training): boolean => loss === "squared" || parts.every(({ number }) => number);

function readStage(training: Training, { stage, known }: Fields): Read {
  const { parts } = training;
  const asks = asksTarget(training);
  const named = parts.filter(({ number }) => number).map(({ start }) => `x${start}`);
  const wanted = asks ? [...named, "target"] : named;
  const shares = parts.filter(({ number }) => !number).map(({ start, indicators }) => category(`x${start}`, indicators));
  const names = [...(wanted.length ? ["means", "spreads"] : []), ...(shares.length ? ["shares"] : [])];
  const index = names.indexOf(stage as string);
  ensure(index >= 0, "the pilot must have a stage of this name");
  const estimates = listed(known, "known").map((rows) => {
    const pairs = listed(rows, "a stage");
    ensure(pairs.length === wanted.length, "a stage must have an estimate for each question of the earlier ones");
    return pairs.map((pair) => numbers(pair, 2, "an estimate") as readonly [number, number]);
  });
  ensure(estimates.length === index, "a stage must have the estimates of all earlier ones");
  const middle = estimates[0]?.map(shrunk) ?? wanted.map(() => 0);
  const low = stage === "means" ? -1 : 0;
  const asked = stage === "shares" ? [...(asks ? [] : [category("target", 1)]), ...shares] : wanted.map((name) => numeric(name, low));
  return { title: stage as string, schema: asked, more: { stage, done: false, middle } };
}

/** Returns an estimate, moved towards 0 by the share of it that is probably noise. */
function shrunk([point, error]: readonly [number, number]): number {
  const ratio = isNumber(point) && point !== 0 ? Math.min(error, 1) / point : 0;
  return zero(clip(point * Math.max(0, 1 - ratio * ratio), -1, 1));
}
