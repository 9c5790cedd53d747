"""A fitted scikit-learn Pipeline that ends in a tree -> Tree over the columns that go *into* the pipeline.

The *structure*, which encoded column comes from which column by what kind of step, is read from the steps' public
attributes. The *sides*, where a split sends a number, a category, an unknown value or a missing one, are never derived
from a step's parameters: rows are run through the fitted steps themselves. What cannot be told in terms of the columns
before the pipeline stays a column that the pipeline makes, appended under its own name
(:mod:`~secateur.adapters.pipelines.columns`).

Nodes keep their ids, children, classes and counts. A row given to the tree is what the pipeline takes, so the tree's
dtype is float64 although the tree behind compares float32.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.pipelines.columns import Decoded, decode_columns, find_sides
from secateur.adapters.pipelines.probe import Encoder, Probe, Sample, check_width, make_sample, take_rows
from secateur.adapters.pipelines.trace import Shape, Trace, check_fitted, trace_steps
from secateur.adapters.reading import is_pipeline
from secateur.errors import InputError, SecateurError, UnsupportedModelError
from secateur.frames import frame_columns
from secateur.rows.checking import check_names, check_rows, holds_missing
from secateur.rows.rows import Rows, apply_tree
from secateur.tree.columns import BESIDE_A_LIMIT, Columns
from secateur.tree.contract import check_tree
from secateur.tree.facts import Facts
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree, pack_codes

# So many of the rows given are sent through both the pipeline and the tree.
CHECKED_ROWS = 10_000
SHOWN = 5  # names in a remark
STEPS_WITHIN = ("steps", "transformers_", "transformer_list")  # of pipelines, column transformers and unions


def split_pipeline(pipeline: Any) -> tuple[Any, Any]:
    """Return the steps before the last one, as a transformer or None if they do nothing, and the last step."""
    if not pipeline.steps:
        raise UnsupportedModelError("The pipeline has no steps. Pass one that ends in a fitted tree.")
    *before, (name, last) = pipeline.steps
    if last is None or isinstance(last, str) or not hasattr(last, "predict"):
        found = last if isinstance(last, str) else type(last).__qualname__
        raise UnsupportedModelError(
            f"The last step of the pipeline, {name!r}, is {found}, not a tree. Pass a pipeline that ends in a tree."
        )
    idle = all(step is None or step == "passthrough" for _, step in before)
    return (None if idle else pipeline[:-1]), last


def read_trees(
    pipeline: Any, X: Any, read_last: Callable[[Any, Any, bool], Sequence[Tree]], *, gaps_are_zeros: bool = True
) -> list[Tree]:
    """Read a fitted pipeline that ends in a tree, or in many; ``read_last(last, rows, takes_missing)`` reads those."""
    preprocessor, last = split_pipeline(pipeline)
    if preprocessor is None:
        return list(read_last(last, X, False))
    if isinstance(X, np.ndarray):
        X = np.asarray(X)  # a mark that all is finite would outlive a step that makes NaN
    encoded = rows = None if X is None else _encode_all(preprocessor, X)
    if hasattr(rows, "toarray"):  # rows show only whether a tree was fitted with NaN, which sparse ones cannot
        rows = None
    elif isinstance(rows, np.ndarray) and rows.dtype == object:  # made of columns of different types
        rows = rows.astype(np.float64)
    try:
        # The last step saw other numbers than these, so its counts of rows would not tell.
        takes_missing = rows is not None and is_cross_fitted(preprocessor) and holds_missing(rows)
        trees = read_last(last, rows, takes_missing)
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"The last step of the pipeline cannot be read. {error}") from error
    if encoded is not None:
        check_width(encoded.shape[1], trees[0].n_features)
    return read_behind(preprocessor, trees, X, gaps_are_zeros=gaps_are_zeros)


def is_cross_fitted(step: Any) -> bool:
    """Tell whether a step, or one within it, encodes the rows that it is fitted on differently from later ones."""
    if any(ancestor.__name__ == "TargetEncoder" for ancestor in type(step).__mro__):
        return True
    parts = next((getattr(step, name) for name in STEPS_WITHIN if hasattr(step, name)), ())
    return any(is_cross_fitted(part[1]) for part in parts)


def read_behind(
    preprocessor: Any, encoded_trees: Sequence[Tree], X: Any = None, *, gaps_are_zeros: bool = True
) -> list[Tree]:
    """Read trees of one dtype over encoded columns as trees over the columns before; rows check the result."""
    first = encoded_trees[0]
    if any(levels is not None for tree in encoded_trees for levels in tree.categories):
        raise UnsupportedModelError(
            "The tree behind these steps splits by categories itself. Pass the last step alone, with the rows it sees."
        )
    n_columns, names = _incoming(preprocessor, X)
    traces = trace_steps(preprocessor, n_columns, first.n_features)
    check_width(len(traces), first.n_features)
    encoder = Encoder(preprocessor, first.n_features, first.dtype)
    sample = _find_sample(X, names, traces, n_columns, encoder)
    if not gaps_are_zeros and encoder.is_sparse(sample.build({}, 1)):
        raise UnsupportedModelError(
            "The steps before the tree make a sparse matrix, and the tree takes its zeros for missing values. Fit it "
            "behind OneHotEncoder(sparse_output=False), ColumnTransformer(sparse_threshold=0) or the like."
        )
    found = decode_columns(traces, encoded_trees, Probe(sample, encoder))
    trees = _assemble(encoded_trees, found, names, n_columns)
    if X is not None:
        _check_on_rows(trees, encoded_trees, X, encoder)
    return trees


def _encode_all(preprocessor: Any, X: Any) -> Any:
    from sklearn.exceptions import NotFittedError

    names = frame_columns(X)
    expected = _find_attribute(preprocessor, "feature_names_in_")
    if names is not None and expected is not None:
        check_names([str(name) for name in expected], names, "X", "pipeline")
    if hasattr(X, "toarray"):
        raise InputError("X is a sparse matrix; pass X.toarray().")
    if names is not None and not hasattr(X, "__len__"):
        raise InputError("Expected X as an array or a data frame in memory; collect a lazy one first.")
    if names is None and np.ndim(X) == 0:
        raise InputError(f"Expected X as a table of rows, found {type(X).__name__}.")
    if len(X) == 0:
        raise InputError("X has no rows; at least one is needed.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of unknown categories, which simplifying need not repeat
            return preprocessor.transform(X)
    except NotFittedError as error:
        raise UnsupportedModelError(f"A step of the pipeline is not fitted yet: {error}") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"The pipeline rejects X: {' '.join(str(error).split())}") from error


def _incoming(preprocessor: Any, X: Any) -> tuple[int, list[str] | None]:
    """Return the number and the names of the columns that go in."""
    names = _find_attribute(preprocessor, "feature_names_in_")
    shown = None if X is None else frame_columns(X)
    if names is not None:
        return len(names), [str(name) for name in names]
    if shown is not None:
        return len(shown), shown
    if X is not None:
        return int(np.asarray(X).shape[1]), None
    n_columns = _find_attribute(preprocessor, "n_features_in_")
    if n_columns is None:
        for one in [step for _, step in getattr(preprocessor, "steps", ())] or [preprocessor]:
            if one is not None and not isinstance(one, str):
                check_fitted(one)
        raise UnsupportedModelError("The pipeline does not say how many columns it takes. Pass the training rows, too.")
    return int(n_columns), None


def _find_attribute(step: Any, name: str) -> Any:
    """Find a fitted attribute of the first step that has it."""
    found = getattr(step, name, None)
    if found is None and is_pipeline(step):
        inner = (one for _, one in step.steps)
        found = next((value for one in inner if (value := _find_attribute(one, name)) is not None), None)
    return found


def _find_sample(X: Any, names: list[str] | None, traces: Sequence[Trace], n_columns: int, encoder: Encoder) -> Sample:
    """Return rows to probe with; without rows, make values up until the steps take them."""
    if X is not None:
        return make_sample(X, names, ())
    labels = {trace.source: trace.labels[0] for trace in traces if trace.labels}
    numeric = {trace.source for trace in traces if trace.shape in (Shape.SAME, Shape.ORDERED, Shape.BINNED)}
    error: Exception | None = None
    for number, other in ((1.0, 1.0), (1.0, "a"), (0.5, 0.5), (0.5, "a"), (100.0, 1.0)):
        values = [labels.get(c, number if c in numeric else other) for c in range(n_columns)]
        sample = make_sample(None, names, values)
        try:
            encoder(sample.build({}, 1), [])
        except SecateurError:
            raise
        except Exception as raised:  # a step may reject a row in any way
            error = raised
            continue
        return sample
    raise UnsupportedModelError(
        f"No row could be made up that the pipeline takes ({error}). Pass the training rows, too."
    )


@dataclass(frozen=True)
class Derivation:
    """Make a tree's columns from the rows that its pipeline takes."""

    encoder: Encoder
    places: tuple[int, ...]  # the encoded columns to append
    names: tuple[str, ...]  # what they are called
    columns: tuple[str, ...] | None  # names of the columns that go in, if any

    def __call__(self, X: Any) -> Any:
        """Append the derived columns to the rows, in the library that they came in."""
        if frame_columns(X) is None:
            rows = np.asarray(X)
            made = self._make(rows if self.columns is None else _as_frame(self.columns, rows))
            dtype = np.result_type(rows.dtype, np.float64) if rows.dtype.kind in "fiub" else np.dtype(object)
            return np.column_stack([rows.astype(dtype), made.astype(dtype)])
        import narwhals as nw

        made = self._make(X)
        frame = nw.from_native(X, eager_only=True)
        series = [
            nw.new_series(name, np.ascontiguousarray(made[:, k]), nw.Float64(), backend=frame.implementation)
            for k, name in enumerate(self.names)
        ]
        if frame.implementation.is_pandas_like():  # where columns join by index
            native = frame.to_native()
            return native.assign(**{one.name: one.to_numpy() for one in series})
        return frame.with_columns(*series).to_native()

    def _make(self, X: Any) -> NDArray[np.float64]:
        try:
            return self.encoder(X, self.places)
        except (TypeError, ValueError) as error:
            if isinstance(error, SecateurError):
                raise
            raise InputError(f"The pipeline rejects the rows: {' '.join(str(error).split())}") from error


def _as_frame(names: Sequence[str], rows: NDArray[Any]) -> Any:
    """Make a frame of an array, for steps that pick columns by name."""
    import narwhals as nw

    backend = make_sample(None, names, [0.0] * len(names)).table.implementation
    columns = {name: nw.new_series(name, rows[:, k].tolist(), backend=backend) for k, name in enumerate(names)}
    return nw.from_dict(columns).to_native()


def _assemble(encoded_trees: Sequence[Tree], found: Decoded, names: list[str] | None, n_columns: int) -> list[Tree]:
    """Make trees over the columns before the steps; those that only the pipeline can make come last."""
    sample, encoder = found.probe.sample, found.probe.encoder
    known = [f"x{column}" for column in range(n_columns)] if names is None else names
    places = sorted(found.derived)
    derived = _name_derived(encoder.preprocessor, found.traces, places, known)
    feature_of = found.source | {place: n_columns + rank for rank, place in enumerate(places)}
    n_features = n_columns + len(places)
    tested = set(found.source.values())
    kinds = {column: sample.kind(column) for column in sorted(tested - found.categories.keys()) if sample.is_real}
    given = None if names is None else tuple(names)
    columns = Columns(
        cuts=tuple(found.cuts.get(feature) for feature in range(n_features)),
        closed=tuple(feature in found.closed for feature in range(n_features)),
        ranges=tuple(found.ranges.get(feature) if feature in tested else None for feature in range(n_features)),
        derived=tuple(derived),
        remarks=tuple(_collect_remarks(found, known, dict(zip(places, derived, strict=True)))),
        asked=tuple(sorted({feature_of[int(f)] for tree in encoded_trees for f in tree.feature[~tree.is_leaf]})),
        derive=Derivation(encoder, tuple(places), tuple(derived), given) if places else None,
    )
    accepts = np.zeros(n_features, dtype=bool)
    accepts[sorted(found.accepts & tested)] = True
    accepts[n_columns:] = [all(tree.accepts_missing[place] for tree in encoded_trees) for place in places]
    shared: dict[str, Any] = {
        "n_features": n_features,
        "accepts_missing": accepts,
        "categories": tuple(found.categories.get(place) for place in range(n_features)),
        "feature_names": (*known, *derived) if derived or names is not None else None,
        "dtype": "float64",
        "facts": Facts(integers=tuple(c for c, kind in kinds.items() if kind is not None and kind.kind in "iub")),
    }
    trees = []
    for tree in encoded_trees:
        decoded = replace(
            tree,
            columns=replace(columns, encoded=tree),
            monotone=_carry_signs(tree, found, feature_of, n_features),
            **shared,
            **_read_splits(tree, found, feature_of, accepts),
        )
        check_tree(decoded)
        trees.append(decoded)
    return trees


def _read_splits(tree: Tree, found: Decoded, feature_of: dict[int, int], accepts: NDArray[np.bool_]) -> dict[str, Any]:
    """Compute the arrays of a tree's splits over the columns before the steps."""
    feature, threshold = tree.feature.copy(), tree.threshold.copy()
    missing_left = tree.missing_left.copy()
    left_codes: dict[int, NDArray[np.int64]] = {}
    for place in np.unique(tree.feature[~tree.is_leaf]).tolist():
        nodes = np.flatnonzero(tree.feature == place)
        feature[nodes] = feature_of[place]
        if place in found.derived:
            continue
        left, missing_left[nodes] = find_sides(tree, nodes, place, found)
        if place in found.limits:
            threshold[nodes] = found.limits[place][np.searchsorted(found.asked.limits[place], tree.upper[nodes])]
        else:
            threshold[nodes] = np.nan
            left_codes |= dict(zip(nodes.tolist(), (np.flatnonzero(side) for side in left), strict=True))
    return {
        "feature": feature,
        "threshold": threshold,
        "missing_left": missing_left & np.append(accepts, False)[feature],
        **pack_codes(left_codes, tree.n_nodes),
    }


def _carry_signs(tree: Tree, found: Decoded, feature_of: dict[int, int], n_features: int) -> NDArray[np.int8] | None:
    """Return the monotonicity signs that hold for the columns before the steps, too."""
    # A derived column may move with one that has a sign.
    if tree.monotone is None or found.derived:
        return None
    signs = np.zeros(n_features, dtype=np.int8)
    for feature in set(feature_of.values()):
        own = [place for place, one in feature_of.items() if one == feature]
        plain = all(place in found.limits for place in own)
        carried = {int(tree.monotone[place]) for place in own}
        if plain and len(carried) == 1:
            signs[feature] = carried.pop()
    return signs if signs.any() else None


def _name_derived(preprocessor: Any, traces: Sequence[Trace], places: list[int], taken: Sequence[str]) -> list[str]:
    """Name derived columns as the pipeline does; where it does not, by the step and a number."""
    try:
        listed = [str(name) for name in preprocessor.get_feature_names_out()]
    except Exception:  # many steps have no names, and say so in many ways
        listed = []
    if len(listed) != len(traces):
        listed, seen = [], dict[str, int]()
        for trace in traces:
            number = seen[trace.maker] = seen.get(trace.maker, -1) + 1
            listed.append(f"{trace.maker.lower()}{number}")
    known, names = set(taken), []
    for place in places:
        name = listed[place]
        while name in known:
            name = f"{name} ({traces[place].maker})"
        known.add(name)
        names.append(name)
    return names


def _check_on_rows(trees: Sequence[Tree], encoded_trees: Sequence[Tree], X: Any, encoder: Encoder) -> None:
    """Send rows through the steps and the tree behind them, and through the tree that was read."""
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    chosen = np.unique(np.linspace(0, n_rows - 1, min(n_rows, CHECKED_ROWS)).astype(np.int64))
    some = take_rows(X, chosen)
    try:
        rows = check_rows(trees[0], some)
    except InputError:
        return  # rows that do not fit are rejected, with a reason, when they are checked
    for tree, encoded in zip(trees, encoded_trees, strict=True):
        places = np.unique(encoded.feature[~encoded.is_leaf])
        table = np.ascontiguousarray(encoder(some, places.tolist()), dtype=encoded.dtype)
        behind = apply_tree(encoded, Rows.of_columns(table, places, encoded.n_features))
        reached = apply_tree(tree, rows)
        wrong = np.flatnonzero(behind != reached)
        if len(wrong):
            row = int(wrong[0])
            node = _parting(tree, int(behind[row]), int(reached[row]))
            feature = int(tree.feature[node])
            value = _cell(some, row, feature)
            raise UnsupportedModelError(
                f"The pipeline sends row {chosen[row]} to leaf {behind[row]}, but its steps as read send it to leaf "
                f"{reached[row]}: they part at column {tree.feature_name(feature)!r}, which holds {value}. A step does "
                "not do what it was taken for. Pass the last step alone, with the rows that it sees."
            )


def _cell(X: Any, row: int, column: int) -> str:
    """Write one value of the rows as text; columns that the pipeline makes are not among them."""
    names = frame_columns(X)
    if column >= (np.asarray(X).shape[1] if names is None else len(names)):
        return "what the pipeline made"
    if names is None:
        return repr(np.asarray(X)[row, column])
    import narwhals as nw

    return repr(nw.from_native(X, eager_only=True)[:, column].to_list()[row])


def _parting(tree: Tree, one: int, other: int) -> int:
    """Find the last node on the way to both of two leaves."""
    parent = trace_paths(tree).parent
    while one != other:  # a parent has a smaller id than its child
        one, other = (int(parent[one]), other) if one > other else (one, int(parent[other]))
    return one


def _collect_remarks(found: Decoded, names: Sequence[str], derived: Mapping[int, str]) -> list[str]:
    """Write the remarks on the columns that a tree tests, given the names of the columns and of the derived ones."""
    traces, sample = found.traces, found.probe.sample
    remarks = []
    tested = sorted(set(found.source.values()))
    for column in tested:
        places = found.places_of(column)
        own = [traces[place] for place in places]
        if column in found.fills:
            asked = any(trace.shape is Shape.BLANK for trace in own)
            but = ", but for splits that ask whether it is missing" if asked else ""
            remarks.append(f"A missing {names[column]} counts as {_write_value(found.fills[column])}{but}.")
        if column in found.mixed_markers:
            remarks.append(
                f"To the pipeline, None and NaN are not the same in {names[column]}: the rules take both as the one "
                "that the training rows hold, or as NaN where they hold neither."
            )
        rare = next((trace.rare for trace in own if len(trace.rare) > 1), ())
        if rare:
            remarks.append(
                f"Rare {names[column]}: {_join_names([_write_value(label) for label in rare])} count as one."
            )
        if any(blank in trace.replaced for trace in own for blank in ("", " ")):
            remarks.append(f"A {names[column]} of blanks alone counts as missing, however many they are.")
        if any(trace.maker == "TargetEncoder" for trace in own):
            remarks.append(
                f"The pipeline's TargetEncoder encodes {names[column]} differently in the training rows and in later "
                "ones: the tree's counts are those of the former, its rules are about the latter."
            )
        if column in found.distance:
            remarks.append(
                f"Rounding does not keep the order of {names[column]}: within {found.distance[column]:.2g} of a limit "
                f"a row {BESIDE_A_LIMIT}"
            )
    kinds = {column: sample.kind(column) for column in tested if column not in found.categories}
    small = [names[c] for c, kind in kinds.items() if kind is not None and kind.kind == "f" and kind.itemsize < 8]
    if small:
        remarks.append(
            f"{_join_names(small)} {'is' if len(small) == 1 else 'are'} float32 or smaller in the rows given, and the "
            f"pipeline computes in that type: beside a limit, a number of another type {BESIDE_A_LIMIT}"
        )
    for column, limit, is_above in dict.fromkeys(found.gaps):
        side = "above" if is_above else "below"
        remarks.append(f"The pipeline's function of {names[column]} has no value {side} {limit + 0.0:.6g}.")
    remarks += [sentence.format(*names) + "." for sentence in found.limited]
    by_reason: dict[tuple[str, str], list[str]] = {}
    for place, reason in found.derived.items():
        by_reason.setdefault((traces[place].maker or "the pipeline", reason), []).append(derived[place])
    for (maker, reason), listed in by_reason.items():
        come, its = ("come", "its outputs") if len(listed) > 1 else ("comes", "its output")
        remarks.append(f"{_join_names(listed)} {come} from {maker}, {reason}: rules name {its}.")
    return remarks


def _write_value(value: Any) -> str:
    if isinstance(value, str):
        return repr(value)
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def _join_names(items: Sequence[str]) -> str:
    if len(items) > SHOWN:
        return f"{', '.join(items[:SHOWN])} and {len(items) - SHOWN} more"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
