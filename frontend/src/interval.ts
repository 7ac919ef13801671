/** An interval plot: baseline as a tick, estimate as a dot, 95% interval as a thick line. */
import type { Role } from "./data";
import { svg, titled } from "./dom";

/** Where a value lies on the axis, in per cent; shares have one axis from 0 to 1. */
function scale(role: Role): (value: number) => number {
  const known = [role.value, role.low, role.high, role.baseline, 0].filter((v): v is number => v !== null);
  const [low, high] = role.percent && !role.signed ? [0, 1] : [Math.min(...known), Math.max(...known)];
  return (value) => (100 * (value - low)) / (high - low || 1);
}

export function interval(role: Role): SVGSVGElement {
  const x = scale(role);
  const at = (value: number) => `${Math.min(100, Math.max(0, x(value)))}%`;
  const plot = svg("svg", { class: "interval", role: "img", height: 14, width: "100%" }, titled(role.text));
  plot.append(svg("line", { class: "track", x1: 0, x2: "100%", y1: 7, y2: 7 }));
  if (role.baseline !== null && !role.signed) {
    plot.append(svg("line", { class: "lift", x1: at(role.baseline), x2: at(role.value), y1: 7, y2: 7 }));
    plot.append(svg("line", { class: "base", x1: at(role.baseline), x2: at(role.baseline), y1: 1, y2: 13 }));
  }
  if (role.low !== null && role.high !== null) {
    plot.append(svg("line", { class: "bar", x1: at(role.low), x2: at(role.high), y1: 7, y2: 7 }));
  }
  plot.append(svg("circle", { class: "dot", cx: at(role.value), cy: 7, r: 4.5 }));
  return plot;
}
