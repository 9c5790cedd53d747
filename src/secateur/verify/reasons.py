"""Check the numbers behind reasons: changes of class shares from the tree, reliabilities and listed rows from the rows.

Which number has which check is declared in :mod:`secateur.verify.fields`; the others are named as taken as stated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.verify.case import COUNT_TOLERANCE, find_shares
from secateur.verify.fields import REASONS, Check
from secateur.verify.placed_rows import PlacedRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from secateur.verify.case import Case

# Each reason of a trial takes a box of its own; files with more conditions hold no reasons in words.
MOST_TRIALS = 20_000
SHIFTED = ("matched", "neutral", "inside-h")  # kinds that the change of the class share decides


def check_reasons(case: Case) -> None:
    """Check the numbers behind the reasons of all leaves' rules, and those of a list after its budget was spent."""
    parts = [case.record] if case.record["list"] is None else [case.record, case.record["list"]]
    stated: dict[str, None] = {}
    for part in parts:
        for kind in np.unique(part["kinds"].astype(str)).tolist():
            if Check.STATED in REASONS[kind][:4]:
                stated[kind] = None
    if stated:
        case.skip(f"numbers behind these kinds of reasons are taken as stated: {', '.join(stated)}")
    _check_shifts(case)
    if case.domain is not None:
        _check_cases(case)
    if case.counted is not None:
        found = [*(_check_leaves(case, part) for part in parts), _check_trials(case)]
        counted = [broken for broken in found if broken is not None]
        if counted:
            case.report(
                "reliabilities behind reasons recounted from the rows", [one for part in counted for one in part]
            )


def _check_shifts(case: Case) -> None:
    """Check the change of the class share along each edge, and what it is said to mean."""
    paths, kinds, said = case.paths, case.record["kinds"].astype(str), case.record["numbers"]
    judged = np.isin(kinds, SHIFTED) | (
        ~np.isnan(said) & np.isin(kinds, [kind for kind, own in REASONS.items() if own.number is Check.PROVED])
    )
    if not judged.any():
        return
    own = case.classes[paths.rule]
    counts = np.zeros((case.tree.n_nodes, case.tree.n_classes)) if case.tree.counts is None else case.tree.counts
    with np.errstate(invalid="ignore"):
        share = counts / counts.sum(axis=1, keepdims=True)
    shift = share[paths.links, own] - share[paths.parent[paths.links], own]
    limit = case.parameters.get("rf_tol", 0.0)
    fits = np.isclose(said, shift, rtol=0, atol=COUNT_TOLERANCE) | (np.isnan(shift) & ~(np.abs(said) > limit))
    slack = limit + COUNT_TOLERANCE
    fits &= (kinds != "matched") | (shift > limit - COUNT_TOLERANCE)
    fits &= (kinds != "neutral") | ~(np.abs(shift) > slack)
    fits &= (kinds != "inside-h") | (shift < COUNT_TOLERANCE - limit)
    case.report(
        "the changes of class shares behind reasons are those of the tree's counts",
        [
            f"The class share along link {paths.links[entry]} changes by {shift[entry]:+.4g} for the rule of leaf "
            f"{case.leaves[paths.rule[entry]]}, not as its reason says ({kinds[entry]}, {said[entry]:+.4g})."
            for entry in np.flatnonzero(judged & ~fits).tolist()
        ],
    )


def _check_cases(case: Case) -> None:
    """Check how many listed cases a certified rule covers, and that the named ones refute the others."""
    assert case.domain is not None
    kinds, rule = case.record["kinds"].astype(str), case.paths.rule
    tried = np.isin(kinds, ("finite-domain", "domain-refutes"))
    if not tried.any():
        return
    matrix, labels = case.domain
    inside: dict[int, NDArray[np.int64]] = {}
    placed = PlacedRows(case.tree, matrix)
    for boxes in case.make_boxes(~tried, np.unique(rule[tried])):  # a rule tries all of them together, or none
        for place, rows in placed.satisfying(boxes, np.zeros(len(boxes.rules), dtype=np.int64)):
            inside[int(boxes.rules[place])] = np.sort(rows)
    broken = []
    for entry in np.flatnonzero(tried).tolist():
        rows, name = inside[rule[entry]], case.leaves[rule[entry]]
        foreign = rows[labels[rows] != case.classes[rule[entry]]]
        said, row = case.record["after"][entry], int(case.record["nodes"][entry])
        if kinds[entry] == "finite-domain" and said != len(rows):
            broken.append(f"The rule of leaf {name} covers {len(rows)} listed rows, not {said:g} as a reason says.")
        elif kinds[entry] == "domain-refutes" and (not len(foreign) or row != foreign[0]):
            broken.append(f"Listed row {row} is not the first that refutes the rule of leaf {name}, as a reason says.")
    case.report("the listed rows behind reasons are those that the rules cover", broken)


def _check_leaves(case: Case, part: Mapping[str, Any]) -> list[str] | None:
    """Check the reliability of the leaf that a reason compares with."""
    kinds = part["kinds"].astype(str)
    judged = np.isin(kinds, [kind for kind, own in REASONS.items() if own.before is Check.RECOUNTED])
    judged &= ~np.isnan(part["before"])
    assert case.counted is not None
    return _compare(case, judged, part["before"], find_shares(case.counted.leaves, case.classes)[case.paths.rule])


def _check_trials(case: Case) -> list[str] | None:
    """Recount the reliability of each trial that a reason speaks of.

    `mismatch` tries all candidates together, else one after another from leaf to root; `faithful` from root to leaf,
    and what stayed again when everything else was gone.
    """
    kinds, rule, deleted = case.record["kinds"].astype(str), case.paths.rule, case.deleted
    said = case.record["after"]
    judged = np.isin(kinds, ("no-foreign-leaf", "reliability-joint", "reliability-step", "reliability-moves"))
    entries = np.flatnonzero(judged & ~np.isnan(said))
    if not len(entries):
        return None
    if len(entries) > MOST_TRIALS:
        case.skip(f"reliabilities behind {len(entries):,} reasons were not recounted: they are too many")
        return None
    # One rule for each trial, with the edges of its leaf's path, side by side.
    first, last = case.paths.offsets[rule[entries]], case.paths.offsets[rule[entries] + 1]
    sizes = last - first
    trial = np.repeat(np.arange(len(entries)), sizes)
    edge = np.arange(len(trial)) - np.repeat(np.cumsum(sizes) - sizes - first, sizes)
    own = entries[trial]
    by_leaf = kinds[own] == "reliability-joint"
    if case.method == "faithful":
        gone = deleted[edge] & ((edge < own) | (kinds[own] == "reliability-moves"))
    else:
        gone = deleted[edge] & ((edge > own) | by_leaf)
    gone |= edge == own
    paths = case.paths._replace(
        leaves=case.leaves[rule[entries]],
        offsets=np.append(0, np.cumsum(sizes)),
        links=case.paths.links[edge],
        rule=trial.astype(np.int32),
    )
    counts = np.zeros((len(entries), case.tree.n_classes))
    assert case.read_rows is not None
    every = np.arange(len(entries))
    for matrix, class_ids, weights, _ in case.read_rows():
        placed = PlacedRows(case.tree, matrix)
        heavy = np.ones(len(matrix)) if weights is None else weights
        for boxes in case.make_boxes(~gone, every, paths):
            for place, inside in placed.satisfying(boxes, np.zeros(len(boxes.rules), dtype=np.int64)):
                rows = np.sort(inside)
                counts[boxes.rules[place]] += np.bincount(class_ids[rows], heavy[rows], case.tree.n_classes)
    again = np.full(len(rule), np.nan)
    again[entries] = find_shares(counts, case.classes[rule[entries]])
    judged = np.isin(np.arange(len(rule)), entries)
    if case.method == "faithful":  # a deletion of a later sweep was tried when others further down were gone, too
        fits = np.isclose(again, said, rtol=0, atol=COUNT_TOLERANCE)
        late = judged & deleted & ~fits
        if late.any():
            case.skip(f"reliabilities behind {late.sum()} deletions of later sweeps are taken as stated")
        judged &= ~late
    return _compare(case, judged, said, again)


def _compare(
    case: Case, judged: NDArray[np.bool_], said: NDArray[np.float64], again: NDArray[np.float64]
) -> list[str] | None:
    """List the reliabilities that are wrong; None if there was none to judge."""
    if not judged.any():
        return None
    wrong = judged & ~np.isclose(said, again, rtol=0, atol=COUNT_TOLERANCE)
    return [
        f"A reason of the rule of leaf {case.leaves[case.paths.rule[entry]]} says a reliability of {said[entry]:.6g}, "
        f"but on these rows it is {again[entry]:.6g} (link {case.paths.links[entry]})."
        for entry in np.flatnonzero(wrong).tolist()
    ]
