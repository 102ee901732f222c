/** A survey in one browser: questions, examples, and one report.
 *
 * Chance draws the questions of the report first, and the ledger keeps them; so people are asked for no more than is
 * reported. They may answer all questions to see their whole record: the report stays about the same ones.
 *
 * Nobody may choose among draws, or keep back a draw that they dislike: then the reports would no longer follow the
 * law of the plan. So the report is drawn once the answers are final, kept in the ledger of this browser, sent at once,
 * and shown when it has arrived. Before that the page shows examples, drawn apart from it.
 */
import { answerTicket, CollectorError, HushError, membersBy, Report, type Client, type Ledger, type Plan } from "hush-client";
import { begin, type Members, Questions } from "./asking";
import type { RelayPromise } from "./documents";
import { button, byId, html } from "./elements";
import { plain } from "./figures";
import { t } from "./language";
import { presented } from "./presentation";
import { preview, previewed } from "./preview";
import { answered, bytes, explained, finality, promise } from "./telling";
import { type Step, Trail } from "./trail";
import type { Answers } from "./words";

const place = byId("content");
const status = byId("status");

/** Show the state, for screen readers too. */
export function say(text: string): void {
  status.textContent = text;
}

/** Show a step of the page. */
export function show(...parts: HTMLElement[]): void {
  place.replaceChildren(...parts);
}

/** The reason of an error, as far as it is known: in the reader's language what people meet, in English the rest. */
export function reason(error: unknown): string {
  if (!(error instanceof HushError)) return t("wrong");
  if (!(error instanceof CollectorError)) return error.message;
  if (error.kind === "unreachable" || error.kind === "relayUnreachable") return t(error.kind);
  return error.status !== undefined && passing(error) ? t("busy") : error.message;
}

export const PAUSE = 30_000; // milliseconds until a report that waits is sent again by itself

/** Whether trying again may help: the network failed, or the collector was busy. */
export function passing(error: unknown): boolean {
  if (!(error instanceof CollectorError)) return false;
  return error.status === undefined || error.status === 429 || error.status >= 500;
}

/** The way of a report through a relay, and both promises that it comes with. */
export interface Way {
  promise(): Promise<RelayPromise>;
  send(): Promise<void>;
}

/** One plan, from its questions until its report has arrived: at the collector, or at the relay before it. */
export class Survey {
  private answers: Answers = {};
  private promised: RelayPromise | undefined;
  private asked: readonly string[] = [];
  private members: Members = {};
  private ticket = ""; // the id that the questions follow from
  private questions: Questions | undefined;
  private timer = 0;
  private readonly trail = new Trail((step) => this.arrive(step));

  constructor(
    private readonly client: Client,
    private readonly ledger: Ledger,
    private readonly plan: Plan,
    private readonly way?: Way,
  ) {
    addEventListener("online", () => void this.resume());
  }

  /** Go on where this browser was: perhaps a report waits, or has arrived. */
  async open(): Promise<void> {
    const state = await this.state();
    if (state === "arrived") return this.done(t("already"));
    try {
      this.promised = await this.way?.promise();
      if (state === undefined) {
        const asked = await this.client.questions(this.plan);
        if (asked === undefined) return this.open(); // another tab was faster
        this.asked = asked;
        this.ticket = (await this.ledger.asked())[this.plan.id]?.id ?? "";
        this.members = membersBy(this.plan, this.ticket);
      }
    } catch (error) {
      // A relay hears a little later that a plan is closed, so the collector is asked before.
      if (error instanceof CollectorError && error.kind === "plan-closed") return this.late(state);
      throw error;
    }
    if (state === "sending") await this.send();
    else if (state === "drawn") this.kept();
    else this.ask();
  }

  private async state(): Promise<string | undefined> {
    return (await this.ledger.entry(this.plan))?.state;
  }

  private ask(): void {
    say("");
    this.questions ??= new Questions(this.plan, this.asked, this.members, this.trail, () => {
      this.trail.push("review");
      this.review();
    });
    show(...promise(this.plan, this.asked, Number(this.ledger.cap), this.promised), this.questions.form);
  }

  // -- examples: nothing is drawn for good yet

  private review(): void {
    this.answers = this.questions?.answers ?? {};
    say("");
    const heading = html("h2", {}, t("areThese"));
    const example = html("div", { "aria-live": "polite", "data-testid": "example" });
    const draw = (): void => example.replaceChildren(...explained(answerTicket(this.plan, this.answers, this.ticket), this.answers));
    draw();
    const { line, folded } = finality(this.plan);
    const actions = html(
      "div",
      { class: "row actions" },
      button(t("send"), () => void this.commit(), { class: "primary" }),
      button(t("change"), () => this.trail.back(0, true)),
    );
    const shown = html(
      "section",
      { class: "example", "aria-labelledby": "example" },
      html("h2", { id: "example" }, t("exampleTitle")),
      html("p", {}, t("exampleText")),
      button(t("exampleAgain"), draw),
      example,
    );
    show(html("section", {}, heading, answered(this.plan, this.answers, this.members), line, actions, folded), shown);
    begin(heading);
  }

  /** Show the step to which the browser went. */
  private arrive(step: Step): void {
    if (this.questions === undefined) return;
    this.ask();
    if (step !== "review") this.questions.show(step);
    else if (this.questions.complete()) this.review();
  }

  // -- the report

  /** Draw the report, once and for all, and send it. From here on there is no way back. */
  private async commit(): Promise<void> {
    if (preview) {
      this.trail.end();
      return previewed(explained(answerTicket(this.plan, this.answers, this.ticket), this.answers));
    }
    this.busy(true);
    say(t("drawing"));
    const { answers } = this;
    let own: boolean;
    try {
      own = await this.client.prepare(this.plan, answers);
    } catch (error) {
      this.busy(false);
      return say(t("notDrawn", { reason: reason(error) }));
    }
    this.trail.end();
    this.answers = {};
    this.questions?.form.reset();
    if (own) return this.send(answers);
    // Another tab was faster: the report is of its answers, and cannot be explained by these.
    await this.open();
    say(`${t("otherTab")} ${status.textContent}`);
  }

  private busy(is: boolean): void {
    for (const item of place.querySelectorAll("button")) item.disabled = is;
  }

  /** Send the kept report. When it has arrived, explain it by these answers, if they are known. */
  private async send(answers?: Answers): Promise<void> {
    clearTimeout(this.timer);
    this.busy(true);
    let before: string | undefined;
    try {
      before = await this.state();
      say(t("sending"));
      await (this.way === undefined ? this.client.send(this.plan) : this.way.send());
    } catch (error) {
      if (error instanceof CollectorError && error.kind === "plan-closed") return this.late(before);
      return this.waiting(error);
    }
    await this.done(t(this.way === undefined ? "arrived" : "held"), answers);
  }

  /** A report that was never sent: the page was closed too early. The person can only decide to send it. */
  private kept(): void {
    say("");
    const heading = html("h2", {}, t("keptTitle"));
    const send = button(t("keptSend"), () => void this.send(), { class: "primary" });
    show(html("section", { "data-testid": "kept" }, heading, html("p", {}, t("keptText")), send));
    begin(heading);
  }

  /** The collector takes no more reports: trying again would not help. An earlier attempt may have arrived in time. */
  private late(state: string | undefined): void {
    say(t("closed"));
    const heading = html("h2", {}, t("closedTitle"));
    const sent = t(this.way === undefined ? "closedSent" : "closedRelay");
    const yours: Record<string, string> = { sending: ` ${sent}`, drawn: ` ${t("closedDrawn")}` };
    const text = `${t("closedText")}${yours[state ?? ""] ?? ""}`;
    show(html("section", { "data-testid": "late" }, heading, html("p", {}, text)));
    begin(heading);
  }

  /** A report waits to be sent once more: the same, so that it is counted once. It is not shown, as it may not arrive. */
  private waiting(error: unknown): void {
    say(t("notArrived", { reason: reason(error) }));
    const retry = button(t("sendAgain"), () => void this.send(), { class: "primary" });
    const parts = [html("h2", {}, t("waitingTitle")), html("p", {}, t("waitingText")), retry];
    show(html("section", { "data-testid": "waiting" }, ...parts));
    retry.focus();
    if (passing(error)) this.timer = setTimeout(() => void this.resume(), PAUSE);
  }

  private async resume(): Promise<void> {
    if (document.querySelector("[data-testid=waiting] button:enabled") !== null) await this.send();
  }

  private async done(told: string, answers?: Answers): Promise<void> {
    const kept = await this.ledger.entry(this.plan);
    say(told);
    const heading = html("h2", {}, t("doneTitle"));
    const spent = await this.ledger.spent();
    const where = html("a", { href: `/dashboard?plan=${this.plan.id}` }, t("together"));
    const parts: HTMLElement[] = [
      heading,
      ...(presented().thanks === "" ? [] : [html("p", { class: "lines", "data-testid": "thanks" }, presented().thanks)]),
      html("p", {}, `${this.way === undefined ? "" : `${t("heldText")} `}${t("doneText")}`),
      html("p", {}, t("spent", { spent: plain(Number(spent)), cap: plain(Number(this.ledger.cap)) })),
      html("p", {}, where),
    ];
    if (kept !== undefined) {
      const report = Report.decode(this.plan, kept.report);
      const told = answers === undefined ? [bytes(report)] : explained(report, answers);
      parts.push(html("section", { "data-testid": "report" }, html("h2", {}, t("left")), ...told));
    }
    show(html("section", { "data-testid": "done" }, ...parts));
    begin(heading);
  }
}
