// What the tests share: the module that ships, words from a list, the vectors.
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The built file, or a broken copy of it that a test must notice. */
export const hush = await import(process.env.HUSH_MODULE ?? "../../src/hush/collector/static/hush.js");

/** Returns a file that lies beside the client. */
export const beside = (name) => import(new URL(name, new URL(process.env.HUSH_MODULE ?? "../../src/hush/collector/static/hush.js", import.meta.url)));

/** Large domains: importing it adds the geometry channel to the client. A broken copy of the client has one beside it. */
export const large = await beside("large.js");

/** Trainings, which `client.train` loads. */
export const training = await beside("training.js");

/** Words from a list; `left` tells how many were not drawn. They protect nobody, so no such class ships. */
export class Words extends hush.Coins {
  #words;
  #at = 0;

  constructor(words) {
    super();
    this.#words = words.map((word) => (typeof word === "bigint" ? word : BigInt(`0x${word}`)));
  }

  get left() {
    return this.#words.length - this.#at;
  }

  word() {
    if (this.left === 0) throw new Error("the list of words is used up");
    return this.#words[this.#at++];
  }
}

const folder = fileURLToPath(new URL("../../spec/vectors/", import.meta.url));
export const vectors = (name) => JSON.parse(readFileSync(`${folder}${name}.json`, "utf8"));
const files = (kind) =>
  readdirSync(folder)
    .filter((name) => name.startsWith(kind))
    .map((name) => name.replace(".json", ""));
export const channelFiles = files("channel-");
export const trainingFiles = files("training-");

/** The long lists that plans of the vectors name. */
for (const { list, text } of vectors("lists").good) await large.addList(list, Uint8Array.from(Buffer.from(text, "hex")));

export const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
export const hex = (data) => Buffer.from(data).toString("hex");

/** A plan of two questions, one of which is answered: duchi for a number, randomised response for two categories. */
export const small = await hush.Plan.parse(vectors("bad-plans").good[0]);

/** The same questions under another title, and so another plan. */
export const titled = (title) => hush.Plan.parse(small.text.replace('"title":""', `"title":${JSON.stringify(title)}`));

/** The canonical text of values, written anew: keys in order, floats as floats, large integers as texts. */
function canonical(value, key) {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, key)).join(",")}]`;
  if (typeof value === "bigint") return `"${value}"`;
  if (typeof value !== "object" || value === null) {
    const text = JSON.stringify(value);
    return text + (/^(low|high|unit|cuts|centres)$/.test(key) && /^-?\d+$/.test(text) ? ".0" : "");
  }
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name], name)}`).join(",")}}`;
}

/** A plan of questions, each a channel and the attributes whose values it asks for. */
export const planOf = (questions, change = {}) =>
  hush.Plan.parse(
    canonical({
      hush: 2,
      after: null,
      title: "",
      epsilon: "16.0",
      k: 1,
      weights: null,
      schema: questions.flatMap(([, ...attributes]) => attributes),
      questions: questions.map(([channel, ...attributes]) => ({ channel, views: attributes.map(({ name }) => ({ kind: "value", of: [name] })) })),
      ...change,
    }),
  );
