// Tries changes of one file of src: which of them does a test notice?
//
// Standard input is one JSON object: the file, the tests, the names of changes that need not be tried, which test file
// noticed which change the last time, and how many processes may run at once. The answer is a JSON value per line:
// the names of all changes, then every change that was tried, with what noticed it, or null.
//
// A change is put in while esbuild bundles the client as it ships, but for the size. The bundle gets a process of its own,
// in which the tests run until one fails: first those that noticed other changes of the same function, by themselves,
// and then the files that are quick for what they notice. A test that takes far longer than the longest did before
// counts as failed: some changes make loops endless.
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { clientBeside, largeApart, partsApart } from "../apart.mjs";
import { changes } from "./changes.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));
const own = (name) => fileURLToPath(new URL(name, import.meta.url));
const PATIENCE = 60_000; // milliseconds without any sign of life
const FLAGS = ["--max-old-space-size=1024", `--test-reporter=${pathToFileURL(own("first.mjs"))}`];

const { file, tests, known, hints, workers } = JSON.parse(await text(process.stdin));
const path = resolve(web, file);
const source = readFileSync(path, "utf8");
const folder = mkdtempSync(join(tmpdir(), "mutants"));
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const PARTS = [
  ["src/index.ts", "hush.js", largeApart],
  ["src/large.ts", "large.js", partsApart],
  ["src/training.ts", "training.js", clientBeside],
  ["src/sealing.ts", "seal.js"],
];
const unchanged = new Map(); // the parts that this file is not in, as they were built

/** Builds the client, and the files beside it, from a source in which one file has this text. Returns its path. */
async function bundled(contents, name) {
  const changed = {
    name: "changed",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, (args) => (args.path === path ? { contents, loader: "ts" } : undefined));
    },
  };
  const outdir = join(folder, name);
  mkdirSync(outdir);
  for (const [entry, out, apart] of PARTS) {
    const outfile = join(outdir, out);
    if (unchanged.has(out)) {
      copyFileSync(unchanged.get(out), outfile);
      continue;
    }
    const { metafile } = await build({
      absWorkingDir: web,
      entryPoints: [entry],
      bundle: true,
      format: "esm",
      target: "es2022",
      logLevel: "silent",
      metafile: true,
      plugins: apart ? [changed, apart] : [changed],
      outfile,
    });
    if (!Object.keys(metafile.inputs).some((input) => resolve(web, input) === path)) unchanged.set(out, outfile);
  }
  return join(outdir, "hush.js");
}

/** Returns the seconds that a process has computed, where the system says so; else the seconds on the clock. */
function computed(pid) {
  try {
    const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13);
    return (Number(user) + Number(system)) / 100;
  } catch {
    return performance.now() / 1000;
  }
}

/** Runs the tests until one fails. Returns what that was, null if none did; the longest that one test took, and all. */
function failure(module, files, limit, names = []) {
  return new Promise((done) => {
    const only = names.map((name) => `--test-name-pattern=^${name.replace(/[^\p{L}\p{N} ]/gu, ".")}$`);
    const env = { ...process.env, HUSH_MODULE: pathToFileURL(module).href };
    const child = spawn(process.execPath, [...FLAGS, ...only, own("all.mjs"), ...files], { env, stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    let longest = 0;
    let last = computed(child.pid);
    const begun = performance.now();
    const watch = setInterval(() => {
      if (computed(child.pid) - last > limit) child.kill("SIGKILL");
    }, 200);
    const never = setTimeout(() => child.kill("SIGKILL"), PATIENCE); // it waits, and computes nothing
    child.stdout.on("data", (part) => {
      said += part;
      const now = computed(child.pid);
      longest = Math.max(longest, now - last);
      last = now;
      never.refresh();
    });
    child.on("close", (code, signal) => {
      clearInterval(watch);
      clearTimeout(never);
      if (code === 0) return done([null, longest, (performance.now() - begun) / 1000]);
      const line = said.trim().split("\n").pop();
      if (!line.startsWith("{")) return done([signal ? `late, or ${signal}` : `exit ${code}`]);
      const { file, test } = JSON.parse(line);
      done([`${basename(file ?? "")}: ${test}`]);
    });
  });
}

/** Returns the files of tests, those first that are quick for what they notice: of this function, and of all. */
function ordered(key, places) {
  const worth = (name, i) => (noticed.get(`${where(key)} ${name}`) ?? 0) + 0.1 * (noticed.get(name) ?? 0) + 0.1 / (i + 1);
  const order = new Map(places.map(({ name, seconds }, i) => [name, seconds / worth(basename(name), i)]));
  const hint = hints[key]?.split(": ")[0];
  const rank = (name) => (basename(name) === hint ? -1 : order.get(name));
  return [...order.keys()].sort((one, other) => rank(one) - rank(other));
}

/** Returns the file, and the few tests in it, that noticed most changes of this function so far; or nothing. */
function likely(key, places) {
  const counts = [...(killers.get(where(key)) ?? new Map())].sort(([, one], [, other]) => other - one);
  const file = counts[0]?.[0].split(": ")[0];
  const best = counts.filter(([killer]) => killer.startsWith(`${file}: `)).slice(0, 4);
  const sum = (some) => some.reduce((total, [, count]) => total + count, 0);
  const place = places.find(({ name }) => basename(name) === file);
  // They are worth a process of their own if they notice most changes, and the rest of the file takes long.
  if (!place || place.seconds < SHORT || 2 * sum(best) < sum(counts)) return undefined;
  return { ...place, names: best.map(([killer]) => killer.slice(file.length + 2)) };
}

const SHORT = 0.5; // seconds: of such a file, all tests may as well be run
const noticed = new Map(); // how many changes each file of tests noticed, of each function and of all
const killers = new Map(); // how many each test noticed, of each function
const where = (key) => key.split(": ")[0];

function learn(key, killer) {
  if (killer === null) return;
  const file = killer.split(": ")[0];
  for (const name of [file, `${where(key)} ${file}`]) noticed.set(name, (noticed.get(name) ?? 0) + 1);
  const own = killers.get(where(key)) ?? new Map();
  killers.set(where(key), own.set(killer, (own.get(killer) ?? 0) + 1));
}

async function tried({ key, start, end, instead }, places) {
  let module;
  try {
    module = await bundled(source.slice(0, start) + instead + source.slice(end), `${Math.random()}`);
  } catch (error) {
    throw new Error(`${key} does not even build: ${error.message}`);
  }
  const limits = new Map(places.map(({ name, limit }) => [name, limit]));
  const files = ordered(key, places);
  const first = likely(key, places);
  let killer = null;
  if (first) [killer] = await failure(module, [first.name], first.limit, first.names);
  // The first file notices most changes; then the others need not be loaded.
  for (const some of [files.slice(0, 1), files.slice(1)]) {
    if (killer === null && some.length) [killer] = await failure(module, some, Math.max(...some.map((name) => limits.get(name))));
  }
  learn(key, killer);
  say([key, killer]);
  rmSync(dirname(module), { recursive: true });
}

try {
  const all = changes(source);
  say(all.map(({ key }) => key));
  const skip = new Set(known);
  const todo = all.filter(({ key }) => !skip.has(key));
  const whole = await bundled(source, "whole");
  const places = []; // each with a limit of its own: an endless loop that the first one meets is found soon
  for (const name of todo.length ? tests.map((test) => resolve(web, test)) : []) {
    const [broken, longest, seconds] = await failure(whole, [name], 60);
    if (broken !== null) throw new Error(`the tests fail as it is: ${broken}`);
    places.push({ name, limit: 1 + 5 * longest, seconds });
  }
  const worker = async () => {
    for (let next = todo.shift(); next; next = todo.shift()) await tried(next, places);
  };
  await Promise.all(Array.from({ length: workers }, worker));
} finally {
  rmSync(folder, { recursive: true });
}
