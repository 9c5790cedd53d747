"""Gather all that a report shows into a plain dict. ``docs/report.md`` lists its fields."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur import __version__
from secateur.errors import InputError, ParameterError
from secateur.methods import METHODS
from secateur.report.answer import describe_answer
from secateur.report.diagnosing import describe_effects
from secateur.report.distributions import describe_splits
from secateur.report.drawing import describe_tree
from secateur.report.fidelity import describe_fidelity, warn_of_few
from secateur.report.form import make_form
from secateur.report.ladder import make_ladder
from secateur.report.leaf_rules import describe_rules
from secateur.report.lists import BUDGETS, check_budgets, describe_list, make_lists
from secateur.report.reason_texts import Texts
from secateur.report.rows_at_hand import find_rows
from secateur.report.sentences import say_list_faithful, say_list_right, say_measured_on, say_predicted
from secateur.results.answer import find_target, name_target
from secateur.rules.compact_rules import CompactRules
from secateur.rules.rule_set import RuleSet
from secateur.words.assumptions import list_facts
from secateur.words.conditions import read_conditions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.words.conditions import Voice

__all__ = ["summarize"]

FORMAT = 2

# Up to FULLY_TOLD conditions every list and every leaf carries its reasons, and methods are compared; up to MOST_TOLD
# the list that is shown first carries its reasons.
FULLY_TOLD, MOST_TOLD = 2_000, 10_000


def summarize(
    rules: RuleSet | CompactRules,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    target: str | None = None,
    title: str | None = None,
    budgets: Any = BUDGETS,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather all that a report shows into a plain dict, ready for JSON.

    Parameters
    ----------
    rules : RuleSet or CompactRules
        The page begins with the compact form; of a rule set, with ``rules.compact()``.
    X : array-like or data frame of shape (n_rows, n_features), default=None
        Rows to measure on, set aside when the tree was fitted. By default those that the rules were made from, if they
        are at hand.
    y, sample_weight : array-like of shape (n_rows,), default=None
        Their labels and weights.
    target : str, default=None
        What is predicted, in a word or two, such as the name of the column of ``y``.
    title : str, default=None
        By default made from ``target``.
    budgets : sequence of float, default=(0.0025, 0.005, 0.01, 0.015, 0.02, 0.03)
        The positions of the slider beside the exact one.
    notes : sequence of str, default=()
        What else a reader should know of the table and the model, a sentence each.

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
    >>> summary = summarize(secateur.compact(model, X, y), target="species")
    >>> summary["title"], summary["lists"][summary["list"]]["n_conditions"]
    ('What decides species', 4)
    """
    given = rules if isinstance(rules, CompactRules) else None
    whole = rules.source if isinstance(rules, CompactRules) else rules
    if not isinstance(whole, RuleSet):
        raise InputError(
            f"Expected the rules of one tree, found {type(rules).__name__}. Pass a RuleSet; of a forest, one of its "
            "rule sets."
        )
    for name, value in (("title", title), ("target", target)):
        if value is not None and not isinstance(value, str):
            raise ParameterError(f"Expected {name} as text, found {value!r}.")
    if isinstance(notes, str) or not all(isinstance(note, str) for note in notes):
        raise ParameterError(f"Expected notes as a list of sentences, found {notes!r}.")
    budgets = check_budgets(budgets)
    measured = None if given is None else describe_fidelity(given)
    if measured is not None:
        budgets = ()  # the fidelity is that of the given list alone
    target = name_target(y) or find_target(whole) if target is None else target
    at_hand = find_rows(whole, X, y, sample_weight)
    seen = whole if at_hand.training is None else replace(whole, training=at_hand.training)
    given = seen.compact() if given is None else given
    voice = seen._voice
    lists, place, note = make_lists(given, at_hand, budgets)
    texts = Texts()
    n_conditions = len(whole.deleted)
    told = [n_conditions <= (MOST_TOLD if made is given else FULLY_TOLD) for made in lists]
    form = make_form(whole, at_hand)
    leaf_rules = describe_rules(whole, texts if n_conditions <= FULLY_TOLD else None)
    for rule, example in zip(leaf_rules, form.pop("examples"), strict=True):
        rule["example"] = example
    method = METHODS[whole.method]
    answer = describe_answer(whole, at_hand)
    summary: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "title": title or _make_title(target, measured),
        "target": target,
        "answer": answer,
        "fidelity": measured,
        "lists": [
            describe_list(made, at_hand, texts if tell else None, answer)
            for made, tell in zip(lists, told, strict=True)
        ],
        "list": place,
        "list_note": note,
        "method": {"name": method.name, "summary": method.summary, "preserves": method.preserves},
        "guarantee": whole.guarantee,
        "is_exact": method.is_exact,
        "parameters": _plain(whole.parameters),
        "size": {
            "n_rules": len(whole),
            "n_rules_changed": len(np.unique(whole.paths.rule[whole.deleted])),
            "n_conditions_before": n_conditions,
            "n_conditions": int(np.count_nonzero(~whole.deleted)),
            "depth": whole.tree.depth,
        },
        "notes": list(notes),
        "remarks": list(whole._told_remarks),  # a class that no rule predicts is among the cautions
        "facts": _list_facts(whole),
        "classes": list(whole.tree.class_names),
        "rows": _describe_rows(whole, at_hand),
        # The page's own slider spends budgets, and better than a method with a rule for each leaf does.
        "ladder": make_ladder(whole, at_hand, with_conflict=False) if n_conditions <= FULLY_TOLD else [],
        "rules": leaf_rules,
        "diagnosis": describe_effects(whole, at_hand),
        "merged": _merge_conditions(whole, [*lists, whole], voice),
        "tree": describe_tree(whole, voice),
        "splits": describe_splits(whole, at_hand),
        "form": form,
        "reasons": texts.listed,
        "phrases": texts.phrases,
    }
    _say(summary, lists)
    return summary


def _say(summary: dict[str, Any], lists: list[CompactRules]) -> None:
    """Add the sentences that are read first."""
    rows, answer = summary["rows"], summary["answer"]
    answer["predicted"] = say_predicted(summary["target"], summary["classes"], len(summary["form"]["fields"]))
    answer["measured_on"] = say_measured_on(rows)
    for made, listed in zip(lists, summary["lists"], strict=True):
        listed["faithful"] = say_list_faithful(made, listed["measured"], rows)
        listed["right"] = say_list_right(listed["measured"], answer, summary)
    if (measured := summary["fidelity"]) is not None:
        answer["predicted"] = measured["first"]
        for listed in summary["lists"]:
            listed["faithful"], listed["right"] = measured["after"][0], " ".join(measured["after"][1:])
            listed["cautions"] = warn_of_few(listed)


def _make_title(target: str | None, measured: dict[str, Any] | None) -> str:
    if target:
        return f"What decides {target}"
    return "The rules of a decision tree" if measured is None else f"Rules that approximate {measured['model']}"


def _merge_conditions(whole: RuleSet, rule_sets: Iterable[RuleSet | CompactRules], voice: Voice) -> dict[str, str]:
    """Word the kept links on one column together, by their ids; a single link reads as itself."""
    seen = dict.fromkeys(rule.kept_ids for rules in rule_sets for rule in rules)
    conditions = (one for kept in seen for one in read_conditions(whole.tree, whole.paths, kept, voice))
    return {",".join(map(str, one.link_ids)): one.text for one in conditions if len(one.link_ids) > 1}


def _describe_rows(rules: RuleSet, at_hand: RowsAtHand) -> dict[str, Any]:
    training = at_hand.training
    return {
        "n_rows": at_hand.n_rows,
        "n_training": None if training is None else training.X.n_rows,
        "is_training": at_hand.is_training,
        "is_ranked": rules.is_ranked,
        "is_weighted": rules.is_weighted,
        "note": at_hand.note,
    }


def _list_facts(rules: RuleSet) -> list[dict[str, Any]]:
    """List what is known about the columns, and whether a deletion rests on it."""
    used = set(rules.facts_used.used)
    return [{"text": text, "is_used": text in used} for text in list_facts(rules.tree)]


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Write parameters for JSON."""
    return {
        name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        for name, value in parameters.items()
    }
