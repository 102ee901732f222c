/** The rows channel: a category and a number at once, reported as w rows of a table with a cell in each. */
import { ensure } from "../errors.js";
import { rarity } from "../exact.js";
import { big, integer } from "../json.js";
import { subsets, symbols } from "./alphabet.js";
import { areNumbers, type Channel, channelFields, groups, isCategory, upShare } from "./channel.js";
import { MAX_SIZE } from "./subset.js";
import { levelled } from "./window.js";

/**
 * Reads a rows channel. With probability T/2^64 the report names the true row with a cell of the number's window, and is
 * uniform among all such reports; otherwise it is uniform among all others. "Missing" has a window of its own in each row,
 * whose cells are one output.
 */
export function rows(value: unknown): Channel {
  const found = channelFields(value, "rows", "rows", "weight", "size", "width", "threshold", "levels", "optional");
  const count = integer(found["rows"], 2, MAX_SIZE, "rows");
  const weight = integer(found["weight"], 1, count - 1, "weight");
  const threshold = big(found["threshold"], "threshold");
  const { size, width, optional, between } = levelled(found);
  const group = size + Number(optional);
  ensure(count * group <= 65536, "rows must have at most 65536 cells");
  const cells = size + width * Number(optional);
  const beyond = cells - width;
  const without = count * cells - weight * width;
  const { ratio, chances } = groups(threshold, BigInt(weight * width), BigInt(without));
  const share = weight * rarity(count - 1, weight - 1) * cells ** (1 - weight);
  return {
    kind: "rows",
    ratio,
    alphabet: weight === 1 ? symbols(count * group) : subsets(count * group, weight, group),
    fits: ([first, ...rest]) => !!first && isCategory(count, [first]) && areNumbers(1, optional, rest),
    draw([input, u], coins) {
      const row = input!;
      const below = (n: number): number => Number(coins.below(BigInt(n)));
      const [s, fraction] = between(u ?? 0.5);
      const rounded = s + coins.up(fraction);
      const start = u === null ? size : rounded;
      // All integers are drawn, whether they are used or not.
      const here = coins.toss(threshold);
      const within = start + below(width);
      const place = below(without);
      const other = place % beyond;
      const beside = other + width * Number(other >= start);
      const named = coins.around(count, weight, row, Number(here) | Number(place < weight * beyond));
      const mine = here ? within : beside;
      const drawn = coins.several(cells, weight, 0);
      const members = named.map((j, i) => j * group + Math.min(j === row ? mine : drawn[i]!, size));
      return weight === 1 ? members[0]! : members;
    },
    likelihood(output, [row, u]) {
      const members = [output].flat();
      const own = members.find((member) => Math.floor(member / group) === row);
      let covered = 0; // the probability that the window has the cell
      if (own !== undefined) {
        const cell = own % group;
        const [s, fraction] = between(u ?? 0.5);
        const up = upShare(fraction);
        const covers = (start: number): number => Number(start <= cell && cell < start + width);
        covered = u === null || cell === size ? Number(u === null && cell === size) : (1 - up) * covers(s) + up * covers(s + 1);
      }
      const merged = width ** members.filter((member) => member % group === size).length;
      return share * merged * (covered * chances[0] + (1 - covered) * chances[1]);
    },
  };
}
