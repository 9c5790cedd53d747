"""Gather all that a report shows into a plain dict. ``docs/report.md`` lists its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur import __version__
from secateur.errors import InputError, ParameterError
from secateur.methods import METHODS
from secateur.report.compact_form import describe_compact
from secateur.report.diagnosing import describe_effects
from secateur.report.drawing import describe_tree
from secateur.report.form import make_form
from secateur.report.ladder import make_ladder
from secateur.report.rows_at_hand import find_rows
from secateur.report.steps import Texts, find_slider, known_numbers, make_rule_sets, make_step
from secateur.rules.compact_rules import CompactRules
from secateur.rules.rule_set import RuleSet
from secateur.rules.wording import join_conditions, read_conditions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secateur.report.rows_at_hand import RowsAtHand

__all__ = ["summarize"]

FORMAT = 1


def summarize(
    rules: RuleSet | CompactRules,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    title: str | None = None,
    tolerances: Any = None,
) -> dict[str, Any]:
    """Gather all that a report shows into a plain dict, ready for JSON.

    Parameters
    ----------
    rules : RuleSet or CompactRules
        Of compact rules, the rest of the page shows the rule set that they were chosen from.
    X : array-like or data frame of shape (n_rows, n_features), default=None
        Rows to measure on, best rows that the tree was not fitted on. By default those that the rules were made from,
        if they are at hand.
    y, sample_weight : array-like of shape (n_rows,), default=None
        Their labels and weights.
    title : str, default=None
    tolerances : sequence of float, default=None
        The values of the slider: ε of ``faithful``, ``layered`` and ``mismatch``, δ of ``budgeted``. By default those
        that :func:`select_tolerance` and :func:`select_budget` try.

    Returns
    -------
    dict
        Its fields are listed in ``docs/report.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> summary = summarize(secateur.simplify(model, X, y))
    >>> summary["size"]["n_conditions"], summary["size"]["n_conditions_before"]
    (8, 13)
    """
    compact = rules if isinstance(rules, CompactRules) else None
    rules = rules.source if isinstance(rules, CompactRules) else rules
    if not isinstance(rules, RuleSet):
        raise InputError(
            f"Expected the rules of one tree, found {type(rules).__name__}. Pass a RuleSet; of a forest, one of its "
            "rule sets."
        )
    if title is not None and not isinstance(title, str):
        raise ParameterError(f"Expected title as text, found {title!r}.")
    at_hand = find_rows(rules, X, y, sample_weight)
    slider, no_slider = find_slider(rules, at_hand, tolerances)
    rule_sets, current = make_rule_sets(rules, at_hand, slider)
    texts = Texts()
    listed = _describe_rules(rules, texts)
    values = (None,) if slider is None else slider.values
    steps = [make_step(made, rules, at_hand, value, texts) for made, value in zip(rule_sets, values, strict=True)]
    form = make_form(rules, at_hand)
    for rule, example in zip(listed, form.pop("examples"), strict=True):
        rule["example"] = example
    method = METHODS[rules.method]
    return {
        "format": FORMAT,
        "version": __version__,
        "title": "Rules of a decision tree" if title is None else title,
        "guarantee": rules.guarantee,
        "compact": None if compact is None else describe_compact(compact, at_hand),
        "method": {"name": method.name, "summary": method.summary, "preserves": method.preserves},
        "is_exact": method.is_exact,
        "parameters": _plain(rules.parameters),
        "size": {
            "n_rules": len(rules),
            "n_rules_changed": steps[current]["rules_changed"],
            "n_conditions_before": len(rules.deleted),
            "n_conditions": steps[current]["n_conditions"],
            "removed": steps[current]["removed"],
            "depth": rules.tree.depth,
        },
        "remarks": list(rules.remarks),
        "facts": _list_facts(rules),
        "classes": list(rules.tree.class_names),
        "rows": _describe_rows(rules, at_hand),
        "ladder": make_ladder(rules, at_hand),
        "knob": None if slider is None else slider.record,
        "knob_note": no_slider,
        "steps": steps,
        "step": current,
        "rules": listed,
        "diagnosis": describe_effects(rules, at_hand),
        "reasons": texts.listed,
        "phrases": texts.phrases,
        "merged": _merge_conditions(rule_sets),
        "tree": describe_tree(rules),
        "form": form,
    }


def _describe_rules(rules: RuleSet, texts: Texts) -> list[dict[str, Any]]:
    """Describe the rules in source order."""
    hits = rules.source_class_counts[np.arange(len(rules)), rules.paths.leaf_class]
    source_support, source_hits = known_numbers(rules.source_support), known_numbers(hits)
    return [
        {
            "text": join_conditions(rule.conditions),
            "leaf": rule.leaf_id,
            "class": int(rules.paths.leaf_class[rule.index]),
            "links": rules.paths.links[rules.paths.entries(rule.index)].tolist(),
            "deleted": list(rule.deleted_ids),
            "reasons": [texts.place(reason.text) for reason in rule.reasons.values()],
            "support": rule.support,
            "reliability": rule.reliability,
            "assimilated_into": rule.assimilated_into,
            "source_support": source_support[rule.index],
            "source_hits": source_hits[rule.index],
            "source_reliability": rule.source_reliability,
        }
        for rule in rules
    ]


def _merge_conditions(rule_sets: list[RuleSet]) -> dict[str, str]:
    """Word the kept links on one column together, by their ids; a single link reads as itself."""
    first = rule_sets[0]  # all of them are of one tree
    seen = dict.fromkeys(rule.kept_ids for rules in rule_sets for rule in rules)
    conditions = (one for kept in seen for one in read_conditions(first.tree, first.paths, kept))
    return {",".join(map(str, one.link_ids)): one.text for one in conditions if len(one.link_ids) > 1}


def _describe_rows(rules: RuleSet, at_hand: RowsAtHand) -> dict[str, Any]:
    known = [n for n in (*rules.support.tolist(), *rules.source_support.tolist()) if n == n]
    return {
        "n_rows": at_hand.n_rows,
        "is_training": at_hand.is_training,
        "is_ranked": rules.is_ranked,
        "is_weighted": rules.is_weighted,
        "most_support": max(known, default=None),
        "note": at_hand.note,
    }


def _list_facts(rules: RuleSet) -> list[dict[str, Any]]:
    """List what is known about the columns, and whether a deletion rests on it."""
    facts, used = rules.tree.facts, set(rules.facts_used.used)
    texts = [str(fact) for fact in (*facts.implications, *facts.claims, *facts.groups, *facts.orders)]
    texts += [rules.tree.describe_decimals(feature) for feature in facts.decimals_of]
    return [{"text": text, "is_used": text in used} for text in texts]


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Write parameters for JSON."""
    return {
        name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        for name, value in parameters.items()
    }
