import { CollectorError } from "./errors.js";

/** Returns the origin and path of a collector's address. A token goes to another machine by https alone. */
export function baseOf(url: string | URL, token?: string): string {
  try {
    const { origin, pathname } = new URL(url, globalThis.location?.href);
    const allowed = token === undefined ? /^https?:/ : /^(https:|http:\/\/(localhost|127[\d.]+|\[::1])(:|$))/;
    if (allowed.test(origin)) return (origin + pathname).replace(/\/+$/, "");
  } catch {
    // it is no address
  }
  throw new CollectorError("the address of a collector begins with https:// (or http:// without a token)");
}
