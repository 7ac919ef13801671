// Builds the page's script and style into the Python package; `make frontend` runs it.
// Each file says what it was built from, so that a test can tell whether it is up to date.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { build } from "esbuild";

const hash = createHash("sha256");
for (const name of readdirSync("src").sort()) hash.update(name).update(readFileSync(`src/${name}`));
const banner = `/* headscope: built from frontend/src, sha256 ${hash.digest("hex")} */`;

await build({
  entryPoints: ["src/report.ts", "src/explorer.ts", "src/report.css"],
  outdir: "../src/headscope/report/static",
  bundle: true,
  minify: true,
  charset: "utf8",
  target: ["chrome111", "firefox113", "safari16.4"],
  banner: { js: banner, css: banner },
  legalComments: "inline",
});
