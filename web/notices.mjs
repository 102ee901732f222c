// Writes pages/notices.txt: the licences of the charts that a collector serves.
//
//   node notices.mjs FOLDER_OF_VL_CONVERT VERSION
//
// A collector makes /pages/vega.js from what the Python package vl-convert carries, and minifying has removed every
// notice from that. Which packages it carries, and of which versions, is read from its library; their licences are
// read from the packages themselves, as npm has them: the licence files, and comments in the code that name others.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [folder, version] = process.argv.slice(2);
if (version === undefined) throw new Error("usage: node notices.mjs FOLDER_OF_VL_CONVERT VERSION");

// Carried for older versions of Vega-Lite and for widgets, and not part of the bundle that hush asks for.
const APART = new Set(["clone", "fast-deep-equal", "fast-json-stable-stringify", "lodash.debounce"]);
// Part of vega-embed as it is published, so that vl-convert does not name them.
const WITHIN = ["fast-json-patch", "semver"];

// Versions that registries no longer have: the licence is read from a later one.
const GONE = new Set(["robust-predicates@3.0.0"]);

const newer = (a, b) => a.localeCompare(b, "en", { numeric: true }) > 0;

function carried() {
  const found = new Map();
  for (const name of readdirSync(folder).filter((name) => /\.(so|pyd|dylib)$/.test(name))) {
    const text = readFileSync(join(folder, name), "latin1");
    for (const [, name, version] of text.matchAll(/\/npm\/([a-z0-9.-]+)@(\d+\.\d+\.\d+)\//g))
      if (!APART.has(name) && !(found.has(name) && newer(found.get(name), version))) found.set(name, version);
  }
  for (const name of ["vega", "vega-embed", "vega-lite"])
    if (!found.has(name)) throw new Error(`vl-convert ${version} does not name ${name}: look at what it carries`);
  return found;
}

const tidy = (text) => text.replaceAll("\r", "").replaceAll(/[ \t]+$/gm, "").trim();

/** Comments that are notices of somebody else's code. */
function comments(path) {
  const found = new Set();
  for (const name of readdirSync(join(path, "build"), { withFileTypes: true })) {
    if (!name.isFile() || !/(?<!\.min)\.js$/.test(name.name)) continue;
    const text = readFileSync(join(path, "build", name.name), "utf8");
    for (const [comment] of text.matchAll(/\/\*[^]*?\*\//g))
      if (/copyright|licen[cs]e/i.test(comment)) found.add(comment);
    for (const [comment] of text.matchAll(/^\s*\/\/.*(copyright|licen[cs]e|adapted from|ported from).*(\n\s*\/\/.*)*/gim))
      found.add(comment);
  }
  return [...found].map((comment) => tidy(comment.replaceAll(/^[ \t]+/gm, "")));
}

const work = mkdtempSync(join(tmpdir(), "notices-"));
try {
  const packages = carried();
  const exactly = [...packages].map(([name, version]) => (GONE.has(`${name}@${version}`) ? `${name}@^${version}` : `${name}@${version}`));
  const wanted = [...exactly, ...WITHIN];
  writeFileSync(join(work, "package.json"), '{ "private": true }');
  execFileSync("npm", ["install", "--silent", "--ignore-scripts", "--legacy-peer-deps", ...wanted], { cwd: work, stdio: "inherit" });
  const licences = new Map(); // text -> the packages that have it
  const inside = new Map();
  const kinds = [];
  for (const name of [...packages.keys(), ...WITHIN].sort()) {
    const path = join(work, "node_modules", name);
    const { license, version } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
    const carried = packages.get(name);
    if (carried && version !== carried && !GONE.has(`${name}@${carried}`)) throw new Error(`${name} is ${version}, not ${carried}`);
    const label = carried ? `${name} ${carried}` : name;
    kinds.push([label, license]);
    const files = readdirSync(path).filter((file) => /^licen[cs]e/i.test(file));
    if (files.length === 0) throw new Error(`${name} has no licence file`);
    const text = tidy(files.map((file) => readFileSync(join(path, file), "utf8")).join("\n\n"));
    licences.set(text, [...(licences.get(text) ?? []), label]);
    if (readdirSync(path).includes("build"))
      for (const comment of comments(path)) if (!inside.has(comment)) inside.set(comment, label);
  }
  const rule = "-".repeat(80);
  writeFileSync(
    join(here, "pages", "notices.txt"),
    [
      "What this collector serves, and its licences",
      "",
      "The pages and the client (everything under /pages/ but vega.js) are part of hush, Apache-2.0, and contain no",
      "code of others.",
      "",
      `/pages/vega.js draws the charts. It is made by vl-convert from the packages below; the list is that of`,
      `vl-convert ${version}.`,
      "",
      ...kinds.map(([label, license]) => `    ${label.padEnd(40)}${license}`),
      "",
      ...[...licences].flatMap(([text, labels]) => [rule, ...labels, "", text, ""]),
      rule,
      "Notices in the code of these packages, about what they took from others",
      "",
      ...[...inside].flatMap(([text, label]) => [`${label}:`, "", text, ""]),
    ].join("\n"),
  );
  console.log(`${kinds.length} packages, ${licences.size} different licence texts, ${inside.size} notices in code`);
} finally {
  rmSync(work, { recursive: true });
}
