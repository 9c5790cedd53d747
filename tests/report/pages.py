"""Pages of any size in a page that other tests are done with: a browser opens a profile for each new one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import browsing


@contextmanager
def quiet_page(browser: Any, path: Path | str, **options: Any) -> Iterator[Any]:
    """A page as :func:`browsing.quiet_page` opens it; one that differs in its size alone is taken from its heap."""
    size = options.get("viewport", browsing.VIEWPORT)
    told = {} if set(options) <= {"viewport"} else options
    with mock.patch.object(browsing, "VIEWPORT", size), browsing.quiet_page(browser, path, **told) as page:
        yield page
