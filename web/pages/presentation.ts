/** How the form presents a plan or training: the collector's words beside its names. All of it is text, never markup. */
import type { Attribute } from "hush-client";
import type { Value } from "./around";
import { html } from "./elements";
import { t } from "./language";

/** A picture of the operator: its name under /pages, and what it shows. */
export interface Image {
  file: string;
  alt: string;
}

/** How one attribute is asked. The collector has checked it against the plan or training. */
export interface Shown {
  question: string;
  help: string;
  unit: string;
  widget: "" | "buttons" | "stars" | "slider" | "number";
  labels: Record<string, string>;
  order: string[];
  image: Image | null;
}

export interface Presentation {
  title: string;
  introduction: string;
  thanks: string;
  language: string;
  accent: string;
  order: string[];
  attributes: Record<string, Shown>;
  logo: Image | null;
}

const PLAIN: Shown = { question: "", help: "", unit: "", widget: "", labels: {}, order: [], image: null };
const NONE: Presentation = { title: "", introduction: "", thanks: "", language: "", accent: "", order: [], attributes: {}, logo: null };

let current = NONE;

/** The presentation of this page. */
export const presented = (): Presentation => current;

/** Take the presentation of a plan or training, by its path. Without one the form uses the plan's own names. */
export async function present(path: string, headers: Record<string, string>): Promise<void> {
  const options: RequestInit = { headers, credentials: "omit", cache: "no-store" };
  const response = await fetch(`${path}/presentation`, options).catch(() => undefined);
  if (response?.ok) current = { ...NONE, ...((await response.json()) as Partial<Presentation>) };
}

const loaded = new Map<string, Promise<string>>();

/**
 * Load all pictures, whatever was drawn for this device. If the form loaded that of the asked question alone, the
 * collector would see who is asked what, which a relay is there to hide. Each is loaded once, and shown from memory.
 */
export function loadImages(): void {
  const { logo, attributes } = current;
  for (const image of [logo, ...Object.values(attributes).map((shown) => shown.image ?? null)]) {
    if (image === null || loaded.has(image.file)) continue;
    const address = fetched(image.file);
    address.catch(() => undefined); // whoever shows it says so
    loaded.set(image.file, address);
  }
}

async function fetched(file: string): Promise<string> {
  if (!/^image-[\da-f]{32}\.(png|jpg|webp)$/.test(file)) throw new Error("no picture has this name");
  const response = await fetch(`/pages/${file}`, { credentials: "omit" });
  if (!response.ok) throw new Error("the picture was not sent");
  return URL.createObjectURL(await response.blob());
}

/** Show a picture; one that cannot be loaded leaves its words. */
export function imaged(image: Image | null, kind: string): HTMLElement[] {
  if (image === null) return [];
  const shown = html("img", { class: kind, alt: image.alt });
  loaded.get(image.file)?.then(
    (address) => {
      shown.src = address;
    },
    () => shown.replaceWith(html("span", { class: "quiet small" }, image.alt)),
  );
  return [shown];
}

/** How an attribute is asked. */
export function shownAs(name: string): Shown {
  return Object.hasOwn(current.attributes, name) ? { ...PLAIN, ...current.attributes[name] } : PLAIN;
}

/** The question about an attribute. */
export const titled = (name: string): string => shownAs(name).question || name;

/** The question about an attribute, or, if the report looks at one value of choices only, about that one. */
export function asks(name: string, members?: readonly string[]): string {
  const [only, more] = members ?? [];
  if (only === undefined || more !== undefined) return titled(name);
  return `${titled(name)} – ${t("among", { value: labelled(name, only) })}`;
}

/** The name of a category, as the collector has it. */
export const named = (value: Value): string => (typeof value === "boolean" ? (value ? "yes" : "no") : String(value));

/** What stands for all values that are not listed: nothing is typed. As in src/hush/core/categorical.py. */
export const OTHER = "(other)";

/** The words for a category. */
export function labelled(name: string, value: Value): string {
  const { labels } = shownAs(name);
  if (value === null) return t("unsaid");
  if (Array.isArray(value)) return value.map((one: string) => labelled(name, one)).join(", ") || t("none");
  const key = named(value);
  if (Object.hasOwn(labels, key)) return labels[key] ?? "";
  if (value === OTHER) return t("other");
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  return key.trim() === "" ? t("blank") : key; // an empty text is an answer too
}

/** Attributes in the order in which they are asked. */
export function ordered(attributes: readonly Attribute[]): Attribute[] {
  const place = ({ name }: Attribute): number => {
    const found = current.order.indexOf(name);
    return found < 0 ? current.order.length : found;
  };
  return [...attributes].sort((a, b) => place(a) - place(b));
}
