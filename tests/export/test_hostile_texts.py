"""No text for people lets a name control the terminal, start a line of its own or turn words round."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.cli.main import run
from secateur.tree.columns import show_text

BAD = "\n\x1b[31m\u202e\u2066\x00\r\x85\u2028\u200b\ufeff\x9b"
NAMES = [f"a{BAD}FORGED", f"{BAD}b", f"c{BAD}"]
LABELS = [f"no{BAD}FORGED", f"yes{BAD}"]
WARDS = [f"A{BAD}", f"{BAD}B", "C"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 2)).round(2), columns=NAMES[:2])
    frame[NAMES[2]] = rng.choice(WARDS, 300)
    total = frame[NAMES[0]] + frame[NAMES[1]] + (frame[NAMES[2]] == WARDS[0])
    return frame.assign(**{f"y{BAD}": np.where(total > 0.3, *LABELS)})


def list_texts(table: pd.DataFrame) -> dict[str, str]:
    """Everything that a person may print."""
    X, y = table[NAMES[:2]], table.iloc[:, 3]
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="mismatch", facts=[f"`{NAMES[0]}` <= 100"], each_leaf=True)
    short = secateur.simplify(model, X, y, budget=0.01)
    other = secateur.simplify(DecisionTreeClassifier(max_depth=3, random_state=1).fit(X, y), X, y, each_leaf=True)
    forest = secateur.simplify(RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y), X, y, each_leaf=True)
    diagnosis = secateur.diagnose(model, X, y)
    made: dict[str, Any] = {"forest": forest, "diff": rules.diff(other), "tree": rules.tree}
    made |= {"diagnosis": diagnosis, "of a leaf": diagnosis.of_leaf(diagnosis.leaf_ids[0])[0]}
    for form, some in (("each leaf", rules), ("list", short)):
        made |= {form: some, f"{form} rule": some[0], f"{form} explain": some.explain(X.iloc[0])}
        made |= {f"{form} last line": some.lines[-1], f"{form} diff": some.diff(some)}
        made |= {f"{form} audit": some.audit(X, y), f"{form} verify": some.verify(), f"{form} remarks": some.remarks}
        made |= {f"{form} guarantee": some.guarantee, f"{form} reasons": list(some[0].reasons.values())}
        for name in ("text", "markdown"):
            made[f"{form} {name}"] = getattr(some, f"to_{name}")(reasons=True)
        made[f"{form} latex"] = some.to_latex()
    made |= {"nested": short.to_text(nested=True), "headings": [line.heading for line in short.lines]}
    texts = {}
    for name, one in made.items():
        texts |= {name: str(one), f"repr of {name}": repr(one)}
        for place, part in enumerate(one if isinstance(one, (list, tuple)) else ()):
            texts[f"{name} {place}"] = str(part)
    return texts


def assert_harmless(name: str, text: str) -> None:
    kept = text.replace("\n", "")
    assert show_text(kept) == kept, (name, show_text(text)[:300])
    for line in text.splitlines():
        assert not line.startswith(("FORGED", "[31m")), (name, text[:300])


def test_no_text_carries_what_nobody_sees(table: pd.DataFrame) -> None:
    texts = list_texts(table)
    assert len(texts) > 40
    assert any("\\x1b[31m\\u202e" in text for text in texts.values())
    for name, text in texts.items():
        assert_harmless(name, text)


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        "simplify {t} --target {y} --reasons --verbose",
        "simplify {t} --target {y} --each-leaf --method faithful --reasons",
        "simplify {t} --target {y} --export text -o {o}",
        "simplify {t} --target {y} --export markdown -o {o}",
        "diagnose {t} --target {y} --pairs",
        "compare {t} --target {y}",
        "explain {r} {t}",
        "audit {r} {t} --target {y}",
        "verify {r} --data {t} --target {y}",
        "simplify {t} --target no-such-column",
    ],
)
def test_the_command_line_prints_nothing_hidden(
    arguments: str, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, rules, out = tmp_path / "t.parquet", tmp_path / "r.json", tmp_path / "o.txt"
    table.to_parquet(rows)
    _call(["simplify", str(rows), "--target", f"y{BAD}", "--export", "json", "-o", str(rules)], monkeypatch)
    words = [word.format(t=rows, y=f"y{BAD}", r=rules, o=out) for word in arguments.split()]
    assert_harmless(arguments, _call(words, monkeypatch))
    if out.exists():
        assert_harmless("the file", out.read_text())


def _call(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command says; as in a pipe, where nothing is translated for a terminal."""
    from secateur.cli import console

    monkeypatch.setattr(sys, "argv", ["secateur", *arguments])
    shown = io.StringIO()
    for name in ("out", "errors"):
        monkeypatch.delitem(vars(console), name, raising=False)
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown), contextlib.suppress(SystemExit):
        run()
    for name in ("out", "errors"):
        monkeypatch.delitem(vars(console), name, raising=False)
    return shown.getvalue()


@given(st.text())
def test_what_is_seen_stays(text: str) -> None:
    shown = show_text(text)
    assert show_text(shown) == shown
    assert text.isprintable() <= (len(shown) == len(text) or not text.isascii())


def test_words_of_other_scripts_stay() -> None:
    for words in ("Größe ≤ 3", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f469\u200d\U0001f467"):
        assert show_text(words) == words
