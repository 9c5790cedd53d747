"""What every deletion method takes and gives.

A method gets a :class:`Problem` and returns :class:`Deletions`: for each entry (rule, link on its path) whether the
condition was deleted, and why it went or stayed. The numbers behind a reason are in parallel arrays;
:mod:`secateur.words.reasons` words them on demand.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum, IntEnum
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from secateur.counting.training_evidence import RowEvidence, TrainingEvidence
from secateur.errors import ParameterError
from secateur.facts.possible_rows import find_feasible
from secateur.kernels.running import run_deletion
from secateur.rows.row_source import GivenRows
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

# For checkers of types, which see neither the files of this package nor their fields; a test holds them equal.
MethodName = (
    Literal["none", "sibling", "redundancy", "exact", "faithful", "mismatch-certified", "mismatch", "budgeted"]
    | Literal["quinlan", "Quinlan", "M2-D", "M2-P", "Izza", "M1-D", "M1-P"]
)


class Settings(TypedDict, total=False):
    """Settings of methods, beside the tolerance."""

    protect: bool
    rf_tol: float
    domain: Any
    monotone: Any
    max_conflict: float
    smoothing: float
    alpha: float
    ties: Literal["root", "leaf"]


EXACT_GUARANTEE = (
    "Exact for every possible row: each row is covered, every rule that covers it predicts what the tree "
    "predicts, and no two rules that overlap disagree."
)


class Why(IntEnum):
    """Why a condition was deleted (below 100) or kept (from 100 on), and what the three numbers then mean."""

    SIBLING_LEAF = 1  # node: the sibling leaf of the same class
    NO_FOREIGN_LEAF = 3
    FEATURE_REDUNDANT = 4
    FINITE_DOMAIN = 5  # after: number of domain rows that satisfy the shortened rule
    MONOTONE = 6
    RELIABILITY_JOINT = 7  # before, after: reliability of the leaf and of the rule without the whole set
    RELIABILITY_STEP = 8  # before, after: reliability of the leaf and after this cumulative step
    CERTAINTY_KEPT = 9  # before, after: certainty factor; number: Fisher's p
    NOT_SIGNIFICANT = 10  # before, after: certainty factor; number: Fisher's p
    WITHIN_BUDGET = 11  # before, after: share of rows in conflict; number: share of training rows it brought there
    PAID = 12  # before, after: share of rows off; number: share of training rows it added
    WITHIN_WINDOW = 13  # of a list: all leaves that the line then meets are of its class and window
    STRUCK = 14  # of a list: a person struck it

    UNTOUCHED = 100
    NOT_CERTIFIED = 101  # the witness search tells whether it separates or is merely out of the method's reach
    MATCHED = 102  # number: d_c
    NEUTRAL = 103  # number: d_c
    INSIDE_H = 104  # number: d_c; node: the root of H
    RELIABILITY_MOVES = 105  # before, after: reliability of the leaf and of the rejected trial
    DOMAIN_REFUTES = 106  # node: index of a domain row that satisfies the shortened rule and has another class
    DIRECTION_REFUTES = 107  # node: the link whose direction is not covered by the stated monotonicity
    SIGNIFICANT = 108  # before, after: certainty factor; number: Fisher's p
    NO_ROWS = 109
    OVER_BUDGET = 110  # before, after: share of rows in conflict; number: share of training rows then in conflict
    TOO_DEAR = 112  # before, after: share of rows off; number: of training rows, then
    TOO_UNRELIABLE = 113  # before, after: reliability of the leaf, and of the rule without the condition
    CONTRADICTED = 114  # the same; node: the leaf of another class whose rule would have the same conditions

    KEEPS_OUT = 115  # of a list: node: a leaf of the section that the line must not meet
    HEADING = 116  # of a list: it belongs to the heading

    @property
    def is_deletion(self) -> bool:
        """Whether it is a reason for deleting."""
        return self < Why.UNTOUCHED

    @property
    def kind(self) -> str:
        """The reason's short name, such as ``sibling-leaf``."""
        return self.name.lower().replace("_", "-")

    @classmethod
    def from_kind(cls, kind: str) -> Why:
        """Find a reason by its short name."""
        try:
            return cls[kind.upper().replace("-", "_")]
        except KeyError:
            raise ValueError(f"there is no reason {kind!r}") from None


@dataclass(frozen=True)
class Problem:
    """A tree, its facts, and the training rows."""

    tree: Tree
    paths: Paths
    evidence: TrainingEvidence | None  # the training rows, or counts of them
    # The same nodes, for exact tests that must know nothing about the columns; None if they may use the tree's facts.
    walked: Tree | None = None
    # Of a regression tree: how far from its leaf's value a rule's may lie, in the target's units.
    tolerance: float = 0.0
    # Shared by all problems of one tree, whatever rows they get later.
    _found: dict[str, NDArray[np.bool_]] = field(default_factory=dict, repr=False)

    def feasible_tree(self, *, linked: bool = True) -> Tree:
        """The tree that exact tests walk: over possible rows, unless they must know nothing about the columns."""
        return find_feasible(self.tree, linked=linked).tree if self.walked is None else self.walked

    def find_exact(self) -> NDArray[np.bool_]:
        """Find the conditions that the class does not depend on, once: several methods start from them."""
        if "exact" not in self._found:
            found = run_deletion("delete_links", self.feasible_tree(), self.paths)
            found.flags.writeable = False
            self._found["exact"] = found
        return self._found["exact"]

    @property
    def rows(self) -> TrainingEvidence:
        """The training rows, for a method that needs them; ``simplify`` made sure of them."""
        if self.evidence is None:
            raise RuntimeError("a row-based method was called without rows")
        return self.evidence

    @property
    def listed_rows(self) -> RowEvidence:
        """The training rows one by one; ``simplify`` made sure that they are not counts."""
        if not isinstance(self.evidence, RowEvidence):
            raise RuntimeError("a method that looks at single rows was called without them")
        return self.evidence


@dataclass(frozen=True)
class Deletions:
    """One element for each entry; see :class:`Why` for what the numbers mean."""

    deleted: NDArray[np.bool_]
    why: NDArray[np.uint8]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    number: NDArray[np.float64]
    node: NDArray[np.int32]

    @classmethod
    def keep_all(cls, paths: Paths, why: Why, *, has_numbers: bool = True) -> Deletions:
        """Start with every condition kept for the same reason; without numbers, each stands for all conditions."""
        size = len(paths.links)
        make: Any = np.full if has_numbers else lambda size, value: np.broadcast_to(value, size)
        before, after, number = (make(size, np.nan) for _ in range(3))
        return cls(
            deleted=np.zeros(size, dtype=bool),
            why=np.full(size, why, dtype=np.uint8),
            before=before,
            after=after,
            number=number,
            node=make(size, np.int32(-1)),
        )

    def copy(self, *, has_numbers: bool = True) -> Deletions:
        """Copy what may change; without numbers, one that stands for all conditions stays so, and cannot be changed."""
        made = {name: np.array(own) if has_numbers or own.strides[0] else own for name, own in vars(self).items()}
        return Deletions(**made)

    @classmethod
    def keep_by_sign(cls, paths: Paths) -> Deletions:
        """Start with every condition kept, matched and neutral ones for that reason, with how the class share moves."""
        result = cls.keep_all(paths, Why.UNTOUCHED)
        result.number[:] = paths.shift
        result.keep(paths.matched, Why.MATCHED)
        result.keep(~paths.matched & ~paths.mismatched, Why.NEUTRAL)
        return result

    def delete(self, entries: Any, why: Why) -> None:
        """Mark entries (an index or mask) as deleted for a reason."""
        self.deleted[entries] = True
        self.why[entries] = why

    def keep(self, entries: Any, why: Why) -> None:
        """Mark entries (an index or mask) as kept for a reason."""
        self.deleted[entries] = False
        self.why[entries] = why

    def forget(self, entries: Any) -> None:
        """Drop the numbers behind the reasons of entries (an index or mask)."""
        self.before[entries] = self.after[entries] = self.number[entries] = np.nan
        self.node[entries] = -1


class Asks(Enum):
    """What a method asks of training rows."""

    NOTHING = "nothing"
    COUNTS = "counts"
    ROWS = "single rows"


class Tunable(NamedTuple):
    """The setting that trades length for faithfulness: its name, and values worth trying."""

    setting: str
    grid: tuple[float, ...]


# The values of ε that a selection tries.
TOLERANCES = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2)
DEFAULT_TOLERANCE = 0.05  # the ε of methods that have one; and how far is far where a method has none


@dataclass(frozen=True)
class Method(ABC):
    """A deletion method: its fields are its settings, declared with their bounds.

    A file in this package that ends in ``METHODS = (…,)`` adds some; docs/development.md says what else to edit.
    """

    name: ClassVar[str]  # in simplify(method=...)
    aliases: ClassVar[tuple[str, ...]] = ()  # other names, among them the paper's
    strictness: ClassVar[int]  # its place between the strictest guarantee (0) and none (100)
    summary: ClassVar[str]  # what it deletes, in one line
    preserves: ClassVar[str]  # what is preserved, in a few words
    guarantee: ClassVar[str]  # what is preserved, in a sentence; {tolerance} and the like are filled in
    source: ClassVar[str] = "secateur"  # where it was published
    asks: ClassVar[Asks] = Asks.NOTHING
    is_exact: ClassVar[bool] = False  # whether every covering rule provably predicts what the tree predicts
    # What a rule must lose to meet a leaf of another class: one "link", or all conditions on a "feature". None where
    # rules may meet such leaves anyway.
    witness: ClassVar[str | None] = None
    tunable: ClassVar[Tunable | None] = None
    tolerance_of: ClassVar[str] = "the method's own tolerance, for every rule"  # what an audit calls its tolerance
    gives: ClassVar[frozenset[Why]] = frozenset(Why)  # the reasons that it may give; a file with others is not its own
    words: ClassVar[Mapping[int, str]] = {}  # its own sentences for reasons, beside those of words/reasons.py

    def __post_init__(self) -> None:
        for one in fields(self):
            if "check" in one.metadata:
                object.__setattr__(self, one.name, one.metadata["check"](one.name, getattr(self, one.name)))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The settings that it reads."""
        return tuple(one.name for one in fields(self))

    @property
    def needs_rows(self) -> bool:
        """Whether it needs training rows."""
        return self.asks is not Asks.NOTHING

    def describe(self) -> dict[str, Any]:
        """The settings as a rule set keeps them."""
        return {name: getattr(self, name) for name in self.parameters}

    def promise(self, parameters: Mapping[str, Any]) -> str:
        """The guarantee, with the settings that a rule set keeps filled in."""
        return self.guarantee.format_map(dict(parameters))

    def prepare(self, problem: Problem) -> Method:
        """Settle what depends on the tree and its rows; nothing in most methods."""
        return self

    def read_once(self, tree: Tree) -> Method:
        """Read rows among the settings once for all trees of a forest; most methods have none."""
        return self

    @property
    def listed_cases(self) -> GivenRows | None:
        """The cases that the caller listed to check the rules on, if any."""
        return None

    def remark(self, problem: Problem) -> tuple[str, ...]:
        """Say what a reader of the rules should know about the rows, a sentence each; most methods say nothing."""
        return ()

    def asks_of(self, tree: Tree) -> Asks:
        """What it asks of the training rows of one tree."""
        return self.asks

    def open_conditions(self, problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Find the conditions that go whatever the rows say, and those that rows decide, so that counts suffice."""
        gone = self.delete(replace(problem, evidence=None)).deleted
        return gone, np.zeros_like(gone)

    @abstractmethod
    def delete(self, problem: Problem) -> Deletions:
        """Run the procedure on every rule."""


def is_number(value: Any) -> bool:
    """Whether a value is a plain number; a bool is not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is a plain whole number; a bool is not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int = 1, most: float = math.inf, *, also: str = "") -> int:
    """Check a whole number; a bool is none."""
    if not is_whole(value) or not least <= value <= most:
        limits = f"from {least} on" if math.isinf(most) else f"from {least} to {most:,}"
        raise ParameterError(f"Expected {name} as a whole number {limits}{also}, found {value!r}.")
    return int(value)


def check_share(name: str, value: Any) -> float:
    """Check a number between 0 and 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"Expected {name} as a number from 0 to 1, found {value!r}.")
    return float(value)


def check_amount(name: str, value: Any) -> float:
    """Check a finite number that is not negative."""
    if not is_number(value) or not 0 <= value < math.inf:
        raise ParameterError(f"Expected {name} as a number that is not negative, found {value!r}.")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """Check a choice between yes and no."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"Expected {name} as True or False, found {value!r}.")
    return bool(value)


def share(default: float) -> float:
    """Declare a setting between 0 and 1, as a field of a method's dataclass."""
    return field(default=default, metadata={"check": check_share})


def amount(default: float) -> float:
    """Declare a setting that is not negative, as a field of a method's dataclass."""
    return field(default=default, metadata={"check": check_amount})


def flag(default: bool) -> bool:
    """Declare a setting that is on or off, as a field of a method's dataclass."""
    return field(default=default, metadata={"check": check_flag})


def choice(default: str, *others: str) -> str:
    """Declare a setting that is one of a few words, as a field of a method's dataclass."""

    def check(name: str, value: Any) -> str:
        if value not in (default, *others):
            listed = " or ".join(repr(word) for word in (default, *others))
            raise ParameterError(f"Expected {name} as {listed}, found {value!r}.")
        return str(value)

    return field(default=default, metadata={"check": check})
