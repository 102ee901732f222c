/** The form: answers stay in this page; one report leaves, drawn when they are final, and sent once. */
import { Collector, Ledger, type Plan } from "hush-client";
import { byId, html } from "./elements";
import { checkBrowser, deliver, promised, relayed } from "./relay";
import { reason, say, show, Survey } from "./survey";
import { dealt } from "./telling";
import { findToken } from "./token";

const TOKEN = "hush-token-of-sender";

/** The budget of one browser for all surveys of this collector together: the largest epsilon that a plan may have. */
const CAP = 16;

interface Entry {
  id: string;
  title: string;
  open: boolean;
  after: string | null;
}

/**
 * The plan that the address names, or the only one that is open. If it is a pilot that is over, the plan that follows
 * it; but those who have answered one of them get that one again.
 */
async function chosen(collector: Collector, headers: Record<string, string>): Promise<Plan | undefined> {
  const id = new URL(location.href).searchParams.get("plan");
  if (id !== null) return collector.current(id);
  const response = await fetch("/plans", { headers, credentials: "omit" });
  if (!response.ok) {
    say("This address needs the id of a plan: ask for the whole link, which ends in ?plan= and the id.");
    return undefined;
  }
  const found: unknown = await response.json();
  const open = (found as { plans: Entry[] }).plans.filter((plan) => plan.open);
  // A pilot leads to the plan that follows it.
  const plans = open.filter(({ after }) => open.every(({ id }) => id !== after));
  const [only] = plans;
  if (plans.length === 1 && only !== undefined) return collector.current(only.id);
  say(plans.length === 0 ? "There is no open survey here." : "Which survey would you like to answer?");
  const links = plans.map((plan) =>
    html("li", {}, html("a", { href: `/?plan=${plan.id}` }, plan.title || plan.id.slice(0, 12))),
  );
  show(html("ul", { class: "surveys" }, ...links));
  return undefined;
}

async function start(): Promise<void> {
  const token = findToken(TOKEN);
  // A browser that was here before keeps its cap.
  const ledger = await Ledger.open({ cap: CAP }).catch(() => Ledger.open());
  const options = { ledger, tickets: dealt, attempts: 3, ...(token === null ? {} : { token }) };
  const collector = new Collector(location.origin, options);
  const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
  if (relayed) await checkBrowser();
  const plan = await chosen(collector, headers);
  if (plan === undefined) return;
  const title = plan.title || "Answer privately";
  byId("title").textContent = title;
  document.title = `${title} · answer privately`;
  byId("to-dashboard").setAttribute("href", `/dashboard?plan=${plan.id}`);
  const way = relayed ? { promise: () => promised(plan, headers), send: () => deliver(ledger, plan) } : undefined;
  await new Survey(collector, ledger, plan, way).open();
}

start().catch((error: unknown) => say(`The questions cannot be shown: ${reason(error)}.`));
