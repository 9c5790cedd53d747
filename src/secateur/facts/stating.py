"""Facts as a caller states them (``0 <= bmi <= 100``), parsed and gathered into the facts of a tree.

``bmi has 1 decimal`` and ``age is a whole number`` say how fine a column's numbers are, ``size is ordered: S < M < L``
which of a column's categories are the larger ones. Other facts are written like conditions. A name that holds an
operator stands between backticks, a label that holds a comma or, in an order, ``<`` between quotes. Numbers are
compared as the tree compares them, rounded to its dtype.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from secateur.errors import ParameterError, did_you_mean, shorten
from secateur.facts.checking import find_columns
from secateur.facts.groups import read_groups
from secateur.facts.possible_rows import check_possible
from secateur.frames import frame_columns, is_listing
from secateur.tree.contract import check_tree
from secateur.tree.facts import NO_FACTS, Claim, Facts, Group, Implication, Order, word_facts
from secateur.tree.regions import MOST_DECIMALS, Region, domain_of
from secateur.tree.tree import Label, Tree

DECIMALS = re.compile(r"^(.+?)\s+(?:is a whole number|has (?:at most )?(\d+) decimals?)$")
ORDERED = re.compile(r"^(.+?)\s+is ordered\s*:?\s*(.+)$")
ARROW = re.compile(r"=>|⇒|\bimplies\b")
BETWEEN = re.compile(r"^(\S+?)\s*(<=|<)\s*(.+?)\s*(<=|<)\s*(\S+)$")
OPERATOR = re.compile(r"<=|>=|!=|==|=|<|>|\bnot in\b|\bin\b|\bis not\b|\bis\b")
OR_MISSING = re.compile(r"\s+or\s+missing$")
LISTED = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^,]+?))\s*(?:,|$)""")
QUOTED_OR_PLAIN = r"""\s*(?:"[^"]*"|'[^']*'|[^<"']+?)\s*"""
UNASKED = "the tree does not ask for it"
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "==": "=="}


class _Subject(NamedTuple):
    obstacle: str | None  # why no fact can be about it
    number: int
    labels: tuple[Label, ...] | None  # of a categorical or a group
    domain: Region


class _Part(NamedTuple):
    """What a fact asks of one subject, as text."""

    name: str
    operator: str
    value: str


class _UnaskedError(Exception):
    """A fact is about a column that the tree does not ask for."""


def parse_facts(tree: Tree, groups: Sequence[Group], facts: object, table: Collection[str] = ()) -> Facts:
    """Read what a caller's sentences say of a tree's columns and groups; the facts returned leave the groups out.

    Facts about other columns of the ``table``, and about those that the tree does not ask for, are noted as unused.
    """
    sentences = list(facts) if is_listing(facts) else [facts]  # type: ignore[call-overload]
    parser = _Parser(tree, groups, table)
    found = [parser.parse(sentence) for sentence in sentences]
    parts = {part.name: tuple(one for own in found for one in getattr(own, part.name)) for part in fields(Facts)}
    decimals = dict(parts["decimals"])  # the last one counts
    return Facts(
        **{
            **parts,
            "integers": tuple(feature for feature, n_decimals in decimals.items() if n_decimals == 0),
            "decimals": tuple((feature, n_decimals) for feature, n_decimals in decimals.items() if n_decimals > 0),
        }
    )


class _Parser:
    def __init__(self, tree: Tree, groups: Sequence[Group], table: Collection[str]) -> None:
        self.dtype, self.n_features = np.dtype(tree.dtype).type, tree.n_features
        self.subjects = {
            tree.feature_name(feature): _Subject(
                _find_obstacle(tree, feature), feature, tree.categories[feature], domain_of(tree, feature)
            )
            for feature in range(tree.n_features)
        }
        for place, group in enumerate(groups):
            whole = Region(codes=frozenset(range(len(group.labels) + 1)))
            self.subjects.setdefault(group.name, _Subject(None, tree.n_features + place, group.labels, whole))
        for name in table:
            self.subjects.setdefault(name, _Subject(UNASKED, -1, None, Region()))

    def parse(self, sentence: object) -> Facts:
        """Read one sentence; a column of whole numbers has 0 decimals here."""
        if not isinstance(sentence, str):
            raise ParameterError(
                f"Expected a fact as text, such as '0 <= bmi <= 100', 'city in {{Paris, Rome}}' or "
                f"'pregnant = yes => sex = female', found {sentence!r}."
            )
        try:
            if (counted := DECIMALS.match(sentence.strip())) is not None:
                return self._read_decimals(sentence, _unquote(counted.group(1)), int(counted.group(2) or 0))
            if (ordered := ORDERED.match(sentence.strip())) is not None:
                return Facts(orders=(self._read_order(sentence, _unquote(ordered.group(1)), ordered.group(2)),))
            for arrow in ARROW.finditer(sentence):
                halves = sentence[: arrow.start()], sentence[arrow.end() :]
                if all(any(self._split(OR_MISSING.sub("", half.strip()))) for half in halves):
                    return Facts(implications=(self._read_implication(sentence, *halves),))
            return Facts(claims=(self._read_claim(sentence),))
        except _UnaskedError:
            return Facts(unused=(sentence.strip(),))

    def _read_decimals(self, sentence: str, name: str, n_decimals: int) -> Facts:
        subject = self._find_subject(name, sentence)
        if subject.labels is not None or n_decimals > MOST_DECIMALS:
            raise ParameterError(
                f"Cannot read the fact {sentence!r}: expected a column of numbers and at most {MOST_DECIMALS} decimals."
            )
        return Facts(decimals=((subject.number, n_decimals),))

    def _read_order(self, sentence: str, name: str, ranked: str) -> Order:
        """Read which categories of a column are the larger ones."""
        subject = self._find_subject(name, sentence)
        if subject.labels is None or subject.number >= self.n_features:
            raise ParameterError(
                f"Cannot read the fact {sentence!r}: expected a column of categories, but {name!r} "
                + ("holds numbers, which are ordered." if subject.labels is None else "is a group of columns.")
            )
        codes = _codes_by_label(subject.labels)
        wanted = _split_order(ranked, codes)
        self._check_labels(sentence, name, wanted, codes)
        found = [codes[label] for label in wanted]
        if len(found) < 2 or len(set(found)) < len(found):
            raise ParameterError(
                f"Cannot read the fact {sentence!r}: expected two categories or more, each once, such as 'S < M < L'."
            )
        return Order(subject.number, tuple(found), sentence.strip())

    def _read_implication(self, sentence: str, premise: str, conclusion: str) -> Implication:
        first, second = self._read(premise), self._read(conclusion)
        if first.subject == second.subject:
            raise ParameterError(f"The fact {sentence!r} is about one column alone; say what that column may hold.")
        return Implication(first, second)

    def _read_claim(self, sentence: str) -> Claim:
        """Read what a sentence says of every row; a bound or a list leaves open whether a value may be missing."""
        claim = self._read(sentence)
        if re.search(r"\bis\s+(not\s+)?missing$", sentence.strip()):
            return claim
        return replace(claim, region=claim.region._replace(missing=True))

    def _read(self, text: str) -> Claim:
        words = text.strip()
        asked = OR_MISSING.sub("", words)
        parts = next(self._split(asked), [])
        subject = self._find_subject(parts[0].name if parts else None, words)
        region = subject.domain._replace(missing=True)
        for part in parts:
            region = region.meet(self._region(words, subject, part))
        missing = asked != words or region.missing
        if missing and not subject.domain.missing:
            raise ParameterError(f"The fact {words!r} speaks of a missing {parts[0].name!r}, but the tree takes none.")
        if not missing and not region.has_listed_value:
            raise ParameterError(f"The fact {words!r} leaves {parts[0].name!r} no value.")
        return Claim(subject.number, region._replace(missing=missing), words)

    def _find_subject(self, name: str | None, words: str) -> _Subject:
        subject = None if name is None else self.subjects.get(name)
        if subject is None:
            first = _unquote(OPERATOR.split(words, maxsplit=1)[0])
            hint = "" if first in self.subjects else did_you_mean(first, self.subjects)
            raise ParameterError(
                f"Cannot read the fact {words!r}: expected a column, <=, <, >=, >, =, != or in, and a value; the "
                f"columns are {shorten(list(self.subjects))}.{hint}"
            )
        if subject.obstacle == UNASKED:
            raise _UnaskedError
        if subject.obstacle is not None:
            raise ParameterError(f"The fact {words!r} cannot be used: {subject.obstacle}.")
        return subject

    def _split(self, text: str) -> Iterator[list[_Part]]:
        """List the ways to read a text as a known name, an operator and a value; the longest name first."""
        between = BETWEEN.match(text)
        if between is not None:
            low, below, middle, above, high = between.groups()
            name = _unquote(middle)
            if name in self.subjects and _is_number(low) and _is_number(high):
                yield [_Part(name, TURNED[below], low), _Part(name, above, high)]
        found = list(OPERATOR.finditer(text))
        for operator in reversed(found):
            name, value = _unquote(text[: operator.start()]), text[operator.end() :].strip()
            if name in self.subjects and value:
                yield [_Part(name, operator.group(), value)]
        for operator in found:
            value, name = text[: operator.start()].strip(), _unquote(text[operator.end() :])
            if name in self.subjects and _is_number(value) and operator.group() in TURNED:
                yield [_Part(name, TURNED[operator.group()], value)]

    def _region(self, words: str, subject: _Subject, part: _Part) -> Region:
        if part.operator in ("is", "is not"):
            if part.value != "missing":
                raise ParameterError(f"Cannot read the fact {words!r}: 'is' goes with 'missing' only; write '='.")
            if part.operator == "is not":
                return subject.domain._replace(missing=False)
            nothing = None if subject.labels is None else frozenset[int]()
            return Region(low=math.inf, codes=nothing, missing=True)
        return self._interval(words, part) if subject.labels is None else self._labels(words, subject, part)

    def _interval(self, words: str, part: _Part) -> Region:
        if part.operator in ("!=", "in", "not in"):
            raise ParameterError(f"Cannot read the fact {words!r}: {part.name!r} holds numbers; give bounds or '='.")
        value = {"true": "1", "false": "0"}.get(part.value.lower(), part.value)
        if not _is_number(value):
            raise ParameterError(f"Cannot read the fact {words!r}: {part.name!r} holds numbers, found {value!r}.")
        with np.errstate(over="ignore"):
            limit = self.dtype(float(value))
            before = float(np.nextafter(limit, self.dtype(-np.inf)))
        low = {">": float(limit), ">=": before, "=": before, "==": before}.get(part.operator, -math.inf)
        high = {"<": before, "<=": float(limit), "=": float(limit), "==": float(limit)}.get(part.operator, math.inf)
        return Region(low, high)

    def _labels(self, words: str, subject: _Subject, part: _Part) -> Region:
        if part.operator in ("<", "<=", ">", ">="):
            raise ParameterError(f"Cannot read the fact {words!r}: {part.name!r} holds categories; use '=' or 'in'.")
        labels = subject.labels or ()
        codes = _codes_by_label(labels)
        many = part.operator in ("in", "not in")
        listed = [next(filter(None, groups), "") for groups in LISTED.findall(part.value.strip("{}()[]"))]
        wanted = listed if many else [_unquote(part.value)]
        self._check_labels(words, part.name, wanted, codes)
        chosen = frozenset(codes[label] for label in wanted)
        is_excluded = part.operator in ("!=", "not in")
        return Region(codes=frozenset(range(len(labels) + 1)) - chosen if is_excluded else chosen)

    def _check_labels(self, words: str, name: str, wanted: Sequence[str], codes: Mapping[str, int]) -> None:
        for label in wanted:
            if label not in codes:
                hint = did_you_mean(label, codes)
                raise ParameterError(
                    f"The fact {words!r} speaks of {label!r}, but {name!r} holds {shorten(list(codes))}.{hint}"
                )


def _codes_by_label(labels: Sequence[Label]) -> dict[str, int]:
    codes = {str(label): code for code, label in enumerate(labels)}
    for code, label in enumerate(labels):  # 1.0 is also 1
        if isinstance(label, float) and label.is_integer():
            codes.setdefault(f"{label:.0f}", code)
    return codes


def _split_order(ranked: str, known: Mapping[str, int]) -> list[str]:
    """Split labels at ``<``; a label that holds one stands between quotes, or has no blanks around it."""
    apart, plain = ([_unquote(part) for part in re.split(mark, ranked)] for mark in (r"\s<\s", "<"))
    quoted = plain
    if re.fullmatch(f"(?:{QUOTED_OR_PLAIN}<)*{QUOTED_OR_PLAIN}", ranked):
        quoted = [_unquote(part) for part in re.findall(f"({QUOTED_OR_PLAIN})(?:<|$)", ranked)]
    return next((labels for labels in (apart, quoted, plain) if all(label in known for label in labels)), quoted)


def _find_obstacle(tree: Tree, feature: int) -> str | None:
    """Describe why no fact can be about a column behind a pipeline."""
    if tree.columns is None:
        return None
    name = tree.feature_name(feature)
    if tree.columns.cuts[feature] is not None:
        return f"the pipeline asks {name!r} by cell, as bins or by a falling function"
    return None if feature in tree.columns.asked or feature in tree.feature else UNASKED


def _unquote(text: str) -> str:
    bare = text.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "`'\"" else bare


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def state_facts(tree: Tree, X: Any, *, groups: Any = None, integers: Any = None, facts: Any = None) -> Tree:
    """Add to a tree what the caller and the types of the columns state about its columns.

    ``groups``, ``integers`` and ``facts`` are those of :func:`secateur.simplify`. The types of a frame ``X`` tell which
    columns hold whole numbers; an array has one type for all columns, which says nothing about any one of them.
    """
    stated = tree.facts
    listed = () if groups is None else read_groups(tree, groups)
    taken = [tree.feature_name(f) for group in listed for f in group.features if f in stated.group_of]
    if taken:
        raise ParameterError(f"The column {taken[0]!r} is in a group already; a column belongs to one group.")
    grouped = stated.groups + listed
    columns = () if X is None or (found := frame_columns(X)) is None else [str(name) for name in found]
    said = NO_FACTS if facts is None else parse_facts(tree, grouped, facts, columns)
    in_group = {feature for group in grouped for feature in group.features}
    if integers is not None and not is_listing(integers):
        raise ParameterError(f"Expected integers as a list of columns, found {integers!r}.")
    listed_whole = find_columns(tree, () if integers is None else integers, "integers names", ", not numbers.", columns)
    typed = {feature: dtype for feature, dtype in whole_by_dtype(tree, X).items() if feature not in in_group}
    whole = {*stated.integers, *typed, *said.integers, *listed_whole} - in_group
    decimals = {f: n for f, n in (*stated.decimals, *said.decimals) if f not in whole and f not in in_group}
    flags = tuple(
        Claim(feature, Region(-1.0, 1.0, missing=True), "")
        for feature, is_flag in typed.items()
        if is_flag  # of the whole numbers above -1 and up to 1 there are 0 and 1
    )
    known = Facts(
        integers=tuple(sorted(whole)),
        decimals=tuple(sorted(decimals.items())),
        claims=stated.claims + flags + said.claims,
        groups=grouped,
        implications=stated.implications + said.implications,
        orders=tuple({order.feature: order for order in stated.orders + said.orders}.values()),  # the last one counts
        unused=tuple(dict.fromkeys(stated.unused + said.unused)),
    )
    known = word_facts(tree, known)
    if known == stated and known.unused == stated.unused:
        return tree
    told = replace(tree, facts=known)
    check_tree(told)
    if listed or facts is not None:
        check_possible(told)
    return told


def whole_by_dtype(tree: Tree, X: Any) -> dict[int, bool]:
    """Find the numeric columns whose type in a frame is an integer or a bool, and whether it is a bool."""
    if X is None or frame_columns(X) is None:
        return {}
    import narwhals as nw

    try:
        schema = nw.from_native(X, eager_only=True).schema
    except TypeError:
        return {}  # rows that do not fit are rejected when they are checked
    names = list(schema.names()) if tree.feature_names is None else list(tree.feature_names)
    types = [schema.get(name) for name in names[: tree.n_features]]
    if tree.columns is not None:  # other columns are not looked at, and may hold anything
        types = [dtype if feature in tree.columns.asked else None for feature, dtype in enumerate(types)]
    return {
        feature: dtype == nw.Boolean
        for feature, dtype in enumerate(types)
        if dtype is not None and tree.categories[feature] is None and (dtype.is_integer() or dtype == nw.Boolean)
    }
