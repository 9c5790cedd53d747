"""Pick each method's knob by folds of the training rows, on every split of the paper's protocol.

The paper picks ε by what happens on the test rows; this is what a user can do. The local search would take most of the
time, so a fold's tree is fitted once and serves all methods, with fewer restarts than the tree of the split.
"""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import secateur
from secateur.datasets import Dataset
from secateur.lab.local_search import LocalSearchTreeClassifier
from secateur.lab.protocol import GRID, Arm, Study, split_rows
from secateur.methods.budgeted import CONFLICTS

TOLERANCE_METHODS = ("mismatch", "faithful")
TOLERANCE_CONFLICT = 0.05  # on rows left out, for ε: the paper's ceiling
BUDGET_CONFLICT = 0.02  # on rows left out, for δ
FEWER_RESTARTS = 5  # a fold's tree has this many times fewer restarts of the local search than the tree of the split

_fitted: dict[str, dict[str, Any]] = {}  # what the trees of this split's folds have learnt, by what they were given


class RememberedTree(LocalSearchTreeClassifier):
    """The stand-in's local search; it fits the same rows with the same settings once in a split."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RememberedTree:
        """Fit the tree, or take what an equal one learnt from the same rows."""
        settings = repr(sorted(self.get_params().items())).encode()
        key = hashlib.sha256(settings + X.tobytes() + y.tobytes()).hexdigest()
        if key not in _fitted:
            super().fit(X, y, sample_weight)
            _fitted[key] = {name: value for name, value in vars(self).items() if name.endswith("_")}
        self.__dict__.update(_fitted[key])
        return self


def pick_knobs(arm: Arm, data: Dataset, split: int) -> dict[str, Any]:
    """Pick ε of `mismatch` and `faithful`, and δ of `budgeted`, by folds.

    Saved trees cannot be fitted to folds.
    """
    X, _, y, _ = split_rows(data, split)
    model = arm.unfitted(data, split)
    if model is None:
        return {"n_rules": 0, "rows": []}
    if isinstance(model, LocalSearchTreeClassifier):
        model = RememberedTree(**{**model.get_params(), "n_restarts": max(1, model.n_restarts // FEWER_RESTARTS)})
    _fitted.clear()
    rows = []
    for method in (*TOLERANCE_METHODS, "budgeted"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that no value is allowed is stored
            if method == "budgeted":
                limits: dict[str, Any] = {"over": "max_conflict", "grid": CONFLICTS, "ceiling": BUDGET_CONFLICT}
            else:
                limits = {"over": "tolerance", "method": method, "grid": GRID, "ceiling": TOLERANCE_CONFLICT}
            selection = secateur.select(model, X, y, progress=False, **limits)
        allowed = any(point.is_allowed for point in selection.curve)
        rows.append({"method": method, "picked": selection.value, "allowed": allowed})
    _fitted.clear()
    return {"n_rules": 0, "rows": rows}


BY_FOLDS = Study(
    "by_folds",
    pick_knobs,
    {
        "budgets": list(CONFLICTS),
        "ceilings": [TOLERANCE_CONFLICT, BUDGET_CONFLICT],
        "methods": list(TOLERANCE_METHODS),
        "fewer_restarts": FEWER_RESTARTS,
    },
)
