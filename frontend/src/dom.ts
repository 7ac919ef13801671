/** Making elements. Text from a corpus is only ever set as text, never as HTML. */

type Attributes = Record<string, string | number | boolean | undefined>;
type Child = Node | string;

function set(made: Element, attributes: Attributes, children: Child[]): void {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children);
}

export function el<K extends keyof HTMLElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  set(made, attributes, children);
  return made;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  name: K, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(made, attributes, children);
  return made;
}

export function find<T extends Element = HTMLElement>(selector: string): T | null {
  return document.querySelector<T>(selector);
}

/** A title that screen readers say and a pointer shows. */
export const titled = (text: string): SVGTitleElement => svg("title", {}, text);
