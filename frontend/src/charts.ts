/** Charts of sections: the common kinds are drawn here, the others are SVG that was drawn before. */
import { link } from "./board";
import type { View } from "./data";
import { el, svg, titled } from "./dom";
import { links } from "./links";
import { largeMap } from "./map";
import { cellsBoard } from "./value_board";

interface BoardChart { kind: "board"; layers: number[]; bounded: boolean; signed: boolean; rows: Record<string, [number, number | null, string, boolean]> }
interface LayerChart {
  kind: "layers"; series: string[]; axis: string; percent: boolean; from_zero: boolean;
  heads: [number, number, number, string][];
  layers: [number, number, number | null, number | null, number | null, number, string][];
}
interface OffsetChart { kind: "offsets"; groups: string[]; percent: boolean; heads: Record<string, (number | null)[]> }
interface MapChart { kind: "map"; id: string; at: number; tokens: string[]; queries: string[] | null }
export type Chart = string | BoardChart | LayerChart | OffsetChart | MapChart;

const HEAD = /(?:(?:encoder|decoder|cross) )?L\d+\.H\d+/;
const INKS = ["var(--syntax)", "var(--frames)", "var(--position)", "var(--coreference)", "var(--links)", "var(--words)", "var(--ink)", "var(--repetition)"];
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [420, 230, 48, 34];

export function chart(shown: Chart, maps: Uint8Array, within: HTMLElement, view?: View): HTMLElement {
  if (typeof shown === "string") return drawn(shown, view);
  if (shown.kind === "board") return cellsBoard(shown, view);
  if (shown.kind === "layers") return byLayer(shown, view);
  if (shown.kind === "offsets") return offsets(shown, view);
  const queries = shown.queries ?? shown.tokens;
  const map = maps.subarray(shown.at, shown.at + shown.tokens.length * queries.length);
  return el("div", {}, largeMap(map, shown.tokens, queries, within, 340), el("details", {}, el("summary", {}, "Who looks at whom"), links(map, shown.tokens, queries)));
}

/** A line below a picture that says what is pointed at; a click on what names a head opens it. */
function reading(picture: Element, most: Element, view?: View): HTMLElement {
  const said = el("p", { class: "said fine", "aria-live": "polite" }, "Point at a mark for its number.");
  const words = (event: Event) => (event.target as Element).closest("[aria-label]")?.getAttribute("aria-label");
  picture.addEventListener("pointerover", (event) => {
    const text = words(event);
    if (text && (event.target as Element).closest("[aria-label]") !== most) said.textContent = text;
  });
  picture.addEventListener("click", (event) => {
    const head = words(event)?.match(HEAD)?.[0];
    if (head) location.hash = link(head, view);
  });
  return said;
}

/** SVG from the run's own data; scripts in parsed documents never run, and the policy forbids them. */
function drawn(text: string, view?: View): HTMLElement {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const picture = document.importNode(parsed, true);
  return el("div", {}, el("div", { class: "scroll", tabindex: 0 }, picture), reading(picture, picture, view));
}

/** Round places for an axis. */
export function ticks(low: number, high: number, wanted = 5): number[] {
  const rough = (high - low || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough)!;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function byLayer(shown: LayerChart, view?: View): HTMLElement {
  const values = [...shown.heads.map((row) => row[1]), ...shown.layers.flatMap((row) => [row[1], row[2], row[3], row[4]])]
    .filter((value): value is number => value !== null);
  const low = Math.min(...values, ...(shown.from_zero ? [0] : []));
  const high = Math.max(...values);
  const count = 1 + Math.max(...shown.layers.map((row) => row[0]), ...shown.heads.map((row) => row[0]));
  const x = (layer: number, series = 0) => LEFT + ((WIDTH - LEFT - 8) * (layer + 0.5)) / count + (series - (shown.series.length - 1) / 2) * Math.min(5, 60 / count / shown.series.length);
  const y = (value: number) => 8 + ((HEIGHT - BOTTOM - 8) * (high - value)) / (high - low || 1);
  const places = ticks(low, high);
  const digits = Math.max(0, ...places.map((value) => (String(Number((shown.percent ? 100 * value : value).toPrecision(6))).split(".")[1] ?? "").length));
  const label = (value: number) => (shown.percent ? `${(100 * value).toFixed(digits)}${value === places[places.length - 1] ? "%" : ""}` : value.toFixed(digits));
  const picture = svg("svg", { class: "by-layer", role: "img", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH }, titled(`${shown.axis} by layer`));
  for (const value of places) {
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - 8, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, label(value)));
  }
  for (let layer = 0; layer < count; layer++) {
    if (count <= 16 || layer % 2 === 0) picture.append(svg("text", { x: x(layer, (shown.series.length - 1) / 2), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, `L${layer}`));
  }
  for (const [layer, value, series, says] of shown.heads) {
    picture.append(svg("circle", { class: "point", cx: x(layer, series), cy: y(value), r: 3.2, fill: INKS[series % INKS.length], "aria-label": says, role: "img" }));
  }
  shown.series.forEach((_, series) => {
    const rows = shown.layers.filter((row) => row[5] === series).sort((a, b) => a[0] - b[0]);
    const ink = INKS[series % INKS.length];
    const base = rows.filter((row) => row[4] !== null);
    if (base.length) picture.append(svg("path", { class: "dashed", stroke: ink, d: `M${base.map((row) => `${x(row[0], series)} ${y(row[4]!)}`).join("L")}` }));
    if (rows.length) picture.append(svg("path", { class: "mean", stroke: ink, d: `M${rows.map((row) => `${x(row[0], series)} ${y(row[1])}`).join("L")}` }));
    for (const [layer, value, from, to, , , says] of rows) {
      if (from !== null && to !== null) picture.append(svg("line", { class: "whisker", stroke: ink, x1: x(layer, series), x2: x(layer, series), y1: y(from), y2: y(to) }));
      picture.append(svg("circle", { class: "layer", cx: x(layer, series), cy: y(value), r: 2.4, fill: ink, "aria-label": says, role: "img" }));
    }
  });
  const key = shown.series.map((name, series) => {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = INKS[series % INKS.length];
    return el("span", {}, swatch, ` ${name}`);
  });
  return el("div", {}, el("p", { class: "fine shares-key" }, ...key), el("div", { class: "scroll", tabindex: 0 }, picture), reading(picture, picture, view));
}

function offsets(shown: OffsetChart, view?: View): HTMLElement {
  const values = Object.values(shown.heads).flat().filter((value): value is number => value !== null);
  const most = shown.percent ? 1 : Math.max(...values);
  const layers = new Map<string, [string, (number | null)[]][]>();
  for (const [name, row] of Object.entries(shown.heads)) {
    const layer = name.replace(/\.H\d+$/, "");
    layers.set(layer, [...(layers.get(layer) ?? []), [name, row]]);
  }
  const [cell, high, left] = [Math.max(9, Math.min(16, 280 / shown.groups.length)), 11, 30];
  const pictures = [...layers].map(([layer, rows]) => {
    const [w, h] = [left + cell * shown.groups.length, high * rows.length + 18];
    const picture = svg("svg", { role: "img", viewBox: `0 0 ${w} ${h}`, width: w }, titled(`${layer}: heads down, offsets across`));
    rows.forEach(([name, row], i) => {
      picture.append(svg("text", { x: left - 4, y: high * (i + 1) - 2, "text-anchor": "end" }, name.replace(/.*\./, "")));
      row.forEach((value, column) => {
        if (value === null) return;
        const says = `${name} at ${shown.groups[column]}: ${shown.percent ? `${(100 * value).toFixed(1)}%` : value}`;
        picture.append(svg("rect", { x: left + cell * column, y: high * i, width: cell, height: high, "fill-opacity": Math.max(0, value / most) ** 0.6, "aria-label": says, role: "img" }));
      });
    });
    shown.groups.forEach((group, i) => {
      if (["0", "-1", "+1"].includes(group) || i === 0 || i === shown.groups.length - 1) {
        picture.append(svg("text", { x: left + cell * (i + 0.5), y: h - 5, "text-anchor": "middle" }, group));
      }
    });
    return el("figure", {}, el("figcaption", { class: "fine" }, layer), picture);
  });
  const all = el("div", { class: "offsets" }, ...pictures);
  return el("div", {}, all, reading(all, all, view));
}
