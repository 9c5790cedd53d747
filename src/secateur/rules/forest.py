"""ForestRules: the rule sets of a forest's trees, which vote as the forest does.

The training rows are checked and converted once for all trees. Trees are simplified side by side: most of the work is
done in arrays and kernels, which let other threads run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from secateur.adapters import from_model
from secateur.adapters.forests import read_forest
from secateur.errors import InputError, ParameterError
from secateur.facts.checking import check_facts
from secateur.facts.stating import state_facts
from secateur.frames import frame_columns
from secateur.kernels.threads import map_in_threads
from secateur.methods import METHODS, Deletions
from secateur.rows.checking import check_labels, check_rows, check_weights
from secateur.rows.leaves import apply_tree
from secateur.rows.rows import Rows
from secateur.rules.merged import MergedRules, merge_rules
from secateur.rules.rule_set import RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from secateur.tree.tree import Tree
    from secateur.verify import Verification

__all__ = ["ForestAudit", "ForestRules", "ForestVerification", "Progress", "simplify_forest"]

Progress = Callable[[int, int | None], object]
"""Called with the number of trees that are done, and of all trees, after each one."""

SHOWN_FAILURES = 5
EXACT_GUARANTEE = (
    "Each tree's predictions are preserved exactly, for every possible row, so the forest's are: its trees vote with "
    "the class shares of the row's own leaf, as before."
)


@dataclass(frozen=True)
class ForestAudit:
    """What deletion changed in a forest, on given rows; shares in percent, changes in percentage points.

    Attributes
    ----------
    n_trees, n_rules, n_conditions, n_deleted, n_rows : int
        Size of what was audited, over all trees.
    removed : float
        Percentage of all conditions that were deleted.
    accuracy, forest_accuracy, delta_accuracy : float
        Accuracy of the rules' vote and of the forest, and the difference.
    changed : float
        Percentage of rows for which rules and forest predict something else.
    """

    n_trees: int
    n_rules: int
    n_conditions: int
    n_deleted: int
    n_rows: int
    removed: float
    accuracy: float
    forest_accuracy: float
    delta_accuracy: float
    changed: float

    def __str__(self) -> str:
        return (
            f"{self.n_deleted} of {self.n_conditions} conditions deleted ({self.removed:.2f} %), "
            f"from {self.n_rules} rules of {self.n_trees} trees\n"
            f"accuracy {self.accuracy:.2f} % (forest {self.forest_accuracy:.2f} %, change "
            f"{self.delta_accuracy:+.2f} points) on {self.n_rows} rows; other prediction than the forest for "
            f"{self.changed:.2f} %"
        )


@dataclass(frozen=True)
class ForestVerification:
    """What the independent checker found, tree by tree.

    Attributes
    ----------
    trees : tuple of Verification
        One for each tree.
    """

    trees: tuple[Verification, ...]

    @property
    def ok(self) -> bool:
        """Whether everything that was promised of every tree was proved again."""
        return all(self.trees)

    @property
    def failures(self) -> tuple[str, ...]:
        """What is wrong, or could not be proved, a sentence each, with the index of its tree."""
        return tuple(f"Tree {index}: {text}" for index, tree in enumerate(self.trees) for text in tree.failures)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        n_ok, failures = sum(map(bool, self.trees)), self.failures
        lines = [f"{n_ok} of {len(self.trees)} trees verified.", *(f"✗ {text}" for text in failures[:SHOWN_FAILURES])]
        if len(failures) > SHOWN_FAILURES:
            lines.append(f"… and {len(failures) - SHOWN_FAILURES} more failures")
        return "\n".join([*lines, "Verified." if self.ok else "NOT verified."])


@dataclass(frozen=True, eq=False, repr=False)
class ForestRules(Sequence[RuleSet]):
    """The rules of a forest after deletion: one rule set for each tree, which vote as the trees did.

    Made by :func:`secateur.simplify`. A sequence of :class:`RuleSet`.

    Parameters
    ----------
    rule_sets : tuple of RuleSet
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
    >>> rules = secateur.simplify(forest, X, y, method="exact")
    >>> len(rules), rules[0].method
    (10, 'exact')
    >>> bool((rules.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """

    rule_sets: tuple[RuleSet, ...]
    leaf_shares: tuple[NDArray[np.float64], ...] = field(repr=False)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The source trees, in the forest's order."""
        return tuple(rules.tree for rules in self.rule_sets)

    @property
    def method(self) -> str:
        """Name of the method that deleted."""
        return self.rule_sets[0].method

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The method's parameters."""
        return self.rule_sets[0].parameters

    @property
    def guarantee(self) -> str:
        """What is preserved, in a sentence."""
        of_tree = METHODS[self.method].guarantee.format_map(dict(self.parameters))
        sentence = EXACT_GUARANTEE if self._is_exact else f"Of each tree: {of_tree}"
        # Which facts a tree's deletions rest on is known to its rule set; to ask all of them would take too long.
        is_told = bool(self[0].tree.facts) and self.parameters.get("domain_knowledge", True)
        return f"{sentence} This is about rows that keep to what is known of the columns." if is_told else sentence

    @property
    def classes(self) -> NDArray[Any]:
        """The forest's labels, shape (n_classes,)."""
        return self.rule_sets[0].tree.classes

    @property
    def n_rules(self) -> int:
        """Number of rules of all trees."""
        return sum(len(rules.class_counts) for rules in self.rule_sets)

    @property
    def n_conditions(self) -> int:
        """Number of conditions of all rules before deletion."""
        return sum(len(rules.deleted) for rules in self.rule_sets)

    @property
    def n_deleted(self) -> int:
        """Number of conditions that were deleted."""
        return sum(int(np.count_nonzero(rules.deleted)) for rules in self.rule_sets)

    def __len__(self) -> int:
        return len(self.rule_sets)

    @overload
    def __getitem__(self, index: int) -> RuleSet: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RuleSet, ...]: ...
    def __getitem__(self, index: int | slice) -> RuleSet | tuple[RuleSet, ...]:
        return self.rule_sets[index]

    def __iter__(self) -> Iterator[RuleSet]:
        return iter(self.rule_sets)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row by the trees' vote.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of labels, shape (n_rows,)
        """
        labels: NDArray[Any] = self.classes[self.predict_proba(X).argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class shares of each row, a mean over the trees in their order.

        After an exact method, a tree votes with the shares of the row's own leaf, as in the forest. After others it
        votes with the shares of its winning rule's training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of float64, shape (n_rows, n_classes)
        """
        rows = self._check(X)
        return self._vote(rows) if self._is_exact else self._mean(lambda tree: self[tree].predict_proba(rows), rows)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Index of the rule that wins in each tree, for each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of int64, shape (n_rows, n_trees)
        """
        rows = self._check(X)
        winners = np.empty((rows.n_rows, len(self)), dtype=np.int64)
        for tree, found in enumerate(map_in_threads(lambda rules: rules.apply(rows), self.rule_sets)):
            winners[:, tree] = found
        return winners

    def audit(self, X: Any, y: Any, *, sample_weight: Any = None) -> ForestAudit:
        """Measure what was deleted and what it changed, against the forest on these rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows to audit on, best rows that the forest was not fitted on.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        ForestAudit
        """
        rows = self._check(X)
        truth = check_labels(self[0].tree, y, rows.n_rows)
        weights = check_weights(sample_weight, rows.n_rows)
        by_forest = self._vote(rows).argmax(axis=1)
        by_rules = by_forest if self._is_exact else self.predict_proba(rows).argmax(axis=1)
        accuracy, forest_accuracy, changed = (
            100.0 * float(np.average(flags, weights=weights))
            for flags in (by_rules == truth, by_forest == truth, by_rules != by_forest)
        )
        return ForestAudit(
            n_trees=len(self),
            n_rules=self.n_rules,
            n_conditions=self.n_conditions,
            n_deleted=self.n_deleted,
            n_rows=rows.n_rows,
            removed=100.0 * self.n_deleted / self.n_conditions if self.n_conditions else 0.0,
            accuracy=accuracy,
            forest_accuracy=forest_accuracy,
            delta_accuracy=accuracy - forest_accuracy,
            changed=changed,
        )

    def verify(
        self, X: Any = None, y: Any = None, *, sample_weight: Any = None, progress: Progress | None = None
    ) -> ForestVerification:
        """Prove the guarantee of each tree again, by code that shares nothing with the code that deleted.

        Parameters
        ----------
        X, y : array-like, default=None
            The training rows. By default those that ``simplify`` got, if the rules were not pickled since.
        sample_weight : array-like of shape (n_rows,), default=None
        progress : callable, default=None
            Called with the number of trees that are done, and of all trees, after each one.

        Returns
        -------
        ForestVerification
        """
        rows = None if X is None else self._check(X)

        def verify(rules: RuleSet) -> Verification:
            return rules.verify(rows, y, sample_weight=sample_weight)

        return ForestVerification(_run(verify, self.rule_sets, progress))

    def merged(self) -> MergedRules:
        """Merge the rules of all trees that ask and predict the same, with the number of trees that have them.

        Returns
        -------
        MergedRules
        """
        return merge_rules(self.rule_sets)

    @property
    def _is_exact(self) -> bool:
        return METHODS[self.method].is_exact

    def _check(self, X: Any) -> Rows:
        return _convert(check_rows(self[0].tree, X))

    def _vote(self, rows: Rows) -> NDArray[np.float64]:
        """What the forest itself says."""
        return self._mean(lambda tree: self.leaf_shares[tree][apply_tree(self[tree].tree, rows)], rows)

    def _mean(self, shares: Callable[[int], NDArray[np.float64]], rows: Rows) -> NDArray[np.float64]:
        # Added in the order of the trees, so that rounding is the forest's own.
        total = np.zeros((rows.n_rows, len(self.classes)))
        for found in map_in_threads(shares, range(len(self))):
            total += found
        total /= len(self)
        return total

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ForestRules):
            return NotImplemented
        same = self.rule_sets == other.rule_sets
        return same and all(map(np.array_equal, self.leaf_shares, other.leaf_shares))

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays

    def __str__(self) -> str:
        return "\n".join([f"{self._summary}.", self.guarantee, *(f"Note: {remark}" for remark in self.remarks)])

    def __repr__(self) -> str:
        return f"<ForestRules: {self._summary}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<div><p><b>{escape(self._summary)}.</b> {escape(self.guarantee)}</p></div>"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the rules should know of the columns before a pipeline, a sentence each."""
        return self.rule_sets[0].remarks

    @property
    def _summary(self) -> str:
        return (
            f"{self.n_rules:,} rules of {len(self):,} tree{'' if len(self) == 1 else 's'} by {self.method!r}, "
            f"{self.n_deleted:,} of {self.n_conditions:,} conditions deleted"
        )


def simplify_forest(
    model: Any,
    X: Any,
    y: Any,
    simplify_tree: Callable[..., RuleSet],
    *,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    domain: Any = None,
    groups: Any = None,
    integers: Any = None,
    facts: Any = None,
    progress: Progress | None = None,
    **settings: Any,
) -> ForestRules:
    """Simplify every tree of a forest.

    Parameters
    ----------
    model : fitted forest
        A scikit-learn RandomForestClassifier, ExtraTreesClassifier, or BaggingClassifier of trees.
    X : array-like or data frame of shape (n_rows, n_features), or None
        The forest's training rows. Every tree is judged by all of them, not by its own sample.
    y : array-like of shape (n_rows,), or None
    simplify_tree : callable
        ``simplify_tree(tree, rows, labels, sample_weight=..., **settings)`` makes the rules of one tree.
    sample_weight : array-like of shape (n_rows,), default=None
    feature_names, class_names : sequence of str, default=None
    accepts_missing : bool, default=None
    domain : tuple of (rows, labels), default=None
    groups : mapping of str to list, or list of lists, default=None
    integers : list of columns, default=None
    facts : list of str, default=None
    progress : callable, default=None
        Called with the number of trees that are done, and of all trees, after each one.
    **settings : object
        Further arguments of ``simplify``.

    Returns
    -------
    ForestRules
    """
    if progress is not None and not callable(progress):
        raise ParameterError(f"Expected progress as a function of two numbers, or None, found {progress!r}.")
    if (X is None) != (y is None):
        given, absent = ("X", "y") if y is None else ("y", "X")
        raise InputError(f"{given} was passed without {absent}: pass both, or neither for a method that needs no rows.")
    forest = read_forest(model, X, accepts_missing)
    names = feature_names
    if names is None and forest.trees[0].feature_names is None and X is not None:
        names = frame_columns(X)
    named = from_model(forest.trees[0], feature_names=names, class_names=class_names)
    named = state_facts(named, X, groups=groups, integers=integers, facts=facts)
    shared = {name: getattr(named, name) for name in ("feature_names", "class_names", "facts")}
    trees = [replace(tree, **shared) for tree in forest.trees]
    rows = labels = weights = None
    if X is not None:
        rows = _convert(check_rows(named, X))
        check_facts(named, rows)
        labels = named.classes[check_labels(named, y, rows.n_rows)]
        weights = check_weights(sample_weight, rows.n_rows)
    elif sample_weight is not None:
        raise InputError("sample_weight was passed without X and y.")
    if isinstance(domain, (tuple, list)) and len(domain) == 2:
        settings["domain"] = _convert(check_rows(named, domain[0], name="domain")), domain[1]
    elif domain is not None:
        settings["domain"] = domain  # refused with the others

    def make(tree: Tree) -> RuleSet:
        return _slim(simplify_tree(tree, rows, labels, sample_weight=weights, **settings))

    return ForestRules(_run(make, trees, progress), forest.leaf_shares)


def _run(function: Callable[[Any], Any], items: Sequence[Any], progress: Progress | None) -> tuple[Any, ...]:
    """Do something for every tree on several threads, the first one alone: it compiles what the others use."""
    results: list[Any] = []
    for part in (items[:1], items[1:]):
        for result in map_in_threads(function, part):
            results.append(result)
            if progress is not None:
                progress(len(results), len(items))
    return tuple(results)


def _convert(rows: Rows) -> Rows:
    """Rows that need no further conversion, for many trees read them."""
    return rows if rows.source is not None else Rows.of(np.ascontiguousarray(rows.matrix))


def _slim(rules: RuleSet) -> RuleSet:
    """The same rules; numbers behind reasons that are the same everywhere take no memory, for forests have many."""
    numbers = {one.name: getattr(rules.deletions, one.name) for one in fields(Deletions)}
    return replace(rules, deletions=Deletions(**{name: _repeat(values) for name, values in numbers.items()}))


def _repeat(values: NDArray[Any]) -> NDArray[Any]:
    """An array whose values are all equal as one number that is read again and again; others as they are."""
    if len(values) == 0 or not np.array_equal(values, np.broadcast_to(values[0], values.shape), equal_nan=True):
        return values
    return np.broadcast_to(values[0], values.shape)
