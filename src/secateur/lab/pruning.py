"""Cost-complexity pruning of scikit-learn's trees, until they are as short as wanted."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone


def list_alphas(model: Any, X: Any, y: Any) -> NDArray[np.float64]:
    """List the strengths at which pruning a tree changes it, from none on."""
    return np.unique(np.maximum(model.cost_complexity_pruning_path(X, y).ccp_alphas, 0.0))


def prune(model: Any, alpha: float, X: Any, y: Any) -> Any:
    """Fit the same tree again, pruned."""
    return clone(model).set_params(ccp_alpha=alpha).fit(X, y)


def prune_until(model: Any, X: Any, y: Any, measure: Callable[[Any], int], most: int) -> Any:
    """Prune a tree as weakly as makes it no longer than that, or down to its root; pruned trees are nested."""
    alphas = list_alphas(model, X, y).tolist()
    place = bisect_left(alphas[:-1], True, key=lambda alpha: measure(prune(model, alpha, X, y)) <= most)
    return prune(model, alphas[place], X, y)
