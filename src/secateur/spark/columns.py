"""Find and check the columns that a tree asks for in a Spark DataFrame, before any job runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.errors import InputError, shorten
from secateur.frames import check_unique
from secateur.rows.encoding import tested_features
from secateur.tree.facts import NO_FACTS
from secateur.tree.tree import Tree

WHOLE = ("ByteType", "ShortType", "IntegerType", "LongType")
NUMERIC = (*WHOLE, "FloatType", "DoubleType", "DecimalType", "BooleanType")
TEXT = ("StringType", "CharType", "VarcharType")
MOMENTS = ("DateType", "TimestampType", "TimestampNTZType")
# A timestamp means what it shows in the session's time zone.
CASTS = {"DecimalType": "double", "TimestampType": "timestamp_ntz"}


@dataclass(frozen=True)
class Placement:
    """Where the features of a tree are in a DataFrame."""

    columns: tuple[Any, ...]  # the Spark column of each feature that was asked for
    names: tuple[str, ...] | None  # the columns of all features, where each has one
    vector: str | None  # the column of vectors that holds them all, if one does


def quote(name: str) -> str:
    """Quote a column's name for Spark."""
    return "`" + name.replace("`", "``") + "`"


def list_tested(tree: Tree) -> list[int]:
    """List the features that a split tests; at least one, for rows must have a column."""
    return sorted(tested_features(tree)) or [0]


def place_columns(
    df: Any, tree: Tree, features: Sequence[int], *, taken: Sequence[str] = (), vector: str | None = None
) -> Placement:
    """Find features of a tree in a DataFrame, beside ``taken`` columns, or in its ``vector``; say what is wrong."""
    from pyspark.sql import functions as F

    names: list[str] = list(df.columns)
    is_exact = df.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    if is_exact:
        check_unique(names, "df")
    else:
        check_unique(names, "df", fold=str.lower, but=" (Spark ignores case)")
    found = _find_vector(df, tree, features, taken, vector)
    if found is not None:
        from pyspark.ml.functions import vector_to_array

        array = vector_to_array(F.col(quote(found)))
        return Placement(tuple(F.get(array, F.lit(feature)) for feature in features), tree.feature_names, found)
    own = tree.feature_names or tuple(name for name in names if name not in taken)
    if len(own) != tree.n_features:
        beside = "" if not taken else f" beside {shorten(list(taken))}"
        raise InputError(
            f"df has {len(own)} columns{beside}, but the tree was fitted on {tree.n_features} and does not name "
            "them: select its columns in their order, or pass feature_names."
        )
    absent = [own[feature] for feature in features if own[feature] not in names]
    if absent:
        raise InputError(
            f"df has no column{'s' * (len(absent) > 1)} {shorten(absent)}, which the tree asks for; its columns are "
            f"{shorten(names)}."
        )
    types = {field.name: field.dataType for field in df.schema.fields}
    made = []
    for feature in features:
        name = own[feature]
        _check_type(tree, feature, name, types[name])
        column = F.col(quote(name))
        cast = CASTS.get(type(types[name]).__name__)
        made.append(column if cast is None else column.cast(cast))
    return Placement(tuple(made), own, None)


def _find_vector(df: Any, tree: Tree, features: Sequence[int], taken: Sequence[str], vector: str | None) -> str | None:
    vectors = [f.name for f in df.schema.fields if type(f.dataType).__name__ == "VectorUDT" and f.name not in taken]
    if vector in vectors:
        return vector
    names = tree.feature_names
    if tree.columns is not None or (names is not None and all(names[feature] in df.columns for feature in features)):
        return None
    return vectors[0] if len(vectors) == 1 else None


def _check_type(tree: Tree, feature: int, name: str, dtype: Any) -> None:
    found = type(dtype).__name__
    levels = tree.categories[feature]
    is_cell = tree.columns is not None and tree.columns.cuts[feature] is not None
    if levels is not None and not is_cell and any(isinstance(level, str) for level in levels):
        if found not in TEXT:
            raise InputError(
                f"Column {name!r} of df holds {dtype.simpleString()}, but the tree tests texts such as {levels[0]!r}. "
                "Cast it to string, if that is how it was indexed."
            )
    elif found not in NUMERIC and (tree.column_parser(feature) is None or found not in (*TEXT, *MOMENTS)):
        raise InputError(
            f"Column {name!r} of df holds {dtype.simpleString()}, but the tree compares numbers. "
            "Encode it as it was encoded for fitting."
        )


def check_beside(df: Any, y: Any, weight: Any, classes: Any) -> list[str]:
    """List the columns of labels and any weights, after checking that they are there and of the right types."""
    _check_column(df, y, "y", classes)
    if weight is None:
        return [y]
    _check_column(df, weight, "sample_weight")
    return [y, weight]


def _check_column(df: Any, name: Any, what: str, classes: Any = None) -> None:
    if not isinstance(name, str) or name not in df.columns:
        raise InputError(
            f"Expected {what} as the name of a column of df, found {name!r}; it has {shorten(df.columns)}."
        )
    dtype = next(field.dataType for field in df.schema.fields if field.name == name)
    is_text = classes is not None and classes.dtype.kind == "U"
    if type(dtype).__name__ not in (TEXT if is_text else NUMERIC):
        expected = "numbers" if classes is None else f"labels such as {classes.tolist()[0]!r}"
        hint = "Cast it to string, if that is how it was indexed." if is_text else "Cast it to numbers."
        raise InputError(f"Column {name!r} of df holds {dtype.simpleString()}, but {what} must hold {expected}. {hint}")


def has_length(vector: str, length: int) -> Any:
    """Whether a column holds a vector of that length."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as F

    return F.coalesce(F.size(vector_to_array(F.col(quote(vector)))) == length, F.lit(False))


def typed_table(df: Any, names: Sequence[str]) -> Any:
    """Make a table without rows whose types tell which columns of a DataFrame hold whole numbers or text."""
    import pyarrow as pa

    types = {field.name: type(field.dataType).__name__ for field in df.schema.fields}
    kinds = {"BooleanType": pa.bool_(), **dict.fromkeys(WHOLE, pa.int64()), **dict.fromkeys(TEXT, pa.string())}
    return pa.table({name: pa.array([], type=kinds.get(types.get(name, ""), pa.float64())) for name in names})


def narrow_tree(tree: Tree, features: Sequence[int]) -> Tree:
    """Make the same tree over those features alone, without facts."""
    place = np.full(tree.n_features + 1, -1, dtype=np.int64)  # the last is for the -1 of a leaf
    place[list(features)] = np.arange(len(features))
    columns = tree.columns
    if columns is not None:
        columns = replace(
            columns,
            cuts=tuple(columns.cuts[feature] for feature in features),
            closed=tuple(columns.closed[feature] for feature in features),
            ranges=tuple(columns.ranges[feature] for feature in features) if columns.ranges else (),
            asked=tuple(int(place[feature]) for feature in columns.asked),
            encoded=None,
        )
    return replace(
        tree,
        feature=place[tree.feature],
        n_features=len(features),
        accepts_missing=tree.accepts_missing[list(features)],
        categories=tuple(tree.categories[feature] for feature in features),
        feature_names=tuple(tree.feature_name(feature) for feature in features),
        monotone=None,
        columns=columns,
        facts=NO_FACTS,
        column_parsers=tuple(tree.column_parsers[feature] for feature in features) if tree.column_parsers else (),
    )
