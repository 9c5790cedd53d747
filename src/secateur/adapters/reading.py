"""What adapters ask of a model: its kind and state, which of its trees to read, its file and nodes."""

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, Self

from secateur.errors import (
    EnsembleError,
    FormatError,
    InputError,
    InvalidTreeError,
    ParameterError,
    SecateurError,
    UnsupportedModelError,
    first_line,
)
from secateur.rows.file_bytes import read_whole
from secateur.tree.tree import Tree, make_tree

SPLIT_NUMBERS = (
    "Column {!r} holds numbers, but is split by category, and {} then takes 2.5 for 2. Make it a categorical column of "
    "a data frame, or one-hot encode it, and fit again."
)
ENSEMBLES = "sklearn.ensemble"
HISTOGRAM = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
BOOSTING = {"lightgbm", "xgboost", "catboost"}


def ancestor_names(model: Any, package: str) -> frozenset[str]:
    """List the classes of a package that a model is or derives from."""
    return _ancestor_names(type(model), package)  # type: ignore[arg-type]  # a class is hashable


@lru_cache(maxsize=256)  # asked several times of every model
def _ancestor_names(kind: type, package: str) -> frozenset[str]:
    return frozenset(one.__qualname__ for one in kind.__mro__ if f"{one.__module__}.".startswith(f"{package}."))


def is_pipeline(model: Any) -> bool:
    """Tell whether a model is a pipeline of steps, scikit-learn's or one derived from it."""
    return any(ancestor.__name__ == "Pipeline" for ancestor in type(model).__mro__) and hasattr(model, "steps")


def is_histogram_boosting(model: Any) -> bool:
    """Tell whether a model is, or derives from, scikit-learn's histogram boosting."""
    return not ancestor_names(model, ENSEMBLES).isdisjoint(HISTOGRAM)


def is_forest(model: Any) -> bool:
    """Tell whether a model is an ensemble of scikit-learn, or ends in one; boosting of one iteration is a tree."""
    last = model.steps[-1][1] if is_pipeline(model) and model.steps else model
    is_single = is_histogram_boosting(last) and bool(getattr(last, "n_iter_", last.max_iter) == 1)
    return bool(ancestor_names(last, ENSEMBLES)) and not is_single


def take_best(model: Any) -> Any:
    """Take the best estimator of a search such as ``GridSearchCV``, refitted to all rows; any other model as it is."""
    if any(ancestor.__name__ == "BaseSearchCV" for ancestor in type(model).__mro__):
        return getattr(model, "best_estimator_", model)
    return model


def is_ensemble(model: Any) -> bool:
    """Tell whether a model is of several trees that decide together, of any library that is read, or ends in one."""
    model = take_best(model)
    if is_forest(model):
        return True
    last = model.steps[-1][1] if is_pipeline(model) and model.steps else model
    packages = {ancestor.__module__.split(".")[0] for ancestor in type(last).__mro__}
    if not packages & BOOSTING:
        return False
    from secateur.adapters import from_model

    try:
        from_model(last)
    except EnsembleError:
        return True
    except SecateurError:  # what else is wrong with it is said when it is read
        return False
    return False


def check_class(model: Any, package: str, supported: Sequence[str], hint: str, rejected: Sequence[str] = ()) -> None:
    """Reject a model that is none of the supported classes of a package, or is one of those rejected."""
    known = ancestor_names(model, package)
    if known.isdisjoint(supported) or not known.isdisjoint(rejected):
        *most, last = supported
        listed = f"{', '.join(most)} or {last}" if most else last
        raise UnsupportedModelError(
            f"Expected a fitted {listed} of {package}, found {type(model).__qualname__}. {hint}"
        )


def check_fitted(model: Any, is_fitted: object) -> None:
    """Reject a model that is not fitted yet."""
    if not is_fitted:
        raise UnsupportedModelError(f"This {type(model).__qualname__} is not fitted yet. Call fit first.")


def check_no_missing(model: Any, accepts_missing: bool | None, reason: str = "rejects NaN") -> None:
    """Reject ``accepts_missing=True`` for a library that takes no missing values."""
    if accepts_missing:
        found = type(model).__qualname__
        raise ParameterError(f"accepts_missing=True does not fit: {found} {reason}. Leave accepts_missing out.")


def check_one_output(model: Any, n_outputs: int) -> None:
    """Reject a model of several outputs."""
    if n_outputs != 1:
        raise UnsupportedModelError(
            f"This {type(model).__qualname__} predicts {n_outputs} outputs, but a rule has one class. "
            "Fit one model for each output."
        )


def fitted_names(model: Any) -> list[str] | None:
    """Return the column names that a scikit-learn estimator was fitted with, if any."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def choose_tree(model: Any, tree: int | None, n_trees: int, *, votes: bool) -> int:
    """Return the number of the tree to read: the one asked for of trees that vote, or the only one."""
    found = type(model).__qualname__
    if n_trees == 0:
        raise UnsupportedModelError(f"This {found} has no trees. Fit it with at least one.")
    if n_trees > 1 and not votes:
        raise EnsembleError(
            f"This {found} has {n_trees} trees, and each corrects those before it, so none decides alone. "
            "secateur.approximate(model, X) gives few rules that approximate it."
        )
    if tree is None:
        if n_trees > 1:
            raise EnsembleError(
                f"This {found} has {n_trees} trees. Name the one to read: secateur.from_model(model, tree=0); "
                "secateur.approximate(model, X) gives few rules for all of them."
            )
        return 0
    try:
        chosen = operator.index(tree)
    except TypeError:
        chosen = -1
    if isinstance(tree, bool) or not 0 <= chosen < n_trees:
        among = "one tree, number 0" if n_trees == 1 else f"{n_trees} trees, numbers 0 to {n_trees - 1}"
        raise ParameterError(f"Expected tree as the number of a tree of the {found}, found {tree!r}: it has {among}.")
    return chosen


def read_bytes(path: Any, what: str) -> bytes:
    """Read a file."""
    try:
        return read_whole(path)
    except InputError as error:
        raise FormatError(f"{what} cannot be read. {error}") from error


@contextmanager
def reject_damage(what: str) -> Iterator[None]:
    """Turn the errors that a damaged file causes into FormatErrors."""
    try:
        yield
    except InvalidTreeError as error:
        raise FormatError(f"{what} does not hold a tree. {error}") from error
    except SecateurError:
        raise
    except KeyError as error:
        raise FormatError(f"{what} has no field {error.args[0]!r}; it was cut or edited.") from error
    except (AttributeError, IndexError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise FormatError(f"{what} has the wrong type or length in a field: {first_line(error)}.") from error


class Node(NamedTuple):
    """One node: a leaf has a class or value, a split has children, a column and a threshold or codes that go left."""

    left: int = -1
    right: int = -1
    feature: int = -1
    threshold: float = math.nan
    missing_left: bool = False
    codes: Sequence[int] | None = None
    leaf_class: int = -1
    counts: Any = None
    value: float = math.nan  # of a leaf of a regression tree

    def with_child(self, side: str, child: int) -> Self:
        """Return the node with one of its children, "left" or "right"."""
        return self._replace(left=child) if side == "left" else self._replace(right=child)


def make_from_nodes(nodes: Sequence[Node], **tree: Any) -> Tree:
    """Make a checked tree of nodes, listed by id; the other arguments are those of ``make_tree``."""
    left, right, feature, threshold, missing_left, codes, leaf_class, counts, values = zip(*nodes, strict=True)
    if any(value == value for value in values):
        tree = {**tree, "values": values}
    return make_tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        left_categories={place: some for place, some in enumerate(codes) if some is not None},
        leaf_class=leaf_class,
        counts=None if any(some is None for some in counts) else counts,
        **tree,
    )


def grow_nodes(root: Any, read: Callable[[Any], tuple[Node, Mapping[str, Any]]]) -> list[Node]:
    """Number nested nodes in preorder; ``read`` gives a node and its children by side, in the order to number them."""
    nodes: list[Node] = []
    stack: list[tuple[Any, int, str]] = [(root, -1, "")]
    while stack:
        source, parent, side = stack.pop()
        if parent >= 0:
            nodes[parent] = nodes[parent].with_child(side, len(nodes))
        node, children = read(source)
        stack += [(child, len(nodes), side) for side, child in reversed(list(children.items()))]
        nodes.append(node)
    return nodes


def order_nodes(
    root: int, children_of: Callable[[int], Sequence[int]], what: str, n_nodes: int | None = None
) -> list[int]:
    """List the nodes below a root in the order of their new ids.

    They keep the order of their numbers if every child comes after its parent and, where ``n_nodes`` is given, all of
    0, 1, … are reached. Else they come in preorder.
    """
    found: list[int] = []
    seen: set[int] = set()
    is_ordered = True
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            raise FormatError(f"A node of {what} is the child of two nodes.")
        seen.add(node)
        found.append(node)
        children = children_of(node)
        if children:
            is_ordered &= min(children) > node
            stack += reversed(children)
    is_whole = n_nodes is None or sorted(found) == list(range(n_nodes))
    return sorted(found) if is_ordered and is_whole else found


def after_splits(child: int, n_splits: int) -> int:
    """Give leaf ``i``, written as child ``-1 - i``, an id after those of the splits."""
    return child if child >= 0 else n_splits - 1 - child
