"""Diagnose every condition of every rule in three layers, before anything is deleted.

Layer 1 is the link's own orientation, layer 2 its status relative to the leaf, layer 3 the effect of deleting it alone.
Beside them stand the certificates for deleting it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from secateur.counting.violations import find_reliability
from secateur.frames import make_frame
from secateur.kernels.run_walks import run_witnesses
from secateur.methods.contract import Problem
from secateur.methods.monotonicity import decide_monotonicity
from secateur.methods.settings import check_amount, check_share
from secateur.problem import Knowledge, ModelReader, open_rows_of
from secateur.rows.opening import check_pair
from secateur.rules.wording import read_link
from secateur.tree.paths import DEFAULT_RF_TOL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.counting.training_evidence import TrainingEvidence
    from secateur.tree.tree import Label

__all__ = ["Diagnosis", "DiagnosisRow", "diagnose"]


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
        Whether every passed row that satisfies the rule without it has the rule's class. None without rows.
    monotone : bool or None
        Whether the tree's monotonicity certifies it. None when the tree was fitted without signs. Whether the tree
        keeps to its signs is decided first; if it does not, they certify nothing and this is False throughout.
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


class Diagnosis(Sequence[DiagnosisRow]):
    """A sequence of :class:`DiagnosisRow`, leaf after leaf in source order, root to leaf within a path.

    Parameters
    ----------
    rows : list of DiagnosisRow
    """

    def __init__(self, rows: list[DiagnosisRow]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> DiagnosisRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[DiagnosisRow]: ...
    def __getitem__(self, index: int | slice) -> DiagnosisRow | list[DiagnosisRow]:
        return self._rows[index]

    def to_frame(self, library: str | None = None) -> Any:
        """Put the diagnosis into a data frame, one row per condition.

        Parameters
        ----------
        library : {"pandas", "polars"}, default=None
            By default the one that is already imported, else the one that is installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
        """
        names = DiagnosisRow.__dataclass_fields__
        return make_frame({name: [getattr(row, name) for row in self._rows] for name in names}, library)

    def __repr__(self) -> str:
        return f"<Diagnosis of {len(self)} conditions>"


def diagnose(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    tolerance: float = 0.05,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    rf_tol: float = DEFAULT_RF_TOL,
) -> Diagnosis:
    """Diagnose every condition of every rule of a tree.

    Parameters
    ----------
    model : fitted tree or Tree
    X : array-like or data frame of shape (n_rows, n_features), or a table, default=None
        Training rows, as :func:`simplify` takes them; without them the third layer and the finite-domain certificate
        are None.
    y : array-like of shape (n_rows,), or str, default=None
        Their labels, as the model knows them; of a table or data frame the column that holds them.
    tolerance : float in [0, 1], default=0.05
        ε: a reliability that changes by no more than this counts as unchanged.
    sample_weight : array-like of shape (n_rows,), or str, default=None
    feature_names, class_names : sequence of str, default=None
        How columns and classes read, where the model does not say.
    accepts_missing : bool, default=None
        Whether the tree takes NaN; by default what the model and the rows show.
    rf_tol : float, default=1e-12
        A class share that changes by no more than this along a link counts as unchanged.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> from secateur.datasets import load
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> data = load("human-id")
    >>> model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    >>> rows = diagnose(model, data.X, data.y, tolerance=0.0, feature_names=data.feature_names)
    >>> rows[0].status, rows[0].effect
    ('matched', 'positive-relevance')
    """
    epsilon, tolerated = check_share("tolerance", tolerance), check_amount("rf_tol", rf_tol)
    reader = ModelReader(model, Knowledge(feature_names, class_names, accepts_missing), tolerated)
    check_pair(X, y, sample_weight)
    with nullcontext() if X is None else open_rows_of(model, X, y, sample_weight) as source:
        problem = reader.open(source, None)
    tree, paths, evidence = problem.tree, problem.paths, problem.evidence
    wanted = paths.leaf_class[paths.rule]
    effects, pure = _effects(problem, evidence) if evidence is not None else (None, None)
    alone = run_witnesses(problem.feasible_tree(), paths, np.zeros(len(paths.links), dtype=bool), by_feature=False) < 0
    subtree = paths.homogeneous[paths.sibling[paths.links]] == wanted
    by_direction = _monotone(problem)
    shift = paths.shift
    rows = []
    for entry, (rule, link) in enumerate(zip(paths.rule.tolist(), paths.links.tolist(), strict=True)):
        effect = None if effects is None or np.isnan(effects[entry]) else float(effects[entry])
        rows.append(
            DiagnosisRow(
                leaf_id=int(paths.leaf_ids[rule]),
                link_id=link,
                depth=entry - int(paths.offsets[rule]) + 1,
                prediction=tree.classes[wanted[entry]].item(),
                condition=read_link(tree, paths, link),
                orientation=_orientation(problem, entry),
                shift=float(shift[entry]),
                status=_status(problem, entry),
                inside_h=bool(paths.inside_h[entry]),
                effect_size=effect,
                effect=None if effect is None else _name_effect(effect, epsilon),
                sibling=bool(paths.sibling_certified[entry]),
                subtree=bool(subtree[entry]),
                exact=bool(alone[entry]),
                finite_domain=None if pure is None else bool(pure[entry]),
                monotone=None if by_direction is None else bool(by_direction[entry]),
            )
        )
    return Diagnosis(rows)


def _effects(problem: Problem, evidence: TrainingEvidence) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Find D of deleting each entry alone, and whether all rows that the rule then covers have its class."""
    paths = problem.paths
    every = np.ones(len(paths.links), dtype=bool)
    gained = np.zeros((len(every), problem.tree.n_classes))
    for among in evidence.split_rules(paths, every):
        violations = evidence.count_violations(paths, ~every, among[paths.rule], among)
        gained[among[paths.rule]] = violations.gain(np.flatnonzero(among[paths.rule]), ~every)
    counts = violations.leaf_counts[paths.rule] + gained
    right, total = counts[np.arange(len(counts)), paths.leaf_class[paths.rule]], counts.sum(axis=1)
    effect = np.full(len(paths.links), np.nan)
    np.divide(right, total, out=effect, where=total > 0)
    return effect - find_reliability(paths, violations.leaf_counts)[paths.rule], right == total


def _monotone(problem: Problem) -> NDArray[np.bool_] | None:
    signs = problem.tree.monotone
    if signs is None or problem.tree.n_classes != 2:
        return None
    found = decide_monotonicity(problem, signs.tolist())
    if not found.holds:
        return np.zeros(len(problem.paths.links), dtype=bool)
    entries = enumerate(problem.paths.rule.tolist())
    refuting = [found.find_refuting_link(rule, np.array([entry])) for entry, rule in entries]
    return np.array(refuting, dtype=np.int64) < 0


def _status(problem: Problem, entry: int) -> str:
    if problem.paths.matched[entry]:
        return "matched"
    return "mismatched" if problem.paths.mismatched[entry] else "neutral"


def _orientation(problem: Problem, entry: int) -> str:
    status = _status(problem, entry)
    if status == "neutral":
        return status
    rises = status == "matched"
    if problem.tree.n_classes != 2:
        return "rises" if rises else "falls"
    class_id = int(problem.paths.leaf_class[problem.paths.rule[entry]])
    return f"C{class_id if rises else 1 - class_id}"


def _name_effect(effect: float, tolerance: float) -> str:
    if effect < -tolerance:
        return "positive-relevance"
    return "negative-relevance" if effect > tolerance else "probabilistic-irc"
