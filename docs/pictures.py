"""`make docs`: the pictures of the README, from the demo's report in a real browser."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import FloatRect, Page, sync_playwright
from tests.browser import installed

from headscope import Settings, scan

HERE = Path(__file__).parent
SHOWN = "section.view:not([hidden])"


def main() -> None:
    """Scan, open the report, take the pictures."""
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


def take(page: Page, name: str, first: str, last: str) -> None:
    """The part of the page from the one element to the other."""
    top, bottom = (page.locator(one).first.bounding_box() for one in (first, last))
    assert top is not None
    assert bottom is not None
    start = top["y"] - 60
    height = bottom["y"] + bottom["height"] + 12 - start
    clip: FloatRect = {"x": 0, "y": start, "width": 1200, "height": height}
    page.screenshot(path=HERE / name, clip=clip, full_page=True)
    print(HERE / name)


if __name__ == "__main__":
    main()
