/** An interval plot: baseline as a tick, estimate as a dot, 95% interval as a thick line. */
import type { Interval, Role } from "./data";
import { svg, titled } from "./dom";

/** An open dot cannot be told from its baseline. */
export function intervalPlot([value, low, high, baseline, sure, from, to]: Interval, says: string): SVGSVGElement {
  const at = (x: number) => `${Math.min(100, Math.max(0, (100 * (x - from)) / (to - from || 1)))}%`;
  const plot = svg("svg", { class: "interval", role: "img", height: 14, width: "100%" }, titled(says));
  plot.append(svg("line", { class: "track", x1: 0, x2: "100%", y1: 7, y2: 7 }));
  if (baseline !== null) {
    plot.append(svg("line", { class: "lift", x1: at(baseline), x2: at(value), y1: 7, y2: 7 }));
    plot.append(svg("line", { class: "base", x1: at(baseline), x2: at(baseline), y1: 1, y2: 13 }));
  }
  if (low !== null && high !== null) {
    plot.append(svg("line", { class: "bar", x1: at(low), x2: at(high), y1: 7, y2: 7 }));
  }
  plot.append(svg("circle", { class: `dot${sure ? "" : " open"}`, cx: at(value), cy: 7, r: 4.5 }));
  return plot;
}

/** The evidence for a role, on an axis from 0 to 1 for shares. Roles are tested. */
export function interval(role: Role): SVGSVGElement {
  const known = [role.value, role.low, role.high, role.baseline, 0].filter((v): v is number => v !== null);
  const [from, to] = role.percent && !role.signed ? [0, 1] : [Math.min(...known), Math.max(...known)];
  const baseline = role.signed ? 0 : role.baseline;
  return intervalPlot([role.value, role.low, role.high, baseline, true, from, to], role.text);
}
