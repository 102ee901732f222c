/** Numbers and sentences for people. */
import { likelihood, type Attribute, type Numeric, type Output, type Plan, type Question, type View } from "hush-client";
import type { Value } from "./around";
import { counted, isDated, iso, marks, spoken } from "./calendar";
import { percent, plain, raised, sure } from "./figures";
import { language, t } from "./language";
import { labelled, OTHER } from "./presentation";

export type Answers = Record<string, Value>;

/** How likely one answer of a report is for somebody with another value of one attribute, all else being the same. */
export interface Profile {
  attribute: Attribute;
  /** The values that are compared, in order, and how likely each would send this answer. */
  values: Value[];
  chances: number[];
  /** How likely you are to send it. */
  own: number;
  ownValue: Value;
  /** How likely somebody with any value would send it. */
  chance(value: Value): number;
}

const POINTS = 97; // on the axis of a number

export function profile(plan: Plan, question: number, output: Output, answers: Answers, name: string): Profile {
  const attribute = plan.schema.find((item) => item.name === name);
  if (attribute === undefined) throw new Error("the plan has no such attribute");
  const member = plan.questions[question]?.views.find(({ kind, of }) => kind === "member" && of.includes(name));
  if (member !== undefined) return membership(plan, question, output, answers, member);
  // Dates and times of day are numbers in profiles, and texts in records.
  const own = (value: Value): Value => (attribute.kind === "numeric" && isDated(attribute) && typeof value === "number" ? iso(attribute, value) : value);
  const chance = (value: Value): number => likelihood(plan, question, output, { ...answers, [name]: own(value) });
  const values: Value[] = [];
  if (attribute.kind === "numeric") {
    const { low, high } = attribute;
    for (let i = 0; i < POINTS; i++) {
      const share = i / (POINTS - 1);
      const value = low * (1 - share) + high * share; // the ends exactly, and no overflow
      const known = attribute.holds ? Math.round(value) : value;
      if (known !== values[values.length - 1]) values.push(known);
    }
  } else if (attribute.kind === "choices") {
    values.push(...alone(attribute.values, answers[name] ?? null));
  } else if (attribute.kind === "text") {
    values.push(...new Set([answers[name] ?? "", "a", "b"]));
  } else {
    values.push(...attribute.values, ...(attribute.other ? [OTHER] : []));
  }
  if (attribute.optional) values.push(null);
  const given = answers[name] ?? null;
  const ownValue = attribute.kind === "numeric" && typeof given === "string" ? clipped(attribute, counted(attribute, given)) : given;
  return { attribute, values, chances: values.map(chance), own: chance(ownValue), ownValue, chance };
}

/** A date or a time of day within its bounds: the nearer one, on the clock too. */
function clipped({ low, high, holds, step = 60 }: Numeric, value: number): number {
  const far = holds === "time" && value - high > low + 86400 / step - value;
  return far ? low : Math.min(Math.max(value, low), high);
}

/** Lists to compare: none of the values, each alone, and the person's own. That one is found by identity. */
function alone(values: readonly string[], own: Value): Value[] {
  const all = [[], ...values.map((value) => [value])];
  if (!Array.isArray(own)) return all;
  const same = (list: readonly string[]): boolean => list.length === own.length && list[0] === own[0]; // one value at most
  return all.some(same) ? all.map((list) => (same(list) ? own : list)) : [...all, own];
}

/** The profile of a question about one value of choices: yes or no. */
function membership(plan: Plan, question: number, output: Output, answers: Answers, view: View): Profile {
  const { of: [name = ""], value = "" } = view;
  const held = (is: Value): Value => (is === null ? null : is === true ? [value] : []);
  const chance = (is: Value): number => likelihood(plan, question, output, { ...answers, [name]: held(is) });
  const given = answers[name] ?? null;
  const ownValue = Array.isArray(given) ? given.includes(value) : null;
  const values = [true, false, ...(view.seen.optional ? [null] : [])];
  const attribute = { ...view.seen, name: memberName(view) };
  return { attribute, values, chances: values.map(chance), own: chance(ownValue), ownValue, chance };
}

/** One value of choices, in the words of the page. */
export function memberName({ of: [name = ""], value = "" }: View): string {
  return `${name}: ${labelled(name, value)}`;
}

/** Two values to compare, far from each other and easy to say: round numbers, or the likeliest and the least likely. */
export function contrast(found: Profile): Value[] {
  const { attribute, chances, values } = found;
  if (attribute.kind === "numeric") {
    const { low, high } = attribute;
    if (isDated(attribute)) return [1 / 6, 5 / 6].map((share) => handy(attribute, low + share * (high - low)));
    const found = [rounded(low, high, 1 / 6), rounded(low, high, 5 / 6)];
    return attribute.holds === "integer" ? found.map(Math.round) : found;
  }
  const least = values[chances.indexOf(Math.min(...chances))] ?? null;
  const most = values[chances.indexOf(Math.max(...chances))] ?? null;
  return least === most ? values.slice(0, 2) : [least, most];
}

/** The nearest mark of a date or a time of day to a place in the domain. */
function handy(attribute: Numeric, place: number): number {
  const near = marks(attribute, attribute.low, attribute.high);
  return near.length < 3 ? Math.round(place) : near.reduce((best, one) => (Math.abs(one - place) < Math.abs(best - place) ? one : best));
}

/** A number of an attribute, as people write it. */
export function written(attribute: Numeric, value: number): string {
  return isDated(attribute) ? spoken(attribute, value, language()) : plain(value);
}

/** A number with two digits near a place in the domain, but within it. */
function rounded(low: number, high: number, share: number): number {
  const exact = low * (1 - share) + high * share;
  const digits = Number(exact.toPrecision(2));
  return digits > low && digits < high ? digits : exact;
}

export function who(attribute: Attribute, value: Value): string {
  if (value === null) return t("whoNot");
  if (attribute.kind === "numeric") return t("whoNumber", { value: written(attribute, value as number) });
  return t("whoText", { value: labelled(attribute.name, value) });
}

/** The sentence about what an answer reveals. */
export function sentence(found: Profile): string {
  const { attribute, chance } = found;
  const parts = contrast(found).map((value) => t("by", { who: who(attribute, value), chance: percent(chance(value)) }));
  return t("very", { others: parts.join(", "), own: percent(found.own) });
}

/** Describes an output in words, as far as possible without the server's arithmetic. */
export function content(profiles: Profile[], output: Output, { views, channel }: Question): string {
  const [found] = profiles;
  const [view] = views;
  if (views.length > 1 || found === undefined || view === undefined) return t("contentTogether");
  const first = view.seen;
  if (first.kind !== "numeric" && first.kind !== "text") {
    if (view.kind === "prefix") return t("contentPoint", { value: String(output) });
    const own = view.kind === "value"; // bands have names of their own
    const label = (index: number): string => {
      const value = first.values[index];
      if (value === undefined) return first.kind === "choices" && index >= first.values.length + Number(first.optional) ? t("blank") : t("unsaid");
      if (view.kind === "member") return t(value === "yes" ? "yes" : "no");
      return own ? labelled(first.name, value) : String(value);
    };
    const filled = channel.kind === "picks" ? ` ${t("filled")}` : "";
    if (typeof output === "number") return t("contentOne", { value: label(output) }) + filled;
    const named = [...output].map((index) => t("quoted", { value: label(index) }));
    if (named.length === 0) return t("contentNone");
    const most = 12;
    const some = named.slice(0, most).join(", ");
    const values = named.length > most ? t("more", { values: some, count: named.length - most }) : some;
    return t(channel.kind === "unary" ? "contentUnary" : "contentSome", { values }) + filled;
  }
  const number = t("contentNumber", { output: String(output), most: channel.alphabet.size - 1 });
  return view.kind === "value" ? `${number}${favoured(found)}` : number;
}

/** Which values make an answer likelier, if it is one part of the scale. */
function favoured({ attribute, values, chances }: Profile): string {
  const numbers = values.filter((value) => value !== null).length;
  const [least, most] = [Math.min(...chances), Math.max(...chances)];
  if (most - least < 1e-6 * most) return "";
  const likely = Array.from({ length: numbers }, (_, index) => index).filter(
    (index) => (chances[index] ?? 0) > (least + most) / 2,
  );
  const [first, last] = [likely[0], likely.at(-1)];
  if (first === undefined || last === undefined || last - first + 1 !== likely.length) return "";
  const ends = [values[first], values[last]].map((value) =>
    attribute.kind === "numeric" && isDated(attribute) ? written(attribute, Number(value)) : plain(Number(Number(value).toPrecision(2))),
  );
  const chance = (index: number): string => percent(chances[index] ?? 0);
  const middle = Math.round((first + last) / 2);
  const [low = "", high = ""] = ends;
  return ` ${t("favoured", { low, high, likely: chance(middle), unlikely: percent(least) })}`;
}

/** Up to the first of these a promise is strong, up to the last one fair, above it weak. As in src/hush/planning/strength.py. */
const STRENGTHS = [1, 2] as const;

/** The first words about a plan that protects weakly; nothing for others. */
export function weakness({ epsilon, k }: Pick<Plan, "epsilon" | "k">): string {
  if (!(Number(epsilon) > STRENGTHS[1])) return "";
  return t(k === 1 ? "weakOne" : "weakSome", { epsilon: plain(Number(epsilon)) });
}

/** The meaning of epsilon, as a factor and as a bet. */
export function meaning(epsilon: number): string {
  const times = Math.exp(epsilon);
  return t("meaning", { times: raised(times), sure: sure(times / (1 + times)) });
}
