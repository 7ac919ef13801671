/** All heads at a glance: layers by heads, coloured by role; below it a panel on the one pointed at. */
import { type Data, mapOf, type Other, type Role, roleOf, shapeOf, type Text, type View } from "./data";
import { el, svg } from "./dom";
import { interval, intervalPlot } from "./interval";
import { thumbnail } from "./map";

const SIGNS: Record<string, string> = {
  vertical: "M5 2v10M9 2v10",
  diagonal: "M2 2l10 10",
  "vertical+diagonal": "M4 2v10M4 2l8 10",
  block: "M2 2h5v5h-5zM7 7h5v5h-5z",
  broad: "M2 4h10M2 7h10M2 10h10",
};

/** The shape of a head's maps as a small sign. */
export function sign(shape: string | undefined): Node {
  const path = shape === undefined ? undefined : SIGNS[shape];
  if (!path) return document.createTextNode("");
  return svg("svg", { class: "sign", width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" }, svg("path", { d: path }));
}

/** A head's name on the colour of its role: a link to its page. */
export function chip(view: View, head: string): HTMLElement {
  const kind = roleOf(view, head)?.kind ?? "none";
  return el("a", { class: `chip kind-${kind}`, href: `#${link(head, view)}` }, head);
}

/** The address of a head's page: `L2.H8` of the first view, `L2.H8@3` of another. */
export const link = (head: string, view?: View): string => head.replace(" ", "-") + (view?.suffix ?? "");

/** The strongest evidence on a head, a line each. */
export function evidence(view: View, head: string, most = 99): HTMLElement[] {
  return view.roles.filter((role) => role.head === head).slice(0, most).map(evidenceLine);
}

export const evidenceLine = (role: Role): HTMLElement =>
  el("div", { class: `line kind-${role.kind}` },
    el("span", { class: "what" }, role.title), interval(role), el("span", { class: "number" }, role.text));

/** A number that another run gave of a head, as a line of evidence. */
export function otherLine(other: Other, head: string): HTMLElement {
  const row = other.rows[head];
  const [value, low, high, , sure, from, to] = row;
  const says = `${row[7]} ${row[8]}`;
  return el("div", { class: "line kind-shape", title: other.about }, el("span", { class: "what" }, other.title),
    intervalPlot([value, low, high, other.line, sure, from, to], says), el("span", { class: "number" }, says));
}

/** A disc whose area is the distance from the line, or from the least: filled if it is sure. */
function size(row: Other["rows"][string], line: number, most: number, signed: boolean): HTMLElement {
  const share = Math.sqrt(Math.abs(row[0] - line) / (most || 1));
  const disc = el("span", { class: `size${row[4] ? " sure" : ""}` }, row[4] && signed ? (row[0] < line ? "−" : "+") : "");
  disc.style.setProperty("--size", `${Math.max(4, 26 * share).toFixed(1)}px`);
  return disc;
}

export class Board {
  readonly element = el("div", { class: "board-panel" });
  private readonly grid = el("div", { class: "board", role: "group", "aria-label": "heads, a row a layer" });
  private readonly peek = el("div", { class: "peek", "aria-live": "polite" });
  private readonly cells = new Map<string, HTMLAnchorElement>();
  private maps = false;
  private other: Other | undefined;

  constructor(private readonly data: Data, private readonly view: View) {
    const widest = Math.max(...view.layers);
    this.grid.style.setProperty("--heads", String(widest));
    this.grid.append(el("span"));
    for (let head = 0; head < widest; head++) this.grid.append(el("span", { class: "axis" }, `H${head}`));
    let place = 0;
    view.layers.forEach((heads, layer) => {
      if (!heads) return;
      this.grid.append(el("span", { class: "axis" }, `L${layer}`));
      for (let head = 0; head < heads; head++) this.grid.append(this.cell(view.heads[place++]));
      for (let head = heads; head < widest; head++) this.grid.append(el("span"));
    });
    this.grid.addEventListener("keydown", (event) => this.walk(event));
    const buttons = view.texts.length || view.others.length ? [this.switcher()] : [];
    this.element.append(...buttons, el("div", { class: "scroll", tabindex: 0 }, this.grid), this.legend(), this.peek);
    const first = view.findings[0]?.head ?? view.heads[0];
    if (first) this.show(first);
  }

  /** Only the heads that match stay bright. */
  dim(matches: (head: string) => boolean): void {
    for (const [head, cell] of this.cells) cell.classList.toggle("dim", !matches(head));
  }

  private cell(head: string): HTMLElement {
    const role = roleOf(this.view, head);
    const shape = shapeOf(this.view, head)?.role;
    const kinds = new Set(this.view.roles.filter((one) => one.head === head && one.kind !== "shape").map((one) => one.kind));
    const words = role ? `${head}: ${role.title}` : `${head}: no role known`;
    const mark = role && role.kind !== "shape" ? role.mark : "";
    const made = el("a", {
      class: `cell kind-${role?.kind ?? "none"}${kinds.size > 1 ? " second" : ""}`,
      href: `#${link(head, this.view)}`, "aria-label": words, "data-head": head,
    }, el("span", { class: "mark" }, mark), sign(shape));
    made.addEventListener("pointerenter", () => this.show(head));
    made.addEventListener("focus", () => this.show(head));
    this.cells.set(head, made);
    return made;
  }

  private show(head: string): void {
    for (const [name, cell] of this.cells) cell.classList.toggle("shown", name === head);
    const lines = evidence(this.view, head, 3);
    const others = this.other ? [this.other] : this.view.others.slice(0, 1);
    const more = others.filter((one) => one.rows[head]).map((one) => otherLine(one, head));
    this.peek.replaceChildren(
      el("div", { class: "peek-title" }, chip(this.view, head),
        el("b", {}, roleOf(this.view, head)?.title ?? "no role known"),
        el("a", { href: `#${link(head, this.view)}` }, "Open head")),
      ...lines, ...more);
  }

  private walk(event: KeyboardEvent): void {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const head = (event.target as HTMLElement).dataset?.head;
    if (!step || !head) return;
    const [layer, number] = head.match(/\d+/g)!.map(Number);
    const next = head.replace(/L\d+\.H\d+/, `L${layer + step[0]}.H${number + step[1]}`);
    if (this.cells.has(next)) {
      event.preventDefault();
      this.cells.get(next)!.focus();
    }
  }

  /** What the cells show: roles, maps of a text, or a number that another run gave. */
  private switcher(): HTMLElement {
    const text = el("select", { "aria-label": "text" }, ...this.view.texts.map((one, i) =>
      el("option", { value: i }, one.tokens.join(" ").slice(0, 60))));
    const about = el("p", { class: "fine about" });
    text.hidden = true;
    const choose = (shown: number) => {
      this.maps = shown === 1;
      text.hidden = !this.maps;
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === shown)));
      more.value = shown > 1 ? String(shown) : "";
      more.classList.toggle("on", shown > 1);
      const other = this.view.others[shown - 2];
      about.textContent = other?.about ?? "";
      this.paint(this.maps ? this.view.texts[Number(text.value)] : undefined, other);
    };
    const buttons = (this.view.texts.length ? ["Roles", "Maps"] : ["Roles"]).map((name, i) => {
      const button = el("button", { type: "button", "aria-pressed": String(i === 0) }, name);
      button.addEventListener("click", () => choose(i));
      return button;
    });
    const more = el("select", { "aria-label": "another number of every head" }, el("option", { value: "" }, "Another number …"),
      ...this.view.others.map((one, i) => el("option", { value: i + 2 }, one.title)));
    more.hidden = !this.view.others.length;
    more.addEventListener("change", () => choose(Number(more.value)));
    text.addEventListener("change", () => choose(1));
    if (!this.view.roles.length && this.view.texts.length) requestAnimationFrame(() => choose(1)); // nothing but maps to show
    return el("div", {}, el("div", { class: "controls" }, el("div", { class: "segments" }, ...buttons), more, text), about);
  }

  private paint(text: Text | undefined, other: Other | undefined): void {
    const values = Object.values(other?.rows ?? {}).map((row) => row[0]);
    const from = other?.signed ? other.line : Math.min(...values);
    const most = Math.max(...values.map((value) => Math.abs(value - from)));
    for (const [head, cell] of this.cells) {
      cell.querySelector("canvas, .size")?.remove();
      const map = text ? mapOf(this.data, this.view, text, head) : null;
      if (map) cell.append(thumbnail(map, text!.tokens.length, cell));
      const row = other?.rows[head];
      if (row) cell.append(size(row, from, most, other!.signed));
    }
    this.grid.classList.toggle("with-maps", text !== undefined);
    this.grid.classList.toggle("with-sizes", other !== undefined);
    this.other = other;
  }

  private legend(): HTMLElement {
    const counts = new Map<string, number>();
    for (const head of this.view.heads) {
      const kind = roleOf(this.view, head)?.kind ?? "none";
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    const names: Record<string, string> = { shape: "shape only", none: "no role" };
    const order = ["syntax", "coreference", "frames", "links", "alignment", "words", "repetition", "position", "resting", "shape", "none"];
    const signs = Object.keys(SIGNS).filter((shape) => this.view.roles.some((role) => role.role === shape));
    const shapes = el("p", { class: "fine signs" }, "A word is a head's most telling role, a sign the shape of its maps: ",
      ...signs.flatMap((shape) => [sign(shape), ` ${shape} `]));
    return el("div", {}, el("div", { class: "legend" }, ...order.filter((kind) => counts.has(kind)).map((kind) => {
      const button = el("button", { type: "button", class: `kind-${kind}`, "aria-pressed": "false" },
        el("span", { class: "swatch" }), names[kind] ?? kind, el("small", {}, String(counts.get(kind))));
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.parentElement!.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", "false"));
        button.setAttribute("aria-pressed", String(on));
        this.dim((head) => !on || (roleOf(this.view, head)?.kind ?? "none") === kind);
      });
      return button;
    })), ...(signs.length ? [shapes] : []));
  }
}
