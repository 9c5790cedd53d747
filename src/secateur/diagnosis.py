"""Diagnose a model: model → Tree → what each condition of each rule does."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from secateur.adapters.model_checks import is_forest
from secateur.counting.counted_evidence import Evidence
from secateur.errors import InputError
from secateur.methods.contract import DEFAULT_TOLERANCE, check_amount, check_share
from secateur.problem import Knowledge, ModelReader, open_forest, open_rows_of
from secateur.results.diagnosis import Diagnosis, ForestDiagnosis
from secateur.rows.opening import check_pair
from secateur.rows.row_source import RowSource
from secateur.rules.forest import ForestRules, run_each
from secateur.tree.paths import DEFAULT_RF_TOL
from secateur.tree.tree import Tree


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
