"""Rules: a rule list, as arrays that make objects on demand.

A rule list is a tree; which conditions of each leaf's rule are deleted, and why; which leaves' rules are written, in
which order; and how they are laid out in sections, each with a class for rows that no rule covers. One rule for each
leaf is the list of all leaves without a layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ParameterError
from secateur.methods import METHODS
from secateur.methods.leaves import CLASSES_ONLY
from secateur.rows.encoding import find_texts
from secateur.rows.opening import check_pair, open_rows
from secateur.rows.row_source import GivenRows
from secateur.rules.editing import Editable
from secateur.rules.edits import price_unseen
from secateur.rules.leaf_rules import LineRules
from secateur.rules.lines import Deciding, check_of, without_facts
from secateur.rules.making import Choice, StoredContent
from secateur.rules.rule import ArraySequence, Rule, Section, written_by
from secateur.rules.writable import Writable
from secateur.tree.shares import none_if_nan
from secateur.words.conditions import count_of, count_points, format_share
from secateur.words.plain_words import find_pattern, find_voice, format_limit
from secateur.words.reasons import find_facts_of_list

if TYPE_CHECKING:
    from secateur.export.pictures import Picture
    from secateur.results.audit import Audit
    from secateur.results.deletion_effects import Overlaps
    from secateur.results.difference import RulesDifference
    from secateur.results.fidelity import Fidelity
    from secateur.rows.row_source import RowSource
    from secateur.rows.rows import Rows
    from secateur.rules.making import Unseen
    from secateur.verify import Verification
    from secateur.words.plain_words import PlainVoice


@dataclass(frozen=True, eq=False)
class Rules(LineRules, Editable, Writable, ArraySequence[Rule]):
    """The rules of a tree after deletion: a short list that ends in "otherwise", or one rule for each leaf.

    Made by :func:`secateur.simplify` or :func:`secateur.approximate`, or read back by :meth:`from_json`. A sequence of
    the :class:`Rule` that have conditions, as they are printed; :attr:`lines` has "otherwise", too.

    Parameters
    ----------
    tree : Tree
        The source tree.
    making : Making
        The method and the settings that the rules were made with.
    deletions : Deletions
        What was deleted and why, one element for each (leaf, edge on its path).
    leaf_counts : ndarray of float64, shape (n_leaves, n_classes)
        (Weighted) training rows of each class that reach each leaf; NaN where not known.
    covered_counts : ndarray of float64, shape (n_leaves, n_classes)
        (Weighted) training rows of each class that satisfy each leaf's rule after deletion; NaN where not known.
    leaves : ndarray of int64, shape (n_rules,)
        Leaf of each written rule, as a place in source order; rules are in the order in which they are printed.
    layout : Layout, default=None
        The sections of a list, and what its lines state; None if there is a rule for each leaf.
    decided_counts : ndarray of float64, shape (n_lines, n_classes), default=None
        (Weighted) training rows of each class that each line of a list decides; NaN where not known.
    target_moments : ndarray of float64, shape (n_lines, 2), default=None
        Of a list of a regression tree: mean and standard deviation of the targets of the training rows that each line
        decides; NaN for a line without rows.
    choice : Choice, default=None
        The rules of all leaves that a list was chosen from.
    fidelity : Fidelity, default=None
        How often the rules agree with a model that has no tree of its own, for those that
        :func:`secateur.approximate` made.
    training : GivenRows, default=None
        The rows that the rules were made from, for :meth:`verify`.
    domain : GivenRows, default=None
        The listed cases of ``mismatch-certified``, where they are not the training rows.
    stored : StoredContent, default=None
        What the file says of itself, for rules that were read from one.
    unseen : Unseen, default=None
        Counts of rows that had no part in making the rules; see :meth:`measure`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> data = load_iris()
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data.data, data.target)
    >>> rules = secateur.simplify(model, data.data, data.target, class_names=data.target_names)
    >>> len(rules), rules.n_conditions, rules.lines[-1].text
    (3, 5, 'otherwise => virginica')
    >>> bool((rules.predict(data.data) == model.predict(data.data)).all())
    True
    """

    choice: Choice | None = field(default=None, repr=False)
    fidelity: Fidelity | None = field(default=None, repr=False)
    training: GivenRows | None = field(default=None, repr=False)
    domain: GivenRows | None = field(default=None, repr=False)
    stored: StoredContent | None = field(default=None, repr=False)
    unseen: Unseen | None = field(default=None, repr=False)

    nouns = "rules"

    def __post_init__(self) -> None:
        arrays = [*vars(self.deletions).values(), self.leaf_counts, self.covered_counts, self.leaves]
        arrays += [one for one in (self.decided_counts, self.target_moments) if one is not None]
        for array in arrays:
            array.flags.writeable = False

    @cached_property
    def each_leaf(self) -> Rules:
        """One rule for each leaf, as the method left it: what a list was chosen from."""
        if self.layout is None or self.choice is None:
            return self
        tolerance = self.tolerance if self.tree.is_regression else CLASSES_ONLY
        making = replace(self.making, budget=0.0, tolerance=tolerance, of=None, edits=None)
        of_lists = dict.fromkeys(("layout", "decided_counts", "choice", "fidelity", "target_moments"))
        every = np.arange(self.paths.n_rules)
        return self.change(tree=self.source_tree, making=making, leaves=every, **vars(self.choice), **of_lists)

    @property
    def lines(self) -> tuple[Rule, ...]:
        """Every line that answers, as they are printed: the rules of a section, then its "otherwise"."""
        return tuple(Rule(self, place) for place in range(self.n_lines))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The sections of the list; one rule for each leaf has one, without heading and "otherwise"."""
        layout, lines = self.layout, self.lines
        if layout is None:
            return (Section((), lines, None, none_if_nan(self.leaf_support.sum())),)
        found = []
        for number, node in enumerate(layout.nodes.tolist()):
            own = lines[layout.starts[number] + number : layout.starts[number + 1] + number]
            support = self.leaf_support[self.section_of_leaf == number].sum()
            otherwise = lines[layout.rest_lines[number]]
            found.append(Section(self.read_heading(node), own, otherwise, none_if_nan(support)))
        return tuple(found)

    @property
    def unseen_counts(self) -> NDArray[np.float64] | None:
        """The same of rows that had no part in making the rules, as :meth:`measure` counted them, or None."""
        return None if self.unseen is None else self.unseen.counts

    @cached_property
    def did_not_hold_up(self) -> NDArray[np.bool_]:
        """Marks of lines whose unseen rows, five or more, differ from their training rows beyond chance."""
        from secateur.results.measures import FEW_ROWS
        from secateur.results.per_line import MOVED, LineAudits

        found = LineAudits.of_unseen(self)
        if found is None:
            return np.zeros(self.n_lines, dtype=bool)
        return np.asarray((found.verdicts == MOVED) & (found.support >= FEW_ROWS))

    @property
    def guarantee(self) -> str:
        """What is preserved, in a sentence, with the facts that this assumes."""
        if self.fidelity is not None:
            of_tree = self.change(fidelity=None).guarantee
            return f"The rules approximate {self.fidelity.model}; what is promised is about a surrogate tree: {of_tree}"
        told = self._promise
        if (self.is_exact or not self.is_list) and self.assumptions:
            told += f" Holds for rows that satisfy: {'; '.join(self.assumptions)}."
        return " ".join([told, *self.exceptions])

    @property
    def _promise(self) -> str:
        if self.tree.is_regression:
            return self._promise_values()
        if self.layout is None:
            return METHODS[self.method].promise(self.parameters)
        if self.making.edits is not None:
            return self.making.edits.describe()
        if self.is_exact and self.keeps_shares:
            within = f"a probability of that class within {count_points(self.tolerance)} of its leaf's"
            return f"For every possible row: the tree's class, and {within}."
        if self.is_exact:
            return "Exact for every possible row: each row gets the class that the tree predicts."
        if self.budget == 0:
            return (
                "Every leaf of a written class lies in a rule of its class, and other rows get the class of otherwise. "
                f"The rules are those of {self.method!r}, which promises: {self.each_leaf.guarantee}"
            )
        by_weight = " (by weight)" if self.is_weighted else ""
        means = "get another class than from the tree"
        means += f", or a share more than {count_points(self.tolerance)} away" if self.keeps_shares else ""
        return (
            f"Of the training rows{by_weight}, of all and of those of each class that the tree predicts, at most "
            f"{100 * self.budget:.6g} % {means}; on other rows that is an estimate, not a bound."
        )

    def _promise_values(self) -> str:
        """Say what is preserved of values."""
        limit = format_limit(self.tolerance, find_pattern(self.tree))
        near = f"within {limit} of what the tree predicts" if self.tolerance else "the tree's own"
        if self.budget:
            by_weight = " (by weight)" if self.is_weighted else ""
            return (
                f"Of the training rows{by_weight}, at most {100 * self.budget:.6g} % get a value that is not {near}; "
                "on other rows that is an estimate, not a bound."
            )
        if self.layout is None:
            return (
                "Exact for every possible row: each row is covered, and every rule that covers it predicts a value "
                f"that is {near}."
            )
        return f"Exact for every possible row: each row gets a value that is {near}."

    @cached_property
    def assumptions(self) -> tuple[str, ...]:
        """The facts about the columns that the guarantee assumes, in words.

        The guarantee of a budget, or of edits, is about the training rows, which satisfy all of them.
        """
        if self.layout is None:
            return self.facts_used.used
        return () if self.budget or self.making.edits else find_facts_of_list(self)

    def assumes(self, facts: Iterable[str]) -> bool:
        """Whether the guarantee depends on one of some facts.

        Parameters
        ----------
        facts : iterable of str
            The facts, in words.
        """
        listed = list(facts)
        if not listed or (self.is_list and (self.budget or self.making.edits)):
            return False
        # A proof that the tree is monotone takes all facts or none; its certificate says which.
        takes_all = "monotone" in self.parameters and "satisfy the facts" in str(self.parameters.get("certificate"))
        return takes_all or not {*listed}.isdisjoint({*self.assumptions, *self.facts_used.used})

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on rows, on columns before a pipeline, and on classes that no leaf predicts, a sentence each."""
        return (*self.own_remarks, *self._remark_classes())

    def _remark_classes(self) -> Iterator[str]:
        """Name the classes that rows have but no rule predicts."""
        answers = self.paths.leaf_class if self.making.edits is None else self.class_ids
        names, predicted = self.tree.class_names, set(answers.tolist())
        counts = self.leaf_counts.sum(axis=0)
        never = [class_id for class_id in np.flatnonzero(counts > 0).tolist() if class_id not in predicted]
        if never:
            share = format_share(float(counts[never].sum() / counts.sum()))
            rows = f"{share} of the rows{' (by weight)' if self.is_weighted else ''}"
            told = " or ".join(names[class_id] for class_id in never)
            if len(predicted) == 1:
                yield f"Every rule predicts {names[predicted.pop()]}, though {rows} are {told}."
            else:
                which = "that class" if len(never) == 1 else "those classes"
                yield f"No rule predicts {told}, though {rows} are of {which}."
        elif len(predicted) == 1 and len(names) > 1:
            yield f"Every rule predicts {names[predicted.pop()]}: the tree tells no class apart from another."

    @cached_property
    def voice(self) -> PlainVoice:
        """How conditions are put for people."""
        return find_voice(self)

    @cached_property
    def spreads(self) -> dict[int, Any]:
        """How the training rows are spread over each column that the tree asks for, if they are in memory."""
        from secateur.results.shifts import find_spreads

        return find_spreads(self)

    @cached_property
    def wordings(self) -> dict[Any, tuple[str, ...]]:
        """What was put into words already, by the edges that it is about."""
        return {}

    def _make(self, place: int) -> Rule:
        return Rule(self, place if self.layout is None else int(self.layout.rule_lines[place]))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row: that of the line that decides it.

        In a list the first rule of the row's section that covers it decides, else "otherwise" of the section. With one
        rule for each leaf, the rule with the highest training reliability wins, then the largest training support, the
        fewest conditions, the first.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            A table as in :func:`simplify` is read a batch at a time.

        Returns
        -------
        ndarray of labels, shape (n_rows,)
            For a Spark DataFrame, that DataFrame with a lazily computed ``prediction`` column added.
        """
        if self.tree.is_regression:
            return self._on_rows("predict", X, lambda rows: self.answers[self.find_lines(rows)])
        return self._on_rows("predict", X, lambda rows: self.tree.classes[self.decide(rows)])

    def predict_proba(self, X: Any, of: str = "line") -> NDArray[np.float64]:
        """Predict class shares: those of the training rows of the line that decides each row, or the tree's own.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
        of : {"line", "leaf"}, default="line"
            ``"line"`` gives the shares of the deciding line; rules that state no share and were made without rows give
            those of the row's own leaf.
            ``"leaf"`` gives the tree's own probabilities, as its model predicts them; of a tree fitted with
            ``monotonic_cst``, the shares of the rows before scikit-learn clipped them.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_classes)
        """
        check_of(of)
        if self.tree.is_regression:
            raise ParameterError("These rules predict numbers, which have no probabilities: call predict.")
        if of == "line" and self.is_counted:
            return self._on_rows("predict_proba", X, lambda rows: self.shares[self.find_lines(rows)])
        return self._on_rows("predict_proba", X, lambda rows: self.leaf_shares[self.find_leaves(rows)])

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the line that decides each row, as an index into :attr:`lines`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table

        Returns
        -------
        ndarray of int64, shape (n_rows,)
        """
        return self._on_rows("apply", X, self.find_lines)

    def prefer(self, costs: Mapping[str | int, float], *, max_columns: int | None = None) -> Rules:
        """Choose the lines again where columns have costs: a condition counts as much as its column costs.

        The promise stays: only which of the conditions of the tree are asked changes. Under a budget, deleting a
        condition is worth as much as its column costs.

        Parameters
        ----------
        costs : mapping of column to number
            Above 0; a column that is not named costs 1. An empty mapping has no costs, for ``max_columns`` alone.
        max_columns : int, default=None
            The most columns that the list may ask, headings among it. Columns that cost most and are asked least are
            left out one after another, so a list of so few may exist that is not found; then an error says how few are.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> import secateur
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> model = DecisionTreeClassifier(max_depth=5, max_features=5, random_state=0).fit(X, y)
        >>> rules = secateur.simplify(model, X, y, budget=0.05)
        >>> ["hue" in str(line) for line in rules.lines].count(True)
        1
        >>> ["hue" in str(line) for line in rules.prefer({"hue": 10}).lines].count(True)
        0
        """
        from secateur.choosing import prefer_columns

        return prefer_columns(self, costs, max_columns)

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Find the rules that cover each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table

        Returns
        -------
        ndarray of bool, shape (n_rows, n_rules)
        """
        return self._on_rows("covers", X, self._cover)

    def write_predictions(self, table: Any, to: Any) -> int:
        """Write a table with the prediction for each row, the number of its line (from 1) and the line's share.

        The columns ``prediction``, ``rule`` and ``share`` are appended; the last is the share that the line states, as
        :meth:`predict_proba` gives it, and missing beside values. The output is written whole or not at all.

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
        from secateur.rules.predictions import write_predictions

        return write_predictions(self, table, to)

    def explain(self, row: Any, *, changes: bool = False, locked: Sequence[str | int] = ()) -> Any:
        """Explain which line decides a row, what it asks, and which other rules cover the row.

        Parameters
        ----------
        row : array-like of shape (n_features,) or (n_rows, n_features), mapping of column names to values, or table
            One row, or several.
        changes : bool, default=False
            Also find the fewest columns whose change gets the row another class from the tree, and all values that do.
        locked : sequence of str or int, default=()
            Columns that cannot change, by name or index.

        Returns
        -------
        Explanation or Explanations
            Of several rows, a sequence with one for each; words are made when they are asked for.
        """
        from secateur.results.explanation import explain_rows

        return explain_rows(self, row, changes=changes, locked=locked)

    def audit(self, X: Any, y: Any, *, sample_weight: Any = None, since: Audit | None = None) -> Audit:
        """Measure what was deleted and what it changed, against the source tree on these rows; line by line, too.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            Rows to audit on, ideally not those the tree was fitted on.
        y : array-like of shape (n_rows,), or str
            Their labels; for a table, the column that holds them.
        sample_weight : array-like of shape (n_rows,), or str, default=None
        since : Audit, default=None
            An earlier audit of these rules, whose rows ``audit.per_line`` compares each line with; by default the
            unseen rows that :meth:`measure` counted, else the training rows, which the rules were fitted to.
        """
        from secateur.results.audit import audit_rows

        with self._open(X, y, sample_weight) as rows:
            return audit_rows(self, rows, since)

    def measure(self, X: Any, y: Any, sample_weight: Any = None) -> Rules:
        """Count rows that had no part in making the rules, so that every output shows them first.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            Rows that the tree was not fitted to.
        y : array-like of shape (n_rows,), or str
            Their labels; for a table, the column that holds them.
        sample_weight : array-like of shape (n_rows,), or str, default=None

        Returns
        -------
        Rules
            The same rules with unseen numbers: see ``Rule.unseen``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> import secateur
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:400], y[:400])
        >>> rules = secateur.simplify(model, X[:400], y[:400]).measure(X[400:], y[400:])
        >>> [(line.unseen, line.observed) for line in rules.lines]
        [((6, 5), (13, 9)), ((109, 108), (218, 211)), ((54, 37), (169, 162))]
        """
        from secateur.results.audit import count_unseen

        with self._open(X, y, sample_weight) as rows:
            given = GivenRows(X, y, sample_weight)
            measured = self.change(unseen=count_unseen(self, rows, given))
        return price_unseen(measured, given)

    def overlaps(self, X: Any, *, sample_weight: Any = None) -> Overlaps:
        """Find the rules of different classes that share rows, and how many; the pair that shares most comes first.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
        sample_weight : array-like of shape (n_rows,), or str, default=None

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> import secateur
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X = X[:, :10]
        >>> model = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, y)
        >>> named = {"method": "quinlan", "class_names": ["malignant", "benign"]}
        >>> print(secateur.simplify(model, X, y, each_leaf=True, **named).overlaps(X))
        1 pair of rules of different classes with rows in common:
          rule 2 (malignant) and rule 3 (benign): 9 rows, 1.6 % of all
        """
        from secateur.results.deletion_effects import find_overlaps

        self.tree.require_classes("overlaps")
        with self._open(X, None, sample_weight) as rows:
            return find_overlaps(self, rows)

    def diff(self, other: Any, X: Any = None, y: Any = None) -> RulesDifference:
        """Compare these rules with others by what they mean, even if they come from different trees.

        Parameters
        ----------
        other : Rules, Policy or model
            The later rules, in the same form: two lists, or two with one rule for each leaf. A policy of
            :func:`secateur.results.parse_policy`, or a model with ``predict``, is compared by its answers alone.
        X : array-like or data frame of shape (n_rows, n_features), default=None
            Rows to answer by both: ``diff.swaps`` tells which of them change their answer, and which lines they leave
            and enter.
        y : array-like of shape (n_rows,), default=None
            Their labels, to tell how many of each were right, and whether the new rules are better.
        """
        from secateur.results.difference import find_difference

        return find_difference(self, other, X, y)

    def verify(
        self, X: Any = None, y: Any = None, *, sample_weight: Any = None, model: Any = None, unseen: Any = None
    ) -> Verification:
        """Prove the guarantee again, with code that shares nothing with the code that deleted and chose.

        Parameters
        ----------
        X, y : array-like, or a table and the column of its labels, default=None
            The training rows (for ``mismatch-certified``: the listed domain). By default those passed to ``simplify``,
            unless these rules were read from a file. A table is read again, a batch at a time. With the model that
            rules approximate, the rows passed to ``approximate``; labels are not needed then.
        sample_weight : array-like of shape (n_rows,), or str, default=None
        model : fitted tree or pipeline, default=None
            The model that the rules should belong to; for rules that approximate a model, that model, which is asked
            again about the held-out rows.
        unseen : tuple of (X, y) or (X, y, sample_weight), default=None
            The rows that :meth:`measure` counted. By default those passed to it, unless these rules were read from a
            file.
        """
        from secateur.rules.proof import prove

        if X is None:
            check_pair(X, y, sample_weight)
        return prove(self, None if X is None else GivenRows(X, y, sample_weight), model, unseen)

    def plot(self) -> Picture:
        """Draw the list of rules: class, what each asks, and its rows.

        Returns
        -------
        Picture
            SVG, which a notebook shows; ``save("rules.svg")`` writes it.
        """
        from secateur.export.pictures import draw_rules

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
        from secateur.export.pictures import draw_tree

        return draw_tree(self, max_depth)

    @classmethod
    def from_json(cls, text: str) -> Rules:
        """Read rules that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
        """
        from secateur.export.json import rules_from_json

        return rules_from_json(text)

    def without_rows(self) -> Rules:
        """Give the same rules without the rows that they hold."""
        unseen = None if self.unseen is None else self.unseen.without_rows()
        return self.change(training=None, domain=None, unseen=unseen)

    def change(self, **fields: Any) -> Rules:
        """Give the same rules with other fields, keeping what was found of the tree alone.

        Parameters
        ----------
        **fields : object
            New values of fields; the method stays.
        """
        if not {"deletions", "leaves", "layout"}.isdisjoint(fields):
            fields = {"unseen": None, **fields}  # they were counted for other lines
        made = replace(self, **fields)
        found = ["paths", "place_of_leaf", *(() if "training" in fields else ("voice",))]
        found = found if made.tree is self.tree else []
        vars(made).update({name: value for name, value in vars(self).items() if name in found})
        return made

    def _open(self, X: Any, y: Any = None, sample_weight: Any = None) -> AbstractContextManager[RowSource]:
        return open_rows(X, y, sample_weight, find_texts=partial(find_texts, self.tree, y))

    def _on_rows(self, name: str, X: Any, find: Callable[[Rows], NDArray[Any]]) -> NDArray[Any]:
        """Apply a function of rows in memory to rows of any kind."""
        with self._open(X) as rows:
            return rows.decide(without_facts(self.tree), Deciding(self, name, find))  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        views = ("each_leaf", "sections", "wordings")  # which hold the rows, or these rules again
        kept = {name: value for name, value in self.__dict__.items() if name not in views}
        kept["unseen"] = None if self.unseen is None else self.unseen.without_rows()
        return {**kept, "training": None, "domain": None}  # the caller's rows stay with the caller

    def __repr__(self) -> str:
        told = f"{count_of(len(self), 'rule')} with {count_of(self.n_conditions, 'condition')}"
        if self.layout is None:
            told += ", one for each leaf"
        elif self.layout.n_sections == 1:
            told += f", {self.rest_word()} {self.tree.class_names[self.layout.defaults[0]]}"
        else:
            told += f", in {self.layout.n_sections} sections"
        if self.fidelity is not None:
            agreed = f"{self.fidelity.overall} of {self.fidelity.n_rows} held-out rows"
            same = "the same" if self.fidelity.distances is None else self.fidelity.agreeing
            return f"<Rules: {told}; approximates {self.fidelity.model}: {same} for {agreed}>"
        return f"<Rules: {told}; the tree has {self.tree_rules} rules with {self.tree_conditions}>"

    _repr_html_ = written_by("html:rules_to_html")

    def __rich__(self) -> Any:
        from secateur.export.text import rules_to_table

        return rules_to_table(self)
