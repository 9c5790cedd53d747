"""`exact` for all leaves against PyXAI's sufficient reasons for a row of each leaf, on the unpruned tree of digits.

PyXAI gives every pair of feature and threshold a Boolean variable, true above the threshold; a link is a literal. A
sufficient reason is a smallest-by-inclusion set of literals that forces the class, as the kept links of a rule are.
Its theory (``x <= 3`` implies ``x <= 5``) is on: secateur's boxes know these implications, too.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.race import FULL, QUICK, race
from benchmarks.result import Result, quartiles

__all__ = ["NAME", "run_pyxai"]

NAME = "pyxai/exact"
FASTER = "× faster than PyXAI"


def run_pyxai(quick: bool) -> list[Result]:
    """Let PyXAI judge every rule, then race its reasons for all leaves against `exact`."""
    result = Result(NAME, "unpruned digits, a row of each leaf")
    result.bars = {FASTER: "≥ 500"}
    if find_spec("pyxai") is None:
        result.skipped = "PyXAI is not installed: make bench-pyxai"
        return [result]
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():  # PyXAI and its imports are talkative
        warnings.simplefilter("ignore")
        model, explainer, literals, instances = explain_digits()
        rules = secateur.simplify(model, method="exact", each_leaf=True)
        result.right = all(is_right(rule, explainer, literals, instances[rule.leaf_id]) for rule in rules)
        if not result.right:
            return [result]

        def reasons() -> None:
            for instance in instances.values():
                explainer.set_instance(instance)
                explainer.sufficient_reason()

        calls = {"ours": lambda: secateur.simplify(model, method="exact", each_leaf=True), "theirs": reasons}
        seconds = race(calls, QUICK if quick else FULL)
    result.seconds = quartiles(seconds["ours"])
    pairs = zip(seconds["theirs"], seconds["ours"], strict=True)
    result.measures = {FASTER: quartiles(theirs / ours for theirs, ours in pairs)}
    return [result]


def is_right(rule: secateur.Rule, explainer: Any, literals: dict[int, int], instance: Any) -> bool:
    """Whether to PyXAI the kept links are a reason, none of them can go, and its own reason is one."""

    def accepts(links: list[int]) -> bool:
        listed = [literals[link] for link in links]
        closed = explainer.extend_reason_with_theory(listed)  # is_reason itself ignores the theory
        return bool(explainer.is_implicant(listed) and explainer.is_reason(closed))

    explainer.set_instance(instance)
    kept = list(rule.kept_ids)
    shorter = [[other for other in kept if other != link] for link in kept]
    return accepts(kept) and not any(map(accepts, shorter)) and explainer.is_implicant(explainer.sufficient_reason())


def explain_digits() -> tuple[DecisionTreeClassifier, Any, dict[int, int], dict[int, Any]]:
    """The tree, PyXAI's explainer of it, the literal of each link, and a training row of each leaf."""
    from pyxai import Explaining, Learning

    frame = load_digits(as_frame=True).frame
    X, y = frame.iloc[:, :-1].to_numpy(np.float32), frame.iloc[:, -1].to_numpy()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    _, pyxai_tree = Learning.ModelIO.import_models(model, frame)
    explainer = Explaining.initialize(pyxai_tree, features_type={"numerical": Learning.DEFAULT})
    conditions = enumerate(pyxai_tree.map_id_binaries_to_features[1:], start=1)
    variables = {(feature - 1, threshold): variable for variable, (feature, _, threshold) in conditions}
    literals = {}
    for node in np.flatnonzero(model.tree_.feature >= 0).tolist():
        variable = variables[int(model.tree_.feature[node]), float(model.tree_.threshold[node])]
        literals[int(model.tree_.children_left[node])] = -variable
        literals[int(model.tree_.children_right[node])] = variable
    leaves = model.apply(X)
    return model, explainer, literals, {int(leaf): X[np.argmax(leaves == leaf)] for leaf in np.unique(leaves)}
