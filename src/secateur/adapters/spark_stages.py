"""Trace what the fitted stages of a pyspark.ml PipelineModel make of its columns, number by number.

Spark's stages pass named columns on; a tree reads one vector. Each number of that vector is a :class:`Slot`: a
function of one original column, given by its value for every label, for null and for NaN. Read as Spark 4 computes:

- StringIndexerModel: the place of a text among its labels. A null and a text that is not listed are one thing: an
  error, a row that is left out, or ("keep") the place after the last label.
- OneHotEncoderModel: 1 at the place that its input names, 0 elsewhere; the last place is left out with dropLast.
- ImputerModel: its surrogate for null and for missingValue, brought into the type of the column.
- VectorIndexerModel: the index of a number among those that it knows, for the numbers of a vector that it indexes.
- VectorAssembler: one number after another; null becomes NaN ("keep"), or the row is rejected or left out, as with NaN.

A row that is left out and one that is rejected have no prediction: both are rejected here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secateur.errors import UnsupportedModelError
from secateur.frames import frame_columns
from secateur.tree.tree import Label

KEEP = "keep"
NAN = (math.nan,)


@dataclass(frozen=True)
class Slot:
    """One number that stages make of one column; None stands for a row that is rejected."""

    source: str | None  # the column that it comes from; None where a stage cannot be inverted
    maker: str = ""  # the last stage that had a part in it
    labels: tuple[Label, ...] | None = None  # what the column holds; None where it is read as a number
    values: tuple[float, ...] = ()  # the number for each label
    unlisted: float | None = None  # the number for a label that is not listed
    missing: tuple[float, ...] | None = NAN  # the number for null; several where the column's unknown type decides
    nan: tuple[float, ...] | None = NAN  # the number for NaN, likewise
    marker: float | None = None  # a number that counts as null, too

    @property
    def is_plain(self) -> bool:
        """Tell whether it is the column as it is."""
        return self.source is not None and not self.maker

    def of_label(self, label: Label) -> float | None:
        """Return the number for a label."""
        labels = self.labels or ()
        return self.values[labels.index(label)] if label in labels else self.unlisted

    def of_number(self, number: float) -> tuple[float, ...]:
        """Return the numbers that a number may become."""
        return (self.missing or NAN) if number == self.marker else (number,)

    def mapped(self, maker: str, function: Callable[[float], float | None]) -> Slot:
        """Apply another stage to a column of labels; None is a value that the stage rejects."""
        found = [function(value) for value in self.values]
        if any(value is None for value in found):  # a label that every row is rejected for
            return Slot(None, maker)
        return replace(
            self,
            maker=maker,
            values=tuple(value for value in found if value is not None),
            unlisted=None if self.unlisted is None else function(self.unlisted),
            missing=map_each(self.missing, function),
            nan=map_each(self.nan, function),
        )


def map_each(values: tuple[float, ...] | None, function: Callable[[float], float | None]) -> tuple[float, ...] | None:
    """Apply a stage to some values; None if it rejects one of them."""
    found = [] if values is None else [function(value) for value in values]
    listed = tuple(value for value in found if value is not None)
    return listed if values is not None and len(listed) == len(values) else None


Made = dict[str, tuple[Slot, ...]]


def trace_stages(stages: Sequence[Any], X: Any) -> Made:
    """Find the slots of every column that the stages make; an output that is not read counts as one slot.

    A data frame ``X`` shows the types of the columns.
    """
    made: Made = {}
    for stage in stages:
        STAGES.get(type(stage).__name__, _trace_unknown)(stage, made, X)
    return made


def _ends(stage: Any) -> tuple[list[str], list[str]]:
    """Name the columns that a stage takes, and those that it makes."""

    def find(one: str, many: str) -> list[str]:
        if stage.hasParam(many) and stage.isSet(many):
            return list(stage.getOrDefault(many))
        return [stage.getOrDefault(one)] if stage.hasParam(one) and stage.isDefined(one) else []

    return find("inputCol", "inputCols"), find("outputCol", "outputCols")


def _scalar(made: Made, name: str) -> Slot:
    """Return the one number of a column; a column that no stage made is one of the user's own."""
    if name not in made:
        return Slot(name)
    return made[name][0] if len(made[name]) == 1 else Slot(None, "a vector")


def _trace_unknown(stage: Any, made: Made, X: Any) -> None:
    name = type(stage).__name__
    outputs = _ends(stage)[1]
    if not outputs:
        raise UnsupportedModelError(
            f"The pipeline has the stage {name}, which may change any column. Fit a pipeline without it."
        )
    for output in outputs:
        made[output] = (Slot(None, name),)


def _trace_indexer(stage: Any, made: Made, X: Any) -> None:
    is_kept, maker = stage.getHandleInvalid() == KEEP, type(stage).__name__
    for name, output, labels in zip(*_ends(stage), stage.labelsArray, strict=True):
        slot = Slot(None, maker)
        if _scalar(made, name).is_plain:
            other = float(len(labels)) if is_kept else None
            missing = None if other is None else (other,)
            slot = Slot(name, maker, tuple(labels), tuple(map(float, range(len(labels)))), other, missing, missing)
        made[output] = (slot,)


def _trace_one_hot(stage: Any, made: Made, X: Any) -> None:
    is_kept, drops_last = stage.getHandleInvalid() == KEEP, stage.getDropLast()
    maker = type(stage).__name__
    for name, output, size in zip(*_ends(stage), stage.categorySizes, strict=True):
        before = _scalar(made, name)
        slots = []
        for place in range(size + is_kept - drops_last):

            def indicate(value: float, place: int = place, size: int = size) -> float | None:
                if not 0 <= value < size and not is_kept:
                    return None
                return float((int(value) if 0 <= value < size else size) == place)

            slots.append(Slot(None, maker) if before.labels is None else before.mapped(maker, indicate))
        made[output] = tuple(slots)


def _trace_imputer(stage: Any, made: Made, X: Any) -> None:
    surrogates = stage.surrogateDF.head()
    marker = float(stage.getMissingValue())
    if math.isinf(marker):
        raise UnsupportedModelError("The pipeline's Imputer takes infinite numbers for missing, and rows hold none.")
    for name, output in zip(*_ends(stage), strict=True):
        before = _scalar(made, name)
        fills = _cast_fill(float(surrogates[name]), None if X is None else _kind_of(X, name), name)
        slot = Slot(name, type(stage).__name__, missing=fills, nan=fills)
        if not math.isnan(marker):
            slot = replace(slot, nan=NAN, marker=marker)
        made[output] = (slot if before.is_plain else Slot(None, type(stage).__name__),)


def _cast_fill(fill: float, kind: str | None, name: str) -> tuple[float, ...]:
    """Cast a surrogate to the type of its column, as Spark does."""
    by_kind = {"float64": fill, "float32": float(np.float32(fill)), "whole": float(math.trunc(fill))}
    if kind is None:
        return tuple(dict.fromkeys(by_kind.values()))
    if kind not in by_kind:
        raise UnsupportedModelError(
            f"The pipeline's Imputer fills column {name!r} of type {kind}, which is not read. Cast it to double "
            "before fitting."
        )
    return (by_kind[kind],)


def _kind_of(X: Any, name: str) -> str | None:
    """Find the type of a column's numbers; None where the frame has no such column."""
    names = frame_columns(X)
    if names is None or name not in names:
        return None
    if hasattr(X, "sparkSession"):
        found = dict(X.dtypes)[name]
        whole = found in ("tinyint", "smallint", "int", "bigint")
        return "whole" if whole else {"double": "float64", "float": "float32"}.get(found, found)
    import narwhals as nw

    try:
        dtype = nw.from_native(X, eager_only=True).schema[name]
    except TypeError:
        return None
    if dtype.is_integer():
        return "whole"
    return {nw.Float64: "float64", nw.Float32: "float32"}.get(type(dtype), str(dtype))


def _trace_vector_indexer(stage: Any, made: Made, X: Any) -> None:
    (name,), (output,) = _ends(stage)
    maker = type(stage).__name__
    is_kept = stage.getHandleInvalid() == KEEP
    slots = list(made.get(name, ()))
    if len(slots) != stage.numFeatures:  # of a vector that came from elsewhere
        slots = [Slot(None, maker)] * stage.numFeatures
    for place, codes in stage.categoryMaps.items():
        code_of = {float(number): float(code) for number, code in codes.items()}
        other = float(len(code_of)) if is_kept else None

        def look_up(value: float, code_of: dict[float, float] = code_of, other: float | None = other) -> float | None:
            return code_of.get(value, other)

        slot = slots[place]
        if slot.labels is not None:
            slots[place] = slot.mapped(maker, look_up)
        elif slot.source is None or slot.marker is not None:
            slots[place] = Slot(None, maker)
        else:
            numbers = sorted(code_of, key=lambda number: code_of[number])
            slots[place] = replace(
                slot,
                maker=maker,
                labels=tuple(int(number) if number == int(number) else number for number in numbers),
                values=tuple(code_of[number] for number in numbers),
                unlisted=other,
                missing=map_each(slot.missing, look_up),
                nan=map_each(slot.nan, look_up),
            )
    made[output] = tuple(slots)


def _trace_assembler(stage: Any, made: Made, X: Any) -> None:
    is_kept = stage.getHandleInvalid() == KEEP
    inputs, outputs = _ends(stage)
    slots: list[Slot] = []
    for name in inputs:
        own = made.get(name, (Slot(name),))
        slots += own if is_kept or len(own) > 1 else [_reject_nan(own[0])]
    made[outputs[0]] = tuple(slots)


def _reject_nan(slot: Slot) -> Slot:
    def keep(values: tuple[float, ...] | None) -> tuple[float, ...] | None:
        return None if values is None or any(map(math.isnan, values)) else values

    return replace(slot, missing=keep(slot.missing), nan=keep(slot.nan))


STAGES: dict[str, Callable[[Any, Made, Any], None]] = {
    "StringIndexerModel": _trace_indexer,
    "OneHotEncoderModel": _trace_one_hot,
    "ImputerModel": _trace_imputer,
    "VectorIndexerModel": _trace_vector_indexer,
    "VectorAssembler": _trace_assembler,
}
