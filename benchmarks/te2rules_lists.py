"""What TE2Rules makes of the CART trees of the paper's splits: conditions left, and rows decided otherwise.

TE2Rules explains ensembles by rules of one class; what no rule covers is of the other. A tree is given to it as a
forest of one, with the tree's answers on the training rows, as its documentation asks, and with its default settings.

Its licence is non-commercial (CC BY-NC 4.0): it has an environment of its own (``make te2rules``), and nothing of
secateur imports it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import secateur
from secateur.lab.lists import TE2RULES, compare_texts
from secateur.lab.protocol import ARMS, DATASETS, N_SPLITS, Arm, Study, run_arm, split_rows

if TYPE_CHECKING:
    from secateur.datasets import Dataset

__all__ = ["explain_split", "wrap_tree"]


def wrap_tree(model: Any, X: Any, y: Any) -> RandomForestClassifier:
    """Make a forest of the one tree."""
    forest = RandomForestClassifier(n_estimators=1, bootstrap=False, max_features=None, random_state=0).fit(X, y)
    forest.estimators_ = [model]
    return forest


def explain_split(arm: Arm, data: Dataset, split: int) -> dict[str, Any]:
    """Fit one tree, let TE2Rules explain it, and measure its rules on the rows left out."""
    from te2rules.explainer import ModelExplainer

    X_train, X_test, y_train, y_test = split_rows(data, split)
    model = arm.fit(data, split, X_train, y_train)
    source = secateur.simplify(model, method="none", each_leaf=True)
    forest = wrap_tree(model, X_train, y_train)
    if not np.array_equal(forest.predict(X_test), model.predict(X_test)):
        raise ValueError("The forest of one tree does not answer as the tree.")
    names = [f"x{column}" for column in range(X_train.shape[1])]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # it is talkative
        explainer = ModelExplainer(model=forest, feature_names=names, verbose=False)
        rules = explainer.explain(X=X_train.tolist(), y=model.predict(X_train).tolist())
        predicted = np.array(explainer.predict(X_test.tolist()))
    n_conditions = sum(len(rule.split(" & ")) for rule in rules)
    row = compare_texts(source, n_conditions, len(rules), predicted, model.predict(X_test), y_test)
    return {"n_rules": len(source), "rows": [{"method": TE2RULES, "knob": "", **row}]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="reproduction", type=Path, help="where finished splits are kept")
    parser.add_argument("--data-dir", help="directory of the published data files")
    parser.add_argument("--splits", default=N_SPLITS, type=int)
    given = parser.parse_args()
    run_arm(
        *(ARMS["cart"], DATASETS, given.splits, given.output),
        n_jobs=1,
        data_dir=given.data_dir,
        progress=lambda name: print(name, end=" ", flush=True),
        study=Study("te2rules", explain_split, {"te2rules": version("te2rules")}),
    )
    print()
