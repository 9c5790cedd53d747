"""Check rules against their tree: what their method promised of each leaf's rule, then the lines of a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.tree.tree import Tree
from secateur.verify.case import Case, Domain, RowReader, Verification, agree
from secateur.verify.fields import FIELDS, Check
from secateur.verify.lists import check_list, check_values_kept_out
from secateur.verify.promises import EACH_LEAF, check_promises, check_structure
from secateur.verify.recounts import check_edits, check_reasons, check_unseen

if TYPE_CHECKING:
    from secateur.tree.difference import Comparison

UNCHECKED = (
    "not recounted, because no training rows were passed",
    "not compared, because no model was passed",
    "taken as stated",
    "not recounted, because no unseen rows were passed",
)


def verify_rules(
    tree: Tree,
    record: Mapping[str, Any],
    read_rows: RowReader | None = None,
    *,
    domain: Domain | None = None,
    comparison: Comparison | None = None,
    read_unseen: RowReader | None = None,
) -> Verification:
    """Check the record of rules against their tree, and against rows if there are any.

    ``record`` has the rules without their words: ``method``, ``parameters``, ``tolerance``, ``is_ranked``,
    ``is_weighted``; of a file (``is_stored``) ``digest_ok``, ``words_ok`` and, if another version wrote it,
    ``worded_by``; ``named_rows``, whether the rows have names of columns; for each leaf, in arrays, ``leaf_ids``,
    ``predictions``, ``class_counts`` and ``leaf_counts`` (NaN where not known); for each edge of each leaf's path, leaf
    after leaf and root to leaf, ``links``, ``deleted``, ``kinds``, ``before``, ``after``, ``numbers`` and ``nodes``,
    where ``links[offsets[i]:offsets[i + 1]]`` are those of leaf ``i``. All this before lines were chosen.

    ``list`` is None, or of a list ``leaves`` (places of the written rules), ``nodes``, ``defaults`` and ``starts``
    (where each section begins, the class of its "otherwise", and its first rule), ``shares`` and ``windows`` (what each
    line states), ``budget``, ``tolerance``, the columns of edges as they are written (``nodes_of_edges`` instead of
    ``nodes``), ``class_counts`` of the rules, ``decided_counts`` and ``target_moments`` of the lines, ``stands_for``
    (places of leaves, for each line) and ``approximates`` (the model that the tree stands in for). ``unseen`` is None,
    or has ``line_counts``, ``leaf_counts`` and ``squares`` of rows that had no part in making the rules.

    ``read_rows`` gives the training rows in parts, each a matrix in the tree's dtype and codes, class indices, weights
    or None, and of a regression tree the targets, else None; it is called again where they are too many to keep.
    ``read_unseen`` does so for rows that had no part in making the rules. ``domain`` are the listed cases of
    ``mismatch-certified``; ``comparison`` is how the tree, or how often rules that approximate a model agree with it,
    compares with the model.
    """
    case = Case(tree, record, read_rows, domain)
    if check_structure(case):
        version = record.get("worded_by")
        if version is not None:
            case.skip(f"the sentences of the file were written by secateur {version}: not compared")
        if not record.get("words_ok", True):
            case.failures.append("The file was changed after it was written: its words are not what its numbers say.")
        if comparison is not None:
            case.report(comparison.title, list(comparison.differing))
        check_promises(case)
        check_values_kept_out(case)
        if record["list"] is not None:
            case.checks[:] = [f"chosen from {check}" if check == EACH_LEAF else check for check in case.checks]
            check_list(case, comparison)
        check_reasons(case)
        check_unseen(case, read_unseen)
        check_edits(case, read_unseen)
        _name_unchecked(case, comparison, has_unseen=read_unseen is not None)
    return Verification(not case.failures, tuple(case.failures), tuple(case.checks), tuple(case.unchecked))


def _name_unchecked(case: Case, comparison: Comparison | None, *, has_unseen: bool) -> None:
    """Name what people see of the fields that nobody checked, given what was passed."""
    is_stored = case.record.get("is_stored", False)
    settled = _find_settled(case)
    named: dict[str, dict[str, None]] = {words: {} for words in UNCHECKED}
    for path, field in FIELDS.items():
        if not field.seen or path in settled or not _is_there(case, path):
            continue
        is_unsaid = comparison is not None and path in comparison.unsaid
        is_unseen = path.startswith(("unseen.", "edits.unseen"))
        if field.check is Check.RECOUNTED and not (has_unseen if is_unseen else case.read_rows is not None):
            named[UNCHECKED[3 if is_unseen else 0]][field.seen] = None
        elif field.check is Check.COMPARED and comparison is None and is_stored:
            named[UNCHECKED[1]][field.seen] = None
        elif (field.check is Check.COMPARED and is_unsaid) or (field.check is Check.STATED and is_stored):
            named[UNCHECKED[2]][field.seen] = None
    for words, seen in named.items():
        if seen:
            case.skip(f"{words}: {', '.join(seen)}")


def _find_settled(case: Case) -> set[str]:
    """Find the fields of the tree that rows speak for, too."""
    settled: set[str] = set()
    tree, counted = case.tree, case.counted
    if counted is None:
        return settled
    if case.record.get("named_rows", False):  # by which the columns were found
        settled.add("tree.feature_names")
    if (counted.leaves.sum(axis=0) > 0).all():  # a label that no row has could be called anything
        settled.add("tree.classes")
    if tree.counts is not None:
        again = np.zeros((tree.n_nodes, tree.n_classes))
        np.add.at(again, case.paths.links, counted.leaves[case.paths.rule])
        again[0] = counted.leaves.sum(axis=0)
        if agree(again, tree.counts).all():
            settled.add("tree.counts")
    return settled


def _is_there(case: Case, path: str) -> bool:
    """Whether the rules say anything by a field."""
    tree, record = case.tree, case.record
    part, _, name = path.partition(".")
    if part == "parameters":
        return name in case.parameters
    if part == "approximation":
        return record["list"] is not None and record["list"]["approximates"] is not None
    if part == "edits":
        edits = None if record["list"] is None else record["list"].get("edits")
        if edits is None:
            return False
        return any(one.get("limits") for one in edits["journal"]) if name.endswith("limits") else bool(edits.get(name))
    if part == "unseen":
        return record.get("unseen") is not None and record["unseen"].get(name) is not None
    if part != "tree":
        return bool(record.get("is_ranked", True))  # else counts are those of the tree
    if name == "categories":
        return any(levels is not None for levels in tree.categories)
    if name == "class_names":
        return tree.class_names != tuple(map(str, tree.classes.tolist()))
    if name == "facts.groups[].name":
        members = (
            (tree.feature_name(feature), group.name) for group in case.facts.groups for feature in group.features
        )
        return not all(column.startswith(own) for column, own in members)
    value: Any = tree
    for step in name.split("."):
        value = getattr(value, step.removesuffix("[]"), None)
        if step.endswith("[]") or value is None:
            break
    return value is not None and (not hasattr(value, "__len__") or len(value) > 0)
