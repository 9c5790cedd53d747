"""Check what is stated beside rules: the numbers behind reasons, unseen rows, and what the edits of a list cost.

Which number has which check is declared in :mod:`secateur.verify.fields`; the others are named as taken as stated.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.tree.tree import Tree
from secateur.verify.boxes import walk_paths
from secateur.verify.case import COUNT_TOLERANCE, Case, RowReader, agree, describe_difference, find_shares
from secateur.verify.fields import REASONS, Check
from secateur.verify.lists import Lines, compare_targets, decide_rows
from secateur.verify.masked_rows import split_rows

# Each reason of a trial takes a box of its own; files with more conditions hold no reasons in words.
MOST_TRIALS = 20_000
NAMED = ("line_counts", "leaf_counts", "squares")  # of unseen rows
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
    labels, broken = case.domain[1], []
    inside = case.list_cases(~tried, np.unique(rule[tried]))  # a rule tries all of them together, or none
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
    for rows in case.read_masked():
        for place, inside in rows.satisfying(~gone, np.arange(len(entries)), paths):
            counts[place] += rows.count(inside)
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


def check_unseen(case: Case, read_unseen: RowReader | None) -> None:
    """Check that lines of a list and leaves have the same unseen rows, and with the rows that they have these."""
    unseen = case.record.get("unseen")
    if unseen is None:
        return
    stated = {name: np.asarray(unseen[name], dtype=np.float64) for name in NAMED if unseen[name] is not None}
    if case.record["list"] is not None:
        sums = [stated[name].sum(axis=0) for name in NAMED[:2]]
        case.expect(
            bool(agree(*sums).all()),
            "the unseen rows of the lines add up to those of the leaves",
            "The unseen rows of the lines do not add up to those of the leaves.",
        )
    if read_unseen is None:
        return
    again = {name: np.zeros(values.shape) for name, values in stated.items()}
    has_weights, source = False, _find_source(case)
    powers = np.zeros((len(stated["line_counts"]), 3))
    lines = None if case.record["list"] is None else Lines(case, case.record["list"])
    for part in read_unseen():
        for rows in split_rows(source, walk_paths(source), part):
            for place, leaf in enumerate(case.leaves.tolist()):
                again["leaf_counts"][place] += rows.count(rows.passing[leaf])
        for rows in case.mask(part):
            has_weights |= rows.weights is not None
            ruled = rows.satisfying(~case.deleted, case.all_rules)
            for line, mask in ruled if lines is None else ((line, won) for line, _, won in lines.decide(rows)):
                again["line_counts"][line] += rows.count(mask)
                if rows.targets is not None and unseen.get("targets") is not None:
                    powers[line] += rows.add_powers(mask, float(case.record["list"]["shares"][line]))
                if "squares" in again:
                    again["squares"][line] += rows.add_squares(mask)
    differs = {name: ~agree(values, stated[name]) for name, values in again.items()}
    broken = []
    if has_weights != ("squares" in stated):
        said, seen = ("no weights", "some") if has_weights else ("weights", "none")
        broken.append(f"The unseen rows are said to have {said}, but these have {seen}.")
    total, told = (float(counts["leaf_counts"].sum()) for counts in (again, stated))
    if not agree(total, told):
        broken.append(f"These {total:,.10g} rows are not the {told:,.10g} that are stated as unseen.")
    names = case.tree.class_names
    for name, title in (("line_counts", "Line {}"), ("leaf_counts", "Leaf {}")):
        for place in np.flatnonzero(differs[name].any(axis=1)).tolist():
            number = place + 1 if name == "line_counts" else case.leaves[place]
            broken.append(
                describe_difference(title.format(number), "unseen", names, again[name][place], stated[name][place])
            )
    if "squares" in differs and differs["squares"].any():
        broken.append("The sums of squared weights of unseen rows are not those of these rows.")
    case.report("the unseen rows of lines and leaves recounted", broken)
    if unseen.get("targets") is not None:
        moments = np.array([[np.nan if one is None else one for one in line] for line in unseen["targets"]])
        compare_targets(case, np.asarray(case.record["list"]["shares"]), moments, powers, "unseen targets")


def check_edits(case: Case, read_unseen: RowReader | None) -> None:
    """Check the stated price on the rows that are at hand; one that was not counted is counted here."""
    stated = None if case.record["list"] is None else case.record["list"].get("edits")
    if stated is None:
        return
    for kind, read_rows in (("training", case.read_rows), ("unseen", read_unseen)):
        if read_rows is not None and (kind == "training" or stated[kind] is not None):
            _check_price(case, kind, stated, read_rows)
        elif stated[kind] is None and kind == "training":
            case.skip("on how many rows the edited list differs from the tree was not counted")


def _find_source(case: Case) -> Tree:
    """Find the tree before limits were rounded."""
    stated = None if case.record["list"] is None else case.record["list"].get("edits")
    threshold = np.array(case.tree.threshold)
    for edit in reversed([] if stated is None else stated["journal"]):
        for node, limit in edit.get("limits", ()):
            threshold[node] = limit
    return replace(case.tree, threshold=threshold)


class _Moves:
    """Rows that are off: another class, or the tree's with a share beyond the tolerance of their leaf's."""

    def __init__(self, lines: Lines) -> None:
        self.lines, self.counts = lines, lines.stated["decided_counts"]
        self.tolerance = Fraction(repr(float(lines.stated["edits"].get("tolerance", 1))))
        self.is_known = self.tolerance < 1 and not np.isnan(self.counts).any()
        self.off = self.largest = 0.0

    def add(self, line: NDArray[np.int64], leaf: NDArray[np.int64], heavy: NDArray[np.float64]) -> None:
        """Add rows by their lines and leaves."""
        pairs, place = np.unique(np.stack([line, leaf]), axis=1, return_inverse=True)
        weights = np.bincount(place.ravel(), heavy, pairs.shape[1])
        for (own, met), weight in zip(pairs.T.tolist() if self.is_known else (), weights.tolist(), strict=False):
            said, counts = int(self.lines.case.classes[met]), list(map(Fraction, self.counts[own].tolist()))
            total = sum(counts, Fraction(0))
            share = counts[said] / total if total else Fraction(int(self.lines.classes[own]) == said)
            moved = abs(share - self.lines.values[met])
            self.largest = max(self.largest, float(moved))
            is_off = int(self.lines.classes[own]) != said or moved > self.tolerance + self.lines.slack
            self.off += weight * is_off


def _check_price(case: Case, kind: str, stated: Mapping[str, Any], read_rows: RowReader) -> None:
    lines, tree, n_classes = Lines(case, case.record["list"]), _find_source(case), case.tree.n_classes
    changed, rows, move = np.zeros((n_classes,) * 3), 0.0, _Moves(lines)
    for part in read_rows():
        class_ids, weights = part[1:3]
        heavy = np.ones(len(class_ids)) if weights is None else weights
        line = decide_rows(case, part)
        blocks = [block.leaf_places for block in split_rows(tree, walk_paths(tree), part)]
        leaf = np.concatenate([np.zeros(0, dtype=np.int64), *blocks])
        said, given = case.classes[leaf], lines.classes[line]
        np.add.at(changed, (said, given, class_ids), heavy * (said != given))
        rows += float(heavy.sum())
        move.add(line, leaf, heavy)
    off = f" and is off on {move.off:.10g}" if move.is_known else ""
    found = f"the edited list differs from the tree on {changed.sum():.10g} of {rows:.10g} {kind} rows{off} (recounted)"
    price = stated[kind]
    if price is None:
        case.checks.append(found)
        return
    said_changed = np.zeros(changed.shape)
    for *place, number in price["changed"]:
        said_changed[tuple(place)] = number
    same = np.isclose(rows, price["rows"], rtol=COUNT_TOLERANCE)
    same &= agree(changed, said_changed).all()
    told = f"{said_changed.sum():.10g} of {price['rows']:.10g}"
    same &= move.is_known == ("off" in price)
    if move.is_known and "off" in price:
        same &= agree([price["off"], price["largest"]], [move.off, move.largest]).all()
        told += f" (off: {price['off']:.10g}, the largest move {price['largest']:.6g})"
    case.expect(bool(same), found, f"The edits are said to change {told} {kind} rows, but {found}.")
