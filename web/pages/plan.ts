// The dashboard of a plan: its heading, its attributes, and the stream that keeps them current.

import { Failure, get, getText, listen, type Listener } from "./api.js";
import { print } from "./blocks.js";
import { warm } from "./charts.js";
import { Against } from "./against.js";
import { Changing, days } from "./changing.js";
import { Collection } from "./collection.js";
import { remember } from "./calendar.js";
import { choose } from "./controls.js";
import type { Attribute, EstimateRow, Estimates, Manipulations, Margins, Period, PlanEntry, Statement, Timeline } from "./documents.js";
import { button, byId, html } from "./elements.js";
import { Filter } from "./filter.js";
import { fragment, write } from "./fragment.js";
import { TEXT, TextSection } from "./frequent.js";
import { Headline } from "./headlines.js";
import { Relations } from "./relations.js";
import { Section } from "./section.js";
import { cost, percent, ratio, save, say, whole } from "./text.js";

const MOST_SECTIONS = 24; // attributes at once, unless the reader wants more
const FEW = 12; // attributes that need no filter
const LEVELS = ["0.9", "0.95", "0.99"];

/** Screens on which the options lie open beside the heading. As in dashboard.css. */
const roomy = matchMedia("(min-width: 40rem)");
roomy.addEventListener("change", () => {
  const options = document.querySelector<HTMLDetailsElement>("details.options");
  if (options !== null && roomy.matches) options.open = true;
});

/** The heading of a plan, and its changing parts. */
class Heading {
  private readonly count = html("span", { class: "count number", "data-testid": "report-count" }, "…");
  private readonly unit = html("span", {}, " reports");
  private readonly closed = html(
    "p",
    { class: "notice", "data-testid": "closed", hidden: true },
    "This plan is closed: it takes no more reports.",
  );
  private readonly other = html("p", { class: "notice", role: "status", "data-testid": "rounds", hidden: true });
  private readonly refused = html("p", { class: "notice", "data-testid": "refused", hidden: true });
  private readonly moves = html("p", { class: "small", "data-testid": "moves", hidden: true });
  private readonly links: HTMLElement[];
  readonly nodes: readonly HTMLElement[];

  constructor(
    plan: string,
    title: string,
    parts: readonly (readonly [string, string])[],
    private readonly texts: boolean,
  ) {
    const form = `/?plan=${plan}`;
    const above = byId("to-form");
    above.setAttribute("href", form);
    const answer = html("a", { class: "small screen", href: form, "data-testid": "form-link" }, "Answer it yourself");
    this.links = [above, answer];
    this.nodes = [
      html("h1", { "data-testid": "title" }, title),
      this.closed,
      this.other,
      this.refused,
      html(
        "div",
        { class: "headline" },
        html("p", { class: "counted" }, this.count, this.unit),
        this.moves,
        answer,
      ),
      html(
        "nav",
        { class: "parts screen small", "aria-label": "Parts of this page", "data-testid": "parts" },
        ...parts.map(([id, name]) => html("a", { href: `#${id}` }, name)),
      ),
    ];
  }

  show(entry: PlanEntry): void {
    say(this.count, whole(entry.reports));
    say(this.unit, entry.reports === 1 ? " report" : " reports");
    this.moves.hidden = entry.shown.every === 0 && entry.shown.least <= 1;
    say(this.moves, moving(entry));
    this.closed.hidden = entry.open;
    this.refused.hidden = entry.refused === 0;
    say(this.refused, dropped(entry.refused));
    this.link(entry);
    for (const link of this.links) link.hidden = !entry.open;
  }

  /** Lead from a pilot to the plan that follows it, and back. */
  private link({ after, next }: PlanEntry): void {
    const id = next ?? after;
    if (id === null || !this.other.hidden) return; // once said, it stays true
    const to = (words: string): HTMLElement => html("a", { href: `/dashboard?plan=${id}` }, words);
    this.other.hidden = false;
    if (next === null && this.texts) this.other.append("This plan follows ", to("a first round"), ", whose reports chose its texts.");
    else if (next === null) this.other.append("This plan follows ", to("a pilot"), `, whose reports chose its ranges.${NOBODY}`);
    else this.other.append("This pilot is over. People who have not answered it get ", to("the plan that follows"), `, with narrower ranges.${NOBODY}`);
  }
}

/** What a relay has brought in vain. */
const dropped = (reports: number): string =>
  `${whole(reports)} sealed ${reports === 1 ? "report was" : "reports were"} dropped: sealed for another key, no reports at all, or twice in a batch.`;

const NOBODY = " Nobody answers both, so each has its own results."; // ends both sentences below

/** When the numbers move: never by one report, so that no reader can know whose it is. */
function moving({ reports, shown }: PlanEntry): string {
  const ways = [];
  if (shown.every > 0) ways.push(`at most every ${whole(shown.every)} seconds`);
  if (shown.least > 1) ways.push(`by ${whole(shown.least)} reports or more`);
  const first = reports === 0 && shown.least > 1 ? `Shown from ${whole(shown.least)} reports on. ` : "";
  return `${first}These numbers move ${ways.join(", and ")}.`;
}

/** The attributes of a plan: some of them, those that the reader looks for, or all. */
class Attributes {
  readonly nodes: readonly HTMLElement[];
  readonly cards = html("ul", { class: "headlines", "data-testid": "headlines" });
  readonly head: readonly HTMLElement[];
  private readonly sections = new Map<string, Section | TextSection>();
  private readonly headlines = new Map<string, Headline>();
  private readonly costs = new Map<string, string>();
  private readonly list = html("div", { "data-testid": "attributes" });
  private readonly none = html("p", { class: "none", role: "status", "data-testid": "no-attribute" });
  private readonly more = button("", () => this.arrange(this.shown + MOST_SECTIONS), { "data-testid": "more-attributes" });
  private shown = 0;
  private wanted = "";
  private latest: Estimates | undefined;
  private only: Period | undefined;
  private said: (attribute: string) => string = () => "";
  /** What the cards show, if it is not everything. */
  readonly period = html("p", { class: "notice", role: "status", "data-testid": "only", hidden: true });

  constructor(
    private readonly plan: string,
    private readonly statement: Statement,
    private readonly second: string | undefined,
    private readonly filtered: Filter,
  ) {
    for (const { name } of statement.attributes) this.costs.set(name, askedOf(statement, name));
    const all = statement.attributes.length;
    this.head = [...(all > FEW ? [this.filter(all)] : []), filtered.told, this.period, this.none];
    this.nodes = [this.list, this.more];
    this.arrange(MOST_SECTIONS);
  }

  private filter(all: number): HTMLElement {
    const field = html("input", { id: "filter", type: "search", autocomplete: "off", "data-testid": "filter" });
    field.addEventListener("input", () => {
      this.wanted = field.value.trim().toLowerCase();
      this.arrange(MOST_SECTIONS);
    });
    const label = html("label", { for: "filter" }, `Find one of ${whole(all)} attributes`);
    return html("div", { class: "row screen" }, label, field);
  }

  /** Show other questions. */
  refilter(): void {
    this.arrange(MOST_SECTIONS);
  }

  private arrange(shown: number): void {
    this.shown = shown;
    const { sections, list, more } = this;
    const picked = this.statement.attributes.filter(({ name }) => this.filtered.has(name));
    const matching = picked.filter(({ name }) => name.toLowerCase().includes(this.wanted));
    const kept = matching.slice(0, shown);
    const names = new Set(kept.map(({ name }) => name));
    for (const [name, section] of sections) {
      if (names.has(name)) continue;
      section.remove();
      sections.delete(name);
      this.headlines.get(name)?.root.remove();
      this.headlines.delete(name);
    }
    for (const attribute of kept) {
      const { name } = attribute;
      const section = sections.get(name) ?? this.section(attribute);
      sections.set(name, section);
      list.append(section.root);
      const headline = this.headlines.get(name) ?? new Headline(attribute, section.part);
      headline.changed(this.said(name));
      if (section instanceof TextSection) section.onFound = (said) => headline.show(said);
      this.headlines.set(name, headline);
      this.cards.append(headline.root);
    }
    this.fill();
    const none = picked.length === 0 ? "No question is ticked under Options." : "No attribute has this name.";
    say(this.none, matching.length === 0 ? none : "");
    const left = matching.length - kept.length;
    more.hidden = left === 0;
    say(more, `Show ${whole(Math.min(left, MOST_SECTIONS))} more of ${whole(matching.length)} attributes`);
  }

  private section(attribute: Attribute): Section | TextSection {
    const cost = this.costs.get(attribute.name) ?? "";
    if (attribute.holds === TEXT) return new TextSection(this.plan, attribute, cost, this.second);
    return new Section(this.plan, attribute, cost);
  }

  show(estimates: Estimates): void {
    this.latest = estimates;
    this.fill();
  }

  /** Say on each card what has changed: `words` has a sentence for an attribute, or nothing. Show one period, or all. */
  changed(words: (attribute: string) => string, only: Period | undefined): void {
    this.said = words;
    for (const [name, headline] of this.headlines) headline.changed(words(name));
    this.only = only;
    this.period.hidden = only === undefined;
    const texts = this.statement.attributes.some(({ holds }) => holds === TEXT) ? " Cards of texts show all periods." : "";
    const counted = only === undefined ? "" : `${whole(only.reports)} ${only.reports === 1 ? "report" : "reports"}`;
    say(this.period, only === undefined ? "" : `These cards show ${days(only)} alone: ${counted}. All that follows them shows all periods.${texts}`);
    this.fill();
  }

  private fill(): void {
    if (this.latest === undefined) return;
    const { estimates, reports, level } = this.latest;
    const rows = this.rows(estimates);
    const shown = this.only === undefined ? rows : this.rows(this.only.estimates);
    const counted = this.only?.reports ?? reports;
    for (const [name, section] of this.sections) section.update(rows.get(name) ?? [], reports, level);
    for (const [name, headline] of this.headlines) {
      // The card of a text is filled by its section, which asks for the texts.
      if (!(this.sections.get(name) instanceof TextSection)) headline.update(shown.get(name) ?? [], counted);
    }
  }

  /** The estimates of each attribute that is shown. */
  private rows(estimates: readonly EstimateRow[]): Map<string, EstimateRow[]> {
    const rows = new Map<string, EstimateRow[]>();
    for (const row of estimates) {
      if (!this.sections.has(row.attribute)) continue;
      const found = rows.get(row.attribute);
      if (found === undefined) rows.set(row.attribute, [row]);
      else found.push(row);
    }
    return rows;
  }
}

/** Who is asked about an attribute, and what an answer costs. */
function askedOf({ questions, allowed, k }: Statement, name: string): string {
  const about = questions.filter((question) => question.attributes.includes(name));
  const dearest = about.reduce((a, b) => (Number(b.epsilon) > Number(a.epsilon) ? b : a));
  const costs = `an answer costs ε = ${cost(dearest.epsilon, allowed)} at most.`;
  // Of several questions nobody answers two if everybody answers one, and otherwise some people may.
  if (about.length > 1 && k > 1) return `${whole(about.length)} questions are about it, and ${costs}`;
  const asked = about.reduce((sum, question) => sum + ratio(question.inclusion), 0);
  const who = asked > 1 - 1e-9 ? "Everybody is asked" : `${percent(asked)} of people are asked`;
  const ways = about.length > 1 ? `, each in one of ${whole(about.length)} questions` : "";
  const together = about.length === 1 && dearest.attributes.length > 1 ? " together with others" : "";
  return `${who}${together}${ways}, and ${costs}`;
}

/** What the intervals claim, and what they cannot. */
function meaning(level: string, texts: boolean): string {
  return (
    `Each number lies between its bounds with ${percent(Number(level))} probability; the shares of one question do so all at ` +
    `once${texts ? ", and those of texts on average" : ""}. That covers the noise of privacy and the chance of who answered. ` +
    "It does not cover people who declined or lied."
  );
}

let taking: AbortController | undefined; // of the plan that is shown

/** Show a plan, and keep it current. */
export async function showPlan(
  view: HTMLElement,
  plan: string,
  plans: readonly PlanEntry[],
  listener: Pick<Listener, "state" | "refused">,
): Promise<void> {
  warm();
  const statement = await get<Statement>(`/plans/${plan}/statement`);
  remember(statement.attributes); // before anything is drawn
  const title = statement.title === "" ? `Plan ${plan.slice(0, 12)}` : statement.title;
  document.title = `${title} · hush`;
  let level = "0.95";
  const texts = statement.attributes.some(({ holds }) => holds === TEXT);
  const heading = new Heading(plan, title, [
    ["results", "Results"],
    ["estimates", "Distributions and shares"],
    ...(statement.relations.length > 0 ? ([["relations", "Relations"]] as const) : []),
    ...(plans.length > 1 ? ([["against", "Another plan"]] as const) : []),
    ["timeline", "Reports over time"],
    ["sure", "How sure is this?"],
  ], texts);
  const filter = new Filter(statement.attributes, () => {
    attributes.refilter();
    for (const part of [relations, changing]) part.filter((name) => filter.has(name));
    keep();
  });
  const attributes = new Attributes(plan, statement, plans.findLast(({ after }) => after === plan)?.id, filter);
  const relations = new Relations(plan, statement.relations, level);
  const collection = new Collection(statement, title, connect);
  const listed = { ...statement, attributes: statement.attributes.filter(({ holds }) => holds !== TEXT) };
  const changing = new Changing(plan, listed, level, (words, only) => attributes.changed(words, only), pick);
  const against = new Against(plan, plans, listed, level);

  let period = "";
  function pick(first: string): void {
    period = first;
    changing.pick(first);
    keep();
  }

  /** Keep what is chosen in the address, so that it can be sent to others. */
  function keep(): void {
    write({ part: fragment().part, show: filter.shown, period });
  }

  /** Take what an address says. A link to a part of this page says nothing of it, and changes nothing. */
  function take(): void {
    const said = fragment();
    const silent = said.show === undefined && said.period === "";
    if (said.part !== "" && silent) return keep();
    if (JSON.stringify(said.show) !== JSON.stringify(filter.shown)) filter.take(said.show);
    if (said.period !== period) pick(said.period);
  }

  /** The interface's own file, so that there is only one format. */
  async function saveAll(): Promise<void> {
    try {
      const text = await getText(`/plans/${plan}/estimates?format=csv&intervals=together&level=${level}`);
      save(`${title}-estimates-${100 * Number(level)}.csv`, "text/csv", text);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      listener.refused(error);
    }
  }

  const meant = html("p", { class: "quiet small", "data-testid": "meaning" }, meaning(level, texts));
  // Above the results on a desk; folded on a phone, whose first screen is for results.
  const controls = html(
    "details",
    { class: "options small screen", "data-testid": "options", open: roomy.matches },
    html("summary", {}, "Options"),
    html(
      "div",
      { class: "row" },
      choose({
        label: "Intervals that cover the truth with",
        after: "probability",
        testid: "level",
        values: LEVELS,
        chosen: level,
        changed: (value) => {
          level = value;
          say(meant, meaning(level, texts));
          relations.choose(level);
          changing.choose(level);
          against.choose(level);
          connect();
        },
      }),
      changing.control,
      html(
        "div",
        { class: "row screen" },
        button("All estimates as CSV", () => void saveAll(), { "data-testid": "download-all" }),
        button("Print", () => void print(), { "data-testid": "print" }),
      ),
      ...filter.nodes,
    ),
  );
  view.replaceChildren(
    ...heading.nodes,
    html(
      "section",
      { id: "results", "aria-labelledby": "results-heading" },
      html("div", { class: "row spread" }, html("h2", { id: "results-heading" }, "Results"), controls),
      ...attributes.head,
      attributes.cards,
      meant,
    ),
    html(
      "section",
      { id: "estimates", "aria-labelledby": "estimates-heading" },
      html("h2", { id: "estimates-heading" }, "Distributions and shares"),
      ...attributes.nodes,
    ),
    ...relations.nodes,
    changing.root,
    ...against.nodes,
    collection.timeline.root,
    html(
      "details",
      { id: "sure", class: "card sure", "data-testid": "sure" },
      html("summary", {}, html("h2", {}, "How sure is this?"), html("span", { class: "quiet small" }, "Margins, cost and liars")),
      ...statement.sentences.map((sentence) => html("p", { "data-testid": "privacy-sentence" }, sentence)),
      ...collection.folded.map((block) => block.root),
    ),
  );

  taking?.abort();
  taking = new AbortController();
  addEventListener("hashchange", take, { signal: taking.signal });
  take();

  let stream: { stop: () => void } | undefined;
  function connect(): void {
    stream?.stop();
    stream = listen(`/plans/${plan}/stream?view=dashboard&intervals=together&level=${level}&share=${collection.share}`, {
      ...listener,
      event(name, data) {
        if (name === "plan") heading.show(data as PlanEntry);
        else if (name === "estimates") {
          attributes.show(data as Estimates);
          const { reports } = data as Estimates;
          relations.update(reports);
          changing.update(reports);
          against.update(reports);
        } else if (name === "margins") collection.showMargins(data as Margins);
        else if (name === "manipulation") collection.showLiars(data as Manipulations);
        else if (name === "timeline") collection.showTimeline(data as Timeline);
      },
    });
  }
  connect();
}
