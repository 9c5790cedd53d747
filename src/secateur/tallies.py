"""What methods ask of training rows, whoever answers: the rows themselves, or counts of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from secateur.literals import Conditions
from secateur.tally import split_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.annotation import Annotation
    from secateur.tally import Tally
    from secateur.tree import Tree

__all__ = ["Tallies"]


class Tallies(ABC):
    """What methods ask of training rows: how many of them, and of which class, any rule covers."""

    tree: Tree

    def tally(
        self,
        notes: Annotation,
        deleted: NDArray[np.bool_],
        opened: NDArray[np.bool_] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> Tally:
        """Count the rows of rules by the open conditions that they violate.

        Parameters
        ----------
        notes : Annotation
            The tree's rules and their conditions.
        deleted : ndarray of bool, shape (n_entries,)
            Conditions that are gone.
        opened : ndarray of bool, shape (n_entries,), default=None
            Conditions that rows are told apart by; by default none.
        among : ndarray of bool, shape (n_rules,), default=None
            The rules that are counted; by default all.

        Returns
        -------
        Tally
        """
        nothing, everyone = np.zeros_like(deleted), np.ones(notes.n_rules, dtype=bool)
        conditions = Conditions(deleted, nothing if opened is None else opened, everyone if among is None else among)
        return self.answer(notes, conditions)

    @abstractmethod
    def answer(self, notes: Annotation, conditions: Conditions) -> Tally:
        """Count the rows of rules by the open conditions that they violate; :meth:`tally` with nothing left out.

        Parameters
        ----------
        notes : Annotation
        conditions : Conditions

        Returns
        -------
        Tally
        """

    def tally_left(self, notes: Annotation, deleted: NDArray[np.bool_], left: NDArray[np.int64]) -> Tally:
        """Count the rows of the rules of some conditions, which are open.

        Parameters
        ----------
        notes : Annotation
        deleted : ndarray of bool, shape (n_entries,)
        left : ndarray of int64
            The open conditions.

        Returns
        -------
        Tally
        """
        opened, among = np.zeros_like(deleted), np.zeros(notes.n_rules, dtype=bool)
        opened[left], among[notes.rule[left]] = True, True
        return self.tally(notes, deleted, opened, among)

    def split_rules(self, notes: Annotation, opened: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
        """Groups of rules that one tally can count.

        Parameters
        ----------
        notes : Annotation
        opened : ndarray of bool, shape (n_entries,)

        Returns
        -------
        list of ndarray of bool, shape (n_rules,)
        """
        return split_rules(notes, opened, self.tree.n_classes)

    def count(
        self, notes: Annotation, deleted: NDArray[np.bool_], *, is_exact: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the (weighted) rows of each class that each rule covers, and each leaf's own rule.

        Parameters
        ----------
        notes : Annotation
        deleted : ndarray of bool, shape (n_entries,)
        is_exact : bool
            Whether no rule meets a leaf of another class, so that there may be a shorter way.

        Returns
        -------
        tuple of two ndarray of float64, shape (n_rules, n_classes)
        """
        tally = self.tally(notes, deleted)
        return tally.counts, tally.leaf_counts

    def remember(  # noqa: B027  # whoever keeps nothing has nothing to do
        self, deleted: NDArray[np.bool_], counts: NDArray[np.float64], leaf_counts: NDArray[np.float64]
    ) -> None:
        """Take notice of counts that a method came by; somebody may ask for them again.

        Parameters
        ----------
        deleted : ndarray of bool, shape (n_entries,)
        counts, leaf_counts : ndarray of float64, shape (n_rules, n_classes)
        """
