/** The head of a form, as its presentation has it: language, colour, logo, title and introduction. */
import { paint } from "./accent";
import { byId, html } from "./elements";
import { frame } from "./frame";
import { chosen, speak, t } from "./language";
import { imaged, loadImages, present, presented } from "./presentation";

const SHORT = 120; // characters: the first question must stay in sight

/** The introduction: a long one is folded. */
function introduced(text: string): HTMLElement[] {
  const lines = html("p", { class: "lines" }, text);
  return [text.length <= SHORT ? lines : html("details", {}, html("summary", {}, t("introduction")), lines)];
}

/** Dress the page of a plan or training, whose own title counts where the presentation has none. */
export async function dress(path: string, headers: Record<string, string>, own: string): Promise<void> {
  await present(path, headers);
  const { title: named, introduction, accent, language, logo } = presented();
  await speak(chosen(language));
  frame();
  paint(accent);
  loadImages();
  byId("title").before(...imaged(logo, "logo"));
  const title = named || own || t("title");
  byId("title").textContent = title;
  document.title = t("tab", { title });
  if (introduction !== "") byId("introduction").replaceChildren(...introduced(introduction));
}
