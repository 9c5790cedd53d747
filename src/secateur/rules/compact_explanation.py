"""Explain what compact rules say of one row: the rule that holds, or what each asks that the row does not have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.facts.checking import find_broken_facts
from secateur.rows.leaves import apply_tree
from secateur.rules.explanation import as_value, find_covering, find_held, read_row
from secateur.rules.wording import count_of, join_conditions, read_conditions, read_count, read_share, read_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.rules.compact_rules import CompactRule, CompactRules
    from secateur.tree.tree import Label

__all__ = ["CompactExplanation", "explain_compact"]


@dataclass(frozen=True)
class CompactExplanation:
    """Why one row gets its prediction from compact rules.

    Attributes
    ----------
    prediction : label
        What the rules predict.
    tree_prediction : label
        What the source tree predicts.
    rule : CompactRule or None
        The rule that decides; None for "otherwise".
    covering : tuple of CompactRule
        All rules that cover the row, the deciding one first.
    failed : mapping of int to tuple of str
        For each rule that does not cover the row, by index, what it asks that the row does not have.
    values : mapping of str to label or None
        The row's values in the columns that rules ask for; None for missing.
    text : str
        The explanation in words, also its ``str()``.
    broken_facts : tuple of str
        Known facts about the columns that this row contradicts; the guarantee does not cover such a row.
    """

    prediction: Label
    tree_prediction: Label
    rule: CompactRule | None
    covering: tuple[CompactRule, ...]
    failed: Mapping[int, tuple[str, ...]]
    values: Mapping[str, Label | None]
    text: str = field(repr=False)
    broken_facts: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the explanation as plain values, for JSON."""
        return {
            "prediction": self.prediction,
            "tree_prediction": self.tree_prediction,
            "rule": None if self.rule is None else self.rule.index + 1,
            "text": None if self.rule is None else self.rule.text,
            "also_covered_by": [other.index + 1 for other in self.covering[1:]],
            "failed": {str(index + 1): list(asked) for index, asked in self.failed.items()},
            "values": dict(self.values),
            "broken_facts": list(self.broken_facts),
            "explanation": self.text,
        }

    def __str__(self) -> str:
        return self.text


def explain_compact(rules: CompactRules, row: Any) -> CompactExplanation:
    """Explain the prediction for one row."""
    tree, paths, whole = rules.tree, rules.rules.paths, rules.rules
    rows = read_row(whole, row)
    cells = rows.matrix[0]
    covers = find_covering(whole, cells)[rules.chosen]
    covering = [rule for rule in rules if covers[rule.index]]
    held = find_held(whole, cells)
    failed, asked = {}, []
    for rule in rules:
        kept = list(rule.kept_ids)
        asked += tree.feature[paths.parent[kept]].tolist()
        if not covers[rule.index]:
            missed = [link for link in kept if not held[link]]
            failed[rule.index] = tuple(condition.text for condition in read_conditions(tree, paths, missed))
    tree_class = int(tree.leaf_class[apply_tree(tree, rows)[0]])
    broken = find_broken_facts(tree, rows)
    features = list(dict.fromkeys(asked))
    values = {tree.feature_name(feature): as_value(whole, feature, cells[feature]) for feature in features}
    return CompactExplanation(
        prediction=covering[0].prediction if covering else rules.otherwise,
        tree_prediction=tree.classes[tree_class].item(),
        rule=covering[0] if covering else None,
        covering=tuple(covering),
        failed=failed,
        values=values,
        text=_tell(rules, covering, failed, cells, tree.class_names[tree_class], broken),
        broken_facts=tuple(broken),
    )


def _tell(
    rules: CompactRules,
    covering: list[CompactRule],
    failed: Mapping[int, tuple[str, ...]],
    cells: np.ndarray[Any, Any],
    tree_class: str,
    broken: list[str],
) -> str:
    if covering:
        winner = covering[0]
        lines = [f"Predicted {winner.class_name}, because rule {winner.index + 1} holds:"]
        lines.append(f"  {join_conditions(winner.conditions)}")
        features = dict.fromkeys(condition.feature for condition in winner.conditions)
        seen = [read_value(rules.tree, f, as_value(rules.rules, f, cells[f])) for f in features]
        if seen:
            lines.append(f"  This row: {', '.join(seen)}.")
        lines += _tell_rows(rules, winner.index, winner.class_name, f"rule {winner.index + 1}")
        if len(covering) > 1:
            lines.append("Also covered by " + ", ".join(f"rule {r.index + 1} ({r.class_name})" for r in covering[1:]))
        final = winner.class_name
    else:
        final = rules.otherwise_name
        lines = [f"Predicted {final}, because no rule holds:"]
        lines += [f"  rule {index + 1} asks {' and '.join(asked)}" for index, asked in failed.items()]
        lines += _tell_rows(rules, len(rules), final, "“otherwise”")
    same = "too" if tree_class == final else _tell_difference(rules, broken)
    lines.append(f"The tree itself predicts {tree_class} {same}.")
    if broken:
        lines.append(f"The guarantee does not cover this row, which contradicts what is known: {'; '.join(broken)}.")
    return "\n".join(lines)


def _tell_difference(rules: CompactRules, broken: Sequence[str]) -> str:
    if broken:
        return "instead: nothing is promised for a row that contradicts what is known"
    if rules.budget:
        return "instead: this row is among those that the budget allows to differ"
    return f"instead: {rules.method!r} does not keep every prediction"


def _tell_rows(rules: CompactRules, index: int, name: str, what: str) -> list[str]:
    counts = rules.decided_counts[index]
    total = float(counts.sum())
    if not total > 0:
        return []
    own = float(counts[rules.class_ids[index] if index < len(rules) else rules.otherwise_id])
    unit = (
        f"Training rows of weight {read_count(total)}" if rules.rules.is_weighted else count_of(total, "training row")
    )
    verb = "is" if total == 1 and not rules.rules.is_weighted else "are"
    return [f"  {unit} {verb} decided by {what}; {read_share(own / total)} of them {verb} {name}."]
