"""Call every public function in this environment: each works, or says in one sentence which extra it needs.

``make core`` runs it with the core dependencies alone, and ``make matrix`` with everything. It needs no pytest.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur
import secateur.adapters
import secateur.errors
import secateur.results

NEEDS = re.compile(r"\S+ needs? .*: pip install '?secateur\[(\w+)\]'?\.$")
COMMANDS = ("simplify", "approximate", "audit", "compare", "diagnose", "diff", "explain", "export", "methods", "report")


def make_rows() -> tuple[Any, Any]:
    """Four columns and three classes, enough for a tree of some twenty leaves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).round(2)
    y = np.array(["low", "middle", "high"])[(X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 2] > 0.3)]
    return X, y


def build_by_hand() -> secateur.TreeBuilder:
    """Two leaves and a category."""
    builder = secateur.TreeBuilder(["no", "yes"], ["x", "city"], categories={"city": ["Oslo", "Rome"]})
    root = builder.split("x", 0.5)
    builder.leaf([1, 9], parent=root, side="left")
    town = builder.split_categories("city", ["Rome"], parent=root, side="right")
    builder.leaf([6, 4], parent=town, side="left")
    builder.leaf([1, 4], parent=town, side="right")
    return builder


def public_members(owner: type) -> list[str]:
    """List what the package itself defines on a class; what scikit-learn, tuple and list add is theirs."""
    return [
        name
        for name in dir(owner)
        if not name.startswith("_")
        and any(name in vars(base) for base in owner.__mro__ if base.__module__.startswith("secateur"))
    ]


def wanted_of(function: Callable[..., Any]) -> list[str]:
    """List the parameters that have no default."""
    given = inspect.signature(function).parameters.values()
    return [
        one.name
        for one in given
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) and one.name != "self"
    ]


def is_for_users(member: Any) -> bool:
    """Whether a member can be tried with rows and labels; what takes more needs a call of its own below."""
    if not inspect.isfunction(member) or member.__module__.startswith("sklearn"):
        return not callable(member)
    return {*wanted_of(member)} <= {"X", "y"}


def use(one: Any, member: str, rows: dict[str, Any]) -> Any:
    """Read an attribute, or call a method with rows and labels, if it takes them."""
    value = getattr(one, member)
    return value(**{name: rows[name] for name in wanted_of(value)}) if callable(value) else value


def run_command(*arguments: str) -> None:
    """Run the command line; its complaint is raised."""
    ran = subprocess.run([sys.executable, "-m", "secateur", *arguments], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise secateur.SecateurError(ran.stderr.strip())


def expect_damage(read: Callable[[bytes], Any]) -> None:
    """Read an empty file, which an installed library finds damaged."""
    with suppress(secateur.errors.FormatError):
        read(b"")


def judge(call: Callable[[], Any]) -> str:
    """Say that a call works, which extra it needs, or what went wrong."""
    try:
        call()
    except secateur.SecateurError as error:
        needs = NEEDS.search(str(error))
        return f"needs {needs[1]}" if needs else f"FAILED: {error}"
    except Exception:
        return "FAILED: " + traceback.format_exc(limit=-2)
    return "works"


def call_all(where: Path) -> dict[str, str]:
    """Say of each public name: "works", or the extra it asks for; anything else is raised in the end."""
    X, y = make_rows()
    model = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y)
    forest = RandomForestClassifier(3, max_leaf_nodes=8, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    leaves = secateur.simplify(model, X, y, method="faithful", each_leaf=True)
    other = secateur.simplify(DecisionTreeClassifier(max_depth=3).fit(X, y), X, y)
    evidence = secateur.collect_evidence(model, X, y)
    selection = secateur.select(model, X, y)
    diagnosis = secateur.diagnose(model, X, y)
    audit = rules.audit(X, y)
    approximation = secateur.approximate(forest, X, y, max_rules=3)
    many = secateur.simplify(forest, X, y, each_leaf=True)
    classifier = secateur.RuleClassifier(random_state=0).fit(X, y)
    regressor = secateur.RuleRegressor(random_state=0).fit(X, X[:, 0])
    for name, table in (("rows", np.column_stack([X, y])), ("unlabelled", X)):
        header = "a,b,c,d,y" if name == "rows" else "a,b,c,d"
        np.savetxt(where / f"{name}.csv", table, fmt="%s", delimiter=",", header=header, comments="")
    objects: list[Any] = [
        *(rules, leaves, approximation, rules[0], leaves[0], rules.sections[0], rules[0].conditions[0], rules.tree),
        *(
            next(iter(leaves[0].reasons.values())),
            rules.making,
            rules.choice,
            audit,
            audit.per_line,
            audit.per_line[0],
            evidence,
        ),
        *(selection, selection.curve[0], diagnosis, diagnosis[0], diagnosis.pairs(), approximation.fidelity),
        *(approximation.fidelity.overall, approximation.fidelity.weakest, many, many.audit(X, y)),
        *(
            rules.explain(X[0]),
            rules.explain(X[:3]),
            rules.verify(),
            rules.diff(other),
            rules.diff(other).changes[0],
            leaves.overlaps(X),
            secateur.results.parse_policy("1 if x0 > 1; otherwise 0", ["x0", "x1", "x2", "x3"], [0, 1, 2]),
        ),
        *(rules.plot(), classifier, regressor, regressor.rules_.audit(X, X[:, 0]), secateur.diagnose(forest, X, y)),
    ]
    calls: dict[str, Callable[[], Any]] = {
        "METHODS": lambda: [secateur.simplify(model, X, y, method=name, each_leaf=True) for name in secateur.METHODS],
        "SecateurError": lambda: secateur.SecateurError("No."),
        "approximate": lambda: secateur.approximate(forest, X, y),
        "approximate of a file": lambda: secateur.approximate(forest, where / "rows.csv", "y"),
        "collect_evidence": lambda: secateur.collect_evidence(model, X, y),
        "collect_evidence of a file": lambda: secateur.collect_evidence(rules.tree, where / "rows.csv", "y"),
        "datasets": lambda: secateur.datasets.load("weather"),
        "diagnose": lambda: secateur.diagnose(model, X, y),
        "find_groups": lambda: secateur.find_groups(X),
        "from_model": lambda: secateur.from_model(model),
        "from_model of a pipeline": lambda: secateur.from_model(
            make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)).fit(X, y), X
        ),
        "from_model of ONNX": lambda: expect_damage(secateur.adapters.read_onnx),
        "from_model of PMML": lambda: expect_damage(secateur.adapters.read_pmml),
        "select": lambda: secateur.select(model, X, y),
        "select with progress": lambda: secateur.select(model, X, y, progress=True),
        "select of a file": lambda: secateur.select(model, where / "rows.csv", "y"),
        "simplify": lambda: secateur.simplify(model),
        "simplify of a file": lambda: secateur.simplify(model, where / "rows.csv", "y"),
        "Diagnosis.effect_of": lambda: diagnosis.effect_of(diagnosis[0].leaf_id, diagnosis[0].link_id),
        "Diagnosis.effects_of": lambda: diagnosis.effects_of([(diagnosis[0].leaf_id, diagnosis[0].link_id)]),
        "Diagnosis.of_leaf": lambda: diagnosis.of_leaf(diagnosis[0].leaf_id),
        "Evidence.from_bytes": lambda: type(evidence).from_bytes(evidence.to_bytes()),
        "Evidence.load": lambda: (evidence.save(where / "evidence"), type(evidence).load(where / "evidence")),
        "Evidence.merge": lambda: evidence.merge(evidence),
        "Evidence.save": lambda: evidence.save(where / "evidence"),
        "PairEffects.of_leaf": lambda: diagnosis.pairs().of_leaf(diagnosis[0].leaf_id),
        "Picture.save": lambda: rules.plot().save(where / "picture.svg"),
        "Report": lambda: rules.report(X, y).to_html(),
        "Report.save": lambda: rules.report(X, y).save(where / "page.html"),
        "Report.to_html": lambda: rules.report(X, y).to_html(),
        "Report.to_json": lambda: rules.report(X, y).to_json(),
        "Rules.audit of a file": lambda: rules.audit(where / "rows.csv", "y"),
        "Rules.diff": lambda: rules.diff(other),
        "Rules.explain": lambda: rules.explain(X[0]),
        "Rules.from_json": lambda: secateur.Rules.from_json(rules.to_json()),
        "Rules.measure": lambda: rules.measure(X + 0.01, y),
        "Rules.predict of a file": lambda: rules.predict(where / "unlabelled.csv"),
        "Rules.write_predictions": lambda: rules.write_predictions(where / "unlabelled.csv", where / "answers.parquet"),
        "RuleRegressor.fit": lambda: secateur.RuleRegressor().fit(X, X[:, 0]),
        "RuleRegressor.score": lambda: regressor.score(X, X[:, 0]),
        "Tree.feature_name": lambda: rules.tree.feature_name(0),
        "Tree.from_json": lambda: secateur.Tree.from_json(rules.tree.to_json()),
        "TreeBuilder.build": lambda: build_by_hand().build(),
        "TreeBuilder.leaf": build_by_hand,
        "TreeBuilder.split": build_by_hand,
        "TreeBuilder.split_categories": build_by_hand,
    }
    for command in COMMANDS:
        calls[f"secateur {command}"] = lambda command=command: run_command(command, "--help")
    public = [(room, name) for room in (secateur, secateur.results) for name in room.__all__]
    for room, name in public:
        value = getattr(room, name)
        if inspect.isclass(value) and name not in calls:
            made = [one for one in objects if type(one) is value]
            for one in made or [None]:
                for member in public_members(value):
                    if f"{name}.{member}" not in calls and is_for_users(getattr(value, member)):
                        calls[f"{name}.{member}"] = partial(use, one, member, {"X": X, "y": y})
    outcomes = {}
    for name, call in sorted(calls.items()):
        outcomes[name] = judge(call)
    return outcomes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        found = call_all(Path(directory))
    for outcome in sorted(set(found.values())):
        names = [name for name, one in found.items() if one == outcome]
        print(f"{outcome}: {len(names)}" if outcome == "works" else f"{outcome}: {', '.join(names)}")
    sys.exit(any(outcome.startswith("FAILED") for outcome in found.values()))
