/** The explanation in the language of the reader. The page has the English words; they stay if nothing else is asked for. */
import { byId, html } from "./elements";
import { plain, raised, sure } from "./figures";
import { catalogue, chosen, named, speak, t } from "./language";
import { present, presented } from "./presentation";
import { findToken, SENDER } from "./token";

/** A sentence with its *emphasis*, and e^ε set as a power. Nothing else in it is more than text. */
function set(sentence: string): (Node | string)[] {
  return sentence.split(/(\*[^*]+\*|\^ε)/).map((part) => {
    if (part === "^ε") return html("sup", {}, "ε");
    return part.startsWith("*") ? html("em", {}, part.slice(1, -1)) : part;
  });
}

/** Write the bounds of the table as the reader writes numbers. */
function count(words: Record<string, string>): void {
  for (const row of document.querySelectorAll<HTMLTableRowElement>("tbody tr")) {
    const [name, times, won] = row.cells;
    if (name === undefined || times === undefined || won === undefined) continue;
    const epsilon = Number(name.textContent);
    const factor = Math.exp(epsilon);
    name.textContent = plain(epsilon);
    times.textContent = (words["explainTimes"] ?? "").replace("{times}", raised(factor));
    won.textContent = (words["explainSure"] ?? "").replace("{sure}", sure(factor / (1 + factor)));
  }
}

/** The plan whose form led here, if the address names one. */
const plan = new URL(location.href).searchParams.get("plan") ?? "";

/** Fetch the presentation for its language, unless the address has decided that. */
async function presentation(): Promise<string> {
  if (named() || !/^[\da-f]{64}$/.test(plan)) return "";
  const token = findToken(SENDER);
  await present(`/plans/${plan}`, token === null ? {} : { Authorization: `Bearer ${token}` });
  return presented().language;
}

async function start(): Promise<void> {
  if (plan !== "") {
    byId("to-form").setAttribute("href", `/${location.search}`);
    byId("to-dashboard").setAttribute("href", `/dashboard?plan=${encodeURIComponent(plan)}`);
  }
  const tag = chosen(await presentation());
  if (tag === "en") return;
  const words = await catalogue(`explanation-${tag}`);
  if (words === undefined) return; // English stays
  await speak(tag);
  for (const place of document.querySelectorAll<HTMLElement>("[data-words]")) {
    place.replaceChildren(...set(words[place.dataset["words"] ?? ""] ?? ""));
  }
  count(words);
  byId("table").setAttribute("aria-label", words["explainTable"] ?? "");
  byId("pages").setAttribute("aria-label", t("pages"));
  byId("to-dashboard").textContent = t("results");
  const { dataset } = byId("theme");
  dataset["light"] = t("light");
  dataset["dark"] = t("dark");
  byId("theme").textContent = document.documentElement.dataset["theme"] === "dark" ? t("light") : t("dark");
}

void start();
