"""What errors cost: the cut-off on the lines' shares that costs least, beside what one class for all would cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.errors import InputError, ParameterError, did_you_mean
from secateur.results.measures import count_shown, find_interest
from secateur.rules.rules import Rules
from secateur.words.conditions import read_count, read_share

__all__ = ["Cutoff", "find_cutoff", "parse_costs"]

STATEMENT = re.compile(r"\s*missed\s+(?P<name>.+?)\s*=\s*(?P<cost>\S+)\s*")
EXPECTED = 'Expected a cost such as "missed default = 5"'


@dataclass(frozen=True)
class Cutoff:
    """The share of the class of interest from which on it is best said, and what that costs.

    Attributes
    ----------
    of, other : str
        The class of interest, and the other one.
    share : float
        The cut-off: lines that give the class at least this share are answered with it; above 1 if none is.
    lines : tuple of int
        Their numbers, from 1.
    price, price_of_classes : float
        What a row costs on average with this cut-off, and with the classes of the list as they are.
    price_always, price_never : float
        The same if every row, or none, is said to be of the class.
    rows : str
        The rows that were priced.
    """

    of: str
    other: str
    share: float
    lines: tuple[int, ...]
    price: float
    price_of_classes: float
    price_always: float
    price_never: float
    rows: str

    def __str__(self) -> str:
        which = "line" if len(self.lines) == 1 else "lines"
        said = f"from a share of {read_share(self.share)} on ({which} {', '.join(map(str, self.lines))})"
        if not self.lines:
            said = "for no line"
        return (
            f"Costs: saying {self.of} {said} costs {self.price:.3g} for each of {self.rows}, on which this cut-off is "
            f"the cheapest; the classes of the list cost {self.price_of_classes:.3g}, always saying {self.of} "
            f"{self.price_always:.3g}, always saying {self.other} {self.price_never:.3g}."
        )


def parse_costs(rules: Rules, stated: Sequence[str]) -> dict[int, float]:
    """Read statements such as ``missed default = 5``: what it costs to miss a row of a class; by default 1 each.

    Examples
    --------
    >>> from secateur import TreeBuilder, simplify
    >>> builder = TreeBuilder(classes=["repaid", "default"], feature_names=["age"])
    >>> root = builder.split("age", 30)
    >>> _ = builder.leaf([8, 2], parent=root, side="left")
    >>> _ = builder.leaf([9, 1], parent=root, side="right")
    >>> parse_costs(simplify(builder.build()), ["missed Default = 5"])
    {0: 1.0, 1: 5.0}
    """
    names = list(rules.tree.class_names)
    found = dict.fromkeys(range(len(names)), 1.0)
    for one in stated:
        parts = STATEMENT.fullmatch(one)
        if parts is None:
            raise ParameterError(f"{EXPECTED}, found {one!r}.")
        name = parts["name"].strip("\"'")
        same = [place for place, own in enumerate(names) if own == name or own.casefold() == name.casefold()]
        if not same:
            raise ParameterError(f"No class is called {name!r}.{did_you_mean(name, names)} {EXPECTED}.")
        try:
            cost = float(parts["cost"])
        except ValueError:
            cost = -1.0
        if not 0 < cost < np.inf:
            raise ParameterError(f"{EXPECTED}, found {parts['cost']!r} for a number above 0.")
        found[same[0]] = cost
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
        rows=f"{read_count(total)} {'unseen' if is_unseen else 'training'} rows",
    )
