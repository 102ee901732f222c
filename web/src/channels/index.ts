/** The channels: one file each, and one line here. */
import { ensure } from "../errors.js";
import type { Fields } from "../json.js";
import { additive } from "./additive.js";
import { cells } from "./cells.js";
import type { Channel } from "./channel.js";
import { corners } from "./corners.js";
import { cube } from "./cube.js";
import { ladder } from "./ladder.js";
import { mixture } from "./mixture.js";
import { picks } from "./picks.js";
import { rows } from "./rows.js";
import { signs } from "./signs.js";
import { subset } from "./subset.js";
import { unary } from "./unary.js";
import { window } from "./window.js";

/** The readers of channels, by kind. `large.ts` adds one. */
export const kinds = new Map<unknown, (value: unknown) => Channel>(
  Object.entries({ window, mixture, subset, unary, additive, signs, cube, cells, rows, ladder, picks, corners }),
);

/** Reads any channel, fully checked. */
export function readChannel(value: unknown): Channel {
  const read = kinds.get((value as Fields | null)?.["kind"]);
  ensure(read, "kind must be known");
  return read(value);
}
