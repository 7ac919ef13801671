/** Lines between the text that looks and the text that is looked at. */
import { el, svg, titled } from "./dom";

const STEP = 24;
const FAINTEST = 13; // 5%

/** Two columns of tokens with a line for every weight of at least 5%. */
export function links(map: Uint8Array, keys: string[], queries: string[], width = 420): HTMLElement {
  const height = STEP * Math.max(keys.length, queries.length) + 8;
  const [left, right] = [0.31 * width, 0.69 * width];
  const picture = svg("svg", { class: "links", role: "img", width: width, height, viewBox: `0 0 ${width} ${height}` });
  picture.append(titled("who looks at whom"));
  const y = (place: number) => 16 + STEP * place;
  const lines: SVGPathElement[][] = queries.map(() => []);
  map.forEach((level, i) => {
    const [query, key] = [Math.floor(i / keys.length), i % keys.length];
    if (level < FAINTEST) return;
    const line = svg("path", {
      d: `M${left} ${y(query) - 4}C${left + width / 6} ${y(query) - 4} ${right - width / 6} ${y(key) - 4} ${right} ${y(key) - 4}`,
      "stroke-width": (0.5 + (4.5 * level) / 255).toFixed(2),
      "stroke-opacity": (0.12 + (0.88 * level) / 255).toFixed(2),
    }, titled(`${queries[query]} looks at ${keys[key]}: ${Math.round(level / 2.55)}%`));
    lines[query].push(line);
    picture.append(line);
  });
  const write = (tokens: string[], x: number, anchor: string) => tokens.map((token, place) => {
    const word = svg("text", { x, y: y(place), "text-anchor": anchor }, token);
    picture.append(word);
    return word;
  });
  write(queries, left - 8, "end").forEach((word, query) => {
    word.addEventListener("pointerenter", () => {
      picture.classList.add("chosen");
      lines.forEach((some, i) => some.forEach((line) => line.classList.toggle("on", i === query)));
    });
    word.addEventListener("pointerleave", () => picture.classList.remove("chosen"));
  });
  write(keys, right + 8, "start");
  return el("div", { class: "scroll", tabindex: 0 }, picture);
}
