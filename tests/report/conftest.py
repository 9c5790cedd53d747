"""A browser for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import launch


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launch() as browser:
        yield browser
