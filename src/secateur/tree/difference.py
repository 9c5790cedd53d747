"""Compare the tree that rules were made from with the tree of a model."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from secateur.tree.tree import Tree, is_same

ROUNDING = 1e-9  # sums of weights may be taken in another order

ARRAYS = {
    "children_left": "its splits have other children",
    "children_right": "its splits have other children",
    "feature": "its splits test other columns",
    "upper": "its thresholds differ",
    "missing_left": "it sends blanks elsewhere",
    "category_offsets": "its splits test other categories",
    "category_codes": "its splits test other categories",
    "leaf_class": "its leaves predict other classes",
    "values": "its leaves predict other values",
}


def find_tree_differences(tree: Tree, other: Tree) -> list[str]:
    """Describe how the tree of a model differs from that of rules; nothing if the two decide every row alike."""
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


class Comparison(NamedTuple):
    """How what is stored beside rules compares with the model."""

    title: str  # what was compared, as a check says it
    differing: tuple[str, ...]  # what differs, a sentence each
    unsaid: frozenset[str] = frozenset()  # fields of stored rules that the model says nothing about, by path


def compare_trees(tree: Tree, other: Tree) -> Comparison:
    """Compare the tree of rules with a model's: what it decides, and everything that is said beside.

    A caller may name classes and columns that a model does not name, say how texts are read and which columns may be
    missing: there the model says nothing.
    """
    differing = find_tree_differences(tree, other)
    unsaid: set[str] = set()
    if not differing:
        for path, sentence in _compare_statements(tree, other):
            if sentence is None:
                unsaid.add(path)
            else:
                differing.append(sentence)
    return Comparison("the rules belong to the model's tree", tuple(differing), frozenset(unsaid))


def _compare_statements(tree: Tree, other: Tree) -> Iterator[tuple[str, str | None]]:
    """List fields that differ, each with a sentence, or with None where the model says nothing of them."""
    if tree.class_names != other.class_names:
        is_turned = sorted(tree.class_names) == sorted(other.class_names)
        told = f"The rules name the classes {', '.join(tree.class_names)}, the model {', '.join(other.class_names)}."
        yield "tree.class_names", told if is_turned else None
    if tree.feature_names is not None and other.feature_names is None:
        yield "tree.feature_names", None
    if tree.counts is not None and other.counts is None:
        yield "tree.counts", None
    elif not (
        tree.counts is None or other.counts is None or np.allclose(tree.counts, other.counts, ROUNDING, ROUNDING)
    ):
        yield "tree.counts", "The model's tree counted other rows of each class in its nodes."
    if (other.accepts_missing & ~tree.accepts_missing).any():
        yield "tree.accepts_missing", "The model takes missing values in columns where the rules take none."
    elif (tree.accepts_missing != other.accepts_missing).any():  # the caller may say so, or rows that are not here
        yield "tree.accepts_missing", None
    if not is_same(tree.monotone, other.monotone):
        yield "tree.monotone", "The model was fitted with other monotone signs than the rules say."
    if tree.columns is not None and other.columns is not None:
        if replace(tree.columns, remarks=()) != replace(other.columns, remarks=()):
            yield "tree.columns", "The columns before the model's pipeline are others than those of the rules."
        if tree.columns.remarks != other.columns.remarks:
            yield "tree.columns.remarks", None
    elif tree.columns is not None or other.columns is not None:
        yield "tree.columns", "The rules and the model are not both about columns before a pipeline."
    if tree.column_parsers != other.column_parsers and any(tree.column_parsers):
        yield "tree.column_parsers", None


def _list(labels: Any) -> str:
    return ", ".join(str(label) for label in labels.tolist())
