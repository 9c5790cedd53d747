"""What MkDocs is told beside ``mkdocs.yml``: pages of public names, notebooks of the gallery, roles as plain names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

import secateur
import secateur.errors
import secateur.lab
import secateur.results

# Docstrings name other objects by role, as ``help()`` and Sphinx read them; on the site the name alone is enough.
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(<code>)")
CODE = re.compile(r"```python\n(.*?)```(?:\n\n```text\n.*?```)?", re.DOTALL)
LISTED = re.compile(r"^- `(\w+)`", re.MULTILINE)
ERRORS = "reference/errors.md"
PAGE = """---
title: {title}
---

::: {path}
    options:
      heading_level: 1
"""


def list_pages() -> dict[str, tuple[str, str]]:
    """The page of each public name, and the object that it shows; all errors share one."""
    pages = {name: (ERRORS, "secateur.errors") for name in secateur.errors.__all__}
    for room in (secateur, secateur.results, secateur.lab):
        for name in {*room.__all__} - pages.keys():
            found = getattr(room, name)
            if isinstance(found, type) or callable(found):
                pages[name] = (f"reference/{name}.md", f"{found.__module__}.{found.__qualname__}")
    return pages


def list_examples() -> list[Path]:
    """The pages of the gallery, all of them notebooks, too."""
    return sorted(page for page in (Path(__file__).parent / "gallery").glob("*.md") if page.stem != "index")


def make_notebook(page: Path) -> str:
    """Write a page as a notebook: its Python blocks are the cells of code, without what they print."""
    parts = CODE.split(page.read_text(encoding="utf-8"))
    cells = [{"cell_type": "markdown", "metadata": {}, "source": part.strip()} for part in parts[::2]]
    codes = [
        {"cell_type": "code", "metadata": {}, "source": part.rstrip(), "outputs": [], "execution_count": None}
        for part in parts[1::2]
    ]
    told = [cell for pair in zip(cells, [*codes, cells[-1]], strict=True) for cell in pair][:-1]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    written = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(told) if cell["source"]]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": written}, indent=1)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the reference and the notebooks: MkDocs calls it once the files are known."""
    for page, path in sorted({*list_pages().values()}):
        title = page.removeprefix("reference/").removesuffix(".md")
        files.append(File.generated(config, page, content=PAGE.format(title=title, path=path)))
    for example in list_examples():
        files.append(File.generated(config, f"gallery/{example.stem}.ipynb", content=make_notebook(example)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link the names of the page that lists them, and the notebooks: MkDocs calls it with the text of each page."""
    place = Path(page.file.src_uri)
    if place.parent.name == "gallery" and place.stem != "index":
        return f"{markdown}\n[This page as a notebook]({place.stem}.ipynb)\n"
    if page.file.src_uri != "api.md":
        return markdown
    pages = list_pages()
    return LISTED.sub(lambda one: f"- [`{one[1]}`]({pages[one[1]][0]})" if one[1] in pages else one[0], markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Write roles as plain names: MkDocs calls it with the content of each page."""
    return ROLE.sub(r"\1", html)
