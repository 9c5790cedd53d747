"""What each condition of each rule does, in three layers, before anything is deleted.

Layer 1 is the link's own orientation, layer 2 its status relative to the leaf, layer 3 the effect of deleting it alone.
Beside them stand the certificates for deleting it alone, and on demand the effect of deleting any set of conditions.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting import training_evidence
from secateur.counting.counted_evidence import Evidence
from secateur.errors import InputError, ParameterError, shorten
from secateur.kernels.running import run_witnesses
from secateur.methods.contract import Problem
from secateur.methods.monotonicity import decide_monotonicity
from secateur.results.deletion_effects import EFFECT_NAMES, SET_EFFECT_NAMES, PairEffects, SetEffect
from secateur.rules.rule import ArrayTable, Framed, written_by
from secateur.tree.shares import compare_reliability, none_if_nan
from secateur.tree.tree import Label
from secateur.words.conditions import format_link


@dataclass(frozen=True)
class DiagnosisRow:
    """One condition on the path of one leaf.

    Attributes
    ----------
    leaf_id, link_id : int
        The leaf, and the condition's link (its child node id).
    depth : int
        Place on the path, from 1 at the root.
    prediction : label
        The leaf's class.
    condition : str
        The condition in words.
    orientation : str
        Layer 1. With two classes ``"C1"``, ``"C0"`` or ``"neutral"``: the class whose share rises. With more,
        ``"rises"``, ``"falls"`` or ``"neutral"`` for the leaf's class.
    shift : float
        d_c: change of the share of the leaf's class along the link.
    status : str
        Layer 2: ``"matched"``, ``"mismatched"`` or ``"neutral"``.
    inside_h : bool
        Whether the link lies inside H, the largest subtree around the leaf that predicts one class only.
    effect_size : float or None
        Layer 3: D, the change of the rule's reliability when the condition alone is deleted. None without rows.
    effect : str or None
        Its name: ``"positive-relevance"``, ``"negative-relevance"`` or ``"probabilistic-irc"``.
    sibling, subtree, exact : bool
        Whether the condition alone is certified by a sibling leaf, by a same-class sibling subtree, or because no
        leaf of another class meets the rule without it.
    finite_domain : bool or None
        Whether every passed row that satisfies the rule without it has the rule's class, and some passed row satisfies
        the rule: without one there is nothing to show. Rows of weight 0 count too, as for ``mismatch-certified``. None
        without rows, and where sums of weights do not tell.
    monotone : bool or None
        Whether the tree's monotonicity certifies it. None when the tree was fitted without signs. Whether the tree
        keeps to its signs is decided first; if it does not, they certify nothing and this is False throughout.
    presumption : str or None
        What the status lets ``mismatch`` (M1-P) presume before it looks at rows: ``"IRC-presumed"`` for a mismatched
        link outside H, which it tries to delete, ``"negative-relevance-presumed"`` for one inside H, which it keeps.
        None for links that are not mismatched.
    support, support_without : float or None
        (Weighted) training rows that satisfy the rule, and the rule without the condition. None without rows.
    reliability, reliability_without : float or None
        Share of those rows in the rule's class; None without rows.
    class_name : str
        How the leaf's class reads.
    """

    leaf_id: int
    link_id: int
    depth: int
    prediction: Label
    condition: str
    orientation: str
    shift: float
    status: str
    inside_h: bool
    effect_size: float | None
    effect: str | None
    sibling: bool
    subtree: bool
    exact: bool
    finite_domain: bool | None
    monotone: bool | None
    presumption: str | None = None
    support: float | None = None
    support_without: float | None = None
    reliability: float | None = None
    reliability_without: float | None = None
    class_name: str = ""


class Diagnosis(ArrayTable[DiagnosisRow]):
    """A sequence of :class:`DiagnosisRow`, leaf after leaf in source order, root to leaf within a path.

    Made by :func:`secateur.diagnose`. Rows are made on demand from arrays.

    Parameters
    ----------
    problem : Problem
        The tree, its paths and its training rows.
    tolerance : float
        ε: a reliability that changes by no more than this counts as unchanged.

    Attributes
    ----------
    tree : Tree
    tolerance : float
    effect_size : ndarray of float64, shape (n_conditions,)
        D of each condition alone; NaN where not known.
    is_weighted : bool
        Whether support is a sum of weights, not a number of rows.
    """

    nouns = "conditions"

    def __init__(self, problem: Problem, tolerance: float) -> None:
        self.tree, self.tolerance = problem.tree, tolerance
        self._problem, self._paths = problem, problem.paths
        paths, n_classes = problem.paths, problem.tree.n_classes
        evidence = problem.evidence
        if evidence is not None:
            self._leaf_counts, counts = training_evidence.count_without_one(evidence, paths)
        else:
            self._leaf_counts, counts = (np.full((n, n_classes), np.nan) for n in (paths.n_rules, len(paths.links)))
        of_rows = isinstance(evidence, training_evidence.RowEvidence) and evidence.weights is not None
        self.is_weighted = of_rows or (isinstance(evidence, Evidence) and evidence.is_weighted)
        self._support_without = counts.sum(axis=1)
        self._reliability_without = training_evidence.find_reliability(paths, counts, paths.rule)
        self._finite_domain = _find_certified_by_rows(problem, self._leaf_counts, counts)
        self._reliability = training_evidence.find_reliability(paths, self._leaf_counts)
        self.effect_size: NDArray[np.float64] = self._reliability_without - self._reliability[paths.rule]
        before = self._leaf_counts[paths.rule]
        self._sides = compare_reliability(counts, before, paths.leaf_class_of_entry, tolerance)
        nothing = np.zeros(len(paths.links), dtype=bool)
        self._exact = run_witnesses(problem.feasible_tree(), paths, nothing, by_feature=False) < 0
        self._subtree = paths.homogeneous[paths.sibling[paths.links]] == paths.leaf_class_of_entry
        self._monotone = _monotone(problem)
        self._worded: dict[int, str] = {}

    def _read(self, link: int) -> str:
        """Word a link's condition, once: a link is on the path of every rule below it."""
        if link not in self._worded:
            self._worded[link] = format_link(self.tree, self._paths, link)
        return self._worded[link]

    @property
    def has_rows(self) -> bool:
        """Whether the third layer is known."""
        return not bool(np.isnan(self._leaf_counts).any())

    @property
    def leaf_ids(self) -> tuple[int, ...]:
        """The leaves, one for each rule, in source order."""
        return tuple(self._paths.leaf_ids.tolist())

    def __len__(self) -> int:
        return len(self._paths.links)

    def _make(self, place: int) -> DiagnosisRow:
        return self._make_some([place])[0]

    def _make_some(self, places: Sequence[int]) -> list[DiagnosisRow]:
        columns = self._make_columns(np.array(places, dtype=np.int64))
        return [DiagnosisRow(*values) for values in zip(*columns.values(), strict=True)]

    def __iter__(self) -> Iterator[DiagnosisRow]:
        return iter(self[:])

    def of_leaf(self, leaf_id: int) -> list[DiagnosisRow]:
        """List the conditions of one leaf's rule, root to leaf.

        Parameters
        ----------
        leaf_id : int
        """
        return self[self._paths.entries(self._find_rule(leaf_id))]

    def effect_of(self, leaf_id: int, link_ids: int | Iterable[int]) -> SetEffect:
        """Find what a rule's reliability does when a set of its conditions goes: D_c(Q; R).

        Parameters
        ----------
        leaf_id : int
            The leaf whose rule it is.
        link_ids : int or iterable of int
            The conditions, by their links.

        Examples
        --------
        >>> import secateur
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> data = secateur.datasets.load("human-id")
        >>> model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
        >>> found = secateur.diagnose(model, data.X, data.y)
        >>> path = [row.link_id for row in found.of_leaf(found.leaf_ids[0])]
        >>> found.effect_of(found.leaf_ids[0], path).effect
        'reliability-decreasing'
        """
        return self.effects_of([(leaf_id, link_ids)])[0]

    def effects_of(self, sets: Iterable[tuple[int, int | Iterable[int]]]) -> list[SetEffect]:
        """Find the same for many sets; sets of different leaves share a look at the rows.

        Parameters
        ----------
        sets : iterable of (int, int or iterable of int)
            Leaves and links, as :meth:`effect_of` takes them.
        """
        evidence, paths = self._rows_at_hand(), self._paths
        rules, entries = [], []
        for leaf_id, link_ids in sets:
            rules.append(self._find_rule(leaf_id))
            entries.append(self._find_entries(rules[-1], link_ids))
        source, counts = training_evidence.count_without_sets(evidence, paths, rules, entries)
        chosen = np.array(rules, dtype=np.int32)
        before, after = (training_evidence.find_reliability(paths, part, chosen) for part in (source, counts))
        sides = compare_reliability(counts, source, paths.leaf_class[chosen], self.tolerance)
        return [
            SetEffect(
                leaf_id=int(paths.leaf_ids[rule]),
                link_ids=tuple(paths.links[own].tolist()),
                support=float(source[place].sum()),
                reliability=none_if_nan(before[place]),
                support_without=float(counts[place].sum()),
                reliability_without=none_if_nan(after[place]),
                effect_size=none_if_nan(after[place] - before[place]),
                effect=SET_EFFECT_NAMES.get(float(sides[place])),
            )
            for place, (rule, own) in enumerate(zip(rules, entries, strict=True))
        ]

    def pairs(self, leaf_id: int | None = None) -> PairEffects:
        """Find how pairs of conditions interact: D of both together against the sum of D of each alone.

        Parameters
        ----------
        leaf_id : int, default=None
            The leaf whose rule is asked for; by default every rule, in one look at the rows.
        """
        evidence, paths = self._rows_at_hand(), self._paths
        rules = np.arange(paths.n_rules) if leaf_id is None else np.array([self._find_rule(leaf_id)])
        first, second = training_evidence.list_pairs(paths, rules)
        counts = training_evidence.count_without_two(evidence, paths, first, second)
        rule = paths.rule[first]
        together = training_evidence.find_reliability(paths, counts, rule) - self._reliability[rule]
        sides = compare_reliability(counts, self._leaf_counts[rule], paths.leaf_class[rule], self.tolerance)
        return PairEffects(self.tree, paths, first, second, self.effect_size, together, sides)

    def _list_columns(self) -> dict[str, list[Any]]:
        return self._make_columns(np.arange(len(self)))

    def to_csv(self, leaf_ids: Collection[int] | None = None) -> str:
        """Write the diagnosis as CSV, one line per condition.

        Parameters
        ----------
        leaf_ids : collection of int, default=None
            The leaves whose rules are wanted; by default all.
        """
        from secateur.export.diagnosis import diagnosis_to_csv

        return diagnosis_to_csv(self, leaf_ids)

    def to_dict(self, leaf_ids: Collection[int] | None = None, *, pairs: bool = False) -> dict[str, Any]:
        """Give the diagnosis as plain values, ready for JSON: the rules, and below each its conditions.

        Parameters
        ----------
        leaf_ids : collection of int, default=None
            The leaves whose rules are wanted; by default all.
        pairs : bool, default=False
            Add how the pairs of conditions of each rule interact.
        """
        from secateur.export.diagnosis import diagnosis_to_dict

        return diagnosis_to_dict(self, leaf_ids, pairs=pairs)

    def to_text(self, leaf_ids: Collection[int] | None = None, *, pairs: bool = False) -> str:
        """Write the diagnosis for people: each rule, and below it every condition with its three layers in words.

        Parameters
        ----------
        leaf_ids : collection of int, default=None
            The leaves whose rules are wanted; by default all.
        pairs : bool, default=False
            Add the pairs of conditions of each rule that interact most.
        """
        from secateur.export.diagnosis import diagnosis_to_text

        return diagnosis_to_text(self, leaf_ids, pairs=pairs)

    def _find_rule(self, leaf_id: int) -> int:
        found = np.flatnonzero(self._paths.leaf_ids == leaf_id)
        if not len(found):
            raise ParameterError(f"The tree has no leaf {leaf_id!r}: its leaves are {shorten(self.leaf_ids)}.")
        return int(found[0])

    def _find_entries(self, rule: int, link_ids: int | Iterable[int]) -> NDArray[np.int64]:
        span = self._paths.entries(rule)
        own = self._paths.links[span].tolist()
        asked = {int(link) for link in (link_ids if isinstance(link_ids, Iterable) else [link_ids])}
        unknown = sorted(asked - set(own))
        if unknown:
            raise ParameterError(
                f"The rule of leaf {self._paths.leaf_ids[rule]} has no condition {unknown[0]}: name its conditions by "
                f"their links, {shorten(own)}."
            )
        return np.array([span.start + place for place, link in enumerate(own) if link in asked], dtype=np.int64)

    def _rows_at_hand(self) -> training_evidence.TrainingEvidence:
        evidence = self._problem.evidence
        if evidence is None:
            raise InputError("What a deletion does to reliability is not known without rows: pass X and y to diagnose.")
        return evidence

    def _make_columns(self, entries: NDArray[np.int64]) -> dict[str, list[Any]]:
        """Make the fields of :class:`DiagnosisRow` for some entries, a list each."""
        tree, paths = self.tree, self._paths
        rule, links = paths.rule[entries], paths.links[entries].tolist()
        matched, mismatched, inside = (part[entries] for part in (paths.matched, paths.mismatched, paths.inside_h))
        own = paths.leaf_class[rule]
        if tree.n_classes == 2:
            rises, falls = np.where(own == 1, "C1", "C0"), np.where(own == 1, "C0", "C1")
        else:
            rises, falls = np.full(len(own), "rises"), np.full(len(own), "falls")
        presumed = np.where(inside, "negative-relevance-presumed", "IRC-presumed")
        unknown = [None] * len(entries)
        return {
            "leaf_id": paths.leaf_ids[rule].tolist(),
            "link_id": links,
            "depth": (entries - paths.offsets[rule] + 1).tolist(),
            "prediction": tree.classes[own].tolist(),
            "condition": list(map(self._read, links)),
            "orientation": np.where(matched, rises, np.where(mismatched, falls, "neutral")).tolist(),
            "shift": paths.shift[entries].tolist(),
            "status": np.where(matched, "matched", np.where(mismatched, "mismatched", "neutral")).tolist(),
            "inside_h": inside.tolist(),
            "effect_size": _list_known(self.effect_size[entries]),
            "effect": list(map(EFFECT_NAMES.get, self._sides[entries].tolist())),
            "sibling": paths.sibling_certified[entries].tolist(),
            "subtree": self._subtree[entries].tolist(),
            "exact": self._exact[entries].tolist(),
            "finite_domain": unknown if self._finite_domain is None else self._finite_domain[entries].tolist(),
            "monotone": unknown if self._monotone is None else self._monotone[entries].tolist(),
            "presumption": [
                p if is_mis else None for p, is_mis in zip(presumed.tolist(), mismatched.tolist(), strict=True)
            ],
            "support": _list_known(self._leaf_counts.sum(axis=1)[rule]),
            "support_without": _list_known(self._support_without[entries]),
            "reliability": _list_known(self._reliability[rule]),
            "reliability_without": _list_known(self._reliability_without[entries]),
            "class_name": [tree.class_names[class_id] for class_id in own.tolist()],
        }

    def __getstate__(self) -> dict[str, Any]:
        # The caller's rows stay with the caller; counts of them may go along.
        kept = None if isinstance(self._problem.evidence, training_evidence.RowEvidence) else self._problem.evidence
        return {**self.__dict__, "_problem": replace(self._problem, evidence=kept)}

    __repr__ = written_by("diagnosis:diagnosis_to_table")

    _repr_html_ = written_by("diagnosis:diagnosis_to_html")


class ForestDiagnosis(Framed, tuple[Diagnosis, ...]):
    """The diagnoses of a forest's trees, a tuple in the forest's order.

    Parameters
    ----------
    iterable : iterable of Diagnosis, default=()
    """

    def _list_columns(self) -> dict[str, list[Any]]:
        """List the conditions of all trees, the number of the tree (from 0) first."""
        columns: dict[str, list[Any]] = {"tree": []} | {one.name: [] for one in fields(DiagnosisRow)}
        for number, one in enumerate(self):
            columns["tree"] += [number] * len(one)
            for name, values in one._list_columns().items():
                columns[name] += values
        return columns

    def __repr__(self) -> str:
        return f"<ForestDiagnosis of {len(self)} trees with {sum(map(len, self)):,} conditions>"


def _monotone(problem: Problem) -> NDArray[np.bool_] | None:
    signs = problem.tree.monotone
    if signs is None or problem.tree.n_classes != 2:
        return None
    found = decide_monotonicity(problem, signs.tolist())
    if not found.holds:
        return np.zeros(len(problem.paths.links), dtype=bool)
    rules = problem.paths.rule.tolist()
    return np.array([found.find_refuting_link(rule, np.array([n])) for n, rule in enumerate(rules)], np.int64) < 0


def _find_certified_by_rows(
    problem: Problem, leaf_counts: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[Any] | None:
    """Mark the entries without which a rule that has rows still covers none of another class; None where not known."""
    paths, evidence = problem.paths, problem.evidence
    if evidence is None:
        return None
    if isinstance(evidence, training_evidence.RowEvidence) and evidence.weights is not None:
        # A certificate must hold for each row, however little it weighs.
        leaf_counts, counts = training_evidence.count_without_one(replace(evidence, weights=None), paths)
    foreign = counts.copy()
    foreign[np.arange(len(counts)), paths.leaf_class_of_entry] = 0
    is_refuted, has_rows = foreign.sum(axis=1) > 0, leaf_counts.sum(axis=1) > 0
    if isinstance(evidence, Evidence) and evidence.is_weighted:  # rows of weight 0 leave no trace in the sums
        return np.array([False if refuted else None for refuted in is_refuted.tolist()], dtype=object)
    return np.asarray(has_rows[paths.rule] & ~is_refuted)


def _list_known(values: NDArray[np.float64]) -> list[float | None]:
    return [none_if_nan(value) for value in values.tolist()]
