"""Rule: a view of one line of a rule list."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from secateur.frames import make_frame
from secateur.tree.shares import none_if_nan
from secateur.words.conditions import Condition, join_conditions, read_conditions
from secateur.words.plain_words import find_pattern, format_asked, format_target, join_asked

if TYPE_CHECKING:
    from secateur.rules.rules import Rules
    from secateur.tree.tree import Label
    from secateur.words.reasons import Reason

Element = TypeVar("Element")


class ArraySequence(Sequence[Element]):
    """A sequence that makes an element when it is asked for one."""

    nouns: ClassVar[str]  # what its elements are called in an error

    @abstractmethod
    def _make(self, place: int) -> Element:
        """Make one element; the place is counted from 0."""

    def _make_some(self, places: Sequence[int]) -> list[Element]:
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


def written_by(writer: str) -> Callable[[Any], str]:
    """Make the method that shows an object as a function of the exports writes it, loaded when it is asked for."""
    module, _, function = writer.partition(":")
    return lambda shown: getattr(import_module(f"secateur.export.{module}"), function)(shown)


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


class Rule:
    """One line of :class:`Rules`, as a view that is made on demand: a rule, or "otherwise", which has no conditions.

    Parameters
    ----------
    rules : Rules
    index : int
        Place in ``rules.lines``, as they are printed.
    """

    __slots__ = ("_rules", "index")

    def __init__(self, rules: Rules, index: int) -> None:
        self._rules = rules
        self.index = index

    @property
    def is_otherwise(self) -> bool:
        """Whether this is the line of the rows that no rule covers."""
        layout = self._rules.layout
        return layout is not None and self.index == layout.rest_lines[self._section]

    @property
    def _section(self) -> int:
        layout = self._rules.layout
        return 0 if layout is None else int(layout.section_of_line[self.index])

    @property
    def _depth(self) -> int:
        """Number of edges of the heading, which begin the path of each of its leaves."""
        rules = self._rules
        return 0 if rules.layout is None else int(rules.tree.node_depth[rules.layout.nodes[self._section]])

    @property
    def place(self) -> int:
        """Place of the rule's leaf in source order; -1 of "otherwise"."""
        return -1 if self.is_otherwise else int(self._rules.leaves[self.index - self._section])

    @property
    def leaf_id(self) -> int | None:
        """Node id of the leaf that the rule comes from; None of "otherwise"."""
        return None if self.is_otherwise else int(self._rules.paths.leaf_ids[self.place])

    @property
    def leaf_ids(self) -> tuple[int, ...]:
        """Node ids of the leaves that the line stands for: their regions lie in its own, or it is left with them."""
        return tuple(self._rules.paths.leaf_ids[self._rules.stands_for(self.index)].tolist())

    @property
    def class_id(self) -> int:
        """Index of the class that the line predicts."""
        return int(self._rules.class_ids[self.index])

    @property
    def prediction(self) -> Label:
        """The class that the line predicts, as the model labels it; of a regression tree, the value."""
        answer: Label = self._rules.answers[self.index].item()
        return answer

    @property
    def class_name(self) -> str:
        """The name of the predicted class; of a regression tree, the value in words."""
        rules = self._rules
        if rules.tree.is_regression:
            pattern = find_pattern(rules.tree)
            return format_target(float(rules.answers[self.index]), self.window, rules.tolerance, pattern)
        return self._rules.tree.class_names[self.class_id]

    @property
    def kept_ids(self) -> tuple[int, ...]:
        """Edges that were kept, by child node id, root to leaf, those of the heading among them."""
        return tuple(self._edges(deleted=False))

    @property
    def deleted_ids(self) -> tuple[int, ...]:
        """Edges that were deleted, by child node id, root to leaf."""
        return tuple(self._edges(deleted=True))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What the line asks beside its heading, as a person reads it: the bounds of one feature merged."""
        return read_conditions(self._rules.tree, self._rules.paths, self._own_ids, under=self._heading_ids)

    @property
    def whole_conditions(self) -> tuple[Condition, ...]:
        """What the heading and the line ask together."""
        return read_conditions(self._rules.tree, self._rules.paths, self.kept_ids)

    @property
    def _own_ids(self) -> tuple[int, ...]:
        return self.kept_ids[self._depth :]

    @property
    def _heading_ids(self) -> tuple[int, ...]:
        return self.kept_ids[: self._depth]

    @property
    def source_conditions(self) -> tuple[Condition, ...]:
        """The conditions of the leaf's own rule, before anything was deleted."""
        return read_conditions(self._rules.tree, self._rules.paths, self._edges(deleted=None))

    @property
    def support(self) -> float | None:
        """(Weighted) training rows of the line; None where not known.

        Those of a list's line are the rows that it decides, so that all lines add up to all rows; with one rule for
        each leaf, the rows that satisfy the rule.
        """
        return none_if_nan(self._rules.support[self.index])

    @property
    def reliability(self) -> float | None:
        """Share of those rows in the line's class; None where not known."""
        return none_if_nan(self._rules.reliability[self.index])

    @property
    def observed(self) -> tuple[float, float] | None:
        """(Weighted) training rows of the line, and those of them in its class; None where not known."""
        return self._count(self._rules.counts)

    @property
    def unseen(self) -> tuple[float, float] | None:
        """The same of rows that had no part in making the rules; None where none were measured."""
        counts = self._rules.unseen_counts
        return None if counts is None else self._count(counts)

    def _count(self, counts: NDArray[np.float64]) -> tuple[float, float] | None:
        own = counts[self.index]
        return None if np.isnan(own).any() else (_whole(own.sum()), _whole(own[self.class_id]))

    @property
    def target_mean(self) -> float | None:
        """Of a regression list: mean target of the training rows that the line decides; None where not known."""
        moments = self._rules.target_moments
        return None if moments is None else none_if_nan(moments[self.index, 0])

    @property
    def target_spread(self) -> float | None:
        """Of a regression list: standard deviation of those targets; None where not known."""
        moments = self._rules.target_moments
        return None if moments is None else none_if_nan(moments[self.index, 1])

    @property
    def class_counts(self) -> tuple[float, ...] | None:
        """(Weighted) training rows of each class among them; None where not known."""
        counts = self._rules.counts[self.index]
        return None if np.isnan(counts).any() else tuple(counts.tolist())

    @property
    def covered_support(self) -> float | None:
        """(Weighted) training rows that satisfy the line's conditions, whichever line decides them."""
        return self.support if self.is_otherwise else none_if_nan(self._rules.covered_support[self.place])

    @property
    def covered_reliability(self) -> float | None:
        """Share of the rows that satisfy the line's conditions in its class."""
        return self.reliability if self.is_otherwise else none_if_nan(self._rules.covered_reliability[self.place])

    @property
    def source_support(self) -> float | None:
        """(Weighted) training rows that reach the rule's leaf; None where not known, and of "otherwise"."""
        return None if self.is_otherwise else none_if_nan(self._rules.leaf_support[self.place])

    @property
    def source_reliability(self) -> float | None:
        """Share of the leaf's rows in its class; None where not known, and of "otherwise"."""
        return None if self.is_otherwise else none_if_nan(self._rules.leaf_reliability[self.place])

    @property
    def assimilated_into(self) -> int | None:
        """The ancestor node whose rule this one became: it asks what the path to that node asks, and covers more rows.

        The root is node 0. None where the rule became no ancestor's, or where its rows are not known.
        """
        node = -1 if self.is_otherwise else int(self._rules.assimilated_into[self.place])
        return None if node < 0 else node

    @property
    def reasons(self) -> dict[int, Reason]:
        """Why each edge was deleted or kept, by edge id."""
        return {} if self.is_otherwise else self._rules.reasons_of(self.place)

    @property
    def is_weighted(self) -> bool:
        """Whether support is a sum of weights, not a number of rows."""
        return self._rules.is_weighted

    @property
    def section(self) -> Section:
        """The section that the line belongs to."""
        return self._rules.sections[self._section]

    @property
    def share(self) -> float | None:
        """The share of its class that the line states: within the tolerance of that of every leaf it answers for.

        Of a regression tree it is the value that the line predicts.
        """
        layout = self._rules.layout
        return None if layout is None else none_if_nan(layout.shares[self.index])

    @property
    def window(self) -> tuple[float, float] | None:
        """The least and the largest share (or value) of the leaves that the line may answer for; None if none."""
        layout = self._rules.layout
        if layout is None or np.isnan(layout.windows[self.index]).any():
            return None
        low, high = layout.windows[self.index].tolist()
        return low, high

    @property
    def least(self) -> float | None:
        """Of a regression tree: the least value of the leaves that the line may answer for."""
        return None if self.window is None else self.window[0]

    @property
    def largest(self) -> float | None:
        """Of a regression tree: the largest value of the leaves that the line may answer for."""
        return None if self.window is None else self.window[1]

    @property
    def text(self) -> str:
        """The line with its heading and exact numbers, such as ``age <= 30 and income > 1000 => yes``."""
        rules = self._rules
        asked = join_conditions(read_conditions(rules.tree, rules.paths, self.kept_ids))
        if self.is_otherwise:
            word = rules.rest_word(self._section)
            asked = f"{asked}, {word}" if self.kept_ids else word
        answer = repr(float(self.prediction)) if rules.tree.is_regression else self.class_name
        return f"{asked} => {answer}"

    @property
    def asks(self) -> tuple[str, ...]:
        """What the line asks beside its heading, a condition each, as people say it: ``income > 1,000``."""
        return format_asked(self._rules, self._own_ids, self._heading_ids)

    @property
    def heading(self) -> tuple[str, ...]:
        """What the heading of its section asks, a condition each, as people say it."""
        return format_asked(self._rules, self._heading_ids)

    @property
    def asked(self) -> str:
        """What the line asks beside its heading, as people say it, joined; or ``otherwise``."""
        return self._rules.rest_word(self._section) if self.is_otherwise else join_asked(self.asks)

    @property
    def words(self) -> str:
        """The line with its heading as people say it, such as ``yes if age ≤ 30``, also its ``str()``.

        Its numbers are short; :attr:`text` has the exact ones.
        """
        whole = join_asked(format_asked(self._rules, self.kept_ids))
        if self.is_otherwise:
            return f"{self.asked} {self.class_name}{f', among {whole}' if self.kept_ids else ''}"
        return f"{self.class_name} if {whole}" if self.kept_ids else f"always {self.class_name}"

    def _edges(self, *, deleted: bool | None) -> list[int]:
        rules = self._rules
        if self.is_otherwise:
            return [] if deleted else rules.paths.list_path(int(rules.list_layout.nodes[self._section]))
        span = rules.paths.entries(self.place)
        edges = rules.paths.links[span]
        return list(edges.tolist() if deleted is None else edges[rules.deleted[span] == deleted].tolist())

    def __str__(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return f"<line {self.index + 1} of {self._rules.n_lines}: {self.text}>"


def _whole(number: float) -> float:
    """Give a number of rows as an int, a sum of weights as it is."""
    return int(number) if number == int(number) else float(number)


class Section(NamedTuple):
    """Lines that answer for one part of the tree.

    Attributes
    ----------
    heading : tuple of Condition
        What all rows of the section have in common; empty where there is one section.
    rules : tuple of Rule
        Its rules, as they are printed.
    otherwise : Rule or None
        The line of its rows that no rule covers; None if there is a rule for each leaf.
    support : float or None
        (Weighted) training rows of the section; None where not known.
    """

    heading: tuple[Condition, ...]
    rules: tuple[Rule, ...]
    otherwise: Rule | None
    support: float | None
