"""Rules as a LaTeX table with the rules of booktabs, over as many pages as it takes."""

import re

from secateur.export.listing import make_listing
from secateur.export.plain_names import one_line
from secateur.rules.rules import Rules

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


def rules_to_latex(rules: Rules) -> str:
    """Write the rules as a ``longtable``, with what to mind below them.

    Letters beyond ASCII are written as they are: XeLaTeX and LuaLaTeX read those that the font has, pdfLaTeX those that
    its encoding has.
    """
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
    told = [
        rf"\multicolumn{{4}}{{p{{0.95\linewidth}}}}{{{escape_latex(sentence)}}} \\"
        for sentence in (*listing.before, *listing.after)
    ]
    return "\n".join([*head, *rows, r"\midrule", *told, r"\end{longtable}"])


def escape_latex(words: str) -> str:
    """Escape words so that LaTeX prints them as they are, on one line."""
    line = MARK.sub(lambda found: MARKS[found[0]], one_line(words, len(words)))
    return LIGATURE.sub(r"\g<0>{}", line)
