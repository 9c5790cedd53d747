"""Files that were changed a little are rejected in a sentence, or read rightly; so are all that once failed.

`make fuzz MINUTES=60` tries many more, and docs/reliability.md says how many were tried so far.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from drawing import PROFILE
from fuzz.campaign import GOOD, Worker
from fuzz.good_files import MAKERS, good_files
from fuzz.judging import AGREED, REJECTED, BadRefusal, WrongAnswer, check_sentence, judge

from secateur import Rules, SecateurError
from secateur.cli.model_files import load_rules
from secateur.errors import FormatError
from secateur.verify.case import Verification

KEPT = sorted(path for path in (Path(__file__).parent / "corpus").iterdir() if path.suffix != ".md")
DRAFTS = [path for path in KEPT if path.name.startswith("rules-draft-")]
FIRST = 1_000_000  # the numbers below are for campaigns
# The same numbers are the same changes each time, so that a day takes enough of them to meet each kind of change.
COUNTS = {
    **{"tree": 400, "rules": 230, "packed": 100, "iai": 200, "pmml": 150, "onnx": 80, "skops": 60},
    **{"csv": 10, "jsonl": 10, "parquet": 10, "arrow": 10},
}
if PROFILE != "thorough":
    COUNTS = {kind: max(10, count // 3) for kind, count in COUNTS.items()}

# What makes the good files, or judges them, beside what secateur itself needs.
NEEDS = {"iai": "interpretableai", "onnx": "skl2onnx"}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    started = Worker()
    yield started
    started.close()


@pytest.mark.long
@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_a_file_that_once_failed_is_rejected_or_read_rightly(path: Path, worker: Worker) -> None:
    outcome, words = worker.judge_file(path.name.partition("-")[0], path)
    assert outcome in GOOD, words


@pytest.mark.parametrize("path", DRAFTS, ids=[path.stem for path in DRAFTS])
def test_files_of_drafts_are_rejected_with_a_sentence(path: Path) -> None:
    assert judge("rules", path.read_bytes(), 0) == REJECTED
    with pytest.raises(
        FormatError, match=r"An older version of secateur wrote this|found .secateur-compact|holds Infinity"
    ):
        Rules.from_json(path.read_text())
    with pytest.raises(SecateurError) as caught:
        load_rules(path)
    check_sentence(str(caught.value))


def test_all_drafts_are_tried() -> None:
    told = [json.loads(path.read_text()) for path in DRAFTS]
    assert {(one["format"], one["version"]) for one in told} == {
        *(("secateur-rules", 1), ("secateur-rules", 2), ("secateur-compact", 1), ("secateur-compact", 2))
    }


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("kind", COUNTS)
def test_changed_files_are_rejected_or_read_rightly(kind: str, worker: Worker) -> None:
    pytest.importorskip(NEEDS.get(kind, "secateur"))
    tried = list(worker.judge(kind, FIRST, COUNTS[kind]))
    assert [(number, outcome, words) for number, outcome, words in tried if outcome not in GOOD] == []
    assert len(tried) == COUNTS[kind]
    outcomes = {outcome for _, outcome, _ in tried}
    assert {"rejected", "agreed"} <= outcomes  # the changes neither break every file nor leave every file whole


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKERS)
def test_the_files_are_good_before_they_are_changed(kind: str) -> None:
    pytest.importorskip(NEEDS.get(kind, "secateur"))
    assert [judge(kind, data, place) for place, data in enumerate(good_files(kind))] == [AGREED] * len(good_files(kind))


def test_a_wrong_answer_and_a_rejection_that_is_no_sentence_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ("", "two\nlines.", "no end", "x" * 5_000 + ".", "it is <object object at 0x7f>."):
        with pytest.raises(BadRefusal):
            check_sentence(words)
    monkeypatch.setattr("secateur.Rules.apply", lambda rules, rows: rules.covers(rows).argmin(axis=1))
    forms = [
        next(data for data in good_files("rules") if is_one(json.loads(data))) for is_one in (_is_faithful, _is_list)
    ]
    for data in forms:
        with pytest.raises(WrongAnswer, match="another line decides"):
            judge("rules", data, 0)
    monkeypatch.undo()
    monkeypatch.setattr("secateur.Rules.predict", lambda rules, rows: rules.tree.classes[[0] * len(rows)])
    for data in forms:
        with pytest.raises(WrongAnswer, match="another class is predicted"):
            judge("rules", data, 0)
    monkeypatch.undo()
    monkeypatch.setattr("secateur.Rules.covers", lambda rules, rows: ~(rows[:, [0]] > [0] * len(rules)))
    for data in forms:
        with pytest.raises(WrongAnswer, match="cover other rows"):
            judge("rules", data, 0)


def _is_faithful(content: dict[str, Any]) -> bool:
    return bool(content["method"] == "faithful" and content["lines"][-1]["leaf_id"] is not None)


def _is_list(content: dict[str, Any]) -> bool:
    return content["lines"][-1]["leaf_id"] is None


def test_a_promise_that_does_not_hold_is_noticed_although_verify_says_that_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The judge needs no help of `verify`: a condition that the tree needs is gone, and all is said to be well."""
    yes = Verification(True, (), (), ())
    monkeypatch.setattr("secateur.Rules.verify", lambda rules: yes)
    noticed = 0
    for data in good_files("rules"):
        content = json.loads(data)
        is_exact = content["method"] in ("exact", "none") and not content["budget"] and not content["approximation"]
        if noticed > 20 or not is_exact:
            continue
        for place, gone in enumerate(content["leaves"]["deleted"]):
            if not gone:
                columns = content["leaves"]
                forged = {**columns, "deleted": [*columns["deleted"]], "kind": [*columns["kind"]]}
                forged["kinds"] = [*columns["kinds"], "no-foreign-leaf"]
                forged["deleted"][place], forged["kind"][place] = 1, len(columns["kinds"])
                method = {"method": "exact", "leaves": forged}
                try:
                    judge("rules", json.dumps({**content, **method}).encode(), 0)
                except WrongAnswer as error:
                    noticed += "verified, and yet" in str(error)
    assert noticed > 20
