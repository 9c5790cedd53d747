"""Commands that write, and a judge of what they leave: all outputs old or all new, and nothing else."""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import datasets

__all__ = ["NEXT", "Scenario", "make_scenarios"]

# Another output in the same place, written by a run that comes later.
NEXT = [
    "-c",
    "from pathlib import Path; from secateur.rows.whole_files import write_whole; write_whole(Path('n'), 'x')",
]
PREDICT = """
import secateur
from pathlib import Path
secateur.Rules.from_json(Path({rules!r}).read_text()).write_predictions({rows!r}, "scored.parquet")
"""
SEVERAL = """
from pathlib import Path
from secateur.cli.writing import write_files
write_files({{Path(name): name * 5000 for name in {names!r}}}, force={force!r}, quiet=True)
"""


@dataclass(frozen=True)
class Scenario:
    """A command, its outputs, and whether they are there before."""

    name: str
    arguments: list[str]
    outputs: list[str]
    replaces: bool = True
    expected: dict[str, bytes] = field(default_factory=dict)  # what a run that nothing disturbed wrote

    def prepare(self, place: Path) -> None:
        """Make a directory that holds what the outputs held before, and nothing else."""
        shutil.rmtree(place, ignore_errors=True)
        for name in self.outputs:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            if self.replaces:
                (place / name).write_text(f"{name} before")

    def learn(self, place: Path) -> None:
        """Remember what a run that nothing disturbed wrote."""
        self.expected.update({name: (place / name).read_bytes() for name in self.outputs})

    def judge(self, place: Path) -> str:
        """Say "old", "new" or "mixed", or which output is neither."""
        states = {name: self._look(place, name) for name in self.outputs}
        if unknown := [name for name, state in states.items() if not state]:
            return f"damaged: {', '.join(unknown)}"
        return "mixed" if len(set(states.values())) > 1 else states.popitem()[1]

    def list_leftovers(self, place: Path) -> list[str]:
        """List all below the place that is no output."""
        known = {place / name for name in (*self.outputs, "n")}
        known |= {path.parent for path in known}
        return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path not in known)

    def _look(self, place: Path, name: str) -> str:
        path = place / name
        if not path.exists():
            return "" if self.replaces else "old"
        content = path.read_bytes()
        if self.replaces and content == f"{name} before".encode():
            return "old"
        try:
            if path.suffix == ".skops":  # it holds the time
                is_whole = zipfile.ZipFile(path).testzip() is None
            elif path.suffix == ".parquet":
                is_whole = pq.read_table(path).num_rows == 14
            else:
                is_whole = content == self.expected[name]
        except (zipfile.BadZipFile, OSError, ValueError):
            is_whole = False
        return "new" if is_whole else ""


def make_scenarios(room: Path) -> dict[str, Scenario]:
    """Make the commands, and in a directory of their own the files that they read."""
    room.mkdir(parents=True, exist_ok=True)
    data = datasets.load("weather")
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    made = secateur.simplify(model, data.X, data.y, feature_names=data.feature_names, each_leaf=True)
    rules, rows = str(room / "rules.json"), str(room / "rows.parquet")
    Path(rules).write_text(made.to_json())
    import pandas as pd

    pd.DataFrame(data.X, columns=data.feature_names).to_parquet(rows)
    files = ["p.html", "r.json", "m.skops"]
    simplify = ["simplify", "--report", files[0], "--export", "json", "-o", files[1], "--save-model", files[2]]
    apart = ["simplify", "--export", "sql", "-o", "a/r.sql", "--save-model", "b/m.skops", "--force"]
    few, many = [f"{letter}.txt" for letter in "ab"], [f"{letter}/t.txt" for letter in "ab"] + ["a/u.txt"]
    listed = [
        Scenario("simplify", [*simplify, "--force"], files),
        Scenario("simplify-new", simplify, files, replaces=False),
        Scenario("simplify-apart", apart, ["a/r.sql", "b/m.skops"]),
        Scenario("export", ["export", rules, "-o", "r.sql", "--force"], ["r.sql"]),
        Scenario("report", ["report", rules, "-o", "p.html", "--force"], ["p.html"]),
        Scenario("diagnose", ["diagnose", "--model", rules, "-o", "d.csv", "--force"], ["d.csv"]),
        Scenario("predictions", ["-c", PREDICT.format(rules=rules, rows=rows)], ["scored.parquet"], replaces=False),
        Scenario("files", ["-c", SEVERAL.format(names=many, force=True)], many),
        Scenario("files-new", ["-c", SEVERAL.format(names=few, force=False)], few, replaces=False),
    ]
    return {scenario.name: scenario for scenario in listed}
