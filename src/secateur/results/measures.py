"""How good rules are, by counts alone: how often right, what is found of the class of interest, what errors cost.

Unseen rows are measured where there are any, else the training rows, and the words say which.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, ParameterError, did_you_mean
from secateur.results.statistics import (
    compare_shares,
    count_classes,
    count_effective,
    expect_share,
    find_area,
    find_guess,
)
from secateur.rules.rules import Rules
from secateur.tree.shares import divide_or_nan
from secateur.words.conditions import Condition, count_class, count_rows, format_count, format_share, name_class
from secateur.words.plain_words import format_amount, format_asked, join_asked

# The fewest rows from which a share says something: if a class were as likely as not, five rows would all be of it in
# 3 % of cases, four rows in 6 %.
FEW_ROWS = 5
SHOWN_LINES = 6  # of those that share the highest probability
# Rules that make nearly all the errors of a guess gain nothing over it.
LEAST_SPARED = 0.05
FIRST_PART = 0.1  # of the rows: what the lines with the highest shares hold of the class of interest


def describe_accuracy(share: float, rows: str, guess: str, guessed: float | None, by_tree: float | None = None) -> str:
    """Say how often rules are right, beside the tree if it is not as often, and beside always making one guess."""
    right = f"Right for {format_share(share)} of {rows}"
    if by_tree is not None and by_tree != share:
        right += f" (the tree: {format_share(by_tree)})"
    if guessed is None:
        return f"{right}."
    gained = ""
    if 1 - share > (1 - LEAST_SPARED) * (1 - guessed):
        gained = ", nearly as often" if share > guessed else ", as often" if share == guessed else ", more often"
    return f"{right}; always saying {guess} is right for {format_share(guessed)}{gained}."


class CaughtLine(NamedTuple):
    """A line among those ranked by their share of the class of interest, highest first."""

    line: int  # from 1
    rows: float
    hits: float  # of them in the class of interest
    rows_so_far: float  # share of all rows, up to this line
    caught_so_far: float  # share of all rows of the class


@dataclass(frozen=True)
class Measures:
    """How good answers are on some rows."""

    names: Sequence[str]  # of the classes
    rows: str  # which rows, such as "5,000 unseen rows"
    confusion: NDArray[np.float64]  # (weighted) rows by the class that is said and their own class
    guess: int  # the class that one would say of any row
    of: int | None  # the class of interest
    auc: float  # area under the ROC curve of that class against the rest; NaN where not known
    tree_accuracy: float = math.nan
    tree_auc: float = math.nan
    which: str = ""  # "unseen" or "in training", behind a number of rows
    is_said: bool = True  # whether any line says the class of interest

    @property
    def total(self) -> float:
        """(Weighted) rows."""
        return float(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Share of the rows that are answered correctly."""
        return float(np.trace(self.confusion)) / self.total

    @property
    def guess_accuracy(self) -> float:
        """Share of the rows of the class that one would guess."""
        return float(self.confusion[:, self.guess].sum()) / self.total

    def count_of(self, class_id: int) -> tuple[float, float, float]:
        """Count the rows of a class, those named it, and those that are both."""
        found = self.confusion[:, class_id].sum(), self.confusion[class_id].sum(), self.confusion[class_id, class_id]
        return float(found[0]), float(found[1]), float(found[2])

    def to_dict(self) -> dict[str, Any]:
        """List the numbers by name, ready for JSON: None for those that are not known."""
        sizes = (None, None, None) if self.of is None else self.count_of(self.of)
        found = {
            "rows": self.rows,
            "accuracy": self.accuracy,
            "guess": self.names[self.guess],
            "guess_accuracy": self.guess_accuracy,
            "tree_accuracy": self.tree_accuracy,
            "of": None if self.of is None else self.names[self.of],
            **dict(zip(("n_of", "n_named", "n_found"), sizes, strict=True)),
            "auc": self.auc,
            "tree_auc": self.tree_auc,
            "confusion": self.confusion.tolist(),
        }
        return {name: None if value != value else value for name, value in found.items()}

    def describe(self) -> str:
        """Say how often answers are right, and how much of the class of interest is found."""
        right = describe_accuracy(self.accuracy, self.rows, self.names[self.guess], self.guess_accuracy)
        return " ".join(filter(None, (right, self.describe_class())))

    def describe_class(self) -> str | None:
        """Say how many rows of the class of interest are found, and how many of those named are; None without one."""
        if self.of is None:
            return None
        name, (own, named, hits) = self.names[self.of], self.count_of(self.of)
        which = f" {self.which}" if self.which else ""
        if not own:
            return f"None of {self.rows} is {name}."
        area = "" if math.isnan(self.auc) else f" AUC {self.auc:.3f}"
        area += f" (tree {self.tree_auc:.3f})" if area and not math.isnan(self.tree_auc) else ""
        area += "." if area else ""
        if not named:
            line = "line that decides a row" if self.is_said else "line"
            none = f"finds none of {format_count(own)}{which}, because no {line} says {name}"
            return f"{name_class(name)}: {none}.{area}"
        lift = hits / named / (own / self.total)
        found, right = format_count(hits), f"{format_share(hits / named)}, {lift:.3g} times the share in all rows"
        return (
            f"{name_class(name)}: finds {found} of {format_count(own)}{which} ({format_share(hits / own)}); of "
            f"{format_count(named)} that it names, {found} are {name} ({right}).{area}"
        )

    def describe_confusion(self) -> str:
        """Lay out the rows by what is said (down) and what they are (across)."""
        head = ["said \\ is", *self.names]
        body = [[name, *map(format_count, row)] for name, row in zip(self.names, self.confusion.tolist(), strict=True)]
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(n) for cell, n in zip(row[1:], widths[1:], strict=True))])
            for row in (head, *body)
        )


@dataclass(frozen=True)
class ValueMeasures:
    """How far values are off on some rows, root mean square."""

    rows: str  # which rows, such as "5,000 unseen rows"
    error: float
    guess: float  # what one would say of any row: the mean of the training targets
    guess_error: float

    def to_dict(self) -> dict[str, Any]:
        """List the numbers by name, ready for JSON."""
        return dict(vars(self))

    def describe(self, trained: Self | None = None) -> str:
        """Say how far values are off, beside the training rows if those are others, and beside one guess."""
        told = f"Off by {format_amount(self.error)} (root mean square) on {self.rows}"
        told += "" if trained is None else f", {format_amount(trained.error)} in training"
        always = f"; always saying {format_amount(self.guess)} is off by {format_amount(self.guess_error)}"
        return f"{told}{always if self.guess_error else ''}."


def measure_groups(
    names: Sequence[str],
    rows: str,
    said: NDArray[np.int64],
    shares: NDArray[np.float64],
    counts: NDArray[np.float64],
    *,
    guess: int,
    of: int | None,
) -> Measures:
    """Measure answers that groups of rows share: the class that is said, class shares, and rows by class."""
    confusion = np.zeros((len(names), len(names)))
    np.add.at(confusion, said, counts)
    area = math.nan if of is None else find_area(shares[:, of], counts[:, of], counts.sum(axis=1) - counts[:, of])
    return Measures(names, rows, confusion, guess, of, area, is_said=of in said)


def measure_rules(rules: Rules) -> Measures | None:
    """Measure a list on unseen rows, else on the training rows; None without rows, and of one rule for each leaf."""
    counts, is_unseen = count_shown(rules)
    if counts is None or not rules.is_list or not counts.sum() > 0 or rules.tree.is_regression:
        return None
    unseen = rules.unseen if is_unseen else None
    by_leaf = rules.leaf_counts if unseen is None else unseen.leaf_counts
    is_weighted = rules.is_weighted if unseen is None else unseen.is_weighted
    rows = count_rows(float(counts.sum()), "unseen" if is_unseen else "training", is_weighted=is_weighted)
    guess = find_guess(rules, counts.sum(axis=0))
    measure = partial(measure_groups, rules.tree.class_names, rows, guess=guess, of=find_interest(rules))
    found = measure(rules.class_ids, rules.shares, counts)
    tree = measure(rules.paths.leaf_class, rules.leaf_shares, by_leaf)
    own, which = found.auc if rules.is_counted else tree.auc, "unseen" if is_unseen else "in training"
    return replace(found, auc=own, tree_accuracy=tree.accuracy, tree_auc=tree.auc, which=which)


def measure_values(rules: Rules) -> ValueMeasures | None:
    """Measure a list of values on unseen rows, else on the training rows; None where no targets are known."""
    moments, weights, rows, unseen = rules.target_moments, rules.support, "the training rows", rules.unseen
    if moments is None:
        return None
    guess = find_whole_moments(rules, moments)[0]
    if unseen is not None and unseen.moments is not None:
        moments, weights = unseen.moments, unseen.support
        rows = count_rows(float(weights.sum()), "unseen", is_weighted=unseen.is_weighted)
    known, weights = np.nan_to_num(moments), np.nan_to_num(weights)
    error, guess_error = (
        math.sqrt(float(np.average(known[:, 1] ** 2 + (known[:, 0] - said) ** 2, weights=weights)))
        for said in (rules.answers, guess)
    )
    return ValueMeasures(rows, error, guess, guess_error)


def find_whole_moments(rules: Rules, moments: NDArray[np.float64]) -> tuple[float, float]:
    """Find mean and standard deviation of all training targets from those of the lines."""
    weight, known = np.nan_to_num(rules.support), np.nan_to_num(moments)
    mean = float(np.average(known[:, 0], weights=weight))
    return mean, float(np.average(known[:, 1] ** 2 + (known[:, 0] - mean) ** 2, weights=weight)) ** 0.5


def find_expected(rules: Rules, lines: NDArray[np.int64] | None = None) -> list[tuple[float, float] | None]:
    """Find for some lines what share of their class as many new rows will have, by unseen rows; None where too few."""
    unseen, lines = rules.unseen, np.arange(rules.n_lines) if lines is None else lines
    if unseen is None:
        return [None] * len(lines)
    rows = unseen.support[lines]
    n_rows = rows if unseen.squares is None else count_effective(rows, unseen.squares[lines])
    share = divide_or_nan(unseen.counts[lines, rules.class_ids[lines]], rows)
    low, high = expect_share(np.nan_to_num(share) * n_rows, n_rows)
    limits = zip(low.tolist(), high.tolist(), (n_rows >= FEW_ROWS).tolist(), strict=True)
    return [(one, other) if is_enough else None for one, other, is_enough in limits]


def count_shown(rules: Rules) -> tuple[NDArray[np.float64] | None, bool]:
    """Give the counts that are shown first, unseen ones where there are any, and whether they are."""
    if rules.unseen is not None:
        return rules.unseen.counts, True
    is_known = rules.is_ranked and rules.fidelity is None and not np.isnan(rules.counts).any()
    return (rules.counts if is_known else None), False


def find_interest(rules: Rules) -> int | None:
    """Find the class of interest: the one that was named, or the rarer of two."""
    if rules.making.of is not None or rules.tree.is_regression:
        return rules.making.of
    sizes = count_classes(rules)
    if rules.tree.n_classes != 2 or sizes is None:
        return None
    return int(sizes.argmin()) if sizes[0] != sizes[1] else 1


def rank_lines(rules: Rules) -> list[CaughtLine]:
    """Rank the lines by their share of the class of interest, with what they hold of it up to each."""
    counts, of = count_shown(rules)[0], find_interest(rules)
    if counts is None or of is None or not rules.is_list:
        return []
    order = np.argsort(-rules.shares[:, of], kind="stable")
    rows, hits = counts.sum(axis=1)[order], counts[order, of]
    so_far = (divide_or_nan(np.cumsum(one), np.full(len(one), one.sum())) for one in (rows, hits))
    listed = zip((order + 1).tolist(), *(one.tolist() for one in (rows, hits, *so_far)), strict=True)
    return [CaughtLine(*one) for one in listed]


def find_highest(rules: Rules) -> list[CaughtLine]:
    """Find the lines with the highest share of the class of interest, of those with enough rows; several if equal."""
    ranked, of = [one for one in rank_lines(rules) if one.rows >= FEW_ROWS], find_interest(rules)
    stated = [format_share(float(rules.shares[one.line - 1, of])) for one in ranked]
    ties = [one for one, share in zip(ranked, stated, strict=True) if share == stated[0]]
    return sorted(ties) if any(one.hits for one in ties) else []


def describe_highest(rules: Rules) -> str | None:
    """Say which line has the highest share of the class of interest."""
    ties, of, which = find_highest(rules), find_interest(rules), "unseen" if count_shown(rules)[1] else "training"
    if of is None or not ties:
        return None
    share, verb = float(rules.shares[ties[0].line - 1, of]), "state" if rules.keeps_shares else "give"
    hits, rows = sum(one.hits for one in ties), sum(one.rows for one in ties)
    is_first = rank_lines(rules)[0].rows >= FEW_ROWS
    among = "" if is_first else f" of those with at least {FEW_ROWS} {which} rows"
    lines, states, whose = f"Line {ties[0].line}", f"{verb}s", "its"
    if len(ties) > 1:
        more = [f"{len(ties) - SHOWN_LINES} more"] if len(ties) > SHOWN_LINES else []
        *others, last = [*(str(one.line) for one in ties[:SHOWN_LINES]), *more]
        lines, states, whose = f"Lines {', '.join(others)} and {last}", verb, "their"
    return (
        f"{lines} {states} the highest probability{among}, {format_share(share)}: {format_count(hits)} of {whose} "
        f"{format_count(rows)} {which} rows are {rules.tree.class_names[of]}."
    )


def describe_ranking(rules: Rules) -> str | None:
    """Say which line has the highest share of the class of interest, and what the first lines hold together."""
    ranked, of, told = rank_lines(rules), find_interest(rules), describe_highest(rules)
    if of is None or told is None:
        return None
    stated = {one.line: format_share(float(rules.shares[one.line - 1, of])) for one in ranked}
    some = [one for one in ranked if one.rows and one.rows_so_far <= FIRST_PART]
    # Lines that state the same go together.
    if some:
        some += [one for one in ranked if one.rows and one not in some and stated[one.line] == stated[some[-1].line]]
    if len(some) < 2:
        return told
    which = "unseen" if count_shown(rules)[1] else "training"
    held, caught = format_share(some[-1].rows_so_far), format_share(some[-1].caught_so_far)
    return (
        f"{told} The {held} of the {which} rows with the highest probabilities ({len(some)} lines) hold {caught} of "
        f"those that are {rules.tree.class_names[of]}."
    )


STATEMENT = re.compile(r"\s*missed\s+(?P<name>.+?)\s*=\s*(?P<cost>\S+)\s*")
EXPECTED = 'Expected a cost such as "missed default = 5"'


@dataclass(frozen=True)
class Cutoff:
    """The share of the class of interest from which on it is best said, and what that costs a row on average."""

    of: str  # the class of interest
    other: str
    share: float  # lines that give the class at least this share are answered with it; above 1 if none is
    lines: tuple[int, ...]  # their numbers, from 1
    price: float  # with this cut-off
    price_of_classes: float  # with the classes of the list as they are
    price_always: float  # if every row is said to be of the class
    price_never: float  # if none is
    rows: str  # that were priced

    def __str__(self) -> str:
        others = f"always saying {self.of} {self.price_always:.3g}, always saying {self.other} {self.price_never:.3g}."
        each = f"{self.price:.3g} for each of {self.rows}"
        if self.price_of_classes <= self.price * (1 + 1e-9):
            return f"Costs: the list's own classes are already the cheapest, {each}; {others}"
        which = "line" if len(self.lines) == 1 else "lines"
        said = f"from a share of {format_share(self.share)} on ({which} {', '.join(map(str, self.lines))})"
        said = f"saying {self.of} {said if self.lines else 'for no line'} costs {each}, on which this cut-off is"
        return f"Costs: {said} the cheapest; the classes of the list cost {self.price_of_classes:.3g}, {others}"


def parse_costs(rules: Rules, stated: Sequence[str]) -> dict[int, float]:
    """Read statements such as ``missed default = 5``: what it costs to miss a row of a class; by default 1 each."""
    names = list(rules.tree.class_names)
    found = dict.fromkeys(range(len(names)), 1.0)
    for one in stated:
        parts = STATEMENT.fullmatch(one)
        if parts is None:
            raise ParameterError(f"{EXPECTED}, found {one!r}.")
        name = parts["name"].strip("\"'")
        same = [name] if name in names else [own for own in names if own.casefold() == name.casefold()]
        if len(same) != 1:
            raise ParameterError(f"No class is called {name!r}.{did_you_mean(name, names)} {EXPECTED}.")
        try:
            cost = float(parts["cost"])
        except ValueError:
            cost = -1.0
        if not 0 < cost < np.inf:
            raise ParameterError(f"{EXPECTED}, found {parts['cost']!r} for a number above 0.")
        found[names.index(same[0])] = cost
    return found


def find_cutoff(rules: Rules, costs: dict[int, float] | Sequence[str]) -> Cutoff:
    """Find the cut-off on the shares of the lines that costs least, on unseen rows where there are any."""
    if not isinstance(costs, dict):
        costs = parse_costs(rules, costs)
    if rules.tree.n_classes != 2 or not rules.is_list:
        raise InputError("A cut-off is between two classes, on the lines of a list: leave the costs out.")
    counts, is_unseen = count_shown(rules)
    of: Any = find_interest(rules)
    if counts is None or of is None or not counts.sum() > 0:
        raise InputError("Costs are counted on rows, and these rules have none: measure(X_new, y_new) counts some.")
    other, total = 1 - of, float(counts.sum())
    shares = rules.shares[:, of]
    order = np.argsort(-shares, kind="stable")
    # The first i lines are said to be of the class: their other rows are missed, and the class's rows of the rest.
    missed = counts[:, of].sum() - np.concatenate([[0.0], np.cumsum(counts[order, of])])
    falsely = np.concatenate([[0.0], np.cumsum(counts[order, other])])
    prices = (costs[of] * missed + costs[other] * falsely) / total
    ends = np.flatnonzero(np.diff(shares[order], prepend=np.inf, append=-np.inf) < 0)  # lines of one share go together
    best = int(ends[prices[ends].argmin()])
    own = rules.class_ids == of
    of_classes = costs[of] * counts[~own, of].sum() + costs[other] * counts[own, other].sum()
    names = rules.tree.class_names
    return Cutoff(
        of=names[of],
        other=names[other],
        share=float(shares[order[best - 1]]) if best else float(np.nextafter(1.0, 2.0)),
        lines=tuple(sorted((order[:best] + 1).tolist())),
        price=float(prices[best]),
        price_of_classes=float(of_classes) / total,
        price_always=float(prices[-1]),
        price_never=float(prices[0]),
        rows=f"{format_count(total)} {'unseen' if is_unseen else 'training'} rows",
    )


def describe_rarer(counts: NDArray[np.float64], class_id: int, names: Sequence[str], which: str = "") -> str:
    """Say which class most of some rows have, if it is not the one that is stated for them; else say nothing."""
    if not counts[class_id] < counts.max():
        return ""
    commonest = int(counts.argmax())
    most = "most" if counts[commonest] > counts.sum() / 2 else "more"
    return f"; {most} of its {which}rows are {names[commonest]}"


# A name that says so, and different values in many rows, make an identifier.
ID_NAME = re.compile(
    r"(^|[\W_]|(?<=[a-z]))(ID|Id|id|UUID|uuid|GUID|guid|key|Key)$|^(ID|Id|id|UUID|uuid)([\W_]|$)"
    r"|[\W_](?i:no|nr|number)\.?$"
)
# Whole numbers of such a name, all of as many digits, are codes: which is larger says nothing.
CODE_NAME = re.compile(r"(?i)(^|[\W_])(branch|code|zip|postcode|plz|store|shop|office|department|dept|sector|region)$")
LEAST_CODE = 100
# Flags that the numbers beside a line tell already.
TOLD = ("did-not-hold-up", "mostly-wrong", "no-rows")
SHOWN_FLAGS = 3
MOST_LINES = 500  # of a list whose neighbouring intervals are compared: nobody reads more


class Flag(NamedTuple):
    """What to mind about one line."""

    line: int  # its number, from 1
    kind: str  # "did-not-hold-up", "mostly-wrong", "late-date", "code", "not-monotone" or "no-rows"
    text: str  # a sentence

    def __str__(self) -> str:
        return self.text


def find_flags(rules: Rules) -> list[Flag]:
    """Find what to mind about each line, one flag each, by unseen rows where there are any, else by training rows."""
    found: dict[int, Flag] = {}
    for one in (*_find_counted(rules), *_find_asked(rules), *_find_bends(rules)):
        found.setdefault(one.line, one)
    return [found[line] for line in sorted(found)]


def describe_flags(rules: Rules) -> list[str]:
    """Say what the numbers beside the lines do not tell, in a few sentences."""
    flags = [one for one in find_flags(rules) if one.kind not in TOLD]
    more = len(flags) - SHOWN_FLAGS
    shown = [one.text for one in flags[:SHOWN_FLAGS]]
    verb = "1 more line has" if more == 1 else f"{more:,} more lines have"
    return [*shown, f"{verb} a similar flag: audit(…).per_line lists them."] if more > 0 else shown


def _find_counted(rules: Rules) -> Iterator[Flag]:
    counts, is_unseen = count_shown(rules)
    if counts is None or not rules.is_list:
        return
    which, support = "unseen" if is_unseen else "training", counts.sum(axis=1)
    for place, rows in enumerate(support.tolist()):
        told = f"Line {place + 1}"
        if rules.did_not_hold_up[place]:
            yield Flag(place + 1, TOLD[0], f"{told} did not hold up: its unseen rows differ from its training rows.")
        elif not rows:
            yield Flag(place + 1, TOLD[2], f"{told} has no {which} row.")
        elif rows >= FEW_ROWS and not rules.tree.is_regression:
            rarer = describe_rarer(counts[place], int(rules.class_ids[place]), rules.tree.class_names)
            if rarer:
                yield Flag(place + 1, TOLD[1], f"{told}: {rarer.removeprefix('; ')} (of {rows:g} {which} rows).")


def _find_asked(rules: Rules) -> Iterator[Flag]:
    """Find lines that ask for a date, which all rows later than the training rows pass or fail, or compare a code."""
    tree = rules.tree
    asked = np.unique(tree.feature[~tree.is_leaf]).tolist()
    codes = {feature for feature in asked if _is_code(rules, feature)}
    dates = {feature for feature in asked if (own := tree.column_parser(feature)) is not None and own.kind == "date"}
    known = {f: rules.spreads[f] for f in dates if f in rules.spreads}
    for line in rules.lines if codes or known else ():
        for one in line.whole_conditions:
            limit, spread = one.low if math.isinf(one.high) else one.high, known.get(one.feature)
            if spread is not None and len(spread.edges):
                is_late, is_passed = limit >= spread.edges[-1], math.isinf(one.high)
                few = (
                    f"at most one training row in ten is {'as late' if is_passed else 'later'}, and " if is_late else ""
                )
                row = "later row" if is_late else "row later than the training rows"
                then = f"every {row} will be" if is_passed else f"no {row} will satisfy that"
                told = f"Line {line.index + 1} asks for {_word(rules, one)}: {few}{then}."
                yield Flag(line.index + 1, "late-date", told)
            elif one.feature in codes:
                told = f"Line {line.index + 1} compares {one.name}, which looks like a code, with a number"
                yield Flag(line.index + 1, "code", f"{told}: which one is larger says nothing.")


def _is_code(rules: Rules, feature: int) -> bool:
    tree, name = rules.tree, rules.tree.feature_name(feature)
    limits = tree.threshold[(tree.feature == feature) & ~tree.is_leaf]
    is_whole = bool(len(limits)) and bool((2 * limits == np.rint(2 * limits)).all() and (limits >= LEAST_CODE).all())
    return is_whole and tree.categories[feature] is None and bool(CODE_NAME.search(name) or ID_NAME.search(name))


def _find_bends(rules: Rules) -> Iterator[Flag]:
    """Find lines of neighbouring intervals whose shares of the class of interest go against a stated sign, or bend."""
    (counts, is_unseen), of = count_shown(rules), find_interest(rules)
    if counts is None or of is None or not rules.is_list or len(rules) > MOST_LINES:
        return
    groups: dict[tuple[int, str, frozenset[str]], list[_Band]] = {}
    for line in rules:
        asked = line.conditions
        for one in asked:
            rest = frozenset(other.text for other in asked if other is not one)
            if one.categories is None:
                groups.setdefault((line._section, one.name, rest), []).append(_Band(one, one.low, one.high, line.index))
    signs = rules.tree.monotone
    for (section, name, rest), found in groups.items():
        bands = sorted(found, key=lambda band: band.low)
        otherwise = rules.sections[section].otherwise
        # Where nothing else is asked, "otherwise" has the intervals between.
        if otherwise is not None and not rest and len(bands) == len(rules.sections[section].rules):
            bands = _fill_gaps(bands, otherwise.index)
        if any(one.high > other.low for one, other in pairwise(bands)):
            continue
        places = [band.line for band in bands]
        rows = counts[places].sum(axis=1)
        share = divide_or_nan(counts[places, of], rows)
        low, high = compare_shares(share[1:], rows[1:], share[:-1], rows[:-1])
        step = [0, *np.where(low > 0, 1, np.where(high < 0, -1, 0)).tolist(), 0]  # beyond chance
        sign = 0 if signs is None else int(signs[found[0].asked.feature]) * (1 if of == 1 else -1)  # type: ignore[union-attr]
        for band, own, before, after in zip(bands, share.tolist(), step[:-1], step[1:], strict=True):
            if band.asked is None:
                continue
            share_told = count_class(format_share(own), rules.tree.class_names[of])
            which = "among unseen rows" if is_unseen else "in training"
            told = f"Line {band.line + 1}: {share_told} {which} where {_word(rules, band.asked)}"
            if sign and before == -sign:
                stated = f"though {name} was stated to {'raise' if sign > 0 else 'lower'} it"
                yield Flag(band.line + 1, "not-monotone", f"{told}, {stated}.")
            elif not sign and before and after == -before:
                side = "more" if before > 0 else "less"
                yield Flag(band.line + 1, "not-monotone", f"{told}, {side} than on either side of it.")


def _word(rules: Rules, condition: Condition) -> str:
    return join_asked(format_asked(rules, condition.link_ids))


class _Band(NamedTuple):
    """An interval of a column, and its line; nothing is asked of what is left to "otherwise"."""

    asked: Condition | None
    low: float
    high: float
    line: int


def _fill_gaps(bands: list[_Band], otherwise: int) -> list[_Band]:
    """Put "otherwise" where no line has an interval."""
    ends = [-math.inf, *(band.high for band in bands)]
    starts = [*(band.low for band in bands), math.inf]
    gaps = [_Band(None, low, high, otherwise) for low, high in zip(ends, starts, strict=True) if low < high]
    return sorted([*bands, *gaps], key=lambda band: band.low)
