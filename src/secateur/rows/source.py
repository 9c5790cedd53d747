"""A table that can be read as record batches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError, did_you_mean, shorten

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["BATCH_ROWS", "Source", "cut"]

# Large enough that work once a batch costs nothing, small enough that a few batches are a few megabytes.
BATCH_ROWS = 1 << 18


@dataclass(frozen=True)
class Source:
    """A table that can be read as record batches.

    ``read(columns)`` yields batches of the named columns, in the order of the rows. ``look(columns)`` gives the first
    batch of a table that can be read only once, without using it up.
    """

    name: str  # in messages
    schema: Any  # of Arrow
    n_rows: int | None  # where it is known beforehand
    is_once: bool  # whether it can be read only once
    read: Callable[[Sequence[str]], Iterator[Any]] = field(repr=False)
    look: Callable[[Sequence[str]], Any] | None = field(default=None, repr=False)

    def peek(self, columns: Sequence[str]) -> Any:
        """Read the first batch of some columns, if there is one."""
        return next(self.read(columns), None) if self.look is None else self.look(columns)

    @property
    def inner_name(self) -> str:
        """The name inside a sentence."""
        return "the" + self.name.removeprefix("The") if self.name.startswith("The ") else self.name

    def refuse_empty(self) -> InputError:
        """Say that the table has no rows."""
        hint = " A reader can be read only once." if self.is_once else ""
        return InputError(f"{self.name} has no rows; at least one is needed.{hint}")

    def without_blanks(self, column: str, skipped: Counter[str]) -> Source:
        """Leave out rows with a blank in a column, and count them under its name."""

        def read(columns: Sequence[str]) -> Iterator[Any]:
            skipped[column] = 0
            for batch in self.read(columns):
                kept = batch.filter(batch.column(column).is_valid()) if column in columns else batch
                skipped[column] += batch.num_rows - kept.num_rows
                yield kept

        return replace(self, read=read)

    def as_floats(self, beside: str) -> Source:
        """Read whole numbers and truth values as floats, except in one column."""
        import pyarrow as pa

        schema = pa.schema(
            field.with_type(pa.float64()) if _is_whole(field.type) and field.name != beside else field
            for field in self.schema
        )

        def read(columns: Sequence[str]) -> Iterator[Any]:
            wanted = pa.schema([schema.field(column) for column in columns])
            for batch in self.read(columns):
                cast = [column.cast(field.type) for column, field in zip(batch.columns, wanted, strict=True)]
                yield pa.RecordBatch.from_arrays(cast, schema=wanted)

        return replace(self, schema=schema, read=read)

    def find(self, column: str, what: str) -> str:
        """Find a column, or say which one may be meant."""
        if column in self.schema.names:
            return column
        hint = did_you_mean(column, self.schema.names) or f" Its columns are {shorten(self.schema.names)}."
        raise InputError(f"{self.name} has no column {column!r}, which {what}.{hint}")


def _is_whole(dtype: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(dtype) or pa.types.is_boolean(dtype))


def cut(batch: Any) -> Iterator[Any]:
    """Cut a batch that may be too large."""
    for first in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(first, BATCH_ROWS)
