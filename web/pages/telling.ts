/** Explains the promise of a plan, and a report, to a person. */
import type { Plan, Report, View } from "hush-client";
import type { RelayPromise } from "./documents";
import { html } from "./elements";
import { picture } from "./picture";
import { host, relayed } from "./relay";
import { t } from "./language";
import { labelled, ordered, titled } from "./presentation";
import { content, meaning, plain, profile, raised, sentence, weakness, type Answers } from "./words";

/** Whether the collector deals the questions by tickets, as it has written into the page. */
export const dealt = document.documentElement.dataset["tickets"] === "yes";

const MOST_TOLD = 4; // attributes of one question; of a hundred the sentences would be alike

/** What the report will be about. */
function asked(plan: Plan): string {
  const { k, questions, schema } = plan;
  const count = questions.length;
  if (k === count) return t("reportAll");
  // With relations the plan asks other questions than the form: about two answers at once, or about one in several ways.
  const alike = count === schema.length && questions.every(({ views: [only, more] }) => more === undefined && only?.kind === "value");
  const about = alike ? (k === 1 ? "One" : "Some") : "Things";
  return t(`${dealt ? "dealt" : "drawn"}${about}`, { k, count });
}

/**
 * The promise of the plan, as this browser has checked it, behind one sentence; through a relay, also the second one that
 * it cannot check. A weak promise is said aloud.
 */
export function promise(plan: Plan, names: readonly string[], cap: number, through?: RelayPromise): HTMLElement[] {
  const epsilon = Number(plan.epsilon);
  const [top, bottom] = plan.ratio;
  const measured = Number((top * 10_000n) / bottom + 1n) / 10_000; // rounded up: it is a bound
  const weak = weakness(plan);
  // The answers of a weak plan are not sent either; but to say so would reassure where a report gives them away.
  const title = weak === "" ? `${t("promiseTitle")}: ${t("promiseLine")}` : t("weakTitle");
  // The first promise stands above it, as this browser has computed it.
  const first = t(through === undefined ? "epsilon" : "epsilonWhatever", { epsilon });
  const second =
    through === undefined
      ? []
      : [
          ...through.sentences.slice(1).map((text) => html("p", { "data-testid": "central-promise", lang: "en" }, text)),
          html("p", { class: "quiet small" }, t("relayWord", { host })),
        ];
  const checked = [
    t("checkedPlan", { plan: plan.id.slice(0, 16) }),
    t("checkedRatio", { measured: raised(measured), epsilon, times: raised(Math.exp(epsilon)) }),
    t("checkedCap", { cap }),
    ...(names.some((name) => titled(name) !== name) ? [t("checkedWords", { names: names.join(", ") })] : []),
  ];
  const notice = html("p", { class: "notice bad", "data-testid": "weak" }, weak);
  const folded = html(
    "details",
    { class: "promise" },
    html("summary", {}, title),
    html("p", {}, weak === "" ? `${t("notSent")} ${asked(plan)}` : asked(plan)),
    html("p", { "data-testid": "local-promise" }, html("strong", {}, `${first} `), meaning(epsilon)),
    ...second,
    html("p", {}, html("a", { href: "/explanation" }, t("explanation"))),
    html("details", {}, html("summary", {}, t("checked")), html("ul", {}, ...checked.map((text) => html("li", {}, text)))),
  );
  return weak === "" ? [folded] : [notice, folded];
}

/** The answers of a person. */
export function answered(plan: Plan, answers: Answers): HTMLElement {
  const given = ordered(plan.schema).filter(({ name }) => name in answers);
  const pairs = given.map(({ name, kind }) => {
    const value = answers[name] ?? null;
    const told = kind === "numeric" && value !== null ? plain(Number(value)) : labelled(name, value);
    return html("div", {}, html("dt", {}, titled(name)), html("dd", {}, told));
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
    const only = plan.k === 1 && plan.questions.length > 1;
    const block = html(
      "section",
      { class: "card answer" },
      html("p", { class: "asked" }, t("about"), ...names, t(only ? "aboutOnly" : "aboutEnd")),
    );
    const profiles = attributes.slice(0, MOST_TOLD).map((item) => profile(plan, index, output, answers, item.name));
    block.append(html("p", {}, content(profiles, output, question)));
    for (const found of profiles) {
      const { attribute } = found;
      const together = attributes.length > 1 ? t("others", { name: attribute.name }) : "";
      if (found.own === 0) {
        block.append(html("p", { class: "says" }, t("unspeakable")));
        continue;
      }
      const words = sentence(plan, index, output, answers, found);
      block.append(html("p", { class: "says" }, together + words), picture(found));
    }
    if (attributes.length > MOST_TOLD) block.append(html("p", {}, t("similar", { count: attributes.length - MOST_TOLD })));
    return block;
  });
  return [...parts, bytes(report)];
}

/** What a view looks at. */
function looked({ kind, of, seen }: View): (string | HTMLElement)[] {
  const [one, other] = of.map((name) => html("em", {}, name)) as [HTMLElement, HTMLElement];
  if (kind === "bands" && seen.kind === "categorical") return [one, t("bands", { count: seen.values.length })];
  if (kind === "sides") return [t("sides"), one, t("and"), other];
  return kind === "product" ? [one, " × ", other] : [one];
}

/** A report as it is sent. */
export function bytes(report: Report): HTMLElement {
  const data = report.encode();
  const digits = [...data].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return html(
    "details",
    {},
    html("summary", {}, t("bytes", { count: data.length })),
    html("p", {}, relayed ? t("bytesSealed", { host }) : t(dealt ? "bytesDealt" : "bytesText")),
    html("pre", { "data-testid": "bytes", tabindex: 0 }, digits),
    html("pre", { tabindex: 0 }, JSON.stringify(report)),
  );
}
