"""Lists of rules for ensembles: ours beside those of other tools, as ``benchmarks/ensemble_lists.py`` measured them.

``python -m benchmarks.paper.ensembles DIRECTORY`` takes them from the output directory of a run into ``stored``.
"""

import csv
import io
import json
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from secateur.lab.protocol import DATASETS
from secateur.lab.summary import STORED
from secateur.rows.whole_files import write_whole

FILE = "ensembles.csv"
KINDS = {"forest": "forest of 100", "boosting": "boosting of 100", "xgboost": "XGBoost of 100"}
OURS, BESIDE = "secateur", "te2rules"
PEERS = {
    "te2rules": "TE2Rules",
    "greedy-list": "greedy rule list (imodels)",
    "skope-rules": "skope-rules (in imodels' copy), where any rule decides",
    "skope-vote": "the same rules, which vote, as imodels uses them",
}
COLUMNS = (
    *("approach", "kind", "dataset", "split", "version", "ended", "limit", "n_rules", "n_conditions"),
    *("fidelity", "accuracy", "model_accuracy", "seconds"),
)
NUMBERS = ("fidelity", "accuracy", "model_accuracy", "seconds")
DIGITS = 6


@cache
def load_lists() -> tuple[dict[str, Any], ...]:
    """Read every list that was measured; numbers of those that did not end are None."""
    lines = (STORED / FILE).read_text(encoding="utf-8").splitlines()
    return tuple({name: _read(name, value) for name, value in row.items()} for row in csv.DictReader(lines))


def _read(name: str, value: str) -> Any:
    if name in ("approach", "kind", "dataset", "version", "ended"):
        return value
    if value == "":
        return None
    return float(value) if name in NUMBERS else int(value)


def store_lists(output: Path, path: Path) -> int:
    """Take finished lists from the output directory of a run; return how many."""
    rows = []
    for approach in (OURS, *PEERS):
        for kind in KINDS:
            for dataset in DATASETS:
                for found in sorted((output / "ensembles" / approach / kind / dataset).glob("*.json")):
                    content = json.loads(found.read_text(encoding="utf-8"))
                    content |= {"approach": approach, "kind": kind, "dataset": dataset, "split": int(found.stem)}
                    rows.append({name: _round(content.get(name)) for name in COLUMNS})
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, file.getvalue())
    return len(rows)


def _round(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def compare_lists(peer: str = BESIDE) -> list[dict[str, Any]]:
    """Compare our lists with a peer's, by kind of model and data set, on the splits that both ended."""
    found = {(row["approach"], row["kind"], row["dataset"], row["split"]): row for row in load_lists()}
    compared = []
    for kind in KINDS:
        for dataset in DATASETS:
            pairs = [
                (mine, theirs)
                for (approach, *place), theirs in found.items()
                if (approach, place[:2]) == (peer, [kind, dataset])
                if theirs["ended"] == "yes" and (mine := found.get((OURS, *place))) and mine["ended"] == "yes"
            ]
            own = [
                row for row in load_lists() if (row["approach"], row["kind"], row["dataset"]) == (OURS, kind, dataset)
            ]
            compared.append({"kind": kind, "dataset": dataset, "n_splits": len(pairs), "pairs": pairs, "own": own})
    return compared


def _mean(rows: Iterable[dict[str, Any]], name: str) -> float:
    return fmean(row[name] for row in rows if row[name] is not None)


def _read_seconds(rows: Iterable[dict[str, Any]]) -> str:
    """Write the mean of what was timed."""
    timed = [row["seconds"] for row in rows if row["seconds"] is not None]
    return f"{fmean(timed):.1f}" if timed else ""


def _find_sides(one: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Give the peer's lists and ours, of the splits that both ended."""
    return [theirs for _, theirs in one["pairs"]], [mine for mine, _ in one["pairs"]]


def make_blocks() -> dict[str, str]:
    """Write the parts of ``approximate.md`` that show these results."""
    return {
        "lists": _write_table(),
        "lists-words": _write_words(),
        "lists-others": _write_others(),
        "coverage": _write_coverage(),
    }


def load_coverage() -> tuple[int, int]:
    """Read how many simulated intervals of a fidelity hold it on a large fresh sample, and of how many."""
    lines = (STORED / "coverage.csv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    return sum(int(row["covered"]) for row in rows), sum(int(row["simulations"]) for row in rows)


def _write_coverage() -> str:
    covered, total = load_coverage()
    return (
        f"In {total} simulations (`benchmarks/approximate_coverage.py`), the interval held the fidelity on a large "
        f"fresh sample in {covered}, that is {100 * covered / total:.1f} %.\n"
    )


def _write_table() -> str:
    titles = ("fidelity", "conditions", "seconds")
    columns = [f"{title}, {side}" if side == "TE2Rules" else side for title in titles for side in ("TE2Rules", "ours")]
    lines = [f"| model | data set | splits | {' | '.join(columns)} |", "|---|---|" + "--:|" * (len(columns) + 1)]
    for one in compare_lists():
        if one["pairs"]:
            sides = _find_sides(one)
            best = max(_mean(rows, "fidelity") for rows in sides)
            shares = [_mean(rows, "fidelity") for rows in sides]
            cells = [f"{share:.3f}" if share < best else f"**{share:.3f}**" for share in shares]
            cells += [f"{_mean(rows, 'n_conditions'):.0f}" for rows in sides]
            cells += [_read_seconds(rows) for rows in sides]
        else:
            own = one["own"]
            cells = ["–", f"{_mean(own, 'fidelity'):.3f}", "–", f"{_mean(own, 'n_conditions'):.0f}"]
            cells += ["", _read_seconds(own)]
        n_splits = one["n_splits"] or len(one["own"])
        lines.append(f"| {KINDS[one['kind']]} | {one['dataset']} | {n_splits} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def find_gains(kind: str) -> dict[str, float]:
    """Find how much more faithful ours are, by data set, for those on which TE2Rules ended."""
    found = {one["dataset"]: _find_sides(one) for one in compare_lists() if one["kind"] == kind and one["pairs"]}
    return {name: _mean(mine, "fidelity") - _mean(theirs, "fidelity") for name, (theirs, mine) in found.items()}


def _write_words() -> str:
    """Count where our lists are more faithful, say where there is no other, and how much faster they are made."""
    parts = [_write_kind(kind) for kind in KINDS]
    pairs = [pair for one in compare_lists() for pair in one["pairs"]]
    timed = [pair for pair in pairs if None not in (pair[0]["seconds"], pair[1]["seconds"])]
    ours, theirs = (fmean(pair[side]["seconds"] for pair in timed) for side in (0, 1))
    n_faster = sum(mine["seconds"] < other["seconds"] for mine, other in timed)
    version = next(row["version"] for row in load_lists() if row["approach"] == BESIDE)
    return "\n".join(
        [
            f"TE2Rules {version} and ours, {len(pairs)} pairs of lists:",
            "",
            *parts,
            f"- Both lists of {len(timed)} pairs were timed: ours took {ours:.1f} s of processor time on average, "
            f"TE2Rules' {theirs:.1f} s; ours was the faster one in {n_faster} of them.\n",
        ]
    )


def _write_kind(kind: str) -> str:
    """Count for one kind of model: data sets on which TE2Rules ended, and apart from them those on which it did not."""
    gains = find_gains(kind)
    won = [name for name, gain in gains.items() if gain > 0]
    lost = [f"{name} ({100 * gain:+.1f} points)" for name, gain in gains.items() if gain <= 0]
    alone = [name for name in DATASETS if name not in gains]
    sentences = [
        f"ours is more faithful on {len(won)} of the {len(gains)} data sets on which TE2Rules ended"
        + (f", and not on {' and '.join(lost)}" if lost else "")
        + f"; on average of the {len(gains)}, by {100 * fmean(gains.values()):+.1f} points."
    ]
    if alone:
        listed = ", ".join(alone[:-1]) + " and " * (len(alone) > 1) + alone[-1]
        sentences.append(f"On the other {len(alone)}, {listed}, TE2Rules gave no list in 120 s; ours is the only one.")
    return f"- {KINDS[kind]}: {' '.join(sentences)}"


def _write_others() -> str:
    """Say what the other tools' lists do, each beside ours on the same splits."""
    lines = []
    for peer, name in PEERS.items():
        pairs = [pair for one in compare_lists(peer) for pair in one["pairs"]]
        if peer == BESIDE or not pairs:
            continue
        mine, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        cases = [one for one in compare_lists(peer) if one["pairs"]]
        more = sum(_mean(ours, "fidelity") > _mean(others, "fidelity") for others, ours in map(_find_sides, cases))
        lines.append(
            f"| {name} | {len(pairs)} | {_mean(theirs, 'fidelity'):.3f} | {_mean(mine, 'fidelity'):.3f} "
            f"| {_mean(theirs, 'n_conditions'):.0f} | {_mean(mine, 'n_conditions'):.0f} | {more} of {len(cases)} |"
        )
    title = (
        "| list | splits | its fidelity | ours | its conditions | ours | ours more faithful, of models × data sets |"
    )
    lines = [title, "|---|--:|--:|--:|--:|--:|--:|", *lines] if lines else lines
    return "\n".join(lines) + "\n" if lines else "No other list was measured.\n"


if __name__ == "__main__":
    print("Stored:", store_lists(Path(sys.argv[1]), Path(str(STORED)) / FILE), "lists")
