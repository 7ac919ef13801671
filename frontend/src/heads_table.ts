/** Every head with its headline numbers; a click on a column sorts by it. */
import { chip, link } from "./board";
import { roleOf, type View } from "./data";
import { el } from "./dom";

export function headsTable(view: View): HTMLElement {
  const wanted = el("input", { type: "search", placeholder: "L3, positional, ...", class: "filter" });
  const body = el("tbody");
  const top = el("tr");
  const labels = view.heads.map((head) => [...new Set(view.roles.filter((role) => role.head === head).map((role) => role.role))]);
  let [sorted, falling] = [-1, true];
  const value = (place: number, column: number): number | string => {
    if (column === 0) return place;
    if (column === 1) return labels[place].join(", ") || "~";
    return view.numbers[column - 2].cells[place]?.[0] ?? -Infinity;
  };
  const render = () => {
    const query = wanted.value.trim().toLowerCase();
    const places = view.heads.map((_, place) => place)
      .filter((place) => `${view.heads[place]} ${labels[place].join(" ")}`.toLowerCase().includes(query));
    if (sorted >= 0) {
      places.sort((a, b) => {
        const [x, y] = [value(a, sorted), value(b, sorted)];
        return (x < y ? -1 : x > y ? 1 : 0) * (falling ? -1 : 1);
      });
    }
    body.replaceChildren(...places.map((place) => {
      const head = view.heads[place];
      const line = el("tr", { "data-head": head }, el("td", {}, chip(view, head)), el("td", {}, labels[place].join(", ")),
        ...view.numbers.map((one) => {
          const cell = one.cells[place];
          return el("td", { class: "number" }, cell ? cell[1] : "–", ...(cell ? [el("small", {}, cell[2])] : []));
        }));
      line.addEventListener("click", () => { location.hash = link(head, view); });
      return line;
    }));
  };
  ["head", "roles", ...view.numbers.map((one) => one.title)].forEach((name, i) => {
    const button = el("button", { type: "button" }, name);
    const cell = el("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      falling = sorted === i ? !falling : i > 1;
      sorted = i;
      for (const other of top.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
      render();
    });
    top.append(cell);
  });
  wanted.addEventListener("input", render);
  render();
  return el("div", {}, el("label", { class: "pick" }, "Filter ", wanted),
    el("div", { class: "scroll tall", tabindex: 0 }, el("table", { class: "heads" }, el("thead", {}, top), body)));
}

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");

/** Heads whose name or role a query is in. */
export const matching = (view: View, query: string): string[] =>
  view.heads.filter((head) => head.toLowerCase().includes(query) || plain(head) === plain(query) ||
    (roleOf(view, head)?.title ?? "").toLowerCase().includes(query) ||
    view.roles.some((role) => role.head === head && role.role.toLowerCase().includes(query)));
