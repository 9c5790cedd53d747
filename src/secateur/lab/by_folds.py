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
from secateur.lab.protocol import GRID, Arm, split_rows
from secateur.methods.budgeted import CONFLICTS

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


def pick_knobs(arm: Arm, data: Dataset, split: int) -> dict[str, tuple[float, bool]]:
    """Pick ε and δ by folds, and tell whether any value was allowed; nothing for saved trees, which have no folds."""
    X, _, y, _ = split_rows(data, split)
    model = arm.unfitted(data, split)
    if model is None:
        return {}
    if isinstance(model, LocalSearchTreeClassifier):
        model = RememberedTree(**{**model.get_params(), "n_restarts": max(1, model.n_restarts // FEWER_RESTARTS)})
    _fitted.clear()
    limits: dict[str, dict[str, Any]] = {
        method: {"over": "tolerance", "method": method, "grid": GRID, "ceiling": TOLERANCE_CONFLICT}
        for method in ("mismatch", "faithful")
    }
    limits["budgeted"] = {"over": "max_conflict", "grid": CONFLICTS, "ceiling": BUDGET_CONFLICT}
    picked = {}
    for method, asked in limits.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that no value is allowed is stored
            selection = secateur.select(model, X, y, progress=False, **asked)
        picked[method] = selection.value, any(point.is_allowed for point in selection.curve)
    _fitted.clear()
    return picked
