/** Explains the promise of a plan, and a report, to a person. */
import type { Plan, Report, View } from "hush-client";
import type { RelayPromise } from "./documents";
import { html } from "./elements";
import { picture } from "./picture";
import { host, relayed } from "./relay";
import { content, meaning, plain, profile, raised, sentence, UNSAID, UNSPEAKABLE, weakness, type Answers } from "./words";

/** Whether the collector deals the questions by tickets, as it has written into the page. */
export const dealt = document.documentElement.dataset["tickets"] === "yes";

const MOST_TOLD = 4; // attributes of one question; of a hundred the sentences would be alike

/** The promise of the plan, as this browser has checked it; through a relay, also the second one that it cannot check. */
export function promise(plan: Plan, names: readonly string[], cap: number, through?: RelayPromise): HTMLElement {
  const epsilon = Number(plan.epsilon);
  const [top, bottom] = plan.ratio;
  const measured = Number((top * 10_000n) / bottom + 1n) / 10_000; // rounded up: it is a bound
  const many = plan.questions.length;
  const by = dealt ? "The collector has dealt" : "This device has drawn";
  const chance = dealt ? ", by chance and without knowing your answers" : " by chance, before you answer";
  // With relations the plan asks other questions than the form: about two answers at once, or about one in several ways.
  const alike = many === plan.schema.length && plan.questions.every(({ views: [only, more] }) => more === undefined && only?.kind === "value");
  const what = alike
    ? `${plan.k === 1 ? "this question" : "these questions"} of the ${many}`
    : `${plan.k} of ${many} things that can be asked about people`;
  const needs = names.length === 1 ? "it" : "these";
  const asked =
    plan.k === many
      ? "Your report is about all of these questions, with noise."
      : `${by} ${what} for you${chance}. Your report is about ${alike ? needs : "that"}, with noise, and nobody needs your other answers.`;
  const weak = weakness(plan);
  // The answers of a weak plan are not sent either; but to say so would reassure where a report gives them away.
  const first =
    weak === ""
      ? [html("h2", { id: "promise" }, "Your answers stay here"), html("p", {}, `Your answers are not sent. ${asked}`)]
      : [
          html("h2", { id: "promise" }, "Your report says much about you"),
          html("p", { class: "notice bad", "data-testid": "weak" }, weak),
          html("p", {}, asked),
        ];
  // The first promise stands above it, as this browser has computed it.
  const whatever = through === undefined ? "" : ", whatever anybody does";
  const second =
    through === undefined
      ? []
      : [
          ...through.sentences.slice(1).map((text) => html("p", { "data-testid": "central-promise" }, text)),
          html("p", { class: "quiet small" }, `Your browser checks the first promise. The second rests on the word of those who run the relay and the collector. The relay ${host} sees that you take part, but cannot read your report.`),
        ];
  return html(
    "section",
    { class: "card promise", "aria-labelledby": "promise" },
    ...first,
    html("p", { "data-testid": "local-promise" }, html("strong", {}, `ε = ${Number(plan.epsilon)}${whatever}. `), meaning(epsilon)),
    ...second,
    html("p", {}, html("a", { href: "/explanation" }, "What ε means, and what this does not protect from")),
    html(
      "details",
      {},
      html("summary", {}, "Checked on this device"),
      html(
        "ul",
        {},
        html("li", {}, `The questions are those of plan ${plan.id.slice(0, 16)}…: its hash was computed here.`),
        html(
          "li",
          {},
          `No report is more than ${raised(measured)} times likelier for one person than for another, computed ` +
            `exactly from the plan; the promise is e^${epsilon}, about ${raised(Math.exp(epsilon))}.`,
        ),
        html("li", {}, `All surveys of this collector together may cost this browser ${cap} at most.`),
      ),
    ),
  );
}

/** The answers of a person. */
export function answered(plan: Plan, answers: Answers): HTMLElement {
  const pairs = plan.schema.filter(({ name }) => name in answers).map(({ name }) => {
    const value = answers[name] ?? UNSAID;
    return html("div", {}, html("dt", {}, name), html("dd", {}, typeof value === "number" ? plain(value) : value));
  });
  return html("dl", { class: "answers", "data-testid": "answers" }, ...pairs);
}

/** A report in words and pictures, then as it is. */
export function explained(report: Report, answers: Answers): HTMLElement[] {
  const { plan } = report;
  const parts = report.answers.map(([index, output]) => {
    const question = plan.questions[index];
    if (question === undefined) throw new Error("the plan has no such question");
    const attributes = plan.schema.filter((item) => question.names.includes(item.name));
    const names = question.views.map((view) => looked(view)).flatMap((nodes, i) => (i > 0 ? [", ", ...nodes] : nodes));
    const only = plan.k === 1 && plan.questions.length > 1 ? " only" : "";
    const block = html(
      "section",
      { class: "card answer" },
      html("p", { class: "asked" }, "This report is about ", ...names, `${only}.`),
    );
    const profiles = attributes.slice(0, MOST_TOLD).map((item) => profile(plan, index, output, answers, item.name));
    block.append(html("p", {}, content(profiles, output, question)));
    for (const found of profiles) {
      const { attribute } = found;
      const together = attributes.length > 1 ? `For ${attribute.name}, your other answers being the same: ` : "";
      if (found.own === 0) {
        block.append(html("p", { class: "says" }, UNSPEAKABLE));
        continue;
      }
      const words = sentence(plan, index, output, answers, found);
      block.append(html("p", { class: "says" }, together + words), picture(found));
    }
    if (attributes.length > MOST_TOLD) block.append(html("p", {}, `The sentences about the other ${attributes.length - MOST_TOLD} would be similar.`));
    return block;
  });
  return [...parts, bytes(report)];
}

/** What a view looks at. */
function looked({ kind, of, seen }: View): (string | HTMLElement)[] {
  const [one, other] = of.map((name) => html("em", {}, name)) as [HTMLElement, HTMLElement];
  if (kind === "bands" && seen.kind === "categorical") return [one, ` in ${seen.values.length} bands`];
  if (kind === "sides") return ["the sides of ", one, " and ", other];
  return kind === "product" ? [one, " × ", other] : [one];
}

/** A report as it is sent. */
export function bytes(report: Report): HTMLElement {
  const data = report.encode();
  const digits = [...data].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return html(
    "details",
    {},
    html("summary", {}, `All ${data.length} bytes of the report`),
    html(
      "p",
      {},
      `Version, plan, ${dealt ? "the number of the ticket" : "a random number"} that makes sure it is counted once, and the answer` +
        `${dealt ? "; the signature of the ticket is sent along" : ""}${relayed ? `. It is sealed for the collector and sent to ${host}, which cannot read it` : ""}:`,
    ),
    html("pre", { "data-testid": "bytes", tabindex: 0 }, digits),
    html("pre", { tabindex: 0 }, JSON.stringify(report)),
  );
}
