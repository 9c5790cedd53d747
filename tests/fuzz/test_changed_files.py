"""Files that were changed a little are refused in a sentence, or read rightly; so are all that once failed.

`make fuzz MINUTES=60` tries many more, and docs/reliability.md says how many were tried so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.campaign import GOOD, Worker
from fuzz.good_files import MAKERS, good_files
from fuzz.judging import AGREED, BadRefusal, WrongAnswer, check_sentence, judge

KEPT = sorted(path for path in (Path(__file__).parent / "corpus").iterdir() if path.suffix != ".md")
FIRST = 1_000_000  # the numbers below are for campaigns
COUNTS = {
    **{"tree": 400, "rules": 150, "packed": 100, "iai": 200, "compact": 80, "pmml": 150, "onnx": 80, "skops": 60},
    **{"csv": 10, "jsonl": 10, "parquet": 10, "arrow": 10},
}

# What makes the good files, or judges them, beside what secateur itself needs.
NEEDS = {"iai": "interpretableai", "onnx": "skl2onnx"}

pytestmark = pytest.mark.xdist_group("fuzz")  # one process serves all of them


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    started = Worker()
    yield started
    started.close()


@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_a_file_that_once_failed_is_refused_or_read_rightly(path: Path, worker: Worker) -> None:
    outcome, words = worker.judge_file(path.name.partition("-")[0], path)
    assert outcome in GOOD, words


@pytest.mark.long
@pytest.mark.parametrize("kind", COUNTS)
def test_changed_files_are_refused_or_read_rightly(kind: str, worker: Worker) -> None:
    pytest.importorskip(NEEDS.get(kind, "secateur"))
    tried = list(worker.judge(kind, FIRST, COUNTS[kind]))
    assert [(number, outcome, words) for number, outcome, words in tried if outcome not in GOOD] == []
    assert len(tried) == COUNTS[kind]
    outcomes = {outcome for _, outcome, _ in tried}
    assert {"refused", "agreed"} <= outcomes  # the changes neither break every file nor leave every file whole


@pytest.mark.long
@pytest.mark.parametrize("kind", MAKERS)
def test_the_files_are_good_before_they_are_changed(kind: str) -> None:
    pytest.importorskip(NEEDS.get(kind, "secateur"))
    assert [judge(kind, data, place) for place, data in enumerate(good_files(kind))] == [AGREED] * len(good_files(kind))


def test_a_wrong_answer_and_a_refusal_that_is_no_sentence_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ("", "two\nlines.", "no end", "x" * 5_000 + ".", "it is <object object at 0x7f>."):
        with pytest.raises(BadRefusal):
            check_sentence(words)
    monkeypatch.setattr("secateur.RuleSet.apply", lambda rules, rows: rules.covers(rows).argmin(axis=1))
    mismatch = next(data for data in good_files("rules") if b'"method": "mismatch"' in data)
    with pytest.raises(WrongAnswer, match="another rule decides"):
        judge("rules", mismatch, 0)
    monkeypatch.undo()
    monkeypatch.setattr("secateur.RuleSet.covers", lambda rules, rows: ~(rows[:, [0]] > [0] * len(rules)))
    with pytest.raises(WrongAnswer, match="cover other rows"):
        judge("rules", mismatch, 0)
