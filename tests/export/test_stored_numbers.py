from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import FormatError
from secateur.export.stored_numbers import read_counts, read_numbers


def test_counts_are_read_with_unknown_ones() -> None:
    np.testing.assert_array_equal(read_counts([[1, 2.5], None], 2), [[1, 2.5], [np.nan, np.nan]])
    assert read_counts([], 3).shape == (0, 3)


@pytest.mark.parametrize(
    "rows",
    [[[1, "0"]], [["1", "0"]], [[True, 2.5]], [[1, None]], [[1]], [[1, 2, 3]], [[1, -1]], [[1, math.inf]], [7]],
)
def test_what_is_no_count_is_refused(rows: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^(expected 2 class counts|a class count|object of type 'int')"):
        read_counts(rows, 2)


@pytest.mark.parametrize("values", [["0.5"], [True], [math.inf], [[1.0]]])
def test_what_is_no_number_behind_a_reason_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="'before'"):
        read_numbers(values, "before")


@pytest.mark.parametrize("form", ["each leaf", "compact"])
@pytest.mark.parametrize("field", ["class_counts", "before"])
def test_rules_with_a_number_in_quotes_are_refused(form: str, field: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="faithful")
    written: Any = rules if form == "each leaf" else rules.compact(budget=0.02)
    content = json.loads(written.to_json())
    rule = content["rules"][0]
    if field == "class_counts":
        rule[field][0] = str(rule[field][0])
    else:
        rule["reasons"][0][field] = "0.5"
    with pytest.raises(FormatError):
        type(written).from_json(json.dumps(content))
