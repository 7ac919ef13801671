"""`make docs`: the pictures of the docs, from reports in a real browser.

Those of translation.md need the real model and its gold alignments (HEADSCOPE_MODELS,
HEADSCOPE_DATA).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from playwright.sync_api import FloatRect, Page, sync_playwright
from tests.browser import installed

from headscope import Settings, scan

HERE = Path(__file__).parent
SHOWN = "section.view:not([hidden])"


ALIGNER = "cross L2.H4"


def main() -> None:
    """Take all pictures."""
    take_demo()
    if "HEADSCOPE_MODELS" in os.environ and "HEADSCOPE_DATA" in os.environ:
        take_translation(Path(os.environ["HEADSCOPE_MODELS"]), Path(os.environ["HEADSCOPE_DATA"]))


def take_translation(models: Path, data: Path) -> None:
    """An alignment head between two sentences, and its links beside those of the annotation."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        gold = f"parallel:{data / 'alignments' / 'tatoeba_de_en_hand.jsonl'}"
        scan(models / "tatoeba-de-en-small", gold, out=run, only=["alignment", "focus"])
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=installed(), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1200, "height": 1000})
            page.goto((run / "report.html").as_uri())
            page.select_option("#view", label=page.locator("#view option").all()[-1].inner_text())
            page.wait_for_timeout(3000)
            figures = f"{SHOWN} figure.arcs >> nth="
            take(page, "alignment.png", f"{figures}0", f"{figures}3", 620)
            page.locator(f'{SHOWN} [data-head="{ALIGNER}"]').first.click()
            page.wait_for_timeout(2000)
            page.locator("#head-links").screenshot(path=HERE / "cross.png")
            print(HERE / "cross.png")
            browser.close()


def take_demo() -> None:
    """The bundled model on the bundled texts."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        settings = Settings(random_weights=True, min_count=20)
        command = ["headscope", "demo"]
        scan("minilm", "tour", "tour-pairs", out=run, settings=settings, command=command)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=installed(), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1200, "height": 1000})
            page.goto((run / "report.html").as_uri())
            page.wait_for_timeout(3000)
            take(page, "report.png", f"{SHOWN} .grid", f"{SHOWN} .grid")
            heading = f"{SHOWN} h2[id$=dependencies]"
            take(page, "arcs.png", heading, f"{SHOWN} details >> nth=4")
            browser.close()


def take(page: Page, name: str, first: str, last: str, width: float = 1200) -> None:
    """The part of the page from the one element to the other."""
    top, bottom = (page.locator(one).first.bounding_box() for one in (first, last))
    assert top is not None
    assert bottom is not None
    start = top["y"] - 60
    height = bottom["y"] + bottom["height"] + 12 - start
    clip: FloatRect = {"x": 0, "y": start, "width": width, "height": height}
    page.screenshot(path=HERE / name, clip=clip, full_page=True)
    print(HERE / name)


if __name__ == "__main__":
    main()
