"""Where the command line writes."""

from __future__ import annotations

from rich.console import Console

__all__ = ["errors", "out"]

out = Console()
errors = Console(stderr=True)
