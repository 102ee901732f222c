/** A training as the collector describes it, checked as a whole (`spec/training.md`). */
import { ensure } from "../errors.js";
import { type Fields, fields, integer, listed, printable } from "../json.js";
import { type Attribute, type Categorical, type Numeric, readSchema } from "../schema.js";
import { type FeatureMap, readMap } from "./maps.js";

const NAMES = (
  "title loss schema label epsilon rounds step gradient radius bound k penalty decay box tail rising intercept ordered " +
  "centre scale projection selection start cap against seed"
).split(" ");
const GRADIENTS = "vector minimax hybrid piecewise piecewise-sub duchi laplace scdf staircase duchi-multi cube".split(" ");
const MAX_ROUNDS = 2 ** 20;

/** What the pilot of a training decides. None of it decides whether a person answers. */
export const DECIDED = "rounds step radius centre scale start decay box tail rising".split(" ");

/** An attribute that can be a feature, or the label. */
export type Plain = Numeric | Categorical;

/** The features from `start` on that belong together: one number, or the indicators of a category and its place. */
export interface Part {
  readonly start: number;
  readonly number: boolean;
  readonly indicators: number;
}

/** A checked training. */
export interface Training {
  readonly title: string;
  readonly loss: "squared" | "logistic" | "hinge";
  readonly schema: readonly Plain[];
  readonly label: Plain;
  /** The class that is told apart from all others, if there are more than two. */
  readonly against: number | null;
  readonly epsilon: number;
  readonly rounds: number;
  readonly gradient: string;
  readonly radius: number;
  readonly bound: number;
  /** The largest loss that held-out people report. */
  readonly cap: number;
  readonly intercept: boolean;
  readonly ordered: readonly string[];
  readonly centre: readonly number[] | null;
  readonly scale: readonly number[] | null;
  readonly projection: number | null;
  readonly seed: string;
  /** A public map, which adds units to the features. */
  readonly map: FeatureMap | null;
  /** How many features there are, and how many weights. */
  readonly dimensions: number;
  readonly width: number;
  readonly parts: readonly Part[];
  /** The beginning of the titles of all its plans. A person answers one of them. */
  readonly family: string;
  readonly branch: string;
  /** Its name in a collector. */
  readonly name: string;
  /** The values as they came. */
  readonly values: Fields;
}

export const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** How many categories an attribute has, "other" and "missing" among them. */
const categories = ({ values, optional, other }: Categorical): number =>
  values.length + Number(optional) + Number(!!other);

/** Reads a list of numbers, or null. */
export function numbers(value: unknown, count: number, what: string): readonly number[] {
  const all = listed(value, what);
  ensure(all.length === count && all.every(isNumber), `${what} must be ${count} finite numbers`);
  return all as readonly number[];
}

/** Reads a training, strictly. */
export function readTraining(value: unknown): Training {
  const mapped = Object.hasOwn(Object(value), "map");
  const found = fields(value, "a training", mapped ? [...NAMES, "map"] : NAMES);
  const { title, seed, loss, epsilon, gradient, k, box, tail, penalty, selection, projection, against } = found;
  for (const name of ["title", "seed"])
    ensure(printable(found[name], 1, 128), `${name} must be 1 to 128 printable characters`);
  ensure(loss === "squared" || loss === "logistic" || loss === "hinge", "loss must be squared, logistic or hinge");
  const schema = readSchema(found["schema"]).map(plain);
  const label = readLabel(found["label"], schema, loss !== "squared", against);
  const ordered = listed(found["ordered"], "ordered");
  for (const name of ordered) {
    const named = schema.find((attribute) => attribute.name === name);
    ensure(named?.kind === "categorical" && named.values.length > 1, "ordered must name categories with two values or more");
  }
  ensure(new Set(ordered).size === ordered.length, "ordered must name each once");
  const parts = partsOf(schema, ordered);
  const dimensions = integer(parts.at(-1)!.end, 1, 1023, "the number of features");
  integer(found["rounds"], 1, MAX_ROUNDS, "rounds");
  for (const name of ["epsilon", "step", "radius", "bound", "cap"]) positive(found[name], name);
  ensure((epsilon as number) >= 0.001 && (epsilon as number) <= 16, "epsilon must be from 0.001 to 16");
  ensure(isNumber(penalty) && penalty >= 0, "penalty must be at least 0");
  ensure(isNumber(tail) && tail >= 0 && tail <= 1, "tail must be from 0 to 1");
  if (box !== null) positive(box, "box");
  for (const name of ["decay", "rising", "intercept"])
    ensure(typeof found[name] === "boolean", `${name} must be true or false`);
  ensure(GRADIENTS.includes(gradient as string), "gradient must be known");
  if (k !== "best" && k !== "paper") integer(k, 1, 1024, "k");
  if (projection !== null) integer(projection, 1, dimensions, "projection");
  if (selection !== null) {
    const [first, second, tau] = numbers(selection, 3, "selection") as [number, number, number];
    integer(first, 1, MAX_ROUNDS, "n1");
    integer(second, 1, MAX_ROUNDS, "n2");
    ensure(tau >= 0, "tau must be at least 0");
  }
  const map = mapped ? readMap(found["map"], dimensions) : null;
  ensure(!map || projection === null, "a training must not have both a map and a projection");
  const width = (projection as number | null) ?? dimensions + (map?.count ?? 0) + Number(found["intercept"]);
  if (map) integer(width, 1, 1024, "the number of features and units");
  for (const [name, size] of [["centre", dimensions], ["scale", dimensions], ["start", width]] as const)
    if (found[name] !== null) numbers(found[name], size, name);
  const all = (name: string, fits: (one: number) => boolean): boolean => ((found[name] as number[] | null) ?? []).every(fits);
  const fair = (size: number): boolean => size >= 1e-100 && size <= 1e100;
  ensure(all("centre", (one) => one === 0 || fair(Math.abs(one))), "centre must be 0, or from 1e-100 to 1e100 in size");
  ensure(all("scale", fair), "scale must be from 1e-100 to 1e100");
  const number = against === null ? 0 : (against as number) + 1;
  return {
    ...(found as unknown as Training),
    schema,
    label,
    map,
    dimensions,
    width,
    parts,
    family: `${title} [${seed}]: `,
    branch: number ? `class ${number}, ` : "",
    name: nameOf(title as string, number),
    values: found,
  };
}

/** Returns the name of a training in a collector; `number` counts the classes from 1, and is 0 if there is one training. */
export const nameOf = (title: string, number: number): string => (number ? `${title} (class ${number})` : title);

function positive(value: unknown, what: string): void {
  ensure(isNumber(value) && value > 0, `${what} must be a finite number above 0`);
}

function plain(attribute: Attribute): Plain {
  ensure(
    attribute.kind === "numeric" || attribute.kind === "categorical",
    `attribute ${JSON.stringify(attribute.name)}: must be a number or a category`,
  );
  return attribute;
}

function readLabel(value: unknown, schema: readonly Plain[], classes: boolean, against: unknown): Plain {
  const { attribute, targets } = fields(value, "a label", ["attribute", "targets"]);
  ensure(JSON.stringify(targets) === "[-1,1]", "targets must be -1 and 1");
  const label = plain(readSchema([attribute])[0]!);
  if (label.kind === "categorical") {
    if (against !== null) integer(against, 0, label.values.length - 1, "against");
    ensure(classes && !label.other, "the label must fit the loss");
    ensure((label.values.length === 2) === (against === null), "the label must have two classes, or more and one told apart");
  } else ensure(!classes && against === null, "the label must fit the loss");
  ensure(!label.optional, "the label must not be optional");
  ensure(schema.every(({ name }) => name !== label.name), "the label must not be a feature");
  return label;
}

function partsOf(schema: readonly Plain[], ordered: readonly unknown[]): readonly (Part & { end: number })[] {
  const parts: (Part & { end: number })[] = [];
  let start = 0;
  const add = (number: boolean, indicators: number, more = 0): void => {
    const end = start + (number ? 1 : indicators) + more;
    parts.push({ start, number, indicators, end });
    start = end;
  };
  for (const attribute of schema) {
    if (attribute.kind === "categorical") add(false, categories(attribute) - 1, Number(ordered.includes(attribute.name)));
    else {
      add(true, 0);
      if (attribute.optional) add(false, 1);
    }
  }
  return parts;
}
