/**
 * A training in one browser: questions, and one report. As in a survey the report is drawn once the answers are final,
 * kept in the ledger, sent at once, and shown when it has arrived.
 */
import { type Client, CollectorError, type Ledger, type Plan, Report } from "hush-client";
import { type Phase, taken } from "hush-training";
import { begin, Questions } from "./asking";
import { button, byId, html } from "./elements";
import { t } from "./language";
import { presented, titled } from "./presentation";
import { preview, previewed } from "./preview";
import { passing, PAUSE, reason, say, show } from "./survey";
import { answered, bytes, finality, type Promised, promise } from "./telling";
import { type Step, Trail } from "./trail";
import type { Answers } from "./words";

/** One training, from its questions until the report has arrived. */
export class Joining {
  private readonly questions: Questions;
  private readonly asked: Pick<Plan, "schema">;
  private timer = 0;
  private readonly trail = new Trail((step) => this.arrive(step));

  constructor(
    private readonly client: Client,
    private readonly ledger: Ledger,
    private readonly phase: Phase,
  ) {
    const { schema, label } = phase.training;
    this.asked = { schema: [...schema, label] };
    this.questions = new Questions(this.asked, this.asked.schema.map(({ name }) => name), {}, this.trail, () => {
      this.trail.push("review");
      this.review();
    });
    addEventListener("online", () => void this.resume());
  }

  /** Go on where this browser was: perhaps a report waits, or has arrived. */
  async open(): Promise<void> {
    const state = await this.state();
    if (state === "arrived") return this.done(t("already"));
    if (state === "sending") return this.send();
    if (state === "drawn") return this.kept();
    if (this.phase.done) return this.over(t("trainOver"));
    this.ask();
  }

  /** Whether this person is held out: the model does not learn from them. */
  private get check(): boolean {
    return this.phase.check !== undefined;
  }

  private state(): Promise<string | undefined> {
    return taken(this.ledger, this.phase.training);
  }

  private get promised(): Promised {
    const { epsilon, ratio, questions } = this.phase.plan;
    const [one] = questions;
    return { epsilon, ratio, k: 2, questions: [one!, one!] }; // a report about all answers together
  }

  private ask(): void {
    say("");
    const { label } = this.phase.training;
    const told = html("p", { "data-testid": "about" }, t(this.check ? "trainCheck" : "trainAbout", { label: titled(label.name) }));
    const names = this.asked.schema.map(({ name }) => name);
    show(told, ...promise(this.promised, names, Number(this.ledger.cap)), this.questions.form);
  }

  private review(): void {
    say("");
    const { answers } = this.questions;
    const heading = html("h2", {}, t("areThese"));
    const { line, folded } = finality(this.promised);
    const actions = html(
      "div",
      { class: "row actions" },
      button(t("send"), () => void this.commit(answers), { class: "primary" }),
      button(t("change"), () => this.trail.back(0, true)),
    );
    show(html("section", {}, heading, answered(this.asked, answers, {}), line, actions, folded));
    begin(heading);
  }

  /** Show the step to which the browser went. */
  private arrive(step: Step): void {
    this.ask();
    if (step !== "review") this.questions.show(step);
    else if (this.questions.complete()) this.review();
  }

  /** Draw the report, once and for all, and send it. */
  private async commit(answers: Answers): Promise<void> {
    this.trail.end();
    if (preview) return previewed([]);
    const other = (await this.state()) !== undefined; // another tab was faster
    const { [this.phase.training.label.name]: label, ...record } = answers;
    await this.send(record, label);
    if (other) say(`${t("otherTab")} ${byId("status").textContent}`);
  }

  /** Send the kept report. If there is none yet, it is drawn from these answers; a kept one needs none. */
  private async send(record: Answers = {}, label: unknown = null): Promise<void> {
    clearTimeout(this.timer);
    for (const item of byId("content").querySelectorAll("button")) item.disabled = true;
    say(t("sending"));
    try {
      await this.client.train({ training: this.phase.training.values }, record, label, { check: this.check });
    } catch (error) {
      if ((await this.state()) !== undefined) {
        this.questions.form.reset();
        if (error instanceof CollectorError && error.kind === "late") return this.over(t("trainLate"));
        return this.waiting(error);
      }
      for (const item of byId("content").querySelectorAll("button")) item.disabled = false;
      return say(t("notDrawn", { reason: reason(error) }));
    }
    this.questions.form.reset();
    await this.done(t("arrived"));
  }

  /** A report that was never sent: the page was closed too early. The person can only decide to send it. */
  private kept(): void {
    say("");
    const heading = html("h2", {}, t("keptTitle"));
    const send = button(t("keptSend"), () => void this.send(), { class: "primary" });
    show(html("section", { "data-testid": "kept" }, heading, html("p", {}, t("keptText")), send));
    begin(heading);
  }

  private over(text: string): void {
    say(t("trainOver"));
    show(html("section", { "data-testid": "late" }, html("p", {}, text)));
  }

  /** The same report is sent once more, later: it counts once. */
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

  private async done(told: string): Promise<void> {
    say(told);
    const { plan, training } = this.phase;
    const heading = html("h2", {}, t("doneTitle"));
    const spent = t("spent", { spent: Number(await this.ledger.spent()), cap: Number(this.ledger.cap) });
    const where = html("a", { href: `/dashboard?training=${encodeURIComponent(training.name)}` }, t("together"));
    const { thanks } = presented();
    const parts = [
      heading,
      ...(thanks === "" ? [] : [html("p", { class: "lines", "data-testid": "thanks" }, thanks)]),
      ...[t("trainDone"), spent].map((text) => html("p", {}, text)),
      html("p", {}, where),
    ];
    const entry = await this.ledger.entry(plan); // none if it was another round
    const shown = entry === undefined ? [] : [html("section", { "data-testid": "report" }, html("h2", {}, t("left")), bytes(Report.decode(plan, entry.report)))];
    show(html("section", { "data-testid": "done" }, ...parts, ...shown));
    begin(heading);
  }
}
