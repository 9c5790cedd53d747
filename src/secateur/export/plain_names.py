"""Names for columns in code: plain letters, free, and still those of the columns; words that fit where they go."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secateur.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secateur.rules.decision_list import Column

__all__ = ["FreeNames", "check_characters", "is_unicode", "one_line", "plain_name"]

SHOWN_NAME = 40
SHOWN_WORDS = 240


class FreeNames:
    """Gives out names that nothing else has, in any case."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {name.casefold() for name in taken}

    def take(self, name: str) -> str:
        """The name, with as many underscores as it needs to be free."""
        while name.casefold() in self._taken:
            name += "_"
        self._taken.add(name.casefold())
        return name


def plain_name(column: Column) -> str:
    """A name that every language takes: short, without marks, and no word that means something."""
    plain = re.sub(r"[^a-zA-Z0-9]+", "_", column.name[:SHOWN_NAME]).strip("_").lower()
    if not plain[:1].isalpha():
        plain = f"column_{plain}".rstrip("_")
    return f"{plain}_{'number' if column.labels is None else 'label'}"


def one_line(words: str, longest: int = SHOWN_WORDS) -> str:
    """Words on one line, without marks that nobody sees; what is too long is cut."""
    line = " ".join("".join(c if c.isprintable() else " " for c in words[: 2 * longest]).split())
    return line if len(line) <= longest else f"{line[:longest]} …"


def is_unicode(text: str) -> bool:
    """Whether a text can be written at all: half of a character cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_characters(texts: Iterable[object], target: str) -> None:
    """Refuse names and labels that hold half of a character; what is no text passes."""
    for text in texts:
        if isinstance(text, str) and not is_unicode(text):
            raise ParameterError(
                f"The name or label {text[:SHOWN_NAME]!r} holds half of a character, which {target} has no text for; "
                "rename it."
            )
