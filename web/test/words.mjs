// What the tests share: the module that ships, words from a list, the vectors.
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The built file, or a broken copy of it that a test must notice. */
export const hush = await import(process.env.HUSH_MODULE ?? "../../src/hush/collector/static/hush.js");

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
export const channelFiles = readdirSync(folder)
  .filter((name) => name.startsWith("channel-"))
  .map((name) => name.replace(".json", ""));

export const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
export const hex = (data) => Buffer.from(data).toString("hex");

/** A plan of two questions, one of which is answered: duchi for a number, randomised response for two categories. */
export const small = await hush.Plan.parse(vectors("bad-plans").good[0]);

/** The same questions under another title, and so another plan. */
export const titled = (title) => hush.Plan.parse(small.text.replace('"title":""', `"title":${JSON.stringify(title)}`));
