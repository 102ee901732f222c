/** The device: a record goes in, a report comes out. */
import type { Output } from "./channels/alphabet.js";
import { type Coins, SystemCoins } from "./coins.js";
import { integer } from "./json.js";
import type { Plan } from "./plan.js";
import { type Answer, Report } from "./report.js";
import type { Input, PersonRecord } from "./schema.js";

/**
 * Returns a fresh random report of a record, as private as the plan says.
 *
 * The whole record is checked first; a bad one is refused before any randomness is drawn. Every call draws another
 * report and costs the epsilon again, if it is sent: a page that may be opened again should use a `Ledger`.
 */
export function randomise(plan: Plan, record: PersonRecord): Report {
  return randomiseFrom(new SystemCoins(), plan, record);
}

/** Returns a report that is a function of these coins: for tests. It protects only if nobody can predict the coins. */
export function randomiseFrom(coins: Coins, plan: Plan, record: PersonRecord): Report {
  const inputs = plan.encode(record);
  const answers = answersFrom(coins, plan, inputs, drawQuestions(plan, coins));
  return new Report(plan, freshId(coins), answers);
}

/** Draws the id of a report. */
export function freshId(coins: Coins): string {
  const half = (): string => coins.word().toString(16).padStart(16, "0");
  return half() + half();
}

/** Draws the answers to some questions. */
export function answersFrom(
  coins: Coins,
  plan: Plan,
  inputs: readonly Input[],
  questions: readonly number[],
): readonly Answer[] {
  return questions.map((question): Answer => {
    return [question, plan.questions[question]!.channel.draw(plan.inputsOf(question, inputs), coins)];
  });
}

/** Draws the questions to answer. It does not depend on the record. */
export function drawQuestions({ weights, k, questions }: Plan, coins: Coins): readonly number[] {
  if (!weights) return coins.subset(questions.length, k);
  let left = Number(coins.below(BigInt(weights.reduce((a, b) => a + b))));
  return [weights.findIndex((weight) => (left -= weight) < 0)];
}

/**
 * Returns how likely this output was for this record, if the question was asked; for a set, this very set. The record
 * needs no more than the question looks at.
 *
 * It is for pages that explain a report. The quotient of two is at most the ratio of the question's channel. A
 * set of a thousand members may be so unlikely that a float holds only 0.
 */
export function likelihood(plan: Plan, question: number, output: Output, record: PersonRecord): number {
  integer(question, 0, plan.questions.length - 1, "the index of a question");
  const { channel, names } = plan.questions[question]!;
  return channel.likelihood(channel.alphabet.check(output), plan.inputsOf(question, plan.encode(record, names)));
}
