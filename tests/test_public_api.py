"""The public names: sorted, importable, and the same as in docs/api.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import secateur

API_PAGE = Path(__file__).parents[1] / "docs" / "api.md"

# A heading or a list item that starts with a name in backticks: "### `simplify(model, …)`", "- `secateur.Tree`: …".
# Members such as `Tree.to_json` and items of inner lists are not names of the package.
DOCUMENTED_NAME = re.compile(r"^(?:#{1,6}|[-*]) +`(?:secateur\.)?(\w+)[`(]", re.MULTILINE)


def test_all_is_sorted_and_has_no_name_twice() -> None:
    assert list(secateur.__all__) == sorted(set(secateur.__all__))


def test_all_equals_the_names_in_the_api_page() -> None:
    documented = DOCUMENTED_NAME.findall(API_PAGE.read_text(encoding="utf-8"))
    assert len(documented) == len(set(documented)), "docs/api.md lists a name twice"
    missing = sorted(set(secateur.__all__) - set(documented))
    unknown = sorted(set(documented) - set(secateur.__all__))
    assert not missing, f"docs/api.md does not list: {', '.join(missing)}"
    assert not unknown, f"docs/api.md lists names that are not in secateur.__all__: {', '.join(unknown)}"


@pytest.mark.parametrize("name", secateur.__all__)
def test_a_public_name_is_importable_and_shown_by_dir(name: str) -> None:
    assert hasattr(secateur, name)
    assert name in dir(secateur)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        secateur.no_such_name  # noqa: B018  # the access is what is tested
