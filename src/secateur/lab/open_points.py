"""Where the paper leaves a choice: the question, our reading, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from secateur.lab.evidence import ARM_NAMES, Evidence
from secateur.lab.protocol import ARMS, N_SPLITS, TOLERANCES
from secateur.lab.readings import LEAF_TIES, SINGLE_CONDITIONS
from secateur.lab.stored_results import load_study
from secateur.lab.summary import expected_by_dataset
from secateur.lab.tolerances import count_nearest


@dataclass(frozen=True)
class OpenPoint:
    """A definition that the paper leaves open."""

    question: str
    ours: str
    why: Callable[[Evidence], str]


def _always(text: str) -> Callable[[Evidence], str]:
    return lambda evidence: text


def _compare_fits(evidence: Evidence, ours: str, other: str) -> str:
    parts = []
    for arm, name in ARM_NAMES.items():
        mine, theirs, n_splits = evidence.fits[arm][ours], evidence.fits[arm][other], evidence.count_readings(arm)
        only = f" (the first {n_splits} splits)" if n_splits < N_SPLITS else ""
        shown = f"{name} {mine.rms:.2f} against {theirs.rms:.2f}{only}"
        parts.append(f"{shown}, beyond three SE {mine.n_far} against {theirs.n_far}")
    return "; ".join(parts)


def _izza(evidence: Evidence) -> str:
    paper = {(r["learner"], r["dataset"], r["method"]): r["rule_irc_pct"] for r in expected_by_dataset()}
    izza, sibling = paper["IAI", "backache", "Izza"], paper["IAI", "backache", "M2-P"]
    n_numbers = evidence.fits["cart"]["Izza"].n_numbers
    return (
        "With single conditions, Izza could never shorten fewer rules than M2-P, and the paper's table shows that "
        "it does (IAI, "
        f"backache: {izza:.2f} % against {sibling:.2f} %). Root mean square distance from the paper's {n_numbers} "
        "numbers in SE, "
        f"whole features against single conditions: {_compare_fits(evidence, 'Izza', SINGLE_CONDITIONS)}."
    )


def _ties(evidence: Evidence) -> str:
    n_numbers = evidence.fits["cart"]["Quinlan"].n_numbers
    better = all(evidence.fits[arm][LEAF_TIES].rms < evidence.fits[arm]["Quinlan"].rms for arm in ARM_NAMES)
    return (
        f"Root mean square distance from the paper's {n_numbers} numbers in SE, ties to the root against ties to "
        "the leaf: "
        f"{_compare_fits(evidence, 'Quinlan', LEAF_TIES)}. Ties to the leaf fit "
        f"{'slightly better' if better else 'no better'} "
        '(`simplify(…, ties="leaf")`); we keep the root, so that equal conditions go in one order, root to leaf, in '
        "all our methods but the paper's M1-P. The tables are made with the root."
    )


def _quinlan_rates(evidence: Evidence) -> str:
    gaps = [
        abs(c.ours - c.theirs)
        for c in evidence.cells("cart")
        if (c.method, c.column) == ("Quinlan", "irc_per_rule_pct")
    ]
    return (
        "Quinlan (1987) asks whether the class depends on the condition; the rows that come in without it are those "
        f"that it decides about. On CART trees IRC/rule is then within {max(gaps):.1f} points of the paper's on all "
        f"{len(gaps)} data sets."
    )


def _undefined(evidence: Evidence) -> str:
    counts = {method: evidence.count_undefined(method) for method in ("M1-P", "Quinlan")}
    found = ", ".join(f"{method} {n_undefined} of {n_splits}" for method, (n_undefined, n_splits) in counts.items())
    return (
        "The paper does not say. It matters in splits where the tree or the rules predict one class only for all test "
        f"rows; of ours: {found}."
    )


def _unaffected(evidence: Evidence) -> str:
    return (
        "It is a mean over affected rules. Of the splits of our tables, all procedures and both arms, "
        f"{evidence.count_unaffected()} have none."
    )


def describe_nearest() -> str:
    """Say on how many data sets the ε of the tables is the nearest of the grid, in both arms."""
    n_datasets = len(TOLERANCES)
    errors, points = (
        [count_nearest(ARMS[arm], load_study("splits", arm), in_points=in_points) for arm in ARM_NAMES]
        for in_points in (False, True)
    )
    return (
        "Of the six values of its grid, ours is the one whose M1-P numbers are nearest to the printed ones: by "
        f"distance in SE on {errors[0]} of {n_datasets} data sets for the stand-in and, independently, on {errors[1]} "
        f"of {n_datasets} for CART (in points {points[0]} and {points[1]})."
    )


def _tolerances(evidence: Evidence) -> str:
    differing = [choice for choice in evidence.choices if choice.picked != choice.assumed]
    listed = " and ".join(f"{c.picked:g} for {c.dataset}" for c in differing if c.picked is not None)
    return (
        f"{describe_nearest()} The paper's rule (most deletion, accuracy not falling, conflict at most 5 %, "
        f"both learners) picks the same on our results for {len(evidence.choices) - len(differing)} data sets, and "
        f"{listed}. What M1-P's numbers agree in is partly by this choice."
    )


def _weather(evidence: Evidence) -> str:
    found = evidence.states["Weather"]
    return (
        "scikit-learn breaks such ties at random; the paper does not say how its own were broken. "
        f"{found['as printed']} of {found['states']} states give the paper's rows; in the other "
        f"{found['M1-D more than Izza']} M1-D removes more than Izza."
    )


OPEN_POINTS = (
    OpenPoint(
        "What Izza's procedure drops at once",
        "All conditions of the path on one feature; features in the order in which the path first tests them.",
        _izza,
    ),
    OpenPoint(
        "Quinlan: which of two equally good conditions goes first",
        'The one nearer the root (`ties="root"`), after the higher certainty factor left and the higher p.',
        _ties,
    ),
    OpenPoint(
        "Quinlan: which table Fisher's test sees",
        "[[k, n − k], [k′, n′ − k′]]: k of n rows are right with the condition, k′ of the n′ rows that come in "
        "without it. One-sided: the rule with the condition is better.",
        _quinlan_rates,
    ),
    OpenPoint(
        'Quinlan: "certainty factor or Fisher acceptance"',
        "A condition may go if the certainty factor does not fall (tolerance 1e-12) *or* p > α = 0.01; of those "
        "the one goes that leaves the highest certainty factor; then again.",
        _always('The settings are the paper\'s (appendix A); that either suffices is our reading of "or".'),
    ),
    OpenPoint("Precision of a class that is never predicted", "0, for the tree and for the rules.", _undefined),
    OpenPoint(
        "M1-D: a leaf that no listed case reaches",
        "It keeps every condition.",
        _always(
            '"Every listed case that satisfies the rule has its class" holds where there is no such case, too; a '
            "certificate without a case would certify anything."
        ),
    ),
    OpenPoint(
        "M1-D by monotonicity: who says that the response is monotone",
        "You state a sign per feature; conditions on one feature are intersected first.",
        _always(
            "The theorem asks for a monotone response and a feasible witness; [what exactly is "
            "guaranteed](guarantees.md) says what is decided about the tree."
        ),
    ),
    OpenPoint("The ε of the tables", ", ".join(f"{d} {value:g}" for d, value in TOLERANCES.items()) + ".", _tolerances),
    OpenPoint("Whether |D| = ε is within ε", "Yes, without slack.", _always("The paper writes ≤.")),
    OpenPoint(
        "The class of a leaf with a tie",
        "The first class, as scikit-learn's argmax.",
        _always("Rules and source tree must predict the same."),
    ),
    OpenPoint(
        "Orientation with more than two classes",
        "Matched if the share of the leaf's own class rises by more than rf_tol = 1e-12, mismatched if it falls by "
        "more, else neutral.",
        _always("With two classes this is the paper's C1/C0; nothing else has to change."),
    ),
    OpenPoint(
        "H when no ancestor predicts one class only",
        "The leaf itself; then every mismatched edge is outside.",
        _always("As in the paper."),
    ),
    OpenPoint(
        "A sibling certificate when the child on the path is a leaf",
        "None: the child must be internal, the other one a leaf of the same class.",
        _always(
            "As in the paper. Trees that predict the same on both sides of a split have such pairs; `exact` deletes "
            "there."
        ),
    ),
    OpenPoint(
        "A rule that no training row satisfies",
        "Support 0, no reliability; methods that judge by rows delete nothing from it.",
        _always("There is nothing to compare with. The paper's leaves all have rows."),
    ),
    OpenPoint(
        "IRC/rule when no rule is affected",
        "Undefined (NaN); means over splits and data sets leave it out.",
        _unaffected,
    ),
    OpenPoint(
        "Removed % of a split",
        "Deleted conditions of all rules over all their conditions.",
        _always("The paper's text gives it without a formula; pooled conditions match its numbers."),
    ),
    OpenPoint(
        "Order of means",
        "Metrics per split (absolute changes before averaging), then over splits, then equally over data sets; ± "
        "is the standard deviation over data-set means.",
        _always("As in the captions."),
    ),
    OpenPoint(
        "Which rule predicts where several cover a row",
        "Higher training reliability, larger training support, fewer conditions, source order.",
        _always("As in the paper; source order is left to right."),
    ),
    OpenPoint(
        "Conflict",
        "Share of all test rows that rules of different classes cover, whether or not the prediction changes.",
        _always("As in the paper."),
    ),
    OpenPoint(
        "Assimilation",
        "The kept conditions are the path to a proper ancestor (the root, too) and the rule covers strictly more "
        "training rows.",
        _always("As in the paper, which prints no rates."),
    ),
    OpenPoint(
        "Comparison with a threshold",
        "float32 value <= float64 threshold, as scikit-learn.",
        _always("Else rows on a threshold would change sides."),
    ),
    OpenPoint(
        "Splits and trees",
        f"Splits 0 to {N_SPLITS - 1} and trees with the split's number as random_state.",
        _always(
            "The paper's are not published, so agreement is statistical. SE: our standard deviation over n splits "
            "· √(1/n + 1/30), because both sides vary; fewer than five splits decide nothing."
        ),
    ),
    OpenPoint(
        "Encoding, and which class is class 1",
        "One-hot columns for every level, numbers as they are; classes as listed in [the "
        "protocol](reproduction.md#protocol).",
        _always("The numbers of rows and columns are then the paper's."),
    ),
    OpenPoint(
        "Weather: equally good splits",
        "The smallest random_state whose tree gives the paper's row for all three procedures.",
        _weather,
    ),
    OpenPoint(
        "IAI trees",
        "Our own local search stands in for them.",
        _always(
            "The software is commercial and the saved trees are not public; [the "
            "tables](reproduction.md#optimization-based-arm-a-stand-in) say how near [it](optimal-trees.md) comes."
        ),
    ),
)
