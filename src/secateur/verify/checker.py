"""Check rules against their tree: what their method promised of each leaf's rule, then the lines of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur.verify.case import Case
from secateur.verify.lists import check_list
from secateur.verify.promises import EACH_LEAF, check_promises, check_structure
from secateur.verify.verification import Verification

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secateur.tree.tree import Tree
    from secateur.verify.case import Domain, RowReader

__all__ = ["verify_rules"]


def verify_rules(
    tree: Tree, record: Mapping[str, Any], read_rows: RowReader | None = None, *, domain: Domain | None = None
) -> Verification:
    """Check the record of rules against their tree, and against rows if there are any.

    Parameters
    ----------
    tree : Tree
    record : mapping
        The rules without their words: ``method``, ``parameters``, ``digest_ok`` and, of a file by another version,
        ``worded_by``; for each leaf, in arrays, ``leaf_ids``, ``predictions``, ``class_counts`` and ``leaf_counts``
        (NaN where not known); for each edge of each leaf's path, leaf after leaf and root to leaf, ``links``,
        ``deleted``, ``kinds`` and ``numbers``, where ``links[offsets[i]:offsets[i + 1]]`` are those of leaf ``i``. All
        this before lines were chosen. ``list`` is None, or of a list ``leaves`` (places of the written rules),
        ``default`` (class of "otherwise"), ``budget``, ``tolerance``, ``deleted`` and ``kinds`` after the budget was
        spent, ``class_counts`` and ``decided_counts`` of the written rules (the latter ends with "otherwise"),
        ``stands_for`` (places of leaves, for each written rule), ``drop_costs`` (what dropping each leaf's rule cost:
        two shares of mixed rows and one of training rows) and ``approximates`` (the model that the tree stands in for).
    read_rows : callable, default=None
        Gives the training rows in parts, each a matrix in the tree's dtype and codes, class indices, and weights or
        None; called once, or twice for a list.
    domain : tuple of (matrix, class_ids), default=None
        The listed cases of ``mismatch-certified``.

    Returns
    -------
    Verification
    """
    case = Case(tree, record, read_rows, domain)
    if check_structure(case):
        version = record.get("worded_by")
        if version is not None:
            case.unchecked.append(f"the sentences of the file were written by secateur {version}: not compared")
        check_promises(case)
        if record["list"] is not None:
            case.checks[:] = [f"chosen from {check}" if check == EACH_LEAF else check for check in case.checks]
            check_list(case)
    return Verification(not case.failures, tuple(case.failures), tuple(case.checks), tuple(case.unchecked))
