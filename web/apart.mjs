// Where the files that the collector serves meet: both builds and the mutation tester keep these parts apart.

/** What large.js shares with the client: its errors, and the tables to which it adds. */
export const partsApart = {
  name: "parts-apart",
  setup({ onResolve }) {
    onResolve({ filter: /^\.+\/(errors|schema|channels\/index)\.js$/ }, ({ path, importer }) =>
      path.endsWith("schema.js") && !importer.endsWith("large.ts") ? undefined : { path: "./hush.js", external: true },
    );
  },
};

/** What training.js shares with the client: everything beside its own files. */
export const clientBeside = {
  name: "client-beside",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\/(errors|json|coins|plan|schema|tickets|channels\/corners)\.js$/ }, () => ({
      path: "./hush.js",
      external: true,
    }));
  },
};

/** The client loads large.js when a plan needs it, and training.js for a training. */
export const largeApart = {
  name: "large-apart",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/(large|training)\.js$/ }, ({ path }) => ({ path, external: true }));
  },
};
