"""pystreed STreeDClassifier -> Tree.

The library turns columns into binary ones itself and splits on those; the Tree is in terms of the original columns:

- a numeric column became tests float64(x) <= threshold, at quantiles, uniform steps or a small tree's splits;
- a column of 0 and 1 was kept: it reads as x <= 0.5 (for other values the library tests whether the whole part is 0);
- a categorical column became tests of equality or membership; a value that was never seen is in none of them.

A row that passes the test goes to the library's *right* child. Of a data frame the library keeps the column names, but
not their order across the three kinds, so the rows are needed where kinds are mixed. Labels are whole numbers (fit cuts
anything else down to int32). The nodes carry class counts, indexed by label, but no ids: they are numbered in the
library's own preorder. The library rejects NaN.
"""

from collections.abc import Hashable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from secateur.adapters.reading import Node, check_class, check_no_missing, grow_nodes, make_from_nodes
from secateur.errors import UnsupportedModelError
from secateur.frames import frame_columns
from secateur.tree.tree import Label, Tree

LARGEST_CODE = 9999
"""Numeric categories are written as codes 0, 1, … up to the largest one, which must stay a readable list."""


class BinaryColumn(NamedTuple):
    """One binary column: the original column and what is tested of it, a cut or a set of values."""

    name: Hashable
    column: Hashable
    cut: float = np.nan
    one_is_left: bool = True
    values: tuple[Label, ...] | None = None


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a fitted classification tree, or say why it cannot be read."""
    _check_supported(model, accepts_missing)
    binary = _binary_columns(model)
    columns, names = _original_columns(model.binarizer_, X)
    categories = _categories(model.binarizer_, columns)
    labels = np.unique(model.train_y_)
    class_ids = {int(label): code for code, label in enumerate(labels)}

    def read(source: Any) -> tuple[Node, dict[str, Any]]:
        by_label = np.zeros(int(labels[-1]) + 1)
        by_label[: len(source.num_instances_per_class)] = source.num_instances_per_class
        counts = by_label[labels]
        if source.is_leaf_node():
            return Node(leaf_class=class_ids[int(source.label)], counts=counts), {}
        test = binary[source.feature]
        column = columns.index(test.column)
        levels = categories[column]
        codes = None if test.values is None or levels is None else [levels.index(value) for value in test.values]
        when_zero, when_one = ("right", "left") if test.one_is_left else ("left", "right")
        children = {when_zero: source.left_child, when_one: source.right_child}
        return Node(feature=column, threshold=test.cut, codes=codes, counts=counts), children

    return make_from_nodes(
        grow_nodes(model.tree_, read),
        categories=categories,
        classes=labels.tolist(),
        n_features=len(columns),
        feature_names=names,
        dtype="float64",
    )


def _check_supported(model: Any, accepts_missing: bool | None) -> None:
    found = type(model).__qualname__
    is_regressor = "Regress" in found
    hint = "Regression trees have no classes." if is_regressor else "Its other tasks predict more than a class."
    check_class(model, "pystreed", ("STreeDClassifier",), hint)
    # A fit that finds no tree deletes fit_result, but leaves the tree_ of an earlier fit.
    if getattr(model, "fit_result", None) is None or not hasattr(model, "tree_"):
        raise UnsupportedModelError(f"This {found} is not fitted yet, or its fit found no tree. Call fit first.")
    cut_off = [label for label in model.classes_ if isinstance(label, float) and label != int(label)]
    if cut_off:
        raise UnsupportedModelError(
            f"This {found} was fitted with the label {float(cut_off[0])}, which pystreed cuts down to a whole number. "
            "Encode the labels as 0, 1, 2, … and fit again."
        )
    check_no_missing(model, accepts_missing)


def _binary_columns(model: Any) -> list[BinaryColumn]:
    """List what each binary column of the fitted solver tests."""
    source = model.binarizer_
    twice = [column for column in source.categorical_columns if column in source.binary_columns]
    if twice:
        raise UnsupportedModelError(
            f"Column {twice[0]!r} is declared categorical, but holds only 0 and 1, so pystreed lists it twice. Leave "
            "it out of categorical and fit again."
        )
    found = [BinaryColumn(column, column, 0.5, one_is_left=False) for column in source.binary_columns]
    if (fitted := source.categorical_binarizer) is not None:
        parts = zip(source.categorical_columns, fitted.categories_, fitted.column_names_, strict=True)
        for column, groups, names in parts:
            for group, name in zip(groups, names, strict=True):
                found.append(BinaryColumn(name, column, values=_plain(group if isinstance(group, list) else [group])))
    if (fitted := source.continuous_binarizer) is not None:
        parts = zip(source.continuous_columns, fitted.thresholds_, fitted.column_names_, strict=True)
        for column, cuts, names in parts:
            found += [BinaryColumn(name, column, float(cut)) for cut, name in zip(cuts, names, strict=True)]
    if source.binary_feature_limiter is not None:
        selected = source.binary_feature_limiter.select_features_
        if isinstance(selected, np.ndarray):
            found = [found[index] for index in selected.tolist()]
        else:  # a data frame is limited by the names of the binary columns
            found = [column for name in selected for column in found if column.name == name]
    if len(found) != model.n_features_in_:
        raise UnsupportedModelError(
            f"The binarizer makes {len(found)} columns, but the tree was fitted on {model.n_features_in_}. Give every "
            "column a name of its own and fit again."
        )
    return found


def _original_columns(source: Any, X: Any) -> tuple[list[Hashable], list[str] | None]:
    """List the columns that rows must have, in order, and their names, if they have any."""
    kinds = [source.binary_columns, source.categorical_columns, source.continuous_columns]
    known: list[Hashable] = list(chain.from_iterable(kinds))
    texts = [str(column) for column in known]
    given = None if X is None else frame_columns(X)
    if given is not None and sorted(given) == sorted(texts):
        return [known[texts.index(name)] for name in given], given
    positions = [column for column in known if isinstance(column, (int, np.integer))]
    if len(positions) == len(known) and set(positions) == set(range(len(known))):
        return list(range(len(known))), None
    if sum(len(kind) > 0 for kind in kinds) == 1:
        return known, texts
    raise UnsupportedModelError(
        "This STreeDClassifier was fitted on a data frame of several kinds of columns and does not keep their order. "
        f"Pass the rows, too, as a data frame with the columns {texts}."
    )


def _categories(source: Any, columns: list[Hashable]) -> list[tuple[Label, ...] | None]:
    """List the categories of each categorical column; a numeric category is its own code."""
    found: dict[Hashable, tuple[Label, ...]] = {}
    fitted = source.categorical_binarizer
    for column, groups in zip(source.categorical_columns, fitted.categories_ if fitted else (), strict=True):
        values = _plain([value for group in groups for value in (group if isinstance(group, list) else [group])])
        whole = [int(value) for value in values if not isinstance(value, str) and value in range(LARGEST_CODE + 1)]
        if not values:
            found[column] = ("",)  # a constant column, which no split tests; the library forgets its one value
        elif all(isinstance(value, str) for value in values):
            found[column] = values
        elif len(whole) == len(values):
            found[column] = tuple(range(max(whole) + 1))  # numeric columns are read as codes: that of 7 must be 7
        else:
            raise UnsupportedModelError(
                f"The categories of column {column!r} are neither texts nor whole numbers from 0 to {LARGEST_CODE}. "
                "Convert the column to text and fit again."
            )
    return [found.get(column) for column in columns]


def _plain(values: list[Any]) -> tuple[Label, ...]:
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)
