// Runs files of tests in one process, in this order: node all.mjs FILE ...
import { pathToFileURL } from "node:url";

for (const file of process.argv.slice(2)) await import(pathToFileURL(file));
