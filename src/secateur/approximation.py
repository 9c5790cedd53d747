"""Approximate any model by a short rule list, and measure how often both agree.

1. Rows are split: those to learn from, and those held out, which have no part in what follows.
2. The model answers for the rows to learn from and for shuffled neighbours of them.
3. A tree is grown on the answers; folds of the rows to learn from settle its size.
4. Its rules are made compact, without a budget: they equal the tree on every possible row, or are within a tolerance
   of its values.
5. The model answers for the held-out rows, and its answers are compared with those of the rules.
"""

import math
import operator
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.reading import fitted_names
from secateur.errors import InputError, ParameterError, shorten
from secateur.frames import frame_columns
from secateur.methods.contract import check_whole, is_number
from secateur.methods.leaves import CLASSES_ONLY
from secateur.results.fidelity import Fidelity
from secateur.rows.checking import check_rows
from secateur.rows.encoding import as_label, is_missing, to_label_types
from secateur.rows.opening import hold_rows, open_rows
from secateur.rows.row_source import GivenRows
from secateur.rows.rows import apply_tree
from secateur.rules.rules import Rules
from secateur.simplification import check_tolerance, settle_tolerance, simplify
from secateur.surrogates import growing
from secateur.tree.difference import Comparison
from secateur.tree.tree import Tree
from secateur.verify.fields import FIELDS

DEFAULT_RULES = 10  # that a person still reads
FEWEST_ROWS = 20
FEWEST_TO_LEARN = 10
NEIGHBOURS_OF_A_ROW = 10
FEWEST_NEIGHBOURS, MOST_NEIGHBOURS = 10_000, 20_000  # unless another number of questions is asked for
MOST_CELLS = 1 << 25  # of all neighbours together: a wide table gets fewer of them
AS_GOOD_AS_EQUAL = 0.001  # of a fidelity by folds: for less, nobody reads a longer list
# What is only known with labels, of classes and of values.
OF_LABELS = ("n_right", "n_model_right", "guess", "distances.rules_r2", "distances.model_r2")
N_LENGTHS, MOST_LEAVES = 6, 64  # lists of other lengths to show beside the chosen one, and leaves of their trees
IN_MEMORY = "A model is asked about rows in memory"
MEASURED = {
    "model": "model",
    "n_right": "held-out rows that the rules answer correctly",
    "n_model_right": "held-out rows that the model answers correctly",
    "guess": "commonest label",
}


def approximate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    fidelity: float | None = None,
    max_rules: int | None = None,
    max_conditions: int | None = None,
    tolerance: float | str | None = None,
    held_out: Any = 0.25,
    n_queries: int | None = None,
    otherwise: Any = "auto",
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    random_state: int = 0,
) -> Rules:
    """Approximate any model by a short rule list, and say how often both agree, or how far apart their values are.

    A tree is fitted to the model's answers, and the list gives its answers exactly; of a regressor, values within the
    tolerance of the tree's. How often it agrees with the model is measured on rows held out, with an interval, for all
    rows, each class and each line; of a regressor also R², and how far apart both are on average and at most.

    Parameters
    ----------
    model : fitted classifier or regressor, or callable
        Anything with ``predict``, such as a forest, a boosted model, a pipeline or a neural network; or a function that
        takes rows as ``X`` has them and gives a class for each, or with ``tolerance`` a number.
    X : array-like or data frame of shape (n_rows, n_features), or a table
        Rows as the model takes them, at least 20. Text columns become categories. They need no labels. A table as in
        :func:`simplify` is read into memory.
    y : array-like of shape (n_rows,), or str, default=None
        Labels or targets, only to say how often rules and model are right; of a table or data frame the column that
        holds them.
    fidelity : float, default=None
        The share of rows on which the rules should say what the model says, of a regressor R²: the shortest list is
        made that reaches it by folds of the rows to learn from. If none does, the most faithful one is, with a warning.
    max_rules, max_conditions : int, default=None
        The most rules, and conditions of all rules together, of the list. Without ``fidelity`` the most faithful such
        list is made; without either, of at most 10 rules.
    tolerance : float or str, default=None
        Of a model that predicts numbers: how far the list's values may lie from those of the tree, in the units of the
        target, or as a part of the standard deviation of the model's answers; ``"0.25sd"`` by default.
    held_out : float, or rows, default=0.25
        The share of the rows to hold out; or other rows to measure on, with their labels as a pair (rows, labels).
    n_queries : int, default=None
        The most rows that the model is asked about, held-out rows included. By default all rows, and ten shuffled
        neighbours of each row to learn from, but at least 10,000 and at most 20,000 of them.
    otherwise : label, default="auto"
        The class that is not written; by default the one that leaves the fewest conditions.
    feature_names, class_names : sequence of str, default=None
        How columns and classes read, where neither rows nor model say.
    random_state : int, default=0
        Seed of the split, the neighbours and the folds.

    Returns
    -------
    Rules
        Its ``fidelity`` has all that was measured.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> data = load_breast_cancer(as_frame=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(data.data, data.target)
    >>> rules = approximate(forest, data.data, max_rules=3, class_names=data.target_names)
    >>> len(rules) <= 3
    True
    >>> low, high = rules.fidelity.interval
    >>> low < rules.fidelity.share < high
    True
    """
    seed = check_whole("random_state", random_state, 0, 2**32 - 1)
    gives_values = growing.predicts_values(model) or tolerance is not None
    if gives_values and not (isinstance(otherwise, str) and otherwise == "auto" and class_names is None):
        raise ParameterError(
            "otherwise and class_names are about classes, and the model predicts numbers: leave both out."
        )
    wanted = _Wanted.check(fidelity, max_rules, max_conditions)
    asked_tolerance = check_tolerance("0.25sd" if tolerance is None else tolerance)
    rows = _split(model, X, y, held_out, n_queries, seed, gives_values=gives_values)
    n_building, n_held = rows.building.n_rows, rows.held.n_rows
    if n_queries is None:
        n_neighbours = min(max(NEIGHBOURS_OF_A_ROW * n_building, FEWEST_NEIGHBOURS), MOST_NEIGHBOURS)
        n_neighbours = min(n_neighbours, MOST_CELLS // rows.building.n_columns)
    else:
        n_neighbours = n_queries - n_building - n_held
    asked = growing.Respondent(model, n_building + n_held + n_neighbours, gives_values=gives_values)
    random = np.random.default_rng(seed)
    coding = growing.code_columns(rows.building, [rows.held])
    own, sources = growing.draw_neighbours(n_building, rows.building.n_columns, n_neighbours, random)
    said = asked.ask(rows.building.copy(), n_building)
    if n_neighbours:
        said = np.concatenate([said, asked.ask(rows.building.mix(sources).native, n_neighbours)])
    classes, answers = ([], said) if gives_values else _place_answers(model, said)
    codes = coding.encode(rows.building)
    codes = np.concatenate([codes, coding.mix(codes, sources)])
    grower = _Grower(codes, answers, own, coding, classes, _find_names(rows.building, feature_names))
    labels = answers[:n_building] if gives_values else np.array(classes)[answers[:n_building]]
    form: dict[str, Any] = {"tolerance": CLASSES_ONLY, "otherwise": otherwise}  # what shares there are, are the model's
    if gives_values:
        form = {"tolerance": settle_tolerance(asked_tolerance, float(np.std(labels)))}
    make = partial(simplify, X=rows.building.native, y=labels, class_names=class_names, **form)
    (rules, expected), others = grower.choose(replace(wanted, form=form), seed, make)
    said, name = asked.ask(rows.held.copy(), n_held), growing.name_model(model)

    def measure(one: Rules, promised: float) -> Fidelity:
        found = _measure(one, rows, said, name, promised, wanted.fidelity)
        return replace(found, n_building=n_building, n_neighbours=n_neighbours, seed=rows.seed)

    lengths = tuple(one.change(fidelity=measure(one, promised)) for one, promised in others)
    return rules.change(fidelity=replace(measure(rules, expected), lengths=lengths))


def recount_fidelity(rules: Rules, model: Any, X: Any, y: Any = None) -> tuple[Comparison, GivenRows | None]:
    """Ask a model again about the rows that rules approximate it on; also give those it was fitted to, if any."""
    stated = rules.fidelity
    if stated is None:
        raise ParameterError("These rules do not approximate a model: they are those of a tree.")
    table, labels = _hold(model, X, y, "X", gives_values=rules.tree.is_regression)
    title, n_used = "how often the rules agree with the model recounted", stated.n_rows
    n_used += 0 if stated.seed is None else stated.n_building
    if table.n_rows < n_used or (stated.seed is None and table.n_rows > n_used):
        which = "were held out" if stated.seed is None else "the rules were made from"
        absent = f"These are {table.n_rows:,} rows, but {n_used:,} are needed: pass the rows that {which}."
        return Comparison(title, (absent,)), None
    learn, hold = np.arange(0), np.arange(table.n_rows)
    if stated.seed is not None:
        learn, hold = _draw_split(table.n_rows, n_used, stated.n_rows, stated.seed)
    held = table.take(hold)
    asked = growing.Respondent(model, n_used, gives_values=rules.tree.is_regression)
    is_told = stated.n_right is not None or (stated.distances or {}).get("rules_r2") is not None
    split = _SplitRows(table, held, labels[hold] if labels is not None and is_told else None)
    again = _measure(rules, split, asked.ask(held.copy(), len(hold)), growing.name_model(model), stated.expected, None)
    told, counted = stated.to_dict(), again.to_dict()
    names = ["model", "counts", "leaf_counts", *(OF_LABELS[:3] if split.labels is not None else ())]
    differing = [
        f"The file states {told[name]} for the {MEASURED[name]}, but on these rows it is {counted[name]}."
        if name in MEASURED
        else "The rules agree with the model on other held-out rows than the file states."
        for name in names
        if told[name] != counted[name]
    ]
    differing += _compare_distances(told["distances"], counted["distances"])
    unsaid = [] if split.labels is not None or not is_told else list(OF_LABELS)
    building = None
    if stated.seed is not None:
        rows = table.take(learn)
        building = GivenRows(rows.native, asked.ask(rows.copy(), len(learn)), None)
    # The tree is a surrogate's: the model says nothing about it.
    of_tree = [path for path in FIELDS if path.startswith("tree.")]
    found = frozenset([*of_tree, *(f"approximation.{name}" for name in unsaid)])
    return Comparison(title, tuple(dict.fromkeys(differing)), found), building


@dataclass(frozen=True)
class _Wanted:
    """What the list should be."""

    fidelity: float | None
    max_rules: int | None
    max_conditions: int | None
    form: Mapping[str, Any] = field(default_factory=dict)  # of the list

    @classmethod
    def check(cls, fidelity: Any, max_rules: Any, max_conditions: Any) -> Self:
        if fidelity is not None and not (is_number(fidelity) and 0 < fidelity <= 1):
            raise ParameterError(f"Expected fidelity as a share above 0 and up to 1, such as 0.95, found {fidelity!r}.")
        for name, value in (("max_rules", max_rules), ("max_conditions", max_conditions)):
            if value is not None:
                check_whole(name, value)
        if fidelity is None and max_rules is None and max_conditions is None:
            max_rules = DEFAULT_RULES
        return cls(None if fidelity is None else float(fidelity), max_rules, max_conditions)

    @property
    def is_limited(self) -> bool:
        return self.max_rules is not None or self.max_conditions is not None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of leaves to try."""
        # Each written rule has a leaf, and a list rarely has fewer rules than a fourth of the leaves.
        most = min(
            growing.SIZES[-1] if limit is None else factor * limit + 4
            for limit, factor in ((self.max_rules, 4), (self.max_conditions, 2))
        )
        return tuple(size for size in growing.SIZES if size <= most)

    def allows(self, tree: Tree) -> bool:
        """Whether the list of a tree is short enough; those of one leaf always are."""
        if not self.is_limited or tree.n_leaves == 1:
            return True
        rules = simplify(tree, **self.form)
        within = self.max_rules is None or len(rules) <= self.max_rules
        return within and (self.max_conditions is None or rules.n_conditions <= self.max_conditions)


@dataclass(frozen=True)
class _SplitRows:
    """Rows to learn from, rows held out, and the labels of the latter if there are any."""

    building: growing.Table
    held: growing.Table
    labels: NDArray[Any] | None
    seed: int | None = None  # of the split; None if other rows are held out


def _split(model: Any, X: Any, y: Any, held_out: Any, n_queries: Any, seed: int, *, gives_values: bool) -> _SplitRows:
    """Split the rows, or take those that are held out as they are given."""
    if n_queries is not None:
        check_whole("n_queries", n_queries)
    growing.find_answering(model)  # what cannot be asked is rejected before rows are read
    is_share = is_number(held_out)
    if held_out is None or isinstance(held_out, bool) or (is_share and not 0 < held_out < 1):
        raise ParameterError(f"Expected held_out as a share between 0 and 1, or as rows, found {held_out!r}.")
    table, labels = _hold(model, X, y, "X", gives_values=gives_values)
    if is_share:
        if table.n_rows < FEWEST_ROWS:
            raise InputError(
                f"Expected at least {FEWEST_ROWS} rows, to learn from some and to measure on others, found "
                f"{table.n_rows}: pass more rows, which need no labels."
            )
        n_used = table.n_rows if n_queries is None else min(table.n_rows, n_queries)
        learn, hold = _draw_split(table.n_rows, n_used, max(1, round(float(held_out) * n_used)), seed)
        _check_enough(len(learn), n_queries)
        return _SplitRows(table.take(learn), table.take(hold), None if labels is None else labels[hold], seed)
    other, other_labels = held_out if isinstance(held_out, tuple) and len(held_out) == 2 else (held_out, None)
    held, found = _hold(model, other, other_labels, "held_out", gives_values=gives_values)
    if held.names is not None and table.names is not None and set(held.names) == set(table.names):
        held = held.pick(table.names)
    if held.names != table.names or held.n_columns != table.n_columns:
        raise InputError(
            f"held_out has other columns than X: {_list_columns(held)} instead of {_list_columns(table)}. Pass both in "
            "the same columns."
        )
    if held.n_rows == 0:
        raise InputError("held_out has no rows; at least one is needed to measure on.")
    learn = np.arange(table.n_rows)
    if n_queries is not None and table.n_rows + held.n_rows > n_queries:
        learn, _ = _draw_split(table.n_rows, max(0, n_queries - held.n_rows), 0, seed)
    _check_enough(len(learn), n_queries)
    return _SplitRows(table.take(learn), held, found)


def _draw_split(n_rows: int, n_used: int, n_held: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the rows to learn from, and those to hold out."""
    order = np.random.default_rng([seed, 1]).permutation(n_rows)[:n_used]
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def _list_columns(table: growing.Table) -> str:
    return f"{table.n_columns} without names" if table.names is None else shorten(table.names)


def _check_enough(n_rows: int, n_queries: int | None) -> None:
    if n_rows < FEWEST_TO_LEARN:
        more = "pass more rows" if n_queries is None else "pass more rows, or raise n_queries"
        raise InputError(f"Expected at least {FEWEST_TO_LEARN} rows to learn from, found {n_rows}: {more}.")


def _hold(model: Any, X: Any, y: Any, what: str, *, gives_values: bool) -> tuple[growing.Table, NDArray[Any] | None]:
    """Bring rows into memory, in the model's columns where it names them, and labels if there are any."""
    names = fitted_names(model)
    with open_rows(X) as rows:
        if y is None and not rows.in_memory:
            raise InputError(
                "Rows in a file or a database are taken with the column of their labels: pass y, or read them into a "
                "data frame."
            )
    given, labels, _ = hold_rows(X, y, None, IN_MEMORY, names)
    found = frame_columns(given)
    table = growing.open_table(given, what)
    if names is not None and found is not None and found != names and set(names) <= set(found):
        table = table.pick(names)
    if labels is None:
        return table, None
    column = np.asarray(labels)
    column = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
    if column.shape != (table.n_rows,):
        raise InputError(f"Expected one label for each of the {table.n_rows} rows, found y of shape {column.shape}.")
    n_blank = sum(map(is_missing, column.tolist()))
    if n_blank:
        raise InputError(
            f"y holds no label for {n_blank} of {table.n_rows} rows. Leave these rows out, or leave y out: rules that "
            "approximate a model need no labels."
        )
    if gives_values and column.dtype.kind not in "fiub":
        raise InputError("Expected y as numbers, because the model predicts numbers. Leave y out, or pass its targets.")
    return table, column


def _find_names(table: growing.Table, feature_names: Sequence[str] | None) -> tuple[str, ...] | None:
    if feature_names is None:
        return table.names
    names = tuple(str(name) for name in feature_names)
    if isinstance(feature_names, (str, bytes)) or len(names) != table.n_columns:
        raise ParameterError(f"Expected feature_names as a list of {table.n_columns} names, found {feature_names!r}.")
    if table.names is not None and names != table.names:
        raise ParameterError("The rows already name their columns, and feature_names differs. Leave it out.")
    return names


def _place_answers(model: Any, said: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Find the classes, the model's own where it lists them, and the place of each answer among them."""
    found, places = np.unique(said, return_inverse=True)
    listed = getattr(model, "classes_", None)
    if listed is not None:
        own = [label.item() if isinstance(label, np.generic) else label for label in listed]
        place_of = {label: place for place, label in enumerate(own)}
        if all(label in place_of for label in found.tolist()) and len({type(label) for label in own}) == 1:
            return own, np.array([place_of[label] for label in found.tolist()], dtype=np.int64)[places]
    return found.tolist(), places.astype(np.int64)


@dataclass(frozen=True)
class _Grower:
    """Coded rows and their neighbours, with the model's answers as places of classes, or as values."""

    codes: NDArray[np.float32]
    answers: NDArray[Any]
    neighbours_of: NDArray[np.int64]
    coding: growing.Coding
    classes: list[Any]
    names: tuple[str, ...] | None

    def choose(
        self, wanted: _Wanted, seed: int, make_list: Callable[[Tree], Rules]
    ) -> tuple[tuple[Rules, float], list[tuple[Rules, float]]]:
        """Choose the number of leaves; give the list and the fidelity that folds promise, and some of other lengths."""
        sizes = wanted.sizes
        n_real = len(self.codes) - len(self.neighbours_of)
        weights = np.append(np.ones(n_real), np.full(len(self.neighbours_of), growing.NEIGHBOUR_WEIGHT))
        has_values, is_rare = self.answers.dtype.kind == "f", False
        if not has_values:
            found = np.bincount(self.answers, weights)
            is_rare = (found[found > 0] < growing.RARE * found.sum()).any()
        asked = self.codes, self.answers, self.neighbours_of, sizes
        tried = {
            power: growing.estimate_fidelity(*asked, np.random.default_rng(seed), seed, power)
            for power in (growing.POWERS if is_rare else growing.POWERS[:1])
        }
        # Folds tell whether rare classes are better weighed up; by how little does not matter.
        power = max(tried, key=lambda one: (round(float(tried[one][1].max()), 3), -one))
        shares, mixed = (one.tolist() for one in tried[power])
        heavy = weights if has_values else weights * growing.weigh_classes(self.answers, weights, power)
        whole = growing.grow(self.codes, self.answers, heavy, sizes[-1], seed)

        def make(place: int) -> Tree:
            return whole.to_tree(sizes[place], self.coding, self.classes, self.names)

        @cache
        def finish(place: int) -> tuple[Rules, float]:
            rules = make_list(make(place))
            return rules, shares[place] - (_find_loss(rules) if has_values else 0.0)

        # For a wanted fidelity from the shortest up; else from the most faithful down, and then a shorter one that is
        # as good as equal.
        least = np.inf if wanted.fidelity is None else wanted.fidelity
        enough = [place for place, share in enumerate(shares) if share >= least]
        order = sorted(range(len(sizes)), key=lambda place: (-mixed[place], sizes[place]))
        # What a list of values loses beside its tree is known when it is made.
        enough = [place for place in enough if wanted.allows(make(place)) and finish(place)[1] >= least][:1]
        best = next(place for place in [*enough, *order] if wanted.allows(make(place)))
        if best not in enough:
            near = [place for place in range(best) if mixed[place] >= mixed[best] - AS_GOOD_AS_EQUAL]
            best = next((place for place in near if wanted.allows(make(place))), best)
        if wanted.fidelity is not None and best not in enough:
            warnings.warn(
                f"No list{' of the wanted length' if wanted.is_limited else ''} reaches a fidelity of "
                f"{wanted.fidelity:g} on folds of the rows to learn from, so the most faithful one is made, which "
                f"reaches {finish(best)[1]:.3f} there.",
                stacklevel=3,
            )
        most = max(sum(size <= MOST_LEAVES for size in sizes) - 1, 0)
        made = {finish(best)[0].n_conditions: finish(best)}
        for place in np.unique(np.linspace(min(1, most), most, N_LENGTHS).round().astype(int)).tolist():
            made.setdefault(finish(place)[0].n_conditions, finish(place))
        return finish(best), [made[length] for length in sorted(made) if made[length] is not finish(best)]


def _find_loss(rules: Rules) -> float:
    """Find how much of the variance of the targets a list of values loses beside its tree, on its training rows."""
    assert rules.training is not None
    listed = check_rows(rules.tree, rules.training.X).convert()
    apart = rules.answers[rules.find_lines(listed)] - rules.tree.answers[apply_tree(rules.tree, listed)]
    return float(np.mean(apart**2) / (np.var(rules.training.y) or 1.0))


def _measure(
    rules: Rules, rows: _SplitRows, said: NDArray[Any], name: str, expected: float, wanted: float | None
) -> Fidelity:
    """Compare rules and model on the held-out rows."""
    tree = rules.tree
    listed = check_rows(tree, rows.held.native, name="held_out").convert()
    decider, class_ids = rules.find_lines(listed), np.array(rules.class_ids)
    own = np.asarray(rules.answers)[decider]
    if tree.is_regression:
        model_says = (np.abs(own - said) > rules.tolerance).astype(np.int64)
    else:
        place_of = {label: place for place, label in enumerate(tree.classes.tolist())}
        found, places = np.unique(said, return_inverse=True)
        model_says = np.array([place_of.get(label, tree.n_classes) for label in found.tolist()], dtype=np.int64)[places]
    same = class_ids[decider] == model_says
    width = tree.n_classes + 1
    counts = np.bincount(decider * width + model_says, minlength=rules.n_lines * width)
    leaf_ids = rules.paths.leaf_ids
    leaf = apply_tree(tree, listed)
    by_leaf = [np.bincount(leaf, weights, minlength=tree.n_nodes)[leaf_ids] for weights in (None, same.astype(float))]
    right: dict[str, Any] = {}
    if tree.is_regression:
        right["distances"] = _find_distances(own, said, rows.labels, rules.tolerance)
    elif rows.labels is not None:
        truth = to_label_types(rows.labels, tree.classes.tolist())
        _check_labels(truth, [*tree.classes.tolist(), *found.tolist()])
        commonest, number = Counter(truth.tolist()).most_common(1)[0]
        names = dict(zip(tree.classes.tolist(), tree.class_names, strict=True))
        right = {
            "n_right": sum(map(operator.eq, own.tolist(), truth.tolist())),
            "n_model_right": sum(map(operator.eq, said.tolist(), truth.tolist())),
            "guess": (names.get(commonest, as_label(commonest)), number),
        }
    return Fidelity(
        model=name,
        counts=counts.reshape(rules.n_lines, width),
        class_ids=class_ids,
        leaf_counts=np.column_stack(by_leaf).astype(np.int64),
        leaf_ids=np.array(leaf_ids),
        n_building=0,
        n_neighbours=0,
        expected=expected,
        wanted=wanted,
        **right,
    )


def _find_distances(
    own: NDArray[np.float64], said: NDArray[np.float64], targets: NDArray[Any] | None, tolerance: float
) -> dict[str, float | None]:
    """Find how far values of rules and model are apart, and how well they explain the targets."""
    apart = np.abs(own - said)
    explained = {"r2": _find_r2(said, own), "rules_r2": None, "model_r2": None}
    if targets is not None:
        explained |= {"rules_r2": _find_r2(targets, own), "model_r2": _find_r2(targets, said)}
    return {"tolerance": tolerance, "mean": float(apart.mean()), "largest": float(apart.max()), **explained}


def _find_r2(targets: NDArray[Any], said: NDArray[np.float64]) -> float | None:
    whole = float(((targets - targets.mean()) ** 2).sum())
    return 1.0 - float(((targets - said) ** 2).sum()) / whole if whole else None


def _compare_distances(told: Mapping[str, Any] | None, counted: Mapping[str, Any] | None) -> list[str]:
    """Compare how far rules and model are apart; a model that adds up in another order differs in the last digits."""
    if told is None or counted is None:
        return []
    pairs = ((one, counted[name]) for name, one in told.items())
    is_near = [b is None or (a is not None and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)) for a, b in pairs]
    return [] if all(is_near) else ["The values of rules and model are not as far apart as the file states."]


def _check_labels(truth: NDArray[Any], known: list[Any]) -> None:
    """Reject labels that the model never gives, such as texts beside numbers."""
    labels = sorted(set(map(str, truth.tolist())))
    if not set(truth.tolist()) & set(known):
        raise InputError(
            f"No label of y is a class of the model: y holds {shorten(labels)}, the model says "
            f"{shorten(list(dict.fromkeys(known)))}. Pass labels as the model knows them."
        )
