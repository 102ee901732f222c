/** The steps of a form in the browser's history: "back" leads to the step before, and not out of the survey.
 *
 * A page in a frame of another site adds nothing: that site counts the entries, and would learn how many questions were
 * drawn. Elsewhere the entries go when the answers are final, but for one: what follows in the same tab hears no more.
 */

/** A question by its number, or the review of all answers. */
export type Step = number | "review";

interface Mark {
  readonly step: Step;
  /** How many entries lie between this one and the first one of the form. */
  readonly depth: number;
}

/** The mark of an entry; nothing if it is not of the form, as that of a link within the page. */
function marked(state: unknown): Mark | undefined {
  const { hush } = (state ?? {}) as { hush?: Mark };
  return hush;
}

export class Trail {
  private readonly used = parent === window;
  private depth = 0;
  private step: Step = 0;
  private over = false;

  /** `arrive` shows a step to which the browser went. */
  constructor(private readonly arrive: (step: Step) => void) {
    if (!this.used) return;
    const before = marked(history.state)?.depth ?? 0;
    this.write(0, before);
    addEventListener("popstate", ({ state }) => this.went(marked(state)));
    if (before > 0) history.go(-before); // the page was loaded again: its answers are gone, and it begins anew
  }

  private write(step: Step, depth: number): void {
    history.replaceState({ hush: { step, depth } satisfies Mark }, "");
  }

  /** A step forward was taken. */
  push(step: Step): void {
    if (!this.used || this.over) return;
    this.depth += 1;
    this.step = step;
    history.pushState({ hush: { step, depth: this.depth } satisfies Mark }, "");
  }

  /** Go back by one step, or to the first one. */
  back(to: Step, first = false): void {
    if (this.used && this.depth > 0) history.go(first ? -this.depth : -1);
    else this.arrive(to);
  }

  /** The answers are final: no way leads back to them. */
  end(): void {
    if (this.over) return;
    this.over = true;
    if (this.used && this.depth > 0) history.go(-this.depth);
  }

  private went(mark: Mark | undefined): void {
    if (mark === undefined) return this.over ? undefined : this.write(this.step, this.depth); // a link within the page
    if (!this.over) {
      this.depth = mark.depth;
      this.step = mark.step;
      this.arrive(mark.step);
    } else if (mark.depth > 0) {
      history.go(-mark.depth);
    } else if (this.depth > 0) {
      this.depth = 0;
      history.pushState(null, ""); // instead of all steps, so that their number does not show
    } else {
      history.back(); // out of the survey
    }
  }
}
