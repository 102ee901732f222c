/** The form: answers stay in this page; one report leaves, drawn when they are final, and sent once. */
import { Collector, Ledger, type Plan } from "hush-client";
import { paint } from "./accent";
import { byId, html } from "./elements";
import { fit } from "./framed";
import { chosen as wanted, speak, t } from "./language";
import { present, presented } from "./presentation";
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
    await speak(wanted(""));
    say(t("needsPlan"));
    return undefined;
  }
  const found: unknown = await response.json();
  await speak(wanted(""));
  frame();
  const open = (found as { plans: Entry[] }).plans.filter((plan) => plan.open);
  // A pilot leads to the plan that follows it.
  const plans = open.filter(({ after }) => open.every(({ id }) => id !== after));
  const [only] = plans;
  if (plans.length === 1 && only !== undefined) return collector.current(only.id);
  say(t(plans.length === 0 ? "noSurvey" : "whichSurvey"));
  const links = plans.map((plan) =>
    html("li", {}, html("a", { href: `/?plan=${plan.id}` }, plan.title || plan.id.slice(0, 12))),
  );
  show(html("ul", { class: "surveys" }, ...links));
  return undefined;
}

/** The words around the questions. */
function frame(): void {
  byId("skip").textContent = t("skip");
  byId("to-dashboard").textContent = t("results");
  byId("to-explanation").textContent = t("protects");
  byId("pages").setAttribute("aria-label", t("pages"));
  const { dataset } = byId("theme");
  dataset["light"] = t("light");
  dataset["dark"] = t("dark");
  byId("theme").textContent = document.documentElement.dataset["theme"] === "dark" ? t("light") : t("dark");
}

const SHORT = 120; // characters: the first question must stay in sight

/** The introduction: a long one is folded. */
function introduced(text: string): HTMLElement[] {
  const lines = html("p", { class: "lines" }, text);
  return [text.length <= SHORT ? lines : html("details", {}, html("summary", {}, t("introduction")), lines)];
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
  await present(plan.id, headers);
  const { title: named, introduction, accent, language } = presented();
  await speak(wanted(language));
  frame();
  paint(accent);
  const title = named || plan.title || t("title");
  byId("title").textContent = title;
  document.title = t("tab", { title });
  if (introduction !== "") byId("introduction").replaceChildren(...introduced(introduction));
  byId("to-dashboard").setAttribute("href", `/dashboard?plan=${plan.id}`);
  const way = relayed ? { promise: () => promised(plan, headers), send: () => deliver(ledger, plan) } : undefined;
  await new Survey(collector, ledger, plan, way).open();
}

fit();
start().catch(async (error: unknown) => {
  await speak(wanted(presented().language));
  say(t("cannotShow", { reason: reason(error) }));
});
