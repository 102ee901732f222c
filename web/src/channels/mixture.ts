/** The mixture channel: one of several windows, chosen by a coin that does not see the data. */
import { ensure } from "../errors.js";
import { counter, descending, quotient, WORD } from "../exact.js";
import { big, listed } from "../json.js";
import { symbols } from "./alphabet.js";
import { type Channel, channelFields } from "./channel.js";
import { window } from "./window.js";

/** Reads a mixture. Which part is used says nothing about the input, so its ratio is the largest of a part. */
export function mixture(value: unknown): Channel {
  const found = channelFields(value, "mixture", "shares", "parts");
  const shares = listed(found["shares"], "shares").map((share) => big(share, "a share"));
  const parts = listed(found["parts"], "parts").map(window);
  const first = parts[0];
  ensure(
    first && parts.length >= 2 && parts.length <= 8 && parts.every(({ optional }) => optional === first.optional),
    "parts must be 2 to 8, all optional or none",
  );
  ensure(
    shares.length === parts.length && shares.reduce((a, b) => a + b) === WORD,
    "shares must be one per part, and add up to 2^64",
  );
  const starts = [0];
  for (const { alphabet } of parts) starts.push(starts.at(-1)! + alphabet.size);
  let sum = 0n;
  const partOf = counter(
    shares.map((share) => (sum += share)),
    WORD,
  );
  return {
    kind: "mixture",
    ratio: parts.map(({ ratio }) => ratio).sort(descending)[0]!,
    alphabet: symbols(starts[parts.length]!),
    fits: first.fits,
    draw(inputs, coins) {
      const part = partOf(coins.word());
      return starts[part]! + (parts[part]!.draw(inputs, coins) as number);
    },
    likelihood(output, inputs) {
      const part = starts.findLastIndex((start) => start <= (output as number));
      return parts[part]!.likelihood((output as number) - starts[part]!, inputs) * quotient(shares[part]!, WORD);
    },
  };
}
