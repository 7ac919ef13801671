"""Results in a real notebook (marimo): they show themselves, and nothing leaves the computer."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import altair as alt
import pytest
from playwright.sync_api import Browser

from headscope._util.progress import NoProgress
from headscope.corpus import read
from headscope.errors import HeadscopeError
from headscope.experiments.scan import scan
from headscope.experiments.scan.settings import Settings
from headscope.model import Model
from headscope.runs import RunResults

NOTEBOOK = """
import marimo
app = marimo.App()

@app.cell
def _():
    import headscope
    headscope.open({folder!r})
    return

if __name__ == "__main__":
    app.run()
"""
PATIENCE = 60.0


@pytest.fixture(scope="module")
def folder(minilm: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two analyses."""
    out = tmp_path_factory.mktemp("notebook") / "run"
    scan(
        minilm,
        read("tour"),
        only=["dependencies", "relative_position"],
        settings=Settings(min_count=20),
        out=out,
        progress=NoProgress(),
    )
    return out


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A notebook that shows the run, served by marimo."""
    notebook = folder.parent / "notebook.py"
    notebook.write_text(NOTEBOOK.format(folder=str(folder)), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "-q", "run", str(notebook), "--headless"]
    where = ["--no-token", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen([*command, *where]) as server:
        try:
            yield _when_ready(f"http://127.0.0.1:{port}/")
        finally:
            server.terminate()


def _when_ready(address: str) -> str:
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE:
        try:
            urllib.request.urlopen(address, timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return address
    raise AssertionError(f"marimo does not answer after {PATIENCE:.0f} s")


def test_a_run_shows_itself(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    errors, requests = list[str](), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.locator(".board .cell").first.wait_for(timeout=1000 * PATIENCE)
    assert page.locator(".board .cell").count() == 72
    page.locator('.board .cell[data-head="L0.H2"]').click()
    page.locator(".head-page figure.arcs path.right").first.wait_for()
    assert page.locator(".head-page h1").inner_text().startswith("L0.H2 looks at the token")
    page.locator(".crumbs a", has_text="All heads").click()
    assert page.locator(".board .cell").count() == 72
    elsewhere = [url for url in requests if not url.startswith((address, "ws", "data:", "blob:"))]
    assert elsewhere == []
    assert errors == []
    page.close()


def test_charts_of_a_number_and_of_a_head_can_be_changed(folder: Path) -> None:
    results = RunResults.read(folder)
    chart = results.plot("dependencies", "det").properties(title="my own").to_dict()
    assert chart["title"] == "my own"
    _, intervals = chart["hconcat"]
    first = chart["datasets"][intervals["data"]["name"]][0]
    best = results.best("dependencies", "det")
    assert first["name"] == best.row.name == "L2.H8"
    assert first["baseline"] == pytest.approx(best.row.baseline, abs=0.01)
    head = results.head("l0.h2")
    assert isinstance(head.plot(), alt.LayerChart)
    assert "on the token before" in repr(head)
    assert "<li>" in head._repr_html_()
    with pytest.raises(HeadscopeError, match=r"there is no L9\.H0"):
        results.head("L9.H0")
    with pytest.raises(HeadscopeError, match="is not one head"):
        results.head("L0")
