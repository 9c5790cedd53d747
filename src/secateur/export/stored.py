"""The parts of stored rules: what became of each leaf's rule, what each line states, how often it agrees with a model.

Columns have one element for each leaf, or for each edge. Quoted numbers are rejected: each column says which types it
takes. So are reasons that a method cannot have given, and numbers that cannot have been counted together.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import FormatError
from secateur.methods import METHODS, Deletions, Why
from secateur.methods.contract import check_share, is_number
from secateur.results.fidelity import Fidelity
from secateur.rules.lines import Layout
from secateur.rules.rules import Rules
from secateur.tree.paths import Paths
from secateur.tree.shares import none_if_nan
from secateur.tree.tree import Tree
from secateur.verify.fields import REASONS, Check

NUMBERS = ("before", "after", "number")
KNOWN = {int, float}  # not bool
TINY = 1e-9  # shares are rounded
# Reasons that the lines of a list give beside those of the method.
OF_A_LIST = (Why.PAID, Why.TOO_DEAR, Why.WITHIN_WINDOW, Why.KEEPS_OUT, Why.HEADING, Why.STRUCK)
MOST_ROWS = 1e300  # so that shares and percentages of sums can still be computed
MODEL = re.compile(r"(?:an?|the function) \w+")  # as `approximate` names it: a guarantee repeats it


def paths_to_columns(tree: Tree, paths: Paths) -> dict[str, Any]:
    """List the leaves and the edges of their paths."""
    return {
        "leaf_ids": paths.leaf_ids.tolist(),
        "predictions": tree.answers[paths.leaf_ids].tolist(),
        "offsets": paths.offsets.tolist(),
        "links": paths.links.tolist(),
    }


def read_paths(tree: Tree, paths: Paths, columns: Mapping[str, Any]) -> None:
    """Reject leaves and edges that are not those of the tree."""
    for name, wanted in paths_to_columns(tree, paths).items():
        found = columns[name]
        if found != wanted or set(map(type, found)) != set(map(type, wanted)):
            raise FormatError(f"The {name} of the rules JSON are not those of its tree; it was cut or edited.")


def deletions_to_columns(deletions: Deletions) -> dict[str, Any]:
    """List what became of each edge, and the codes and numbers behind the reasons."""
    codes, kind = np.unique(deletions.why, return_inverse=True)
    return {
        "deleted": deletions.deleted.astype(np.int8).tolist(),
        "kinds": [Why(code).kind for code in codes.tolist()],
        "kind": kind.tolist(),
        "node": deletions.node.tolist(),
        **{name: _list_numbers(getattr(deletions, name)) for name in NUMBERS},
    }


def read_deletions(links: NDArray[Any], columns: Mapping[str, Any]) -> Deletions:
    """Read what became of each of some edges."""
    size, kinds = len(links), [Why.from_kind(kind) for kind in columns["kinds"]]
    kind = _read_whole(columns, "kind", size, 0, len(kinds) - 1)
    return Deletions(
        deleted=_read_whole(columns, "deleted", size, 0, 1).astype(bool),
        why=np.array(kinds, dtype=np.uint8)[kind],
        node=_read_whole(columns, "node", size, -1, np.iinfo(np.int32).max).astype(np.int32),
        **{name: _read_numbers(columns, name, size) for name in NUMBERS},
    )


def counts_to_list(counts: NDArray[np.float64]) -> list[list[float] | None]:
    """List class counts, None where they are not known."""
    rows: list[list[float] | None] = counts.tolist()
    for place in np.flatnonzero(np.isnan(counts).any(axis=1)).tolist():
        rows[place] = None
    return rows


def read_counts(rows: Sequence[Sequence[float] | None], n_rows: int, n_classes: int) -> NDArray[np.float64]:
    """Read class counts of so many leaves or lines; NaN where they are unknown."""
    known = [row for row in rows if row is not None]
    right = len(rows) == n_rows and {n_classes, *map(len, known)} == {n_classes}
    if not right or not {type(count) for row in known for count in row} <= KNOWN:
        raise ValueError(f"expected {n_classes} class counts for each of {n_rows} leaves or lines")
    if not rows:
        return np.empty((0, n_classes))
    unknown = [np.nan] * n_classes
    read = np.array([unknown if row is None else row for row in rows], dtype=np.float64)
    if (read < 0).any() or (read > MOST_ROWS).any():
        raise ValueError(f"a class count is negative, or more than {MOST_ROWS:g}")
    return read


def _list_numbers(numbers: NDArray[np.float64]) -> list[float | None] | None:
    """List numbers with None for NaN; one None if there are none at all."""
    if np.isnan(numbers).all():
        return None
    return list(map(none_if_nan, numbers.tolist()))


def _read_numbers(columns: Mapping[str, Any], name: str, size: int) -> NDArray[np.float64]:
    values = columns[name]
    if values is None:
        return np.broadcast_to(np.nan, size)
    if len(values) != size or not set(map(type, values)) <= {*KNOWN, type(None)}:
        raise ValueError(f"expected a number or null for each condition in {name!r}")
    numbers = np.array(values, dtype=np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"the number {name!r} of a reason is not finite")
    return numbers


def _read_whole(columns: Mapping[str, Any], name: str, size: int, lowest: int, highest: int) -> NDArray[np.int64]:
    values = columns[name]
    if len(values) != size or not set(map(type, values)) <= {int}:
        raise ValueError(f"expected a whole number for each condition in {name!r}")
    numbers = np.array(values, dtype=np.int64)
    if size and (numbers.min() < lowest or numbers.max() > highest):
        raise ValueError(f"a number in {name!r} is not from {lowest} to {highest}")
    return numbers


def check_reasons(method: str, paths: Paths, deletions: Deletions, also: Collection[Why] = ()) -> None:
    """Reject a reason of another method, one that says kept of a deleted condition, and one about another node."""
    may_give = METHODS[method].gives | set(also)
    foreign = [Why(code) for code in np.unique(deletions.why).tolist() if code not in may_give]
    if foreign:
        raise FormatError(
            f"The rules JSON has the reason {foreign[0].kind!r}, which {method!r} never gives; it was edited."
        )
    is_other = deletions.deleted != (deletions.why < Why.UNTOUCHED)
    _reject(paths, is_other, "says that a deleted condition stays, or that a kept one went")
    _check_numbers(method, paths, deletions)
    other_branch = deletions.why == Why.SIBLING_LEAF
    node, links = deletions.node, paths.links
    _reject(paths, other_branch & (node != paths.sibling[links]), "points at another node than the other branch")
    is_mixed = paths.homogeneous[paths.sibling[links]] != paths.leaf_class_of_entry
    _reject(paths, other_branch & is_mixed, "says that the other branch has one class, and it has not")
    own = paths.rule.astype(np.int64) * len(paths.sibling)  # a number for each pair of a rule and a node
    is_outside = ~np.isin(own + node, own + links)
    _reject(paths, (deletions.why == Why.DIRECTION_REFUTES) & is_outside, "points outside its path")
    is_wrong = (deletions.why == Why.INSIDE_H) & (node != paths.homogeneous_top[links])
    _reject(paths, is_wrong, "points at another node than the one below which all leaves have one class")


def _check_numbers(method: str, paths: Paths, deletions: Deletions) -> None:
    """Reject numbers that reasons of a kind do not have, and reasons that lack theirs."""
    for code in np.unique(deletions.why).tolist():
        why = Why(code)
        behind = REASONS[why.kind]
        if why is Why.NO_FOREIGN_LEAF and method != "faithful":
            behind = type(behind)()
        for name in ("before", "after", "number", "node"):
            values, check = getattr(deletions, name), getattr(behind, name)
            is_known = values >= 0 if name == "node" else ~np.isnan(values)
            if check is None:
                _reject(paths, (deletions.why == why) & is_known, f"has a {name!r}, which {why.kind!r} does not have")
            elif check is not Check.PROVED:
                _reject(paths, (deletions.why == why) & ~is_known, f"has no {name!r}, which {why.kind!r} has")


def check_spending(deletions: Deletions, budget: float) -> None:
    """Reject deletions that went beyond a budget, or were paid for without one."""
    paid = np.isin(deletions.why, (Why.PAID, Why.TOO_DEAR))
    shares = np.stack([deletions.before[paid], deletions.after[paid]])
    went = deletions.why[paid] == Why.PAID
    are_shares = ((shares >= 0) & (shares <= 1)).all()
    if not are_shares or (paid.any() and not budget) or (shares[1][went] > budget + TINY).any():
        raise FormatError(
            f"The rules JSON has a deletion that went beyond its budget of {100 * budget:.6g} %; it was edited."
        )


def _reject(paths: Paths, is_wrong: NDArray[np.bool_], what: str) -> None:
    if is_wrong.any():
        rule = int(paths.rule[int(is_wrong.argmax())])
        raise FormatError(
            f"A reason of the rule of leaf {paths.leaf_ids[rule]} in the rules JSON {what}; it was edited."
        )


def find_label(tree: Tree, label: Any) -> int | None:
    """Find the class of a label of the same type."""
    labels = tree.classes.tolist()
    return next((c for c, one in enumerate(labels) if one == label and type(one) is type(label)), None)


def read_lines(
    tree: Tree, paths: Paths, sections: Any, lines: list[dict[str, Any]], *, is_edited: bool
) -> tuple[NDArray[np.int64], Layout | None]:
    """Find the leaves of the written rules, and the sections of a list; reject lines that are not their leaves'."""
    place_of = {leaf: place for place, leaf in enumerate(paths.leaf_ids.tolist())}
    rules = [line for line in lines if line["leaf_id"] is not None]
    for line in rules:
        leaf = line["leaf_id"]
        if type(leaf) is not int or leaf not in place_of:
            raise FormatError(f"The rules JSON has a rule of node {leaf!r}, which is not a leaf of its tree.")
        label = tree.answers[leaf].item() if sections is None or not tree.is_regression else line["share"]
        if is_edited and not tree.is_regression and find_label(tree, line["prediction"]) is None:
            raise FormatError(f"The class {line['prediction']!r} of a rule is not one of {tree.classes.tolist()}.")
        if not is_edited and (line["prediction"] != label or type(line["prediction"]) is not type(label)):
            raise FormatError(f"The rule of leaf {leaf} predicts {line['prediction']!r}, but its leaf {label!r}.")
    leaves = np.array([place_of[line["leaf_id"]] for line in rules], dtype=np.int64)
    if len(np.unique(leaves)) < len(leaves):
        raise FormatError("The rules JSON writes the rule of a leaf twice; it was edited.")
    if sections is None:
        if not np.array_equal(leaves, np.arange(paths.n_rules)) or len(rules) < len(lines):
            raise FormatError(
                f"The rules JSON has {len(lines)} lines and no sections, but not one rule for each of {paths.n_rules} "
                "leaves in source order."
            )
        more = [line[name] is not None for line in lines for name in ("section", "share", "window")]
        if any(more) or any(line["stands_for"] != [line["leaf_id"]] for line in lines):
            raise FormatError("The rules JSON has one rule for each leaf, but a line that states more than its leaf.")
        return leaves, None
    layout = _read_layout(tree, place_of, sections, lines)
    if not is_edited or tree.is_regression:
        return leaves, layout
    answers = np.array([find_label(tree, line["prediction"]) for line in rules], dtype=np.int64)
    return leaves, layout if (answers == paths.leaf_class[leaves]).all() else replace(layout, answers=answers)


def _read_layout(tree: Tree, place_of: dict[int, int], sections: Any, lines: list[dict[str, Any]]) -> Layout:
    if not sections or not all(type(node) is int and 0 <= node < tree.n_nodes for node in sections):
        raise FormatError("The rules JSON has sections that do not begin at nodes of its tree.")
    numbers = [line["section"] for line in lines]
    rest = [place for place, line in enumerate(lines) if line["leaf_id"] is None]
    ends = [place for place in range(len(lines)) if place + 1 == len(lines) or numbers[place + 1] != numbers[place]]
    if sorted(set(map(repr, numbers))) != sorted(map(repr, range(len(sections)))) or numbers != sorted(numbers):
        raise FormatError("The lines of the rules JSON are not in the order of its sections.")
    if rest != ends or len(rest) != len(sections):
        raise FormatError("The rules JSON has a section that does not end in one line of otherwise.")
    defaults = [find_label(tree, lines[place]["prediction"]) if not tree.is_regression else 0 for place in rest]
    if None in defaults:
        label = lines[rest[defaults.index(None)]]["prediction"]
        raise FormatError(f"The class {label!r} of otherwise is not one of {tree.classes.tolist()}.")
    stands_for = [line["stands_for"] for line in lines]
    for leaf in (leaf for some in stands_for for leaf in some):
        if type(leaf) is not int or leaf not in place_of:
            raise FormatError(f"A line of the rules JSON stands for node {leaf!r}, which is not a leaf.")
    if any(sorted(set(some), key=place_of.__getitem__) != some for some in stands_for):
        raise FormatError("A line of the rules JSON names a leaf that it stands for twice, or not in order.")
    nan = float("nan")
    read = partial(_read_stated, is_share=not tree.is_regression)
    if tree.is_regression and any(line["prediction"] != line["share"] or line["window"] is None for line in lines):
        raise FormatError("A line of the rules JSON predicts another value than it states, or has no window.")
    windows = [(nan, nan) if line["window"] is None else tuple(map(read, line["window"])) for line in lines]
    if {len(window) for window in windows} != {2}:
        raise ValueError("expected two shares for each window")
    shares = [nan if line["share"] is None else read(line["share"]) for line in lines]
    return Layout(
        nodes=np.array(sections, dtype=np.int64),
        defaults=np.array(defaults, dtype=np.int64),
        starts=np.cumsum([0, *(numbers.count(number) - 1 for number in range(len(sections)))]),
        shares=np.array(shares, dtype=np.float64),
        windows=np.array(windows, dtype=np.float64),
        offsets=np.cumsum([0, *map(len, stands_for)]),
        contained=np.array([place_of[leaf] for some in stands_for for leaf in some], dtype=np.int64),
    )


def read_moments(tree: Tree, lines: list[dict[str, Any]]) -> NDArray[np.float64] | None:
    """Read mean and spread of the targets of each line of a regression list; None if no line has them."""
    given = [line["target"] for line in lines if "target" in line]
    if not given:
        return None
    if not tree.is_regression or len(given) < len(lines):
        raise FormatError("The rules JSON has the targets of some lines, but not of all; it was edited.")
    if any(len(one) != 2 or (one[0] is None) != (one[1] is None) or (one[1] or 0) < 0 for one in given):
        raise ValueError("expected mean and spread of the targets of each line")
    read = [[math.nan if one is None else _read_stated(one, is_share=False) for one in both] for both in given]
    return np.array(read, dtype=np.float64)


def _read_stated(value: Any, *, is_share: bool) -> float:
    if type(value) not in KNOWN or not math.isfinite(value) or (is_share and not 0 <= value <= 1):
        raise ValueError(f"expected {'a share from 0 to 1' if is_share else 'a finite number'}, found {value!r}")
    return float(value)


def read_fidelity(rules: Rules, stated: Mapping[str, Any]) -> Fidelity:
    """Read what :meth:`Fidelity.to_dict` gave."""
    counts, of_leaves = _read_rows(stated["counts"]), _read_rows(stated["leaf_counts"])
    leaf_ids = np.array(rules.paths.leaf_ids)
    guess, right = stated["guess"], (stated["n_right"], stated["n_model_right"])
    expected = stated["expected"]  # a share, or R², which may be negative
    is_negative = rules.tree.is_regression and is_number(expected) and -np.inf < expected < 0
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
        expected=float(expected) if is_negative else check_share("expected", expected),
        wanted=None if stated["wanted"] is None else check_share("wanted", stated["wanted"]),
        n_right=right[0],
        n_model_right=right[1],
        guess=None if guess is None else (str(guess[0]), int(guess[1])),
        seed=None if stated["seed"] is None else int(stated["seed"]),
        distances=None if stated["distances"] is None else _read_distances(rules, stated["distances"]),
    )
    if rules.tree.is_regression != (fidelity.distances is not None):
        raise ValueError("distances are of values")
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


def _read_distances(rules: Rules, stated: Mapping[str, Any]) -> dict[str, float | None]:
    mean, largest = stated["mean"], stated["largest"]
    are_numbers = is_number(mean) and is_number(largest)
    if stated["tolerance"] != rules.tolerance or not are_numbers or not 0 <= mean <= largest < np.inf:
        raise ValueError("expected a mean and a largest distance of rules and model, beside the tolerance")
    explained = {name: stated[name] for name in ("r2", "rules_r2", "model_r2")}
    if not all(one is None or (is_number(one) and -np.inf < one <= 1) for one in explained.values()):
        raise ValueError("expected R² as a number up to 1")
    return {"tolerance": rules.tolerance, "mean": mean, "largest": largest, **explained}


def _read_rows(numbers: Any) -> NDArray[np.int64]:
    read = np.array(numbers, dtype=np.float64)
    if read.ndim != 2 or not (read >= 0).all() or (read != np.floor(read)).any():
        raise ValueError("expected numbers of rows")
    return read.astype(np.int64)
