"""Every field of stored rules, and who checks it: this table is read by the reader, the checker and the documentation.

A field that is not listed here is rejected when a file is read. What people see of a field that nobody checked is named
in ``Verification.unchecked``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from secateur.errors import FormatError


class Check(Enum):
    """Who checks a field."""

    PROVED = "proved"  # rejected when the file is read, or refuted by the checker, from the file alone
    RECOUNTED = "recounted (with rows)"
    COMPARED = "compared (with the model)"
    STATED = "taken as stated"


class Field(NamedTuple):
    """One field of a file."""

    check: Check
    meaning: str
    seen: str = ""  # what people see of it, as `unchecked` names it; empty if they see nothing


PROVED, RECOUNTED, COMPARED, STATED = Check
COUNTS = "supports, reliabilities and class counts"
SPLITS = "the splits of the tree"
MEASURED, ASKED = "how often rules and model agree", "how the surrogate was made"

# By path; "[]" stands for each element of a list.
FIELDS: Mapping[str, Field] = {
    "format": Field(PROVED, '`"secateur-rules"`'),
    "version": Field(PROVED, "`3`"),
    "secateur": Field(STATED, "version of secateur that wrote the file; sentences of another version are not compared"),
    "method": Field(PROVED, "the method that deleted"),
    "parameters": Field(PROVED, "its settings"),
    "parameters.tolerance": Field(PROVED, "ε of `faithful`, `mismatch` and the guard of `budgeted`"),
    "parameters.protect": Field(PROVED, "whether `faithful` keeps mismatched conditions inside H"),
    "parameters.rf_tol": Field(PROVED, "a class share that changes by no more along an edge counts as unchanged"),
    "parameters.domain": Field(RECOUNTED, "where the listed cases come from", "the listed cases"),
    "parameters.monotone": Field(PROVED, "stated signs, one for each column"),
    "parameters.certificate": Field(PROVED, "the certified domain, in words"),
    "parameters.max_conflict": Field(RECOUNTED, "the share of training rows that may be in conflict"),
    "parameters.smoothing": Field(STATED, "weight of shuffled rows", "how deletions were priced"),
    "parameters.alpha": Field(STATED, "level of Fisher's test", "the level of Fisher's test"),
    "parameters.ties": Field(
        STATED, "which of two equally good conditions `quinlan` deletes first", "how ties were broken"
    ),
    "parameters.domain_knowledge": Field(PROVED, "false if the stated facts were not used"),
    "budget": Field(RECOUNTED, "fraction of training rows whose answer may differ from the tree's"),
    "tolerance": Field(
        RECOUNTED,
        "of a list: how far a line's share may lie from that of a row's own leaf; 1 keeps classes only",
    ),
    "guarantee": Field(PROVED, "what is preserved, in a sentence"),
    "is_ranked": Field(PROVED, "whether the counts come from rows, so that overlapping rules can be ranked"),
    "is_weighted": Field(
        RECOUNTED, "whether the counts are sums of weights rather than numbers of rows", "whether rows have weights"
    ),
    "of": Field(STATED, "the class of interest, by whose share lines were ordered when they were made; null for none"),
    "sections": Field(PROVED, "the node at which each section begins, as printed; null with one rule per leaf"),
    "lines": Field(PROVED, "every line that answers, as printed"),
    "lines[].section": Field(PROVED, "place of its section; null with one rule per leaf"),
    "lines[].share": Field(
        PROVED,
        "the share of its class that the line states; null where only classes are kept, and with one rule per leaf",
    ),
    "lines[].window": Field(PROVED, "the least and the largest share of the leaves that it may answer for, or null"),
    "lines[].leaf_id": Field(PROVED, 'node id of the leaf that the rule comes from; null for "otherwise"'),
    "lines[].prediction": Field(PROVED, "the class label"),
    "lines[].class_counts": Field(
        RECOUNTED,
        "(weighted) training rows of each class: those that a line of a list decides, so that all lines add up to all "
        "rows; with one rule per leaf, those that satisfy the rule. Null where not known",
        COUNTS,
    ),
    "lines[].stands_for": Field(
        PROVED,
        "node ids of the leaves that lie in the line, in source order; of “otherwise”, those of its section that "
        "lie in no rule; with one rule per leaf, its own leaf",
    ),
    "lines[].text": Field(PROVED, "the line with exact numbers"),
    "lines[].reasons": Field(PROVED, "for each edge of the leaf's path, root to leaf"),
    "lines[].reasons[].link_id": Field(PROVED, "the edge"),
    "lines[].reasons[].deleted": Field(PROVED, "whether its condition was deleted"),
    "lines[].reasons[].text": Field(PROVED, "why it was deleted or kept"),
    "leaves": Field(PROVED, "what became of the rule of each leaf, in columns"),
    "leaves.leaf_ids": Field(PROVED, "by leaf: node id"),
    "leaves.predictions": Field(PROVED, "by leaf: class label"),
    "leaves.offsets": Field(
        PROVED, "leaf `i` has the edges `links[offsets[i]]` to `links[offsets[i + 1] - 1]`, root to leaf"
    ),
    "leaves.links": Field(PROVED, "by edge: node id of its child"),
    "leaves.leaf_counts": Field(
        RECOUNTED, "by leaf: (weighted) training rows of each class that reach it; null where not known", COUNTS
    ),
    "written": Field(
        PROVED,
        "of a list: what became of the paths of its rules, in the order of the lines; null with one rule per leaf",
    ),
    **{
        f"{part}.{name}": field
        for part in ("leaves", "written")
        for name, field in {
            "class_counts": Field(
                RECOUNTED,
                "by leaf: (weighted) training rows of each class that satisfy its rule after deletion; null where not "
                "known",
                COUNTS,
            ),
            "deleted": Field(PROVED, "by edge: 1 if its condition was deleted, else 0"),
            "kinds": Field(PROVED, "the kinds of reasons"),
            "kind": Field(PROVED, "by edge: place of its reason's kind in `kinds`"),
            "node": Field(
                PROVED, "by edge: the node that the reason points at, -1 for none (see the kinds of reasons)"
            ),
            **{
                number: Field(PROVED, "by edge: a number behind the reason, or null (see the kinds of reasons)")
                for number in ("before", "after", "number")
            },
        }.items()
    },
    "tree": Field(PROVED, "the source tree, see [tree-format.md](tree-format.md)"),
    "tree.format": Field(PROVED, '`"secateur-tree"`'),
    "tree.version": Field(PROVED, "`1`"),
    "tree.dtype": Field(COMPARED, "the type that a value is rounded to before it is compared", SPLITS),
    "tree.classes": Field(COMPARED, "class labels", "class labels"),
    "tree.class_names": Field(COMPARED, "how the classes are shown", "names of classes"),
    "tree.n_features": Field(COMPARED, "number of columns", SPLITS),
    "tree.feature_names": Field(COMPARED, "names of the columns", "names of columns"),
    "tree.accepts_missing": Field(COMPARED, "by column: whether it may be missing", "which columns may be missing"),
    "tree.categories": Field(COMPARED, "by column: its categories", "names of categories"),
    "tree.monotone": Field(COMPARED, "signs that the tree was fitted with", "the signs of the fitted tree"),
    **{
        f"tree.{name}": Field(COMPARED, meaning, SPLITS)
        for name, meaning in {
            "children_left": "by node: left child, -1 for a leaf",
            "children_right": "by node: right child, -1 for a leaf",
            "feature": "by node: the column that is tested",
            "threshold": "by node: the largest number that goes left",
            "missing_left": "by node: whether a missing value goes left",
            "category_offsets": "where the categories of each node begin",
            "category_codes": "codes of the categories that go left",
            "leaf_class": "by node: class of a leaf",
        }.items()
    },
    "tree.counts": Field(
        COMPARED, "by node: (weighted) rows of each class that the tree counted", "counts of the tree"
    ),
    "tree.columns": Field(COMPARED, "the columns before a pipeline"),
    "tree.columns.cuts": Field(COMPARED, "limits of numbers that are asked by cell", "columns before the pipeline"),
    "tree.columns.closed": Field(COMPARED, "whether other categories are rejected", "columns before the pipeline"),
    "tree.columns.ranges": Field(COMPARED, "numbers that the pipeline has a value for", "columns before the pipeline"),
    "tree.columns.derived": Field(COMPARED, "columns that the pipeline makes", "columns before the pipeline"),
    "tree.columns.remarks": Field(COMPARED, "sentences for a reader of the rules", "remarks on the columns"),
    "tree.facts": Field(PROVED, "stated facts; the guarantee names those that it assumes"),
    **{
        f"tree.facts.{name}": Field(RECOUNTED, meaning, "that the rows satisfy the stated facts")
        for name, meaning in {
            "integers": "columns of whole numbers",
            "decimals": "columns, and the most decimals of their numbers",
            "claims": "what holds for every row",
            "groups": "columns of zeros and ones that stand for one category",
            "implications": "what follows from what",
        }.items()
    },
    "tree.facts.orders": Field(PROVED, "categories in their order"),
    **{
        f"tree.facts.{part}.{name}": Field(PROVED, meaning)
        for part in ("claims[]", "implications[].premise", "implications[].conclusion")
        for name, meaning in {
            "subject": "a column, or the number of columns plus the place of a group",
            "low": "numbers are above it; null for none",
            "high": "numbers are not above it; null for none",
            "codes": "codes of categories",
            "missing": "whether a missing value satisfies it",
            "text": "the same in words; other words than those of its numbers are rejected",
        }.items()
    },
    "tree.facts.implications[].premise": Field(PROVED, "where this holds"),
    "tree.facts.implications[].conclusion": Field(PROVED, "this holds, too"),
    "tree.facts.groups[].name": Field(STATED, "name of the group", "names of groups"),
    "tree.facts.groups[].features": Field(PROVED, "its columns"),
    "tree.facts.groups[].labels": Field(PROVED, "what each column stands for: what its name adds to the group's"),
    "tree.facts.orders[].feature": Field(PROVED, "the column"),
    "tree.facts.orders[].codes": Field(PROVED, "codes of its categories, rising"),
    "tree.facts.orders[].text": Field(PROVED, "the same in words"),
    "tree.column_parsers": Field(COMPARED, "by column: how its texts are read", "how texts of columns are read"),
    **{
        f"tree.column_parsers[].{name}": Field(COMPARED, meaning, "how texts of columns are read")
        for name, meaning in {
            "kind": "number, date, clock or text",
            "unit": "the sign beside a number",
            "unit_first": "whether it stands before",
            "thousands": "what separates thousands",
            "decimal": "what stands before decimals",
            "order": "of day, month and year",
            "step": "to which dates and times are rounded down",
        }.items()
    },
    "approximation": Field(
        PROVED, "for rules that [approximate a model](approximate.md): how often they agree with it, else null"
    ),
    **{
        f"approximation.{name}": Field(COMPARED, meaning, MEASURED)
        for name, meaning in {
            "model": "what the rules approximate, such as `a RandomForestClassifier`",
            "seed": "of the split into rows to learn from and held-out rows; null if other rows were held out",
            "n_building": "rows that the surrogate was fitted to",
            "n_held_out": "rows held out",
            "counts": "held-out rows by the line that decides them and the class that the model says; a last column "
            "for classes that the rules do not know",
            "leaf_counts": "held-out rows of each leaf in source order, and those on which rules and model agree",
        }.items()
    },
    **{
        f"approximation.{name}": Field(COMPARED, meaning, "how often rules and model are right")
        for name, meaning in {
            "n_right": "held-out rows that the rules answer correctly; null without labels",
            "n_model_right": "the same of the model",
            "guess": "the commonest label of the held-out rows, and its rows; null without labels",
        }.items()
    },
    "approximation.fidelity": Field(PROVED, "share of held-out rows on which rules and model agree"),
    "approximation.interval": Field(PROVED, "its 95 % interval (Clopper and Pearson)"),
    **{
        f"approximation.{name}": Field(STATED, meaning, ASKED)
        for name, meaning in {
            "n_neighbours": "shuffled neighbours of the rows that the surrogate was fitted to",
            "n_queries": "all rows that the model was asked about",
            "expected": "the fidelity that cross-validation expected",
            "wanted": "the fidelity that was asked for, or null",
        }.items()
    },
    "digest": Field(
        PROVED,
        "sha256 of all other fields. It guards against accidents and careless edits; it is not a signature",
    ),
}


class Behind(NamedTuple):
    """Who checks the numbers behind reasons of a kind, and the node that they point at; None where there is none."""

    before: Check | None = None
    after: Check | None = None
    number: Check | None = None
    node: Check | None = None
    meaning: str = ""


SHIFT = "`number`: change of the class share along the edge"
RELIABLE = "`before`, `after`: reliability of the leaf, and of the rule without the condition"
FACTORS = Behind(STATED, STATED, STATED, None, "`before`, `after`: certainty factors; `number`: Fisher's p")
CONFLICT = Behind(
    *(STATED, STATED, STATED, None),
    "`before`, `after`: share of training and shuffled rows in conflict, before and without the condition; `number`: "
    "of training rows, what the deletion added, or what would be in conflict",
)
DIFFERING = Behind(
    *(STATED, STATED, STATED, None),
    "`before`, `after`: share of training and shuffled rows that are off, before and without the condition; "
    "`number`: of training rows, what the deletion added, or what would be off",
)

REASONS: Mapping[str, Behind] = {
    "sibling-leaf": Behind(node=PROVED, meaning="`node`: the sibling"),
    "no-foreign-leaf": Behind(RECOUNTED, RECOUNTED, meaning=f"of `faithful`: {RELIABLE}"),
    "feature-redundant": Behind(),
    "finite-domain": Behind(
        *(None, RECOUNTED, PROVED), meaning=f"`after`: rows of the domain that satisfy the rule; {SHIFT}"
    ),
    "monotone": Behind(number=PROVED, meaning=SHIFT),
    "reliability-joint": Behind(RECOUNTED, RECOUNTED, PROVED, meaning=f"{RELIABLE}; {SHIFT}"),
    "reliability-step": Behind(RECOUNTED, RECOUNTED, PROVED, meaning=f"{RELIABLE}; {SHIFT}"),
    "certainty-kept": FACTORS,
    "not-significant": FACTORS,
    "within-budget": CONFLICT,
    "paid": DIFFERING,
    "within-window": Behind(),
    "untouched": Behind(),
    "not-certified": Behind(),
    "matched": Behind(number=PROVED, meaning=SHIFT),
    "neutral": Behind(number=PROVED, meaning=SHIFT),
    "inside-h": Behind(number=PROVED, node=PROVED, meaning=f"{SHIFT}; `node`: the root of H"),
    "reliability-moves": Behind(RECOUNTED, RECOUNTED, PROVED, meaning=f"{RELIABLE}; {SHIFT}"),
    "domain-refutes": Behind(number=PROVED, node=RECOUNTED, meaning=f"{SHIFT}; `node`: a row of the domain"),
    "direction-refutes": Behind(number=PROVED, node=STATED, meaning=f"{SHIFT}; `node`: an edge that no sign covers"),
    "significant": FACTORS,
    "no-rows": Behind(number=PROVED, meaning=SHIFT),
    "over-budget": CONFLICT,
    "too-dear": DIFFERING,
    "keeps-out": Behind(node=PROVED, meaning="`node`: a leaf that the line may not answer for, and would meet"),
    "heading": Behind(),
    "too-unreliable": Behind(RECOUNTED, STATED, meaning=RELIABLE),
    "contradicted": Behind(RECOUNTED, STATED, node=STATED, meaning=f"{RELIABLE}; `node`: the leaf of the other rule"),
}


def check_fields(content: Mapping[str, Any], path: str = "") -> None:
    """Reject a field that is not in the table.

    Examples
    --------
    >>> check_fields({"format": "secateur-rules", "approved": True})
    Traceback (most recent call last):
    ...
    secateur.errors.FormatError: The rules JSON has a field 'approved' that no version of it has; it was edited.
    """
    for name, value in content.items():
        inside = f"{path}{name}"
        if inside not in FIELDS:
            raise FormatError(f"The rules JSON has a field {inside!r} that no version of it has; it was edited.")
        if isinstance(value, Mapping):
            check_fields(value, f"{inside}.")
        elif isinstance(value, list) and f"{inside}[]" in LISTS:
            for one in value:
                if isinstance(one, Mapping):
                    check_fields(one, f"{inside}[].")


LISTS = {path[: path.index("[]", start) + 2] for path in FIELDS for start in range(len(path)) if "[]" in path[start:]}


def describe_fields() -> str:
    """Write the table of fields in Markdown, as the documentation shows it."""
    rows = (f"| `{path}` | {field.meaning} | {field.check.value} |" for path, field in FIELDS.items())
    return "\n".join(["| field | meaning | check |", "|---|---|---|", *rows])


def describe_reasons() -> str:
    """Write the table of the kinds of reasons in Markdown."""
    rows = (f"| `{kind}` | {behind.meaning} | {'; '.join(_say(behind))} |" for kind, behind in REASONS.items())
    return "\n".join(["| kind | numbers | check |", "|---|---|---|", *rows])


def _say(behind: Behind) -> Iterator[str]:
    named = {name: check for name, check in behind._asdict().items() if isinstance(check, Check)}
    for check in Check:
        names = [f"`{name}`" for name, own in named.items() if own is check]
        if names:
            yield f"{', '.join(names)}: {check.value}"
