"""Pages in a real browser, which may report no error, ask for nothing but themselves and open no dialog."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@contextmanager
def launch() -> Iterator[Any]:
    """A browser for the tests of one module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def quiet_page(browser: Any, path: Path | str, **options: Any) -> Iterator[Any]:
    """A page in a file, or at an address of this machine; it asks for nothing outside of it."""
    page = browser.new_page(**{"viewport": {"width": 1200, "height": 900}, **options})
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    address = path.as_uri() if isinstance(path, Path) else path
    page.goto(address)
    yield page
    page.close()
    assert wrong == []
    if isinstance(path, Path):
        assert requested == [address]
    else:
        assert all(one.startswith(path) or one.startswith("blob:") for one in requested), requested


def wait_until(page: Any, expression: str, arg: Any = None) -> None:
    """Wait until an expression is true; playwright's own way evaluates text in the page, which its policy forbids."""
    for _ in range(200):
        if page.evaluate(expression, arg):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"never true: {expression}")
