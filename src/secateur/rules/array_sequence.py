"""Sequences whose elements are made on demand from arrays, and those of them that a data frame can show."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, overload

from secateur.frames import make_frame

__all__ = ["ArraySequence", "ArrayTable", "Framed"]

Element = TypeVar("Element")


class ArraySequence(Sequence[Element]):
    """A sequence that makes an element when it is asked for one."""

    nouns: ClassVar[str]  # what its elements are called in an error

    @abstractmethod
    def _make(self, place: int) -> Element:
        """Make one element; the place is counted from 0."""

    def _make_some(self, places: Sequence[int]) -> list[Element]:
        """Make several elements."""
        return [self._make(place) for place in places]

    @overload
    def __getitem__(self, index: int) -> Element: ...
    @overload
    def __getitem__(self, index: slice) -> list[Element]: ...
    def __getitem__(self, index: int | slice) -> Element | list[Element]:
        if isinstance(index, slice):
            return self._make_some(range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} {self.nouns}, found index {index}")
        return self._make(index % len(self))

    def __iter__(self) -> Iterator[Element]:
        return map(self._make, range(len(self)))


class Framed:
    """What a data frame can show."""

    @abstractmethod
    def _list_columns(self) -> Mapping[str, Sequence[Any]]:
        """List what a data frame shows, column by column."""

    def to_frame(self, library: str | None = None) -> Any:
        """Put everything into a data frame, one row per element; numbers of rules are those of the texts, from 1 on.

        Parameters
        ----------
        library : {"pandas", "polars"}, default=None
            By default the one that is already imported, else the one that is installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
        """
        return make_frame(self._list_columns(), library)


class ArrayTable(Framed, ArraySequence[Element]):
    """Such a sequence whose elements are the rows of a table."""
