// Reports the first test that fails, and ends: the others need not be run. Until then a sign of life for every test.
export default async function* first(events) {
  for await (const { type, data } of events) {
    if (type === "test:pass") yield ".";
    if (type !== "test:fail") continue;
    process.stdout.write(`\n${JSON.stringify({ file: data.file, test: data.name })}\n`, () => process.exit(1));
    await new Promise(() => {});
  }
}
