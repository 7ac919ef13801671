/** The first screen: the headline, the board, the strongest finding of each kind. */
import { Board, chip } from "./board";
import type { Data, View } from "./data";
import { el } from "./dom";
import { interval } from "./interval";

export function overview(data: Data, view: View): { element: HTMLElement; board: Board } {
  const board = new Board(data, view);
  const findings = view.findings.map((finding) =>
    el("article", { class: `finding kind-${finding.kind}` },
      el("h3", {}, chip(view, finding.head), ` ${finding.title}`),
      interval(finding),
      el("p", { class: "fine" }, finding.text,
        finding.others ? `; ${finding.others} other head${finding.others > 1 ? "s" : ""} of this kind` : "")));
  const strongest = findings.length
    ? [el("h2", {}, "The strongest finding of each kind"), ...findings, key()]
    : [el("p", {}, "No head earned a role that is more than the shape of its maps.")];
  const element = el("div", { class: "overview" }, board.element, el("div", { class: "findings" }, ...strongest));
  return { element, board };
}

const key = (): HTMLElement =>
  el("p", { class: "fine key" },
    "Dot: estimate; thick line: 95% interval; tick: baseline, what position, a simple rule or even attention would give.");
