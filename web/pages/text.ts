// Numbers and tables as people read them, and as files.

// No number is written as -0: what is rounded to 0 has no sign.
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0, signDisplay: "negative" });

export function whole(value: number): string {
  return WHOLE.format(value);
}

/** Why there is no number: too few people answered to say anything, or it is not known. */
export function lacking(needed: number | null | undefined): string {
  return needed == null ? "unknown" : `too few answers: about ${whole(needed)} are needed`;
}

/** A number with its noun: 1 report, 2 reports. */
export function counted(value: number, noun: string): string {
  return `${whole(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Write a number with four digits, as the command line does. */
export function number(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 1e-9 || size >= 1e15) return Number(value.toPrecision(4)).toExponential().replace("e+", "e");
  return size >= 1000 ? WHOLE.format(value) : new Intl.NumberFormat("en", { maximumSignificantDigits: 4 }).format(value);
}

/** Writes the numbers of a column. */
export type Write = (value: number) => string;

/** Write all numbers of a column with the same decimals, so that a number of the size of `fine` has `figures` digits. */
export function column(fine: number, figures: number): Write {
  if (!(fine > 1e-9 && fine < 1e12)) return number;
  const places = Math.min(20, Math.max(0, figures - 1 - Math.floor(Math.log10(fine))));
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: places, maximumFractionDigits: places, signDisplay: "negative" });
  return (value) => format.format(value);
}

/** The largest of some numbers, whatever their signs; 0 if there is none. */
export function largest(values: readonly (number | null)[]): number {
  return values.reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
}

/** Write all shares of a column in per cent, with the same decimals. */
export function percents(fine: number, figures = 3): Write {
  const write = column(100 * fine, figures);
  return (value) => `${write(100 * value)} %`;
}

/** One share in per cent. */
export function percent(value: number, places = 3): string {
  return `${new Intl.NumberFormat("en", { maximumSignificantDigits: places }).format(100 * value)} %`;
}

/** A bound on a share in per cent: with two digits, and never too small. */
export function atMost(share: number): string {
  const value = 100 * share;
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  const raised = value > 0 ? Math.ceil(value / step - 1e-9) * step : 0;
  return `${new Intl.NumberFormat("en", { maximumSignificantDigits: 2 }).format(raised)} %`;
}

/** A time in the reader's zone: the date as everybody reads it, the time as the reader does. */
export function moment(time: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${time.toLocaleTimeString()}`;
}

/** Round a decimal number, written in digits, up: a stated cost is never below the true one. */
export function roundedUp(text: string, places: number): string {
  const [before = "0", after = ""] = text.split(".");
  const kept = BigInt(before + after.slice(0, places).padEnd(places, "0"));
  const rest = after.slice(places);
  const all = (kept + (/[1-9]/.test(rest) ? 1n : 0n)).toString().padStart(places + 1, "0");
  return `${all.slice(0, -places)}.${all.slice(-places)}`;
}

/** A cost in a sentence: rounded up, without trailing zeros, and never above the allowed one. */
export function cost(epsilon: string, allowed: string): string {
  const told = roundedUp(epsilon, 6).replace(/\.?0+$/, "");
  const most = ratio(allowed);
  return Number(told) >= most ? String(most) : told;
}

/** Return the value of "p/q". */
export function ratio(text: string): number {
  const [top = "0", bottom = "1"] = text.split("/");
  return Number(top) / Number(bottom);
}

export type Raw = string | number | null;

// The start of a formula for a spreadsheet, at the start or after a separator of cells: as in src/hush/show/csv.py.
const FORMULA = /(^|[;|\t\r\n])((?:(?![;|\t\r\n])[\s\x00-\x20\x85\ufeff])*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
const NUMBER = /^[+\-][0-9]+(\.[0-9]+)?$/;

/**
 * Return rows as CSV (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe in front, as in
 * the collector's own files.
 */
export function csv(rows: readonly (readonly Raw[])[]): string {
  const cell = (value: Raw): string => {
    const named = typeof value === "string" && !NUMBER.test(value);
    const text = named ? value.replace(FORMULA, "$1'$2") : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Let the reader save a text, or other content, as a file. */
export function save(name: string, type: string, content: string | Blob): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 100);
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Set a text only if it differs, to spare announcements and layout. */
export function say(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}
