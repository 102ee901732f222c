// The dashboard of a training: its progress, the loss of held-out people, and the weights, by round.

import { get, listen, type Listener } from "./api.js";
import { Block, numeric, text } from "./blocks.js";
import { warm } from "./charts.js";
import type { PastRound, Statement, TrainingEntry, TrainingHistory } from "./documents.js";
import { html } from "./elements.js";
import { column, largest, say, whole } from "./text.js";

const MOST_WEIGHTS = 6; // as many as there are colours
const MOST_COLUMNS = 64; // of the table of weights
const SURE = 1.96; // standard errors: 95 %

/** Show a training, and keep it current. */
export async function showTraining(
  view: HTMLElement,
  name: string,
  listener: Pick<Listener, "state" | "refused">,
): Promise<void> {
  warm();
  const address = `/trainings/${encodeURIComponent(name)}`;
  const [statement, history] = await Promise.all([
    get<Statement>(`${address}/statement`),
    get<TrainingHistory>(`${address}/history`),
  ]);
  document.title = `${name} · hush`;
  const count = html("span", { class: "count number", "data-testid": "round-count" }, "…");
  const unit = html("span");
  const progress = html("progress", { max: "1", value: "0", "aria-label": "People of this round" });
  const people = html("p", { class: "quiet", "data-testid": "people" });
  view.replaceChildren(
    html("h1", { "data-testid": "title" }, name),
    html(
      "div",
      { class: "headline" },
      html("div", {}, html("p", { class: "counted" }, "Round ", count, unit), progress, people),
      html(
        "div",
        {},
        ...statement.sentences.map((sentence) => html("p", { "data-testid": "privacy-sentence" }, sentence)),
        html("p", {}, html("a", { href: "/explanation" }, "How this protects you")),
      ),
    ),
  );
  const loss = new Block({
    heading: "Loss by round",
    level: 2,
    kind: "loss",
    testid: "loss",
    eager: true,
    caption: "loss of held-out people by round",
    description: "The loss of held-out people after each round. The table has the numbers.",
    file: `${name}-loss`,
    words: "Reported by people who take part in no round, as privately as everything else; with 95 % intervals.",
  });
  const weights = new Block({
    heading: "Weights by round",
    level: 2,
    kind: "weights",
    testid: "weights",
    eager: true,
    caption: "weights by round",
    description: "The weights of the model in each round, a line for each. The table has the numbers.",
    file: `${name}-weights`,
  });
  for (const block of [loss, weights]) {
    block.root.classList.add("card");
    view.append(block.root);
  }

  function showHistory(found: TrainingHistory): void {
    const heard = found.rounds.filter((round): round is PastRound & { loss: number } => round.loss !== null);
    if (heard.length === 0) loss.empty("No held-out person has reported a loss yet.");
    else {
      const write = column(largest(heard.map((round) => round.loss)), 4);
      loss.update({
        columns: [{ name: "round" }, { name: "loss" }, { name: "standard error" }, { name: "people" }],
        rows: heard.map((round) => [
          numeric(round.number, whole),
          numeric(round.loss, write),
          numeric(round.loss_error, write),
          numeric(round.people, whole),
        ]),
        level: 0.95,
        values: heard.map((round) => {
          const margin = SURE * (round.loss_error ?? 0);
          return { round: round.number, loss: round.loss, low: round.loss - margin, high: round.loss + margin };
        }),
      });
    }
    const steps = found.rounds.map(({ number: round, weights: values }) => ({ round, values }));
    steps.push({ round: steps.length === 0 ? 0 : (steps.at(-1)?.round ?? 0) + 1, values: found.result });
    const last = steps.at(-1)?.values ?? [];
    const order = last.map((_, index) => index).sort((a, b) => Math.abs(last[b] ?? 0) - Math.abs(last[a] ?? 0));
    const drawn = order.slice(0, MOST_WEIGHTS).sort((a, b) => a - b);
    const left = last.length - drawn.length;
    const writes = last.slice(0, MOST_COLUMNS).map((_, place) => column(largest(steps.map(({ values }) => values[place] ?? 0)), 4));
    const notes = [];
    if (left > 0) notes.push(`The ${drawn.length} largest of ${whole(last.length)} weights are drawn.`);
    if (last.length > MOST_COLUMNS) notes.push(`The table has the first ${MOST_COLUMNS} of them; the interface has all.`);
    weights.update({
      columns: [{ name: "round", text: true }, ...last.map((_, index) => ({ name: `w${index}` })).slice(0, MOST_COLUMNS)],
      rows: steps.map(({ round, values }, index) => [
        text(index === steps.length - 1 ? (found.done ? "result" : "result so far") : String(round)),
        ...values.slice(0, MOST_COLUMNS).map((value, place) => numeric(value, writes[place] ?? String)),
      ]),
      values: steps
        .slice(0, -1)
        .flatMap(({ round, values }) => drawn.map((index) => ({ round, what: `w${index}`, value: values[index] ?? 0 }))),
      ...(notes.length > 0 ? { note: notes.join(" ") } : {}),
    });
  }

  showHistory(history);
  listen(`${address}/stream`, {
    ...listener,
    event(kind, data) {
      if (kind === "history") showHistory(data as TrainingHistory);
      if (kind !== "training") return;
      const entry = data as TrainingEntry;
      say(count, whole(Math.min(entry.number, entry.rounds)));
      say(unit, ` of ${whole(entry.rounds)} rounds`);
      progress.max = entry.wanted;
      progress.value = entry.done ? entry.wanted : entry.received;
      say(people, entry.done ? "The training is over." : `${whole(entry.received)} of ${whole(entry.wanted)} people of this round`);
    },
  });
}
