"""Read the lines of stored rules: whose rules are written, in which sections, and what each line states."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import FormatError
from secateur.rules.lines import Layout
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree


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
    unknown = next(
        (leaf for some in stands_for for leaf in some if type(leaf) is not int or leaf not in place_of), None
    )
    if unknown is not None:
        raise FormatError(f"A line of the rules JSON stands for node {unknown!r}, which is not a leaf.")
    if any(sorted(set(some), key=place_of.__getitem__) != some for some in stands_for):
        raise FormatError("A line of the rules JSON names a leaf that it stands for twice, or not in order.")
    nan = float("nan")
    read = _read_value if tree.is_regression else _read_share
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
    read = [[float("nan") if number is None else _read_value(number) for number in one] for one in given]
    return np.array(read, dtype=np.float64)


def _read_value(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"expected a finite number, found {value!r}")
    return float(value)


def _read_share(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError(f"expected a share from 0 to 1, found {value!r}")
    return float(value)
