/** Tables of sections: interval plots in their cells, and the texts behind a number below its row. */
import { arcsKey, exampleSet } from "./arcs";
import type { Data, Interval } from "./data";
import { el } from "./dom";
import { intervalPlot } from "./interval";

export function drawPlots(within: ParentNode): void {
  within.querySelectorAll<HTMLElement>("[data-plot]:empty").forEach((place) => {
    place.append(intervalPlot(JSON.parse(place.dataset.plot!) as Interval, place.parentElement!.innerText.trim()));
  });
}

/** Open or close the texts behind the number of a button. */
export async function toggleExamples(button: HTMLElement, data: Data, view: number): Promise<void> {
  const row = button.closest("tr")!;
  const open = button.getAttribute("aria-expanded") === "true";
  row.parentElement!.querySelectorAll("tr.examples-row").forEach((one) => one.remove());
  row.parentElement!.querySelectorAll("[aria-expanded]").forEach((one) => one.setAttribute("aria-expanded", "false"));
  if (open) return;
  const [head, ...key] = button.dataset.examples!.split("|");
  const examples = (await data.examples())[view];
  const shown = examples && exampleSet(examples, key.join("|"), head);
  if (!shown || !examples) return;
  button.setAttribute("aria-expanded", "true");
  const annotated = examples.numbers[key.join("|")].heads[head].some((one) => one.length === 4);
  const cell = el("td", { colspan: row.childElementCount },
    el("p", {}, el("b", {}, `${head} ${examples.numbers[key.join("|")].title}`)), arcsKey(annotated), shown);
  row.after(el("tr", { class: "examples-row" }, cell));
}
