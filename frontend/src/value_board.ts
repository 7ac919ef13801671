/** One number of every head: how strong a cell is says how far it lies above its baseline. */
import { link } from "./board";
import type { Numbers, View } from "./data";
import { el } from "./dom";

/** From 0, nothing, to 1, the most; of differences the size. */
function strength(numbers: Numbers): (place: number) => number {
  const values = numbers.cells.map((cell) => cell?.[0] ?? 0);
  const most = Math.max(...values.map(Math.abs)) || 1;
  const least = Math.min(...values);
  return (place) => {
    const cell = numbers.cells[place];
    if (!cell) return 0;
    const [value, , , , baseline] = cell;
    if (numbers.signed) return Math.abs(value) / most;
    if (!numbers.bounded) return (value - least) / (most - least || 1);
    return Math.max(0, value - (baseline ?? 0)) / (1 - (baseline ?? 0) || 1);
  };
}

export function valueBoard(view: View, numbers: Numbers): HTMLElement {
  const strong = strength(numbers);
  const board = el("div", { class: "board" });
  const widest = Math.max(...view.layers);
  board.style.setProperty("--heads", String(widest));
  const said = el("p", { class: "said fine", "aria-live": "polite" }, "Point at a head for its number.");
  let place = 0;
  view.layers.forEach((heads, layer) => {
    if (!heads) return;
    board.append(el("span", { class: "axis" }, `L${layer}`));
    for (let head = 0; head < widest; head++) {
      if (head >= heads) {
        board.append(el("span"));
        continue;
      }
      const [name, cell] = [view.heads[place], numbers.cells[place]];
      const words = cell ? `${name}: ${cell[1]} ${cell[2]}${cell[3] === "-" ? "" : `, baseline ${cell[3]}`}` : `${name}: not measured`;
      const made = el("a", { class: "cell", href: `#${link(name)}`, "aria-label": words, "data-head": name });
      made.style.setProperty("--ink-of", (strong(place) ** 0.6).toFixed(3));
      if (numbers.signed && (cell?.[0] ?? 0) < 0) made.style.setProperty("--tone", "var(--frames)");
      const show = () => { said.textContent = words; };
      made.addEventListener("pointerenter", show);
      made.addEventListener("focus", show);
      board.append(made);
      place++;
    }
  });
  return el("div", {}, board, said);
}
