"""A browser for the tests of the report: one that is installed, else one that can be had.

`python tests/browser.py` sees to it before the tests run; the tests only look where it is. In
order: a Chromium that is installed; Debian's package where this runs as root on Debian;
Playwright's own download. Where none can be had, the tests of the page are skipped, and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def installed() -> str | None:
    """The path of a browser, if there is one."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    return _playwrights()


def _playwrights() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        path = play.chromium.executable_path
    return path if Path(path).exists() else None


def _quietly(*command: str) -> bool:
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    return run.returncode == 0


def install() -> None:
    """Try to get a browser; failing is no error."""
    if Path("/etc/debian_version").exists() and os.geteuid() == 0:
        print("installing Debian's chromium for the tests of the report", flush=True)
        os.environ["DEBIAN_FRONTEND"] = "noninteractive"
        _quietly("apt-get", "update", "-qq")
        if _quietly("apt-get", "install", "-y", "-qq", "chromium"):
            return
    _quietly(sys.executable, "-m", "playwright", "install", "chromium")


if __name__ == "__main__":
    if installed() is None:
        install()
    print(f"browser for the tests: {installed() or 'none, its tests are skipped'}")
