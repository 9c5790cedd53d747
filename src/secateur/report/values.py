"""The page of rules that predict numbers: the lines, and how the targets of each are spread around its value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur import __version__
from secateur.errors import InputError
from secateur.export.listing import make_listing
from secateur.results.answer import compare_with_mean, describe_measured, describe_values
from secateur.rows.row_source import GivenRows
from secateur.rules.lines import without_facts
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of
from secateur.words.plain_words import format_amount

N_BINS = 40
WIDTH, HEIGHT = 260, 34
TOLD = ("n_rules", "n_conditions", "lines", "fidelity")
SHOWN = {"number": "number", "heading": "heading", "value": "class_name", "asked": "asked", "rows": "rows"}


@dataclass(frozen=True)
class _Histogram:
    """Counts rows by line and by place of their target between the least and the largest value."""

    rules: Rules
    limits: NDArray[np.float64]
    features = None

    def count(self, listed: Any) -> NDArray[np.float64]:
        line = self.rules.find_lines(listed.rows)
        place = np.clip(np.searchsorted(self.limits, listed.targets, side="right") - 1, 0, N_BINS - 1)
        size = self.rules.n_lines * N_BINS
        return np.bincount(line * N_BINS + place, listed.weights, size).reshape(-1, N_BINS).astype(np.float64)

    def add(self, total: NDArray[np.float64], part: NDArray[np.float64]) -> NDArray[np.float64]:
        return total + part


def summarize_values(
    rules: Rules,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    target: str | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather what the page shows: the listing, an audit and histograms, of the given rows or of the training rows."""
    # The training rows of a surrogate have the model's answers for targets.
    given = GivenRows(X, y, sample_weight) if X is not None else rules.training if rules.fidelity is None else None
    if given is not None and given.y is None:
        raise InputError("X was passed without y: pass the targets, or the name of the column that holds them.")
    listing = make_listing(rules)
    after, spread = list(listing.after), None
    if given is not None:
        audit: Any = rules.audit(given.X, given.y, sample_weight=given.sample_weight)
        which = "training rows" if X is None else "rows that were set aside"
        warned = map(str, compare_with_mean(audit.rmse, audit.baseline))
        if X is not None or rules.unseen is None:  # else unseen rows come first
            after = [describe_measured(audit, f"{audit.n_rows:,} {which}"), *warned, *after]
        spread = {**_count(rules, given), "rows": which}
    return {
        "kind": "values",
        "version": __version__,
        "title": title or (f"What decides {target}" if target else "The rules of a regression tree"),
        "before": [describe_values(rules, "These rules predict", target)] if rules.fidelity is None else listing.before,
        "n_rules": len(rules),
        "n_conditions": rules.n_conditions,
        "fidelity": rules.fidelity and str(rules.fidelity).partition(": ")[2],
        "lengths": [
            {name: own for name, own in summarize_values(one).items() if name in TOLD}
            for one in (rules.fidelity.lengths if rules.fidelity is not None else ())
        ],
        "n_leaves": rules.tree_rules,
        "lines": [
            {
                **{name: getattr(line, own) for name, own in SHOWN.items()},
                "prediction": float(rules.answers[line.number - 1]),
            }
            for line in listing.lines
        ],
        "tolerance": rules.tolerance,
        "spread": spread,
        "after": [*after, *notes],
        "guarantee": rules.guarantee,
    }


def _count(rules: Rules, given: GivenRows) -> dict[str, Any]:
    values = rules.answers
    with rules._open(*given) as rows:
        tree = without_facts(rules.tree)
        ends = [(one.min(), one.max()) for one in rows.map(tree, lambda listed: np.asarray(listed.targets)) if len(one)]
        low = float(min(*values, *(least for least, _ in ends)))
        high = float(max(*values, *(largest for _, largest in ends)))
        limits = np.linspace(low, high if high > low else low + 1.0, N_BINS + 1)
        counts = rows.fold(tree, _Histogram(rules, limits))
    return {"low": float(limits[0]), "high": float(limits[-1]), "counts": counts.tolist()}


def draw_values(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Measure the pictures: the targets of each line as bars, its value as a mark and the tolerance around it."""
    found, spread, tolerance = [], summary["spread"], summary["tolerance"]
    step = WIDTH / N_BINS
    for line, counts in zip(summary["lines"], () if spread is None else spread["counts"], strict=False):
        value, low, scale = line["prediction"], spread["low"], WIDTH / (spread["high"] - spread["low"])
        left = max((value - tolerance - low) * scale, 0.0)
        right = min((value + tolerance - low) * scale, float(WIDTH))
        tall = [HEIGHT * count / max(*counts, 1e-300) for count in counts]
        bars = [(place * step, HEIGHT - size, size) for place, size in enumerate(tall) if size]
        found.append(
            {
                "told": f"{count_of(sum(counts), 'row')} around {format_amount(value)}",
                "left": f"{left:.1f}",
                "band": f"{max(right - left, 0.5):.1f}",
                "mark": f"{(value - low) * scale:.1f}",
                "bars": [[f"{number:.1f}" for number in bar] for bar in bars],
            }
        )
    return {"drawn": found, "width": WIDTH, "height": HEIGHT, "bar": f"{step - 0.6:.1f}"}
