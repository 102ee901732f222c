/** The relay that the form sends through, if the collector has written one into the page. */
import { CollectorError, LedgerError, Report, type Ledger, type Plan } from "hush-client";
import type { RelayPromise } from "./documents";

const { relay: url = "", key = "" } = document.documentElement.dataset;

/** Whether reports go through a relay. */
export const relayed = url !== "";

/** The relay's host, for people to see. */
export const host = relayed ? new URL(url).host : "";

/** Sealing is loaded by forms that need it alone. */
const sealing = (): Promise<typeof import("hush-seal")> => import("hush-seal");

/** Refuse before anybody is asked: a report that was drawn here could never leave. */
export async function checkBrowser(): Promise<void> {
  if (await (await sealing()).canSeal()) return;
  throw new CollectorError("this browser cannot seal reports for a relay; try a newer one, at an address with https://");
}

/** Both promises of a plan, as the collector states them. They are for the relay and the key of this page. */
export async function promised(plan: Plan, headers: Record<string, string>): Promise<RelayPromise> {
  const response = await fetch(`/plans/${plan.id}/relay`, { headers, credentials: "omit", cache: "no-store" });
  const found: unknown = await response.json().catch(() => undefined);
  if (!response.ok) {
    const kind = String((found as { type?: unknown } | undefined)?.type).split(":").pop() ?? "";
    throw new CollectorError("the collector does not say what its relay promises", response.status, kind);
  }
  const promise = found as RelayPromise;
  if (promise.url !== url || promise.key !== key) throw new CollectorError("this page is out of date: load it again");
  return promise;
}

/** Send the kept report until the relay holds it: the same bytes from every tab and at every visit. */
export async function deliver(ledger: Ledger, plan: Plan): Promise<void> {
  const { RelayError, sendKept } = await sealing();
  const entry = await ledger.entry(plan);
  if (entry === undefined) throw new LedgerError("this device has no answer to this plan");
  try {
    await sendKept(url, ledger, Report.decode(plan, entry.report), key, { attempts: 3 });
  } catch (error) {
    if (!(error instanceof RelayError)) throw error;
    throw new CollectorError(error.message, error.status, error.status === undefined ? "relayUnreachable" : error.kind);
  }
}
