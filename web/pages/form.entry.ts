/** The form: answers stay in this page; one report leaves, drawn when they are final, and sent once. */
import { Client, type Plan } from "hush-client";
import { dress } from "./dress";
import { byId, html } from "./elements";
import { frame } from "./frame";
import { quiet } from "./framed";
import { chosen as wanted, speak, t } from "./language";
import { opened } from "./opened";
import { presented } from "./presentation";
import { mark, reading } from "./preview";
import { checkBrowser, deliver, promised, relayed } from "./relay";
import { reason, say, show, Survey } from "./survey";
import { dealt, explanationOf } from "./telling";
import { findToken, SENDER } from "./token";

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
async function chosen(client: Client, headers: Record<string, string>): Promise<Plan | undefined> {
  const id = new URL(location.href).searchParams.get("plan");
  if (id !== null) return client.current(id);
  const survey = await fetch("/survey", { headers, credentials: "omit" });
  const { plan } = survey.ok ? ((await survey.json()) as { plan: string | null }) : { plan: null };
  if (plan !== null) return client.current(plan);
  const response = await fetch("/plans", { headers, credentials: "omit" }); // needs the role read, unless that is open too
  if (!response.ok) {
    await speak(wanted(""));
    say(t("needsPlan"));
    return undefined;
  }
  const found: unknown = await response.json();
  await speak(wanted(""));
  frame();
  const open = (found as { plans: Entry[] }).plans.filter((plan) => plan.open);
  const plans = open.filter(({ after }) => open.every(({ id }) => id !== after)); // a pilot leads to what follows it
  say(t(plans.length === 0 ? "noSurvey" : "whichSurvey"));
  const links = plans.map((plan) =>
    html("li", {}, html("a", { href: `/?plan=${plan.id}` }, plan.title || plan.id.slice(0, 12))),
  );
  show(html("ul", { class: "surveys" }, ...links));
  return undefined;
}

async function start(): Promise<void> {
  const token = findToken(SENDER);
  const ledger = await opened();
  const options = { ledger, tickets: dealt, attempts: 3, ...reading, ...(token === null ? {} : { token }) };
  const client = new Client(location.origin, options);
  const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
  if (relayed) await checkBrowser();
  const plan = await chosen(client, headers);
  if (plan === undefined) return;
  await dress(`/plans/${plan.id}`, headers, plan.title);
  mark();
  byId("to-dashboard").setAttribute("href", `/dashboard?plan=${plan.id}`);
  byId("to-explanation").setAttribute("href", explanationOf(plan));
  const way = relayed ? { promise: () => promised(plan, headers), send: () => deliver(ledger, plan) } : undefined;
  await new Survey(client, ledger, plan, way).open();
}

quiet();
start().catch(async (error: unknown) => {
  await speak(wanted(presented().language));
  say(t("cannotShow", { reason: reason(error) }));
});
