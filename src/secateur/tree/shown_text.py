"""Show names and labels: invisible and bidirectional control characters are escaped.

A column may be called anything. In a text for people, a new line in its name would look like another rule, an escape
sequence would colour the terminal, and a mark of direction would turn the words after it round.
"""

import re

# Control characters, line separators, marks of direction, joiners of nothing, tags, and halves of characters. Soft
# hyphens and the joiners that Persian, Hindi and emoji are spelled with stay.
INVISIBLE = (
    "\\x00-\\x1f\\x7f-\\x9f\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e"
    "\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff\\U0001d173-\\U0001d17a\\U000e0000-\\U000e007f"
)
_HIDDEN = re.compile(f"[{INVISIBLE}]")


def show_text(text: str) -> str:
    r"""Escape invisible characters, as Python does in quotes.

    Examples
    --------
    >>> print(show_text("systolic\nblood pressure"))
    systolic\nblood pressure
    """
    return _HIDDEN.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
