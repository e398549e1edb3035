// Bundle the graph view into one script: `make web`, or `node build.mjs [FILE]`.
//
// The first line of the bundle holds a digest of everything that it is made from. The test suite compares it
// with the sources, so a stale bundle is found where there is no npm, too.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const inputs = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"].concat(
  readdirSync(here("src")).filter((name) => name.endsWith(".ts")).sort().map((name) => `src/${name}`),
);
const digest = createHash("sha256");
for (const input of inputs) digest.update(`${input}\0`).update(readFileSync(here(input))).update("\0");

const notices = [["sigma", "LICENSE.txt"], ["graphology", "LICENSE.txt"], ["graphology-utils", "LICENSE.txt"],
  ["events", "LICENSE"]].map(
  ([name, file]) => `${name}:\n${readFileSync(here(`node_modules/${name}/${file}`), "utf8").trim()}`,
);
const banner = `/* meshwright graph view; sources ${digest.digest("hex")} */\n/*!\nThis bundle contains:\n\n` +
  `${notices.join("\n\n").replaceAll("*/", "* /")}\n*/`;

await build({
  entryPoints: [here("src/report.ts")],
  outfile: process.argv[2] ?? here("../src/meshwright/report/assets/graph_view.js"),
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  banner: { js: banner },
  logLevel: "warning",
});
