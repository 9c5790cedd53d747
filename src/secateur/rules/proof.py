"""What the independent checker is given to prove a guarantee again: the record of rules, their rows, their model."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters import from_model
from secateur.errors import ParameterError
from secateur.frames import frame_columns
from secateur.methods import METHODS
from secateur.rows.opening import check_pair
from secateur.rows.row_source import GivenRows, ModelTerms
from secateur.rows.rows import LabelledRows
from secateur.rules.lines import without_facts
from secateur.rules.rules import Rules
from secateur.tree.difference import Comparison, compare_trees
from secateur.verify import Verification, verify_rules


def prove(rules: Rules, passed: GivenRows | None, model: Any, unseen: Any) -> Verification:
    """Prove the guarantee of rules again, with the rows passed, else with those that they were made from."""
    from secateur.export.json import rules_to_record

    comparison = None
    if model is not None:
        comparison, passed = _compare_model(rules, model, passed)
    if passed is not None:
        check_pair(*passed)
    counted, domain = _find_proof_rows(rules, passed)
    record = rules_to_record(rules)
    more: dict[str, Any] = {"domain": domain, "comparison": comparison, "read_unseen": _read_unseen(rules, unseen)}
    if counted is None:
        return verify_rules(rules.tree, record, **more)
    with rules._open(*counted) as rows:
        record["named_rows"] = not rows.in_memory or frame_columns(counted.X) is not None

        def read_rows() -> Iterable[Any]:
            return rows.map(rules.tree, as_matrix)

        if rows.is_once and (rules.is_list or METHODS[rules.method].needs_rows):  # they are read twice
            parts = list(read_rows())
            return verify_rules(rules.tree, record, lambda: parts, **more)
        return verify_rules(rules.tree, record, read_rows, **more)


def _read_unseen(rules: Rules, passed: Any) -> Callable[[], Iterator[Any]] | None:
    """Find how the unseen rows are read again, in parts as the independent checker takes them."""
    if passed is not None and rules.unseen is None:
        raise ParameterError("These rules have no unseen numbers to recount: leave unseen out, or call measure first.")
    if passed is not None and not (isinstance(passed, tuple) and len(passed) in (2, 3)):
        raise ParameterError("Expected unseen as a pair of rows and labels, such as unseen=(X_new, y_new).")
    given = passed or (None if rules.unseen is None else rules.unseen.rows)
    if given is None:
        return None

    def read() -> Iterator[Any]:
        with rules._open(*given) as rows:
            yield from rows.map(without_facts(rules.tree), as_matrix)

    return read


def _compare_model(rules: Rules, model: Any, passed: GivenRows | None) -> tuple[Comparison, GivenRows | None]:
    """Compare the tree with a model's, or ask a model that the rules approximate; also give the rows to recount."""
    if rules.fidelity is None:
        held = passed or rules.training
        shown = held.X if held is not None and hasattr(held.X, "__array__") else None  # a table stays where it is
        return compare_trees(rules.source_tree, from_model(model, shown)), passed
    from secateur.approximation import recount_fidelity

    if passed is None:
        raise ParameterError(
            "The model is asked again about the rows that the rules were made from: pass them, too, "
            "verify(X, model=model)."
        )
    return recount_fidelity(rules, model, passed.X, passed.y)


def _find_proof_rows(rules: Rules, passed: GivenRows | None) -> tuple[GivenRows | None, Any]:
    """Find the rows to recount, and the listed cases, if the method has some, in the tree's terms."""
    counted, listed = passed or rules.training, rules.domain
    if "domain" in rules.parameters:
        if passed is not None and rules.parameters["domain"] != "training rows":
            counted, listed = None, passed  # these are the listed cases, not the rows that were counted
        elif listed is None:
            listed = counted
    if listed is None:
        return counted, None
    with rules._open(listed.X, listed.y) as rows:
        cases = rows.hold(lambda: ModelTerms.of(rules.tree), "Listed cases are checked one by one")
    return counted, as_matrix(cases.read_labelled(rules.tree))[:2]


def as_matrix(listed: LabelledRows) -> tuple[NDArray[Any], NDArray[np.int64], Any, Any]:
    """Give rows, classes, weights and targets as the independent checker takes them."""
    return listed.rows.matrix, *listed[1:]
