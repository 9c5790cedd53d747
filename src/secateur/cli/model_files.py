"""Load models from files: skops, our JSON and other programs' trees; pickles only on trust, because they run code.

A file's first bytes tell what it is. Nothing in it is used before it is checked.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters import read_iai, read_onnx, read_pmml
from secateur.errors import FormatError, InputError, SecateurError, UnsupportedModelError, first_line, shorten
from secateur.export.json import FORMAT as RULES_FORMAT
from secateur.export.json import rules_from_json
from secateur.limits import JSON_MARKS, check_parsed_size
from secateur.rows.file_bytes import BLANKS, ENDING, check_zip_size, is_packed, open_file, peek, read_whole, unpack
from secateur.rules.rules import Rules
from secateur.tree.json import FORMAT as TREE_FORMAT
from secateur.tree.json import tree_from_dict

# skops distrusts scikit-learn's tree, because a forged one could point outside its arrays; we check it first.
CHECKED_TYPES = ("sklearn.tree._tree.Tree", "numpy.dtype")  # making a dtype runs nothing
# These check the columns of rows themselves, and their trees do not check them again.
FOREST_MODULES = ("sklearn.ensemble._forest", "sklearn.ensemble._gb")
MOST_TRUSTED = 8  # that a sentence lists as options
HEAD = 4096
ONNX = b"\x08"  # ONNX has no magic number, but its first field is the version of the format
# First bytes of files that boosting libraries write.
BOOSTED_FILES = {
    "XGBoost": (b'{"learner":', b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner"),
    "LightGBM": (b"tree\nversion=",),
    "CatBoost": (b"CBM1",),
}
# First bytes of pickles, plain or as joblib packs them.
PICKLES = (b"\x80", b"x\x01", b"x\x5e", b"x\x9c", b"x\xda", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"ZF")


def load_model(path: Path, *, trust_pickle: bool = False, trust: Sequence[str] = ()) -> Any:
    """Load a fitted model, whatever its first bytes show; ``trust`` names types that a skops file may hold."""
    content = _read_bytes(path)
    for program, starts in BOOSTED_FILES.items():
        if content.startswith(starts):
            raise UnsupportedModelError(
                f"{path} is a model in {program}'s own format: load it with {program} in Python, and pass it to "
                "secateur.approximate(model, X), or save the fitted model with joblib and pass --trust-pickle."
            )
    if content[:4] == b"PK\x03\x04":
        return _load_skops(path, content, trust)
    if content.lstrip(BLANKS)[:1] in (b"{", b"["):
        return _load_json(path, content)
    if content.lstrip(BLANKS)[:1] == b"<":
        return read_pmml(content)
    if content.startswith(ONNX):
        return read_onnx(content)
    if content.startswith(PICKLES):
        return _load_pickle(path, trust_pickle=trust_pickle)
    if path.name.lower().removesuffix(ENDING).endswith(".json"):
        return _load_json(path, content)  # which says what is wrong
    raise FormatError(
        f"{path} is no model: expected a .skops file, a tree or rules as JSON, or a tree as ONNX or PMML."
    )


def load_rules(path: Path, *, takes_changed: bool = False) -> Rules:
    """Read rules from their JSON; reject those that somebody changed."""
    text, content, found = _parse_json(path, _read_bytes(path))
    del content  # which is read again, and need not be in memory twice
    if found != RULES_FORMAT:
        what = "a tree" if found == TREE_FORMAT else "JSON, but no rules"
        raise FormatError(f"{path} is {what}: expected rules that --export json wrote.")
    rules = _read_rules(path, text)
    stored = rules.stored
    if not takes_changed and stored is not None and stored.digest not in (None, stored.content_digest):
        raise FormatError(
            f"{path} was changed after it was written, so nothing that it says is sure: make the rules anew, or let "
            "`secateur verify` say what is wrong with it."
        )
    return rules


def is_rules_file(path: Path) -> bool:
    """Whether a file begins as the JSON of rules does."""
    try:
        with open_file(path) as file:
            head = file.read(HEAD)
    except InputError:
        return False
    if is_packed(head):
        head = peek(head, HEAD)
    return head.lstrip(BLANKS).startswith(b"{") and f'"{RULES_FORMAT}"'.encode() in head


def dump_model(model: Any) -> bytes:
    """Turn a fitted model into the bytes of a skops file."""
    import skops.io

    return bytes(skops.io.dumps(model))


def _read_bytes(path: Path) -> bytes:
    content = read_whole(path)
    if not content:
        raise InputError(f"{path} is empty.")
    if is_packed(content) and not peek(content).startswith(PICKLES):  # joblib packs pickles, and unpacks them itself
        return unpack(content, path)
    return content


def _parse_json(path: Path, data: bytes) -> tuple[str, Any, str]:
    """Read the text of a JSON file, its content, and the format that it names, if any."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(f"{path} is not in UTF-8: expected JSON.") from None
    check_parsed_size(text, JSON_MARKS, str(path))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON: {error}. Expected what --export json writes.") from error
    named = content.get("format") if isinstance(content, dict) else None
    return text, content, named if isinstance(named, str) else ""


def _read_rules(path: Path, text: str) -> Rules:
    """Read rules; an error names the file, because a command may read two."""
    try:
        return rules_from_json(text)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def _load_json(path: Path, data: bytes) -> Any:
    text, content, found = _parse_json(path, data)
    if found == TREE_FORMAT:
        return tree_from_dict(content)
    if found == RULES_FORMAT:
        del content
        return _read_rules(path, text).tree
    if not isinstance(content, dict) or not {"_julia_type", "lnr"} & content.keys():
        raise FormatError(f"{path} is JSON, but neither rules nor a tree that --export json or Interpretable AI wrote.")
    return read_iai(content)


def _load_skops(path: Path, content: bytes, trust: Sequence[str]) -> Any:
    import skops.io

    try:
        check_zip_size(content, str(path), "schema.json")
        unknown = sorted({*skops.io.get_untrusted_types(data=content)} - {*CHECKED_TYPES, *trust})
    except SecateurError:
        raise
    except Exception as error:  # a damaged file fails in many ways
        raise FormatError(f"{path} is a zip file, but no model that skops wrote: {first_line(error)}.") from error
    if unknown:
        options = " ".join(f"--trust {shlex.quote(name)}" for name in unknown[:MOST_TRUSTED])
        raise UnsupportedModelError(
            f"{path} holds types that are not trusted: {shorten(unknown)}. If you know where the file comes from, pass "
            f"{options}{' and so on' if len(unknown) > MOST_TRUSTED else ''}."
        )
    try:
        model = skops.io.loads(content, trusted=[*CHECKED_TYPES, *trust])
    except Exception as error:
        raise FormatError(f"{path} cannot be loaded by skops: {first_line(error)}.") from error
    for owner, thing in _walk(model):
        if _is_tree(thing) and not _is_sound(thing):  # scikit-learn would follow it
            raise FormatError(f"{path} holds a tree that points outside itself: the file is damaged or forged.")
        if not (_fits_owner(owner, thing) if _is_tree(thing) else _fits_trees(thing)):
            raise FormatError(f"{path} holds a tree that does not fit its model: the file is damaged or forged.")
    return model


def _load_pickle(path: Path, *, trust_pickle: bool) -> Any:
    if not trust_pickle:
        raise UnsupportedModelError(
            f"{path} is a pickle, and opening a pickle can run any code that somebody put into it. Save the model with "
            "skops instead; if you know where the file comes from, you can pass --trust-pickle."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:
        raise FormatError(f"{path} cannot be opened as a pickle: {first_line(error)}.") from error


def _walk(model: Any) -> Iterator[tuple[Any, Any]]:
    """List everything inside a model with the object that holds it; a tree with every such object."""
    waiting: list[tuple[Any, Any]] = [(None, model)]
    seen = set()
    while waiting:
        owner, thing = waiting.pop()
        if _is_tree(thing):
            yield owner, thing
        elif id(thing) not in seen:
            seen.add(id(thing))
            yield owner, thing
            waiting += [(thing, part) for part in _list_parts(thing)]


def _is_tree(thing: Any) -> bool:
    return type(thing).__module__ == "sklearn.tree._tree"


def _list_parts(thing: Any) -> Iterable[Any]:
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, (list, tuple, set)):
        return thing
    if isinstance(thing, np.ndarray):
        return thing.ravel().tolist() if thing.dtype == object else ()
    if isinstance(thing, partial):
        return (thing.func, *thing.args, *thing.keywords.values())
    if isinstance(thing, MethodType):
        return (thing.__self__,)
    return vars(thing).values() if hasattr(thing, "__dict__") and not isinstance(thing, type) else ()


def _is_sound(tree: Any) -> bool:
    """Whether a tree points to its own nodes and columns only."""
    n_nodes = tree.node_count
    if n_nodes < 1 or tree.n_outputs < 1 or tree.n_classes.min() < 1:
        return False
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    if not len(left) == len(right) == len(feature) == n_nodes or not np.array_equal(left != -1, right != -1):
        return False
    inner = np.flatnonzero(left != -1)
    children = np.stack([left[inner], right[inner]])
    asked = feature[inner]
    return bool(
        ((children > inner) & (children < n_nodes)).all()
        and ((asked >= 0) & (asked < tree.n_features)).all()
        and _is_within_depth(left, right, tree.max_depth)
    )


def _is_within_depth(left: NDArray[np.int64], right: NDArray[np.int64], max_depth: int) -> bool:
    """Whether no path is longer than the tree says: scikit-learn makes room for such paths only."""
    level = np.zeros(1, dtype=np.int64)
    for _ in range(max_depth + 1):
        level = level[left[level] != -1]
        if len(level) == 0:
            return True
        level = np.unique(np.concatenate([left[level], right[level]]))
    return False


def _fits_owner(owner: Any, tree: Any) -> bool:
    """Whether a tree has the columns and classes of its model, which looks at its own numbers only."""
    fits = _has(owner, "n_features_in_", tree.n_features) and _has(owner, "n_outputs_", tree.n_outputs)
    if not fits or "classes_" not in vars(owner):
        return fits
    listed = [owner.classes_] if tree.n_outputs == 1 else owner.classes_
    sizes = [len(labels) for labels in listed if isinstance(labels, np.ndarray) and labels.ndim == 1]
    return bool(sizes == tree.n_classes.tolist())


def _fits_trees(forest: Any) -> bool:
    """Whether the trees of a forest have its columns; anything but a forest fits."""
    if type(forest).__module__ not in FOREST_MODULES:
        return True
    estimators = vars(forest).get("estimators_", ())
    owners = estimators.ravel() if isinstance(estimators, np.ndarray) else estimators
    return all(_has(forest, "n_features_in_", vars(owner).get("n_features_in_")) for owner in owners)


def _has(owner: Any, name: str, count: Any) -> bool:
    """Whether an object itself, not its class, has this number as an attribute."""
    value = getattr(owner, "__dict__", {}).get(name)
    return isinstance(value, (int, np.integer)) and isinstance(count, (int, np.integer)) and bool(value == count)
