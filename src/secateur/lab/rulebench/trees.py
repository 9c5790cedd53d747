"""The kinds of trees that RuleBench shortens: CART of three sizes, CART pruned by folds, and trees proved optimal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from secateur.datasets import Dataset
from secateur.lab.protocol import Arm
from secateur.lab.pruning import list_alphas, prune
from secateur.lab.sparse import fit_proved, pick_cost, require_solver

N_FOLDS = 3
MOST_ALPHAS = 12  # of the path of cost-complexity pruning, tried by folds
PROVED_DEPTH = 3
TIME_LIMIT = 20.0  # seconds of one fit of a solver
NO_TREE = "no tree"  # what learners are run on


class NotProvedError(RuntimeError):
    """A solver did not prove its tree optimal in time."""


@dataclass(frozen=True)
class Kind(Arm):
    """A kind of tree."""

    depth: int | None = None

    def fit(self, data: Dataset, split: int, X: Any, y: Any) -> Any:
        """Fit a tree of this kind; None where learners need none."""
        if self.name == NO_TREE:
            return None
        if self.learner != "CART":
            require_solver(self.name)
            cost = pick_cost(self.name, X, y, split, self.depth or 0, TIME_LIMIT)
            model, is_proved = fit_proved(self.name, cost, X, y, self.depth or 0, TIME_LIMIT)
            if not is_proved:
                raise NotProvedError(f"{self.learner} did not prove its tree optimal in {TIME_LIMIT:g} seconds")
            return model
        model = DecisionTreeClassifier(max_depth=self.depth, random_state=split)
        if self.name == "cart-pruned":
            model.set_params(ccp_alpha=pick_alpha(model, X, y))
        return model.fit(X, y)


def pick_alpha(model: DecisionTreeClassifier, X: Any, y: Any) -> float:
    """Pick the strength of cost-complexity pruning by folds: the largest of the most accurate ones."""
    path = list_alphas(model, X, y)
    tried = path[np.unique(np.linspace(0, len(path) - 1, MOST_ALPHAS).round().astype(int))]
    right = np.zeros(len(tried))
    for some, left in StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y):
        for place, alpha in enumerate(tried):
            right[place] += (prune(model, alpha, X[some], y[some]).predict(X[left]) == y[left]).sum()
    return float(tried[np.flatnonzero(right == right.max())[-1]])


KINDS = {
    kind.name: kind
    for kind in (
        Kind("cart-4", "CART", "", "CART of depth 4", depth=4),
        Kind("cart-6", "CART", "", "CART of depth 6", depth=6),
        Kind("cart-unpruned", "CART", "", "CART, unpruned"),
        Kind("cart-pruned", "CART", "", f"CART, pruned by {N_FOLDS} folds"),
        Kind("streed", "STreeD", "", f"STreeD, sparse, proved optimal, depth {PROVED_DEPTH}", depth=PROVED_DEPTH),
        Kind("contree", "ConTree", "", f"ConTree, sparse, proved optimal, depth {PROVED_DEPTH}", depth=PROVED_DEPTH),
        Kind(NO_TREE, "", "", "rules learnt from the rows"),
    )
}
