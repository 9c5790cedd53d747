"""What MkDocs is told beside ``mkdocs.yml``: one reference page for each public name, and roles as plain names."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.structure.files import File

import secateur
import secateur.errors
import secateur.lab
import secateur.results

# Docstrings name other objects by role, as ``help()`` and Sphinx read them; on the site the name alone is enough.
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(<code>)")
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


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the reference: MkDocs calls it once the files are known."""
    for page, path in sorted({*list_pages().values()}):
        title = page.removeprefix("reference/").removesuffix(".md")
        files.append(File.generated(config, page, content=PAGE.format(title=title, path=path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link the names of the page that lists them: MkDocs calls it with the text of each page."""
    if page.file.src_uri != "api.md":
        return markdown
    pages = list_pages()
    return LISTED.sub(lambda one: f"- [`{one[1]}`]({pages[one[1]][0]})" if one[1] in pages else one[0], markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Write roles as plain names: MkDocs calls it with the content of each page."""
    return ROLE.sub(r"\1", html)
