"""The lists of rules that the page's slider moves through, from the shortest to the most faithful.

Each is the compact form for one budget: 0 for the rules that change no prediction, then the budgets that people ask
for. All leave the same class to "otherwise", so that moving the slider adds and drops rules but does not turn the list
round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.compaction import compact_by_budget
from secateur.errors import InputError, ParameterError
from secateur.export.compact_text import read_rarer_class
from secateur.methods.settings import check_share
from secateur.report.fidelity import count_agreement
from secateur.report.reason_texts import known_numbers, pair_limits
from secateur.results.cautions import find_cautions
from secateur.results.intervals import check_squares, count_effective, find_interval
from secateur.rows.checking import check_labels
from secateur.rows.leaves import apply_tree
from secateur.tree.shares import divide_or_nan
from secateur.words.assumptions import list_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from secateur.report.reason_texts import Texts
    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.results.cautions import Caution
    from secateur.rules.compact_rules import CompactRules

__all__ = ["BUDGETS", "check_budgets", "describe_list", "make_lists"]

# The slider's positions beside the exact one.
BUDGETS = (0.0025, 0.005, 0.01, 0.015, 0.02, 0.03)

# Beyond this many conditions a page would take long to make the lists of all budgets.
MOST_CONDITIONS = 2_000


def check_budgets(budgets: Any) -> tuple[float, ...]:
    """Check the slider's positions."""
    if isinstance(budgets, (str, bytes)) or not hasattr(budgets, "__iter__"):
        raise ParameterError(f"Expected budgets as a list of numbers from 0 to 1, found {budgets!r}.")
    return tuple(check_share("budgets", budget) for budget in budgets)


def make_lists(
    given: CompactRules, at_hand: RowsAtHand, budgets: Sequence[float]
) -> tuple[list[CompactRules], int, str]:
    """Make the lists, find the place of the given one, and say why there are no more if that needs saying."""
    wanted = {budget for budget in budgets if budget > 0} - {given.budget}
    kept = int(np.count_nonzero(~given.source.deleted))
    if at_hand.training is None:
        return [given], 0, "The rows that the rules were made from are not at hand, so there is no shorter list."
    source = replace(given.source, training=at_hand.training)
    others = [] if given.budget == 0 else [source.compact(otherwise=given.otherwise, tolerance=given.tolerance)]
    note = ""
    if kept > MOST_CONDITIONS:
        note = (
            f"The rules have {kept:,} conditions. Shorter lists of so many take long to make: ask for one, as with "
            "--budget 0.01."
        )
    elif wanted:
        try:
            others += compact_by_budget(source, sorted(wanted), tolerance=given.tolerance, otherwise=given.otherwise)
        except InputError as error:
            note = str(error)
    made = sorted([given, *others], key=lambda rules: -rules.budget)
    lists = [
        rules
        for place, rules in enumerate(made)
        if rules is given or place + 1 == len(made) or not _says_the_same(rules, made[place + 1])
    ]
    return lists, next(place for place, rules in enumerate(lists) if rules is given), note


def _says_the_same(one: CompactRules, other: CompactRules) -> bool:
    """Tell whether two lists of one rule set have the same rules, whatever they were allowed."""
    if sorted(one.chosen.tolist()) != sorted(other.chosen.tolist()):
        return False
    written = np.isin(one.rules.paths.rule, one.chosen)
    return bool(np.array_equal(one.rules.deleted[written], other.rules.deleted[written]))


def describe_list(
    rules: CompactRules, at_hand: RowsAtHand, texts: Texts | None, answer: Mapping[str, Any]
) -> dict[str, Any]:
    """Describe one list as plain values; without texts, without the reasons. ``answer`` tells how right a guess is."""
    rows = rules.decided_counts.sum(axis=1)
    classes = np.append(rules.class_ids, rules.otherwise_id)
    hits = rules.decided_counts[np.arange(len(rules) + 1), classes]
    limits = _find_limits(rules, rows, hits)
    wholly = rules.rules.paths.leaf_ids
    partly = _find_deciding_leaves(rules, at_hand)
    paths, gone = rules.rules.paths, rules.rules.deleted
    listed: list[dict[str, Any]] = []
    for place, rule in enumerate(rules.chosen.tolist()):
        entries = paths.entries(rule)
        leaves = wholly[rules.stands_for(place)].tolist()
        listed.append(
            {
                "rule": rule,
                "class": int(classes[place]),
                "kept": paths.links[entries][~gone[entries]].tolist(),
                "leaves": leaves,
                "partly": sorted(partly[place] - set(leaves)),
                "reasons": None
                if texts is None
                else [texts.place(reason.text) for reason in rules[place].reasons.values()],
            }
        )
    numbers: Iterable[Any] = zip(known_numbers(rows), known_numbers(hits), limits, strict=True)
    if rules.fidelity is not None:  # training rows would show what the surrogate was fitted to
        numbers = count_agreement(rules.fidelity.by_rule)
    last: dict[str, Any] = {"class": rules.otherwise_id}
    for place, (line, (n_rows, n_hits, interval)) in enumerate(zip([*listed, last], numbers, strict=True)):
        line.update({"rows": n_rows, "hits": n_hits, "limits": interval, "aside": read_rarer_class(rules, place)})
    measured = _measure(rules, at_hand)
    return {
        "budget": rules.budget,
        "is_exact": rules.is_exact,
        "guarantee": rules.guarantee,
        "facts": [one for one in list_facts(rules.tree) if rules._rests_on([one])],
        "n_conditions": rules.n_conditions,
        "rules": listed,
        "otherwise": last,
        "measured": measured,
        "cautions": [str(one) for one in _find_cautions(rules, measured, answer)],
        "dropped": []
        if texts is None
        else [{"leaf": one.leaf_id, "by": one.covered_by, "why": texts.place(one.reason)} for one in rules.dropped],
    }


def _find_cautions(rules: CompactRules, measured: Mapping[str, Any] | None, answer: Mapping[str, Any]) -> list[Caution]:
    if measured is None or answer["guess_accuracy"] is None:
        return find_cautions(rules)
    guess = rules.tree.class_names[answer["guess"]], answer["guess_accuracy"] / 100
    return find_cautions(rules, measured["accuracy"] / 100, guess)


def _find_limits(rules: CompactRules, rows: NDArray[np.float64], hits: NDArray[np.float64]) -> list[list[float] | None]:
    """Find the limits, at 95 %, of the share of its class among the rows that each line decides.

    Sums of weights do not tell how many rows there are, so rules made with weights have no limits.
    """
    if rules.rules.is_weighted:
        return [None] * len(rows)
    return pair_limits(find_interval(divide_or_nan(hits, rows), rows))


def _find_deciding_leaves(rules: CompactRules, at_hand: RowsAtHand) -> list[set[int]]:
    """Find for each rule the leaves of the training rows that it decides."""
    found: list[set[int]] = [set() for _ in range(len(rules))]
    if at_hand.training is not None:
        rows = at_hand.training.X
        pairs = rules.find_deciding(rows) * rules.tree.n_nodes + apply_tree(rules.tree, rows)
        for pair in np.unique(pairs[pairs >= 0]).tolist():
            rule, leaf = divmod(pair, rules.tree.n_nodes)
            found[rule].add(leaf)
    return found


def _measure(rules: CompactRules, at_hand: RowsAtHand) -> dict[str, Any] | None:
    """Measure on the rows of the report how often a list differs from the tree, and how often it is right, in %."""
    given = at_hand.measured
    if given is None:
        return None
    tree, rows, weights = rules.tree, given.X, given.sample_weight
    truth = check_labels(tree, given.y, rows.n_rows)
    said, by_tree = rules.decide(rows), tree.leaf_class[apply_tree(tree, rows)]
    differs, right, tree_right = (
        float(np.average(mark, weights=weights)) for mark in (said != by_tree, said == truth, by_tree == truth)
    )
    n_rows: Any = float(rows.n_rows)
    if weights is not None:
        with np.errstate(over="ignore", under="ignore"):
            total, squares = float(weights.sum()), float(weights @ weights)
        check_squares(total, squares)
        n_rows = count_effective(total, squares)
    low, high = (100.0 * float(end) for end in find_interval(differs, n_rows))
    return {
        "disagreement": 100.0 * differs,
        "disagreement_interval": [low, high],
        "accuracy": 100.0 * right,
        "delta_accuracy": 100.0 * (right - tree_right),
    }
