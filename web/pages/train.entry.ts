/** The form of a training: features and label stay in this page; one report leaves, once, whatever the round. */
import { Client } from "hush-client";
import { readPhase } from "hush-training";
import { dress } from "./dress";
import { byId, html } from "./elements";
import { frame } from "./frame";
import { Joining } from "./joining";
import { chosen as wanted, type Key, speak, t } from "./language";
import { opened } from "./opened";
import { presented } from "./presentation";
import { mark, reading } from "./preview";
import { reason, say, show } from "./survey";
import { findToken, SENDER } from "./token";

const REASONS: Record<number, Key> = { 400: "trainEarly", 404: "trainNone" };

interface Entry {
  name: string;
  done: boolean;
}

/** The training that the address names, or the only one that is open. */
async function chosen(headers: Record<string, string>): Promise<string | undefined> {
  const named = new URL(location.href).searchParams.get("training");
  if (named !== null) return named;
  const response = await fetch("/trainings", { headers, credentials: "omit" });
  if (!response.ok) {
    say(t("trainNeeds"));
    return undefined;
  }
  const open = ((await response.json()) as { trainings: Entry[] }).trainings.filter(({ done }) => !done);
  const [only, ...others] = open;
  if (only !== undefined && others.length === 0) return only.name;
  say(t(only === undefined ? "trainNone" : "trainWhich"));
  const links = open.map(({ name }) =>
    html("li", {}, html("a", { href: `/train?training=${encodeURIComponent(name)}` }, name)),
  );
  show(html("ul", { class: "surveys" }, ...links));
  return undefined;
}

async function start(): Promise<void> {
  await speak(wanted(""));
  frame();
  const token = findToken(SENDER);
  const ledger = await opened();
  const client = new Client(location.origin, { ledger, attempts: 3, ...reading, ...(token === null ? {} : { token }) });
  const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
  const name = await chosen(headers);
  if (name === undefined) return;
  const options: RequestInit = { headers, credentials: "omit", cache: "no-store" };
  // People who are held out have a link of their own.
  const what = new URL(location.href).searchParams.has("check") ? "check" : "round";
  const path = `/trainings/${encodeURIComponent(name)}`;
  const response = await fetch(`${path}/${what}`, options);
  if (!response.ok) return say(t(REASONS[response.status] ?? "trainNeeds"));
  const phase = await readPhase(new Uint8Array(await response.arrayBuffer()));
  await dress(path, headers, phase.training.title);
  mark();
  byId("to-dashboard").setAttribute("href", `/dashboard?training=${encodeURIComponent(name)}`);
  await new Joining(client, ledger, phase).open();
}

start().catch(async (error: unknown) => {
  await speak(wanted(presented().language));
  say(t("cannotShow", { reason: reason(error) }));
});
