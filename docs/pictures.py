"""`make docs`: the picture of the README, from the demo's report in a real browser."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.browser import installed

from headscope import Options, scan

HERE = Path(__file__).parent


def main() -> None:
    """Scan, open the report, take the picture."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        scan(
            "minilm",
            "tour",
            out=run,
            options=Options(random_weights=True),
            command=["headscope", "demo"],
        )
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=installed(), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1200, "height": 1000})
            page.goto((run / "report.html").as_uri())
            page.wait_for_timeout(3000)
            grid = page.locator("section.view:not([hidden]) .grid").bounding_box()
            assert grid is not None
            bottom = grid["y"] + grid["height"] + 12
            page.screenshot(
                path=HERE / "report.png",
                clip={"x": 0, "y": 0, "width": 1200, "height": bottom},
                full_page=True,
            )
            browser.close()
    print(HERE / "report.png")


if __name__ == "__main__":
    main()
