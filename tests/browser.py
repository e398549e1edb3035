"""A headless Chromium for tests of pages, with everything that a page does wrong collected."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
"""Run as root, and draw without a graphics card."""
PATIENCE = 60_000
"""Milliseconds: machines that run tests are busy."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser, or skip the test with the reason."""
    if CHROMIUM is None:
        pytest.skip("no Chromium: install it to test pages in a browser")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, file: Path, *, width: int = 1280, **named: Any) -> Iterator[Page]:
    """Open a page with a graph and wait until it is drawn; at the end nothing may have gone wrong.

    Wrong are errors of scripts, errors on the console, and requests for anything but the file itself.
    """
    page = browser.new_page(viewport={"width": width, "height": 900}, **named)
    page.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    page.on("request", lambda asked: wrong.append(asked.url) if not _own(asked.url, file) else None)
    page.goto(file.as_uri())
    page.wait_for_selector("#graph.painted", state="attached")
    yield page
    page.close()
    assert wrong == []


def _own(url: str, file: Path) -> bool:
    return url.partition("#")[0] == file.as_uri() or url.startswith(("data:", "blob:"))
