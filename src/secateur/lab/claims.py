"""Every claim of the paper's results, sentence by sentence, held against our stored results.

:mod:`secateur.lab.verdicts` has the one rule for numbers and bounds. A statement about cost is held against counted
operations, one about a table that is listed whole against all states of its tree. Where the paper speaks of IAI trees,
ours are the stand-in's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from secateur.lab.evidence import ARM_NAMES, Evidence
from secateur.lab.exhibits import sibling_rises, sibling_rule
from secateur.lab.operations import WITH_ROWS
from secateur.lab.protocol import DATASETS, GRID, METHODS, TOLERANCES
from secateur.lab.sparse import KINDS, SOLVERS
from secateur.lab.tolerances import CONFLICT_CEILING
from secateur.lab.verdicts import (
    CONTRADICTED,
    LAST_DIGIT,
    SUPPORTED,
    UNDECIDED,
    Estimate,
    combine,
    estimate,
    judge,
    mean_of,
    ratio_of,
)

__all__ = ["CLAIMS", "Claim", "Finding", "count_verdicts", "read_verdict"]

EXACT = ("M2-P", "Izza")
IRC, SHARE, REMOVED, CONFLICT, MACRO = "rule_irc_pct", "irc_per_rule_pct", "removed_pct", "conflict_pct", "macro_dev_pp"
ACCURACY = "delta_accuracy_pp"
KEPT = (ACCURACY, CONFLICT, MACRO)  # what an exact procedure leaves at 0, and of which the worst split is told
FEW_POINTS, SOME = 3.0, 0.5  # what "close" and "similar" are taken for, in points
ABOVE = 1e-9  # for what must be more than nothing
MUCH = 2.0  # times: what "markedly", "substantially" are taken for

Check = Callable[[Evidence], "list[Finding]"]
Stat = Callable[[Evidence, str], Estimate]


@dataclass(frozen=True)
class Finding:
    """What we found on one part of a claim, and the verdict there."""

    part: str  # "stand-in", "CART", or nothing
    ours: str
    verdict: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and what our results say."""

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


# What most claims are made of. Pairs of numbers are the paper's, IAI first.


def _mean(method: str, column: str) -> Stat:
    return lambda evidence, arm: evidence.mean(arm, method, column)


def _gap(method: str, other: str, column: str) -> Stat:
    def find(evidence: Evidence, arm: str) -> Estimate:
        pairs = zip(evidence.by_split(arm, method, column), evidence.by_split(arm, other, column), strict=True)
        return mean_of([ours - theirs for ours, theirs in pairs])

    return find


def _ratio(method: str, other: str, column: str) -> Stat:
    return lambda evidence, arm: ratio_of(evidence.by_split(arm, method, column), evidence.by_split(arm, other, column))


def _is(stat: Stat, theirs: tuple[float, float], form: str = ".2f", worst: tuple[str, str] | None = None) -> Check:
    """Judge a number for each learner."""

    def check(evidence: Evidence) -> list[Finding]:
        findings = []
        for (arm, name), number in zip(ARM_NAMES.items(), theirs, strict=True):
            ours = stat(evidence, arm)
            findings.append(Finding(name, ours.show(form) + _worst(evidence, arm, worst), judge(ours, number=number)))
        return findings

    return check


def _lies(
    stat: Stat, low: float = -math.inf, high: float = math.inf, note: str = "", worst: tuple[str, str] | None = None
) -> Check:
    """Judge a bound, or two, for each learner."""

    def check(evidence: Evidence) -> list[Finding]:
        findings = []
        for arm, name in ARM_NAMES.items():
            ours = stat(evidence, arm)
            findings.append(Finding(name, ours.show() + note + _worst(evidence, arm, worst), judge(ours, low, high)))
        return findings

    return check


def _worst(evidence: Evidence, arm: str, what: tuple[str, str] | None) -> str:
    """Name the split on which a procedure does worst, where that matters."""
    if what is None:
        return ""
    method, column = what
    sign = -1 if column == ACCURACY else 1
    found = {d: sign * float((sign * evidence.values(arm, d, method, column)).max()) for d in DATASETS}
    worst = max(found, key=lambda dataset: sign * found[dataset])
    return f", worst split {found[worst]:.1f} ({worst})"


def _measure(method: str, column: str, theirs: tuple[float, float], form: str = ".2f") -> Check:
    return _is(_mean(method, column), theirs, form, (method, column) if method == "M1-P" and column in KEPT else None)


def _more(method: str, other: str, column: str, theirs: tuple[float, float]) -> Check:
    return _is(_gap(method, other, column), theirs)


def _list_datasets(verdicts: Mapping[str, str]) -> str:
    """Count the data sets that support something, and name the others."""
    shown = [f"supported on {sum(v == SUPPORTED for v in verdicts.values())} of {len(verdicts)}"]
    for kind in (UNDECIDED, CONTRADICTED):
        named = [dataset for dataset, verdict in verdicts.items() if verdict == kind]
        shown += [f"{kind} on {', '.join(named)}"] if named else []
    return "; ".join(shown)


def _extreme(column: str, sign: int, where: str, theirs: tuple[float, float], method: str = "M1-P") -> Check:
    """Judge which data set has the largest (sign 1) or the smallest number, and the number."""

    def check(evidence: Evidence) -> list[Finding]:
        findings = []
        for (arm, name), number in zip(ARM_NAMES.items(), theirs, strict=True):
            values = {dataset: evidence.values(arm, dataset, method, column) for dataset in DATASETS}
            first = max(values, key=lambda dataset: sign * values[dataset].mean())
            ours = estimate([(1.0, values[where])])
            beyond = [estimate([(sign, values[where]), (-sign, values[d])]) for d in DATASETS if d != where]
            shown = f"{where} {ours.show()}" + ("" if first == where else f"; {first} {values[first].mean():.2f}")
            verdict = combine([judge(ours, number=number), *(judge(gap, ABOVE) for gap in beyond)])
            findings.append(Finding(name, shown, verdict))
        return findings

    return check


def _between(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        pairs = (("M1-P", "M2-P"), ("M1-P", "Izza"), ("Quinlan", "M1-P"))
        verdict = combine(judge(_gap(*pair, REMOVED)(evidence, arm), ABOVE) for pair in pairs)
        removed = {method: evidence.mean(arm, method, REMOVED).value for method in METHODS}
        ordered = sorted(removed, key=lambda method: removed[method])
        findings.append(Finding(name, " < ".join(f"{method} {removed[method]:.2f}" for method in ordered), verdict))
    return findings


def _nothing_changes(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        values = [v for method in EXACT for column in KEPT for v in evidence.by_split(arm, method, column)]
        largest = max(float(np.abs(v).max()) for v in values)
        n_splits = sum(map(len, values)) // len(EXACT) // len(KEPT)
        verdict = SUPPORTED if largest == 0 else CONTRADICTED
        findings.append(Finding(name, f"largest change {largest:g} in {n_splits} splits", verdict))
    return findings


def _higher_everywhere(column: str, exception: tuple[str, str] | None = None) -> Check:
    """M1-P above M2-P and Izza on every data set, but for one (arm, data set), where it is below Izza."""

    def check(evidence: Evidence) -> list[Finding]:
        findings = []
        for arm, name in ARM_NAMES.items():
            verdicts = {}
            for dataset in DATASETS:
                ours, sibling, izza = (evidence.values(arm, dataset, m, column) for m in ("M1-P", *EXACT))
                gaps = [estimate([(1.0, ours - other)]) for other in (sibling, izza)]
                is_other = exception == (arm, dataset)
                found = [judge(gaps[1], high=0.0)] if is_other else [judge(gap, ABOVE) for gap in gaps]
                verdicts[dataset] = combine(found)
            findings.append(Finding(name, _list_datasets(verdicts), combine(verdicts.values())))
        return findings

    return check


def _largest_conflict(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        found = {d: estimate([(1.0, evidence.values(arm, d, "M1-P", CONFLICT))]) for d in DATASETS}
        worst = max(found, key=lambda dataset: found[dataset].value)
        shown = f"largest {found[worst].show()}, {worst}" + _worst(evidence, arm, ("M1-P", CONFLICT))
        findings.append(Finding(name, shown, combine(judge(one, high=4.29) for one in found.values())))
    return findings


def _quinlan_full_conflict(evidence: Evidence) -> list[Finding]:
    """Whether every split of the named data sets, and of no other, is in full conflict."""
    findings = []
    for (arm, name), wanted in zip(ARM_NAMES.items(), (("german", "heart-h"), ("heart-h",)), strict=True):
        full = {d: evidence.values(arm, d, "Quinlan", CONFLICT) >= 100 - LAST_DIGIT for d in DATASETS}
        verdicts = [_judge_all(int(full[d].sum()), len(full[d])) for d in wanted]
        others = [d for d in DATASETS if d not in wanted and full[d].all()]
        shown = ", ".join(f"{d} on {int(full[d].sum())} of {len(full[d])} splits" for d in (*wanted, *others))
        findings.append(Finding(name, shown, CONTRADICTED if others else combine(verdicts)))
    return findings


def _spambase(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        (ours, macro), (conflict, other) = (
            tuple(evidence.values(arm, "spambase", method, column) for method in ("M1-P", "Quinlan"))
            for column in (MACRO, CONFLICT)
        )
        gap, ratio = estimate([(1.0, macro - ours)]), ratio_of([other], [conflict])
        shown = f"MacroDev {gap.show('+.2f')} points, taken as ± {SOME:g}; conflict {ratio.show('.1f')} times"
        findings.append(Finding(name, shown, combine([judge(gap, -SOME, SOME), judge(ratio, MUCH)])))
    return findings


def _grid(evidence: Evidence) -> list[Finding]:
    """Whether ε keeps the ceilings for both learners on every data set, and whether the next one would not."""
    verdicts = {}
    for dataset in DATASETS:
        kept = {}
        for tolerance in GRID[GRID.index(TOLERANCES[dataset]) :][:2]:
            kept[tolerance] = combine(
                judge(estimate([(1.0, evidence.values(arm, dataset, "M1-P", column, tolerance))]), low, high)
                for arm in ARM_NAMES
                for column, low, high in ((ACCURACY, 0.0, math.inf), (CONFLICT, -math.inf, CONFLICT_CEILING))
            )
        own, *more = kept.values()
        opposite = {SUPPORTED: CONTRADICTED, CONTRADICTED: SUPPORTED, UNDECIDED: UNDECIDED}
        verdicts[dataset] = combine([own, *(opposite[one] for one in more)])
    same = sum(choice.picked == choice.assumed for choice in evidence.choices)
    shown = f"by our means the rule picks the ε of the tables on {same} of {len(verdicts)}; {_list_datasets(verdicts)}"
    return [Finding("", shown, combine(verdicts.values()))]


# What is listed whole, and what is counted: no interval, but every state and every size.


def _judge_all(number: int, every: int) -> str:
    return SUPPORTED if number == every else UNDECIDED if number else CONTRADICTED


def _in_states(table: str, *facts: str, note: str = "") -> Check:
    """Judge statements about a deterministic table over the states of its tree: in all, in none, or in some."""

    def check(evidence: Evidence) -> list[Finding]:
        found = evidence.states[table]
        shown = dict.fromkeys(f"in {found[fact]} of {found['states']} states" for fact in facts)
        others = f"; in the other {found[note]} M1-D removes more than Izza" if note else ""
        verdict = combine(_judge_all(found[fact], found["states"]) for fact in facts)
        return [Finding("", f"{table}: {', '.join(shown)}{others}", verdict)]

    return check


def _both(*checks: Check) -> Check:
    def check(evidence: Evidence) -> list[Finding]:
        found = [finding for one in checks for finding in one(evidence)]
        shown = "; ".join(finding.ours for finding in found)
        return [Finding("", shown, combine(finding.verdict for finding in found))]

    return check


def _within_bound(method: str) -> Check:
    def check(evidence: Evidence) -> list[Finding]:
        most, sizes = evidence.most_of_bound(method), evidence.sizes("leaves")
        shown = (
            f"{most:.2f} of the bound M (V − 1 + Σ d (k + 2)) at most; operations grow with the power "
            f"{evidence.growth('leaves', method):.2f} of {min(sizes)} to {max(sizes)} leaves, as paths lengthen, too"
        )
        return [Finding("", shown, SUPPORTED if most <= 1 else CONTRADICTED)]

    return check


def _grows(methods: tuple[str, ...], power: float) -> Check:
    """Judge with which power of the rows operations grow, to a tenth."""

    def check(evidence: Evidence) -> list[Finding]:
        found = {method: evidence.growth("rows", method) for method in methods}
        sizes = evidence.sizes("rows")
        shown = ", ".join(f"{method} {one:.2f}" for method, one in found.items())
        verdicts = [SUPPORTED if abs(one - power) <= 0.1 else CONTRADICTED for one in found.values()]
        return [Finding("", f"power of {min(sizes):,} to {max(sizes):,} rows: {shown}", combine(verdicts))]

    return check


def _without_and_with_rows(evidence: Evidence) -> list[Finding]:
    sizes = evidence.sizes("rows")
    found = {m: [evidence.operations("rows", size, m) for size in sizes] for m in (*EXACT, WITH_ROWS)}
    flat = all(len(set(found[method])) == 1 for method in EXACT)
    shown = ", ".join(f"{method} {found[method][0]:,.0f}" for method in EXACT)
    grown = evidence.growth("rows", WITH_ROWS)
    return [
        Finding("without rows", f"{shown} operations at every M", SUPPORTED if flat else CONTRADICTED),
        Finding(
            "with rows",
            f"M2-P {found[WITH_ROWS][0]:,.0f} to {found[WITH_ROWS][-1]:,.0f}, power {grown:.2f}, for the support and "
            "reliability of its rules",
            CONTRADICTED if grown > 0.1 else SUPPORTED,
        ),
    ]


def _times(panel: str, size: int, slow: str, fast: str) -> Check:
    """Count what seconds were measured for; seconds of another machine and program decide nothing."""

    def check(evidence: Evidence) -> list[Finding]:
        ratio = evidence.operations(panel, size, slow) / evidence.operations(panel, size, fast)
        return [Finding("", f"{ratio:.1f} × the operations; seconds of two programs cannot be compared", UNDECIDED)]

    return check


def _does_less(fast: str, slow: str, least: float) -> Check:
    def check(evidence: Evidence) -> list[Finding]:
        ratios = {
            f"{size:,} {panel}": evidence.operations(panel, size, slow) / evidence.operations(panel, size, fast)
            for panel in ("leaves", "rows")
            for size in evidence.sizes(panel)
        }
        low, high = min(ratios, key=lambda key: ratios[key]), max(ratios, key=lambda key: ratios[key])
        shown = f"{slow} does {ratios[low]:.1f} ({low}) to {ratios[high]:.1f} times ({high}) the operations"
        return [Finding("", shown, SUPPORTED if ratios[low] >= least else CONTRADICTED)]

    return check


def _sets_differ(evidence: Evidence) -> list[Finding]:
    found, fact = evidence.states["Weather"], "M1-D has one that M2-D has not"
    matched = [link for link in sibling_rule().deleted_ids if sibling_rises(link)]
    shown = f"Weather: M1-D has others in {found[fact]} of {found['states']} states; in our sibling figure M2-D does"
    return [Finding("", shown, SUPPORTED if found[fact] == found["states"] and matched else CONTRADICTED)]


def _persists(evidence: Evidence) -> list[Finding]:
    """Whether a procedure that changes no answer deletes anything from sparse trees that were proved optimal."""
    findings = []
    for solver, arm in SOLVERS.items():
        parts, verdict = [], UNDECIDED
        for kind in KINDS:
            izza, leaves = (evidence.proved(solver, kind, "Izza", column) for column in (REMOVED, "leaves"))
            ours = mean_of(list(izza.values()))
            size = mean_of(list(leaves.values())).value
            parts.append(f"{kind} trees of {size:.1f} leaves, Izza {ours.show('.1f')} %")
            verdict = judge(ours, ABOVE)  # the last kind is the sparse one
        findings.append(Finding(arm.learner, "; ".join(parts), verdict))
    return findings


def _too_strict(evidence: Evidence) -> list[Finding]:
    """Whether M1-P deletes more from sparse trees than the procedures that change no answer."""
    findings = []
    for solver, arm in SOLVERS.items():
        removed = {m: list(evidence.proved(solver, "sparse", m, REMOVED).values()) for m in ("M1-P", *EXACT)}
        gaps = {m: mean_of([a - b for a, b in zip(removed["M1-P"], removed[m], strict=True)]) for m in EXACT}
        shown = ", ".join(f"{method} {mean_of(values).value:.1f} %" for method, values in removed.items())
        away = ", ".join(f"{gap.show('+.1f')} points from {method}" for method, gap in gaps.items())
        verdict = combine(judge(gap, ABOVE) for gap in gaps.values())
        findings.append(Finding(arm.learner, f"sparse: {shown}; M1-P {away}", verdict))
    return findings


SETTING, TABLES_D, SIMPLE, FIDELITY = "5.1 Setting", "5.2 Deterministic", "5.3.1 Simplification", "5.3.2 Fidelity"
SCALE, SUMMARY, DISCUSSION, END, APPENDIX = (
    "5.3.3 Scalability",
    "5.3 Summary",
    "6 Discussion",
    "7 Conclusion",
    "Appendix B",
)
ABSTRACT, COST = "Abstract", "4.4 Complexity"

CLAIMS = (
    Claim(
        ABSTRACT,
        "Irrelevant conditions persist even in modern optimal sparse tree induction algorithms.",
        _persists,
    ),
    Claim(
        ABSTRACT,
        "Existing methods preserve the tree too strictly to achieve meaningful simplification (on sparse optimal "
        "trees: M1-P removes more than M2-P and Izza).",
        _too_strict,
    ),
    Claim(COST, "M1-P retains linear dependence on the number of rules (leaves).", _within_bound("M1-P")),
    Claim(
        COST,
        "For a fixed tree, M2 and the Izza procedure do not depend on the number of rows M.",
        _without_and_with_rows,
    ),
    Claim(COST, "For a fixed tree, M1-P and the Quinlan procedure are O(M).", _grows(("M1-P", "Quinlan"), 1.0)),
    Claim(
        SETTING,
        "ε maximises mean deletion subject to a mean accuracy change of at least 0 and a mean conflict of at most "
        "5 %, for each learner.",
        _grid,
    ),
    Claim(
        TABLES_D,
        "Each source CART fits its table exactly; every simplified rule set preserves coverage, source-tree "
        "predictions and zero conflict.",
        _both(_in_states("Weather", "fits exactly"), _in_states("human-id", "fits exactly")),
    ),
    Claim(
        TABLES_D,
        "M1-D matches the Izza procedure on both tables",
        _both(
            _in_states("Weather", "M1-D as many as Izza", note="M1-D more than Izza"),
            _in_states("human-id", "M1-D as many as Izza"),
        ),
    ),
    Claim(TABLES_D, "and removes more conditions than M2-D on Weather.", _in_states("Weather", "M1-D more than M2-D")),
    Claim(
        TABLES_D,
        "Weather has 23 conditions in seven rules: M1-D and Izza each remove seven (30.43 %) from five rules, M2-D "
        "five (21.74 %) from four.",
        _in_states("Weather", "as printed"),
    ),
    Claim(
        TABLES_D,
        "M1-D removes two additional conditions, because finite-domain verification accepts two conditions without a "
        "same-class sibling-leaf certificate.",
        _in_states("Weather", "M1-D two more than M2-D, and all of its"),
    ),
    Claim(
        TABLES_D,
        "On human-id all three remove one of five conditions (20.00 %) from one of three rules, and it is the same "
        "one.",
        _in_states("human-id", "as printed", "one condition each, the same"),
    ),
    Claim(
        SIMPLE, "M1-P shortens 72.66 % of IAI rules and 70.98 % of CART rules,", _measure("M1-P", IRC, (72.66, 70.98))
    ),
    Claim(
        SIMPLE,
        "approximately 2.22 and 2.35 times the M2-P rates.",
        _is(_ratio("M1-P", "M2-P", IRC), (2.22, 2.35)),
    ),
    Claim(
        SIMPLE,
        "Relative to Izza, M1-P's RuleIRC is higher by 40.00 points (IAI) and 30.63 (CART).",
        _more("M1-P", "Izza", IRC, (40.00, 30.63)),
    ),
    Claim(
        SIMPLE,
        "Within affected rules, M1-P deletes 34.88 % and 37.13 % of antecedents,",
        _measure("M1-P", SHARE, (34.88, 37.13)),
    ),
    Claim(SIMPLE, "exceeding M2-P by 11.63 and 12.97 points", _more("M1-P", "M2-P", SHARE, (11.63, 12.97))),
    Claim(SIMPLE, "and Izza by 11.13 and 13.16 points.", _more("M1-P", "Izza", SHARE, (11.13, 13.16))),
    Claim(
        SIMPLE,
        "The Quinlan procedure is the most aggressive: it shortens 96.32 % / 98.05 % of rules",
        _measure("Quinlan", IRC, (96.32, 98.05)),
    ),
    Claim(
        SIMPLE,
        "and deletes 63.43 % / 64.49 % of antecedents within affected rules.",
        _measure("Quinlan", SHARE, (63.43, 64.49)),
    ),
    Claim(
        SIMPLE,
        "Reliability-controlled deletion lies between Quinlan's procedure and the exact M2-P and Izza.",
        _between,
    ),
    Claim(
        FIDELITY,
        "M1-P removes 27.19 % of IAI conditions and 27.30 % of CART conditions,",
        _measure("M1-P", REMOVED, (27.19, 27.30)),
    ),
    Claim(FIDELITY, "exceeding M2-P by 18.84 and 18.71 points", _more("M1-P", "M2-P", REMOVED, (18.84, 18.71))),
    Claim(FIDELITY, "and Izza by 18.89 and 16.53 points.", _more("M1-P", "Izza", REMOVED, (18.89, 16.53))),
    Claim(FIDELITY, "M1-P's conflict is 2.82 % / 2.31 %,", _measure("M1-P", CONFLICT, (2.82, 2.31))),
    Claim(FIDELITY, "its MacroDev 0.98 / 0.99 points,", _measure("M1-P", MACRO, (0.98, 0.99))),
    Claim(
        FIDELITY,
        "its mean accuracy change +0.51 / +0.63 points.",
        _measure("M1-P", ACCURACY, (0.51, 0.63), "+.2f"),
    ),
    Claim(
        FIDELITY,
        "M2-P and Izza produce zero accuracy change, zero class-wise deviation and zero conflict.",
        _nothing_changes,
    ),
    Claim(
        FIDELITY, "Quinlan removes 62.21 % / 63.60 % of all conditions,", _measure("Quinlan", REMOVED, (62.21, 63.60))
    ),
    Claim(FIDELITY, "35.02 / 36.30 points more than M1-P,", _more("Quinlan", "M1-P", REMOVED, (35.02, 36.30))),
    Claim(FIDELITY, "but its conflict reaches 50.59 % / 55.44 %", _measure("Quinlan", CONFLICT, (50.59, 55.44))),
    Claim(FIDELITY, "and its MacroDev 6.03 / 5.36 points,", _measure("Quinlan", MACRO, (6.03, 5.36))),
    Claim(
        FIDELITY,
        "with mean accuracy changes of +0.75 / +1.04.",
        _measure("Quinlan", ACCURACY, (0.75, 1.04), "+.2f"),
    ),
    Claim(
        SCALE,
        "The runtime curves of M2-P and Izza remain nearly flat as M increases.",
        _without_and_with_rows,
    ),
    Claim(
        SCALE,
        "At 128 leaves, M2-P requires 0.0073 s and Izza 0.166 s: M2-P is approximately 23 times faster.",
        _times("leaves", 128, "Izza", "M2-P"),
    ),
    Claim(SCALE, "M1-P increases with M, consistently with its linear sample-size term.", _grows(("M1-P",), 1.0)),
    Claim(
        SCALE,
        "At 128 leaves, M1-P requires 0.0193 s and Quinlan 18.223 s: M1-P is approximately 944 times faster.",
        _times("leaves", 128, "Quinlan", "M1-P"),
    ),
    Claim(
        SCALE,
        "At 1,048,576 rows, M1-P requires 0.271 s and Quinlan 64.722 s: 239-fold.",
        _times("rows", 1_048_576, "Quinlan", "M1-P"),
    ),
    Claim(
        SCALE,
        "At 1,048,576 rows, M2-P requires 0.0017 s and Izza 0.0084 s: 4.9-fold.",
        _times("rows", 1_048_576, "Izza", "M2-P"),
    ),
    Claim(
        SUMMARY,
        "M1-P is in an intermediate regime between the conservative Izza and the aggressive Quinlan procedure,",
        _between,
    ),
    Claim(SUMMARY, "with substantially faster processing than Quinlan's.", _does_less("M1-P", "Quinlan", MUCH)),
    Claim(
        SUMMARY,
        "M2-P follows a conservative pattern close to exact path-redundancy deletion,",
        _lies(_gap("M2-P", "Izza", REMOVED), -FEW_POINTS, FEW_POINTS, f" points, taken as ± {FEW_POINTS:g}"),
    ),
    Claim(SUMMARY, "exactly preserves predictions and produces zero conflict,", _nothing_changes),
    Claim(
        SUMMARY, "and is faster than the Izza procedure within the measured ranges.", _does_less("M2-P", "Izza", 1.0)
    ),
    Claim(DISCUSSION, "The sibling and mismatch candidate sets are non-nested.", _sets_differ),
    Claim(
        DISCUSSION,
        "M1-P removes approximately three times as many conditions as M2-P for both IAI and CART",
        _is(_ratio("M1-P", "M2-P", REMOVED), (3.0, 3.0)),
    ),
    Claim(
        DISCUSSION,
        "while keeping aggregate MacroDev below one percentage point",
        _lies(_mean("M1-P", MACRO), high=1.0, worst=("M1-P", MACRO)),
    ),
    Claim(
        DISCUSSION, "and rule conflict below 3 %.", _lies(_mean("M1-P", CONFLICT), high=3.0, worst=("M1-P", CONFLICT))
    ),
    Claim(
        DISCUSSION,
        "Quinlan's deletion comes with conflict on more than half of the test cases",
        _lies(_mean("Quinlan", CONFLICT), 50.0),
    ),
    Claim(
        DISCUSSION,
        "and markedly larger class-wise deviation (Quinlan against M1-P).",
        _lies(_ratio("Quinlan", "M1-P", MACRO), MUCH, note=f" times, taken as {MUCH:g} or more"),
    ),
    Claim(
        END,
        "M1-P maintains small accuracy changes, low conflict, and sub-one-percentage-point aggregate MacroDev.",
        _lies(_mean("M1-P", MACRO), high=1.0, worst=("M1-P", MACRO)),
    ),
    Claim(APPENDIX, "M1-P has a higher RuleIRC than M2-P and Izza on every data set.", _higher_everywhere(IRC)),
    Claim(
        APPENDIX,
        "Within affected rules M1-P deletes a larger share on every data set except adult with IAI, where its "
        "25.08 % is slightly below Izza's 26.53 %.",
        _higher_everywhere(SHARE, ("optimal", "adult")),
    ),
    Claim(
        APPENDIX,
        "The largest M1-P RuleIRC is spambase's, 91.99 % and 89.80 %,",
        _extreme(IRC, 1, "spambase", (91.99, 89.80)),
    ),
    Claim(APPENDIX, "the smallest EEG's, 33.60 % and 45.82 %.", _extreme(IRC, -1, "EEG", (33.60, 45.82))),
    Claim(
        APPENDIX,
        "M2-P and Izza retain zero accuracy change, conflict and class-wise deviation on every data set.",
        _nothing_changes,
    ),
    Claim(APPENDIX, "M1-P's conflict remains at or below 4.29 %,", _largest_conflict),
    Claim(
        APPENDIX,
        "and its largest MacroDev is 1.77 points for IAI and 1.97 for CART, both on backache.",
        _extreme(MACRO, 1, "backache", (1.77, 1.97)),
    ),
    Claim(
        APPENDIX,
        "Quinlan reaches 100 % conflict on german and heart-h for IAI and on heart-h for CART,",
        _quinlan_full_conflict,
    ),
    Claim(
        APPENDIX,
        "its largest MacroDev is german's, 16.81 and 14.36 points.",
        _extreme(MACRO, 1, "german", (16.81, 14.36), "Quinlan"),
    ),
    Claim(
        APPENDIX,
        "On spambase Quinlan's and M1-P's MacroDev are similar, although Quinlan's conflict is substantially greater.",
        _spambase,
    ),
)
