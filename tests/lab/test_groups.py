"""What groups delete on the published data sets, beyond what `exact` deletes without them."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import further
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import datasets

# Share of conditions that `exact` removes at least, in percent, without and with groups: means over 30 splits.
pytestmark = pytest.mark.long

REMOVED = {"german": (13.1, 14.7), "heart-h": (17.5, 19.2), "adult": (18.0, 18.4)}


@pytest.mark.drawn
@pytest.mark.parametrize("name", ["german", "heart-h", *further(["adult"])])
def test_groups_delete_more_and_possible_rows_are_in_no_conflict(name: str, data_dir: str) -> None:
    data = datasets.load(name, data_dir)
    X = np.asarray(data.X, dtype=np.float32)
    groups = secateur.find_groups(X, feature_names=data.feature_names)
    assert set(groups) == {column.split("=")[0] for column in data.feature_names if "=" in column}
    removed = []
    for seed in range(30):
        X_train, X_test, y_train, _ = train_test_split(X, data.y, test_size=0.3, stratify=data.y, random_state=seed)
        model = DecisionTreeClassifier(max_depth=6, random_state=seed).fit(X_train, y_train)
        tree = secateur.from_model(model, feature_names=data.feature_names)
        plain = secateur.simplify(tree, method="exact", each_leaf=True)
        rules = secateur.simplify(tree, method="exact", groups=groups, each_leaf=True)
        removed.append([100 * plain.deleted.mean(), 100 * rules.deleted.mean()])
        answers, covered = model.predict(X_test), rules.covers(X_test)
        assert covered.any(axis=1).all()
        for rule in rules:
            assert (answers[covered[:, rule.index]] == rule.prediction).all()
        if seed == 0:
            assert rules.verify()
    assert (np.mean(removed, axis=0) >= REMOVED[name]).all()
