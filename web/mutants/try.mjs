// Tries changes of one file of src: which of them does a test notice?
//
// Standard input is one JSON object: the file, the tests, the names of changes that need not be tried, which test file
// noticed which change the last time, and how many processes may run at once. The answer is a JSON value per line:
// the names of all changes, then every change that was tried, with what noticed it, or null.
//
// A change is put in while esbuild bundles the client as it ships, but for the size. The bundle gets a process of its own,
// in which the tests run until one fails. A test that takes far longer than the longest did before counts as failed:
// some changes make loops endless.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
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

/** Builds the client from a source in which one file has this text. */
async function bundled(contents, outfile) {
  const changed = {
    name: "changed",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, (args) => (args.path === path ? { contents, loader: "ts" } : undefined));
    },
  };
  await build({
    absWorkingDir: web,
    entryPoints: ["src/index.ts"],
    bundle: true,
    format: "esm",
    target: "es2022",
    logLevel: "silent",
    plugins: [changed],
    outfile,
  });
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

/** Runs the tests until one fails, and returns what that was, null if none did, and the longest that one test took. */
function failure(module, files, limit) {
  return new Promise((done) => {
    const env = { ...process.env, HUSH_MODULE: pathToFileURL(module).href };
    const child = spawn(process.execPath, [...FLAGS, own("all.mjs"), ...files], { env, stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    let longest = 0;
    let last = computed(child.pid);
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
      if (code === 0) return done([null, longest]);
      const line = said.trim().split("\n").pop();
      if (!line.startsWith("{")) return done([signal ? `late, or ${signal}` : `exit ${code}`]);
      const { file, test } = JSON.parse(line);
      done([`${basename(file ?? "")}: ${test}`]);
    });
  });
}

async function tried({ key, start, end, instead }, limit) {
  const module = join(folder, `${Math.random()}.mjs`);
  try {
    await bundled(source.slice(0, start) + instead + source.slice(end), module);
  } catch (error) {
    throw new Error(`${key} does not even build: ${error.message}`);
  }
  const hint = tests.filter((name) => basename(name) === hints[key]?.split(": ")[0]);
  const files = [...new Set([...hint, ...tests])].map((name) => resolve(web, name));
  // The first file notices most changes; then the others need not be loaded.
  let killer = null;
  for (const some of [files.slice(0, 1), files.slice(1)]) {
    if (killer === null && some.length) [killer] = await failure(module, some, limit);
  }
  say([key, killer]);
  rmSync(module);
}

try {
  const all = changes(source);
  say(all.map(({ key }) => key));
  const whole = join(folder, "whole.mjs");
  await bundled(source, whole);
  const [broken, longest] = await failure(whole, tests.map((name) => resolve(web, name)), 60);
  if (broken !== null) throw new Error(`the tests fail as it is: ${broken}`);
  const limit = 1 + 5 * longest;
  const skip = new Set(known);
  const todo = all.filter(({ key }) => !skip.has(key));
  const worker = async () => {
    for (let next = todo.shift(); next; next = todo.shift()) await tried(next, limit);
  };
  await Promise.all(Array.from({ length: workers }, worker));
} finally {
  rmSync(folder, { recursive: true });
}
