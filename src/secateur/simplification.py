"""The front door: model → Tree → method → RuleSet."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters import from_model
from secateur.adapters.forests import is_forest
from secateur.counting.counted_evidence import Evidence
from secateur.counting.row_evidence import RowEvidence
from secateur.errors import InputError, ParameterError
from secateur.facts.checking import check_facts
from secateur.methods import METHODS, Problem, find_method
from secateur.methods.parameters import check_amount, check_share
from secateur.problem import open_evidence, open_problem
from secateur.rows.checking import check_labels, check_rows
from secateur.rows.labelled_frames import load_table, split_frame
from secateur.rows.opening import is_frame, is_spark, is_stream, open_source
from secateur.rows.table_columns import Naming, find_texts
from secateur.rows.table_problem import open_table
from secateur.rules.forest import simplify_forest
from secateur.rules.rule_set import RuleSet, TrainingRows
from secateur.tree.paths import DEFAULT_RF_TOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.rules.forest import Progress
    from secateur.tree.tree import Tree

__all__ = ["simplify"]


def simplify(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    method: str = "layered",
    tolerance: float = 0.05,
    budget: float = 0.015,
    smoothing: float = 1000,
    alpha: float = 0.01,
    domain: Any = None,
    monotone: Any = None,
    rf_tol: float = DEFAULT_RF_TOL,
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
) -> RuleSet:
    """Turn a fitted tree into one rule for each leaf, and delete the conditions that do not matter.

    The trees of a forest are simplified side by side; the result is then a :class:`ForestRules`, a sequence of rule
    sets that vote as the forest does.

    Parameters
    ----------
    model : fitted tree, pipeline, forest or Tree
        A fitted tree of a library that ``docs/adapters.md`` lists; a scikit-learn Pipeline that ends in one, whose
        rules are in the columns that go into it; a RandomForestClassifier, ExtraTreesClassifier or BaggingClassifier of
        trees, alone or at the end of a pipeline; or a :class:`Tree`.
    X : array-like or data frame of shape (n_rows, n_features), or a table, default=None
        The training rows. A table is a path, directory or pattern of files, a DuckDB relation or (connection, SQL), a
        pyarrow Dataset or RecordBatchReader, a polars LazyFrame, or a Spark DataFrame; it is read a batch at a time
        (``docs/scale.md``). The methods ``none``, ``sibling``, ``subtree``, ``exact`` and ``redundancy`` do without;
        the support and reliability of a rule that they widened are then None.
    y : array-like of shape (n_rows,), or str, default=None
        The training labels, as the model knows them; of a table or data frame the column that holds them.
    method : str, default="layered"
        A name in :data:`METHODS`, or one of the paper's: ``M1-D``, ``M1-P``, ``M2-D``, ``M2-P``, ``Izza``, ``Quinlan``.
    tolerance : float in [0, 1], default=0.05
        ε of ``mismatch`` and ``layered``: how far a rule's training reliability may move from its leaf's own.
    budget : float in [0, 1], default=0.015
        δ of ``budgeted``: the share of rows that rules of different classes may cover.
    smoothing : float, default=1000
        n0 of ``budgeted``: how many rows the shuffled copies of the training rows count for when a conflict is priced;
        0 looks at the training rows alone.
    alpha : float in [0, 1], default=0.01
        Significance level of ``quinlan``.
    domain : tuple of (rows, labels), default=None
        The listed cases on which ``mismatch-certified`` must hold; by default the training rows.
    monotone : sequence of int, or mapping of str to int, default=None
        For ``mismatch-certified``: +1 where larger values of a feature favour the second class, -1 where they favour
        the first, 0 where neither is known. By default the signs that the tree was fitted with, if any.
    rf_tol : float, default=1e-12
        A class share that changes by no more than this along a link counts as unchanged.
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
        What is known of the columns, such as ``"0 <= bmi <= 100"``, ``"city in {Paris, Rome}"`` or
        ``"pregnant = yes => sex = female"``.
    domain_knowledge : bool, default=True
        Whether exact tests may use groups, whole numbers and facts. What they promise then holds for rows that keep to
        them, and every certificate names those it rests on. False uses them for reading only.
    progress : callable, default=None
        For a forest called with the number of trees that are done, and of all trees, after each one; for a table with
        the number of rows that are read, and of all rows if it is known, after each batch.

    Returns
    -------
    RuleSet
        For a forest a :class:`ForestRules`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> data = load_iris()
    >>> model = DecisionTreeClassifier(random_state=0).fit(data.data, data.target)
    >>> rules = simplify(
    ...     model, data.data, data.target, feature_names=data.feature_names, class_names=data.target_names
    ... )
    >>> print(*rules[5].source_conditions, sep=" and ")
    1.55 < petal width (cm) <= 1.75 and petal length (cm) > 5.45
    >>> print(rules[5])
    petal length (cm) > 5.45 => virginica
    >>> print(rules[5].reasons[2])
    without it the rule still meets no leaf that predicts anything but virginica
    """
    if not isinstance(domain_knowledge, bool):
        raise ParameterError(f"Expected domain_knowledge as True or False, found {domain_knowledge!r}.")
    # Rows on Spark are not kept: proving would bring them here.
    given_rows = None if X is None or is_spark(X) else TrainingRows(X, y, sample_weight)
    if isinstance(y, str) and is_frame(X):
        X, y, sample_weight = split_frame(model, X, y, sample_weight)
    elif is_stream(X) and is_forest(model):
        with open_source(X, partial(find_texts, model, y)) as source:
            X, y, sample_weight = load_table(model, source, y, sample_weight, "A forest is simplified from its rows")
    if is_forest(model):
        rules: Any = simplify_forest(
            *(model, X, y, simplify),
            method=method,
            tolerance=tolerance,
            budget=budget,
            smoothing=smoothing,
            alpha=alpha,
            domain=domain,
            monotone=monotone,
            rf_tol=rf_tol,
            sample_weight=sample_weight,
            feature_names=feature_names,
            class_names=class_names,
            accepts_missing=accepts_missing,
            groups=groups,
            integers=integers,
            facts=facts,
            domain_knowledge=domain_knowledge,
            progress=progress,
        )
        return rules  # type: ignore[no-any-return]  # nobody who passes a tree has to ask which of the two came back
    chosen = find_method(method)
    settings = {
        "tolerance": check_share("tolerance", tolerance),
        "budget": check_share("budget", budget),
        "smoothing": check_amount("smoothing", smoothing),
        "alpha": check_share("alpha", alpha),
        "rf_tol": check_amount("rf_tol", rf_tol),
    }
    if chosen.name != "mismatch-certified" and (domain is not None or monotone is not None):
        unread = "domain" if domain is not None else "monotone"
        raise ParameterError(f"The method {chosen.name!r} does not read {unread}; only 'mismatch-certified' does.")
    knowledge = {"groups": groups, "integers": integers, "facts": facts}
    if evidence is not None:
        given = {"X": X, "y": y, "sample_weight": sample_weight, "feature_names": feature_names, "groups": groups}
        given |= {"class_names": class_names, "accepts_missing": accepts_missing, "integers": integers, "facts": facts}
        problem = open_evidence(model, evidence, given, settings["rf_tol"], domain_knowledge=domain_knowledge)
        _check_summary(chosen.name, evidence, certified=domain is not None or monotone is not None)
    elif is_spark(X) or is_stream(X):
        open_rows: Any = open_table
        if is_spark(X):
            from secateur.spark.problem import open_frame

            open_rows = open_frame
        problem = open_rows(
            *(model, X, y, sample_weight),
            Naming(feature_names, class_names, accepts_missing, knowledge),
            method=chosen.name,
            by_rows=_looks_at_rows(chosen.name, model, domain, monotone),
            rf_tol=settings["rf_tol"],
            domain_knowledge=domain_knowledge,
            progress=progress,
        )
    else:
        problem = open_problem(
            model,
            X,
            y,
            sample_weight=sample_weight,
            feature_names=feature_names,
            class_names=class_names,
            accepts_missing=accepts_missing,
            rf_tol=settings["rf_tol"],
            knowledge=knowledge,
            domain_knowledge=domain_knowledge,
        )
    if chosen.needs_rows and problem.evidence is None:
        free = ", ".join(name for name, listed in METHODS.items() if listed.is_exact)
        raise InputError(
            f"The method {chosen.name!r} judges deletions by training rows: pass X and y, or use a "
            f"method that needs none "
            f"({free})."
        )
    parameters: dict[str, Any] = {name: settings[name] for name in chosen.parameters if name in settings}
    if chosen.name == "mismatch-certified":
        problem, certificate = _certify(problem, domain, monotone)
        parameters |= certificate
    if problem.walked is not None:
        parameters["domain_knowledge"] = False
    problem = replace(problem, parameters=parameters)
    deletions = chosen.delete(problem)
    counts, source_counts = _count_rules(problem, deletions.deleted, is_exact=chosen.is_exact)
    return RuleSet(
        tree=problem.tree,
        method=chosen.name,
        parameters=parameters,
        deletions=deletions,
        class_counts=counts,
        source_class_counts=source_counts,
        is_ranked=problem.evidence is not None,
        is_weighted=sample_weight is not None
        or (evidence is not None and evidence.is_weighted)
        or not np.array_equal(source_counts, np.rint(source_counts), equal_nan=True),
        training=given_rows,
        domain=None if domain is None else TrainingRows(domain[0], domain[1], None),
    )


def _looks_at_rows(method: str, model: Any, domain: Any, monotone: Any) -> bool:
    """Whether a method looks at training rows one by one, so that counts of them do not do."""
    if method != "mismatch-certified":
        return method == "budgeted"
    return domain is None and monotone is None and from_model(model).monotone is None


def _check_summary(method: str, evidence: Evidence, *, certified: bool) -> None:
    """Refuse the methods that look at rows one by one, and say what their summary would hold."""
    rows = f"{evidence.n_rows:,} rows"
    if method == "budgeted":
        raise InputError(
            f"The method 'budgeted' shuffles the rows themselves, so its summary would be as large as the {rows}: "
            "pass X and y, or use 'layered'."
        )
    if method == "mismatch-certified" and not certified and evidence.tree.monotone is None:
        raise InputError(
            f"The method 'mismatch-certified' names single rows, so its summary would be as large as the {rows}: pass "
            "a domain or monotone signs, or X and y."
        )


def _count_rules(
    problem: Problem, deleted: NDArray[np.bool_], *, is_exact: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Class counts of each rule and of each leaf's own rule: from the rows, else from the tree where it can know."""
    tree, paths = problem.tree, problem.paths
    if problem.evidence is not None:
        return problem.evidence.count(paths, deleted, is_exact=is_exact)
    unknown = np.full((paths.n_rules, tree.n_classes), np.nan)
    source = unknown if tree.counts is None else tree.counts[paths.leaf_ids]
    widened = np.bincount(paths.rule[deleted], minlength=paths.n_rules) > 0
    return np.where(widened[:, None], np.nan, source), source


def _certify(problem: Problem, domain: Any, monotone: Any) -> tuple[Problem, dict[str, Any]]:
    """Settle which certificate ``mismatch-certified`` uses, and describe it."""
    tree = problem.tree
    if domain is not None and monotone is not None:
        raise ParameterError("Pass a domain or monotone signs for mismatch-certified, not both.")
    signs = _check_signs(tree, monotone if monotone is not None or domain is not None else tree.monotone)
    if signs is not None:
        return problem, {"monotone": signs, "certificate": "all rows, by the stated monotonicity"}
    if domain is None:
        if problem.evidence is None:
            raise InputError(
                "The method 'mismatch-certified' needs something to certify by: training rows, a domain, "
                "or monotone signs."
            )
        listed = replace(problem.listed_rows, weights=None)  # every listed row counts
    else:
        if not isinstance(domain, (tuple, list)) or len(domain) != 2:
            raise ParameterError("Expected domain as a pair (rows, labels) that lists every case.")
        rows = check_rows(tree, domain[0], name="domain")
        check_facts(tree, rows, name="domain")
        listed = RowEvidence(tree, rows, check_labels(tree, domain[1], rows.n_rows, name="domain labels"), None)
    _check_consistent(tree, listed)
    certificate = {
        "domain": "training rows" if domain is None else "listed cases",
        "certificate": f"the {listed.n_rows} listed rows",
    }
    return replace(problem, domain=listed), certificate


def _check_signs(tree: Tree, monotone: Any) -> list[int] | None:
    """One sign for each feature, in column order; None when there are none."""
    if monotone is None:
        return None
    if tree.n_classes != 2:
        raise ParameterError(
            f"Monotone signs order two classes, but this tree has {tree.n_classes}. Pass a domain instead."
        )
    if hasattr(monotone, "items"):
        names = [tree.feature_name(feature) for feature in range(tree.n_features)]
        strange = [name for name in monotone if name not in names]
        if strange:
            raise ParameterError(f"monotone names {strange[0]!r}, but the columns are {names}.")
        monotone = [monotone.get(name, 0) for name in names]
    listed = list(monotone) if hasattr(monotone, "__iter__") else monotone
    known: dict[Any, int] = {-1: -1, 0: 0, 1: 1}
    signs = [known.get(s) if np.isscalar(s) else None for s in listed] if isinstance(listed, list) else []
    if len(signs) != tree.n_features or None in signs:
        raise ParameterError(
            f"Expected monotone as one sign of -1, 0 or +1 for each of the {tree.n_features} columns, found {listed!r}."
        )
    fitted = [0] * tree.n_features if tree.monotone is None else tree.monotone.tolist()
    against = next((f for f, sign in enumerate(signs) if sign is not None and sign * fitted[f] < 0), None)
    if against is not None:
        raise ParameterError(
            f"monotone says {signs[against]:+d} for {tree.feature_name(against)!r}, but the tree was fitted with "
            f"{fitted[against]:+d}."
        )
    return [sign for sign in signs if sign is not None]


def _check_consistent(tree: Tree, listed: RowEvidence) -> None:
    """A finite domain gives equal rows equal labels."""
    if tree.columns is not None:
        return  # rows behind a pipeline are read as far as the tree asks, so different rows may look equal
    sizes = np.array([np.inf if levels is None else len(levels) for levels in tree.categories])
    # Unlisted categories share one code but need not be equal, so rows that hold one are not compared.
    matrix = listed.rows.matrix
    known = np.flatnonzero(~(matrix >= sizes).any(axis=1))
    _, group = np.unique(np.nan_to_num(matrix[known], nan=np.inf), axis=0, return_inverse=True)
    labels, group = listed.class_ids[known], group.ravel()
    order = np.lexsort((labels, group))
    clash = np.flatnonzero((np.diff(group[order]) == 0) & (np.diff(labels[order]) != 0))
    if len(clash):
        one, other = sorted(known[order[clash[0] : clash[0] + 2]].tolist())
        raise InputError(
            f"The domain contradicts itself: rows {one} and {other} are equal but have different labels. "
            "A deterministic table gives equal rows one label: pass domain=(rows, labels) without such rows, or use "
            "the method 'mismatch'."
        )
