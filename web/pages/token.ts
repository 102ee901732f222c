/** Tokens: they come in the fragment of a link, which browsers do not send, and live as long as a tab. */

/** The name under which the form keeps its token. */
export const SENDER = "hush-token-of-sender";

/** Take a token from the fragment and out of the address, and keep it under a name; null if there is none. */
export function givenToken(name: string): string | null {
  const said = new URLSearchParams(location.hash.slice(1));
  const found = said.get("token");
  if (found === null) return null;
  said.delete("token");
  history.replaceState(null, "", location.pathname + location.search + (said.size === 0 ? "" : `#${said}`));
  return keepToken(name, found);
}

/** Keep a token, without blanks around it. */
export function keepToken(name: string, text: string): string {
  const token = text.trim();
  try {
    sessionStorage.setItem(name, token);
  } catch {
    // This browser stores nothing: the token lasts as long as this page.
  }
  return token;
}

/** Return the token that the fragment gives, or that this tab has kept. */
export function findToken(name: string): string | null {
  const given = givenToken(name);
  if (given !== null) return given;
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}
