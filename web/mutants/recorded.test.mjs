// Asks again what tests/web asked, and expects the answers that were right: those of the client as it is.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { actions } from "../test/actions.mjs";

/** As tests/web compares: that a plan is refused, not in which words; floats to what is promised of them. */
const same = {
  plan: (found, right) => assert.equal(Boolean(found), Boolean(right)),
  likelihood: (found, right) => close(found, right, 1e-9),
  about({ inclusions, ...found }, { inclusions: shares, ...right }) {
    close(inclusions, shares, 1e-15);
    assert.deepEqual(found, right);
  },
};

function close(found, right, relative) {
  assert.equal(found.length, right.length);
  for (const [i, value] of right.entries()) assert.ok(Math.abs(found[i] - value) <= relative * Math.abs(value));
}

const lines = readFileSync(process.env.HUSH_CASES, "utf8").trim().split("\n");
const SOME = 500; // so that no test takes long
assert.ok(lines.length > 8000);

for (let start = 0; start < lines.length; start += SOME) {
  test(`the answers are those that were recorded, from line ${start}`, async () => {
    for (const line of lines.slice(start, start + SOME)) {
      const { question, answer } = JSON.parse(line);
      const { action, ...rest } = question;
      const found = JSON.parse(JSON.stringify(await actions[action](rest)));
      (same[action] ?? assert.deepEqual)(found, answer);
    }
  });
}
