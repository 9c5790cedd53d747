"""Models from files: skops, our JSON, Interpretable AI's JSON; pickles only on trust, because opening one runs code.

What a file is, is told by its first bytes. Nothing that a file holds is used before it was looked at.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters.iai import read_iai
from secateur.column_terms import shorten
from secateur.errors import FormatError, InputError, UnsupportedModelError
from secateur.export.json import FORMAT as RULES_FORMAT
from secateur.export.json import rules_from_json
from secateur.tree_json import FORMAT as TREE_FORMAT
from secateur.tree_json import tree_from_dict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secateur.rules import RuleSet

__all__ = ["dump_model", "is_rules_file", "load_model", "load_rules"]

# skops distrusts scikit-learn's tree, because a forged one could point outside its arrays; ours are looked at first.
CHECKED_TYPES = ("sklearn.tree._tree.Tree",)
HEAD = 4096
BLANKS = b"\xef\xbb\xbf \t\r\n"  # what may stand before JSON: a mark of UTF-8, and blanks
# First bytes of pickles, plain or as joblib packs them.
PICKLES = (b"\x80", b"x\x01", b"x\x5e", b"x\x9c", b"x\xda", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"ZF")


def load_model(path: Path, *, trust_pickle: bool = False, trust: Sequence[str] = ()) -> Any:
    """Load a fitted model.

    Parameters
    ----------
    path : Path
        A ``.skops`` file, a tree or rule set as secateur's JSON, or a tree as Interpretable AI's JSON; with
        ``trust_pickle`` also a pickle, as pickle or joblib write them.
    trust_pickle : bool, default=False
        Whether a pickle may be opened, which can run any code.
    trust : sequence of str, default=()
        Names of types that a skops file may hold, beside those that skops trusts itself.

    Returns
    -------
    object
        What :func:`secateur.from_model` takes.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(*load_iris(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as place:
    ...     path = Path(place) / "iris.skops"
    ...     _ = path.write_bytes(dump_model(model))
    ...     load_model(path)
    DecisionTreeClassifier(max_depth=2, random_state=0)
    """
    content = _read_bytes(path)
    if content[:4] == b"PK\x03\x04":
        return _load_skops(path, content, trust)
    if content.lstrip(BLANKS)[:1] in (b"{", b"["):
        return _load_json(path)
    if content.startswith(PICKLES):
        return _load_pickle(path, trust_pickle=trust_pickle)
    raise FormatError(f"{path} is no model: expected a .skops file, or a tree or rules as JSON.")


def load_rules(path: Path) -> RuleSet:
    """Read a rule set that was written as JSON."""
    text, _, found = _read_json(path)
    if found != RULES_FORMAT:
        what = "a tree" if found == TREE_FORMAT else "JSON, but no rules"
        raise FormatError(f"{path} is {what}: expected rules that --export json wrote.")
    return rules_from_json(text)


def is_rules_file(path: Path) -> bool:
    """Whether a file begins as a rule set's JSON does."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return head.lstrip(BLANKS).startswith(b"{") and f'"{RULES_FORMAT}"'.encode() in head


def dump_model(model: Any) -> bytes:
    """A fitted model as the bytes of a skops file."""
    import skops.io

    data: bytes = skops.io.dumps(model)
    return data


def _read_bytes(path: Path) -> bytes:
    if path.is_dir():
        raise InputError(f"{path} is a directory: name a file in it.")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    if not content:
        raise InputError(f"{path} is empty.")
    return content


def _read_json(path: Path) -> tuple[str, Any, object]:
    """The text of a JSON file, what it holds, and which format it says it has."""
    data = _read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
        content = json.loads(text)
    except UnicodeDecodeError:
        raise FormatError(f"{path} holds bytes that are no UTF-8 text: expected JSON.") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is no JSON: {error}. Expected what --export json writes.") from error
    return text, content, content.get("format") if isinstance(content, dict) else None


def _load_json(path: Path) -> Any:
    text, content, found = _read_json(path)
    if found == TREE_FORMAT:
        return tree_from_dict(content)
    if found == RULES_FORMAT:
        return rules_from_json(text).tree
    return read_iai(content)


def _load_skops(path: Path, content: bytes, trust: Sequence[str]) -> Any:
    import skops.io

    try:
        unknown = sorted({*skops.io.get_untrusted_types(data=content)} - {*CHECKED_TYPES, *trust})
    except Exception as error:  # a damaged file fails in many ways
        raise FormatError(f"{path} is a zip file, but no model that skops wrote: {_tell(error)}.") from error
    if unknown:
        raise UnsupportedModelError(
            f"{path} holds types that are not trusted: {shorten(unknown)}. If you know where the file comes from, pass "
            f"--trust {unknown[0]}."
        )
    try:
        model = skops.io.loads(content, trusted=[*CHECKED_TYPES, *trust])
    except Exception as error:
        raise FormatError(f"{path} cannot be loaded by skops: {_tell(error)}.") from error
    for tree in _find_trees(model):
        _check_bounds(path, tree)
    return model


def _load_pickle(path: Path, *, trust_pickle: bool) -> Any:
    if not trust_pickle:
        raise UnsupportedModelError(
            f"{path} is a pickle, and opening a pickle can run any code that somebody put into it. If you know where "
            "it comes from, pass --trust-pickle; better, save the model with skops."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:
        raise FormatError(f"{path} cannot be opened as a pickle: {_tell(error)}.") from error


def _tell(error: Exception) -> str:
    """The first line of an error's message."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(". ")


def _find_trees(model: Any) -> Iterator[Any]:
    """Every tree of scikit-learn inside a model, wherever it is."""
    waiting, seen = [model], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if type(thing).__module__ == "sklearn.tree._tree":
            yield thing
        elif isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, (list, tuple, set)) or (isinstance(thing, np.ndarray) and thing.dtype == object):
            waiting += list(thing.ravel() if isinstance(thing, np.ndarray) else thing)
        elif hasattr(thing, "__dict__") and not isinstance(thing, type):
            waiting += vars(thing).values()


def _check_bounds(path: Path, tree: Any) -> None:
    """Refuse a tree that points outside its arrays: scikit-learn would follow it."""
    n_nodes = tree.node_count
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    inner = left != -1
    ids = np.arange(n_nodes)
    sound = (
        len(left) == len(right) == len(feature) == n_nodes > 0
        and np.array_equal(inner, right != -1)
        and bool((left[inner] > ids[inner]).all() and (right[inner] > ids[inner]).all())
        and bool((left[inner] < n_nodes).all() and (right[inner] < n_nodes).all())
        and bool(((feature[inner] >= 0) & (feature[inner] < tree.n_features)).all())
    )
    if not sound:
        raise FormatError(f"{path} holds a tree that points outside itself: the file is damaged or forged.")
