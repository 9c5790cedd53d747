"""Fit a tree to a table: categories become one-hot, blanks stay, and a share of the rows can be held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from secateur.cli.tables.training_table import TrainingTable

__all__ = ["DEFAULT_DEPTH", "MAX_CATEGORIES", "fit_tree", "split_table"]

DEFAULT_DEPTH = 5
# The most frequent categories of a column that are told apart; the others count as one.
MAX_CATEGORIES = 20


def fit_tree(table: TrainingTable, *, max_depth: int | None = DEFAULT_DEPTH, min_rows: int = 1, seed: int = 0) -> Any:
    """Fit a decision tree to a table, or a pipeline that ends in one where columns are encoded.

    Blanks are a value of their own in both.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from secateur.cli.tables.training_table import TrainingTable
    >>> rows = pd.DataFrame({"age": [30, 41, 52, 63], "ward": ["A", "B", None, "B"]})
    >>> table = TrainingTable(rows, np.array(["no", "no", "yes", "yes"], dtype=object), "ill", ("ward",), ("age",))
    >>> fit_tree(table).predict(rows).tolist()
    ['no', 'no', 'yes', 'yes']
    """
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=max_depth, min_samples_leaf=min_rows, random_state=seed)
    if not table.categories:
        return tree.fit(table.X, table.y)
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MAX_CATEGORIES + 1,  # one more for the others
        sparse_output=False,
        dtype=np.float32,
    )
    columns = ColumnTransformer(
        [("categories", encoder, list(table.categories))], remainder="passthrough", verbose_feature_names_out=False
    )
    return Pipeline([("columns", columns), ("tree", tree)]).fit(table.X, table.y)


def split_table(table: TrainingTable, share: float, seed: int = 0) -> tuple[TrainingTable, TrainingTable | None]:
    """Split off a share of the rows of each class: give the rows to fit on, and those held out."""
    if not 0 <= share < 1:
        raise ParameterError(f"Expected the share to hold out as a number from 0 to less than 1, found {share}.")
    if share == 0:
        return table, None
    from sklearn.model_selection import train_test_split

    try:
        kept, held_out = train_test_split(
            np.arange(len(table.y)), test_size=share, stratify=table.y.astype(str), random_state=seed
        )
    except ValueError as error:
        raise InputError(
            f"Cannot hold out a share of {share:g} of {len(table.y):,} rows with every class on both sides: pass "
            "--holdout 0, or more rows."
        ) from error
    return table.take(np.sort(kept)), table.take(np.sort(held_out))
