"""XGBoost's classifiers, regressors and Booster, one tree or a named tree of a random forest -> Tree.

Reads the JSON of ``save_raw``, which writes every float32 exactly. Comparison: float32(x) < threshold, which is
float32(x) <= the float32 before it. NaN goes where ``default_left`` says. So does the number that the wrapper's
``missing`` names; rejected where the numbers next to it go elsewhere.

A split by categories lists those that go right; a missing one goes where ``default_left`` says. The labels are those of
the frame's categorical columns, which the model keeps (XGBoost rejects any other label). Codes given as plain numbers
are cut down to their whole part, which a categorical column of a Tree does not do: rejected.

XGBoost itself decides the class, or the value. The starting score is added to the leaf's value in float32, and the sum
goes as base margin through a copy of the booster whose leaves are all 0; the output is compared as the wrapper does it.
The trees of a random forest share one sum, so each leaf holds only its part of it: a named tree counts as if all trees
were like it.

Node ids are those of ``pred_leaf``; where pruning left gaps, the nodes are numbered in the same order without them.
"""

import itertools
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters import reading
from secateur.errors import UnsupportedModelError
from secateur.rows.checking import holds_missing
from secateur.tree.tree import Label, Tree

SUPPORTED = ("XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor", "Booster")
SPOILT = "\ufffd"
MULTICLASS = ("multi:softprob", "multi:softmax")
REGRESSION = ("reg:", "count:")  # how objectives that predict values begin


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None, tree: int | None = None) -> Tree:
    """Read a fitted tree, or say why it cannot be read."""
    found = type(model).__qualname__
    booster = _find_booster(model)
    learner = _load(booster)["learner"]
    n_classes = _count_classes(learner, found)
    trees, n_rounds = _used_trees(model, learner, found)
    source = trees[reading.choose_tree(model, tree, len(trees), votes=n_rounds == 1)]
    n_features = int(learner["learner_model_param"]["num_feature"])
    encoded = learner["gradient_booster"]["model"].get("cats", {}).get("enc") or [{}] * n_features
    levels = [_read_labels(column) for column in encoded]  # of the categorical columns of a frame
    names = learner["feature_names"] or None

    lefts, rights = source["left_children"], source["right_children"]
    children = [pair if pair[0] >= 0 else () for pair in zip(lefts, rights, strict=True)]
    places = reading.order_nodes(0, children.__getitem__, "XGBoost's tree")
    new_id = {place: node for node, place in enumerate(places)}
    leaves = [place for place in places if lefts[place] < 0]
    values = _leaf_values(source, leaves) * np.float32(len(trees))
    is_regression = n_classes == 1
    outputs = _ask(booster, learner, values)
    answers = np.zeros(len(leaves), dtype=np.int64) if is_regression else _find_classes(learner, outputs)
    decided = dict(zip(leaves, answers.tolist(), strict=True))
    said = dict(zip(leaves, np.ravel(outputs).astype(np.float64).tolist(), strict=False)) if is_regression else {}
    parts = zip(*(source[f"categories_{name}"] for name in ("nodes", "segments", "sizes")), strict=True)
    right_sets = {node: frozenset(source["categories"][first : first + size]) for node, first, size in parts}
    stand_in = getattr(model, "missing", math.nan)
    nodes = []
    for place in places:
        if place in decided:
            nodes.append(reading.Node(leaf_class=decided[place], value=said.get(place, math.nan)))
            continue
        left, right = new_id[lefts[place]], new_id[rights[place]]
        column, missing_left = source["split_indices"][place], bool(source["default_left"][place])
        name = names[column] if names else f"f{column}"
        if place in right_sets:
            _check_categories(levels[column], name, stand_in)
            codes = [code for code in range(len(levels[column] or ()) + 1) if code not in right_sets[place]]
            nodes.append(reading.Node(left, right, column, missing_left=missing_left, codes=codes))
            continue
        cut = np.float32(source["split_conditions"][place])
        if not math.isnan(stand_in) and bool(np.float32(stand_in) < cut) != missing_left:
            raise UnsupportedModelError(
                f"Column {name!r} treats {stand_in} as missing and sends it elsewhere than its neighbours, which no "
                "threshold can. Write missing values as NaN and fit again without missing."
            )
        with np.errstate(over="ignore"):
            below = cut if np.isposinf(cut) else np.nextafter(cut, np.float32(-np.inf))  # rows hold no infinity
        if np.isneginf(below):  # no number goes left, so all of them go right
            nodes.append(reading.Node(right, left, column, math.inf, not missing_left))
        else:
            nodes.append(reading.Node(left, right, column, float(below), missing_left))
    labels: list[Any] = list(range(n_classes)) if model is booster or is_regression else model.classes_.tolist()
    if max(decided.values()) >= len(labels):
        raise UnsupportedModelError(f"This {found} predicts a class that is none of its labels {labels}. Fit it again.")
    shown = any(source["default_left"]) or (X is not None and holds_missing(X, {node.feature for node in nodes}))
    return reading.make_from_nodes(
        nodes,
        categories=levels,
        **({} if is_regression else {"classes": labels}),
        n_features=n_features,
        accepts_missing=shown if accepts_missing is None else accepts_missing,
        feature_names=names,
        dtype="float32",
    )


def _find_booster(model: Any) -> Any:
    reading.check_class(model, "xgboost", SUPPORTED, "Ranking predicts neither classes nor values.")
    if "Booster" in reading.ancestor_names(model, "xgboost"):
        return model
    reading.check_fitted(model, model.__sklearn_is_fitted__())
    return model.get_booster()


def _load(booster: Any) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(booster.save_raw("json"))
    except ValueError as error:  # XGBoost's own error is one
        raise UnsupportedModelError(f"This {type(booster).__qualname__} is not fitted yet. Train it first.") from error
    return content


def _count_classes(learner: dict[str, Any], found: str) -> int:
    """Count the classes, 1 for values; reject a model whose trees do not each decide between all of them."""
    kind = learner["gradient_booster"]["name"]
    if {*learner["gradient_booster"].get("model", {}).get("weight_drop", ())} - {1}:  # dart, as XGBoost 3.4 writes it
        kind = "dart"
    if kind != "gbtree":
        hint = "which has no trees" if kind == "gblinear" else "which leaves trees out of the sum"
        raise UnsupportedModelError(f"This {found} was fitted with booster={kind!r}, {hint}. Fit it with 'gbtree'.")
    objective = learner["objective"]["name"]
    param = learner["learner_model_param"]
    n_classes = int(param["num_class"]) if objective in MULTICLASS else 2
    if objective.startswith(REGRESSION) and int(param.get("num_target", 1)) <= 1:
        return 1
    if objective not in ("binary:logistic", *MULTICLASS) or int(param.get("num_target", 1)) > 1:
        raise UnsupportedModelError(
            f"Expected a {found} that predicts one class, found the objective {objective!r} with "
            f"{param.get('num_target', 1)} target(s). Fit it with 'binary:logistic', 'multi:softprob' or "
            "'reg:squarederror' on one label."
        )
    if objective in MULTICLASS and n_classes < 3:
        raise UnsupportedModelError(
            f"This {found} was fitted with {objective!r} on {n_classes} classes. Fit it with 'binary:logistic'."
        )
    return n_classes


def _used_trees(model: Any, learner: dict[str, Any], found: str) -> tuple[list[Any], int]:
    """Return the trees that predict uses, and the number of rounds that they come from."""
    content = learner["gradient_booster"]["model"]
    ends = content["iteration_indptr"]
    n_rounds = len(ends) - 1
    if hasattr(model, "get_booster"):  # the wrapper stops at the best round of an early stopping
        n_rounds = min(n_rounds, getattr(model, "best_iteration", n_rounds) + 1)
    used = content["trees"][: ends[n_rounds]]
    if len(set(content["tree_info"][: len(used)])) > 1:
        raise UnsupportedModelError(
            f"This {found} grows one tree for each class. Fit it with multi_strategy='multi_output_tree'."
        )
    return used, n_rounds


def _read_labels(column: dict[str, Any]) -> tuple[Label, ...] | None:
    values = column.get("values")
    if "offsets" not in column:
        return tuple(values) if values else None
    ends = column["offsets"]
    # The ends count letters where the text counts bytes, so a letter of two bytes spoils what follows. It becomes one
    # that no label has, for _check_categories to find.
    text = bytes(byte % 256 for byte in values or ()).decode("ascii", errors="replace")
    return tuple(text[first:last] for first, last in itertools.pairwise(ends)) or None


def _check_categories(levels: tuple[Label, ...] | None, name: str, stand_in: float) -> None:
    if levels is None:
        raise UnsupportedModelError(reading.SPLIT_NUMBERS.format(name, "XGBoost"))
    if any(SPOILT in label for label in levels if isinstance(label, str)):
        raise UnsupportedModelError(
            f"Column {name!r} has a category that is not plain ASCII, which XGBoost spoils. Rename it and fit again."
        )
    if not math.isnan(stand_in):
        raise UnsupportedModelError(
            f"Column {name!r} is split by category, and {stand_in} stands for a missing value, perhaps instead of a "
            "category. Write missing values as NaN and fit again without missing."
        )


def _leaf_values(source: dict[str, Any], leaves: list[int]) -> NDArray[np.float32]:
    """Read what each leaf adds to the margins, shape (n_leaves, n_margins)."""
    n_margins = max(1, int(source["tree_param"]["size_leaf_vector"]))
    if n_margins == 1:
        return np.array([[source["split_conditions"][leaf]] for leaf in leaves], dtype=np.float32)
    if "leaf_weights" not in source:
        raise UnsupportedModelError(
            "This XGBoost writes trees of several outputs in another way. Use version 3.2 or later."
        )
    # A leaf with several values keeps their place where a split keeps its right child.
    values = np.array(source["leaf_weights"], dtype=np.float32).reshape(-1, n_margins)
    return values[[source["right_children"][leaf] for leaf in leaves]]


def _ask(booster: Any, learner: dict[str, Any], values: NDArray[np.float32]) -> NDArray[Any]:
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
    return np.asarray(blank.inplace_predict(rows, base_margin=base, validate_features=False))


def _find_classes(learner: dict[str, Any], outputs: NDArray[Any]) -> NDArray[np.int64]:
    if learner["objective"]["name"] == "multi:softmax":
        return np.asarray(outputs).astype(np.int64)
    return np.asarray(np.argmax(outputs, axis=1) if outputs.ndim > 1 else outputs > 0.5).astype(np.int64)
