"""Rules as a LaTeX table with the rules of booktabs, over as many pages as it takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secateur.export.plain_names import one_line
from secateur.words.conditions import read_count, read_share
from secateur.words.plain_words import join_asked

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["escape_latex", "rules_to_latex"]

MARKS = {
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
MARK = re.compile("|".join(map(re.escape, MARKS)))
# LaTeX draws these pairs as one sign.
LIGATURE = re.compile(r"-(?=-)|,(?=,)")


def rules_to_latex(rules: RuleSet) -> str:
    """Write the rules as a ``longtable``.

    Letters beyond ASCII are written as they are: XeLaTeX and LuaLaTeX read those that the font has, pdfLaTeX those that
    its encoding has.
    """
    head = [
        r"% Needs \usepackage{booktabs,longtable} in the preamble.",
        r"\begin{longtable}{rp{0.55\linewidth}lrr}",
        r"\toprule",
        r"\# & If & Then & Support & Reliability \\",
        *(r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"),
    ]
    rows = []
    for rule in rules:
        support = "unknown" if rule.support is None else read_count(rule.support)
        cells = join_asked(rule.asks), rule.class_name, support, read_share(rule.reliability)
        rows.append(f"{rule.index + 1} & {' & '.join(map(escape_latex, cells))} \\\\")
    return "\n".join([*head, *rows, r"\end{longtable}"])


def escape_latex(words: str) -> str:
    """Escape words so that LaTeX prints them as they are, on one line."""
    line = MARK.sub(lambda found: MARKS[found[0]], one_line(words, len(words)))
    return LIGATURE.sub(r"\g<0>{}", line)
