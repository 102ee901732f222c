/**
 * Trainings: a person takes part once, in a round, in a stage of the pilot, or held out, with a loss (`spec/training.md`).
 *
 * It is a file of its own, `training.js`, as most pages need none of it. `client.train` loads it.
 */
import { SystemCoins } from "./coins.js";
import { BudgetError, CollectorError, ensure, LedgerError } from "./errors.js";
import { canonical, type Fields, toHex } from "./json.js";
import type { Ledger } from "./ledger.js";
import type { PersonRecord } from "./schema.js";
import type { Entry } from "./stores.js";
import { answer } from "./training/answers.js";
import { DECIDED, nameOf, readTraining, type Training } from "./training/description.js";
import { type Phase, readPhase } from "./training/phase.js";

export { answer } from "./training/answers.js";
export * from "./training/arithmetic.js";
export type { Plain, Training } from "./training/description.js";
export { cosine, normal, randomUnits, reluMoments, unitsOf, waveMoments } from "./training/maps.js";
export { type Check, type Phase, readPhase, type Round, type Stage } from "./training/phase.js";

/** What a page expects: the name of a training, or the JSON of its course, of a round or of a stage, as an object. */
export type Expected = string | { readonly training: unknown };

/** How a person takes part. */
export interface TrainOptions {
  /** The most that the report may cost. */
  readonly epsilon?: number;
  /** Whether this person is held out: the report is the loss of the model so far, and they take part in nothing else. */
  readonly check?: boolean;
}

/** The collector's word that a report is durable. */
interface Receipt {
  readonly id: string;
  readonly new: boolean;
}

/** What a client lends: requests, which are repeated until they are answered. */
export interface Way {
  get(path: string): Promise<Uint8Array>;
  post(path: string, report: Uint8Array<ArrayBuffer>): Promise<Receipt>;
}

/** Where a training lies in a collector. */
const pathOf = (name: string): string => `/trainings/${encodeURIComponent(name)}`;

/** The text of a training without what its pilot decides. */
const fixed = (values: Fields): string =>
  canonical(Object.fromEntries(Object.entries(values).filter(([name]) => !DECIDED.includes(name))));

/** Takes part in a training, once, and sends the report until it has arrived. See `Client.train`. */
export async function train(
  way: Way,
  ledger: Ledger,
  expected: Expected,
  record: PersonRecord,
  label: unknown,
  { epsilon = Infinity, check = false }: TrainOptions = {},
): Promise<Receipt> {
  const phases = await phasesOf(way, expected, check);
  const { training } = phases[0]!;
  await keep(ledger, training);
  const going = phases.filter(({ done }) => !done);
  if (!(await answered(ledger, training))) {
    ensure(going.length, "this training is over", CollectorError);
    const phase = going[Number(new SystemCoins().below(BigInt(going.length)))]!;
    ensure(phase.training.epsilon <= epsilon, "this training costs more epsilon than was allowed", BudgetError);
    // Another tab may be ahead, in this round or another: then nothing is drawn.
    const { name } = phase.training;
    await ledger.draw(phase.plan, answer(phase, record, label), undefined, false, { name, has: (title) => belongs(title, name) });
  }
  return send(way, ledger, training);
}

/** Returns what the collector asks now: of a course with several classes one for each, else one. */
async function phasesOf(way: Way, expected: Expected, check: boolean): Promise<Phase[]> {
  const own = typeof expected === "string" ? undefined : readTraining(expected.training);
  const classes = own?.against == null ? 0 : (own.label as { values: readonly unknown[] }).values.length;
  const wanted: (readonly [string, Fields | undefined])[] =
    own && classes
      ? Array.from({ length: classes }, (_, i) => [nameOf(own.title, i + 1), { ...own.values, against: i }] as const)
      : [[own?.name ?? (expected as string), own?.values]];
  return Promise.all(
    wanted.map(async ([name, values]) => {
      const phase = await readPhase(await way.get(`${pathOf(name)}/${check ? "check" : "round"}`));
      ensure(
        phase.training.name === name && check === (phase.check !== undefined) && (!values || fixed(phase.training.values) === fixed(values)),
        "the collector sent a round of another training",
        CollectorError,
      );
      return phase;
    }),
  );
}

/**
 * Keeps the schema, the label and the map of a training under its subject, or refuses others: before the record is read, and for
 * any record. A server that could change them would learn from refusals where a value lies.
 */
async function keep(ledger: Ledger, { name, values }: Training): Promise<void> {
  const title = subject(name);
  const text = new TextEncoder().encode(canonical([values["schema"], values["label"], ...(values["map"] ? [values["map"]] : [])]));
  const description = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", text)));
  await ledger.store.update((book) => {
    ensure(book, "the ledger is gone: its database was deleted", LedgerError);
    const known = book.trainings?.find((one) => one.title === title);
    ensure(
      !known || known.description === description,
      `the training ${JSON.stringify(title)} had other features or another label when this browser first saw it`,
      LedgerError,
    );
    return known ? undefined : { ...book, trainings: [...(book.trainings ?? []), { title, description }] };
  });
}

/**
 * Returns a name of a training without classes at its end. A page names a training, and the collector chooses its seed, and
 * whether `h (class 1)` is a class of the title `h` or a title: what is drawn for either is the one report of the subject.
 */
export const subject = (name: string): string => name.replace(/( \(class \d+\))+$/, "");

/** Returns whether a plan with this title may be one of a training of this name, whatever its seed. */
export const belongs = (title: string, name: string): boolean => {
  const own = subject(name);
  return title.startsWith(own) && /^( \(class \d+\))* \[.*\]: /s.test(title.slice(own.length));
};

/** Returns the answer to any plan of a training, if there is one: at best one that was drawn for it. */
async function answered(ledger: Ledger, { name }: Training): Promise<Entry | undefined> {
  const all = (await ledger.entries()).filter(({ title }) => belongs(title, name));
  return all.find(({ once }) => once !== undefined && subject(once) === subject(name)) ?? all[0];
}

/** Returns whether this device has taken part in a training, and how far its report has come. */
export async function taken(ledger: Ledger, training: Training): Promise<"drawn" | "sending" | "arrived" | undefined> {
  return (await answered(ledger, training))?.state;
}

/** Sends the one report of this device to a training: to the round or stage in which it was drawn. */
export async function send(way: Way, ledger: Ledger, training: Training): Promise<Receipt> {
  const entry = await answered(ledger, training);
  ensure(entry, "this device has no answer to this training", LedgerError);
  const { title, plan, state, once } = entry;
  const report = Uint8Array.from(entry.report);
  const found = /\]: (?:class \d+, )?(?:(round|loss) (\d+)|(\w+))$/.exec(title);
  // A survey may have such a title. Its report goes its own way, perhaps through a relay, and not this one.
  ensure(
    found && once !== undefined && subject(once) === subject(training.name),
    "this device has answered another plan under this training's name",
    BudgetError,
  );
  if (state === "arrived") return { id: toHex(report.subarray(9, 25)), new: false };
  const [, kind, round, stage] = found;
  const place = kind === undefined ? `pilot?stage=${stage}` : `${kind === "loss" ? "losses" : "gradients"}?round=${round}`;
  await ledger.sending({ id: plan });
  const receipt = await way.post(`${pathOf(once)}/${place}`, report);
  await ledger.arrived({ id: plan });
  return receipt;
}
