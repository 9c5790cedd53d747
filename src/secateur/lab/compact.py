"""How short a text about a tree can be, and on how many rows it then differs from the tree.

Lists at several budgets lie beside rules of the other methods, one for each leaf, and beside pruned trees. A pruned
tree is taken from the path of cost-complexity pruning so that its text is as long as the list of the same split, as
nearly as the path allows; it is read as a list, and leaf by leaf. Only CART trees are pruned: the stand-in's local
search has no such path.

Every number is counted anew from the rows that rules cover, so that nothing is taken from what a method promises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.datasets import Dataset
from secateur.lab.beyond import BY_FOLDS, GUARD, PAPER_TOLERANCES
from secateur.lab.figures import load_pyplot, write_figures
from secateur.lab.pages import Page
from secateur.lab.protocol import TOLERANCES, Arm, Study, split_rows
from secateur.methods import Why

__all__ = [
    *("BUDGETS", "COMPACT", "FACTS", "LEAF_BY_LEAF", "PRUNED", "PRUNED_LEAVES", "TE2RULES", "LengthPoint"),
    *("compact_page", "compare_texts", "draw_lengths", "find_points", "make_compact_study", "measure_lengths"),
]

BUDGETS = (0.0, 0.0025, 0.005, 0.01, 0.015)
COMPACT = "compact"
PRUNED, PRUNED_LEAVES = "pruned, read compactly", "pruned, leaf by leaf"
TE2RULES = "TE2Rules"
# One rule for each leaf: method -> its settings, by how they are shown; the paper's ε is that of the data set.
LEAF_BY_LEAF: dict[str, dict[str, dict[str, float]]] = {
    "exact": {"": {}},
    "mismatch": {PAPER_TOLERANCES: {}},
    "budgeted": {f"{share:g}": {"max_conflict": share, "tolerance": GUARD} for share in BUDGETS},
    "quinlan": {"": {}},
}
METRICS = ("conditions_left", "rules_left", "disagreement", "delta_accuracy")
# Rules that a budget shortened; those of them that fall too far below their leaf's reliability; and of all rules, those
# whose class most of their rows do not have, and conditions that two classes have.
FACTS = ("paid", "below_guard", "not_commonest", "twins")
PAID_FOR = (Why.WITHIN_BUDGET, Why.DECIDED_OTHERWISE)
ROUNDING = 1e-9


@dataclass(frozen=True)
class LengthPoint:
    """A form at one setting: means over data sets, and rules of all splits that break a promise."""

    method: str
    knob: str
    n_splits: int  # of each data set
    conditions_left: float  # percentages of the tree's conditions and rules
    rules_left: float
    disagreement: float  # percentage of unseen rows that differ from the tree
    delta_accuracy: float
    paid: int | None  # these are of FACTS; None for pruned trees and for other tools
    below_guard: int | None
    not_commonest: int | None
    twins: int | None


@dataclass(frozen=True)
class _Split:
    """One split: its rows, and what the tree says of those left out."""

    model: Any
    X_train: Any
    y_train: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    source: secateur.Rules  # the tree's own rules

    @cached_property
    def answers(self) -> NDArray[Any]:
        return self.source.predict(self.X_test)

    def measure(
        self, method: str, knob: str, n_conditions: int, n_rules: int, predicted: NDArray[Any]
    ) -> dict[str, Any]:
        measured = compare_texts(self.source, n_conditions, n_rules, predicted, self.answers, self.y_test)
        return {"method": method, "knob": knob, **measured}

    def count_broken(self, rules: secateur.Rules, chosen: NDArray[np.int64]) -> dict[str, int]:
        """Count the rules that a budget shortened, and those that break what it promises, on the training rows."""
        tree, class_ids = rules.tree, rules.paths.leaf_class[chosen]
        labels = self.y_train[:, None] == tree.classes
        counts = rules.covers(self.X_train)[:, chosen].T.astype(np.int64) @ labels
        of_class = counts[np.arange(len(chosen)), class_ids]
        reliability = of_class / np.maximum(counts.sum(axis=1), 1)
        is_paid = np.isin(rules.deletions.why, PAID_FOR)
        lost = np.bincount(rules.paths.rule[is_paid], minlength=len(rules))[chosen] > 0
        falls = self.source.reliability[chosen] - reliability > GUARD + ROUNDING
        texts: dict[tuple[str, ...], set[int]] = {}
        for place, class_id in zip(chosen.tolist(), class_ids.tolist(), strict=True):
            texts.setdefault(tuple(map(str, rules[place].conditions)), set()).add(class_id)
        return {
            "paid": int(lost.sum()),
            "below_guard": int(np.sum(lost & falls)),
            "not_commonest": int(np.sum(of_class < counts.max(axis=1))),
            "twins": sum(len(classes) > 1 for classes in texts.values()),
        }


def compare_texts(
    source: secateur.Rules,
    n_conditions: int,
    n_rules: int,
    predicted: NDArray[Any],
    answers: NDArray[Any],
    labels: NDArray[Any],
) -> dict[str, Any]:
    """Measure a text of some length against the tree's own rules and its answers on rows left out."""
    return {
        "conditions_left": 100 * n_conditions / source.n_edges,
        "rules_left": 100 * n_rules / len(source),
        "disagreement": 100 * float(np.mean(predicted != answers)),
        "delta_accuracy": 100 * float(np.mean(predicted == labels) - np.mean(answers == labels)),
        **dict.fromkeys(FACTS),
    }


def measure_lengths(
    arm: Arm, data: Dataset, split: int, *, picks: Mapping[tuple[str, int], Mapping[str, float]]
) -> dict[str, Any]:
    """Fit one tree, and measure every text about it on the rows left out."""
    X_train, X_test, y_train, y_test = split_rows(data, split)
    model = arm.fit(data, split, X_train, y_train)
    source = secateur.simplify(model, X_train, y_train, method="none", each_leaf=True)
    found = _Split(model, X_train, y_train, X_test, y_test, source)
    picked = picks.get((data.name, split), {}).get(COMPACT)
    rows, lengths = [], {}
    for budget, shown in [*((b, f"{b:g}") for b in BUDGETS), *([] if picked is None else [(picked, BY_FOLDS)])]:
        rules = secateur.simplify(model, X_train, y_train, budget=budget, tolerance=GUARD if budget else None)
        row = found.measure(COMPACT, shown, rules.n_edges, len(rules), _decide(rules, X_test))
        rows.append({**row, **found.count_broken(rules.each_leaf, rules.leaves)})
        lengths[shown] = rules.n_edges
    for method, knobs in LEAF_BY_LEAF.items():
        for shown, settings in knobs.items():
            known: dict[str, Any] = {"tolerance": TOLERANCES[data.name]} if shown == PAPER_TOLERANCES else settings
            leaf_rules = secateur.simplify(model, X_train, y_train, method=method, each_leaf=True, **known)
            kept = leaf_rules.n_edges
            row = found.measure(method, shown, kept, len(leaf_rules), leaf_rules.predict(X_test))
            rows.append({**row, **found.count_broken(leaf_rules, np.arange(len(leaf_rules)))})
    if isinstance(model, DecisionTreeClassifier):
        lengths.pop(BY_FOLDS, None)
        rows += _measure_pruned(found, lengths)
    return {"n_rules": len(source), "rows": rows}


def _decide(rules: secateur.Rules, X: Any) -> NDArray[Any]:
    """Give each row the class of the first rule that covers it, or "otherwise"; never by asking the tree."""
    covers = np.column_stack([rules.covers(X), np.ones(len(X), dtype=bool)])
    decided: NDArray[Any] = rules.tree.classes[rules.class_ids[covers.argmax(axis=1)]]
    return decided


def _measure_pruned(found: _Split, lengths: Mapping[str, int]) -> list[dict[str, Any]]:
    """Prune the tree until its text is as long as the list, and read it as a list and leaf by leaf."""
    path = found.model.cost_complexity_pruning_path(found.X_train, found.y_train)
    texts: dict[str, list[tuple[int, int, Any]]] = {PRUNED: [], PRUNED_LEAVES: []}
    n_leaves = -1
    for alpha in np.maximum(path.ccp_alphas, 0.0):
        pruned = clone(found.model).set_params(ccp_alpha=alpha).fit(found.X_train, found.y_train)
        if pruned.get_n_leaves() == n_leaves:
            continue
        n_leaves = int(pruned.get_n_leaves())
        predicted = pruned.predict(found.X_test)
        short, leaves = secateur.simplify(pruned), secateur.simplify(pruned, method="none", each_leaf=True)
        texts[PRUNED].append((short.n_edges, len(short), predicted))
        texts[PRUNED_LEAVES].append((leaves.n_edges, len(leaves), predicted))
    rows = []
    for method, listed in texts.items():
        for knob, wanted in lengths.items():
            nearest = min(listed, key=lambda text: abs(text[0] - wanted))  # the first is the least pruned
            rows.append(found.measure(method, knob, *nearest))
    return rows


def make_compact_study(picked: Sequence[dict[str, Any]]) -> Study:
    """Make the study from what the folds of each split picked (:data:`~secateur.lab.by_folds.BY_FOLDS`)."""
    picks = {
        (split["dataset"], split["split"]): {row["method"]: row["picked"] for row in split["rows"]} for split in picked
    }
    settings = {
        "budgets": list(BUDGETS),
        "guard": GUARD,
        "leaf_by_leaf": LEAF_BY_LEAF,
        "facts": list(FACTS),
        "by_folds": any(picks.values()),
    }
    return Study("compact", partial(measure_lengths, picks=picks), settings)


def find_points(splits: Sequence[dict[str, Any]]) -> list[LengthPoint]:
    """Average over splits, then over data sets; count rules over all splits."""
    rows = [{**row, "dataset": split["dataset"]} for split in splits for row in split["rows"]]
    found: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        found.setdefault((row["method"], row["knob"]), {}).setdefault(row["dataset"], []).append(row)
    points = []
    for (method, knob), by_dataset in found.items():
        means: dict[str, Any] = {
            metric: fmean(fmean(row[metric] for row in mine) for mine in by_dataset.values()) for metric in METRICS
        }
        all_rows = [row for mine in by_dataset.values() for row in mine]
        facts: dict[str, Any] = {fact: _add([row[fact] for row in all_rows]) for fact in FACTS}
        points.append(LengthPoint(method, knob, min(map(len, by_dataset.values())), **means, **facts))
    return points


def _add(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def compact_page(arm: Arm, points: Sequence[LengthPoint]) -> Page:
    """Show the points as a table."""
    points = _without_unpruned(points)
    rows = tuple(
        (
            *_name(point),
            f"{point.conditions_left:.1f}",
            f"{point.rules_left:.0f}",
            f"{point.disagreement:.2f}" if point.disagreement else "0",
            f"{point.delta_accuracy:+.2f}" if point.disagreement else "0",
        )
        for point in points
    )
    n_splits = min((point.n_splits for point in points), default=0)
    header = ("what is read", "setting", "edges left %", "rules left %", "rows that differ %", "ΔAccuracy")
    return Page(
        f"Conditions left, and unseen rows that differ from the tree, {arm.learner}",
        f"{arm.title}, {n_splits} splits; percentages of the tree's own rules, one for each leaf, and of the test rows",
        header,
        rows,
    )


def _without_unpruned(points: Sequence[LengthPoint]) -> list[LengthPoint]:
    """Leave out the pruned tree that is as long as the exact list when read so: nothing is pruned from it."""
    return [point for point in points if (point.method, point.knob) != (PRUNED, "0")]


def _name(point: LengthPoint) -> tuple[str, str]:
    """Say what is read, and its setting."""
    if point.method in (PRUNED, PRUNED_LEAVES):
        return _label(point.method), f"as long as the list, {_budget(point.knob)}"
    if point.method == COMPACT:
        return "the list", _budget(point.knob)
    if point.method == TE2RULES:
        return "TE2Rules", "its own"
    setting = f"δ = {_share(point.knob)}" if point.method == "budgeted" else point.knob
    return f"a rule for each leaf, {point.method}", setting


def _budget(knob: str) -> str:
    return {"0": "exact", BY_FOLDS: f"budget {BY_FOLDS}"}.get(knob) or f"budget {_share(knob)}"


def _share(knob: str) -> str:
    return f"{100 * float(knob):g} %"


# How each kind of text is drawn: its marker, colour and line.
STYLES = {
    COMPACT: ("o", "tab:blue", "-"),
    PRUNED: ("s", "tab:orange", "-"),
    PRUNED_LEAVES: ("D", "tab:red", "-"),
    TE2RULES: ("*", "tab:purple", ""),
    "budgeted": ("^", "tab:green", "-"),
    "exact": ("P", "tab:green", ""),
    "mismatch": ("X", "gray", ""),
}


def draw_lengths(
    pages: Mapping[str, tuple[Arm, Sequence[LengthPoint]]], directory: Path, kinds: Sequence[str] = ("svg", "png")
) -> list[Path]:
    """Draw conditions left against rows that differ, a panel for each arm."""
    figure, panels = load_pyplot().subplots(
        1, len(pages), figsize=(6.5 * len(pages), 5), layout="constrained", sharey=True, squeeze=False
    )
    handles: dict[str, Any] = {}
    for panel, (arm, points) in zip(panels[0], pages.values(), strict=True):
        for method, (marker, color, line) in STYLES.items():
            listed = [point for point in _without_unpruned(points) if point.knob != BY_FOLDS]
            mine = [point for point in listed if point.method == method]
            if not mine:
                continue
            across, up = [point.disagreement for point in mine], [point.conditions_left for point in mine]
            (handles[_label(method)],) = panel.plot(
                across, up, marker=marker, color=color, linestyle=line, clip_on=False
            )
            for point in mine if method == COMPACT else ():
                panel.annotate(
                    _budget(point.knob).removeprefix("budget "),
                    (point.disagreement, point.conditions_left),
                    xytext=(-5, -11) if point.disagreement else (6, 6),
                    textcoords="offset points",
                    ha="right" if point.disagreement else "left",
                    fontsize="small",
                )
        # The square root spreads what lies near 0, which a logarithm could not show.
        panel.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
        panel.set_xticks([0, 0.25, 0.5, 1, 2, 4, 8], ["0", "0.25", "0.5", "1", "2", "4", "8"])
        panel.set(xlabel="unseen rows that differ from the tree, %", title=arm.title, ylim=(0, 100))
        panel.set_xlim(left=0)
        panel.grid(alpha=0.3)
    panels[0][0].set(ylabel="conditions left, %")
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4)
    return write_figures(directory, "compact", figure, kinds)


def _label(method: str) -> str:
    if method in LEAF_BY_LEAF:
        return f"a rule for each leaf: {method}"
    names = {COMPACT: "the list", TE2RULES: TE2RULES, PRUNED: "the tree pruned, read as a list"}
    return names.get(method, f"the tree {method}")
