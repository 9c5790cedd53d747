"""Checks that adapters share: a model's class, whether it is fitted, and which of its trees to read."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from secateur.errors import EnsembleError, ParameterError, UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "SPLIT_NUMBERS",
    "ancestor_names",
    "check_class",
    "check_fitted",
    "check_no_missing",
    "check_one_output",
    "choose_tree",
    "fitted_names",
]


SPLIT_NUMBERS = (
    "Column {!r} holds numbers, but is split by category, and {} then takes 2.5 for 2. Make it a categorical column of "
    "a data frame, or one-hot encode it, and fit again."
)


def ancestor_names(model: Any, package: str) -> frozenset[str]:
    """List the classes of a package that a model is or derives from."""
    return _ancestor_names(type(model), package)  # type: ignore[arg-type]  # a class is hashable


@lru_cache(maxsize=256)  # asked several times of every model
def _ancestor_names(kind: type, package: str) -> frozenset[str]:
    return frozenset(one.__qualname__ for one in kind.__mro__ if f"{one.__module__}.".startswith(f"{package}."))


def check_class(model: Any, package: str, supported: Sequence[str], hint: str, refused: Sequence[str] = ()) -> None:
    """Refuse a model that is none of the supported classes of a package, or is one of those refused."""
    known = ancestor_names(model, package)
    if known.isdisjoint(supported) or not known.isdisjoint(refused):
        *most, last = supported
        listed = f"{', '.join(most)} or {last}" if most else last
        raise UnsupportedModelError(
            f"Expected a fitted {listed} of {package}, found {type(model).__qualname__}. {hint}"
        )


def check_fitted(model: Any, is_fitted: object) -> None:
    """Refuse a model that is not fitted yet."""
    if not is_fitted:
        raise UnsupportedModelError(f"This {type(model).__qualname__} is not fitted yet. Call fit first.")


def check_no_missing(model: Any, accepts_missing: bool | None, reason: str = "refuses NaN") -> None:
    """Refuse ``accepts_missing=True`` for a library that takes no missing values."""
    if accepts_missing:
        found = type(model).__qualname__
        raise ParameterError(f"accepts_missing=True does not fit: {found} {reason}. Leave accepts_missing out.")


def check_one_output(model: Any, n_outputs: int) -> None:
    """Refuse a model of several outputs."""
    if n_outputs != 1:
        raise UnsupportedModelError(
            f"This {type(model).__qualname__} predicts {n_outputs} outputs, but a rule has one class. "
            "Fit one model for each output."
        )


def fitted_names(model: Any) -> list[str] | None:
    """Return the column names that a scikit-learn estimator was fitted with, if any."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def choose_tree(model: Any, tree: int | None, n_trees: int, *, votes: bool) -> int:
    """Return the number of the tree to read: the one asked for, or the only one.

    The trees of a random forest vote, so each says something on its own. A boosted tree corrects those before it and
    says nothing without them.
    """
    found = type(model).__qualname__
    if n_trees == 0:
        raise UnsupportedModelError(f"This {found} has no trees. Fit it with at least one.")
    if n_trees > 1 and not votes:
        raise EnsembleError(
            f"This {found} has {n_trees} trees, each of which corrects those before it, so none decides alone. "
            "secateur.approximate(model, X) gives few rules that approximate it."
        )
    if tree is None:
        if n_trees > 1:
            raise EnsembleError(
                f"This {found} has {n_trees} trees. Name the one to read: secateur.from_model(model, tree=0); "
                "secateur.approximate(model, X) gives few rules for all of them."
            )
        return 0
    try:
        chosen = operator.index(tree)
    except TypeError:
        chosen = -1
    if isinstance(tree, bool) or not 0 <= chosen < n_trees:
        among = "one tree, number 0" if n_trees == 1 else f"{n_trees} trees, numbers 0 to {n_trees - 1}"
        raise ParameterError(f"Expected tree as the number of a tree of the {found}, found {tree!r}: it has {among}.")
    return chosen
