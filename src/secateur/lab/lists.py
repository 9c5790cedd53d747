"""How short a list about a tree can be, what it keeps of answers and probabilities, and what it costs to read.

Lists of several tolerances, numbers of sections and budgets lie beside pruned trees. A pruned tree is taken from the
path of cost-complexity pruning so that its text is as long as the list of the same split, as nearly as the path allows;
it is read as a list, and leaf by leaf. Only CART trees are pruned: the stand-in's local search has no such path.

Conditions are counted as bounds ("a < x ≤ b" has two), and a split between sections as two; beside them stand
conditions as they read. Rows are answered by what lines ask, never by asking the tree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import ListForm, choose_lines, choose_lines_by_budget
from secateur.datasets import Dataset
from secateur.lab.pages import Page, load_pyplot, show_numbers, write_figures
from secateur.lab.protocol import Arm, Study, split_rows
from secateur.lab.pruning import list_alphas, prune
from secateur.lab.summary import list_rows
from secateur.tree.shares import none_if_nan

LIST, TE2RULES, MERGED = "list", "TE2Rules", "merging bounds alone"
PRUNED, PRUNED_LEAVES = "pruned, read as a list", "pruned, leaf by leaf"
TOLERANCES, SECTIONS, BUDGETS = (0.05, 0.1, 0.2, 1.0), (1, 2, 4), (0.005, 0.01, 0.02)
EXACT_FORMS: tuple[tuple[float, Any], ...] = (*product(TOLERANCES, SECTIONS), (0.1, "auto"), (1.0, "auto"))
METRICS = (
    *("conditions_left", "read_left", "rules_left", "lines", "disagreement", "off", "off_worst", "delta_accuracy"),
    *("delta_auc", "delta_brier", "checks"),
)
# Title of a column -> metric, and how it is shown.
COLUMNS = {
    **{"bounds left %": ("conditions_left", ".1f"), "as read %": ("read_left", ".1f"), "lines": ("lines", ".1f")},
    **{"another class %": ("disagreement", ".2f"), "off %": ("off", ".2f"), "off, worst class %": ("off_worst", ".2f")},
    **{"ΔAUC": ("delta_auc", "+.3f"), "ΔBrier": ("delta_brier", "+.4f"), "checked by hand": ("checks", ".1f")},
}


@dataclass(frozen=True)
class LengthPoint:
    """A text at one setting: means over data sets; None where it has no such number."""

    method: str
    knob: str
    n_splits: int  # of each data set
    conditions_left: float  # percentages of the tree's bounds, and of its rules
    rules_left: float
    disagreement: float  # percentage of unseen rows that get another class than from the tree
    delta_accuracy: float
    read_left: float | None = None  # conditions as they read, in percent of the tree's edges
    lines: float | None = None
    off: float | None = None  # percentage of unseen rows that are off, and that of the class that has most
    off_worst: float | None = None
    delta_auc: float | None = None
    delta_brier: float | None = None
    checks: float | None = None  # conditions that a person looks at to find the line of an unseen row


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
    }


def measure_lists(arm: Arm, data: Dataset, split: int) -> dict[str, Any]:
    """Fit one tree, and measure every list about it on the rows left out."""
    X_train, X_test, y_train, y_test = split_rows(data, split)
    model = arm.fit(data, split, X_train, y_train)
    source = secateur.simplify(model, X_train, y_train, method="none", each_leaf=True)
    exact = secateur.simplify(model, X_train, y_train, each_leaf=True)
    answers = source.predict(X_test)
    made = {(*form, 0.0): choose_lines(exact, ListForm(*form)) for form in EXACT_FORMS}
    spent = choose_lines_by_budget(exact, BUDGETS, ListForm(0.1, 4))
    made |= {(0.1, 4, budget): rules for budget, rules in zip(BUDGETS, spent, strict=True)}
    # What the tree's own rules read when their bounds are merged and nothing is deleted.
    own = {"conditions_left": 100.0, "rules_left": 100.0, "lines": len(source), "checks": count_checks(source, X_test)}
    own |= {"read_left": 100 * source.tree_conditions / source.n_edges}
    rows, lengths = [{"method": MERGED, "knob": "", **dict.fromkeys(METRICS, 0.0), **own}], {}
    for form, rules in made.items():
        audit = rules.audit(X_test, y_test)
        rows.append(
            {
                **{"method": LIST, "knob": name_form(*form)},
                **compare_texts(source, rules.n_edges, len(rules), _decide(rules, X_test), answers, y_test),
                "read_left": 100 * rules.n_conditions / source.n_edges,
                "lines": rules.n_lines,
                "off": audit.off,
                "off_worst": float(np.nanmax(audit.off_by_class)),
                "delta_auc": audit.auc - audit.tree_auc,
                "delta_brier": audit.brier - audit.tree_brier,
                "checks": count_checks(rules, X_test),
            }
        )
        if form[:2] == (0.1, 4):
            lengths[name_form(*form)] = rules.n_edges
    if isinstance(model, DecisionTreeClassifier):
        rows += _measure_pruned(model, source, (X_train, y_train, X_test, y_test), lengths)
    return {"n_rules": len(source), "rows": rows}


def name_form(tolerance: float, sections: Any, budget: float) -> str:
    """Name a form for a table."""
    shares = "classes only" if tolerance == 1 else f"ε = {tolerance:g}"
    parts = "sections auto" if sections == "auto" else f"{sections} section{'' if sections == 1 else 's'}"
    return f"{shares}, {parts}" + (f", budget {100 * budget:g} %" if budget else "")


def _decide(rules: secateur.Rules, X: Any) -> NDArray[Any]:
    """Give each row the class of the first line whose conditions it satisfies; never by asking the tree."""
    passed = _pass_edges(rules, X)
    holds = np.column_stack([passed[:, list(line.kept_ids)].all(axis=1) for line in rules.lines])  # headings, too
    return np.asarray(rules.tree.classes[rules.class_ids[holds.argmax(axis=1)]])


def _pass_edges(rules: secateur.Rules, X: Any) -> NDArray[np.bool_]:
    """Whether each row of a matrix of numbers satisfies each edge, by its child node."""
    tree, paths = rules.tree, rules.paths
    left = np.asarray(X, dtype=np.float32)[:, np.maximum(tree.feature, 0)] <= tree.upper
    return np.asarray(left[:, paths.parent] == paths.is_left)


def count_checks(rules: secateur.Rules, X: Any) -> float:
    """Count the conditions that a person looks at, on average, headings too, from the top to the line of a row."""
    passed = _pass_edges(rules, X)

    def look(conditions: Sequence[Any], reading: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        looked, holds = np.zeros(len(passed), dtype=np.int64), reading.copy()
        for condition in conditions:
            looked += holds
            holds &= passed[:, list(condition.link_ids)].all(axis=1)
        return looked, holds

    total, searching = np.zeros(len(passed), dtype=np.int64), np.ones(len(passed), dtype=bool)
    for place, section in enumerate(rules.sections):
        is_last = place + 1 == len(rules.sections)
        looked, inside = look(() if is_last else section.heading, searching)
        total, searching, reading = total + looked, searching & ~inside, inside.copy()
        for line in section.rules:
            looked, holds = look(line.conditions, reading)
            total, reading = total + looked, reading & ~holds
    return float(total.mean())


def _measure_pruned(
    model: Any, source: secateur.Rules, rows: tuple[Any, Any, Any, Any], lengths: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Prune the tree until its text is as long as the list, and read it as a list of classes and leaf by leaf."""
    X_train, y_train, X_test, y_test = rows
    texts: dict[str, list[tuple[int, int, Any]]] = {PRUNED: [], PRUNED_LEAVES: []}
    for alpha in list_alphas(model, X_train, y_train):
        pruned = prune(model, alpha, X_train, y_train)
        predicted = pruned.predict(X_test)
        short = secateur.simplify(pruned, tolerance=1, sections=4)
        leaves = secateur.simplify(pruned, method="none", each_leaf=True)
        texts[PRUNED].append((short.n_edges, len(short), predicted))
        texts[PRUNED_LEAVES].append((leaves.n_edges, len(leaves), predicted))
    answers = source.predict(X_test)
    found = []
    for method, listed in texts.items():
        for knob, wanted in lengths.items():
            n_conditions, n_rules, predicted = min(listed, key=lambda text: abs(text[0] - wanted))
            measured = compare_texts(source, n_conditions, n_rules, predicted, answers, y_test)
            found.append({"method": method, "knob": knob, **dict.fromkeys(METRICS), **measured})
    return found


LISTS = Study("lists", measure_lists)


def find_points(splits: Sequence[dict[str, Any]]) -> list[LengthPoint]:
    """Average over splits, then over data sets."""
    rows = list_rows(splits)
    rows = rows.astype({name: float for name in METRICS if name in rows})
    by_dataset = rows.groupby(["method", "knob", "dataset"], sort=False)
    found = by_dataset[[name for name in METRICS if name in rows]].mean().groupby(["method", "knob"], sort=False).mean()
    least = by_dataset.size().groupby(["method", "knob"], sort=False).min()
    points = []
    for (method, knob), means in found.to_dict("index").items():
        numbers: dict[str, Any] = {str(name): none_if_nan(value) for name, value in means.items()}
        points.append(LengthPoint(method, knob, int(least[method, knob]), **numbers))
    return points


def lists_page(arm: Arm, points: Sequence[LengthPoint]) -> Page:
    """Show the points as a table."""
    n_splits = min((point.n_splits for point in points), default=0)
    note = f"{arm.title}, {n_splits} splits; percentages of the edges on its paths, and of unseen rows"
    rows = tuple((*_name(point), *show_numbers(point, COLUMNS)) for point in points)
    return Page(f"Lists: how short, and what changes, {arm.learner}", note, ("what is read", "setting", *COLUMNS), rows)


def _name(point: LengthPoint) -> tuple[str, str]:
    if point.method in (PRUNED, PRUNED_LEAVES):
        return f"the tree {point.method}", f"as long as {point.knob}"
    if point.method == MERGED:
        return "the tree's own rules", MERGED
    return ("the list", point.knob) if point.method == LIST else ("TE2Rules", "its own")


def draw_lengths(
    pages: Mapping[str, tuple[Arm, Sequence[LengthPoint]]], directory: Path, kinds: Sequence[str] = ("svg", "png")
) -> list[Path]:
    """Draw bounds left against rows that get another class, a panel for each arm."""
    figure, panels = load_pyplot().subplots(
        1, len(pages), figsize=(7 * len(pages), 5), layout="constrained", sharey=True, squeeze=False
    )
    handles: dict[str, Any] = {}
    kinds_of = {"ε = 0.1": "tab:blue", "classes only": "tab:cyan", PRUNED: "tab:orange", PRUNED_LEAVES: "tab:red"}
    for panel, (arm, points) in zip(panels[0], pages.values(), strict=True):
        for name, colour in {**kinds_of, TE2RULES: "tab:purple"}.items():
            mine = [point for point in points if point.method == name]  # pruned trees are named after lists, too
            mine += [point for point in points if point.method == LIST and point.knob.startswith(f"{name}, 4 sections")]
            if mine:
                across, up = [point.disagreement for point in mine], [point.conditions_left for point in mine]
                label = f"the list, 4 sections, {name}" if name in ("ε = 0.1", "classes only") else f"{name}"
                (handles[label],) = panel.plot(across, up, marker="o", color=colour, linestyle="-", clip_on=False)
        # The square root spreads what lies near 0, which a logarithm could not show.
        panel.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
        panel.set_xticks([0, 0.25, 0.5, 1, 2, 4, 8], ["0", "0.25", "0.5", "1", "2", "4", "8"])
        panel.set(xlabel="unseen rows that get another class than from the tree, %", title=arm.title, ylim=(0, 100))
        panel.set_xlim(left=0)
        panel.grid(alpha=0.3)
    panels[0][0].set(ylabel="bounds left, %")
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=3)
    return write_figures(directory, "lists", figure, kinds)


def _make_waveform(random: np.random.Generator) -> tuple[Any, Any]:
    """Breiman's waves: mixtures of two of three triangles, 21 noisy points each."""
    y, along, u = random.integers(3, size=1500), np.arange(21), random.uniform(size=(1500, 1))
    waves = np.stack([np.maximum(6 - np.abs(along - peak), 0) for peak in (6, 14, 10)])
    return u * waves[[0, 0, 1]][y] + (1 - u) * waves[[1, 2, 2]][y] + random.normal(size=(1500, 21)), y


def _make_led(random: np.random.Generator) -> tuple[Any, Any]:
    """Breiman's digits of seven lamps, each wrong one time in ten, beside 17 lamps that say nothing."""
    lamps = [0b1110111, 0b0010010, 0b1011101, 0b1011011, 0b0111010, 0b1101011, 0b1101111, 0b1010010, 0b1111111]
    lit = np.array([[int(bit) for bit in f"{digit:07b}"] for digit in (*lamps, 0b1111011)])
    y = random.integers(10, size=2000)
    X = np.hstack([lit[y], random.integers(2, size=(2000, 17))])
    return np.where(random.uniform(size=X.shape) < 0.1 * (np.arange(24) < 7), 1 - X, X).astype(float), y


# Tables of three to ten classes that nobody has to download: those of scikit-learn, and made ones.
MANY_CLASSES: dict[str, Callable[[np.random.Generator], tuple[Any, Any]]] = {
    "iris": lambda _: datasets.load_iris(return_X_y=True),
    "wine": lambda _: datasets.load_wine(return_X_y=True),
    "digits": lambda _: datasets.load_digits(return_X_y=True),
    "waveform": _make_waveform,
    "LED": _make_led,
    "quantiles": lambda _: datasets.make_gaussian_quantiles(n_samples=2000, n_features=6, n_classes=4, random_state=0),
    "clusters": lambda _: datasets.make_classification(
        2000, 12, n_informative=6, n_classes=5, n_clusters_per_class=1, flip_y=0.05, random_state=0
    ),
    "blobs": lambda _: datasets.make_blobs(2000, 5, centers=6, cluster_std=6.0, random_state=0),
}
MANY_FORMS: tuple[tuple[float, Any], ...] = ((1.0, 1), (1.0, 4), (1.0, "auto"), (0.1, 1), (0.1, 4), (0.1, "auto"))
MANY_SPLITS = 10


def measure_many_classes(name: str) -> dict[str, Any]:
    """Measure the bounds that exact lists about trees of many classes leave, in percent of the tree's."""
    X, y = MANY_CLASSES[name](np.random.default_rng(0))
    left = []
    for split in range(MANY_SPLITS):
        X_train, _, y_train, _ = train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)
        model = DecisionTreeClassifier(max_depth=6, random_state=split).fit(X_train, y_train)
        exact = secateur.simplify(model, X_train, y_train, each_leaf=True)
        lists = [choose_lines(exact, ListForm(*form)) for form in MANY_FORMS]
        left.append([len(exact), *(100 * rules.n_edges / len(exact.deleted) for rules in lists)])
    means = [round(float(mean), 6) for mean in np.mean(left, axis=0)]
    names = ["leaves", *(name_form(*form, 0.0) for form in MANY_FORMS)]
    return {"dataset": name, "classes": len(np.unique(y)), **dict(zip(names, means, strict=True))}


def many_classes_page(rows: Sequence[Mapping[str, Any]]) -> Page:
    """Show what is left of trees of many classes, and the means."""
    columns = {"leaves": ("leaves", ".0f")} | {
        name_form(*form, 0.0): (name_form(*form, 0.0), ".1f") for form in MANY_FORMS
    }
    listed = [(row["dataset"], str(row["classes"]), *show_numbers(row, columns)) for row in rows]
    means = {name: fmean(row[name] for row in rows) for name in columns}
    note = f"exact lists, CART of depth 6, {MANY_SPLITS} splits; bounds left, percentages of the tree's own rules"
    last = ("mean", "", *show_numbers(means, columns))
    return Page("Lists of many classes", note, ("table", "classes", *columns), (*listed, last))
