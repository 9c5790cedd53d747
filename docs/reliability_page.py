"""Write docs/reliability.md from the stored results of the long runs: ``make reliability``.

Nothing on that page is typed in: its numbers come from ``docs/reliability_*.json``, which the runs wrote. A test
compares the page with them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PAGE = DOCS / "reliability.md"
FAILURES = {
    "signal": "processes that a signal ended",
    "hang": "no answer in 10 seconds",
    "memory": "more than 2 GB of memory",
    "traceback": "errors that are no rejection",
    "no sentence": "rejections that are not one sentence",
    "wrong": "answers that the reference contradicts",
}
FORMATS = {
    "tree": ("a tree as JSON", "a walk over the fields of the JSON; the rules of the tree, by listing rows"),
    "rules": (
        "rules as JSON",
        "the same for its tree; edges, lines and counts of the file; where `verify` says yes, the promise, row by row",
    ),
    "packed": ("rules packed by gzip", "Python's `gzip`, then as for rules that are not packed"),
    "iai": ("Interpretable AI's JSON", "the vendor's own reader"),
    "skops": ("a model as skops", "the model itself"),
    "onnx": ("a tree as ONNX", "onnxruntime"),
    "pmml": ("a tree as PMML", "a walk over the elements of the file"),
    "csv": ("a table as CSV", "Python's `csv`"),
    "jsonl": ("a table as JSON lines", "Python's `json`"),
    "parquet": ("a table as Parquet", "Arrow, where DuckDB reads it for secateur"),
    "arrow": ("a table as Arrow", "Arrow itself, which secateur reads it with, too"),
}
PROMISED = (
    *("list", "list in sections", "each leaf", "certified by monotone signs"),
    *("list of values", "list of values in sections", "each leaf of values"),
)
CHANGED = {
    "class": "the class of a line",
    "condition": "a condition, dropped",
    "limit": "a limit, moved",
    "line": "a line, dropped",
    "share": "the share or the value of a line, moved",
    "otherwise, class": 'the class of "otherwise"',
    "otherwise, line": '"otherwise", dropped',
    "otherwise, share": 'the share or the value of "otherwise", moved',
    "value": "a category or a missing value, let in or kept out",
}
HEAD = """# Reliability

How often secateur was tried with damaged files, against brute force, against a solver, and by killing it, and how often
the tests noticed that something in it had been changed. Each run can be repeated and continued: `make fuzz MINUTES=60`,
`make oracle-run MINUTES=60`, `make smt-run N=500`, `make mutants N=200`. `make reliability` writes this page from what
they stored. Numbers are those of the version that a run tried; methods and files that later ones dropped keep their
names.
"""
INPUTS = """## Files that were changed a little

**{inputs:,} changed files** in {hours:.1f} hours. Small good files of each format are changed with an eye for their
form (fields, cells, elements, members of a zip file) or byte by byte; every other time the digest of rules is made
anew, as a forger would. Each file must be rejected in one sentence, or give an answer that an independent reference
agrees with. A process of its own reads them.

{failures}

| format | numbers of the files | rejected | read, reference agrees | read, not compared | failures |
|---|---|---|---|---|---|
{rows}

The number of a file is its seed: with the same versions of secateur and its libraries, it gives the same file. *Not
compared*: the reference rejects the file, or readers differ on what it means (quotes that are not closed, columns
without a name). Such a file was read without harm, but nothing says that it was read rightly. The references:

{references}

{found}
"""
FOUND = """\
On the way, {count} inputs failed, by a fault of secateur (kept in `tests/fuzz/corpus/`) or of the reference. All were
mended, tried again and count above as what they give now."""
RULES = """## Rules against brute force

**{rules:,} rules** of {trees:,} random trees (seeds 0 to {last:,}) in {hours:.1f} hours: **{disagreements:,}
disagreements**. The trees have 2 to 64 leaves, numbers of float32 or float64, categories, missing values, and two to
four classes; four in ten come with facts: groups, whole numbers, decimals, bounds, implications, orders. Rows may be
weighted. A row of every kind that a tree and its facts tell apart is listed, and each rule is judged by those rows and
by the training rows, one by one: what it deletes, which rows it covers, how many it counts. What is compared for each
method is said at the top of `tests/fuzz/rules_campaign.py`.

| rules of | rules |
|---|---|
{rows}

Lists count "otherwise" as a rule.
"""
SMT = """## Rules against a solver

**{files:,} files** of [SMT-LIB](exports.md#smt-lib-a-proof-by-any-solver) of {trees:,} random trees (seeds 0 to
{last:,}) in {hours:.1f} hours: **{wrong:,} wrong answers**. {promised:,} files are of rules that promise the
tree's answers, and all of these gave `unsat`. In their lines one thing was then changed, **{mutants:,} times**: z3
found a row for {found:,} mutants, and tree and lines, walked with its values, differed. For the other {same:,} it said
`unsat`, and brute force found no row either; it listed a row of every kind for {complete:,} of them, and 20,000 at
random for the rest.

| rules | `unsat` | `sat` |
|---|---|---|
{rows}

| what was changed | mutants | a row is found | changes no answer |
|---|---|---|---|
{changes}

Trees with {kinds}.
"""
KILLS = """## Commands that were killed while they wrote

**{killed:,} kills** in {runs:,} runs of commands that write (seed {seed}; {before:,} before a chosen system call,
{moment:,} at a random moment). After the next run **{mixed:,}** had left some files old and others new, and
**{leftovers:,}** had left anything over. Right after the kill {old:,} had all files old, {new:,} all new, and
{between:,} some of both, which the next run put right.
"""
MUTANTS = """## Who tests the tests

**{mutants:,} mutants** (seed {seed}): copies of secateur with one comparison, sign, number, truth value or statement
changed, in the rooms that proofs rest on. {killed:,} were killed, at least {added:,} of them only by a test that was
then added; {same:,} others cannot change an answer. Of those that can, **{share:.1f} %** are killed.{note}
`docs/reliability_mutants.json` says of each survivor why no test killed it.

| room | mutants | killed | cannot change an answer | survived |
|---|---|---|---|---|
{rows}
"""


def load(name: str) -> dict[str, Any] | None:
    """Load what a run stored; None if none did."""
    path = DOCS / f"reliability_{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


def write_page() -> str:
    """Write the page."""
    sections = {"inputs": _inputs, "rules": _rules, "smt": _smt, "kills": _kills, "mutants": _mutants}
    told = {name: load(name) for name in sections}
    parts = []
    for name, found in told.items():
        if found is not None:
            title, rest = sections[name](found).split("\n", 1)
            parts.append(f"{title}\n\nVersion {found['version']}.\n{rest}")
    return "\n".join([HEAD, *parts])


def _inputs(told: dict[str, Any]) -> str:
    failures = {name: sum(one[name] for one in told["formats"].values()) for name in FAILURES}
    rows = []
    kinds = [kind for kind in FORMATS if kind in told["formats"]]
    for kind in kinds:
        one = told["formats"][kind]
        failed = sum(one[name] for name in FAILURES)
        counts = " | ".join(f"{count:,}" for count in (one["refused"], one["agreed"], one["not compared"], failed))
        rows.append(f"| {FORMATS[kind][0]} | {one['numbers'][0]:,} to {one['numbers'][1]:,} | {counts} |")
    mended = told["found_and_mended"]
    return INPUTS.format(
        **told,
        failures="\n".join(f"- {words}: **{failures[name]:,}**" for name, words in FAILURES.items()),
        rows="\n".join(rows),
        references="\n".join(f"- {FORMATS[kind][0]}: {FORMATS[kind][1]}." for kind in kinds),
        found=FOUND.format(count=sum(mended.values())) if mended else "No input failed on the way.",
    )


def _rules(told: dict[str, Any]) -> str:
    rows = "\n".join(f"| {name} | {count:,} |" for name, count in told["methods"].items())
    return RULES.format(**{**told, "rows": rows, "last": told["trees"] - 1})


def _smt(told: dict[str, Any]) -> str:
    rules, changes = told["rules"], told["mutants"]
    promised = {name: said for name, said in rules.items() if name in PROMISED}
    found = sum(said.get("sat", 0) for said in changes.values())
    complete = sum(said.get("unchanged", 0) for said in changes.values())
    mutants = sum(sum(said.values()) for said in changes.values())
    rows = [f"| {name} | {rules[name].get('unsat', 0):,} | {rules[name].get('sat', 0):,} |" for name in rules]
    kinds = [
        f"| {words} | {sum(said.values()):,} | {said.get('sat', 0):,} | {sum(said.values()) - said.get('sat', 0):,} |"
        for words, said in ((CHANGED[name], said) for name, said in changes.items())
    ]
    return SMT.format(
        **{name: told[name] for name in ("trees", "wrong", "hours")},
        **{"last": told["trees"] - 1, "files": sum(sum(said.values()) for said in rules.values())},
        **{"promised": sum(said["unsat"] for said in promised.values()), "mutants": mutants, "found": found},
        **{"same": mutants - found, "complete": complete, "rows": "\n".join(rows), "changes": "\n".join(kinds)},
        kinds=", ".join(f"{words}: {count:,}" for words, count in told["kinds"].items()),
    )


def _kills(told: dict[str, Any]) -> str:
    right_after = told["found_right_after_the_kill"]
    return KILLS.format(
        **told,
        before=told["killed_before_a_system_call"],
        moment=told["killed_at_a_random_moment"],
        mixed=told["mixed_or_damaged_after_the_next_run"],
        leftovers=told["leftovers_after_the_next_run"],
        old=right_after["old"],
        new=right_after["new"],
        between=right_after["mixed"],
    )


def _mutants(told: dict[str, Any]) -> str:
    rows, totals = [], [0, 0, 0]
    for room, counts in told["rooms"].items():
        one = [counts["mutants"], counts["killed"], counts["cannot change an answer"]]
        totals = [total + count for total, count in zip(totals, one, strict=True)]
        rows.append(f"| `{room}` | {one[0]} | {one[1]} | {one[2]} | {one[0] - one[1] - one[2]} |")
    mutants, killed, same = totals
    added = told["killed_by_added_tests"]
    share = 100 * killed / max(1, mutants - same)
    note = f"\n\n{told['note']}" if told.get("note") else ""
    return MUTANTS.format(
        **{"seed": told["seed"], "mutants": mutants, "killed": killed, "added": added, "same": same},
        **{"share": share, "note": note, "rows": "\n".join(rows)},
    )


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
