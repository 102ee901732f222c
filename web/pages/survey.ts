/** A survey in one browser: questions, the report that is shown, and what becomes of it.
 *
 * The report that is shown under "Your report" is kept in the ledger of this browser before it is shown: it is the one
 * that is sent, however often others are drawn for show. Answers can be mended before it is sent, in the page that drew
 * it, but the dice stay: the same answers give the same report again. No other report of this plan is ever drawn.
 */
import { CollectorError, HushError, LedgerError, Report, randomise, type Collector, type Ledger, type Plan } from "hush-client";
import { button, byId, html } from "./elements";
import { field, type Field } from "./fields";
import { bytes, explained, promise } from "./telling";
import type { Answers } from "./words";

const place = byId("content");
const status = byId("status");

/** Say what goes on, to screen readers too. */
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

/** What went wrong, as far as it can be told. */
export function reason(error: unknown): string {
  return error instanceof HushError ? error.message : "something went wrong in this page";
}

/** One plan, from its questions until its report has arrived. */
export class Survey {
  private answers: Answers = {};
  private readonly fields: Field[];
  private readonly form: HTMLFormElement;

  constructor(
    private readonly collector: Collector,
    private readonly ledger: Ledger,
    private readonly plan: Plan,
  ) {
    this.fields = plan.schema.map(field);
    this.form = this.questions();
    addEventListener("online", () => void this.resume());
  }

  /** Go on where this browser was: perhaps a report waits, or has arrived. */
  async open(): Promise<void> {
    const state = await this.state();
    if (state === "arrived") await this.done(false);
    else if (state === "sending") await this.waiting("Your report has been drawn, but may not have arrived.");
    else if (state === "drawn") await this.kept();
    else if (state === "withdrawn") this.declined();
    else this.ask();
  }

  private async state(): Promise<string | undefined> {
    return (await this.ledger.entry(this.plan))?.state;
  }

  // -- the questions

  private questions(): HTMLFormElement {
    const summary = html("div", { class: "notice bad", role: "alert", hidden: true, "data-testid": "problems" });
    const form = html(
      "form",
      { novalidate: true, "aria-label": "Questions", autocomplete: "off", "data-testid": "form" },
      html("p", { class: "quiet small" }, "All questions need an answer, unless they say otherwise. Nothing is sent yet."),
      summary,
      ...this.fields.map((item) => item.element),
      html("button", { type: "submit", class: "primary" }, "See what would be sent"),
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
        void this.review();
      }
    });
    return form;
  }

  private ask(): void {
    say("");
    show(promise(this.plan, Number(this.ledger.cap)), this.form);
  }

  // -- what would be sent

  private async review(): Promise<void> {
    // No prototype: an attribute may have any name, and every one is given.
    this.answers = Object.assign(Object.create(null), Object.fromEntries(this.fields.map((f) => [f.name, f.value()])));
    say("Drawing your report …");
    let report: Report;
    try {
      report = this.ledger.mendable(this.plan)
        ? await this.ledger.amend(this.plan, this.answers)
        : await this.collector.prepare(this.plan, this.answers);
    } catch (error) {
      // Another tab may have sent the report meanwhile, or withdrawn it.
      if (error instanceof LedgerError && (await this.state())) await this.open();
      say(`No report was drawn: ${reason(error)}.`);
      return;
    }
    if (!this.ledger.mendable(this.plan)) return this.open(); // another tab has drawn it: this page cannot explain it
    say("");
    const heading = html("h2", {}, "Your report");
    const sent = html("div", { "data-testid": "report" }, ...explained(report, this.answers));
    const example = html("div", { class: "example", "aria-live": "polite", "data-testid": "example" });
    const again = button("Draw another one, for show", () => {
      example.replaceChildren(
        html("h3", {}, "An example that is not sent"),
        html("p", {}, "The same answers, another draw. Your own report stays as it is."),
        ...explained(randomise(this.plan, this.answers), this.answers),
      );
    });
    const actions = html(
      "div",
      { class: "row" },
      button("Send my report", () => void this.send(report), { class: "primary" }),
      again,
      button("Change my answers", () => void this.change()),
    );
    const intro = "This is what leaves your device if you send it, and nothing else. It was drawn by chance.";
    show(html("section", { class: "review" }, heading, html("p", {}, intro), sent, actions, example));
    begin(heading);
  }

  /** A report that was drawn earlier, or in another tab, and never sent: this page has neither answers nor dice. */
  private async kept(): Promise<void> {
    const entry = await this.ledger.entry(this.plan);
    if (entry === undefined) return this.ask();
    const kept = Report.decode(this.plan, entry.report);
    say("");
    const text =
      "It was drawn from your answers in this browser, and nothing has been sent. The answers were not kept, so they " +
      "cannot be changed any more: this report is sent, or none.";
    const actions = html(
      "div",
      { class: "row" },
      button("Send my report", () => void this.send(kept), { class: "primary" }),
      button("Never send it", () => void this.decline()),
    );
    const heading = html("h2", {}, "A report of yours is ready");
    show(html("section", { "data-testid": "kept" }, heading, html("p", {}, text), bytes(kept), actions));
    begin(heading);
  }

  /** Let the answers be mended. The report stays as it is until the new ones are there. */
  private async change(): Promise<void> {
    if ((await this.state()) !== "drawn") {
      await this.open();
      return say("The answers cannot be changed any more: the report was sent, or withdrawn, in another tab.");
    }
    this.ask();
    this.fields[0]?.focus();
  }

  private async decline(): Promise<void> {
    try {
      await this.ledger.withdraw(this.plan);
    } catch (error) {
      return say(`The report cannot be held back: ${reason(error)}.`); // another tab has sent it meanwhile
    }
    this.declined();
  }

  private declined(): void {
    say("");
    const heading = html("h2", {}, "You have not answered");
    const text =
      "A report was drawn in this browser, and you decided never to send it. No other is drawn: people who draw until " +
      "they like the report would send more about themselves than is promised.";
    show(html("section", { "data-testid": "declined" }, heading, html("p", {}, text)));
    begin(heading);
  }

  // -- sending

  /** Send the report that is shown, and no other. */
  private async send(shown?: Report): Promise<void> {
    const before = await this.state();
    if (before === "withdrawn") return this.open(); // in another tab
    say("Sending …");
    // From here on it cannot be withdrawn, and nothing that tells the answers from it is needed any more.
    this.answers = {};
    this.form.reset();
    for (const item of place.querySelectorAll("button")) item.disabled = true;
    try {
      await this.collector.send(this.plan, shown);
      await this.done(true);
    } catch (error) {
      if (error instanceof LedgerError) {
        await this.open();
        say("The answers were changed in another tab. This is the report of those, and nothing was sent from here.");
      } else if (error instanceof CollectorError && error.kind === "plan-closed") this.late(before === "sending");
      else await this.waiting(`Your report has not arrived: ${reason(error)}.`);
    }
  }

  /** The collector takes no more reports: trying again would not help. An earlier attempt may have arrived in time. */
  private late(tried: boolean): void {
    say("This survey is closed.");
    const heading = html("h2", {}, "The survey is closed");
    const text = tried
      ? "The collector takes no more reports to it. Yours was sent before: if it arrived then, it was counted."
      : "The collector takes no more reports to it. Yours came after that, and was not counted.";
    show(html("section", { "data-testid": "late" }, heading, html("p", {}, text)));
    begin(heading);
  }

  /** A report waits to be sent once more: the same, so that it is counted once. */
  private async waiting(why: string): Promise<void> {
    say(why);
    const retry = button("Send it again", () => void this.send(), { class: "primary" });
    const text =
      "It is kept in this browser, and the same report is sent again when you are online, or when you say so. However " +
      "often it is sent, it is counted once.";
    show(html("section", { "data-testid": "waiting" }, html("h2", {}, "Waiting to be sent"), html("p", {}, text), retry));
    retry.focus();
  }

  private async resume(): Promise<void> {
    if ((await this.state()) === "sending" && document.querySelector("[data-testid=waiting]") !== null) await this.send();
  }

  private async done(first: boolean): Promise<void> {
    const kept = await this.ledger.entry(this.plan);
    say(first ? "Your report has arrived. Thank you." : "This browser has sent its report to this survey already.");
    const heading = html("h2", {}, "You have answered");
    const spent = await this.ledger.spent();
    const where = html("a", { href: `/dashboard?plan=${this.plan.id}` }, "See what everybody's reports say together");
    const parts: HTMLElement[] = [
      heading,
      html("p", {}, "It is counted once. Answering again from this browser would send the same report."),
      html("p", {}, `Surveys of this collector have cost this browser ε = ${Number(spent)} of ${Number(this.ledger.cap)} so far.`),
      html("p", {}, where),
    ];
    if (kept !== undefined) parts.push(bytes(Report.decode(this.plan, kept.report)));
    show(html("section", { "data-testid": "done" }, ...parts));
    begin(heading);
  }
}
