"""Explain what compact rules say of one row: the rule that holds, or what each asks that the row does not have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.facts.checking import find_broken_facts
from secateur.results.explanation import (
    as_value,
    find_absent,
    find_covering,
    find_held,
    find_needed,
    find_unseen,
    leave_out_absent,
    list_reasons,
    pair_values,
    read_row,
    say_broken,
    say_values,
    warn_of_unseen,
)
from secateur.results.fidelity import read_agreement
from secateur.results.own_path import find_share_interval, say_own_leaf, tell_share
from secateur.rows.leaves import apply_tree
from secateur.words.conditions import count_of, read_conditions
from secateur.words.plain_words import join_asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.rules.compact_rule import CompactRule
    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule import Rule
    from secateur.tree.tree import Label
    from secateur.words.conditions import Condition

__all__ = ["CompactExplanation", "explain_compact"]

SHOWN_RULES = 20


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
    own_rule : Rule
        The rule of the row's own leaf in the tree.
    interval : tuple of float, or None
        Limits of the share of the predicted class among the training rows that the same line decides, at the level of
        95 % (Clopper and Pearson); None without rows, or with weights.
    values : mapping of str to label or None
        The row's values in the columns that rules ask for; None for missing.
    asked : tuple of (str, str)
        What the deciding rule asks and what the row holds there, in words; for "otherwise", what each rule asks that
        the row does not have.
    text : str
        The explanation in words, also its ``str()``.
    broken_facts : tuple of str
        Known facts about the columns that this row contradicts. The guarantee does not cover the row if it rests on one
        of them, which the text says.
    """

    prediction: Label
    tree_prediction: Label
    rule: CompactRule | None
    covering: tuple[CompactRule, ...]
    failed: Mapping[int, tuple[str, ...]]
    own_rule: Rule
    interval: tuple[float, float] | None
    values: Mapping[str, Label | None]
    asked: tuple[tuple[str, str], ...]
    text: str = field(repr=False)
    broken_facts: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the explanation as plain values, for JSON; what is about a rule is None, or empty, for "otherwise"."""
        rule = self.rule
        return {
            "prediction": self.prediction,
            "tree_prediction": self.tree_prediction,
            "rule": None if rule is None else rule.index + 1,
            "text": None if rule is None else rule.text,
            "conditions": [] if rule is None else [condition.text for condition in rule.conditions],
            "support": None if rule is None else rule.support,
            "reliability": None if rule is None else rule.reliability,
            "reasons": [] if rule is None else list_reasons(rule.reasons),
            "also_covered_by": [other.index + 1 for other in self.covering[1:]],
            "failed": {str(index + 1): list(asked) for index, asked in self.failed.items()},
            "interval": None if self.interval is None else list(self.interval),
            "own_rule": self.own_rule.index + 1,
            "own_leaf": self.own_rule.leaf_id,
            "values": dict(self.values),
            "broken_facts": list(self.broken_facts),
            "explanation": self.text,
        }

    def _repr_html_(self) -> str:
        from secateur.export.notebook_tables import explanation_to_html

        return explanation_to_html(self)

    def __str__(self) -> str:
        return self.text


def explain_compact(rules: CompactRules, row: Any) -> CompactExplanation:
    """Explain the prediction for one row."""
    tree, paths, whole = rules.tree, rules.rules.paths, rules.rules
    rows = read_row(whole, row, find_needed(rules))
    cells, unseen = rows.matrix[0], find_unseen(tree, rows.matrix[0], row)
    covers = find_covering(whole, cells)[rules.chosen]
    covering = [rule for rule in rules if covers[rule.index]]
    held = find_held(whole, cells)
    failed, lacking, asked = {}, {}, []
    for rule in rules:
        kept = list(rule.kept_ids)
        asked += tree.feature[paths.parent[kept]].tolist()
        if not covers[rule.index]:
            missed = [link for link in kept if not held[link]]
            lacking[rule.index] = read_conditions(tree, paths, missed, whole._voice)
            failed[rule.index] = tuple(condition.text for condition in read_conditions(tree, paths, missed))
    leaf = int(apply_tree(tree, rows)[0])
    own = int(whole._rule_of_leaf[leaf])
    decider = covering[0].index if covering else len(rules)
    class_id = int(rules.class_ids[decider] if covering else rules.otherwise_id)
    broken = find_broken_facts(tree, rows)
    features = list(dict.fromkeys(asked))
    values = {tree.feature_name(feature): as_value(whole, feature, cells[feature], unseen) for feature in features}
    told = covering[0].conditions if covering else [one for missed in lacking.values() for one in missed]
    return CompactExplanation(
        prediction=covering[0].prediction if covering else rules.otherwise,
        tree_prediction=tree.classes[int(tree.leaf_class[leaf])].item(),
        rule=covering[0] if covering else None,
        covering=tuple(covering),
        failed=failed,
        own_rule=rules.source[own],
        interval=find_share_interval(whole, rules.decided_counts[decider], class_id),
        values=leave_out_absent(values, row),
        asked=pair_values(whole, told, cells, unseen),
        text="\n".join(
            [
                *warn_of_unseen(tree, unseen),
                *_tell(rules, covering, lacking, cells, unseen, own, find_absent(whole, own, row), class_id, broken),
            ]
        ),
        broken_facts=tuple(broken),
    )


def _tell(
    rules: CompactRules,
    covering: list[CompactRule],
    lacking: Mapping[int, tuple[Condition, ...]],
    cells: np.ndarray[Any, Any],
    unseen: Mapping[int, Any],
    own: int,
    absent: Sequence[str],
    class_id: int,
    broken: list[str],
) -> list[str]:
    whole, name = rules.rules, rules.tree.class_names[class_id]
    if covering:
        winner = covering[0]
        lines = [f"Predicted {name}, because rule {winner.index + 1} holds: {join_asked(winner.asks)}."]
        seen = say_values(whole, winner.conditions, cells, unseen)
        lines += [f"  This row: {', '.join(seen)}."] if seen else []
        lines += _tell_decided(rules, winner.index, class_id, "Rows that this rule decides")
        if len(covering) > 1:
            lines.append("Also covered by " + ", ".join(f"rule {r.index + 1} ({r.class_name})" for r in covering[1:]))
    else:
        lines = [f"Predicted {name}, because no rule holds:"]
        for index, conditions in list(lacking.items())[:SHOWN_RULES]:
            asked = join_asked([condition.text for condition in conditions])
            held = ", ".join(say_values(whole, conditions, cells, unseen))
            lines.append(f"  rule {index + 1} ({rules[index].class_name}) asks {asked}; this row: {held}")
        if len(lacking) > SHOWN_RULES:
            lines.append(f"  and {count_of(len(lacking) - SHOWN_RULES, 'more rule')} ask what it does not have, either")
        lines += _tell_decided(rules, len(rules), class_id, "Rows that no rule covers")
    differs = int(whole.paths.leaf_class[own]) != class_id
    if rules.fidelity is None or differs:
        lines.append(say_own_leaf(rules.source, own, absent, differs=differs))
    if differs:
        lines.append(_say_difference(rules, broken))
    return [*lines, *say_broken(rules, broken)]


def _tell_decided(rules: CompactRules, line: int, class_id: int, where: str) -> list[str]:
    """Tell of the rows that the same line decides; of an approximation, that the model itself was not asked."""
    if rules.fidelity is None:
        return tell_share(rules.rules, rules.decided_counts[line], class_id, where)
    return [
        f"  {where}: {read_agreement(rules.fidelity, line)}.",
        f"These rules approximate {rules.fidelity.model}, which was not asked about this row.",
    ]


def _say_difference(rules: CompactRules, broken: Sequence[str]) -> str:
    if rules._rests_on(broken):
        return "Nothing is promised for a row that contradicts what is known."
    if rules.budget:
        return "This row is among those that the budget allows to differ from the tree."
    return f"This row is among those that {rules.method!r} may decide otherwise than the tree."
