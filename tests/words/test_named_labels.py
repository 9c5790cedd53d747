"""Conditions on labels in words: those that hold are named where they are few, and a footnote tells of any other."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.words.plain_words import format_asked

LABELS = {"status": ["none", "low", "middle", "high"], "phone": ["no", "yes"], "use": list("abcdefg")}


def make_table(seed: int, n_rows: int = 300) -> tuple[pd.DataFrame, Any]:
    random = np.random.default_rng(seed)
    table = pd.DataFrame({name: random.choice(np.array(own, dtype=object), n_rows) for name, own in LABELS.items()})
    table["age"] = random.integers(18, 80, n_rows)
    score = (table["status"] == random.choice(LABELS["status"])) * 1.0 + (table["phone"] == "yes") * (table["age"] > 40)
    score += table["use"].isin(["a", "c"]) * 0.7 + random.normal(size=n_rows) * 0.3
    return table, np.where(score > 0.9, "default", "repaid")


def fit(seed: int, max_depth: int = 4) -> tuple[Any, pd.DataFrame, Any]:
    table, y = make_table(seed)
    texts = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), list(LABELS)), remainder="passthrough")
    model = make_pipeline(texts, DecisionTreeClassifier(max_depth=max_depth, min_samples_leaf=3, random_state=0))
    return model.fit(table, y), table, y


def read_back(text: str, labels: list[str]) -> set[str]:
    """Read which known labels a condition in words allows."""
    text = re.sub(" or (is )?missing$", "", text)
    ruled_out = re.fullmatch(r"\w+ is (?:not (\w+)|neither (.+) nor (\w+))", text)
    if ruled_out:
        named = [one for part in ruled_out.groups() if part for one in part.split(", ")]
        return set(labels) - set(named)
    named = re.fullmatch(r"\w+ is (.+)", text)
    assert named is not None
    return set(re.split(r", | or ", named[1]))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_what_is_said_of_labels_is_what_the_tree_asks(seed: int) -> None:
    model, table, y = fit(seed)
    rules = secateur.simplify(model, table, y)
    footnotes = [one for one in str(rules).splitlines() if one.startswith("A label that the tree does not know")]
    told = dict(re.findall(r"(\w+) (like \w+|by the condition)", footnotes[0])) if footnotes else {}
    for line in rules.lines:
        for one, text in zip(line.whole_conditions, format_asked(rules, line.kept_ids), strict=True):
            if one.categories is None:
                continue
            labels = LABELS[one.name]
            assert read_back(text, labels) == set(one.categories)
            is_named = not re.search(r" is (not|neither) ", text)
            assert is_named or len(one.categories) > 3
            if is_named and one.unlisted:
                assert one.name in told
            if told.get(one.name, "").startswith("like "):
                assert one.unlisted == (told[one.name].removeprefix("like ") in one.categories)
    for name, how in told.items():  # a row with an unknown label gets what the footnote says
        if not how.startswith("like "):
            continue
        rows = table.assign(**{name: how.removeprefix("like ")})
        strange = table.assign(**{name: "another"})
        assert rules.predict(strange).tolist() == rules.predict(rows).tolist() == model.predict(strange).tolist()


def make_rules() -> secateur.Rules:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"phone": random.choice(["no", "yes"], 200), "age": random.integers(18, 80, 200)})
    y = np.where((table["phone"] == "yes") & (table["age"] > 40), "default", "repaid")
    texts = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["phone"]), remainder="passthrough")
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    return secateur.simplify(make_pipeline(texts, tree).fit(table, y), table, y, sections=1, otherwise="default")


def test_a_column_of_two_labels_says_the_other_one() -> None:
    rules = make_rules()
    for text in (str(rules), rules.to_markdown(), rules.report().to_html()):
        assert "phone is no" in text
        assert "phone is not" not in text
        assert "answered so: phone like no." in text
    assert any("phone != yes" in line.text or "phone = no" in line.text for line in rules.lines)
    assert rules.verify()


@pytest.mark.parametrize(("phone", "said"), [("no", "phone is no"), ("satellite", "phone is not yes")])
def test_a_row_with_an_unknown_label_is_told_which_labels_are_ruled_out(phone: str, said: str) -> None:
    explained = make_rules().explain({"phone": phone, "age": 30})
    line = make_rules().explain({"phone": phone, "age": 60})
    assert said in line.text
    assert said in line.letter()
    assert ("phone is no " in f"{line.letter()} ".replace("\n", " ")) == (phone == "no")
    assert explained.prediction == line.prediction == "repaid"
