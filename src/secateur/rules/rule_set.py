"""RuleSet: the rules of a tree after deletion, as arrays that make objects on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.coverage import cover_rows, find_winners
from secateur.methods import METHODS, Deletions
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.rows.leaves import apply_tree
from secateur.rows.opening import check_pair, open_rows
from secateur.rows.row_source import GivenRows, ModelTerms
from secateur.rows.table_columns import find_texts
from secateur.rules.array_sequence import ArraySequence
from secateur.rules.deciding import Deciding, Decisions, check_of, without_facts
from secateur.rules.rule import Rule
from secateur.rules.writable import Writable
from secateur.tree.paths import DEFAULT_RF_TOL, trace_paths
from secateur.tree.shares import divide_or_nan
from secateur.words.assumptions import FactsUsed
from secateur.words.conditions import read_share
from secateur.words.witnesses import Witnesses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from secateur.export.picture import Picture
    from secateur.results.audit import Audit
    from secateur.results.explanation import Explanation
    from secateur.results.overlaps import Overlaps
    from secateur.rows.row_source import RowSource
    from secateur.rows.rows import LabelledRows, Rows
    from secateur.rules.compact_rules import CompactRules
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree
    from secateur.verify import Verification
    from secateur.words.plain_words import PlainVoice

__all__ = ["RuleSet", "StoredContent", "as_matrix"]


@dataclass(frozen=True)
class StoredContent:
    """What a file says of itself: its digest, the digest of its content, and the version of secateur that wrote it."""

    digest: str | None
    content_digest: str
    version: str
    is_worded: bool = True  # whether it holds the reasons in words


@dataclass(frozen=True, eq=False)
class RuleSet(Writable, ArraySequence[Rule]):
    """The rules of a tree after deletion, one for each leaf, in source order.

    Made by :func:`secateur.simplify`, or read back by :meth:`from_json`. A sequence of :class:`Rule`.

    Parameters
    ----------
    tree : Tree
        The source tree.
    method : str
        Name of the method that deleted.
    parameters : mapping of str to object
        The method's parameters.
    deletions : Deletions
        What was deleted and why, one element for each (rule, link on its path).
    class_counts, source_class_counts : ndarray of float64, shape (n_rules, n_classes)
        (Weighted) training rows of each class that satisfy each rule, and each leaf's own rule; NaN where not known.
    is_ranked : bool
        Whether the counts come from rows, so that overlapping rules can be ranked.
    is_weighted : bool
        Whether the counts are sums of weights, not numbers of rows.
    training : GivenRows, default=None
        The rows that the rules were made from, for :meth:`verify`.
    domain : GivenRows, default=None
        The listed cases of ``mismatch-certified``, where they are not the training rows.
    stored : StoredContent, default=None
        What the file says of itself, for a rule set that was read from one.
    notes : tuple of str, default=()
        What the method remarks on the rows, a sentence each; a file does not keep it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> rules = secateur.simplify(model, X, y, method="exact")
    >>> len(rules), rules[0].text
    (5, 'x3 <= 0.80000002 => 0')
    >>> bool((rules.predict(X) == model.predict(X)).all())
    True
    """

    tree: Tree
    method: str
    parameters: Mapping[str, Any]
    deletions: Deletions
    class_counts: NDArray[np.float64]
    source_class_counts: NDArray[np.float64]
    is_ranked: bool
    is_weighted: bool
    training: GivenRows | None = field(default=None, repr=False)
    domain: GivenRows | None = field(default=None, repr=False)
    stored: StoredContent | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    nouns = "rules"

    def __post_init__(self) -> None:
        for array in (*vars(self.deletions).values(), self.class_counts, self.source_class_counts):
            array.flags.writeable = False

    @cached_property
    def paths(self) -> Paths:
        """The path of each rule."""
        return trace_paths(self.tree, float(self.parameters.get("rf_tol", DEFAULT_RF_TOL)))

    @property
    def is_exact(self) -> bool:
        """Whether the rules provably predict what the tree predicts."""
        return METHODS[self.method].is_exact

    @property
    def guarantee(self) -> str:
        """What is preserved, in a sentence, with the facts that this rests on."""
        sentence = METHODS[self.method].promise(self.parameters)
        if not self.facts_used.used:
            return sentence
        return f"{sentence} This is about rows that keep to the facts it rests on: {'; '.join(self.facts_used.used)}."

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on rows, on columns before a pipeline, and on classes that no rule predicts, a sentence each."""
        return (*self._told_remarks, *self._remark_classes())

    @property
    def _told_remarks(self) -> tuple[str, ...]:
        """Remarks of the method and of the pipeline, a sentence each."""
        return (*self.notes, *(() if self.tree.columns is None else self.tree.columns.remarks))

    def _remark_classes(self) -> Iterator[str]:
        """Name the classes that rows have but no rule predicts."""
        names, predicted = self.tree.class_names, set(self.paths.leaf_class.tolist())
        counts = self.source_class_counts.sum(axis=0)
        never = [class_id for class_id in np.flatnonzero(counts > 0).tolist() if class_id not in predicted]
        if never:
            share = read_share(float(counts[never].sum() / counts.sum()))
            rows = f"{share} of the rows{' (by weight)' if self.is_weighted else ''}"
            told = " or ".join(names[class_id] for class_id in never)
            if len(predicted) == 1:
                yield f"Every rule predicts {names[predicted.pop()]}, though {rows} are {told}."
            else:
                which = "that class" if len(never) == 1 else "those classes"
                yield f"No rule predicts {told}, though {rows} are of {which}."
        elif len(predicted) == 1 and len(names) > 1:
            yield f"Every rule predicts {names[predicted.pop()]}: the tree tells no class apart from another."

    @property
    def deleted(self) -> NDArray[np.bool_]:
        """Mark of each entry that was deleted, shape (n_entries,)."""
        return self.deletions.deleted

    @cached_property
    def support(self) -> NDArray[np.float64]:
        """(Weighted) training rows of each rule; NaN where not known."""
        return self.class_counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def reliability(self) -> NDArray[np.float64]:
        """Share of each rule's rows in its class; NaN where not known or no row satisfies it."""
        return self._share(self.class_counts)

    @cached_property
    def source_support(self) -> NDArray[np.float64]:
        """(Weighted) training rows that reach each leaf; NaN where not known."""
        return self.source_class_counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def source_reliability(self) -> NDArray[np.float64]:
        """Share of each leaf's rows in its class; NaN where not known or no row reaches it."""
        return self._share(self.source_class_counts)

    def _share(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return divide_or_nan(counts[np.arange(len(counts)), self.paths.leaf_class], counts.sum(axis=1))

    @cached_property
    def n_conditions(self) -> NDArray[np.int64]:
        """Number of kept links of each rule."""
        return np.bincount(self.paths.rule[~self.deleted], minlength=self.paths.n_rules)

    @cached_property
    def assimilated_into(self) -> NDArray[np.int64]:
        """The ancestor whose rule each shortened rule became, by node id, shape (n_rules,); -1 where it did not.

        A rule is assimilated when its kept conditions are exactly the path to a proper ancestor of its leaf (0, the
        root, if none is kept) and it covers more training rows than its leaf.
        """
        paths = self.paths
        ends = paths.offsets[1:]
        gone_before = np.cumsum(np.concatenate([[0], self.deleted]))
        n_gone = gone_before[ends] - gone_before[paths.offsets[:-1]]
        # The kept links are a prefix of the path exactly when the deleted ones are its last.
        is_prefix = (n_gone > 0) & (gone_before[ends] - gone_before[ends - n_gone] == n_gone)
        last_kept = np.concatenate([[0], paths.links])[ends - n_gone]  # behind the root, links are shifted by one
        into = np.where(n_gone == np.diff(paths.offsets), 0, last_kept)
        return np.where(is_prefix & (self.support > self.source_support), into, -1)

    @cached_property
    def ranking(self) -> NDArray[np.int64]:
        """Rank the rules: by reliability, then support, then fewer conditions, then source order."""
        support, reliability = (np.nan_to_num(values, nan=-1.0) for values in (self.support, self.reliability))
        return np.lexsort((self.n_conditions, -support, -reliability))

    @property
    def decisions(self) -> Decisions:
        """The order in which rules decide."""
        is_ordered = self.is_ranked or self.is_exact
        return Decisions(self, self.ranking, self.ranking, is_ordered)

    def __len__(self) -> int:
        return self.paths.n_rules

    def _make(self, place: int) -> Rule:
        return Rule(self, place)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row by the winning rule.

        Of the rules that cover a row, the one with the highest training reliability wins, then the largest training
        support, the fewest conditions, the first. Exact methods need no ranking: all rules that cover a row agree.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            A table as in :func:`simplify` is read a batch at a time.

        Returns
        -------
        ndarray of labels, shape (n_rows,)
            For a Spark DataFrame, that DataFrame with a lazily computed ``prediction`` column added.
        """
        return self._on_rows("predict", X, lambda rows: self.tree.classes[self.decide(rows)])

    def decide(self, rows: Rows) -> NDArray[np.int64]:
        """Find the class index of each row, for rows in the tree's own terms; :meth:`predict` takes any rows.

        Parameters
        ----------
        rows : Rows

        Returns
        -------
        ndarray of int64, shape (n_rows,)
        """
        if self.is_exact:
            return self.tree.leaf_class[apply_tree(self.tree, rows)]
        return self.paths.leaf_class[self._winners(rows)]

    def predict_proba(self, X: Any, of: str = "rule") -> NDArray[np.float64]:
        """Predict class shares: those of the training rows of each row's winning rule, or the tree's own.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            A table as in :func:`simplify` is read a batch at a time.
        of : {"rule", "leaf"}, default="rule"
            ``"rule"`` gives the shares of the winning rule; a rule set made without rows gives those of the row's own
            leaf. ``"leaf"`` gives the tree's own probabilities, as its model predicts them.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_classes)
        """
        check_of(of)
        shares = self._find_shares(of)
        find = self._winners if of == "rule" else self._find_leaves
        return self._on_rows("predict_proba", X, lambda rows: shares[find(rows)])

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the index of the winning rule of each row.

        A rule set made without rows has no ranking; each row then goes to the rule of its own leaf.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            A table as in :func:`simplify` is read a batch at a time.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
        """
        return self._on_rows("apply", X, self._winners)

    def write_predictions(self, table: Any, to: Any) -> int:
        """Write a table with the predicted class of each row, the number of its rule (from 1) and its reliability.

        The columns ``prediction``, ``rule`` and ``reliability`` are appended. The output is written whole or not at
        all.

        Parameters
        ----------
        table : path, relation, dataset, reader, frame or lazy frame
            A table as in :func:`simplify`.
        to : path, or tuple of (DuckDB connection, str)
            A new Parquet file; or a connection and the name of a new table.

        Returns
        -------
        int
            Number of rows.
        """
        from secateur.rules.written_predictions import write_predictions

        return write_predictions(self, table, to)

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Find the rules that cover each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            A table as in :func:`simplify` is read a batch at a time.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_rules)
        """
        return self._on_rows("covers", X, lambda rows: cover_rows(self.tree, self.paths, self.deleted, rows))

    def compact(
        self, *, budget: float = 0.0, tolerance: float = DEFAULT_TOLERANCE, otherwise: Any = "auto"
    ) -> CompactRules:
        """Choose few of the rules, and leave one class to what none of them covers.

        Parameters
        ----------
        budget : float, default=0.0
            Share of the training rows that may be decided otherwise than by the tree, for deleting further conditions
            and dropping rules; needs the training rows. 0 takes the rules as they are: each leaf of a written class
            lies in one of them.
        tolerance : float, default=0.05
            How far below its leaf's a rule's training reliability may fall by a deletion that the budget pays for.
        otherwise : label, default="auto"
            The class that is not written; by default the one that leaves the fewest conditions.

        Returns
        -------
        CompactRules
        """
        from secateur.compaction import compact_rules

        return compact_rules(self, budget=budget, tolerance=tolerance, otherwise=otherwise)

    def audit(self, X: Any, y: Any, *, sample_weight: Any = None, since: Audit | None = None) -> Audit:
        """Measure what was deleted and what it changed, against the source tree on these rows; rule by rule, too.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            Rows to audit on, ideally not those the tree was fitted on. A table as in :func:`simplify` is read a batch
            at a time.
        y : array-like of shape (n_rows,), or str
            Their labels; for a table, the column that holds them.
        sample_weight : array-like of shape (n_rows,), or str, default=None
        since : Audit, default=None
            An earlier audit of these rules, whose rows ``audit.per_rule`` compares each rule with; by default the
            training rows, which the rules were fitted to.
        """
        from secateur.results.audit import audit_rows

        with self._open(X, y, sample_weight) as rows:
            return audit_rows(self, rows, since)

    def overlaps(self, X: Any, *, sample_weight: Any = None) -> Overlaps:
        """Find the rules of different classes that share rows, and how many; the pair that shares most comes first.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            A table as in :func:`simplify` is read a batch at a time.
        sample_weight : array-like of shape (n_rows,), or str, default=None

        Returns
        -------
        Overlaps

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> import secateur
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X = X[:, :10]
        >>> model = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, y)
        >>> rules = secateur.simplify(model, X, y, method="quinlan", class_names=["malignant", "benign"])
        >>> print(rules.overlaps(X))
        1 pair of rules of different classes with rows in common:
          rule 2 (malignant) and rule 3 (benign): 9 rows, 1.6% of all
        """
        from secateur.results.overlaps import find_overlaps

        with self._open(X, None, sample_weight) as rows:
            return find_overlaps(self, rows)

    def verify(self, X: Any = None, y: Any = None, *, sample_weight: Any = None) -> Verification:
        """Prove the guarantee again, with code that shares nothing with the deletion code.

        Parameters
        ----------
        X, y : array-like, or a table and the column of its labels, default=None
            The training rows (for ``mismatch-certified``: the listed domain). By default those passed to ``simplify``,
            unless this rule set was read from a file. A table is read again, a batch at a time.
        sample_weight : array-like of shape (n_rows,), or str, default=None
        """
        from secateur.export.json import rules_to_record
        from secateur.verify import verify_rules

        check_pair(X, y, sample_weight)
        counted, domain = self._find_proof_rows(None if X is None else GivenRows(X, y, sample_weight))
        record = rules_to_record(self)
        if counted is None:
            return verify_rules(self.tree, record, domain=domain)
        with self._open(*counted) as rows:
            return verify_rules(self.tree, record, domain=domain, chunks=rows.map(self.tree, as_matrix))

    def _find_proof_rows(self, passed: GivenRows | None) -> tuple[GivenRows | None, Any]:
        """Find the rows to recount, and the listed cases, if the method has some, in the tree's terms."""
        counted, listed = passed or self.training, self.domain
        if "domain" in self.parameters:
            if passed is not None and self.parameters["domain"] != "training rows":
                counted, listed = None, passed  # these are the listed cases, not the rows that were counted
            elif listed is None:
                listed = counted
        if listed is None:
            return counted, None
        with self._open(listed.X, listed.y) as rows:
            terms = ModelTerms.of(self.tree)
            cases = rows.hold(lambda: terms, "Listed cases are checked one by one")
        return counted, as_matrix(cases.read_labelled(self.tree))[:2]

    def _open(self, X: Any, y: Any = None, sample_weight: Any = None) -> AbstractContextManager[RowSource]:
        return open_rows(X, y, sample_weight, find_texts=partial(find_texts, self.tree, y))

    def _on_rows(self, name: str, X: Any, find: Callable[[Rows], NDArray[Any]]) -> NDArray[Any]:
        """Apply a function of rows in memory to rows of any kind."""
        with self._open(X) as rows:
            return rows.decide(without_facts(self.tree), Deciding(self, name, find))  # type: ignore[no-any-return]

    def explain(self, row: Any) -> Explanation:
        """Explain which rule decides a row, what it asks, and which other rules cover the row.

        Parameters
        ----------
        row : array-like of shape (n_features,), mapping of column names to values, or data frame of one row
        """
        from secateur.results.explanation import explain_row

        return explain_row(self, row)

    def plot(self) -> Picture:
        """Draw the list of rules: class, what each asks, and the rows that it covers.

        Returns
        -------
        Picture
            SVG, which a notebook shows; ``save("rules.svg")`` writes it.
        """
        from secateur.export.rules_picture import draw_rules

        return draw_rules(self)

    def plot_tree(self, max_depth: int | None = 3) -> Picture:
        """Draw the tree that the rules come from: leaves coloured by class, branches as wide as their rows.

        Parameters
        ----------
        max_depth : int or None, default=3
            What lies deeper is folded; None shows all.

        Returns
        -------
        Picture
            SVG, which a notebook shows; ``save("tree.svg")`` writes it.
        """
        from secateur.export.tree_picture import draw_tree

        return draw_tree(self, max_depth)

    @classmethod
    def from_json(cls, text: str) -> RuleSet:
        """Read a rule set that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
        """
        from secateur.export.json import rules_from_json

        return rules_from_json(text)

    @cached_property
    def _rule_of_leaf(self) -> NDArray[np.int64]:
        place = np.full(self.tree.n_nodes, -1, dtype=np.int64)
        place[self.paths.leaf_ids] = np.arange(len(self))
        return place

    @cached_property
    def _voice(self) -> PlainVoice:
        """How conditions are put for people."""
        from secateur.words.plain_words import find_voice

        return find_voice(self)

    @cached_property
    def facts_used(self) -> FactsUsed:
        """The facts that the exact deletions rest on."""
        return FactsUsed(self.tree, self.paths, self.deletions)

    def _rests_on(self, facts: Iterable[str]) -> bool:
        """Whether the guarantee rests on one of some facts about the columns, in words."""
        # A proof that the tree is monotone takes all facts or none; its certificate says which.
        takes_all = "monotone" in self.parameters and "keep to the facts" in str(self.parameters.get("certificate"))
        return any(takes_all or words in self.facts_used.used for words in facts)

    @cached_property
    def _witnesses(self) -> Witnesses:
        known = self.tree if self.parameters.get("domain_knowledge", True) else without_facts(self.tree)
        return Witnesses(known, self.paths, self.deletions, METHODS[self.method].witness)

    def _find_shares(self, of: str) -> NDArray[np.float64]:
        """Find the class shares that each rule, or the leaf of each rule, predicts, shape (n_rules, n_classes)."""
        if of == "leaf" and self.tree.counts is not None:
            counts = self.tree.counts[self.paths.leaf_ids]
        else:
            counts = self.class_counts if self.is_ranked and of == "rule" else self.source_class_counts
        shares = np.zeros((len(self), self.tree.n_classes))
        shares[np.arange(len(self)), self.paths.leaf_class] = 1.0  # where no row was counted, only the class is known
        total = counts.sum(axis=1, keepdims=True)
        np.divide(counts, total, out=shares, where=total > 0)
        return shares

    def _find_leaves(self, rows: Rows) -> NDArray[np.int64]:
        """Find the rule of each row's own leaf."""
        return self._rule_of_leaf[apply_tree(self.tree, rows)]

    def _winners(self, rows: Rows) -> NDArray[np.int64]:
        if not self.is_ranked:
            return self._find_leaves(rows)
        return find_winners(self.tree, self.paths, self.deleted, self.ranking, rows)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "training": None, "domain": None}  # the caller's rows stay with the caller

    def __repr__(self) -> str:
        return (
            f"<RuleSet: {len(self)} rules by {self.method!r}, "
            f"{int(self.deleted.sum())} of {len(self.deleted)} conditions deleted>"
        )

    def _repr_html_(self) -> str:
        from secateur.export.html import rules_to_html

        return rules_to_html(self)

    def __rich__(self) -> Any:
        from secateur.export.terminal import rules_to_table

        return rules_to_table(self)


def as_matrix(listed: LabelledRows) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float64] | None]:
    """Give rows as the independent checker takes them."""
    return listed.rows.matrix, listed.class_ids, listed.weights
