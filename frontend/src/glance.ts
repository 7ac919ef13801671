/** Small pictures of findings: a strip of intervals, a curve, shares of a whole. */
import type { Interval } from "./data";
import { el, svg, titled } from "./dom";

interface Strip { kind: "strip"; rows: Interval[]; line: number; says: string; ends: string[] }
interface Curve { kind: "curve"; points: [number, number, number, number][]; level: number; mark: number; across: string; says: string[] }
interface Shares { kind: "shares"; parts: string[]; inks: string[]; rows: [string, number[]][] }

const WIDTH = 440;

export function glance(packed: string): HTMLElement {
  const shown = JSON.parse(packed) as Strip | Curve | Shares;
  return shown.kind === "strip" ? strip(shown) : shown.kind === "curve" ? curve(shown) : shares(shown);
}

function strip(shown: Strip): HTMLElement {
  const [from, to] = [shown.rows[0][5], shown.rows[0][6]];
  const x = (value: number) => 6 + ((WIDTH - 12) * (value - from)) / (to - from || 1);
  const step = Math.max(1.6, Math.min(7, 110 / shown.rows.length));
  const height = step * shown.rows.length + 8;
  const picture = svg("svg", { class: "strip", role: "img", viewBox: `0 0 ${WIDTH} ${height}`, width: "100%" },
    titled(`${shown.rows.length} numbers with intervals around ${shown.says}; ${shown.rows.filter((row) => row[4]).length} can be told from it`));
  picture.append(svg("line", { class: "base", x1: x(shown.line), x2: x(shown.line), y1: 0, y2: height }));
  shown.rows.forEach(([value, low, high, , sure], i) => {
    const y = 4 + step * (i + 0.5);
    const kind = sure ? "sure" : "unsure";
    if (low !== null && high !== null) picture.append(svg("line", { class: kind, x1: x(low), x2: x(high), y1: y, y2: y }));
    picture.append(svg("circle", { class: kind, cx: x(value), cy: y, r: Math.min(3.2, step * 0.75) }));
  });
  const place = (100 * (x(shown.line))) / WIDTH;
  const middle = el("span", {}, shown.says);
  middle.style.left = `${Math.min(92, Math.max(8, place))}%`;
  return el("div", {}, picture, el("div", { class: "ends" },
    el("span", {}, place > 24 ? shown.ends[0] : ""), middle, el("span", {}, place < 76 ? shown.ends[1] : "")));
}

function curve(shown: Curve): HTMLElement {
  const height = 120;
  const across = shown.points.map((point) => point[0]);
  const values = [...shown.points.flatMap((point) => point.slice(1)), shown.level];
  const [first, last] = [across[0], across[across.length - 1]];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (place: number) => 4 + ((WIDTH - 8) * (place - first)) / (last - first || 1);
  const y = (value: number) => 8 + ((height - 16) * (high - value)) / (high - low || 1);
  const path = (column: number) => shown.points.map((point) => `${x(point[0])} ${y(point[column])}`);
  const picture = svg("svg", { class: "curve", role: "img", viewBox: `0 0 ${WIDTH} ${height}`, width: "100%" },
    titled(`from ${first} to ${last} ${shown.across}; dashed: ${shown.says[0]}`),
    svg("path", { class: "band", d: `M${[...path(2), ...path(3).reverse()].join("L")}Z` }),
    svg("line", { class: "level", x1: 0, x2: WIDTH, y1: y(shown.level), y2: y(shown.level) }),
    svg("line", { class: "base", x1: x(shown.mark), x2: x(shown.mark), y1: 0, y2: height }),
    svg("path", { class: "line", d: `M${path(1).join("L")}` }));
  const mark = el("span", {}, `${shown.mark} kept: ${shown.says[1]}`);
  mark.style.left = `${(100 * x(shown.mark)) / WIDTH}%`;
  return el("div", {}, picture, el("div", { class: "ends" }, el("span", {}, `${first} ${shown.across}: ${shown.says[0]}`), mark, el("span", {}, String(last))));
}

function shares(shown: Shares): HTMLElement {
  const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
  const rows = shown.rows.map(([name, parts]) => {
    const bar = el("div", { class: "whole", role: "img", "aria-label": `${name}: ${parts.map((share, i) => `${shown.parts[i]} ${percent(share)}`).join(", ")}` });
    parts.forEach((share, i) => {
      const part = el("span", { title: `${shown.parts[i]}: ${percent(share)}` });
      part.style.width = percent(share);
      part.style.background = shown.inks[i];
      bar.append(part);
    });
    return el("div", {}, el("span", { class: "fine" }, name), bar);
  });
  const key = shown.parts.map((part, i) => {
    const swatch = el("span", { class: "swatch" });
    swatch.style.background = shown.inks[i];
    return el("span", {}, swatch, ` ${part}`);
  });
  return el("div", { class: "shares" }, ...rows, el("p", { class: "fine shares-key" }, ...key));
}
