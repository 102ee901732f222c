/** Dates and times of day on the pages: numbers of days since 1970, or of steps since midnight, and texts. */

/** What is known of an attribute: its kind, and how many seconds a step has. */
export interface Dated {
  readonly holds?: string | undefined;
  readonly step?: number | null | undefined;
}

const DAY = 864e5;

/** Whether the numbers of an attribute are dates or times of day. */
export const isDated = ({ holds }: Dated): boolean => holds === "date" || holds === "time";

const milliseconds = ({ holds, step }: Dated, value: number): number => value * (holds === "date" ? DAY : 1000 * (step ?? 60));

/** A number as the text that records and inputs have: 2020-12-31, 07:30, or 07:30:15 where steps have seconds. */
export function iso(attribute: Dated, value: number): string {
  if (attribute.holds === "date") return new Date(Math.round(value) * DAY).toISOString().slice(0, 10);
  const fine = (attribute.step ?? 60) % 60 === 0 ? 60_000 : 1000;
  const time = Math.round(milliseconds(attribute, value) / fine) * fine;
  return new Date(((time % DAY) + DAY) % DAY).toISOString().slice(11, fine === 1000 ? 19 : 16);
}

/** The number of a text; it need not be within the bounds. A time is counted from the step `low` on. */
export function counted(attribute: Dated & { low: number }, text: string): number {
  if (attribute.holds === "date") return Date.parse(text) / DAY;
  const step = attribute.step ?? 60;
  const turn = 86400 / step;
  const found = Math.floor(Date.parse(`1970-01-01T${text}Z`) / 1000 / step);
  return attribute.low + ((((found - attribute.low) % turn) + turn) % turn);
}

/** A number as people of a language write a date or a time of day. */
export function spoken(attribute: Dated, value: number, language = "en-GB"): string {
  if (attribute.holds === "time") return iso(attribute, value);
  return new Intl.DateTimeFormat(language, { dateStyle: "long", timeZone: "UTC" }).format(Math.round(value) * DAY);
}

/** A difference in days, or in hours, minutes or seconds. */
export function length(attribute: Dated, size: number): string {
  const written = (value: number, unit: string): string => {
    const text = new Intl.NumberFormat("en", { maximumSignificantDigits: Math.abs(value) >= 100 ? 12 : 3, maximumFractionDigits: 2, signDisplay: "negative" }).format(value);
    return `${text}\u00a0${unit}${text === "1" ? "" : "s"}`;
  };
  if (attribute.holds === "date") return written(size, "day");
  const seconds = milliseconds(attribute, size) / 1000;
  if (Math.abs(seconds) >= 3600) return written(seconds / 3600, "hour");
  return Math.abs(seconds) >= 60 ? written(seconds / 60, "minute") : written(seconds, "second");
}

/** The unit in which differences are drawn, and how many of it a number is. */
export function drawnIn({ holds, step }: Dated): readonly [string, number] {
  return holds === "date" ? ["days", 1] : ["minutes", (step ?? 60) / 60];
}

/** Round places on an axis between two numbers: years, months, hours. At most eight. */
export function marks(attribute: Dated, low: number, high: number): number[] {
  if (attribute.holds === "time") {
    const steps = [60, 300, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600].map((seconds) => seconds / (attribute.step ?? 60));
    const size = steps.find((one) => one >= 1 && (high - low) / one <= 8) ?? high - low;
    const first = Math.ceil(low / size);
    return Array.from({ length: Math.floor(high / size) - first + 1 }, (_, i) => (first + i) * size);
  }
  const [first, last] = [low, high].map((value) => new Date(value * DAY));
  if (first === undefined || last === undefined) return [];
  const months = (date: Date): number => date.getUTCFullYear() * 12 + date.getUTCMonth();
  const [from, to] = [months(first) + (first.getUTCDate() > 1 ? 1 : 0), months(last)];
  const size = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000].find((one) => (to - from) / one <= 7) ?? to - from;
  if (to - from < 2) {
    const days = Math.max(1, Math.ceil((high - low) / 7));
    return Array.from({ length: Math.floor((high - low) / days) + 1 }, (_, i) => low + i * days);
  }
  const begun = Math.ceil(from / size);
  return Array.from({ length: Math.floor(to / size) - begun + 1 }, (_, i) => {
    const date = new Date(0);
    date.setUTCFullYear(Math.floor(((begun + i) * size) / 12), ((begun + i) * size) % 12, 1);
    return date.getTime() / DAY;
  });
}

/** A mark on an axis, as short as it can be: the year of the first of January, else the month or the day. */
export function mark(attribute: Dated, value: number): string {
  const text = iso(attribute, value);
  if (attribute.holds === "time") return text;
  return text.endsWith("-01-01") ? text.slice(0, 4) : text.endsWith("-01") ? text.slice(0, 7) : text;
}

const known = new Map<string, Dated & { low: number; high: number }>();

/** Remember which attributes of the shown plan are dates or times of day. */
export function remember(attributes: readonly (Dated & { name: string; low: number | null; high: number | null })[]): void {
  known.clear();
  for (const { name, holds, step, low, high } of attributes)
    if (isDated({ holds })) known.set(name, { holds, step, low: low ?? 0, high: high ?? 1 });
}

/** What is remembered of an attribute: nothing if its numbers are its words. */
export const datedAs = (name: string): (Dated & { low: number; high: number }) | undefined => known.get(name);

/** The expression that writes such a number, of a row or of an axis. */
export function expression({ holds, step }: Dated, value: string): string {
  return holds === "date"
    ? `utcFormat(${value} * 86400000, '%Y-%m-%d')`
    : `utcFormat(${value} * ${1000 * (step ?? 60)}, '%H:%M${(step ?? 60) % 60 === 0 ? "" : ":%S"}')`;
}

/** The expression that labels an axis, as short as `mark` is. */
export function marked(attribute: Dated): string {
  if (attribute.holds !== "date") return expression(attribute, "datum.value");
  const time = "datum.value * 86400000";
  return `utcFormat(${time}, utcdate(${time}) != 1 ? '%Y-%m-%d' : utcmonth(${time}) == 0 ? '%Y' : '%Y-%m')`;
}
