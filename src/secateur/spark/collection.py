"""Collect evidence on Spark."""

from collections.abc import Sequence
from typing import Any

from secateur import evidence_collection
from secateur.counting.counted_evidence import Evidence
from secateur.spark.session import check_frame


def collect_evidence(
    model: Any,
    df: Any,
    y: str,
    *,
    sample_weight: str | None = None,
    method: str | None = None,
    rf_tol: float = 1e-12,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    groups: Any = None,
    integers: Any = None,
    facts: Any = None,
) -> Evidence:
    """Count what rule methods need of the training rows, on Spark.

    The result equals that of :func:`secateur.collect_evidence` for all rows at once. Pass it to
    ``secateur.simplify(model, evidence=…)``.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
        Of pyspark.ml or of any other library that ``docs/adapters.md`` lists.
    df : pyspark.sql.DataFrame
        Has the tree's columns by name, in any order and among others; or, for a tree that names none, those columns
        alone beside y and sample_weight; or one column of vectors. Only columns that a split or a fact asks for are
        read.
    y : str
        The column of labels, as the model knows them.
    sample_weight : str, default=None
        The column of weights. Sums of whole weights are exact; others are added up in the order of the partitions.
    method, rf_tol, feature_names, class_names, accepts_missing, groups, integers, facts : optional
        As in :func:`secateur.collect_evidence`.

    Returns
    -------
    Evidence
    """
    check_frame(df)
    known: dict[str, Any] = {"feature_names": feature_names, "class_names": class_names, "groups": groups}
    known |= {"accepts_missing": accepts_missing, "integers": integers, "facts": facts}
    counted: dict[str, Any] = {"sample_weight": sample_weight, "method": method, "rf_tol": rf_tol}
    return evidence_collection.collect_evidence(model, df, y, **counted, **known)
