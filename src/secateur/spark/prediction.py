"""Predict rows on Spark by SQL, without secateur on the workers."""

from typing import Any

from secateur.errors import InputError, ParameterError
from secateur.rules.rules import Rules
from secateur.spark.columns import list_tested, place_columns, quote
from secateur.spark.session import check_frame, name_rows, spark_failures


def predict(rules: Rules, df: Any, column: str = "prediction") -> Any:
    """Add a lazily computed column of predictions to a Spark DataFrame.

    A row that the rules reject, such as one with a missing value that the tree does not take, gets NULL.

    Parameters
    ----------
    rules : Rules
    df : pyspark.sql.DataFrame
        Has the tree's columns by name; or, for a tree that names none, those columns alone; or one column of vectors.
    column : str, default="prediction"
        Name of the added column.

    Returns
    -------
    pyspark.sql.DataFrame
    """
    check_frame(df)
    check_rules(rules)
    if column in df.columns:
        raise ParameterError(f"df has a column {column!r} already: pass another name as column.")
    tree = rules.tree
    if tree.columns is not None and tree.columns.derived:
        raise InputError(
            f"The rules ask for {tree.columns.derived[0]!r}, which only the pipeline can make: add it to df, and make "
            "rules from a tree that has it as a column."
        )
    from pyspark.sql import functions as F

    features = list_tested(tree)
    whole = "row"
    while whole in {tree.feature_name(feature) for feature in features}:
        whole += "_"
    with spark_failures():
        placement = place_columns(df, tree, features)
        named = [made.alias(tree.feature_name(f)) for f, made in zip(features, placement.columns, strict=True)]
        # The row stays in one piece, so that its columns cannot clash with ours.
        rows = df.select(F.struct(*(F.col(quote(name)) for name in df.columns)).alias(whole), *named)
        with name_rows(rows) as table:
            said = df.sparkSession.sql(rules.to_sql("spark", table=table))
        return said.select(F.col(f"{quote(whole)}.*"), F.col(quote(said.columns[0])).alias(column))


def check_rules(rules: Any) -> None:
    """Raise unless these are the rules of one tree."""
    if not hasattr(rules, "find_lines"):
        raise InputError(f"Expected Rules of one tree, as secateur.simplify makes them, found {type(rules).__name__}.")
