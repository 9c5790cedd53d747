"""Compare the tree that rules were made from with the tree of a model."""

from __future__ import annotations

from typing import Any

from secateur.tree.tree import Tree, is_same

__all__ = ["find_tree_differences"]

ARRAYS = {
    "children_left": "its splits have other children",
    "children_right": "its splits have other children",
    "feature": "its splits test other columns",
    "upper": "its thresholds differ",
    "missing_left": "it sends blanks elsewhere",
    "category_offsets": "its splits test other categories",
    "category_codes": "its splits test other categories",
    "leaf_class": "its leaves predict other classes",
}


def find_tree_differences(tree: Tree, other: Tree) -> list[str]:
    """Describe how the tree of a model differs from that of rules; nothing if the two decide every row alike.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from secateur import datasets, from_model
    >>> table = datasets.load("weather")
    >>> trees = [DecisionTreeClassifier(max_depth=depth).fit(table.X, table.y) for depth in (1, 2)]
    >>> flat, deep = [from_model(tree) for tree in trees]
    >>> find_tree_differences(deep, flat)
    ['The model has 2 leaves, but the rules are of a tree with 3.']
    """
    found = []
    if tree.classes.tolist() != other.classes.tolist():
        found.append(f"The model's classes are {_list(other.classes)}, but the rules are about {_list(tree.classes)}.")
    if tree.n_features != other.n_features:
        found.append(f"The model has {other.n_features} columns, but the rules are of a tree with {tree.n_features}.")
    elif None not in (tree.feature_names, other.feature_names) and tree.feature_names != other.feature_names:
        found.append("The model's columns have other names or another order than those of the rules.")
    elif tree.categories != other.categories:
        found.append("The model's columns have other categories than those of the rules.")
    if tree.n_leaves != other.n_leaves or tree.n_nodes != other.n_nodes:
        found.append(f"The model has {other.n_leaves} leaves, but the rules are of a tree with {tree.n_leaves}.")
        return found
    differing = [words for name, words in ARRAYS.items() if not is_same(getattr(tree, name), getattr(other, name))]
    if tree.dtype != other.dtype:
        differing.append("it rounds numbers differently")
    if differing:
        found.append(f"The model's tree is not the tree of the rules: {', and '.join(dict.fromkeys(differing))}.")
    return found


def _list(labels: Any) -> str:
    return ", ".join(str(label) for label in labels.tolist())
