"""What one would say of every row without rules: the commonest class of the training rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.rules.rules import Rules


def count_classes(rules: Rules) -> NDArray[np.float64] | None:
    """Count the training rows of each class: those of the rules, else the tree's own; None where neither are known."""
    if rules.is_ranked:
        found: NDArray[np.float64] = rules.leaf_counts.sum(axis=0)
    elif rules.tree.counts is not None:
        found = np.asarray(rules.tree.counts[0], dtype=np.float64)
    else:
        return None
    return found if found.sum() > 0 else None


def find_guess(rules: Rules, sizes: NDArray[Any]) -> int:
    """Find the class that one would guess for any row, else the largest of some classes."""
    counts = count_classes(rules)
    return int((sizes if counts is None else counts).argmax())
