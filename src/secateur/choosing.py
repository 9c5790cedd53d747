"""Choose the lines of a short list: sections, few rules in each, and the class of what none of them covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.training_evidence import RowEvidence
from secateur.errors import InputError, ParameterError
from secateur.methods import Deletions, Why
from secateur.methods.contract import check_share, check_whole, is_number
from secateur.methods.covering import (
    HEADING,
    MANY_LEAVES,
    Candidate,
    Cut,
    Line,
    choose_cut,
    count_sections,
    cover_by,
    cover_large,
    find_cuts,
    sum_prices,
)
from secateur.methods.joint_deletion import Budgeted, JointDeletion, JointRows, Written
from secateur.methods.leaves import CLASSES_ONLY, LeafMasks, Stated, list_places, make_mask, pack_flags
from secateur.methods.row_mixture import mix_rows
from secateur.rows.row_source import GivenRows, ModelTerms, RowSource
from secateur.rules.editing import find_class, find_features
from secateur.rules.lines import Layout, count_lines, count_lists
from secateur.rules.making import Choice
from secateur.rules.rules import Rules
from secateur.tree.paths import Paths
from secateur.tree.regions import regions_of_links
from secateur.tree.tree import Tree
from secateur.words.conditions import count_conditions, count_of, read_conditions

LIST_TOLERANCE = 0.1
BUDGETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)  # a larger budget goes on where these ended
SMOOTHING = 1000  # rows that shuffled copies count for, as in `budgeted`
FEW_LEAVES = 100
NEAR = 1.15  # cuts that are no longer than so many times the shortest are tried under a budget
TINY = 1e-9  # shares are rounded
TOO_DEAR = 1_000  # times its cost: what a condition costs on a column that a list should do without
ROW_BY_ROW, NO_BUDGET = "A budget is spent row by row", ", or leave budget out"


class ListForm(NamedTuple):
    """What a list should be like, as the caller put it."""

    tolerance: Any = None
    sections: Any = "auto"
    otherwise: Any = "auto"
    of: Any = None
    prefer: Any = None
    max_columns: Any = None


PLAIN = ListForm()


def choose_lines(
    rules: Rules, form: ListForm = PLAIN, *, budget: float = 0.0, rows: GivenRows | RowSource | None = None
) -> Rules:
    """Make a list of the rules of all leaves; a budget shortens it further."""
    if form.max_columns is not None:
        return _limit_columns(rules, form, budget, rows)
    chosen = _Choosing(rules, form)
    made = chosen.write(chosen.spend(check_share("budget", budget)))
    del chosen  # to have its memory for the masks of rows
    return count_lines(made, rules.training if rows is None or budget else rows)


def choose_lines_by_budget(rules: Rules, budgets: Iterable[float], form: ListForm = PLAIN) -> list[Rules]:
    """Make the lists of several budgets in one run over the rows, but for budgets that the rules exceed already."""
    chosen, ready = _Choosing(rules, form), []
    for budget in budgets:
        with suppress(BeyondBudgetError):
            ready.append(chosen.spend(check_share("budget", budget)))
    vars(chosen).pop("ways", None)  # to have its memory for the lists, and then for the masks of rows
    made = [chosen.write(one) for one in ready]
    del chosen, ready
    return count_lists(made, rules.training)


def prefer_columns(rules: Rules, costs: Any, max_columns: int | None = None) -> Rules:
    """Choose the lines of a list again, as :meth:`Rules.prefer` does."""
    if not rules.is_list or rules.making.edits is not None:
        raise InputError("Columns are preferred in a list that was not edited: call prefer before any edit.")
    labels = rules.tree.classes
    of = None if rules.making.of is None else labels[rules.making.of]
    left = {line.class_id for line in rules.lines if line.is_otherwise}
    otherwise = labels[left.pop()] if len(left) == 1 and not rules.tree.is_regression else "auto"
    form = ListForm(rules.tolerance, max(len(rules.sections), 1), otherwise, of, costs, max_columns)
    return choose_lines(rules.each_leaf, form, budget=rules.budget, rows=rules.training)


def _limit_columns(rules: Rules, form: ListForm, budget: float, rows: GivenRows | RowSource | None) -> Rules:
    """Make the columns dear that fewest conditions ask, one after another, until few enough are asked: no search."""
    most, costs = check_whole("max_columns", form.max_columns), find_costs(rules, form.prefer)
    dear: set[int] = set()
    least = rules.tree.n_features
    while True:
        tied = {feature: group.features for group in rules.tree.facts.groups for feature in group.features}
        too_dear = [feature for one in dear for feature in tied.get(one, (one,))]
        prices = {**costs, **{feature: TOO_DEAR * costs.get(feature, 1) for feature in too_dear}}
        made = choose_lines(rules, form._replace(prefer=prices, max_columns=None), budget=budget, rows=rows)
        asked = _count_asked(made)
        least = min(least, len(asked))
        if len(asked) <= most:
            return made
        others = [feature for feature in asked if feature not in dear]
        if not others:
            raise InputError(
                f"No list that keeps the promise was found that asks {count_of(most, 'column')} or fewer; one asks "
                f"{least}: raise max_columns, tolerance or budget, or fit the tree on fewer columns."
            )
        dear.add(min(others, key=lambda feature: (-costs.get(feature, 1), asked[feature], feature)))


def _count_asked(made: Rules) -> dict[int, int]:
    """Count the edges of lines and headings by the column that they ask: a group of columns is one, by its first."""
    tree, paths = made.tree, made.paths
    first = {feature: group.features[0] for group in tree.facts.groups for feature in group.features}
    links = [link for line in made.lines for link in line.kept_ids]
    features = tree.feature[paths.parent[np.array(links, dtype=np.int64)]].tolist()
    return dict(Counter(first.get(feature, feature) for feature in features))


def find_costs(rules: Rules, prefer: Any) -> dict[int, float]:
    """Find what a condition on each feature costs, from costs by column; others cost 1."""
    costs: dict[int, Any] = {}
    if not isinstance(prefer, Mapping | None):
        raise ParameterError(f"Expected prefer as costs of columns, such as {{'biopsy': 10}}, found {prefer!r}.")
    for column, cost in (prefer or {}).items():
        if not is_number(cost) or not 0 < cost < np.inf:
            raise ParameterError(f"Expected the cost of {column!r} as a number above 0, found {cost!r}.")
        costs |= dict.fromkeys(find_features(rules.tree, column), cost)
    return costs


class BeyondBudgetError(InputError):
    """The rules of a method are off for more rows than a budget allows, before it is spent."""


class _Path:
    """The lines of a cut under growing budgets."""

    def __init__(self, tree: Tree, paths: Paths, cut: Cut, prepare: Callable[[], JointDeletion]) -> None:
        self.cut, self._prepare = cut, prepare
        self._tree, self._paths = tree, paths
        self._done: dict[float, Budgeted] = {}

    @cached_property
    def _walked(self) -> JointDeletion:
        """The lines on which BUDGETS are spent one after another."""
        return self._prepare()

    @cached_property
    def off(self) -> float:
        """The largest share of rows off, of all or of one class, before anything is spent."""
        return self._prepare().off

    def spend(self, budget: float) -> Budgeted:
        """Spend those of BUDGETS that are smaller, one after another, then this one: no other matters."""
        if budget not in self._done:
            is_step = budget in BUDGETS
            joint = self._walked if is_step else self._prepare()
            for step in (*(one for one in BUDGETS if one < budget), budget):
                if is_step and step in self._done:
                    continue
                spent = joint.spend(step)
                if is_step or step == budget:  # what other lines did on the way, those that are walked have still to do
                    self._done[step] = spent
        return self._done[budget]

    def count(self, budget: float) -> tuple[int, int, int]:
        """Count what is left: conditions as they are printed, headings in full; bounds; and lines."""
        left, paths = self.spend(budget), self._paths
        kept = np.zeros(len(paths.links), dtype=bool)
        lines = [line for cover in self.cut.covers for line in cover.lines]
        for index in np.flatnonzero(left.stays).tolist():
            own = np.array(lines[index].kept, dtype=np.int64)
            own = own[~left.is_deleted[left.begin[index] : left.begin[index + 1]]]
            kept[paths.offsets[lines[index].place] + own] = True
        headings = [read_conditions(self._tree, paths, paths.list_path(node)) for node in self.cut.nodes]
        n_printed = int(count_conditions(self._tree, paths, kept).sum()) + sum(map(len, headings))
        return n_printed, int(kept.sum()) + HEADING * (len(headings) - 1), int(left.stays.sum())


class _Choosing:
    """The rules of all leaves, and what is found of them once for every budget."""

    def __init__(self, rules: Rules, form: ListForm) -> None:
        self.rules, self.tree, self.paths = rules, rules.tree, rules.paths
        self.is_own = rules.method == "exact"  # else the list is made of the method's rules, as they are
        self.default = _find_default(rules, form.otherwise)
        self.of = find_class_of_interest(rules, form.of)
        self.costs = find_costs(rules, form.prefer)
        self.sections = count_sections(form.sections, len(np.unique(self.paths.leaf_class)))
        counts = rules.value_counts
        self.tolerance = CLASSES_ONLY
        if self.tree.is_regression:
            self.tolerance = rules.tolerance
        elif self.is_own:
            self.tolerance = _find_tolerance(form.tolerance, is_known=not np.isnan(counts).any())
        self.values = rules.make_leaf_values(self.tolerance)
        self._off: dict[tuple[int, Any, int], NDArray[np.bool_]] = {}
        self._floats: dict[int, tuple[float, ...]] = {}  # what is stated, by the id that values keep it under
        self._inside: dict[bytes, int] = {}
        self._counted: dict[int, NDArray[np.float64]] = {}  # rows of leaves that are met together, by class

    def price(self, feature: int) -> float:
        """What a condition on a feature costs."""
        return self.costs.get(feature, 1)

    @property
    def is_large(self) -> bool:
        """Whether nobody reads the list of so many leaves: it has one section, and is made by walks."""
        return self.paths.n_rules > MANY_LEAVES

    @cached_property
    def masks(self) -> LeafMasks:
        """The leaves as far as conditions meet and contain them."""
        return LeafMasks(self.rules.walked, self.paths)

    @cached_property
    def cuts(self) -> dict[int, Cut]:
        """The shortest cut for each number of sections, before a budget is spent."""
        if self.is_own and self.is_large:
            cover = cover_large(self.rules.walked, self.paths, self.values, self.default, self.price)
            return {1: Cut((0,), (cover,), *cover.cost)}
        masks, paths, values = self.masks, self.paths, self.values
        if self.is_own:
            return find_cuts(masks, self.rules.walked, paths, values, self.sections.most, self.default, self.price)
        possible = list_places(masks.possible)
        cover = cover_by(self._list_rules(), possible, values.list_windows(possible), values, self.default)
        return {1: Cut((0,), (cover,), *cover.cost)}

    @cached_property
    def cut(self) -> Cut:
        """The cut that is printed."""
        return choose_cut(self.cuts, saving=self.sections.saving)

    def _list_rules(self) -> Iterator[Candidate]:
        """List the rules of a method as lines that may be written."""
        paths, kept = self.paths, ~self.rules.deleted
        costs = sum_prices(self.tree, paths, kept, self.price)
        classes = {c: make_mask(np.flatnonzero(paths.leaf_class == c).tolist()) for c in set(self.values.class_ids)}
        for place, class_id in enumerate(self.values.class_ids):
            own = tuple(np.flatnonzero(kept[paths.entries(place)]).tolist())
            span = paths.entries(place)
            edges = map(self.masks.edge, paths.links[span][kept[span]].tolist())
            inside = self.masks.inside(edges) & classes[class_id]
            yield Candidate(class_id, inside, inside, {place: (own, costs[place])})

    @cached_property
    def evidence(self) -> RowEvidence:
        """The training rows, which a budget is spent on."""
        rules, tree = self.rules, self.tree
        if rules.training is None:
            raise InputError(
                "A budget is spent on training rows, which these rules do not have: make them with "
                "simplify(model, X, y, budget=…), or leave budget out."
            )
        with rules._open(*rules.training) as source:
            held = source.hold(lambda: ModelTerms.of(tree), ROW_BY_ROW, NO_BUDGET)
            return RowEvidence(tree, *held.read_labelled(tree)[:3])

    @cached_property
    def ways(self) -> list[_Path]:
        """The cuts that a budget is spent on: the printed one; of few leaves also short others, 0.1 points shorter."""
        cut = self.cut
        if self.paths.n_rules > FEW_LEAVES:  # to have the memory of the others
            self.cuts = {len(cut.nodes): cut}
        self.masks.forget()
        rows = JointRows(self.tree, mix_rows(self.tree, self.paths, self.evidence.listed, SMOOTHING))
        least = min(cut.n_conditions for cut in self.cuts.values())
        tried = [one for one in self.cuts.values() if one is cut or one.n_conditions <= NEAR * least]
        return [_Path(self.tree, self.paths, one, self._prepare(rows, one)) for one in tried]

    def _prepare(self, rows: JointRows, cut: Cut) -> Callable[[], JointDeletion]:
        """Get the lines of a cut ready to spend budgets on."""
        lines, rest = [], []
        for section, (node, cover) in enumerate(zip(cut.nodes, cut.covers, strict=True)):
            rest.append(self._find_off(cover.otherwise.class_id, self.values.state(cover.to_state), node))
            for line in cover.lines:
                links = self.paths.links[self.paths.entries(line.place)][list(line.kept)]
                own = line.candidate
                features = self.tree.feature[self.paths.parent[links]].tolist()
                costs = np.array(list(map(self.price, features)), float)
                is_off = self._find_off(own.class_id, self.values.state(own.met), node)
                lines.append(Written(section, links, is_off, costs))
        return partial(JointDeletion, rows, cut.nodes, lines, rest)

    def spend(self, budget: float) -> _Chosen:
        """Choose the cut, and shorten its lines under a budget if there is one."""
        rules = self.rules
        if not budget or not len(self.paths.links):
            return _Chosen(self.cut, None, budget)
        if self.is_large:
            raise InputError(
                f"A budget is spent on trees of at most {MANY_LEAVES:,} leaves, and this one has "
                f"{self.paths.n_rules:,}: leave budget out, or prune the tree."
            )
        off = 0.0 if self.is_own else min(way.off for way in self.ways)
        if off > budget + TINY:
            raise BeyondBudgetError(
                f"The rules of {rules.method!r} claim {100 * off:.3g} % of the rows, of all or of one class, for "
                f"another class than the tree, or for two, before anything is spent, beyond the budget of "
                f"{100 * budget:.6g} %: raise the budget, or start from 'exact', which is the default."
            )
        way = min(self.ways, key=lambda way: way.count(budget))
        return _Chosen(way.cut, way.spend(budget), budget)

    def write(self, chosen: _Chosen) -> Rules:
        """Write the lines in the order in which they are printed; rows are not counted yet."""
        rules, (cut, spent, budget) = self.rules, chosen
        first, last = self.tree.leaf_runs
        support = np.nan_to_num(rules.leaf_support)
        rows = [float(support[first[node] : last[node]].sum()) for node in cut.nodes]
        printed = sorted(range(len(cut.nodes)), key=lambda number: (-rows[number], number))
        numbers = np.cumsum([0, *(len(cover.lines) for cover in cut.covers)])
        deletions = rules.deletions.copy(has_numbers=spent is not None or not self.is_large)
        leaves, starts, defaults = list[int](), [0], []
        stated: list[Stated | None] = []
        contained: list[list[int]] = []
        sections = []
        for number in printed:
            node, cover = cut.nodes[number], cut.covers[number]
            section = make_mask(range(int(first[node]), int(last[node])))
            section &= cover.possible if self.is_large else self.masks.possible
            lines = [
                _Kept(line, self.values.state(line.candidate.met), index, node, section)
                for index, line in enumerate(cover.lines, int(numbers[number]))
                if spent is None or spent.stays[index]
            ]
            sections.append((cover, section, lines))
        self._explain(deletions, [one for _, _, lines in sections for one in lines], spent, len(cut.nodes) == 1)
        for cover, section, lines in sections:
            left = set(list_places(section))
            for one in self._order(lines, deletions.deleted):
                places = one.line.candidate.places
                begin, end = (0, 0) if spent is None else spent.begin[one.number :][:2]
                if not self.is_own or (spent is not None and spent.is_deleted[begin:end].any()):
                    places = list_places(self._find_inside(one.line.place, deletions.deleted) & section)
                left.difference_update(places)
                leaves.append(one.line.place)
                stated.append(one.stated)
                contained.append(places)
            stated.append(self.values.state(cover.to_state))
            contained.append(sorted(left))
            defaults.append(cover.otherwise.class_id)
            starts.append(len(leaves))
        nan, floats = float("nan"), self._floats  # many lines state the same, in the lists of many budgets
        for key, some in {id(some): some for some in stated if id(some) not in floats}.items():
            floats[key] = (self.values.to_float(some), *((nan, nan) if some is None else map(float, some[1:])))
        said = np.array([floats[id(some)] for some in stated])
        layout = Layout(
            nodes=np.array([cut.nodes[number] for number in printed], dtype=np.int64),
            defaults=np.array(defaults, dtype=np.int64),
            starts=np.array(starts, dtype=np.int64),
            shares=said[:, 0].copy(),
            windows=said[:, 1:].copy(),
            offsets=np.cumsum([0, *map(len, contained)]),
            contained=np.array([place for some in contained for place in some], dtype=np.int64),
        )
        making = replace(rules.making, budget=budget, tolerance=self.tolerance, of=self.of)
        written = np.array(leaves, dtype=np.int64)
        choice = Choice(rules.deletions, rules.covered_counts)
        return rules.change(making=making, leaves=written, layout=layout, deletions=deletions, choice=choice)

    def _find_inside(self, place: int, deleted: NDArray[np.bool_]) -> int:
        """Find the leaves that the conditions contain which the rule of a leaf keeps; many lists keep the same."""
        span = self.paths.entries(place)
        links = self.paths.links[span][~deleted[span]]
        if links.tobytes() not in self._inside:
            self._inside[links.tobytes()] = self.masks.inside(map(self.masks.edge, links.tolist()))
        return self._inside[links.tobytes()]

    def _explain(self, deletions: Deletions, written: Sequence[_Kept], spent: Budgeted | None, is_alone: bool) -> None:
        """Mark what lines keep of the paths of their leaves, and why."""
        places = [one.line.place for one in written]
        begins = self.paths.offsets[places].tolist()
        kept = [begin + np.array(one.line.kept, dtype=np.int64) for begin, one in zip(begins, written, strict=True)]
        entries = np.concatenate([np.zeros(0, dtype=np.int64), *kept])
        if self.is_own and not (is_alone and not self.values.has_shares):
            is_written = np.repeat(np.isin(np.arange(self.paths.n_rules), places), np.diff(self.paths.offsets))
            if deletions.node.flags.writeable:  # else there are no numbers
                deletions.forget(is_written)
            deletions.delete(is_written, Why.WITHIN_WINDOW)
            depths = self.tree.node_depth[[one.node for one in written]].tolist()
            headings = map(np.arange, begins, np.add(begins, depths).tolist())
            deletions.keep(np.concatenate([entries[:0], *headings]), Why.HEADING)
            deletions.keep(entries, Why.KEEPS_OUT)
            if not self.is_large and spent is None:  # else what a condition costs is its reason
                for one, own in zip(written, kept, strict=True):
                    is_off = self._find_off(one.line.candidate.class_id, one.stated, one.node)
                    off = one.section & pack_flags(is_off) << int(self.tree.leaf_runs[0][one.node])
                    edges = [self.masks.edge(link) for link in self.paths.links[own].tolist()]
                    for entry, met in zip(own.tolist(), self.masks.met_without_each(edges), strict=True):
                        found = met & off
                        deletions.node[entry] = self.paths.leaf_ids[(found & -found).bit_length() - 1] if found else -1
        if spent is None:
            return
        paid = np.concatenate([entries[:0], *(np.arange(*spent.begin[one.number :][:2]) for one in written)])
        deletions.delete(entries[spent.is_deleted[paid]], Why.PAID)
        deletions.keep(entries[~spent.is_deleted[paid]], Why.TOO_DEAR)
        deletions.before[entries], deletions.after[entries], deletions.number[entries] = spent.cost[paid].T
        deletions.node[entries] = -1

    def _find_off(self, class_id: int, stated: Stated | None, node: int) -> NDArray[np.bool_]:
        """Mark the leaves below a node that a line is off for; lines of one class that state the same share them."""
        key = class_id, None if stated is None else stated.share, node
        found = self._off.get(key)
        if found is None:
            first, last = (int(ends[node]) for ends in self.tree.leaf_runs)
            found = self._off[key] = self.values.find_off(class_id, stated, slice(first, last))
        return found

    def _order(self, lines: list[_Kept], deleted: NDArray[np.bool_]) -> list[_Kept]:
        """Order the lines of a section by value, by the share of the class of interest, else by class and rows."""
        counted = self._counted

        def rate(kept: _Kept) -> tuple[float, ...]:
            own = kept.line.candidate
            counts = counted.get(own.met)
            if counts is None:
                counts = counted[own.met] = np.nan_to_num(self.rules.leaf_counts[list_places(own.met)]).sum(axis=0)
            if self.tree.is_regression and kept.stated is not None:
                return (-float(kept.stated.share), -float(counts.sum()), kept.line.place)
            if self.of is None:
                return (own.class_id, -float(counts.sum()), kept.line.place)
            share = float(counts[self.of] / max(counts.sum(), 1e-300))
            if kept.stated is not None and (own.class_id == self.of or len(counts) == 2):
                share = float(kept.stated.share) if own.class_id == self.of else 1.0 - float(kept.stated.share)
            return (-share, -float(counts.sum()), kept.line.place)

        ordered = sorted(lines, key=rate)
        if self.is_own or not self.rules.is_ranked:
            return ordered
        places = np.array([kept.line.place for kept in ordered], dtype=np.int64)
        return [ordered[place] for place in keep_ranking(self.rules, deleted, places).tolist()]


class _Chosen(NamedTuple):
    """The lines of a list, and what a budget left of them."""

    cut: Cut
    spent: Budgeted | None
    budget: float


class _Kept(NamedTuple):
    """A line that is written."""

    line: Line
    stated: Stated | None
    number: int  # among the lines that a budget was spent on
    node: int  # where its section begins
    section: int  # the leaves of that


def _find_default(rules: Rules, otherwise: Any) -> int | None:
    """Find the class that the caller named for "otherwise"."""
    if isinstance(otherwise, str) and otherwise == "auto":
        return None
    found = find_class(rules, otherwise, "to leave to otherwise", ", and 'auto' chooses one")
    if found not in rules.paths.leaf_class:
        raise ParameterError(f"No leaf predicts {otherwise!r}: leave otherwise out, or name a class that one predicts.")
    return found


def find_class_of_interest(rules: Rules, of: Any) -> int | None:
    """Find the class that lines are ordered by: the one that was named, or the rarer of two."""
    if of is not None:
        return find_class(rules, of, "of interest")
    if rules.tree.n_classes != 2:
        return None
    counts = np.nan_to_num(rules.leaf_counts).sum(axis=0)
    return int(counts[0] < counts[1]) ^ 1 if counts[0] != counts[1] else 1


def _find_tolerance(asked: float | None, *, is_known: bool) -> float:
    """Settle the tolerance of a list; without counts only classes can be kept."""
    if asked is None:
        return LIST_TOLERANCE if is_known else CLASSES_ONLY
    if asked < CLASSES_ONLY and not is_known:
        raise InputError(
            f"A tolerance of {asked:g} is about the shares of leaves, which this tree does not know: pass X and y, or "
            "tolerance=1, which keeps classes only."
        )
    return asked


MOST_COMPARED = 512  # of more rules, any two of different classes are taken to meet


def keep_ranking(rules: Rules, deleted: NDArray[np.bool_], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Reorder chosen rules minimally so that a higher-ranked rule precedes every rule of another class it overlaps.

    Then the first rule that covers a row is of the class of the one that ranks highest: any other that stands first
    and covers the row too meets it, and would have to stand behind it.
    """
    class_ids = rules.paths.leaf_class[chosen]
    rank = np.empty(len(rules), dtype=np.int64)
    rank[rules.ranking] = np.arange(len(rules))
    goes_first = (class_ids[:, None] != class_ids) & (rank[chosen][:, None] < rank[chosen])
    if len(chosen) <= MOST_COMPARED:
        goes_first &= _find_meetings(rules, deleted, chosen, goes_first | goes_first.T)
    n_before = goes_first.sum(axis=0)
    kept: list[int] = []
    waiting = np.arange(len(chosen))
    while len(waiting):
        ready = waiting[n_before[waiting] == 0]
        same_class = ready[class_ids[ready] == class_ids[kept[-1]]] if kept else ready
        rule = int((same_class if len(same_class) else ready)[0])
        kept.append(rule)
        n_before -= goes_first[rule]
        waiting = waiting[waiting != rule]
    return np.array(kept, dtype=np.int64)


def _find_meetings(
    rules: Rules, deleted: NDArray[np.bool_], chosen: NDArray[np.int64], asked: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Find which of some pairs of rules some row could satisfy both of; facts are left out, which only finds more."""
    tree, paths = rules.tree, rules.paths
    spans = [paths.entries(place) for place in chosen.tolist()]
    regions = [regions_of_links(tree, paths, paths.links[span][~deleted[span]]) for span in spans]
    meets = np.zeros_like(asked)
    for first, second in np.argwhere(np.triu(asked)).tolist():
        one, other = regions[first], regions[second]
        is_apart = any(one[feature].meet(other[feature]).is_empty for feature in one.keys() & other.keys())
        meets[first, second] = meets[second, first] = not is_apart
    return meets
