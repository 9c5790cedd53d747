"""Names for columns in code: plain letters, free, and still those of the columns; words that fit where they go."""

import re
from collections.abc import Callable, Iterable
from textwrap import wrap

from secateur.errors import ParameterError
from secateur.rules.decision_list import Column, DecisionList
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of

SHOWN_NAME = 40
SHOWN_WORDS = 240
HEAD_WORDS = 2000
LINE = 110


class FreeNames:
    """Gives out names that nothing else has, in any case."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {name.casefold() for name in taken}

    def take(self, name: str) -> str:
        """Take the name, with as many underscores as it needs to be free."""
        while name.casefold() in self._taken:
            name += "_"
        self._taken.add(name.casefold())
        return name


def take_names(rules: Rules, listed: DecisionList) -> FreeNames:
    """Take the names of all columns."""
    return FreeNames([*(rules.tree.feature_names or ()), *(column.name for column in listed.columns)])


def plain_name(column: Column) -> str:
    """Make a name that every language takes: short, plain, and no reserved word."""
    plain = re.sub(r"[^a-zA-Z0-9]+", "_", column.name[:SHOWN_NAME]).strip("_").lower()
    if not plain[:1].isalpha():
        plain = f"column_{plain}".rstrip("_")
    return f"{plain}_{'number' if column.labels is None else 'label'}"


def one_line(words: str, longest: int = SHOWN_WORDS) -> str:
    """Put words on one line, without invisible characters, and cut them to a length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in words[: 2 * longest]).split())
    return line if len(line) <= longest else f"{line[:longest]} …"


def head_lines(
    rules: Rules, what: str, mark: str, clean: Callable[[str, int], str] = one_line, promise: str | None = None
) -> str:
    """Say above some code what it is and promises, by default what the rules do: lines that start with a mark."""
    rest = ', and "otherwise"' if rules.is_list else f", method {rules.method}"
    words = f"{count_of(len(rules), 'rule')}{what}{rest}. {promise or rules.guarantee}"
    lines = [line for part in (words, *rules.remarks) for line in wrap(clean(part, HEAD_WORDS), LINE)]
    return "\n".join(f"{mark} {line}" for line in lines)


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded: a lone surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_unread(columns: Iterable[Column], target: str) -> None:
    """Reject columns whose texts or dates must be read as numbers first."""
    for column in columns:
        if column.reading is not None and column.reading.is_trim:
            raise ParameterError(
                f"The rules cut the blanks around the texts of {column.name!r}, which {target} cannot do: export SQL "
                "or Python, or fit the tree on texts without blanks around them."
            )
        if column.reading is not None:
            raise ParameterError(
                f"The rules read {column.name!r} from texts or dates ({column.reading.example}), which {target} cannot "
                "do: export SQL or Python."
            )


def check_characters(texts: Iterable[object], target: str) -> None:
    """Reject names and labels that hold half of a character; what is not text passes."""
    for text in texts:
        if isinstance(text, str) and not is_unicode(text):
            raise ParameterError(
                f"The name or label {text[:SHOWN_NAME]!r} holds half of a character, which {target} cannot hold: "
                "rename it."
            )
