"""Rules of some random trees are what brute force says; `make oracle-run` judges as many as you like."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import further
from fuzz.rules_campaign import Disagreement, check_case, judge_some

from secateur.methods.without_rows import Exact


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("n_trees", [25, *further([60])])
def test_rules_of_random_trees_are_what_brute_force_says(n_trees: int) -> None:
    assert judge_some(n_trees) > 80 * n_trees


def test_one_condition_too_few_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Exact.delete

    def careless(method: Exact, problem: object) -> object:
        made = honest(method, problem)  # type: ignore[arg-type]
        kept = np.flatnonzero(~made.deleted)
        if len(kept):
            made.deleted[kept[0]] = True
        return made

    monkeypatch.setattr(Exact, "delete", careless)
    with pytest.raises(Disagreement, match=r"exact .* deletes otherwise"):
        check_case(1_000_000)
