"""ForestRules: the rule sets of a forest's trees, which vote as the forest does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, ParameterError
from secateur.kernels.running import map_in_threads
from secateur.methods import METHODS
from secateur.rows.checking import NO_WEIGHT, check_rows
from secateur.rows.encoding import asked_features
from secateur.rows.row_source import GivenRows, ModelTerms, Progress
from secateur.rows.rows import LabelledRows, Rows, apply_tree
from secateur.rules.lines import Deciding, check_of, without_facts
from secateur.rules.rule import written_by
from secateur.rules.rules import Rules
from secateur.tree.tree import Tree
from secateur.verify import Verification
from secateur.words.conditions import count_of

EXACT_GUARANTEE = (
    "Each tree's predictions are preserved exactly, for every possible row, so the forest's are: its trees vote with "
    "the class shares of the row's own leaf, as before."
)


@dataclass(frozen=True)
class ForestAudit:
    """What deletion changed in a forest, on given rows; shares in percent, changes in percentage points.

    Attributes
    ----------
    n_trees, n_rules, n_conditions, tree_conditions, n_rows : int
        Size of what was audited, over all trees; conditions as they read, those of the trees' own rules last. Rows of
        weight 0 do not count.
    removed : float
        Percentage of all edges of paths that were deleted, as the paper counts.
    accuracy, forest_accuracy, delta_accuracy : float
        Accuracy of the rules' vote and of the forest, and the difference.
    changed : float
        Percentage of rows for which rules and forest differ.
    """

    n_trees: int
    n_rules: int
    n_conditions: int
    tree_conditions: int
    n_rows: int
    removed: float
    accuracy: float
    forest_accuracy: float
    delta_accuracy: float
    changed: float

    def to_dict(self) -> dict[str, Any]:
        """List the numbers by name, ready for JSON."""
        return dict(vars(self))

    _repr_html_ = written_by("html:forest_audit_to_html")

    def __str__(self) -> str:
        return (
            f"{self.n_conditions:,} of {count_of(self.tree_conditions, 'condition')} left, "
            f"in {count_of(self.n_rules, 'rule')} of {count_of(self.n_trees, 'tree')}\n"
            f"accuracy {self.accuracy:.2f} % (forest {self.forest_accuracy:.2f} %, change "
            f"{self.delta_accuracy:+.2f} points) on {count_of(self.n_rows, 'row')}; different prediction from the "
            f"forest for {self.changed:.2f} %"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ForestRules(Sequence[Rules]):
    """The rules of a forest after deletion: one rule for each leaf of each tree, which vote as the trees did.

    Made by :func:`secateur.simplify`. A sequence of :class:`Rules`.

    Parameters
    ----------
    rules : tuple of Rules
        The rules of each tree; all trees have the same columns and classes.
    leaf_shares : tuple of ndarray of float64, shape (n_nodes, n_classes)
        The class shares that each node of each tree votes with.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import secateur
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> rules = secateur.simplify(forest, X, y, each_leaf=True)
    >>> len(rules), rules[0].method
    (10, 'exact')
    >>> bool((rules.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """

    rules: tuple[Rules, ...]
    leaf_shares: tuple[NDArray[np.float64], ...] = field(repr=False)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The source trees, in the forest's order."""
        return tuple(rules.tree for rules in self.rules)

    @property
    def method(self) -> str:
        """Name of the method that deleted."""
        return self.rules[0].method

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The method's parameters."""
        return self.rules[0].parameters

    @property
    def guarantee(self) -> str:
        """What is preserved, in a sentence."""
        of_tree = METHODS[self.method].promise(self.parameters)
        sentence = EXACT_GUARANTEE if self._is_exact else f"Of each tree: {of_tree}"
        if self._is_exact and METHODS[self.method].needs_rows:  # they promise more than predictions
            sentence = f"{EXACT_GUARANTEE} Of each tree: {of_tree}"
        # Each tree's rules know the facts that they depend on, but asking all of them would take too long.
        is_told = bool(self[0].tree.facts) and self.parameters.get("domain_knowledge", True)
        sentence += " Holds for rows that satisfy the stated facts." if is_told else ""
        return " ".join([sentence, *self[0].exceptions])

    @property
    def classes(self) -> NDArray[Any]:
        """The forest's labels, shape (n_classes,)."""
        return self.rules[0].tree.classes

    @property
    def n_rules(self) -> int:
        """Number of rules of all trees."""
        return sum(len(rules.covered_counts) for rules in self.rules)

    @property
    def n_conditions(self) -> int:
        """Number of conditions of all rules, as they read."""
        return sum(rules.n_conditions for rules in self.rules)

    @property
    def tree_conditions(self) -> int:
        """Number of conditions of the trees' own rules, as they read."""
        return sum(rules.tree_conditions for rules in self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    @overload
    def __getitem__(self, index: int) -> Rules: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Rules, ...]: ...
    def __getitem__(self, index: int | slice) -> Rules | tuple[Rules, ...]:
        return self.rules[index]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(Rules, name):
            raise AttributeError(
                f"A forest has no {name!r}, which is about the rules of one tree: ask those of one tree, such as "
                f"forest_rules[0].{name}."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row by the trees' vote.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table

        Returns
        -------
        ndarray of labels, shape (n_rows,)
        """
        return self.classes[self.predict_proba(X).argmax(axis=1)]  # type: ignore[no-any-return]

    def predict_proba(self, X: Any, of: str = "line") -> NDArray[np.float64]:
        """Predict the class shares of each row, averaged over the trees.

        After an exact method, a tree votes with the shares of the row's own leaf, as in the forest; after others, with
        the shares of the winning rule's training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
        of : {"line", "leaf"}, default="line"
            ``"leaf"`` gives the forest's own probabilities, whatever the method.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_classes)
        """
        check_of(of)
        return self._decide("predict_proba", X, self._find_shares if of == "line" else self._vote)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the index of the winning rule of each row in each tree.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table

        Returns
        -------
        ndarray of int64, shape (n_rows, n_trees)
        """

        def find(rows: Rows) -> NDArray[np.int64]:
            winners = np.empty((rows.n_rows, len(self)), dtype=np.int64)
            for tree, found in enumerate(map_in_threads(lambda rules: rules.apply(rows), self.rules)):
                winners[:, tree] = found
            return winners

        return self._decide("apply", X, find)

    def audit(self, X: Any, y: Any, *, sample_weight: Any = None, since: Any = None) -> ForestAudit:
        """Measure what was deleted and what it changed, against the forest on these rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            Rows to audit on, ideally not those the forest was fitted on.
        y : array-like of shape (n_rows,), or str
            Their labels; for a table, the column that holds them.
        sample_weight : array-like of shape (n_rows,), or str, default=None
        since : default=None
            Not for a forest: only an audit of one tree's rules is about each rule.
        """
        if since is not None:
            raise ParameterError(
                "since compares rules one by one, which an audit of a forest does not: audit the rules of one tree, "
                "such as forest_rules[0].audit(X, y, since=earlier)."
            )
        with self[0]._open(X, y, sample_weight) as source:
            sums, n_rows = source.fold(without_facts(self[0].tree), _VoteCounter(self))
        if not sums[0]:
            raise InputError(NO_WEIGHT)
        accuracy, forest_accuracy, changed = (100.0 * sums[1:] / sums[0]).tolist()
        n_edges = sum(len(rules.deleted) for rules in self)
        return ForestAudit(
            n_trees=len(self),
            n_rules=self.n_rules,
            n_conditions=self.n_conditions,
            tree_conditions=self.tree_conditions,
            n_rows=n_rows,
            removed=100.0 * (1 - sum(rules.n_edges for rules in self) / n_edges) if n_edges else 0.0,
            accuracy=accuracy,
            forest_accuracy=forest_accuracy,
            delta_accuracy=accuracy - forest_accuracy,
            changed=changed,
        )

    def verify(
        self, X: Any = None, y: Any = None, *, sample_weight: Any = None, progress: Progress | None = None
    ) -> Verification:
        """Prove the guarantee of each tree again, with code that shares nothing with the deletion code.

        Parameters
        ----------
        X, y : array-like, default=None
            The training rows. By default those passed to ``simplify``, unless the rules were pickled since.
        sample_weight : array-like of shape (n_rows,), default=None
        progress : callable, default=None
            Called after each tree with the number of trees that are done, and of all trees.
        """
        held: GivenRows | None = None
        if X is not None:
            tree = self[0].tree
            with self[0]._open(X, y, sample_weight) as source:
                found = source.hold(lambda: ModelTerms.of(tree), "A forest is verified from its rows")
            held = GivenRows(check_rows(tree, found.X).convert(), found.y, found.sample_weight)

        def verify(rules: Rules) -> Verification:
            return rules.verify() if held is None else rules.verify(held.X, held.y, sample_weight=held.sample_weight)

        proofs: tuple[Verification, ...] = run_each(verify, self.rules, progress)
        return Verification(
            ok=all(proofs),
            failures=tuple(f"Tree {number}: {text}" for number, one in enumerate(proofs) for text in one.failures),
            checks=(f"{sum(map(bool, proofs))} of {len(proofs)} trees proved",),
            unchecked=tuple(dict.fromkeys(text for one in proofs for text in one.unchecked)),
        )

    @property
    def _is_exact(self) -> bool:
        return METHODS[self.method].is_exact

    def _decide(self, name: str, X: Any, find: Callable[[Rows], NDArray[Any]]) -> NDArray[Any]:
        with self[0]._open(X) as source:
            question = Deciding(self, name, lambda rows: find(rows.convert()), self._features)
            return source.decide(without_facts(self[0].tree), question)  # type: ignore[no-any-return]

    @cached_property
    def _features(self) -> frozenset[int]:
        """The columns that some tree tests."""
        return frozenset().union(*(asked_features(without_facts(tree)) for tree in self.trees))

    def _find_shares(self, rows: Rows) -> NDArray[np.float64]:
        return self._vote(rows) if self._is_exact else self._mean(lambda tree: self[tree].predict_proba(rows), rows)

    def _vote(self, rows: Rows) -> NDArray[np.float64]:
        """Vote as the forest itself does."""
        return self._mean(lambda tree: self.leaf_shares[tree][apply_tree(self[tree].tree, rows)], rows)

    def _mean(self, shares: Callable[[int], NDArray[np.float64]], rows: Rows) -> NDArray[np.float64]:
        # Summed in the order of the trees, to round as the forest does.
        total = np.zeros((rows.n_rows, len(self.classes)))
        for found in map_in_threads(shares, range(len(self))):
            total += found
        total /= len(self)
        return total

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ForestRules):
            return NotImplemented
        return self.rules == other.rules and all(map(np.array_equal, self.leaf_shares, other.leaf_shares))

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays

    def __str__(self) -> str:
        return "\n".join([f"{self._summary}.", self.guarantee, *(f"Note: {remark}" for remark in self.remarks)])

    def __repr__(self) -> str:
        return f"<ForestRules: {self._summary}>"

    _repr_html_ = written_by("html:forest_to_html")

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the columns before a pipeline, a sentence each."""
        return self.rules[0].own_remarks

    @property
    def _summary(self) -> str:
        return (
            f"{self.n_rules:,} rules of {count_of(len(self), 'tree')} by {self.method!r}, "
            f"{self.n_conditions:,} of {self.tree_conditions:,} conditions left"
        )


def run_each(function: Callable[[Any], Any], items: Sequence[Any], progress: Progress | None) -> tuple[Any, ...]:
    """Call a function for every tree, on several threads; for the first tree alone, to compile what the others use."""
    results: list[Any] = []
    for part in (items[:1], items[1:]):
        for result in map_in_threads(function, part):
            results.append(result)
            if progress is not None:
                progress(len(results), len(items))
    return tuple(results)


class _VoteCounter:
    """Sum the weights of all rows, of those that the rules and the forest get right, and that they differ on."""

    def __init__(self, forest: ForestRules) -> None:
        self.forest, self.features = forest, forest._features

    def count(self, listed: LabelledRows) -> tuple[NDArray[np.float64], int]:
        rows, truth, weights = listed.rows.convert(), listed.class_ids, listed.weights
        by_forest = self.forest._vote(rows).argmax(axis=1)
        by_rules = by_forest if self.forest._is_exact else self.forest._find_shares(rows).argmax(axis=1)
        marks = by_rules == truth, by_forest == truth, by_rules != by_forest
        share = np.ones(rows.n_rows) if weights is None else weights
        return np.array([share.sum(), *(share[mark].sum() for mark in marks)]), int(np.count_nonzero(share))

    def add(self, total: tuple[Any, int], part: tuple[Any, int]) -> tuple[Any, int]:
        return total[0] + part[0], total[1] + part[1]
