/**
 * Views: what a question sees of a record. A view is a public function of one or two inputs, so it costs no privacy and
 * draws nothing. It gives the input of one attribute, which it describes as `seen`: channels know nothing of views.
 *
 * A view takes the same steps for all values: a missing number is looked up as if it were in the middle.
 */
import { ensure } from "./errors.js";
import { counter, increases } from "./exact.js";
import { type Fields, fields, listed } from "./json.js";
import { type Attribute, type Input, type Numeric, texts } from "./schema.js";

/** A view of one or two attributes of a plan. */
export interface View {
  readonly kind: string;
  /** The names of the attributes that it looks at. */
  readonly of: readonly string[];
  /** The attribute that it gives: one of the schema, or a band, a side or a product. */
  readonly seen: Attribute;
  /** Of a member: the value that it looks for. */
  readonly value?: string;
  /** Returns the input that it gives, out of the inputs of the whole record. */
  look(inputs: readonly Input[]): Input;
}

const OWN = new Map<unknown, readonly string[]>([
  ["value", []],
  ["bands", ["cuts"]],
  ["sides", ["cuts"]],
  ["product", ["centres", "reach"]],
  ["member", ["value"]],
]);

const MAX_CUTS = 4095;
const MIDDLE = 0.5;

const shortened = (parts: readonly string[], by: string): string => parts.map((part) => [...part].slice(0, 60).join("")).join(by);

/** Reads a view of any kind, strictly. */
export function readView(value: unknown, schema: readonly Attribute[]): View {
  const kind = (value as Fields | null)?.["kind"] as string;
  const own = OWN.get(kind) ?? texts.own?.get(kind);
  ensure(own, "the kind of a view must be known");
  const found = fields(value, "a view", ["kind", "of", ...own]);
  const of = listed(found["of"], "of") as readonly string[];
  const places = of.map((name) => schema.findIndex((one) => one.name === name));
  const pair = kind === "product" || kind === "sides";
  ensure(of.length === (pair ? 2 : 1) && !places.includes(-1), `a view of ${kind} must be of attributes: ${JSON.stringify(of)}`);
  const [one, other] = places as [number, number];
  const numbers = places.map((place) => schema[place]!) as readonly Numeric[];
  if (!own.length) return { kind, of, seen: numbers[0]!, look: (inputs) => inputs[one]! };

  if (!OWN.has(kind)) return texts.view!(kind, found, of, schema[one]!, one);
  if (kind === "member") {
    const choices = schema[one]!;
    const value = found["value"] as string;
    const at = choices.kind === "choices" ? choices.values.indexOf(value) : -1;
    ensure(at >= 0, "a member must be one of the choices");
    const name = shortened([...of, value], ": ");
    const seen: Attribute = { kind: "categorical", name, values: ["no", "yes"], optional: choices.optional };
    return { kind, of, seen, value, look: (inputs) => (inputs[one] as unknown as Uint8Array)[at]! };
  }
  const name = shortened(of, " × ");
  const rule = (good: unknown, text: string): void => ensure(good, `${kind} of ${JSON.stringify(of)}: ${text}`);
  rule(numbers.every((number) => number.kind === "numeric"), "must be of numbers");
  const optional = numbers.some((number) => number.optional);
  const what = own[0]!;
  const marks = listed(found[what], what) as readonly number[];
  rule(pair ? marks.length === 2 : marks.length >= 1 && marks.length <= MAX_CUTS, `${what} must be ${pair ? 2 : "1 to 4095"}`);
  /** Numbers of the plan, as positions in their domains. A cut at the upper end, or so close to it, has nothing above. */
  const positions = marks.map((mark, i) => {
    const { low, high } = numbers[pair ? i : 0]!;
    const position = (mark - low) / (high - low);
    rule(
      typeof mark === "number" && !Object.is(mark, -0) && low <= mark && (kind === "product" ? mark <= high : position < 1),
      `${what} must be floats from ${low} to ${high}, and cuts below that`,
    );
    return position;
  });
  const [p, q] = positions as [number, number];
  const category = (values: string[]): Attribute => ({ kind: "categorical", name, values, optional });

  if (kind === "bands") {
    const last = positions.length;
    rule(increases(positions), "cuts must increase, and not lie too close");
    // Negated, as a number on a cut belongs to the band below it.
    const reached = counter(positions.map((position) => -position).reverse(), Infinity);
    return {
      kind,
      of,
      seen: category([`up to ${marks[0]}`, ...marks.slice(1).map((mark, i) => `${marks[i]} to ${mark}`), `above ${marks[last - 1]}`]),
      look(inputs) {
        const u = inputs[one]!;
        const band = last - reached(-(u ?? MIDDLE));
        return u === null ? last + 1 : band;
      },
    };
  }
  if (kind === "sides") {
    return {
      kind,
      of,
      seen: category(["same side", "different sides"]),
      look(inputs) {
        const [x, y] = [inputs[one]!, inputs[other]!];
        const different = Number((x ?? MIDDLE) <= p !== (y ?? MIDDLE) <= q);
        return x === null || y === null ? 2 : different;
      },
    };
  }
  const reach = found["reach"] as number;
  rule(typeof reach === "number" && reach >= 2 ** -20 && reach <= 1, "reach must be a float from 2^-20 to 1");
  return {
    kind,
    of,
    seen: { kind: "numeric", name, low: -1, high: 1, out_of_range: "clip", optional, scale: "linear", unit: null },
    look(inputs) {
      const [x, y] = [inputs[one]!, inputs[other]!];
      const product = (((x ?? MIDDLE) - p) * ((y ?? MIDDLE) - q)) / reach;
      const place = (Math.min(Math.max(product, -1), 1) + 1) / 2;
      return x === null || y === null ? null : place;
    },
  };
}
