/** Numbers for people, in their language. */
import { language } from "./language";

export function plain(value: number): string {
  return value.toLocaleString(language(), { maximumSignificantDigits: 12 });
}

/** A probability with two digits that mean something, and a sign that stays with them: 4.2 %, 0.031 %, 99.97 %. */
export function percent(probability: number): string {
  let digits = 2;
  const written = (): string => (100 * probability).toLocaleString(language(), { maximumSignificantDigits: digits });
  while (probability < 1 && digits < 15 && written() === "100") digits++; // 100 % is shown only for a certain answer
  return `${written()}\u00a0%`;
}

/** A bound below 1 in per cent: never too small, and with enough digits to stay below 100. */
export function sure(share: number): string {
  let scale = 10;
  const up = (): number => Math.ceil(100 * share * scale - 1e-9) / scale;
  while (share < 1 && scale < 1e12 && up() >= 100) scale *= 10;
  return `${plain(up())}\u00a0%`;
}

/** A bound, with three digits at least and never too small: 2.719 is 2.72. */
export function raised(value: number): string {
  const scale = 10 ** Math.max(0, 2 - Math.floor(Math.log10(value)));
  return plain(Math.ceil(value * scale - 1e-9) / scale);
}
