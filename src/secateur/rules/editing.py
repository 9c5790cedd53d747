"""Edit a list: strike a line or a column, give a line another class, round limits, and count what that costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, ParameterError, did_you_mean, shorten
from secateur.methods import Deletions, Why
from secateur.methods.contract import check_whole, is_whole
from secateur.methods.leaves import CLASSES_ONLY, LeafMasks, list_places, make_mask
from secateur.rows.row_source import ModelTerms
from secateur.rules.edits import Edit, Edits, Price, count_price, read_edit
from secateur.rules.lines import MOST_LEAVES, Layout, count_lines, find_next_lines, find_open
from secateur.rules.rule import Rule
from secateur.tree.columns import find_cuts
from secateur.tree.regions import meet_regions, read_links
from secateur.words.conditions import MAX_DIGITS, ROUNDINGS, join_conditions, read_conditions

if TYPE_CHECKING:
    from secateur.rows.rows import LabelledRows
    from secateur.rules.rules import Rules
    from secateur.tree.tree import Tree

MOST_REGIONS = 500


class Changed(NamedTuple):
    """A region in which an edited list gives another class than the tree."""

    text: str  # with exact numbers
    conditions: tuple[Any, ...]  # the same, a column each; where limits were rounded, the leaf's before the lines'
    tree_class: str  # names of the class that the tree gives its rows, and of the one that the list gives them
    list_class: str


class Editable:
    """Lists that can be edited: each edit gives a new list that says what it costs."""

    def strike(self, line: int | Rule, column: str | int | None = None, *, reason: str = "") -> Rules:
        """Strike a line, or what it asks of a column; later lines and "otherwise" take over the rows.

        Striking the "otherwise" of a section joins the section to its sibling's, whose "otherwise" stays.

        Parameters
        ----------
        line : int or Rule
            Index into :attr:`lines`.
        column : str or int, default=None
            Strike only what the line asks of this column; its heading stays.
        reason : str, default=""
            Why, for the journal.

        Returns
        -------
        Rules
            The edited list; its ``guarantee`` and :attr:`price` say on how many rows it differs from the tree.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> import secateur
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
        >>> rules = secateur.simplify(model, X, y)
        >>> edited = rules.strike(0, reason="too few rows")
        >>> edited.price.differs, edited.price.off, edited.price.rows
        (19.0, 19.0, 569.0)
        """
        name = None if column is None else _name_column(self._list, column)
        return apply_edits(self._list, [Edit("strike", self._number(line), name, reason=reason)])

    def without(self, column: str | int, *, reason: str = "") -> Rules:
        """Ask no line and no heading about a column; sections that it tells apart become one.

        Parameters
        ----------
        column : str or int
        reason : str, default=""
        """
        return apply_edits(self._list, [Edit("without", column=_name_column(self._list, column), reason=reason)])

    def answer(self, line: int | Rule, to: Any, *, reason: str = "") -> Rules:
        """Let a line give another class.

        Parameters
        ----------
        line : int or Rule
            Index into :attr:`lines`.
        to : label or name of a class
        reason : str, default=""
        """
        return apply_edits(self._list, [Edit("answer", self._number(line), to=to, reason=reason)])

    def rounded(self, *, reason: str = "") -> Rules:
        """Write each limit as the shortest decimal between its neighbouring training values.

        No training row changes side; a value between an old and a new limit does.

        Parameters
        ----------
        reason : str, default=""
        """
        return apply_edits(self._list, [Edit("rounded", reason=reason)])

    def limit(self, *, lines: int, reason: str = "") -> Rules:
        """Strike lines until so many are left, each time the one whose loss changes fewest training rows.

        Parameters
        ----------
        lines : int
            Lines that may be left, "otherwise" of each section among them.
        reason : str, default=""
        """
        return _limit(apply_edits(self._list, ()), check_whole("lines", lines), reason)

    def replay(self, journal: Iterable[Edit | Mapping[str, Any]]) -> Rules:
        """Make the edits of a journal again, in their order, and count what they cost.

        Parameters
        ----------
        journal : iterable of Edit, or of dicts as ``Edit.to_dict`` gives them
        """
        plain = (one.to_dict() if isinstance(one, Edit) else one for one in journal)
        return apply_edits(self._list, [read_edit(one) for one in plain])

    @property
    def journal(self) -> tuple[Edit, ...]:
        """The edits that were made, first to last."""
        return self._edits.journal

    @property
    def price(self) -> Price | None:
        """What all edits cost on the training rows; None without edits, or where the rows are not at hand."""
        return self._edits.training

    @property
    def unseen_price(self) -> Price | None:
        """The same on rows that had no part in making the rules; see :meth:`measure`."""
        return self._edits.unseen

    def changed(self) -> tuple[Changed, ...]:
        """Find exactly where the list gives another class than the tree: regions that do not overlap."""
        _check_list(self._list, "Finding where a list differs from its tree")
        return tuple(_find_changed(self._list))

    @property
    def _edits(self) -> Edits:
        return self._list.making.edits or Edits(())

    @property
    def _list(self) -> Rules:
        return self  # type: ignore[return-value]

    def _number(self, line: Any) -> int:
        place = line.index if isinstance(line, Rule) else line
        n_lines = self._list.n_lines
        if not is_whole(place):
            raise ParameterError(f"Expected a line as an index into lines, or one of them, found {line!r}.")
        if not -n_lines <= place < n_lines:
            raise ParameterError(f"There is no line {place}: the list has {n_lines}, from 0 to {n_lines - 1}.")
        return int(place) % n_lines + 1


def _check_list(rules: Rules, what: str) -> None:
    if not rules.is_list:
        raise ParameterError(f"{what} needs a list: make one with simplify(model, X, y), without each_leaf.")
    rules.tree.require_classes(what)


def apply_edits(rules: Rules, edits: Sequence[Edit]) -> Rules:
    """Make edits one after another, and count what all edits of the list cost together."""
    _check_list(rules, "Editing")
    if rules.fidelity is not None:
        raise ParameterError(
            f"These rules approximate {rules.fidelity.model}, and an edit would leave their fidelity unknown: edit the "
            "list of the surrogate tree, simplify(rules.tree, X, y)."
        )
    if rules.paths.n_rules > MOST_LEAVES:
        raise InputError(f"Edits are for trees of at most {MOST_LEAVES:,} leaves, found {rules.paths.n_rules:,}.")
    for edit in edits:
        rules = _apply(rules, edit)
    return rules if rules.making.edits is None else price_edits(rules)


def price_edits(rules: Rules) -> Rules:
    """Count the rows of each line, and what the edits cost, on training rows and unseen ones that are at hand."""
    edits, unseen = rules.making.edits, rules.unseen
    assert edits is not None
    counted = count_lines(rules.change(unseen=None), rules.training)
    training = None if rules.training is None else count_price(counted, rules.training)
    making = replace(rules.making, edits=replace(edits, training=training, unseen=None))
    priced = counted.change(making=making)
    if unseen is None or unseen.rows is None:
        return priced
    again = priced.measure(*unseen.rows)
    assert again.unseen is not None
    return again.change(unseen=replace(again.unseen, split=unseen.split))


def _apply(rules: Rules, edit: Edit) -> Rules:
    """Make one edit, without counting."""
    draft, index = _Draft(rules), -1
    if edit.line is not None:
        index = edit.line - 1
        if not 0 <= index < rules.n_lines:
            raise ParameterError(f"There is no line {edit.line}: the list has {rules.n_lines}.")
        text = Rule(rules, index).text
        if edit.was is not None and edit.was != text:
            raise InputError(
                f"Line {edit.line} is “{text}”, but the journal edits “{edit.was}”: it was made for another list."
            )
        edit = edit._replace(was=text)
    if edit.edit == "rounded":
        made, edit = _round(draft.finish(), edit)
    else:
        if edit.edit == "without":
            draft.leave_out(find_features(rules.tree, edit.column), str(edit.column))
        elif edit.edit == "answer":
            class_id = find_class(rules, edit.to, "to answer")
            draft.give(index, class_id)
            edit = edit._replace(to=rules.tree.classes[class_id].item())
        elif edit.column is None:
            draft.strike(index)
        else:
            draft.strike_column(index, find_features(rules.tree, edit.column), edit.column)
        made = draft.finish()
    before = rules.making.edits
    edits = Edits((*rules.journal, edit), tolerance=rules.tolerance if before is None else before.tolerance)
    return made.change(making=replace(made.making, edits=edits), stored=None)


@dataclass
class _Line:
    """A line of a draft; the place of an "otherwise" is -1."""

    place: int
    class_id: int


@dataclass
class _Section:
    node: int
    lines: list[_Line] = field(default_factory=list)  # rules, then its "otherwise"


class _Draft:
    """A list that is being edited."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.paths = rules, rules.paths
        self.deletions = Deletions(**{name: np.array(values) for name, values in vars(rules.deletions).items()})
        self.sections = [_Section(node) for node in rules.list_layout.nodes.tolist()]
        for line in rules.lines:
            self.sections[line._section].lines.append(_Line(line.place, line.class_id))

    def _find(self, index: int) -> tuple[_Section, _Line]:
        return [(section, line) for section in self.sections for line in section.lines][index]

    def strike(self, index: int) -> None:
        """Strike a line; an "otherwise" with its section."""
        section, line = self._find(index)
        if line.place >= 0:
            self._drop(section, line)
        elif section.node == 0:
            raise ParameterError(
                "The only “otherwise” cannot be struck, because every row needs an answer: give it another one, "
                "answer(line, class)."
            )
        else:
            self._join(int(self.paths.parent[section.node]), section)

    def strike_column(self, index: int, features: Collection[int], name: str) -> None:
        """Strike what a line asks of a column beside its heading."""
        section, line = self._find(index)
        entries = self._list_entries(section, line, features)
        if not len(entries):
            raise ParameterError(f"Line {index + 1} does not ask about {name!r} beside its heading.")
        if len(entries) == len(self._list_entries(section, line, None)):
            raise ParameterError(f"Line {index + 1} asks about nothing but {name!r}: strike the line.")
        self._delete(entries)

    def leave_out(self, features: Collection[int], name: str) -> None:
        """Strike a column everywhere, headings among them."""
        feature, parent = self.rules.tree.feature, self.paths.parent
        is_asked = False
        while True:
            asking = (
                int(parent[link])
                for section in self.sections
                for link in self.paths.list_path(section.node)  # root to leaf
                if feature[parent[link]] in features
            )
            top = next(asking, None)
            if top is None:
                break
            is_asked = True
            self._join(top, None)
        for section in self.sections:
            for line in [one for one in section.lines if one.place >= 0]:
                entries = self._list_entries(section, line, features)
                is_asked |= bool(len(entries))
                if len(entries) and len(entries) == len(self._list_entries(section, line, None)):
                    self._drop(section, line)
                else:
                    self._delete(entries)
        if not is_asked:
            raise ParameterError(f"No line and no heading asks about {name!r}.")

    def give(self, index: int, class_id: int) -> None:
        """Give a line another class."""
        _, line = self._find(index)
        if line.class_id == class_id:
            raise ParameterError(f"Line {index + 1} predicts {self.rules.tree.class_names[class_id]} already.")
        line.class_id = class_id

    def _list_entries(self, section: _Section, line: _Line, features: Collection[int] | None) -> NDArray[np.int64]:
        """List the conditions of a line beside its heading, of some columns or of all."""
        span = self.paths.entries(line.place)
        depth = int(self.rules.tree.node_depth[section.node])
        entries = np.arange(span.start + depth, span.stop)
        entries = entries[~self.deletions.deleted[entries]]
        if features is None:
            return entries
        tested = self.rules.tree.feature[self.paths.parent[self.paths.links[entries]]]
        return entries[np.isin(tested, list(features))]

    def _delete(self, entries: NDArray[np.int64]) -> None:
        self.deletions.forget(entries)
        self.deletions.delete(entries, Why.STRUCK)

    def _drop(self, section: _Section, line: _Line) -> None:
        """Write a rule no longer: it is again as its method left it."""
        section.lines.remove(line)
        assert self.rules.choice is not None
        span = self.paths.entries(line.place)
        for name, values in vars(self.rules.choice.deletions).items():
            getattr(self.deletions, name)[span] = values[span]

    def _join(self, node: int, struck: _Section | None) -> None:
        """Join all sections below a node; the "otherwise" of the one with most training rows stays, not a struck one.

        Rows of a section are those of its leaves, which no edit moves: a journal means the same with and without rows.
        """
        first, last = self.rules.tree.leaf_runs
        rows = np.nan_to_num(self.rules.leaf_counts.sum(axis=1))
        parts = [part for part in self.sections if first[node] <= first[part.node] and last[part.node] <= last[node]]
        joined = _Section(node)
        depth = int(self.rules.tree.node_depth[node])
        for part in parts:
            joined.lines += part.lines[:-1]
            for line in part.lines[:-1]:
                begin = int(self.paths.offsets[line.place])
                heading = np.arange(begin + depth, begin + int(self.rules.tree.node_depth[part.node]))
                self.deletions.forget(heading)
                self.deletions.keep(heading, Why.KEEPS_OUT)
        left = (part for part in parts if part is not struck)
        most = max(left, key=lambda part: float(rows[first[part.node] : last[part.node]].sum()))
        joined.lines.append(most.lines[-1])
        at = self.sections.index(parts[0])
        self.sections = [part for part in self.sections if part not in parts]
        self.sections.insert(at, joined)

    def finish(self) -> Rules:
        """Give the list, its rows not counted; it promises no shares, so its lines state none."""
        rules, paths = self.rules, self.paths
        masks, (first, last) = LeafMasks(rules.walked, paths), rules.tree.leaf_runs
        contained: list[list[int]] = []
        for section in self.sections:
            left = make_mask(range(int(first[section.node]), int(last[section.node]))) & masks.possible
            whole = left
            for line in section.lines[:-1]:
                span = paths.entries(line.place)
                kept = paths.links[span][~self.deletions.deleted[span]].tolist()
                # A leaf that a condition keeps out is named only if it still has another class than the line.
                node = self.deletions.node[span]
                is_kept_out = (self.deletions.why[span] == Why.KEEPS_OUT) & (node >= 0)
                node[is_kept_out & (rules.tree.leaf_class[node] == line.class_id)] = -1
                inside = masks.inside(masks.edge(link) for link in kept) & whole
                contained.append(list_places(inside))
                left &= ~inside
            contained.append(list_places(left))
        lines = [line for section in self.sections for line in section.lines]
        leaves = np.array([line.place for line in lines if line.place >= 0], dtype=np.int64)
        answers = np.array([line.class_id for line in lines if line.place >= 0], dtype=np.int64)
        layout = Layout(
            nodes=np.array([section.node for section in self.sections], dtype=np.int64),
            defaults=np.array([section.lines[-1].class_id for section in self.sections], dtype=np.int64),
            starts=np.cumsum([0, *(len(section.lines) - 1 for section in self.sections)]),
            shares=np.full(len(lines), np.nan),
            windows=np.full((len(lines), 2), np.nan),
            offsets=np.cumsum([0, *map(len, contained)]),
            contained=np.array([place for some in contained for place in some], dtype=np.int64),
            answers=None if (answers == paths.leaf_class[leaves]).all() else answers,
        )
        return rules.change(
            making=replace(rules.making, tolerance=CLASSES_ONLY),
            leaves=leaves,
            layout=layout,
            deletions=self.deletions,
            decided_counts=None,
            unseen=rules.unseen,  # whose rows are counted anew
        )


def _limit(rules: Rules, most: int, reason: str) -> Rules:
    """Strike one line after another, sections first if even their "otherwise" are too many."""
    edits: list[Edit] = []
    while rules.n_lines > most:
        layout = rules.list_layout
        if layout.n_sections > most:
            rest = layout.rest_lines[layout.nodes > 0]
            line = int(rest[np.argmin(rules.support[rest])]) if rules.is_ranked else int(rest[-1])
        else:
            line = _find_cheapest(rules)
        edit = Edit("strike", line + 1, reason=reason or f"at most {most} lines")
        edits.append(edit)
        rules = count_lines(_apply(rules, edit), rules.training)
    if not edits:
        raise ParameterError(f"The list has {rules.n_lines} lines, no more than {most}: nothing is struck.")
    return price_edits(rules)


def _find_cheapest(rules: Rules) -> int:
    """Find the rule without which the fewest training rows get another class than from the tree."""
    listed = _hold(rules, "Which line costs least is counted on training rows")
    heavy = np.ones(listed.rows.n_rows) if listed.weights is None else listed.weights
    leaf, line = rules.find_places(listed.rows)
    said, class_ids = rules.paths.leaf_class[leaf], rules.class_ids
    then = class_ids[find_next_lines(rules, listed.rows, line)]
    wrong = (then != said).astype(float) - (class_ids[line] != said)
    rule_lines = rules.list_layout.rule_lines
    return int(rule_lines[np.bincount(line, heavy * wrong, rules.n_lines)[rule_lines].argmin()])


def _hold(rules: Rules, why: str) -> LabelledRows:
    if rules.training is None:
        raise InputError(
            f"{why}, and rules from a file hold no rows: make them with simplify(model, X, y), or name the table."
        )
    with rules._open(*rules.training) as source:
        return source.hold(lambda: ModelTerms.of(rules.tree), why).read_labelled(rules.tree)


def _round(rules: Rules, edit: Edit) -> tuple[Rules, Edit]:
    """Give limits few digits, by the training values beside them, or as a journal says."""
    tree = rules.tree
    threshold = np.array(tree.threshold)
    rows = _hold(rules, "Limits are rounded between training values").rows
    limits = []
    for feature in np.unique(tree.feature[~tree.is_leaf]).tolist():
        if tree.categories[feature] is not None or find_cuts(tree, feature) is not None:
            continue
        if feature in tree.facts.group_of or tree.column_parser(feature) is not None:
            continue
        values = np.unique(rows.read(0, rows.n_rows, np.array([feature])))
        values = values[np.isfinite(values)]
        nodes = np.flatnonzero((tree.feature == feature) & ~tree.is_leaf)
        own = np.unique(tree.upper[nodes])
        gap = np.searchsorted(values, own, side="right")
        for limit, place in zip(own.tolist(), gap.tolist(), strict=True):
            if 0 < place < len(values) and (gap == place).sum() == 1:
                short = _shorten_limit(limit, float(values[place - 1]), float(values[place]))
                for node in nodes[tree.upper[nodes] == limit].tolist():
                    if short != float(tree.threshold[node]):
                        limits.append((node, float(tree.threshold[node])))
                        threshold[node] = short
    if not limits:
        raise ParameterError("No limit has a shorter decimal between its neighbouring training values.")
    return replace(rules, tree=replace(tree, threshold=threshold)), edit._replace(limits=tuple(limits))


def _shorten_limit(limit: float, below: float, above: float) -> float:
    """Find the shortest decimal from a value on and below the next, the nearest to a limit between them."""
    exact = Decimal(limit)
    for digits in range(1, MAX_DIGITS + 1):
        tried = {context.create_decimal(exact) for context in ROUNDINGS[digits]}
        fitting = [float(one) for one in tried if below <= float(one) < above]
        if fitting:
            return min(fitting, key=lambda one: abs(one - limit))
    return limit


def _find_changed(rules: Rules) -> Iterable[Changed]:
    """List the regions in which a list gives another class than its tree, leaf by leaf."""
    tree, source, paths, names = rules.tree, rules.source_tree, rules.paths, rules.tree.class_names
    class_ids = rules.class_ids.tolist()
    found: list[tuple[list[int], list[int], int, int]] = []

    def is_possible(leaf: list[int], links: list[int]) -> bool:
        regions = meet_regions([*read_links(source, paths, leaf), *read_links(tree, paths, links)])
        return not any(region.is_empty for region in regions.values())

    def visit(leaf: list[int], links: list[int], lines: list[tuple[int, list[int]]], own: int) -> None:
        if all(class_ids[line] == own for line, _ in lines) or not is_possible(leaf, links):
            return
        if len(found) >= MOST_REGIONS:
            raise InputError(f"The list differs from the tree in more than {MOST_REGIONS} regions: look at rows.")
        (line, still), later = lines[0], lines[1:]
        if class_ids[line] != own and is_possible(leaf, [*links, *still]):
            found.append((leaf, [*links, *still], own, class_ids[line]))
        for place, link in enumerate(still):
            visit(leaf, [*links, *still[:place], int(paths.sibling[link])], later, own)

    decided_by, asked = find_open(rules)
    every = [(line.index, list(line.kept_ids)) for line in rules.lines]
    for place, own in enumerate(paths.leaf_class.tolist()):
        leaf = paths.links[paths.entries(place)].tolist()
        lines = [*asked.get(place, []), (decided_by[place], [])]
        if source is not tree:  # limits were rounded: a leaf's rows may lie in other sections, too
            lines = [one for one in every if is_possible(leaf, one[1])]
        visit(leaf, [], lines, own)
    for leaf, links, own, given in found:
        if source is tree:
            leaf, links = [*leaf, *links], []
        conditions = (*read_conditions(source, paths, leaf), *read_conditions(tree, paths, links))
        yield Changed(join_conditions(conditions), conditions, names[own], names[given])


def _name_column(rules: Rules, column: Any) -> str:
    found = find_features(rules.tree, column)
    return rules.tree.feature_name(*found) if is_whole(column) else str(column)


def find_features(tree: Tree, column: Any) -> set[int]:
    """Find the features of a column, by index or name; of a group of columns for one category, all of them."""
    if is_whole(column):
        if not 0 <= column < tree.n_features:
            raise ParameterError(f"There is no column {column}: the tree has {tree.n_features}.")
        return {int(column)}
    names = [tree.feature_name(feature) for feature in range(tree.n_features)]
    groups = {group.name: set(group.features) for group in tree.facts.groups}
    if isinstance(column, str) and column in groups:
        return groups[column]
    if column not in names:
        hint = did_you_mean(column, [*names, *groups]) if isinstance(column, str) else ""
        raise ParameterError(f"There is no column {column!r}.{hint}")
    return {feature for feature, name in enumerate(names) if name == column}


def find_class(rules: Rules, named: Any, what: str, also: str = "") -> int:
    """Find a class by its label or its name."""
    labels = rules.tree.classes.tolist()
    if isinstance(named, np.generic):
        named = named.item()
    for names in (labels, list(rules.tree.class_names)):
        if named in names:
            return names.index(named)
    hint = did_you_mean(named, [str(label) for label in labels]) if isinstance(named, str) else ""
    raise ParameterError(f"There is no class {named!r} {what}: the classes are {shorten(labels)}{also}.{hint}")
