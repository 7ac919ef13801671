/** The same in a notebook (anywidget): the board of heads, and one head large. No address, no network. */
import { type Data, type Examples, inflate, once, type View } from "./data";
import { el } from "./dom";
import { headPage } from "./head_page";
import { overview } from "./overview";
import { toggleExamples } from "./tables";
import sans from "../fonts/headscope-sans.woff2";
import serif from "../fonts/headscope-serif.woff2";

interface Model { get(name: string): string }

async function unpack(model: Model): Promise<Data> {
  const [views, maps] = await Promise.all([inflate(model.get("views")), inflate(model.get("maps"))]);
  const read = (packed: ArrayBuffer) => JSON.parse(new TextDecoder().decode(packed));
  const examples = once(async () => read(await inflate(model.get("examples"))) as Examples[]);
  return { views: read(views), maps: new Uint8Array(maps), examples };
}

/** Fonts belong to the document: a style within a part of it cannot bring any. */
function addFonts(): void {
  if (document.fonts.check("12px 'Headscope Sans'") && [...document.fonts].some((one) => one.family.includes("Headscope"))) return;
  document.fonts.add(new FontFace("Headscope Sans", `url(${sans})`, { weight: "400 700" }));
  document.fonts.add(new FontFace("Headscope Serif", `url(${serif})`, { weight: "600" }));
}

async function render({ model, el: place }: { model: Model; el: HTMLElement }): Promise<void> {
  const data = await unpack(model);
  addFonts();
  const title = el("h1", {});
  const body = el("div");
  const select = el("select", { "aria-label": "what is shown" }, ...data.views.map((view, i) => el("option", { value: i }, view.short)));
  select.hidden = data.views.length < 2;
  place.classList.add("headscope");
  place.style.containerType = "inline-size";
  place.append(el("div", { class: "top" }, select), title, body);
  const view = (): View => data.views[Number(select.value) || 0];
  const home = () => {
    title.textContent = view().headline;
    body.replaceChildren(overview(data, view()).element);
  };
  select.addEventListener("change", home);
  place.addEventListener("click", (event) => {
    const see = (event.target as Element).closest<HTMLElement>("button[data-examples]");
    if (see) void toggleExamples(see, data, data.views.indexOf(view()));
    const anchor = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#"]');
    if (!anchor) return;
    event.preventDefault(); // the notebook's address is not ours
    const name = decodeURIComponent(anchor.getAttribute("href")!.slice(1)).replace(/^(encoder|decoder|cross)-/, "$1 ").replace(/@\d+$/, "");
    if (!view().heads.includes(name)) return home();
    title.textContent = "";
    body.replaceChildren(headPage(data, view(), name));
  });
  home();
}

export default { render };
