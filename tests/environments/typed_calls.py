"""Calls that a checker of types accepts, and some that it must reject, each marked with what it says.

``test_types.py`` runs mypy and pyright on this file; it is never run.
"""

from typing import Any, get_args

import secateur
from secateur.methods.contract import MethodName


def accept(model: Any, X: Any, y: Any) -> None:
    """Accept what the documents show."""
    secateur.simplify(model, X, y, method="mismatch", each_leaf=True, tolerance=0.05, rf_tol=1e-9)
    secateur.simplify(model, X, y, method="quinlan", each_leaf=True, alpha=0.05, ties="leaf")
    secateur.simplify(model, X, y, budget=0.01, sections=3, otherwise="repaid")
    secateur.select(model, X, y, over="budget", tolerance=0.1)
    secateur.collect_evidence(model, X, y, method="M1-P")
    secateur.RuleClassifier(method="exact", budget=0.02)
    names: tuple[MethodName, ...] = get_args(MethodName)
    print(secateur.simplify(model, X, y).audit(X, y), names)


def reject(model: Any, X: Any, y: Any) -> None:
    """Reject misspelt names, settings and types."""
    secateur.simplify(model, X, y, bugdet=0.01)  # call-arg
    secateur.simplify(model, X, y, method="exat")  # arg-type
    secateur.simplify(model, X, y, method="quinlan", alpha="small")  # arg-type
    secateur.simplify(model, X, y, method="quinlan", ties="top")  # arg-type
    secateur.select(model, X, y, over="bugdet")  # arg-type
    secateur.select(model, X, y, tolerence=0.1)  # call-arg
    secateur.collect_evidence(model, X, y, method="missmatch")  # arg-type
    secateur.RuleClassifier(method="exat")  # arg-type
    secateur.approximate(model, X, max_rule=5)  # call-arg
    secateur.simplify(model, X, y).to_sqll()  # attr-defined
