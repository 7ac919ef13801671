/** The report: one file with several pages. The address says which one is shown (#L2.H8, #overview). */
import { chip, link } from "./board";
import type { Board } from "./board";
import { type Chart, chart } from "./charts";
import { type Data, once, readViews, roleOf, unpackJson, type View } from "./data";
import { el, find } from "./dom";
import { glance } from "./glance";
import { headPage } from "./head_page";
import { headsTable, matching } from "./heads_table";
import { overview } from "./overview";
import { drawPlots, toggleExamples } from "./tables";
import { valueBoard } from "./value_board";

const NAME = /^(?:(?:encoder|decoder|cross) )?L\d+\.H\d+$/;
const named = (wanted: string): string => wanted.replace(/^(encoder|decoder|cross)-/, "$1 ");
const WIDE = matchMedia("(min-width: 900px)");

class Report {
  private current = 0;
  private board: Board | null = null;
  private readonly charts = once(() => unpackJson<Chart[]>("charts"));
  private readonly seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      this.seen.unobserve(entry.target);
      void this.draw(entry.target as HTMLElement);
    }
  }, { rootMargin: "300px" });

  constructor(private readonly data: Data) {
    const select = find<HTMLSelectElement>("#view");
    select?.addEventListener("change", () => {
      this.show(Number(select.value));
    });
    window.addEventListener("hashchange", () => this.route());
    window.addEventListener("beforeprint", () => this.drawAll());
    document.addEventListener("click", (event) => {
      const see = (event.target as Element).closest<HTMLElement>("button[data-examples]");
      if (see) void toggleExamples(see, this.data, this.data.views.indexOf(this.viewOf(see)!));
      const button = (event.target as Element).closest<HTMLElement>("button[data-head]");
      if (button) location.hash = link(button.dataset.head!, this.viewOf(button));
    });
    document.addEventListener("keydown", (event) => {
      const typing = /INPUT|SELECT|TEXTAREA/.test((event.target as Element).tagName);
      if (event.key === "/" && !typing) {
        event.preventDefault();
        find<HTMLInputElement>("#search")?.focus();
      }
    });
    document.querySelectorAll("[data-chart], [data-glance]").forEach((place) => this.seen.observe(place));
    this.search();
    setTimeout(() => void this.charts(), 1500); // unpacked before somebody prints
    this.choose(0);
    this.route();
  }

  private get view(): View | undefined {
    return this.data.views[this.current];
  }

  /** The view to which a part of the page belongs; what belongs to none is about the first. */
  private viewOf(place: Element): View | undefined {
    const owner = place.closest<HTMLElement>("[data-view]");
    if (owner) return this.data.views[Number(owner.dataset.view)];
    return place.closest("#head-page, #glance") ? this.view : this.data.views[0];
  }

  /** The same page of another view, if it has it. */
  private show(other: number): void {
    const [page] = location.hash.slice(1).split("@");
    const there = this.data.views[other];
    const same = page.replace(/^view-\d+-/, `view-${other}-`);
    this.choose(other);
    const isHead = there.heads.includes(named(decodeURIComponent(page)));
    location.hash = isHead ? page + there.suffix : document.getElementById(same) ? same : "overview";
    this.route();
  }

  /** Show another model, corpus or kind of attention. */
  private choose(number: number): void {
    this.current = number;
    const view = this.view;
    const select = find<HTMLSelectElement>("#view");
    if (select) select.value = String(number);
    document.querySelectorAll<HTMLElement>("[data-view]").forEach((part) => {
      part.hidden = Number(part.dataset.view) !== number;
    });
    document.querySelectorAll<HTMLElement>("[data-trained]").forEach((part) => { part.hidden = view?.random ?? false; });
    const place = find("#glance");
    if (!view || !place) return;
    find("#headline")!.textContent = view.headline;
    find("#lead")!.textContent = view.lead;
    const first = overview(this.data, view);
    this.board = first.board;
    place.replaceChildren(first.element);
    requestAnimationFrame(() => find("#all-heads")?.replaceChildren(headsTable(view)));
    document.querySelectorAll<HTMLElement>(`[data-view="${number}"] [data-numbers]`).forEach((part) => this.seen.observe(part));
  }

  /** Show what the address names: a head, a section, or the first screen. */
  private route(): void {
    const [wanted, number] = (decodeURIComponent(location.hash.slice(1)) || "overview").split("@");
    const name = named(wanted);
    if (NAME.test(name)) this.chooseFor(name, Number(number ?? 0));
    const view = this.view;
    const isHead = view?.heads.includes(name) ?? false;
    const target = isHead ? find("#head-page") : document.getElementById(wanted);
    const missing = find("#missing");
    if (missing) {
      missing.hidden = target !== null;
      missing.textContent = `Nothing here is called ${wanted}.`;
    }
    const page = target?.closest<HTMLElement>("[data-page]") ?? find("[data-page]");
    const owner = page?.closest<HTMLElement>("[data-view]");
    if (owner && Number(owner.dataset.view) !== this.current) this.choose(Number(owner.dataset.view));
    if (isHead && view) find("#head-page")!.replaceChildren(headPage(this.data, view, name));
    document.querySelectorAll<HTMLElement>("[data-page]").forEach((one) => { one.hidden = one !== page; });
    if (page) drawPlots(page);
    const about = page && this.viewOf(page);
    if (page && about) this.colourNames(page, about);
    document.querySelectorAll("nav a").forEach((one) => {
      const here = one.getAttribute("href") === `#${isHead ? "overview" : page?.id}`;
      if (here) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
    });
    const menu = find<HTMLDetailsElement>("#menu");
    if (menu) menu.open = WIDE.matches;
    window.scrollTo(0, 0);
    if (target && page && target !== page && !isHead) target.scrollIntoView();
    find("main")?.focus({ preventScroll: true });
  }

  /** The names of heads in tables, on the colours of their roles. */
  private colourNames(page: Element, view: View): void {
    page.querySelectorAll<HTMLElement>("button.head").forEach((button) => {
      if (view.heads.includes(button.dataset.head!)) {
        button.className = `head chip kind-${roleOf(view, button.dataset.head!)?.kind ?? "none"}`;
      }
    });
  }

  /** Show the view that an address of a head names, or the first that has such a head. */
  private chooseFor(head: string, number: number): void {
    const has = (one: View | undefined) => one?.heads.includes(head) ?? false;
    const wanted = has(this.data.views[number]) ? number : this.data.views.findIndex(has);
    if (wanted >= 0 && wanted !== this.current) this.choose(wanted);
  }

  private async draw(place: HTMLElement): Promise<void> {
    const title = place.dataset.numbers;
    if (title !== undefined) {
      const view = this.viewOf(place);
      const numbers = view?.numbers.find((one) => one.title === title);
      if (numbers && view) place.replaceChildren(valueBoard(view, numbers));
      return;
    }
    if (place.dataset.glance !== undefined) {
      place.replaceChildren(glance(place.dataset.glance));
      return;
    }
    const shown = (await this.charts())[Number(place.dataset.chart)];
    place.replaceChildren(chart(shown, this.data.maps, place, this.viewOf(place)));
  }

  /** For paper: every section with its charts. */
  private drawAll(): void {
    drawPlots(document);
    document.querySelectorAll<HTMLElement>("[data-chart], [data-glance], [data-numbers]").forEach((place) => {
      this.seen.unobserve(place);
      if (!place.childElementCount) void this.draw(place);
    });
  }

  /** Finds heads by name or role, and sections by what they are called. */
  private search(): void {
    const input = find<HTMLInputElement>("#search");
    const results = find("#found");
    if (!input || !results) return;
    const titles = [...document.querySelectorAll<HTMLAnchorElement>("nav a[href]")];
    const show = () => {
      const query = input.value.trim().toLowerCase();
      const view = this.view;
      const heads = query && view ? matching(view, query) : [];
      this.board?.dim((head) => !heads.length || heads.includes(head));
      const shown = (one: Element) => !one.closest<HTMLElement>("[data-view][hidden]");
      const sections = query ? titles.filter((one) => shown(one) && one.textContent!.toLowerCase().includes(query)) : [];
      const rows = new Map<string, HTMLElement>();
      for (const row of query ? document.querySelectorAll<HTMLElement>("[data-find]") : []) {
        const text = row.dataset.find!;
        if (rows.size < 8 && shown(row) && text.toLowerCase().includes(query) && !rows.has(text)) rows.set(text, row);
      }
      results.replaceChildren(
        ...heads.slice(0, 12).map((head) => el("li", {}, chip(view!, head), ` ${roleOf(view!, head)?.title ?? ""}`)),
        ...sections.slice(0, 6).map((one) => el("li", {}, el("a", { href: one.getAttribute("href")! }, one.textContent!.trim()))),
        ...[...rows].map(([text, row]) => el("li", {}, el("a", { href: `#${row.closest("[data-page]")!.id}` }, text))));
      if (query && !results.childElementCount) results.append(el("li", {}, "Nothing is called that."));
      results.hidden = !query;
    };
    input.addEventListener("input", show);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        input.value = "";
        show();
      }
      const first = results.querySelector("a");
      if (event.key === "Enter" && first) location.hash = first.getAttribute("href")!;
    });
    window.addEventListener("hashchange", () => { results.hidden = true; });
  }
}

void readViews().then((data) => new Report(data));
