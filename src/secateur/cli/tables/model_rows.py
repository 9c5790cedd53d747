"""Bring the rows of a table to the columns, order and types that a model takes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.cli.tables.written_columns import cut_column, describe_cut, describe_readings, find_reading, read_values
from secateur.errors import InputError, did_you_mean, shorten
from secateur.results.row_reading import make_up
from secateur.rows.encoding import cut_blanks
from secateur.rows.sources import own_names, tested_features
from secateur.rows.written_values import as_label, as_truth, read_written
from secateur.tree.columns import ColumnParser, find_cuts
from secateur.words.conditions import count_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from secateur.cli.tables.table_file import TableFile
    from secateur.tree.tree import Tree

BLANKS = ("", "na", "nan", "null", "none", "missing", "?")


def pick_columns(table: TableFile, tree: Tree, *, beside: Sequence[str] = ()) -> Any:
    """Pick the columns that a tree was fitted on, in its order and of its types; ``beside`` are not for the tree."""
    names, present = own_names(tree), list(table.frame.columns)
    if names is None:
        rest = [column for column in present if column not in beside]
        if len(rest) != tree.n_features:
            raise InputError(
                f"The model was fitted on {tree.n_features} columns without names, but {table.name} has {len(rest)} "
                f"({shorten(rest)}): leave out those that are not for the model with --drop."
            )
        named = table.frame[rest].set_axis([str(name) for name in rest], axis=1)
        return _check_types(to_types(named, tree), tree, table.name)
    return _check_types(to_types(pick_named(table, names), tree), tree, table.name)


def pick_named(table: TableFile, names: Sequence[str]) -> Any:
    """Pick the columns that a model was fitted on by their names; raise if one is absent."""
    present = list(table.frame.columns)
    absent = [name for name in names if name not in present]
    if absent and len(absent) == len(names):
        raise InputError(
            f"{table.name} has none of the columns that the model was fitted on ({shorten(names)}): is it another "
            "table?"
        )
    if absent:
        raise InputError(
            f"{table.name} does not fit the model: it has no column{'s' * (len(absent) > 1)} {shorten(absent)}, which "
            f"the model was fitted on.{did_you_mean(absent[0], present)}"
        )
    return table.frame[list(names)]


def read_for_tree(
    table: TableFile, tree: Tree, beside: Sequence[str] = ()
) -> tuple[TableFile, dict[str, ColumnParser], list[str]]:
    """Read the texts and dates of a table as the numbers that a tree compares, and say what was found by looking.

    A tree with readings says how; of one without, such as a saved model, the columns of numbers are looked at, even
    those that the tree does not ask for: a pipeline takes them all. Blanks around texts are cut where no category of
    the tree has any.
    """
    names = own_names(tree) or [column for column in table.frame.columns if column not in beside]
    frame, kinds = table.frame.copy(deep=False), dict(table.kinds)
    readings: dict[str, ColumnParser] = {}
    found, cut = {}, []
    for feature, column in enumerate(names[: tree.n_features]):
        levels = tree.categories[feature]
        if kinds.get(column) == "text" and levels and cut_blanks(levels) == list(levels):
            if (without := cut_column(frame[column])) is not None:
                frame[column], readings[column] = without, ColumnParser("text")
                cut += [column] if tree.column_parser(feature) is None else []
            continue
        if kinds.get(column) not in ("text", "date") or levels is not None:
            continue
        reading = tree.column_parser(feature)
        if reading is None and not tree.column_parsers:
            one = None
            with suppress(InputError):  # the column may be for nobody; else its check names the odd value
                one = find_reading(frame[column], column, month_first=table.month_first)
            if one is not None:
                reading, found[column] = one.reading, one
        if reading is not None:
            frame[column] = read_values(frame[column], reading, column, table.name)
            readings[column], kinds[column] = reading, "number"
    return replace(table, frame=frame, kinds=kinds), readings, [*describe_cut(cut), *describe_readings(found)]


def describe_unseen(rows: Any, tree: Tree, where: str) -> list[str]:
    """Say which columns of a table hold values that the tree does not know, and that these count as any other."""
    notes = []
    for feature, column in enumerate(rows.columns):
        levels = tree.categories[feature]
        if feature not in tested_features(tree) or levels is None or find_cuts(tree, feature) is not None:
            continue
        values = rows[column]
        strange = values[values.notna() & ~values.isin(list(levels))]
        if len(strange):
            example = strange.value_counts().index[0]
            notes.append(
                f"{len(strange):,} of {count_of(len(rows), 'row')} of {where} hold a value of {column} that the tree "
                f"does not know, such as {example!r}, and count as any other: it knows {shorten(levels)}."
                f"{did_you_mean(example, map(str, levels))}"
            )
    return notes


def _check_types(frame: Any, tree: Tree, where: str) -> Any:
    """Refuse text in a column of which the tree asks a number or a truth value, and name the first."""
    asked = set(tree.feature[~tree.is_leaf].tolist())
    for feature, (column, levels) in enumerate(zip(frame.columns, tree.categories, strict=False)):
        values = frame[column]
        if feature not in asked or values.dtype.kind != "O" or any(isinstance(level, str) for level in levels or ()):
            continue
        texts = values[[isinstance(value, str) and not _is_number(value) for value in values]]
        if len(texts):
            is_truth = bool(levels) and all(isinstance(level, bool) for level in levels or ())
            raise InputError(
                f"The column {column!r} of {where} holds {texts.iloc[0]!r} (row {texts.index[0] + 1}), but the model "
                f"takes {'true or false' if is_truth else 'a number'} there: repair it, or if it is a blank pass "
                f"--missing {texts.iloc[0]!r}."
            )
    return frame


def to_types(frame: Any, tree: Tree) -> Any:
    """Give columns the types that the tree expects where that is safe: truth values and digits."""
    typed = frame.copy(deep=False)
    # Behind a pipeline, a column that no split asks for stays what the pipeline was fitted on.
    numbers = set(tree.feature[~tree.is_leaf].tolist()) if tree.columns is not None else set(range(tree.n_features))
    for feature, (column, levels) in enumerate(zip(frame.columns, tree.categories, strict=False)):
        values = frame[column]
        is_text = values.dtype.kind == "O"
        values = values.astype(object) if is_text else values
        if levels is None and is_text and feature in numbers:
            words = values.map(as_truth, na_action="ignore")
            if values.isna().all() or words.notna().equals(values.notna()):
                typed[column] = words.astype(np.float64)
        elif levels and all(isinstance(level, bool) for level in levels) and is_text:
            typed[column] = values.map(lambda value: as_truth(value, value), na_action="ignore")
        elif levels and all(isinstance(level, str) for level in levels) and values.dtype.kind in "ifb":
            typed[column] = values.astype(object).map(as_label, na_action="ignore")
    return typed


def parse_row(tree: Tree, given: dict[str, Any], needed: Collection[int] | None = None) -> dict[str, Any]:
    """Read one row from names and values as people write them; columns that the tree never asks for may be absent.

    If only some columns are ``needed``, others that the tree asks for may be absent too; they get any value that is
    possible.
    """
    names = own_names(tree) or [tree.feature_name(feature) for feature in range(tree.n_features)]
    strange = [name for name in given if name not in names]
    if strange:
        hint = did_you_mean(strange[0], names)
        raise InputError(f"The rules know no column {strange[0]!r}.{hint} Their columns are {shorten(names)}.")
    asked = set(tree.feature[~tree.is_leaf].tolist())
    if tree.columns is not None and tree.columns.derived:
        asked = set(range(len(names)))  # a column that the pipeline makes may need any of them
        needed = None
    required = asked if needed is None else asked.intersection(needed)
    absent = [name for feature, name in enumerate(names) if feature in required and name not in given]
    if absent:
        raise InputError(f"The row has no value for {shorten(absent)}: write NAME=VALUE, and NAME= for a blank.")
    return {
        name: make_up(tree, feature)
        if feature in asked and name not in given
        else _parse_value(tree, feature, given.get(name) if feature in asked else None)  # others may hold anything
        for feature, name in enumerate(names)
    }


def _parse_value(tree: Tree, feature: int, value: Any) -> Any:
    levels = tree.categories[feature]
    cuts = None if tree.columns is None else tree.columns.cuts[feature]
    if value is None:
        return None if tree.accepts_missing[feature] or levels is not None else 0.0
    if levels is not None and cuts is None:
        return _parse_label(levels, value)
    if isinstance(value, str):
        if _is_blank(value):
            return None
        if (parser := tree.column_parser(feature)) is not None:
            try:
                return _read_text(value, parser, tree.feature_name(feature))
            except InputError:  # a plain number, which the column's own marks may not allow, is meant as it stands
                if parser.kind != "number" or not _is_number(value):
                    raise
        try:
            return float(value)
        except ValueError:
            raise InputError(f"Expected a number for {tree.feature_name(feature)!r}, found {value!r}.") from None
    return value


def _read_text(value: str, reading: ColumnParser, name: str) -> float:
    """Read an amount, a date or a time as a person writes it."""
    import pyarrow as pa

    try:
        return float(read_written(pa.array([value]), reading, name)[0])
    except InputError:
        what = "a number" if reading.kind == "number" else "a time" if reading.kind == "clock" else "a date"
        raise InputError(f"Expected {what} such as {reading.example} for {name!r}, found {value!r}.") from None


def _parse_label(levels: Sequence[Any], value: Any) -> Any:
    """Find the label that is meant, text or not; leave what is no label as it is."""
    if value in levels or not isinstance(value, (str, bool, int, float)):
        return value
    otherwise = None if _is_blank(value) else value
    if all(isinstance(level, bool) for level in levels):
        return as_truth(value, otherwise)
    named = {as_label(level): level for level in levels}
    return named.get(as_label(value), named.get(as_label(value).strip(" "), otherwise))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in BLANKS
