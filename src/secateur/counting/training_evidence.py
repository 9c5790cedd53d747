"""What methods ask of training rows, whether the rows themselves answer or counts of them."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from secateur.counting.tile_arguments import Conditions
from secateur.counting.violations import ViolationCounts, split_rules
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree


class TrainingEvidence(ABC):
    """What methods ask of training rows: how many of them, and of which class, any rule covers."""

    tree: Tree

    def count_violations(
        self,
        paths: Paths,
        deleted: NDArray[np.bool_],
        opened: NDArray[np.bool_] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> ViolationCounts:
        """Count the rows of rules by the open conditions that they violate.

        Parameters
        ----------
        paths : Paths
            The tree's rules and their conditions.
        deleted : ndarray of bool, shape (n_entries,)
            Conditions that are gone.
        opened : ndarray of bool, shape (n_entries,), default=None
            Conditions that rows are told apart by; by default none.
        among : ndarray of bool, shape (n_rules,), default=None
            The rules that are counted; by default all.

        Returns
        -------
        ViolationCounts
        """
        nothing, everyone = np.zeros_like(deleted), np.ones(paths.n_rules, dtype=bool)
        conditions = Conditions(deleted, nothing if opened is None else opened, everyone if among is None else among)
        return self._answer(paths, conditions)

    @abstractmethod
    def _answer(self, paths: Paths, conditions: Conditions) -> ViolationCounts:
        """Answer :meth:`count_violations`."""

    def count_violations_left(
        self, paths: Paths, deleted: NDArray[np.bool_], left: NDArray[np.int64]
    ) -> ViolationCounts:
        """Open some conditions and count the rows of their rules.

        Parameters
        ----------
        paths : Paths
        deleted : ndarray of bool, shape (n_entries,)
        left : ndarray of int64
            The open conditions.

        Returns
        -------
        ViolationCounts
        """
        opened, among = np.zeros_like(deleted), np.zeros(paths.n_rules, dtype=bool)
        opened[left], among[paths.rule[left]] = True, True
        return self.count_violations(paths, deleted, opened, among)

    def split_rules(self, paths: Paths, opened: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
        """Split the rules into groups that one pass can count.

        Parameters
        ----------
        paths : Paths
        opened : ndarray of bool, shape (n_entries,)

        Returns
        -------
        list of ndarray of bool, shape (n_rules,)
        """
        return split_rules(paths, opened, self.tree.n_classes)

    def count(self, paths: Paths, deleted: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the (weighted) rows of each class that each rule covers, and each leaf's own rule.

        Parameters
        ----------
        paths : Paths
        deleted : ndarray of bool, shape (n_entries,)

        Returns
        -------
        tuple of two ndarray of float64, shape (n_rules, n_classes)
        """
        violations = self.count_violations(paths, deleted)
        return violations.counts, violations.leaf_counts

    def remember(  # noqa: B027  # a subclass that keeps nothing has nothing to do
        self, deleted: NDArray[np.bool_], counts: NDArray[np.float64], leaf_counts: NDArray[np.float64]
    ) -> None:
        """Keep the counts that a method made, for whoever asks for them again.

        Parameters
        ----------
        deleted : ndarray of bool, shape (n_entries,)
        counts, leaf_counts : ndarray of float64, shape (n_rules, n_classes)
        """
