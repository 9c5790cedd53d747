"""Grow trees on rows of any columns, all sizes at once, and estimate how faithful each size is.

Rows are held twice: as the model takes them, and as codes that a tree is grown on. A number becomes its rank among the
values of the rows to learn from, so that a tree is grown the same on any scale, and every limit lies between two values
that occurred. A text, a truth value and a category become one code for each of the commonest values; all others count
as one. Dates, lists and the like are shown to the model alone.

A neighbour of a row takes a tenth, a third or more than half of its columns from other rows. It is described by the row
that each column comes from, so that a column's type and values stay what they were. Neighbours show a tree how the
model answers between the rows, which few rows alone do not; each counts less than a row, because what matters is how
the model answers where rows are.

scikit-learn grows a tree with a limit on its leaves best split first, and numbers the two children of each split as it
makes it. So the first ``2 k - 1`` nodes are the tree of ``k`` leaves: one fit gives every size.

A model is never asked for more rows than it may be: a class or a value for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.pipelines.probe import take_rows
from secateur.adapters.reading import fitted_names
from secateur.errors import InputError, ParameterError, UnsupportedModelError, first_line, shorten
from secateur.frames import check_unique, frame_columns
from secateur.rows.encoding import as_objects, is_missing
from secateur.tree.columns import Columns
from secateur.tree.tree import Label, Tree, make_tree
from secateur.words.plain_words import shorten_number

MAX_CATEGORIES = 20  # values of a column that are told apart, the commonest
MISSING, UNLISTED = -1, -2  # codes of values that are no category
NEIGHBOUR_WEIGHT = 0.3  # of a row
RARE, POWERS = 0.1, (0.0, 0.5)  # with a class below this share of the answers, trees are also grown with it weighed up
SWAPPED = (0.1, 0.3, 0.6)  # shares of the columns that come from other rows
SIZES = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64),
    *(80, 96, 112, 128, 160, 192, 224, 256),
)
N_FOLDS = 5
MANY_ROWS = 20_000  # from here on one fold tells enough, and so many rows to grow its trees on


class Table:
    """Rows as a model takes them: an array, or a data frame."""

    def __init__(self, native: Any, names: tuple[str, ...] | None) -> None:
        self.native = native
        self.names = names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.native)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.native.shape[1])

    def take(self, rows: NDArray[np.int64]) -> Table:
        """Take some rows, in this order."""
        return Table(take_rows(self.native, rows), self.names)

    def pick(self, names: Sequence[str]) -> Table:
        """Pick columns by name, in this order."""
        import narwhals as nw

        return Table(nw.from_native(self.native, eager_only=True)[list(names)].to_native(), tuple(names))

    def copy(self) -> Any:
        """Copy the rows for a model: what it changes in them, such as a column that it adds, stays there."""
        if self.names is None or _is_pandas(self.native):
            return self.native.copy()
        import narwhals as nw

        return nw.from_native(self.native, eager_only=True).clone().to_native()

    def mix(self, sources: NDArray[np.int64]) -> Table:
        """Make rows whose columns come from different rows; ``sources`` has a column for each."""
        if self.names is None:
            return Table(self.native[sources, np.arange(self.n_columns)], None)
        if _is_pandas(self.native):
            import pandas as pd

            columns = [
                self.native.iloc[:, place].iloc[sources[:, place]].reset_index(drop=True)
                for place in range(self.n_columns)
            ]
            mixed = pd.concat(columns, axis=1)
            mixed.columns = self.native.columns
            return Table(mixed, self.names)
        import narwhals as nw

        frame = nw.from_native(self.native, eager_only=True)
        gathered = {
            name: frame[name].gather_every(1)[sources[:, place].tolist()] for place, name in enumerate(frame.columns)
        }
        return Table(nw.from_dict(gathered, backend=frame.implementation).to_native(), self.names)

    def column(self, place: int) -> NDArray[Any]:
        """Read a column as numbers with NaN, or as objects."""
        if self.names is None:
            values: NDArray[Any] = self.native[:, place]
            return values if values.dtype.kind != "O" else _read_objects(values)
        import narwhals as nw

        series = nw.from_native(self.native, eager_only=True)[:, place]
        if series.dtype.is_numeric() and not series.dtype.is_decimal():
            numbers = series.cast(nw.Float64) if series.is_null().any() else series
            found: NDArray[Any] = numbers.to_numpy()
            return found if found.dtype.kind in "fiu" else found.astype(np.float64)
        if series.dtype.is_decimal():
            return np.array([np.nan if value is None else float(value) for value in series.to_list()])
        objects = as_objects(series.to_list())
        return objects if series.dtype != nw.Object else _read_objects(objects)


def open_table(X: Any, what: str = "X") -> Table:
    """Open rows in memory; reject what is neither an array nor a data frame."""
    names = frame_columns(X)
    if names is not None:
        check_unique(names, what)
        return Table(X, tuple(names))
    if hasattr(X, "tocsr"):
        raise InputError(f"Expected {what} as an array or data frame, found a sparse matrix: pass {what}.toarray().")
    try:
        matrix = np.asarray(X)
    except ValueError as error:
        raise InputError(
            f"Expected {what} as a table, with the same number of values in each row, found a {type(X).__name__} whose "
            "parts differ in length."
        ) from error
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InputError(f"Expected {what} with rows and columns, found an array of shape {matrix.shape}.")
    if matrix.dtype.kind in "US":
        matrix = matrix.astype(object)
    return Table(matrix, None)


class ColumnCoding(NamedTuple):
    """How the values of a column become codes."""

    kind: str  # "number", "category" or "other"
    values: NDArray[np.float64]  # of numbers: those that occurred, increasing
    labels: tuple[Label, ...]  # of categories: the commonest, in the order of their codes
    holds_missing: bool  # whether some row, of those to learn from or of the others, has no value here

    def encode(self, column: NDArray[Any]) -> NDArray[np.float32]:
        """Give the columns of codes of some rows: one of ranks, or one of zeros and ones for each category."""
        if self.kind == "number":
            numbers = column.astype(np.float64)
            ranks = np.searchsorted(self.values, numbers, side="left").astype(np.float32)
            ranks[np.isnan(numbers)] = np.nan
            return ranks[:, None]
        if self.kind == "other":
            return np.zeros((len(column), 0), dtype=np.float32)
        place = {label: code for code, label in enumerate(self.labels)}
        codes = np.array([_find_code(place, value) for value in column.tolist()], dtype=np.int64)
        return np.column_stack(
            [codes == (MISSING if category == len(self.labels) else category) for category in self.told]
        ).astype(np.float32)

    @property
    def told(self) -> tuple[int, ...]:
        """The codes of categories that have a column; the number of categories for "missing"."""
        named = (1,) if self.labels == (False, True) else range(len(self.labels))
        return (*named, *([len(self.labels)] if self.holds_missing else []))


def _find_code(place: dict[Any, int], value: Any) -> int:
    if is_missing(value):
        return MISSING
    try:
        return place.get(value, UNLISTED)
    except TypeError:  # lists and the like
        return UNLISTED


@dataclass(frozen=True)
class Coding:
    """How the columns of rows become those that a tree is grown on."""

    columns: tuple[ColumnCoding, ...]
    features: NDArray[np.int64]  # the column of the rows that each column of codes comes from
    # The code of the category that a column of codes is about; the number of categories for "missing", -1 for ranks.
    categories: NDArray[np.int64]

    def encode(self, table: Table) -> NDArray[np.float32]:
        """Give the codes of rows, column after column."""
        parts = [one.encode(table.column(place)) for place, one in enumerate(self.columns) if one.kind != "other"]
        width = len(self.features)
        return np.column_stack(parts) if parts else np.zeros((table.n_rows, width), dtype=np.float32)

    def mix(self, codes: NDArray[np.float32], sources: NDArray[np.int64]) -> NDArray[np.float32]:
        """Give the codes of rows whose columns come from different rows."""
        mixed = np.empty((len(sources), codes.shape[1]), dtype=np.float32, order="F")
        for place, feature in enumerate(self.features.tolist()):
            mixed[:, place] = codes[sources[:, feature], place]
        return mixed

    @property
    def is_numeric(self) -> bool:
        """Whether all columns hold numbers."""
        return all(one.kind == "number" for one in self.columns)


def code_columns(building: Table, others: Sequence[Table]) -> Coding:
    """Settle the codes by the rows to learn from; the others only tell whether a column may hold a blank."""
    columns = []
    for place in range(building.n_columns):
        values = [table.column(place) for table in (building, *others)]
        name = f"x{place}" if building.names is None else building.names[place]
        if any(some.dtype.kind == "f" and np.isinf(some).any() for some in values):
            raise InputError(f"Column {name!r} of X holds an infinite value: replace it, or leave its rows out.")
        if not all(_is_alike(values[0], some) for some in values[1:]):
            raise InputError(
                f"Column {name!r} of held_out holds other values than that of X, such as texts where X has numbers: "
                "pass both as the model takes them."
            )
        columns.append(_code_column(values[0], values[1:]))
    features: list[int] = []
    categories: list[int] = []
    for place, one in enumerate(columns):
        coded = [-1] if one.kind == "number" else one.told if one.kind == "category" else []
        features += [place] * len(coded)
        categories += coded
    return Coding(tuple(columns), np.array(features, dtype=np.int64), np.array(categories, dtype=np.int64))


def _is_alike(column: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether values can be compared: numbers with numbers, truth values with truth values; a blank fits anything."""
    if column.dtype.kind in "fiu":
        return other.dtype.kind in "fiub" or all(is_missing(one) or isinstance(one, (bool, int)) for one in other)
    if all(is_missing(one) or isinstance(one, (bool, np.bool_)) for one in column):
        return all(is_missing(one) or one in (False, True) for one in other)
    return True


def _code_column(column: NDArray[Any], others: Sequence[NDArray[Any]]) -> ColumnCoding:
    nothing = np.zeros(0)
    if column.dtype.kind in "fiu":
        values = np.unique(column.astype(np.float64))
        blank = any(bool(np.isnan(some.astype(np.float64)).any()) for some in (column, *others))
        return ColumnCoding("number", values[np.isfinite(values)], (), blank)
    if column.dtype.kind == "b":
        return ColumnCoding("category", nothing, (False, True), False)
    counted: dict[Any, int] = {}
    has_blank = any(is_missing(value) for some in others for value in some.tolist())
    for value in column.tolist():
        if is_missing(value):
            has_blank = True
        elif isinstance(value, (str, bool, int, float)):
            counted[value] = counted.get(value, 0) + 1
        else:  # a date, a list: rules have no words for it
            return ColumnCoding("other", nothing, (), False)
    if len({type(value) for value in counted}) > 1:
        return ColumnCoding("other", nothing, (), False)
    if counted.keys() <= {False, True} and all(isinstance(value, bool) for value in counted):
        return ColumnCoding("category", nothing, (False, True), has_blank)
    common = sorted(counted, key=lambda value: (-counted[value], value))[:MAX_CATEGORIES]
    return ColumnCoding("category", nothing, tuple(sorted(common)), has_blank)


def _read_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Read objects as numbers where all of them are."""
    listed = values.tolist()
    if all(is_missing(value) or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in listed):
        return np.array([np.nan if is_missing(value) else float(value) for value in listed])
    return values


def _is_pandas(native: Any) -> bool:
    return type(native).__module__.split(".")[0] == "pandas"


@dataclass(frozen=True)
class GrownTree:
    """A tree on codes; every first part of its nodes is a tree too."""

    source: Any  # a tree_ of scikit-learn
    # Places of the classes of its counts: those among the rows it was grown on; None of a tree of values.
    class_ids: NDArray[np.int64] | None

    @property
    def n_leaves(self) -> int:
        """Leaves of the whole tree."""
        return int(self.source.n_leaves)

    @cached_property
    def node_answer(self) -> NDArray[Any]:
        """The commonest class, or the mean of the values, at each node."""
        if self.class_ids is None:
            # Means are added up row by row: the last digits are noise, and equal answers should stay equal.
            return np.array([float(f"{value:.12g}") for value in self.source.value[:, 0, 0].tolist()])
        return np.asarray(self.class_ids[self.source.value[:, 0, :].argmax(axis=1)])

    def answer(self, codes: NDArray[np.float32], sizes: Sequence[int]) -> NDArray[Any]:
        """Give the class or value of each row by the tree of each size, shape (n_sizes, n_rows)."""
        parent = np.zeros(self.source.node_count, dtype=np.int64)
        inner = np.flatnonzero(self.source.children_left >= 0)
        for children in (self.source.children_left, self.source.children_right):
            parent[children[inner]] = inner
        reached = self.source.apply(np.ascontiguousarray(codes))
        answers = np.empty((len(sizes), len(codes)), dtype=self.node_answer.dtype)
        for place, size in enumerate(sizes):
            ancestor = np.arange(self.source.node_count)
            while (beyond := ancestor > 2 * size - 2).any():
                ancestor[beyond] = parent[ancestor[beyond]]
            answers[place] = self.node_answer[ancestor[reached]]
        return answers

    def to_tree(self, size: int, coding: Coding, classes: Sequence[Any], names: Sequence[str] | None) -> Tree:
        """Make the tree of so many leaves over the columns that the codes came from."""
        source, n_nodes = self.source, min(2 * size - 1, self.source.node_count)
        left, right = (np.array(side[:n_nodes]) for side in (source.children_left, source.children_right))
        cut = left >= n_nodes
        left[cut] = right[cut] = -1
        feature, threshold = np.full(n_nodes, -1), np.full(n_nodes, np.nan)
        missing_left = np.zeros(n_nodes, dtype=bool)
        codes_of: dict[int, list[int]] = {}
        for node in np.flatnonzero(left >= 0).tolist():
            coded = int(source.feature[node])
            feature[node] = coding.features[coded]
            column, category = coding.columns[feature[node]], int(coding.categories[coded])
            if column.kind == "number":
                threshold[node] = find_limit(column.values, float(source.threshold[node]))
                missing_left[node] = bool(source.missing_go_to_left[node])
                continue
            everything = range(len(column.labels) + 1)  # with one code for all that is not listed
            codes_of[node] = [code for code in everything if code != category or category == len(column.labels)]
            missing_left[node] = category != len(column.labels)
        plain = (None,) * len(coding.columns), (False,) * len(coding.columns)
        asked = tuple(np.unique(feature[left >= 0]).tolist())
        said = self.node_answer[:n_nodes]
        answers = {"values": said} if self.class_ids is None else {"leaf_class": said, "classes": classes}
        return make_tree(
            children_left=left,
            children_right=right,
            feature=feature,
            threshold=threshold,
            missing_left=missing_left,
            **answers,
            n_features=len(coding.columns),
            accepts_missing=[one.holds_missing for one in coding.columns],
            left_categories=codes_of,
            categories=[one.labels if one.kind == "category" else None for one in coding.columns],
            feature_names=names,
            dtype="float64",
            columns=None if coding.is_numeric else Columns(*plain, asked=asked),
        )


def grow(
    codes: NDArray[np.float32], answers: NDArray[Any], weights: NDArray[np.float64], max_leaves: int, seed: int
) -> GrownTree:
    """Grow a tree on codes, with at most so many leaves; answers are places of classes, or values (floats)."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if codes.shape[1] == 0:
        codes = np.zeros((len(codes), 1), dtype=np.float32)
    kind = DecisionTreeRegressor if answers.dtype.kind == "f" else DecisionTreeClassifier
    tree = kind(max_leaf_nodes=max(max_leaves, 2), random_state=seed)
    tree.fit(codes, answers, weights)
    return GrownTree(tree.tree_, getattr(tree, "classes_", None))


def find_limit(values: NDArray[np.float64], threshold: float) -> float:
    """Find a short number between the values on either side of a threshold on their ranks."""
    if math.isinf(threshold):
        return threshold
    place = math.floor(threshold)
    below, above = float(values[place]), float(values[place + 1])
    middle = below / 2 + above / 2
    if not below <= middle < above:
        return below
    short = float(shorten_number(middle, "float64", below, above).value)
    return short if below <= short < above else middle


def draw_neighbours(
    n_rows: int, n_columns: int, n_neighbours: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw neighbours: the row that each is a neighbour of, and the row that each of its columns comes from."""
    own = np.resize(random.permutation(n_rows), n_neighbours)
    swapped = random.random((n_neighbours, n_columns)) < random.choice(SWAPPED, size=(n_neighbours, 1))
    return own, np.where(swapped, random.integers(n_rows, size=swapped.shape), own[:, None])


def estimate_fidelity(
    codes: NDArray[np.float32],
    answers: NDArray[Any],
    neighbours_of: NDArray[np.int64],
    sizes: Sequence[int],
    random: np.random.Generator,
    seed: int,
    power: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate for each size how often a tree says what the model says, by folds.

    The first rows are real, the others neighbours of them. A tree is grown without a fold and without the neighbours of
    its rows, and compared with the model on both. The first result is the share of the real rows alone. The second is
    the mean over classes of F1, so that a rare class counts as much as a common one; it counts neighbours as they
    weigh, and tells sizes apart with less noise: rows that the model was fitted on show what it learned by heart rather
    than what it does. Of values, both results are R², of the real rows alone and of all.
    """
    n_real, has_values = len(codes) - len(neighbours_of), answers.dtype.kind == "f"
    weights = np.append(np.ones(n_real), np.full(len(neighbours_of), NEIGHBOUR_WEIGHT))
    grown_with = weights if has_values else weights * weigh_classes(answers, weights, power)
    # Each fold gets its share of every answer.
    order = random.permutation(n_real)
    fold = np.empty(n_real, dtype=np.int64)
    fold[order[np.argsort(answers[order], kind="stable")]] = np.arange(n_real) % N_FOLDS
    of_row, parts = np.append(fold, fold[neighbours_of]), []
    for number in range(1 if n_real > MANY_ROWS else N_FOLDS):
        seen = np.flatnonzero(of_row == number)
        rest = of_row != number
        if n_real > MANY_ROWS:
            chosen = np.zeros(n_real, dtype=bool)
            chosen[random.permutation(n_real)[:MANY_ROWS]] = True
            rest &= np.append(chosen, chosen[neighbours_of])
        grown = grow(codes[rest], answers[rest], grown_with[rest], sizes[-1], seed)
        parts.append((grown.answer(codes[seen], sizes), answers[seen], seen < n_real, weights[seen]))
    said, truth, is_real, heavy = (np.concatenate(some, axis=-1) for some in zip(*parts, strict=True))
    if has_values:
        return _explain(said, truth, is_real * 1.0), _explain(said, truth, heavy)
    agrees, width, f1 = said == truth, int(answers.max()) + 1, []
    by_model = np.bincount(truth, heavy, width)
    found = by_model > 0
    for own, same in zip(said, agrees, strict=True):
        by_both, by_tree = np.bincount(truth, heavy * same, width), np.bincount(own, heavy, width)
        f1.append((2 * by_both[found] / (by_tree + by_model)[found]).mean())
    return agrees[:, is_real].mean(axis=1), np.array(f1)


def _explain(said: NDArray[Any], answers: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find R² of the values of trees of several sizes."""
    whole = weights @ (answers - np.average(answers, weights=weights)) ** 2
    explained: NDArray[np.float64] = 1 - ((said - answers) ** 2 @ weights) / (whole or 1.0)
    return explained


def weigh_classes(answers: NDArray[np.int64], weights: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Weigh rare classes up: by 0 not at all, by 1 until all classes weigh the same."""
    sizes = np.bincount(answers, weights)
    share = sizes[answers] / sizes.sum()
    factor: NDArray[np.float64] = share**-power
    return factor


MAKE_CLASSES = (
    "pass a function that gives a class for each row, such as lambda X: model.predict(X) > 0.5; or pass tolerance, "
    "such as '0.25sd', for a list of numbers"
)

LARGEST_WHOLE = 2**53  # beyond, floats skip whole numbers; infinity is larger than any
SPELT_WITH_AN = "AEFHILMNORSX"  # letters whose own names start with a vowel


def name_model(model: Any) -> str:
    """Name a model for a sentence: "a RandomForestClassifier", of a pipeline its last step."""
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if isinstance(steps, list) and steps else model
    if not hasattr(last, "predict"):
        name = getattr(last, "__name__", "")
        return f"the function {name}" if name.isidentifier() else "a function"
    name = type(last).__name__
    is_spelt = name[:2].isupper()  # letter by letter: an "ex-gee-bee" classifier
    return f"{'an' if name[0] in (SPELT_WITH_AN if is_spelt else 'AEIOUaeiou') else 'a'} {name}"


class Respondent:
    """A model with ``predict``, or a function, that gives an answer for each of at most ``limit`` rows in all."""

    def __init__(self, model: Any, limit: int, *, gives_values: bool) -> None:
        self._model = model
        self._gives_values = gives_values
        self._predict = find_answering(model)
        self.limit = limit
        self.n_asked = 0

    def ask(self, rows: Any, n_rows: int) -> NDArray[Any]:
        """Ask for the class of each row, as the model labels it, or for its value."""
        if self.n_asked + n_rows > self.limit:
            raise ParameterError(
                f"The model may be asked about {self.limit:,} rows, and {self.n_asked + n_rows:,} would be needed."
            )
        self.n_asked += n_rows
        try:
            given = self._predict(rows)
        except Exception as error:  # a model may raise anything
            raise InputError(
                f"The model could not answer for the rows: {first_line(error)}. {self._find_remedy(rows)}"
            ) from error
        return check_answers(given, n_rows, gives_values=self._gives_values)

    def _find_remedy(self, rows: Any) -> str:
        """Describe what to do about rows that the model failed on."""
        columns = frame_columns(rows)
        absent = [name for name in fitted_names(self._model) or () if columns is not None and name not in columns]
        if absent:
            return f"It was fitted on columns that the rows lack: {shorten(absent)}."
        return (
            "Pass rows as the model takes them, in the columns that it was fitted on, or a function that makes its "
            "input of them."
        )


def find_answering(model: Any) -> Any:
    """Find what answers: ``predict`` of a model, or the function itself."""
    answering = getattr(model, "predict", None)
    if isinstance(model, type) or not callable(answering or model):
        raise UnsupportedModelError(
            f"Expected a fitted classifier or regressor with predict, or a function that gives an answer for each row, "
            f"found {model if isinstance(model, type) else type(model).__name__!s}."
        )
    return answering or model


def predicts_values(model: Any) -> bool:
    """Tell whether a model says of itself that it is a regressor."""
    try:  # models of other libraries have no tags, or fail to make them
        return bool(model.__sklearn_tags__().estimator_type == "regressor")
    except Exception:
        return getattr(model, "_estimator_type", None) == "regressor"


def check_answers(given: Any, n_rows: int, *, gives_values: bool = False) -> NDArray[Any]:
    """Check that answers are one class or value for each row, and give them as an array of plain labels or floats."""
    one = "value" if gives_values else "class"
    try:
        answers = np.asarray(given)
    except ValueError as error:
        raise InputError(
            f"Expected one {one} for each of {n_rows:,} rows from the model, found lists of different lengths."
        ) from error
    if answers.ndim == 2 and answers.shape[1] == 1:
        answers = answers[:, 0]
    if answers.shape != (n_rows,):
        hint = ""
        if answers.ndim == 2 and len(answers) == n_rows and not gives_values:
            hint = " If these are probabilities, pass a function that names the likeliest class."
        raise InputError(
            f"Expected one {one} for each of {n_rows:,} rows from the model, found an array of shape "
            f"{answers.shape}.{hint}"
        )
    if gives_values:
        if answers.dtype.kind not in "fiub" or not np.isfinite(answers).all():
            strange = answers[0] if answers.dtype.kind not in "fiub" else answers[~np.isfinite(answers)][0]
            raise InputError(f"Expected a finite number for each row from the model, found {strange!r}.")
        return answers.astype(np.float64)
    if answers.dtype.kind == "f":
        if np.isnan(answers).any():
            raise InputError("The model answered NaN for a row: expected a class for each row.")
        fractions = answers[(np.floor(answers) != answers) | (np.abs(answers) > LARGEST_WHOLE)]
        if len(fractions):
            raise InputError(
                f"The model answered with numbers such as {fractions[0]:g}, and rules say classes: {MAKE_CLASSES}."
            )
        return answers.astype(np.int64)
    if answers.dtype.kind in "iub":
        return answers
    labels = answers.tolist()
    strange = next((label for label in labels if not isinstance(label, (str, int, float)) or label != label), None)
    if strange is not None or any(label is None for label in labels):
        raise InputError(
            f"The model answered {strange!r} for a row: expected a text, a number or a truth value for each row."
        )
    kinds = {type(label) for label in labels}
    if len(kinds) > 1:
        raise InputError(
            f"The model answered with classes of several types, such as {shorten(sorted(set(map(repr, labels))))}: "
            "make them one type."
        )
    return np.array(labels)
