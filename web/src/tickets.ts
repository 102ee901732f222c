/** Questions that are drawn before the answers: by the device, or by a ticket of the collector, which a client cannot pick. */
import { answersFrom, drawQuestions, freshId } from "./randomise.js";
import { Coins, SystemCoins } from "./coins.js";
import { CollectorError, ensure } from "./errors.js";
import { digits, fields, fromHex, listed } from "./json.js";
import type { Plan } from "./plan.js";
import { Report } from "./report.js";
import type { PersonRecord } from "./schema.js";

/** An id, from which the questions follow. If the collector signed it, it becomes the report's too. */
export interface Ticket {
  readonly id: string;
  readonly signature?: string;
}

/** Reads a ticket of a plan, and refuses one that names other questions than its id deals. */
export function readTicket(plan: Plan, value: unknown): Ticket {
  const ticket = fields(value, "a ticket", ["id", "questions", "signature"], CollectorError);
  const id = digits(ticket["id"], 32, "the id of a ticket", CollectorError);
  const questions = listed(ticket["questions"], "the questions of a ticket", CollectorError);
  const dealt = questionsOf(plan, id);
  ensure(
    questions.length === dealt.length && dealt.every((question, i) => question === questions[i]),
    "the collector sent a ticket whose questions do not follow from its id",
    CollectorError,
  );
  return { id, signature: digits(ticket["signature"], 32, "the signature of a ticket", CollectorError) };
}

/** Returns the questions that a ticket deals. */
export function questionsOf(plan: Plan, id: string): readonly number[] {
  return drawQuestions(plan, new IdCoins(`${plan.id}${id}`));
}

/** Returns the attributes that the questions of a ticket look at, in the order of the schema. */
export function askedBy(plan: Plan, id: string): readonly string[] {
  const names = questionsOf(plan, id).flatMap((question) => plan.questions[question]!.names);
  return plan.schema.map(({ name }) => name).filter((name) => names.includes(name));
}

/**
 * Returns the values to ask about, by attribute, where the questions of a ticket look at single values of choices. All
 * other values may be left out of the list: they do not change the report.
 */
export function membersBy(plan: Plan, id: string): Readonly<Record<string, readonly string[]>> {
  const views = questionsOf(plan, id).flatMap((question) => plan.questions[question]!.views);
  const found = askedBy(plan, id).map((name) => [name, views.filter(({ of }) => of.includes(name)).map(({ value }) => value)] as const);
  return Object.fromEntries(found.filter(([, values]) => !values.includes(undefined))) as Record<string, string[]>;
}

/** Returns a fresh random report that answers the questions of a ticket, under its id. Others need no answer. */
export function answerTicket(plan: Plan, record: PersonRecord, id: string, coins: Coins = new SystemCoins()): Report {
  const inputs = plan.encode(record, askedBy(plan, id));
  return new Report(plan, id, answersFrom(coins, plan, inputs, questionsOf(plan, id)));
}

/**
 * Returns a fresh random report that answers the questions that a device drew itself, under another id. An id that
 * matches its questions would tell it from the reports that a relay adds, which then would hide nobody.
 */
export function answerAsked(plan: Plan, record: PersonRecord, id: string): Report {
  const coins = new SystemCoins();
  const { answers } = answerTicket(plan, record, id, coins);
  return new Report(plan, freshId(coins), answers);
}

/** Words that follow from an id: public, so that everybody can check which questions it deals. */
class IdCoins extends Coins {
  #count = 0;

  constructor(readonly seed: string) {
    super();
  }

  word(): bigint {
    const count = (++this.#count).toString(16).padStart(8, "0");
    return shake256([...new TextEncoder().encode("hush ticket "), ...fromHex(this.seed + count)]);
  }
}

const RATE = 136; // bytes of the state that a message goes into

/** Returns the first 8 bytes of SHAKE-256 of a short message, most significant first. One permutation is enough. */
function shake256(message: readonly number[]): bigint {
  const bytes = new Uint8Array(200);
  bytes.set(message);
  bytes[message.length] = 0x1f;
  bytes[RATE - 1]! |= 0x80;
  const view = new DataView(bytes.buffer);
  const state = Array.from({ length: 25 }, (_, i) => view.getBigUint64(8 * i, true));
  permute(state);
  view.setBigUint64(0, state[0]!, true);
  return view.getBigUint64(0);
}

const rotated = (lane: bigint, by: number): bigint =>
  BigInt.asUintN(64, (lane << BigInt(by)) | (lane >> BigInt(64 - by)));

/** Keccak-f[1600] of FIPS 202, on 25 lanes: lane x, y is at x + 5y. */
export function permute(a: bigint[]): void {
  let register = 1; // the shift register that makes the constants of the rounds
  for (let round = 0; round < 24; round++) {
    const parity = [0, 1, 2, 3, 4].map((x) => a[x]! ^ a[x + 5]! ^ a[x + 10]! ^ a[x + 15]! ^ a[x + 20]!);
    for (let i = 0; i < 25; i++) a[i]! ^= parity[(i + 4) % 5]! ^ rotated(parity[(i + 1) % 5]!, 1);
    // Every lane is turned, and moves to where the one before was: x, y becomes y, 2x + 3y.
    let moved = a[1]!;
    for (let t = 0, x = 1, y = 0; t < 24; t++) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      const at = x + 5 * y;
      [moved, a[at]] = [a[at]!, rotated(moved, (((t + 1) * (t + 2)) / 2) % 64)];
    }
    for (let y = 0; y < 25; y += 5) {
      const row = a.slice(y, y + 5);
      for (let x = 0; x < 5; x++) a[y + x]! ^= ~row[(x + 1) % 5]! & row[(x + 2) % 5]!;
    }
    for (let j = 0; j < 7; j++) {
      if (register & 1) a[0]! ^= 1n << BigInt(2 ** j - 1);
      register = (register << 1) ^ ((register >> 7) * 0x171);
    }
  }
}
