"""Show names and labels: characters that nobody sees, or that move others about, are written out.

A column may be called anything. In a text for people, a new line in its name would look like another rule, an escape
sequence would colour the terminal, and a mark of direction would turn the words after it round.
"""

from __future__ import annotations

import re

__all__ = ["INVISIBLE", "show_text"]

# Control characters, line separators, marks of direction, joiners of nothing, tags, and halves of characters. Soft
# hyphens and the joiners that Persian, Hindi and emoji are spelled with stay.
INVISIBLE = (
    "\\x00-\\x1f\\x7f-\\x9f\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e"
    "\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff\\U0001d173-\\U0001d17a\\U000e0000-\\U000e007f"
)
_HIDDEN = re.compile(f"[{INVISIBLE}]")


def show_text(text: str) -> str:
    r"""Write out what would not be seen, as Python does in quotes.

    Examples
    --------
    >>> print(show_text("systolic\nblood pressure"))
    systolic\nblood pressure
    """
    return _HIDDEN.sub(_write_out, text)


def _write_out(found: re.Match[str]) -> str:
    code = ord(found.group())
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
