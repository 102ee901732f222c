// The operator's page: plans with a button to close each, the budget of a person, health, and the size of the store.

import { Failure, get, post, readToken, setToken } from "./api.js";
import type { Access, Overview, PlanEntry } from "./documents.js";
import { button, byId, html } from "./elements.js";
import { counted, number, say, whole } from "./text.js";

const view = byId("view");
const signin = byId("signin") as HTMLFormElement;
const trouble = byId("trouble");

let tried = false;
signin.addEventListener("submit", (event) => {
  event.preventDefault();
  tried = true;
  const field = byId("token") as HTMLInputElement;
  setToken(field.value);
  field.value = "";
  void show();
});

function failed(error: unknown): void {
  if (error instanceof Failure && error.needsToken) {
    view.replaceChildren();
    signin.hidden = false;
    say(byId("signin-why"), error.status === 403 || tried ? error.message : "");
    byId("token").focus();
    return;
  }
  trouble.hidden = false;
  say(trouble, error instanceof Failure ? error.message : "This page has made a mistake, and cannot go on.");
  if (!(error instanceof Failure)) throw error;
}

/** Whether reports would be taken now. */
async function health(): Promise<string> {
  try {
    await get("/readyz");
    return "Reports are taken now.";
  } catch (error) {
    if (error instanceof Failure) return `No reports are taken now. ${error.message}`;
    throw error;
  }
}

async function show(): Promise<void> {
  trouble.hidden = true;
  try {
    const [found, healthy] = await Promise.all([get<Overview>("/overview"), health()]);
    signin.hidden = true;
    draw(found, healthy);
  } catch (error) {
    failed(error);
  }
}

function draw({ plans, budget, storage, waiting, access }: Overview, healthy: string): void {
  const fact = (name: string, text: string, testid: string): HTMLElement[] => [
    html("dt", {}, name),
    html("dd", { "data-testid": testid }, text),
  ];
  const open = plans.filter((plan) => plan.open).length;
  view.replaceChildren(
    html("h1", { "data-testid": "title" }, "Desk"),
    html(
      "dl",
      { class: "facts" },
      ...fact("Health", healthy, "health"),
      ...fact("Budget", `One person can spend ε = ${number(budget)} on all open plans (${whole(open)}) and trainings together.`, "budget"),
      ...fact("Store", storage === null ? "Its size is unknown." : `${bytes(storage)}.`, "storage"),
      ...fact("Roles", `${access.map(holders).join("; ")}.`, "access"),
      ...fact("Waiting", `${whole(waiting)} submissions are not committed yet.`, "waiting"),
    ),
    html("p", { class: "quiet small" }, "Of a pilot and the plan that follows it, everybody answers one; the dearer counts."),
    html("h2", {}, "Plans"),
    plans.length === 0 ? html("p", {}, "No plans yet.") : table(plans),
    html("p", { class: "screen" }, button("Look again", () => void show(), { "data-testid": "again" })),
  );
}

/** Who has a role, such as "read: 2 tokens". */
function holders({ role, open, tokens }: Access): string {
  return `${role}: ${open ? "everybody" : tokens === 1 ? "1 token" : `${whole(tokens)} tokens`}`;
}

function bytes(size: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, size < 1000 ? 0 : Math.floor(Math.log10(size) / 3));
  return `${number(size / 1000 ** power)} ${units[power] ?? ""}`;
}

function table(plans: readonly PlanEntry[]): HTMLElement {
  const head = ["plan", "reports", "ε", "state"].map((name) => html("th", { scope: "col" }, name));
  return html(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table: plans" },
    html(
      "table",
      { "data-testid": "plans" },
      html("thead", {}, html("tr", {}, ...head)),
      html("tbody", {}, ...plans.map(row)),
    ),
  );
}

function titled(plan: PlanEntry): string {
  return plan.title === "" ? `Plan ${plan.id.slice(0, 12)}` : plan.title;
}

function row(plan: PlanEntry): HTMLElement {
  const round = plan.next !== null ? " (pilot)" : plan.after !== null ? " (follows a pilot)" : "";
  return html(
    "tr",
    { "data-plan": plan.id },
    html("th", { scope: "row" }, html("a", { href: `/dashboard?plan=${plan.id}` }, titled(plan)), round),
    html("td", {}, whole(plan.reports)),
    html("td", {}, number(plan.epsilon)),
    plan.open ? html("td", {}, ...closing(plan)) : html("td", {}, "closed"),
  );
}

/** A button that asks once more: a closed plan stays closed. */
function closing(plan: PlanEntry): HTMLElement[] {
  const title = titled(plan);
  const question = html("span", { class: "row", hidden: true, "data-testid": "confirm" });
  const ask = button("Close", () => turn(true), { class: "small", "aria-label": `Close: ${title}`, "data-testid": "close" });
  const sure = button("Close for good", () => void close(plan), { class: "small", "aria-label": `Close for good: ${title}` });
  const keep = button("Keep open", () => turn(false), { class: "small", "aria-label": `Keep open: ${title}` });
  question.append("No plan can be opened again.", sure, keep);
  function turn(asking: boolean): void {
    question.hidden = !asking;
    ask.hidden = asking;
    (asking ? keep : ask).focus();
  }
  return [ask, question];
}

async function close(plan: PlanEntry): Promise<void> {
  try {
    const { reports } = await post<PlanEntry>(`/plans/${plan.id}/close`);
    await show();
    say(byId("done"), `${titled(plan)} is closed, with ${counted(reports, "report")}.`);
  } catch (error) {
    failed(error);
  }
}

readToken();
window.addEventListener("hashchange", () => {
  if (readToken()) void show();
});
byId("loading").hidden = true;
void show();
