/** Explains the promise of a plan, and a report, to a person. */
import type { Plan, Report, View } from "hush-client";
import { type Members, membersIn } from "./asking";
import { counted } from "./calendar";
import type { RelayPromise } from "./documents";
import { html } from "./elements";
import { plain, raised } from "./figures";
import { picture } from "./picture";
import { host, relayed } from "./relay";
import { language, t } from "./language";
import { asks, labelled, ordered, titled } from "./presentation";
import { content, meaning, memberName, profile, sentence, weakness, type Answers, written } from "./words";

/** Whether the collector deals the questions by tickets, as it has written into the page. */
export const dealt = document.documentElement.dataset["tickets"] === "yes";

const MOST_TOLD = 4; // attributes of one question; of a hundred the sentences would be alike

/** What a promise is about: a plan, or what stands for it where people are asked other questions than the plan's. */
export type Promised = Pick<Plan, "epsilon" | "ratio" | "k" | "questions"> & { readonly id?: string };

/** What the report will be about. */
function asked(plan: Promised): string {
  const { k, questions } = plan;
  const count = questions.length;
  if (k === count) return t("reportAll");
  // With relations the plan asks other questions than the form: about two answers at once, or about one in several ways.
  const alike = questions.every(({ views: [only, more] }) => more === undefined && ["value", "member"].includes(only?.kind ?? ""));
  const about = alike ? (k === 1 ? "One" : "Some") : "Things";
  return t(`${dealt ? "dealt" : "drawn"}${about}`, { k, count });
}

/** The promises that rest on the relay, in the language of the reader. In English they are the collector's own words. */
function central({ url, central: found, sentences }: RelayPromise): string[] {
  if (language() === "en") return sentences.slice(1);
  const whole = new Intl.NumberFormat(language(), { maximumFractionDigits: 0 });
  const four = new Intl.NumberFormat(language(), { minimumFractionDigits: 4, maximumFractionDigits: 4 });
  return found.map(({ epsilon, delta, crowd, own }) =>
    t(own === null ? "centralCrowd" : "centralOwn", {
      host: new URL(url).hostname,
      crowd: whole.format(crowd ?? 0),
      own: whole.format(own ?? 0),
      epsilon: four.format(Math.ceil(epsilon * 10_000) / 10_000), // rounded up: it is a bound
      rarely: whole.format(Math.floor((1 / delta) * (1 + 1e-12))),
    }),
  );
}

/** The address of the explanation in the language of this form. */
export const explanationOf = ({ id }: Pick<Promised, "id">): string =>
  `/explanation?${id === undefined ? "" : `plan=${id}&`}lang=${language()}`;

/**
 * The promise of the plan, as this browser has checked it, behind one sentence; through a relay, also the second one that
 * it cannot check. A weak promise is said aloud.
 */
export function promise(plan: Promised, names: readonly string[], cap: number, through?: RelayPromise): HTMLElement[] {
  const epsilon = Number(plan.epsilon);
  const [top, bottom] = plan.ratio;
  const measured = Number((top * 10_000n) / bottom + 1n) / 10_000; // rounded up: it is a bound
  const weak = weakness(plan);
  // The answers of a weak plan are not sent either; but to say so would reassure where a report gives them away.
  const title = weak === "" ? t("promiseLine") : t("weakTitle");
  // The first promise stands above it, as this browser has computed it.
  const first = t(through === undefined ? "epsilon" : "epsilonWhatever", { epsilon: plain(epsilon) });
  const second =
    through === undefined
      ? []
      : [
          ...central(through).map((text) => html("p", { "data-testid": "central-promise" }, text)),
          html("p", { class: "quiet small" }, t("relayWord", { host })),
        ];
  const checked = [
    ...(plan.id === undefined ? [] : [t("checkedPlan", { plan: plan.id.slice(0, 16) })]),
    t("checkedRatio", { measured: raised(measured), epsilon: plain(epsilon), times: raised(Math.exp(epsilon)) }),
    t("checkedCap", { cap: plain(cap) }),
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
    html("p", {}, html("a", { href: explanationOf(plan) }, t("explanation"))),
    html("details", {}, html("summary", {}, t("checked")), html("ul", {}, ...checked.map((text) => html("li", {}, text)))),
  );
  return weak === "" ? [folded] : [notice, folded];
}

/** What sending means: one line, and the whole of it folded. For a weak plan nothing says that answers stay here. */
export function finality(plan: Promised): { line: HTMLElement; folded: HTMLElement } {
  const stay = weakness(plan) === "" ? `${t("stay")} ` : "";
  const texts = [`${stay}${t("final")}`, t("unseen")].map((text) => html("p", {}, text));
  const folded = html("details", { "data-testid": "means" }, html("summary", {}, t("sendMeans")), ...texts);
  return { line: html("p", {}, t("finalLine")), folded };
}

/** The answers of a person. */
export function answered(plan: Pick<Plan, "schema">, answers: Answers, members: Members): HTMLElement {
  const given = ordered(plan.schema).filter(({ name }) => name in answers);
  const pairs = given.map((attribute) => {
    const { name, kind } = attribute;
    const value = answers[name] ?? null;
    const some = membersIn(members, name);
    const one = some?.length === 1 && Array.isArray(value);
    const date = kind === "numeric" && typeof value === "string" ? written(attribute, counted(attribute, value)) : undefined;
    const told = date ?? (kind === "numeric" && value !== null ? plain(Number(value)) : labelled(name, one ? value.length > 0 : value));
    return html("div", {}, html("dt", {}, asks(name, some)), html("dd", {}, told));
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
      const words = sentence(found);
      block.append(html("p", { class: "says" }, together + words), picture(found));
    }
    if (attributes.length > MOST_TOLD) block.append(html("p", {}, t("similar", { count: attributes.length - MOST_TOLD })));
    return block;
  });
  return [...parts, bytes(report)];
}

/** What a view looks at. */
function looked(view: View): (string | HTMLElement)[] {
  const { kind, of, seen } = view;
  const [one, other] = of.map((name) => html("em", {}, name)) as [HTMLElement, HTMLElement];
  if (kind === "bands" && seen.kind === "categorical") return [one, t("bands", { count: seen.values.length })];
  if (kind === "sides") return [t("sides"), one, t("and"), other];
  if (kind === "member") return [html("em", {}, memberName(view))];
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
