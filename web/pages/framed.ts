/**
 * The form within a page of another site, which the collector has allowed by name. The site must not learn which question
 * was drawn, nor anything about the answer. So the form tells it nothing, not even its height, and does nothing that the
 * site could see in another way:
 *
 * - It never takes the focus, and never adds to the history, which belongs to the whole tab.
 * - A browser scrolls the page around a frame to a field that gets the focus: by how much tells where the field is. So the
 *   form scrolls itself alone. Before a key does anything the whole frame is brought into sight, wherever the field is.
 * - A frame that cannot be scrolled any further hands on scrolling to the page. form.css prevents it.
 * - The keyboard comes into a frame at its first or last stop. Both are at the same place for all questions.
 */
import { byId, html } from "./elements";

/** Whether this page is in a frame. */
export const framed = parent !== window;

const MARGIN = 16; // pixels above what is scrolled to

/** Be quiet within a page of another site. */
export function quiet(): void {
  if (!framed) return;
  document.documentElement.dataset["framed"] = "yes";
  const base = document.createElement("base");
  base.target = "_blank"; // other pages of the collector are not shown in frames
  document.head.append(base);
  const foot = html("footer", { class: "around" }, byId("to-explanation"));
  document.body.append(foot);
  const focus = HTMLElement.prototype.focus;
  HTMLElement.prototype.focus = function (this: HTMLElement): void {
    if (!document.hasFocus()) return; // the person is elsewhere on the page
    focus.call(this, { preventScroll: true });
    const { top, bottom } = this.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight - foot.offsetHeight) scrollBy(0, top - MARGIN);
  };
  history.pushState = (...step) => history.replaceState(...step);
  const whole = (): void => document.documentElement.scrollIntoView({ block: "nearest", inline: "nearest" });
  addEventListener("keydown", whole, { capture: true });
}
