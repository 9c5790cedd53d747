"""Pages in a real browser, which may report no error, ask for nothing but themselves and open no dialog."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

VIEWPORT = {"width": 1200, "height": 900}
CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@contextmanager
def launch() -> Iterator[Any]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def quiet_page(browser: Any, path: Path | str, **options: Any) -> Iterator[Any]:
    """A page in a file, or at an address of this machine; it asks for nothing outside of it."""
    page = _take_page(browser) if not options else browser.new_page(**{"viewport": VIEWPORT, **options})
    wrong: list[str] = []
    requested: list[str] = []
    listeners = {
        "console": lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None,
        "pageerror": lambda error: wrong.append(str(error)),
        "dialog": lambda dialog: (wrong.append(dialog.message), dialog.dismiss()),
        "request": lambda request: requested.append(request.url),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    address = path.as_uri() if isinstance(path, Path) else path
    page.goto(address)
    try:
        yield page
    except BaseException:
        page.close()
        raise
    if options:
        page.close()
    else:
        page.goto("about:blank")
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        _pages.setdefault(browser, []).append(page)
    assert wrong == []
    requested = [one for one in requested if one != "about:blank"]
    if isinstance(path, Path):
        assert requested == [address]
    else:
        assert all(one.startswith(path) or one.startswith("blob:") for one in requested), requested


_pages: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()


def _take_page(browser: Any) -> Any:
    """A page that another test is done with, or a new one: to open one costs more than what most tests do there."""
    if not _pages.get(browser):
        return browser.new_page(viewport=VIEWPORT)
    page = _pages[browser].pop()
    page.set_viewport_size(VIEWPORT)
    page.emulate_media(media="null")
    return page


def wait_until(page: Any, expression: str, arg: Any = None) -> None:
    """Wait until an expression is true; playwright's own way evaluates text in the page, which its policy forbids."""
    for _ in range(200):
        if page.evaluate(expression, arg):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"never true: {expression}")
