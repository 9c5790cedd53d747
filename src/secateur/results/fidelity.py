"""How often the rules agree with the model, measured on held-out rows.

The rules equal a surrogate tree; the surrogate only approximates the model. So the share of rows on which both say the
same is a number that was measured, with an interval, and never a promise. Of values, "the same" is within the
tolerance of the list, and R² of the rules' values as guesses of the model's is told beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.results.statistics import LEVEL, find_interval, round_outwards
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of, format_count, format_share
from secateur.words.plain_words import format_amount, format_asked, format_limit, join_asked

FEW_ROWS = 5  # held-out rows below which a share says nothing
LEAST_OF_REGION = 10  # held-out rows of a leaf that may be named as the one where the rules fail most
SHOWN_CLASSES = 5


class Agreement(NamedTuple):
    """On how many held-out rows the rules say what the model says.

    Attributes
    ----------
    n_rows : int
        Held-out rows.
    n_same : int
        Those of them on which both say the same.
    level : float
        Of the interval.
    """

    n_rows: int
    n_same: int
    level: float = LEVEL

    @property
    def share(self) -> float | None:
        """Share of the rows on which both say the same; None without rows."""
        return self.n_same / self.n_rows if self.n_rows else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Limits of the share on new rows (Clopper and Pearson); None without rows."""
        if not self.n_rows:
            return None
        low, high = find_interval(self.n_same / self.n_rows, self.n_rows, self.level)
        return float(low), float(high)

    def __str__(self) -> str:
        if self.interval is None:
            return "no held-out row"
        low, high = round_outwards(self.interval)
        return f"{format_share(self.share)} ({100 * low:.1f} to {100 * high:.1f})"


class WeakestRegion(NamedTuple):
    """The leaf of the surrogate where the rules say least often what the model says.

    Attributes
    ----------
    leaf_id : int
    agreement : Agreement
        Its level allows for the choice among several leaves.
    n_regions : int
        Leaves that it was chosen from: those with enough held-out rows.
    """

    leaf_id: int
    agreement: Agreement
    n_regions: int


@dataclass(frozen=True, eq=False)
class Fidelity:
    """How often rules agree with a model, on held-out rows that had no part in making them.

    Attributes
    ----------
    model : str
        What the rules approximate, such as ``a RandomForestClassifier``.
    counts : ndarray of int64, shape (n_rules + 1, n_classes + 1)
        Held-out rows by the rule that decides them, "otherwise" last, and by the class that the model says; the last
        column is for classes that the rules do not know. Of values: those within the tolerance, and those beyond.
    class_ids : ndarray of int64, shape (n_rules + 1,)
        The class that each rule, and at the end "otherwise", says.
    leaf_counts : ndarray of int64, shape (n_leaves, 2)
        Held-out rows of each leaf of the surrogate, and those on which rules and model say the same.
    leaf_ids : ndarray of int64, shape (n_leaves,)
    n_building, n_neighbours : int
        Rows, and shuffled neighbours of them, that the surrogate was grown on.
    expected : float
        The fidelity that folds of the rows to learn from promised for trees of this size; of values, R².
    wanted : float or None
        The fidelity that was asked for; of values, R².
    n_right, n_model_right : int or None
        Held-out rows on which the rules, and the model, are right; None without labels.
    guess : tuple of (str, int), or None
        The commonest label of the held-out rows, and how many have it.
    seed : int or None
        Of the split into rows to learn from and held-out rows; None if other rows were held out.
    distances : dict or None
        Of values on the held-out rows: the ``tolerance``; the ``mean`` and the ``largest`` distance between rules and
        model; ``r2`` of the rules for the model's values, and ``rules_r2`` and ``model_r2`` of both for the targets.
        None where there is no spread, or no target. None for classes.
    lengths : tuple of Rules
        Lists of other lengths, the shortest first, each with its fidelity on the same held-out rows; a file has none.
    """

    model: str
    counts: NDArray[np.int64]
    class_ids: NDArray[np.int64]
    leaf_counts: NDArray[np.int64]
    leaf_ids: NDArray[np.int64]
    n_building: int
    n_neighbours: int
    expected: float
    wanted: float | None = None
    n_right: int | None = None
    n_model_right: int | None = None
    guess: tuple[str, int] | None = None
    seed: int | None = None
    distances: Mapping[str, float | None] | None = None
    lengths: tuple[Rules, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for array in (self.counts, self.class_ids, self.leaf_counts, self.leaf_ids):
            array.flags.writeable = False

    @property
    def n_rows(self) -> int:
        """Held-out rows."""
        return int(self.counts.sum())

    @property
    def n_queries(self) -> int:
        """Rows that the model was asked about, in all."""
        return self.n_building + self.n_neighbours + self.n_rows

    @property
    def overall(self) -> Agreement:
        """Agreement on all held-out rows."""
        return Agreement(self.n_rows, int(self._same.sum()))

    @property
    def share(self) -> float:
        """Share of the held-out rows on which rules and model say the same."""
        return self.overall.n_same / self.overall.n_rows

    @property
    def interval(self) -> tuple[float, float]:
        """Limits of the share on new rows of the same kind, at 95 % (Clopper and Pearson)."""
        found = self.overall.interval
        assert found is not None  # there is at least one held-out row
        return found

    @property
    def by_rule(self) -> tuple[Agreement, ...]:
        """Agreement where each rule, and at the end "otherwise", decides."""
        sizes = self.counts.sum(axis=1).tolist()
        return tuple(Agreement(n_rows, same) for n_rows, same in zip(sizes, self._same.tolist(), strict=True))

    @property
    def by_class(self) -> tuple[Agreement, ...]:
        """Agreement where the model says each class; at the end, if it says any, classes that the rules do not know."""
        sizes = self.counts.sum(axis=0).tolist()
        sizes = sizes if sizes[-1] else sizes[:-1]
        same = np.bincount(self.class_ids, self._same, len(sizes)).astype(int).tolist()
        return tuple(Agreement(n_rows, found) for n_rows, found in zip(sizes, same, strict=True))

    @property
    def weakest(self) -> WeakestRegion | None:
        """The leaf with the lowest agreement, of those with at least 10 held-out rows.

        None if there are not two of them, or if none is below the share of all rows.
        """
        sizes, same = self.leaf_counts.T
        large = np.flatnonzero(sizes >= LEAST_OF_REGION)
        if len(large) < 2:
            return None
        place = int(large[np.argmin(same[large] / sizes[large])])
        if same[place] / sizes[place] >= self.share:
            return None
        # Of several regions the worst looks worse than it is: each gets its part of the doubt (Bonferroni).
        agreement = Agreement(int(sizes[place]), int(same[place]), 1 - (1 - LEVEL) / len(large))
        return WeakestRegion(int(self.leaf_ids[place]), agreement, len(large))

    @property
    def r2(self) -> float | None:
        """Of values: the share of the variance of the model's answers that the rules explain."""
        return None if self.distances is None else self.distances["r2"]

    @property
    def agreeing(self) -> str:
        """What is counted as the same, in words."""
        if self.distances is None:
            return "the model says the same"
        return f"the model's value lies within {format_limit(self.distances['tolerance'] or 0.0)}"

    @property
    def is_reached(self) -> bool | None:
        """Whether the wanted fidelity is reached: None if none was asked for, or if the rows are too few to tell."""
        if self.distances is not None:
            return None if self.wanted is None or self.r2 is None else self.r2 >= self.wanted
        low, high = self.interval
        if self.wanted is None or low < self.wanted <= high:
            return None
        return low >= self.wanted

    @property
    def _same(self) -> NDArray[np.int64]:
        """Rows of each rule, and of "otherwise", on which the model says the same."""
        return self.counts[np.arange(len(self.counts)), self.class_ids]

    def to_dict(self) -> dict[str, Any]:
        """Give the numbers by name, ready for JSON."""
        return {
            **{name: getattr(self, name) for name in ("model", "seed", "n_building", "n_neighbours")},
            "n_held_out": self.n_rows,
            "n_queries": self.n_queries,
            "fidelity": self.share,
            "interval": list(self.interval),
            **{name: getattr(self, name) for name in ("expected", "wanted")},
            **{name: getattr(self, name).tolist() for name in ("counts", "leaf_counts")},
            **{name: getattr(self, name) for name in ("n_right", "n_model_right")},
            "guess": None if self.guess is None else list(self.guess),
            "distances": None if self.distances is None else dict(self.distances),
        }

    def __str__(self) -> str:
        rows = count_of(self.n_rows, "held-out row")
        if self.distances is not None:
            return f"On {rows} the rules follow {self.model}: {self._describe_distances()}."
        return f"On {rows} the rules say the same as {self.model} for {self.overall}."

    def _describe_distances(self) -> str:
        assert self.distances is not None
        mean, largest = (format_amount(self.distances[name] or 0.0) for name in ("mean", "largest"))
        explained = "" if self.r2 is None else f"R² {self.r2:.3f}, "
        return f"{explained}values {mean} apart on average and {largest} at most; {self.agreeing} for {self.overall}"


def describe_fidelity(rules: Rules) -> tuple[list[str], list[str]]:
    """Make the sentences before and after a list of rules that approximate a model."""
    found = rules.fidelity
    assert found is not None
    names = rules.tree.class_names
    if found.distances is None:
        same = f"they say the same as the model for {found.overall}{_describe_guess(found, names)}"
    else:
        same = f"they follow its values: {found._describe_distances()}"
    before = [
        f"These rules approximate {found.model}: on {count_of(found.n_rows, 'row')} held out, which had no part in "
        f"making the rules, {same}."
    ]
    after = [
        *_describe_wanted(found),
        *(() if found.distances else _describe_classes(found, names)),
        *_describe_weakest(rules),
        *_describe_right(found),
    ]
    made = count_of(found.n_building, "row")
    if found.n_neighbours:
        made += f" and {count_of(found.n_neighbours, 'shuffled neighbour')} of them"
    known = " that satisfies the stated facts" if rules.facts_used.used else ""
    leaves = "1 leaf" if rules.tree_rules == 1 else f"{rules.tree_rules} leaves"
    near = "equal" if found.distances is None else f"lie within {format_limit(rules.tolerance)} of"
    after.append(
        f"They are not the model. On every possible row{known} they {near} a tree of {leaves} that was fitted to the "
        f"model's answers for {made}; with the held-out rows the model was asked "
        f"{count_of(found.n_queries, 'question')}."
    )
    return before, after


def _describe_guess(found: Fidelity, names: Sequence[str]) -> str:
    said = found.counts.sum(axis=0)
    place = int(said.argmax())
    if place == len(names):
        return ""
    return f"; always saying {names[place]} would for {format_share(float(said[place] / said.sum()))}"


def _describe_wanted(found: Fidelity) -> list[str]:
    if found.wanted is None:
        return []
    asked = f"You asked for {format_share(found.wanted) if found.distances is None else f'R² {found.wanted:g}'}"
    if found.is_reached is None:
        return [f"{asked}: whether that is reached, {count_of(found.n_rows, 'held-out row')} cannot tell."]
    return [f"{asked}, which is {'reached' if found.is_reached else 'not reached'}."]


def _describe_classes(found: Fidelity, names: Sequence[str]) -> list[str]:
    """Say how often the rules follow the model, class by class, the commonest first."""
    every = list(zip(found.by_class, [*names, "another class"], strict=False))
    listed = sorted((pair for pair in every if pair[0].n_rows), key=lambda pair: -pair[0].n_rows)
    never = " or ".join([name for one, name in every if not one.n_rows][:SHOWN_CLASSES])
    rows = count_of(found.n_rows, "held-out row")
    unknown = [f"The model says {never} for none of {rows}, so nothing is known about {never}."] if never else []
    if len(listed) < 2:
        return unknown
    (first, name), *rest = listed[:SHOWN_CLASSES]
    told = [f"Where the model says {name}, the rules say it too for {first} of {count_of(first.n_rows, 'row')}"]
    told += [f"where it says {name}, for {one} of {format_count(one.n_rows)}" for one, name in rest]
    more = [f"and so on for {len(listed) - SHOWN_CLASSES} other classes"] if len(listed) > SHOWN_CLASSES else []
    return [f"{'; '.join([*told, *more])}.", *unknown]


def _describe_weakest(rules: Rules) -> list[str]:
    found = rules.fidelity
    weakest = None if found is None else found.weakest
    if found is None or weakest is None:
        return []
    place = int(np.flatnonzero(rules.paths.leaf_ids == weakest.leaf_id)[0])
    where = join_asked(format_asked(rules, rules.paths.links[rules.paths.entries(place)].tolist()))
    least = weakest.agreement
    same = "the same" if found.distances is None else found.agreeing
    return [
        f"They fail most where {where}: {same} for {least} of {count_of(least.n_rows, 'held-out row')}, the "
        f"lowest of {weakest.n_regions} regions with at least {LEAST_OF_REGION}."
    ]


def _describe_right(found: Fidelity) -> list[str]:
    if found.distances is not None:
        own, model = found.distances["rules_r2"], found.distances["model_r2"]
        if own is None or model is None:
            return []
        return [
            f"For the targets of the held-out rows, R² is {own:.3f} of the rules and {model:.3f} of the model (too "
            "high if it was fitted on them)."
        ]
    if found.n_right is None or found.n_model_right is None:
        return []
    total = found.n_rows
    right = (
        f"The rules are right for {format_share(found.n_right / total)} of the held-out rows, the model for "
        f"{format_share(found.n_model_right / total)} (too high if it was fitted on them)"
    )
    if found.guess is not None:
        name, n_rows = found.guess
        right += f"; always saying {name} is right for {format_share(n_rows / total)}"
    return [f"{right}."]


def format_agreement(found: Fidelity, index: int) -> str:
    """Word the held-out rows that a rule, or after the last one "otherwise", decides, and the agreement on them."""
    one = found.by_rule[index]
    if not one.n_rows:
        return "no held-out row"
    rows = f"{format_count(one.n_rows)} held-out row{'s' * (one.n_rows != 1)}"
    if one.n_rows < FEW_ROWS:
        return f"{rows}, too few to tell: {found.agreeing} for {one.n_same}"
    return f"{rows}, {found.agreeing} for {one}"
