/** The form's own words, in the language of the reader. English comes with the form; others are loaded when needed. */
import english from "./words-en.json";

export type Key = keyof typeof english;
type Catalogue = Record<Key, string>;

const LANGUAGES = ["en", "de", "fr", "es", "zh"];

let words: Catalogue = english;
let current = "en";

/** The language of this page. */
export const language = (): string => current;

/** The language to speak: that of the address, of the presentation, of the browser, or English. */
export function chosen(presented: string): string {
  const asked = new URL(location.href).searchParams.get("lang");
  const wanted = [asked, presented, ...navigator.languages].map((tag) => (tag ?? "").toLowerCase().split("-")[0] ?? "");
  return wanted.find((tag) => LANGUAGES.includes(tag)) ?? "en";
}

/** Speak a language from now on. A catalogue that cannot be loaded leaves English. */
export async function speak(tag: string): Promise<void> {
  if (tag === current) return;
  if (tag === "en") {
    words = english;
  } else {
    const response = await fetch(`/pages/words-${tag}.json`, { credentials: "omit" }).catch(() => undefined);
    const found: unknown = response?.ok ? await response.json().catch(() => undefined) : undefined;
    if (typeof found !== "object" || found === null) return;
    words = { ...english, ...found };
  }
  current = tag;
  document.documentElement.lang = tag;
}

/** A sentence, with values for its {placeholders}. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  return words[key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
