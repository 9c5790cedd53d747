"""Keep names and labels from controlling the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderHook
from rich.segment import Segment

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult

__all__ = ["HideControls", "show_controls"]

# Control characters become their Unicode pictures, or a mark where there is none; new lines and tabs stay.
PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
PICTURES |= {code: "\N{REPLACEMENT CHARACTER}" for code in range(127, 160)}
# Marks that change the direction of text would let a label rewrite its neighbours.
PICTURES |= {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def show_controls(text: str) -> str:
    """Replace control characters by visible ones."""
    return text.translate(PICTURES)


class HideControls(RenderHook):
    """Show control characters instead of sending them, so that a label cannot move the cursor or set a title."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Wrap what is about to be printed."""
        return [_Harmless(renderable) for renderable in renderables]


class _Harmless:
    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._renderable, options):
            yield Segment(text if control else show_controls(text), style, control)
