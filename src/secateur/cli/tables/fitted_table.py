"""Make rules of a table in a file: pick its rows and labels, fit a tree or take one, and simplify it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters import from_model
from secateur.adapters.reading import is_ensemble
from secateur.cli.tables.table_columns import find_reading, set_readings, take_rows, write_labels
from secateur.cli.tables.table_file import TableFile
from secateur.cli.tables.training_table import (
    TrainingTable,
    find_column,
    make_training_table,
    number_labels,
    read_labels,
    read_numbers,
    split_names,
)
from secateur.errors import InputError, ParameterError, UnsupportedModelError, shorten
from secateur.results.measures import FEW_ROWS, Measures, ValueMeasures, measure_groups
from secateur.results.policy import Policy, parse_policy
from secateur.rows.encoding import as_label, to_label_types
from secateur.rows.row_source import GivenRows
from secateur.rules.making import Split
from secateur.rules.rules import Rules
from secateur.simplification import simplify
from secateur.tree.tree import Tree

DEFAULT_DEPTH = 5
# The most frequent categories of a column that are told apart; the others count as one.
MAX_CATEGORIES = 20
HOLDOUT = 0.25  # of the rows, by default
SMALL_TABLE = 200  # rows; of fewer none are set aside by default
FOLDS = 5
SHOWN_ROWS = 10_000  # of a table, to read a pipeline that was fitted to it
PLAIN_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class FittedTable:
    """A table, the rows that are used of it, and a model for them."""

    name: str  # of the table
    target: str  # the column of the classes
    model: Any = field(repr=False)  # a fitted tree or Pipeline, or a Tree
    train: TrainingTable = field(repr=False)  # the rows that the rules are made from
    held_out: TrainingTable | None = field(repr=False)  # rows to measure on
    notes: tuple[str, ...]  # what was left out and why, a sentence each
    min_rows: int | None = None  # the fewest rows that a leaf may have, of a tree that was fitted here
    split: Split | None = None  # how rows were held out
    crossed: Measures | ValueMeasures | None = None  # of a small table: measured by trees fitted to other rows


def fit_table(
    table: TableFile,
    target: str,
    *,
    model: Any = None,
    drop: Sequence[str] = (),
    drop_classes: Sequence[str] = (),
    keep: Sequence[str] = (),
    classes: bool = False,
    max_depth: int | None = DEFAULT_DEPTH,
    min_rows: int | None = None,
    balanced: bool = False,
    seed: int = 0,
    holdout: float | None = 0.0,
    split_by: str | None = None,
    group: str | None = None,
) -> FittedTable:
    """Settle which rows of a table are used, and fit a tree to them unless a model is given."""
    if split_by is not None and group is not None:
        raise ParameterError("Rows are set aside by --split-by or by --group, not by both.")
    aside = [find_column(list(table.frame.columns), one, table.name) for one in (split_by, group) if one is not None]
    if model is None:
        wanted = split_names(list(table.frame.columns), keep, table.name)
        left_out = [one for one in aside if one not in wanted]
        used = make_training_table(
            table, target, drop=[*drop, *left_out], drop_classes=drop_classes, keep=keep, classes=classes
        )
    else:
        used = label_rows(table, read_one_tree(model), target, drop, drop_classes)
        used = replace(used, X=write_labels(model, used.X))
    is_small = holdout is None and model is None and len(used.y) < SMALL_TABLE and not aside
    if holdout is None:
        holdout = 0.0 if is_small or (model is not None and not aside) else HOLDOUT
    split = Split(holdout, seed, *((aside[0], None) if split_by is not None else (None, *aside)))
    train, held_out = split_table(used, split, table)
    fitted, fewest, crossed = model, None, None
    growing: dict[str, Any] = {"max_depth": max_depth, "seed": seed, "balanced": balanced}
    if model is None:
        fewest = choose_min_rows(len(train.y)) if min_rows is None else min_rows
        fitted = fit_tree(train, min_rows=fewest, **growing)
        crossed = cross_fit(train, min_rows=min_rows, **growing) if is_small else None
    notes = (*table.notes, *used.notes)
    held = None if held_out is None else split
    return FittedTable(table.name, used.target, fitted, train, held_out, notes, fewest, held, crossed)


def choose_min_rows(n_rows: int) -> int:
    """Choose how many rows a leaf has at least: five, or in tables of under 100 rows a twentieth of them."""
    return max(1, min(FEW_ROWS, n_rows // 20))


def fit_tree(
    table: TrainingTable,
    *,
    max_depth: int | None = DEFAULT_DEPTH,
    min_rows: int = 1,
    seed: int = 0,
    balanced: bool = False,
) -> Any:
    """Fit a decision tree to a table, or a pipeline that ends in one where columns are encoded; a blank is a value."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    options: dict[str, Any] = {"max_depth": max_depth, "min_samples_leaf": min_rows, "random_state": seed}
    if table.is_regression:
        if balanced:
            raise ParameterError("--balanced lets classes count alike, and the target holds numbers: leave it out.")
        tree = DecisionTreeRegressor(**options)
    else:
        tree = DecisionTreeClassifier(class_weight="balanced" if balanced else None, **options)
    if not table.categories:
        return _fit(tree, table.X, table.y)
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MAX_CATEGORIES + 1,  # one more for the others
        sparse_output=False,
        dtype=np.float32,
    )
    columns = ColumnTransformer(
        [("categories", encoder, list(table.categories))], remainder="passthrough", verbose_feature_names_out=False
    )
    codes = [pd.factorize(table.X[name], use_na_sentinel=False)[0] for name in table.categories]
    n_values = max(int(one.max()) + 1 for one in codes)
    listed = {}
    for name, own in zip(table.categories, codes, strict=True):
        # Values as they stand in the table: factorize of pandas 2 gives NaN for None.
        first = np.flatnonzero(np.diff(np.maximum.accumulate(own), prepend=-1))
        listed[name] = table.X[name].iloc[first[np.arange(n_values) % len(first)]].array
    # The encoder looks at each row of objects, which takes longer than to fit the tree: let it see each value once.
    # Only which of many values are rare depends on how often they occur.
    is_short = n_values <= min(MAX_CATEGORIES, len(table.y))
    columns.fit(table.X.iloc[:n_values].assign(**listed) if is_short else table.X)
    parts = _encode(columns.named_transformers_["categories"], pd.DataFrame(listed), codes)
    parts.append(table.X.drop(columns=list(table.categories)).to_numpy(dtype=np.float32))
    # A tree looks at one column after the other.
    rows = np.empty((len(table.y), sum(part.shape[1] for part in parts)), dtype=np.float32, order="F")
    np.concatenate(parts, axis=1, out=rows)
    return Pipeline([("columns", columns), ("tree", _fit(tree, rows, table.y))])


def _fit(tree: Any, X: Any, y: NDArray[Any]) -> Any:
    """Fit a tree; of classes that are texts, which scikit-learn would sort, to their places."""
    if y.dtype != object:
        return tree.fit(X, y)
    classes, places = number_labels(y)
    tree.fit(X, places).classes_ = classes
    return tree


def _encode(encoder: Any, listed: Any, codes: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float32]]:
    """Encode each of some columns as the encoder does, from their listed values and the codes of rows among them."""
    rare = getattr(encoder, "infrequent_categories_", [None] * len(codes))
    widths = [
        len(known) - (0 if few is None else len(few) - 1) for known, few in zip(encoder.categories_, rare, strict=True)
    ]
    parts = np.split(encoder.transform(listed), np.cumsum(widths)[:-1], axis=1)
    return [part[own] for part, own in zip(parts, codes, strict=True)]


def split_table(
    table: TrainingTable, split: Split, source: TableFile | None = None
) -> tuple[TrainingTable, TrainingTable | None]:
    """Split off a share of the rows: from each class, the last by a column of ``source``, or whole groups."""
    share = split.share
    if not 0 <= share < 1:
        raise ParameterError(f"Expected the share to hold out as a number from 0 to less than 1, found {share}.")
    if share == 0:
        return table, None
    if split.by is not None or split.group is not None:
        assert source is not None
        is_held = _find_last(table, split, source) if split.by is not None else _draw_groups(table, split, source)
        classes = [] if table.is_regression else table.y.tolist()
        missed = sorted({*map(as_label, classes)} - {*map(as_label, table.y[~is_held].tolist())})
        if not is_held.any() or missed:
            what = f"no row of {missed[0]!r} would be left to learn from" if missed else "no row would be set aside"
            raise InputError(f"Cannot split by {split.by or split.group!r}: {what}. Name another column or --holdout.")
        return table.take(np.flatnonzero(~is_held)), table.take(np.flatnonzero(is_held))
    from sklearn.model_selection import train_test_split

    labels = None
    if not table.is_regression:
        values, places = number_labels(table.y)
        labels = values.astype(str)[places] if table.y.dtype != object else places
    try:
        kept, held_out = train_test_split(
            np.arange(len(table.y)), test_size=share, stratify=labels, random_state=split.seed
        )
    except ValueError as error:
        raise InputError(
            f"Cannot hold out a share of {share:g} of {len(table.y):,} rows with every class on both sides: pass "
            "--holdout 0, or more rows."
        ) from error
    return table.take(np.sort(kept)), table.take(np.sort(held_out))


def split_again(
    rules: Rules, table: TrainingTable, source: TableFile, holdout: float | None = None, seed: int = 0
) -> tuple[TrainingTable, TrainingTable | None]:
    """Set the rows aside that were set aside when rules were made, as their file says unless a share is given."""
    own = None if rules.unseen is None or holdout is not None else rules.unseen.split
    return split_table(table, own or Split(holdout or 0.0, seed), source)


def _find_last(table: TrainingTable, split: Split, source: TableFile) -> NDArray[np.bool_]:
    """Mark the last rows by a column of numbers or dates; equal values stay together, blanks come first."""
    assert split.by is not None
    name = find_column(list(source.frame.columns), split.by, source.name)
    values, kind = source.frame[name], source.kinds[name]
    if kind in ("text", "date"):
        found = find_reading(values, month_first=source.month_first)
        values = None if found is None else found.read(values, name, source.name)
    elif kind != "number":
        values = None
    if values is None:
        raise InputError(f"The column {name!r} holds no numbers or dates, so no row of it is later: name another one.")
    numbers = np.asarray(values, dtype=np.float64)[table.places]
    known = numbers[~np.isnan(numbers)]
    limit = np.quantile(known, 1 - split.share, method="higher") if len(known) else np.nan
    return numbers >= limit if (known < limit).any() else numbers > limit


def _draw_groups(table: TrainingTable, split: Split, source: TableFile) -> NDArray[np.bool_]:
    """Mark the rows of groups that are drawn until they have a share of the rows; a blank is a group of its own."""
    import pandas as pd

    assert split.group is not None
    name = find_column(list(source.frame.columns), split.group, source.name)
    codes, _ = pd.factorize(source.frame[name].iloc[table.places], use_na_sentinel=False)
    order = np.random.RandomState(split.seed).permutation(codes.max(initial=-1) + 1)
    before = np.cumsum(np.bincount(codes)[order]) - np.bincount(codes)[order]
    return np.isin(codes, order[before < split.share * len(codes) - 0.5])


def cross_fit(
    table: TrainingTable, *, min_rows: int | None = None, seed: int = 0, **growing: Any
) -> Measures | ValueMeasures | None:
    """Measure trees that are fitted as this table's is, each on rows that it has not seen; None if none can be."""
    from sklearn.model_selection import KFold, StratifiedKFold

    rows = f"{len(table.y)} rows, each judged by a tree that was not fitted to it"

    def grow(kept: NDArray[np.int64]) -> Any:
        fewest = choose_min_rows(len(kept)) if min_rows is None else min_rows
        return fit_tree(table.take(kept), min_rows=fewest, seed=seed, **growing)

    if table.is_regression:
        tree, mean = np.empty((2, len(table.y)))
        for kept, left in KFold(FOLDS, shuffle=True, random_state=seed).split(table.y):
            tree[left], mean[left] = grow(kept).predict(table.X.iloc[left]), table.y[kept].mean()
        error, guess_error = (float(((said - table.y) ** 2).mean() ** 0.5) for said in (tree, mean))
        return ValueMeasures(rows, error, float(table.y.mean()), guess_error)
    labels, names = np.unique(table.y.astype(str), return_inverse=True)[::-1]
    sizes = np.bincount(labels)
    n_folds = min(FOLDS, int(sizes.min()))
    if n_folds < 2:
        return None
    shares = np.zeros((len(labels), len(sizes)))
    for kept, left in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labels[:, None], labels):
        model = grow(kept)
        known = np.searchsorted(names, model.classes_.astype(str))
        shares[np.ix_(left, known)] = model.predict_proba(table.X.iloc[left])
    said, own = shares.argmax(axis=1), np.zeros(shares.shape)
    own[np.arange(len(labels)), labels] = 1.0
    of = int(sizes.argmin()) if len(sizes) == 2 and sizes[0] != sizes[1] else 1 if len(sizes) == 2 else None
    return measure_groups(names.tolist(), rows, said, shares, own, guess=int(sizes.argmax()), of=of)


def label_rows(
    table: TableFile,
    tree: Tree,
    target: str,
    drop: Sequence[str] = (),
    drop_classes: Sequence[str] = (),
    classes: bool = False,
) -> TrainingTable:
    """Pick the labelled rows of a table as a tree takes them; the tree knows itself whether it predicts ``classes``."""
    columns = list(table.frame.columns)
    target = find_column(columns, target, table.name)
    beside = [target, *split_names(columns, drop, table.name)]
    if tree.is_regression:
        read = read_numbers(table, target, always=True)
        if read is None:
            raise InputError(f"The column {target!r} of {table.name} holds no numbers, and the model predicts numbers.")
    else:
        is_blank_kept = any(isinstance(one, str) and one.strip(" ") != one for one in tree.classes.tolist())
        read = read_labels(table, target, drop_classes, as_text=is_blank_kept)
        read = read._replace(values=to_label_types(read.values, tree.classes.tolist()))
    rows, readings, told = take_rows(table, tree, beside, read.kept)  # first: it may be another table
    if not tree.is_regression:
        _check_labels(read.values, tree, f"The column {target!r} of {table.name}", table.frame.index[read.kept])
    return TrainingTable(
        *(rows, read.values, target, (), (), (*read.notes, *told)),
        readings=readings,
        is_regression=tree.is_regression,
        pattern=read.pattern,
        places=np.flatnonzero(read.kept),
    )


def _check_labels(labels: NDArray[Any], tree: Tree, where: str, numbers: Any) -> None:
    """Reject a label that the model never saw; ``numbers`` are those of the table's rows, from 0."""
    known = set(tree.classes.tolist())
    place = next((place for place, label in enumerate(labels.tolist()) if label not in known), None)
    if place is not None:
        strange = as_label(labels.tolist()[place])
        raise InputError(
            f"{where} holds {strange!r} (row {numbers[place] + 1}), which the model never saw: its classes are "
            f"{shorten([as_label(label) for label in tree.classes.tolist()])}. Name another column with --target, or "
            f"leave such rows out with --drop-class {strange!r}."
        )


def read_policy(text: str, rules: Rules, table: TableFile, labelled: TrainingTable) -> tuple[Policy, Any]:
    """Read a policy about any column of a table, and the labelled rows as it takes them."""
    if rules.tree.is_regression:
        raise InputError("A policy answers with classes, and the rules predict numbers: leave out --policy.")
    rows = labelled.X.copy(deep=False)
    for column in table.frame.columns:
        if column not in rows and column != labelled.target:
            values = table.frame[column].iloc[labelled.places].reset_index(drop=True)
            found = find_reading(values, month_first=table.month_first)
            rows[column] = values if found is None else found.read(values, column, table.name)
    known = {str(name): None if rows[name].dtype.kind != "O" else rows[name].dropna().unique() for name in rows}
    return parse_policy(text, known, dict(zip(rules.tree.class_names, rules.tree.classes.tolist(), strict=True))), rows


def read_one_tree(model: Any) -> Tree:
    """Read the tree of a model; reject several trees."""
    if is_ensemble(model):
        raise UnsupportedModelError(
            "The model is of several trees, and this is about one tree: `secateur approximate MODEL DATA` approximates "
            "it by a short list."
        )
    try:
        return from_model(model)
    except UnsupportedModelError as error:
        if not hasattr(model, "predict"):
            raise
        raise UnsupportedModelError(
            f"{str(error).partition('. ')[0]}. `secateur approximate MODEL DATA` approximates any other model by a "
            "short list."
        ) from error


def read_texts_again(model: Any, X: Any, tree: Tree, table: TableFile, target: str) -> Tree:
    """Read a model's tree, with the column parsers that the table itself shows, whatever the tree of rules says."""
    return set_readings(from_model(model, X), take_rows(table, replace(tree, column_parsers=()), [target]).readings)


def simplify_fitted(fitted: FittedTable, *, takes_facts: bool = True, **options: Any) -> Rules:
    """Make rules of a fitted table; with ``takes_facts``, what the table shows of its columns is stated as facts."""
    train = fitted.train
    names = [train.pattern] if train.is_regression and train.pattern != "{}" else None
    rows, accepts = (train.X, None) if fitted.min_rows is None or not train.categories else _show_model(fitted)
    tree = set_readings(from_model(fitted.model, rows, accepts_missing=accepts, class_names=names), train.readings)
    if takes_facts:
        whole, shown = find_facts(tree, train)
        options |= {"integers": whole, "facts": [*shown, *(options.get("facts") or ())]}
        rules = simplify(tree, train.X, train.y, **options)
    else:  # the types of columns must not tell that they hold whole numbers
        whole = [column for column in train.X.columns if train.X[column].dtype.kind in "iub"]
        rules = simplify(tree, train.X.astype(dict.fromkeys(whole, "float64")), train.y, **options)
    may_have_seen = fitted.min_rows is None  # a model that was given
    return rules if fitted.held_out is None or may_have_seen else set_aside(rules, fitted.held_out, fitted.split)


def _show_model(fitted: FittedTable) -> tuple[Any, bool | None]:
    """Take as many rows as it takes to read a pipeline that was fitted here, and tell whether it saw NaN."""
    X, tree = fitted.train.X, fitted.model.steps[-1][1]
    numbers = X.columns.drop(list(fitted.train.categories))
    first = tree.n_features_in_ - len(numbers)  # categories come before them
    asked = {numbers[place - first] for place in tree.tree_.feature.tolist() if place >= first}
    return X.iloc[:: 1 + len(X) // SHOWN_ROWS], X[list(asked)].isna().any(axis=None) or None


def set_aside(rules: Rules, held_out: TrainingTable, split: Split | None, train: TrainingTable | None = None) -> Rules:
    """Count held-out rows for rules, and keep how they were set aside; of rules from a file, with the training rows."""
    measured = rules.measure(held_out.X, held_out.y)
    assert measured.unseen is not None
    measured = measured.change(unseen=replace(measured.unseen, split=split))
    return measured if train is None else measured.change(training=GivenRows(train.X, train.y, None))


def describe_split(fitted: FittedTable) -> list[str]:
    """Say which rows were set aside, if any."""
    held, split = fitted.held_out, fitted.split
    if held is None or split is None:
        return []
    n_rows = len(held.y) + len(fitted.train.y)
    how = "drawn at random" if held.is_regression else "drawn from each class"
    if split.by is not None:
        how = f"the last by {split.by!r}"
    elif split.group is not None:
        how = f"whole groups by {split.group!r}"
    seed = "" if split.by is not None else f" (seed {split.seed})"
    seen = "to measure on; the tree has not seen them" if fitted.min_rows is not None else "to measure on"
    return [f"Set aside {len(held.y):,} of {n_rows:,} rows, {how}{seed}, {seen} (--holdout 0 uses all)."]


def describe_facts(fitted: FittedTable, tree: Tree) -> list[str]:
    """Say which facts were taken from the table, if any."""
    whole, facts = find_facts(tree, fitted.train)
    whole = [name for name in whole if name not in fitted.train.readings]  # that a date is one goes without saying
    told = "; ".join([*(f"{name} is a whole number" for name in whole), *facts])
    return [f"Stated facts, as the table shows them: {told} (--no-facts states none)."] if told else []


def find_facts(tree: Tree, train: TrainingTable) -> tuple[list[str], list[str]]:
    """Find what a table shows of the columns that a tree asks for: those of whole numbers, and facts about others."""
    asked = {tree.feature_name(feature): feature for feature in tree.feature[~tree.is_leaf].tolist()}
    named = {  # a fact cannot be written about a name with a backtick or a line break
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
