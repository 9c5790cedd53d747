"""Which tree of an ensemble is read: the only one, or the one that is named.

The trees of a random forest vote, so each of them says something on its own. A boosted tree corrects those before it
and says nothing without them.
"""

from __future__ import annotations

import operator

from secateur.errors import ParameterError, UnsupportedModelError

__all__ = ["name_tree"]


def name_tree(tree: int | None, n_trees: int, found: str, *, votes: bool) -> int:
    """The number of the tree to read, or a sentence why none can be.

    Parameters
    ----------
    tree : int or None
        The number that was asked for.
    n_trees : int
    found : str
        What the ensemble is called in messages.
    votes : bool
        Whether the trees vote, as those of a random forest do.

    Returns
    -------
    int
    """
    if n_trees == 0:
        raise UnsupportedModelError(f"This {found} has no trees. Fit it with at least one.")
    if n_trees > 1 and not votes:
        raise UnsupportedModelError(
            f"This {found} has {n_trees} trees, each of which corrects those before it, so that none decides alone. "
            "Fit it with one tree, or as a random forest."
        )
    if tree is None:
        if n_trees > 1:
            raise UnsupportedModelError(
                f"This {found} has {n_trees} trees. Name the one to read: secateur.from_model(model, tree=0)."
            )
        return 0
    try:
        chosen = operator.index(tree)
    except TypeError:
        chosen = -1
    if isinstance(tree, bool) or not 0 <= chosen < n_trees:
        among = "it has one tree, number 0" if n_trees == 1 else f"it has {n_trees} trees, numbers 0 to {n_trees - 1}"
        raise ParameterError(f"Expected tree as the number of a tree of the {found}, found {tree!r}: {among}.")
    return chosen
