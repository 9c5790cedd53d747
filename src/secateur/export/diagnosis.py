"""A diagnosis for people and machines: in words, as a short table, as HTML, as CSV and as plain values."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from secateur.export.csv import write_csv
from secateur.export.html import write_notebook_table
from secateur.results.deletion_effects import PairEffect, PairEffects, format_points
from secateur.results.diagnosis import Diagnosis, DiagnosisRow
from secateur.tree.shares import none_if_nan
from secateur.tree.tree import Tree
from secateur.words.conditions import (
    count_of,
    count_points,
    format_count,
    format_link,
    format_share,
    join_conditions,
    read_conditions,
)

SHOWN_CONDITIONS = 12  # of the short table
SHOWN_IN_NOTEBOOK = 200
WIDEST_CONDITION = 48
HEAD = ("leaf", "predicts", "condition", "status", "presumed", "D alone", "effect")

NO_COUNTS = "unknown: the tree carries no class counts"
EFFECTS = {
    "positive-relevance": "positive relevance: the rule is less reliable without it",
    "negative-relevance": "negative relevance: it sets apart rows of lower reliability",
    "probabilistic-irc": "probabilistic IRC: reliability hardly depends on it",
}


def explain_words(diagnosis: Diagnosis) -> str:
    """Say what the words of the text mean."""
    tree, signs = diagnosis.tree, ""
    if tree.n_classes == 2:
        signs = f"C1, C0: the share of {tree.class_names[1]} rises (C1) or falls (C0) where the condition is met. "
    words = (
        f"{signs}Matched: there the share of the rule's own class rises; mismatched: it falls. H: the largest part of "
        "the tree around the leaf in which all leaves predict its class. IRC: irrelevant condition."
    )
    if known := _list_facts(tree):
        words = f"{words} Certificates are about rows that satisfy: {'; '.join(known)}."
    if not diagnosis.has_rows:
        return words
    effect = "by how much the rule's reliability changes when the condition alone goes, on the rows that were counted."
    return f"{words} D: {effect}"


def _list_facts(tree: Tree) -> list[str]:
    facts = tree.facts
    words = [str(fact) for fact in (*facts.implications, *facts.claims, *facts.groups)]
    return words + [tree.describe_decimals(feature) for feature in facts.decimals_of]


def diagnosis_to_text(diagnosis: Diagnosis, leaf_ids: Collection[int] | None = None, *, pairs: bool = False) -> str:
    """Write each rule, and below it every condition with its three layers in words."""
    return "\n".join(_write_lines(diagnosis, leaf_ids, pairs=pairs))


def _write_lines(diagnosis: Diagnosis, leaf_ids: Collection[int] | None, *, pairs: bool) -> Iterator[str]:
    wanted = diagnosis.leaf_ids if leaf_ids is None else leaf_ids
    found = _find_pairs(diagnosis, wanted) if pairs else None
    for place, leaf_id in enumerate(wanted):
        rows = diagnosis.of_leaf(leaf_id)
        if place:
            yield ""
        yield _read_rule(diagnosis, leaf_id, rows)
        for row in rows:
            yield f"  {row.condition}"
            for layer, words in _read_layers(diagnosis, row):
                yield f"    {layer:<11}  {words}"
        if not rows:
            yield "  The tree is one leaf: its rule has no condition."
        if found is not None and len(rows) > 1:
            yield from _read_pairs(diagnosis, found.of_leaf(leaf_id))


def _find_pairs(diagnosis: Diagnosis, leaf_ids: Collection[int]) -> PairEffects:
    """Find the pairs of one rule, or of all in one look at the rows."""
    return diagnosis.pairs(next(iter(leaf_ids)) if len(leaf_ids) == 1 else None)


def _read_rule(diagnosis: Diagnosis, leaf_id: int, rows: Sequence[DiagnosisRow]) -> str:
    tree, paths = diagnosis.tree, diagnosis._paths
    rule = diagnosis.leaf_ids.index(leaf_id)
    asked = join_conditions(read_conditions(tree, paths, [row.link_id for row in rows]))
    name = tree.class_names[paths.leaf_class[rule]]
    support, share = diagnosis._leaf_counts[rule].sum(), diagnosis._reliability[rule]
    told = f"   ({_read_rows(diagnosis, support)}, {format_share(share)} {name})" if diagnosis.has_rows else ""
    return f"Rule {rule + 1} (leaf {leaf_id}): {asked} => {name}{told}"


def _read_rows(diagnosis: Diagnosis, support: float) -> str:
    return f"weight {format_count(support)}" if diagnosis.is_weighted else count_of(support, "row")


def _read_layers(diagnosis: Diagnosis, row: DiagnosisRow) -> Iterator[tuple[str, str]]:
    """Word the layers of a condition, and its certificate if it has one."""
    name = row.class_name
    yield "orientation", _read_orientation(diagnosis, row, name)
    yield "status", NO_COUNTS if diagnosis._paths.share is None else _read_status(row, name)
    if row.effect_size is not None and row.effect is not None:
        bound = f"±{count_points(diagnosis.tolerance)}"
        side = "within" if row.effect == "probabilistic-irc" else "beyond"
        yield (
            "effect",
            f"without it {_read_rows(diagnosis, row.support_without or 0)}, {format_share(row.reliability_without)} "
            f"{name}: D = {format_points(row.effect_size)}, {side} {bound}; {EFFECTS[row.effect]}",
        )
    elif diagnosis.has_rows:
        yield "effect", "unknown: no training row satisfies the rule"
    if row.exact:
        yield (
            "certificate",
            f"the class does not need it: without it the tree still says {name} wherever the rule holds",
        )


def _read_orientation(diagnosis: Diagnosis, row: DiagnosisRow, name: str) -> str:
    paths, share = diagnosis._paths, diagnosis._paths.share
    if share is None:
        return NO_COUNTS
    own = diagnosis.tree.leaf_class[row.leaf_id]
    before, after = (none_if_nan(share[node, own]) for node in (paths.parent[row.link_id], row.link_id))
    if before is None or after is None:
        return "neutral: no row of the tree's own came this way"
    if row.status == "neutral":
        return f"neutral: the share of {name} stays at {format_share(before)}"
    verb = "rises" if row.status == "matched" else "falls"
    sign = f" ({row.orientation})" if diagnosis.tree.n_classes == 2 else ""
    return f"the share of {name} {verb} from {format_share(before)} to {format_share(after)}{sign}"


def _read_status(row: DiagnosisRow, name: str) -> str:
    if row.status == "matched":
        return f"matched: it points to {name}"
    if row.status == "neutral":
        return "neutral: it points neither way"
    if row.inside_h:
        return (
            f"mismatched, inside H (all leaves around predict {name}): {row.presumption}; it may set apart a part "
            f"where {name} is less certain, so it is protected"
        )
    return f"mismatched, outside H: it points away from {name}; {row.presumption}, a candidate for deletion"


def _read_pairs(diagnosis: Diagnosis, found: PairEffects) -> Iterator[str]:
    listed = found.strongest()
    if not listed:
        yield "  pairs: no two conditions interact: D of both together is the sum of D of each alone"
        return
    yield "  pairs that interact most: D of both together, against the sum of D of each alone"
    for pair in listed:
        one, two = (format_link(diagnosis.tree, diagnosis._paths, link) for link in pair.link_ids)
        yield f"    {one}  with  {two}"
        yield f"      {_read_pair(pair)}"


def _read_pair(pair: PairEffect) -> str:
    if pair.alone is None or pair.effect_size is None or pair.interaction is None:
        return "unknown"
    return (
        f"together {format_points(pair.effect_size)} ({pair.effect}), alone {format_points(pair.alone[0])} and "
        f"{format_points(pair.alone[1])}: interaction {format_points(pair.interaction)}"
    )


def diagnosis_to_table(diagnosis: Diagnosis) -> str:
    """Write the first conditions as a table of few columns."""
    opening = _read_opening(diagnosis)
    cells = [[_shorten(cell) for cell in _make_cells(row)] for row in diagnosis[:SHOWN_CONDITIONS]]
    if not cells:
        return f"<{opening}>"
    widths = [max(map(len, column)) for column in zip(HEAD, *cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (HEAD, *cells)]
    rest = len(diagnosis) - len(cells)
    more = [f"… and {rest:,} more: print(diagnosis.to_text()), or diagnosis.to_frame()"] if rest else []
    return "\n".join([f"<{opening}>", *(line.rstrip() for line in lines), *more])


def diagnosis_to_html(diagnosis: Diagnosis) -> str:
    """Write the conditions as a small HTML table for notebooks."""
    rows = [_make_cells(row) for row in diagnosis[:SHOWN_IN_NOTEBOOK]]
    rest = len(diagnosis) - SHOWN_IN_NOTEBOOK
    more = [f"… and {rest:,} more conditions: see to_text() or to_frame()."] if rest > 0 else []
    return write_notebook_table(HEAD, rows, before=[_read_opening(diagnosis)], after=more)


def _read_opening(diagnosis: Diagnosis) -> str:
    counted = count_of(len(diagnosis), "condition")
    rules = count_of(len(diagnosis.leaf_ids), "rule")
    return f"Diagnosis of {counted} of {rules}, ε = {diagnosis.tolerance:g}"


def _make_cells(row: DiagnosisRow) -> list[str]:
    status = f"{row.status}, inside H" if row.inside_h else row.status
    size = "unknown" if row.effect_size is None else format_points(row.effect_size).removesuffix(" points")
    return [str(row.leaf_id), row.class_name, row.condition, status, row.presumption or "", size, row.effect or ""]


def _shorten(cell: str) -> str:
    return cell if len(cell) <= WIDEST_CONDITION else f"{cell[: WIDEST_CONDITION - 1]}…"


def diagnosis_to_dict(
    diagnosis: Diagnosis, leaf_ids: Collection[int] | None = None, *, pairs: bool = False
) -> dict[str, Any]:
    """Give the rules with their conditions as plain values."""
    rules = []
    wanted = diagnosis.leaf_ids if leaf_ids is None else leaf_ids
    found = _find_pairs(diagnosis, wanted) if pairs else None
    for leaf_id in wanted:
        rows = diagnosis.of_leaf(leaf_id)
        rule = diagnosis.leaf_ids.index(leaf_id)
        asked = read_conditions(diagnosis.tree, diagnosis._paths, [row.link_id for row in rows])
        support, share = (none_if_nan(n) for n in (diagnosis._leaf_counts[rule].sum(), diagnosis._reliability[rule]))
        record: dict[str, Any] = {
            "rule": rule + 1,
            "leaf_id": leaf_id,
            "prediction": diagnosis.tree.classes[diagnosis.tree.leaf_class[leaf_id]].item(),
            "text": join_conditions(asked),
            "support": support,
            "reliability": share,
            "conditions": [asdict(row) for row in rows],
        }
        if found is not None:
            record["pairs"] = [asdict(pair) for pair in found.of_leaf(leaf_id)]
        rules.append(record)
    return {
        "tolerance": diagnosis.tolerance,
        "is_weighted": diagnosis.is_weighted,
        "facts": _list_facts(diagnosis.tree),
        "rules": rules,
    }


def diagnosis_to_csv(diagnosis: Diagnosis, leaf_ids: Collection[int] | None = None) -> str:
    """Write a line for each condition; what is not known is empty."""
    names = list(diagnosis._make_columns(np.zeros(0, dtype=np.int64)))
    listed = diagnosis if leaf_ids is None else (row for leaf in leaf_ids for row in diagnosis.of_leaf(leaf))
    return write_csv(names, ([getattr(row, name) for name in names] for row in listed))
