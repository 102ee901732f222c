/** The form's own words, in the language of the reader. English comes with the form; others are loaded when needed. */
import english from "./words-en.json";

export type Key = keyof typeof english;
type Catalogue = Record<Key, string>;

const LANGUAGES = ["en", "de", "fr", "es", "zh"];

/** Languages that the operator has added by files. */
const added = (document.documentElement.dataset["languages"] ?? "").split(" ").filter((tag) => tag !== "");

let words: Catalogue = english;
let current = "en";

/** The language of this page. */
export const language = (): string => current;

const main = (tag: string): string => tag.toLowerCase().split("-")[0] ?? "";
const known = (tag: string): boolean => LANGUAGES.includes(tag) || added.includes(tag);
const asked = (): string => main(new URL(location.href).searchParams.get("lang") ?? "");

/** Whether the address names a language that this page speaks. */
export const named = (): boolean => known(asked());

/** The language to speak: that of the address, of the presentation, of the browser, or English. */
export function chosen(presented: string): string {
  return [asked(), presented, ...navigator.languages].map(main).find(known) ?? "en";
}

/** Sentences by their keys, from a file of the collector; nothing if there is none. */
export async function catalogue(name: string): Promise<Record<string, string> | undefined> {
  const response = await fetch(`/pages/${name}.json`, { credentials: "omit" }).catch(() => undefined);
  const found: unknown = response?.ok ? await response.json().catch(() => undefined) : undefined;
  return typeof found === "object" && found !== null ? (found as Record<string, string>) : undefined;
}

/** Speak a language from now on. A catalogue that cannot be loaded leaves English. */
export async function speak(tag: string): Promise<void> {
  if (tag === current) return;
  if (tag === "en") {
    words = english;
  } else {
    const found = await catalogue(`words-${tag}`);
    if (found === undefined) return;
    words = { ...english, ...found };
  }
  current = tag;
  document.documentElement.lang = tag;
}

/** A sentence, with values for its {placeholders}. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  return words[key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
