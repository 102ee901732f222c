/** A colour that somebody has chosen, made safe to read: darker on light pages and lighter on dark ones, if need be. */

type Colour = readonly [number, number, number];

const LEAST = 4.6; // WCAG asks for 4.5

const parts = (text: string): Colour => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) as unknown as Colour;

const text = (colour: Colour): string => `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;

/** The relative luminance of WCAG. */
function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Colour;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Colour, other: Colour): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

// --raised and --bad-surface of style.css: the least of contrasts, as --surface is lighter, or darker.
const LIGHT = ["#f6f7f9", "#fdf0ef"].map(parts);
const DARK = ["#1d222b", "#33191a"].map(parts);

/** The nearest mixture with black or white that can be read on these surfaces. */
function readable(colour: Colour, surfaces: readonly Colour[], end: number): string {
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = colour.map((part) => Math.round(part + (end - part) * share)) as unknown as Colour;
    if (surfaces.every((surface) => contrast(mixed, surface) >= LEAST)) return text(mixed);
  }
  return text([end, end, end]);
}

/** Paint the page's accents in a colour, as #1d5fa8. Others are ignored. */
export function paint(colour: string): void {
  if (!/^#[\da-f]{6}$/i.test(colour)) return;
  const both = [readable(parts(colour), LIGHT, 0), readable(parts(colour), DARK, 255)];
  for (const name of ["--accent", "--focus"]) document.documentElement.style.setProperty(name, `light-dark(${both.join(", ")})`);
}
