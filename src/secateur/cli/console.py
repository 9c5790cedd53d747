"""Print results to standard output and everything else to standard error.

The consoles are made on first use, because loading rich would take most of the time of ``secateur --help``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from rich.console import Console

    errors: Console
    out: Console

# Names and labels must not control the terminal: control characters become their Unicode pictures or, like what
# cannot be seen or changes the direction of text, a replacement character. New lines and tabs stay.
MARKED = (*range(127, 160), 0x61C, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t"}
PICTURES |= dict.fromkeys(MARKED, "\N{REPLACEMENT CHARACTER}")


def __getattr__(name: str) -> Any:
    if name not in ("errors", "out"):
        raise AttributeError(f"module 'secateur.cli.console' has no attribute {name!r}")
    from rich.console import Console

    made = Console(stderr=name == "errors", soft_wrap=name == "errors")
    made.on_broken_pipe = _pass_on  # type: ignore[method-assign]
    made.push_render_hook(SimpleNamespace(process_renderables=lambda parts: [*map(_Harmless, parts)]))  # type: ignore[arg-type]
    globals()[name] = made
    return made


class PipeClosed(BaseException):
    """The reader of our output has closed it, in a form that no library catches."""


def _pass_on() -> NoReturn:
    """Leave a closed pipe to the command line: rich would end the program as if a check had failed."""
    raise PipeClosed


def tell(*sentences: str, quiet: bool = False) -> None:
    """Print sentences beside the results, word for word."""
    if sentences and not quiet:
        from rich.text import Text

        from secateur.cli.console import errors

        errors.print(*(Text(sentence, style="dim") for sentence in sentences), sep="\n")


def say(*parts: str | tuple[str, str], style: str = "", soft_wrap: bool | None = None) -> None:
    """Print a text of the results; each part, or all, may have a style, but nothing in them is markup."""
    from rich.text import Text

    from secateur.cli.console import out

    out.print(Text.assemble(*parts, style=style), soft_wrap=soft_wrap)


def print_text(text: str) -> None:
    """Print a text without colours or wrapping; on a terminal, show control characters instead of sending them."""
    if sys.stdout.isatty():
        text = text.translate(PICTURES)
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise PipeClosed from None


def print_json(content: Any) -> None:
    """Print one JSON document."""
    print_text(json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False, default=lambda value: value.item()))


@contextmanager
def working(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show on a terminal that work is going on; of work on rows, the function that is given tells how many are done."""
    from secateur.cli.console import errors

    if quiet or not errors.is_terminal:
        yield None
        return
    with errors.status(f"{what} …") as status:
        yield lambda done, total: status.update(f"{what}: {done:,}{'' if total is None else f' of {total:,}'} rows …")


def import_during(work: Callable[[], Any], names: Iterable[str]) -> Any:
    """Do work in a thread of its own, and load libraries meanwhile; what the work itself needs must be loaded."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(work)
        for name in names:
            import_module(name)
        return doing.result()


class _Harmless:
    """What is printed, with control characters shown, so that a label cannot move the cursor or set a title."""

    def __init__(self, renderable: Any) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: Any) -> Iterator[Any]:
        from rich.segment import Segment

        for text, style, control in console.render(self._renderable, options):
            yield Segment(text if control else text.translate(PICTURES), style, control)
