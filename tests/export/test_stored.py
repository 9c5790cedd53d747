from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from export.forms import both_forms
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import FormatError, ParameterError
from secateur.export.stored import deletions_to_columns, read_counts, read_deletions


def make_rules(form: str = "each leaf") -> secateur.Rules:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    asked: dict[str, Any] = {"budget": 0.02} if form == "list" else {"each_leaf": True, "method": "mismatch"}
    return secateur.simplify(model, X, y, **asked)


def test_counts_are_read_with_unknown_ones() -> None:
    np.testing.assert_array_equal(read_counts([[1, 2.5], None], 2, 2), [[1, 2.5], [np.nan, np.nan]])
    assert read_counts([], 0, 3).shape == (0, 3)


@pytest.mark.parametrize(
    "rows",
    [
        *([[1, "0"]], [["1", "0"]], [[True, 2.5]], [[1, None]], [[1]], [[1, 2, 3]], [[1, -1]], [[1, math.inf]], [7]),
        *([[1, 1e301]], [], [[1, 2], [3, 4]]),
    ],
)
def test_what_is_not_a_count_is_rejected(rows: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"^(expected 2 class counts|a class count|object of type 'int')"):
        read_counts(rows, 1, 2)


def test_columns_hold_what_was_deleted() -> None:
    rules = make_rules()
    again = read_deletions(rules.paths.links, deletions_to_columns(rules.deletions))
    for name, values in vars(rules.deletions).items():
        np.testing.assert_array_equal(getattr(again, name), values)


@pytest.mark.parametrize("values", [["0.5"], [True], [math.inf], [[1.0]]])
@pytest.mark.parametrize("name", ["before", "after", "number"])
def test_what_is_not_a_number_behind_a_reason_is_rejected(name: str, values: Any) -> None:
    rules = make_rules()
    columns = deletions_to_columns(rules.deletions)
    columns[name] = values * len(rules.paths.links)
    with pytest.raises(ValueError, match=f"'{name}'"):
        read_deletions(rules.paths.links, columns)


@both_forms
@pytest.mark.parametrize(
    "field", ["class_counts", "before", "counts of a line", "kind", "deleted", "node", "budget", "tolerance"]
)
def test_rules_with_a_quoted_number_are_rejected(form: str, field: str) -> None:
    content = json.loads(make_rules(form).to_json())
    if field == "counts of a line":
        counts = content["lines"][0]["class_counts"]
        counts[0] = str(counts[0])
    elif field == "class_counts":
        content["leaves"][field][0][0] = str(content["leaves"][field][0][0])
    elif field == "before":
        content["leaves"][field] = ["0.5"] * len(content["leaves"]["links"])
    elif field in ("budget", "tolerance"):
        content[field] = str(content[field])
    else:
        content["leaves"][field][0] = str(content["leaves"][field][0])
    with pytest.raises((FormatError, ParameterError)):
        secateur.Rules.from_json(json.dumps(content))
