// Light or dark, before anything is painted: pages load this in their head, as a plain script.
//
// Without a choice a page follows the system. A button with data-theme-toggle switches, and its text names the other
// theme; the choice stays in this browser. Code that draws listens to "hush-theme" on the document.
{
  const KEY = "hush-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  const chosen = (): string | null => {
    try {
      const found = localStorage.getItem(KEY);
      return found === "light" || found === "dark" ? found : null;
    } catch {
      return null; // this browser stores nothing
    }
  };

  const apply = (theme: string | null): void => {
    const now = theme ?? (system.matches ? "dark" : "light");
    root.dataset["theme"] = now;
    for (const button of document.querySelectorAll<HTMLElement>("[data-theme-toggle]")) {
      const { light = "Light colours", dark = "Dark colours" } = button.dataset; // a page may speak another language
      button.textContent = now === "dark" ? light : dark;
    }
    document.dispatchEvent(new CustomEvent("hush-theme", { detail: now }));
  };

  apply(chosen());
  system.addEventListener("change", () => apply(chosen()));
  document.addEventListener("DOMContentLoaded", () => {
    apply(chosen());
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.addEventListener("click", () => {
        const next = root.dataset["theme"] === "dark" ? "light" : "dark";
        try {
          localStorage.setItem(KEY, next);
        } catch {
          // The choice then holds for this page alone.
        }
        apply(next);
      });
    }
  });
}
