// Asking the collector: documents, and streams of events. The token goes into a header, never into an address.

import { findToken, givenToken, keepToken } from "./token.js";

const KEY = "hush-token";

let token = "";

/** Take a token from the fragment, or from this tab's memory. Return whether the fragment had one. */
export function readToken(): boolean {
  const given = givenToken(KEY);
  token = given ?? findToken(KEY) ?? token;
  return given !== null;
}

export function setToken(text: string): void {
  token = keepToken(KEY, text);
}

/** An unsuccessful answer. `status` is 0 if there was no answer. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly retryAfter = 0,
  ) {
    super(message);
  }

  get needsToken(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

async function answer(path: string, signal?: AbortSignal, method = "GET"): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: token === "" ? {} : { Authorization: `Bearer ${token}` },
      credentials: "omit",
      cache: "no-store",
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Failure(0, "The collector cannot be reached.");
  }
  if (!response.ok) {
    const problem: unknown = await response.json().catch(() => null);
    throw new Failure(response.status, words(problem, response.status), Number(response.headers.get("Retry-After")) || 0);
  }
  return response;
}

function words(problem: unknown, status: number): string {
  if (typeof problem === "object" && problem !== null) {
    const { detail, title } = problem as { detail?: unknown; title?: unknown };
    const parts = [title, detail].filter((part): part is string => typeof part === "string" && part !== "");
    if (parts.length > 0) return `${parts.join(": ")}.`;
  }
  return `The collector answered ${status}.`;
}

export async function get<T>(path: string): Promise<T> {
  const response = await answer(path);
  return (await response.json()) as T;
}

export async function post<T>(path: string): Promise<T> {
  const response = await answer(path, undefined, "POST");
  return (await response.json()) as T;
}

export async function getText(path: string): Promise<string> {
  return (await answer(path)).text();
}

export type State = "connecting" | "live" | "lost" | "refused";

export interface Listener {
  event(name: string, data: unknown): void;
  state(state: State, why: string): void;
  refused(failure: Failure): void;
}

const SILENCE = 60_000; // milliseconds without data after which a stream is taken to be dead

/** Return once somebody looks at this page. */
async function looked(): Promise<void> {
  while (document.hidden) {
    await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }
}

/** Listen to a stream until `stop` is called. After a failure, try again, with growing pauses.
 *
 * A page in the background does not listen: browsers allow few connections to one host, and it would take one from a
 * form that sends a report.
 */
export function listen(path: string, listener: Listener): { stop: () => void } {
  const stopped = new AbortController();
  void (async () => {
    let pause = 1;
    listener.state("connecting", "");
    while (!stopped.signal.aborted) {
      let wait = 0;
      await looked();
      try {
        await once(path, stopped.signal, listener, () => {
          pause = 1;
          listener.state("live", "");
        });
        listener.state("lost", "The collector has ended the stream.");
      } catch (error) {
        if (stopped.signal.aborted) return;
        if (document.hidden) continue;
        if (error instanceof Failure) {
          if (error.needsToken || error.status === 404) {
            listener.state("refused", error.message);
            listener.refused(error);
            return;
          }
          wait = error.retryAfter;
        }
        listener.state("lost", error instanceof Failure ? error.message : "The connection was lost.");
      }
      await sleep(1000 * Math.max(wait, pause * (0.75 + Math.random() / 2)), stopped.signal);
      pause = Math.min(2 * pause, 30);
    }
  })();
  return { stop: () => stopped.abort() };
}

async function once(path: string, stopped: AbortSignal, listener: Listener, begun: () => void): Promise<void> {
  const silent = new AbortController();
  const stop = (): void => silent.abort();
  const hide = (): void => {
    if (document.hidden) silent.abort();
  };
  stopped.addEventListener("abort", stop);
  document.addEventListener("visibilitychange", hide);
  let timer = setTimeout(stop, SILENCE);
  try {
    const response = await answer(path, silent.signal);
    if (response.body === null) throw new Failure(0, "This browser cannot read streams.");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let pieces: string[] = [];
    let first = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE);
      if (first) begun();
      first = false;
      // Large documents come in many pieces: they are joined when an event is whole, not before.
      if (!value.includes("\n")) {
        pieces.push(value);
        continue;
      }
      const events = (pieces.join("") + value).split("\n\n");
      pieces = [events.pop() ?? ""];
      for (const text of events) dispatch(text, listener);
    }
  } finally {
    clearTimeout(timer);
    stopped.removeEventListener("abort", stop);
    document.removeEventListener("visibilitychange", hide);
  }
}

function dispatch(text: string, listener: Listener): void {
  let name = "message";
  const data: string[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  if (data.length > 0) listener.event(name, JSON.parse(data.join("\n")));
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
