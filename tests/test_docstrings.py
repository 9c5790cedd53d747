"""Every public docstring is numpydoc and agrees with the signature."""

from __future__ import annotations

import ast
import enum
import inspect
import re
from collections.abc import Iterator
from functools import cached_property

import pytest
from numpydoc.docscrape import NumpyDocString

import secateur
import secateur.results
from secateur.rules.leaf_rules import LineRules

INTERNAL = LineRules.__mro__[:-1]  # what these define is for other rooms: a line says it
DEFAULT = re.compile(r"\bdefault=(.+)$")


def public_objects() -> Iterator[tuple[str, object]]:
    """The functions and classes that are public, and the public methods and properties of the classes."""
    named = [(name, getattr(room, name)) for room in (secateur, secateur.results) for name in room.__all__]
    for name, thing in named:
        if inspect.isclass(thing):
            yield name, thing
            yield from members(name, thing)
        elif inspect.isroutine(thing):
            yield name, thing


def members(class_name: str, cls: type) -> Iterator[tuple[str, object]]:
    """What secateur itself defines in a class; inherited from elsewhere is documented elsewhere."""
    ours = [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "secateur"]
    names = sorted({name for base in ours for name in vars(base) if not name.startswith("_")})
    for name in names:
        member = inspect.getattr_static(cls, name)
        if name.endswith("_request"):  # scikit-learn writes these into the class
            continue
        if any(name in vars(base) for base in INTERNAL) and member.__doc__:
            continue
        if isinstance(member, (property, cached_property)):
            yield f"{class_name}.{name}", member
        elif inspect.isroutine(member) or isinstance(member, (classmethod, staticmethod)):
            yield f"{class_name}.{name}", getattr(cls, name)


def problems(thing: object) -> list[str]:
    """One sentence for each thing that is wrong with a docstring."""
    own = vars(thing).get("__doc__") if inspect.isclass(thing) else getattr(thing, "__doc__", None)
    if not own:
        return ["it has no docstring"]
    try:
        doc = NumpyDocString(inspect.cleandoc(own))
    except (ValueError, UserWarning) as error:  # a warning is an error here: see pyproject.toml
        return [f"it is not numpydoc: {error}"]
    if not "".join(doc["Summary"]).strip():
        return ["it has no summary line"]
    if isinstance(thing, (property, cached_property)):
        return []
    expected = parameters_of(thing)
    documented = sections(doc, "Parameters", "Other Parameters", "Receives")
    if inspect.isclass(thing) and not documented:  # a record may describe its fields as attributes instead
        documented = {name: text for name, text in sections(doc, "Attributes").items() if name in expected}
    if list(documented) != list(expected):
        return [f"it documents the parameters {listing(documented)}, but the signature has {listing(expected)}"]
    wrong = (wrong_default(name, text, expected[name].default) for name, text in documented.items())
    return [sentence for sentence in wrong if sentence]


def parameters_of(thing: object) -> dict[str, inspect.Parameter]:
    """The parameters that a caller may pass, in order, named as numpydoc writes them."""
    if inspect.isclass(thing) and issubclass(thing, (BaseException, enum.Enum)):
        return {}
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = list(inspect.signature(thing).parameters.values())
    # A method taken from its class still shows self.
    if not inspect.isclass(thing) and found and found[0].name == "self":
        found = found[1:]
    return {stars.get(one.kind, "") + one.name: one for one in found if not one.name.startswith("_")}


def sections(doc: NumpyDocString, *titles: str) -> dict[str, str]:
    """Name and type text of each entry; ``one, other : int`` counts as two."""
    return {name.strip(): entry.type for title in titles for entry in doc[title] for name in entry.name.split(",")}


def wrong_default(name: str, text: str, real: object) -> str | None:
    found = DEFAULT.search(text)
    if found is None:
        return None
    said = found.group(1).strip()
    if real is inspect.Parameter.empty:
        return f"it says default={said} for {name}, which has no default"
    try:
        value = ast.literal_eval(said)
    except (ValueError, SyntaxError):
        same = said in (repr(real), getattr(real, "__name__", None))
    else:
        same = type(value) is type(real) and value == real
    return None if same else f"it says default={said} for {name}, but the default is {real!r}"


def listing(names: dict[str, object]) -> str:
    return f"({', '.join(names)})"


@pytest.mark.parametrize(("name", "thing"), [pytest.param(*pair, id=pair[0]) for pair in public_objects()])
def test_docstring_agrees_with_the_signature(name: str, thing: object) -> None:
    if found := problems(thing):
        pytest.fail(f"The docstring of {name} needs work: {'; '.join(found)}.", pytrace=False)


def both(one, other=0.01, *rest, **options):
    """Do something.

    Parameters
    ----------
    one : int
    other : float, default=0.01
    *rest : int
    **options : int
    """


def stale(one, other=0.01):
    """Do something.

    Parameters
    ----------
    one : int, default=1
    other : float, default=0.1
    """


def reordered(one, other):
    """Do something.

    Parameters
    ----------
    other, one : int
    """


def test_the_check_accepts_a_true_docstring_and_finds_untrue_ones() -> None:
    assert problems(both) == []
    assert problems(stale) == [
        "it says default=1 for one, which has no default",
        "it says default=0.1 for other, but the default is 0.01",
    ]
    assert problems(reordered) == ["it documents the parameters (other, one), but the signature has (one, other)"]
    assert problems(lambda: None) == ["it has no docstring"]
