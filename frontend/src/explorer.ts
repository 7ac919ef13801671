/** The live page: type a text, look at every head, switch heads off, see what changes. */
import { otherLine } from "./board";
import { inflate, type Other, type Role, type Text, unpackJson } from "./data";
import { el, find } from "./dom";
import { interval } from "./interval";
import { links } from "./links";
import { largeMap, thumbnail } from "./map";
import { compared, largestChange, type Prediction } from "./prediction";

interface Start {
  models: { name: string; top: string }[];
  known: { model: string; roles: Role[]; others: Other[] }[];
  /** Texts of the runs, to pick one from. */
  texts: string[];
  text: string;
  others: string[];
}
interface Stack { kind: string; layers: number[]; heads: string[]; text: Text; pieces: number }
interface Answer { stacks: Stack[]; maps: Uint8Array; before: Prediction | null; now: Prediction | null }
interface State {
  model: string; text: string; others: string[]; off: string[]; weights: string; head: string; kind: string;
  /** What is beside: a text, and a model. */
  beside: string; besideModel: string;
}

const LANGUAGE = ["syntax", "coreference", "frames", "links", "alignment"];

class Explorer {
  private readonly state: State;
  private shown: Answer | null = null;
  private second: Answer | null = null;
  private waiting: AbortController | null = null;
  private switching = false;

  constructor(private readonly start: Start) {
    const given = new URLSearchParams(location.hash.slice(1));
    this.state = {
      model: given.get("model") ?? start.models[0].name,
      text: given.get("text") ?? start.text,
      others: given.has("others") ? given.get("others")!.split("\n") : start.others,
      off: (given.get("off") ?? "").split(",").filter(Boolean),
      weights: given.get("weights") ?? "attention",
      head: given.get("head") ?? "",
      kind: given.get("kind") ?? "",
      beside: given.get("beside") ?? "",
      besideModel: given.get("besideModel") ?? "",
    };
    for (const id of ["#model", "#second-model"]) {
      find(id)!.replaceChildren(...start.models.map((one) => el("option", { value: one.name }, one.name)));
    }
    this.field("#text").value = this.state.text;
    this.field("#others").value = this.state.others.join("\n");
    this.choice("#model").value = this.state.model;
    this.choice("#weights").value = this.state.weights;
    find<HTMLInputElement>("#second-text")!.value = this.state.beside;
    if (this.state.besideModel) this.choice("#second-model").value = this.state.besideModel;
    this.listen();
    void this.ask();
    if (this.state.besideModel) void this.compare();
  }

  private field(id: string): HTMLTextAreaElement { return find<HTMLTextAreaElement>(id)!; }
  private choice(id: string): HTMLSelectElement { return find<HTMLSelectElement>(id)!; }

  private listen(): void {
    find("#ask")!.addEventListener("submit", (event) => {
      event.preventDefault();
      this.change({ text: this.field("#text").value.trim() });
    });
    this.field("#text").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        this.change({ text: this.field("#text").value.trim() });
      }
    });
    this.field("#others").addEventListener("change", () => {
      this.change({ others: this.field("#others").value.split("\n").map((one) => one.trim()).filter(Boolean).slice(0, 8) });
    });
    this.choice("#model").addEventListener("change", () => this.change({ model: this.choice("#model").value, off: [], head: "", kind: "" }));
    this.choice("#weights").addEventListener("change", () => this.change({ weights: this.choice("#weights").value }));
    this.choice("#kind").addEventListener("change", () => {
      this.state.kind = this.choice("#kind").value;
      this.state.head = "";
      this.draw();
    });
    const pick = this.choice("#texts");
    pick.parentElement!.hidden = !this.start.texts.length;
    pick.append(...this.start.texts.map((text) => el("option", { value: text }, text.slice(0, 90))));
    pick.addEventListener("change", () => {
      if (!pick.value) return;
      this.field("#text").value = pick.value;
      this.change({ text: pick.value });
      pick.value = "";
    });
    find("#all-on")!.addEventListener("click", () => this.change({ off: [] }));
    const modes = [...find("#mode")!.querySelectorAll("button")];
    modes.forEach((button, i) => button.addEventListener("click", () => {
      this.switching = i === 1;
      modes.forEach((one, j) => one.setAttribute("aria-pressed", String(i === j)));
    }));
    document.addEventListener("keydown", (event) => {
      const typing = /INPUT|SELECT|TEXTAREA/.test((event.target as Element).tagName);
      if (event.key === "o" && !typing && this.state.head) this.toggle(this.state.head);
    });
    find("#beside")!.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.compare();
    });
  }

  private change(some: Partial<State>): void {
    Object.assign(this.state, some);
    void this.ask();
  }

  private toggle(name: string): void {
    const off = this.state.off.includes(name) ? this.state.off.filter((one) => one !== name) : [...this.state.off, name];
    this.change({ off });
  }

  /** Whether a head is off, by itself or with its layer. */
  private isOff(head: string): boolean {
    return this.state.off.includes(head) || this.state.off.includes(head.replace(/\.H\d+$/, ""));
  }

  private async fetch(question: object, signal?: AbortSignal): Promise<Answer> {
    const response = await fetch("answer", { method: "POST", body: JSON.stringify(question), signal });
    const told = await response.json();
    if (!response.ok) throw new Error(told.error);
    return { ...told, maps: new Uint8Array(await inflate(told.maps)) };
  }

  private question(): object {
    const { model, text, others, off, weights } = this.state;
    return { model, text, others, off, weights };
  }

  private async ask(): Promise<void> {
    this.waiting?.abort(); // nobody waits for the last answer any more
    const waiting = (this.waiting = new AbortController());
    const status = find("#status")!;
    const refused = find("#refused")!;
    const stale = (reason: string) => {
      refused.hidden = !reason;
      refused.textContent = reason && `Nothing to show: ${reason}.`;
      find("#shown")!.classList.toggle("stale", Boolean(reason)); // what is shown is not of this text
    };
    if (!this.state.text) return stale("write a text first");
    status.textContent = "looking …";
    try {
      this.shown = await this.fetch(this.question(), waiting.signal);
      stale("");
      this.draw();
    } catch (error) {
      if (!waiting.signal.aborted) stale((error as Error).message);
    }
    if (this.waiting === waiting) status.textContent = "";
  }

  private stack(answer: Answer): Stack {
    return answer.stacks.find((one) => one.kind === this.state.kind) ?? answer.stacks[0];
  }

  private map(answer: Answer, stack: Stack, head: string): Uint8Array | null {
    const at = stack.text.at[stack.heads.indexOf(head)];
    if (at === undefined) return null;
    return answer.maps.subarray(at, at + stack.text.tokens.length * stack.text.queries!.length);
  }

  private roles(head: string): Role[] {
    const known = this.start.known.filter((one) => one.model === this.state.model).flatMap((one) => one.roles);
    return known.filter((role, i) => role.head === head && known.findIndex((other) => other.head === head && other.title === role.title) === i);
  }

  private draw(): void {
    const answer = this.shown!;
    const stack = this.stack(answer);
    if (!stack.heads.includes(this.state.head)) this.state.head = stack.heads[0];
    const kinds = find("#kinds")!;
    kinds.hidden = answer.stacks.length < 2;
    this.choice("#kind").replaceChildren(...answer.stacks.map((one) => el("option", { value: one.kind }, one.kind || "self")));
    this.choice("#kind").value = stack.kind;
    const off = this.state.off.length;
    const without = `Without ${this.state.off.slice(0, 4).join(", ")}${off > 4 ? ` and ${off - 4} more` : ""}`;
    const moved = off && answer.before && answer.now ? largestChange(answer.before, answer.now) : "";
    find("#headline")!.textContent = off ? `${without}${moved ? `, ${moved}` : ""}` : "Every head on this text";
    find("#note")!.textContent = off ? "One text, no interval: a run tells how sure an effect is (headscope ablate)." : "";
    this.board(answer, stack);
    this.presets(stack);
    this.head(answer, stack);
    this.prediction(answer);
    this.drawBeside();
    this.keep();
  }

  /** The address is the state. */
  private keep(): void {
    const { others, off, ...rest } = this.state;
    const link = new URLSearchParams({ ...rest, others: others.join("\n"), off: off.join(",") });
    history.replaceState(null, "", `#${link}`);
  }

  private board(answer: Answer, stack: Stack): void {
    const board = find("#board")!;
    const widest = Math.max(...stack.layers);
    board.style.setProperty("--heads", String(widest));
    const made: HTMLElement[] = [el("span"), ...Array.from({ length: widest }, (_, head) => el("span", { class: "axis" }, `H${head}`))];
    const prefix = stack.kind ? `${stack.kind} ` : "";
    stack.layers.forEach((heads, layer) => {
      if (!heads) return;
      const name = `${prefix}L${layer}`;
      const label = el("button", { type: "button", class: "axis layer", "aria-pressed": String(this.state.off.includes(name)), title: `${name} on or off` }, `L${layer}`);
      label.addEventListener("click", () => this.toggle(name));
      made.push(label);
      for (let head = 0; head < widest; head++) {
        made.push(head < heads ? this.cell(`${name}.H${head}`) : el("span"));
      }
    });
    board.replaceChildren(...made);
    for (const cell of board.querySelectorAll<HTMLElement>("[data-head]")) {
      const map = this.map(answer, stack, cell.dataset.head!);
      if (map && !this.isOff(cell.dataset.head!)) cell.append(thumbnail(map, stack.text.tokens.length, cell));
    }
  }

  /** All heads of a kind off at once, where a run says which they are. */
  private presets(stack: Stack): void {
    const kinds: Record<string, string[]> = {};
    for (const head of stack.heads) {
      const kind = this.roles(head).find((role) => role.kind !== "shape")?.kind;
      const group = kind && (LANGUAGE.includes(kind) ? "language" : kind);
      if (group) (kinds[group] ??= []).push(head);
    }
    find("#presets")!.replaceChildren(...Object.entries(kinds).map(([kind, heads]) => {
      const on = heads.every((head) => this.isOff(head));
      const button = el("button", { type: "button", class: "button", "aria-pressed": String(on) }, el("span", { class: `swatch kind-${this.kindOf(heads[0])}` }), ` ${kind} heads off (${heads.length})`);
      button.addEventListener("click", () => this.change({ off: on ? this.state.off.filter((one) => !heads.includes(one)) : [...new Set([...this.state.off, ...heads])] }));
      return button;
    }));
  }

  private cell(head: string): HTMLElement {
    const off = this.isOff(head);
    const kind = this.kindOf(head);
    const cell = el("button", {
      type: "button", class: `cell kind-${kind}${head === this.state.head ? " shown" : ""}${off ? " off" : ""}`,
      "data-head": head, "aria-label": `${head}${off ? ", off" : ""}`,
    }, off ? el("span", { class: "mark" }, "off") : "");
    cell.addEventListener("click", () => {
      this.state.head = head;
      if (this.switching) this.toggle(head);
      else this.draw();
    });
    return cell;
  }

  private head(answer: Answer, stack: Stack): void {
    const { head } = this.state;
    const place = find("#head")!;
    const map = this.map(answer, stack, head)!;
    const roles = this.roles(head);
    const kind = this.kindOf(head);
    place.className = `panel kind-${kind}`;
    const off = this.isOff(head);
    const rolled = this.state.weights === "rollout";
    const notes = [
      off ? "This head is off: the map is where it would look; for the prediction it attends to everything alike." : "",
      rolled ? "Rollout is one map a layer, the same for all of its heads: how much of each token is in each token after it." : "",
      stack.pieces > stack.text.tokens.length ? `The first ${stack.text.tokens.length} of ${stack.pieces} tokens are shown.` : "",
    ].filter(Boolean).map((note) => el("p", { class: "fine" }, note));
    const button = el("button", { type: "button", class: "button", "aria-pressed": String(off) }, off ? "Switch on" : "Switch off");
    button.addEventListener("click", () => this.toggle(head));
    place.replaceChildren(
      el("div", { class: "peek-title" }, el("span", { class: `chip kind-${kind}` }, head), el("b", {}, rolled ? `rollout after ${head.replace(/\.H\d+$/, "")}` : roles[0]?.title ?? ""), button), ...notes,
      el("div", { class: "maps" }, links(map, stack.text.tokens, stack.text.queries!, 250), largeMap(map, stack.text.tokens, stack.text.queries!, place, 300)),
    );
    find("#known")!.replaceChildren(
      el("h2", {}, `What the run knows of ${head}`),
      ...(roles.length
        ? roles.map((role) => el("div", { class: `line kind-${role.kind}` }, el("span", { class: "what" }, role.title), interval(role), el("span", { class: "number" }, role.text)))
        : [el("p", { class: "fine" }, this.start.known.length ? "No role that could be told from chance." : "No run was given: headscope explore MODEL RUN shows what a scan found.")]),
      ...this.start.known.filter((one) => one.model === this.state.model).flatMap((one) => one.others)
        .filter((other, i, all) => other.rows[head] && all.findIndex((each) => each.title === other.title) === i)
        .map((other) => otherLine(other, head)));
  }

  private prediction(answer: Answer): void {
    const place = find("#prediction")!;
    const top = this.start.models.find((one) => one.name === this.state.model)?.top;
    find("#others-field")!.hidden = top !== "nothing";
    const { before, now } = answer;
    if (!before || !now) {
      place.replaceChildren(el("p", { class: "fine" }, top === "masked-lm" ? "Put the mask token into the text, such as [MASK]." : "Write texts to compare with below."));
      return;
    }
    if (now.said !== null) {
      place.replaceChildren(el("p", {}, el("b", {}, "Says: "), now.said),
        ...(before.said !== now.said ? [el("p", { class: "fine" }, `With all heads on: ${before.said}`)] : []));
      return;
    }
    place.replaceChildren(...compared(now.title, before.values, now.values));
  }

  /** The same head on another text, or in another model. */
  private async compare(): Promise<void> {
    const place = find("#second")!;
    const text = find<HTMLInputElement>("#second-text")!.value.trim();
    const model = this.choice("#second-model").value;
    const same = model === this.state.model;
    if (!text && same) {
      place.replaceChildren(el("p", { class: "notice" }, "Write another text, or choose another model."));
      return;
    }
    Object.assign(this.state, { beside: text, besideModel: model });
    place.replaceChildren(el("p", { class: "fine" }, "looking …"));
    try {
      const off = same ? this.state.off : [];
      this.second = await this.fetch({ model, text: text || this.state.text, others: [], off, weights: this.state.weights });
      this.drawBeside();
      this.keep();
    } catch (error) {
      place.replaceChildren(el("p", { class: "notice" }, (error as Error).message));
    }
  }

  /** The chosen head on what is beside, and all heads below it. */
  private drawBeside(): void {
    if (!this.second) return;
    const [place, answer] = [find("#second")!, this.second];
    const stack = this.stack(answer);
    const head = stack.heads.includes(this.state.head) ? this.state.head : stack.heads[0];
    const tokens = stack.text.tokens;
    const widest = Math.max(...stack.layers);
    const board = el("div", { class: "board with-maps small" });
    board.style.setProperty("--heads", String(widest));
    let number = 0;
    stack.layers.forEach((heads, layer) => {
      if (!heads) return;
      board.append(el("span", { class: "axis" }, `L${layer}`));
      for (let i = 0; i < widest; i++) {
        if (i >= heads) { board.append(el("span")); continue; }
        const name = stack.heads[number++];
        const cell = el("span", { class: `cell kind-${this.kindOf(name)}${name === head ? " shown" : ""}`, title: name });
        board.append(cell);
        requestAnimationFrame(() => cell.append(thumbnail(this.map(answer, stack, name)!, tokens.length, cell)));
      }
    });
    place.className = `kind-${this.kindOf(head)}`;
    place.replaceChildren(
      el("p", {}, el("b", {}, `${head} of ${this.state.besideModel}`), ` on “${this.state.beside || this.state.text}”`),
      largeMap(this.map(answer, stack, head)!, tokens, stack.text.queries!, place, 300),
      el("div", { class: "scroll", tabindex: 0 }, board));
  }

  private kindOf(head: string): string {
    return this.roles(head).find((role) => role.kind !== "shape")?.kind ?? "shape";
  }
}

void unpackJson<Start>("start").then((start) => new Explorer(start));
