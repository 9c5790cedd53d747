"""The form of "try a row": what a person can enter, and for each rule values that reach its leaf.

A page holds no row of the data. Its examples are made up: usual values of the columns, changed only where a rule's path
asks for something else.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.report.material import RowsAtHand
from secateur.rows.rows import Rows, apply_tree
from secateur.rules.decision_list import make_column
from secateur.rules.rules import Rules
from secateur.tree.columns import ColumnParser, find_cuts
from secateur.tree.facts import Claim
from secateur.tree.regions import Region, domain_of, pick_number, pick_value, regions_of_links
from secateur.tree.tree import Tree

# Enough rows to know what is usual in a column, taken from all of the table: it may be sorted.
LOOKED_AT = 10_000

Entry = float | int | None
"""What a field holds: a number, the place of a label in its list, or None for missing."""


@dataclass(frozen=True)
class Field:
    """One field of the form.

    Its kind is "number"; "cells", a number that the tree asks by cell; "category", one of some labels; or "group",
    columns of zeros and ones that stand for one category.
    """

    name: str
    kind: str
    features: tuple[int, ...]  # of the tree, that it fills
    labels: tuple[Any, ...] = ()  # choices of a category or group; one more place is for any other, or for none
    takes_unlisted: bool = False
    takes_missing: bool = False
    cuts: tuple[float, ...] = ()  # limits of the cells
    ends: tuple[float, float] = (-math.inf, math.inf)  # numbers beyond are rejected
    n_decimals: int | None = None  # of a number, if known
    decimals_fact: str | None = None  # that knowledge in words
    held: Region | None = None  # possible values; a row with another one gets an answer, but no guarantee
    claims: tuple[Claim, ...] = ()  # the facts that say so
    reading: ColumnParser | None = None  # of a column of amounts, dates or times
    seen: tuple[float, ...] = ()  # least number of the training rows, quartiles, largest

    @property
    def choices(self) -> range:
        """The places that a label can have."""
        return range(len(self.labels) + self.takes_unlisted)

    def _record_region(self, region: Region) -> dict[str, Any]:
        codes = None if region.codes is None or not self.labels else sorted(region.codes)
        return {"missing": region.missing, "low": _finite(region.low), "high": _finite(region.high), "codes": codes}

    def record(self, usual: Entry) -> dict[str, Any]:
        """Give the field as plain values; None stands for no bound."""
        own, known = self.reading, None
        moment = {"kind": own.kind, "step": own.step} if own is not None and own.is_moment else None
        if self.held is not None:
            claims = [{"text": str(claim), **self._record_region(claim.region)} for claim in self.claims]
            known = {**self._record_region(self.held), "claims": claims}
        as_they_are = ("name", "kind", "takes_unlisted", "takes_missing", "n_decimals", "decimals_fact")
        return {
            **{name: getattr(self, name) for name in as_they_are},
            **{name: list(getattr(self, name)) for name in ("features", "cuts", "seen")},
            "labels": [str(label) for label in self.labels],
            "lowest": _finite(self.ends[0]),
            "highest": _finite(self.ends[1]),
            "unit": "" if own is None else own.unit,
            "moment": moment,
            "known": known,
            "usual": usual,
        }


def make_form(rules: Rules, at_hand: RowsAtHand) -> dict[str, Any]:
    """List the fields, and for each rule the entries that differ from the usual ones; None where no row was found."""
    tree, paths = rules.tree, rules.paths
    fields = _find_fields(tree)
    seen = at_hand.training or at_hand.measured
    usual = [_find_usual(tree, one, None if seen is None else seen.X) for one in fields]
    if seen is not None:
        fields = [replace(one, seen=_find_seen(one, seen.X)) for one in fields]
    asked = [regions_of_links(tree, paths, paths.links[paths.entries(rule)]) for rule in range(len(rules))]
    made = [_make_example(tree, fields, usual, regions) for regions in asked]
    reached = _send(tree, fields, [usual if entries is None else entries for entries in made])
    return {
        "fields": [one.record(entry) for one, entry in zip(fields, usual, strict=True)],
        "is_tied": bool(tree.facts.implications or tree.facts.orders),
        # Facts may leave a leaf no row that a person would make up; then there is no example rather than a wrong one.
        "examples": [
            {str(at): entry for at, entry in enumerate(entries) if entry != usual[at]}
            if entries is not None and is_own
            else None
            for entries, is_own in zip(made, reached == paths.leaf_ids, strict=True)
        ],
    }


def _finite(end: float) -> float | None:
    return end if math.isfinite(end) else None


def _find_fields(tree: Tree) -> list[Field]:
    """Make a field for each feature that the tree tests; the features of a group share one."""
    fields: dict[int, Field] = {}
    facts = tree.facts
    for feature in np.unique(tree.feature[~tree.is_leaf]).tolist():
        if feature in facts.group_of:
            place = facts.group_of[feature]
            group = facts.groups[place]
            fields[tree.n_features + place] = Field(group.name, "group", group.features, group.labels, True)
            continue
        column, cuts = make_column(tree, feature), find_cuts(tree, feature)
        fields[feature] = Field(
            name=column.name,
            kind="cells" if cuts is not None else "number" if column.labels is None else "category",
            features=(feature,),
            labels=column.labels or (),
            takes_unlisted=column.takes_unlisted,
            takes_missing=column.takes_missing,
            cuts=cuts or (),
            ends=(column.lowest, column.highest),
            n_decimals=facts.decimals_of.get(feature),
            decimals_fact=tree.describe_decimals(feature) if feature in facts.decimals_of else None,
            held=facts.region_of(feature),
            claims=tuple(claim for claim in facts.claims if claim.subject == feature),
            reading=tree.column_parser(feature),
        )
    return list(fields.values())


def _find_usual(tree: Tree, field: Field, rows: Rows | None) -> Entry:
    """Find what is usual in a column: the middle number in few digits, or the label of most rows."""
    if rows is not None:
        spread = np.linspace(0, rows.n_rows - 1, min(rows.n_rows, LOOKED_AT)).astype(np.int64)
        looked_at = rows.take(spread, np.array(field.features))
        if field.kind == "group":
            sums = np.nan_to_num(looked_at).sum(axis=0)
            n_none = len(looked_at) - sums.sum()
            return len(field.labels) if n_none > sums.max() else int(sums.argmax())
        known = looked_at[~np.isnan(looked_at)]
        if len(known) and field.kind == "number":
            middle = float(np.median(known))
            rounded = round(middle, field.n_decimals) if field.n_decimals is not None else float(f"{middle:.4g}")
            return min(max(rounded, field.ends[0]), field.ends[1])
        if len(known):
            code = int(np.bincount(known.astype(np.int64)).argmax())
            return _number_in_cell(field, [code]) if field.kind == "cells" else code
    if field.kind == "group":
        return len(field.labels)
    return _pick_entry(tree, field, domain_of(tree, field.features[0]))


def _find_seen(field: Field, rows: Rows) -> tuple[float, ...]:
    """Find the range of a column of numbers, and its quartiles in few digits; nothing where a cell stands for them."""
    if field.kind != "number" or field.reading is not None:
        return ()
    values = rows.read(0, rows.n_rows, np.array(field.features))
    values = values[np.isfinite(values)]
    return tuple(float(f"{one:.6g}") for one in np.quantile(values, (0, 0.25, 0.75, 1))) if len(values) else ()


def _make_example(
    tree: Tree, fields: list[Field], usual: list[Entry], regions: dict[int, Region]
) -> list[Entry] | None:
    """Make up entries that lie in the regions, usual ones where they do; None where there are none."""
    entries: list[Entry] = []
    for field, entry in zip(fields, usual, strict=True):
        asked = {feature: regions[feature] for feature in field.features if feature in regions}
        if asked and field.kind == "group":
            entry = _pick_of_group(field, entry, asked)
            if entry is None:
                return None
        elif asked and not _allows(tree, field, entry, region := asked[field.features[0]]):
            entry = _pick_entry(tree, field, region)
            if entry is None and not (region.missing and field.takes_missing):
                return None
        entries.append(entry)
    return entries


def _pick_of_group(field: Field, usual: Entry, asked: dict[int, Region]) -> int | None:
    """Pick a label of a group that the conditions on its columns allow, the usual one if possible."""

    def allows(place: int) -> bool:
        return all(
            region.low < float(place < len(field.labels) and field.features[place] == feature) <= region.high
            for feature, region in asked.items()
        )

    return next(filter(allows, [int(usual or 0), *field.choices]), None)


def _allows(tree: Tree, field: Field, entry: Entry, region: Region) -> bool:
    if entry is None:
        return region.missing
    value = _code(tree, field, entry)
    return int(value) in region.codes if region.codes is not None else region.low < value <= region.high


def _pick_entry(tree: Tree, field: Field, region: Region) -> Entry:
    """Pick a plain entry that a region allows; None where only a missing value is left."""
    if field.kind == "category":
        return next((code for code in field.choices if code in (region.codes or ())), None)
    if field.kind == "cells":
        return _number_in_cell(field, sorted(region.codes or ()))
    within = Region(max(region.low, math.nextafter(field.ends[0], -math.inf)), min(region.high, field.ends[1]))
    if not within.has_listed_value:
        return None
    value = pick_value(tree, field.features[0], within)
    return None if value is None else float(value)


def _number_in_cell(field: Field, codes: list[int]) -> float | None:
    limits = (-math.inf, *field.cuts, math.inf)
    for code in codes:
        low, high = max(limits[code], math.nextafter(field.ends[0], -math.inf)), min(limits[code + 1], field.ends[1])
        if low < high:
            return pick_number(low, high, "float64", None)
    return None


def _code(tree: Tree, field: Field, entry: float | int) -> float:
    if field.kind == "cells":
        return float(np.searchsorted(field.cuts, entry, side="left"))
    return float(np.dtype(tree.dtype).type(entry)) if field.kind == "number" else float(entry)


def _send(tree: Tree, fields: list[Field], rows: list[list[Entry]]) -> NDArray[np.int64]:
    """Find the leaf that each row of entries reaches."""
    matrix = np.zeros((len(rows), tree.n_features), dtype=tree.dtype)
    for place, field in enumerate(fields):
        column = [row[place] for row in rows]
        if field.kind == "group":
            for number, feature in enumerate(field.features):
                matrix[:, feature] = [entry == number for entry in column]
        else:
            matrix[:, field.features[0]] = [np.nan if e is None else _code(tree, field, e) for e in column]
    return apply_tree(tree, Rows.of(matrix))
