"""Rules as tables in Markdown, as GitHub and others read it, and in LaTeX; readers see names as they are."""

import re

from secateur.export.listing import make_listing
from secateur.export.plain_names import one_line
from secateur.rules.rules import Rules

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
# LaTeX draws these pairs as one sign.
LIGATURE = re.compile(r"-(?=-)|,(?=,)")


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
        lines += ["", f"Rule {line.number} ({line.stands_for}), {escape_markdown(line.words)}", ""]
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
    told = [
        rf"\multicolumn{{4}}{{p{{0.95\linewidth}}}}{{{escape_latex(sentence)}}} \\"
        for sentence in (*listing.before, *listing.after)
    ]
    return "\n".join([*head, *rows, r"\midrule", *told, r"\end{longtable}"])


def escape_latex(words: str) -> str:
    """Escape words so that LaTeX prints them as they are, on one line."""
    line = LATEX_MARK.sub(lambda found: LATEX_MARKS[found[0]], one_line(words, len(words)))
    return LIGATURE.sub(r"\g<0>{}", line)
