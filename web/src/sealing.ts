/**
 * Sealing a report for a collector, on its way through a relay: HPKE (RFC 9180) with what browsers have built in.
 *
 * It is a file of its own, `seal.js`: pages without a relay do not load it. One suite for all clients: X25519,
 * HKDF-SHA256, AES-128-GCM (`spec/wire.md`).
 */
import type { Ledger } from "./ledger.js";
import type { Report } from "./report.js";

type Bytes = Uint8Array<ArrayBuffer>;

const KEM = "KEM\0\x20";
const SUITE = "HPKE\0\x20\0\x01\0\x01";
const PKCS8 = "302e020100300506032b656e04220420"; // what comes before 32 bytes of an X25519 secret

const bytes = (text: string): Bytes => Uint8Array.from(text, (char) => char.charCodeAt(0));
const fromHex = (text: string): Bytes => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

function joined(...parts: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

async function hmac(key: Bytes, data: Bytes): Promise<Bytes> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, data));
}

const extract = (suite: string, salt: Bytes, label: string, given: Uint8Array): Promise<Bytes> =>
  hmac(salt.length ? salt : new Uint8Array(32), joined(bytes(`HPKE-v1${suite}${label}`), given));

/** At most 32 bytes: one block of HKDF. */
async function expand(suite: string, key: Bytes, label: string, context: Uint8Array, length: number): Promise<Bytes> {
  const text = joined(Uint8Array.of(0, length), bytes(`HPKE-v1${suite}${label}`), context, Uint8Array.of(1));
  return (await hmac(key, text)).slice(0, length);
}

/** What X25519 makes of a secret key and a point. */
async function agreed(secret: CryptoKey, point: Bytes): Promise<Bytes> {
  const other = await crypto.subtle.importKey("raw", point, { name: "X25519" }, false, []);
  return new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: other }, secret, 256));
}

/** Seals a text with this ephemeral secret: for tests. It protects only if nobody can predict the secret. */
export async function sealWith(secret: Bytes, text: Bytes, key: Bytes, info: Bytes, extra: Bytes): Promise<Bytes> {
  const wrapped = joined(fromHex(PKCS8), secret);
  const own = await crypto.subtle.importKey("pkcs8", wrapped, { name: "X25519" }, false, ["deriveBits"]);
  const base = new Uint8Array(32);
  base[0] = 9;
  const sent = await agreed(own, base);
  const nothing = new Uint8Array(0);
  const first = await extract(KEM, nothing, "eae_prk", await agreed(own, key));
  const shared = await expand(KEM, first, "shared_secret", joined(sent, key), 32);
  const context = joined(
    Uint8Array.of(0),
    await extract(SUITE, nothing, "psk_id_hash", nothing),
    await extract(SUITE, nothing, "info_hash", info),
  );
  const mixed = await extract(SUITE, shared, "secret", nothing);
  const raw = await expand(SUITE, mixed, "key", context, 16);
  const iv = await expand(SUITE, mixed, "base_nonce", context, 12);
  const symmetric = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt"]);
  const hidden = await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: extra }, symmetric, text);
  return joined(sent, new Uint8Array(hidden));
}

/**
 * Returns a report that only the owner of the key (64 hexadecimal digits) can read.
 *
 * All sealed reports of a plan have one length. Every call gives other bytes: keep them to send again.
 */
export async function seal(report: Report, key: string): Promise<Bytes> {
  checkKey(key);
  const text = new Uint8Array(longest(report));
  text.set(report.encode());
  const info = joined(bytes("hush sealed report 2"), fromHex(report.plan.id));
  return sealWith(crypto.getRandomValues(new Uint8Array(32)), text, fromHex(key), info, new Uint8Array(0));
}

const P = 2n ** 255n - 19n;
/** The points of small order, of the curve and of its twist: X25519 makes zeros of them, whatever the secret is. */
const SMALL = [
  0n,
  1n,
  P - 1n,
  0x00b8495f16056286fdb1329ceb8d09da6ac49ff1fae35616aeb8413b7c7aebe0n,
  0x57119fd0dd4e22d8868e1c58c45c44045bef839c55b1d0b1248c50a3bc959c5fn,
];

/** Refuses what is no public key of a collector, and points with which everybody could read what is sealed. */
function checkKey(key: string): void {
  if (!/^[0-9a-f]{64}$/.test(key)) throw new Error("the key of a collector must be 64 hexadecimal digits");
  const point = BigInt(`0x${(key.match(/../g) ?? []).reverse().join("")}`) & (2n ** 255n - 1n);
  if (SMALL.includes(point % P)) throw new Error("the key of a collector is not a key: everybody could read what is sealed for it");
}

/** The bytes of the longest report of its plan. */
function longest({ plan: { questions, k } }: Report): number {
  const widths = questions.map(({ channel }) => channel.alphabet.width).sort((a, b) => b - a);
  const index = k === questions.length ? 0 : questions.length <= 256 ? 1 : 2;
  return 25 + k * index + widths.slice(0, k).reduce((sum, width) => sum + width, 0);
}

const RETRIED = [408, 425, 429, 500, 502, 503, 504];
const SAID: Readonly<Record<string, string>> = {
  "other-key": "the relay has another key than this report is sealed for: it was not delivered, and is not sealed again",
  "plan-closed": "this survey has ended: its plan takes no more reports",
};

/** How a relay is reached. Times are in milliseconds. */
export interface RelayOptions {
  /** How often a request is tried. */
  readonly attempts?: number;
  /** The first pause between attempts: pauses double, more or less. */
  readonly pause?: number;
  /** How long one attempt may take. */
  readonly timeout?: number;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** A relay that cannot be reached (no status), or does not take a report: `kind` is the problem's, `""` if unknown. */
export class RelayError extends Error {
  constructor(
    message: string,
    readonly status?: number,
    readonly kind = "",
  ) {
    super(message);
  }
}

/** Returns whether this browser can seal: old ones lack X25519, and pages that did not come by https lack everything. */
export async function canSeal(): Promise<boolean> {
  try {
    await crypto.subtle.generateKey({ name: "X25519" }, false, ["deriveBits"]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Sends the sealed bytes of a report (`seal`) to a relay until the relay holds them.
 *
 * Keep the bytes before you send them, and send these and no others. A report that is sealed twice would be in two batches
 * of the relay, and the collector would see its id in both: it could tell whose report it is. `sendKept` keeps them for you.
 * `key` is the one for which they are sealed. `new`: this request brought them, and no earlier one.
 */
export async function sendSealed(
  relay: string,
  plan: string,
  sealed: Uint8Array,
  key: string,
  { attempts = 6, pause = 500, timeout = 10_000, fetch = (url, init) => globalThis.fetch(url, init) }: RelayOptions = {},
): Promise<{ readonly new: boolean }> {
  for (let attempt = 1; ; attempt++) {
    let problem = new RelayError("the relay cannot be reached, or does not allow this page");
    try {
      const response = await fetch(`${relay.replace(/\/+$/, "")}/sealed/${plan}`, {
        method: "POST",
        body: Uint8Array.from(sealed),
        headers: { "Content-Type": "application/octet-stream", "Hush-Key": key },
        redirect: "error", // a report that went elsewhere is not held here
        credentials: "omit",
        referrerPolicy: "no-referrer",
        cache: "no-store",
        signal: AbortSignal.timeout(timeout),
      });
      const { status } = response;
      if (status === 202) return { new: ((await response.json()) as { new?: unknown }).new === 1 };
      const kind = await kindOf(response);
      problem = new RelayError(SAID[kind] ?? `the relay answered ${status}`, status, kind);
      if (!RETRIED.includes(status)) attempt = attempts;
    } catch {
      // no answer, or half of one: the same bytes are sent again
    }
    if (!(attempt < attempts)) throw problem;
    await new Promise((resolve) => setTimeout(resolve, pause * 2 ** (attempt - 1) * (0.5 + Math.random())));
  }
}

/** Returns the kind of a problem document. */
async function kindOf(response: Response): Promise<string> {
  const found = (await response.json().catch(() => undefined)) as { type?: unknown } | null | undefined;
  return String(found?.type ?? "").replace(/^urn:hush:problem:/, "");
}

/**
 * Sends the report that a ledger keeps to a relay until the relay holds it, and notes both in the ledger.
 *
 * It is sealed once. The bytes are in the ledger before they leave, so all tabs and later visits send the same, whatever
 * the key is then; and nothing is sent any more once the relay has them.
 */
export async function sendKept(
  relay: string,
  ledger: Ledger,
  report: Report,
  key: string,
  options: RelayOptions = {},
): Promise<{ readonly new: boolean }> {
  const { plan } = report;
  const entry = await ledger.entry(plan);
  // The collector dealt the id of such a report to this device, and would know it again.
  if (entry?.ticket) throw new RelayError("a report with a ticket cannot go through a relay");
  if (entry?.state === "arrived") return { new: false };
  let sealed = entry?.sealed ?? { key, bytes: await seal(report, key) };
  await ledger.store.update((book) => {
    const found = book?.entries.find((one) => one.plan === plan.id);
    if (!book || !found) throw new RelayError("this device has no answer to this plan");
    // Another tab, or an earlier visit, was first. Without sealed bytes it has sent the report to the collector itself.
    if (!found.sealed && found.state !== "drawn") throw new RelayError("this report has left without a seal");
    sealed = found.sealed ?? sealed;
    if (found.sealed) return undefined;
    const changed = { ...found, sealed, state: "sending" as const };
    return { ...book, entries: book.entries.map((one) => (one === found ? changed : one)) };
  });
  const receipt = await sendSealed(relay, plan.id, sealed.bytes, sealed.key, options);
  await ledger.arrived(plan);
  return receipt;
}
