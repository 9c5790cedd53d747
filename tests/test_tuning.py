"""Picking a parameter by cross-validation: the curve is what folds give, the pick follows its rule, errors are kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from drawing import fewer
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import secateur
from secateur.errors import InputError, ParameterError

GRID = (0.0, 0.02, 0.1)


@pytest.fixture(scope="module")
def problem() -> tuple[Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return DecisionTreeClassifier(max_depth=4, random_state=0), X, y


def audit_by_hand(problem: tuple[Any, Any, Any], folds: Any, weights: Any = None, **settings: Any) -> list[Any]:
    """The audits of one value of the parameter, fold after fold."""
    model, X, y = problem
    found = []
    for train, test in folds:
        inner = None if weights is None else weights[train]
        outer = None if weights is None else weights[test]
        tree = clone(model).fit(X[train], y[train], sample_weight=inner)
        rules = secateur.simplify(tree, X[train], y[train], sample_weight=inner, **settings)
        found.append(rules.audit(X[test], y[test], sample_weight=outer))
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("over", "fixed"),
    [
        ("budget", {}),
        ("max_conflict", {"method": "budgeted", "each_leaf": True}),
    ],
)
def test_the_curve_is_the_mean_over_folds_of_audits_on_rows_left_out(
    problem: tuple[Any, Any, Any], over: str, fixed: dict[str, Any], weighted: bool
) -> None:
    model, X, y = problem
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    given: dict[str, Any] = {"grid": GRID, "tolerance": 0.2, "cv": 3, "sample_weight": weights, "progress": False}
    selection = secateur.select(model, X, y, over=over, ceiling=1.0, min_accuracy_change=-1, **given)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    for point, value in zip(selection.curve, GRID, strict=True):
        audits = audit_by_hand(problem, folds, weights, **{over: value}, tolerance=0.2, **fixed)
        assert point.value == value
        assert point.removed == pytest.approx(np.mean([audit.shortened for audit in audits]))
        for name in ("conflict", "delta_accuracy", "macro_dev"):
            assert getattr(point, name) == pytest.approx(np.mean([getattr(audit, name) for audit in audits]))
        assert point.difference == pytest.approx(np.mean([100 - audit.agreement for audit in audits]))
        assert point.conflict_sd == pytest.approx(np.std([audit.conflict for audit in audits]))
        assert point.difference_sd == pytest.approx(np.std([audit.agreement for audit in audits]), abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("over", "grid"), [("tolerance", (0.02, 0.1, 1.0)), ("sections", (1, 2, 4))])
def test_the_form_of_a_list_is_picked_by_the_auc_that_it_loses(
    problem: tuple[Any, Any, Any], over: str, grid: tuple[float, ...]
) -> None:
    folds = list(KFold(3).split(problem[1]))
    given: dict[str, Any] = {"method": "exact", "budget": 0.01, "cv": KFold(3), "progress": False}
    selection = secateur.select(*problem, over=over, grid=grid, ceiling=0.01, **given)
    for point, value in zip(selection.curve, grid, strict=True):
        audits = audit_by_hand(problem, folds, **{over: value}, budget=0.01)
        assert point.removed == pytest.approx(np.mean([audit.shortened for audit in audits]))
        assert point.auc_loss == pytest.approx(np.mean([100 * (audit.tree_auc - audit.auc) for audit in audits]))
        assert point.is_allowed == (point.auc_loss <= 1 and point.delta_accuracy >= -1)
    allowed = [point for point in selection.curve if point.is_allowed]
    assert selection.value == max(allowed, key=lambda point: (point.removed, -point.value)).value
    assert selection.measure == "auc_loss"
    assert "AUC lost %" in str(selection)


@pytest.fixture(scope="module")
def values() -> tuple[Any, Any, Any]:
    X, y = load_diabetes(return_X_y=True)
    return DecisionTreeRegressor(max_depth=4, random_state=0), X, y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("over", "grid", "fixed"),
    fewer(
        [
            ("budget", (0.0, 0.02, 0.1), {"tolerance": "0.1sd", "sections": 2}),
            ("tolerance", (5, 20.0, 40.0), {"budget": 0.01}),
            ("sections", (1, 2, 4), {"tolerance": 20.0}),
        ]
    ),
)
def test_the_curve_of_values_is_the_mean_over_folds_too(
    values: tuple[Any, Any, Any], over: Any, grid: tuple[float, ...], fixed: dict[str, Any], weighted: bool
) -> None:
    model, X, y = values
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    given: dict[str, Any] = {"cv": 3, "sample_weight": weights, "progress": False, "ceiling": 0.02, **fixed}
    selection = secateur.select(model, X, y, over=over, grid=grid, min_accuracy_change=-0.05, **given)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    for point, value in zip(selection.curve, grid, strict=True):
        audits = audit_by_hand(values, folds, weights, **{over: value}, **fixed)
        assert point.value == value
        removed = [100 * (1 - audit.n_conditions / audit.tree_conditions) for audit in audits]
        assert point.removed == pytest.approx(np.mean(removed))
        assert point.difference == pytest.approx(np.mean([audit.off for audit in audits]))
        lost = [100 * (audit.tree_r2 - audit.r2) for audit in audits]
        assert point.r2_loss == pytest.approx(np.mean(lost))
        assert point.delta_accuracy == pytest.approx(-np.mean(lost))
        assert point.delta_accuracy_sd == pytest.approx(np.std(lost))
        measured = point.difference if over == "budget" else point.r2_loss
        assert point.is_allowed == (measured <= 2 and point.r2_loss <= 5)
    allowed = [point for point in selection.curve if point.is_allowed]
    assert selection.value == max(allowed, key=lambda point: (point.removed, -point.value)).value
    assert "ΔR²" in str(selection)
    assert "MacroDev" not in str(selection)
    assert "change of R²" in selection._repr_html_()
    assert selection.plot().lines


def test_tolerances_of_values_are_tried_in_parts_of_their_spread(values: tuple[Any, Any, Any]) -> None:
    model, X, y = values
    selection = secateur.select(model, X, y, over="tolerance", cv=3, progress=False)
    assert [point.value for point in selection.curve] == pytest.approx(
        [part * np.std(y) for part in (0.05, 0.1, 0.15, 0.25, 0.35, 0.5)], rel=0.01
    )
    rules = secateur.simplify(model.fit(X, y), X, y, tolerance=selection.value)
    assert rules.tolerance == selection.value


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"over": "max_conflict"}, "Of a regression tree budget, tolerance, sections can be selected, by 'exact'"),
        ({"method": "mismatch"}, "the method 'mismatch' is for classes"),
        ({"otherwise": 1}, "'otherwise' names a class"),
        ({"over": "tolerance", "grid": (-1,)}, "every tolerance of the grid as a number that is not negative"),
        ({"cv": 300}, "at least 600 rows for 300 folds, found 442"),
        ({"smoothing": 5}, "smoothing"),
        ({"budget": 0.1}, "budget"),
    ],
)
def test_what_values_do_not_have_is_rejected(
    values: tuple[Any, Any, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises((ParameterError, InputError), match=message):
        secateur.select(*values, progress=False, **settings)
    model, X, y = values
    for wrong in (y.astype(str), np.where(y > 300, np.nan, y)):
        with pytest.raises(InputError, match="y as finite numbers"):
            secateur.select(model, X, wrong, progress=False)


@pytest.mark.parametrize("method", ["faithful", "mismatch"])
def test_the_curve_of_a_tolerance_is_that_of_the_method(problem: tuple[Any, Any, Any], method: str) -> None:
    folds = list(KFold(3).split(problem[1]))
    selection = secateur.select(*problem, over="tolerance", method=method, grid=GRID, cv=KFold(3), progress=False)
    for point, tolerance in zip(selection.curve, GRID, strict=True):
        audits = audit_by_hand(problem, folds, method=method, tolerance=tolerance, each_leaf=True)
        assert point.removed == pytest.approx(np.mean([audit.shortened for audit in audits]))
        assert point.conflict == pytest.approx(np.mean([audit.conflict for audit in audits]))


@pytest.mark.long
@pytest.mark.parametrize("over", ["budget", "max_conflict"])
def test_the_pick_deletes_most_among_what_is_allowed(problem: tuple[Any, Any, Any], over: str) -> None:
    given: dict[str, Any] = {"over": over, "min_accuracy_change": -1, "cv": 3, "progress": False}
    for ceiling in (0.01, 0.02, 0.05, 1.0):
        selection = secateur.select(*problem, ceiling=ceiling, grid=(0, 0.01, 0.02, 0.04, 0.5), **given)
        assert selection.ceiling == ceiling
        measured = [getattr(point, selection.measure) for point in selection.curve]
        allowed = [point for point, found in zip(selection.curve, measured, strict=True) if found <= 100 * ceiling]
        assert [point.is_allowed for point in selection.curve] == [point in allowed for point in selection.curve]
        best = max(point.removed for point in allowed)
        assert selection.value == min(point.value for point in allowed if point.removed == best)


def test_where_nothing_is_allowed_the_smallest_is_picked_with_a_warning(problem: tuple[Any, Any, Any]) -> None:
    with pytest.warns(UserWarning, match="No budget of the grid keeps the mean difference"):
        selection = secateur.select(*problem, ceiling=0.0, grid=(0.1, 0.2), cv=3, min_accuracy_change=1, progress=False)
    assert selection.value == 0.1
    assert "← picked (not allowed)" in str(selection)


@pytest.mark.long
def test_frames_arrays_jobs_and_fitted_models_give_the_same_selection() -> None:
    data = load_wine(as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    given: dict[str, Any] = {"grid": GRID, "cv": 3, "progress": False, "ceiling": 1, "min_accuracy_change": -1}
    wanted = secateur.select(model, data.data.to_numpy(), data.target, **given)
    fitted = clone(model).fit(data.data, data.target)
    for X in (data.data, pl.from_pandas(data.data)):
        assert secateur.select(fitted, X, data.target, **given).curve == wanted.curve
    assert secateur.select(model, data.data, data.target, n_jobs=2, **given).curve == wanted.curve


def test_a_selection_reads_as_a_table_a_frame_and_a_plot(problem: tuple[Any, Any, Any]) -> None:
    given: dict[str, Any] = {"grid": GRID, "cv": 3, "progress": False, "min_accuracy_change": -1}
    selection = secateur.select(*problem, over="tolerance", **given)
    frame = selection.to_frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame["value"].tolist() == list(GRID)
    assert frame["removed"].tolist() == [point.removed for point in selection.curve]
    assert f"tolerance = {selection.value:g} for mismatch" in str(selection)
    assert "← picked" in str(selection)
    axes = selection.plot()
    assert axes.lines[0].get_xdata().tolist() == [point.conflict for point in selection.curve]
    assert axes.lines[0].get_ydata().tolist() == [point.removed for point in selection.curve]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"over": "depth"}, "over as one of budget, tolerance, sections, max_conflict, found 'depth'"),
        ({"grid": ()}, "The grid is empty"),
        ({"grid": (0.1, 0.05)}, "in increasing order without repeats"),
        ({"grid": (0.1, 0.1)}, "in increasing order without repeats"),
        ({"grid": (0.1, 1.5)}, "every budget of the grid as a number from 0 to 1, found 1.5"),
        ({"grid": "0.1"}, "grid as a list of numbers"),
        ({"ceiling": -0.1}, "ceiling as a number from 0 to 1"),
        ({"min_accuracy_change": "x"}, "min_accuracy_change as a number from -1 to 1"),
        ({"cv": 1}, "cv as a whole number from 2 on"),
        ({"cv": True}, "cv as a whole number from 2 on"),
        ({"cv": "x"}, "cv as a whole number from 2 on"),
        ({"cv": 300}, "Expected at least 300 rows of every class for 300 folds, found 212 of class 0"),
        ({"over": "max_conflict", "otherwise": 0}, "'otherwise' is for a list: leave it out"),
        ({"over": "max_conflict", "smoothing": -1}, "smoothing as a number that is not negative"),
        ({"smoothing": 5}, "'exact' has no setting 'smoothing'|smoothing"),
    ],
)
def test_bad_settings_are_rejected_in_a_sentence(
    problem: tuple[Any, Any, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises((ParameterError, InputError), match=message):
        secateur.select(*problem, progress=False, **settings)


def test_what_cannot_be_fitted_again_is_rejected(problem: tuple[Any, Any, Any]) -> None:
    model, X, y = problem
    tree = secateur.from_model(clone(model).fit(X, y))
    with pytest.raises(InputError, match="fits the model anew in every fold, which a Tree cannot"):
        secateur.select(tree, X, y)
    with pytest.raises(ParameterError, match="for 'faithful' and 'mismatch', or 'exact' as that of a list, found"):
        secateur.select(model, X, y, over="tolerance", method="redundancy")
    with pytest.raises(ParameterError, match="A number of sections can be selected for 'exact', found 'mismatch'"):
        secateur.select(model, X, y, over="sections", method="mismatch")
    with pytest.raises(InputError, match="one label for each of the 569 rows"):
        secateur.select(model, X, y[:-1])
    with pytest.raises(InputError, match="one weight for each of the 569 rows"):
        secateur.select(model, X, y, sample_weight=np.ones(5000))
    with pytest.raises(InputError, match=r"found a sparse matrix: pass X\.toarray\(\)"):
        secateur.select(model, scipy.sparse.csr_matrix(X), y)
    order = np.argsort(y, kind="stable")
    with pytest.raises(InputError, match="training rows of fold 0 have no row of class 0: use a stratified splitter"):
        secateur.select(model, X[order][150:450], y[order][150:450], cv=KFold(4))


def test_a_fold_without_the_missing_value_still_takes_it() -> None:
    X, y = load_wine(return_X_y=True)
    X[3, 2] = np.nan
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    given: dict[str, Any] = {"grid": GRID, "cv": 3, "progress": False, "ceiling": 1, "min_accuracy_change": -1}
    assert len(secateur.select(model, X, y, **given).curve) == len(GRID)


def test_a_method_may_go_by_its_paper_name(problem: tuple[Any, Any, Any]) -> None:
    given: dict[str, Any] = {"grid": GRID, "cv": 3, "progress": False, "ceiling": 1}
    selection = secateur.select(*problem, over="tolerance", method="M1-P", **given)
    assert selection.method == "mismatch"


def test_labels_may_stand_in_a_column(problem: tuple[Any, Any, Any]) -> None:
    model, X, y = problem
    given: dict[str, Any] = {"grid": GRID, "cv": 3, "progress": False, "ceiling": 1, "min_accuracy_change": -1}
    assert secateur.select(model, X, y[:, None], **given).curve == secateur.select(model, X, y, **given).curve


def test_weights_reach_the_tree_at_the_end_of_a_pipeline() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    given: dict[str, Any] = {"over": "tolerance", "grid": [0.0, 0.1], "cv": 2, "sample_weight": weights}
    alone = secateur.select(model, X, y, progress=False, min_accuracy_change=-1, **given)
    steps = make_pipeline(FunctionTransformer(), model)
    piped = secateur.select(steps, X, y, progress=False, min_accuracy_change=-1, **given)
    assert piped.curve == alone.curve
