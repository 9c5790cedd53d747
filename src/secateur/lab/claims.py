"""Every claim of the paper's results, held against our stored results.

:mod:`secateur.lab.verdicts` has the one rule for numbers and bounds. Cost is held against counted operations, a table
that is listed whole against all states of its tree. Where the paper speaks of IAI trees, ours are the stand-in's.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from secateur.lab.evidence import ARM_NAMES, Evidence
from secateur.lab.exhibits import sibling_rises, sibling_rule
from secateur.lab.operations import WITH_ROWS
from secateur.lab.protocol import DATASETS, GRID, METHODS, TOLERANCES
from secateur.lab.sparse import KINDS, SOLVERS
from secateur.lab.tolerances import CONFLICT_CEILING
from secateur.lab.verdicts import CONTRADICTED, SUPPORTED, UNDECIDED, Estimate, combine, estimate, mean_of, ratio_of

EXACT = ("M2-P", "Izza")
IRC, SHARE, REMOVED, CONFLICT, MACRO = "rule_irc_pct", "irc_per_rule_pct", "removed_pct", "conflict_pct", "macro_dev_pp"
ACCURACY = "delta_accuracy_pp"
KEPT = (ACCURACY, CONFLICT, MACRO)  # what an exact procedure leaves at 0, and of which M1-P's worst split is told
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


def _extreme(column: str, sign: int, where: str, iai: float, cart: float, method: str = "M1-P") -> Check:
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


def _higher_everywhere(column: str, exception: tuple[str, str] | None = None) -> Check:
    """M1-P above M2-P and Izza on every data set, but for one (arm, data set), where it is below Izza."""

    def look(evidence: Evidence, arm: str) -> tuple[str, str]:
        verdicts = {}
        for dataset in DATASETS:
            ours, *others = (evidence.values(arm, dataset, method, column) for method in ("M1-P", *EXACT))
            gaps = [estimate([(1.0, ours - other)]) for other in others]
            below = exception == (arm, dataset)
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
    shown = f"by our means the rule picks the ε of the tables on {same} of {len(verdicts)}; {_list_datasets(verdicts)}"
    return [Finding("", shown, combine(verdicts.values()))]


# What is listed whole, and what is counted: no interval, but every state and every size.


def _judge_all(number: int, every: int) -> str:
    return SUPPORTED if number == every else UNDECIDED if number else CONTRADICTED


def _in_states(*facts: tuple[str, str], note: str = "") -> Check:
    """Judge statements (table, fact) over the states of its tree: true in all, in none, or in some."""

    def check(evidence: Evidence) -> list[Finding]:
        found = [(table, evidence.states[table][fact], evidence.states[table]["states"]) for table, fact in facts]
        shown = dict.fromkeys(f"{table}: in {number} of {every} states" for table, number, every in found)
        others = f"; in the other {evidence.states['Weather'][note]} M1-D removes more than Izza" if note else ""
        return [Finding("", "; ".join(shown) + others, combine(_judge_all(*numbers) for _, *numbers in found))]

    return check


def _sets_differ(evidence: Evidence) -> list[Finding]:
    found = evidence.states["Weather"]
    number, every = found["M1-D has one that M2-D has not"], found["states"]
    is_matched = any(sibling_rises(link) for link in sibling_rule().deleted_ids)
    shown = f"Weather: M1-D has others in {number} of {every} states; in our sibling figure M2-D has one"
    return [Finding("", shown, combine([_judge_all(number, every), _judge_all(int(is_matched), 1)]))]


def _within_bound(evidence: Evidence) -> list[Finding]:
    most, sizes = evidence.most_of_bound("M1-P"), evidence.sizes("leaves")
    shown = (
        f"{most:.2f} of the bound M (V − 1 + Σ d (k + 2)) at most; operations grow with the power "
        f"{evidence.growth('leaves', 'M1-P'):.2f} of {min(sizes)} to {max(sizes)} leaves, as paths lengthen, too"
    )
    return [Finding("", shown, SUPPORTED if most <= 1 else CONTRADICTED)]


def _linear(*methods: str) -> Check:
    """Judge whether operations grow with the rows, to a tenth of the power."""

    def check(evidence: Evidence) -> list[Finding]:
        found, sizes = {method: evidence.growth("rows", method) for method in methods}, evidence.sizes("rows")
        shown = ", ".join(f"{method} {one:.2f}" for method, one in found.items())
        verdict = SUPPORTED if all(abs(one - 1) <= 0.1 for one in found.values()) else CONTRADICTED
        return [Finding("", f"power of {min(sizes):,} to {max(sizes):,} rows: {shown}", verdict)]

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


def _times(panel: str, size: int, slow: str, fast: str) -> Check:
    """Count the operations behind a ratio of seconds, which decides nothing about another machine and program."""

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
        low, *_, high = sorted(ratios, key=lambda key: ratios[key])
        shown = f"{slow} does {ratios[low]:.1f} ({low}) to {ratios[high]:.1f} times ({high}) the operations"
        return [Finding("", shown, SUPPORTED if ratios[low] >= least else CONTRADICTED)]

    return check


# Trees that were proved optimal.


def _persists(evidence: Evidence) -> list[Finding]:
    """Whether Izza's procedure, which changes no answer, deletes anything from sparse trees."""
    findings = []
    for solver, arm in SOLVERS.items():
        found = {kind: mean_of(evidence.proved(solver, kind, "Izza", REMOVED)) for kind in KINDS}
        leaves = {kind: mean_of(evidence.proved(solver, kind, "Izza", "leaves")).value for kind in KINDS}
        shown = "; ".join(f"{kind}, {leaves[kind]:.1f} leaves: Izza {found[kind].show('.1f')} %" for kind in KINDS)
        findings.append(Finding(arm.learner, shown, found["sparse"].lies(ABOVE)))
    return findings


def _too_strict(evidence: Evidence) -> list[Finding]:
    """Whether M1-P deletes more from sparse trees than the procedures that change no answer."""
    findings = []
    for solver, arm in SOLVERS.items():
        ours, *others = (evidence.proved(solver, "sparse", method, REMOVED) for method in ("M1-P", *EXACT))
        gaps = [mean_of([a - b for a, b in zip(ours, other, strict=True)]) for other in others]
        away = ", ".join(f"{m} {gap.show('+.1f')}" for m, gap in zip(EXACT, gaps, strict=True))
        shown = f"M1-P {mean_of(ours).value:.1f} %, in points more than {away}"
        findings.append(Finding(arm.learner, shown, combine(gap.lies(ABOVE) for gap in gaps)))
    return findings


CLAIMS = (
    Claim(
        "Abstract", "Irrelevant conditions persist even in modern optimal sparse tree induction algorithms.", _persists
    ),
    Claim(
        "Abstract",
        "Existing methods preserve the tree too strictly to achieve meaningful simplification. (Taken as: from sparse "
        "optimal trees, too, M1-P removes more than M2-P and Izza.)",
        _too_strict,
    ),
    Claim("4.4", "M1-P retains linear dependence on the number of rules (leaves).", _within_bound),
    Claim(
        "4.4, 5.3.3",
        "For a fixed tree, M2 and the Izza procedure do not depend on the number of rows M: their curves are flat.",
        _without_and_with_rows,
    ),
    Claim("4.4, 5.3.3", "For a fixed tree, M1-P and the Quinlan procedure are O(M).", _linear("M1-P", "Quinlan")),
    Claim(
        "5.1",
        "ε maximises mean deletion subject to a mean accuracy change of at least 0 and a mean conflict of at most 5 %, "
        "for each learner.",
        _grid,
    ),
    Claim(
        "5.2",
        "Each CART fits its table exactly; every rule set preserves coverage, predictions and zero conflict.",
        _in_states(("Weather", "fits exactly"), ("human-id", "fits exactly")),
    ),
    Claim(
        "5.2",
        "M1-D matches the Izza procedure on both tables",
        _in_states(
            ("human-id", "M1-D as many as Izza"), ("Weather", "M1-D as many as Izza"), note="M1-D more than Izza"
        ),
    ),
    Claim("5.2", "and removes more conditions than M2-D on Weather:", _in_states(("Weather", "M1-D more than M2-D"))),
    Claim(
        "5.2",
        "of 23 conditions in seven rules, M1-D and Izza each remove seven (30.43 %) from five rules, M2-D five (21.74 "
        "%) from four;",
        _in_states(("Weather", "as printed")),
    ),
    Claim(
        "5.2",
        "M1-D's two additional ones have no same-class sibling-leaf certificate.",
        _in_states(("Weather", "M1-D two more than M2-D, and all of its")),
    ),
    Claim(
        "5.2",
        "On human-id all three remove one of five conditions (20.00 %) from one of three rules, the same one.",
        _in_states(("human-id", "as printed"), ("human-id", "one condition each, the same")),
    ),
    Claim("5.3.1", "M1-P shortens 72.66 / 70.98 % of the rules,", _measure("M1-P", IRC, 72.66, 70.98)),
    Claim("5.3.1", "approximately 2.22 / 2.35 times the M2-P rates,", _is(_ratio("M1-P", "M2-P", IRC), 2.22, 2.35)),
    Claim("5.3.1", "and 40.00 / 30.63 points more than Izza.", _more("M1-P", "Izza", IRC, 40.00, 30.63)),
    Claim("5.3.1", "Within affected rules, it deletes 34.88 / 37.13 %,", _measure("M1-P", SHARE, 34.88, 37.13)),
    Claim("5.3.1", "exceeding M2-P by 11.63 / 12.97 points", _more("M1-P", "M2-P", SHARE, 11.63, 12.97)),
    Claim("5.3.1", "and Izza by 11.13 / 13.16 points.", _more("M1-P", "Izza", SHARE, 11.13, 13.16)),
    Claim("5.3.1", "Quinlan's procedure shortens 96.32 / 98.05 % of the rules", _measure("Quinlan", IRC, 96.32, 98.05)),
    Claim("5.3.1", "and deletes 63.43 / 64.49 % within affected rules.", _measure("Quinlan", SHARE, 63.43, 64.49)),
    Claim(
        "5.3.1, 5.3",
        "Reliability-controlled deletion lies between Quinlan's procedure and the exact M2-P and Izza.",
        _arms(_between),
    ),
    Claim("5.3.2", "M1-P removes 27.19 / 27.30 % of all conditions,", _measure("M1-P", REMOVED, 27.19, 27.30)),
    Claim("5.3.2", "exceeding M2-P by 18.84 / 18.71 points", _more("M1-P", "M2-P", REMOVED, 18.84, 18.71)),
    Claim("5.3.2", "and Izza by 18.89 / 16.53 points.", _more("M1-P", "Izza", REMOVED, 18.89, 16.53)),
    Claim("5.3.2", "Its conflict is 2.82 / 2.31 %,", _measure("M1-P", CONFLICT, 2.82, 2.31)),
    Claim("5.3.2", "its MacroDev 0.98 / 0.99 points,", _measure("M1-P", MACRO, 0.98, 0.99)),
    Claim("5.3.2", "its mean accuracy change +0.51 / +0.63 points.", _measure("M1-P", ACCURACY, 0.51, 0.63)),
    Claim(
        "5.3.2, 5.3, B",
        "M2-P and Izza produce zero accuracy change, class-wise deviation and conflict, on every data set.",
        _arms(_nothing_changes),
    ),
    Claim("5.3.2", "Quinlan removes 62.21 / 63.60 % of all conditions,", _measure("Quinlan", REMOVED, 62.21, 63.60)),
    Claim("5.3.2", "35.02 / 36.30 points more than M1-P,", _more("Quinlan", "M1-P", REMOVED, 35.02, 36.30)),
    Claim("5.3.2", "but its conflict reaches 50.59 / 55.44 %", _measure("Quinlan", CONFLICT, 50.59, 55.44)),
    Claim("5.3.2", "and its MacroDev 6.03 / 5.36 points,", _measure("Quinlan", MACRO, 6.03, 5.36)),
    Claim("5.3.2", "with mean accuracy changes of +0.75 / +1.04 points.", _measure("Quinlan", ACCURACY, 0.75, 1.04)),
    Claim(
        "5.3.3",
        "At 128 leaves, M2-P (0.0073 s) is approximately 23 times faster than Izza (0.166 s);",
        _times("leaves", 128, "Izza", "M2-P"),
    ),
    Claim(
        "5.3.3",
        "M1-P (0.0193 s) is approximately 944 times faster than Quinlan (18.223 s).",
        _times("leaves", 128, "Quinlan", "M1-P"),
    ),
    Claim(
        "5.3.3",
        "At 1,048,576 rows, M1-P (0.271 s) is 239 times faster than Quinlan (64.722 s);",
        _times("rows", 1_048_576, "Quinlan", "M1-P"),
    ),
    Claim(
        "5.3.3", "M2-P (0.0017 s) is 4.9 times faster than Izza (0.0084 s).", _times("rows", 1_048_576, "Izza", "M2-P")
    ),
    Claim("5.3", "M1-P is substantially faster than Quinlan's,", _does_less("M1-P", "Quinlan", MUCH)),
    Claim("5.3", "M2-P faster than Izza within the measured ranges.", _does_less("M2-P", "Izza", 1.0)),
    Claim(
        "5.3",
        "M2-P follows a conservative pattern close to exact path-redundancy deletion.",
        _lies(_gap("M2-P", "Izza", REMOVED), -FEW_POINTS, FEW_POINTS, f" points removed, taken as ± {FEW_POINTS:g}"),
    ),
    Claim("6", "The sibling and mismatch candidate sets are non-nested.", _sets_differ),
    Claim(
        "6", "M1-P removes approximately three times as much as M2-P", _is(_ratio("M1-P", "M2-P", REMOVED), 3.0, 3.0)
    ),
    Claim(
        "6, 7",
        "while keeping aggregate MacroDev below one percentage point",
        _lies(_mean("M1-P", MACRO), high=1.0, worst=MACRO),
    ),
    Claim("6", "and rule conflict below 3 %.", _lies(_mean("M1-P", CONFLICT), high=3.0, worst=CONFLICT)),
    Claim("6", "Quinlan's conflict is on more than half of the test cases", _lies(_mean("Quinlan", CONFLICT), 50.0)),
    Claim(
        "6",
        "and its class-wise deviation markedly larger than M1-P's.",
        _lies(_ratio("Quinlan", "M1-P", MACRO), MUCH, note=f" times, taken as {MUCH:g} or more"),
    ),
    Claim("B", "M1-P has a higher RuleIRC than M2-P and Izza on every data set.", _higher_everywhere(IRC)),
    Claim(
        "B",
        "Within affected rules it deletes a larger share on every data set except adult with IAI, where Izza does.",
        _higher_everywhere(SHARE, ("optimal", "adult")),
    ),
    Claim("B", "Its largest RuleIRC is spambase's, 91.99 / 89.80 %,", _extreme(IRC, 1, "spambase", 91.99, 89.80)),
    Claim("B", "the smallest EEG's, 33.60 / 45.82 %.", _extreme(IRC, -1, "EEG", 33.60, 45.82)),
    Claim("B", "Its conflict remains at or below 4.29 % on every data set,", _arms(_largest_conflict)),
    Claim(
        "B", "and its largest MacroDev is backache's, 1.77 / 1.97 points.", _extreme(MACRO, 1, "backache", 1.77, 1.97)
    ),
    Claim("B", "Quinlan reaches 100 % conflict on german (IAI) and heart-h (both),", _arms(_full_conflict)),
    Claim(
        "B", "its largest MacroDev is german's, 16.81 / 14.36.", _extreme(MACRO, 1, "german", 16.81, 14.36, "Quinlan")
    ),
    Claim(
        "B",
        "On spambase Quinlan's and M1-P's MacroDev are similar, although Quinlan's conflict is substantially greater.",
        _arms(_spambase),
    ),
)
