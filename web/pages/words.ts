/** Numbers and sentences for people. */
import { likelihood, type Attribute, type Output, type Plan, type Question } from "hush-client";
import type { Value } from "./fields";
import { language, t } from "./language";
import { labelled } from "./presentation";

export function plain(value: number): string {
  return value.toLocaleString(language(), { maximumSignificantDigits: 12 });
}

/** A probability with two digits that mean something, and a sign that stays with them: 4.2 %, 0.031 %, 99.97 %. */
export function percent(probability: number): string {
  let digits = 2;
  const written = (): string => (100 * probability).toLocaleString(language(), { maximumSignificantDigits: digits });
  while (probability < 1 && digits < 15 && written() === "100") digits++; // 100 % is shown only for a certain answer
  return `${written()}\u00a0%`;
}

/** A bound below 1 in per cent: never too small, and with enough digits to stay below 100. */
export function sure(share: number): string {
  let scale = 10;
  const up = (): number => Math.ceil(100 * share * scale - 1e-9) / scale;
  while (share < 1 && scale < 1e12 && up() >= 100) scale *= 10;
  return `${plain(up())}\u00a0%`;
}

/** A bound, with three digits at least and never too small: 2.719 is 2.72. */
export function raised(value: number): string {
  const scale = 10 ** Math.max(0, 2 - Math.floor(Math.log10(value)));
  return plain(Math.ceil(value * scale - 1e-9) / scale);
}

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
}

const POINTS = 97; // on the axis of a number

export function profile(plan: Plan, question: number, output: Output, answers: Answers, name: string): Profile {
  const attribute = plan.schema.find((item) => item.name === name);
  if (attribute === undefined) throw new Error("the plan has no such attribute");
  const chance = (value: Value): number => likelihood(plan, question, output, { ...answers, [name]: value });
  const values: Value[] = [];
  if (attribute.kind === "numeric") {
    const { low, high } = attribute;
    for (let i = 0; i < POINTS; i++) {
      const share = i / (POINTS - 1);
      values.push(low * (1 - share) + high * share); // the ends exactly, and no overflow
    }
  } else {
    values.push(...attribute.values);
  }
  if (attribute.optional) values.push(null);
  const ownValue = answers[name] ?? null;
  return { attribute, values, chances: values.map(chance), own: chance(ownValue), ownValue };
}

/** Two values to compare, far from each other and easy to say: round numbers, or the likeliest and the least likely. */
export function contrast(found: Profile): Value[] {
  const { attribute, chances, values } = found;
  if (attribute.kind === "numeric") {
    const { low, high } = attribute;
    return [rounded(low, high, 1 / 6), rounded(low, high, 5 / 6)];
  }
  const least = values[chances.indexOf(Math.min(...chances))] ?? null;
  const most = values[chances.indexOf(Math.max(...chances))] ?? null;
  return least === most ? values.slice(0, 2) : [least, most];
}

/** A number with two digits near a place in the domain, but within it. */
function rounded(low: number, high: number, share: number): number {
  const exact = low * (1 - share) + high * share;
  const digits = Number(exact.toPrecision(2));
  return digits > low && digits < high ? digits : exact;
}

export function who(attribute: Attribute, value: Value): string {
  if (value === null) return t("whoNot");
  if (attribute.kind === "numeric") return t("whoNumber", { value: plain(value as number) });
  return t("whoText", { value: labelled(attribute.name, value) });
}

/** The sentence about what an answer reveals. */
export function sentence(plan: Plan, question: number, output: Output, answers: Answers, found: Profile): string {
  const { attribute } = found;
  const parts = contrast(found).map((value) => {
    const chance = likelihood(plan, question, output, { ...answers, [attribute.name]: value });
    return t("by", { who: who(attribute, value), chance: percent(chance) });
  });
  return t("very", { others: parts.join(", "), own: percent(found.own) });
}

/** Describes an output in words, as far as possible without the server's arithmetic. */
export function content(profiles: Profile[], output: Output, { views, channel }: Question): string {
  const [found] = profiles;
  const [view] = views;
  if (views.length > 1 || found === undefined || view === undefined) return t("contentTogether");
  const first = view.seen;
  if (first.kind === "categorical") {
    const own = view.kind === "value"; // bands have names of their own
    const label = (index: number): string => {
      const value = first.values[index];
      if (value === undefined) return t("unsaid");
      return own ? labelled(first.name, value) : String(value);
    };
    if (typeof output === "number") return t("contentOne", { value: label(output) });
    const named = [...output].map((index) => t("quoted", { value: label(index) }));
    if (named.length === 0) return t("contentNone");
    const most = 12;
    const some = named.slice(0, most).join(", ");
    const values = named.length > most ? t("more", { values: some, count: named.length - most }) : some;
    return t(channel.kind === "unary" ? "contentUnary" : "contentSome", { values });
  }
  const number = t("contentNumber", { output: String(output), most: channel.alphabet.size - 1 });
  return view.kind === "value" ? `${number}${favoured(found)}` : number;
}

/** Which values make an answer likelier, if it is one part of the scale. */
function favoured({ values, chances }: Profile): string {
  const numbers = values.filter((value) => value !== null).length;
  const [least, most] = [Math.min(...chances), Math.max(...chances)];
  if (most - least < 1e-6 * most) return "";
  const likely = Array.from({ length: numbers }, (_, index) => index).filter(
    (index) => (chances[index] ?? 0) > (least + most) / 2,
  );
  const [first, last] = [likely[0], likely.at(-1)];
  if (first === undefined || last === undefined || last - first + 1 !== likely.length) return "";
  const ends = [values[first], values[last]].map((value) => plain(Number(Number(value).toPrecision(2))));
  const chance = (index: number): string => percent(chances[index] ?? 0);
  const middle = Math.round((first + last) / 2);
  const [low = "", high = ""] = ends;
  return ` ${t("favoured", { low, high, likely: chance(middle), unlikely: percent(least) })}`;
}

/** A plan with a larger epsilon protects weakly. As in src/hush/planning/summary.py. */
const WEAK = 4;

/** The first words about a plan that protects weakly; nothing for others. */
export function weakness({ epsilon, k }: Plan): string {
  if (!(Number(epsilon) > WEAK)) return "";
  return t(k === 1 ? "weakOne" : "weakSome", { epsilon: Number(epsilon) });
}

/** The meaning of epsilon, as a factor and as a bet. */
export function meaning(epsilon: number): string {
  const times = Math.exp(epsilon);
  return t("meaning", { times: raised(times), sure: sure(times / (1 + times)) });
}
