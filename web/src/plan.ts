/** The plan: everything that is public about a collection, named by its hash and checked as a whole. */
import type { Channel } from "./channels/channel.js";
import { readChannel } from "./channels/index.js";
import { ensure, PlanError } from "./errors.js";
import { decimal, descending, lowerExp, type Ratio } from "./exact.js";
import { canonical, checkVersion, digits, fields, integer, listed, parsed, printable, pythonFloat, toHex, utf8 } from "./json.js";
import { type Attribute, encode, type Input, inputsFor, type PersonRecord, readSchema } from "./schema.js";
import { readView, type View } from "./views.js";

/** The longest text of a plan, in bytes. */
export const MAX_TEXT = 2 ** 24;
const MAX_OUTPUTS = 2 ** 22;
const MAX_QUESTIONS = 4096;

/** What a question sees of a record, and the channel that reports it. */
export interface Question {
  readonly views: readonly View[];
  /** The attributes that it looks at. */
  readonly names: readonly string[];
  readonly channel: Channel;
}

/**
 * A collection: schema, epsilon per person, questions, and how many of them each person answers.
 *
 * A plan that exists was checked in full, by `Plan.parse`: no report of it is more than e^epsilon times likelier under
 * one record than under another, whoever sent the plan.
 */
export class Plan {
  readonly title: string;
  /** The id of another plan that this one follows, such as a pilot: nobody answers both. */
  readonly after: string | null;
  /** The cost of answering for a person: exactly this decimal. */
  readonly epsilon: string;
  /** How many questions a person answers. */
  readonly k: number;
  /** With k = 1: a question is drawn in proportion to its weight. */
  readonly weights: readonly number[] | null;
  readonly schema: readonly Attribute[];
  readonly questions: readonly Question[];
  /** The probability that each question is asked of a person. */
  readonly inclusions: readonly number[];
  /** The largest ratio of one report's probability under two records, exactly: at most e^epsilon. */
  readonly ratio: Ratio;

  private constructor(
    /** The canonical text. */
    readonly text: string,
    /** The SHA-256 of the text, in hexadecimal. */
    readonly id: string,
  ) {
    const value = parsed(text, PlanError);
    const names = ["hush", "title", "after", "epsilon", "k", "weights", "schema", "questions"];
    const { hush, title, after, epsilon, weights, ...rest } = fields(value, "a plan", names);
    checkVersion(hush, "this plan");
    ensure(printable(title, 0, 256), "title must be at most 256 printable characters");
    const before = after === null ? null : digits(after, 64, "after");
    ensure(
      typeof epsilon === "string" && pythonFloat(+epsilon) === epsilon && +epsilon >= 0.001 && +epsilon <= 16,
      "epsilon must be a decimal from 0.001 to 16.0, as the shortest string",
    );
    const schema = readSchema(rest["schema"]);
    const items = listed(rest["questions"], "questions");
    ensure(items.length <= MAX_QUESTIONS, `questions must be at most ${MAX_QUESTIONS}`);
    let outputs = 0;
    const looks = new Set<string>();
    const asked = new Set<string>();
    const questions = items.map((item): Question => {
      const found = fields(item, "a question", ["views", "channel"]);
      const channel = readChannel(found["channel"]);
      outputs += channel.alphabet.size;
      ensure(outputs <= MAX_OUTPUTS, "questions must have fewer outputs");
      const items = listed(found["views"], "views");
      const views = items.map((view) => readView(view, schema));
      const texts = items.map((view) => JSON.stringify(view));
      ensure(new Set(texts).size === texts.length, "views must differ");
      const names = [...new Set(views.flatMap(({ of }) => of))];
      ensure(
        names.length > 0 && channel.fits(views.map(({ seen }) => seen)),
        `the channel must fit its attributes: ${JSON.stringify(names)}`,
      );
      looks.add(texts.join());
      names.forEach((name) => asked.add(name));
      return { views, names, channel };
    });
    ensure(looks.size === questions.length, "questions must differ in their views");
    ensure(asked.size === schema.length, "questions must ask about all attributes");
    const k = integer(rest["k"], 1, questions.length, "k");
    const drawn = weights === null ? null : listed(weights, "weights").map(weight);
    ensure(!drawn || (k === 1 && drawn.length === questions.length), "weights must be one per question, with k = 1");
    const ratios = questions.map(({ channel }) => channel.ratio).sort(descending);
    const ratio = ratios.slice(0, k).reduce(([a, b], [c, d]): Ratio => [a * c, b * d]);
    ensure(
      ratio[0] << 192n <= ratio[1] * lowerExp(decimal(epsilon)),
      `a report costs more than epsilon = ${epsilon}`,
    );
    // Any other form that JSON allows, such as repeated keys or 1.0 for 1, is refused: other readers could see another
    // plan under the same id.
    ensure(canonical(value) === text, "a plan must be written in its canonical form");
    this.title = title;
    this.after = before;
    this.epsilon = epsilon;
    this.k = k;
    this.weights = drawn;
    this.schema = schema;
    this.questions = questions;
    this.ratio = ratio;
    const sum = drawn?.reduce((a, b) => a + b);
    this.inclusions = questions.map((_, i) => (drawn && sum ? drawn[i]! / sum : k / questions.length));
    frozen(this);
  }

  /**
   * Reads a plan and checks all of it, its privacy included. With the id under which it is known, refuses any other.
   *
   * The hash needs WebCrypto, which browsers offer to pages that came by https, or from this machine.
   */
  static async parse(text: string | Uint8Array, id?: string): Promise<Plan> {
    ensure(text.length <= MAX_TEXT, "a plan must be shorter");
    const plain = utf8(text, PlanError);
    ensure(crypto.subtle, "a plan must be checked in a page that came by https");
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(plain)));
    const plan = new Plan(plain, toHex(hash));
    ensure(id === undefined || id === plan.id, "this is another plan than was asked for");
    return plan;
  }

  /** Checks a whole record, or what is asked, and returns the inputs of the channels. Throws a RecordError; draws nothing. */
  encode(record: PersonRecord, asked?: readonly string[]): Input[] {
    return encode(this.schema, record, asked);
  }

  /** Returns what a question sees: the inputs for its channel, out of the inputs of all attributes. */
  inputsOf(question: number, inputs: readonly Input[]): readonly Input[] {
    return inputsFor(this.questions[question]!.views, (view) => view.look(inputs));
  }
}

const weight = (value: unknown): number => integer(value, 1, 2 ** 32, "a weight");

/** Freezes a value and everything in it: a checked plan cannot change. */
function frozen(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(frozen);
}
