/** The ladder channel: a number on a wide range, reported as a cell of a window channel with a knot for every scale. */
import { ensure } from "../errors.js";
import { increases } from "../exact.js";
import { flag, integer, listed } from "../json.js";
import { type Channel, channelFields } from "./channel.js";
import { knotted, windowed } from "./window.js";

const MAX_KNOTS = 129;
const MAX_KNOT = 2 ** 44;

/** Reads a ladder. Its knots are integers that rise from 0; the last one stands for the upper end of the range. */
export function ladder(value: unknown): Channel {
  const found = channelFields(value, "ladder", "knots", "width", "threshold", "optional");
  const knots = listed(found["knots"], "knots").map((knot) => integer(knot, 0, MAX_KNOT, "a knot"));
  const states = integer(knots.length, 3, MAX_KNOTS, "how many knots");
  ensure(!knots[0] && increases(knots), "knots must rise from 0");
  const width = integer(found["width"], 1, states - 1, "width");
  const size = states + width - 1;
  return windowed("ladder", found["threshold"], { size, width, optional: flag(found), between: knotted(knots) });
}
