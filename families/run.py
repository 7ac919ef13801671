"""Check every text family of transformers, each in a process of its own, and write the table."""

from __future__ import annotations

import argparse
import html
import os
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import torch
import transformers

from families.checks import OK, Findings, check_family
from families.listing import text_families

PAGE = Path(__file__).parent.parent / "docs" / "families.md"
OPERATIONS = ("scan", "ablate", "importance", "relevance", "remove")
FAILED = ("wrong: ", "crash: ", "not built: ")
INTRODUCTION = """# Families

What works for each text family of transformers {version}, tried on tiny random networks made from
the family's own configuration (`make coverage-families` writes this page).

- **scan**: the attention maps are those that the model itself returns under eager attention, to
  {near}, on padded and unpadded texts, where it returns any; then all analyses run.
- **ablate**: without a head, and without a layer, the score is that of the task with it off.
- **importance**, **relevance**: run.
- **remove**: the smaller network gives what the larger one gives with these heads at zero.

A refusal is one sentence, which the list after the table quotes. {counts}
"""


def main() -> None:
    """Check the families named on the command line, or all, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", help="print only these, and write no page")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    found = check_families(arguments.families or text_families(), arguments.jobs)
    if not arguments.families:
        PAGE.write_text(page(found), encoding="utf-8")
        print(PAGE)
    bad = [f"{one.family}, {key}: {text}" for one in found for key, text in failures(one).items()]
    print("\n".join(bad))
    raise SystemExit(1 if bad else 0)


def check_families(names: list[str], jobs: int) -> list[Findings]:
    """What works for each of some families; a line is printed for each."""
    context = get_context("spawn")
    found: dict[str, Findings] = {}
    with ProcessPoolExecutor(jobs, context, _prepare) as pool:
        running = {pool.submit(check_family, name): name for name in names}
        for future in as_completed(running):
            name = running[future]
            found[name] = future.result()
            cells = (found[name].outcomes.get(key, "-")[:40] for key in OPERATIONS)
            print(f"{len(found):3} of {len(names)}  {name:24}", " | ".join(cells), flush=True)
    return [found[name] for name in names]


def _prepare() -> None:
    torch.set_num_threads(1)
    # 200 tiny random networks warn of sizes and settings that no real model has
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()


def failures(findings: Findings) -> dict[str, str]:
    """Outcomes that are neither right nor a refusal.

    >>> failures(Findings("x", outcomes={"scan": "ok", "remove": "crash: ValueError"}))
    {'remove': 'crash: ValueError'}
    """
    return {key: text for key, text in findings.outcomes.items() if text.startswith(FAILED)}


def page(found: list[Findings]) -> str:
    """The page as Markdown."""
    one_stack = [one for one in found if one.kind != "both"]
    both = [one for one in found if one.kind == "both"]
    counts = (
        f"Of {len(one_stack)} families with one stack: {_counts(one_stack)}. Of {len(both)} with "
        f"an encoder and a decoder (all three kinds of attention): {_counts(both)}."
    )
    lines = [
        INTRODUCTION.format(version=transformers.__version__, near="1e-4", counts=counts),
        "| family | kind | " + " | ".join(OPERATIONS) + " |",
        "| --- " * (2 + len(OPERATIONS)) + "|",
    ]
    lines += [_row(one) for one in found]
    lines += ["", "## Refusals", ""]
    for one in found:
        for key, text in one.outcomes.items():
            if text != OK:
                lines.append(f"- **{one.family}**, {key}: {html.escape(text, quote=False)}")
    return "\n".join(lines) + "\n"


def _counts(found: list[Findings]) -> str:
    """For how many families each operation works."""
    return ", ".join(
        f"{sum(one.outcomes.get(key) == OK for one in found)} {key}" for key in OPERATIONS
    )


def _row(one: Findings) -> str:
    cells = []
    for key in OPERATIONS:
        outcome = one.outcomes.get(key)
        cells.append("yes" if outcome == OK else "" if outcome is None else "refused")
    kinds = {"both": "encoder and decoder"}
    return f"| {one.family} | {kinds.get(one.kind, one.kind)} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
