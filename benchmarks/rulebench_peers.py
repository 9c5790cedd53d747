"""Peers on RuleBench: TE2Rules on CART trees, and learners of rules of imodels and Weka.

``make rulebench-peers`` makes an environment of their own and runs them. Each is a method or a learner as
:func:`secateur.lab.bench` takes it, with its default settings. Bounds on one column of one line count as one condition,
as for secateur's own rules.

The licence of TE2Rules is non-commercial (CC BY-NC 4.0), that of Weka the GPL: nothing of secateur imports them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.te2rules_lists import wrap_tree
from secateur.lab import bench
from secateur.lab.rulebench.data import SOURCES

__all__ = ["LEARNERS", "run_te2rules"]

COLUMN = re.compile(r"\bx(\d+)\b")


class Lines:
    """Lines of rules that a peer gave, and how it answers."""

    def __init__(self, lines: Sequence[Sequence[str]], predict: Callable[[Any], Any], shares: Any = None) -> None:
        self.lines, self.predict = lines, predict
        if shares is not None:
            self.predict_proba = shares


def find_columns(text: str) -> list[str]:
    """List the columns that a text asks about, each once: what reads as one condition."""
    return sorted(set(COLUMN.findall(text)))


def require_two(y: Any) -> None:
    """Raise for more than two classes."""
    if len(np.unique(y)) > 2:
        raise ValueError("two classes only")


def run_te2rules(tree: Any, X: Any, y: Any) -> Lines:
    """Let TE2Rules explain a tree as a forest of one."""
    from te2rules.explainer import ModelExplainer

    require_two(y)
    names = [f"x{column}" for column in range(X.shape[1])]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        explainer = ModelExplainer(model=wrap_tree(tree, X, y), feature_names=names, verbose=False)
        rules = explainer.explain(X=X.tolist(), y=tree.predict(X).tolist())

    def predict(new: Any) -> Any:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return np.array(explainer.predict(new.tolist()))

    return Lines([*(find_columns(rule) for rule in rules), []], predict)


def learn_greedy_list(X: Any, y: Any) -> Lines:
    """Learn imodels' greedy list: each line asks one thing, and the rest goes on."""
    from imodels import GreedyRuleListClassifier

    require_two(y)
    with contextlib.redirect_stdout(io.StringIO()):
        fitted = GreedyRuleListClassifier().fit(X, y)
    lines = [[str(rule["index_col"])] for rule in fitted.rules_ if "index_col" in rule]
    return Lines([*lines, []], lambda new: np.asarray(fitted.predict(new)).astype(int), fitted.predict_proba)


def learn_skope_rules(X: Any, y: Any) -> Lines:
    """Learn imodels' skope-rules; a row gets the class 1 if any of them holds, as in skope-rules itself."""
    from imodels import SkopeRulesClassifier

    require_two(y)
    fitted = SkopeRulesClassifier(random_state=0).fit(X, y)
    lines = [sorted({key[0] for key in rule.agg_dict}) for rule in fitted.rules_]
    return Lines([*lines, []], lambda new: (fitted._rules_vote(new) > 0).astype(int))


def learn_weka(X: Any, y: Any, *, name: str, read: Callable[[str], list[list[str]]]) -> Lines:
    """Learn rules or a tree with Weka's default settings."""
    import jpype

    classes = np.unique(y)

    def load(rows: Any, labels: Any) -> Any:
        head = [f"@attribute x{column} numeric" for column in range(X.shape[1])]
        head.append(f"@attribute y {{{','.join(map(str, classes))}}}")
        body = (
            ",".join([*map(repr, row), str(label)]) for row, label in zip(rows.tolist(), labels.tolist(), strict=True)
        )
        text = "\n".join(["@relation r", *head, "@data", *body, ""])
        instances = jpype.JClass("weka.core.Instances")(jpype.JClass("java.io.StringReader")(text))
        instances.setClassIndex(X.shape[1])
        return instances

    model = jpype.JClass(name)()
    model.buildClassifier(load(X, y))

    def find_shares(new: Any) -> Any:
        rows = load(new, np.full(len(new), classes[0]))
        return np.array([list(model.distributionForInstance(rows.instance(place))) for place in range(len(new))])

    lines = read(str(model.toString()))
    counted = int(model.measureNumLeaves() if "trees" in name else model.getMeasure("measureNumRules"))
    if len(lines) != counted:
        raise ValueError(f"{len(lines)} lines were read of {counted}")
    return Lines(lines, lambda new: classes[find_shares(new).argmax(axis=1)], find_shares)


def read_ripper(text: str) -> list[list[str]]:
    """Read JRip's rules, the last of which asks nothing."""
    return [find_columns(line.split("=>")[0]) for line in text.splitlines() if "=>" in line]


def read_part(text: str) -> list[list[str]]:
    """Read PART's rules, blocks between empty lines that end in ": class (rows)"."""
    blocks = re.split(r"\n\s*\n", text)
    return [find_columns(block.rsplit(":", 1)[0]) for block in blocks if re.search(r":\s+\S+\s+\([\d.]", block)]


def read_tree(text: str) -> list[list[str]]:
    """Read J48's leaves, each as the conditions on its path."""
    lines, path = [], []
    for line in text.splitlines():
        found = re.match(r"((?:\|\s+)*)(x\d+ \S+ [^:]+)(: \S+ \([\d.]+)?", line)
        if found:
            path[found[1].count("|") :] = [found[2]]
            if found[3]:
                lines.append(find_columns(" ".join(path)))
    return lines or [[]]


LEARNERS: dict[str, Callable[[Any, Any], Lines]] = {
    "imodels GreedyRuleList": learn_greedy_list,
    "imodels SkopeRules": learn_skope_rules,
    "Weka JRip (RIPPER)": partial(learn_weka, name="weka.classifiers.rules.JRip", read=read_ripper),
    "Weka PART": partial(learn_weka, name="weka.classifiers.rules.PART", read=read_part),
    "Weka J48 (C4.5)": partial(learn_weka, name="weka.classifiers.trees.J48", read=read_tree),
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="rulebench", type=Path, help="where finished splits are kept")
    parser.add_argument("--data-dir", help="directory of the published files and of the wheel")
    parser.add_argument("--weka", help="weka.jar; without it Weka's learners are left out")
    parser.add_argument("--splits", default=10, type=int)
    parser.add_argument("--datasets", help="comma-separated; by default all")
    given = parser.parse_args()
    learners = {name: learner for name, learner in LEARNERS.items() if given.weka or "Weka" not in name}
    if given.weka:
        import jpype

        jpype.startJVM("-Xmx1g", classpath=[given.weka])
    for dataset in given.datasets.split(",") if given.datasets else SOURCES:
        for place, methods in (("te2rules", {"TE2Rules": run_te2rules}), ("learners", learners)):
            found = bench(
                methods,
                datasets=[dataset],
                splits=given.splits,
                output=given.output / "peers" / place,
                data_dir=given.data_dir,
            )
        print(dataset, len(found.failures), flush=True)
