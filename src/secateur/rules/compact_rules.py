"""CompactRules: few rules, none of them of one class, and "otherwise" that class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.coverage import cover_rows, find_winners
from secateur.methods import METHODS
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.rows.leaves import apply_tree
from secateur.rows.opening import check_pair
from secateur.rows.row_source import GivenRows
from secateur.rules.array_sequence import ArraySequence
from secateur.rules.compact_rule import CompactRule
from secateur.rules.deciding import Deciding, Decisions, check_of, without_facts
from secateur.rules.dropped_rules import DroppedRules, find_covering_rules
from secateur.rules.writable import Writable
from secateur.tree.shares import divide_or_nan, none_if_nan
from secateur.words.assumptions import find_facts_of_choice
from secateur.words.reasons import make_reasons
from secateur.words.witnesses import Witnesses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from secateur.export.picture import Picture
    from secateur.results.compact_audit import CompactAudit
    from secateur.results.compact_explanation import CompactExplanation
    from secateur.results.fidelity import Fidelity
    from secateur.rows.rows import Rows
    from secateur.rules.rule_set import RuleSet, StoredContent
    from secateur.tree.tree import Label, Tree
    from secateur.verify import Verification
    from secateur.words.reasons import Reason

__all__ = ["CompactRules"]


@dataclass(frozen=True, eq=False)
class CompactRules(Writable, ArraySequence[CompactRule]):
    """Few rules that say what a tree does, and the class of what none of them covers.

    Made by :func:`secateur.compact` or :meth:`RuleSet.compact`. A sequence of :class:`CompactRule`, listed by class,
    and within a class so that the first lines tell most.

    Parameters
    ----------
    source : RuleSet
        One rule for each leaf, before anything was chosen.
    rules : RuleSet
        The same with everything that was deleted, under the budget too.
    chosen : ndarray of int64, shape (n_rules,)
        Places of the rules that are written, as they are printed.
    otherwise_id : int
        Index of the class of rows that no rule covers.
    decided_counts : ndarray of float64, shape (n_rules + 1, n_classes)
        (Weighted) training rows of each class that each rule decides, and at the end those that none covers; NaN where
        not known.
    stand_ins : tuple of ndarray of int64
        Offsets and places: the leaves that each written rule stands for, as places in source order.
    drop_costs : ndarray of float64, shape (3, n_leaves)
        Shares of rows decided otherwise before and after the rule of a leaf was dropped, and of training rows that it
        added; NaN for rules that are written, that another stands for, or of the class of "otherwise".
    budget, tolerance : float
        What the joint deletion was allowed; the budget of exact rules is 0.
    stored : StoredContent, default=None
        What the file says of itself, for compact rules that were read from one.
    fidelity : Fidelity, default=None
        How far the rules say what a model says that is no tree, for those that :func:`secateur.approximate` made.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> data = load_iris()
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data.data, data.target)
    >>> rules = secateur.compact(model, data.data, data.target, class_names=data.target_names)
    >>> len(rules), rules.n_conditions, rules.otherwise
    (2, 4, 2)
    >>> bool((rules.predict(data.data) == model.predict(data.data)).all())
    True
    """

    nouns = "rules"

    source: RuleSet
    rules: RuleSet
    chosen: NDArray[np.int64]
    otherwise_id: int
    decided_counts: NDArray[np.float64]
    stand_ins: tuple[NDArray[np.int64], NDArray[np.int64]] = field(repr=False)
    drop_costs: NDArray[np.float64] = field(repr=False)
    budget: float = 0.0
    tolerance: float = DEFAULT_TOLERANCE
    stored: StoredContent | None = field(default=None, repr=False)
    fidelity: Fidelity | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for array in (self.chosen, self.decided_counts, *self.stand_ins, self.drop_costs):
            array.flags.writeable = False

    @property
    def tree(self) -> Tree:
        """The source tree."""
        return self.rules.tree

    @property
    def method(self) -> str:
        """Name of the method that shortened the rules, before some of them were chosen."""
        return self.rules.method

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks of the method, on columns before a pipeline, and on classes that no rule of a leaf predicts."""
        return self.rules.remarks

    @property
    def rest_word(self) -> str:
        """What the last line begins with: "otherwise", or "always" where there is no rule."""
        return "otherwise" if len(self) else "always"

    @property
    def is_exact(self) -> bool:
        """Whether the rules decide every possible row as the tree does."""
        return self.budget == 0 and METHODS[self.rules.method].is_exact

    @cached_property
    def class_ids(self) -> NDArray[np.int64]:
        """Index of the class that each rule predicts."""
        return self.rules.paths.leaf_class[self.chosen]

    @property
    def otherwise(self) -> Label:
        """The class of rows that no rule covers, as the model labels it."""
        label: Label = self.tree.classes[self.otherwise_id].item()
        return label

    @property
    def otherwise_name(self) -> str:
        """The name of that class."""
        return self.tree.class_names[self.otherwise_id]

    @property
    def otherwise_support(self) -> float | None:
        """(Weighted) training rows that no rule covers; None where not known."""
        return none_if_nan(self.decided_counts[-1].sum())

    @property
    def otherwise_reliability(self) -> float | None:
        """Share of those rows in the class of "otherwise"; None where not known."""
        rest = self.decided_counts[-1]
        total = float(rest.sum())
        return float(rest[self.otherwise_id]) / total if total > 0 else None

    @property
    def n_conditions(self) -> int:
        """Number of conditions of all rules together, as links of the tree."""
        return int(self.rules.n_conditions[self.chosen].sum())

    @property
    def source_n_conditions(self) -> int:
        """Number of conditions of the tree's own rules, one for each leaf."""
        return len(self.rules.paths.links)

    @property
    def source_n_rules(self) -> int:
        """Number of leaves of the tree."""
        return len(self.rules)

    @property
    def guarantee(self) -> str:
        """What is preserved, in a sentence, with the facts that this rests on."""
        if self.fidelity is not None:
            of_tree = replace(self, fidelity=None).guarantee
            return f"The rules approximate {self.fidelity.model}; what is promised is about a surrogate tree: {of_tree}"
        if self.is_exact:
            sentence = (
                "Exact for every possible row: each row gets the class that the tree predicts, from a rule that covers "
                f"it or, where none does, {self.otherwise_name}."
            )
        elif self.budget == 0:
            sentence = (
                f"Every leaf of a written class lies in a rule of its class; all other rows are {self.otherwise_name}. "
                f"The rules are those of {self.rules.method!r}, which promises: {self.rules.guarantee}"
            )
        else:
            earlier = "exact" if METHODS[self.rules.method].is_exact else "earlier"
            sentence = (
                f"Of the training rows, at most {100 * self.budget:.6g} % (by weight) are decided otherwise than by "
                "the tree; on other rows that is an estimate, not a bound. No condition that was deleted for it left a "
                f"rule with a training reliability more than {self.tolerance:g} below its leaf's, or with another "
                f"class more common among its rows; {earlier} deletions may move reliability further."
            )
        used = self._facts_used if self.is_exact else ()
        return (
            f"{sentence} This is about rows that keep to the facts it rests on: {'; '.join(used)}."
            if used
            else sentence
        )

    @cached_property
    def _facts_used(self) -> tuple[str, ...]:
        """The facts that the guarantee rests on, in words; a budget's is about the training rows, which keep to all."""
        return () if self.budget else find_facts_of_choice(self.rules, self.chosen, self.otherwise_id)

    def _rests_on(self, facts: Iterable[str]) -> bool:
        """Whether the guarantee rests on one of some facts about the columns, in words."""
        listed = list(facts)
        return not self.budget and (self.rules._rests_on(listed) or not set(listed).isdisjoint(self._facts_used))

    @property
    def decisions(self) -> Decisions:
        """The order in which rules decide, and what none of them covers."""
        is_ordered = self.rules.is_ranked or self.is_exact or len(np.unique(self.class_ids)) < 2
        words = f"{self.rest_word} => {self.otherwise_name}"
        order = np.arange(len(self))
        last = (self.otherwise, self.otherwise_reliability, words)
        return Decisions(self.rules, self.chosen, order, is_ordered, last, self.decided_reliability)

    @cached_property
    def decided_reliability(self) -> NDArray[np.float64]:
        """Share of each rule's class among the training rows that it decides; NaN where there are none, or unknown."""
        own = self.decided_counts[np.arange(len(self)), self.class_ids]
        return divide_or_nan(own, self.decided_counts[:-1].sum(axis=1))

    def stands_for(self, index: int) -> NDArray[np.int64]:
        """The leaves that a rule stands for, as places in source order.

        Parameters
        ----------
        index : int
            Place of the rule, as it is printed.
        """
        offsets, leaves = self.stand_ins
        return leaves[offsets[index] : offsets[index + 1]]

    @property
    def dropped(self) -> DroppedRules:
        """The rules of leaves that are not written, each with the rule that covers its leaf or what it cost.

        Rules of the class of "otherwise" are not among them: all of them are left to it.
        """
        return DroppedRules(self)

    @cached_property
    def covering_rules(self) -> NDArray[np.int64]:
        """Index of the first written rule that stands for each leaf, in source order; -1 where none does."""
        return find_covering_rules(self)

    def reasons_of(self, rule: int) -> dict[int, Reason]:
        """Why each link of the rule of a leaf was deleted or kept.

        Parameters
        ----------
        rule : int
            Place of its leaf in source order.
        """
        rules = self.rules
        found = make_reasons(
            rules.tree,
            rules.paths,
            rules.deletions,
            rule,
            {**rules.parameters, **self._spending},
            self._witnesses,
            rules.facts_used.of_rule(rule),
            METHODS[rules.method].words,
        )
        return {reason.link_id: reason for reason in found}

    @property
    def _spending(self) -> dict[str, float]:
        """What the words of a budget's reasons are filled in with; without one, reasons are the method's own."""
        return {"budget": self.budget, "tolerance": self.tolerance} if self.budget else {}

    @cached_property
    def _witnesses(self) -> Witnesses:
        if not self.budget:  # then rules are as they were
            return self.rules._witnesses
        return Witnesses(self.tree, self.rules.paths, self.rules.deletions, None)

    def __len__(self) -> int:
        return len(self.chosen)

    def _make(self, place: int) -> CompactRule:
        return CompactRule(self, place)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row: that of the rule that decides it, or "otherwise".

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
        if self.is_exact and not self.tree.facts:  # rows that contradict a fact get what the rules say, everywhere
            return self.tree.leaf_class[apply_tree(self.tree, rows)]
        return np.append(self.class_ids, self.otherwise_id)[self.find_deciding(rows)]

    def predict_proba(self, X: Any, of: str = "rule") -> NDArray[np.float64]:
        """Predict class shares: those of the training rows that the same rule, or "otherwise", decides.

        Without training rows these are not known; then the tree's own are given.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
        of : {"rule", "leaf"}, default="rule"
            ``"leaf"`` gives the tree's own probabilities, as its model predicts them.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_classes)
        """
        check_of(of)
        if of == "leaf" or not self.is_counted:
            return self.rules.predict_proba(X, "leaf")
        return self._on_rows("predict_proba", X, lambda rows: self.shares[self.find_deciding(rows)])

    @property
    def is_counted(self) -> bool:
        """Whether the training rows that each rule decides are known."""
        return not bool(np.isnan(self.decided_counts).any())

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Class shares of what each rule, and at the end "otherwise", decides; where it decides no row, its class."""
        shares = np.zeros((len(self) + 1, self.tree.n_classes))
        shares[np.arange(len(self) + 1), np.append(self.class_ids, self.otherwise_id)] = 1.0
        total = self.decided_counts.sum(axis=1, keepdims=True)
        np.divide(self.decided_counts, total, out=shares, where=total > 0)
        return shares

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the index of the rule that decides each row; -1 for "otherwise".

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table

        Returns
        -------
        ndarray of int64, shape (n_rows,)
        """
        return self._on_rows("apply", X, self.find_deciding)

    def find_deciding(self, rows: Rows) -> NDArray[np.int64]:
        """Do what :meth:`apply` does, for rows in the tree's own terms.

        Parameters
        ----------
        rows : Rows

        Returns
        -------
        ndarray of int64, shape (n_rows,)
        """
        place = np.full(len(self.rules) + 1, -1, dtype=np.int64)
        place[self.chosen] = np.arange(len(self))
        return place[find_winners(self.tree, self.rules.paths, self.rules.deleted, self.chosen, rows)]

    def write_predictions(self, table: Any, to: Any) -> int:
        """Write a table with the predicted class of each row, the number of its rule (from 1) and its reliability.

        The number of "otherwise" is one more than that of the last rule. The output is written whole or not at all.

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

        Returns
        -------
        ndarray of bool, shape (n_rows, n_rules)
        """
        rules = self.rules
        return self._on_rows(
            "covers", X, lambda rows: cover_rows(self.tree, rules.paths, rules.deleted, rows, self.chosen)
        )

    def explain(self, row: Any) -> CompactExplanation:
        """Explain which rule decides a row, or why none does.

        Parameters
        ----------
        row : array-like of shape (n_features,), mapping of column names to values, or data frame of one row
        """
        from secateur.results.compact_explanation import explain_compact

        return explain_compact(self, row)

    def audit(self, X: Any, y: Any, *, sample_weight: Any = None, since: CompactAudit | None = None) -> CompactAudit:
        """Measure what is left and what it changed, against the source tree on these rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            Rows to audit on, ideally not those the tree was fitted on.
        y : array-like of shape (n_rows,), or str
            Their labels; for a table, the column that holds them.
        sample_weight : array-like of shape (n_rows,), or str, default=None
        since : CompactAudit, default=None
            An earlier audit of these rules, whose rows ``audit.per_rule`` compares each rule with; by default the
            training rows, which the rules were fitted to.

        Returns
        -------
        CompactAudit
        """
        from secateur.results.compact_audit import audit_compact

        with self.rules._open(X, y, sample_weight) as rows:
            return audit_compact(self, rows, since)

    def verify(self, X: Any = None, y: Any = None, *, sample_weight: Any = None) -> Verification:
        """Prove the guarantee again, with code that shares nothing with the code that chose and deleted.

        Parameters
        ----------
        X, y : array-like, or a table and the column of its labels, default=None
            The training rows; by default those passed to :func:`compact`, unless these rules were read from a file.
        sample_weight : array-like of shape (n_rows,), or str, default=None
        """
        from secateur.export.compact_json import compact_to_record
        from secateur.export.json import rules_to_record
        from secateur.rules.rule_set import as_matrix
        from secateur.verify import verify_compact

        check_pair(X, y, sample_weight)
        given, domain = self.source._find_proof_rows(None if X is None else GivenRows(X, y, sample_weight))
        source, record = rules_to_record(self.source), compact_to_record(self)
        if given is None:
            return verify_compact(self.tree, source, record, domain=domain)
        with self.rules._open(*given) as rows:

            def read_rows() -> Iterable[Any]:
                return rows.map(self.tree, as_matrix)

            if rows.is_once or rows.in_memory:  # they are looked at twice
                parts = list(read_rows())
                return verify_compact(self.tree, source, record, lambda: parts, domain=domain)
            return verify_compact(self.tree, source, record, read_rows, domain=domain)

    def plot(self) -> Picture:
        """Draw the list of rules: class, what each asks, and the rows that it decides.

        Returns
        -------
        Picture
            SVG, which a notebook shows; ``save("rules.svg")`` writes it.
        """
        from secateur.export.rules_picture import draw_compact

        return draw_compact(self)

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

        return draw_tree(self.rules, max_depth)

    @classmethod
    def from_json(cls, text: str) -> CompactRules:
        """Read compact rules that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
        """
        from secateur.export.compact_json import compact_from_json

        return compact_from_json(text)

    def without_rows(self) -> CompactRules:
        """Give the same rules without the training rows that they hold."""
        source, rules = (replace(some, training=None) for some in (self.source, self.rules))
        return replace(self, source=source, rules=rules)

    def _on_rows(self, name: str, X: Any, find: Callable[[Rows], NDArray[Any]]) -> NDArray[Any]:
        with self.rules._open(X) as rows:
            return rows.decide(without_facts(self.tree), Deciding(self, name, find))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        if self.fidelity is not None:
            return (
                f"<CompactRules: {len(self)} rules with {self.n_conditions} conditions, otherwise "
                f"{self.otherwise_name}; approximates {self.fidelity.model}: the same for {self.fidelity.overall} of "
                f"{self.fidelity.n_rows} held-out rows>"
            )
        return (
            f"<CompactRules: {len(self)} rules with {self.n_conditions} conditions, otherwise {self.otherwise_name}; "
            f"the tree has {self.source_n_rules} rules with {self.source_n_conditions}>"
        )

    def _repr_html_(self) -> str:
        from secateur.export.html import compact_to_html

        return compact_to_html(self)

    def __rich__(self) -> Any:
        from secateur.export.terminal import compact_to_table

        return compact_to_table(self)
