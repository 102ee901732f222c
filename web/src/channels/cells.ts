/** The cells channel: a few small attributes at once, as a set of cells of their table. */
import { ensure } from "../errors.js";
import { big, integer, listed } from "../json.js";
import { categories } from "../schema.js";
import { type Channel, channelFields, upShare } from "./channel.js";
import { subsetOf } from "./subset.js";

const MAX_CELLS = 4096;

/** Reads a cells channel: a subset channel of the cells, where everything that is private happens. */
export function cells(value: unknown): Channel {
  const found = channelFields(value, "cells", "sizes", "weight", "threshold");
  const sizes = listed(found["sizes"], "sizes").map((size) =>
    size === null ? null : integer(size, 2, MAX_CELLS, "size"),
  );
  const values = sizes.map((size) => size ?? 2);
  const count = values.reduce((a, b) => a * b, 1);
  // More than 12 sizes make more cells than that, as each is 2 or more.
  ensure(sizes.length >= 1 && count <= MAX_CELLS, "sizes must be 1 to 12, of 4096 cells at most");
  const weight = integer(found["weight"], 1, count - 1, "weight");
  const whole = subsetOf(count, weight, big(found["threshold"], "threshold"));
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
      const set = [output].flat();
      let contains = 0; // the probability that the cell of the rounded inputs is in the set
      for (let rest of set) {
        let chance = 1;
        for (let j = values.length - 1; j >= 0; j--) {
          const value = rest % values[j]!;
          rest = (rest - value) / values[j]!;
          const up = upShare(inputs[j]!);
          chance *= sizes[j] === null ? (value ? up : 1 - up) : Number(value === inputs[j]);
        }
        contains += chance;
      }
      // No set has the category -1.
      return contains * whole.likelihood(output, [set[0]!]) + (1 - contains) * whole.likelihood(output, [-1]);
    },
  };
}
