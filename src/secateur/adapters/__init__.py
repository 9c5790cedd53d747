"""Read models of other libraries into :class:`secateur.Tree`; one library a file, imported when its model comes."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters.pipelines import read_trees
from secateur.adapters.reading import ancestor_names, check_fitted, is_forest, is_pipeline, take_best
from secateur.errors import ParameterError, UnsupportedModelError
from secateur.facts.stating import state_facts
from secateur.tree.contract import check_tree
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from secateur.adapters.onnx import read_onnx
    from secateur.adapters.pmml import read_pmml
    from secateur.lab.adapters.iai import read_iai

__all__ = ["from_model", "read_iai", "read_onnx", "read_pmml"]

# Top-level package of the model's class -> module with a `read_model(model, X, sample_weight, accepts_missing)`.
# What each carries is listed in docs/adapters.md.
ADAPTERS = {
    "sklearn": "secateur.adapters.scikit_learn",
    "licketysplit": "secateur.lab.adapters.licketysplit",
    "pycontree": "secateur.lab.adapters.pycontree",
    "pystreed": "secateur.lab.adapters.pystreed",
    "interpretableai": "secateur.lab.adapters.iai",
    "lightgbm": "secateur.adapters.lightgbm",
    "xgboost": "secateur.adapters.xgboost",
    "catboost": "secateur.adapters.catboost",
    "pyspark": "secateur.adapters.spark_ml",
}

# Readers of files rather than models -> their modules.
READERS = {
    "read_iai": "secateur.lab.adapters.iai",
    "read_onnx": "secateur.adapters.onnx",
    "read_pmml": "secateur.adapters.pmml",
}

# Libraries whose models may hold several trees: their `read_model` takes `tree` as well.
OF_SEVERAL_TREES = ("lightgbm", "xgboost", "catboost")

GAPS_ARE_MISSING = ("xgboost",)  # libraries that take the zeros of a sparse matrix for missing values

OWN_PIPELINES = ("licketysplit",)  # libraries whose adapter reads pipelines itself, because of a step of its own


def __getattr__(name: str) -> Any:
    if name not in READERS:
        raise AttributeError(f"module 'secateur.adapters' has no attribute {name!r}")
    return getattr(import_module(READERS[name]), name)


def from_model(
    model: Any,
    X: Any = None,
    *,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    tree: int | None = None,
    groups: Any = None,
    integers: Any = None,
    facts: Any = None,
) -> Tree:
    """Read a fitted tree of a supported library into a :class:`Tree`.

    Parameters
    ----------
    model : fitted tree, Pipeline or Tree
        A tree of a library that ``docs/adapters.md`` lists, or a scikit-learn pipeline that ends in one, which is read
        in terms of the columns that go into it; a :class:`Tree` only gets the names given.
    X : array-like or data frame of shape (n_rows, n_features), default=None
        Training rows, for what the model alone does not show: whether it was fitted with missing values, the order of
        its columns, the types of a pipeline's columns.
    sample_weight : array-like of shape (n_rows,), default=None
        Their weights, for the same purpose: rows without weight were not fitted.
    feature_names, class_names : sequence of str, default=None
        Names of columns and classes that the model does not name.
    accepts_missing : bool, default=None
        Whether the tree takes NaN; by default what the model and the rows show (see ``docs/tree-format.md``).
    tree : int, default=None
        Which tree of a random forest to read, counted from 0; a leaf's class is the one that this tree votes for. The
        trees of a boosted model are not read one by one, because they correct one another.
    groups, integers, facts : default=None
        Stated facts about the columns, as :func:`secateur.simplify` takes them; the tree carries them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> from_model(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    <Tree: 3 leaves, depth 2, 4 features, classes 0, 1, 2>
    """
    if type(model).__module__.startswith("secateur.") and not isinstance(model, Tree):
        if isinstance(getattr(model, "tree", None), Tree):  # rules
            model = model.tree
        else:  # an estimator of ours
            check_fitted(model, isinstance(getattr(model, "tree_", None), Tree))
            model = model.tree_
    if accepts_missing is not None and not isinstance(accepts_missing, (bool, np.bool_)):
        raise ParameterError(f"Expected accepts_missing as True, False or None, found {accepts_missing!r}.")
    if isinstance(model, Tree) and accepts_missing:
        raise ParameterError("This tree says itself which columns take NaN: leave accepts_missing out.")
    if isinstance(model, Tree) and tree is not None:
        raise ParameterError("This is a single tree already: leave tree out.")
    read = model if isinstance(model, Tree) else _read(take_best(model), X, sample_weight, accepts_missing, tree)
    if feature_names is not None:
        if isinstance(feature_names, (str, bytes)) or np.ndim(feature_names) != 1:
            raise ParameterError(f"Expected feature_names as a list, a name for each column, found {feature_names!r}.")
        names = tuple(str(name) for name in feature_names)
        if read.feature_names is not None and names != read.feature_names:
            raise ParameterError("The model already names its columns, and feature_names differs. Leave it out.")
        read = replace(read, feature_names=names)
    if class_names is not None:
        read = replace(read, class_names=_check_class_names(read, class_names))
    if isinstance(model, Tree) or feature_names is not None:  # what was read is checked already
        check_tree(read)
    if groups is None and integers is None and facts is None:
        return read
    return state_facts(read, None, groups=groups, integers=integers, facts=facts)


def _check_class_names(tree: Tree, class_names: Sequence[str]) -> tuple[str, ...]:
    labels = tree.classes.tolist()
    if isinstance(class_names, (str, bytes)) or hasattr(class_names, "keys") or np.ndim(class_names) != 1:
        raise ParameterError(f"Expected class_names as a list, one name for each of {labels}, found {class_names!r}.")
    names = tuple(str(name) for name in class_names)
    if len(names) != len(labels) or len(set(names)) < len(names):
        raise ParameterError(f"Expected {len(labels)} different class_names, one for each of {labels}, found {names}.")
    if set(names) == {str(label) for label in labels} and names != tuple(map(str, labels)):
        raise ParameterError(f"Expected class_names in the order of the labels, {labels}, found {names}.")
    return names


def _invert_target(model: Any, tree: Tree) -> Tree:
    """Give the leaves the values that a TransformedTargetRegressor makes of them."""
    if tree.values is None:
        raise UnsupportedModelError(f"This {type(model).__qualname__} transforms classes: pass its regressor_.")
    own = tree.values[tree.is_leaf].reshape(-1, 1)
    together, apart = model.transformer_.inverse_transform(own), map(model.transformer_.inverse_transform, own[:, None])
    found = np.ravel(together)
    if len(found) != len(own) or not np.array_equal(found, np.ravel(list(apart)), equal_nan=True):
        raise UnsupportedModelError(
            f"The target of this {type(model).__qualname__} is not transformed back one by one, so no leaf has a value "
            "of its own. Use a transformer that looks at single values."
        )
    values = np.full(tree.n_nodes, np.nan)
    values[tree.is_leaf] = found
    made = replace(tree, values=values)
    check_tree(made)
    return made


def _read(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None, tree: int | None) -> Tree:
    is_steps = is_pipeline(model)
    last = model.steps[-1][1] if is_steps and model.steps else model
    if tree is not None and is_forest(model):
        from secateur.adapters.scikit_learn import read_forest

        return read_forest(model, X, accepts_missing, tree).trees[0]
    if "TransformedTargetRegressor" in ancestor_names(model, "sklearn.compose"):
        check_fitted(model, hasattr(model, "regressor_"))
        return _invert_target(model, _read(model.regressor_, X, sample_weight, accepts_missing, tree))
    packages = [ancestor.__module__.split(".")[0] for ancestor in type(last).__mro__]
    package = next((one for one in packages if one in (OWN_PIPELINES if is_steps else ADAPTERS)), None)
    if package is not None:
        if tree is not None and package not in OF_SEVERAL_TREES:
            raise ParameterError(f"A {type(last).__qualname__} is a single tree: leave tree={tree!r} out.")
        number = {} if tree is None else {"tree": tree}
        read: Tree = import_module(ADAPTERS[package]).read_model(model, X, sample_weight, accepts_missing, **number)
        return read
    if is_steps:

        def takes_missing(last: Any, shown: bool) -> bool | None:
            is_told = accepts_missing is None and shown and ancestor_names(last, "sklearn.tree")
            return True if is_told else accepts_missing

        return read_trees(
            model,
            X,
            lambda last, rows, shown: [_read(last, rows, sample_weight, takes_missing(last, shown), tree)],
            gaps_are_zeros=not {*packages} & {*GAPS_ARE_MISSING},
        )[0]
    raise UnsupportedModelError(
        f"Expected a fitted tree of {', '.join(ADAPTERS)} or a secateur.Tree, found {type(model).__qualname__}. "
        "Hand over a tree from elsewhere with secateur.TreeBuilder or Tree.from_json; secateur.approximate(model, X) "
        "gives few rules that approximate any classifier."
    )
