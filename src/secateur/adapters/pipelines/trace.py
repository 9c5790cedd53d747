"""Trace which column comes out of which, by what kind of step.

The steps are read by their public fitted attributes alone and never run. What a step does to a column is looked up by
the name of its class, or of a class that it derives from, so no library needs to be imported: a new transformer is one
more name in ``STEPS``. Steps that are not in the table make columns that cannot be inverted.

The table says only what *may* be inverted. The sides of a split are found by running the steps, and a column that does
not behave as the table says is treated as one that cannot be inverted (see :mod:`secateur.adapters.pipelines.numbers`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from itertools import count
from typing import Any, Self

import numpy as np

from secateur.errors import UnsupportedModelError
from secateur.rows.encoding import is_missing
from secateur.tree.tree import Label

# Functions that keep an order, and that FunctionTransformer is often given without an inverse.
ORDERED_FUNCTIONS = frozenset(
    (
        *("log", "log1p", "log2", "log10", "sqrt", "cbrt", "exp", "expm1", "exp2"),
        *("sinh", "arcsinh", "tanh", "arctan", "negative", "floor", "ceil", "rint", "trunc"),
    )
)
# Steps of skrub that leave the columns as they are.
UNCHANGING = ("DropUninformative", "PassThrough", "CleanCategories", "ToStr", "ToDatetime")


class Shape(Enum):
    """What a column on its way is to the column that it comes from."""

    SAME = "its values, but for missing ones that were filled in"
    RELABELLED = "its values, but for some that were replaced"
    ORDERED = "a monotone function of its numbers"
    BINNED = "1 in one bin of its numbers, 0 elsewhere"
    CODED = "a function of its categories"
    BLANK = "whether it is missing"
    DERIVED = "something that cannot be inverted"


@dataclass(frozen=True)
class Trace:
    """Where one column, on its way through the steps, comes from."""

    source: int  # the column that went into the pipeline; -1 for a derived column
    shape: Shape
    maker: str = ""  # the class that made it what it is
    is_exact: bool = True  # rounding keeps the order of the numbers, as it does for sums, products and tables
    labels: tuple[Label, ...] = ()  # categories that an encoder knows
    replaced: tuple[Label, ...] = ()  # values that were replaced by others before
    rare: tuple[Label, ...] = ()  # categories that an encoder counts as one
    bin: tuple[int, int] | None = None  # the discretization that a binned column belongs to, and its bin
    n_bins: int = 0  # how many bins that discretization has
    fill: Label | None = None  # what a missing value counts as, in terms of the source

    def derived(self, maker: str) -> Self:
        """Trace a column made of this one that cannot be inverted; the first such step is named."""
        return self if self.shape is Shape.DERIVED else type(self)(-1, Shape.DERIVED, maker)


class UnknownWidthError(Exception):
    """A step does not say how many columns it makes."""


def trace_steps(preprocessor: Any, n_columns: int, width: int) -> list[Trace]:
    """Find where each column that the preprocessor makes comes from; ``width`` is the number that the tree expects."""
    return _trace(preprocessor, [Trace(column, Shape.SAME) for column in range(n_columns)], width, count())


def _trace(step: Any, incoming: list[Trace], width: int | None, numbers: Iterator[int]) -> list[Trace]:
    if step is None or isinstance(step, str) or hasattr(step, "fit_resample"):  # a sampler passes rows on in transform
        return [] if step == "drop" else incoming
    maker = type(step).__name__
    for ancestor in type(step).__mro__:
        rule = STEPS.get(ancestor.__name__)
        if rule is not None:
            if ancestor.__module__.startswith("sklearn."):  # elsewhere, a step that learns nothing need not look fitted
                check_fitted(step)
            found = rule(step, incoming, width, numbers)
            if found is not None:
                return found
            break
    if width is None:
        try:
            width = len(step.get_feature_names_out())
        except Exception:  # a foreign step may fail in any way, and then does not say
            raise UnknownWidthError from None
    return [incoming[0].derived(maker) if len(incoming) == 1 else Trace(-1, Shape.DERIVED, maker)] * width


def check_fitted(step: Any) -> None:
    """Reject a step that is not fitted yet."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(step)
    except NotFittedError:
        raise UnsupportedModelError(
            f"The pipeline's {type(step).__name__} is not fitted yet. Call fit on the whole pipeline."
        ) from None


# Steps that hold other steps.


def _through_pipeline(step: Any, incoming: list[Trace], width: int | None, numbers: Iterator[int]) -> list[Trace]:
    inner = [one for _, one in step.steps]
    for place, one in enumerate(inner):
        after = next((n for other in inner[place + 1 :] if (n := getattr(other, "n_features_in_", None))), width)
        expected = getattr(one, "n_features_in_", None)
        if expected is not None and expected != len(incoming):
            raise UnsupportedModelError(
                f"The pipeline's {type(one).__name__} was fitted on {expected} columns, but the steps before it make "
                f"{len(incoming)}. Fit the pipeline as a whole."
            )
        incoming = _trace(one, incoming, after, numbers)
    return incoming


def _through_columns(step: Any, incoming: list[Trace], width: int | None, numbers: Iterator[int]) -> list[Trace] | None:
    slices = step.output_indices_
    made = max((place.stop for place in slices.values()), default=0)
    weights = step.transformer_weights or {}
    names = getattr(step, "feature_names_in_", None)
    outgoing: list[Trace | None] = [None] * made
    for name, one, columns in step.transformers_:
        place = slices[name]
        n_made = place.stop - place.start
        if n_made == 0:
            continue
        chosen = [incoming[column] for column in _find_places(columns, names, len(incoming))]
        found = _trace(one, chosen, n_made, numbers)
        if len(found) != n_made:
            found = [Trace(-1, Shape.DERIVED, type(one).__name__)] * n_made
        if name in weights:
            found = _elementwise(step, found)
        outgoing[place] = found
    return [one or Trace(-1, Shape.DERIVED, type(step).__name__) for one in outgoing]


def _find_places(columns: Any, names: Any, n_columns: int) -> list[int]:
    """Find the places of the columns that one part of a ColumnTransformer takes, however they were given."""
    if isinstance(columns, slice):
        position = {} if names is None else {name: place for place, name in enumerate(names.tolist())}
        start, stop = columns.start, columns.stop
        if isinstance(start, str) or isinstance(stop, str):  # a slice of names has its end included
            first = 0 if start is None else position[start]
            last = n_columns if stop is None else position[stop] + 1
            return list(range(n_columns))[first : last : columns.step]
        return list(range(n_columns))[columns]
    listed = [columns] if isinstance(columns, (str, int, np.integer)) else list(columns)
    if listed and all(isinstance(one, (bool, np.bool_)) for one in listed):
        return [place for place, chosen in enumerate(listed) if chosen]
    known = None if names is None else names.tolist()
    return [
        known.index(one) if isinstance(one, str) and known is not None else range(n_columns)[int(one)] for one in listed
    ]


def _through_union(step: Any, incoming: list[Trace], width: int | None, numbers: Iterator[int]) -> list[Trace] | None:
    weights = step.transformer_weights or {}
    outgoing: list[Trace] = []
    for name, one in step.transformer_list:
        try:
            found = _trace(one, incoming, None, numbers)
        except UnknownWidthError:
            return None
        outgoing += _elementwise(step, found) if name in weights else found
    return outgoing


def _through_table(step: Any, incoming: list[Trace], width: int | None, numbers: Iterator[int]) -> list[Trace] | None:
    """Trace skrub's TableVectorizer: a list of steps for each column, the last of them one for each output."""
    position = {name: place for place, name in enumerate(step.feature_names_in_)}
    by_output: dict[str, Trace] = {}
    for name, inner in step.all_processing_steps_.items():
        outputs = step.input_to_outputs_.get(name, [])
        if not outputs:
            continue
        found = [incoming[position[name]]]
        for one in inner:
            if hasattr(one, "keys"):  # one step for each output
                if len(found) == len(outputs):
                    found = [
                        _trace(one[out], [trace], 1, numbers)[0] if out in one else trace
                        for out, trace in zip(outputs, found, strict=True)
                    ]
                continue
            try:
                found = _trace(one, found, None, numbers)
            except UnknownWidthError:
                found = [Trace(-1, Shape.DERIVED, type(one).__name__)] * len(outputs)
        if len(found) != len(outputs):
            return None
        by_output |= dict(zip(outputs, found, strict=True))
    return [by_output[name] for name in step.all_outputs_]


# Steps whose outputs come from one input each.


def _compose(step: Any, before: Trace, *, is_exact: bool) -> Trace:
    """Trace a column through a step that keeps the order of its numbers."""
    maker = type(step).__name__
    if before.shape in (Shape.CODED, Shape.BLANK):  # a function of such a column is still one of its source
        return before
    if before.shape in (Shape.SAME, Shape.ORDERED):
        return replace(before, shape=Shape.ORDERED, maker=maker, is_exact=before.is_exact and is_exact)
    return before.derived(before.maker if before.shape is Shape.BINNED else maker)


def _elementwise(step: Any, incoming: list[Trace], *_: Any, is_exact: bool = True) -> list[Trace]:
    return [_compose(step, one, is_exact=is_exact) for one in incoming]


def _by_function(step: Any, incoming: list[Trace], *_: Any) -> list[Trace] | None:
    if step.func is None:
        return incoming
    is_known = isinstance(step.func, np.ufunc) and step.func.__name__ in ORDERED_FUNCTIONS
    return None if step.inverse_func is None and not is_known else _elementwise(step, incoming, is_exact=False)


def _binned(step: Any, incoming: list[Trace], width: int | None, numbers: Iterator[int]) -> list[Trace]:
    if step.encode == "ordinal":
        return _elementwise(step, incoming)
    outgoing: list[Trace] = []
    for before, n_bins in zip(incoming, step.n_bins_.tolist(), strict=True):
        if before.shape in (Shape.CODED, Shape.BLANK):
            outgoing += [before] * n_bins
            continue
        ordered = _compose(step, before, is_exact=True)
        number = next(numbers)
        outgoing += [
            replace(ordered, shape=Shape.BINNED, bin=(number, place), n_bins=n_bins)
            if ordered.shape is Shape.ORDERED
            else ordered
            for place in range(n_bins)
        ]
    return outgoing


def _imputed(step: Any, incoming: list[Trace], *_: Any) -> list[Trace]:
    statistics = np.asarray(step.statistics_, dtype=object).tolist()
    outgoing = []
    for before, statistic in zip(incoming, statistics, strict=True):
        if statistic is not None and is_missing(statistic) and not step.keep_empty_features:
            continue  # a column without a single value; None is a value to an imputer of NaN
        after = before
        if not is_missing(step.missing_values):
            after = _relabelled(before, (step.missing_values,), type(step).__name__)
        elif before.shape is Shape.SAME and before.fill is None:
            after = replace(before, fill=_as_label(statistic))
        outgoing.append(after)
    indicator = getattr(step, "indicator_", None)
    return outgoing if indicator is None else outgoing + _blanks(indicator, incoming)


def _relabelled(before: Trace, replaced: Sequence[Any], maker: str) -> Trace:
    labels = [_as_label(value) for value in replaced]
    if before.shape not in (Shape.SAME, Shape.RELABELLED) or None in labels:
        return before if before.shape in (Shape.CODED, Shape.BLANK) else before.derived(maker)
    return replace(before, shape=Shape.RELABELLED, maker=maker, replaced=_union(before.replaced, labels))


def _blanks(step: Any, incoming: list[Trace], *_: Any) -> list[Trace]:
    maker = type(step).__name__
    chosen = [incoming[column] for column in step.features_.tolist()]
    if is_missing(step.missing_values):
        return [
            replace(one, shape=Shape.BLANK, maker=maker, fill=None)
            if one.shape in (Shape.SAME, Shape.ORDERED)
            else _compose(step, one, is_exact=True)
            for one in chosen
        ]
    return [one if one.shape in (Shape.CODED, Shape.BLANK) else one.derived(maker) for one in chosen]


# Steps that look categories up.


def _coded(step: Any, before: Trace, known: Sequence[Any], rare: Sequence[Any]) -> Trace:
    """Trace a column through an encoder that knows these categories."""
    maker = type(step).__name__
    if before.shape in (Shape.CODED, Shape.BLANK):
        return before
    if before.shape not in (Shape.SAME, Shape.RELABELLED):
        return before.derived(maker)
    labels = [_as_label(value) for value in known if not is_missing(value)]
    if None in labels:
        return before.derived(maker)
    uncommon = tuple(label for value in rare if not is_missing(value) and (label := _as_label(value)) is not None)
    return replace(before, shape=Shape.CODED, maker=maker, labels=_union((), labels), rare=uncommon)


def _one_hot(step: Any, incoming: list[Trace], *_: Any) -> list[Trace] | None:
    dropped = [None] * len(incoming) if step.drop_idx_ is None else list(step.drop_idx_)
    outgoing: list[Trace] = []
    for before, known, rare, drop in zip(incoming, step.categories_, _rare(step, incoming), dropped, strict=True):
        n_made = len(known) - (len(rare) - 1 if len(rare) else 0) - (drop is not None)
        outgoing += [_coded(step, before, known.tolist(), rare)] * n_made
    return outgoing


def _ordinal(step: Any, incoming: list[Trace], *_: Any) -> list[Trace]:
    pairs = zip(incoming, step.categories_, _rare(step, incoming), strict=True)
    return [_coded(step, before, known.tolist(), rare) for before, known, rare in pairs]


def _by_target(step: Any, incoming: list[Trace], *_: Any) -> list[Trace]:
    n_made = len(step.classes_) if step.target_type_ == "multiclass" else 1
    coded = (_coded(step, *pair, ()) for pair in zip(incoming, step.categories_, strict=True))
    return [one for one in coded for _ in range(n_made)]


def _rare(step: Any, incoming: list[Trace]) -> list[list[Any]]:
    listed = getattr(step, "infrequent_categories_", None) or [None] * len(incoming)
    return [[] if one is None else one.tolist() for one in listed]


def _to_float(step: Any, incoming: list[Trace], *_: Any) -> list[Trace] | None:
    """Trace skrub's ToFloat: numbers are rounded to float32, which keeps their order; texts are parsed."""
    return None if any(one.shape is Shape.RELABELLED for one in incoming) else _elementwise(step, incoming)


def _as_label(value: Any) -> Label | None:
    """Write a category as JSON can carry it; None for a date, bytes and the like."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and not np.isfinite(plain):
        return None
    return plain if isinstance(plain, (str, int, float, bool)) else None


def _union(known: Sequence[Label], more: Sequence[Label | None]) -> tuple[Label, ...]:
    return tuple(dict.fromkeys([*known, *(label for label in more if label is not None)]))


STEPS: dict[str, Callable[[Any, list[Trace], int | None, Iterator[int]], list[Trace] | None]] = {
    # Steps that hold steps.
    "Pipeline": _through_pipeline,
    "ColumnTransformer": _through_columns,
    "FeatureUnion": _through_union,
    "FrozenEstimator": lambda step, *rest: _trace(step.estimator, *rest),
    "TableVectorizer": _through_table,
    # Numbers to numbers, rounding in order.
    **dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Binarizer"), _elementwise),
    "KBinsDiscretizer": _binned,
    **dict.fromkeys(("ToFloat", "ToFloat32"), _to_float),
    # Numbers to numbers by functions whose last digits need not be in order.
    "FunctionTransformer": _by_function,
    **dict.fromkeys(
        ("PowerTransformer", "QuantileTransformer", "SquashingScaler"), partial(_elementwise, is_exact=False)
    ),
    # Missing values.
    "SimpleImputer": _imputed,
    "MissingIndicator": _blanks,
    "CleanNullStrings": lambda step, incoming, *_: [
        _relabelled(one, [*step.null_strings_, "", " "], type(step).__name__) for one in incoming
    ],
    # Categories.
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "TargetEncoder": _by_target,
    # Some of the columns, or all.
    "SelectorMixin": lambda step, incoming, *_: [incoming[column] for column in step.get_support(indices=True)],
    **dict.fromkeys(UNCHANGING, lambda step, incoming, *_: incoming),
}
