/** The form within a page of another site, which the collector has allowed by name. */

/**
 * Tell the page around this one how high the form is, and nothing else. The collector's policy keeps other sites from
 * showing the form; the message goes to the site that it allows, and to no other.
 */
export function fit(): void {
  if (parent === window) return;
  const root = document.documentElement;
  const around = new URL(location.href).searchParams.get("embedder") ?? "";
  root.dataset["framed"] = "yes";
  const base = document.createElement("base");
  base.target = "_blank"; // other pages of the collector are not shown in frames
  document.head.append(base);
  if (!(root.dataset["embed"] ?? "").split(" ").includes(around)) return;
  const tell = (): void => parent.postMessage({ hushHeight: document.body.getBoundingClientRect().height }, around);
  new ResizeObserver(tell).observe(document.body);
  tell();
}
