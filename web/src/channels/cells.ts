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
  ensure(sizes.length >= 1 && sizes.length <= 12, "cells are of 1 to 12 attributes");
  const values = sizes.map((size) => size ?? 2);
  const count = values.reduce((a, b) => a * b, 1);
  ensure(count <= MAX_CELLS, "there are at most 4096 cells");
  const whole = subsetOf(count, 1, big(found["threshold"], "threshold"));
  return {
    ...whole,
    kind: "cells",
    mismatch(attributes) {
      const fits =
        attributes.length === sizes.length &&
        attributes.every((attribute, j) =>
          attribute.kind === "numeric" ? sizes[j] === null && !attribute.optional : categories(attribute) === sizes[j],
        );
      return fits ? undefined : "the channel is for attributes of other sizes";
    },
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
