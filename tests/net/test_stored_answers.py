"""Rules of 30 trees say and count what they did when the answers were stored: see make_stored_answers.py."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from drawing import draw
from net import make_stored_answers

NEAR = 1e-12


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    return make_stored_answers.read_stored()


@pytest.fixture(scope="module")
def stored_lists() -> dict[str, Any]:
    return make_stored_answers.read_stored(make_stored_answers.LISTS)


def find_differences(stored: Any, found: Any, place: str = "") -> Iterator[str]:
    """Where two of what JSON holds differ: numbers with a fraction by more than the last digits, all others at all."""
    if isinstance(stored, dict) and isinstance(found, dict):
        for name in {**stored, **found}:
            if name in stored and name in found:
                yield from find_differences(stored[name], found[name], f"{place} / {name}" if place else name)
            else:
                yield f"{place} / {name}: only {'stored' if name in stored else 'found'}"
    elif isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        for number, pair in enumerate(zip(stored, found, strict=True)):
            yield from find_differences(*pair, f"{place}[{number}]")
    elif not is_same(stored, found):
        yield f"{place}: {stored!r} was stored, {found!r} is found"


def is_same(stored: Any, found: Any) -> bool:
    is_number = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (stored, found))
    if is_number and (isinstance(stored, float) or isinstance(found, float)):
        return math.isclose(stored, found, rel_tol=NEAR, abs_tol=NEAR)
    return bool(stored == found)


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("name", draw(make_stored_answers.PROBLEMS, 10))
def test_a_tree_has_the_stored_answers(name: str, stored: dict[str, Any]) -> None:
    found = make_stored_answers.compute(name)
    assert found["tree"] == stored[name]["tree"], "this release of scikit-learn fits another tree"
    differences = list(find_differences(stored[name], found))
    assert not differences, "\n".join([f"{len(differences)} differences:", *differences[:30]])


@pytest.mark.drawn
@pytest.mark.parametrize("name", draw(make_stored_answers.PROBLEMS, 15))
def test_lists_of_classes_in_one_section_are_those_before_there_were_sections(
    name: str, stored_lists: dict[str, Any]
) -> None:
    stored = dict(stored_lists[name])
    problem = make_stored_answers.PROBLEMS[name]()
    assert make_stored_answers.describe_tree(problem) == stored.pop("tree")
    found = {
        key: {
            "rules": sorted([rule.leaf_id, rule.class_id, list(rule.kept_ids)] for rule in rules),
            "otherwise": rules.lines[-1].class_id,
        }
        for key, rules in make_stored_answers.list_classes_only(problem)
    }
    assert found == stored


def test_what_is_stored_is_small_and_about_these_trees(stored: dict[str, Any]) -> None:
    assert list(stored) == list(make_stored_answers.PROBLEMS)
    assert len(stored) == 30
    assert make_stored_answers.STORED.stat().st_size < 400_000


def test_a_difference_is_found_wherever_it_is() -> None:
    whole = {"kept": [[1, 2], [3]], "audit": {"auc": 0.1, "n": 7, "conflict": None}}
    assert (
        list(find_differences(whole, {"kept": [[1, 2], [3]], "audit": {"auc": 0.1 + 1e-14, "n": 7, "conflict": None}}))
        == []
    )
    assert list(find_differences(whole, {"kept": [[2, 1], [3]], "audit": {"auc": 0.1001, "n": 7.5}})) == [
        "kept[0][0]: 1 was stored, 2 is found",
        "kept[0][1]: 2 was stored, 1 is found",
        "audit / auc: 0.1 was stored, 0.1001 is found",
        "audit / n: 7 was stored, 7.5 is found",
        "audit / conflict: only stored",
    ]
    assert list(find_differences([1, 2], [1])) == [": [1, 2] was stored, [1] is found"]
