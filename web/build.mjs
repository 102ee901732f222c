// Builds what the collector serves, and the npm package.
//
//   node build.mjs            writes ../src/hush/collector/static, which is committed and ships inside the Python wheel
//   node build.mjs --check    fails if a file there is not what this would write
//   node build.mjs --package  writes dist/: one ES module, and its types
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { clientBeside, largeApart, partsApart } from "./apart.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const served = join(here, "..", "src", "hush", "collector", "static");
const MOST = 17_000; // bytes of the client, gzipped: it is loaded by phones

/** The pages load the client as a module of its own, so that it is the same file that everybody may check. */
const clientApart = {
  name: "client-apart",
  setup({ onResolve }) {
    onResolve({ filter: /^hush-client$/ }, () => ({ path: "./hush.js", external: true }));
    onResolve({ filter: /^hush-(seal|training)$/ }, ({ path }) => ({ path: `./${path.slice(5)}.js`, external: true }));
  },
};

async function bundled(entry, plugins = []) {
  const result = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "utf8",
    legalComments: "none",
    plugins,
    write: false,
  });
  return Buffer.from(result.outputFiles[0].contents);
}

async function client() {
  const text = await bundled("src/index.ts", [largeApart]);
  const size = gzipSync(text, { level: 9 }).length;
  if (size >= MOST) throw new Error(`the client has ${size} bytes gzipped, of ${MOST} at most`);
  return { text, size };
}

/** Writes English words into the places of a page that name them, as `set` of explanation.entry.ts writes others. */
function worded(page) {
  const words = JSON.parse(readFileSync(join(here, "pages", "explanation-en.json"), "utf8"));
  const set = (key) => words[key].replace(/\*(.*?)\*/g, "<em>$1</em>").replace("e^ε", "e<sup>ε</sup>");
  return Buffer.from(String(page).replace(/(data-words="(\w+)")>/g, (_, place, key) => `${place}>${set(key)}`));
}

const { text, size } = await client();
if (process.argv.includes("--package")) {
  rmSync(join(here, "dist"), { recursive: true, force: true });
  mkdirSync(join(here, "dist"));
  writeFileSync(join(here, "dist", "hush.js"), text);
  writeFileSync(join(here, "dist", "seal.js"), await bundled("src/sealing.ts"));
  writeFileSync(join(here, "dist", "large.js"), await bundled("src/large.ts", [partsApart]));
  writeFileSync(join(here, "dist", "training.js"), await bundled("src/training.ts", [clientBeside]));
  const tsc = join(here, "node_modules", "typescript", "bin", "tsc");
  execFileSync(process.execPath, [tsc, "-p", join(here, "tsconfig.package.json")], { stdio: "inherit", cwd: here });
} else {
  const files = new Map([
    ["hush.js", text],
    ["seal.js", await bundled("src/sealing.ts")],
    ["large.js", await bundled("src/large.ts", [partsApart])],
    ["training.js", await bundled("src/training.ts", [clientBeside])],
  ]);
  for (const name of readdirSync(join(here, "pages")).sort()) {
    const path = join("pages", name);
    if (extname(name) === ".css") files.set(name, await bundled(path));
    else if (name === "explanation.html") files.set(name, worded(readFileSync(join(here, path))));
    else if (extname(name) !== ".ts") files.set(name, readFileSync(join(here, path)));
    else if (/^[a-z]+\.entry\.ts$/.test(name)) files.set(name.replace(".entry.ts", ".js"), await bundled(path, [clientApart]));
  }
  const check = process.argv.includes("--check");
  mkdirSync(served, { recursive: true });
  const old = readdirSync(served);
  const stale = old.filter((name) => !files.has(name));
  for (const [name, content] of files) {
    if (!old.includes(name) || !readFileSync(join(served, name)).equals(content)) stale.push(name);
    if (!check) writeFileSync(join(served, name), content);
  }
  if (check && stale.length > 0) {
    console.error(`not current: ${stale.join(", ")}; run make web`);
    process.exit(1);
  }
  if (!check) for (const name of old) if (!files.has(name)) rmSync(join(served, name));
  console.log(`hush.js: ${size} bytes gzipped, of ${MOST} at most`);
}
