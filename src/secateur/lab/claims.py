"""Every claim of the paper's results, sentence by sentence, held against our stored results.

A number holds if ours is within three standard errors of it; an order or a bound holds if ours keeps it. Where the
paper speaks of IAI trees, ours are the stand-in's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from secateur.lab.evidence import ARM_NAMES, Evidence, Measured
from secateur.lab.exhibits import sibling_rises, sibling_rule
from secateur.lab.protocol import DATASETS, METHODS
from secateur.lab.runtime import PAPER_RATIOS

__all__ = ["CLAIMS", "Claim", "Finding", "read_verdict"]

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be checked"
NEARLY_FLAT = 0.1  # an exponent
EXACT = ("M2-P", "Izza")
KEPT = ("delta_accuracy_pp", "conflict_pct", "macro_dev_pp")  # what an exact procedure leaves at 0
IRC, SHARE, REMOVED, CONFLICT, MACRO = "rule_irc_pct", "irc_per_rule_pct", "removed_pct", "conflict_pct", "macro_dev_pp"


@dataclass(frozen=True)
class Finding:
    """Our number for one part of a claim, and whether the claim holds there; None where that cannot be told."""

    part: str  # "stand-in", "CART", or nothing
    ours: str
    holds: bool | None


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and what our results say."""

    place: str
    text: str
    check: Callable[[Evidence], list[Finding]]


def read_verdict(findings: list[Finding]) -> str:
    """Put the verdict on a claim into words."""
    if any(finding.holds is None for finding in findings):
        return OPEN
    if len({finding.holds for finding in findings}) == 1:
        return HOLDS if findings[0].holds else FAILS
    good = " and ".join(finding.part for finding in findings if finding.holds)
    bad = " and ".join(finding.part for finding in findings if not finding.holds)
    return f"holds for {good}; does not hold for {bad}"


# What most claims are made of. Pairs of numbers are the paper's, IAI first.


def _number(
    get: Callable[[Evidence, str], Measured], theirs: tuple[float, float], form: str = ".2f"
) -> Callable[..., list[Finding]]:
    def check(evidence: Evidence) -> list[Finding]:
        found = [get(evidence, arm) for arm in ARM_NAMES]
        return [
            Finding(name, f"{ours.value:{form}}", ours.is_near(number))
            for name, ours, number in zip(ARM_NAMES.values(), found, theirs, strict=True)
        ]

    return check


def _mean(method: str, column: str, theirs: tuple[float, float], form: str = ".2f") -> Callable[..., list[Finding]]:
    return _number(lambda e, arm: e.mean(arm, method, column), theirs, form)


def _more(method: str, other: str, column: str, theirs: tuple[float, float]) -> Callable[..., list[Finding]]:
    return _number(lambda e, arm: e.mean(arm, method, column) - e.mean(arm, other, column), theirs)


def _bound(method: str, column: str, holds: Callable[[float], bool]) -> Callable[..., list[Finding]]:
    def check(evidence: Evidence) -> list[Finding]:
        found = {name: evidence.mean(arm, method, column).value for arm, name in ARM_NAMES.items()}
        return [Finding(name, f"{value:.2f}", holds(value)) for name, value in found.items()]

    return check


def _extreme(
    column: str, pick: Callable[..., str], where: tuple[str, str], theirs: tuple[float, float], method: str = "M1-P"
) -> Callable[..., list[Finding]]:
    def check(evidence: Evidence) -> list[Finding]:
        findings = []
        for (arm, name), wanted, number in zip(ARM_NAMES.items(), where, theirs, strict=True):
            found = evidence.by_dataset(arm, method, column)
            place = pick(found, key=lambda dataset: found[dataset])
            shown = f"{place} {found[place]:.2f}" + ("" if place == wanted else f" ({wanted} {found[wanted]:.2f})")
            near = evidence.cell(arm, wanted, method, column).is_near(number)
            findings.append(Finding(name, shown, place == wanted and near))
        return findings

    return check


def _between(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        removed = {method: evidence.mean(arm, method, REMOVED).value for method in METHODS}
        holds = max(removed[method] for method in EXACT) < removed["M1-P"] < removed["Quinlan"]
        shown = " < ".join(f"{method} {removed[method]:.2f}" for method in sorted(removed, key=lambda m: removed[m]))
        findings.append(Finding(name, shown, holds))
    return findings


def _nothing_changes(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        values = [
            abs(number)
            for method in EXACT
            for column in KEPT
            for number in evidence.by_dataset(arm, method, column).values()
        ]
        findings.append(Finding(name, f"largest change {max(values):.2f}", max(values) == 0))
    return findings


def _higher_everywhere(column: str, exception: tuple[str, str] | None = None) -> Callable[..., list[Finding]]:
    """M1-P above M2-P and Izza on every data set, but for one (arm, data set)."""

    def check(evidence: Evidence) -> list[Finding]:
        findings = []
        for arm, name in ARM_NAMES.items():
            ours = evidence.by_dataset(arm, "M1-P", column)
            others = [evidence.by_dataset(arm, method, column) for method in EXACT]
            below = [d for d in DATASETS if ours[d] <= max(other[d] for other in others)]
            allowed = [exception[1]] if exception is not None and exception[0] == arm else []
            listed = "".join(f", {d} {ours[d]:.2f} (Izza {others[1][d]:.2f})" for d in below)
            shown = f"on {len(DATASETS) - len(below)} of {len(DATASETS)}" + (f"; not on{listed[1:]}" if below else "")
            findings.append(Finding(name, shown, below == allowed))
        return findings

    return check


def _ratio_of_seconds(panel: str, size: int, slow: str, fast: str) -> Callable[..., list[Finding]]:
    theirs = PAPER_RATIOS[panel, size, slow, fast]

    def check(evidence: Evidence) -> list[Finding]:
        ratio = evidence.seconds(panel, size, slow) / evidence.seconds(panel, size, fast)
        return [Finding("", f"{ratio:.1f} ×: our {slow} is fast, too", ratio >= theirs / 2)]

    return check


def _is_faster(fast: str, slow: str) -> Callable[..., list[Finding]]:
    def check(evidence: Evidence) -> list[Finding]:
        shown, holds = [], True
        for panel, size in (("leaves", 128), ("rows", 1_048_576)):
            ratio = evidence.seconds(panel, size, slow) / evidence.seconds(panel, size, fast)
            shown.append(f"{ratio:.1f} × at {size:,} {panel}")
            holds &= ratio > 1
        return [Finding("", ", ".join(shown), holds)]

    return check


def _grows(
    panel: str, methods: tuple[str, ...], holds: Callable[[float], bool], least: int = 0
) -> Callable[..., list[Finding]]:
    def check(evidence: Evidence) -> list[Finding]:
        found = {method: evidence.exponent(panel, method, least) for method in methods}
        shown = ", ".join(f"{method} {power:.2f}" for method, power in found.items())
        sizes = [size for name, size, _ in evidence.timings if name == panel and size >= least]
        where = f"{min(sizes):,} to {max(sizes):,} {panel}"
        return [Finding("", f"exponent {shown}, {where}", all(holds(power) for power in found.values()))]

    return check


def _seconds(panel: str, size: int, methods: tuple[str, str]) -> Callable[..., list[Finding]]:
    def check(evidence: Evidence) -> list[Finding]:
        shown = ", ".join(f"{method} {evidence.seconds(panel, size, method):.4f} s" for method in methods)
        return [Finding("", f"{shown}, on another machine", None)]

    return check


def _table(dataset: str, wanted: dict[str, tuple[int, int, int]], n_rules: int) -> Callable[..., list[Finding]]:
    """Check (conditions, deleted, rules changed) of each procedure on a deterministic table."""

    def check(evidence: Evidence) -> list[Finding]:
        shown, holds = [], True
        for method, numbers in wanted.items():
            row = evidence.deterministic[dataset, method]
            deleted = len(evidence.deleted(dataset, method))
            conditions, changed = (
                round(100 * deleted / row.removed_pct),
                round(row.rules_modified_pct * row.rules / 100),
            )
            holds &= (conditions, deleted, changed, row.rules) == (*numbers, n_rules)
            shown.append(f"{method} {deleted} of {conditions} ({row.removed_pct:.2f} %) from {changed} of {row.rules}")
        return [Finding("", "; ".join(shown), holds)]

    return check


def _fits_exactly(evidence: Evidence) -> list[Finding]:
    rows = evidence.deterministic.values()
    certain = all(row.reliability_one == f"{row.rules}/{row.rules}" and row.coverage_pct == 100 for row in rows)
    kept = all(row.conflict_pct == 0 for row in rows)
    shown = f"{sum(row.rules for row in rows)} rules, each of reliability 1; coverage 100 %, conflict 0 %"
    return [Finding("", shown if certain and kept else "not all", certain and kept)]


def _matches_izza(evidence: Evidence) -> list[Finding]:
    same = all(evidence.deleted(t, "M1-D") == evidence.deleted(t, "Izza") for t in ("Weather", "human-id"))
    equal = all(
        evidence.deterministic[t, "M1-D"].removed_pct == evidence.deterministic[t, "Izza"].removed_pct
        for t in ("Weather", "human-id")
    )
    ours, other = (evidence.deterministic["Weather", m].removed_pct for m in ("M1-D", "M2-D"))
    which = "the same conditions" if same else "as many conditions, not all the same ones"
    return [Finding("", f"{which}; Weather {ours:.2f} % against {other:.2f} %", equal and ours > other)]


def _two_more(evidence: Evidence) -> list[Finding]:
    ours, other = evidence.deleted("Weather", "M1-D"), evidence.deleted("Weather", "M2-D")
    gap = evidence.deterministic["Weather", "M1-D"].removed_pct - evidence.deterministic["Weather", "M2-D"].removed_pct
    without, lost = len(ours - other), len(other - ours)
    shown = f"{len(ours) - len(other)} more, {gap:.2f} points; {without} have no sibling certificate"
    if lost:
        shown += f", and {lost} of M2-D's are not M1-D's"
    return [Finding("", shown, round(gap, 2) == 8.69 and (without, lost) == (2, 0))]


def _same_one(evidence: Evidence) -> list[Finding]:
    found = [evidence.deleted("human-id", method) for method in ("M1-D", "M2-D", "Izza")]
    same = found[0] == found[1] == found[2] and len(found[0]) == 1
    return [Finding("", "the same one" if same else "different ones", same)]


def _grid(evidence: Evidence) -> list[Finding]:
    differing = [choice for choice in evidence.choices if choice.picked != choice.assumed]
    listed = ", ".join(
        f"{c.dataset} {c.picked:g} (the tables: {c.assumed:g})" for c in differing if c.picked is not None
    )
    same = len(evidence.choices) - len(differing)
    return [
        Finding("", f"the rule picks the same ε on {same} of {len(evidence.choices)}; not on {listed}", not differing)
    ]


def _quinlan_full_conflict(evidence: Evidence) -> list[Finding]:
    findings = []
    for (arm, name), wanted in zip(ARM_NAMES.items(), ({"german", "heart-h"}, {"heart-h"}), strict=True):
        found = {d for d, value in evidence.by_dataset(arm, "Quinlan", CONFLICT).items() if value >= 99.995}
        near = all(evidence.cell(arm, d, "Quinlan", CONFLICT).is_near(100) for d in wanted)
        values = evidence.by_dataset(arm, "Quinlan", CONFLICT)
        shown = ", ".join(f"{d} {values[d]:.2f}" for d in sorted(found | wanted))
        findings.append(Finding(name, shown, near and found <= wanted))
    return findings


def _spambase(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        ours, theirs = (evidence.row(arm, "spambase", method) for method in ("M1-P", "Quinlan"))
        similar = abs(ours[MACRO] - theirs[MACRO]) <= 0.5
        pairs = {"MacroDev": MACRO, "conflict": CONFLICT}
        shown = ", ".join(f"{word} {ours[column]:.2f} and {theirs[column]:.2f}" for word, column in pairs.items())
        findings.append(Finding(name, shown, similar and theirs[CONFLICT] > 3 * ours[CONFLICT]))
    return findings


def _largest_conflict(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        found = evidence.by_dataset(arm, "M1-P", CONFLICT)
        worst = max(found, key=lambda dataset: found[dataset])
        findings.append(Finding(name, f"largest {found[worst]:.2f} ({worst})", found[worst] <= 4.29))
    return findings


def _larger_deviation(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        ours, theirs = (evidence.mean(arm, method, MACRO).value for method in ("M1-P", "Quinlan"))
        findings.append(Finding(name, f"{theirs:.2f} against {ours:.2f}", theirs > 2 * ours))
    return findings


def _close_to_izza(evidence: Evidence) -> list[Finding]:
    findings = []
    for arm, name in ARM_NAMES.items():
        ours, izza = (evidence.mean(arm, method, REMOVED).value for method in EXACT)
        findings.append(Finding(name, f"removed {ours:.2f} against {izza:.2f}", abs(ours - izza) <= 3))
    return findings


def _sets_differ(evidence: Evidence) -> list[Finding]:
    ours, other = evidence.deleted("Weather", "M1-D"), evidence.deleted("Weather", "M2-D")
    matched = [link for link in sibling_rule().deleted_ids if sibling_rises(link)]
    shown = f"Weather: {len(ours - other)} are only M1-D's; our sibling figure: {len(matched)} matched edge is M2's"
    return [Finding("", shown, bool(ours - other) and bool(matched))]


SETTING, TABLES_D, SIMPLE, FIDELITY = "5.1 Setting", "5.2 Deterministic", "5.3.1 Simplification", "5.3.2 Fidelity"
SCALE, SUMMARY, DISCUSSION, END, APPENDIX = (
    "5.3.3 Scalability",
    "5.3 Summary",
    "6 Discussion",
    "7 Conclusion",
    "Appendix B",
)
COST = "4.4 Complexity"

CLAIMS = (
    Claim(
        COST,
        "M1-P retains linear dependence on the number of rules (leaves).",
        _grows("leaves", ("M1-P",), lambda power: power <= 1.1),
    ),
    Claim(
        COST,
        "For a fixed tree, M2 and the Izza procedure do not depend on the number of rows M.",
        _grows("rows", EXACT, lambda power: abs(power) <= NEARLY_FLAT),
    ),
    Claim(
        COST,
        "For a fixed tree, M1-P and the Quinlan procedure are O(M).",
        _grows("rows", ("M1-P", "Quinlan"), lambda power: power <= 1.1, 65_536),
    ),
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
        _fits_exactly,
    ),
    Claim(
        TABLES_D,
        "M1-D matches the Izza procedure on both tables and removes more conditions than M2-D on Weather.",
        _matches_izza,
    ),
    Claim(
        TABLES_D,
        "Weather has 23 conditions in seven rules: M1-D and Izza each remove seven (30.43 %) from five rules, M2-D "
        "five (21.74 %) from four.",
        _table("Weather", {"M1-D": (23, 7, 5), "Izza": (23, 7, 5), "M2-D": (23, 5, 4)}, 7),
    ),
    Claim(
        TABLES_D,
        "M1-D removes two additional conditions, 8.69 points more, because finite-domain verification accepts two "
        "conditions without a same-class sibling-leaf certificate.",
        _two_more,
    ),
    Claim(
        TABLES_D,
        "On human-id all three remove one of five conditions (20.00 %) from one of three rules,",
        _table("human-id", dict.fromkeys(("M1-D", "M2-D", "Izza"), (5, 1, 1)), 3),
    ),
    Claim(TABLES_D, "and it is the same one.", _same_one),
    Claim(SIMPLE, "M1-P shortens 72.66 % of IAI rules and 70.98 % of CART rules,", _mean("M1-P", IRC, (72.66, 70.98))),
    Claim(
        SIMPLE,
        "approximately 2.22 and 2.35 times the M2-P rates.",
        _number(lambda e, arm: e.mean(arm, "M1-P", IRC) / e.mean(arm, "M2-P", IRC), (2.22, 2.35)),
    ),
    Claim(
        SIMPLE,
        "Relative to Izza, M1-P's RuleIRC is higher by 40.00 points (IAI) and 30.63 (CART).",
        _more("M1-P", "Izza", IRC, (40.00, 30.63)),
    ),
    Claim(
        SIMPLE,
        "Within affected rules, M1-P deletes 34.88 % and 37.13 % of antecedents,",
        _mean("M1-P", SHARE, (34.88, 37.13)),
    ),
    Claim(SIMPLE, "exceeding M2-P by 11.63 and 12.97 points", _more("M1-P", "M2-P", SHARE, (11.63, 12.97))),
    Claim(SIMPLE, "and Izza by 11.13 and 13.16 points.", _more("M1-P", "Izza", SHARE, (11.13, 13.16))),
    Claim(
        SIMPLE,
        "The Quinlan procedure is the most aggressive: it shortens 96.32 % / 98.05 % of rules",
        _mean("Quinlan", IRC, (96.32, 98.05)),
    ),
    Claim(
        SIMPLE,
        "and deletes 63.43 % / 64.49 % of antecedents within affected rules.",
        _mean("Quinlan", SHARE, (63.43, 64.49)),
    ),
    Claim(
        SIMPLE,
        "Reliability-controlled deletion lies between Quinlan's procedure and the exact M2-P and Izza.",
        _between,
    ),
    Claim(
        FIDELITY,
        "M1-P removes 27.19 % of IAI conditions and 27.30 % of CART conditions,",
        _mean("M1-P", REMOVED, (27.19, 27.30)),
    ),
    Claim(FIDELITY, "exceeding M2-P by 18.84 and 18.71 points", _more("M1-P", "M2-P", REMOVED, (18.84, 18.71))),
    Claim(FIDELITY, "and Izza by 18.89 and 16.53 points.", _more("M1-P", "Izza", REMOVED, (18.89, 16.53))),
    Claim(FIDELITY, "M1-P's conflict is 2.82 % / 2.31 %,", _mean("M1-P", CONFLICT, (2.82, 2.31))),
    Claim(FIDELITY, "its MacroDev 0.98 / 0.99 points,", _mean("M1-P", MACRO, (0.98, 0.99))),
    Claim(
        FIDELITY,
        "its mean accuracy change +0.51 / +0.63 points.",
        _mean("M1-P", "delta_accuracy_pp", (0.51, 0.63), "+.2f"),
    ),
    Claim(
        FIDELITY,
        "M2-P and Izza produce zero accuracy change, zero class-wise deviation and zero conflict.",
        _nothing_changes,
    ),
    Claim(FIDELITY, "Quinlan removes 62.21 % / 63.60 % of all conditions,", _mean("Quinlan", REMOVED, (62.21, 63.60))),
    Claim(FIDELITY, "35.02 / 36.30 points more than M1-P,", _more("Quinlan", "M1-P", REMOVED, (35.02, 36.30))),
    Claim(FIDELITY, "but its conflict reaches 50.59 % / 55.44 %", _mean("Quinlan", CONFLICT, (50.59, 55.44))),
    Claim(FIDELITY, "and its MacroDev 6.03 / 5.36 points,", _mean("Quinlan", MACRO, (6.03, 5.36))),
    Claim(
        FIDELITY,
        "with mean accuracy changes of +0.75 / +1.04.",
        _mean("Quinlan", "delta_accuracy_pp", (0.75, 1.04), "+.2f"),
    ),
    Claim(
        SCALE,
        "The runtime curves of M2-P and Izza remain nearly flat as M increases.",
        _grows("rows", EXACT, lambda power: abs(power) <= NEARLY_FLAT),
    ),
    Claim(SCALE, "At 128 leaves, M2-P requires 0.0073 s and Izza 0.166 s:", _seconds("leaves", 128, ("M2-P", "Izza"))),
    Claim(SCALE, "M2-P is approximately 23 times faster.", _ratio_of_seconds("leaves", 128, "Izza", "M2-P")),
    Claim(
        SCALE,
        "M1-P increases with M, consistently with its linear sample-size term.",
        _grows("rows", ("M1-P",), lambda power: 0 < power <= 1.1, 65_536),
    ),
    Claim(
        SCALE,
        "At 128 leaves, M1-P requires 0.0193 s and Quinlan 18.223 s:",
        _seconds("leaves", 128, ("M1-P", "Quinlan")),
    ),
    Claim(SCALE, "M1-P is approximately 944 times faster.", _ratio_of_seconds("leaves", 128, "Quinlan", "M1-P")),
    Claim(
        SCALE,
        "At 1,048,576 rows, M1-P requires 0.271 s and Quinlan 64.722 s:",
        _seconds("rows", 1_048_576, ("M1-P", "Quinlan")),
    ),
    Claim(SCALE, "239-fold.", _ratio_of_seconds("rows", 1_048_576, "Quinlan", "M1-P")),
    Claim(SCALE, "M2-P requires 0.0017 s and Izza 0.0084 s:", _seconds("rows", 1_048_576, EXACT)),
    Claim(SCALE, "4.9-fold.", _ratio_of_seconds("rows", 1_048_576, "Izza", "M2-P")),
    Claim(
        SUMMARY,
        "M1-P is in an intermediate regime between the conservative Izza and the aggressive Quinlan procedure,",
        _between,
    ),
    Claim(SUMMARY, "with substantially faster processing than Quinlan's.", _is_faster("M1-P", "Quinlan")),
    Claim(SUMMARY, "M2-P follows a conservative pattern close to exact path-redundancy deletion,", _close_to_izza),
    Claim(SUMMARY, "exactly preserves predictions and produces zero conflict,", _nothing_changes),
    Claim(SUMMARY, "and is faster than the Izza procedure within the measured ranges.", _is_faster("M2-P", "Izza")),
    Claim(DISCUSSION, "The sibling and mismatch candidate sets are non-nested.", _sets_differ),
    Claim(
        DISCUSSION,
        "M1-P removes approximately three times as many conditions as M2-P for both IAI and CART",
        _number(
            lambda e, arm: e.mean(arm, "M1-P", REMOVED) / e.mean(arm, "M2-P", REMOVED), (27.19 / 8.35, 27.30 / 8.59)
        ),
    ),
    Claim(
        DISCUSSION,
        "while keeping aggregate MacroDev below one percentage point",
        _bound("M1-P", MACRO, lambda value: value < 1),
    ),
    Claim(DISCUSSION, "and rule conflict below 3 %.", _bound("M1-P", CONFLICT, lambda value: value < 3)),
    Claim(
        DISCUSSION,
        "Quinlan's deletion comes with conflict on more than half of the test cases",
        _bound("Quinlan", CONFLICT, lambda value: value > 50),
    ),
    Claim(DISCUSSION, "and markedly larger class-wise deviation (Quinlan against M1-P).", _larger_deviation),
    Claim(
        END,
        "M1-P maintains small accuracy changes, low conflict, and sub-one-percentage-point aggregate MacroDev.",
        _bound("M1-P", MACRO, lambda value: value < 1),
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
        _extreme(IRC, max, ("spambase", "spambase"), (91.99, 89.80)),
    ),
    Claim(APPENDIX, "the smallest EEG's, 33.60 % and 45.82 %.", _extreme(IRC, min, ("EEG", "EEG"), (33.60, 45.82))),
    Claim(
        APPENDIX,
        "M2-P and Izza retain zero accuracy change, conflict and class-wise deviation on every data set.",
        _nothing_changes,
    ),
    Claim(APPENDIX, "M1-P's conflict remains at or below 4.29 %,", _largest_conflict),
    Claim(
        APPENDIX,
        "and its largest MacroDev is 1.77 points for IAI and 1.97 for CART, both on backache.",
        _extreme(MACRO, max, ("backache", "backache"), (1.77, 1.97)),
    ),
    Claim(
        APPENDIX,
        "Quinlan reaches 100 % conflict on german and heart-h for IAI and on heart-h for CART,",
        _quinlan_full_conflict,
    ),
    Claim(
        APPENDIX,
        "its largest MacroDev is german's, 16.81 and 14.36 points.",
        _extreme(MACRO, max, ("german", "german"), (16.81, 14.36), "Quinlan"),
    ),
    Claim(
        APPENDIX,
        "On spambase Quinlan's and M1-P's MacroDev are similar, although Quinlan's conflict is substantially greater.",
        _spambase,
    ),
)
