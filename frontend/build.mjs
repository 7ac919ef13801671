// Builds the page's script and style into the Python package; `make frontend` runs it.
// Each file says what it was built from, so that a test can tell whether it is up to date.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const hash = createHash("sha256");
for (const folder of ["src", "fonts"]) {
  for (const name of readdirSync(folder).sort()) hash.update(name).update(readFileSync(`${folder}/${name}`));
}
const banner = `/* headscope: built from frontend/src and frontend/fonts (OFL), sha256 ${hash.digest("hex")} */`;
const outdir = "../src/headscope/report/static";
const options = {
  outdir,
  bundle: true,
  minify: true,
  charset: "utf8",
  loader: { ".woff2": "dataurl" },
  target: ["chrome111", "firefox113", "safari16.4"],
  banner: { js: banner, css: banner },
};

await build({ ...options, entryPoints: ["src/report.ts", "src/explorer.ts", "src/report.css"] });
await build({ ...options, entryPoints: ["src/widget.ts"], format: "esm" });
// In a notebook the style is that of the widget alone; its script registers the fonts.
const style = readFileSync(`${outdir}/report.css`, "utf8").replace(banner, "");
const own = style.replace(/@font-face\{[^}]*\}/g, "").replace(/:root\b/g, "&").replace(/(^|[}\s])body(?=[{,])/g, "$1&").replace(/(^|[}\s])html\{[^}]*\}/g, "$1");
writeFileSync(`${outdir}/widget.css`, `${banner}\n.headscope{${own.trim()}}\n`);
