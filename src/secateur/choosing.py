"""Choose the lines of a short list: few of the leaves' rules, and the class of what none of them covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.row_evidence import RowEvidence
from secateur.counting.violations import find_reliability
from secateur.errors import InputError, ParameterError, did_you_mean, shorten
from secateur.facts.possible_rows import find_feasible
from secateur.methods import Deletions, Why
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.methods.covering import Containment, choose_rules, find_containment
from secateur.methods.joint_deletion import Cells, JointResult, delete_jointly, make_cells
from secateur.methods.row_mixture import MixedRows, mix_rows
from secateur.methods.settings import check_share
from secateur.results.audit import AuditCounter
from secateur.rows.row_source import GivenRows, ModelTerms
from secateur.rules.cover_sets import FEW_RULES, CoverCounter
from secateur.rules.deciding import without_facts
from secateur.rules.making import Choice
from secateur.rules.order import keep_ranking, lift_rare, order_rules
from secateur.rules.rules import Rules

__all__ = ["NO_BUDGET", "ROW_BY_ROW", "choose_lines", "choose_lines_by_budget"]

SMOOTHING = 1000  # rows that shuffled copies count for, as in `budgeted`
TINY = 1e-9  # shares are rounded
ROW_BY_ROW, NO_BUDGET = "A budget is spent row by row", ", or leave budget out"


def choose_lines(
    rules: Rules,
    *,
    budget: float = 0.0,
    tolerance: float = DEFAULT_TOLERANCE,
    otherwise: Any = "auto",
    rows: GivenRows | None = None,
) -> Rules:
    """Choose few rules of those of all leaves, under a budget with further deletions."""
    budget, tolerance = check_share("budget", budget), check_share("tolerance", tolerance)
    defaults = _find_defaults(rules, otherwise)
    rows = rules.training if rows is None else rows
    if budget == 0:
        found = _cover_all(rules, defaults)
        return _finish(rules, rules, *found, None, budget, tolerance, rows)
    return _spend(rules, defaults, budget, tolerance, _prepare(rules))


def choose_lines_by_budget(
    rules: Rules, budgets: Iterable[float], *, tolerance: float = DEFAULT_TOLERANCE, otherwise: Any = "auto"
) -> Iterator[Rules]:
    """Make the lists of several budgets, as :func:`choose_lines` makes each, looking at the rows once.

    A budget that the rules of their method exceed before anything is spent is passed over.
    """
    defaults, prepared = _find_defaults(rules, otherwise), _prepare(rules)
    for budget in budgets:
        with suppress(BeyondBudget):
            yield _spend(rules, defaults, check_share("budget", budget), tolerance, prepared)


def _find_defaults(rules: Rules, otherwise: Any) -> list[int]:
    """List the classes that may be left out: all, or the one that the caller named."""
    labels = rules.tree.classes.tolist()
    if isinstance(otherwise, str) and otherwise == "auto":
        return list(range(len(labels)))
    if isinstance(otherwise, np.generic):
        otherwise = otherwise.item()
    for names in (labels, list(rules.tree.class_names)):
        if otherwise in names:
            return [names.index(otherwise)]
    hint = did_you_mean(otherwise, [str(label) for label in labels]) if isinstance(otherwise, str) else ""
    raise ParameterError(
        f"There is no class {otherwise!r} to leave to otherwise: the classes are {shorten(labels)}, and 'auto' chooses "
        f"one.{hint}"
    )


def _possible_tree(rules: Rules) -> Any:
    """The tree over possible rows, or over all rows where nothing may be known about the columns."""
    tree = rules.tree
    if rules.parameters.get("domain_knowledge", True):
        return find_feasible(tree).tree
    if tree.columns is not None and tree.columns.encoded is not None:
        return tree.columns.encoded
    return without_facts(tree)


def _cover_all(rules: Rules, defaults: list[int]) -> tuple[NDArray[np.int64], int, Containment]:
    """Choose rules that stand for all leaves of every class but one, and that class."""
    paths = rules.paths
    contained = find_containment(_possible_tree(rules), paths, rules.deleted)
    lengths = rules.lengths
    chosen = {c: choose_rules(contained, lengths, paths.leaf_class == c) for c in np.unique(paths.leaf_class).tolist()}
    # Of the classes that no leaf predicts, which leave all rules to be written, the first stands for the others.
    unpredicted = sorted(set(defaults) - set(chosen))[:1]
    written = {
        default: np.concatenate([np.zeros(0, np.int64), *(some for c, some in chosen.items() if c != default)])
        for default in [*(c for c in defaults if c in chosen), *unpredicted]
    }
    default = min(written, key=lambda c: (*_cost(rules, written[c], c), c))
    return written[default], default, contained


def _cost(rules: Rules, chosen: NDArray[np.int64], default: int, deleted: Any = None) -> tuple[int, int, float]:
    """Conditions, then rules; then, negated, the training rows of the class that is not written: more are better."""
    gone = rules.deleted if deleted is None else deleted
    lengths = rules.paths.count(~gone)
    rows = float(np.nan_to_num(rules.leaf_support[rules.paths.leaf_class == default]).sum())
    return int(lengths[chosen].sum()), len(chosen), -rows


class BeyondBudget(InputError):
    """The rules of a method differ from the tree on more rows than a budget allows, before it is spent."""


class _Prepared(NamedTuple):
    """The training rows, looked at once for any budget; without conditions there is nothing to spend."""

    evidence: RowEvidence
    mixture: MixedRows | None
    cells: Cells | None


def _prepare(rules: Rules) -> _Prepared:
    """Put the training rows, and shuffled copies of them, together by the conditions that they pass."""
    if rules.training is None:
        raise InputError(
            "A budget is spent on training rows, which these rules do not have: make them with "
            "simplify(model, X, y, budget=…), or leave budget out."
        )
    tree, paths = rules.tree, rules.paths
    with rules._open(*rules.training) as source:
        held = source.hold(lambda: ModelTerms.of(tree), ROW_BY_ROW, NO_BUDGET)
        evidence = RowEvidence(tree, *held.read_labelled(tree))
    if not len(paths.links):
        return _Prepared(evidence, None, None)
    mixture = mix_rows(tree, paths, evidence.listed, SMOOTHING)
    return _Prepared(evidence, mixture, make_cells(tree, paths, rules.deleted, mixture))


def _spend(rules: Rules, defaults: list[int], budget: float, tolerance: float, prepared: _Prepared) -> Rules:
    """Delete and drop jointly under a budget, for each class that may be left out."""
    evidence, mixture, cells = prepared
    if mixture is None or cells is None:
        return _finish(rules, rules, *_cover_all(rules, defaults), None, budget, tolerance, rules.training)
    paths = rules.paths
    results = {
        default: delete_jointly(
            paths, rules.deleted, cells, default, limits=mixture.limits(budget), tolerance=tolerance
        )
        for default in defaults
    }
    spent = {c: max(joint.disagreement, joint.mixed_disagreement) for c, joint in results.items()}
    within = [c for c in defaults if spent[c] <= budget + TINY]
    if not within:
        raise BeyondBudget(
            f"The rules of {rules.method!r} claim {100 * min(spent.values()):.3g} % of the rows for another class than "
            f"the tree, or for two, before anything is spent, beyond the budget of {100 * budget:.6g} %: raise the "
            "budget, or start from 'exact', which is the default."
        )
    is_rare = {c: bool((rest := results[c].rest_counts)[c] < rest.max()) for c in within}
    default = min(within, key=lambda c: (is_rare[c], *_cost(rules, results[c].chosen, c, results[c].deleted), c))
    joint = results[default]
    counts, _ = evidence.count(paths, joint.deleted)
    # Only written rules lost conditions to the budget; the others are as they were.
    shortened = rules.change(
        deletions=_explain(rules.deletions, joint, paths.rule, find_reliability(paths, cells.leaf_counts)),
        covered_counts=np.array(counts),
    )
    contained = find_containment(_possible_tree(rules), paths, joint.deleted)
    return _finish(rules, shortened, joint.chosen, default, contained, joint, budget, tolerance, rules.training)


def _explain(
    before: Deletions, joint: JointResult, rule: NDArray[np.int32], leaf_reliability: NDArray[np.float64]
) -> Deletions:
    """Give every condition of a written rule that the budget was asked about its reason."""
    numbers = {name: np.array(getattr(before, name)) for name in vars(before)}
    result = type(before)(**numbers)
    judged = ~before.deleted & np.isin(rule, joint.chosen)
    result.before[judged], result.after[judged] = joint.before[judged], joint.after[judged]
    result.number[judged] = joint.real[judged]
    result.node[judged] = -1
    result.keep(judged, Why.TOO_MANY_OTHERWISE)
    result.delete(joint.paid, Why.DECIDED_OTHERWISE)
    guarded = joint.is_guarded
    result.keep(guarded, Why.TOO_UNRELIABLE)
    result.before[guarded], result.after[guarded] = leaf_reliability[rule[guarded]], joint.trial[guarded]
    result.number[guarded] = np.nan
    unseen = judged & np.isnan(leaf_reliability)[rule]
    result.keep(unseen, Why.NO_ROWS)
    for values in (result.before, result.after, result.number):
        values[unseen] = np.nan
    return result


def _finish(
    source: Rules,
    rules: Rules,
    chosen: NDArray[np.int64],
    default: int,
    contained: Containment,
    joint: JointResult | None,
    budget: float,
    tolerance: float,
    given: GivenRows | None,
) -> Rules:
    """Order the rules, and count what each decides."""
    tree, paths = rules.tree, rules.paths
    counts = None
    if len(chosen) <= FEW_RULES and given is not None:
        with rules._open(*given) as rows:
            counts = rows.fold(without_facts(tree), CoverCounter(rules, chosen))
    if counts is not None:
        covered, weights = counts.covered(len(chosen)), counts.counts.sum(axis=1)
        explained = [np.flatnonzero(own) for own in covered.T]
    else:
        explained = [contained.of_rule(rule) for rule in chosen.tolist()]
        weights = np.nan_to_num(rules.leaf_support, nan=1.0)
    making = replace(rules.making, budget=budget, tolerance=tolerance)
    order = order_rules(explained, weights, paths.leaf_class[chosen], rules.lengths[chosen])
    if rules.is_ranked and not (rules.is_exact and not budget):
        order = keep_ranking(rules, chosen, order)
    if counts is not None:
        order = lift_rare(order, paths.leaf_class[chosen], partial(counts.count_decided, len(chosen)))
    written = chosen[order]
    lists = [contained.of_rule(rule) for rule in written.tolist()]
    made = rules.change(
        making=making,
        leaves=written,
        default=default,
        decided_counts=np.full((len(written) + 1, tree.n_classes), np.nan),
        choice=Choice(
            deletions=source.deletions,
            covered_counts=source.covered_counts,
            stand_ins=(
                np.concatenate([[0], np.cumsum([len(some) for some in lists], dtype=np.int64)]),
                np.concatenate([np.zeros(0, dtype=np.int64), *lists]),
            ),
            drop_costs=np.full((3, len(rules)), np.nan)
            if joint is None
            else np.stack([joint.drop_before, joint.drop_after, joint.drop_real]),
        ),
    )
    if counts is None:
        return _count_many(made, given)
    decided = counts.count_decided(len(order), order)
    return made.change(decided_counts=decided[np.append(order, len(order))])


def _count_many(made: Rules, given: GivenRows | None) -> Rules:
    """Count what each of many rules decides in a pass of its own, now that their order is known."""
    if given is not None:
        with made._open(*given) as rows:
            return made.change(decided_counts=rows.fold(without_facts(made.tree), AuditCounter(made)).by_line)
    if not made.is_exact:
        return made
    known = np.full((len(made) + 1, made.tree.n_classes), np.nan)
    # Without rows, what the leaves that no exact rule covers hold.
    known[-1] = made.leaf_counts[made.paths.leaf_class == made.default].sum(axis=0)
    return made.change(decided_counts=known)
