/** An input on the page, and the words around it. */
import { html } from "./elements";
import { imaged, shownAs, titled } from "./presentation";

export type Value = number | string | boolean | null | readonly string[];

/** An input on the page: its element, and its value once it is checked. */
export interface Field {
  element: HTMLElement;
  /** Check the input: return the problem in words, and mark the input. Empty if there is none. */
  check(): string;
  value(): Value;
  /** Whether something was chosen or typed. */
  begun(): boolean;
  focus(): void;
  /** The id of the input, to link to. */
  id: string;
  name: string;
}

/** The words around an input: help, rules, and the place of a problem. */
export class Around {
  readonly problem: HTMLElement;
  readonly hints: HTMLElement[] = [];
  readonly described: string;
  private readonly image: HTMLElement[];

  constructor(
    readonly id: string,
    readonly name: string,
    rule = "",
    private readonly title = titled(name),
  ) {
    const { help, image } = shownAs(name);
    this.image = imaged(image, "beside");
    if (help !== "") this.hints.push(html("p", { class: "quiet help", id: `${id}-help` }, help));
    if (rule !== "") this.hints.push(html("p", { class: "quiet small", id: `${id}-hint` }, rule));
    this.problem = html("p", { class: "error", id: `${id}-problem`, hidden: true });
    this.described = [...this.hints.map((hint) => hint.id), `${id}-problem`].join(" ");
  }

  /** A field with one input, named by its label. */
  labelled(...inputs: HTMLElement[]): HTMLElement {
    const label = html("label", { for: this.id }, this.title);
    return html("div", { class: "field", "data-attribute": this.name }, label, ...this.image, ...this.hints, ...inputs, this.problem);
  }

  /** A group of inputs, named by its legend. */
  grouped(kind: string, ...inputs: HTMLElement[]): HTMLElement {
    const legend = html("legend", {}, this.title);
    const attributes = { class: "field", "data-attribute": this.name, "aria-describedby": this.described };
    return html("fieldset", attributes, legend, ...this.image, ...this.hints, html("div", { class: kind }, ...inputs), this.problem);
  }

  /** Show a problem beside its input, for screen readers too. */
  marked(inputs: HTMLElement[], text: string): string {
    this.problem.textContent = text;
    this.problem.hidden = text === "";
    for (const input of inputs) {
      if (text === "") input.removeAttribute("aria-invalid");
      else input.setAttribute("aria-invalid", "true");
    }
    return text;
  }
}
