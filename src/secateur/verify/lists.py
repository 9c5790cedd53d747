"""Check the lines of a list: sections that are a cut, the leaves that each line answers for, and the rows that are off.

Every possible row of a leaf is met with the conditions of a line, one feature at a time. A line answers for a leaf if
it has the leaf's class, and states a share no further from the leaf's than the tolerance: decided on fractions of
counts, with the tolerance as the decimal that was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateur.verify.boxes import Boxes, cut_cell
from secateur.verify.case import COUNT_TOLERANCE, NOT_RECOUNTED, Case, Chunk, agree, describe_difference
from secateur.verify.masked_rows import Mask, MaskedRows, list_rows, pack
from secateur.verify.promises import EXACT

if TYPE_CHECKING:
    from secateur.tree.difference import Comparison

OWN_METHOD = "exact"  # whose lists have lines of their own; others are made of the rules of their method
PAID_KIND, DEAR_KIND, HEADING_KIND, KEPT_KIND, STRUCK_KIND = "paid", "too-dear", "heading", "keeps-out", "struck"
REASONED = {"kinds": "kinds", "before": "before", "after": "after", "numbers": "numbers", "nodes_of_edges": "nodes"}
MANY_LEAVES = 2_000  # a line of a larger tree states the mean of all leaves in its window
FEW_RULES = 512  # of more, it need not be stated what each covers
FEW_LEAVES = 64  # of more, the leaf of each row is looked up
ROUNDED = Fraction(1, 10**12)  # a share is stated as a float
RECOUNTED = {"class_counts": "the rows that each rule covers", "decided_counts": "the rows that each line decides"}


@dataclass(frozen=True)
class Lines:
    """The lines of a list, as a record states them, over the leaves of a case."""

    case: Case
    stated: Mapping[str, Any]
    _answered: dict[tuple[int, float | None, bool], NDArray[np.bool_]] = field(default_factory=dict)

    @property
    def written(self) -> NDArray[np.int64]:
        """Places of the leaves whose rules are written."""
        return self.stated["leaves"]  # type: ignore[no-any-return]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Edges that are left."""
        return ~self.stated["deleted"]  # type: ignore[no-any-return]

    @property
    def is_own(self) -> bool:
        """Whether the lines are not rules of a method as they are."""
        return self.case.method == OWN_METHOD

    @property
    def is_exact(self) -> bool:
        """Whether every possible row is promised its class, and its share if lines state one."""
        return self.case.method in EXACT and not self.stated["budget"] and not self.is_edited

    @property
    def is_edited(self) -> bool:
        """Whether a person changed the lines, so that they promise no more than what is counted."""
        return self.stated.get("edits") is not None

    @property
    def is_regression(self) -> bool:
        """Whether lines state values."""
        return self.case.tree.values is not None

    @cached_property
    def section_of_rule(self) -> NDArray[np.int64]:
        """The section of each rule."""
        return np.repeat(np.arange(len(self.stated["nodes"])), np.diff(self.stated["starts"]))

    @cached_property
    def line_of_rule(self) -> NDArray[np.int64]:
        """The line of each rule: behind the "otherwise" of each section comes the next section."""
        return np.arange(len(self.written)) + self.section_of_rule

    @cached_property
    def rest_lines(self) -> NDArray[np.int64]:
        """The line of each section's "otherwise"."""
        starts = np.asarray(self.stated["starts"])
        return starts[1:] + np.arange(len(starts) - 1)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The class of each line."""
        found = np.empty(len(self.stated["shares"]), dtype=np.int64)
        found[self.line_of_rule] = self.stated.get("answers", self.case.classes[self.written])
        found[self.rest_lines] = self.stated["defaults"]
        return found

    @cached_property
    def section_of_leaf(self) -> NDArray[np.int64]:
        """The section of each leaf: the last that begins on its path, -1 if none does."""
        number_of = {int(node): number for number, node in enumerate(self.stated["nodes"])}
        paths = (_list_path(self.case, leaf) for leaf in self.case.leaves.tolist())
        return np.array([next((number_of[node] for node in path[::-1] if node in number_of), -1) for path in paths])

    def decide(self, rows: MaskedRows) -> Iterator[tuple[int, Mask, Mask]]:
        """Mask the rows inside each line, and those that it decides: what no rule before it holds."""
        undecided = rows.links[0].copy()
        for place, (_, inside) in enumerate(rows.satisfying(self.kept, self.written)):
            yield int(self.line_of_rule[place]), inside, inside & undecided
            undecided &= ~inside
        rest_of_leaf = self.rest_lines[self.section_of_leaf]
        for line in self.rest_lines.tolist():
            leaves = self.case.leaves[rest_of_leaf == line]
            rest = np.bitwise_or.reduce(rows.passing[leaves], axis=0) & undecided
            yield line, rest, rest

    @cached_property
    def values(self) -> list[Fraction]:
        """The value of each leaf, or the share of its class: of rows that reach it, else as the tree counts."""
        tree, counts = self.case.tree, np.array(self.case.record["leaf_counts"], dtype=np.float64)
        if tree.values is not None:
            return [Fraction(value) for value in tree.values[self.case.leaves].tolist()]
        if tree.counts is not None:
            unknown = ~(counts.sum(axis=1) > 0)
            counts[unknown] = tree.counts[self.case.leaves[unknown]]
        made: dict[tuple[float, ...], Fraction] = {}  # of equal counts once, by their own class and all
        keys = [(row[own], *row) for row, own in zip(counts.tolist(), self.case.classes.tolist(), strict=True)]
        for key in set(keys):
            total = Fraction(0) if np.isnan(key).any() else sum(map(Fraction, key[1:]), Fraction(0))
            made[key] = Fraction(key[0]) / total if total else Fraction(0)
        return [made[key] for key in keys]

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """Those values, rounded: they decide all but what is near a tie."""
        return np.array([float(value) for value in self.values])

    @cached_property
    def scale(self) -> Fraction:
        """What rounding is relative to: 1 for shares."""
        if not self.is_regression:
            return Fraction(1)
        return max(Fraction(repr(float(self.stated["tolerance"]))), *map(abs, self.values))

    @cached_property
    def near(self) -> float:
        """So close to a tie, fractions decide; beyond, floats do."""
        return float(self.scale) * 1e-8

    @property
    def slack(self) -> Fraction:
        """How far rounding may move a share, or a value."""
        return ROUNDED * self.scale if self.case.counts_rows or self.is_regression else Fraction(1, 10**9)

    def answers(self, line: int, *, strictly: bool = False) -> NDArray[np.bool_]:
        """Mark the leaves that a line may answer for; strictly, rounding moves no leaf across the tolerance."""
        stated = float(self.stated["shares"][line])
        key = int(self.classes[line]), None if np.isnan(stated) else stated, strictly
        if key not in self._answered:
            found = self.case.classes == key[0]
            if key[1] is not None:
                tolerance = Fraction(repr(float(self.stated["tolerance"])))
                beyond = np.abs(self.floats - stated) - float(tolerance)
                for leaf in np.flatnonzero(found & (np.abs(beyond) <= self.near)).tolist():
                    found[leaf] = abs(Fraction(stated) - self.values[leaf]) <= tolerance + (
                        0 if strictly else self.slack
                    )
                found &= beyond <= self.near
            self._answered[key] = found
        return self._answered[key]

    def has_end(self, end: float, leaves: NDArray[np.int64]) -> bool:
        """Whether an end of a window is the share of one of some leaves."""
        near = leaves[np.abs(self.floats[leaves] - end) <= self.near].tolist()
        return any(abs(self.values[leaf] - Fraction(end)) <= self.slack for leaf in near)

    def find_ends(self, leaves: NDArray[np.int64]) -> tuple[Fraction, Fraction]:
        """Find the least and the largest share of some leaves."""
        floats = self.floats[leaves]
        ends = (leaves[np.abs(floats - end) <= self.near].tolist() for end in (floats.min(), floats.max()))
        low, high = ({id(self.values[leaf]): self.values[leaf] for leaf in near}.values() for near in ends)
        return min(low), max(high)


def check_list(case: Case, comparison: Comparison | None = None) -> None:
    """Check everything that the lines of a list promise beyond the rules that they were chosen from."""
    lines = Lines(case, case.record["list"])
    if lines.stated.get("approximates") and comparison is None:
        case.skip(
            "how often the rules agree with the model that they approximate was measured when they were made, and "
            "cannot be counted again without the model: what is proved is about the surrogate tree"
        )
    if _check_sections(case, lines) and _check_shares(case, lines):
        boxes = Boxes(case.tree, case.paths, np.ones(len(case.paths.links), dtype=bool), case.all_rules)
        is_reached = case.possible.find_reached(boxes)
        _check_leaves(case, lines, boxes, is_reached)
        _check_kept(case, lines, boxes, is_reached)
        _check_rows(case, lines)


def _check_sections(case: Case, lines: Lines) -> bool:
    """Check that sections are a cut, and that each rule keeps its heading and is one of a leaf of its section."""
    stated, paths = lines.stated, case.paths
    nodes = np.asarray(stated["nodes"]).tolist()
    broken = [] if len(set(nodes)) == len(nodes) else ["A section is there twice."]
    for leaf in case.leaves.tolist():
        begun = len(set(_list_path(case, leaf)) & set(nodes))
        if begun != 1:
            broken.append(f"Leaf {leaf} belongs to {begun} sections, not to one.")
    if len(np.unique(lines.written)) < len(lines.written):
        broken.append("The rule of a leaf is written twice.")
    depth = {node: len(_list_path(case, node)) - 1 for node in nodes}
    kinds, before = np.asarray(stated["kinds"]), ~case.deleted
    heading = np.zeros(len(lines.kept), dtype=bool)
    for number, leaf in enumerate(lines.written.tolist() if not broken else ()):
        node = nodes[lines.section_of_rule[number]]
        if lines.section_of_leaf[leaf] != lines.section_of_rule[number]:
            broken.append(f"The rule of leaf {case.leaves[leaf]} is in a section to which its leaf does not belong.")
        heading[paths.offsets[leaf] : paths.offsets[leaf] + depth[node]] = True
    if (heading & ~lines.kept).any():
        broken.append("A line lost a condition of its heading.")
    if (heading != (kinds == HEADING_KIND)).any():
        broken.append("The conditions that are said to belong to a heading are not those that do.")
    if not lines.is_own and not broken:
        paid = ~lines.kept & before
        if (lines.kept & ~before).any() or (paid != np.isin(kinds, (PAID_KIND, STRUCK_KIND))).any():
            broken.append("A line is not the rule of its leaf, but for what the budget or an edit deleted.")
        same = np.isin(kinds, (PAID_KIND, DEAR_KIND, STRUCK_KIND))
        for own, source in REASONED.items():
            here, there = np.asarray(stated[own]), case.record[source]
            differs = np.flatnonzero(~same & (here != there) & ((here == here) | (there == there)))
            if len(differs):
                leaf = case.leaves[paths.rule[differs[0]]]
                broken.append(f"A line gives another reason than the rule of leaf {leaf}, which it is.")
                break
    if not stated["budget"] and (kinds == PAID_KIND).any():
        broken.append("A condition is said to be deleted under the budget, but there is none.")
    if not lines.is_edited:
        if (kinds == STRUCK_KIND).any():
            broken.append("A condition is said to be struck, but the list was not edited.")
        if (lines.classes[lines.line_of_rule] != case.classes[lines.written]).any():
            broken.append("A rule predicts another class than its leaf, but the list was not edited.")
    unwritten = ~np.isin(paths.rule, lines.written)
    if (lines.kept != before)[unwritten].any():
        broken.append("A rule that is not written is not as its method left it.")
    case.report(
        "the sections are a cut of the tree, and each line is of a leaf of its section, with its heading", broken
    )
    return not broken


def _list_path(case: Case, node: int) -> list[int]:
    """List the nodes from one up to the root, which is the last."""
    path = [node]
    while path[-1] > 0:
        path.append(int(case.paths.parent[path[-1]]))
    return path


def _check_shares(case: Case, lines: Lines) -> bool:
    """Check that windows are no wider than twice the tolerance, with the stated share within it of both ends."""
    shares, windows = np.asarray(lines.stated["shares"]), np.asarray(lines.stated["windows"])
    tolerance = Fraction(repr(float(lines.stated["tolerance"])))
    stated = ~np.isnan(shares)
    broken = []
    if (stated != (tolerance < 1 or lines.is_regression)).any() or (np.isnan(windows) == stated[:, None]).any():
        broken.append("Lines state shares although only classes are kept, or state none although shares are.")
    for line in np.flatnonzero(stated & ~np.isnan(windows).any(axis=1)).tolist():
        low, high = (Fraction(float(end)) for end in windows[line])
        share = Fraction(float(shares[line]))
        is_ordered = low <= high and high - low <= 2 * tolerance + lines.slack
        is_ordered = is_ordered and (lines.is_regression or 0 <= low <= high <= 1)
        if not is_ordered or not high - tolerance - lines.slack <= share <= low + tolerance + lines.slack:
            broken.append(
                f"Line {line + 1} states {shares[line]:.4g}, more than {float(tolerance):g} from an end of its window."
            )
    if stated.any() or broken:
        what = "value" if lines.is_regression else "share"
        case.report(f"each line states a {what} that is within the tolerance of both ends of its window", broken)
    return not broken


def _check_leaves(case: Case, lines: Lines, boxes: Boxes, is_reached: NDArray[np.bool_]) -> None:
    """Check which leaves each line meets and contains, and that it may answer for those that it meets."""
    inside_of, wrong, windows, shares = [], [], [], list[str]()
    # Before a budget was spent, and before an edit.
    before = lines.kept | np.isin(np.asarray(lines.stated["kinds"]), (PAID_KIND, STRUCK_KIND))
    stands_for = lines.stated["stands_for"]
    contained = np.zeros(len(case.leaves), dtype=bool)
    for number, rule in enumerate(lines.written.tolist()):
        line, section = int(lines.line_of_rule[number]), lines.section_of_rule[number]
        own = np.flatnonzero((lines.section_of_leaf == section) & is_reached)
        span = slice(case.paths.offsets[rule], case.paths.offsets[rule + 1])
        links = case.paths.links[span][lines.kept[span]].tolist()
        met = own[_meet(case, boxes, case.paths.links[span][before[span]].tolist(), own)]
        inside = _lie_in(case, boxes, links, own)
        contained[inside] = True
        inside_of += _compare_leaves(case, line, inside, stands_for[line])
        wrong += [
            f"Line {line + 1} meets leaf {case.leaves[leaf]}, for which it may not answer."
            for leaf in met[~lines.answers(line)[met]].tolist()
            if lines.classes[line] == case.classes[rule]
        ]
        windows += _compare_window(lines, line, met)
        is_large = len(case.leaves) > MANY_LEAVES
        shares += _compare_share(lines, line, _find_in_window(lines, line, own) if is_large else met)
    for section, line in enumerate(lines.rest_lines.tolist()):
        own = np.flatnonzero((lines.section_of_leaf == section) & is_reached)
        left = own[~contained[own]]
        inside_of += _compare_leaves(case, line, left, stands_for[line])
        if not lines.is_exact:
            windows += _check_ends(lines, line, section)
            if lines.is_own and not np.isnan(lines.stated["shares"][line]):
                case.skip("taken as stated: what “otherwise” says of its rows before a budget was spent")
            continue
        wrong += [
            f"Leaf {case.leaves[leaf]} lies in no rule, and line {line + 1}, the “otherwise” of its section, may not "
            "answer for it."
            for leaf in left[~lines.answers(line)[left]].tolist()
        ]
        windows += _compare_window(lines, line, left)
        shares += _compare_share(lines, line, left if len(left) else _find_in_window(lines, line, own))
    case.report("each line stands for the leaves that lie in it, condition by condition, and for no other", inside_of)
    if lines.is_exact or lines.is_own:
        beside = ""
        if not np.isnan(np.asarray(lines.stated["shares"])).any():
            beside = f", with a share within {float(lines.stated['tolerance']):g} of the line's"
        which = (
            "meets, and every leaf that is left to otherwise, has"
            if lines.is_exact
            else f"met before {'it was edited' if lines.is_edited else 'the budget'} has"
        )
        kept = f"the line's class{beside}"
        if lines.is_regression:
            kept = f"a value within {float(lines.stated['tolerance']):g} of the line's"
        case.report(f"every leaf that a line {which} {kept}", wrong)
        if beside:
            case.report("windows are those of the leaves that the lines answer for", windows)
            what = "values" if lines.is_regression else "shares"
            case.report(f"stated {what} are the means of those leaves, as near as the tolerance asks", shares)
    elif not lines.stated["budget"] and not lines.is_edited:
        is_left = is_reached & ~contained
        is_left &= case.classes != np.asarray(lines.stated["defaults"])[lines.section_of_leaf]
        case.report(
            "every leaf of a written class lies in a rule, so all other rows are of the class of otherwise",
            [f"No rule stands for leaf {leaf}." for leaf in case.leaves[is_left].tolist()],
        )


def _compare_leaves(case: Case, line: int, found: NDArray[np.int64], stated: Iterable[int]) -> list[str]:
    lies, said, name = set(found.tolist()), {int(leaf) for leaf in stated}, f"line {line + 1}"
    return [
        f"Leaf {case.leaves[leaf]} lies in {name}, which is not said to stand for it."
        if leaf in lies
        else f"Leaf {case.leaves[leaf]} does not lie in {name}, which is said to stand for it."
        for leaf in sorted(lies ^ said, key=lambda leaf: (leaf in said, leaf))
    ]


def _compare_window(lines: Lines, line: int, leaves: NDArray[np.int64]) -> list[str]:
    if np.isnan(lines.stated["shares"][line]) or not len(leaves):
        return []
    low, high = (float(end) for end in lines.stated["windows"][line])
    # A large tree's line states the window of all leaves that it may answer for, whose ends are leaves' shares, too.
    known = np.flatnonzero(lines.case.classes == lines.classes[line])
    is_known = lines.has_end(low, known) and lines.has_end(high, known)
    least, most = lines.find_ends(leaves)
    if is_known and Fraction(low) <= least + lines.slack and Fraction(high) >= most - lines.slack:
        return []
    return [f"The window of line {line + 1} is not that of the leaves it meets."]


def _compare_share(lines: Lines, line: int, met: NDArray[np.int64]) -> list[str]:
    """Compare what a line states with the mean of leaves, by training rows, near both ends of its window."""
    stated, tolerance = float(lines.stated["shares"][line]), float(lines.stated["tolerance"])
    if np.isnan(stated) or not len(met):
        return []
    low, high = (float(end) for end in lines.stated["windows"][line])
    rows = np.nan_to_num(np.asarray(lines.case.record["leaf_counts"]).sum(axis=1))[met]
    mean = float(np.average(lines.floats[met], weights=rows if rows.any() else None))
    share = min(max(mean, high - tolerance), low + tolerance)
    if abs(share - stated) <= lines.near:
        return []
    return [f"Line {line + 1} states {stated:.6g}, but by the leaves that it answers for it is {share:.6g}."]


def _find_in_window(lines: Lines, line: int, among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the leaves of a line's class whose share lies in its window."""
    low, high = (float(end) for end in lines.stated["windows"][line])
    floats, is_own = lines.floats[among], lines.case.classes[among] == lines.classes[line]
    return np.asarray(among[is_own & (floats >= low - lines.near) & (floats <= high + lines.near)])


def _check_ends(lines: Lines, line: int, section: int) -> list[str]:
    """Check an "otherwise" whose leaves were others before a budget was spent: its window has ends of such leaves."""
    if np.isnan(lines.stated["shares"][line]):
        return []
    own = np.flatnonzero((lines.section_of_leaf == section) & (lines.case.classes == lines.classes[line]))
    if all(lines.has_end(float(end), own) for end in lines.stated["windows"][line]):
        return []
    return [f"The window of line {line + 1} is not one of leaves of its section."]


def _check_kept(case: Case, lines: Lines, boxes: Boxes, is_reached: NDArray[np.bool_]) -> None:
    """Check that each condition of a line keeps the leaf out that its reason names."""
    kinds, nodes = np.asarray(lines.stated["kinds"]), np.asarray(lines.stated["nodes_of_edges"])
    number_of = {int(leaf): number for number, leaf in enumerate(lines.written.tolist())}
    is_written = np.isin(case.paths.rule, lines.written)
    judged = np.flatnonzero((kinds == KEPT_KIND) & (nodes >= 0) & (is_written | (not lines.is_regression)))

    def is_foreign(rule: int, leaf: int) -> bool:
        if rule not in number_of or lines.section_of_leaf[leaf] != lines.section_of_rule[number_of[rule]]:
            return False
        return not lines.answers(int(lines.line_of_rule[number_of[rule]]), strictly=True)[leaf]

    broken = _find_idle(case, boxes, is_reached, judged, nodes, lines.kept, is_foreign)
    if len(judged):
        case.report("without any of its conditions a line would meet a leaf that it may not answer for", broken)


def check_values_kept_out(case: Case) -> None:
    """Check the leaf that each condition of the rule of a leaf of a regression tree is said to keep out."""
    kinds, nodes, values = case.record["kinds"], case.record["nodes"], case.tree.values
    judged = np.flatnonzero((kinds == KEPT_KIND) & (nodes >= 0))  # a large tree's name none
    if values is None or not len(judged):
        return
    boxes = Boxes(case.tree, case.paths, np.ones(len(case.paths.links), dtype=bool), case.all_rules)
    own, tolerance = values[case.leaves].tolist(), Fraction(repr(float(case.record["tolerance"])))

    def is_foreign(rule: int, leaf: int) -> bool:
        return abs(Fraction(own[rule]) - Fraction(own[leaf])) > tolerance

    broken = _find_idle(case, boxes, case.possible.find_reached(boxes), judged, nodes, ~case.deleted, is_foreign)
    case.report("without any of its conditions a rule would meet a leaf whose value is too far away", broken)


def _find_idle(
    case: Case,
    boxes: Boxes,
    is_reached: NDArray[np.bool_],
    judged: NDArray[np.int64],
    nodes: NDArray[np.int64],
    is_kept: NDArray[np.bool_],
    is_foreign: Callable[[int, int], bool],
) -> list[str]:
    """List the conditions that do not keep the leaf out that their reason names."""
    place_of, broken = {int(leaf): place for place, leaf in enumerate(case.leaves.tolist())}, []
    for entry in judged.tolist():
        rule, leaf = int(case.paths.rule[entry]), place_of.get(int(nodes[entry]), -1)
        begin, end = int(case.paths.offsets[rule]), int(case.paths.offsets[rule + 1])
        kept = begin + np.flatnonzero(is_kept[begin:end])
        links = case.paths.links[kept[kept != entry]].tolist()
        keeps = leaf >= 0 and bool(is_reached[leaf]) and is_foreign(rule, leaf)
        if not (keeps and _meet(case, boxes, links, np.array([leaf]))[0]):
            broken.append(f"The condition of link {case.paths.links[entry]} does not keep leaf {nodes[entry]} out.")
    return broken


def _meet(case: Case, boxes: Boxes, links: Iterable[int], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark those of some leaves that a possible row reaches which satisfies some edges."""
    cell, met = case.possible.cut(case.paths, links), np.ones(len(places), dtype=bool)
    for feature, allowed in cell.items():
        met[met] = boxes.meet(feature, places[met], allowed, case.possible)
    met[met] = case.possible.find_states(boxes, places[met], cell)
    met[met] = case.possible.find_rows(boxes, places[met], cell)
    return met


def _lie_in(case: Case, boxes: Boxes, links: Iterable[int], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find those of some leaves that no possible row of fails one of some edges."""
    tree, paths = case.tree, case.paths
    for link in links:
        node = int(paths.parent[link])
        feature = int(tree.feature[node])
        other = {feature: cut_cell(tree, paths, node, not paths.is_left[link], case.possible.domain(feature))}
        fails = boxes.meet(feature, places, other[feature], case.possible)
        fails[fails] = case.possible.find_states(boxes, places[fails], other, feature)
        fails[fails] = case.possible.find_rows(boxes, places[fails], other)
        places = places[~fails]
    return places


def _check_rows(case: Case, lines: Lines) -> None:
    """Recount what the rules cover and the lines decide, and the rows that are off, of all and of each class."""
    budget = float(lines.stated["budget"])
    if case.read_rows is None:
        if budget:
            case.failures.append(f"The rows that are off were {NOT_RECOUNTED}")
        return
    n_classes, n_lines = case.tree.n_classes, len(lines.classes)
    covered, decided = np.zeros((2, n_lines, n_classes))
    off, total = np.zeros((2, n_classes))  # by the class that the tree predicts
    leaves_of = {own: case.leaves[case.classes == own] for own in np.unique(case.classes).tolist()}
    powers = np.zeros((n_lines, 3))  # of weights, targets less a line's value, and squares of that
    for rows in case.read_masked():
        said = {own: np.bitwise_or.reduce(rows.passing[leaves], axis=0) for own, leaves in leaves_of.items()}
        wrong = np.zeros_like(rows.links[0])
        for line, inside, won in lines.decide(rows):
            decided[line] += rows.count(won)
            covered[line] += rows.count(inside)
            wrong |= _find_wrong(lines, line, rows, inside, said.get(int(lines.classes[line])))
            if rows.targets is not None:
                powers[line] += rows.add_powers(won, float(lines.stated["shares"][line]))
        for own, mask in said.items():
            off[own] += rows.count(wrong & mask).sum()
            total[own] += rows.count(mask).sum()
    _compare(case, lines, "class_counts", covered[lines.line_of_rule], lines.line_of_rule)
    _compare(case, lines, "decided_counts", decided, np.arange(n_lines))
    if lines.stated["target_moments"] is not None:
        moments = np.asarray(lines.stated["target_moments"])
        compare_targets(case, np.asarray(lines.stated["shares"]), moments, powers, "targets")
    shares = np.divide(off, total, out=np.zeros(n_classes), where=total > 0)
    whole = float(off.sum() / total.sum()) if total.sum() else 0.0
    most = max(whole, float(shares.max()))
    found = f"{100 * whole:.4g} % of the rows are off"
    if not lines.is_regression:
        found += f", and of no class that the tree predicts more than {100 * float(shares.max()):.4g} %"
    if lines.is_edited:
        return  # which is checked beside the journal
    if budget or lines.is_exact:
        broken = [] if most <= budget + COUNT_TOLERANCE else [f"{found}, beyond the budget of {100 * budget:g} %."]
        case.report(f"{found} (recounted), within the budget of {100 * budget:g} %", broken)
    else:
        case.checks.append(f"{found} (recounted); their method promises nothing about that")


def compare_targets(
    case: Case, values: NDArray[np.float64], stated: NDArray[np.float64], powers: NDArray[np.float64], what: str
) -> None:
    """Check mean and spread of the targets of the rows that each line decides."""
    weight = np.where(powers[:, 0] > 0, powers[:, 0], np.nan)
    above, square = powers[:, 1] / weight, powers[:, 2] / weight
    again = np.stack([values + above, np.sqrt(np.maximum(square - above**2, 0.0))], axis=1)
    scale = np.sqrt(square) + np.abs(values)
    away = np.abs(stated - again)
    away[:, 1] *= stated[:, 1] + again[:, 1]  # of squares: a root loses half of the digits
    fits = (np.isnan(stated) & np.isnan(again)) | (away <= COUNT_TOLERANCE * np.stack([scale, scale**2], axis=1))
    case.report(
        f"means and spreads of the {what} recounted",
        [
            f"Line {line + 1} states a mean of {stated[line, 0]:.6g} and a spread of {stated[line, 1]:.6g}, but on "
            f"these rows they are {again[line, 0]:.6g} and {again[line, 1]:.6g}."
            for line in np.flatnonzero(~fits.all(axis=1)).tolist()
        ],
    )


def _compare(case: Case, lines: Lines, name: str, again: NDArray[np.float64], lines_of: NDArray[np.int64]) -> None:
    stated = np.asarray(lines.stated[name], dtype=np.float64)
    known: NDArray[np.bool_] = ~np.asarray(np.isnan(stated).any(axis=1))
    # A budget was spent on rows, so that they were known; what very many rules cover is not counted.
    if not known.all() and lines.stated["budget"] and (name == "decided_counts" or len(known) <= FEW_RULES):
        told = f"{(~known).sum()} of {len(known)} {name.replace('_', ' ')} are not stated"
        case.failures.append(f"{told}, although a budget was spent.")
    if not known.any():
        return
    differs = known & ~agree(stated, again).all(axis=1)
    case.report(
        f"{RECOUNTED[name]} recounted{'' if known.all() else ', where they are stated'}",
        [
            describe_difference(f"Line {lines_of[place] + 1}", name, case.tree.class_names, again[place], stated[place])
            for place in np.flatnonzero(differs).tolist()
        ],
    )


def _find_wrong(lines: Lines, line: int, rows: MaskedRows, inside: Mask, own: Mask | None) -> Mask:
    """Mask the rows inside a line whose leaves it may not answer for; ``own`` are those of leaves of its class."""
    beyond = (lines.case.classes == lines.classes[line]) & ~lines.answers(line)  # of its class, with another share
    if own is None:
        return inside
    right, leaves = inside & own, lines.case.leaves[beyond]
    if len(leaves) > FEW_LEAVES:
        some = list_rows(right)
        is_wrong = np.zeros(rows.n_rows, dtype=bool)
        is_wrong[some[beyond[rows.leaf_places[some]]]] = True
        right &= ~pack(is_wrong)
    elif len(leaves):
        right &= ~np.bitwise_or.reduce(rows.passing[leaves], axis=0)
    return inside & ~right


def decide_rows(case: Case, part: Chunk) -> NDArray[np.int64]:
    """Find the line that decides each row: the first rule of its section that it satisfies, else "otherwise"."""
    lines, found = Lines(case, case.record["list"]), []
    for rows in case.mask(part):
        found.append(np.empty(rows.n_rows, dtype=np.int64))
        for line, _, won in lines.decide(rows):
            found[-1][list_rows(won)] = line
    return np.concatenate(found or [np.zeros(0, dtype=np.int64)])
