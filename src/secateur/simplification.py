"""Simplify a model: model → Tree → method → Rules; diagnose it: what each condition of each rule does."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.reading import is_ensemble, is_forest, take_best
from secateur.choosing import NO_BUDGET, ROW_BY_ROW, ListForm, choose_lines
from secateur.counting.counted_evidence import Evidence
from secateur.counting.targets import TargetCounter
from secateur.errors import InputError, ParameterError
from secateur.methods import METHODS, Deletions, Method, Problem, find_method, list_methods
from secateur.methods.contract import DEFAULT_TOLERANCE, MethodName, Settings, check_amount, check_flag, check_share
from secateur.methods.leaves import CLASSES_ONLY
from secateur.methods.monotonicity import NotMonotoneError
from secateur.problem import Knowledge, ModelReader, find_terms, open_forest, open_rows_of
from secateur.results.diagnosis import Diagnosis, ForestDiagnosis
from secateur.rows.opening import check_pair
from secateur.rows.row_source import GivenRows, Progress, RowSource
from secateur.rules.forest import ForestRules, run_each
from secateur.rules.lines import without_facts
from secateur.rules.making import Making
from secateur.rules.rules import Rules
from secateur.surrogates.growing import predicts_values
from secateur.tree.paths import DEFAULT_RF_TOL
from secateur.tree.tree import Tree

OF_A_LIST = ("sections", "otherwise", "of", "prefer", "max_columns")
SPREAD, DEFAULT_SPREAD = "sd", 0.25  # a tolerance in standard deviations of the training targets


def simplify(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    method: MethodName = "exact",
    each_leaf: bool = False,
    tolerance: float | str | None = None,
    budget: float = 0.0,
    sections: Any = "auto",
    otherwise: Any = "auto",
    of: Any = None,
    prefer: Any = None,
    max_columns: int | None = None,
    sample_weight: Any = None,
    evidence: Evidence | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    groups: Any = None,
    integers: Any = None,
    facts: Any = None,
    domain_knowledge: bool = True,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Rules:
    """Turn a fitted tree into a short rule list, or into one short rule for each leaf.

    The conditions that do not matter are deleted. In a list, the tree's first splits become sections, and in each
    section the rows that no rule covers get the class of "otherwise". A line answers only for leaves of its class whose
    shares lie close together, so that no row's probability moves by more than the tolerance.

    Parameters
    ----------
    model : fitted tree, pipeline, forest or Tree
        A fitted tree of a library that ``docs/adapters.md`` lists; a scikit-learn Pipeline that ends in one, whose
        rules are in the columns that go into it; a RandomForestClassifier, ExtraTreesClassifier or BaggingClassifier of
        trees, alone or at the end of a pipeline; or a :class:`Tree`. A model of several trees has no list of its own:
        it gets that of :func:`approximate`, which needs rows; with ``each_leaf=True`` the trees of a forest are
        simplified side by side.
    X : array-like or data frame of shape (n_rows, n_features), or a table, default=None
        The training rows. A table is a path, directory or pattern of files, a DuckDB relation or (connection, SQL), a
        pyarrow Dataset or RecordBatchReader, a polars LazyFrame, or a Spark DataFrame; it is read a batch at a time
        (``docs/scale.md``). The methods ``none``, ``sibling``, ``exact`` and ``redundancy`` need none; the support and
        reliability of a rule that they widened are then None. With a budget, rows are held in memory.
    y : array-like of shape (n_rows,), or str, default=None
        The training labels, as the model knows them; of a table or data frame the column that holds them.
    method : str, default="exact"
        A name in :data:`METHODS`, or one of the paper's: ``M1-D``, ``M1-P``, ``M2-D``, ``M2-P``, ``Izza``, ``Quinlan``.
        The default changes no answer; those that delete more, such as ``mismatch`` and ``budgeted``, are choices.
    each_leaf : bool, default=False
        Whether to give one rule for each leaf, in source order, as the paper does, instead of a list.
    tolerance : float, default=None
        Of a list by ``exact``: ε, how far the share that a line states may lie from that of a row's own leaf, for every
        possible row; 0.1 by default, and 1 keeps classes only. Of the methods ``faithful``, ``mismatch`` and
        ``budgeted``: how far a rule's training reliability may move from its leaf's own (``budgeted``: how far below);
        0.05 by default. Of a regression tree: δ, how far a line's value may lie from that of a row's own leaf, for
        every possible row, in the units of the target; or as a part of the standard deviation of the training targets,
        such as ``"0.1sd"``. ``"0.25sd"`` by default.
    budget : float, default=0.0
        Of a list: fraction of the training rows, of all and of those of each class that the tree predicts, that may be
        off, by class or by more than the tolerance. Of a regression tree: of all rows, by more than the tolerance.
    sections : int, default="auto"
        Of a list by ``exact``: the most sections. ``"auto"`` takes up to four, or as many as there are classes and at
        most eight, where each split between them saves three conditions.
    otherwise : label, default="auto"
        The class of "otherwise" in every section in which it occurs; by default the one that leaves the fewest
        conditions.
    of : label, default=None
        The class of interest: the lines of a section are listed by its share, highest first. By default the rarer of
        two classes.
    prefer : mapping of column to number, default=None
        Of a list: what a condition on a column costs where lines are chosen, such as ``{"biopsy": 10}``; 1 by default.
    max_columns : int, default=None
        Of a list: the most columns that it may ask; see :meth:`Rules.prefer`.
    sample_weight : array-like of shape (n_rows,), or str, default=None
        Weights of the training rows; of a table or data frame the column that holds them.
    evidence : Evidence, default=None
        Counts of the training rows rather than the rows themselves, from :func:`collect_evidence`; names, missing
        values and facts are then those that it was collected with.
    feature_names, class_names : sequence of str, default=None
        How columns and classes read, where the model does not say.
    accepts_missing : bool, default=None
        Whether the tree takes NaN; by default what the model and the rows show.
    groups : mapping of str to list of columns, or list of such lists, default=None
        Columns of zeros and ones that stand for one categorical each, so that at most one of them is 1; see
        :func:`find_groups`. A pipeline's own encoders need not be named.
    integers : list of columns, default=None
        Columns that hold whole numbers, beside those that have such a type in a data frame.
    facts : list of str, default=None
        What you know about the columns, such as ``"0 <= bmi <= 100"``, ``"city in {Paris, Rome}"``,
        ``"pregnant = yes => sex = female"`` or ``"size is ordered: S < M < L"``.
    domain_knowledge : bool, default=True
        Whether exact tests may use groups, whole numbers and facts. What they promise then holds for rows that
        satisfy them, and every certificate names those it assumes. False uses them for reading only.
    progress : callable, default=None
        Called with the number of trees done and of all trees, after each tree of a forest; or with the number of rows
        read and of all rows if that is known, after each batch of a table.

    **settings : object
        The method's own settings; one that it does not read is an error.

        - ``protect`` (``faithful``): whether conditions that point away from the class stay inside H, where all leaves
          have the class; True by default.
        - ``max_conflict`` (``budgeted``): δ, the share of rows that rules of different classes may cover; 0.015 by
          default.
        - ``smoothing`` (``budgeted``): n0, how many rows the shuffled copies of the training rows count for when a
          conflict is priced; 1000 by default, 0 looks at the training rows alone.
        - ``alpha`` (``quinlan``): significance level; 0.01 by default.
        - ``ties`` (``quinlan``): whether of two equally good conditions the one nearer the ``"root"`` (default) or
          the ``"leaf"`` goes first.
        - ``domain`` (``mismatch-certified``): a pair (rows, labels) that lists the cases on which the rules must hold;
          the training rows by default.
        - ``monotone`` (``mismatch-certified``): a sign for each column, in order or by name: +1 where larger values
          favour the second class, -1 where they favour the first, 0 where neither is known; by default the signs that
          the tree was fitted with, if any. A tree that is not monotone in them is rejected, with two rows that show it.
        - ``rf_tol`` (``faithful``, ``mismatch``, ``mismatch-certified``): a class share that changes by
          no more than this along a link counts as unchanged; 1e-12 by default.

    Returns
    -------
    Rules
        For a forest with ``each_leaf=True`` a :class:`ForestRules`, a sequence of rules that vote as the forest does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> data = load_iris()
    >>> model = DecisionTreeClassifier(random_state=0).fit(data.data, data.target)
    >>> named = {"feature_names": data.feature_names, "class_names": data.target_names}
    >>> for line in simplify(model, data.data, data.target, **named).lines:
    ...     print(line)
    setosa if petal width (cm) ≤ 0.8
    versicolor if 0.8 < petal width (cm) ≤ 1.65 and petal length (cm) ≤ 4.95
    versicolor if 1.55 < petal width (cm) ≤ 1.75 and 4.95 < petal length (cm) ≤ 5.45
    versicolor if petal width (cm) > 1.75 and petal length (cm) ≤ 4.85 and sepal width (cm) > 3.1
    otherwise virginica
    >>> rules = simplify(model, data.data, data.target, each_leaf=True, **named)
    >>> print(*rules[5].source_conditions, sep=" and ")
    1.55 < petal width (cm) <= 1.75 and petal length (cm) > 5.45
    >>> print(rules[5])
    virginica if petal width (cm) > 1.55 and petal length (cm) > 5.45
    >>> print(rules[5].reasons[2])
    without it the tree still says virginica wherever the rule holds
    """
    form = _Form.check(each_leaf, tolerance, budget, ListForm(None, sections, otherwise, of, prefer, max_columns))
    known = Knowledge(feature_names, class_names, accepts_missing, groups, integers, facts, domain_knowledge)
    chosen = find_method(method, form.settle(method, {**settings}), others=DEFAULTS)
    if progress is not None and not callable(progress):
        raise ParameterError(f"Expected progress as a function of two numbers, or None, found {progress!r}.")
    told: dict[str, Any] = {"sample_weight": sample_weight, "feature_names": feature_names, "class_names": class_names}
    told |= {"accepts_missing": accepts_missing, "groups": groups, "integers": integers, "facts": facts}
    if evidence is not None:
        given = {"X": X, "y": y, **told}
        reader = ModelReader(model, known, _find_rf_tol(chosen), find_tolerance=form.find_tolerance(chosen, None))
        problem = reader.open_counted(evidence, given, chosen)
        return form.finish(_shorten(problem, chosen, is_weighted=evidence.is_weighted), None)
    model = take_best(model)
    if is_ensemble(model) and not each_leaf:
        from secateur.approximation import approximate

        if X is None:
            raise InputError(
                "A model of several trees is approximated by a list, from rows: pass X, or each_leaf=True for the "
                "rules of each tree."
            )
        told |= {"method": chosen.name, "budget": budget, **form.lines._asdict(), "progress": progress, **settings}
        told |= {"domain_knowledge": domain_knowledge}
        instead = "call secateur.approximate(model, X), which has fidelity and max_rules"
        return approximate(model, X, y, **keep_approximated(model, told, instead))
    check_pair(X, y, sample_weight)
    with nullcontext() if X is None else open_rows_of(model, X, y, sample_weight) as rows:
        if rows is not None and form.budget and rows.given is None:  # a first look would use them up
            rows = rows.hold(partial(find_terms, model), ROW_BY_ROW, NO_BUDGET)
        # Those of Spark are not kept, but may be counted again.
        counted: GivenRows | RowSource | None = None
        if rows is not None and not rows.is_once:
            counted = rows if rows.in_memory else rows.given or GivenRows(X, y, sample_weight)
        rules = _simplify(model, rows, known, chosen, progress, form)
    return form.finish(rules, counted)


DEFAULTS: Mapping[str, Any] = simplify.__kwdefaults__ or {}


class _Form(NamedTuple):
    """What the rules should be: one for each leaf, or a list with these settings."""

    each_leaf: bool
    budget: float
    lines: ListForm

    @classmethod
    def check(cls, each_leaf: Any, tolerance: Any, budget: Any, lines: ListForm) -> Self:
        check_flag("each_leaf", each_leaf)
        lines = lines._replace(tolerance=None if tolerance is None else check_tolerance(tolerance))
        budget = check_share("budget", budget)
        if each_leaf:
            asked = {"budget": bool(budget), **{n: getattr(lines, n) != getattr(ListForm(), n) for n in OF_A_LIST}}
            name = next((name for name, is_asked in asked.items() if is_asked), None)
            if name is not None:
                raise ParameterError(f"{name!r} is for a list: leave it out, or leave out each_leaf=True.")
        return cls(bool(each_leaf), budget, lines)

    def settle(self, method: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Give the method the tolerance, if it reads one."""
        found = find_method(method)
        is_own = found.name == "exact" and not self.each_leaf
        if not is_own and self.lines.sections not in ("auto", 1):
            raise ParameterError(
                f"A list of the rules of {found.name!r} has one section: leave sections out, or use 'exact'."
            )
        # `exact` reads a tolerance of values; whether the tree has some is not known yet.
        if self.lines.tolerance is None or found.name == "exact":
            return settings
        if "tolerance" not in found.parameters:
            raise _make_unread_error(found)
        return {**settings, "tolerance": self.lines.tolerance}

    def find_tolerance(self, method: Method, rows: RowSource | None) -> Callable[[Tree], float]:
        """Make the function that finds the tolerance of a regression tree; it reads the targets no more than once."""
        found: list[float] = []

        def find(tree: Tree) -> float:
            if not found:
                found.append(self._settle_tolerance(tree, method, rows))
            return found[0]

        return find

    def _settle_tolerance(self, tree: Tree, method: Method, rows: RowSource | None) -> float:
        """Settle the tolerance of a regression tree, or reject one that is not for classes."""
        asked = self.lines.tolerance
        if not tree.is_regression:
            if asked is not None:
                check_share("tolerance", asked)
                if self.each_leaf and method.name == "exact":
                    raise _make_unread_error(method)
            return 0.0
        if method.name == "none" and self.each_leaf:
            return 0.0  # the tree's own rules, with its own values
        if method.name != "exact":
            raise ParameterError(
                f"The method {method.name!r} keeps what the training rows of a rule say on average, and of a value "
                "that says nothing about single rows: simplify a regression tree by 'exact', which bounds each of them."
            )
        for name in ("otherwise", "of"):
            if getattr(self.lines, name) != getattr(ListForm(), name):
                raise ParameterError(f"{name!r} names a class, but this tree predicts numbers: leave it out.")
        if isinstance(asked, float):
            return asked
        return settle_tolerance(asked or f"{DEFAULT_SPREAD}{SPREAD}", _find_spread(tree, rows))

    def finish(self, rules: Rules, rows: GivenRows | RowSource | None) -> Rules:
        """Choose lines, unless there is to be a rule for each leaf."""
        return rules if self.each_leaf else choose_lines(rules, self.lines, budget=self.budget, rows=rows)


def check_tolerance(tolerance: Any) -> Any:
    """Read a tolerance: a number, or a part of the standard deviation of the targets such as "0.25sd"."""
    if isinstance(tolerance, str) and tolerance.endswith(SPREAD):
        with suppress(ValueError):
            if 0 <= float(tolerance.removesuffix(SPREAD)) < np.inf:
                return tolerance
    return check_amount("tolerance", tolerance)


def settle_tolerance(tolerance: Any, spread: float) -> float:
    """Give a checked tolerance in the units of targets that have this standard deviation."""
    return float(tolerance.removesuffix(SPREAD)) * spread if isinstance(tolerance, str) else float(tolerance)


def _make_unread_error(method: Method) -> ParameterError:
    return ParameterError(
        f"The method {method.name!r} reads no tolerance: leave tolerance out, or use "
        f"{list_methods(reading='tolerance')}, or a list of 'exact'."
    )


def _find_spread(tree: Tree, rows: RowSource | None) -> float:
    """Find the standard deviation of the training targets."""
    if rows is None or rows.is_once:
        raise InputError(
            "The tolerance of a regression tree is a part of the standard deviation of its training targets unless it "
            "is a number: pass X and y, rows that can be read twice, or tolerance in the units of the target."
        )
    counter = TargetCounter(tree)
    return counter.find_spread(rows.fold(without_facts(tree), counter))


def keep_approximated(model: Any, given: Mapping[str, Any], instead: str) -> dict[str, Any]:
    """Keep those arguments of :func:`simplify` that approximating several trees reads; reject others that were set."""
    own = ("otherwise", "feature_names", "class_names", *(("tolerance",) if predicts_values(model) else ()))
    for name, value in given.items():
        default = DEFAULTS.get(name)
        if name not in own and value is not default and not (np.isscalar(value) and value == default):
            raise ParameterError(
                f"{type(model).__qualname__} is approximated, and {name!r} is for one tree: leave it out, or {instead}."
            )
    return {name: given[name] for name in own if name in given}


def _simplify(
    model: Any, rows: RowSource | None, known: Knowledge, method: Method, progress: Progress | None, form: _Form
) -> Rules:
    if is_forest(model):
        # The annotation is for the usual caller, who passes a tree and gets Rules.
        return _simplify_forest(model, rows, known, method, progress, form)  # type: ignore[return-value]
    reader = ModelReader(model, known, _find_rf_tol(method), progress, form.find_tolerance(method, rows))
    problem = reader.open(rows, method)
    if rows is None:
        return _shorten(problem, method)
    return _shorten(problem, method, is_weighted=rows.is_weighted, training=rows.given)


def _find_rf_tol(method: Method) -> float:
    return float(getattr(method, "rf_tol", DEFAULT_RF_TOL))


def _shorten(
    problem: Problem, method: Method, *, is_weighted: bool = False, training: GivenRows | None = None
) -> Rules:
    """Run a method on a problem."""
    if method.needs_rows and problem.evidence is None:
        free = ", ".join(name for name, listed in METHODS.items() if listed.is_exact and not listed.needs_rows)
        raise InputError(
            f"The method {method.name!r} judges deletions by training rows: pass X and y, or use a method that needs "
            f"none ({free})."
        )
    ready = method.prepare(problem)
    parameters = ready.describe()
    if problem.walked is not None:
        parameters["domain_knowledge"] = False
    deletions = ready.delete(problem)
    counts, source_counts = _count_rules(problem, deletions.deleted)
    weighted = is_weighted or bool((np.abs(source_counts - np.rint(source_counts)) > 0).any())
    return Rules(
        tree=problem.tree,
        making=Making(
            *(ready.name, parameters, problem.evidence is not None, weighted),
            tolerance=problem.tolerance if problem.tree.is_regression else CLASSES_ONLY,
            notes=ready.remark(problem),
        ),
        deletions=deletions,
        leaf_counts=source_counts,
        covered_counts=counts,
        leaves=np.arange(problem.paths.n_rules),
        training=training,
        domain=ready.listed_cases,
    )


def _count_rules(problem: Problem, deleted: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the classes of each rule and of each leaf's own rule, from the rows, else from the tree if it knows."""
    tree, paths = problem.tree, problem.paths
    if problem.evidence is not None:
        return problem.evidence.count(paths, deleted)
    unknown = np.full((paths.n_rules, tree.n_classes), np.nan)
    source = unknown if tree.counts is None else tree.counts[paths.leaf_ids]
    widened = paths.count(deleted) > 0
    return np.where(widened[:, None], np.nan, source), source


def _simplify_forest(
    model: Any, rows: RowSource | None, known: Knowledge, method: Method, progress: Progress | None, form: _Form
) -> ForestRules:
    """Simplify every tree of a forest by all training rows, checked and converted once."""
    forest = open_forest(model, rows, known, "A forest is simplified from its rows")
    own = method.read_once(forest.named)
    untold = Knowledge(domain_knowledge=known.domain_knowledge)

    def make(numbered: tuple[int, Tree]) -> Rules:
        number, tree = numbered
        try:
            return _slim(_simplify(tree, forest.rows, untold, own, None, form))
        except NotMonotoneError as error:
            raise ParameterError(f"Of tree {number} of the forest (the first is 0): {error}") from error

    return ForestRules(run_each(make, list(enumerate(forest.trees)), progress), forest.leaf_shares)


def _slim(rules: Rules) -> Rules:
    """Store an array of equal numbers behind reasons as one number: forests have many of them."""

    def repeat(values: NDArray[Any]) -> NDArray[Any]:
        one = np.broadcast_to(values[0], values.shape) if len(values) else values
        return one if np.array_equal(values, one, equal_nan=True) else values

    numbers = {one.name: repeat(getattr(rules.deletions, one.name)) for one in fields(Deletions)}
    return replace(rules, deletions=Deletions(**numbers))


def diagnose(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    tolerance: float = DEFAULT_TOLERANCE,
    sample_weight: Any = None,
    evidence: Evidence | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    rf_tol: float = DEFAULT_RF_TOL,
) -> Diagnosis:
    """Diagnose every condition of every rule of a tree.

    The trees of a forest are diagnosed side by side; the result is then a :class:`ForestDiagnosis`, a sequence of
    diagnoses.

    Parameters
    ----------
    model : fitted tree, forest, Tree or Rules
        Of a rule set, the tree that its rules were made from is diagnosed, before any deletion.
    X : array-like or data frame of shape (n_rows, n_features), or a table, default=None
        Training rows, as :func:`simplify` takes them; without them the third layer and the finite-domain certificate
        are None.
    y : array-like of shape (n_rows,), or str, default=None
        Their labels, as the model knows them; of a table or data frame the column that holds them.
    tolerance : float in [0, 1], default=0.05
        ε: a reliability that changes by no more than this counts as unchanged.
    sample_weight : array-like of shape (n_rows,), or str, default=None
    evidence : Evidence, default=None
        Counts of the training rows instead of the rows themselves, from :func:`collect_evidence` without a method:
        what was counted for one method does not tell rows apart by the conditions that the method leaves alone.
    feature_names, class_names : sequence of str, default=None
        How columns and classes read, where the model does not say.
    accepts_missing : bool, default=None
        Whether the tree takes NaN; by default what the model and the rows show.
    rf_tol : float, default=1e-12
        A class share that changes by no more than this along a link counts as unchanged.

    Returns
    -------
    Diagnosis
        For a forest a :class:`ForestDiagnosis`.

    Examples
    --------
    >>> from secateur.datasets import load
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> data = load("human-id")
    >>> model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    >>> rows = diagnose(model, data.X, data.y, tolerance=0.0, feature_names=data.feature_names)
    >>> rows[0].status, rows[0].effect
    ('matched', 'positive-relevance')
    """
    epsilon, tolerated = check_share("tolerance", tolerance), check_amount("rf_tol", rf_tol)
    if isinstance(model, ForestRules):
        raise InputError(
            "Expected a tree or a forest, found the rules of a forest: diagnose one tree's, such as rules[0]."
        )
    known = Knowledge(feature_names, class_names, accepts_missing)
    if evidence is not None:
        given = {"X": X, "y": y, "sample_weight": sample_weight, "feature_names": feature_names}
        given |= {"class_names": class_names, "accepts_missing": accepts_missing}
        return Diagnosis(ModelReader(model, known, tolerated).open_counted(evidence, given, None), epsilon)
    check_pair(X, y, sample_weight)
    with nullcontext() if X is None else open_rows_of(model, X, y, sample_weight) as source:
        if is_forest(model):
            # The annotation is for the usual caller, who passes a tree and gets a Diagnosis.
            return _diagnose_forest(model, source, known, tolerated, epsilon)  # type: ignore[return-value]
        problem = ModelReader(model, known, tolerated).open(source, None)
        problem.tree.require_classes("A diagnosis")
        return Diagnosis(problem, epsilon)


def _diagnose_forest(
    model: Any, rows: RowSource | None, known: Knowledge, rf_tol: float, epsilon: float
) -> ForestDiagnosis:
    """Diagnose every tree of a forest by all training rows, checked and converted once."""
    forest = open_forest(model, rows, known, "A forest is diagnosed from its rows")

    def make(tree: Tree) -> Diagnosis:
        return Diagnosis(ModelReader(tree, Knowledge(), rf_tol).open(forest.rows, None), epsilon)

    return ForestDiagnosis(run_each(make, forest.trees, None))
