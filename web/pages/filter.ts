// Which questions are shown: the reader ticks them, or takes all of one kind.

import { isDated } from "./calendar.js";
import type { Attribute } from "./documents.js";
import { button, html } from "./elements.js";
import { TEXT } from "./frequent.js";
import { CHOICES } from "./headlines.js";
import { say, whole } from "./text.js";

const MOST_BOXES = 60; // questions that can be ticked; more are searched by name

/** The kind of a question, as a reader would group them. */
function kind(attribute: Attribute): string {
  if (attribute.holds === TEXT) return "Texts";
  if (attribute.holds === CHOICES) return "Choices";
  if (isDated(attribute)) return "Dates and times";
  if (attribute.holds === "boolean") return "Yes or no";
  return attribute.kind === "numeric" ? "Numbers" : "Categories";
}

/** The list of questions to tick; nothing where there is only one, or too many. */
export class Filter {
  readonly nodes: readonly HTMLElement[];
  /** Says what is shown, on paper too; empty if all is. */
  readonly told = html("p", { class: "quiet small", role: "status", "data-testid": "shown", hidden: true });
  private readonly boxes = new Map<string, HTMLInputElement>();
  private readonly summary = html("summary");

  constructor(
    private readonly attributes: readonly Attribute[],
    private readonly changed: () => void,
  ) {
    const rows = attributes.map(({ name }) => {
      const box = html("input", { type: "checkbox", checked: true });
      this.boxes.set(name, box);
      box.addEventListener("change", () => this.tell());
      return html("label", {}, box, html("span", {}, name));
    });
    const kinds = [...new Set(attributes.map(kind))];
    const buttons = [
      button("All", () => this.tick(() => true)),
      ...(kinds.length > 1 ? kinds.map((one) => button(one, () => this.tick((item) => kind(item) === one))) : []),
    ];
    const boxes = html(
      "fieldset",
      { class: "boxes" },
      html("legend", { class: "unseen" }, "Questions that are shown"),
      html("div", { class: "row" }, ...buttons),
      ...rows,
    );
    const few = attributes.length > 1 && attributes.length <= MOST_BOXES;
    this.nodes = few ? [html("details", { class: "pick", "data-testid": "questions" }, this.summary, boxes)] : [];
    this.say();
  }

  /** The names of the questions that are shown; nothing if all are. */
  get shown(): string[] | undefined {
    const ticked = [...this.boxes].filter(([, box]) => box.checked).map(([name]) => name);
    return ticked.length === this.boxes.size ? undefined : ticked;
  }

  /** Whether a question is shown. */
  has(name: string): boolean {
    return this.nodes.length === 0 || this.boxes.get(name)?.checked === true;
  }

  /** Take what an address says. Names that the plan does not have are ignored; if none is left, all are shown. */
  take(names: readonly string[] | undefined): void {
    const known = (names ?? []).filter((name) => this.boxes.has(name));
    this.tick(({ name }) => known.length === 0 || known.includes(name));
  }

  private tick(wanted: (attribute: Attribute) => boolean): void {
    for (const attribute of this.attributes) {
      const box = this.boxes.get(attribute.name);
      if (box !== undefined) box.checked = wanted(attribute);
    }
    this.tell();
  }

  private tell(): void {
    this.say();
    this.changed();
  }

  private say(): void {
    const all = whole(this.boxes.size);
    const some = this.shown === undefined ? undefined : whole(this.shown.length);
    say(this.summary, some === undefined ? `Questions: all ${all}` : `Questions: ${some} of ${all}`);
    this.told.hidden = some === undefined;
    say(this.told, some === undefined ? "" : `${some} of ${all} questions ${some === "1" ? "is" : "are"} shown.`);
  }
}
