"""LightGBM's LGBMClassifier, LGBMRegressor and Booster, one tree or a named tree of a random forest -> Tree.

Reads the text of ``model_to_string``, which writes every float with 17 digits. Comparison: float64(x) <= threshold, but
a number between -ZERO and ZERO counts as 0, so a threshold in between moves to the end of that gap. Each split has a
missing type. "NaN": NaN goes where ``default_left`` says. "None": NaN counts as 0. "Zero": 0 and NaN go where
``default_left`` says; rejected where the numbers next to 0 go elsewhere, because no threshold can say that.

A split by categories lists whole numbers that go left; a number is cut down to its whole part first, and NaN, negative
and unlisted ones go right. A categorical column of a Tree holds labels, so such splits are read for the categorical
columns of a pandas frame, whose labels the model keeps, and rejected for plain numbers. A value that is not a label is
NaN to LightGBM. An ordered categorical column of a frame is split by the number of its label.

The class is that of the larger probability, the first of equals; the probability is the sigmoid of the leaf's value,
which includes the starting score. A regressor predicts the leaf's value itself; objectives that predict a function of
it are rejected. A leaf keeps the number of its rows but not their classes, so there are no counts.

Node ids: the splits by LightGBM's own number, then the leaves by theirs: leaf ``i`` is node ``n_leaves - 1 + i``.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from secateur.adapters import reading
from secateur.errors import InputError, UnsupportedModelError
from secateur.frames import frame_columns
from secateur.rows.checking import check_names, holds_missing
from secateur.tree.tree import Label, Tree

SUPPORTED = ("LGBMClassifier", "LGBMRegressor", "Booster")
# Objectives that predict the value of a leaf as it is.
REGRESSION = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
ZERO = float(np.float32(1e-35))
"""Numbers up to this size count as 0."""
BY_CATEGORY, DEFAULT_LEFT = 1, 2  # bits of a split's decision_type; the missing type is in the two bits above
NO_MISSING, ZERO_MISSING, NAN_MISSING = 0, 1, 2


class Split(NamedTuple):
    """One test: a column, and a threshold or the whole numbers that go left."""

    column: int
    threshold: float
    categories: frozenset[int] | None
    default_left: bool
    missing_type: int

    def goes_left(self, value: float) -> bool:
        """Tell whether LightGBM sends a number left that is NaN, 0 or larger than ZERO in size."""
        if self.categories is not None:
            return not math.isnan(value) and int(value) in self.categories
        if math.isnan(value) and self.missing_type != NAN_MISSING:
            value = 0.0
        if (value == 0 and self.missing_type == ZERO_MISSING) or math.isnan(value):
            return self.default_left
        return value <= self.threshold


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None, tree: int | None = None) -> Tree:
    """Read a fitted tree, or say why it cannot be read."""
    found = type(model).__qualname__
    booster, labels = _find_booster(model)
    header, blocks = _parse(booster.model_to_string())
    objective = header.get("objective", "custom").split()
    is_regression = objective[0] in REGRESSION and "sqrt" not in objective
    sigmoid = 1.0 if is_regression else _find_sigmoid(header, found)
    source = blocks[reading.choose_tree(model, tree, len(blocks), votes="average_output" in header)]
    if source.get("is_linear", "0") != "0":
        raise UnsupportedModelError(
            f"The leaves of this {found} hold linear models, which predict several classes. Fit it without linear_tree."
        )
    n_features = int(header["max_feature_idx"]) + 1
    names = _names(booster, X)
    levels = _frame_levels(booster, X, n_features)
    splits = _read_splits(source)
    left, right = ([int(child) for child in source[side].split()] for side in ("left_child", "right_child"))
    nodes = []
    for split, *children in zip(splits, left, right, strict=True):
        first, second = (reading.after_splits(child, len(splits)) for child in children)
        own = levels[split.column]
        cut = math.nan if own is not None else _find_cut(split, names[split.column])
        values = [*range(len(own or ())), math.nan]  # an unlisted value is NaN to LightGBM
        codes = None if own is None else [code for code, value in enumerate(values) if split.goes_left(value)]
        nodes.append(reading.Node(first, second, split.column, cut, split.goes_left(math.nan), codes))
    values = [float(value) for value in source["leaf_value"].split()]
    # The sigmoid as LightGBM computes it, ties and all, without overflow.
    shares = [1.0 / (1.0 + math.exp(min(-sigmoid * value, 700.0))) for value in values]
    classes = [int(share > 0.5 and not is_regression) for share in shares]
    said = values if is_regression else [math.nan] * len(values)
    nodes += [reading.Node(leaf_class=answer, value=value) for answer, value in zip(classes, said, strict=True)]
    if not is_regression and max(classes) >= len(labels):
        raise UnsupportedModelError(f"This {found} predicts a class that is none of its labels {labels}. Fit it again.")
    asked = {split.column for split in splits}
    shown = any(split.missing_type == NAN_MISSING for split in splits) or (X is not None and holds_missing(X, asked))
    generic = names == [f"Column_{column}" for column in range(n_features)]
    return reading.make_from_nodes(
        nodes,
        categories=levels,
        **({} if is_regression else {"classes": labels}),
        n_features=n_features,
        accepts_missing=shown if accepts_missing is None else accepts_missing,
        feature_names=None if generic else names,
        dtype="float64",
    )


def _find_booster(model: Any) -> tuple[Any, list[Label]]:
    known = reading.ancestor_names(model, "lightgbm")
    is_many = "CVBooster" in known
    hint = "Pass one of its boosters." if is_many else "Ranking predicts neither classes nor values."
    reading.check_class(model, "lightgbm", SUPPORTED, hint)
    if "Booster" in known:
        return model, [0, 1]
    reading.check_fitted(model, model.__sklearn_is_fitted__())
    return model.booster_, [0, 1] if not hasattr(model, "classes_") else model.classes_.tolist()


def _parse(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Parse the fields of a model's text: those of the whole, and those of each tree."""
    blocks = text.partition("\nend of trees")[0].split("\nTree=")
    fields = ([line.partition("=") for line in block.splitlines()] for block in blocks)
    header, *trees = ({key: value for key, _, value in listed} for listed in fields)
    return header, trees


def _find_sigmoid(header: dict[str, str], found: str) -> float:
    """Return the factor of the binary objective's sigmoid; reject other objectives."""
    objective, *settings = header.get("objective", "custom").split()
    if objective in ("multiclass", "multiclassova"):
        raise UnsupportedModelError(
            f"This {found} grows one tree for each of its {header['num_class']} classes, and none decides alone. "
            "Fit it on two classes."
        )
    if objective != "binary":
        raise UnsupportedModelError(
            f"Expected a {found} with the objective 'binary', or for values one of {', '.join(REGRESSION)} without "
            f"reg_sqrt, found {header.get('objective', 'custom')!r}. Fit it with one of them."
        )
    return next((float(value) for key, _, value in (one.partition(":") for one in settings) if key == "sigmoid"), 1.0)


def _names(booster: Any, X: Any) -> list[str]:
    """Name the columns; the model writes spaces as underscores, so a frame of the same columns knows better."""
    own = [str(name) for name in booster.feature_name()]
    given = None if X is None else frame_columns(X)
    return given if given is not None and [name.replace(" ", "_") for name in given] == own else own


def _frame_levels(booster: Any, X: Any, n_features: int) -> list[tuple[Label, ...] | None]:
    """List the labels of each categorical column of the frame that the model was fitted on."""
    listed = booster.pandas_categorical or []
    found: list[tuple[Label, ...] | None] = [None] * n_features
    if not listed:
        return found
    given = None if X is None else frame_columns(X)
    dtypes = getattr(X, "dtypes", None)
    if given is None or dtypes is None:
        raise UnsupportedModelError(
            "LightGBM keeps the categories of a data frame, but not which columns they are of. Pass the training rows "
            "as that data frame, too."
        )
    check_names(booster.feature_name(), [name.replace(" ", "_") for name in given], "X", "model")
    # As LightGBM itself does it: the categorical columns of a frame, in their order, are those of the fit.
    columns = [column for column, dtype in enumerate(dtypes) if str(dtype) == "category"]
    if len(columns) != len(listed):
        raise InputError(
            f"X has {len(columns)} categorical columns, but the model was fitted on {len(listed)}. Pass its own rows."
        )
    for column, labels in zip(columns, listed, strict=True):
        found[column] = tuple(labels)
    return found


def _read_splits(source: dict[str, str]) -> list[Split]:
    bounds = [int(value) for value in source.get("cat_boundaries", "").split()]
    words = [int(value) for value in source.get("cat_threshold", "").split()]
    found = []
    for column, threshold, kind in zip(
        source["split_feature"].split(), source["threshold"].split(), source["decision_type"].split(), strict=True
    ):
        number, bits = float(threshold), int(kind)
        categories = None
        if bits & BY_CATEGORY:
            own = words[bounds[int(number)] : bounds[int(number) + 1]]
            categories = frozenset(32 * at + bit for at, word in enumerate(own) for bit in range(32) if word >> bit & 1)
        found.append(Split(int(column), number, categories, bool(bits & DEFAULT_LEFT), bits >> 2 & 3))
    return found


def _find_cut(split: Split, name: str) -> float:
    """Find the largest number that goes left at a split of a numeric column."""
    if split.categories is not None:
        raise UnsupportedModelError(reading.SPLIT_NUMBERS.format(name, "LightGBM"))
    if split.goes_left(0.0) != (split.threshold >= 0):
        raise UnsupportedModelError(
            f"Column {name!r} treats 0 as missing and sends it elsewhere than its neighbours, which no threshold can. "
            "Write missing values as NaN and fit again without zero_as_missing."
        )
    if abs(split.threshold) > ZERO:
        return split.threshold
    return ZERO if split.threshold >= 0 else math.nextafter(-ZERO, -math.inf)
