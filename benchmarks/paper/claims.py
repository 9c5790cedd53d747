"""Every claim of the paper's results, as ``claims.csv`` lists them, held against our stored results.

:mod:`benchmarks.paper.verdicts` has the one rule for numbers and bounds. Cost is held against counted operations, a
table that is listed whole against all states of its tree. Where the paper speaks of IAI trees, ours are the stand-in's.
"""

import csv
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.paper.evidence import ARM_NAMES, Evidence
from benchmarks.paper.figures import sibling_rises, sibling_rule
from benchmarks.paper.operations import WITH_ROWS
from benchmarks.paper.verdicts import CONTRADICTED, SUPPORTED, UNDECIDED, Estimate, combine, estimate, mean_of, ratio_of
from secateur.lab.protocol import DATASETS, GRID, METHODS, TOLERANCES
from secateur.lab.sparse import KINDS, SOLVERS
from secateur.lab.summary import CONFLICT_CEILING

EXACT = ("M2-P", "Izza")
IRC, SHARE, REMOVED, CONFLICT, MACRO = "rule_irc_pct", "irc_per_rule_pct", "removed_pct", "conflict_pct", "macro_dev_pp"
ACCURACY = "delta_accuracy_pp"
KEPT = (ACCURACY, CONFLICT, MACRO)  # what an exact procedure leaves at 0, and what M1-P's worst split is told of
ABOVE = 1e-9  # for what must be more than nothing
FEW_POINTS, SOME, MUCH = 3.0, 0.5, 2.0  # what "close" and "similar" (points) and "markedly" (times) are taken for


class Finding(NamedTuple):
    """What we found on one part of a claim, and the verdict there."""

    part: str  # "stand-in", "CART", another name, or nothing
    ours: str
    verdict: str


Check = Callable[[Evidence], list[Finding]]
Look = Callable[[Evidence, str], tuple[str, str]]  # at an arm: what is found there, and the verdict
Stat = Callable[[Evidence, str], Estimate]


class Claim(NamedTuple):
    """What the paper says, where, and how our results are asked."""

    place: str
    text: str
    check: Check


def read_verdict(findings: list[Finding]) -> str:
    """Put the verdict on a claim into words."""
    if len({finding.verdict for finding in findings}) == 1:
        return findings[0].verdict
    return "; ".join(f"{finding.part} {finding.verdict}" for finding in findings)


def count_verdicts(findings: list[Finding]) -> dict[str, Counter[str]]:
    """Count the verdicts on each learner, and on what is judged without one."""
    found: dict[str, Counter[str]] = {name: Counter() for name in (*ARM_NAMES.values(), "")}
    for finding in findings:
        found[finding.part if finding.part in found else ""][finding.verdict] += 1
    return found


# What is measured on splits, for each learner.


def _arms(look: Look) -> Check:
    return lambda evidence: [Finding(name, *look(evidence, arm)) for arm, name in ARM_NAMES.items()]


def _mean(method: str, column: str) -> Stat:
    return lambda evidence, arm: evidence.mean(arm, method, column)


def _gap(method: str, other: str, column: str) -> Stat:
    def find(evidence: Evidence, arm: str) -> Estimate:
        pairs = zip(evidence.by_split(arm, method, column), evidence.by_split(arm, other, column), strict=True)
        return mean_of([ours - theirs for ours, theirs in pairs])

    return find


def _ratio(method: str, other: str, column: str) -> Stat:
    return lambda evidence, arm: ratio_of(evidence.by_split(arm, method, column), evidence.by_split(arm, other, column))


def _is(stat: Stat, iai: float, cart: float, worst: str = "") -> Check:
    """Judge a number of each learner; name M1-P's worst split in a column if there is one."""

    def look(evidence: Evidence, arm: str) -> tuple[str, str]:
        ours = stat(evidence, arm)
        form = "+.2f" if worst == ACCURACY else ".2f"
        return ours.show(form) + _worst(evidence, arm, worst), ours.is_near(iai if arm == "optimal" else cart)

    return _arms(look)


def _lies(stat: Stat, low: float = -math.inf, high: float = math.inf, note: str = "", worst: str = "") -> Check:
    """Judge a bound, or two."""

    def look(evidence: Evidence, arm: str) -> tuple[str, str]:
        ours = stat(evidence, arm)
        return ours.show() + note + _worst(evidence, arm, worst), ours.lies(low, high)

    return _arms(look)


def _worst(evidence: Evidence, arm: str, column: str) -> str:
    """Name the split on which M1-P does worst: the mean may rest on it."""
    if not column:
        return ""
    sign = -1 if column == ACCURACY else 1
    found = {d: float((sign * evidence.values(arm, d, "M1-P", column)).max()) for d in DATASETS}
    worst = max(found, key=lambda dataset: found[dataset])
    return f", worst split {sign * found[worst]:.1f} ({worst})"


def _measure(method: str, column: str, iai: float, cart: float) -> Check:
    return _is(_mean(method, column), iai, cart, column if method == "M1-P" and column in KEPT else "")


def _more(method: str, other: str, column: str, iai: float, cart: float) -> Check:
    return _is(_gap(method, other, column), iai, cart)


def _list_datasets(verdicts: Mapping[str, str]) -> str:
    """Count the data sets that support something, and name the others."""
    shown = [f"supported on {sum(v == SUPPORTED for v in verdicts.values())} of {len(verdicts)}"]
    for kind in (UNDECIDED, CONTRADICTED):
        named = [dataset for dataset, verdict in verdicts.items() if verdict == kind]
        shown += [f"{kind} on {', '.join(named)}"] if named else []
    return "; ".join(shown)


def _extreme(column: str, sign: float, where: str, iai: float, cart: float, method: str = "M1-P") -> Check:
    """Judge which data set has the largest (sign 1) or the smallest number, and the number."""

    def look(evidence: Evidence, arm: str) -> tuple[str, str]:
        values = {dataset: evidence.values(arm, dataset, method, column) for dataset in DATASETS}
        first = max(values, key=lambda dataset: sign * values[dataset].mean())
        ours = estimate([(1.0, values[where])])
        beyond = [estimate([(sign, values[where]), (-sign, values[d])]) for d in DATASETS if d != where]
        shown = f"{where} {ours.show()}" + ("" if first == where else f"; {first} {values[first].mean():.2f}")
        own = ours.is_near(iai if arm == "optimal" else cart)
        return shown, combine([own, *(gap.lies(ABOVE) for gap in beyond)])

    return _arms(look)


def _between(evidence: Evidence, arm: str) -> tuple[str, str]:
    pairs = (("M1-P", "M2-P"), ("M1-P", "Izza"), ("Quinlan", "M1-P"))
    removed = {method: evidence.mean(arm, method, REMOVED).value for method in METHODS}
    shown = " < ".join(f"{method} {removed[method]:.2f}" for method in sorted(removed, key=lambda m: removed[m]))
    return shown, combine(_gap(*pair, REMOVED)(evidence, arm).lies(ABOVE) for pair in pairs)


def _nothing_changes(evidence: Evidence, arm: str) -> tuple[str, str]:
    values = [v for method in EXACT for column in KEPT for v in evidence.by_split(arm, method, column)]
    largest, n_splits = max(float(np.abs(v).max()) for v in values), sum(map(len, values)) // len(EXACT) // len(KEPT)
    return f"largest change {largest:g} in {n_splits} splits", CONTRADICTED if largest else SUPPORTED


def _higher_everywhere(column: str, exception: str = "") -> Check:
    """M1-P above M2-P and Izza on every data set, but for one "arm: data set", where it is below Izza."""

    def look(evidence: Evidence, arm: str) -> tuple[str, str]:
        verdicts = {}
        for dataset in DATASETS:
            ours, *others = (evidence.values(arm, dataset, method, column) for method in ("M1-P", *EXACT))
            gaps = [estimate([(1.0, ours - other)]) for other in others]
            below = exception == f"{arm}: {dataset}"
            verdicts[dataset] = gaps[1].lies(high=0.0) if below else combine(gap.lies(ABOVE) for gap in gaps)
        return _list_datasets(verdicts), combine(verdicts.values())

    return _arms(look)


def _largest_conflict(evidence: Evidence, arm: str) -> tuple[str, str]:
    found = {d: estimate([(1.0, evidence.values(arm, d, "M1-P", CONFLICT))]) for d in DATASETS}
    worst = max(found, key=lambda dataset: found[dataset].value)
    shown = f"largest {found[worst].show()}, {worst}" + _worst(evidence, arm, CONFLICT)
    return shown, combine(one.lies(high=4.29) for one in found.values())


def _full_conflict(evidence: Evidence, arm: str) -> tuple[str, str]:
    """Whether Quinlan's rules conflict on all rows in every split of the named data sets, and of no other."""
    wanted = ("german", "heart-h") if arm == "optimal" else ("heart-h",)
    full = {d: evidence.values(arm, d, "Quinlan", CONFLICT) >= 99.995 for d in DATASETS}
    others = [d for d in DATASETS if d not in wanted and full[d].all()]
    shown = ", ".join(f"{d} on {full[d].sum()} of {len(full[d])} splits" for d in (*wanted, *others))
    return shown, CONTRADICTED if others else combine(_judge_all(int(full[d].sum()), len(full[d])) for d in wanted)


def _spambase(evidence: Evidence, arm: str) -> tuple[str, str]:
    (ours, macro), (conflict, other) = (
        [evidence.values(arm, "spambase", method, column) for method in ("M1-P", "Quinlan")]
        for column in (MACRO, CONFLICT)
    )
    gap, ratio = estimate([(1.0, macro - ours)]), ratio_of([other], [conflict])
    shown = f"MacroDev {gap.show('+.2f')} points, taken as ± {SOME:g}; conflict {ratio.show('.1f')} times"
    return shown, combine([gap.lies(-SOME, SOME), ratio.lies(MUCH)])


def _grid(evidence: Evidence) -> list[Finding]:
    """Whether ε keeps the ceilings for both learners on every data set, and whether the next one would not."""
    limits = ((ACCURACY, 0.0, math.inf), (CONFLICT, -math.inf, CONFLICT_CEILING))
    opposite = {SUPPORTED: CONTRADICTED, CONTRADICTED: SUPPORTED, UNDECIDED: UNDECIDED}
    verdicts = {}
    for dataset in DATASETS:
        own, *more = (
            combine(
                estimate([(1.0, evidence.values(arm, dataset, "M1-P", column, tolerance))]).lies(low, high)
                for arm in ARM_NAMES
                for column, low, high in limits
            )
            for tolerance in GRID[GRID.index(TOLERANCES[dataset]) :][:2]
        )
        verdicts[dataset] = combine([own, *(opposite[one] for one in more)])
    same = sum(choice.picked == choice.assumed for choice in evidence.choices)
    means = f"by our means the rule picks the ε of the tables on {same} of {len(verdicts)} data sets"
    shown = f"{means}; by their intervals {_list_datasets(verdicts)}"
    return [Finding("", shown, combine(verdicts.values()))]


# What is listed whole, and what is counted: no interval, but every state and every size.


def _judge_all(number: int, every: int) -> str:
    return SUPPORTED if number == every else UNDECIDED if number else CONTRADICTED


def _in_states(*facts: str, note: str = "") -> Check:
    """Judge statements "table: fact" over the states of its tree: true in all, in none, or in some."""

    def check(evidence: Evidence) -> list[Finding]:
        parts = [fact.split(": ", 1) for fact in facts]
        found = [(table, evidence.states[table][fact], evidence.states[table]["states"]) for table, fact in parts]
        shown = dict.fromkeys(f"{table}: in {number} of {every} states" for table, number, every in found)
        others = f"; in the other {evidence.states['Weather'][note]} M1-D removes more than Izza" if note else ""
        return [Finding("", "; ".join(shown) + others, combine(_judge_all(*numbers) for _, *numbers in found))]

    return check


def _sets_differ(evidence: Evidence) -> list[Finding]:
    found = evidence.states["Weather"]
    number, every = found["M1-D has one that M2-D has not"], found["states"]
    is_matched = any(sibling_rises(link) for link in sibling_rule().deleted_ids)
    shown = (
        f"Weather: M1-D deletes some that M2-D keeps in {number} of {every} states; in our sibling figure M2-D deletes "
        "one that is matched, which M1-D never does"
    )
    return [Finding("", shown, combine([_judge_all(number, every), _judge_all(int(is_matched), 1)]))]


def _within_bound(evidence: Evidence) -> list[Finding]:
    most, sizes = evidence.most_of_bound("M1-P"), evidence.sizes("leaves")
    shown = (
        f"at most {most:.2f} of the paper's bound M (V − 1 + Σ d (k + 2)), which is linear in rules of one length; "
        f"from {min(sizes)} to {max(sizes)} leaves paths lengthen, too, and operations grow with the power "
        f"{evidence.growth('leaves', 'M1-P'):.2f} of the leaves"
    )
    return [Finding("", shown, SUPPORTED if most <= 1 else CONTRADICTED)]


def _linear(*methods: str) -> Check:
    """Judge whether operations grow with the rows, to a tenth of the power."""

    def check(evidence: Evidence) -> list[Finding]:
        found, sizes = {method: evidence.growth("rows", method) for method in methods}, evidence.sizes("rows")
        shown = ", ".join(f"{method} {one:.2f}" for method, one in found.items())
        verdict = SUPPORTED if all(abs(one - 1) <= 0.1 for one in found.values()) else CONTRADICTED
        return [
            Finding("", f"from {min(sizes):,} to {max(sizes):,} rows operations grow with the power: {shown}", verdict)
        ]

    return check


def _without_and_with_rows(evidence: Evidence) -> list[Finding]:
    sizes, grown = evidence.sizes("rows"), evidence.growth("rows", WITH_ROWS)
    found = {m: [evidence.operations("rows", size, m) for size in sizes] for m in (*EXACT, WITH_ROWS)}
    bare = f"{', '.join(f'{method} {found[method][0]:,.0f}' for method in EXACT)} operations at every M"
    ranked = (
        f"M2-P {found[WITH_ROWS][0]:,.0f} to {found[WITH_ROWS][-1]:,.0f}, power {grown:.2f}, for the support and "
        "reliability of its rules"
    )
    is_flat = all(len(set(found[method])) == 1 for method in EXACT)
    return [
        Finding("without rows", bare, SUPPORTED if is_flat else CONTRADICTED),
        Finding("with rows", ranked, CONTRADICTED if grown > 0.1 else SUPPORTED),
    ]


def _times(panel: str, size: float, slow: str, fast: str) -> Check:
    """Count the operations behind a ratio of seconds, which decides nothing about another machine and program."""

    def check(evidence: Evidence) -> list[Finding]:
        ratio = evidence.operations(panel, int(size), slow) / evidence.operations(panel, int(size), fast)
        return [Finding("", f"{ratio:.1f} × the operations; seconds of two programs cannot be compared", UNDECIDED)]

    return check


def _does_less(fast: str, slow: str, least: float) -> Check:
    def check(evidence: Evidence) -> list[Finding]:
        ratios = {
            f"{size:,} {panel}": evidence.operations(panel, size, slow) / evidence.operations(panel, size, fast)
            for panel in ("leaves", "rows")
            for size in evidence.sizes(panel)
        }
        low, *_, high = sorted(ratios, key=lambda key: ratios[key])
        shown = f"{slow} does {ratios[low]:.1f} ({low}) to {ratios[high]:.1f} times ({high}) the operations"
        return [Finding("", shown, SUPPORTED if ratios[low] >= least else CONTRADICTED)]

    return check


# Trees that were proved optimal.


def _persists(evidence: Evidence) -> list[Finding]:
    """Whether Izza's procedure, which changes no answer, deletes anything from sparse trees."""
    findings = []
    for solver, arm in SOLVERS.items():
        removed = {kind: evidence.proved(solver, kind, "Izza", REMOVED) for kind in KINDS}
        found = {kind: mean_of(list(removed[kind].values())) for kind in KINDS}
        leaves = {kind: mean_of(list(evidence.proved(solver, kind, "Izza", "leaves").values())).value for kind in KINDS}
        shown = "; ".join(
            f"{kind} ({_name_some(removed[kind])}), {leaves[kind]:.1f} leaves: Izza {found[kind].show('.1f')} %"
            for kind in KINDS
        )
        findings.append(Finding(arm.learner, shown, found["sparse"].lies(ABOVE)))
    return findings


def _name_some(found: Collection[str]) -> str:
    """Name a single data set, or count them."""
    return f"{len(found)} data sets" if len(found) > 1 else f"{next(iter(found))} alone"


def _too_strict(evidence: Evidence) -> list[Finding]:
    """Whether M1-P deletes more from sparse trees than the procedures that change no answer."""
    findings = []
    for solver, arm in SOLVERS.items():
        ours, *others = (evidence.proved(solver, "sparse", method, REMOVED) for method in ("M1-P", *EXACT))
        gaps = [mean_of([values - other[name] for name, values in ours.items()]) for other in others]
        away = ", ".join(f"{m} {gap.show('+.1f')}" for m, gap in zip(EXACT, gaps, strict=True))
        shown = f"M1-P {mean_of(list(ours.values())).value:.1f} % ({_name_some(ours)}), in points more than {away}"
        findings.append(Finding(arm.learner, shown, combine(gap.lies(ABOVE) for gap in gaps)))
    return findings


# How a claim is asked, by the word for it in claims.csv; what follows are the arguments.
CHECKS: dict[str, Callable[..., Check]] = {
    "measure": _measure,
    "more": _more,
    "ratio": lambda method, other, column, iai, cart: _is(_ratio(method, other, column), iai, cart),
    "extreme": _extreme,
    "higher everywhere": _higher_everywhere,
    "stays below": lambda method, column, high: _lies(_mean(method, column), high=high, worst=column),
    "above": lambda method, column, low: _lies(_mean(method, column), low),
    "near": lambda method, other, column: _lies(
        _gap(method, other, column), -FEW_POINTS, FEW_POINTS, f" points removed, taken as ± {FEW_POINTS:g}"
    ),
    "markedly more": lambda method, other, column: _lies(
        _ratio(method, other, column), MUCH, note=f" times, taken as {MUCH:g} or more"
    ),
    "states": _in_states,
    "states and others": lambda note, *facts: _in_states(*facts, note=note),
    "linear": _linear,
    "times": _times,
    "does less": _does_less,
    **{
        words: lambda look=look: _arms(look)
        for words, look in {
            "between": _between,
            "nothing changes": _nothing_changes,
            "largest conflict": _largest_conflict,
            "full conflict": _full_conflict,
            "spambase": _spambase,
        }.items()
    },
    **{
        words: lambda check=check: check
        for words, check in {
            "persists": _persists,
            "too strict": _too_strict,
            "within bound": _within_bound,
            "without and with rows": _without_and_with_rows,
            "grid": _grid,
            "sets differ": _sets_differ,
        }.items()
    },
}


def _parse(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _list_claims() -> tuple[Claim, ...]:
    lines = (Path(__file__).parent / "claims.csv").read_text(encoding="utf-8").splitlines()
    return tuple(
        Claim(row["place"], row["text"], CHECKS[row["check"]](*map(_parse, filter(None, row["arguments"].split("; ")))))
        for row in csv.DictReader(lines)
    )


CLAIMS = _list_claims()
