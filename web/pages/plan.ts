// The dashboard of a plan: what the reports say, how sure that is, and what it costs whom.

import { Failure, get, listen, type Listener } from "./api.js";
import { Block, type Cell, type Column, numeric, text } from "./blocks.js";
import { warm } from "./charts.js";
import type {
  Attribute,
  Distribution,
  EstimateRow,
  Estimates,
  Manipulations,
  Margins,
  PlanEntry,
  Statement,
  Timeline,
} from "./documents.js";
import { csv, digits, element, number, percent, ratio, roundedUp, save, say, whole } from "./text.js";

const MOST_BARS = 32;
const MOST_SECTIONS = 12; // attributes at once, unless the reader wants more
const REFRESH = 3000; // milliseconds between two questions for one distribution

const LEVELS = ["0.9", "0.95", "0.99"];
const SHARES = ["0.001", "0.01", "0.05", "0.1"];

const ESTIMATES: Column[] = [
  { name: "estimate", text: true },
  { name: "value" },
  { name: "from" },
  { name: "to" },
  { name: "answers" },
];

/** The part of the page about one attribute. */
class Section {
  readonly root: HTMLElement;
  private readonly blocks: Block[] = [];
  private readonly mean: Block | undefined;
  private readonly shares: Block | undefined;
  private readonly spread: Block | undefined;
  private rows: EstimateRow[] = [];
  private asked = { reports: -1, at: 0, busy: false };
  private reports = 0;

  constructor(
    private readonly plan: string,
    private readonly attribute: Attribute,
    cost: string,
  ) {
    const { name } = attribute;
    const id = `attribute-${Section.count++}`;
    this.root = element(
      "section",
      { class: "card attribute", "data-testid": "attribute", "data-attribute": name, "aria-labelledby": id },
      element("h3", { id }, name),
      element("p", { class: "quiet small" }, `${kindOf(attribute)} ${cost}`),
    );
    if (attribute.kind === "numeric") {
      this.mean = this.add({
        heading: "Mean",
        kind: "mean",
        testid: "mean",
        caption: `mean of ${name}`,
        description: `The mean of ${name} with its interval, on the scale of the attribute. The table beside it has the numbers.`,
        file: `${name}-mean`,
      });
      this.spread = this.add({
        heading: "Distribution",
        kind: "distribution",
        testid: "distribution",
        caption: `distribution of ${name}`,
        description: `The likeliest distribution of ${name}, as bars. The table has the numbers.`,
        file: `${name}-distribution`,
      });
      this.spread.onSight = () => this.refresh();
    }
    if (attribute.kind === "categorical" || attribute.optional) {
      const what = attribute.kind === "numeric" ? "share of missing" : "shares";
      this.shares = this.add({
        heading: attribute.kind === "numeric" ? "Missing" : "Shares",
        kind: "shares",
        testid: "shares",
        caption: `${what} of ${name}`,
        description: `The ${what} of ${name} as bars with intervals. The table beside it has the numbers.`,
        file: `${name}-shares`,
      });
    }
  }

  private static count = 0;

  private add(options: Omit<ConstructorParameters<typeof Block>[0], "level">): Block {
    const block = new Block({ ...options, level: 4 });
    this.blocks.push(block);
    this.root.append(block.root);
    return block;
  }

  update(rows: EstimateRow[], reports: number): void {
    this.rows = rows;
    this.reports = reports;
    const none = "Nobody has answered this yet.";
    const known = this.rows.filter((row) => row.point !== null);
    const mean = known.find((row) => row.category === null);
    if (this.mean !== undefined) {
      if (mean === undefined) this.mean.empty(none);
      else {
        const { low: start, high: end } = this.attribute;
        this.mean.update({
          columns: ESTIMATES,
          rows: [cells("mean", mean, 1)],
          values: [{ what: "mean", point: mean.point, low: mean.low, high: mean.high, start, end }],
        });
      }
    }
    const shares = known.filter((row) => row.category !== null);
    if (this.shares !== undefined) {
      if (shares.length === 0) this.shares.empty(none);
      else {
        const largest = new Set([...shares].sort((a, b) => (b.point ?? 0) - (a.point ?? 0)).slice(0, MOST_BARS));
        const drawn = shares.filter((row) => largest.has(row));
        const left = shares.length - drawn.length;
        this.shares.update({
          columns: ESTIMATES,
          rows: shares.map((row) => cells(String(row.category), row, 100)),
          values: drawn.map(({ category, point, low, high }) => ({ what: String(category), point, low, high })),
          ...(left > 0 ? { note: `${whole(left)} smaller shares are in the table and not drawn.` } : {}),
        });
      }
    }
    this.refresh();
  }

  /** Ask for the distribution if it is in sight, and not too often. */
  private refresh(): void {
    const { spread, asked } = this;
    if (spread === undefined || !spread.inSight || asked.busy || asked.reports === this.reports) return;
    const rest = asked.at + REFRESH - Date.now();
    asked.busy = true;
    setTimeout(
      () => {
        void this.fetchSpread(spread).finally(() => {
          asked.at = Date.now();
          asked.busy = false;
          if (asked.reports !== this.reports) this.refresh();
        });
      },
      Math.max(0, rest),
    );
  }

  private async fetchSpread(spread: Block): Promise<void> {
    const { name } = this.attribute;
    try {
      const found = await get<Distribution>(`/plans/${this.plan}/distribution?attribute=${encodeURIComponent(name)}`);
      this.asked.reports = this.reports; // it may be a little older, and is then asked for with the next reports
      if (found.why !== null) {
        spread.empty(found.reports === 0 ? "Nobody has answered this yet." : `There is none: ${found.why}.`);
        return;
      }
      const bins = found.shares.map((share, index) => ({
        start: found.edges[index] ?? 0,
        end: found.edges[index + 1] ?? 0,
        share,
      }));
      spread.update({
        columns: [{ name: "from" }, { name: "to" }, { name: "share" }],
        rows: bins.map((bin) => [
          numeric(bin.start, number),
          numeric(bin.end, number),
          numeric(bin.share, (value) => percent(value)),
        ]),
        values: bins,
        note: `The likeliest distribution, from ${whole(found.reports)} reports. It has no intervals: take its shape for a hint.`,
      });
    } catch (error) {
      this.asked.reports = this.reports;
      spread.empty(error instanceof Failure ? error.message : "It could not be loaded.");
    }
  }

  remove(): void {
    for (const block of this.blocks) block.remove();
    this.root.remove();
  }
}

function kindOf(attribute: Attribute): string {
  const missing = attribute.optional ? ", or missing" : "";
  if (attribute.kind === "numeric") {
    return `A number from ${number(attribute.low ?? 0)} to ${number(attribute.high ?? 0)}${missing}.`;
  }
  return `One of ${whole(attribute.categories)} categories${attribute.optional ? ", missing among them" : ""}.`;
}

function cells(what: string, row: EstimateRow, factor: number): Cell[] {
  const write = digits(row.low, row.high, factor);
  const unit = factor === 100 ? " %" : "";
  const cell = (value: number | null): Cell => ({ show: value === null ? "unknown" : write(value) + unit, raw: value });
  return [text(what), cell(row.point), cell(row.low), cell(row.high), numeric(row.n, whole)];
}

function select(label: string, testid: string, values: string[], chosen: string, changed: (value: string) => void): HTMLElement {
  const id = `choose-${testid}`;
  const made = element("select", { id, "data-testid": testid });
  for (const value of values) {
    const option = element("option", { value }, percent(Number(value)));
    option.selected = value === chosen;
    made.append(option);
  }
  made.addEventListener("change", () => changed(made.value));
  return element("div", { class: "row screen" }, element("label", { for: id }, label), made);
}

/** Show a plan, and keep it current. */
export async function showPlan(view: HTMLElement, plan: string, listener: Pick<Listener, "state" | "refused">): Promise<void> {
  warm();
  const statement = await get<Statement>(`/plans/${plan}/statement`);
  const title = statement.title === "" ? `Plan ${plan.slice(0, 12)}` : statement.title;
  document.title = `${title} · hush`;
  let level = "0.95";
  let share = "0.01";
  let latest: Estimates | undefined;

  const count = element("span", { class: "count number", "data-testid": "report-count" }, "…");
  const unit = element("span", {}, " reports");
  const closed = element("p", { class: "notice", "data-testid": "closed" }, "This plan is closed: it takes no more reports.");
  closed.hidden = true;
  const answer = element("a", { href: `/?plan=${plan}`, "data-testid": "form-link" }, "Answer it yourself");
  view.append(
    element("h1", { "data-testid": "title" }, title),
    closed,
    element(
      "div",
      { class: "headline" },
      element("p", { class: "counted" }, count, unit),
      element(
        "div",
        {},
        ...statement.sentences.map((sentence) => element("p", { "data-testid": "privacy-sentence" }, sentence)),
        element("p", {}, answer, " · ", element("a", { href: "/explanation" }, "What all this means")),
      ),
    ),
  );

  // -- what the reports say

  const everything = element("button", { type: "button", "data-testid": "download-all" }, "All estimates as CSV");
  everything.addEventListener("click", () => {
    if (latest === undefined) return;
    const names = ["attribute", "category", "point", "stderr", "low", "high", "n"] as const;
    save(`${title}-estimates.csv`, "text/csv", csv([[...names], ...latest.estimates.map((row) => names.map((name) => row[name]))]));
  });
  const controls = element(
    "div",
    { class: "row" },
    select("Intervals that cover the truth with", "level", LEVELS, level, (value) => {
      level = value;
      connect();
    }),
    element("div", { class: "screen" }, everything),
  );
  const sections = new Map<string, Section>();
  const list = element("div", { "data-testid": "attributes" });
  const more = element("button", { type: "button", "data-testid": "more-attributes" });
  let shown = MOST_SECTIONS;
  let wanted = "";
  more.addEventListener("click", () => {
    shown += MOST_SECTIONS;
    arrange();
  });
  const heading = element("section", { "aria-labelledby": "estimates" }, element("h2", { id: "estimates" }, "What the reports say"), controls);
  if (statement.attributes.length > MOST_SECTIONS) {
    const filter = element("input", { id: "filter", type: "search", autocomplete: "off", "data-testid": "filter" });
    filter.addEventListener("input", () => {
      wanted = filter.value.trim().toLowerCase();
      shown = MOST_SECTIONS;
      arrange();
    });
    const label = element("label", { for: "filter" }, `Find one of ${whole(statement.attributes.length)} attributes`);
    heading.append(element("div", { class: "row screen" }, label, filter));
  }
  heading.append(list, more);
  view.append(heading);

  const costs = new Map<string, string>();
  for (const question of statement.questions) {
    const asked = ratio(question.inclusion);
    const who = asked === 1 ? "Everybody is asked" : `${percent(asked)} of people are asked`;
    const together = question.attributes.length > 1 ? " together with others" : "";
    const sentence = `${who}${together}, and an answer costs epsilon = ${roundedUp(question.epsilon, 6)}.`;
    for (const name of question.attributes) costs.set(name, sentence);
  }

  function arrange(): void {
    const matching = statement.attributes.filter((attribute) => attribute.name.toLowerCase().includes(wanted));
    const kept = matching.slice(0, shown);
    const names = new Set(kept.map((attribute) => attribute.name));
    for (const [name, section] of sections) {
      if (names.has(name)) continue;
      section.remove();
      sections.delete(name);
    }
    for (const attribute of kept) {
      const { name } = attribute;
      const section = sections.get(name) ?? new Section(plan, attribute, costs.get(name) ?? "");
      sections.set(name, section);
      list.append(section.root);
    }
    fill();
    const left = matching.length - kept.length;
    more.hidden = left === 0;
    say(more, `Show ${whole(Math.min(left, MOST_SECTIONS))} more of ${whole(matching.length)} attributes`);
  }

  function fill(): void {
    if (latest === undefined) return;
    const rows = new Map<string, EstimateRow[]>();
    for (const row of latest.estimates) {
      if (!sections.has(row.attribute)) continue;
      const found = rows.get(row.attribute);
      if (found === undefined) rows.set(row.attribute, [row]);
      else found.push(row);
    }
    for (const [name, section] of sections) section.update(rows.get(name) ?? [], latest.reports);
  }

  // -- about the collection

  const timeline = new Block({
    heading: "Reports over time",
    level: 2,
    kind: "timeline",
    testid: "timeline",
    caption: "number of reports over time",
    description: "The number of reports over time. The table beside it has the numbers.",
    file: `${title}-reports`,
    words: "Since this collector was started: times are held in memory, for all people together, and never written to disk.",
  });
  const margins = new Block({
    heading: "Promised and achieved",
    level: 2,
    kind: "promises",
    testid: "margins",
    caption: "margins, predicted and achieved",
    description: "Margins as parts of each scale: bars for those predicted, dots for those achieved. The table has the numbers.",
    file: `${title}-margins`,
    words:
      "The bar is the margin that was predicted for so many people in the worst case, before anybody was asked; the dot is " +
      "half of the interval that there is now. It should lie in the bar, or near its end. Of several shares the largest counts.",
  });
  const privacy = new Block({
    heading: "What it costs whom",
    level: 2,
    testid: "privacy",
    caption: "exact cost of each answer",
    file: `${title}-privacy`,
    words:
      "No answer is more than this ratio times likelier for one person than for another; epsilon is its logarithm, rounded up. " +
      "Both are proved in exact arithmetic, and hold whatever anybody does with the reports.",
  });
  const liars = new Block({
    heading: "If some people lie",
    level: 2,
    testid: "manipulation",
    caption: "largest error that liars can cause",
    file: `${title}-manipulation`,
  });
  liars.control(
    select("Share of the reports that liars sent", "share", SHARES, share, (value) => {
      share = value;
      connect();
    }),
  );
  for (const block of [timeline, margins, privacy, liars]) {
    block.root.classList.add("card");
    view.append(block.root);
  }
  privacy.update({
    columns: [
      { name: "question about", text: true },
      { name: "channel", text: true },
      { name: "asked of" },
      { name: "epsilon" },
      { name: "ratio, exactly" },
    ],
    rows: [
      ...statement.questions.map((question) => [
        text(question.attributes.join(", ")),
        text(question.channel),
        { show: percent(ratio(question.inclusion)), raw: question.inclusion },
        { show: roundedUp(question.epsilon, 6), raw: question.epsilon },
        { show: question.ratio ?? "thousands of digits", raw: question.ratio },
      ]),
      [
        text(`each person, who answers ${whole(statement.k)} of ${whole(statement.questions.length)}`),
        text("all"),
        { show: percent(1), raw: "1" },
        { show: roundedUp(statement.epsilon, 6), raw: statement.epsilon },
        { show: statement.ratio ?? "thousands of digits", raw: statement.ratio },
      ],
    ],
  });
  arrange();

  function showMargins(found: Margins): void {
    const rows = found.margins;
    margins.update({
      columns: [{ name: "estimate", text: true }, { name: "predicted" }, { name: "achieved" }, { name: "achieved of predicted" }],
      rows: rows.map((row) => {
        const part = row.predicted === null || row.achieved === null ? null : row.achieved / row.predicted;
        const write = (value: number): string => `± ${number(value)}`;
        return [
          text(`${row.attribute}, ${row.estimate}`),
          numeric(row.predicted, write),
          numeric(row.achieved, write),
          numeric(part, (value) => percent(value)),
        ];
      }),
      values: rows
        .filter((row) => row.predicted !== null && row.achieved !== null)
        .slice(0, MOST_BARS)
        .map((row) => ({
          what: `${row.attribute}, ${row.estimate}`,
          predicted: (row.predicted ?? 0) / row.scale,
          achieved: (row.achieved ?? 0) / row.scale,
        })),
      note:
        found.reports === 0
          ? "There is no report yet."
          : `Margins of ${percent(found.level)} intervals, from ${whole(found.reports)} reports.` +
            (rows.length > MOST_BARS ? ` The first ${MOST_BARS} are drawn, all are in the table.` : ""),
    });
  }

  function showLiars(found: Manipulations): void {
    liars.update({
      columns: [{ name: "estimate", text: true }, { name: "off by at most" }, { name: "of its scale" }],
      rows: found.shifts.map((row) => [
        text(`${row.attribute}, ${row.estimate}`),
        numeric(row.shift, number, "no bound"),
        numeric(row.shift === null ? null : row.shift / row.scale, (value) => percent(value), "no bound"),
      ]),
      note:
        `If ${percent(found.share)} of the reports (${whole(found.liars)} of ${whole(found.reports)}) were sent by liars, ` +
        "each of whom picks the question and the answer that does most harm, estimates could be off by at most this much.",
    });
  }

  function showTimeline(found: Timeline): void {
    const time = (index: number): number => 1000 * (found.start + index * found.width);
    let total = found.before + found.elsewhere;
    const values = [{ time: time(0), total }];
    const rows: Cell[][] = [];
    found.counts.forEach((added, index) => {
      total += added;
      values.push({ time: time(index + 1), total });
      if (added === 0) return;
      const moment = new Date(time(index));
      rows.unshift([
        { show: moment.toLocaleString("en-GB"), raw: moment.toISOString() },
        numeric(added, whole),
        numeric(total, whole),
      ]);
    });
    const last = values.at(-1);
    if (last !== undefined && Date.now() > last.time) values.push({ time: Date.now(), total });
    const notes = [`Times in steps of ${whole(found.width)} s.`];
    if (found.before > 0) notes.unshift(`${whole(found.before)} reports were counted before the start.`);
    if (found.elsewhere > 0) notes.push(`${whole(found.elsewhere)} were counted by other collectors since.`);
    if (rows.length === 0) timeline.empty([...notes.slice(0, -1), "No report has arrived since the start."].join(" "));
    else timeline.update({ columns: [{ name: "from", text: true }, { name: "new" }, { name: "in all" }], rows, values, note: notes.join(" ") });
  }

  // -- live

  let stream: { stop: () => void } | undefined;
  function connect(): void {
    stream?.stop();
    stream = listen(`/plans/${plan}/stream?view=dashboard&level=${level}&share=${share}`, {
      ...listener,
      event(name, data) {
        if (name === "plan") {
          const entry = data as PlanEntry;
          say(count, whole(entry.reports));
          say(unit, entry.reports === 1 ? " report" : " reports");
          closed.hidden = entry.open;
          answer.hidden = !entry.open;
        } else if (name === "estimates") {
          latest = data as Estimates;
          fill();
        } else if (name === "margins") showMargins(data as Margins);
        else if (name === "manipulation") showLiars(data as Manipulations);
        else if (name === "timeline") showTimeline(data as Timeline);
      },
    });
  }
  connect();
}
