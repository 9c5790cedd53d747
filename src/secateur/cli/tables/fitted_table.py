"""From a table in a file to rules: rows, labels, a tree that is fitted or brought, and what is left of its rules."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secateur.adapters import from_model
from secateur.adapters.forests import is_forest
from secateur.cli.tables.fitting import DEFAULT_DEPTH, fit_tree, split_table
from secateur.cli.tables.model_rows import pick_columns
from secateur.cli.tables.training_table import TrainingTable, find_column, make_training_table, read_labels, split_names
from secateur.errors import UnsupportedModelError
from secateur.rows.labels import to_label_types
from secateur.simplification import simplify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secateur.cli.tables.table_file import TableFile
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Tree

__all__ = ["FittedTable", "find_facts", "fit_table", "label_rows", "read_one_tree", "simplify_fitted"]

PLAIN_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class FittedTable:
    """A table, the rows that are used of it, and a model for them.

    Attributes
    ----------
    name : str
        How the table is called.
    target : str
        The column of the classes.
    model : fitted tree, Pipeline or Tree
    train : TrainingTable
        The rows that the rules are made from.
    held_out : TrainingTable or None
        Rows to measure on.
    is_brought : bool
        Whether the model was there before.
    notes : tuple of str
        What was left out and why, a sentence each.
    """

    name: str
    target: str
    model: Any = field(repr=False)
    train: TrainingTable = field(repr=False)
    held_out: TrainingTable | None = field(repr=False)
    is_brought: bool
    notes: tuple[str, ...]

    @property
    def class_sizes(self) -> dict[Any, int]:
        """Rows of each class, the most frequent first."""
        return dict(Counter(self.train.y.tolist()).most_common())


def fit_table(
    table: TableFile,
    target: str,
    *,
    model: Any = None,
    drop: Sequence[str] = (),
    drop_classes: Sequence[str] = (),
    max_depth: int | None = DEFAULT_DEPTH,
    min_rows: int = 1,
    seed: int = 0,
    holdout: float = 0.0,
) -> FittedTable:
    """Settle which rows of a table are used, and fit a tree to them unless one is brought.

    Parameters
    ----------
    table : TableFile
    target : str
        The column of the classes.
    model : fitted tree, Pipeline or Tree, default=None
        By default a tree is fitted.
    drop : sequence of str, default=()
        Columns to leave out, each element one name or several with commas between them.
    drop_classes : sequence of str, default=()
        Classes whose rows are left out.
    max_depth : int, default=5
    min_rows : int, default=1
        Fewest rows of a leaf.
    seed : int, default=0
    holdout : float, default=0.0
        Share of the rows that is held out.

    Returns
    -------
    FittedTable
    """
    if model is None:
        dropped = split_names(list(table.frame.columns), drop, table.name)
        used = make_training_table(table, target, drop=dropped, drop_classes=drop_classes)
        train, held_out = split_table(used, holdout, seed)
        fitted = fit_tree(train, max_depth=max_depth, min_rows=min_rows, seed=seed)
        return FittedTable(table.name, used.target, fitted, train, held_out, False, (*table.notes, *used.notes))
    used = label_rows(table, read_one_tree(model), target, drop, drop_classes)
    train, held_out = split_table(used, holdout, seed)
    return FittedTable(table.name, used.target, model, train, held_out, True, (*table.notes, *used.notes))


def label_rows(
    table: TableFile, tree: Tree, target: str, drop: Sequence[str] = (), drop_classes: Sequence[str] = ()
) -> TrainingTable:
    """The rows of a table that have a label, as a tree takes them, and their labels as the tree knows them."""
    columns = list(table.frame.columns)
    target = find_column(columns, target, table.name)
    kept, labels, notes = read_labels(table, target, drop_classes)
    beside = [target, *split_names(columns, drop, table.name)]
    rows = pick_columns(table, tree, beside=beside)[kept].reset_index(drop=True)
    return TrainingTable(rows, to_label_types(labels, tree.classes.tolist()), target, (), (), tuple(notes))


def read_one_tree(model: Any) -> Tree:
    """The tree of a model; a forest has many."""
    if is_forest(model):
        raise UnsupportedModelError(
            "The model is a forest of trees, but the command line works on one tree: use secateur.simplify in Python."
        )
    return from_model(model)


def simplify_fitted(fitted: FittedTable, *, method: str, take_facts: bool = True, **options: Any) -> RuleSet:
    """Make rules of a fitted table.

    Parameters
    ----------
    fitted : FittedTable
    method : str
        A name in :data:`secateur.METHODS`.
    take_facts : bool, default=True
        Take for granted what the table shows: whole numbers, few decimals, columns without a blank.
    **options : object
        Further arguments of :func:`secateur.simplify`.

    Returns
    -------
    RuleSet
    """
    train = fitted.train
    tree = from_model(fitted.model, train.X)
    if take_facts:
        whole, shown = find_facts(tree, train)
        options |= {"integers": whole, "facts": [*shown, *(options.get("facts") or ())]}
    X = train.X if take_facts else _as_floats(train.X)
    return simplify(tree, X, train.y, method=method, **options)


def _as_floats(frame: Any) -> Any:
    """The same rows in columns whose types do not tell that they hold whole numbers."""
    whole = [column for column in frame.columns if frame[column].dtype.kind in "iub"]
    return frame.astype(dict.fromkeys(whole, "float64"))


def find_facts(tree: Tree, train: TrainingTable) -> tuple[list[str], list[str]]:
    """What a table shows of the columns that a tree asks for: those of whole numbers, and sentences about others.

    A sentence cannot be written about a name with a backtick or a line break.
    """
    asked = {tree.feature_name(feature): feature for feature in tree.feature[~tree.is_leaf].tolist()}
    named = {name: _quote(name) for name in asked if "`" not in name and name.isprintable()}
    facts = [
        f"{named[name]} has {n} decimal{'s' * (n > 1)}" if n else f"{named[name]} is a whole number"
        for name, n in train.decimals.items()
        if name in named
    ]
    facts += [
        f"{named[name]} is not missing" for name in train.filled if name in named and tree.accepts_missing[asked[name]]
    ]
    return [name for name in train.whole if name in asked], facts


def _quote(name: str) -> str:
    return name if PLAIN_NAME.fullmatch(name) else f"`{name}`"
