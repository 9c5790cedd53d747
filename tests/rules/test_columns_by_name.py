"""Rules take columns by name: their order does not matter, nor do columns that nothing asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines
from secateur.errors import InputError

NAMES = ["unused", "age", "rate", "idle"]
KINDS = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(200, 4)), columns=NAMES)


@pytest.fixture(scope="module")
def rules(rows: pd.DataFrame) -> Any:
    """Rules of a tree that asks for age, and for rate in one of its two branches."""
    y = np.where(rows["age"] > 0.3, "high", np.where(rows["rate"] > 0.1, "mid", "low"))
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, y)
    assert sorted(set(model.tree_.feature.tolist())) == [-2, 1, 2]
    return secateur.simplify(model, rows, y, each_leaf=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [NAMES[::-1], ["rate", "age"], ["age", "rate", "unused"], ["note", *NAMES[1:3]]])
def test_columns_are_taken_by_name(rules: Any, rows: pd.DataFrame, kind: str, columns: list[str]) -> None:
    given = KINDS[kind](rows.assign(note="x")[columns])
    for one in (rules, choose_lines(rules)):
        assert one.predict(given).tolist() == one.predict(rows).tolist()
        assert one.apply(given).tolist() == one.apply(rows).tolist()
    labels = rules.predict(rows)
    assert rules.audit(given, labels).to_dict() == rules.audit(rows, labels).to_dict()
    assert (rules.covers(given) == rules.covers(rows)).all()


def test_a_column_that_the_tree_asks_for_must_be_there(rules: Any, rows: pd.DataFrame) -> None:
    with pytest.raises(InputError, match=r"missing.*'age'"):
        rules.predict(rows[["rate", "unused", "idle"]])
    with pytest.raises(InputError, match="two columns named 'age'"):
        rules.predict(rows[["rate", "age", "age"]])


def test_an_explained_row_needs_what_the_rules_ask_for(rows: pd.DataFrame) -> None:
    y = (rows["age"] > 0.3).astype(int).to_numpy()
    builder = secateur.TreeBuilder(classes=[0, 1], feature_names=NAMES)
    root = builder.split("idle", 0.5)  # which changes nothing
    for side in ("left", "right"):
        below = builder.split("age", 0.3, parent=root, side=side)
        builder.leaf([5, 0], parent=below, side="left")
        builder.leaf([0, 5], parent=below, side="right")
    exact = secateur.simplify(builder.build(), rows, y, each_leaf=True)
    for one in (exact, choose_lines(exact)):
        told = one.explain({"age": 0.4})
        assert told.prediction == 1
        assert set(told.values) == {"age"}
        assert one.explain(pd.Series({"age": 0.2})).prediction == 0
        with pytest.raises(InputError, match="The row has no value for 'age'"):
            one.explain({"idle": 0.4})
        with pytest.raises(InputError, match=r"no value for 'age', which the rules ask for. Did you mean 'agee'"):
            one.explain({"agee": 0.4})
        assert one.explain({"age": 0.4, "note": "of no use"}).prediction == 1
    leaves = secateur.simplify(builder.build(), rows, y, method="none", each_leaf=True)
    with pytest.raises(InputError, match="The row has no value for 'idle'"):
        leaves.explain({"age": 0.4})
    assert leaves.explain({"age": 0.4, "idle": 0.0}).prediction == 1
