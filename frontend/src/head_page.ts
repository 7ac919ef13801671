/** The page of one head: its roles with evidence, its examples, its maps, what other runs say of it. */
import { arcsKey, exampleSet } from "./arcs";
import { chip, evidence, evidenceLine, link, otherLine, sign } from "./board";
import { type Data, type Examples, mapOf, roleOf, shapeOf, type Text, type View } from "./data";
import { el } from "./dom";
import { intervalPlot } from "./interval";
import { links } from "./links";
import { largeMap, thumbnail } from "./map";

const MOST = 5;

export function headPage(data: Data, view: View, head: string): HTMLElement {
  const role = roleOf(view, head);
  const place = view.heads.indexOf(head);
  const neighbours = [view.heads[place - 1], view.heads[place + 1]].filter((name) => name !== undefined);
  const kind = role?.kind ?? "none";
  const element = el("div", { class: `head-page kind-${kind}` });
  const examples = el("section");
  element.append(
    el("p", { class: "crumbs" }, el("a", { href: "#overview" }, "All heads"), " / ", head,
      ...neighbours.flatMap((name) => [" ", el("a", { class: "button", href: `#${link(name, view)}` }, name)])),
    el("div", { class: "head-top" },
      el("div", {}, el("h1", {}, chip(view, head), ` ${role?.title ?? "has no role that could be told from chance"}`),
        el("div", { class: "evidence" }, ...evidence(view, head), ...alsoGoodAt(view, head))),
      where(view, head)),
    examples,
    maps(data, view, head, element),
    relatives(data, view, head),
    others(view, head),
    numbers(data, view, place),
  );
  void data.examples().then((all) => showExamples(examples, all[data.views.indexOf(view)], view, head));
  return element;
}

/** What the head does better than its baseline, beyond its roles. */
function alsoGoodAt(view: View, head: string): HTMLElement[] {
  const roles = new Set(view.roles.filter((role) => role.head === head).map((role) => role.title));
  const also = (view.best[head] ?? []).filter((one) => !roles.has(one.title));
  if (!also.length) return [];
  const lines = also.map((one) => evidenceLine(one));
  const rest = el("details", {}, el("summary", {}, `and ${also.length - MOST} more`), ...lines.slice(MOST));
  return [el("p", { class: "fine" }, "Also better than its baseline, by tests on these texts:"),
    ...lines.slice(0, MOST), ...(also.length > MOST ? [rest] : [])];
}

/** The head's place in the network, and those of its nearest relatives. */
function where(view: View, head: string): HTMLElement {
  const near = new Set((view.relatives[head] ?? []).map(([name]) => name));
  const board = el("div", { class: "where", "aria-hidden": "true" });
  board.style.setProperty("--heads", String(Math.max(...view.layers)));
  let place = 0;
  for (const heads of view.layers) {
    for (let number = 0; number < Math.max(...view.layers); number++) {
      const name = number < heads ? view.heads[place++] : "";
      board.append(el("span", { class: name === head ? "this" : near.has(name) ? "near" : name ? "" : "none" }));
    }
  }
  return el("div", {}, board, el("p", { class: "fine" }, near.size ? "Its place, and its nearest relatives" : "Its place"));
}

/** The corpus's own texts on which a number of the head is highest, usual and lowest. */
function showExamples(section: HTMLElement, examples: Examples | undefined, view: View, head: string): void {
  const keys = Object.keys(examples?.numbers ?? {}).filter((key) => examples!.numbers[key].heads[head]);
  if (!examples || !keys.length) return;
  const roles = view.roles.filter((role) => role.head === head && role.examples).map((role) => role.examples!);
  const ordered = [...new Set([...roles.filter((key) => keys.includes(key)), ...keys])];
  const select = el("select", { id: "head-examples" }, ...ordered.map((key) => el("option", { value: key }, examples.numbers[key].title)));
  const body = el("div");
  const draw = () => {
    const scenes = examples.numbers[select.value].heads[head];
    body.replaceChildren(arcsKey(scenes.some((one) => one.length === 4)), exampleSet(examples, select.value, head)!);
  };
  select.addEventListener("change", draw);
  draw();
  section.append(el("h2", {}, "The texts that show it, and those that do not"),
    el("p", { class: "fine" }, "Of all texts of readable length the highest, those nearest the median, and the lowest: by this number of the head, or, where a simple rule such as position or the nearest mention is often right too, by what the head finds beyond it."),
    el("label", { class: "pick" }, `${head} `, select), body);
}

function maps(data: Data, view: View, head: string, within: HTMLElement): HTMLElement {
  const kept = view.texts.filter((text) => mapOf(data, view, text, head) !== null);
  if (!kept.length) return el("p", { class: "fine" }, "No map of this head was kept.");
  const select = el("select", { id: "head-text" }, ...kept.map((text, i) => el("option", { value: i }, text.tokens.join(" ").slice(0, 80))));
  const place = el("div", { class: "maps" });
  const note = el("p", { class: "fine", id: "head-note" });
  const draw = () => {
    const text = kept[Number(select.value)];
    const map = mapOf(data, view, text, head)!;
    const queries = text.queries ?? text.tokens;
    place.replaceChildren(largeMap(map, text.tokens, queries, within), links(map, text.tokens, queries));
    note.textContent = `From text ${text.id}.` + (text.queries ? " A row is the query that reads this token and says the next one." : "") +
      (text.tokens.length >= 48 ? " Of a longer text, the first 48 tokens are shown, so rows need not sum to 1." : "");
  };
  select.addEventListener("change", draw);
  requestAnimationFrame(draw); // colours are known once the page is in place
  return el("section", {}, el("h2", {}, "Its map, and who looks at whom"),
    el("p", { class: "fine" }, "A row is a token, a cell how much it looks at the token of the column; nothing is painted up to what even attention would give."),
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

/** What other runs of the model say of the head, among all heads. */
function others(view: View, head: string): HTMLElement {
  const shown = view.others.filter((one) => one.rows[head]).map((one) => {
    const [from, to] = [one.rows[head][5], one.rows[head][6]];
    const ticks = el("div", { class: "ticks", "aria-hidden": "true" }, ...Object.entries(one.rows).map(([name, row]) => {
      const tick = el("i", { class: name === head ? "this" : "" });
      tick.style.left = `${(100 * (row[0] - from)) / (to - from || 1)}%`;
      return tick;
    }));
    return el("article", { class: "card" }, otherLine(one, head), ticks,
      el("p", { class: "fine ends" }, el("span", {}, one.ends[0]), el("span", {}, one.ends[1])),
      el("p", { class: "fine" }, one.about, " Grey: the other heads."));
  });
  const lines = view.lines[head] ?? [];
  if (!shown.length && !lines.length) return el("div");
  return el("section", {}, el("h2", {}, "What other runs say of it"), el("div", { class: "cards" }, ...shown),
    el("ul", { class: "lines" }, ...lines.map((one) => el("li", {}, one))));
}

function numbers(data: Data, view: View, place: number): HTMLElement {
  const head = view.heads[place];
  const buttons = new Map<string, HTMLElement>();
  const rows = view.numbers.filter((one) => one.cells[place]).map((one) => {
    const [value, text, range, baseline, least, low, high, sure] = one.cells[place]!;
    const plot = one.bounded ? intervalPlot([value, low, high, least, sure, 0, 1], text) : "";
    const cell = el("td", { class: "number" }, text);
    buttons.set(one.key, cell);
    return el("tr", {}, el("td", {}, el("a", { href: `#${one.section}`, title: one.about }, one.title)),
      el("td", { class: "plot" }, plot), cell, ...[range, baseline].map((words) => el("td", { class: "number" }, words)));
  });
  if (!rows.length) return el("div");
  void data.examples().then((all) => {
    for (const [key, cell] of buttons) {
      if (!all[data.views.indexOf(view)]?.numbers[key]?.heads[head]) continue;
      cell.replaceChildren(el("button", { class: "see", type: "button", "aria-expanded": "false", "data-examples": `${head}|${key}` }, cell.textContent!));
    }
  });
  const top = el("tr", {}, ...["number", "", "value", "95% interval", "baseline"].map((name) => el("th", { scope: "col" }, name)));
  return el("section", {}, el("h2", {}, "All its numbers"),
    el("p", { class: "fine" }, "An underlined number opens the texts behind it, a name the section with all heads. Over all texts; a dot is filled where a test says that the number differs from its baseline."),
    el("div", { class: "scroll", tabindex: 0 }, el("table", { id: "head-numbers" }, el("thead", {}, top), el("tbody", {}, ...rows))));
}
