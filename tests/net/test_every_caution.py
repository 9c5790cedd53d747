"""Every output for people carries every caution that applies, in both forms, and none that does not.

CSV is for programs: its numbers are exact, so that there is nothing to caution about.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from functools import cache
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from net import forms
from rich.console import Console
from sklearn.tree import DecisionTreeClassifier

SEEDS = (3, 5)  # in the short list of the second, "otherwise" says a class that is not the commonest of its rows
GROUP = {"a": [f"a={place}" for place in range(4)]}


def strip_tags(page: str) -> str:
    """What a page shows, without its styles and scripts."""
    return unescape(re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", page)))


def print_rich(rules: Any) -> str:
    screen = io.StringIO()
    Console(file=screen, width=2_000).print(rules)
    return screen.getvalue()


def strip_commands(source: str) -> str:
    """What LaTeX prints, but for signs."""
    return re.sub(r"\\[a-z]+(\{\})?", " ", re.sub(r"(?m)^%.*$", "", source))


OUTPUTS: dict[str, Callable[[Any], str]] = {
    "text": lambda rules: rules.to_text(),
    "text with reasons": lambda rules: rules.to_text(reasons=True),
    "Markdown": lambda rules: rules.to_markdown(),
    "Markdown with reasons": lambda rules: rules.to_markdown(reasons=True),
    "LaTeX": lambda rules: strip_commands(rules.to_latex()),
    "terminal": print_rich,
    "notebook": lambda rules: strip_tags(rules._repr_html_()),
    "picture": lambda rules: strip_tags(rules.plot()._repr_svg_()),
    "report": lambda rules: strip_tags(rules.to_html()),
}
# Outputs that say what is guaranteed.
PROMISING = {
    "each leaf": ("Markdown", "Markdown with reasons", "terminal", "notebook", "report"),
    "short list": tuple(output for output in OUTPUTS if output != "LaTeX"),
}


@cache
def make_rules(form: str, seed: int) -> Any:
    """Rules to which every caution applies: weighted classes, one that is never predicted, a group, long numbers."""
    rng = np.random.default_rng(seed)
    n_rows, a = 900, rng.integers(0, 4, 900)
    X = pd.DataFrame({"x": rng.normal(size=n_rows), "z": rng.normal(size=n_rows) * 1000.123})
    X = X.assign(**{name: (a == place) * 1.0 for place, name in enumerate(GROUP["a"])})
    share = 0.3 / (1 + np.exp(-(X.x + X.z / 1500 + (a == 1) - (a == 2))))
    y = np.where(rng.random(n_rows) < share, "rare", "common").astype(object)
    y[:3] = "never"
    weights = {"rare": 4, "common": 1, "never": 0.01}
    model = DecisionTreeClassifier(max_depth=5, max_features=4, class_weight=weights, random_state=seed).fit(X, y)
    plain = {"tolerance": 1, "sections": 1} if form == "short list" else {}  # so that the group's fact counts
    return forms.FORMS[form](model, X, y, groups=GROUP, **plain)


@cache
def make_plain_rules(form: str) -> Any:
    """Rules to which no caution applies."""
    X = pd.DataFrame({"age": np.arange(60) % 30, "pay": np.arange(60) // 30})
    y = np.where((X.age > 9) & (X.age < 20) | (X.pay == 1), "yes", "no")
    return forms.FORMS[form](DecisionTreeClassifier(random_state=0).fit(X, y), X, y, method="none")


@cache
def words_of(form: str, output: str, seed: int | None = None) -> str:
    """What an output says of the rules of a seed, or of plain ones."""
    return squash(OUTPUTS[output](make_plain_rules(form) if seed is None else make_rules(form, seed)))


def squash(text: str) -> str:
    """The words of a text, without signs, so that it does not matter how these are escaped or where lines end."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def list_cells() -> list[Any]:
    """Every form, output and caution that an output of that form should carry."""
    cells = [
        (form, output, caution)
        for form in forms.FORMS
        for output in OUTPUTS
        for caution in ("mark", "rounded", "counted twice", "weighed otherwise", "remarks", "guarantee")
        if (caution != "counted twice" or form == "each leaf") and (caution != "guarantee" or output in PROMISING[form])
    ]
    return [pytest.param(*cell, id=", ".join(cell)) for cell in cells]


@pytest.mark.parametrize(("form", "output", "caution"), list_cells())
def test_every_output_carries_every_caution(form: str, output: str, caution: str) -> None:
    missing = []
    for seed in SEEDS:
        rules = make_rules(form, seed)
        words = words_of(form, output, seed)
        if caution == "mark":
            n_marks, n_lines = forms.count_marks(words), int(forms.rarer_lines(rules).sum())
            # A report shows the rules of leaves as well as the short list.
            missing += [f"{n_marks} of {n_lines} marks"] if n_marks < n_lines else []
            assert n_marks <= n_lines or output == "report", "a line is marked without need"
        else:
            told = forms.cautions(rules)[caution]
            missing += [either[0] for either in told if not any(squash(sentence) in words for sentence in either)]
    assert not missing


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("form", forms.FORMS)
def test_no_output_cautions_in_vain(form: str, output: str) -> None:
    plain = make_plain_rules(form)
    assert not forms.rarer_lines(plain).any()
    assert {name for name, told in forms.cautions(plain).items() if told} == {"guarantee"}
    words = words_of(form, output)
    assert forms.count_marks(words) == 0
    for caution, told in forms.cautions(make_rules(form, SEEDS[0])).items():
        if caution != "guarantee":
            assert not [sentence for either in told for sentence in either if squash(sentence) in words]


@pytest.mark.parametrize("form", forms.FORMS)
def test_every_caution_applies_to_these_rules(form: str) -> None:
    for seed in SEEDS:
        rules = make_rules(form, seed)
        assert forms.rarer_lines(rules).any()
        missing = {name for name, told in forms.cautions(rules).items() if not told}
        assert missing == ({"counted twice"} if form == "short list" else set())
        fact = "at most one of a's 4 columns is 1"
        assert (fact in rules.guarantee) == (fact in rules.assumptions), "what is guaranteed rests on a fact"
        assert fact in rules.each_leaf.guarantee
    assert forms.rarer_lines(make_rules("short list", SEEDS[1]))[-1], "otherwise is a line, too"


@pytest.mark.parametrize("form", forms.FORMS)
def test_every_marked_line_is_the_right_one(form: str) -> None:
    for seed in SEEDS:
        rules = make_rules(form, seed)
        told = {
            "text": rules.to_text(),
            "Markdown": rules.to_markdown(),
            "terminal": print_rich(rules),
            "notebook": rules._repr_html_(),
        }
        for output, pattern in forms.LINE_PATTERNS.items():
            marks = [forms.count_marks(line) for line in re.findall(pattern, told[output])]
            assert marks == forms.rarer_lines(rules).tolist(), output


@pytest.mark.parametrize("form", forms.FORMS)
def test_the_numbers_of_csv_are_exact(form: str) -> None:
    rules = make_rules(form, SEEDS[0])
    written = list(csv.DictReader(io.StringIO(rules.to_csv())))
    assert len(written) == len(forms.lines(rules))
    for row, rule in zip(written, rules, strict=False):
        # A minus sign that a spreadsheet would take for a formula is guarded.
        assert row["conditions"].removeprefix("'") == rule.text.rpartition(" => ")[0]
