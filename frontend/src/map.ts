/** The map of a head on a text: the row of a token says where it looks. */
import { el } from "./dom";

/** Weights up to even attention are paper; above it the square root, so that small ones show. */
function paint(canvas: HTMLCanvasElement, map: Uint8Array, keys: number, colour: string): void {
  const rows = map.length / keys;
  canvas.width = keys;
  canvas.height = rows;
  const context = canvas.getContext("2d")!;
  context.fillStyle = colour;
  const even = 255 / keys;
  for (let i = 0; i < map.length; i++) {
    const excess = (map[i] - even) / (255 - even);
    if (excess <= 0) continue;
    context.globalAlpha = Math.min(1, excess ** 0.6);
    context.fillRect(i % keys, Math.floor(i / keys), 1, 1);
  }
}

const colourOf = (place: Element): string =>
  getComputedStyle(place).getPropertyValue("--mark").trim() || "#1b1f24";

/** A small map without labels. */
export function thumbnail(map: Uint8Array, keys: number, within: Element): HTMLCanvasElement {
  const canvas = el("canvas", { class: "thumbnail" });
  paint(canvas, map, keys, colourOf(within));
  return canvas;
}

/** A large map with tokens beside it, and what is pointed at in words below it. */
export function largeMap(map: Uint8Array, keys: string[], queries: string[], within: Element, room = 560): HTMLElement {
  const canvas = el("canvas", { class: "cells" });
  paint(canvas, map, keys.length, colourOf(within));
  const marker = el("div", { class: "marker", hidden: true });
  const said = el("p", { class: "said", "aria-live": "polite" }, "Point at a cell, or use the arrow keys.");
  const percent = (level: number) => `${((100 * level) / 255).toFixed(0)}%`;
  let [row, column] = [0, 0];
  const columns = el("div", { class: "columns" }, ...keys.map((token) => el("span", {}, token)));
  const rows = el("div", { class: "rows" }, ...queries.map((token) => el("span", {}, token)));
  const point = (query: number, key: number) => {
    row = Math.min(queries.length - 1, Math.max(0, query));
    column = Math.min(keys.length - 1, Math.max(0, key));
    marker.hidden = false;
    marker.style.left = `${(100 * column) / keys.length}%`;
    marker.style.top = `${(100 * row) / queries.length}%`;
    marker.style.width = `${100 / keys.length}%`;
    marker.style.height = `${100 / queries.length}%`;
    const weight = percent(map[row * keys.length + column]);
    said.replaceChildren(
      el("b", {}, queries[row]), " looks at ", el("b", {}, keys[column]),
      ` with ${weight} of its attention; even attention ${(100 / keys.length).toFixed(0)}%`,
    );
    [...columns.children].forEach((one, i) => one.classList.toggle("on", i === column));
    [...rows.children].forEach((one, i) => one.classList.toggle("on", i === row));
  };
  const board = el("div", {
    class: "board-of-map", tabindex: 0, role: "img",
    "aria-label": "attention map; arrow keys read it cell by cell",
  }, canvas, marker);
  board.addEventListener("pointermove", (event) => {
    const box = board.getBoundingClientRect();
    point(
      Math.floor(((event.clientY - box.top) / box.height) * queries.length),
      Math.floor(((event.clientX - box.left) / box.width) * keys.length),
    );
  });
  board.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    point(row + step[0], column + step[1]);
  });
  const size = Math.max(11, Math.min(28, Math.floor(room / Math.max(keys.length, queries.length))));
  const figure = el("div", { class: "map" }, el("div"), columns, rows, board);
  figure.style.setProperty("--cell", `${size}px`);
  figure.style.setProperty("--keys", String(keys.length));
  figure.style.setProperty("--queries", String(queries.length));
  return el("div", {}, el("div", { class: "scroll", tabindex: 0 }, figure), said);
}
