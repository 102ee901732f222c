/** The questions of a survey: all at once, or one after the other where the screen is small. */
import type { Plan } from "hush-client";
import { button, html } from "./elements";
import { field } from "./fields";
import type { Field } from "./around";
import { t } from "./language";
import { asks, ordered } from "./presentation";
import type { Trail } from "./trail";
import type { Answers } from "./words";

const SMALL = "(max-width: 30rem)"; // as in form.css

/** Let the keyboard and the screen reader begin here. */
export function begin(element: HTMLElement): void {
  element.setAttribute("tabindex", "-1");
  element.focus();
}

/** Values of choices that a report looks at, by attribute, where it does not look at all of them. */
export type Members = Readonly<Record<string, readonly string[]>>;

/** The members of an attribute; none if the report looks at all values. */
export const membersIn = (members: Members, name: string): readonly string[] | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined;

/** The form. `asked`: the attributes of the report. Others are shown only if the person wants to. */
export class Questions {
  readonly form: HTMLFormElement;
  private readonly all: Field[];
  private readonly small = matchMedia(SMALL);
  private readonly whole = html("input", { type: "checkbox", id: "whole" });
  private readonly summary = html("div", { class: "notice bad", role: "alert", hidden: true, "data-testid": "problems" });
  private readonly bar = html("progress", { max: 1, "aria-labelledby": "progress" });
  private readonly told = html("span", { id: "progress" });
  private readonly progress = html("p", { class: "progress small quiet", "data-testid": "progress" }, this.bar, this.told);
  private readonly back = button(t("back"), () => this.trail.back(this.step - 1));
  private readonly submit = html("button", { type: "submit", class: "primary" }, t("check"));
  private readonly actions = html("div", { class: "row actions" }, this.submit);
  private step = 0;

  constructor(
    plan: Pick<Plan, "schema">,
    private readonly asked: readonly string[],
    private readonly members: Members,
    private readonly trail: Trail,
    private readonly ready: () => void,
  ) {
    const place = new Map(plan.schema.map((attribute, index) => [attribute, index]));
    this.all = ordered(plan.schema).map((attribute) => field(attribute, place.get(attribute) ?? 0, membersIn(members, attribute.name)));
    this.form = html(
      "form",
      { novalidate: true, "aria-label": t("questions"), autocomplete: "off", "data-testid": "form" },
      this.progress,
      this.summary,
      ...this.all.map((item) => item.element),
      this.actions,
      html("p", { class: "quiet small" }, t("nothingSent")),
      ...this.more(),
    );
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.go(this.stepping ? this.step + 1 : this.fields.length);
    });
    this.form.addEventListener("input", () => this.tell());
    this.whole.addEventListener("change", () => this.arrange());
    this.small.addEventListener("change", () => this.arrange());
    this.arrange();
  }

  /** The answers that are shown. No prototype: an attribute may have any name. */
  get answers(): Answers {
    const given = this.fields.map((item) => [item.name, item.value()]);
    return Object.assign(Object.create(null), Object.fromEntries(given)) as Answers;
  }

  /** Show a question that was shown before: the first one, or where the browser went. */
  show(step = 0): void {
    this.step = Math.max(0, step);
    this.summary.hidden = true;
    this.arrange();
    this.fields[this.stepping ? this.step : 0]?.focus();
  }

  /** Whether everything is answered; if not, the first question that is not is shown. */
  complete(): boolean {
    const first = this.fields.findIndex((item) => item.check() !== "");
    if (first >= 0) this.show(first);
    return first < 0;
  }

  /** The fields that are asked: those of the report, or all. */
  private get fields(): Field[] {
    return this.all.filter(({ name }) => this.whole.checked || this.asked.includes(name));
  }

  private get stepping(): boolean {
    return this.small.matches && this.fields.length > 1;
  }

  /** The choice to answer more than is reported; nothing if the report is about everything. */
  private more(): HTMLElement[] {
    if (this.all.length === this.asked.length) return [];
    const label = html("span", {}, t("whole", { count: this.all.length }));
    return [html("label", { class: "more small", "data-testid": "whole" }, this.whole, label)];
  }

  private arrange(): void {
    const { fields, stepping } = this;
    this.step = Math.min(this.step, fields.length - 1);
    for (const item of this.all) item.element.hidden = !fields.includes(item) || (stepping && fields[this.step] !== item);
    if (stepping && this.step > 0) this.actions.append(this.back);
    else this.back.remove();
    // On a phone a single question is one step of three, and its button is read before anything is checked.
    const next = stepping ? this.step < fields.length - 1 : this.small.matches;
    this.submit.textContent = t(next ? "next" : "check");
    this.tell();
  }

  private tell(): void {
    const { fields, stepping } = this;
    const count = fields.length;
    const number = stepping ? this.step + 1 : fields.filter((item) => item.begun()).length;
    this.progress.hidden = count < 2;
    this.bar.value = number / count;
    this.told.textContent = t(stepping ? "progress" : "progressAll", { number, count });
  }

  /** Go to a question, or behind the last one: then all must be answered. */
  private go(step: number): void {
    const { fields, stepping } = this;
    const last = step >= fields.length;
    if (stepping && step > this.step && !last && fields[this.step]?.check() !== "") return fields[this.step]?.focus();
    if (!last) {
      if (step > this.step) this.trail.push(step);
      this.step = step;
      this.arrange();
      return fields[step]?.focus();
    }
    const problems = fields.filter((item) => item.check() !== "");
    this.summary.hidden = problems.length === 0 || stepping;
    this.summary.replaceChildren();
    const [first] = problems;
    if (first === undefined) return this.ready();
    if (stepping) return this.go(fields.indexOf(first));
    this.summary.append(html("p", {}, t("lookAgain")), html("ul", {}, ...problems.map((item) => this.link(item))));
    begin(this.summary);
  }

  private link(item: Field): HTMLElement {
    const link = html("a", { href: `#${item.id}` }, `${asks(item.name, membersIn(this.members, item.name))}: ${item.check()}`);
    link.addEventListener("click", (click) => {
      click.preventDefault();
      item.focus();
    });
    return html("li", {}, link);
  }
}
