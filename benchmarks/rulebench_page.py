"""The page about RuleBench: its tables, verdicts and figures, written from the stored results.

``python -m benchmarks.rulebench_page docs`` writes the parts of ``rulebench.md`` between marks, and the figures.
"""

import csv
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.paper.documents import fill_page
from benchmarks.ranks import Ranking, rank_methods
from benchmarks.rulebench_operations import TREES
from secateur.errors import InputError
from secateur.lab.pages import Page, load_pyplot, to_markdown, write_figures
from secateur.lab.rulebench.data import SOURCES
from secateur.lab.rulebench.results import Results, load_stored
from secateur.lab.rulebench.run import NONE, OURS, PRUNED
from secateur.lab.rulebench.statistics import SUPPORTED, Comparison
from secateur.lab.rulebench.trees import KINDS, NO_TREE
from secateur.rows.whole_files import write_whole

__all__ = ["draw_figures", "examine", "list_statements", "make_blocks"]

HERE = Path(__file__).parent
MAIN = "cart-6"
M1P, LIST, BUDGET = "mismatch (M1-P)", "list", "list, budget 1 %"
COLUMNS = {
    **{"as read %": "read", "lines": "lines", "columns": "columns", "checked by hand": "checks"},
    **{"agreement %": "agreement", "conflict %": "conflict", "MacroDev": "macro_dev", "ΔAUC": "auc_kept"},
    **{"ΔBrier": "brier_kept", "Δcalibration": "calibration_kept", "unchanged %": "unchanged"},
}
RANKED = {"as read %": True, "ΔAUC": False, "unchanged %": False}  # whether less is better


class Statement(NamedTuple):
    """Something that is said of methods, and what must be true of a paired difference for it to be right."""

    who: str
    text: str
    method: str
    metric: str
    other: str | float  # a method, or a bound
    sign: int  # 1 where the difference must be above the region, -1 where below it
    rope: float
    or_equal: bool  # whether a difference inside the region is right, too


def list_statements() -> list[Statement]:
    """Read what the paper says, and what we do."""
    found = []
    text = (HERE / "rulebench_statements.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        other = row["other"] if row["other"] in (*OURS, PRUNED) else float(row["other"])
        numbers = (int(row["sign"]), float(row["rope"]), bool(row["or_equal"]))
        found.append(Statement(row["who"], row["text"], row["method"], row["metric"], other, *numbers))
    return found


def examine(results: Results, statement: Statement, tree: str) -> tuple[Comparison, str] | None:
    """Compare what a statement is about, and judge it; None where nothing was measured."""
    try:
        compared = results.compare(statement.method, statement.other, statement.metric, tree)
    except InputError:
        return None
    return compared, compared.judge(statement.rope, sign=statement.sign, or_equal=statement.or_equal)


def _means(results: Results, method: str, metric: str, tree: str) -> list[float]:
    return list(results.means(method, metric, tree).values())


def table_page(results: Results, tree: str = MAIN) -> Page:
    """Show the table to cite: every method on one kind of tree."""
    rows = []
    for method in (*OURS, PRUNED, "TE2Rules"):
        if _means(results, method, "conditions", tree):
            cells = [results.show_mean(method, metric, tree) for metric in COLUMNS.values()]
            worst = results.values(method, "conflict", tree)
            cells.append(f"{worst.max():.1f}" if len(worst) else "–")
            n_splits = results.values(method, "conditions", tree).index.get_level_values("split").nunique()
            few = f" ({n_splits} splits)" if n_splits < _count(results, tree)[1] else ""
            rows.append((method + few, str(len(_means(results, method, "conditions", tree))), *cells))
    note = f"{KINDS[tree].title}; means over {_count(results)[1]} splits, then over data sets ([columns](#what-is-run))"
    header = ("method", "data sets", *COLUMNS, "worst conflict %")
    return Page("The table to cite", note, header, tuple(rows))


def _count(results: Results, tree: str = MAIN) -> tuple[int, int]:
    """Count the data sets, and the splits that each has at least on a kind of trees."""
    found: dict[str, set[int]] = {}
    for row in results.rows:
        if row["tree"] == tree and row["method"] == NONE and not row["failed"]:
            found.setdefault(row["dataset"], set()).add(row["split"])
    return len(found), min(map(len, found.values()))


def trees_page(results: Results, metric: str = "read", title: str = "Conditions as read, in percent of edges") -> Page:
    """Show one number of every method on every kind of tree."""
    kinds = [name for name in KINDS if name != NO_TREE and _means(results, NONE, "conditions", name)]
    rows = [
        (method, *(results.show_mean(method, metric, tree) for tree in kinds))
        for method in (*OURS, PRUNED)
        if method != NONE or metric == "read"
    ]
    leaves = ("leaves of the tree", *(results.show_mean(NONE, "leaves", tree) for tree in kinds))
    counted = ("data sets", *(str(len(_means(results, NONE, "conditions", tree))) for tree in kinds))
    splits = ("splits of each", *(str(_count(results, tree)[1]) for tree in kinds))
    note = "means over splits, then over the data sets that have such trees"
    return Page(title, note, ("method", *kinds), (*rows, leaves, counted, splits))


def statements_page(results: Results) -> Page:
    """Show what is said, and what the results say to it, for three kinds of trees."""
    rows = []
    for statement in list_statements():
        for tree in (MAIN, "cart-unpruned", "streed"):
            found = examine(results, statement, tree)
            if found is None:
                continue
            compared, verdict = found
            below, inside, above = compared.probabilities(statement.rope)
            told = f"{below:.2f} / {inside:.2f} / {above:.2f}" if statement.rope else f"{below:.2f} / – / {above:.2f}"
            shown = verdict if verdict == SUPPORTED else f"**{verdict}**"
            numbers = (f"{compared.typical:+.3g}", f"{compared.n_above} of {len(compared.by_dataset)}")
            rows.append((statement.who, statement.text, tree, *numbers, f"{compared.p:.1g}", told, shown))
    note = (
        "*typical difference*: the first method minus the second or the bound, as the median of the means of all pairs "
        "of data sets. *Above 0 on*: data sets with a positive difference. *p*: Wilcoxon's test. *P*: probabilities "
        "that the difference is below, inside and above the region of practical equivalence; a bound has no such "
        "region. A verdict needs a probability of 95 %"
    )
    header = ("who", "statement", "trees", "typical difference", "above 0 on", "p", "P", "verdict")
    return Page("Statements", note, header, tuple(rows))


def rank(results: Results, title: str, tree: str = MAIN) -> Ranking:
    """Rank all methods of ours by one column."""
    table = {method: results.means(method, COLUMNS[title], tree) for method in OURS}
    return rank_methods(table, smaller_is_better=RANKED[title])


def ranks_page(results: Results, tree: str = MAIN) -> Page:
    """Show mean ranks by length, AUC and stability."""
    found = {title: rank(results, title, tree) for title in RANKED}
    ranks = {title: dict(zip(one.methods, one.ranks, strict=True)) for title, one in found.items()}
    rows = [
        (method, *(f"{ranks[title][method]:.2f}" for title in RANKED))
        for method in sorted(OURS, key=lambda method: ranks["as read %"][method])
    ]
    rows.append(("Friedman's p", *(f"{one.friedman_p:.1g}" for one in found.values())))
    note = f"{KINDS[tree].title}; 1 is best: fewest conditions, most AUC kept, most lines unchanged under a bootstrap"
    return Page("Mean ranks", note, ("method", *RANKED), tuple(rows))


def peers_page(results: Results) -> Page | None:
    """Show peers beside the list of a CART tree, on the splits that the peers have: how long they are, and how good."""
    learnt = [row for row in results.rows if row["tree"] == NO_TREE]
    if not learnt:
        return None
    most = max(row["split"] for row in learnt) + 1
    results = Results([row for row in results.rows if row["split"] < most])
    shown = [
        *((method, NO_TREE) for method in dict.fromkeys(row["method"] for row in learnt)),
        ("TE2Rules", MAIN),
        *((method, tree) for tree in (MAIN, "cart-pruned") for method in (NONE, LIST, BUDGET)),
    ]
    shared = _find_shared(results, shown)
    rows = []
    for method, tree in shown:
        cells = []
        for metric, form in (("conditions", ".1f"), ("lines", ".1f"), ("accuracy", ".1f"), ("auc", ".3f")):
            values = results.means(method, metric, tree)
            mine = [values[dataset] for dataset in shared if dataset in values]
            cells.append(f"{np.mean(mine):{form}}" if mine and len(mine) == len(shared) else "–")
        rows.append((method, "the rows" if tree == NO_TREE else KINDS[tree].title, *cells))
    note = f"means over {most} splits of the {len(shared)} data sets of two classes that all ran on; conditions as read"
    header = ("method", "of", "conditions", "lines", "accuracy %", "AUC")
    return Page("Beside learners of rules", note, header, tuple(rows))


def _find_shared(results: Results, pairs: list[tuple[str, str]]) -> list[str]:
    """List the data sets that all pairs of method and tree have."""
    found = [set(results.means(method, "conditions", tree)) for method, tree in pairs]
    return sorted(set.intersection(*found)) if found else []


def cost_page(results: Results) -> Page:
    """Show the processor time and the operations of every method on CART trees."""
    rows = []
    on_cart = [row for row in results.rows if row["tree"] in TREES]
    for method in (*OURS, PRUNED):
        mine = [row for row in on_cart if row["method"] == method]
        seconds = [row["seconds"] for row in mine]
        counted = [row["operations"] for row in mine if row["operations"] is not None]
        middle, most = (f"{number / 1000:,.0f}" for number in (np.median(counted), max(counted)))
        rows.append((method, f"{1000 * np.median(seconds):.1f}", f"{max(seconds):.2f}", middle, most))
    n_splits = {
        name: len({row["split"] for row in on_cart if row[name] is not None}) for name in ("seconds", "operations")
    }
    note = "the four kinds of CART trees; processor time on {seconds} splits, operations on {operations}".format(
        **n_splits
    )
    header = ("method", "median, ms", "longest, s", "median operations, thousands", "most, thousands")
    return Page("Cost", note, header, tuple(rows))


def summary(results: Results) -> str:
    """Say what was run, and what failed."""
    kinds = dict.fromkeys(row["tree"] for row in results.rows if row["tree"] != NO_TREE)
    ran = ", ".join("{}: {} × {}".format(tree, *_count(results, tree)) for tree in kinds)
    failed = Counter(
        (row["tree"] if "prove" in row["failed"] else row["method"], row["failed"].partition(" in ")[0])
        for row in results.failures
    )
    told = "; ".join(f"{name}: {words} ({number:,} times)" for (name, words), number in failed.items())
    run_with = ", ".join(
        f"{name} {' and '.join(found)}" for name, found in results.versions.items() if name not in ("commit", "sources")
    )
    found = {row["dataset"] for row in results.rows}
    missing = [name for name in SOURCES if name not in found]  # the dearest: large tables, and trees of many leaves
    left = f" Not run yet: {', '.join(missing)}." if missing else ""
    return (
        f"{len(results.rows):,} results, one for each data set, split, tree and method. Data sets × splits: {ran}. "
        f"{len(results.failures):,} are failures{' (' + told + ')' if told else ''}. Run with {run_with}.{left}\n"
    )


class Means:
    """Means of the main trees, or of those that are named, by "method|metric|tree", for the text of the page."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def __getitem__(self, asked: str) -> str:
        method, metric, tree = [*asked.split("|"), MAIN][:3]
        return self.results.show_mean(method, metric, tree)


def findings(results: Results) -> str:
    """Say what surprised, and what secateur loses at."""
    conflict = results.values(M1P, "conflict", MAIN)
    text = (HERE / "rulebench_findings.md").read_text(encoding="utf-8")
    return text.format(m=Means(results), worst=f"{conflict.max():.1f} % ({conflict.idxmax()[0]})")


def make_blocks() -> dict[str, str]:
    """Write the parts of ``rulebench.md``, by the name of their mark."""
    results = load_stored()
    more = {"conflict": "Rows in conflict, %", "unchanged": "Lines unchanged under a bootstrap of the rows, %"}
    pages: Mapping[str, Page | None] = {
        "cite": table_page(results),
        "ranks": ranks_page(results),
        "statements": statements_page(results),
        "peers": peers_page(results),
        "cost": cost_page(results),
    }
    blocks = {name: to_markdown(page, level=3) if page else "" for name, page in pages.items()}
    trees = [trees_page(results), *(trees_page(results, metric, title) for metric, title in more.items())]
    blocks["trees"] = "\n".join(to_markdown(page, level=3) for page in trees)
    return {**blocks, "findings": findings(results), "summary": summary(results)}


def draw_figures(directory: Path) -> list[Path]:
    """Draw length against fidelity, AUC kept and stability, and the diagram of critical differences."""
    results = load_stored()
    paths = []
    for name, metric, words in (
        ("fidelity", "agreement", "unseen rows that get the tree's class, %"),
        ("auc", "auc_kept", "AUC beside the tree's"),
        ("stability", "unchanged", "lines unchanged under a bootstrap of the rows, %"),
    ):
        figure, panels = load_pyplot().subplots(1, 2, figsize=(12, 5), layout="constrained", sharey=True)
        for panel, tree in zip(panels, (MAIN, "cart-unpruned"), strict=True):
            for method, marker in zip((*OURS, PRUNED), "ospDvh*X^<>+d", strict=False):
                across = _means(results, method, "read", tree)
                up = _means(results, method, metric, tree)
                if across and up:
                    panel.plot(np.mean(across), np.mean(up), marker, label=method, markersize=9)
            panel.set(xlabel="conditions as read, % of the tree's edges", title=KINDS[tree].title)
            panel.grid(alpha=0.3)
        panels[0].set(ylabel=words)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        paths += write_figures(directory, f"rulebench_{name}", figure, ("svg",))
    return [*paths, *_draw_ranks(results, directory)]


def _draw_ranks(results: Results, directory: Path) -> list[Path]:
    """Draw mean ranks; a bar joins methods of which no pair differs by Wilcoxon's test with Holm's correction."""
    figure, panels = load_pyplot().subplots(len(RANKED), 1, figsize=(10, 10), layout="constrained")
    for panel, title in zip(panels, RANKED, strict=True):
        found = rank(results, title)
        for place, (method, position) in enumerate(zip(found.methods, found.ranks, strict=True)):
            panel.plot([position, position], [0, -1 - place], color="gray", linewidth=0.8)
            panel.text(position, -1 - place, f"{method} {position:.1f}", va="center", fontsize=8, backgroundcolor="w")
        for level, (first, last) in enumerate(found.cliques):
            height = 0.5 + 0.6 * level
            panel.plot([found.ranks[first] - 0.03, found.ranks[last] + 0.03], [height, height], linewidth=4)
        panel.set(xlim=(0.5, len(OURS) + 2.5), ylim=(-1.5 - len(OURS), 1 + 0.6 * max(1, len(found.cliques))))
        panel.set(title=f"mean rank by {title}, {found.n_datasets} data sets", yticks=[])
        panel.xaxis.tick_top()
        for side in ("left", "right", "bottom"):
            panel.spines[side].set_visible(False)
    return write_figures(directory, "rulebench_ranks", figure, ("svg",))


if __name__ == "__main__":
    docs = Path(sys.argv[1])
    page = (docs / "rulebench.md").read_text(encoding="utf-8")
    write_whole(docs / "rulebench.md", fill_page(page, make_blocks()))
    draw_figures(docs / "figures")
