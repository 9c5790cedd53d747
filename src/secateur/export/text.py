"""Rules as text: one line for each rule, the tree itself as if and else, a table for terminals; Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from secateur.export.listing import ListedLine, Listing, make_listing
from secateur.export.plain_names import one_line
from secateur.facts.possible_rows import find_feasible
from secateur.methods.leaves import LeafMasks, Stated, list_places
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of, format_count, format_link, format_share
from secateur.words.plain_words import format_target

if TYPE_CHECKING:
    from rich.table import Table


KEPT = "\N{NO-BREAK SPACE}"  # at which no line is wrapped
WIDEST = 100  # numbers stand in a column unless a line is longer than this
INDENT = "  "


def rules_to_text(rules: Rules, *, reasons: bool = False, nested: bool = False, width: int | None = None) -> str:
    """Write a line for each rule, with reasons its conditions below it, and what to mind; or nested, if and else."""
    return _write_nested(rules) if nested else lay_out(make_listing(rules, reasons=reasons), width=width)


def lay_out(listing: Listing, *, width: int | None = None) -> str:
    """Lay a listing out as text, wrapped to a width if one is given."""
    lines = [*_fold(listing.before, width), *([""] if listing.before else [])]
    lines += _write_lines(listing.lines, width)
    if listing.n_left_out:
        lines.append(f"… and {count_of(listing.n_left_out, 'more line')}")
    signs = ["“+” is asked, “-” was deleted."] if any(line.reasons for line in listing.lines) else []
    return "\n".join([*lines, "", *_fold([*signs, *listing.after], width)])


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
            yield from _wrap(line.rows, width or WIDEST, initial_indent=indent, subsequent_indent=indent)
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
    return _wrap(f"{head.replace(' ', KEPT)}{whole}", width, subsequent_indent=KEPT * len(head))


def _wrap(text: str, width: int, **indents: Any) -> list[str]:
    """Wrap a text; the sign of a percentage stays beside its number."""
    return [part.replace(KEPT, " ") for part in wrap(text.replace(" %", f"{KEPT}%"), width, **indents)]


def _fold(sentences: Sequence[str], width: int | None, indent: str = "") -> list[str]:
    if width is None:
        return [f"{indent}{sentence}" for sentence in sentences]
    return [
        part
        for sentence in sentences
        for part in _wrap(sentence, width, initial_indent=indent, subsequent_indent=f"{indent}  " if indent else "")
        or [""]
    ]


def _write_nested(rules: Rules) -> str:
    """Write the tree as if and else; branches that a line of the list could answer for together are one."""
    drawn = _Nested(rules)
    lines = list(drawn.write())
    tests = f"{count_of(drawn.n_tests, 'test')}, each written once"
    return "\n".join([*lines, "", f"{tests}. Read from the top: an answer depends on every test above it."])


class _Nested:
    def __init__(self, rules: Rules) -> None:
        self.rules, self.tree, self.paths = rules, rules.tree, rules.paths
        self.values = rules.make_leaf_values(rules.tolerance)
        known = self.tree if not rules.parameters.get("domain_knowledge", True) else find_feasible(self.tree).tree
        self.possible = LeafMasks(known, self.paths).possible
        self.n_tests = 0

    def write(self) -> Iterator[str]:
        waiting: list[str | tuple[int, str]] = [(0, "")]  # lines, and nodes with their indent; the last comes first
        while waiting:
            one = waiting.pop()
            if isinstance(one, str):
                yield one
            else:
                waiting += reversed(self._write_node(*one))

    def _write_node(self, node: int, indent: str) -> list[str | tuple[int, str]]:
        first, last = (int(ends[node]) for ends in self.tree.leaf_runs)
        places = [place for place in range(first, last) if self.possible >> place & 1]
        windows = self.values.list_windows(places)
        if len(windows) <= 1 or self.tree.is_leaf[node]:
            class_id = windows[0].class_id if windows else int(self.paths.leaf_class[first])
            stated = self.values.state(windows[0].leaves) if windows else None
            return [f"{indent}{self._answer(class_id, stated, places)}"]
        left, right = (int(children[node]) for children in (self.tree.children_left, self.tree.children_right))
        ends = [(int(self.tree.leaf_runs[0][child]), int(self.tree.leaf_runs[1][child])) for child in (left, right)]
        for child, (begin, end) in zip((right, left), ends, strict=True):
            if not list_places(self.possible & ((1 << end) - (1 << begin))):  # nothing comes to the other side
                return [(child, indent)]
        self.n_tests += 1
        asked = f"{indent}if {format_link(self.tree, self.paths, left, self.rules.voice)}:"
        return [asked, (left, indent + INDENT), f"{indent}else:", (right, indent + INDENT)]

    def _answer(self, class_id: int, stated: Stated | None, places: list[int]) -> str:
        name = self.tree.class_names[class_id]
        if self.tree.is_regression and stated is not None:
            window = float(stated.low), float(stated.high)
            name, stated = format_target(self.values.to_float(stated), window, self.rules.tolerance), None
        rows = float(self.rules.leaf_support[places].sum())
        share = "" if stated is None else f" {format_share(float(stated.share))}"
        return f"{name}{share}" + ("" if rows != rows else f" ({format_count(rows)})")


def rules_to_table(rules: Rules) -> Table:
    """Make a row for each line: what it asks and, struck through, no longer asks, its class and its rows."""
    from rich.table import Table
    from rich.text import Text

    listing = make_listing(rules)
    caption = Text("\n".join([*listing.before, *listing.after]))
    table = Table(title=listing.title, caption=caption, title_justify="left", caption_justify="left")
    table.add_column("#", justify="right", style="dim")
    table.add_column("if", ratio=3)
    table.add_column("then", style="bold")
    table.add_column(listing.rows_title)
    for line in listing.lines:
        if line.heading:
            table.add_row("", Text(f"Among {line.heading}", style="bold"), "", "")
        asked = Text(line.asked, style="italic" if line.is_otherwise else "")
        for condition in line.deleted:
            asked.append("\n✂ ", style="red").append(condition, style="strike dim")
        table.add_row(str(line.number), asked, Text(line.class_name), Text(line.rows))
    return table


MARKS = re.compile(r"[\\`*_\[\]|~$]")
# An ampersand or angle bracket alone is only itself, and `<=` stays readable.
TAGS = re.compile(r"<(?=[a-zA-Z/!?])")
ENTITIES = re.compile(r"&(?=[#a-zA-Z])")
LINKS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
# What LaTeX writes otherwise.
LATEX_MARKS = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    '"': r"\symbol{34}",  # babel gives the mark itself other meanings
    **{mark: f"\\{mark}" for mark in "{}#$%&_"},
}
LATEX_MARK = re.compile("|".join(map(re.escape, LATEX_MARKS)))
LIGATURE = re.compile(r"-(?=-)|,(?=,)")  # LaTeX draws these pairs as one sign


def rules_to_markdown(rules: Rules, *, reasons: bool = False) -> str:
    """Write a table of rules; with reasons, say below it why each condition was deleted or kept, and rules went."""
    listing = make_listing(rules, reasons=reasons)
    lines = [*map(escape_markdown, listing.before), *([""] if listing.before else [])]
    lines += [f"| # | If | Then | {listing.rows_title.capitalize()} |", "|--:|---|---|---|"]
    for line in listing.lines:
        if line.heading:
            lines.append(f"|  | **Among {escape_markdown(line.heading)}** |  |  |")
        cells = map(escape_markdown, (line.asked, line.class_name, line.rows))
        lines.append(f"| {line.number} | {' | '.join(cells)} |")
    lines += ["", *(f"- {escape_markdown(sentence)}" for sentence in listing.after)]
    for line in listing.lines if reasons else ():
        if line.is_otherwise:
            continue
        word = rules.line_word.capitalize()
        lines += ["", f"{word} {line.number} ({line.stands_for}), {escape_markdown(line.words)}", ""]
        for reason in line.reasons:
            sign = "deleted" if reason.deleted else "kept"
            lines.append(f"- {sign}: {escape_markdown(reason.condition)} ({escape_markdown(reason.text)})")
        lines += [] if line.reasons else ["- nothing was asked"]
        lines += [f"- {escape_markdown(line.aside)}"] if line.aside else []
    return "\n".join(lines)


def escape_markdown(words: str) -> str:
    """Escape words so that Markdown shows them as they are, on one line."""
    line = ENTITIES.sub("&amp;", one_line(words, len(words)))
    line = TAGS.sub("&lt;", MARKS.sub(r"\\\g<0>", line))
    return LINKS.sub(r"\\\g<0>", line)


def rules_to_latex(rules: Rules) -> str:
    """Write the rules as a ``longtable``, with what to mind below them; letters beyond ASCII stay as they are."""
    listing = make_listing(rules)
    head = [
        r"% Needs \usepackage{booktabs,longtable} in the preamble.",
        r"\begin{longtable}{rp{0.45\linewidth}lp{0.3\linewidth}}",
        r"\toprule",
        rf"\# & If & Then & {listing.rows_title.capitalize()} \\",
        *(r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"),
    ]
    rows = []
    for line in listing.lines:
        if line.heading:
            rows.append(rf"\multicolumn{{4}}{{l}}{{\textit{{Among {escape_latex(line.heading)}}}}} \\")
        rows.append(f"{line.number} & {' & '.join(map(escape_latex, (line.asked, line.class_name, line.rows)))} \\\\")
    sentences = map(escape_latex, (*listing.before, *listing.after))
    told = [rf"\multicolumn{{4}}{{p{{0.95\linewidth}}}}{{{sentence}}} \\" for sentence in sentences]
    return "\n".join([*head, *rows, r"\midrule", *told, r"\end{longtable}"])


def escape_latex(words: str) -> str:
    """Escape words so that LaTeX prints them as they are, on one line."""
    line = LATEX_MARK.sub(lambda found: LATEX_MARKS[found[0]], one_line(words, len(words)))
    return LIGATURE.sub(r"\g<0>{}", line)
