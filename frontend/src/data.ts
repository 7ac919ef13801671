/** What the page knows: packed by headscope/report/payload.py, unpacked here. */

export interface Role {
  head: string;
  role: string;
  kind: string;
  mark: string;
  title: string;
  sentence: string;
  text: string;
  value: number;
  low: number | null;
  high: number | null;
  baseline: number | null;
  percent: boolean;
  signed: boolean;
}

export interface Finding extends Role {
  others: number;
}

/** A number of every head: formatted where a head has it. */
export interface Numbers {
  title: string;
  about: string;
  section: string;
  bounded: boolean;
  signed: boolean;
  /** Value, and as text the value, its interval and its baseline; then the baseline. */
  cells: ([number, string, string, string, number | null] | null)[];
}

export interface Text {
  id: string;
  tokens: string[];
  queries: string[] | null;
  /** Where its maps begin in the bytes of all maps, head by head; -1: none was kept. */
  at: number[];
}

export interface View {
  title: string;
  short: string;
  headline: string;
  lead: string;
  /** Heads of each layer. */
  layers: number[];
  /** The names of all heads, layer by layer. */
  heads: string[];
  roles: Role[];
  findings: Finding[];
  lines: Record<string, string[]>;
  relatives: Record<string, [string, number][]>;
  numbers: Numbers[];
  texts: Text[];
}

export interface Data {
  views: View[];
  /** Vega-Lite, by the number that the page has for a chart. */
  charts: object[];
  maps: Uint8Array;
}

/** Bytes from base64 of what was deflated. */
export async function inflate(packed: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

const unpack = (id: string): Promise<ArrayBuffer> => inflate(document.getElementById(id)?.textContent ?? "");

export async function unpackJson<T>(id: string): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await unpack(id)));
}

/** What the first screen needs. */
export async function readViews(): Promise<Data> {
  const [views, maps] = await Promise.all([unpackJson<View[]>("views"), unpack("maps")]);
  return { views, charts: [], maps: new Uint8Array(maps) };
}

/** The charts of all sections, which wait until one of them is looked at. */
export const readCharts = (): Promise<object[]> => unpackJson<object[]>("charts");

/** The bytes of a head's map on a text, (query, key); 255 is a weight of 1. */
export function mapOf(data: Data, view: View, text: Text, head: string): Uint8Array | null {
  const at = text.at[view.heads.indexOf(head)];
  if (at === undefined || at < 0) return null;
  return data.maps.subarray(at, at + text.tokens.length * (text.queries ?? text.tokens).length);
}

/** The most telling role of a head; roles come in the order of how telling they are. */
export const roleOf = (view: View, head: string): Role | undefined =>
  view.roles.find((role) => role.head === head && role.kind !== "shape") ??
  view.roles.find((role) => role.head === head);

export const shapeOf = (view: View, head: string): Role | undefined =>
  view.roles.find((role) => role.head === head && role.kind === "shape");
