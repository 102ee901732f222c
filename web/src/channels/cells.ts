/** The cells channel: a few small attributes at once, by randomised response over the cells of their table. */
import { ensure } from "../errors.js";
import { big, integer, listed } from "../json.js";
import { categories } from "../schema.js";
import { type Channel, channelFields, upShare } from "./channel.js";
import { subsetOf } from "./subset.js";

const MAX_CELLS = 4096;

/** Reads a cells channel: a subset channel of the cells with weight 1, where everything that is private happens. */
export function cells(value: unknown): Channel {
  const found = channelFields(value, "cells", "sizes", "threshold");
  const sizes = listed(found["sizes"], "sizes").map((size) =>
    size === null ? null : integer(size, 2, MAX_CELLS, "size"),
  );
  const values = sizes.map((size) => size ?? 2);
  const count = values.reduce((a, b) => a * b, 1);
  ensure(sizes.length >= 1 && sizes.length <= 12 && count <= MAX_CELLS, "sizes must be 1 to 12, of 4096 cells at most");
  const whole = subsetOf(count, 1, big(found["threshold"], "threshold"));
  return {
    ...whole,
    kind: "cells",
    fits: (attributes) =>
      attributes.length === sizes.length &&
      attributes.every((one, j) =>
        one.kind === "numeric" ? sizes[j] === null && !one.optional : categories(one) === sizes[j],
      ),
    draw(inputs, coins) {
      const cell = values.reduce((sum, n, j) => sum * n + (sizes[j] === null ? coins.up(inputs[j]!) : inputs[j]!), 0);
      return whole.draw([cell], coins);
    },
    likelihood(output, inputs) {
      let rest = output as number;
      let chance = 1; // that this is the cell of the rounded inputs
      for (let j = values.length - 1; j >= 0; j--) {
        const value = rest % values[j]!;
        rest = (rest - value) / values[j]!;
        const up = upShare(inputs[j]!);
        chance *= sizes[j] === null ? (value ? up : 1 - up) : Number(value === inputs[j]);
      }
      return chance * whole.likelihood(0, [0]) + (1 - chance) * whole.likelihood(0, [1]);
    },
  };
}
