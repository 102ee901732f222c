/** Check boxes: some of several values. */
import type { Choices } from "hush-client";
import { Around, type Field } from "./around";
import { html } from "./elements";
import { t } from "./language";
import { labelled, shownAs } from "./presentation";

/** How many boxes may be ticked, in words. */
function ruleOf(most: number, count: number): string {
  if (most === count) return t("tickAll");
  return most === 1 ? t("tickOne") : t("tick", { count: most });
}

/**
 * Some of several values, or of the members that the report will look at. "None of these" has to be said: an empty list
 * may have been overlooked.
 */
export function boxes({ name, values, most: all, optional }: Choices, id: string, members: readonly string[] = values): Field {
  const { order } = shownAs(name);
  const most = Math.min(all, members.length);
  const around = new Around(id, name, ruleOf(most, members.length));
  const listed = (order.length === values.length ? order : values).filter((value) => members.includes(value));
  const texts = [...listed.map((value) => labelled(name, value)), t("none"), ...(optional ? [t("unsaid")] : [])];
  const inputs = texts.map((_, index) => html("input", { type: "checkbox", id: index === 0 ? id : `${id}-${index}` }));
  const labels = texts.map((text, index) => html("label", { class: "choice" }, inputs[index] ?? "", html("span", {}, text)));
  const ticked = (): number[] => [...inputs.keys()].filter((index) => inputs[index]?.checked === true);
  around.problem.setAttribute("aria-live", "polite"); // one tick too many is said at once
  inputs.forEach((input, index) =>
    input.addEventListener("change", () => {
      if (!input.checked) return;
      inputs.forEach((other, place) => {
        // "None of these" and "I would rather not say" stand alone.
        if (place !== index && (index >= listed.length || place >= listed.length)) other.checked = false;
      });
      if (ticked().length > most) check();
    }),
  );
  function check(): string {
    const count = ticked().length;
    return around.marked(inputs, count === 0 ? t("chooseSome") : count > most ? t("tooMany", { count: most, ticked: count }) : "");
  }
  return {
    element: around.grouped("choices", ...labels),
    id,
    name,
    check,
    value: () => {
      const found = ticked();
      const gone = found.length === 0 || (found[0] ?? 0) > listed.length;
      return gone ? null : found.filter((index) => index < listed.length).map((index) => listed[index] ?? "");
    },
    begun: () => ticked().length > 0,
    focus: () => (inputs[ticked()[0] ?? 0] ?? inputs[0])?.focus(),
  };
}
