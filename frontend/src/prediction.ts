/** What a model predicts with all heads on, and now. */
import { ticks } from "./charts";
import { el } from "./dom";

export interface Prediction { title: string; values: Record<string, number>; said: string | null }

const number = (value: number | undefined): string => (value === undefined ? "–" : value.toFixed(3));

/** The largest change in words: what the headline of the page says. */
export function largestChange(before: Prediction, now: Prediction): string {
  if (now.said !== null) return now.said === before.said ? "it says the same" : "it says something else";
  const names = [...new Set([...Object.keys(now.values), ...Object.keys(before.values)])];
  const change = (name: string) => Math.abs((now.values[name] ?? 0) - (before.values[name] ?? 0));
  const most = names.sort((a, b) => change(b) - change(a))[0];
  if (most === undefined || change(most) < 0.0005) return "nothing changes";
  return `${now.title === "similarity" ? "the similarity to " : ""}“${most}” moves from ${number(before.values[most])} to ${number(now.values[most])}`;
}

/** A line a value: a ring with all heads on, a disc now, on one axis for all. */
export function compared(title: string, before: Record<string, number>, now: Record<string, number>): HTMLElement[] {
  const names = [...new Set([...Object.keys(now), ...Object.keys(before)])];
  const values = [...Object.values(now), ...Object.values(before)];
  const chances = title !== "similarity";
  const low = chances ? 0 : Math.floor(10 * Math.min(...values) - 0.3) / 10;
  const high = chances ? Math.max(0.1, ...values) : 1;
  const at = (value: number | undefined) => `${(100 * (Math.min(high, Math.max(low, value ?? 0)) - low)) / (high - low)}%`;
  const lines = names.map((name) => {
    const [was, is] = [before[name], now[name]];
    const [ring, disc, between] = ["ring", "disc", "between"].map((kind) => el("span", { class: kind }));
    ring.style.left = at(was);
    disc.style.left = at(is);
    const [from, to] = [was ?? 0, is ?? 0].sort((a, b) => a - b);
    between.style.left = at(from);
    between.style.right = `calc(100% - ${at(to)})`;
    return el("div", { class: "line" }, el("span", { class: "what" }, name), el("span", { class: "track-of" }, between, ring, disc),
      el("span", { class: "number" }, was === is ? number(is) : el("span", {}, `${number(was)} to `, el("b", {}, number(is)))));
  });
  const labels = ticks(low, high, 4).map((value) => {
    const label = el("span", {}, String(value));
    label.style.left = at(value);
    return label;
  });
  const axis = el("div", { class: "line axis-of" }, el("span", { class: "what" }), el("span", { class: "ends" }, ...labels), el("span"));
  return [el("p", { class: "fine" }, `${title}: ring with all heads on, disc now.`), ...lines, axis];
}
