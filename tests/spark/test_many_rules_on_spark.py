"""Many rules are audited in tasks, where the workers have secateur, and give the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from export.forms import both_forms
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.spark import auditing
from secateur.spark.session import has_secateur


@both_forms
def test_many_rules_are_audited_alike_by_tasks_and_by_sql(
    spark: Any, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3000, 4)), columns=list("abcd"))
    y = (X["a"] + X["b"] * X["c"] + rng.normal(size=len(X)) > 0).astype(int)
    model = DecisionTreeClassifier(max_leaf_nodes=auditing.MOST_IN_SQL + 20, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="faithful", each_leaf=form == "each leaf")
    monkeypatch.setattr(auditing, "MOST_IN_SQL", len(rules) - 1)
    assert has_secateur(spark)
    df = spark.createDataFrame(pa.Table.from_pandas(X.assign(y=y))).repartition(3)
    in_tasks = []
    count = auditing._count_in_tasks
    monkeypatch.setattr(auditing, "_count_in_tasks", lambda *given: in_tasks.append(given) or count(*given))
    wanted = rules.audit(X, y).to_dict()
    assert rules.audit(df, "y").to_dict() == wanted
    assert len(in_tasks) == 1
    monkeypatch.setattr(auditing, "has_secateur", lambda _: False)
    assert rules.audit(df, "y").to_dict() == wanted
    assert len(in_tasks) == 1
