"""Docstrings name other objects by role, as ``help()`` and Sphinx read them; on the site the name alone is enough."""

from __future__ import annotations

import re
from typing import Any

ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(<code>)")


def on_page_content(html: str, **_: Any) -> str:
    """Called by MkDocs with the content of each page."""
    return ROLE.sub(r"\1", html)
