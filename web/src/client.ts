/** The device's side of a collector: fetch a plan, check it, answer it once, send the report until it has arrived. */
import { baseOf } from "./addresses.js";
import { CollectorError, ensure, LedgerError } from "./errors.js";
import { follows } from "./following.js";
import { fields, parsed, toHex } from "./json.js";
import type { Ledger } from "./ledger.js";
import { MAX_TEXT, Plan } from "./plan.js";
import { Report } from "./report.js";
import type { PersonRecord } from "./schema.js";
import { askedBy, readTicket, type Ticket } from "./tickets.js";
import type { Expected, TrainOptions, Way } from "./training.js";

const RETRIED = [408, 425, 429, 500, 502, 503, 504];
const MAX_WAIT = 60_000; // milliseconds, whatever a collector asks for

/** How a collector is reached. Times are in milliseconds. */
export interface ClientOptions {
  /** The answers of this device. Answering needs it: a page that forgets would draw again at every visit. */
  readonly ledger?: Ledger;
  /** A bearer token, if the collector wants one. */
  readonly token?: string;
  /** How often a request is tried. */
  readonly attempts?: number;
  /** The first pause between attempts: pauses double, more or less. */
  readonly pause?: number;
  /** How long one attempt may take. */
  readonly timeout?: number;
  /**
   * Whether the collector deals the questions (`hush serve --tickets`): then a report needs the network before it is drawn.
   * Otherwise it is drawn and kept before anything is asked of the collector.
   */
  readonly tickets?: boolean;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** The collector's word that a report is durable. `new`: it was counted by this request, not by an earlier one. */
export interface Receipt {
  readonly id: string;
  readonly new: boolean;
}

/**
 * The device's side of a collector, which need not be trusted: plans are checked as a whole, and whether a device
 * answers never depends on the collector's data together with a private value.
 */
export class Client {
  readonly #url: string;
  readonly #options: Required<Omit<ClientOptions, "ledger" | "token">> & { token: string | undefined };
  readonly #kept: Ledger | undefined;
  readonly #plans = new Map<string, Plan>();
  readonly #followed = new WeakSet<Plan>(); // plans that the collector named, of which a device answers one

  constructor(url: string, options: ClientOptions = {}) {
    const { ledger, token, attempts = 6, pause = 500, timeout = 10_000, tickets = false } = options;
    this.#url = baseOf(url, token);
    const { fetch = (where, init) => globalThis.fetch(where, init) } = options;
    this.#options = { token, attempts, pause, timeout, tickets, fetch };
    this.#kept = ledger;
  }

  /** Returns a plan, after checking that it is the one of this id, and as private as it says. */
  async plan(id: string): Promise<Plan> {
    ensure(/^[\da-f]{64}$/.test(id), "the id of a plan is 64 hexadecimal digits", CollectorError);
    const known = this.#plans.get(id) ?? (await this.#read(await this.#request(`/plans/${id}`), id));
    this.#plans.set(id, known);
    return known;
  }

  /** Reads a plan. For large domains and texts it loads `large.js`, and gets the lists that the plan names. */
  async #read(bytes: Uint8Array, id: string): Promise<Plan> {
    const large = /"kind":"(geometry|text)"|"sha256"/.test(new TextDecoder().decode(bytes));
    if (large) await (await import("./large.js")).fetchLists(bytes, this.#url, this.#options);
    return Plan.parse(bytes, id);
  }

  /**
   * Returns the plan to answer: the one of this id, or, if that is a pilot which is over, the plan that follows it. A
   * device that has answered one of a pilot's plans gets that one again, and answers no other. The collector names the
   * plan, and need not be trusted: it must be the pilot's, narrowed (`follows`).
   */
  async current(id: string): Promise<Plan> {
    const asked = await this.plan(id);
    const first = asked.after ?? id;
    const held = (await this.#kept?.entries())?.find(({ plan, after }) => (after ?? plan) === first);
    const chosen =
      held?.plan ?? Object.entries((await this.#kept?.asked()) ?? {}).find(([, { first: of }]) => of === first)?.[0];
    if (chosen) return this.plan(chosen);
    if (asked.after) return asked;
    const answer = parsed(await this.#request(`/plans/${id}/current`), CollectorError);
    const { plan } = fields(answer, "the current plan", ["plan"], CollectorError);
    const found = await this.plan(String(plan));
    ensure(found === asked || follows(found, asked), "this plan must be the pilot's, narrowed", CollectorError);
    this.#followed.add(found);
    return found;
  }

  /**
   * Draws the questions that this device will answer to a plan, before the person is asked, and keeps them for good.
   * Returns the names of their attributes, or nothing if the plan is answered. Then `prepare` or `answer` need no others.
   */
  async questions(plan: Plan): Promise<readonly string[] | undefined> {
    const ledger = this.#ledger();
    if (await ledger.entry(plan)) return undefined;
    const known = (await ledger.asked())[plan.id] ?? (await this.#ticket(plan));
    const asked = await ledger.ask(plan, known, this.#followed.has(plan));
    return asked && askedBy(plan, asked.id);
  }

  /**
   * Draws the report to a plan and keeps it in the ledger, unless one is kept there: for good, as a plan has one report
   * on a device. Returns whether it was drawn from this record. Nothing has left the device yet, and without tickets
   * nothing was asked of the network. A bad record is refused before anything about it is asked of the collector.
   */
  async prepare(plan: Plan, record: PersonRecord): Promise<boolean> {
    const ledger = this.#ledger();
    if (await ledger.entry(plan)) return false; // and no other ticket, which would deal other questions
    const asked = (await ledger.asked())[plan.id];
    // Whether a record fits is decided by the pilot too, and never by a range alone that the collector chose.
    const pilot = this.#plans.get(plan.after!);
    for (const one of pilot && follows(plan, pilot) ? [pilot, plan] : [plan])
      one.encode(record, asked && askedBy(plan, asked.id));
    return ledger.draw(plan, record, asked ?? (await this.#ticket(plan)), this.#followed.has(plan));
  }

  /** Sends the report that is kept for a plan until it has arrived. Sending again is harmless: it counts once. */
  async send(plan: Plan): Promise<Receipt> {
    const ledger = this.#ledger();
    const { report, ticket, sealed } = await ledger.sending(plan);
    ensure(!sealed, "this report has gone to a relay, sealed: sent to the collector too, it would name itself", LedgerError);
    const headers = ticket === undefined ? {} : { "Hush-Ticket": ticket };
    const receipt = await this.submit(Report.decode(plan, report), headers);
    await ledger.arrived(plan);
    return receipt;
  }

  /** Answers a plan with a record, once, and sends the report. */
  async answer(plan: Plan | string, record: PersonRecord): Promise<Receipt> {
    const found = typeof plan === "string" ? await this.plan(plan) : plan;
    await this.prepare(found, record);
    return this.send(found);
  }

  /**
   * Sends a report that was made elsewhere until the collector says that it is durable. No ledger is looked at: another
   * report of the same record is another one that is counted, at the full cost.
   */
  async submit(report: Report, headers: Record<string, string> = {}): Promise<Receipt> {
    return this.#post(`/plans/${report.plan.id}/reports`, report.encode(), headers);
  }

  /**
   * Takes part in a training with a record and a label, once: in a round, or in its pilot, whichever the collector is at.
   * Later calls send the same report again until it has arrived, and draw nothing, whatever the round. `training` is its name,
   * or better its course as your page knows it (the object in `course.json`): then rounds of any other are refused. A record or
   * label that does not fit is refused before anything is drawn. `epsilon` is the most that it may cost. With `check` the
   * person is held out: the report is the loss of the model so far.
   */
  async train(training: Expected, record: PersonRecord, label: unknown, options?: TrainOptions): Promise<Receipt> {
    const ledger = this.#ledger();
    const way: Way = { get: (path) => this.#request(path), post: (path, report) => this.#post(path, report) };
    return (await import("./training.js")).train(way, ledger, training, record, label, options);
  }

  /** Sends the bytes of a report. The receipt must be its own. */
  async #post(path: string, body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<Receipt> {
    const answer = await this.#request(path, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/vnd.hush.report", ...headers },
    });
    const own = toHex(body.subarray(9, 25));
    const value = parsed(answer, CollectorError);
    const { id, new: fresh, reports } = fields(value, "a receipt", ["id", "new", "reports"], CollectorError);
    ensure(
      id === own && typeof fresh === "boolean" && reports === 1,
      "the collector's receipt is for something else",
      CollectorError,
    );
    return { id: own, new: fresh };
  }

  #ledger(): Ledger {
    const rule = "answering needs a ledger: new Client(url, { ledger: await Ledger.open({ cap }) })";
    ensure(this.#kept, rule, LedgerError);
    return this.#kept;
  }

  async #ticket(plan: Plan): Promise<Ticket | undefined> {
    if (!this.#options.tickets) return undefined;
    const answer = await this.#request(`/plans/${plan.id}/ticket`);
    ensure(answer.length, "this collector deals no tickets", CollectorError);
    return readTicket(plan, parsed(answer, CollectorError));
  }

  /** Does a request until it succeeds, is refused for good, or was tried often enough. */
  async #request(path: string, init: RequestInit = {}): Promise<Uint8Array> {
    const { attempts, pause, token } = this.#options;
    const headers = {
      Accept: "application/json",
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(init.headers as Record<string, string> | undefined),
    };
    for (let attempt = 1; ; attempt++) {
      let wait = pause * 2 ** (attempt - 1) * (0.5 + Math.random());
      let problem: CollectorError;
      try {
        const { response, body } = await this.#once(path, { ...init, headers });
        if (response.ok) return body;
        problem = refusal(response.status, body);
        if (!RETRIED.includes(response.status)) throw problem;
        wait = Math.max(wait, seconds(response.headers.get("Retry-After")));
      } catch (error) {
        if (error instanceof CollectorError) throw error;
        problem = new CollectorError(`the collector cannot be reached${this.#perhaps((error as Error).name)}`, undefined, "unreachable");
      }
      if (!(attempt < attempts)) throw problem; // also if it is no number
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /**
   * Returns why a request may have failed. A browser reports the same error if the page is not allowed to ask and if the
   * collector is down, so the text names both, where the page is of another origin.
   */
  #perhaps(name: string): string {
    const own = globalThis.location?.origin;
    return name !== "TypeError" || !own || own === new URL(this.#url).origin
      ? `: ${name}`
      : `, or does not allow this page (start it with --origin ${own})`;
  }

  async #once(path: string, init: RequestInit): Promise<{ response: Response; body: Uint8Array }> {
    const { fetch, timeout } = this.#options;
    // A timer of its own: some engines collect the signal of AbortSignal.timeout as garbage, and then never give up.
    const control = new AbortController();
    const clock = setTimeout(() => control.abort(new DOMException("", "TimeoutError")), timeout);
    try {
      const response = await fetch(this.#url + path, {
        ...init,
        redirect: "error", // a report that went elsewhere, or became a GET, was not counted here
        credentials: "omit", // who answers is nobody's business
        referrerPolicy: "no-referrer",
        cache: "no-store",
        signal: control.signal,
      });
      return { response, body: await read(response) };
    } finally {
      clearTimeout(clock);
    }
  }
}

/** Reads an answer, and refuses one that is longer than any plan. */
async function read({ body }: Response): Promise<Uint8Array> {
  const reader = body?.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let part; (part = (await reader?.read())?.value); parts.push(part)) {
    if ((size += part.length) <= MAX_TEXT) continue;
    void reader!.cancel();
    throw new CollectorError("the collector's answer is too long");
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Returns the collector's reason for a refusal, from its problem document: one printable line, safe to log. */
function refusal(status: number, body: Uint8Array): CollectorError {
  try {
    const { title, detail, type } = parsed(body, CollectorError) as Record<string, unknown>;
    const kind = plain(type).split(":").pop();
    if (title) return new CollectorError(plain(title) + (detail ? `: ${plain(detail)}` : ""), status, kind);
  } catch {
    // not a problem document: perhaps a gateway's page
  }
  return new CollectorError(`the collector answered ${status}`, status);
}

const plain = (text: unknown): string => String(text).slice(0, 300).replace(/(?! )[\p{C}\p{Z}]/gu, " ");

const seconds = (text: string | null): number =>
  /^\d{1,9}$/.test(text ?? "") ? Math.min(Number(text) * 1000, MAX_WAIT) : 0;
