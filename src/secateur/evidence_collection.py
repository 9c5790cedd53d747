"""Collect evidence from chunks of rows, to make rules from all chunks together later."""

from collections.abc import Sequence
from typing import Any

from secateur.counting.counted_evidence import Evidence
from secateur.errors import InputError
from secateur.methods import find_method
from secateur.methods.contract import MethodName, check_amount
from secateur.problem import Knowledge, ModelReader, open_rows_of


def collect_evidence(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    method: MethodName | None = None,
    rf_tol: float = 1e-12,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    groups: Any = None,
    integers: Any = None,
    facts: Any = None,
) -> Evidence:
    """Count what rule methods need of some training rows.

    Evidence of chunks adds up: ``one.merge(other)`` is that of all their rows.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
        The same for every chunk. A :class:`Tree` from :func:`from_model` is read once rather than with every chunk.
    X : array-like or data frame of shape (n_rows, n_features), or a table
        A chunk of rows; a table as in :func:`simplify` is counted whole, a batch at a time.
    y : array-like of shape (n_rows,), or str
        Their labels; of a table the column that holds them.
    sample_weight : array-like of shape (n_rows,), or str, default=None
    method : str, default=None
        By default the evidence serves every method that counts can serve, which may be too large for trees with
        long rules; the evidence for one method is smaller.
    rf_tol : float, default=1e-12
        As in :func:`simplify`; read where a method is named.
    feature_names, class_names, accepts_missing, groups, integers, facts : default=None
        As in :func:`simplify`, and the same for every chunk.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> chunks = [collect_evidence(model, X[part], y[part]) for part in (slice(0, 70), slice(70, 150))]
    >>> evidence = chunks[0].merge(chunks[1])
    >>> evidence
    <Evidence: 150 rows for 5 rules, for every method that counts can serve>
    >>> secateur.simplify(model, evidence=evidence, each_leaf=True) == secateur.simplify(model, X, y, each_leaf=True)
    True
    """
    if X is None or y is None:
        raise InputError("Expected X and y: the rows to count and their labels.")
    known = Knowledge(feature_names, class_names, accepts_missing, groups, integers, facts)
    chosen = None if method is None else find_method(method)
    reader = ModelReader(model, known, check_amount("rf_tol", rf_tol))
    with open_rows_of(model, X, y, sample_weight) as rows:
        return reader.count(rows, chosen)
