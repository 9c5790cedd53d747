"""Files of rules with something changed in them, and the digest made anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import secateur
from secateur.export.json import _digest

Content = dict[str, Any]
NUMBERS = ("before", "after", "number")


def forge_file(rules: secateur.Rules, change: Callable[[Content], None], version: str | None = None) -> str:
    """Change a file and make its digest anew; another version's words are not compared."""
    content: Content = json.loads(rules.to_json())
    change(content)
    if version is not None:
        content["secateur"] = version
    sign_again(content)
    return json.dumps(content)


def sign_again(content: Content) -> None:
    content.pop("digest", None)
    content["digest"] = _digest(content)


def word_again(content: Content) -> str:
    """Let the library make the words and the digest of a forged content anew."""
    return secateur.Rules.from_json(json.dumps(content)).change(stored=None).to_json()


def entries_with(columns: Content, kind: str) -> list[int]:
    """The conditions that have a reason."""
    return [entry for entry, code in enumerate(columns["kind"]) if columns["kinds"][code] == kind]


def give_reason(columns: Content, entry: int, kind: str, **changes: Any) -> None:
    """Give a condition another reason, and other numbers behind it; what is not known is None."""
    if kind not in columns["kinds"]:
        columns["kinds"].append(kind)
    columns["kind"][entry] = columns["kinds"].index(kind)
    for name, value in changes.items():
        if columns[name] is None:
            columns[name] = [None] * len(columns["kind"])
        columns[name][entry] = value


def find_spans(content: Content) -> dict[int, range]:
    """The places of the conditions of each written rule among those of ``written``, by the leaf that it is of."""
    offsets, leaf_ids = content["leaves"]["offsets"], content["leaves"]["leaf_ids"]
    spans, begin = {}, 0
    for line in content["lines"]:
        if line["leaf_id"] is not None:
            place = leaf_ids.index(line["leaf_id"])
            end = begin + offsets[place + 1] - offsets[place]
            spans[line["leaf_id"]], begin = range(begin, end), end
    return spans


def find_kept(content: Content, leaves: list[int]) -> int:
    """The first condition of a leaf's rule that kept several, of one of these leaves."""
    columns = content["leaves"]
    for leaf in leaves:
        place = columns["leaf_ids"].index(leaf)
        span = range(columns["offsets"][place], columns["offsets"][place + 1])
        kept = [entry for entry in span if not columns["deleted"][entry]]
        if len(kept) > 1:
            return kept[0]
    raise ValueError("no rule kept two conditions")
