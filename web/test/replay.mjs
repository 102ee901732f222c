// Does what tests/web asks, one JSON value per line: so that Python can compare every answer with its own.
//
//   node replay.mjs FILE     the answers go to standard output, in the order of the lines
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { actions } from "./actions.mjs";

const out = [];
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const { action, ...rest } = JSON.parse(line);
  out.push(JSON.stringify(await actions[action](rest)));
}
process.stdout.write(`${out.join("\n")}\n`);
