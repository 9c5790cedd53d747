"""Check what each method promised of the rules of all leaves, one promise after another."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import shorten
from secateur.verify.boxes import Possible, find_foreign_leaves
from secateur.verify.case import (
    COUNT_TOLERANCE,
    NOT_RECHECKED,
    NOT_RECOUNTED,
    SHOWN_FAILURES,
    Case,
    Counted,
    agree,
    compare_totals,
    describe_difference,
    find_beyond,
    find_shares,
)
from secateur.verify.masked_rows import list_rows
from secateur.verify.monotone import Monotone, check_signs

EXACT = ("none", "sibling", "redundancy", "exact", "faithful")
WITHIN_TOLERANCE = ("faithful", "mismatch")
PROTECTING = ("faithful",)
CERTIFIED = ("mismatch-certified",)
BUDGETED = ("budgeted",)
UNPROMISED = ("quinlan",)
EXACT_KIND = "no-foreign-leaf"
EACH_LEAF = "one rule for each leaf, made of its path's conditions, with its class"


def check_structure(case: Case) -> bool:
    """Check that there is a rule for each leaf, made of its path, with its class, and that no file was changed."""
    broken = []
    leaves = case.leaves.tolist()
    if case.record["leaf_ids"].tolist() != leaves:
        broken.append("The rules are not one for each leaf in source order.")
    else:
        listed: list[Any] = leaves
        walked = listed  # where all are equal, they need not be listed
        if not all(np.array_equal(case.record[name], getattr(case.paths, name)) for name in ("links", "offsets")):
            walked, listed = (
                _cut(case.paths.links, case.paths.offsets),
                _cut(case.record["links"], case.record["offsets"]),
            )
        labels = case.tree.answers[case.leaves].tolist()
        parts = leaves, walked, listed, labels, case.record["predictions"]
        for leaf, path, links, label, said in zip(*parts, strict=True):
            if links != path:
                broken.append(f"Kept and deleted links of the rule of leaf {leaf} are not the links of its path.")
            elif said != label:
                broken.append(f"The rule of leaf {leaf} predicts {said!r}, but the leaf does not.")
    if not case.record.get("digest_ok", True):
        broken.append("The file was changed after it was written: its digest does not fit its content.")
    case.report(EACH_LEAF, broken)
    return not broken


def check_promises(case: Case) -> None:
    """Check everything that the method promises of the rules of all leaves."""
    method = case.method
    if method not in (*EXACT, *WITHIN_TOLERANCE, *CERTIFIED, *BUDGETED, *UNPROMISED):
        case.failures.append(f"There is no check for the method {method!r}, so nothing of it is proved.")
    if method == "none":
        lost = case.leaves[case.rules_with(case.deleted)].tolist()
        case.report(
            "nothing was deleted",
            [f"The rule of leaf {leaf} lost a condition, although nothing was to be deleted." for leaf in lost],
        )
    if case.tree.values is not None:
        _check_values(case)
    elif method in EXACT or method in BUDGETED:
        _check_boxes(case)
    if method in PROTECTING and case.parameters.get("protect", True):
        _check_protection(case)
    if method in CERTIFIED:
        _check_certificate(case)
    counted = case.counted = _count_rows(case)
    _check_counts(case, counted)
    if method in BUDGETED:
        _check_conflict(case, counted)


def _check_values(case: Case) -> None:
    """Check that every leaf that a rule of a regression tree meets has a value within the tolerance of its own."""
    values, tolerance = case.tree.values, Fraction(repr(float(case.record["tolerance"])))
    assert values is not None
    own = np.full(case.tree.n_nodes, -1)
    own[case.leaves] = case.all_rules  # each leaf is a class of its own, so that every pair is listed
    apart, broken = replace(case.tree, leaf_class=own), []
    for boxes in case.make_boxes(~case.deleted, case.all_rules):
        for leaf, rules in find_foreign_leaves(apart, case.paths, boxes, boxes.rules, case.possible):
            distance = np.abs(values[case.leaves[rules]] - values[leaf])
            for rule in rules[distance > float(tolerance) * (1 - COUNT_TOLERANCE)].tolist():
                if abs(Fraction(float(values[case.leaves[rule]])) - Fraction(float(values[leaf]))) > tolerance:
                    broken.append(
                        f"The rule of leaf {case.leaves[rule]} also covers rows of leaf {leaf}, whose value is more "
                        f"than {float(tolerance):g} away."
                    )
    far = f"whose value is more than {float(tolerance):g} away (all pairs of boxes compared)"
    case.report(f"no deletion lets a rule meet a leaf {far}{case.among}", broken)


def _check_boxes(case: Case) -> None:
    """Check that no rule's box meets the box of a leaf of another class; every pair is decided."""
    # `budgeted` promises exactness of its first deletions only: what the others deleted counts as kept here.
    gone = case.deleted if case.method in EXACT else case.deleted & _find_exact(case)
    n_leaves = len(case.leaves)
    met = np.full(n_leaves, n_leaves)  # the leftmost leaf of another class that a rule meets
    place_of = dict(zip(case.leaves.tolist(), range(n_leaves), strict=True))
    for boxes in case.make_boxes(~gone, case.all_rules):
        found = find_foreign_leaves(case.tree, case.paths, boxes, case.classes[boxes.rules], case.possible)
        for leaf, rules in found:
            met[rules] = np.minimum(met[rules], place_of[leaf])
    case.report(
        f"no exact deletion lets a rule meet a leaf of another class (all pairs of boxes compared){case.among}",
        [
            f"The rule of leaf {case.leaves[rule]} also covers rows of leaf {case.leaves[met[rule]]}, which "
            "predicts another class: its exact deletions do not preserve the tree's predictions."
            for rule in np.flatnonzero(met < n_leaves)
        ],
    )


def _count_rows(case: Case) -> Counted | None:
    """Count what every promise about the rows needs."""
    if case.read_rows is None:
        return None
    counted = Counted(*np.zeros((2, len(case.leaves), case.tree.n_classes)))
    classes = case.classes.tolist()
    for rows in case.read_masked():
        by_class: dict[int, Any] = {own: np.zeros_like(rows.links[0]) for own in set(classes)}
        for rule, inside in rows.satisfying(~case.deleted, case.all_rules):
            by_class[classes[rule]] |= inside
            counted.rules[rule] += rows.count(inside)
        unanswered, once, twice = rows.links[0].copy(), *np.zeros((2, len(rows.links[0])), dtype=np.uint64)
        for place, leaf in enumerate(case.leaves.tolist()):
            counted.leaves[place] += rows.count(rows.passing[leaf])
            unanswered &= ~(rows.passing[leaf] & by_class[classes[place]])
        for covered in by_class.values():
            twice |= once & covered
            once |= covered
        if counted.unanswered is None and unanswered.any():
            counted.unanswered = counted.n_rows + int(list_rows(unanswered)[0])
        counted.in_conflict += float(rows.count(twice).sum())
        counted.total += float(rows.count(rows.links[0]).sum())
        counted.is_weighed |= rows.weights is not None
        counted.has_weights |= rows.weights is not None and bool((rows.weights != 1).any())
        counted.n_rows += rows.n_rows
    return counted


def _check_counts(case: Case, counted: Counted | None) -> None:
    """Check that stored counts are the rows' counts, and that reliabilities lie within the promised tolerance."""
    if counted is None:
        if case.method in WITHIN_TOLERANCE:
            case.failures.append(f"The reliabilities were {NOT_RECOUNTED}")
        return
    if case.possible.words:
        case.report("the rows satisfy the stated facts", case.against_facts)
    if counted.has_weights and not case.record.get("is_weighted", True):
        case.failures.append("The counts are said to be numbers of rows, but these rows have weights.")
    elif case.record.get("is_weighted", False) and not counted.is_weighed and case.counts_rows:
        case.failures.append("The counts are said to be sums of weights, but these rows have none.")
    now, source = counted.rules, counted.leaves
    recounted = {"class_counts": now, "leaf_counts": source}
    differs = {
        name: ~np.isnan(case.record[name]).any(axis=1) & ~agree(case.record[name], again).all(axis=1)
        for name, again in recounted.items()
    }
    case.report(
        "supports and class counts recounted from the rows",
        compare_totals(source, case.record["leaf_counts"])
        + [
            describe_difference(
                f"The rule of leaf {case.leaves[rule]}",
                name,
                case.tree.class_names,
                again[rule],
                case.record[name][rule],
            )
            for rule in np.flatnonzero(differs["class_counts"] | differs["leaf_counts"])
            for name, again in recounted.items()
            if differs[name][rule]
        ],
    )
    if case.method in WITHIN_TOLERANCE:
        tolerance = case.parameters.get("tolerance", 0.0)
        judged = case.rules_with(case.deleted)
        moved = find_shares(now, case.classes) - find_shares(source, case.classes)
        fell, rose = find_beyond(now, source, case.classes, tolerance)
        kept = f"and {'each' if judged.sum() > 1 else 'it'} is as reliable as its leaf within {tolerance:g}"
        lost = f"{judged.sum()} of {len(judged)} rule{'s' * (len(judged) != 1)} lost a condition, {kept}"
        case.report(
            f"{lost} (recounted)" if judged.any() else "no rule lost a condition",
            [
                f"The rule of leaf {case.leaves[rule]} lost a condition, but no row reaches its leaf, so nothing "
                "tells what its reliability was."
                if np.isnan(moved[rule])
                else f"The rule of leaf {case.leaves[rule]} moved its reliability by {moved[rule]:+.4g}, beyond "
                f"{tolerance:g}."
                for rule in np.flatnonzero(judged & (fell | rose))
            ],
        )


def _check_protection(case: Case) -> None:
    """Check that no condition is gone that points away from its class where all leaves have the class."""
    tree, paths, counts = case.tree, case.paths, case.tree.counts
    if counts is None or not case.deleted.any():
        return  # nothing points anywhere, or nothing is gone
    own = case.classes[paths.rule]
    lowest, highest = np.full((2, tree.n_nodes), case.classes[0])  # class of the leaves below each node
    lowest[0], highest[0] = case.classes.min(), case.classes.max()
    lowest[paths.links] = highest[paths.links] = own
    np.minimum.at(lowest, paths.links, own)
    np.maximum.at(highest, paths.links, own)
    above = paths.parent[paths.links]
    with np.errstate(invalid="ignore"):  # a node without rows has no share, and points nowhere
        share = counts / counts.sum(axis=1, keepdims=True)
    falls = share[paths.links, own] - share[above, own] < -case.parameters.get("rf_tol", 0.0)
    broken = np.flatnonzero(case.deleted & falls & (lowest == highest)[above])
    case.report(
        "no condition is gone that points away from the class where all leaves have the class",
        [
            f"The rule of leaf {case.leaves[paths.rule[entry]]} lost the condition of link {paths.links[entry]}, "
            "which is protected: it points away from the class where all leaves have the class."
            for entry in broken.tolist()
        ],
    )


def _check_conflict(case: Case, counted: Counted | None) -> None:
    """Check that every row is covered by a rule of the tree's class and that conflicts are within their limit."""
    if counted is None:
        case.failures.append(f"The conflicts were {NOT_RECOUNTED}")
        return
    spent = case.record["numbers"][case.record["kinds"] == "within-budget"]
    stated, most = float(sum(spent.tolist())), case.parameters["max_conflict"]
    share = counted.in_conflict / counted.total
    case.expect(
        counted.unanswered is None,
        "every row is covered by a rule of the tree's class",
        f"No rule of the tree's class covers row {counted.unanswered}.",
    )
    found = f"rules of different classes cover {share:.4g} of the rows" if share else "no row is in conflict"
    case.expect(
        share <= most + COUNT_TOLERANCE,
        f"{found} (recounted), within the limit of {most:g}",
        f"Rules of different classes cover {share:.4g} of the rows, beyond the limit of {most:g}.",
    )
    if len(spent) or share:
        case.expect(
            abs(share - stated) <= COUNT_TOLERANCE,
            "what the deletions are said to have cost adds up to that",
            f"The deletions are said to have cost {stated:.4g} of the rows, but {share:.4g} are in conflict.",
        )
    _check_guard(case, counted, case.parameters["tolerance"])


def _check_guard(case: Case, counted: Counted, tolerance: float) -> None:
    """Check that rules shortened at the price of conflict are reliable, and say what most of their rows say."""
    judged = case.rules_with(case.deleted & ~_find_exact(case))
    if not judged.any():
        return
    fallen = find_shares(counted.leaves, case.classes) - find_shares(counted.rules, case.classes)
    fell, _ = find_beyond(counted.rules, counted.leaves, case.classes, tolerance)
    hits = counted.rules[case.all_rules, case.classes]
    most = counted.rules.max(axis=1)
    broken = []
    for rule in np.flatnonzero(judged).tolist():
        name = f"The rule of leaf {case.leaves[rule]} lost a condition at the price of conflict, but"
        if np.isnan(fallen[rule]):
            broken.append(f"{name} no row reaches its leaf, so nothing tells what its reliability was.")
        elif fell[rule]:
            broken.append(f"{name} is {fallen[rule]:.4g} less reliable than its leaf, beyond {tolerance:g}.")
        elif hits[rule] < most[rule] * (1 - COUNT_TOLERANCE):
            broken.append(f"{name} its class is not the most common of its rows.")
    case.report(
        f"{judged.sum()} of {len(judged)} rules lost a condition at the price of conflict; none is more than "
        f"{tolerance:g} less reliable than its leaf, and all state the most common class of their rows (recounted)",
        broken,
    )
    case.report(
        "no two of them have the same conditions and different classes",
        [
            f"The rules of leaves {case.leaves[one]} and {case.leaves[other]} have the same conditions, but "
            "predict different classes."
            for one, other in _find_twins(case, np.flatnonzero(judged))
        ],
    )


def _find_twins(case: Case, rules: NDArray[np.int64]) -> list[tuple[int, int]]:
    """List pairs of rules of different classes that allow the same values of every feature."""
    first_of: dict[bytes, int] = {}
    pairs = []
    for boxes in case.make_boxes(~case.deleted, rules):
        # Of a feature that has no number left only NaN counts; and -0.0 becomes 0.0.
        is_empty = boxes.low >= boxes.high
        low = np.where(is_empty, np.inf, boxes.low + 0.0)
        high = np.where(is_empty, -np.inf, boxes.high + 0.0)
        for place, rule in enumerate(boxes.rules.tolist()):
            codes = [codes[place].tobytes() for codes in boxes.codes.values()]
            sides = low[:, place].tobytes(), high[:, place].tobytes(), boxes.missing[:, place].tobytes()
            one = first_of.setdefault(b"".join([*sides, *codes]), rule)
            if case.classes[one] != case.classes[rule]:
                pairs.append((one, rule))
    return pairs


def _check_certificate(case: Case) -> None:
    """M1-D: check that the listed domain, or the tree's monotonicity, certifies each shortened rule."""
    signs = case.parameters.get("monotone")
    if signs is not None:
        _check_monotone(case, signs)
        return
    unsigned = case.rules_with(case.deleted & (case.record["kinds"] == "monotone"))
    case.failures += [
        f"The rule of leaf {case.leaves[rule]} is said to depend on monotonicity, but no signs are stated."
        for rule in np.flatnonzero(unsigned)[:SHOWN_FAILURES]
    ]
    if case.domain is None:
        case.failures.append(f"The domain was {NOT_RECHECKED}")
        return
    labels = case.domain[1]
    refuting = np.full(len(case.leaves), len(labels))  # the first listed row of another class that a rule covers
    widened = np.flatnonzero(case.rules_with(case.deleted))
    for rule, rows in case.list_cases(~case.deleted, widened).items():
        foreign = rows[labels[rows] != case.classes[rule]]
        refuting[rule] = foreign.min(initial=len(labels))
    case.report(
        "every shortened rule implies its class on the listed domain" if len(widened) else "no rule was shortened",
        [
            f"The rule of leaf {case.leaves[rule]} covers listed row {refuting[rule]}, which has another class."
            for rule in np.flatnonzero(refuting < len(labels))
        ],
    )
    _check_sentence(case, f"the {len(labels)} listed rows")


def _check_monotone(case: Case, signs: Any) -> None:
    """Check that the tree is monotone in the signs, for all rows or for those that the facts allow."""
    useless = check_signs(case.tree, signs)
    if useless is not None:
        case.failures.append(useless)
        return
    # An order of categories rules out no row: it is part of what the signs say.
    known, among = Possible(case.tree, replace(type(case.facts)(), orders=case.facts.orders)), ""
    monotone = Monotone(case.tree, case.paths, signs, known, case.make_boxes)
    case.failures += [
        f"A sign is stated for {case.tree.feature_name(feature)!r}, but its categories have no order."
        for feature in monotone.unordered
    ]
    wrong = monotone.find_wrong_order()
    if wrong is not None and case.possible.words:
        among = case.among
        monotone = Monotone(case.tree, case.paths, signs, case.possible, case.make_boxes)
        if monotone.too_many is not None:
            case.failures.append(monotone.too_many)
            return
        wrong = monotone.find_wrong_order()
    if wrong is not None:
        case.failures.append(
            f"The tree is not monotone in the stated signs: leaf {wrong[0]} predicts the second class, but a row "
            f"that favours it no less reaches leaf {wrong[1]}, which predicts the first."
        )
        return
    case.checks.append(f"the tree is monotone in the stated signs (all pairs of leaves compared){among}")
    unreached, uncovered = monotone.find_uncovered(case.deleted)
    refuted = {
        rule: f"No row reaches leaf {case.leaves[rule]}, so no direction certifies its rule." for rule in unreached
    }
    for rule in uncovered:
        refuted[rule] = (
            f"The rule of leaf {case.leaves[rule]} lost a condition that the stated directions do not cover."
        )
    shortened = "for every row of a shortened rule there is one of its leaf that favours its class no more"
    case.report(
        shortened if case.deleted.any() else "no rule was shortened", [refuted[rule] for rule in sorted(refuted)]
    )
    about = f" that satisfy the facts {shorten(case.possible.words)}" if among else ""
    _check_sentence(case, f"all rows{about}, for which the tree was proved to be monotone in the stated signs")


def _check_sentence(case: Case, proved: str) -> None:
    """Check that the guarantee speaks of the domain that was proved, and of no other."""
    said = case.parameters.get("certificate")
    case.expect(
        said == proved,
        "the guarantee names the certified domain as it was found here",
        f"The guarantee is said to hold on another domain than the one found here ({proved}).",
    )


def _find_exact(case: Case) -> NDArray[np.bool_]:
    """Mark the edges that were deleted because no leaf of another class is met without them."""
    return np.asarray(case.record["kinds"] == EXACT_KIND, dtype=bool)


def _cut(links: NDArray[np.int32], offsets: NDArray[np.int64]) -> list[list[int]]:
    """Cut the links into those of each rule."""
    flat = links.tolist()
    return [flat[first:last] for first, last in pairwise(offsets.tolist())]
