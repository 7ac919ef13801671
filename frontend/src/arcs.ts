/** Arcs on the words of a text: above what the annotation says, below what a head does. */
import type { Examples, Link, Scene } from "./data";
import { el, svg, titled } from "./dom";

const SIZE = 14;
const GAP = 9;
const LEVEL = 8;
const TALLEST = 9;
const APART = 70;
const FAINTEST = 5; // per cent

let canvas: CanvasRenderingContext2D | null = null;
function width(word: string): number {
  canvas ??= document.createElement("canvas").getContext("2d")!;
  canvas.font = `${SIZE}px "Headscope Sans", system-ui, sans-serif`;
  return canvas.measureText(word).width;
}

/** The middle of every word on a line, and the width of all. */
function line(words: string[]): { at: number[]; width: number } {
  let x = GAP;
  const at = words.map((word) => {
    const wide = Math.max(width(word), 6);
    x += wide + GAP;
    return x - GAP - wide / 2;
  });
  return { at, width: x };
}

/** The words of a text with what a head does on it. */
export function scene(examples: Examples, shown: Scene): SVGSVGElement {
  const [, words, queries] = examples.texts[shown[0]];
  const links: Link[] = shown.length === 5
    ? shown[3].map((key, query) => [query, [], key, 1] as Link)
    : shown[3];
  const weights = shown.length === 5 ? shown[4] : null;
  return queries ? between(words, queries, links, weights) : on(words, links, weights);
}

/** How many of a text's links are right, and the score by which it was chosen. */
export function verdict(shown: Scene): string {
  if (shown.length === 5) return shown[2];
  const right = shown[3].filter((link) => link[3]).length;
  return `${right} of ${shown[3].length} right`;
}

function on(words: string[], links: Link[], weights: number[] | null): SVGSVGElement {
  const { at, width: wide } = line(words);
  const span = (one: number, other: number) => Math.min(TALLEST, Math.abs(one - other));
  const reach = (spans: number[]) => 0.75 * LEVEL * Math.max(1, ...spans) + 8;
  const above = links.some((link) => link[1].length) ? reach(links.flatMap(([from, gold]) => gold.map((to) => span(from, to)))) : 4;
  const below = reach(links.filter((link) => link[2] >= 0).map(([from, , to]) => span(from, to)));
  const height = above + SIZE + 10 + below;
  const picture = frame(wide, height, `${words.join(" ")}`);
  const curve = (from: number, to: number, up: boolean) => {
    const base = up ? above : above + SIZE + 8;
    const top = base + (up ? -1 : 1) * LEVEL * span(from, to);
    return `M${at[from]} ${base}C${at[from]} ${top} ${at[to]} ${top} ${at[to]} ${base}`;
  };
  const touched = new Set<number>();
  links.forEach(([from, gold, to, right], i) => {
    touched.add(from);
    gold.forEach((end) => {
      touched.add(end);
      picture.append(arc(curve(from, end, true), "gold", at[end], above, -1, `annotation: ${words[from]} → ${words[end]}`));
    });
    if (to < 0) return;
    touched.add(to);
    const weight = weights?.[i];
    if (weight !== undefined && (weight < FAINTEST || to === from)) return;
    if (gold.includes(to) && right) { // agreement closes to a lens
      picture.prepend(svg("path", { class: "lens", d: `${curve(from, to, true)}${curve(from, to, false).replace("M", "L")}Z` }));
    }
    const said = weight === undefined ? (right ? "right" : "wrong") : `${weight}%`;
    const drawn = arc(curve(from, to, false), right ? "right" : "wrong", at[to], above + SIZE + 8, 1, `head: ${words[from]} → ${words[to]} (${said})`);
    if (weight !== undefined) drawn.setAttribute("opacity", String(0.15 + (0.85 * weight) / 100));
    picture.append(drawn);
  });
  words.forEach((word, i) => picture.append(text(word, at[i], above + SIZE + 1, !weights && !touched.has(i))));
  return picture;
}

/** A text, and below it the text that looks at it. */
function between(words: string[], queries: string[], links: Link[], weights: number[] | null): SVGSVGElement {
  const [above, below] = [line(words), line(queries)];
  const picture = frame(Math.max(above.width, below.width), SIZE * 2 + APART + 14, `${queries.join(" ")} / ${words.join(" ")}`);
  const [top, bottom] = [SIZE + 6, SIZE + 6 + APART];
  links.forEach(([from, gold, to, right], i) => {
    gold.forEach((end) => picture.append(
      svg("path", { class: "gold", d: `M${below.at[from] - 2} ${bottom}L${above.at[end] - 2} ${top}` }, titled(`annotation: ${queries[from]} → ${words[end]}`))));
    if (to < 0 || (weights && weights[i] < FAINTEST)) return;
    const drawn = svg("path", { class: right ? "right" : "wrong", d: `M${below.at[from] + 2} ${bottom}L${above.at[to] + 2} ${top}` }, titled(`head: ${queries[from]} → ${words[to]}`));
    if (weights) drawn.setAttribute("opacity", String(0.15 + (0.85 * weights[i]) / 100));
    picture.append(drawn);
  });
  words.forEach((word, i) => picture.append(text(word, above.at[i], SIZE, false)));
  queries.forEach((word, i) => picture.append(text(word, below.at[i], bottom + SIZE + 2, false)));
  return picture;
}

function frame(wide: number, height: number, says: string): SVGSVGElement {
  const [w, h] = [Math.ceil(wide), Math.ceil(height)];
  const picture = svg("svg", { class: "arcs", role: "img", viewBox: `0 0 ${w} ${h}`, width: w, height: h }, titled(says));
  picture.style.minWidth = `${Math.round(0.72 * w)}px`; // shrinks a little, then its box scrolls
  return picture;
}

function arc(path: string, kind: string, x: number, y: number, down: number, says: string): SVGElement {
  const tip = `M${x - 3} ${y + 4 * down}L${x} ${y}L${x + 3} ${y + 4 * down}`;
  return svg("path", { class: kind, d: path + tip }, titled(says));
}

const text = (word: string, x: number, y: number, faint: boolean): SVGElement =>
  svg("text", { x, y, "text-anchor": "middle", class: faint ? "faint" : "" }, word);

const WHY: Record<string, string> = { "": "Some of its texts", // a run of an earlier version did not choose by score
  highest: "Where it does best", typical: "As usual", lowest: "Where it does worst" };

/** The texts on which a number of a head is highest, usual and lowest. */
export function exampleSet(examples: Examples, key: string, head: string): HTMLElement | null {
  const scenes = examples.numbers[key]?.heads[head];
  if (!scenes?.length) return null;
  const groups = ["highest", "typical", "lowest", ""].flatMap((why) => {
    const own = scenes.filter((one) => one[1] === why);
    if (!own.length) return [];
    return [el("h4", {}, WHY[why]),
      ...own.map((one) => el("figure", { class: "arcs" },
        el("figcaption", { class: "fine" }, el("b", {}, verdict(one)), el("span", {}, examples.texts[one[0]][0])),
        el("div", { class: "scroll", tabindex: 0 }, scene(examples, one))))];
  });
  return el("div", { class: "examples" }, ...groups);
}

/** How arcs are read. */
export function arcsKey(annotated: boolean): HTMLElement {
  const sample = (kind: string, up: boolean) =>
    svg("svg", { class: "arcs", width: 34, height: 14, "aria-hidden": "true" }, svg("path", { class: kind, d: up ? "M3 12C3 2 31 2 31 12" : "M3 2C3 12 31 12 31 2" }));
  return el("p", { class: "fine arcs-key" },
    ...(annotated
      ? [sample("gold", true), "annotation", sample("right", false), "head, right", sample("wrong", false), "head, wrong"]
      : [sample("right", false), "the token that each token looks at most; the paler, the smaller the weight"]));
}
