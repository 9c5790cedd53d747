"""A model and a table together: the tree in the table's own columns, and how its batches are read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from secateur.adapters import from_model
from secateur.adapters.pipelines import is_pipeline
from secateur.errors import InputError, SecateurError, shorten
from secateur.facts.stating import state_facts
from secateur.rows.batches import BatchReader
from secateur.rows.checking import asked_features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.rows.source import Source
    from secateur.tree.tree import Tree

__all__ = [
    "Naming",
    "find_beside",
    "find_texts",
    "fit_tree_to",
    "own_columns",
    "own_names",
    "pair_columns",
    "text_columns",
]

PEEKED_ROWS = 1_000


@dataclass(frozen=True)
class Naming:
    """How a caller wants a model to be read; see :func:`secateur.simplify`."""

    feature_names: Sequence[str] | None = None
    class_names: Sequence[str] | None = None
    accepts_missing: bool | None = None
    knowledge: Mapping[str, Any] = field(default_factory=dict)


def pair_columns(model: Any, source: Source, y: Any, weight: Any, naming: Naming) -> BatchReader:
    """Read a model in the columns of a table, and settle which of them are read.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
    source : Source
    y : str
        The column of the labels.
    weight : str or None
        The column of the weights.
    naming : Naming

    Returns
    -------
    BatchReader
    """
    target = find_beside(source, y, "y")
    weights = None if weight is None else find_beside(source, weight, "sample_weight")
    head = _peek(model, source)
    tree = from_model(
        model,
        head,
        feature_names=naming.feature_names,
        class_names=naming.class_names,
        accepts_missing=naming.accepts_missing,
    )
    beside = [name for name in (target, weights) if name is not None]
    tree = fit_tree_to(tree, source, beside)
    tree = state_facts(tree, source.schema.empty_table(), **naming.knowledge)
    return BatchReader(tree, source, target, weights, checks_facts=True)


def fit_tree_to(tree: Tree, source: Source, beside: Sequence[str]) -> Tree:
    """A tree with the names of a table's columns; the columns that it asks for must be there.

    Parameters
    ----------
    tree : Tree
    source : Source
    beside : sequence of str
        Columns that are not for the tree, such as the labels.

    Returns
    -------
    Tree
    """
    if tree.feature_names is None:
        rest = [name for name in source.schema.names if name not in beside]
        if len(rest) != tree.n_features:
            raise InputError(
                f"The tree was fitted on {tree.n_features} columns without names, but {source.name} has {len(rest)} "
                f"beside {' and '.join(map(repr, beside)) or 'nothing'} ({shorten(rest)}): pass feature_names."
            )
        tree = replace(tree, feature_names=tuple(rest))
    names = tree.feature_names or ()
    if tree.columns is not None and tree.columns.derive is not None:
        asked = list(names[: tree.n_features - len(tree.columns.derived)])
    else:
        asked = [names[feature] for feature in sorted(asked_features(tree))]
    for name in asked:
        if source.find(name, "the tree was fitted on") in beside:
            raise InputError(
                f"The column {name!r} of {source.name} cannot be the tree's and the labels or weights too."
            )
    return tree


def own_names(tree: Tree) -> list[str] | None:
    """The columns that a tree's rows have, without those that only its pipeline makes."""
    if tree.feature_names is None:
        return None
    n_derived = 0 if tree.columns is None else len(tree.columns.derived)
    return list(tree.feature_names[: tree.n_features - n_derived])


def text_columns(tree: Tree) -> list[str]:
    """Columns whose values are text, whatever they look like in a file."""
    names = own_names(tree) or []
    return [
        name
        for name, levels in zip(names, tree.categories, strict=False)
        if levels and all(isinstance(level, str) for level in levels)
    ]


def find_texts(model: Any, y: Any = None) -> list[str]:
    """Columns of a model whose values are text, and that of its labels if they are; none of a model that needs rows.

    Parameters
    ----------
    model : fitted tree, pipeline, forest or Tree
    y : object, default=None
        The column of the labels.

    Returns
    -------
    list of str
    """
    try:
        tree = from_model(model)
    except SecateurError:
        return []
    labels = [y] if isinstance(y, str) and tree.classes.dtype.kind == "U" else []
    return [*text_columns(tree), *labels]


def own_columns(model: Any) -> list[str] | None:
    """The names of the columns that a model takes; None where it does not know them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return own_names(from_model(model))
    return [str(name) for name in names]


def find_beside(source: Source, name: Any, what: str) -> str:
    """A column that is not for the tree, which somebody named."""
    if not isinstance(name, str):
        raise InputError(f"Expected {what} as the name of a column of the table, found {type(name).__name__}.")
    return source.find(name, f"{what} names")


def _peek(model: Any, source: Source) -> Any:
    """A few rows as a pipeline takes them; it alone shows what their types do to it."""
    names = getattr(model, "feature_names_in_", None)
    if not is_pipeline(model) or names is None:
        return None
    columns = [source.find(str(name), "the pipeline was fitted on") for name in names]
    batch = source.peek(columns)
    return None if batch is None else batch.slice(0, PEEKED_ROWS).to_pandas()
