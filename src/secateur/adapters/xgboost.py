"""XGBoost's XGBClassifier, XGBRFClassifier and Booster, of one tree or of one named tree of a random forest -> Tree.

The JSON of ``save_raw`` is read, which writes every float32 so that it reads back. Comparison: float32(x) < threshold,
which is float32(x) <= the float32 before it. NaN goes where ``default_left`` says. A number that the wrapper's
``missing`` stands for goes there, too; refused where the numbers beside it go elsewhere.

A split by categories lists those that go right; a missing one goes where ``default_left`` says. The labels are those of
the frame's categorical columns, which the model keeps (XGBoost refuses a label that is none of them). Codes that came
as plain numbers are cut down to their whole part, which a categorical column of a Tree does not do: refused.

The class is decided by XGBoost itself. The starting score is added to the leaf's value in float32, and the sum goes as
base margin through a copy of the booster whose leaves are all 0; what comes out is compared as the wrapper does it. The
trees of a random forest share one sum, so each leaf holds its part of it only: a named tree counts as if all trees
were like it.

Node ids are those of ``pred_leaf``; where pruning left gaps, the nodes are numbered in the same order without them.
"""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters.named_tree import name_tree
from secateur.errors import UnsupportedModelError
from secateur.rows.checking import holds_missing
from secateur.tree.tree import Label, Tree, make_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_model"]

SUPPORTED = ("XGBClassifier", "XGBRFClassifier", "Booster")
SPOILT = "\ufffd"
MULTICLASS = ("multi:softprob", "multi:softmax")


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None, tree: int | None = None) -> Tree:
    """Read a fitted classification tree, or say why it cannot be read."""
    found = type(model).__qualname__
    booster = _find_booster(model)
    learner = _load(booster)["learner"]
    n_classes = _count_classes(learner, found)
    trees, n_rounds = _used_trees(model, learner, found)
    source = trees[name_tree(tree, len(trees), found, votes=n_rounds == 1)]
    n_features = int(learner["learner_model_param"]["num_feature"])
    levels = _frame_levels(learner, n_features)
    names = learner["feature_names"] or None
    places = _walk(source)
    new_id = {place: node for node, place in enumerate(places)}
    right_sets = _right_sets(source)
    left, right, feature = (np.full(len(places), -1) for _ in range(3))
    threshold = np.full(len(places), np.nan)
    missing_left = np.zeros(len(places), dtype=bool)
    codes: dict[int, list[int]] = {}
    stand_in = getattr(model, "missing", math.nan)
    for node, place in enumerate(places):
        if source["left_children"][place] < 0:
            continue
        children = [new_id[source[side][place]] for side in ("left_children", "right_children")]
        feature[node] = source["split_indices"][place]
        missing_left[node] = bool(source["default_left"][place])
        own = levels[feature[node]]
        name = names[feature[node]] if names else f"f{feature[node]}"
        if place in right_sets:
            _check_categories(own, name, stand_in)
            codes[node] = [code for code in range(len(own or ()) + 1) if code not in right_sets[place]]
        else:
            cut = np.float32(source["split_conditions"][place])
            _check_stand_in(stand_in, cut, bool(missing_left[node]), name)
            with np.errstate(over="ignore"):
                below = cut if np.isposinf(cut) else np.nextafter(cut, np.float32(-np.inf))  # rows hold no infinity
            if np.isneginf(below):  # no number goes left, so all of them go right
                children.reverse()
                missing_left[node] = not missing_left[node]
                below = np.float32(np.inf)
            threshold[node] = below
        left[node], right[node] = children
    leaves = np.flatnonzero(left < 0)
    leaf_class = np.full(len(places), -1)
    values = _leaf_values(source, [places[leaf] for leaf in leaves]) * np.float32(len(trees))
    leaf_class[leaves] = _decide(booster, learner, values)
    labels = list(range(n_classes)) if model is booster else model.classes_.tolist()
    if leaf_class.max() >= len(labels):
        raise UnsupportedModelError(f"This {found} predicts a class that is none of its labels {labels}. Fit it again.")
    shown = any(source["default_left"]) or (X is not None and holds_missing(X))
    return make_tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        left_categories=codes,
        categories=levels,
        leaf_class=leaf_class,
        classes=labels,
        n_features=n_features,
        accepts_missing=shown if accepts_missing is None else accepts_missing,
        feature_names=names,
        dtype="float32",
    )


def _find_booster(model: Any) -> Any:
    found = type(model).__qualname__
    known = {ancestor.__qualname__ for ancestor in type(model).__mro__ if ancestor.__module__.startswith("xgboost.")}
    if "Booster" in known:
        return model
    if not known & set(SUPPORTED):
        raise UnsupportedModelError(
            f"Expected a {', '.join(SUPPORTED[:-1])} or {SUPPORTED[-1]} of xgboost, found {found}. "
            "Regression and ranking have no classes."
        )
    if not model.__sklearn_is_fitted__():
        raise UnsupportedModelError(f"This {found} is not fitted yet. Call fit first.")
    return model.get_booster()


def _load(booster: Any) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(booster.save_raw("json"))
    except ValueError as error:  # XGBoost's own error is one
        raise UnsupportedModelError(f"This {type(booster).__qualname__} is not fitted yet. Train it first.") from error
    return content


def _count_classes(learner: dict[str, Any], found: str) -> int:
    """Number of classes of a model whose trees each decide between all of them."""
    kind = learner["gradient_booster"]["name"]
    if kind != "gbtree":
        hint = "which has no trees" if kind == "gblinear" else "which leaves trees out of the sum"
        raise UnsupportedModelError(f"This {found} was fitted with booster={kind!r}, {hint}. Fit it with 'gbtree'.")
    objective = learner["objective"]["name"]
    param = learner["learner_model_param"]
    n_classes = int(param["num_class"]) if objective in MULTICLASS else 2
    if objective not in ("binary:logistic", *MULTICLASS) or int(param.get("num_target", 1)) > 1:
        raise UnsupportedModelError(
            f"Expected a {found} that predicts one class, found the objective {objective!r} with "
            f"{param.get('num_target', 1)} target(s). Fit it with 'binary:logistic' or 'multi:softprob' on one label."
        )
    if objective in MULTICLASS and n_classes < 3:
        raise UnsupportedModelError(
            f"This {found} was fitted with {objective!r} on {n_classes} classes. Fit it with 'binary:logistic'."
        )
    return n_classes


def _used_trees(model: Any, learner: dict[str, Any], found: str) -> tuple[list[Any], int]:
    """The trees that predict uses, and the number of rounds that they come from."""
    content = learner["gradient_booster"]["model"]
    ends = content["iteration_indptr"]
    n_rounds = len(ends) - 1
    if hasattr(model, "get_booster"):  # the wrapper stops at the best round of an early stopping
        n_rounds = min(n_rounds, getattr(model, "best_iteration", n_rounds) + 1)
    used = content["trees"][: ends[n_rounds]]
    if len(set(content["tree_info"][: len(used)])) > 1:
        raise UnsupportedModelError(
            f"This {found} grows one tree for each class, and none decides alone. "
            "Fit it with multi_strategy='multi_output_tree'."
        )
    return used, n_rounds


def _frame_levels(learner: dict[str, Any], n_features: int) -> list[tuple[Label, ...] | None]:
    """The labels of each categorical column of a frame; None for numbers."""
    encoded = learner["gradient_booster"]["model"].get("cats", {}).get("enc") or [{}] * n_features
    return [_read_labels(column) for column in encoded]


def _read_labels(column: dict[str, Any]) -> tuple[Label, ...] | None:
    values = column.get("values")
    if "offsets" not in column:
        return tuple(values) if values else None
    ends = column["offsets"]
    # The ends count letters where the text counts bytes, so a letter of two bytes spoils what follows: it is kept, as
    # one that no label has, for _check_categories to find.
    text = bytes(byte % 256 for byte in values or ()).decode("ascii", errors="replace")
    return tuple(text[first:last] for first, last in itertools.pairwise(ends)) or None


def _right_sets(source: dict[str, Any]) -> dict[int, frozenset[int]]:
    """The categories that go right at each split by category."""
    parts = zip(source["categories_nodes"], source["categories_segments"], source["categories_sizes"], strict=True)
    return {node: frozenset(source["categories"][first : first + size]) for node, first, size in parts}


def _walk(source: dict[str, Any]) -> list[int]:
    """The nodes that are reached from the root, in the order of their numbers if no child comes before its parent."""
    places: list[int] = []
    stack = [0]
    ordered = True
    while stack:
        place = stack.pop()
        places.append(place)
        if source["left_children"][place] >= 0:
            children = [source[side][place] for side in ("right_children", "left_children")]
            ordered &= min(children) > place
            stack += children
    return sorted(places) if ordered else places


def _check_categories(levels: tuple[Label, ...] | None, name: str, stand_in: float) -> None:
    if levels is None:
        raise UnsupportedModelError(
            f"Column {name!r} holds numbers, but is split by category, and XGBoost then takes 2.5 for 2. "
            "Make it a categorical column of a data frame, or one-hot encode it, and fit again."
        )
    if any(SPOILT in label for label in levels if isinstance(label, str)):
        raise UnsupportedModelError(
            f"Column {name!r} has a category that is not plain ASCII, and XGBoost does not keep such labels whole. "
            "Rename its categories and fit again."
        )
    if not math.isnan(stand_in):
        raise UnsupportedModelError(
            f"Column {name!r} is split by category, and {stand_in} stands for a missing value, perhaps instead of a "
            "category. Write missing values as NaN and fit again without missing."
        )


def _check_stand_in(stand_in: float, cut: np.float32, missing_left: bool, name: str) -> None:
    if not math.isnan(stand_in) and bool(np.float32(stand_in) < cut) != missing_left:
        raise UnsupportedModelError(
            f"Column {name!r} treats {stand_in} as missing, and sends it elsewhere than the numbers beside it, which "
            "no threshold says. Write missing values as NaN and fit again without missing."
        )


def _leaf_values(source: dict[str, Any], leaves: list[int]) -> NDArray[np.float32]:
    """What each leaf adds to the margins, shape (n_leaves, n_margins)."""
    n_margins = max(1, int(source["tree_param"]["size_leaf_vector"]))
    if n_margins == 1:
        return np.array([[source["split_conditions"][leaf]] for leaf in leaves], dtype=np.float32)
    if "leaf_weights" not in source:
        raise UnsupportedModelError(
            "This version of XGBoost writes trees with several outputs in another way. Use XGBoost 3.2 or later."
        )
    # A leaf with several values keeps their place where a split keeps its right child.
    values = np.array(source["leaf_weights"], dtype=np.float32).reshape(-1, n_margins)
    return values[[source["right_children"][leaf] for leaf in leaves]]


def _decide(booster: Any, learner: dict[str, Any], values: NDArray[np.float32]) -> NDArray[np.int64]:
    """The class of each leaf, as XGBoost itself makes it of the leaf's values."""
    blank = booster.copy()
    content = _load(booster)
    for tree in content["learner"]["gradient_booster"]["model"]["trees"]:
        inner = zip(tree["split_conditions"], tree["left_children"], strict=True)
        tree["split_conditions"] = [cut if child >= 0 else 0.0 for cut, child in inner]
        if "leaf_weights" in tree:
            tree["leaf_weights"] = [0.0] * len(tree["leaf_weights"])
    blank.load_model(bytearray(json.dumps(content), "utf-8"))
    rows = np.zeros((len(values), int(learner["learner_model_param"]["num_feature"])), dtype=np.float32)
    start = blank.inplace_predict(rows, predict_type="margin", validate_features=False).reshape(values.shape)
    margins = start + values
    base = margins if margins.shape[1] > 1 else margins[:, 0]
    outputs = blank.inplace_predict(rows, base_margin=base, validate_features=False)
    if learner["objective"]["name"] == "multi:softmax":
        return np.asarray(outputs).astype(np.int64)
    chosen = np.argmax(outputs, axis=1) if outputs.ndim > 1 else outputs > 0.5
    return np.asarray(chosen).astype(np.int64)
