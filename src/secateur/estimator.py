"""RuleClassifier and RuleRegressor: scikit-learn estimators that predict with the simplified rules of a tree."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
    is_regressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from secateur.adapters.reading import is_ensemble, is_pipeline
from secateur.approximation import approximate
from secateur.errors import InputError, ParameterError, UnsupportedModelError
from secateur.export.json import rules_from_state, rules_to_state
from secateur.frames import frame_columns
from secateur.methods import METHODS, find_method
from secateur.methods.contract import MethodName, check_flag, check_share
from secateur.rows.checking import check_weights, holds_missing
from secateur.rows.opening import hold_rows, open_rows
from secateur.rules.rules import Rules
from secateur.simplification import DEFAULTS, keep_approximated, simplify
from secateur.tree.paths import DEFAULT_RF_TOL
from secateur.tree.tree import Tree

DEFAULT_DEPTH = 5  # at most 32 rules, which a person can still read

# Arguments that go to simplify as they are, beside the settings of the method.
OTHERS = (
    *("method", "feature_names", "class_names", "accepts_missing"),
    *("groups", "integers", "facts", "domain_knowledge"),
)


# scikit-learn ships no types.
class _RuleEstimator(TransformerMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """What both estimators do, with the keywords that both have."""

    _is_regression = False

    def __init__(
        self,
        estimator: Any = None,
        tolerance: Any = None,
        *,
        each_leaf: bool = False,
        budget: float = 0.0,
        sections: Any = "auto",
        fidelity: float | None = None,
        max_rules: int | None = None,
        feature_names: Sequence[str] | None = None,
        accepts_missing: bool | None = None,
        groups: Any = None,
        integers: Any = None,
        facts: Any = None,
        domain_knowledge: bool = True,
        holdout: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self._keep(locals())

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Keep the parameters of ``__init__`` under their names, as scikit-learn asks."""
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the tree and simplify its rules.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
            Numbers, with NaN where the tree takes it; for a pipeline whatever it takes. A table as in
            :func:`secateur.simplify` is read into memory.
        y : array-like of shape (n_rows,), or str
            The labels, or the values to predict; of a table or data frame the column that holds them.
        sample_weight : array-like of shape (n_rows,), or str, default=None
            Weights of the rows, for the tree and for the support and reliability of the rules.
        **fit_params : dict
            Handed to the ``fit`` of the estimator; with metadata routing on, to whoever requested it.

        Returns
        -------
        Self
            The fitted estimator.
        """
        options = {name: getattr(self, name) for name in OTHERS if hasattr(self, name)} | self._find_settings()
        X, y, sample_weight = hold_rows(X, y, sample_weight, "A tree is fitted to rows in memory")
        source = self._tree_to_fit()
        _check_kind(source, each_leaf=self.each_leaf, is_regression=self._is_regression)
        fitted = clone(source)
        X, y = self._check_training_rows(fitted, X, y)
        weights = check_weights(sample_weight, len(y))
        kept, left = self._split_rows(fitted, y)
        X_new, y_new, weights_new = None, None, None
        if len(left):
            X, X_new, y, y_new = _safe_indexing(X, kept), _safe_indexing(X, left), y[kept], y[left]
            weights, weights_new = (None, None) if weights is None else (weights[kept], weights[left])
        self.training_rows_ = kept if len(left) else None
        if self.random_state is not None and not isinstance(fitted, FrozenEstimator):
            names = [name for name in fitted.get_params() if name.rpartition("__")[2] == "random_state"]
            fitted.set_params(**dict.fromkeys(names, self.random_state))
        fitted.fit(X, y, **self._route(fitted, weights, fit_params))
        if is_ensemble(_thaw(fitted)):
            rules = self._approximate(_thaw(fitted), X, y)
        else:
            for name in ("fidelity", "max_rules"):
                if getattr(self, name) is not None:
                    raise ParameterError(f"{name!r} is for a model of several trees: leave it out, or limit the tree.")
            if self.accepts_missing is None and not isinstance(fitted, FrozenEstimator) and _reads_numbers(fitted):
                options["accepts_missing"] = holds_missing(X) or None  # known, where simplify would have to infer it
            rules = simplify(_thaw(fitted), X, y, sample_weight=weights, **options)
            rules = (rules if X_new is None else rules.measure(X_new, y_new, weights_new)).without_rows()
        self.estimator_ = fitted
        if not self._is_regression:
            self.classes_ = np.asarray(getattr(fitted, "classes_", rules.tree.classes))
        self.rules_ = rules
        return self

    def _split_rows(self, fitted: Any, y: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the rows to fit to, and those to measure on."""
        share, every = check_share("holdout", self.holdout), np.arange(len(y))
        if not share:
            return every, every[:0]
        if isinstance(fitted, FrozenEstimator) or is_ensemble(fitted):
            raise ParameterError("holdout is for a tree that is fitted here: leave it out, and call rules_.measure.")
        random, strata = check_random_state(self.random_state or 0), None if self._is_regression else y
        try:
            kept, left = train_test_split(every, test_size=share, stratify=strata, random_state=random)
        except ValueError as error:
            raise InputError(f"Cannot hold out a share of {share:g} of {len(y):,} rows: pass less, or 0.") from error
        return np.sort(kept), np.sort(left)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class or value of each row by the line that decides it.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        rows = self._check_rows(X)  # first: it raises NotFittedError
        labels = self.rules_.predict(rows)
        is_lazy = not isinstance(labels, np.ndarray)  # on Spark
        return labels if is_lazy or self._is_regression else labels.astype(self.classes_.dtype, copy=False)

    def transform(self, X: Any) -> NDArray[np.bool_]:
        """Tell which lines hold for which rows: the rules that cover a row, or "otherwise" of its section.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table

        Returns
        -------
        ndarray of bool, shape (n_rows, n_lines)
            True where the line at that place in ``rules_.lines`` holds for the row.
        """
        rows = self._check_rows(X)
        return self.rules_._on_rows("covers", rows, self.rules_.find_active)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the columns of ``transform``: each line, numbered from 1.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Only compared with the columns seen in ``fit``.

        Returns
        -------
        ndarray of str, shape (n_lines,)
        """
        check_is_fitted(self, "rules_")
        _check_feature_names_in(self, input_features, generate_names=False)
        # Two rules may read the same, so the text alone is no name.
        return np.array([f"rule {rule.index + 1}: {rule.text}" for rule in self.rules_.lines], dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell where parameters passed to ``fit`` go."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        own = MetadataRouter(owner=self).add_self_request(self)
        return own.add(estimator=self._tree_to_fit(), method_mapping=to_fit)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the default tree included.

        Parameters
        ----------
        **params : dict
            Parameters by name, such as ``tolerance`` or ``estimator__max_depth``.

        Returns
        -------
        Self
            The same estimator.
        """
        of_tree = {name: value for name, value in params.items() if name.startswith("estimator__")}
        if of_tree and params.get("estimator", self.estimator) is None:
            # None has no parameters. A wrong one is rejected before anything changes.
            tree = self._make_default_tree().set_params(**{name.partition("__")[2]: of_tree[name] for name in of_tree})
            others = {name: value for name, value in params.items() if name not in (*of_tree, "estimator")}
            params = {**others, "estimator": tree}
        super().set_params(**params)
        return self

    @property
    def tree_(self) -> Tree:
        """The tree behind the rules, so that ``simplify`` takes this estimator too."""
        if not hasattr(self, "rules_"):
            raise AttributeError("tree_")
        return self.rules_.tree

    def _find_settings(self) -> dict[str, Any]:
        """List what simplify takes."""
        if check_flag("each_leaf", self.each_leaf):
            return {"tolerance": self.tolerance, "each_leaf": True}
        budget = check_share("budget", self.budget)
        return {"tolerance": self.tolerance, "budget": budget, "sections": self.sections}

    def _approximate(self, fitted: Any, X: Any, y: NDArray[Any]) -> Rules:
        """Make a list that approximates a model of several trees."""
        seed = self.random_state or 0
        seed = seed.randint(2**31) if isinstance(seed, np.random.RandomState) else seed
        given = {name: value for name, value in self.get_params(deep=False).items() if name in DEFAULTS}
        kept = keep_approximated(fitted, given, "pass fidelity or max_rules")
        wishes = {"fidelity": self.fidelity, "max_rules": self.max_rules, **kept}
        return approximate(fitted, X, y, random_state=seed, **wishes).without_rows()

    def _tree_to_fit(self) -> Any:
        """The estimator, or the default one."""
        return self._make_default_tree() if self.estimator is None else self.estimator

    def _make_default_tree(self) -> Any:
        tree = (DecisionTreeRegressor if self._is_regression else DecisionTreeClassifier)(max_depth=DEFAULT_DEPTH)
        return tree.set_fit_request(sample_weight=True) if get_config()["enable_metadata_routing"] else tree

    def _check_training_rows(self, fitted: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return the rows as the estimator takes them, and the labels as one column."""
        if not _reads_numbers(fitted):
            validate_data(self, X, y, skip_check_array=True)
            y = column_or_1d(y, warn=True)
        else:
            _reject_text(X)
            rows, y = validate_data(self, X, y, ensure_all_finite=_finite_rule(fitted), y_numeric=self._is_regression)
            X = rows if frame_columns(X) is None else X  # a frame has names, and types that mark whole numbers
        if not self._is_regression:
            check_classification_targets(y)
        return X, y

    def _check_rows(self, X: Any) -> Any:
        """Return rows to predict as the rules take them."""
        check_is_fitted(self, "rules_")
        with open_rows(X) as rows:
            if not rows.in_memory:
                return X  # the rules read tables themselves
        if not _reads_numbers(self.estimator_):
            validate_data(self, X, skip_check_array=True, reset=False)
            return X
        return validate_data(self, X, ensure_all_finite=_finite_rule(self.estimator_), reset=False)

    def _route(self, fitted: Any, weights: Any, fit_params: Mapping[str, Any]) -> dict[str, Any]:
        """Find what the estimator's ``fit`` gets beside rows and labels."""
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", sample_weight=weights, **fit_params).estimator.fit)
        given = dict(fit_params)
        if weights is None or isinstance(fitted, FrozenEstimator):
            return given
        name, last = fitted.steps[-1] if is_pipeline(fitted) else (None, fitted)
        if not has_fit_parameter(last, "sample_weight"):
            raise InputError(f"sample_weight was passed, but {type(last).__qualname__} takes none. Leave it out.")
        return given | {"sample_weight" if name is None else f"{name}__sample_weight": weights}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = _takes_missing(self._tree_to_fit())
        tags.transformer_tags.preserves_dtype = []  # it returns bools
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state | {"rules_": rules_to_state(state["rules_"])} if "rules_" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        read = {"rules_": rules_from_state(state["rules_"])} if "rules_" in state else {}
        super().__setstate__(state | read)


class RuleClassifier(ClassifierMixin, _RuleEstimator):  # type: ignore[misc]
    """Fit a tree, shorten its rules, and predict with them.

    The scikit-learn classifier around :func:`secateur.simplify`. As a step inside a pipeline it turns each row into the
    rules that cover it.

    A setting that the chosen method or form does not read does nothing, so that a search can try several at once:
    ``budget`` and ``otherwise`` are read by lists. What only several trees read is an error of one, and vice versa.

    Parameters
    ----------
    estimator : estimator, default=None
        The tree, or a pipeline that ends in one, whose rules are then in the columns that go into it. It is cloned and
        fitted. A ``sklearn.frozen.FrozenEstimator`` around a fitted one is used as it is. By default a
        ``DecisionTreeClassifier`` of depth 5. A forest or a boosted model is approximated by the list, as by
        :func:`secateur.approximate`.
    method : str, default="exact"
        A name in :data:`METHODS`, or one of the paper's. The default predicts as the tree does.
    tolerance : float in [0, 1], default=None
        ε of a list by ``exact``: how far a line's share may lie from that of a row's own leaf; 0.1 by default, and 1
        keeps classes only. ε of ``faithful``, ``mismatch`` and ``budgeted``: how far a rule's training reliability may
        move from its leaf's own (``budgeted``: how far below); 0.05 by default.
    each_leaf : bool, default=False
        Whether to make one rule for each leaf instead of a list that ends in "otherwise".
    budget : float in [0, 1], default=0.0
        Of a list: fraction of training rows whose answer may differ from the tree's.
    sections : int, default="auto"
        The most sections of a list by ``exact``.
    otherwise : label, default="auto"
        The class that a list leaves to "otherwise"; by default the one that leaves the fewest conditions.
    of : label, default=None
        The class of interest, by whose share the lines of a section are listed; by default the rarer of two classes.
    fidelity, max_rules : float and int, default=None
        Of a forest or a boosted model: what the list should be, as in :func:`secateur.approximate`.
    protect : bool, default=True
        Whether ``faithful`` keeps conditions that point away from the class where all leaves have the class.
    max_conflict : float in [0, 1], default=0.015
        δ of ``budgeted``: the share of rows that rules of different classes may cover.
    smoothing : float, default=1000
        n0 of ``budgeted``: how many rows the shuffled copies of the training rows count for.
    alpha : float in [0, 1], default=0.01
        Significance level of ``quinlan``.
    ties : {"root", "leaf"}, default="root"
        Which of two conditions that are equally good to delete goes first in ``quinlan``.
    monotone : sequence of int, or mapping of str to int, default=None
        Signs for ``mismatch-certified``, in which the tree must be monotone; without them it holds on the training
        rows.
    rf_tol : float, default=1e-12
        A class share that changes by no more than this along an edge counts as unchanged.
    feature_names, class_names : sequence of str, default=None
        How columns and classes read, where neither rows nor model say.
    accepts_missing : bool, default=None
        Whether rows to predict may hold NaN; by default if there was some in the training rows.
    groups, integers, facts : default=None
        What you know about the columns, as :func:`secateur.simplify` takes it.
    domain_knowledge : bool, default=True
        Whether exact tests may use groups, whole numbers and facts.
    holdout : float in [0, 1), default=0.0
        Share of the rows to set aside, a part of each class, and to measure the rules on: ``rules_.lines[i].unseen``.
        By default the tree is fitted to all rows, because scikit-learn sets rows aside itself.
    random_state : int, RandomState instance or None, default=None
        Seed of the tree, of all steps before it and of ``holdout``; None leaves theirs as they are.

    Attributes
    ----------
    estimator_ : estimator
        The fitted tree or pipeline.
    rules_ : Rules
        Its rules after deletion. They do not hold the training rows: ``rules_.verify`` takes
        them, without those that ``holdout`` set aside.
    training_rows_ : ndarray of int, or None
        Places of the rows that ``holdout`` left to fit to, in order; None if those are all.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only when all column names of the training rows were texts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = RuleClassifier(random_state=0, class_names=["setosa", "versicolor", "virginica"]).fit(X, y)
    >>> print(model.rules_[0])
    setosa if petal width (cm) ≤ 0.8
    >>> model.predict(X.iloc[[0, 60, 120]])
    array([0, 1, 2])

    The depth of the tree and the tolerance of the rules are searched together:

    >>> from sklearn.model_selection import GridSearchCV
    >>> grid = {"estimator__max_depth": [2, 3], "tolerance": [0.0, 0.1]}
    >>> search = GridSearchCV(RuleClassifier(method="mismatch", random_state=0), grid).fit(X, y)
    >>> search.best_estimator_.rules_
    <Rules: ... rules with ... conditions, otherwise ...; the tree has ... rules with ...>
    """

    def __init__(
        self,
        estimator: Any = None,
        method: MethodName = "exact",
        tolerance: float | None = None,
        *,
        each_leaf: bool = False,
        budget: float = 0.0,
        sections: Any = "auto",
        otherwise: Any = "auto",
        of: Any = None,
        fidelity: float | None = None,
        max_rules: int | None = None,
        protect: bool = True,
        max_conflict: float = 0.015,
        smoothing: float = 1000,
        alpha: float = 0.01,
        ties: Literal["root", "leaf"] = "root",
        monotone: Any = None,
        rf_tol: float = DEFAULT_RF_TOL,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        accepts_missing: bool | None = None,
        groups: Any = None,
        integers: Any = None,
        facts: Any = None,
        domain_knowledge: bool = True,
        holdout: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self._keep(locals())

    def predict_proba(self, X: Any, of: str = "line") -> NDArray[np.float64]:
        """Give the class shares of the training rows of the line that decides each row, or the tree's own.

        The largest share is usually that of the class from ``predict``. It is not where a rule was widened until most
        of its rows are of other classes, or where the tree has a ``class_weight``, which the shares leave out.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or a table
        of : {"line", "leaf"}, default="line"
            ``"leaf"`` gives the probabilities that the tree itself predicts.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        rows = self._check_rows(X)
        return self.rules_.predict_proba(rows, of)

    def _find_settings(self) -> dict[str, Any]:
        """Check the settings of all methods, and list those that the chosen one reads."""
        chosen = find_method(self.method)
        given = self.get_params(deep=False)
        if self.tolerance is None:
            del given["tolerance"]  # what the method, or a list, takes by default
        for method in METHODS.values():
            replace(method, **{name: given[name] for name in method.parameters if name in given})
        settings = {name: given[name] for name in chosen.parameters if name in given}
        shared = super()._find_settings()
        if self.each_leaf or chosen.name != "exact":
            shared = {name: value for name, value in shared.items() if name in ("each_leaf", "budget")}
        return shared | settings | ({} if self.each_leaf else {"otherwise": self.otherwise, "of": self.of})


class RuleRegressor(RegressorMixin, _RuleEstimator):  # type: ignore[misc]
    """Fit a regression tree, shorten its rules, and predict with them.

    No possible row gets a value further than the tolerance from the tree's, so that the mean absolute error and the
    root of the mean squared error grow by no more than it on any rows.

    Parameters
    ----------
    estimator : estimator, default=None
        The tree, or a pipeline that ends in one, as for :class:`RuleClassifier`. By default a
        ``DecisionTreeRegressor`` of depth 5. A forest or a boosted model is approximated by the list, as by
        :func:`secateur.approximate`.
    tolerance : float or str, default=None
        δ, in the units of the target, or as a part of the standard deviation of the training targets, such as
        ``"0.1sd"``; ``"0.25sd"`` by default.
    each_leaf : bool, default=False
        Whether to make one rule for each leaf instead of a list that ends in "otherwise".
    budget : float in [0, 1], default=0.0
        Of a list: fraction of training rows whose value may lie further from the tree's than the tolerance.
    sections : int, default="auto"
        The most sections of a list.
    fidelity, max_rules, feature_names, accepts_missing, groups, integers, facts : default=None
        As for :class:`RuleClassifier`.
    domain_knowledge : bool, default=True
        Whether exact tests may use groups, whole numbers and facts.
    holdout : float in [0, 1), default=0.0
        Share of the rows to set aside, and to measure the rules on.
    random_state : int, RandomState instance or None, default=None
        Seed of the tree, of all steps before it and of ``holdout``; None leaves theirs as they are.

    Attributes
    ----------
    estimator_ : estimator
        The fitted tree or pipeline.
    rules_ : Rules
        Its rules after deletion, without the training rows; ``training_rows_`` as of :class:`RuleClassifier`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only when all column names of the training rows were texts.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = RuleRegressor(estimator=None, random_state=0, tolerance=40).fit(X, y)
    >>> distance = abs(model.predict(X) - model.estimator_.predict(X)).max()
    >>> bool(distance <= 40), len(model.rules_.lines) < model.rules_.tree_rules
    (True, True)
    """

    _is_regression = True


def _thaw(model: Any) -> Any:
    """Take the model out of a frozen one."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    return model


def _check_kind(estimator: Any, *, each_leaf: bool, is_regression: bool) -> None:
    """Reject what cannot become a tree, before spending time on fitting it."""
    kind = "regressor" if is_regression else "classifier"
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise ParameterError(
            f"Expected estimator as a scikit-learn {kind} that fits a tree, found {estimator!r}. A tree that is "
            "fitted already goes into secateur.simplify, or here inside a FrozenEstimator."
        )
    model = _thaw(estimator)
    found = type(model).__qualname__
    if each_leaf and is_ensemble(model):
        raise UnsupportedModelError(
            f"each_leaf=True is for one tree, found {found}. Leave it out for a list that approximates the model; a "
            "fitted forest whose trees vote goes into secateur.simplify(forest, X, y, each_leaf=True)."
        )
    if hasattr(model, "__sklearn_tags__") and is_regressor(model) != is_regression:
        wanted, other = ("regression", "classifier") if is_regression else ("classification", "regressor")
        instead = "RuleClassifier" if is_regression else "RuleRegressor"
        raise UnsupportedModelError(
            f"Expected a {wanted} tree, or a pipeline that ends in one, found {found}, which is a {other}: use "
            f"{instead}."
        )


def _reads_numbers(model: Any) -> bool:
    """Whether a model is a tree of scikit-learn or of ours, which takes only a matrix of numbers."""
    homes = ("sklearn.tree", "secateur.lab.local_search")
    return any(ancestor.__module__.startswith(homes) for ancestor in type(_thaw(model)).__mro__)


def _reject_text(X: Any) -> None:
    """Reject a frame with columns of text, which a tree cannot take."""
    if frame_columns(X) is None:
        return
    import narwhals as nw

    for name, kind in nw.from_native(X).schema.items():
        if kind in (nw.String, nw.Categorical, nw.Enum):
            raise InputError(
                f"Column {name!r} holds text, but the tree takes numbers: encode it first, such as by RuleClassifier("
                f"make_pipeline(make_column_transformer((OneHotEncoder(), [{name!r}]), remainder='passthrough'), "
                "DecisionTreeClassifier()))."
            )


def _takes_missing(model: Any) -> bool:
    has_tags = hasattr(model, "__sklearn_tags__") and not isinstance(model, type)
    return has_tags and bool(get_tags(model).input_tags.allow_nan)


def _finite_rule(model: Any) -> bool | str:
    """Let scikit-learn reject infinite values always, and NaN where the model does not take it."""
    return "allow-nan" if _takes_missing(model) else True
