"""A table that is read as record batches: what it is called, which columns it has, and how to read them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError, did_you_mean, shorten

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["BATCH_ROWS", "Source", "cut"]

# Large enough that what is done once a batch costs nothing, small enough that a few of them are a few megabytes.
BATCH_ROWS = 1 << 18


@dataclass(frozen=True)
class Source:
    """A table that can be read as record batches.

    Attributes
    ----------
    name : str
        How the table is called in messages.
    schema : pyarrow.Schema
        The columns and their types.
    n_rows : int or None
        Number of rows, where it is known before they are read.
    is_once : bool
        Whether the table can be read once only.
    read : callable
        ``read(columns)`` yields batches of the named columns, in the order of the rows.
    look : callable or None
        ``look(columns)`` gives the first batch of a table that can be read once only, and does not use it up.
    """

    name: str
    schema: Any
    n_rows: int | None
    is_once: bool
    read: Callable[[Sequence[str]], Iterator[Any]] = field(repr=False)
    look: Callable[[Sequence[str]], Any] | None = field(default=None, repr=False)

    def peek(self, columns: Sequence[str]) -> Any:
        """The first batch of some columns, or None where there is none."""
        return next(self.read(columns), None) if self.look is None else self.look(columns)

    @property
    def inner_name(self) -> str:
        """The name as it stands inside a sentence."""
        return "the" + self.name.removeprefix("The") if self.name.startswith("The ") else self.name

    def refuse_empty(self) -> InputError:
        """What is to be said of a table without rows."""
        hint = " A reader can be read once only." if self.is_once else ""
        return InputError(f"{self.name} has no rows; at least one is needed.{hint}")

    def without_blanks(self, column: str, skipped: Counter[str]) -> Source:
        """The same table without the rows that have a blank in a column; they are counted under its name."""

        def read(columns: Sequence[str]) -> Iterator[Any]:
            skipped[column] = 0
            for batch in self.read(columns):
                kept = batch.filter(batch.column(column).is_valid()) if column in columns else batch
                skipped[column] += batch.num_rows - kept.num_rows
                yield kept

        return replace(self, read=read)

    def as_floats(self, beside: str) -> Source:
        """The same table in columns whose types do not tell that they hold whole numbers, but for one column."""
        import pyarrow as pa

        typed = [
            field.with_type(pa.float64()) if _is_whole(field.type) and field.name != beside else field
            for field in self.schema
        ]
        schema = pa.schema(typed)

        def read(columns: Sequence[str]) -> Iterator[Any]:
            wanted = pa.schema([schema.field(column) for column in columns])
            for batch in self.read(columns):
                yield pa.RecordBatch.from_arrays(
                    [column.cast(field.type) for column, field in zip(batch.columns, wanted, strict=True)],
                    schema=wanted,
                )

        return replace(self, schema=schema, read=read)

    def find(self, column: str, what: str) -> str:
        """A column that somebody named, or a sentence that says which it might be."""
        if column in self.schema.names:
            return column
        hint = did_you_mean(column, self.schema.names) or f" Its columns are {shorten(self.schema.names)}."
        raise InputError(f"{self.name} has no column {column!r}, which {what}.{hint}")


def _is_whole(dtype: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(dtype) or pa.types.is_boolean(dtype))


def cut(batch: Any) -> Iterator[Any]:
    """The parts of a batch that may be larger than others."""
    for first in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(first, BATCH_ROWS)
