/** The words around the questions. */
import { byId } from "./elements";
import { t } from "./language";

/** Say them in the language of the page. */
export function frame(): void {
  byId("skip").textContent = t("skip");
  byId("to-dashboard").textContent = t("results");
  byId("to-explanation").textContent = t("protects");
  byId("pages").setAttribute("aria-label", t("pages"));
  const { dataset } = byId("theme");
  dataset["light"] = t("light");
  dataset["dark"] = t("dark");
  byId("theme").textContent = document.documentElement.dataset["theme"] === "dark" ? t("light") : t("dark");
}
