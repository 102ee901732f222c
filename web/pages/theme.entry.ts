// Light or dark, before anything is painted: pages load this in their head, as a plain script.
//
// Without a choice a page follows the system. A button with data-theme-toggle switches, and its text says to what; the
// choice stays in this browser. Those who draw listen to "hush-theme" on the document.
{
  const KEY = "hush-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  const chosen = (): string | null => {
    try {
      const found = localStorage.getItem(KEY);
      return found === "light" || found === "dark" ? found : null;
    } catch {
      return null; // a browser that keeps nothing
    }
  };

  const apply = (theme: string | null): void => {
    const now = theme ?? (system.matches ? "dark" : "light");
    root.dataset["theme"] = now;
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.textContent = now === "dark" ? "Light colours" : "Dark colours";
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
          // It holds for this page then.
        }
        apply(next);
      });
    }
  });
}
