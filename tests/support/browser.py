"""A headless Chromium, driven by Playwright, for tests of the pages for people."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PATIENCE_MS = 60_000


class Tab:
    """One tab, and the addresses that its pages asked for."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.requests: list[str] = []
        page.set_default_timeout(_PATIENCE_MS)
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, file: Path) -> None:
        """Load a file and wait until it is usable."""
        self._page.goto("about:blank")
        self._page.goto(file.resolve().as_uri())

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        return self._page.evaluate(script)

    def hover(self, selector: str) -> None:
        self._page.hover(selector)

    def leave(self) -> None:
        """The mouse goes where nothing is."""
        self._page.mouse.move(1, 1)

    def click(self, selector: str) -> None:
        self._page.click(selector)

    def press(self, key: str) -> None:
        self._page.keyboard.press(key)

    def scheme(self, name: str) -> None:
        self._page.emulate_media(color_scheme=name)

    def picture(self) -> bytes:
        return self._page.screenshot()

    def pdf(self) -> bytes:
        return self._page.pdf(print_background=True)


@contextmanager
def browser() -> Iterator[Tab]:
    """A fresh browser with one tab."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=PATH, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield Tab(chromium.new_page(viewport={"width": 1100, "height": 900}))
        finally:
            chromium.close()
