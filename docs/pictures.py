"""`make docs`: the pictures of the docs, from reports in a real browser.

Those of translation.md need the real model and its gold alignments (HEADSCOPE_MODELS,
HEADSCOPE_DATA).
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from tests.browser import installed

from headscope import Settings, scan

HERE = Path(__file__).parent


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
            page.wait_for_selector("#glance .cell")
            section = page.locator('[data-page][id$="-alignment"]').first.get_attribute("id")
            page.goto(f"{(run / 'report.html').as_uri()}#{section}")
            page.locator(f"#{section} button.see").first.click()
            shown = page.locator(f"#{section} tr.examples-row")
            shown.locator("svg.arcs").first.wait_for()
            shown.screenshot(path=HERE / "alignment.png")
            print(HERE / "alignment.png")
            page.goto((run / "report.html").as_uri() + "#cross-L2.H4")
            page.locator("svg.links").wait_for()
            page.locator("svg.links").screenshot(path=HERE / "cross.png")
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
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            page.goto((run / "report.html").as_uri())
            page.wait_for_selector("#glance .cell")
            page.screenshot(path=HERE / "report.png")
            print(HERE / "report.png")
            page.goto((run / "report.html").as_uri() + "#L2.H8")
            page.wait_for_selector("#head-page figure.arcs")
            page.wait_for_selector("svg.links")
            page.screenshot(path=HERE / "arcs.png")
            print(HERE / "arcs.png")
            take_tour(browser, run)
            browser.close()


def take_tour(browser: Browser, run: Path) -> None:
    """The explorer as moving pictures: look at a head, switch it off, ask another text."""
    command = [sys.executable, "-m", "headscope", "explore", "minilm", str(run), "--no-browser"]
    frames: list[Image.Image] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        address = next(line.strip() for line in served.stdout if line.startswith("http"))
        page = browser.new_page(viewport={"width": 1100, "height": 760})

        def frame(times: int = 1) -> None:
            page.wait_for_timeout(900)
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            frames.extend([picture.quantize(128)] * times)

        page.goto(address)
        page.wait_for_selector("#board canvas")
        frame(2)
        for head in ("L0.H2", "L2.H8", "L5.H9"):
            page.locator(f'[data-head="{head}"]').click()
            frame(2)
        page.keyboard.press("o")
        page.wait_for_selector('[data-head="L5.H9"].off')
        frame(3)
        page.locator("#all-on").click()
        page.locator("#text").fill("The cat that we fed sat down.")
        page.keyboard.press("Enter")
        frame(2)
        served.terminate()
    path = HERE / "tour.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=900, loop=0)
    print(path)


if __name__ == "__main__":
    main()
