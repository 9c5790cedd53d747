"""The table of fields: documentation shows it, and the reader takes nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import FormatError
from secateur.methods import Why
from secateur.verify.fields import FIELDS, REASONS, Behind, Check

PAGE = Path(__file__).parents[2] / "docs" / "rules-format.md"


def describe_fields() -> str:
    """Write the table of fields in Markdown, as the documentation shows it."""
    rows = (f"| `{path}` | {field.meaning} | {field.check.value} |" for path, field in FIELDS.items())
    return "\n".join(["| field | meaning | check |", "|---|---|---|", *rows])


def describe_reasons() -> str:
    """Write the table of the kinds of reasons in Markdown."""
    rows = (f"| `{kind}` | {behind.meaning} | {'; '.join(_say(behind))} |" for kind, behind in REASONS.items())
    return "\n".join(["| kind | numbers | check |", "|---|---|---|", *rows])


def _say(behind: Behind) -> Iterator[str]:
    named = {name: check for name, check in behind._asdict().items() if isinstance(check, Check)}
    for check in Check:
        names = [f"`{name}`" for name, own in named.items() if own is check]
        if names:
            yield f"{', '.join(names)}: {check.value}"


@pytest.mark.parametrize(("name", "table"), [("fields", describe_fields()), ("reasons", describe_reasons())])
def test_the_page_shows_the_table(name: str, table: str) -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name}: begin -->\n")[2]
    assert shown.partition(f"\n<!-- {name}: end -->")[0] == table


def test_every_kind_of_reason_is_declared() -> None:
    assert {*REASONS} == {why.kind for why in Why}


def test_a_field_that_is_not_declared_is_rejected_wherever_it_stands() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    content = json.loads(secateur.simplify(model, X, y, budget=0.05).to_json())
    inside = [content, content["lines"][0], content["lines"][0]["reasons"][0]]
    inside += [content["leaves"], content["written"], content["tree"], content["parameters"]]
    for part in inside:
        part["approved"] = True
        with pytest.raises(FormatError, match=r"has a field '.*approved' that no version of it has; it was edited\.$"):
            secateur.Rules.from_json(json.dumps(content))
        del part["approved"]
    assert "tree.approved" not in FIELDS
    assert secateur.Rules.from_json(json.dumps(content)).verify(X, y).ok
