"""The browser that the tests of the report run in: a Chromium, wherever it comes from.

`python tests/browser.py` says which browser the tests will use, or how to get one; it changes
nothing. With `--install` (`make browser`) it installs one where there is none: Debian's package
when run as root on Debian, otherwise Playwright's own download. Without a browser the tests of the
page are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = "no browser: tests of the report page are skipped (`make browser` installs one)"


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
    """Install a browser, from Debian where this may, otherwise from Playwright."""
    if Path("/etc/debian_version").exists() and os.geteuid() == 0:
        print("installing Debian's chromium", flush=True)
        os.environ["DEBIAN_FRONTEND"] = "noninteractive"
        _quietly("apt-get", "update", "-qq")
        if _quietly("apt-get", "install", "-y", "-qq", "chromium"):
            return
    print("installing Playwright's chromium", flush=True)
    _quietly(sys.executable, "-m", "playwright", "install", "chromium")


def main() -> None:
    """Look for a browser, install one if asked to, and say what there is."""
    wanted = "--install" in sys.argv[1:]
    if wanted and installed() is None:
        install()
    path = installed()
    if wanted and path is None:
        sys.exit("no browser could be installed: put a Chromium on the PATH")
    print(f"browser for the tests: {path}" if path else MISSING)


if __name__ == "__main__":
    main()
