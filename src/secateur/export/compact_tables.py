"""Compact rules as tables: Markdown, LaTeX, CSV and data frames, with "otherwise" as the last row."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from secateur.export.compact_text import NOT_WRITTEN, count_leaves, read_decided, read_rarer_class, title_decided
from secateur.export.csv import write_csv
from secateur.export.latex import escape_latex
from secateur.export.markdown import escape_markdown
from secateur.frames import make_frame
from secateur.words.conditions import join_conditions, read_count, read_link, read_share
from secateur.words.plain_words import join_asked

if TYPE_CHECKING:
    from secateur.rules.compact_rules import CompactRules

__all__ = ["compact_to_csv", "compact_to_frame", "compact_to_latex", "compact_to_markdown"]


def _list_columns(rules: CompactRules) -> dict[str, list[Any]]:
    """List what each rule, and at the end "otherwise", says, by column."""
    listed = list(rules)
    return {
        "conditions": [*(join_conditions(rule.conditions) for rule in listed), rules.rest_word],
        "prediction": [*(rule.prediction for rule in listed), rules.otherwise],
        "class_name": [*(rule.class_name for rule in listed), rules.otherwise_name],
        "decided_support": [*(rule.decided_support for rule in listed), rules.otherwise_support],
        "decided_reliability": [*(rule.decided_reliability for rule in listed), rules.otherwise_reliability],
        "support": [*(rule.support for rule in listed), rules.otherwise_support],
        "reliability": [*(rule.reliability for rule in listed), rules.otherwise_reliability],
        "n_conditions": [*(len(rule.kept_ids) for rule in listed), 0],
        "n_leaves": [*(len(rule.leaf_ids) for rule in listed), None],
        "leaf_id": [*(rule.leaf_id for rule in listed), None],
        **_list_agreement(rules),
    }


def _list_agreement(rules: CompactRules) -> dict[str, list[Any]]:
    """List how far each rule that approximates a model says what it says, on held-out rows."""
    if rules.fidelity is None:
        return {}
    found = rules.fidelity.by_rule
    limits = [one.interval or (None, None) for one in found]
    return {
        "held_out_rows": [one.n_rows for one in found],
        "fidelity": [one.share for one in found],
        "fidelity_low": [low for low, _ in limits],
        "fidelity_high": [high for _, high in limits],
    }


def compact_to_frame(rules: CompactRules, library: str | None = None) -> Any:
    """Make a row for each rule, and one for "otherwise"."""
    columns = _list_columns(rules)
    listed = [*(list(rule.leaf_ids) for rule in rules), []]
    return make_frame({"rule": columns.pop("conditions"), **columns, "leaf_ids": listed}, library)


def compact_to_csv(rules: CompactRules) -> str:
    """Write a line for each rule, and one for "otherwise"; what is not known is empty."""
    columns = _list_columns(rules)
    numbers = range(1, len(columns["conditions"]) + 1)
    return write_csv(["rule", *columns], zip(numbers, *columns.values(), strict=True))


def compact_to_markdown(rules: CompactRules, *, reasons: bool = False) -> str:
    """Write a table of rules; with reasons, say below it why conditions went or stayed, and rules went."""
    lines = [escape_markdown(rules.guarantee), ""]
    lines.append(f"| # | If | Then | {title_decided(rules).capitalize()} | Stands for |")
    lines.append("|--:|---|---|---|---|")
    for rule in rules:
        cells = join_asked(rule.asks), rule.class_name, read_decided(rules, rule.index)
        lines.append(f"| {rule.index + 1} | {' | '.join(map(escape_markdown, cells))} | {count_leaves(rule)} |")
    rest = map(escape_markdown, (rules.otherwise_name, read_decided(rules, len(rules))))
    lines.append(f"| {len(rules) + 1} | {rules.rest_word} | {' | '.join(rest)} | |")
    if rules.remarks:
        lines += ["", *(f"- Note: {escape_markdown(remark)}" for remark in rules.remarks)]
    if not reasons:
        return "\n".join(lines)
    read = cache(partial(read_link, rules.tree, rules.rules.paths, voice=rules.rules._voice))
    for rule in rules:
        lines += ["", f"Rule {rule.index + 1}, {escape_markdown(rule.words)}", ""]
        for link, reason in rule.reasons.items():
            sign = "deleted" if reason.deleted else "kept"
            lines.append(f"- {sign}: {escape_markdown(read(link))} ({escape_markdown(reason.text)})")
    if len(rules.dropped):
        lines += ["", NOT_WRITTEN, ""]
    for dropped in rules.dropped:
        lines.append(f"- {escape_markdown(dropped.words)} (leaf {dropped.leaf_id}): {escape_markdown(dropped.reason)}")
    return "\n".join(lines)


def compact_to_latex(rules: CompactRules) -> str:
    """Write the rules as a ``longtable``, with "otherwise" at the end."""
    head = [
        r"% Needs \usepackage{booktabs,longtable} in the preamble.",
        r"\begin{longtable}{rp{0.55\linewidth}lrr}",
        r"\toprule",
        r"\# & If & Then & Rows & Share \\",
        *(r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"),
    ]
    columns = _list_columns(rules)
    columns["conditions"] = [*(join_asked(rule.asks) for rule in rules), rules.rest_word]
    numbers = ("decided_support", "decided_reliability") if rules.fidelity is None else ("held_out_rows", "fidelity")
    names = ("conditions", "class_name", *numbers)
    rows = []
    for number, (asked, name, support, share) in enumerate(zip(*(columns[n] for n in names), strict=True), start=1):
        aside = "" if rules.fidelity is not None else read_rarer_class(rules, number - 1)
        cells = asked, name, "unknown" if support is None else read_count(support), f"{read_share(share)}{aside}"
        rows.append(f"{number} & {' & '.join(map(escape_latex, cells))} \\\\")
    return "\n".join([*head, *rows, r"\end{longtable}"])
