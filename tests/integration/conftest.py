"""The command line in this process, and a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from headscope.cli.main import main
from tests.browser import MISSING, installed

QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
"""Options of a Chromium that works as root and opens no connection of its own."""


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Run the command line; returns its exit code, its output and its messages."""

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["headscope", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return command


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser, or a reason why the test is skipped."""
    path = installed()
    if path is None:
        pytest.skip(MISSING)
    with sync_playwright() as play:
        launched = play.chromium.launch(executable_path=path, args=QUIET)
        yield launched
        launched.close()
