"""Rules as plain text."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from secateur.export.listing import ListedLine, Listing, make_listing
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of

KEPT = "\N{NO-BREAK SPACE}"  # at which no line is wrapped
WIDEST = 100  # numbers stand in a column unless a line is longer than this


def rules_to_text(rules: Rules, *, reasons: bool = False, nested: bool = False, width: int | None = None) -> str:
    """Write a line for each rule and "otherwise", with reasons the conditions of each below it, and what to mind.

    Nested, write the tree as if and else instead.
    """
    if nested:
        from secateur.export.nested import nested_to_text

        return nested_to_text(rules)
    return lay_out(make_listing(rules, reasons=reasons), width=width)


def lay_out(listing: Listing, *, width: int | None = None) -> str:
    """Lay a listing out as text, wrapped to a width if one is given."""
    lines = [*_fold(listing.before, width), *([""] if listing.before else [])]
    lines += _write_lines(listing.lines, width)
    if listing.n_left_out:
        lines.append(f"… and {count_of(listing.n_left_out, 'more line')}")
    return "\n".join([*lines, "", *_fold(listing.after, width)])


def _write_lines(listed: Sequence[ListedLine], width: int | None) -> Iterator[str]:
    digits = len(str(listed[-1].number)) if listed else 1
    names = max((len(line.class_name) for line in listed), default=0)
    indent = "  " if any(line.heading for line in listed) else ""
    heads = [f"{indent}{line.number:{digits}d}. {line.class_name:<{names}} " for line in listed]
    asked = [line.asked if line.asked in ("otherwise", "always") else f"if {line.asked}" for line in listed]
    room = max((len(head) + len(one) for head, one in zip(heads, asked, strict=True)), default=0)
    column = max((n for n in map(len, map("".join, zip(heads, asked, strict=True))) if n <= WIDEST), default=0)
    numbers = max((len(line.rows) for line in listed), default=0)
    is_narrow = width is not None and max(column, room) + 3 + numbers > width
    for line, head, one in zip(listed, heads, asked, strict=True):
        if line.heading:
            yield from _fold([f"Among {line.heading}"], width)
        if is_narrow:
            indent = " " * len(head)
            yield from _fold_conditions(head, line, one, width or WIDEST)
            yield from wrap(line.rows, width or WIDEST, initial_indent=indent, subsequent_indent=indent)
        else:
            yield f"{f'{head}{one}':<{column}}   {line.rows}"
        for reason in line.reasons:
            told = f"{'-' if reason.deleted else '+'} {reason.condition}: {reason.text}"
            yield from _fold([told], width, "     ")
        if line.aside:
            yield from _fold([f"= {line.aside}"], width, "     ")


def _fold_conditions(head: str, line: ListedLine, asked: str, width: int) -> list[str]:
    """Wrap what a line asks between its conditions; within one only where it is longer than a line."""
    room = width - len(head) - len(" and")
    parts = [one.replace(" ", KEPT) if len(one) < room else one for one in line.conditions]
    whole = f"if {' and '.join(parts)}" if asked.startswith("if ") and parts else asked
    folded = wrap(f"{head.replace(' ', KEPT)}{whole}", width, subsequent_indent=KEPT * len(head))
    return [part.replace(KEPT, " ") for part in folded]


def _fold(sentences: Sequence[str], width: int | None, indent: str = "") -> list[str]:
    if width is None:
        return [f"{indent}{sentence}" for sentence in sentences]
    return [
        part
        for sentence in sentences
        for part in wrap(sentence, width, initial_indent=indent, subsequent_indent=f"{indent}  " if indent else "")
        or [""]
    ]
