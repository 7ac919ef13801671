/** One number of every head: how strong a cell is says how far it lies above its baseline. */
import { link } from "./board";
import type { Numbers, View } from "./data";
import { el } from "./dom";

interface Cells {
  layers: number[];
  bounded: boolean;
  signed: boolean;
  /** By head, in order: value, baseline, both in words, and whether it can be told from nothing. */
  rows: Record<string, [number, number | null, string, boolean?]>;
}

/** From 0, nothing, to 1, the most; of differences the size. */
function strength({ rows, bounded, signed }: Cells): (value: number, baseline: number | null) => number {
  const values = Object.values(rows).map((row) => row[0]);
  const most = Math.max(...values.map(Math.abs)) || 1;
  const least = Math.min(...values);
  return (value, baseline) => {
    if (signed) return Math.abs(value) / most;
    if (!bounded) return (value - least) / (most - least || 1);
    return Math.max(0, value - (baseline ?? 0)) / (1 - (baseline ?? 0) || 1);
  };
}

export function cellsBoard(cells: Cells, view?: View): HTMLElement {
  const strong = strength(cells);
  const board = el("div", { class: "board" });
  const widest = Math.max(...cells.layers);
  board.style.setProperty("--heads", String(widest));
  const said = el("p", { class: "said fine", "aria-live": "polite" }, "Point at a head for its number.");
  const prefix = /^(?:encoder |decoder |cross )?/.exec(Object.keys(cells.rows)[0] ?? "")![0];
  cells.layers.forEach((heads, layer) => {
    if (!heads) return;
    board.append(el("span", { class: "axis" }, `L${layer}`));
    for (let head = 0; head < widest; head++) {
      if (head >= heads) {
        board.append(el("span"));
        continue;
      }
      const name = `${prefix}L${layer}.H${head}`;
      const row = cells.rows[name];
      const words = row ? row[2] : `${name}: not measured`;
      const made = el("a", { class: "cell", href: `#${link(name, view)}`, "aria-label": words, "data-head": name });
      made.style.setProperty("--ink-of", row ? ((row[3] === false ? 0.35 : 1) * Math.min(1, Math.max(0, strong(row[0], row[1]))) ** 0.6).toFixed(3) : "0");
      if (cells.signed && (row?.[0] ?? 0) < 0) {
        made.style.setProperty("--tone", "var(--frames)");
        if (Math.abs(row[0]) > 0) made.append(el("span", { "aria-hidden": "true" }, "−"));
      }
      const show = () => { said.textContent = words; };
      made.addEventListener("pointerenter", show);
      made.addEventListener("focus", show);
      board.append(made);
    }
  });
  return el("div", { class: "values" }, board, said);
}

export function valueBoard(view: View, numbers: Numbers): HTMLElement {
  const rows: Cells["rows"] = {};
  view.heads.forEach((head, place) => {
    const cell = numbers.cells[place];
    if (!cell) return;
    const [value, text, range, baseline, least] = cell;
    rows[head] = [value, least, `${head}: ${text} ${range}${baseline === "-" ? "" : `, baseline ${baseline}`}`];
  });
  return cellsBoard({ layers: view.layers, bounded: numbers.bounded, signed: numbers.signed, rows }, view);
}
