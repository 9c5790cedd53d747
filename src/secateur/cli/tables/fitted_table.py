"""Make rules of a table in a file: pick its rows and labels, fit a tree or take one, and simplify it."""

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
    """A table, the rows that are used of it, and a model for them."""

    name: str  # of the table
    target: str  # the column of the classes
    model: Any = field(repr=False)  # a fitted tree or Pipeline, or a Tree
    train: TrainingTable = field(repr=False)  # the rows that the rules are made from
    held_out: TrainingTable | None = field(repr=False)  # rows to measure on
    is_brought: bool  # whether the model was there before
    notes: tuple[str, ...]  # what was left out and why, a sentence each

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
    """Settle which rows of a table are used, and fit a tree to them unless a model is given.

    An element of ``drop`` is one column or several separated by commas; ``holdout`` is the share of the rows that is
    held out.
    """
    if model is None:
        dropped = split_names(list(table.frame.columns), drop, table.name)
        used = make_training_table(table, target, drop=dropped, drop_classes=drop_classes)
    else:
        used = label_rows(table, read_one_tree(model), target, drop, drop_classes)
    train, held_out = split_table(used, holdout, seed)
    fitted = fit_tree(train, max_depth=max_depth, min_rows=min_rows, seed=seed) if model is None else model
    notes = (*table.notes, *used.notes)
    return FittedTable(table.name, used.target, fitted, train, held_out, model is not None, notes)


def label_rows(
    table: TableFile, tree: Tree, target: str, drop: Sequence[str] = (), drop_classes: Sequence[str] = ()
) -> TrainingTable:
    """Pick the labelled rows of a table as a tree takes them, and turn their labels into the tree's classes."""
    columns = list(table.frame.columns)
    target = find_column(columns, target, table.name)
    kept, labels, notes = read_labels(table, target, drop_classes)
    beside = [target, *split_names(columns, drop, table.name)]
    rows = pick_columns(table, tree, beside=beside)[kept].reset_index(drop=True)
    return TrainingTable(rows, to_label_types(labels, tree.classes.tolist()), target, (), (), tuple(notes))


def read_one_tree(model: Any) -> Tree:
    """Read the tree of a model; refuse a forest."""
    if is_forest(model):
        raise UnsupportedModelError(
            "The model is a forest of trees, but the command line takes one tree: use secateur.simplify in Python."
        )
    return from_model(model)


def simplify_fitted(fitted: FittedTable, *, method: str, take_facts: bool = True, **options: Any) -> RuleSet:
    """Make rules of a fitted table; the options are those of :func:`secateur.simplify`.

    With ``take_facts``, take for granted what the table shows: whole numbers, few decimals, columns without a blank.
    """
    train = fitted.train
    tree = from_model(fitted.model, train.X)
    if take_facts:
        whole, shown = find_facts(tree, train)
        options |= {"integers": whole, "facts": [*shown, *(options.get("facts") or ())]}
    X = train.X if take_facts else _as_floats(train.X)
    return simplify(tree, X, train.y, method=method, **options)


def _as_floats(frame: Any) -> Any:
    """Hide in the types of columns that they hold whole numbers."""
    whole = [column for column in frame.columns if frame[column].dtype.kind in "iub"]
    return frame.astype(dict.fromkeys(whole, "float64"))


def find_facts(tree: Tree, train: TrainingTable) -> tuple[list[str], list[str]]:
    """Find what a table shows of the columns that a tree asks for: those of whole numbers, and facts about others.

    A fact cannot be written about a name with a backtick or a line break.
    """
    asked = {tree.feature_name(feature): feature for feature in tree.feature[~tree.is_leaf].tolist()}
    named = {
        name: name if PLAIN_NAME.fullmatch(name) else f"`{name}`"
        for name in asked
        if "`" not in name and name.isprintable()
    }
    facts = [
        f"{named[name]} has {n} decimal{'s' * (n > 1)}" if n else f"{named[name]} is a whole number"
        for name, n in train.decimals.items()
        if name in named
    ]
    facts += [
        f"{named[name]} is not missing" for name in train.filled if name in named and tree.accepts_missing[asked[name]]
    ]
    return [name for name in train.whole if name in asked], facts
