/** How the form presents its plan: the collector's words beside the plan's names. All of it is text, never markup. */
import type { Attribute } from "hush-client";
import type { Value } from "./fields";
import { t } from "./language";

/** How one attribute is asked. The collector has checked it against the plan. */
export interface Shown {
  question: string;
  help: string;
  unit: string;
  widget: "" | "buttons" | "stars" | "slider" | "number";
  labels: Record<string, string>;
  order: string[];
}

export interface Presentation {
  title: string;
  introduction: string;
  thanks: string;
  language: string;
  accent: string;
  order: string[];
  attributes: Record<string, Shown>;
}

const PLAIN: Shown = { question: "", help: "", unit: "", widget: "", labels: {}, order: [] };
const NONE: Presentation = { title: "", introduction: "", thanks: "", language: "", accent: "", order: [], attributes: {} };

let current = NONE;

/** The presentation of this page. */
export const presented = (): Presentation => current;

/** Take the presentation of a plan. Without one the form uses the plan's own names. */
export async function present(plan: string, headers: Record<string, string>): Promise<void> {
  const options: RequestInit = { headers, credentials: "omit", cache: "no-store" };
  const response = await fetch(`/plans/${plan}/presentation`, options).catch(() => undefined);
  if (response?.ok) current = { ...NONE, ...((await response.json()) as Partial<Presentation>) };
}

/** How an attribute is asked. */
export function shownAs(name: string): Shown {
  return Object.hasOwn(current.attributes, name) ? { ...PLAIN, ...current.attributes[name] } : PLAIN;
}

/** The question about an attribute. */
export const titled = (name: string): string => shownAs(name).question || name;

/** The words for a category. */
export function labelled(name: string, value: Value): string {
  const { labels } = shownAs(name);
  if (value === null) return t("unsaid");
  return Object.hasOwn(labels, String(value)) ? (labels[String(value)] ?? "") : String(value);
}

/** Attributes in the order in which they are asked. */
export function ordered(attributes: readonly Attribute[]): Attribute[] {
  const place = ({ name }: Attribute): number => {
    const found = current.order.indexOf(name);
    return found < 0 ? current.order.length : found;
  };
  return [...attributes].sort((a, b) => place(a) - place(b));
}
