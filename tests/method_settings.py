"""The settings among some that a method reads, for tests over all methods."""

from __future__ import annotations

from typing import Any

from secateur import METHODS


def own_settings(method: str, **settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in METHODS[method].parameters}
