// The dashboard: one plan or training of this collector at a time, as it changes.

import { Failure, get, readToken, setToken, type State } from "./api.js";
import { unfold } from "./blocks.js";
import { onFailure } from "./charts.js";
import type { PlanEntry, TrainingEntry } from "./documents.js";
import { byId, html } from "./elements.js";
import { fragment } from "./fragment.js";
import { showPlan } from "./plan.js";
import { say, whole } from "./text.js";
import { showTraining } from "./training.js";

const view = byId("view");
const connection = byId("connection");
const signin = byId("signin") as HTMLFormElement;
const trouble = byId("trouble");
const nochart = byId("nochart");

const STATES: Record<State, string> = {
  connecting: "Connecting to the collector.",
  live: "Live: this page updates by itself.",
  lost: "Not live: trying to connect again.",
  refused: "Not live.",
};

function state(now: State, why: string): void {
  connection.dataset["state"] = now;
  say(connection, why === "" || now === "refused" ? STATES[now] : `${why} ${STATES[now]}`);
}

function refused(failure: Failure): void {
  if (failure.needsToken) askForToken(failure);
  else fail(failure.message);
}

function askForToken(failure: Failure): void {
  view.replaceChildren();
  connection.hidden = true;
  signin.hidden = false;
  say(byId("signin-why"), failure.status === 403 || tried ? failure.message : "");
  byId("token").focus();
}

let tried = false;
signin.addEventListener("submit", (event) => {
  event.preventDefault();
  tried = true;
  const field = byId("token") as HTMLInputElement;
  setToken(field.value);
  field.value = "";
  void start();
});

function fail(message: string): void {
  trouble.hidden = false;
  say(trouble, message);
}

onFailure((why) => {
  nochart.hidden = false;
  unfold();
  say(nochart, `Charts cannot be drawn. ${why} The tables have everything.`);
});

interface Item {
  name: string;
  address: string;
  about: string;
  current: boolean;
}

function listed(items: Item[]): HTMLElement {
  return html(
    "ul",
    { class: "collections", "data-testid": "collections" },
    ...items.map(({ name, address, about, current }) =>
      html(
        "li",
        {},
        html("a", { href: address, ...(current ? { "aria-current": "page" } : {}) }, name),
        html("span", { class: "quiet small" }, ` ${about}`),
      ),
    ),
  );
}

/** Two plans of one title: which is the pilot? */
function round({ after, next }: PlanEntry): string {
  if (next !== null) return ", pilot";
  return after === null ? "" : ", follows a pilot";
}

const SEEKING = 5000; // milliseconds

/** Go to the part that the address names, and stay there while those above it are filled, unless the reader moves. */
function seek(): void {
  const part = document.getElementById(fragment().part);
  if (part === null) return;
  const fold = part.closest("details");
  if (fold !== null) fold.open = true;
  const observer = new ResizeObserver(() => part.scrollIntoView());
  observer.observe(view);
  const end = (): void => observer.disconnect();
  for (const act of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(act, end, { once: true, passive: true });
  setTimeout(end, SEEKING);
}

async function start(): Promise<void> {
  view.replaceChildren(html("p", { class: "notice", "data-testid": "loading" }, "Loading the results."));
  trouble.hidden = true;
  connection.hidden = false;
  const form = byId("to-form");
  form.hidden = false;
  form.setAttribute("href", "/");
  state("connecting", "");
  try {
    const [{ plans }, { trainings }] = await Promise.all([
      get<{ plans: PlanEntry[] }>("/plans"),
      get<{ trainings: TrainingEntry[] }>("/trainings"),
    ]);
    signin.hidden = true;
    const query = new URLSearchParams(location.search);
    const only = plans.length === 1 && trainings.length === 0 ? plans[0]?.id : undefined;
    const plan = query.get("plan") ?? (query.has("training") ? undefined : only);
    const training = plan === undefined ? query.get("training") : null;
    const items = [
      ...plans.map((entry) => ({
        name: entry.title === "" ? `Plan ${entry.id.slice(0, 12)}` : entry.title,
        address: `/dashboard?plan=${entry.id}`,
        about: `${whole(entry.reports)} reports${round(entry)}${entry.open ? "" : ", closed"}`,
        current: entry.id === plan,
      })),
      ...trainings.map((entry) => ({
        name: entry.name,
        address: `/dashboard?training=${encodeURIComponent(entry.name)}`,
        about: `training, round ${whole(Math.min(entry.number, entry.rounds))} of ${whole(entry.rounds)}${entry.done ? ", done" : ""}`,
        current: entry.name === training,
      })),
    ];
    const known = items.some((item) => item.current);
    const nav = byId("collections");
    nav.hidden = !known || items.length < 2;
    nav.replaceChildren(
      html("details", {}, html("summary", {}, `All ${whole(items.length)} collections`), listed(items)),
    );
    if (!known) {
      connection.hidden = true;
      if (plan !== undefined || training !== null) fail("This collector has no plan or training of this address.");
      view.replaceChildren(
        html("h1", { "data-testid": "title" }, "Collections of this collector"),
        items.length === 0 ? html("p", {}, "Nothing yet.") : listed(items),
      );
    } else if (plan !== undefined) {
      await showPlan(view, plan, plans, { state, refused });
      seek();
    } else if (training !== null) await showTraining(view, training, { state, refused });
  } catch (error) {
    if (error instanceof Failure && error.needsToken) askForToken(error);
    else {
      view.replaceChildren();
      state("refused", "");
      fail(error instanceof Failure ? error.message : "This page has made a mistake, and cannot go on.");
      if (!(error instanceof Failure)) throw error;
    }
  }
}

readToken();
window.addEventListener("hashchange", () => {
  if (readToken()) void start();
  else seek();
});
byId("loading").hidden = true;
void start();
