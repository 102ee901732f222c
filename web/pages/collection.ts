// Blocks about a whole collection: reports over time, margins, the cost of each answer, and the harm of liars.

import { Block, type Cell, numeric, text } from "./blocks.js";
import { MOST_BARS } from "./charts.js";
import { choose } from "./controls.js";
import type { Manipulations, Margins, Statement, Timeline } from "./documents.js";
import { column, counted, largest, moment, number, percent, percents, ratio, roundedUp, whole } from "./text.js";

const SHARES = ["0.001", "0.01", "0.05", "0.1"];

/** These parts of the page. Each method takes the document of its name. */
export class Collection {
  readonly folded: readonly Block[];
  readonly timeline: Block;
  private readonly margins: Block;
  private readonly liars: Block;
  /** The share of liars that the reader has chosen. */
  share = "0.01";

  constructor(
    private readonly statement: Statement,
    title: string,
    changed: () => void,
  ) {
    this.timeline = new Block({
      heading: "Reports over time",
      level: 2,
      kind: "timeline",
      testid: "timeline",
      caption: "number of reports over time",
      description: "The number of reports over time. The table has the numbers.",
      file: `${title}-reports`,
      words: "Since this collector was started: these times are held in memory, for all people together, and hush writes none to disk.",
    });
    this.margins = new Block({
      heading: "Promised and achieved",
      level: 2,
      kind: "promises",
      even: true,
      testid: "margins",
      caption: "margins, predicted and achieved",
      description: "Margins as parts of each scale: bars for those predicted, dots for those achieved. The table has the numbers.",
      file: `${title}-margins`,
      words:
        "The bar is the margin that was predicted for this number of people in the worst case, before anybody was asked. The " +
        "dot is half of the current interval; it should lie in the bar, or near its end. For several shares, the largest counts.",
    });
    const privacy = new Block({
      heading: "Cost of each answer",
      level: 2,
      testid: "privacy",
      caption: "exact cost of each answer",
      file: `${title}-privacy`,
      words:
        "No answer is more than this ratio times likelier for one person than for another; ε (epsilon) is its logarithm, rounded " +
        "up. Both are proved in exact arithmetic, and hold no matter what anybody does with the reports.",
    });
    this.liars = new Block({
      heading: "If some people lie",
      level: 2,
      testid: "manipulation",
      caption: "largest error that liars can cause",
      file: `${title}-manipulation`,
    });
    this.liars.control(
      choose({
        label: "Share of the reports that liars sent",
        testid: "share",
        values: SHARES,
        chosen: this.share,
        changed: (value) => {
          this.share = value;
          changed();
        },
      }),
    );
    this.folded = [this.margins, privacy, this.liars];
    this.timeline.root.classList.add("card");
    showPrivacy(privacy, statement);
  }

  showMargins(found: Margins): void {
    const rows = found.margins;
    const parts = rows.map((row) => (row.predicted === null || row.achieved === null ? null : row.achieved / row.predicted));
    const part = percents(largest(parts));
    const inPercent = percents(largest(rows.filter(isShare).map((row) => row.predicted)));
    this.margins.update({
      columns: [
        { name: "estimate", text: true },
        { name: "predicted" },
        { name: "achieved" },
        { name: "of predicted", file: "achieved of predicted" },
      ],
      rows: rows.map((row, index) => {
        const write = isShare(row) ? inPercent : column(largest([row.predicted, row.achieved]), 3);
        const margin = (value: number): string => `± ${write(value)}`;
        return [
          text(`${row.attribute}, ${row.estimate}`),
          numeric(row.predicted, margin),
          numeric(row.achieved, margin),
          numeric(parts[index] ?? null, part),
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
      level: found.level,
      note:
        found.reports === 0
          ? "There is no report yet."
          : `Margins of ${percent(found.level)} intervals, from ${counted(found.reports, "report")}.` +
            (rows.length > MOST_BARS ? ` The first ${MOST_BARS} are drawn, all are in the table.` : ""),
    });
  }

  showLiars(found: Manipulations): void {
    const parts = found.shifts.map((row) => (row.shift === null ? null : row.shift / row.scale));
    const part = percents(largest(parts));
    const inPercent = percents(largest(found.shifts.filter(isShare).map((row) => row.shift)));
    const { k, questions } = this.statement;
    const why =
      k < questions.length
        ? " The bound is large because liars are assumed to pick their question: all of them may answer the same one, but " +
          "only some of the honest people are asked it."
        : "";
    this.liars.update({
      columns: [{ name: "estimate", text: true }, { name: "off by at most" }, { name: "of its scale" }],
      rows: found.shifts.map((row, index) => [
        text(`${row.attribute}, ${row.estimate}`),
        numeric(row.shift, isShare(row) ? inPercent : number, "no bound"),
        numeric(parts[index] ?? null, part, "no bound"),
      ]),
      note:
        `If ${percent(found.share)} of the reports (${whole(found.liars)} of ${whole(found.reports)}) were sent by liars, ` +
        `each of whom picks the answer that does most harm, estimates could be off by at most this much.${why}`,
    });
  }

  showTimeline(found: Timeline): void {
    const time = (index: number): number => 1000 * (found.start + index * found.width);
    let total = found.before + found.elsewhere;
    const values = [{ time: time(0), total }];
    const rows: Cell[][] = [];
    found.counts.forEach((added, index) => {
      total += added;
      values.push({ time: time(index + 1), total });
      if (added === 0) return;
      const from = new Date(time(index));
      rows.unshift([{ show: moment(from), raw: from.toISOString() }, numeric(added, whole), numeric(total, whole)]);
    });
    const last = values.at(-1);
    if (last !== undefined && Date.now() > last.time) values.push({ time: Date.now(), total });
    const notes = [];
    if (found.before > 0) notes.push(`${whole(found.before)} reports were counted before the start.`);
    if (found.elsewhere > 0) notes.push(`${whole(found.elsewhere)} were counted by other collectors since.`);
    if (rows.length === 0) {
      this.timeline.empty([...notes, "No report has arrived since the start."].join(" "));
      return;
    }
    const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    notes.push(`Times of your zone (${zone}), in steps of ${whole(found.width)} s.`);
    this.timeline.update({
      columns: [{ name: "from", text: true }, { name: "new" }, { name: "in all" }],
      rows,
      values,
      note: notes.join(" "),
    });
  }
}

/** Means are written on their own scale, shares in per cent. */
function isShare(row: { estimate: string }): boolean {
  return row.estimate !== "mean";
}

function showPrivacy(block: Block, statement: Statement): void {
  const { questions, k } = statement;
  const asked = percents(Math.min(1, ...questions.map((question) => ratio(question.inclusion))));
  const written = (given: string | null): Cell => ({ show: given ?? "thousands of digits", raw: given });
  block.update({
    columns: [
      { name: "question about", text: true },
      { name: "channel", text: true },
      { name: "asked of" },
      { name: "ε", file: "epsilon" },
      { name: "ratio, exactly" },
    ],
    rows: [
      [
        text("each person"),
        text(`${whole(k)} of ${whole(questions.length)}`),
        { show: asked(1), raw: "1" },
        { show: roundedUp(statement.epsilon, 6), raw: statement.epsilon },
        written(statement.ratio),
      ],
      ...questions.map((question) => [
        text(question.asks),
        text(question.channel),
        { show: asked(ratio(question.inclusion)), raw: question.inclusion },
        { show: roundedUp(question.epsilon, 6), raw: question.epsilon },
        written(question.ratio),
      ]),
    ],
  });
}
