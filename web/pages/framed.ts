/** The form within a page of another site, which the collector has allowed by name. */

const ROOM = 640; // pixels: the least height for answers and reports

let around = "";
let told = 0;
let observer: ResizeObserver | undefined;

function tell(height: number): void {
  told = height;
  parent.postMessage({ hushHeight: height }, around);
}

const high = (): number => document.body.getBoundingClientRect().height;

/**
 * Tell the page around this one how high the form is, and nothing else. The collector's policy keeps other sites from
 * showing the form; the message goes to the site that it allows, and to no other.
 */
export function fit(): void {
  if (parent === window) return;
  const root = document.documentElement;
  const embedder = new URL(location.href).searchParams.get("embedder") ?? "";
  root.dataset["framed"] = "yes";
  const base = document.createElement("base");
  base.target = "_blank"; // other pages of the collector are not shown in frames
  document.head.append(base);
  if (!(root.dataset["embed"] ?? "").split(" ").includes(embedder)) return;
  around = embedder;
  observer = new ResizeObserver(() => tell(high()));
  observer.observe(document.body);
  tell(high());
}

/**
 * Tell no height any more, as somebody begins to answer. Later heights would depend on answers: a site could make the
 * frame narrow, and learn from them how long a chosen label is. From now on the form is scrolled within its frame.
 */
export function hold(): void {
  if (observer === undefined) return;
  observer.disconnect();
  observer = undefined;
  if (told < ROOM) tell(ROOM);
}
