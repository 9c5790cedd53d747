"""Read Arrow datasets, readers and lazy frames as sources."""

from __future__ import annotations

import re
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError, first_line
from secateur.rows.arrow_files import checked
from secateur.rows.source import BATCH_ROWS, Source, cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["open_dataset", "open_lazy_frame", "open_reader"]

# Batches that a dataset may read ahead: its own choice takes a gigabyte.
AHEAD = 2


@contextmanager
def open_dataset(dataset: Any) -> Iterator[Source]:
    """Open a pyarrow Dataset."""

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with refusing("The dataset"):
            yield from checked(
                dataset.to_batches(
                    columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=AHEAD, fragment_readahead=1
                )
            )

    yield Source("The dataset", dataset.schema, None, False, read)


@contextmanager
def open_reader(stream: Any) -> Iterator[Source]:
    """Open a pyarrow RecordBatchReader, or anything with Arrow's stream interface."""
    import pyarrow as pa

    with refusing("The reader"):
        reader = stream if isinstance(stream, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(stream)
    waiting: list[Any] = []

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with refusing("The reader"):
            for batch in checked(batch.select(columns) for batch in chain(waiting, reader)):
                yield from cut(batch)

    def look(columns: Sequence[str]) -> Any:
        with refusing("The reader"):
            waiting.extend(checked(islice(reader, 0 if waiting else 1)))
        return waiting[0].select(columns) if waiting else None

    yield Source("The reader", reader.schema, None, True, read, look)


@contextmanager
def open_lazy_frame(frame: Any) -> Iterator[Source]:
    """Open a polars LazyFrame."""
    import polars as pl
    import polars.selectors

    def read(columns: Sequence[str]) -> Iterator[Any]:
        # Older releases of polars take a name for a pattern, even in by_name().
        chosen = frame.select(pl.selectors.matches(f"^(?:{'|'.join(map(re.escape, columns))})$"))
        with refusing("The LazyFrame", pl.exceptions.PolarsError):
            # Older releases of polars have no batches: they read the chosen columns at once.
            parts = chosen.collect_batches() if hasattr(chosen, "collect_batches") else [chosen.collect()]
            for part in parts:
                yield from part.to_arrow().select(list(columns)).to_batches(BATCH_ROWS)

    with refusing("The LazyFrame", pl.exceptions.PolarsError):
        empty = frame.limit(0).collect()
    yield Source("The LazyFrame", empty.to_arrow().schema, None, False, read)


@contextmanager
def refusing(name: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn an error of Arrow or another library into a sentence."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException, *kinds) as error:
        raise InputError(f"{name} cannot be read: {first_line(error)}.") from error
