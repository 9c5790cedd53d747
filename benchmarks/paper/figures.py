"""The paper's figures of trees, drawn from real trees."""

from collections.abc import Callable
from html import escape

import numpy as np

from secateur.rules.rule import Rule
from secateur.simplification import simplify
from secateur.tree.builder import TreeBuilder
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree
from secateur.words.conditions import format_link


def orientation_tree() -> Tree:
    """Build the tree of the C1/C0 figure: class-1 share 0.70 splits into 0.40 and 0.90."""
    builder = TreeBuilder(classes=[0, 1], feature_names=["x"])
    root = builder.split("x", 0)
    builder.leaf([24, 16], parent=root, side="left")
    builder.leaf([6, 54], parent=root, side="right")
    return builder.build()


def assimilation_tree() -> Tree:
    """Build the tree of the assimilation figure: below the prefix, N_r (0.70, leaves 0.40 and 0.80) and N_3 (0.95)."""
    builder = TreeBuilder(classes=[0, 1], feature_names=["prefix", "x", "z"])
    root = builder.split("prefix", 0)
    builder.leaf([800, 200], parent=root, side="left")
    middle = builder.split("x", 0, parent=root, side="right")
    refined = builder.split("z", 0, parent=middle, side="left")
    builder.leaf([6, 4], parent=refined, side="left")
    builder.leaf([6, 24], parent=refined, side="right")
    builder.leaf([8, 152], parent=middle, side="right")
    return builder.build()


def assimilated_rule() -> Rule:
    """Find the rule of leaf N_2 (node 5) after Quinlan's procedure: the path to its ancestor N_m (node 2) is left."""
    tree = assimilation_tree()
    # (prefix, x, z) of the rows in each leaf; what a leaf does not test is as often on one side as on the other.
    places = {
        1: [(-1, x, z) for x in (-1, 1) for z in (-1, 1)],
        4: [(1, -1, -1)],
        5: [(1, -1, 1)],
        6: [(1, 1, -1), (1, 1, 1)],
    }
    X, y = [], []
    for leaf, points in places.items():
        for class_id, count in enumerate(np.asarray(tree.counts)[leaf]):
            X += [points[number % len(points)] for number in range(int(count))]
            y += [class_id] * int(count)
    return next(rule for rule in simplify(tree, np.array(X), y, method="quinlan", each_leaf=True) if rule.leaf_id == 5)


def sibling_tree() -> Tree:
    """Build the tree of the sibling figure, with shares that it does not give: the link that goes is a matched one."""
    builder = TreeBuilder(classes=[0, 1], feature_names=["x", "z"])
    root = builder.split("x", 0)
    builder.leaf([40, 60], parent=root, side="left")
    inner = builder.split("z", 0, parent=root, side="right")
    builder.leaf([4, 76], parent=inner, side="left")
    builder.leaf([16, 4], parent=inner, side="right")
    return builder.build()


def sibling_rule() -> Rule:
    """Find the rule of leaf L_1 (node 3) after the sibling-certified deletion."""
    return next(rule for rule in simplify(sibling_tree(), method="sibling", each_leaf=True) if rule.leaf_id == 3)


def sibling_rises(link: int) -> bool:
    """Whether the share of class 1 rises along a link of the sibling figure, so that it is matched for class 1."""
    paths = trace_paths(sibling_tree())
    return paths.share is not None and bool(paths.share[link, 1] > paths.share[paths.parent[link], 1])


def draw_tree(tree: Tree, rule: Rule | None = None) -> str:
    """Draw a tree of two classes as SVG, C1 links blue, C0 links red and dashed; of a rule, its kept links thick."""
    paths = trace_paths(tree)
    shares = [0.0] * tree.n_nodes if paths.share is None else paths.share[:, 1].tolist()
    place = _places(tree, paths.leaf_ids.tolist())
    width, height = 40 + 170 * tree.n_leaves, 90 + 110 * tree.depth
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for link in range(1, tree.n_nodes):
        (x1, y1), (x2, y2) = place[int(paths.parent[link])], place[link]
        rises = shares[link] > shares[int(paths.parent[link])]
        style = 'stroke="#1f4e9c"' if rises else 'stroke="#b03a2e" stroke-dasharray="6 4"'
        thick = 4 if rule is not None and link in rule.kept_ids else 2
        parts.append(f'<line x1="{x1}" y1="{y1 + 22}" x2="{x2}" y2="{y2 - 22}" {style} stroke-width="{thick}"/>')
        gone = ", deleted" if rule is not None and link in rule.deleted_ids else ""
        label = f"{'C1' if rises else 'C0'}: {format_link(tree, paths, link)}{gone}"
        side = ("end", -8) if x2 < x1 else ("start", 8)  # beside the line, away from its twin
        parts.append(
            f'<text x="{(x1 + x2) / 2 + side[1]}" y="{(y1 + y2) / 2}" text-anchor="{side[0]}">{escape(label)}</text>'
        )
    for node, (x, y) in enumerate(place):
        is_leaf = bool(tree.is_leaf[node])
        fill = "#f2f2f2" if not is_leaf else "#dbe7f6" if tree.leaf_class[node] == 1 else "#f6dedb"
        title = f"leaf {node}: class {tree.class_names[tree.leaf_class[node]]}" if is_leaf else f"node {node}"
        parts.append(
            f'<rect x="{x - 62}" y="{y - 22}" width="124" height="44" rx="6" fill="{fill}" stroke="#333"/>'
            f'<text x="{x}" y="{y - 4}" text-anchor="middle">{escape(title)}</text>'
            f'<text x="{x}" y="{y + 13}" text-anchor="middle">p1 = {shares[node]:.2f}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _places(tree: Tree, leaf_ids: list[int]) -> list[tuple[float, float]]:
    """Find the centre of each node: leaves side by side, a parent above the middle of its children."""
    places = [(0.0, 0.0)] * tree.n_nodes
    column = {node: place for place, node in enumerate(leaf_ids)}
    for depth, level in reversed([*enumerate(tree.levels)]):
        for node in level.tolist():
            below = tree.children_left[node], tree.children_right[node]
            x = 105 + 170 * column[node] if node in column else (places[below[0]][0] + places[below[1]][0]) / 2
            places[node] = x, 45 + 110 * depth
    return places


# The figures that are drawn without matplotlib.
FIGURES: dict[str, Callable[[], str]] = {
    "c1c0.svg": lambda: draw_tree(orientation_tree()),
    "assimilation.svg": lambda: draw_tree(assimilation_tree(), assimilated_rule()),
    "sibling.svg": lambda: draw_tree(sibling_tree(), sibling_rule()),
}
