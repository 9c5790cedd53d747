"""Give rules the form that was asked for: few rules and "otherwise", or one rule for each leaf."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from secateur.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from secateur.cli.options import Form, Knobs
    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule_set import RuleSet

__all__ = ["make_form", "name_rules", "read_settings", "show_compact"]

SHOWN_RULES = 50
INDENT = 5  # of the lines below a rule, whose number stands out
NARROWEST = 60  # columns for conditions; with less room the numbers go below them
GAP, HARD = "   ", "\N{NO-BREAK SPACE}"


def read_settings(method: str, knobs: Knobs, form: Form) -> dict[str, Any]:
    """List the settings of the method, and refuse those that would do nothing or could mean two things."""
    from secateur.methods import find_method
    from secateur.methods.settings import check_share

    asked, chosen = dict(knobs.settings), find_method(method)
    if form.each_leaf:
        if form.otherwise is not None:
            raise ParameterError("--otherwise names the class that compact rules leave out: leave out --each-leaf.")
        if "budget" in asked:
            raise ParameterError(
                "--budget is what compact rules may decide otherwise: leave out --each-leaf, or use --method budgeted "
                "with --max-conflict."
            )
        return asked
    budget = check_share("budget", asked.pop("budget", 0.0))
    if "tolerance" in asked and "tolerance" not in chosen.parameters:
        check_share("tolerance", asked.pop("tolerance"))
        if not budget:
            raise ParameterError(
                f"--tolerance limits what a budget does to a rule, and without one the method {chosen.name!r} reads "
                "none: name a --budget too, or another --method, such as faithful."
            )
    return asked


def make_form(rules: RuleSet, knobs: Knobs, form: Form) -> RuleSet | CompactRules:
    """Leave rules as they are, or choose few of them."""
    if form.each_leaf:
        return rules
    asked: dict[str, Any] = {"budget": knobs.budget, "tolerance": knobs.tolerance, "otherwise": form.otherwise}
    return rules.compact(**{name: value for name, value in asked.items() if value is not None})


def name_rules(rules: RuleSet | CompactRules) -> str:
    """Say how many rules there are, and by what."""
    from secateur.rules.compact_rules import CompactRules
    from secateur.words.conditions import count_of

    if not isinstance(rules, CompactRules):
        return f"{count_of(len(rules), 'rule')} by {rules.method}"
    leaves = "leaf" if rules.source_n_rules == 1 else "leaves"
    few = f"{count_of(len(rules), 'rule')} and “otherwise {rules.otherwise_name}”"
    return f"{few} for the {rules.source_n_rules:,} {leaves} of a tree"


def show_compact(out: Console, rules: CompactRules, *, reasons: bool = False) -> None:
    """Print compact rules as their text is, in lines that fit the screen."""
    from rich.text import Text

    from secateur.export.compact_text import list_lines

    lines = list(list_lines(rules, reasons=reasons, most=SHOWN_RULES))
    room = out.width - max(len(numbers) for _, numbers in lines) - len(GAP)
    beside = room >= NARROWEST
    width = min(max(len(words) for words, numbers in lines if numbers), room)
    for words, numbers in lines:
        start = " " * (len(words) - len(words.lstrip()))
        indent = start + " " * (INDENT if numbers else 2)
        first, *rest = _fold(words, width if numbers and beside else out.width, indent)
        below = bool(numbers) and not beside and len(first + GAP + numbers) > out.width
        filled = f"{first:<{width}}" if numbers and beside else first
        out.print(
            Text.assemble(
                (filled, "" if start else "bold"), ("" if below or not numbers else f"{GAP}{numbers}", "dim")
            ),
            soft_wrap=True,
        )
        for more in [*rest, *([f"{start}       {numbers}"] if below else [])]:
            out.print(Text(more), soft_wrap=True)


def _fold(words: str, width: int, indent: str) -> list[str]:
    """Break a line between conditions where that is possible."""
    joined = words.replace(" ", HARD).replace(f"{HARD}and{HARD}", f" and{HARD}").replace(f":{HARD}", ": ")
    whole = all(len(part) + len(indent) <= width for part in joined.split(" "))
    folded = textwrap.wrap(
        joined if whole else words, width, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True
    )
    return [line.replace(HARD, " ") for line in folded] or [""]
