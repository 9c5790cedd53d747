"""The public names: sorted, importable, and the same as in docs/api.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import secateur
import secateur.errors
import secateur.results

API_PAGE = Path(__file__).parents[1] / "docs" / "api.md"

# A heading or a list item that starts with a name in backticks: "### `simplify(model, …)`", "- `secateur.Tree`: …".
# Members such as `Tree.to_json` and items of inner lists are not names of the package.
DOCUMENTED_NAME = re.compile(r"^(?:#{1,6}|[-*]) +`(?:secateur\.)?(\w+)[`(]", re.MULTILINE)


PUBLIC = {*secateur.__all__, *secateur.results.__all__} | {
    name for name in secateur.errors.__all__ if name.endswith("Error")
}


@pytest.mark.parametrize("room", [secateur, secateur.results], ids=["secateur", "results"])
def test_all_is_sorted_and_has_no_name_twice(room: Any) -> None:
    assert list(room.__all__) == sorted(set(room.__all__))


def test_about_sixteen_names_are_at_the_top() -> None:
    assert len(secateur.__all__) <= 16


def test_public_names_are_those_in_the_api_page() -> None:
    documented = DOCUMENTED_NAME.findall(API_PAGE.read_text(encoding="utf-8"))
    assert len(documented) == len(set(documented)), "docs/api.md lists a name twice"
    missing, unknown = sorted(PUBLIC - set(documented)), sorted(set(documented) - PUBLIC)
    assert not missing, f"docs/api.md does not list: {', '.join(missing)}"
    assert not unknown, f"docs/api.md lists names that are not public: {', '.join(unknown)}"


@pytest.mark.parametrize("room", [secateur, secateur.results], ids=["secateur", "results"])
def test_public_names_are_importable_and_shown_by_dir(room: Any) -> None:
    assert [name for name in room.__all__ if not hasattr(room, name) or name not in dir(room)] == []


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        secateur.no_such_name  # noqa: B018  # the access is what is tested
