"""Interpretable AI's OptimalTreeClassifier, from the JSON that its write_json writes -> Tree.

The fields are read as the vendor's open ``interpretableai.Predictor`` reads them; neither it nor a licence is needed.

- ``_julia_type`` names the learner; a ``GridSearch`` holds it in ``lnr``.
- ``tree_.nodes[]``: ``id`` counts from 1 and is the place in the list; ``split_type`` is LEAF, MIXED or HYPERPLANE;
  a row goes to ``lower_child`` (our left) when the test holds. HYPERPLANE is rejected.
- A MIXED node tests column ``split_mixed.categoric_split.feature`` (from 1, of all columns). First comes a missing
  value, which goes where ``categoric_split.split[0]`` says, unless ``missingdatamode`` is "none". With
  ``do_parallel`` a number is compared as float64(x) <= ``parallel_split.threshold``; "-Infinity" and "Infinity" are
  texts. With ``do_ordinal`` a level is looked up in ``ordinal_labelmap[ordinal_split.feature]`` (from 1, of the
  ordinal columns). What is left is looked up in ``categoric_labelmap[feature]``, whose first level is "missing".
- A level that is in no map goes where a missing value goes, or makes the Predictor fail; here it goes there always.
- ``fit.class`` counts from 1 in ``prb_.data.target.classes.levels``. ``fit.probs`` are shares: there are no counts.

-Infinity is not a threshold of a Tree: such a node gets +Infinity and its children swapped, which is the same test for
every number. A column that mixes numbers and levels, and levels that are no texts, cannot be written in a Tree:
rejected.

Node ids are the file's minus 1 if every child's id is larger than its parent's and every node is reached; else they are
numbered in preorder, the lower child first.
"""

import json
import math
import os
from typing import Any, NamedTuple

import numpy as np

from secateur.adapters.reading import Node, make_from_nodes, order_nodes, read_bytes, reject_damage
from secateur.errors import FormatError, InputError, ParameterError, UnsupportedModelError
from secateur.frames import frame_columns
from secateur.limits import JSON_MARKS, check_parsed_size
from secateur.tree.json import read_int
from secateur.tree.tree import Tree

LEARNER = "OptimalTreeClassifier"
MISSING = "missing"


class Split(NamedTuple):
    """One test: a column and a threshold, or where each level goes; and where a missing value goes."""

    column: int
    threshold: float | None
    lower_levels: dict[str, bool]
    missing_lower: bool


def read_iai(source: Any, X: Any = None) -> Tree:
    """Read the JSON of an Interpretable AI classification tree.

    Parameters
    ----------
    source : str, path or dict
        The file, its text, or its parsed content.
    X : array-like or data frame of shape (n_rows, n_features), default=None
        The rows that the tree is for. A data frame sets the order of the columns, found by the file's names.

    Returns
    -------
    Tree
        Without counts: pass the training rows wherever counts are needed.

    Examples
    --------
    >>> leaves = [{"id": i, "split_type": "LEAF", "fit": {"class": i - 1}} for i in (2, 3)]
    >>> test = {"feature": 1, "split": [False]}
    >>> mixed = {"do_parallel": True, "parallel_split": {"threshold": 30.5}, "categoric_split": test}
    >>> root = {"id": 1, "split_type": "MIXED", "lower_child": 2, "upper_child": 3, "split_mixed": mixed}
    >>> features = {"feature_names": ["age"], "categoric_labelmap": [{"levels": ["missing"]}]}
    >>> data = {"features": features, "target": {"classes": {"levels": ["no", "yes"]}}}
    >>> read_iai(
    ...     {
    ...         "_julia_type": "OptimalTreeClassifier",
    ...         "missingdatamode": "none",
    ...         "tree_": {"nodes": [root, *leaves]},
    ...         "prb_": {"data": data},
    ...     }
    ... )
    <Tree: 2 leaves, depth 1, 1 feature, classes no, yes>
    """
    return _read_content(_load(source), X, None)


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a Predictor, which holds the parsed JSON; a licensed learner must be written to JSON first."""
    if not isinstance(content := getattr(model, "model", None), dict):
        raise UnsupportedModelError(
            f"Expected a Predictor of interpretableai, found {type(model).__qualname__}. Write the learner with "
            "write_json and read the file with secateur.adapters.read_iai."
        )
    return _read_content(content, X, accepts_missing)


def _read_content(content: dict[str, Any], X: Any, accepts_missing: bool | None) -> Tree:
    with reject_damage("The IAI JSON"):
        return _read_learner(_find_learner(content), X, accepts_missing)


def _load(source: Any) -> dict[str, Any]:
    content: Any = source
    if isinstance(source, (str, os.PathLike)):
        text = source if isinstance(source, str) and source.lstrip().startswith(("{", "[")) else None
        data = read_bytes(source, "The IAI JSON") if text is None else text
        check_parsed_size(data, JSON_MARKS, "The IAI JSON")
        try:
            content = json.loads(data)
        except UnicodeDecodeError as error:
            raise FormatError(f"The IAI JSON cannot be read: {error}.") from error
        except (ValueError, RecursionError) as error:  # a JSONDecodeError is a ValueError
            raise FormatError(f"Expected the JSON of an IAI learner, but it is not JSON: {error}.") from error
    if not isinstance(content, dict):
        found = type(content).__name__
        raise FormatError(f"Expected the JSON of an IAI learner as a path, text or dict, found {found}.")
    return content


def _find_learner(content: dict[str, Any]) -> dict[str, Any]:
    learner: Any = content.get("lnr") if content.get("_julia_type") == "GridSearch" else content
    if not isinstance(learner, dict) or "_julia_type" not in learner:
        missing = "'lnr' with a field '_julia_type'" if learner is not content else "'_julia_type'"
        raise FormatError(f"Expected the JSON of an IAI learner, but it has no field {missing}.")
    found = learner["_julia_type"]
    if found != LEARNER:
        raise UnsupportedModelError(f"Expected an {LEARNER} in the IAI JSON, found {found}: only it predicts classes.")
    return learner


def _read_learner(learner: dict[str, Any], X: Any, accepts_missing: bool | None) -> Tree:
    takes_missing = learner.get("missingdatamode", "none") != "none"
    if accepts_missing and not takes_missing:
        raise ParameterError(
            "accepts_missing=True does not fit: the learner's missingdatamode is 'none'. Leave accepts_missing out."
        )
    nodes: list[Any] = learner["tree_"]["nodes"]
    if not isinstance(nodes, list) or not nodes:
        raise FormatError("Expected a list of nodes in tree_.nodes of the IAI JSON, found none. Fit the learner first.")
    for place, node in enumerate(nodes):
        if node["id"] != place + 1:
            raise FormatError(f"Expected node {place + 1} of the IAI JSON to have that id, found {node['id']!r}.")
    features = learner["prb_"]["data"]["features"]
    classes = learner["prb_"]["data"]["target"]["classes"]["levels"]
    if len({isinstance(label, str) for label in classes}) != 1:
        raise FormatError(f"Expected the classes of the IAI JSON to be all texts or all numbers, found {classes!r}.")
    places = order_nodes(0, lambda place: _children(nodes, place), "the IAI JSON", len(nodes))
    inner = [place for place in places if nodes[place]["split_type"] != "LEAF"]
    splits = {place: _read_split(nodes[place], features, takes_missing) for place in inner}
    categories = _categories(splits, len(features["feature_names"]))
    columns, names = _columns([str(name) for name in features["feature_names"]], X)
    new_id = {place: node for node, place in enumerate(places)}
    made = []
    for place in places:
        if place not in splits:
            made.append(Node(leaf_class=_class_of(nodes[place], len(classes))))
            continue
        split = splits[place]
        missing_lower = split.missing_lower
        lower, upper = (new_id[child] for child in _children(nodes, place))
        node = Node(lower, upper, columns.index(split.column), missing_left=missing_lower)
        levels = categories[split.column]
        if levels is not None:
            goes_lower = [*(split.lower_levels.get(level, missing_lower) for level in levels), missing_lower]
            if len(set(goes_lower)) == 1:
                raise UnsupportedModelError(
                    f"Node {place + 1} of the IAI JSON sends every level of its column one way, so one of its children "
                    "is never reached. A Tree has no such split."
                )
            node = node._replace(codes=[code for code, lower in enumerate(goes_lower) if lower])
        elif split.threshold == -math.inf:
            node = node._replace(left=upper, right=lower, threshold=math.inf, missing_left=not missing_lower)
        elif split.threshold is not None:
            node = node._replace(threshold=split.threshold)
        made.append(node)
    return make_from_nodes(
        made,
        categories=[None if column is None else categories[column] for column in columns],
        classes=classes,
        n_features=len(columns),
        accepts_missing=takes_missing if accepts_missing is None else accepts_missing,
        feature_names=names,
        dtype="float64",
    )


def _children(nodes: list[Any], place: int) -> list[int]:
    if nodes[place]["split_type"] == "LEAF":
        return []
    children = [read_int(nodes[place][side]) - 1 for side in ("lower_child", "upper_child")]
    for child in children:
        if not 0 <= child < len(nodes):
            raise FormatError(f"Node {place + 1} of the IAI JSON has the child {child + 1}, which does not exist.")
    return children


def _read_split(node: dict[str, Any], features: dict[str, Any], takes_missing: bool) -> Split:
    kind = node["split_type"]
    if kind != "MIXED":
        plain = "a hyperplane split" if kind == "HYPERPLANE" else f"a split of type {kind!r}"
        raise UnsupportedModelError(
            f"Node {node['id']} of the IAI JSON has {plain}, which tests no single column ({kind}). Fit the learner "
            "without hyperplane splits."
        )
    mixed = node["split_mixed"]
    test = mixed["categoric_split"]
    column = read_int(test["feature"]) - 1
    if not 0 <= column < len(features["feature_names"]):
        raise FormatError(f"Node {node['id']} of the IAI JSON tests column {column + 1}, which does not exist.")
    goes_lower = test["split"]
    threshold = _threshold(mixed["parallel_split"]["threshold"]) if mixed["do_parallel"] else None
    if threshold is not None and "categoric_labelmap" not in features:
        levels: list[Any] = []  # the Predictor does not look for it before it meets a level
    else:
        levels = features["categoric_labelmap"][column]["levels"]
    found: dict[Any, bool] = {}  # the first place of a level counts
    if mixed.get("do_ordinal"):
        ordinal = mixed["ordinal_split"]
        for place, level in enumerate(features["ordinal_labelmap"][read_int(ordinal["feature"]) - 1]["levels"]):
            found.setdefault(level, _bool(ordinal["split"][place]))
    for place, level in enumerate(levels):
        if (place, level) != (0, MISSING):  # that one goes where unlisted values go
            found.setdefault(level, _bool(goes_lower[place]))
    strange = next((level for level in found if not isinstance(level, str)), None)
    name = features["feature_names"][column]
    if strange is not None:
        raise UnsupportedModelError(f"Column {name!r} of the IAI JSON has the level {strange!r}, which is no text.")
    if threshold is not None and found:
        raise UnsupportedModelError(
            f"Column {name!r} of the IAI JSON mixes numbers and levels, which one column of a Tree cannot hold."
        )
    return Split(column, threshold, found, _bool(goes_lower[0]) if goes_lower or takes_missing else False)


def _categories(splits: dict[int, Split], n_columns: int) -> list[tuple[str, ...] | None]:
    """List the levels of each column that splits look up; None where they compare numbers."""
    found: list[tuple[str, ...] | None] = [None] * n_columns
    for column in range(n_columns):
        tests = [split for split in splits.values() if split.column == column]
        levels = tuple(dict.fromkeys(level for split in tests for level in split.lower_levels))
        compared = [split.threshold is not None for split in tests]
        if (levels and any(compared)) or (not levels and not all(compared)):
            raise UnsupportedModelError(
                f"Column {column + 1} of the IAI JSON is tested both as a number and as a level, or only for being "
                "missing, which one column of a Tree cannot hold."
            )
        found[column] = levels or None
    return found


def _columns(names: list[str], X: Any) -> tuple[list[int | None], list[str] | None]:
    """Find the file's column for each column of the rows (None: not the tree's), and the rows' column names."""
    own: list[int | None] = list(range(len(names)))
    given = None if X is None else frame_columns(X)
    if given is not None:
        absent = [name for name in names if name not in given]
        if absent:
            raise InputError(f"X has no column {absent[0]!r}, which the IAI JSON names. Pass the rows of its learner.")
        return [names.index(name) if name in names else None for name in given], given
    if X is not None and np.ndim(X) == 2 and np.shape(X)[1] != len(names):
        raise InputError(f"X has {np.shape(X)[1]} columns, but the IAI JSON names {len(names)}.")
    return own, names if all(names) and len(set(names)) == len(names) else None


def _class_of(node: dict[str, Any], n_classes: int) -> int:
    found = read_int(node["fit"]["class"])
    if not 1 <= found <= n_classes:
        raise FormatError(f"Leaf {node['id']} of the IAI JSON predicts class {found} of {n_classes}.")
    return found - 1


def _threshold(value: Any) -> float:
    if isinstance(value, str):
        value = {"Infinity": math.inf, "-Infinity": -math.inf}.get(value, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise FormatError(f"Expected a number as a threshold of the IAI JSON, found {value!r}.")
    return float(value)


def _bool(value: Any) -> bool:
    if not isinstance(value, (bool, int)):
        raise TypeError(f"expected true or false, found {value!r}")
    return bool(value)
