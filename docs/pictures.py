"""Make the pictures of the README and the documentation anew, from the code on their pages: ``make pictures``."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]  # it opens our own files only
SIZE = {"width": 1280, "height": 960}
# The part of the report that each page of the gallery shows.
PARTS = {"clinical": "#answer", "credit": "#try", "decision-table": "#tree", "classes": "#answer"}


def make_reports(places: dict[Path, Path], directory: Path) -> dict[Path, Path]:
    """The report on the rules of each page, as a file for each picture."""
    pages = {}
    for document, picture in places.items():
        names: dict[str, object] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            for block in re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), flags=re.DOTALL):
                exec(compile(block, document.name, "exec"), names)
        report = names["report"] if "report" in names else names["rules"].report()
        pages[picture] = directory / f"{picture.stem}.html"
        report.save(pages[picture])
    return pages


def main() -> None:
    """Draw everything."""
    browser_path = shutil.which("chromium")
    if browser_path is None:
        sys.exit("The pictures of reports are taken with Chromium: apt-get install chromium.")
    gallery = {page: page.with_suffix(".png") for page in (HERE / "gallery").glob("*.md") if page.stem != "index"}
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as driver:
        pages = make_reports(gallery, Path(directory))
        pages[HERE / "figures" / "report.png"] = pages[HERE / "gallery" / "clinical.png"]
        browser = driver.chromium.launch(executable_path=browser_path, args=FLAGS)
        for picture, page in pages.items():
            tab = browser.new_page(viewport=SIZE)
            tab.goto(page.as_uri())
            if PARTS.get(picture.stem) == "#tree":
                tab.evaluate("document.getElementById('analyst').open = true")
                tab.wait_for_timeout(500)  # until it is drawn
            (tab.locator(PARTS[picture.stem]) if picture.stem in PARTS else tab).screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
