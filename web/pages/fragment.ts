/** The fragment of the dashboard's address: a part of the page, and what the reader has chosen to see.
 *
 * `#about-3&show=age&show=town&period=2025-11-10`. Browsers do not send fragments, so the collector does not learn what
 * somebody looks at; but a copied address and a printed one have it.
 */

export interface Fragment {
  /** The id of a part of the page, or "". */
  part: string;
  /** The names of the questions that are shown; none if all are. */
  show: readonly string[] | undefined;
  /** The first day of the period whose results are shown, or "" for all. */
  period: string;
}

/** What the address says now. */
export function fragment(): Fragment {
  const text = location.hash.slice(1);
  const part = /^[\w-]+(?=&|$)/.exec(text)?.[0] ?? "";
  const said = new URLSearchParams(text.slice(part.length));
  return { part, show: said.has("show") ? said.getAll("show") : undefined, period: said.get("period") ?? "" };
}

/** Write it into the address, without a step in the history. */
export function write({ part, show, period }: Fragment): void {
  const said = new URLSearchParams();
  for (const name of show ?? []) said.append("show", name);
  if (show?.length === 0) said.append("show", "");
  if (period !== "") said.set("period", period);
  const text = [part, said.toString()].filter((one) => one !== "").join("&");
  history.replaceState(null, "", location.pathname + location.search + (text === "" ? "" : `#${text}`));
}
