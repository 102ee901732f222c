// Numbers and tables as people read them, and as files.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function whole(value: number): string {
  return WHOLE.format(value);
}

/** Write a number with four digits, as the command line does. */
export function number(value: number): string {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 1e-4 || size >= 1e12) return value.toExponential(3);
  return size >= 1000 ? WHOLE.format(value) : new Intl.NumberFormat("en", { maximumSignificantDigits: 4 }).format(value);
}

/** Return how numbers of an interval are written: so that half of it has two digits. */
export function digits(low: number | null, high: number | null, factor = 1): (value: number | null) => string {
  const half = low === null || high === null ? Number.NaN : (factor * (high - low)) / 2;
  const known = half > 1e-9 && half < 1e12;
  const places = known ? Math.min(20, Math.max(0, 1 - Math.floor(Math.log10(half)))) : 0;
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: places, maximumFractionDigits: places });
  return (value) => (value === null ? "unknown" : known ? format.format(factor * value) : number(factor * value));
}

export function percent(value: number, places = 3): string {
  return `${new Intl.NumberFormat("en", { maximumSignificantDigits: places }).format(100 * value)} %`;
}

/** Round a decimal number, written in digits, up: what is said of privacy is never less than the truth. */
export function roundedUp(text: string, places: number): string {
  const [before = "0", after = ""] = text.split(".");
  const kept = BigInt(before + after.slice(0, places).padEnd(places, "0"));
  const rest = after.slice(places);
  const all = (kept + (/[1-9]/.test(rest) ? 1n : 0n)).toString().padStart(places + 1, "0");
  return `${all.slice(0, -places)}.${all.slice(-places)}`;
}

/** Return the value of "p/q". */
export function ratio(text: string): number {
  const [top = "0", bottom = "1"] = text.split("/");
  return Number(top) / Number(bottom);
}

export type Raw = string | number | null;

/** Return rows as CSV (RFC 4180). */
export function csv(rows: readonly (readonly Raw[])[]): string {
  const cell = (value: Raw): string => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Let the reader save a text as a file. */
export function save(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 100);
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Make an element. Whatever a plan says goes in as text, never as markup. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Set a text only if it is another one, so that nothing is announced or laid out for nothing. */
export function say(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}
