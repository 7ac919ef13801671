/** The page of one head: its roles with evidence, its examples, its maps, what other runs say of it. */
import { chip, evidence, sign } from "./board";
import { type Data, mapOf, roleOf, shapeOf, type Text, type View } from "./data";
import { el } from "./dom";
import { links } from "./links";
import { largeMap, thumbnail } from "./map";

const EXAMPLES = 8;

export function headPage(data: Data, view: View, head: string): HTMLElement {
  const role = roleOf(view, head);
  const place = view.heads.indexOf(head);
  const neighbours = [view.heads[place - 1], view.heads[place + 1]].filter((name) => name !== undefined);
  const kind = role?.kind ?? "none";
  const element = el("div", { class: `head-page kind-${kind}` });
  element.append(
    el("p", { class: "crumbs" }, el("a", { href: "#overview" }, "All heads"), " / ", head,
      ...neighbours.flatMap((name) => [" ", el("a", { class: "button", href: `#${name.replace(" ", "-")}` }, name)])),
    el("h1", {}, chip(view, head), ` ${role?.title ?? "has no role that could be told from chance"}`),
    el("div", { class: "evidence" }, ...evidence(view, head)),
    list(view.lines[head] ?? []),
    examples(view, head),
    maps(data, view, head, element),
    relatives(data, view, head),
    numbers(view, place),
  );
  return element;
}

const list = (lines: string[]): HTMLElement => el("ul", { class: "lines" }, ...lines.map((line) => el("li", {}, line)));

/** The sentences with arcs of this head, wherever a section of the page shows them. */
function examples(view: View, head: string): HTMLElement {
  const shown = document.querySelectorAll(`[data-of="${CSS.escape(view.title)}"] figure.arcs[data-head="${CSS.escape(head)}"]`);
  if (!shown.length) return el("div");
  const some = [...shown].slice(0, EXAMPLES).map((figure) => figure.cloneNode(true));
  return el("section", {}, el("h2", {}, "On real sentences"),
    el("p", { class: "fine" }, "Above the words what the annotation says, below what the head does: solid right, dashed wrong."),
    el("div", { class: "examples" }, ...some));
}

function maps(data: Data, view: View, head: string, within: HTMLElement): HTMLElement {
  const kept = view.texts.filter((text) => mapOf(data, view, text, head) !== null);
  if (!kept.length) return el("p", { class: "fine" }, "No map of this head was kept.");
  const select = el("select", { id: "head-text" }, ...kept.map((text, i) => el("option", { value: i }, text.tokens.join(" ").slice(0, 80))));
  const place = el("div", { class: "maps" });
  const draw = () => {
    const text = kept[Number(select.value)];
    const map = mapOf(data, view, text, head)!;
    const queries = text.queries ?? text.tokens;
    place.replaceChildren(largeMap(map, text.tokens, queries, within), links(map, text.tokens, queries));
    note.textContent = `From text ${text.id}.` + (text.queries ? " A row is the query that reads this token and says the next one." : "") +
      (text.tokens.length >= 48 ? " Of a longer text, the first 48 tokens are shown, so rows need not sum to 1." : "");
  };
  const note = el("p", { class: "fine", id: "head-note" });
  select.addEventListener("change", draw);
  requestAnimationFrame(draw); // colours are known once the page is in place
  return el("section", {}, el("h2", {}, "Its map, and who looks at whom"),
    el("label", { class: "pick" }, "Text ", select), place, note);
}

function relatives(data: Data, view: View, head: string): HTMLElement {
  const near = view.relatives[head] ?? [];
  if (!near.length) return el("div");
  const text: Text | undefined = view.texts[0];
  const card = (name: string, words: string) => {
    const map = text ? mapOf(data, view, text, name) : null;
    const made = el("div", { class: `relative kind-${roleOf(view, name)?.kind ?? "none"}` });
    if (map) requestAnimationFrame(() => made.prepend(thumbnail(map, text!.tokens.length, made)));
    made.append(chip(view, name), sign(shapeOf(view, name)?.role), el("span", { class: "fine" }, words));
    return made;
  };
  return el("section", {}, el("h2", {}, `${near[0][0]} looks most like it`),
    el("p", { class: "fine" }, "Jensen-Shannon divergence of attention rows, in nats; two heads with nothing in common are 0.69 apart."),
    el("div", { class: "relatives" }, card(head, "this head"), ...near.map(([name, apart]) => card(name, `${apart.toFixed(3)} nats`))));
}

function numbers(view: View, place: number): HTMLElement {
  const rows = view.numbers.filter((one) => one.cells[place]).map((one) => {
    const [, text, range, baseline] = one.cells[place]!;
    return el("tr", {}, el("td", {}, el("a", { href: `#${one.section}`, title: one.about }, one.title)),
      ...[text, range, baseline].map((cell) => el("td", { class: "number" }, cell)));
  });
  if (!rows.length) return el("div");
  const top = el("tr", {}, ...["number", "value", "95% interval", "baseline"].map((name) => el("th", { scope: "col" }, name)));
  return el("section", {}, el("h2", {}, "All its numbers"),
    el("div", { class: "scroll", tabindex: 0 }, el("table", { id: "head-numbers" }, el("thead", {}, top), el("tbody", {}, ...rows))));
}
