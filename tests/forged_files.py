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


def entries_of(content: Content, leaf: int) -> range:
    """The places of a leaf's conditions among those of all leaves."""
    columns = content["leaves"]
    place = columns["leaf_ids"].index(leaf)
    return range(columns["offsets"][place], columns["offsets"][place + 1])


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


def find_kept(content: Content, leaves: list[int]) -> int:
    """The first condition of a rule that kept several, of one of these leaves."""
    deleted = content["leaves"]["deleted"]
    for leaf in leaves:
        kept = [entry for entry in entries_of(content, leaf) if not deleted[entry]]
        if len(kept) > 1:
            return kept[0]
    raise ValueError("no rule kept two conditions")


def name_stand_ins(content: Content) -> None:
    """Name for each unwritten rule the first written one that is said to stand for its leaf."""
    for one in content["unwritten"]:
        standing = (line["leaf_id"] for line in content["lines"][:-1] if one["leaf_id"] in line["stands_for"])
        one["covered_by"] = next(standing, None)
