"""Models of other libraries to :class:`secateur.Tree`; one library a file, imported only when its model comes."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters.pipelines import is_pipeline, read_trees
from secateur.errors import ParameterError, UnsupportedModelError
from secateur.knowledge import state_facts
from secateur.tree import Tree
from secateur.tree_check import check_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secateur.adapters.iai import read_iai

__all__ = ["from_model", "read_iai"]

# Top-level package of the model's class -> module with a `read_model(model, X, sample_weight,
# accepts_missing)`. What each carries is listed in docs/adapters.md. No adapter imports its library: the model brings
# it.
ADAPTERS = {
    "sklearn": "secateur.adapters.scikit_learn",
    "licketysplit": "secateur.adapters.licketysplit",
    "pycontree": "secateur.adapters.pycontree",
    "pystreed": "secateur.adapters.pystreed",
    "interpretableai": "secateur.adapters.iai",
    "pyspark": "secateur.adapters.spark_ml",
}

# Libraries whose pipelines hold a step of their own that their adapter reads itself.
OWN_PIPELINES = ("licketysplit",)


def __getattr__(name: str) -> Any:
    if name != "read_iai":
        raise AttributeError(f"module 'secateur.adapters' has no attribute {name!r}")
    return import_module("secateur.adapters.iai").read_iai


def from_model(
    model: Any,
    X: Any = None,
    *,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    groups: Any = None,
    integers: Any = None,
    facts: Any = None,
) -> Tree:
    """Read a fitted tree of a supported library into a :class:`Tree`.

    Parameters
    ----------
    model : fitted tree, Pipeline or Tree
        A tree of a library that ``docs/adapters.md`` lists, or a scikit-learn pipeline that ends in one, which is read
        in terms of the columns that go into it; a :class:`Tree` is returned as it is, but for the names.
    X : array-like or data frame of shape (n_rows, n_features), default=None
        Training rows; only used to tell what the model alone does not show: whether it was fitted with missing values,
        the order of its columns, or the types of a pipeline's columns.
    sample_weight : array-like of shape (n_rows,), default=None
        Their weights, for the same purpose: rows without weight were not fitted.
    feature_names, class_names : sequence of str, default=None
        How columns and classes read, where the model does not say.
    accepts_missing : bool, default=None
        Whether the tree takes NaN; by default what the model and the rows show (see ``docs/tree-format.md``).
    groups, integers, facts : default=None
        What is known of the columns, as :func:`secateur.simplify` takes it; the tree carries it.

    Returns
    -------
    Tree

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from_model(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    <Tree: 3 leaves, depth 2, 4 features, classes 0, 1, 2>
    """
    if type(model).__module__.startswith("secateur.") and not isinstance(model, Tree):
        model = _own_tree(model)
    if accepts_missing is not None and not isinstance(accepts_missing, (bool, np.bool_)):
        raise ParameterError(f"Expected accepts_missing as True, False or None, found {accepts_missing!r}.")
    if isinstance(model, Tree) and accepts_missing:
        raise ParameterError("This tree says itself which columns take NaN: leave accepts_missing out.")
    tree = model if isinstance(model, Tree) else _read(model, X, sample_weight, accepts_missing)
    if feature_names is not None:
        if isinstance(feature_names, (str, bytes)) or np.ndim(feature_names) != 1:
            raise ParameterError(f"Expected feature_names as a list, a name for each column, found {feature_names!r}.")
        names = tuple(str(name) for name in feature_names)
        if tree.feature_names is not None and names != tree.feature_names:
            raise ParameterError(
                "The model already names its columns, and feature_names differs from them. Leave feature_names out."
            )
        tree = replace(tree, feature_names=names)
    if class_names is not None:
        tree = replace(tree, class_names=_check_class_names(tree, class_names))
    if isinstance(model, Tree) or feature_names is not None:  # what was read is checked already
        check_tree(tree)
    if groups is None and integers is None and facts is None:
        return tree
    return state_facts(tree, None, groups=groups, integers=integers, facts=facts)


def _own_tree(model: Any) -> Tree:
    """The tree of a fitted estimator of ours."""
    fitted = getattr(model, "tree_", None)
    if not isinstance(fitted, Tree):
        raise UnsupportedModelError(f"This {type(model).__qualname__} is not fitted yet. Call fit first.")
    return fitted


def _check_class_names(tree: Tree, class_names: Sequence[str]) -> tuple[str, ...]:
    labels = tree.classes.tolist()
    if isinstance(class_names, (str, bytes)) or hasattr(class_names, "keys") or np.ndim(class_names) != 1:
        raise ParameterError(f"Expected class_names as a list, one name for each of {labels}, found {class_names!r}.")
    names = tuple(str(name) for name in class_names)
    if len(names) != len(labels) or len(set(names)) < len(names):
        raise ParameterError(f"Expected {len(labels)} different class_names, one for each of {labels}, found {names}.")
    return names


def _read(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    is_steps = is_pipeline(model)
    last = model.steps[-1][1] if is_steps and model.steps else model
    for ancestor in type(last).__mro__:
        package = ancestor.__module__.split(".")[0]
        if is_steps and package not in OWN_PIPELINES:
            continue
        adapter = ADAPTERS.get(package)
        if adapter is not None:
            tree: Tree = import_module(adapter).read_model(model, X, sample_weight, accepts_missing)
            return tree
    if is_steps:
        return read_trees(model, X, lambda last, rows: [_read(last, rows, sample_weight, accepts_missing)])[0]
    raise UnsupportedModelError(
        f"Expected a fitted tree of {', '.join(ADAPTERS)} or a secateur.Tree, found {type(model).__qualname__}. "
        "Hand over a tree from elsewhere with secateur.TreeBuilder or Tree.from_json."
    )
