"""A slow, obvious twin of edits: a list written down, and edited by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles

import secateur


class Plain:
    """A list as a person would write it down: sections of lines, each the edges that it asks and a class."""

    def __init__(self, rules: secateur.Rules) -> None:
        self.tree = rules.tree
        self.sections: list[tuple[int, list[list[Any]]]] = []
        assert rules.layout is not None
        for node, section in zip(rules.layout.nodes.tolist(), rules.sections, strict=True):
            assert section.otherwise is not None
            lines = [[list(line.kept_ids), line.class_id] for line in section.rules]
            self.sections.append((node, [*lines, [None, section.otherwise.class_id]]))
        self.leaf_rows = dict(zip(rules.paths.leaf_ids.tolist(), rules.leaf_counts.sum(axis=1), strict=True))

    def find(self, index: int) -> tuple[int, int]:
        places = [(s, p) for s, (_, lines) in enumerate(self.sections) for p in range(len(lines))]
        return places[index]

    def count(self, section: int) -> float:
        """Training rows that come to a section."""
        node = self.sections[section][0]
        below = oracles.nodes_below(self.tree, node) | {node}
        return sum(float(np.nan_to_num(rows)) for leaf, rows in self.leaf_rows.items() if leaf in below)

    def join(self, node: int, without: int | None) -> None:
        below = oracles.nodes_below(self.tree, node) | {node}
        parts = [s for s, (own, _) in enumerate(self.sections) if own in below]
        lines = [line for s in parts for line in self.sections[s][1][:-1]]
        most = max((s for s in parts if s != without), key=self.count)
        joined = (node, [*lines, self.sections[most][1][-1]])
        kept = [one for s, one in enumerate(self.sections) if s not in parts]
        self.sections = [*kept[: parts[0]], joined, *kept[parts[0] :]]

    def edit(self, one: dict[str, Any]) -> None:
        parent = oracles.parents(self.tree)
        if one["edit"] == "rounded":
            return  # whoever edits gives the tree its new limits

        def asks(link: int, column: str) -> bool:
            return self.tree.feature_name(int(self.tree.feature[parent[link]])) == column

        if one["edit"] == "without":
            while True:
                paths = [oracles.path(self.tree, node) for node, _ in self.sections]
                tops = [parent[link] for path in paths for link in path if asks(link, one["column"])]
                if not tops:
                    break
                self.join(tops[0], None)
            for node, lines in self.sections:
                heading = set(oracles.path(self.tree, node))
                for line in lines[:-1]:
                    line[0] = [link for link in line[0] if not asks(link, one["column"])]
                lines[:-1] = [line for line in lines[:-1] if set(line[0]) - heading]
            return
        s, p = self.find(one["line"] - 1)
        node, lines = self.sections[s]
        if one["edit"] == "answer":
            lines[p][1] = self.tree.classes.tolist().index(one["to"])
        elif one.get("column") is not None:
            heading = set(oracles.path(self.tree, node))
            lines[p][0] = [link for link in lines[p][0] if link in heading or not asks(link, one["column"])]
        elif lines[p][0] is None:
            self.join(parent[node], s)
        else:
            del lines[p]

    def decide(self, row: Any) -> int:
        leaf = oracles.walk(self.tree, row)
        for node, lines in self.sections:
            if leaf in oracles.nodes_below(self.tree, node) | {node}:
                return next(c for links, c in lines if links is None or oracles.satisfies(self.tree, row, links))
        raise AssertionError("a row without a section")
