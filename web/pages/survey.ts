/** A survey in one browser: questions, examples, and one report.
 *
 * Chance draws the questions of the report first, and the ledger keeps them; so people are asked for no more than is
 * reported. They may answer all questions to see their whole record: the report stays about the same ones.
 *
 * Nobody may choose among draws, or keep back a draw that they dislike: then the reports would no longer follow the
 * law of the plan. So the report is drawn once the answers are final, kept in the ledger of this browser, sent at once,
 * and shown when it has arrived. Before that the page shows examples, drawn apart from it.
 */
import { answerTicket, CollectorError, HushError, Report, type Collector, type Ledger, type Plan } from "hush-client";
import type { RelayPromise } from "./documents";
import { button, byId, html } from "./elements";
import { field, type Field } from "./fields";
import { answered, bytes, explained, promise } from "./telling";
import { weakness, type Answers } from "./words";

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

/** Let the keyboard and the screen reader begin here. */
function begin(element: HTMLElement): void {
  element.setAttribute("tabindex", "-1");
  element.focus();
}

/** The reason of an error, as far as it is known. */
export function reason(error: unknown): string {
  return error instanceof HushError ? error.message : "something went wrong in this page";
}

const PAUSE = 30_000; // milliseconds until a report that waits is sent again by itself

/** Whether trying again may help: the network failed, or the collector was busy. */
function passing(error: unknown): boolean {
  if (!(error instanceof CollectorError)) return false;
  return error.status === undefined || error.status === 429 || error.status >= 500;
}

const HELD = "The relay hands reports on when there are many, in a random order. ";

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
  private ticket = ""; // the id of the report to come, which its questions follow from
  private readonly all: Field[];
  private form: HTMLFormElement | undefined;
  private readonly whole = html("input", { type: "checkbox", id: "whole" });
  private timer = 0;

  constructor(
    private readonly collector: Collector,
    private readonly ledger: Ledger,
    private readonly plan: Plan,
    private readonly way?: Way,
  ) {
    this.all = plan.schema.map(field);
    this.whole.addEventListener("change", () => this.arrange());
    addEventListener("online", () => void this.resume());
  }

  /** Go on where this browser was: perhaps a report waits, or has arrived. */
  async open(): Promise<void> {
    const state = await this.state();
    if (state === "arrived") return this.done("This browser has sent its report to this survey already.");
    try {
      this.promised = await this.way?.promise();
      if (state === undefined) {
        const asked = await this.collector.questions(this.plan);
        if (asked === undefined) return this.open(); // another tab was faster
        this.asked = asked;
        this.ticket = (await this.ledger.asked())[this.plan.id]?.id ?? "";
      }
    } catch (error) {
      // A relay does not know that a plan is closed, so the collector is asked before.
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

  // -- the questions

  /** The fields that are shown: those of the report, or all. */
  private get fields(): Field[] {
    return this.all.filter(({ name }) => this.whole.checked || this.asked.includes(name));
  }

  private arrange(): void {
    for (const item of this.all) item.element.hidden = !this.fields.includes(item);
  }

  /** The choice to answer more than is reported; nothing if the report is about everything. */
  private more(): HTMLElement[] {
    const rest = this.all.length - this.asked.length;
    if (rest === 0) return [];
    const label = `Show all ${this.all.length} questions. My report stays about the ${this.asked.length === 1 ? "one" : `${this.asked.length}`} drawn for me.`;
    return [html("label", { class: "choice small", "data-testid": "whole" }, this.whole, html("span", {}, label))];
  }

  private questions(): HTMLFormElement {
    const summary = html("div", { class: "notice bad", role: "alert", hidden: true, "data-testid": "problems" });
    const form = html(
      "form",
      { novalidate: true, "aria-label": "Questions", autocomplete: "off", "data-testid": "form" },
      html("p", { class: "quiet small" }, "All questions need an answer, unless they say otherwise. Nothing is sent yet."),
      summary,
      ...this.all.map((item) => item.element),
      html("button", { type: "submit", class: "primary" }, "Check my answers"),
      ...this.more(),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const problems = this.fields.filter((item) => item.check() !== "");
      summary.hidden = problems.length === 0;
      summary.replaceChildren();
      if (problems.length > 0) {
        const items = problems.map((item) => {
          const link = html("a", { href: `#${item.id}` }, item.check());
          link.addEventListener("click", (click) => {
            click.preventDefault();
            item.focus();
          });
          return html("li", {}, link);
        });
        summary.append(html("p", {}, "Please look at these again:"), html("ul", {}, ...items));
        begin(summary);
      } else {
        this.review();
      }
    });
    return form;
  }

  private ask(): void {
    say("");
    this.form ??= this.questions();
    this.arrange();
    show(promise(this.plan, this.asked, Number(this.ledger.cap), this.promised), this.form);
  }

  // -- examples: nothing is drawn for good yet

  private review(): void {
    // No prototype: an attribute may have any name.
    this.answers = Object.assign(Object.create(null), Object.fromEntries(this.fields.map((f) => [f.name, f.value()])));
    say("");
    const heading = html("h2", {}, "Are these your answers?");
    const example = html("div", { "aria-live": "polite", "data-testid": "example" });
    const draw = (): void => example.replaceChildren(...explained(answerTicket(this.plan, this.answers, this.ticket), this.answers));
    draw();
    // Not for a weak plan: it would reassure where a report gives the answers away.
    const stay = weakness(this.plan) === "" ? "They stay on this device. " : "";
    const final =
      `${stay}When you send, your report is drawn from them by chance and leaves at once. After that neither your ` +
      "answers nor your report can be changed.";
    const unseen =
      "You see your report only after it has arrived. If people looked first, and kept back reports that they dislike, " +
      "the others would reveal more about them than this page promises.";
    const actions = html(
      "div",
      { class: "row" },
      button("These are my answers: send my report", () => void this.commit(), { class: "primary" }),
      button("Change my answers", () => this.change()),
    );
    const shown = html(
      "section",
      { class: "example", "aria-labelledby": "example" },
      html("h2", { id: "example" }, "An example that is not sent"),
      html("p", {}, "Drawn from the same answers to the same question, for show. Yours will be drawn anew, and may say something else."),
      button("Draw another example", draw),
      example,
    );
    const own = html("section", {}, heading, answered(this.plan, this.answers), html("p", {}, final), html("p", {}, unseen));
    own.append(actions);
    show(own, shown);
    begin(heading);
  }

  private change(): void {
    this.ask();
    this.fields[0]?.focus();
  }

  // -- the report

  /** Draw the report, once and for all, and send it. From here on there is no way back. */
  private async commit(): Promise<void> {
    this.busy(true);
    say("Drawing your report …");
    const { answers } = this;
    let own: boolean;
    try {
      own = await this.collector.prepare(this.plan, answers);
    } catch (error) {
      this.busy(false);
      return say(`No report was drawn: ${reason(error)}.`);
    }
    this.answers = {};
    this.form?.reset();
    if (own) return this.send(answers);
    // Another tab was faster: the report is of its answers, and cannot be explained by these.
    await this.open();
    say(`This browser has answered this survey before. The answers from this page were not used. ${status.textContent}`);
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
      say("Sending your report …");
      await (this.way === undefined ? this.collector.send(this.plan) : this.way.send());
    } catch (error) {
      if (error instanceof CollectorError && error.kind === "plan-closed") return this.late(before);
      return this.waiting(error);
    }
    const told = this.way === undefined ? "Your report has arrived. Thank you." : "The relay holds your report. Thank you.";
    await this.done(told, answers);
  }

  /** A report that was never sent: the page was closed too early. The person can only decide to send it. */
  private kept(): void {
    say("");
    const heading = html("h2", {}, "A report of yours is ready");
    const text =
      "This browser has drawn it from your answers, but has not sent it. It draws no other report for this survey. You " +
      "see it when it has arrived.";
    const send = button("Send my report", () => void this.send(), { class: "primary" });
    show(html("section", { "data-testid": "kept" }, heading, html("p", {}, text), send));
    begin(heading);
  }

  /** The collector takes no more reports: trying again would not help. An earlier attempt may have arrived in time. */
  private late(state: string | undefined): void {
    say("This survey is closed.");
    const heading = html("h2", {}, "The survey is closed");
    const yours: Record<string, string> = {
      sending: " Yours was sent before: if it arrived then, it was counted.",
      drawn: " Yours came after that, and was not counted.",
    };
    const text = `The collector takes no more reports to it.${yours[state ?? ""] ?? ""}`;
    show(html("section", { "data-testid": "late" }, heading, html("p", {}, text)));
    begin(heading);
  }

  /** A report waits to be sent once more: the same, so that it is counted once. It is not shown, as it may not arrive. */
  private waiting(error: unknown): void {
    say(`Your report has not arrived: ${reason(error)}.`);
    const retry = button("Send it again", () => void this.send(), { class: "primary" });
    const text =
      "It is drawn and kept in this browser. The same report is sent again by itself while this page is open, when you " +
      "come back, or when you say so. However often it is sent, it is counted once. You see it when it has arrived.";
    show(html("section", { "data-testid": "waiting" }, html("h2", {}, "Waiting to be sent"), html("p", {}, text), retry));
    retry.focus();
    if (passing(error)) this.timer = setTimeout(() => void this.resume(), PAUSE);
  }

  private async resume(): Promise<void> {
    if (document.querySelector("[data-testid=waiting] button:enabled") !== null) await this.send();
  }

  private async done(told: string, answers?: Answers): Promise<void> {
    const kept = await this.ledger.entry(this.plan);
    say(told);
    const heading = html("h2", {}, "You have answered");
    const spent = await this.ledger.spent();
    const where = html("a", { href: `/dashboard?plan=${this.plan.id}` }, "See what everybody's reports say together");
    const parts: HTMLElement[] = [
      heading,
      html("p", {}, `${this.way === undefined ? "" : HELD}Your report is counted once. This browser draws no other one for this survey.`),
      html("p", {}, `Surveys of this collector have cost this browser ε = ${Number(spent)} of ${Number(this.ledger.cap)} so far.`),
      html("p", {}, where),
    ];
    if (kept !== undefined) {
      const report = Report.decode(this.plan, kept.report);
      const told = answers === undefined ? [bytes(report)] : explained(report, answers);
      parts.push(html("section", { "data-testid": "report" }, html("h2", {}, "This has left your device"), ...told));
    }
    show(html("section", { "data-testid": "done" }, ...parts));
    begin(heading);
  }
}
