"""Rules as the tree itself, if and else, with equal branches merged: a short text, but no line stands alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from secateur.facts.possible_rows import find_feasible
from secateur.methods.leaf_masks import LeafMasks, list_places
from secateur.methods.leaf_values import Stated
from secateur.words.conditions import count_of, read_count, read_link, read_share
from secateur.words.targets import read_target

if TYPE_CHECKING:
    from secateur.rules.rules import Rules

INDENT = "  "


def nested_to_text(rules: Rules) -> str:
    """Write the tree as if and else; branches that a line of the list could answer for together are one."""
    drawn = _Nested(rules)
    lines = list(drawn.write(0, ""))
    tests = f"{count_of(drawn.n_tests, 'test')}, each written once"
    return "\n".join([*lines, "", f"{tests}. Read from the top: an answer depends on every test above it."])


class _Nested:
    def __init__(self, rules: Rules) -> None:
        self.rules, self.tree, self.paths = rules, rules.tree, rules.paths
        self.values = rules.make_leaf_values(rules.tolerance)
        known = self.tree if not rules.parameters.get("domain_knowledge", True) else find_feasible(self.tree).tree
        self.possible = LeafMasks(known, self.paths).possible
        self.n_tests = 0

    def write(self, node: int, indent: str) -> Iterator[str]:
        first, last = (int(ends[node]) for ends in self.tree.leaf_runs)
        places = [place for place in range(first, last) if self.possible >> place & 1]
        windows = self.values.list_windows(places)
        if len(windows) <= 1 or self.tree.is_leaf[node]:
            class_id = windows[0].class_id if windows else int(self.paths.leaf_class[first])
            stated = self.values.state(windows[0].leaves) if windows else None
            yield f"{indent}{self._answer(class_id, stated, places)}"
            return
        left, right = (int(children[node]) for children in (self.tree.children_left, self.tree.children_right))
        ends = [(int(self.tree.leaf_runs[0][child]), int(self.tree.leaf_runs[1][child])) for child in (left, right)]
        for child, (begin, end) in zip((right, left), ends, strict=True):
            if not list_places(self.possible & ((1 << end) - (1 << begin))):  # nothing comes to the other side
                yield from self.write(child, indent)
                return
        self.n_tests += 1
        yield f"{indent}if {read_link(self.tree, self.paths, left, self.rules.voice)}:"
        yield from self.write(left, indent + INDENT)
        yield f"{indent}else:"
        yield from self.write(right, indent + INDENT)

    def _answer(self, class_id: int, stated: Stated | None, places: list[int]) -> str:
        name = self.tree.class_names[class_id]
        if self.tree.is_regression and stated is not None:
            window = float(stated.low), float(stated.high)
            name, stated = read_target(self.values.to_float(stated), window, self.rules.tolerance), None
        rows = float(self.rules.leaf_support[places].sum())
        share = "" if stated is None else f" {read_share(float(stated.share))}"
        return f"{name}{share}" + ("" if rows != rows else f" ({read_count(rows)})")
