"""Trees of PMML files predict what PMML4S predicts (through pypmml, on Java)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import Tree
from secateur.adapters import read_pmml
from secateur.errors import FormatError, InputError, ParameterError, UnsupportedModelError
from secateur.rows.checking import check_labels, check_rows
from secateur.rows.rows import apply_tree, count_classes

TOWNS = ["Bonn", "Lima", "New York", "l'Île <d'Yeu>", "Ulm"]
REJECTED = "rejected"


def text(value: Any) -> str:
    plain = str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def asks(field: str, operator: str, value: Any = None) -> str:
    limit = "" if value is None else f' value="{text(value)}"'
    return f'<SimplePredicate field="{field}" operator="{operator}"{limit}/>'


def one_of(field: str, operator: str, values: list[str]) -> str:
    listed = " ".join('"' + value.replace('"', '\\"') + '"' for value in values)
    array = f'<Array n="{len(values)}" type="string">{text(listed)}</Array>'
    return f'<SimpleSetPredicate field="{field}" booleanOperator="{operator}">{array}</SimpleSetPredicate>'


def join(operator: str, *parts: str) -> str:
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'


def node(score: Any, predicate: str, *children: str, **more: Any) -> str:
    extra = "".join(f' {name}="{text(value)}"' for name, value in more.items())
    scored = "" if score is None else f' score="{text(score)}"'
    return f"<Node{scored}{extra}>{predicate}{''.join(children)}</Node>"


def field(name: str, values: Any = (), *, data_type: str = "string", inside: str = "") -> str:
    kind = "continuous" if data_type == "double" else "categorical"
    listed = "".join(f'<Value value="{text(value)}"/>' for value in values)
    return f'<DataField name="{name}" optype="{kind}" dataType="{data_type}">{listed}{inside}</DataField>'


NUMBER = field("age", data_type="double")
TOWN = field("town", TOWNS)
TARGET = field("pays", ["no", "so", "yes"])


def document(
    top: str, fields: str = NUMBER, schema: str = '<MiningField name="age"/>', *, version: str = "4.4", **model: str
) -> str:
    attributes = {"functionName": "classification", "splitCharacteristic": "multiSplit", **model}
    written = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    usage = "target" if version >= "4.2" else "predicted"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<PMML xmlns="http://www.dmg.org/PMML-{version.replace(".", "_")}" version="{version}"><Header/>'
        f"<DataDictionary>{fields}{TARGET}</DataDictionary>"
        f"<TreeModel {written}>"
        f'<MiningSchema>{schema}<MiningField name="pays" usageType="{usage}"/></MiningSchema>{top}</TreeModel></PMML>'
    )


def predict(tree: Tree, row: dict[str, Any]) -> Any:
    columns = {}
    for feature, name in enumerate(tree.feature_names or ()):
        value = row[name]
        is_label = isinstance(value, str) or tree.categories[feature] is not None
        columns[name] = pd.Series([value], dtype=object if is_label else np.float64)
    try:
        leaf = apply_tree(tree, check_rows(tree, pd.DataFrame(columns)))[0]
    except InputError:
        return REJECTED
    return tree.classes[tree.leaf_class[leaf]].item()


def assert_file_equals_pmml4s(pypmml: Any, content: str, rows: list[dict[str, Any]], *, rejected: int = 0) -> Tree:
    """A row that the tree rejects may have a prediction there; ``rejected`` says how many do."""
    tree = read_pmml(content)
    model = pypmml.Model.fromString(content)
    too_careful = 0
    for row in rows:
        theirs, ours = next(iter(model.predict(row).values())), predict(tree, row)
        if ours == REJECTED:
            too_careful += theirs is not None
        else:
            assert ours == theirs, row
    assert too_careful == rejected
    return tree


def near(*limits: float) -> list[float | None]:
    beside = [math.nextafter(limit, side) for limit in limits for side in (-math.inf, math.inf)]
    return [*limits, *beside, 0.0, -0.0, 5e-324, -1e300, 1.7e308, 1e-9, None]


class Grower:
    """Random trees as R's pmml, KNIME and SAS write them; the score of each node is its own number."""

    def __init__(self, seed: int, style: str) -> None:
        self.generator = np.random.default_rng(seed)
        self.style = style
        self.n_nodes = 0
        self.limits: set[float] = {1.0}

    def grow(self, predicate: str, depth: int) -> str:
        self.n_nodes += 1
        own = self.n_nodes
        if depth == 0 or (own > 1 and self.generator.random() < 0.2):
            return node(f"n{own}", predicate, id=own)
        if self.generator.random() < 0.5:
            limit = float(self.generator.choice([self.generator.normal(), 0.1, 0.0, -7e20]))
            self.limits.add(limit)
            operators = [("lessThan", "greaterOrEqual"), ("lessOrEqual", "greaterThan")]
            low, high = operators[int(self.generator.integers(2))]
            parts = [asks("age", low, limit), asks("age", high, limit)]
        else:
            parts = self.split_towns()
        parts = self.dress(parts)
        children, ids = [], []
        for part in parts:
            ids.append(self.n_nodes + 1)
            children.append(self.grow(part, depth - 1))
        default = {"defaultChild": ids[int(self.generator.integers(len(ids)))]} if self.style != "KNIME" else {}
        return node(f"n{own}", predicate, *children, id=own, **default)

    def split_towns(self) -> list[str]:
        if self.style == "KNIME" and self.generator.random() < 0.5:
            return [asks("town", "equal", town) for town in TOWNS]
        side = self.generator.integers(0, 2, len(TOWNS)).astype(bool)
        side[:2] = True, False
        chosen, others = (
            [town for town, left in zip(TOWNS, side, strict=True) if left == want] for want in (True, False)
        )
        return [one_of("town", "isIn", chosen), one_of("town", "isIn", others)]

    def dress(self, parts: list[str]) -> list[str]:
        """Surrogates: another column's, or a constant at the end."""
        if self.style == "KNIME":
            return parts
        if self.style == "SAS":
            return [
                join("surrogate", part, "<True/>" if place == 0 else "<False/>") for place, part in enumerate(parts)
            ]
        other = [asks("height", "lessThan", 1.5), asks("height", "greaterOrEqual", 1.5)]
        if self.generator.random() < 0.5:
            return parts
        return [join("surrogate", part, other[place]) for place, part in enumerate(parts)]


STYLES = {
    "R": {"missingValueStrategy": "defaultChild", "noTrueChildStrategy": "returnLastPrediction"},
    "KNIME": {"missingValueStrategy": "lastPrediction", "noTrueChildStrategy": "returnNullPrediction"},
    "SAS": {"missingValueStrategy": "defaultChild"},
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("seed", range(3))
def test_trees_as_other_programs_write_them_reach_the_leaves_that_pmml4s_reaches(
    pypmml: Any, seed: int, style: str
) -> None:
    grower = Grower(seed, style)
    top = grower.grow("<True/>", 4)
    fields = NUMBER + TOWN + field("height", data_type="double")
    schema = "".join(f'<MiningField name="{name}"/>' for name in ("age", "town", "height"))
    content = document(top, fields, schema, version=("3.2", "4.1", "4.4")[seed], **STYLES[style])
    content = content.replace(TARGET, field("pays", [f"n{number + 1}" for number in range(grower.n_nodes)]))
    generator = np.random.default_rng(seed)
    ages, towns = near(*grower.limits), [*TOWNS, *TOWNS, "Atlantis", None]
    rows = [
        {
            "age": ages[int(generator.integers(len(ages)))],
            "town": towns[int(generator.integers(len(towns)))],
            "height": 1.0,
        }
        for _ in range(60)
    ]
    tree = read_pmml(content)
    assert tree.feature_names == ("age", "town", "height")
    takes_all = style != "R" or "height" not in content.split("<Node", 1)[1]
    assert bool(tree.accepts_missing.all()) == takes_all
    blank = [row for row in rows if (row["age"] is None or row["town"] is None) and row["town"] != "Atlantis"]
    untaken = [row for row in blank if predict(tree, row) == REJECTED]
    assert not (takes_all and untaken)
    assert_file_equals_pmml4s(pypmml, content, rows, rejected=len(untaken))


LOW, HIGH = asks("age", "lessThan", 30.0), asks("age", "greaterOrEqual", 30.0)
BELOW_30 = (node("no", LOW, id="a"), node("yes", HIGH, id="b"))
AGES = [{"age": value} for value in near(30.0, 40.0)]


@pytest.mark.parametrize("no_child", ["returnNullPrediction", "returnLastPrediction"])
@pytest.mark.parametrize(
    "strategy", ["none", "lastPrediction", "nullPrediction", "defaultChild", "weightedConfidence", "aggregateNodes"]
)
def test_every_strategy_for_missing_values_is_read_or_takes_none(pypmml: Any, strategy: str, no_child: str) -> None:
    top = node("so", "<True/>", *BELOW_30, id="r", defaultChild="a")
    content = document(top, missingValueStrategy=strategy, noTrueChildStrategy=no_child)
    told = {
        "lastPrediction": "so",
        "defaultChild": "no",
        "none": "so" if no_child.startswith("returnLast") else REJECTED,
    }
    # PMML4S goes on with these where the standard says that there is no prediction, or another one.
    untold = (
        strategy in ("nullPrediction", "weightedConfidence", "aggregateNodes") and no_child == "returnLastPrediction"
    )
    tree = assert_file_equals_pmml4s(pypmml, content, AGES, rejected=int(untold))
    assert predict(tree, {"age": None}) == told.get(strategy, REJECTED)


SHAPES: dict[str, tuple[str, dict[str, str]]] = {
    "three ranges": (
        node(
            *("so", "<True/>"),
            node("no", asks("age", "lessOrEqual", 30.0)),
            node("so", join("and", asks("age", "greaterThan", 30.0), asks("age", "lessThan", 40.0))),
            node("yes", asks("age", "greaterOrEqual", 40.0)),
        ),
        {},
    ),
    "the first that is true": (
        node("so", "<True/>", node("no", asks("age", "lessThan", 40.0)), node("yes", asks("age", "greaterThan", 30.0))),
        {},
    ),
    "a gap": (
        node("so", "<True/>", node("no", LOW), node("yes", asks("age", "greaterThan", 30.0))),
        {"noTrueChildStrategy": "returnLastPrediction"},
    ),
    "one child": (node("so", "<True/>", node("no", LOW)), {"noTrueChildStrategy": "returnLastPrediction"}),
    "otherwise": (node("so", "<True/>", node("no", LOW), node("yes", "<True/>")), {}),
    "one number": (
        node("so", "<True/>", node("no", LOW), node("so", asks("age", "equal", 30.0)), node("yes", HIGH)),
        {},
    ),
    "missing or not": (
        node("so", "<True/>", node("no", asks("age", "isMissing")), node("yes", asks("age", "isNotMissing"))),
        {},
    ),
    "low or missing": (
        node("so", "<True/>", node("no", join("or", LOW, asks("age", "isMissing"))), node("yes", HIGH)),
        {},
    ),
    "either, not both": (
        node("so", "<True/>", node("no", join("xor", LOW, asks("age", "lessThan", 40.0))), node("yes", "<True/>")),
        {"missingValueStrategy": "lastPrediction"},
    ),
    "a level with nothing to ask": (
        node("so", "<True/>", node("so", "<False/>"), node("so", "<True/>", *BELOW_30)),
        {},
    ),
}


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "either, not both"])
def test_nodes_of_any_shape_are_read(pypmml: Any, shape: str) -> None:
    top, model = SHAPES[shape]
    assert_file_equals_pmml4s(pypmml, document(top, **model), AGES)


def test_two_ranges_of_one_child_are_rejected() -> None:
    top, model = SHAPES["either, not both"]
    with pytest.raises(UnsupportedModelError, match="takes two separate ranges of 'age'"):
        read_pmml(document(top, **model))


@pytest.mark.parametrize("treatment", ["returnInvalid", "asIs", "asMissing"])
@pytest.mark.parametrize("listed", [False, True])
def test_values_that_are_not_listed_go_where_the_file_says(pypmml: Any, listed: bool, treatment: str) -> None:
    rows = [{"town": value} for value in [*TOWNS, "Atlantis", "bonn", None]]
    schema = f'<MiningField name="town" invalidValueTreatment="{treatment}"/>'
    kinds = [
        (one_of("town", "isIn", TOWNS[:3]), one_of("town", "isIn", TOWNS[3:])),
        (one_of("town", "isIn", TOWNS[:3]), one_of("town", "isNotIn", TOWNS[:3])),
        (asks("town", "notEqual", "Ulm"), asks("town", "equal", "Ulm")),
    ]
    for first, second in kinds:
        for strategy in ("none", "defaultChild", "lastPrediction"):
            top = node("so", "<True/>", node("no", first, id="a"), node("yes", second, id="b"), defaultChild="b")
            model = {"missingValueStrategy": strategy, "noTrueChildStrategy": "returnLastPrediction"}
            content = document(top, TOWN if listed else field("town"), schema, **model)
            found = [predict(read_pmml(content), row) for row in rows[-3:-1]]
            # PMML4S takes what is not listed for missing; others take it as it is. So it is rejected.
            torn = listed and treatment == "asIs" and REJECTED in found
            assert_file_equals_pmml4s(pypmml, content, rows, rejected=2 * torn)
            assert (REJECTED in found) == (torn or (listed and treatment == "returnInvalid"))


def test_categories_may_be_numbers_and_truth_values(pypmml: Any) -> None:
    fields = field("code", [3, 7, 11], data_type="integer") + field("flag", ["true", "false"], data_type="boolean")
    low, high = asks("flag", "equal", True), asks("flag", "equal", False)
    top = node(
        *("so", "<True/>"),
        node("so", asks("code", "equal", 7), node("no", low), node("yes", high)),
        node("so", asks("code", "notEqual", 7)),
    )
    schema = '<MiningField name="code"/><MiningField name="flag"/>'
    rows = [{"code": code, "flag": flag} for code in (3, 7, 11, 12) for flag in (True, False)]
    tree = assert_file_equals_pmml4s(pypmml, document(top, fields, schema), rows)
    assert tree.categories == ((3, 7, 11), (True, False))


@pytest.mark.parametrize(
    ("mining", "inside"),
    [
        ('missingValueReplacement="40"', ""),
        ('missingValueReplacement="1" missingValueTreatment="asMean"', ""),
        ('missingValueTreatment="returnInvalid"', ""),
        ("", '<Interval closure="openClosed" leftMargin="0" rightMargin="40"/>'),
        ("", '<Interval closure="closedOpen" leftMargin="-7" rightMargin="40"/>'),
        ("", '<Interval closure="closedClosed" leftMargin="5"/>'),
    ],
)
def test_the_schema_fills_in_and_rejects(pypmml: Any, mining: str, inside: str) -> None:
    top = node("so", "<True/>", *BELOW_30)
    fields = field("age", data_type="double", inside=inside) + TOWN
    content = document(top, fields, f'<MiningField name="age" {mining}/><MiningField name="town"/>')
    rows = [{**row, "town": town} for row in AGES for town in ("Ulm", None, "Atlantis")]
    assert_file_equals_pmml4s(pypmml, content, rows)  # also where a column that no node asks for is invalid


def test_counts_come_with_the_nodes(pypmml: Any) -> None:
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    source = fitted.tree_

    def write(place: int, predicate: str) -> str:
        counts = np.rint(source.value[place, 0] * source.n_node_samples[place])
        votes = "".join(f'<ScoreDistribution value="c{k}" recordCount="{n:.0f}"/>' for k, n in enumerate(counts))
        name, cut = f"x{source.feature[place]}", float(source.threshold[place])
        children = []
        if source.children_left[place] >= 0:
            children.append(write(source.children_left[place], asks(name, "lessOrEqual", cut)))
            children.append(write(source.children_right[place], asks(name, "greaterThan", cut)))
        return node(f"c{counts.argmax()}", predicate + votes, *children, recordCount=source.n_node_samples[place])

    names = [f"x{place}" for place in range(4)]
    fields = "".join(field(name, data_type="double") for name in names)
    content = document(write(0, "<True/>"), fields, "".join(f'<MiningField name="{name}"/>' for name in names))
    content = content.replace(TARGET, field("pays", ["c0", "c1", "c2"]))
    tree = read_pmml(content)
    labels = np.array(["c0", "c1", "c2"])[y]
    reached = apply_tree(tree, check_rows(tree, X))
    assert reached.tolist() == fitted.apply(X).tolist()
    assert tree.counts is not None
    assert (tree.counts == count_classes(tree, reached, check_labels(tree, labels, 150), None)).all()
    without = content.replace('<ScoreDistribution value="c0" recordCount="50"/>', "", 1)
    assert read_pmml(without.replace('recordCount="50"', "")).counts is None


PLAIN = document(node("so", "<True/>", *BELOW_30))


def test_a_path_a_text_and_bytes_hold_the_same_tree(tmp_path: Path) -> None:
    path = tmp_path / "tree.pmml"
    path.write_text(PLAIN, encoding="utf-8")
    spoken = PLAIN.replace('encoding="UTF-8"', 'encoding="ISO-8859-1"')  # true of bytes only
    for source in (path, str(path), PLAIN.encode(), PLAIN, "\ufeff\n" + PLAIN, spoken, spoken.encode("latin-1")):
        assert read_pmml(source) == read_pmml(PLAIN)


RULES = secateur.simplify(
    DecisionTreeClassifier(max_depth=1).fit(*load_iris(return_X_y=True)), method="none", each_leaf=True
)
UNSUPPORTED: dict[str, tuple[Callable[[], str], str]] = {
    "rules of ours": (RULES.to_pmml, "found RuleSetModel. It holds rules that secateur wrote, and no tree"),
    "a forest": (lambda: PLAIN.replace("TreeModel", "MiningModel"), "with one TreeModel, found MiningModel"),
    "clusters": (lambda: document("", functionName="clustering"), "for classification or regression, found clustering"),
    "another version": (lambda: PLAIN.replace('version="4.4"', 'version="2.0"'), "of version 3 or 4, found PMML of"),
    "a transformation": (
        lambda: PLAIN.replace("<Node", '<LocalTransformations><DerivedField name="z"/></LocalTransformations><Node', 1),
        "has a LocalTransformations, which changes values",
    ),
    "outliers": (
        lambda: PLAIN.replace('name="age"/>', 'name="age" outliers="asMissingValues"/>'),
        "changes outliers of 'age'",
    ),
    "replaced values": (
        lambda: PLAIN.replace('name="age"/>', 'name="age" invalidValueTreatment="asValue"/>'),
        r"replaces invalid values of 'age' \(asValue\)",
    ),
    "a text for missing": (
        lambda: document(
            node("so", "<True/>", *BELOW_30),
            field("age", data_type="double", inside='<Value value="?" property="missing"/>'),
        ),
        "has a text of its own for missing or invalid values of 'age'",
    ),
    "floats": (lambda: PLAIN.replace('"double"', '"float"'), "of type float, which readers of PMML round"),
    "two columns": (
        lambda: document(
            node("so", "<True/>", node("no", LOW), node("yes", asks("town", "equal", "Ulm"))),
            NUMBER + TOWN,
            '<MiningField name="age"/><MiningField name="town"/>',
        ),
        "ask for different columns: age, town",
    ),
    "a gap": (
        lambda: document(node("so", "<True/>", node("no", LOW), node("yes", asks("age", "greaterThan", 30.0)))),
        "has no child for 'age' = 30.0",
    ),
    "no score": (lambda: document(node(None, "<True/>", node(None, LOW), node("yes", HIGH))), "A leaf .* has no score"),
    "a first condition": (lambda: document(node("so", LOW)), "The first node of the PMML has a condition"),
    "an unknown operator": (lambda: PLAIN.replace("lessThan", "isAbove"), "has the operator 'isAbove'"),
    "escaped texts": (
        lambda: document(
            node("so", "<True/>", node("no", one_of("town", "isIn", ['the "old" one'])), node("yes", "<True/>")),
            TOWN,
            '<MiningField name="town"/>',
        ),
        "has a backslash in an Array, which readers of PMML take differently",
    ),
    "ordered texts": (
        lambda: document(
            node("so", "<True/>", node("no", asks("town", "lessThan", "Ulm")), node("yes", "<True/>")),
            TOWN,
            '<MiningField name="town"/>',
        ),
        "compares 'town' by lessThan, but it is no number",
    ),
    "a model in a node": (
        lambda: PLAIN.replace("</Node></Node>", '<Regression functionName="regression"/></Node></Node>'),
        "holds a model of its own",
    ),
    "a changed target": (
        lambda: PLAIN.replace("<Node", '<Targets><Target field="pays" castInteger="round"/></Targets><Node', 1),
        "its Target has castInteger",
    ),
}
BOMB = '<!DOCTYPE z [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>' + PLAIN.split("\n", 1)[1].replace("<Header/>", "&b;")
BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "entities": (lambda: BOMB, "holds a document type, an entity or an encoding that is not read"),
    "an external entity": (
        lambda: '<!DOCTYPE z [<!ENTITY a SYSTEM "file:///etc/hostname">]><PMML version="4.4">&a;</PMML>',
        "because such a file can reach for others or fill the memory",
    ),
    "a document type": (lambda: '<!DOCTYPE z SYSTEM "pmml.dtd"><PMML version="4.4"/>', "holds a document type"),
    "no such encoding": (
        lambda: b'<?xml version="1.0" encoding="klingon"?><PMML/>',
        "is no XML|an encoding that is not",
    ),
    "half a file": (lambda: PLAIN[: len(PLAIN) // 2], "it is no XML, or was cut"),
    "no end of depth": (
        lambda: document("<Node><True/>" * 30_000 + "</Node>" * 30_000),
        "more than 200 elements within one another",
    ),
    "nothing": (lambda: b"", "is no XML, or was cut"),
    "a number": (lambda: 3, "as a path, text or bytes, found int"),
    "no file": (lambda: "absent.pmml", "cannot be read"),
    "no nodes": (lambda: document(""), "has no Node"),
    "no dictionary": (lambda: PLAIN.replace("DataDictionary", "Other"), "has no DataDictionary"),
    "no predicate": (lambda: PLAIN.replace(LOW, ""), "has 0 predicates"),
    "no limit": (lambda: PLAIN.replace(' value="30.0"', ""), "has no field 'value'"),
    "a limit that is no number": (lambda: PLAIN.replace('"30.0"', '"1_0"'), "Expected a finite number in the PMML"),
    "a field that nobody knows": (lambda: PLAIN.replace('field="age"', 'field="rage"'), "asks for 'rage', which is no"),
    "a field twice": (
        lambda: PLAIN.replace('<MiningField name="age"/>', '<MiningField name="age"/>' * 2),
        "names 'age' twice",
    ),
    "a field that is not declared": (lambda: PLAIN.replace(NUMBER, ""), "names 'age', which its DataDictionary"),
    "a short array": (
        lambda: document(
            node("so", "<True/>", node("no", one_of("town", "isIn", ["Ulm"]).replace('n="1"', 'n="2"'))),
            TOWN,
            '<MiningField name="town"/>',
        ),
        "says that it has 2 values, but 1 are there",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_cannot_be_read_exactly_is_rejected_by_name(make: Callable[[], str], sentence: str) -> None:
    with pytest.raises(UnsupportedModelError, match=sentence):
        read_pmml(make())


@pytest.mark.parametrize(("make", "sentence"), BROKEN.values(), ids=BROKEN)
def test_a_broken_or_hostile_file_is_rejected_with_a_sentence(make: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence) as rejected:
        read_pmml(make())
    assert len(str(rejected.value).splitlines()) == 1


def test_without_defusedxml_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secateur.errors.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"pip install .secateur\[pmml\]."):
        read_pmml(PLAIN)
