/** A preview of a form: all steps, but nothing is sent, kept or counted.
 *
 * A collector that was started with `hush serve --preview` says so in its pages, and takes no report. On any other one
 * the address says it: `/?plan=ID&preview`. Then this page asks, and never sends.
 */
import { begin } from "./asking";
import { button, byId, html } from "./elements";
import { t } from "./language";

export const preview =
  document.documentElement.dataset["preview"] === "yes" || new URL(location.href).searchParams.has("preview");

/** How the client asks in a preview: a request that sends anything is a mistake of this page, and is not made. */
export const reading: { fetch?: typeof fetch } = preview
  ? {
      fetch: (input, init) =>
        (init?.method ?? "GET") === "GET" ? fetch(input, init) : Promise.reject(new Error("a preview sends nothing")),
    }
  : {};

/** Say on every step that this is a preview. */
export function mark(): void {
  if (!preview) return;
  byId("introduction").before(html("p", { class: "notice", role: "note", "data-testid": "preview" }, t("previewNotice")));
}

/** The end of a preview, with an example of a report. */
export function previewed(example: readonly HTMLElement[]): void {
  const heading = html("h2", {}, t("previewTitle"));
  const again = button(t("previewAgain"), () => location.reload(), { class: "primary" });
  const parts = example.length === 0 ? [] : [html("section", { class: "example" }, html("h2", {}, t("exampleTitle")), ...example)];
  byId("status").textContent = "";
  byId("content").replaceChildren(
    html("section", { "data-testid": "preview-done" }, heading, html("p", {}, t("previewText")), again, ...parts),
  );
  begin(heading);
}
