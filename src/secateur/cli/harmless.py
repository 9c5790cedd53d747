"""Names and labels may hold anything; on a terminal they must not do anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderHook
from rich.segment import Segment

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult

__all__ = ["HideControls", "show_controls"]

# Control characters, those of C1 too, as the pictures that Unicode has of them, or as a mark; a new line stays one.
PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
PICTURES |= {code: "\N{REPLACEMENT CHARACTER}" for code in range(127, 160)}
# Marks that turn the direction of what follows would let a label rewrite its neighbours.
PICTURES |= {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def show_controls(text: str) -> str:
    """A text whose control characters are shown rather than sent."""
    return text.translate(PICTURES)


class HideControls(RenderHook):
    """Show control characters rather than send them: a label cannot move the cursor or set a title."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Wrap whatever is about to be printed."""
        return [_Harmless(renderable) for renderable in renderables]


class _Harmless:
    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._renderable, options):
            yield Segment(text if control else show_controls(text), style, control)
