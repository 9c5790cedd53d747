"""Read how often stored rules agree with a model; reject numbers that cannot have been counted together."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import FormatError
from secateur.methods.contract import check_share
from secateur.results.fidelity import Fidelity
from secateur.rules.rules import Rules

MODEL = re.compile(r"(?:an?|the function) \w+")  # as `approximate` names it: a guarantee repeats it


def read_fidelity(rules: Rules, stated: Mapping[str, Any]) -> Fidelity:
    """Read what :meth:`Fidelity.to_dict` gave."""
    counts, of_leaves = _read_whole(stated["counts"]), _read_whole(stated["leaf_counts"])
    leaf_ids = np.array(rules.paths.leaf_ids)
    guess, right = stated["guess"], (stated["n_right"], stated["n_model_right"])
    if not MODEL.fullmatch(stated["model"]):
        raise ValueError("expected the type of a model, or the name of a function")
    fidelity = Fidelity(
        model=str(stated["model"]),
        counts=counts,
        class_ids=np.array(rules.class_ids),
        leaf_counts=of_leaves,
        leaf_ids=leaf_ids,
        n_building=int(stated["n_building"]),
        n_neighbours=int(stated["n_neighbours"]),
        expected=check_share("expected", stated["expected"]),
        wanted=None if stated["wanted"] is None else check_share("wanted", stated["wanted"]),
        n_right=right[0],
        n_model_right=right[1],
        guess=None if guess is None else (str(guess[0]), int(guess[1])),
        seed=None if stated["seed"] is None else int(stated["seed"]),
    )
    shapes = counts.shape == (rules.n_lines, rules.tree.n_classes + 1) and of_leaves.shape == (len(leaf_ids), 2)
    if not shapes or not counts.sum() or (of_leaves[:, 1] > of_leaves[:, 0]).any():
        raise ValueError("the counts of held-out rows do not fit the rules")
    if fidelity.seed is not None and fidelity.seed < 0:
        raise ValueError("the seed of the held-out rows is negative")
    if any(one is not None and not 0 <= int(one) <= counts.sum() for one in right):
        raise ValueError("more held-out rows are right than there are")
    sums = [fidelity.n_rows, fidelity.overall.n_same]
    if of_leaves.sum(axis=0).tolist() != sums or fidelity.to_dict() != stated:
        raise FormatError(
            "The numbers of held-out rows in the rules JSON do not add up to its fidelity; it was edited."
        )
    return fidelity


def _read_whole(numbers: Any) -> NDArray[np.int64]:
    read = np.array(numbers, dtype=np.float64)
    if read.ndim != 2 or not (read >= 0).all() or (read != np.floor(read)).any():
        raise ValueError("expected numbers of rows")
    return read.astype(np.int64)
