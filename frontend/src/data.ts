/** What the page knows: packed by headscope/report/payload.py, unpacked here. */

export interface Role {
  head: string;
  /** The number by which texts were chosen that show it. */
  examples: string | null;
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
  /** By which its examples are found. */
  key: string;
  about: string;
  section: string;
  bounded: boolean;
  signed: boolean;
  /**
   * Value, and as text the value, its interval and its baseline; then the baseline and both ends of
   * the interval, and whether no test says that it is but its baseline.
   */
  cells: ([number, string, string, string, number | null, number | null, number | null, boolean] | null)[];
}

export interface Text {
  id: string;
  tokens: string[];
  queries: string[] | null;
  /** Where its maps begin in the bytes of all maps, head by head; -1: none was kept. */
  at: number[];
}

/** Value, low, high, baseline, whether it is sure, and both ends of the axis. */
export type Interval = [number, number | null, number | null, number | null, boolean, number, number];

/** A number of every head that another run gave. */
export interface Other {
  title: string;
  about: string;
  /** The value that means that nothing happens. */
  line: number;
  signed: boolean;
  ends: string[];
  /** By head: an interval, then value and interval as text. */
  rows: Record<string, [...Interval, string, string]>;
}

/** A word in question, what the annotation links it to, the head's choice, and 1 if that is right. */
export type Link = [number, number[], number, number];
/** Text, why it was chosen, its score, and links; or, where nothing is annotated, keys and weights. */
export type Scene = [number, string, string, Link[]] | [number, string, string, number[], number[]];

/** Texts of a view, and by number and head what heads do on some of them. */
export interface Examples {
  texts: [string, string[], string[] | 0][];
  numbers: Record<string, { title: string; heads: Record<string, Scene[]> }>;
}

export interface View {
  title: string;
  /** What the addresses of its heads end with; empty for the first. */
  suffix: string;
  random: boolean;
  short: string;
  headline: string;
  lead: string;
  /** Heads of each layer. */
  layers: number[];
  /** The names of all heads, layer by layer. */
  heads: string[];
  roles: Role[];
  findings: Finding[];
  /** By head, what it is surely better at than its baseline, whether or not that makes a role. */
  best: Record<string, Role[]>;
  lines: Record<string, string[]>;
  relatives: Record<string, [string, number][]>;
  numbers: Numbers[];
  others: Other[];
  texts: Text[];
}

export interface Data {
  views: View[];
  maps: Uint8Array;
  /** Of each view; they wait until somebody asks. */
  examples: () => Promise<Examples[]>;
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
  return { views, maps: new Uint8Array(maps), examples: once(() => unpackJson<Examples[]>("examples")) };
}

/** The same promise whenever it is asked for. */
export function once<T>(read: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | null = null;
  return () => (kept ??= read());
}

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
