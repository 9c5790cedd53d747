"""Every function that takes rows, on one small problem: what it gives as something that can be compared."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import secateur

__all__ = ["DOORS", "LABELLED", "TARGET", "expect", "make_frame"]

TARGET = "outcome"
N_ROWS = 90


def make_frame() -> pd.DataFrame:
    """Numbers with a weak rule in them, and the classes 'bad' and 'good' in a column beside them."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.integers(0, 9, (N_ROWS, 3)).astype(float), columns=["a", "b", "c"])
    frame["c"] += np.arange(N_ROWS) / 128  # no two rows are equal
    noise = rng.random(N_ROWS) < 0.15
    return frame.assign(outcome=np.where((frame.a + frame.b > 8) ^ noise, "good", "bad"))


FRAME = make_frame()
X, Y = FRAME.drop(columns=TARGET), FRAME[TARGET].to_numpy()
TREE = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, Y)
FOREST = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y)
RULES = secateur.simplify(TREE, X, Y, tolerance=0.2, method="mismatch", each_leaf=True)
CLASSIFIER = secateur.RuleClassifier(TREE, method="mismatch", tolerance=0.2).fit(X, Y)
COMPACT = secateur.simplify(TREE, X, Y)
SHORT = secateur.simplify(TREE, X, Y, budget=0.05)
FOREST_RULES: Any = secateur.simplify(FOREST, X, Y, tolerance=0.2, method="mismatch", each_leaf=True)


def _rules(method: str) -> Any:
    return lambda rows, y: secateur.simplify(TREE, rows, y, method=method, each_leaf=True).to_json()


def _report(rows: Any, y: Any) -> Any:
    summary = json.loads(RULES.report(rows, y).to_json())
    return [summary["lists"], summary["splits"]]


def _own_report(rows: Any, y: Any) -> Any:
    return json.loads(secateur.simplify(TREE, rows, y, method="mismatch", each_leaf=True).report().to_json())["lists"]


def _selection(over: str) -> Any:
    return lambda rows, y: secateur.select(TREE, rows, y, over=over, grid=[0.0, 0.05], cv=2, progress=False)


def _effects(found: Any) -> Any:
    leaf = found.leaf_ids[-1]
    return [list(found.pairs()), found.effect_of(leaf, [row.link_id for row in found.of_leaf(leaf)])]


def _verification(found: Any) -> Any:
    return found.ok, found.failures


# Functions that take rows with their labels.
LABELLED: dict[str, Any] = {
    **{f"simplify {method}": _rules(method) for method in secateur.METHODS},
    "simplify a forest": lambda rows, y: [
        one.to_json() for one in secateur.simplify(FOREST, rows, y, method="mismatch", each_leaf=True)
    ],
    "report": _report,
    "the rules' own report": _own_report,
    "audit": lambda rows, y: RULES.audit(rows, y),
    "audit since": lambda rows, y: RULES.audit(rows, y, since=RULES.audit(X, Y)).per_line.to_dicts(),
    "audit a forest": lambda rows, y: FOREST_RULES.audit(rows, y),
    "verify": lambda rows, y: _verification(RULES.verify(rows, y)),
    "verify a forest": lambda rows, y: _verification(FOREST_RULES.verify(rows, y)),
    "diagnose": lambda rows, y: list(secateur.diagnose(TREE, rows, y)),
    "diagnose pairs and a set": lambda rows, y: _effects(secateur.diagnose(TREE, rows, y)),
    "diagnose a forest": lambda rows, y: [list(one) for one in secateur.diagnose(FOREST, rows, y)],
    "collect_evidence": lambda rows, y: secateur.collect_evidence(TREE, rows, y).to_numbers().tolist(),
    **{f"select {over}": _selection(over) for over in ("budget", "tolerance", "max_conflict")},
    "compact": lambda rows, y: secateur.simplify(TREE, rows, y).to_json(),
    "compact with a budget": lambda rows, y: secateur.simplify(TREE, rows, y, budget=0.05).to_json(),
    "audit compact rules": lambda rows, y: SHORT.audit(rows, y),
    "verify compact rules": lambda rows, y: _verification(SHORT.verify(rows, y)),
    "report on compact rules": lambda rows, y: json.loads(SHORT.report(rows, y).to_json())["lists"],
    "RuleClassifier": lambda rows, y: secateur.RuleClassifier(TREE).fit(rows, y).rules_.to_json(),
}
# Functions that take rows alone.
UNLABELLED: dict[str, Any] = {
    "predict": lambda rows: RULES.predict(rows).tolist(),
    "apply": lambda rows: RULES.apply(rows).tolist(),
    "predict_proba": lambda rows: RULES.predict_proba(rows).tolist(),
    "predict_proba of the tree": lambda rows: RULES.predict_proba(rows, of="leaf").tolist(),
    "covers": lambda rows: RULES.covers(rows).tolist(),
    "overlaps": lambda rows: list(RULES.overlaps(rows)),
    "predict by a forest": lambda rows: FOREST_RULES.predict(rows).tolist(),
    "apply a forest": lambda rows: FOREST_RULES.apply(rows).tolist(),
    "predict by compact rules": lambda rows: SHORT.predict(rows).tolist(),
    "apply compact rules": lambda rows: SHORT.apply(rows).tolist(),
    "predict_proba of compact rules": lambda rows: SHORT.predict_proba(rows).tolist(),
    "covers of compact rules": lambda rows: COMPACT.covers(rows).tolist(),
    "predict by a RuleClassifier": lambda rows: CLASSIFIER.predict(rows).tolist(),
}
DOORS = (*LABELLED, *UNLABELLED)


def expect(door: str) -> Any:
    """What the function gives for the frame in memory, its labels beside it."""
    return LABELLED[door](X, Y) if door in LABELLED else UNLABELLED[door](X)


def knock(door: str, table: Any, alone: Any) -> Any:
    """What the function gives for a table that holds the labels; one without them where labels are not asked for."""
    return LABELLED[door](table, TARGET) if door in LABELLED else UNLABELLED[door](alone)
