/** The report: all that leaves a device. A plan's id, a random id, and a few small integers. */
import type { Output } from "./channels/alphabet.js";
import { ensure, ReportError } from "./errors.js";
import { checkVersion, digits, fields, fromHex, integer, listed, parsed, toHex, VERSION } from "./json.js";
import type { Plan } from "./plan.js";

const HEAD = 25; // bytes: version, beginning of the plan's id, report's id

/** A question, by its index, and the output of its channel. */
export type Answer = readonly [question: number, output: Output];

/** The JSON form of a report. */
export interface ReportJSON {
  readonly answers: readonly Answer[];
  readonly hush: 2;
  readonly id: string;
  readonly plan: string;
}

/** Answers to k questions of a plan. It is checked when it is made, so a report that exists is a valid one. */
export class Report {
  /** 32 hexadecimal digits, random. */
  readonly id: string;
  readonly answers: readonly Answer[];

  constructor(
    readonly plan: Plan,
    id: string,
    answers: readonly Answer[],
  ) {
    this.id = digits(id, 32, "the id of a report", ReportError);
    ensure(answers.length === plan.k, `a report of this plan has ${plan.k} answers`, ReportError);
    let next = 0;
    this.answers = answers.map(([question, output]): Answer => {
      const index = integer(question, next, plan.questions.length - 1, "the next question", ReportError);
      next = index + 1;
      return [index, plan.questions[index]!.channel.alphabet.check(output)];
    });
  }

  /** Returns the compact binary form. */
  encode(): Uint8Array<ArrayBuffer> {
    const width = indexWidth(this.plan);
    const bytes = [VERSION, ...fromHex(this.plan.id.slice(0, 16)), ...fromHex(this.id)];
    for (const [question, output] of this.answers) {
      if (width > 1) bytes.push(question >> 8);
      if (width > 0) bytes.push(question & 255);
      bytes.push(...this.plan.questions[question]!.channel.alphabet.pack(output));
    }
    return Uint8Array.from(bytes);
  }

  /** Reads the binary form of a report of this plan. Anything else is a ReportError. */
  static decode(plan: Plan, bytes: Uint8Array): Report {
    const width = indexWidth(plan);
    let at = HEAD;
    const take = (size: number): Uint8Array => bytes.subarray(at, (at += size));
    ensure(bytes.length >= HEAD, "the report is cut short", ReportError);
    checkVersion(bytes[0], "this report", ReportError);
    ensure(toHex(bytes.subarray(1, 9)) === plan.id.slice(0, 16), "this report belongs to another plan", ReportError);
    const answers: Answer[] = [];
    for (let i = 0; i < plan.k; i++) {
      const question = width ? take(width).reduce((sum, byte) => 256 * sum + byte, 0) : i;
      integer(question, 0, plan.questions.length - 1, "the next question", ReportError);
      const { alphabet } = plan.questions[question]!.channel;
      const packed = take(alphabet.width);
      ensure(at <= bytes.length, "the report is cut short", ReportError);
      answers.push([question, alphabet.unpack(packed)]);
    }
    ensure(at === bytes.length, "the report has bytes too many", ReportError);
    return new Report(plan, toHex(bytes.subarray(9, HEAD)), answers);
  }

  /** Returns the JSON form; `JSON.stringify(report)` is the text. */
  toJSON(): ReportJSON {
    return { answers: this.answers, hush: VERSION, id: this.id, plan: this.plan.id };
  }

  /** Reads the JSON form of a report of this plan, as text or as values. Anything else is a ReportError. */
  static fromJSON(plan: Plan, value: unknown): Report {
    const values = typeof value === "string" ? parsed(value, ReportError) : value;
    const { hush, plan: of, id, answers } = fields(values, "a report", ["hush", "plan", "id", "answers"], ReportError);
    checkVersion(hush, "this report", ReportError);
    ensure(of === plan.id, "this report belongs to another plan", ReportError);
    const pairs = listed(answers, "answers", ReportError);
    for (const pair of pairs) ensure(Array.isArray(pair) && pair.length === 2, "an answer is a pair", ReportError);
    const report = new Report(plan, id as string, pairs as readonly Answer[]);
    // A repeated key, or a number in an unusual form, makes the text longer than its canonical form.
    ensure(
      typeof value !== "string" || value.replace(/\s/g, "").length === JSON.stringify(report).length,
      "the report is written in an unusual way",
      ReportError,
    );
    return report;
  }
}

/** How many bytes the index of a question takes: none if all questions are answered. */
function indexWidth({ k, questions }: Plan): number {
  return k === questions.length ? 0 : questions.length <= 256 ? 1 : 2;
}
