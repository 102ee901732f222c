/** The form: answers stay in this page; what leaves is one report, shown before it is sent, and sent once.
 *
 * The report that is shown under "Your report" is kept in the ledger of this browser before it is shown: it is the one
 * that is sent, however often others are drawn for show. Answers can be mended before it is sent, but the dice stay:
 * the same answers give the same report again.
 */
import { Collector, CollectorError, HushError, Ledger, LedgerError, Report, randomise, type Plan } from "hush-client";
import { button, byId, html } from "./elements";
import { Dice } from "./dice";
import { field, type Field } from "./fields";
import { picture } from "./picture";
import { content, meaning, profile, raised, sentence, UNSPEAKABLE, type Answers } from "./words";

const TOKEN = "hush-token-of-sender";

/** What one browser may spend on all surveys of this collector together: as much as the dearest plan may cost. */
const CAP = 16;

/** Whether the collector deals the questions by tickets, as it has written into the page. */
const dealt = document.documentElement.dataset["tickets"] === "yes";

const place = byId("content");
const status = byId("status");

function say(text: string): void {
  status.textContent = text;
}

/** Show a step of the page, and let the keyboard and the screen reader begin there. */
function show(...parts: HTMLElement[]): void {
  place.replaceChildren(...parts);
}

function begin(element: HTMLElement): void {
  element.setAttribute("tabindex", "-1");
  element.focus();
}

function reason(error: unknown): string {
  return error instanceof HushError ? error.message : "something went wrong in this page";
}

class Survey {
  private answers: Answers = {};
  private readonly fields: Field[];
  private readonly form: HTMLFormElement;
  private dice = new Dice();

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
    show(this.promise(), this.form);
  }

  /** What the plan promises, as this browser has checked it. */
  private promise(): HTMLElement {
    const { plan } = this;
    const epsilon = Number(plan.epsilon);
    const [top, bottom] = plan.ratio;
    const measured = Number((top * 10_000n) / bottom + 1n) / 10_000; // rounded up: it is a bound
    const many = plan.questions.length;
    const chosenBy = dealt ? "which the collector deals without knowing your answers" : "drawn by chance on this device";
    const asked =
      plan.k === many
        ? "Your report is about all of these questions, with noise."
        : `Your report will be about ${plan.k} of the ${many} questions, ${chosenBy}, with noise.`;
    return html(
      "section",
      { class: "card promise", "aria-labelledby": "promise" },
      html("h2", { id: "promise" }, "Your answers stay here"),
      html("p", {}, `What you answer is not sent. ${asked}`),
      html("p", {}, html("strong", {}, `ε = ${Number(plan.epsilon)}. `), meaning(epsilon)),
      html("p", {}, html("a", { href: "/explanation" }, "What ε means, and what this does not protect from")),
      html(
        "details",
        {},
        html("summary", {}, "Checked on this device"),
        html(
          "ul",
          {},
          html("li", {}, `The questions are those of plan ${plan.id.slice(0, 16)}…: its hash was computed here.`),
          html(
            "li",
            {},
            `No report is more than ${raised(measured)} times likelier for one person than for another, computed ` +
              `exactly from the plan; the promise is e^${epsilon}, about ${raised(Math.exp(epsilon))}.`,
          ),
          html("li", {}, `All surveys of this collector together may cost this browser ${Number(this.ledger.cap)} at most.`),
        ),
      ),
    );
  }

  // -- what would be sent

  private async review(): Promise<void> {
    // No prototype: an attribute may have any name, and every one is given.
    this.answers = Object.assign(Object.create(null), Object.fromEntries(this.fields.map((f) => [f.name, f.value()])));
    say("Drawing your report …");
    let report: Report;
    try {
      report = await this.collector.prepare(this.plan, this.answers, this.dice.rewind());
    } catch (error) {
      say(`No report was drawn: ${reason(error)}.`);
      return;
    }
    if (!this.dice.rolled) return this.open(); // another tab has drawn a report meanwhile: this page cannot explain it
    say("");
    const heading = html("h2", {}, "Your report");
    const sent = html("div", { "data-testid": "report" }, ...this.explained(report));
    const example = html("div", { class: "example", "aria-live": "polite", "data-testid": "example" });
    const again = button("Draw another one, for show", () => {
      example.replaceChildren(
        html("h3", {}, "An example that is not sent"),
        html("p", {}, "The same answers, another draw. Your own report stays as it is."),
        ...this.explained(randomise(this.plan, this.answers)),
      );
    });
    const actions = html(
      "div",
      { class: "row" },
      button("Send my report", () => void this.send(report.id), { class: "primary" }),
      again,
      button("Change my answers", () => void this.change()),
    );
    const intro = "This is what leaves your device if you send it, and nothing else. It was drawn by chance.";
    show(html("section", { class: "review" }, heading, html("p", {}, intro), sent, actions, example));
    begin(heading);
  }

  /** A report that was drawn earlier and never sent: the answers are gone with the page that held them. */
  private async kept(): Promise<void> {
    const entry = await this.ledger.entry(this.plan);
    if (entry === undefined) return this.ask();
    const kept = Report.decode(this.plan, entry.report);
    say("");
    const text = "It was drawn from your answers in this browser, and nothing has been sent. The answers were not kept.";
    const actions = html(
      "div",
      { class: "row" },
      button("Send my report", () => void this.send(kept.id), { class: "primary" }),
      button("Answer again", () => void this.change()),
    );
    const heading = html("h2", {}, "A report of yours is ready");
    show(html("section", { "data-testid": "kept" }, heading, html("p", {}, text), this.bytes(kept), actions));
    begin(heading);
  }

  private async change(): Promise<void> {
    try {
      await this.ledger.withdraw(this.plan);
    } catch (error) {
      return say(`The answers cannot be changed: ${reason(error)}.`); // another tab has sent it meanwhile
    }
    this.ask();
    this.fields[0]?.focus();
  }

  /** A report in words and pictures, then as it is. */
  private explained(report: Report): HTMLElement[] {
    const { plan } = this;
    const parts = report.answers.map(([index, output]) => {
      const question = plan.questions[index];
      if (question === undefined) throw new Error("the plan has no such question");
      const attributes = plan.schema.filter((item) => question.names.includes(item.name));
      const names = question.names.map((name) => html("em", {}, name)).flatMap((node, i) => (i > 0 ? [", ", node] : [node]));
      const only = plan.k === 1 && plan.questions.length > 1 ? " only" : "";
      const block = html(
        "section",
        { class: "card answer" },
        html("p", { class: "asked" }, "You are asked about ", ...names, `${only}.`),
      );
      const profiles = attributes.slice(0, 4).map((item) => profile(plan, index, output, this.answers, item.name));
      block.append(html("p", {}, content(profiles, output, question.channel)));
      for (const found of profiles) {
        const { attribute } = found;
        const together = attributes.length > 1 ? `For ${attribute.name}, your other answers being the same: ` : "";
        if (found.own === 0) {
          block.append(html("p", { class: "says" }, UNSPEAKABLE));
          continue;
        }
        const words = sentence(plan, index, output, this.answers, found);
        block.append(html("p", { class: "says" }, together + words), picture(found));
      }
      if (attributes.length > 4) block.append(html("p", {}, `The other ${attributes.length - 4} are told likewise.`));
      return block;
    });
    return [...parts, this.bytes(report)];
  }

  private bytes(report: Report): HTMLElement {
    const data = report.encode();
    const digits = [...data].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    return html(
      "details",
      {},
      html("summary", {}, `All ${data.length} bytes of the report`),
      html(
        "p",
        {},
        `Version, plan, ${dealt ? "the number of the ticket" : "a random number"} that makes sure it is counted once, and the answer` +
          `${dealt ? "; the signature of the ticket is sent along" : ""}:`,
      ),
      html("pre", { "data-testid": "bytes", tabindex: 0 }, digits),
      html("pre", { tabindex: 0 }, JSON.stringify(report)),
    );
  }

  // -- sending

  /** Send the report that is shown, and no other. */
  private async send(id?: string): Promise<void> {
    const before = await this.state();
    if (id !== undefined && before === undefined) return this.open(); // it was withdrawn in another tab
    say("Sending …");
    // From here on it cannot be withdrawn, and nothing that tells the answers from it is needed any more.
    this.dice = new Dice();
    this.answers = {};
    this.form.reset();
    for (const item of place.querySelectorAll("button")) item.disabled = true;
    try {
      await this.collector.send(this.plan, id);
      await this.done(true);
    } catch (error) {
      if (error instanceof LedgerError) {
        await this.open();
        say("Another report was drawn in another tab. This is it, and nothing was sent from here.");
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
    if (kept !== undefined) parts.push(this.bytes(Report.decode(this.plan, kept.report)));
    show(html("section", { "data-testid": "done" }, ...parts));
    begin(heading);
  }
}

/** The plan that the address names, or the only one that is open. */
async function chosen(collector: Collector, headers: Record<string, string>): Promise<Plan | undefined> {
  const id = new URL(location.href).searchParams.get("plan");
  if (id !== null) return collector.plan(id);
  const response = await fetch("/plans", { headers, credentials: "omit" });
  if (!response.ok) {
    say("This address needs the id of a plan: ask for the whole link, which ends in ?plan= and the id.");
    return undefined;
  }
  const found: unknown = await response.json();
  const plans = (found as { plans: { id: string; title: string; open: boolean }[] }).plans.filter((plan) => plan.open);
  const [only] = plans;
  if (plans.length === 1 && only !== undefined) return collector.plan(only.id);
  say(plans.length === 0 ? "There is no open survey here." : "Which survey would you like to answer?");
  const links = plans.map((plan) =>
    html("li", {}, html("a", { href: `/?plan=${plan.id}` }, plan.title || plan.id.slice(0, 12))),
  );
  show(html("ul", { class: "surveys" }, ...links));
  return undefined;
}

/** Take a token from the fragment, which browsers do not send, and out of the address; it lasts as long as this tab. */
function findToken(): string | null {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found !== null) history.replaceState(null, "", location.pathname + location.search);
  try {
    if (found !== null) sessionStorage.setItem(TOKEN, found);
    return found ?? sessionStorage.getItem(TOKEN);
  } catch {
    return found; // a browser that keeps nothing
  }
}

async function start(): Promise<void> {
  const token = findToken();
  // A browser that was here before keeps the cap that it has.
  const ledger = await Ledger.open({ cap: CAP }).catch(() => Ledger.open());
  const options = { ledger, tickets: dealt, attempts: 3, ...(token === null ? {} : { token }) };
  const collector = new Collector(location.origin, options);
  const plan = await chosen(collector, token === null ? {} : { Authorization: `Bearer ${token}` });
  if (plan === undefined) return;
  const title = plan.title || "Answer privately";
  byId("title").textContent = title;
  document.title = `${title} · answer privately`;
  byId("to-dashboard").setAttribute("href", `/dashboard?plan=${plan.id}`);
  await new Survey(collector, ledger, plan).open();
}

start().catch((error: unknown) => say(`The questions cannot be shown: ${reason(error)}.`));
