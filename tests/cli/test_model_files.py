from __future__ import annotations

import io
import json
import pickle
import zipfile
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from loans import make_loans
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from sklearn.tree._tree import Tree
from typer.testing import CliRunner

import secateur
from secateur.cli.main import app
from secateur.cli.model_files import dump_model, is_rules_file, load_model, load_rules
from secateur.cli.tables.fitted_table import fit_table, read_one_tree, simplify_fitted
from secateur.cli.tables.table_columns import parse_row, take_rows, to_types
from secateur.cli.tables.table_file import TableFile, read_table
from secateur.errors import FormatError, InputError, SecateurError, UnsupportedModelError
from secateur.rows.checking import check_rows
from secateur.rows.encoding import to_label_types
from secateur.rows.rows import apply_tree
from secateur.tree.difference import find_tree_differences

X, Y = load_iris(return_X_y=True)
MODEL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
RULES = secateur.simplify(MODEL, X, Y, method="faithful", each_leaf=True)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", ["m.skops", "tree.json", "rules.json"])
def test_a_model_comes_back_from_every_format(name: str, tmp_path: Path) -> None:
    content = {"m.skops": dump_model(MODEL), "tree.json": RULES.tree.to_json(), "rules.json": RULES.to_json()}[name]
    loaded = load_model(write(tmp_path / name, content))
    assert find_tree_differences(RULES.tree, secateur.from_model(loaded)) == []


def test_iai_json_is_known_by_its_content() -> None:
    path = Path(__file__).parents[1] / "models" / "iai_numeric.json"
    assert isinstance(load_model(path), secateur.Tree)


PMML = """<?xml version="1.0"?><PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="ward" optype="categorical" dataType="string"><Value value="A"/><Value value="B"/></DataField>
<DataField name="goes" optype="categorical" dataType="string"/></DataDictionary>
<TreeModel functionName="classification"><MiningSchema><MiningField name="age"/><MiningField name="ward"/>
<MiningField name="goes" usageType="target"/></MiningSchema>
<Node><True/>
<Node score="home"><SimplePredicate field="ward" operator="equal" value="A"/></Node>
<Node><SimplePredicate field="ward" operator="equal" value="B"/>
<Node score="back"><SimplePredicate field="age" operator="lessThan" value="30"/></Node>
<Node score="home"><SimplePredicate field="age" operator="greaterOrEqual" value="30"/></Node></Node></Node>
</TreeModel></PMML>"""


def test_trees_of_other_programs_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    convert = pytest.importorskip("skl2onnx").to_onnx
    model = convert(MODEL, X[:1].astype(np.float32))
    loaded = load_model(write(tmp_path / "tree.onnx", model.SerializeToString()))
    assert (apply_tree(loaded, check_rows(loaded, X)) == MODEL.apply(X)).all()
    tree = load_model(write(tmp_path / "tree.pmml", "\ufeff" + PMML))
    assert tree.feature_names == ("age", "ward")


def test_the_command_line_takes_a_tree_of_another_program(tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.csv", "ward,age,goes\nA,20,home\nB,20,back\nB,30,home\nA,40,home\n")
    path = write(tmp_path / "tree.pmml", PMML)
    options = ["simplify", str(rows), "--target", "goes", "--model", str(path)]
    told = CliRunner().invoke(app, [*options, "--each-leaf"])
    assert told.exit_code == 0
    assert "1. home if ward is A" in told.output
    few = CliRunner().invoke(app, options)
    assert few.exit_code == 0
    assert "home otherwise" in few.output


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)])
def test_a_pickle_is_opened_on_trust_only(compress: Any, tmp_path: Path) -> None:
    path = tmp_path / "m"
    joblib.dump(MODEL, path, compress=compress)
    with pytest.raises(UnsupportedModelError, match=r"can run any code .* pass --trust-pickle"):
        load_model(path)
    assert (load_model(path, trust_pickle=True).predict(X) == MODEL.predict(X)).all()


def test_a_pickle_that_runs_code_runs_none_without_trust(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (mark,))

    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        path = write(tmp_path / "m.pkl", pickle.dumps(Trap(), protocol=protocol))
        with pytest.raises(UnsupportedModelError, match="is a pickle"):
            load_model(path)
    assert not mark.exists()


def test_types_that_are_not_trusted_are_named(tmp_path: Path) -> None:
    model = make_pipeline(FunctionTransformer(np.sqrt), DecisionTreeClassifier(max_depth=2)).fit(X, Y)
    path = write(tmp_path / "m.skops", skops.io.dumps(model))
    unknown = sorted(set(skops.io.get_untrusted_types(file=path)) - {"sklearn.tree._tree.Tree"})
    if not unknown:
        model.steps[0] = ("odd", FunctionTransformer(make_loans))
        path = write(tmp_path / "m.skops", skops.io.dumps(model))
        unknown = sorted(set(skops.io.get_untrusted_types(file=path)) - {"sklearn.tree._tree.Tree"})
    with pytest.raises(UnsupportedModelError, match=f"types that are not trusted: .*--trust {unknown[0]}"):
        load_model(path)
    assert type(load_model(path, trust=unknown)).__name__ == "Pipeline"


@pytest.mark.parametrize(("field", "value"), [("left_child", 10**6), ("right_child", -7), ("feature", 99)])
def test_a_forged_tree_is_rejected_before_it_is_used(field: str, value: int, tmp_path: Path) -> None:
    """A skops file whose tree points outside its arrays: scikit-learn would read memory that is not its own."""
    nodes = MODEL.tree_.__getstate__()["nodes"].copy()
    nodes[field][0] = value
    source = zipfile.ZipFile(io.BytesIO(dump_model(MODEL)))
    forged = io.BytesIO()
    with zipfile.ZipFile(forged, "w") as target:
        for entry in source.namelist():
            content = source.read(entry)
            if entry.endswith(".npy"):
                array = np.load(io.BytesIO(content), allow_pickle=False)
                if array.dtype.names and "left_child" in array.dtype.names:
                    buffer = io.BytesIO()
                    np.save(buffer, nodes)
                    content = buffer.getvalue()
            target.writestr(entry, content)
    path = write(tmp_path / "m.skops", forged.getvalue())
    with pytest.raises(FormatError, match="points outside itself: the file is damaged or forged"):
        load_model(path)


def forge(attribute: str, value: Any) -> DecisionTreeClassifier:
    """A tree whose model says something else than it does."""
    model = deepcopy(MODEL)
    setattr(model, attribute, value)
    return model


def forge_state(**changed: Any) -> DecisionTreeClassifier:
    """A model whose tree has another state."""
    tree = Tree(4, MODEL.tree_.n_classes, 1)
    tree.__setstate__({**MODEL.tree_.__getstate__(), **changed})
    return forge("tree_", tree)


def forge_forest(name: str) -> Any:
    """A forest whose second tree wants more columns than the forest has."""
    wide = np.hstack([np.full((len(X), 50), 1.0), X])
    if name == "forest":
        forest: Any = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y)
        forest.estimators_[1] = DecisionTreeClassifier(max_depth=2).fit(wide, Y.astype(float))
        return forest
    forest = GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0).fit(X, Y == 1)
    forest.estimators_[1, 0] = DecisionTreeRegressor(max_depth=2).fit(wide, Y.astype(float))
    return forest


WIDE = DecisionTreeClassifier(max_depth=2).fit(np.hstack([np.full((len(X), 50), 1.0), X]), Y)
FORGED = {
    "fewer columns than its tree": (lambda: forge("n_features_in_", 2), "does not fit its model"),
    "no number of columns": (lambda: forge("n_features_in_", None), "does not fit its model"),
    "a tree of more columns": (lambda: forge("tree_", WIDE.tree_), "does not fit its model"),
    "more outputs": (lambda: forge("n_outputs_", 2), "does not fit its model"),
    "fewer classes": (lambda: forge("classes_", np.array([0, 1])), "does not fit its model"),
    "classes that are no list": (lambda: forge("classes_", 3), "does not fit its model"),
    "a tree that nobody owns": (lambda: [MODEL.tree_], "does not fit its model"),
    "a tree of two models": (lambda: [forge("tree_", WIDE.tree_), WIDE, forge("max_depth", 9)], "does not fit"),
    "a method of a forged model": (
        lambda: FunctionTransformer(forge("n_features_in_", 2).predict),
        "does not fit its model",
    ),
    "a partial of a forged model": (
        lambda: FunctionTransformer(partial(np.add, forge("n_features_in_", 2))),
        "does not fit its model",
    ),
    "paths longer than its depth": (lambda: forge_state(max_depth=2), "points outside itself"),
    "no node": (lambda: forge_state(node_count=0), "points outside itself"),
    "fewer nodes": (lambda: forge_state(node_count=2), "points outside itself"),
    "a forest": (lambda: forge_forest("forest"), "does not fit its model"),
    "a boosted forest": (lambda: forge_forest("boosted"), "does not fit its model"),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_model_whose_tree_does_not_fit_it_is_rejected(case: str, tmp_path: Path) -> None:
    """scikit-learn looks at the model's number of columns, and then follows the tree."""
    make, sentence = FORGED[case]
    path = write(tmp_path / "m.skops", dump_model(make()))
    with pytest.raises(FormatError, match=f"{sentence}.*damaged or forged"):
        load_model(path, trust=skops.io.get_untrusted_types(file=path))


HONEST = [
    *(DecisionTreeRegressor(max_depth=3), ExtraTreeClassifier(max_depth=3)),
    *(RandomForestClassifier(3, max_depth=3), ExtraTreesClassifier(3, max_depth=3)),
    *(GradientBoostingClassifier(n_estimators=2), AdaBoostClassifier(n_estimators=2)),
    *(BaggingClassifier(DecisionTreeClassifier(), 3, max_features=0.5), IsolationForest(n_estimators=3)),
]
OF_TWO_OUTPUTS = [
    *(DecisionTreeClassifier(max_depth=3), DecisionTreeRegressor(max_depth=3), RandomForestClassifier(3, max_depth=3)),
    ClassifierChain(DecisionTreeClassifier()),
]


@pytest.mark.parametrize(
    ("model", "labels"),
    [*((model, Y) for model in HONEST), *((model, np.c_[Y == 1, Y == 2]) for model in OF_TWO_OUTPUTS)],
    ids=[type(model).__name__ for model in (*HONEST, *OF_TWO_OUTPUTS)],
)
def test_honest_models_are_not_taken_for_forged(model: Any, labels: Any, tmp_path: Path) -> None:
    fitted = model.fit(X, labels)
    path = write(tmp_path / "m.skops", dump_model(fitted))
    loaded = load_model(path, trust=skops.io.get_untrusted_types(file=path))
    assert (loaded.predict(X) == fitted.predict(X)).all()


REJECTED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "text": (b"age,ward\n1,2\n", "is no model: expected a .skops file, a tree or rules as JSON"),
    "a zip": (b"PK\x03\x04nonsense", "is a zip file, but no model that skops wrote"),
    "half of PMML": (PMML[:400].encode(), "it is no XML, or was cut"),
    "a web page": (b"<html></html>", "Expected PMML of version 3 or 4, found html"),
    "half of ONNX": (b"\x08\x09\x12\x99", "Expected an ONNX model, but the bytes are none, or were cut"),
    "half of JSON": (b'{"a": ', "is not JSON"),
    "half of a pickle": (pickle.dumps(MODEL)[:50], "cannot be opened as a pickle"),
    "rules of the future": (b'{"format": "secateur-rules", "version": 99}', "has version 99"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_what_is_no_model_is_rejected_in_one_sentence(case: str, tmp_path: Path) -> None:
    content, sentence = REJECTED[case]
    with pytest.raises(SecateurError, match=sentence) as rejected:
        load_model(write(tmp_path / "m", content), trust_pickle=True)
    assert len(str(rejected.value).splitlines()) == 1


def test_files_that_are_not_there_are_said_to_be_absent(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        load_model(tmp_path / "absent")
    with pytest.raises(InputError, match="is a directory"):
        load_rules(tmp_path)


def test_rules_are_told_from_other_json(tmp_path: Path) -> None:
    rules = write(tmp_path / "rules.json", RULES.to_json())
    tree = write(tmp_path / "tree.json", RULES.tree.to_json())
    assert is_rules_file(rules)
    assert not is_rules_file(tree)
    assert not is_rules_file(tmp_path / "absent")
    assert is_rules_file(write(tmp_path / "spaced.json", json.dumps(json.loads(RULES.to_json()), indent=2)))
    assert load_rules(rules) == RULES
    with pytest.raises(FormatError, match="is a tree: expected rules"):
        load_rules(tree)
    for other in ("[1, 2]", "{}", '{"format": {}}', '{"format": []}', '{"format": null}', '{"format": 1}', '"text"'):
        with pytest.raises(FormatError, match="is JSON, but no rules"):
            load_rules(write(tmp_path / "other.json", other))
        with pytest.raises(SecateurError):
            load_model(write(tmp_path / "other.json", other))
    with pytest.raises(FormatError, match="is not in UTF-8: expected JSON"):
        load_rules(write(tmp_path / "bytes.json", b"\xff\xfe\x00"))


def test_a_forest_is_rejected() -> None:
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    for model in (forest, make_pipeline(StandardScaler(), forest)):
        with pytest.raises(UnsupportedModelError, match="of several trees, and this is about one tree"):
            read_one_tree(model)


# Whether rules are of a model.


def test_trees_of_other_trainings_differ() -> None:
    tree = secateur.from_model(MODEL)
    assert find_tree_differences(tree, secateur.from_model(MODEL)) == []
    scaled = DecisionTreeClassifier(max_depth=3, random_state=0).fit(2 * X, Y)
    assert find_tree_differences(tree, secateur.from_model(scaled)) == [
        "The model's tree is not the tree of the rules: its thresholds differ."
    ]
    fewer = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:, :3], Y)
    assert "The model has 3 columns, but the rules are of a tree with 4." in find_tree_differences(
        tree, secateur.from_model(fewer)
    )
    renamed = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, np.array(["a", "b", "c"])[Y])
    assert find_tree_differences(tree, secateur.from_model(renamed)) == [
        "The model's classes are a, b, c, but the rules are about 0, 1, 2."
    ]


def test_trees_that_differ_in_one_thing_only_differ() -> None:
    """Blanks, rounding and names: nothing else of the two trees differs."""
    holes = X.copy()
    holes[::3, :] = np.nan
    tree = secateur.from_model(DecisionTreeClassifier(max_depth=3, random_state=0).fit(holes, Y), holes)
    names = ("a", "b", "c", "d")
    named = replace(tree, feature_names=names, threshold=tree.upper)  # thresholds that need no rounding
    turned = tree.missing_left.copy()
    turned[0] = not turned[0]
    for changed, sentence in (
        ({"missing_left": turned}, "The model's tree is not the tree of the rules: it sends blanks elsewhere."),
        ({"dtype": "float64"}, "The model's tree is not the tree of the rules: it rounds numbers differently."),
        (
            {"feature_names": names[::-1]},
            "The model's columns have other names or another order than those of the rules.",
        ),
    ):
        assert find_tree_differences(named, replace(named, **changed)) == [sentence]
    assert find_tree_differences(named, replace(named, feature_names=None)) == []


# Rows as a model takes them.


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> TableFile:
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    make_loans().drop(columns="applied").to_csv(path, index=False)
    return read_table(path)


def as_file(frame: pd.DataFrame) -> TableFile:
    kinds = {str(name): "text" if frame[name].dtype == object else "number" for name in frame}
    return TableFile("t.csv", frame, kinds, ())


def test_columns_are_picked_by_name_whatever_their_order(loans: TableFile) -> None:
    fitted = fit_table(loans, "outcome")
    tree = simplify_fitted(fitted, each_leaf=True).tree
    turned = as_file(loans.frame[loans.frame.columns[::-1]])
    assert take_rows(turned, tree).X.equals(fitted.train.X)
    with pytest.raises(
        InputError, match=r"does not fit the model: it has no column 'purpose'.*Did you mean 'porpoise'\?"
    ):
        take_rows(as_file(loans.frame.rename(columns={"purpose": "porpoise"})), tree)


def test_a_model_without_names_takes_the_columns_in_their_order() -> None:
    tree = secateur.from_model(MODEL)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=Y)
    assert list(take_rows(as_file(frame), tree, ["y"]).X.columns) == list("abcd")
    with pytest.raises(InputError, match=r"fitted on 4 columns without names, but t\.csv has 5"):
        take_rows(as_file(frame), tree)


def test_truth_values_and_digits_get_the_type_that_the_tree_expects() -> None:
    tree = secateur.from_model(MODEL)
    tree = replace(tree, categories=(None, (False, True), ("1", "2"), None))
    frame = pd.DataFrame(
        {
            "a": np.array(["true", "FALSE", np.nan], dtype=object),
            "b": np.array(["True", "false", np.nan], dtype=object),
            "c": [1, 2, 3],
            "d": np.array(["x", "y", np.nan], dtype=object),
        }
    )
    typed = to_types(frame, tree)
    assert typed["a"].tolist()[:2] == [1.0, 0.0]
    assert typed["b"].tolist()[:2] == [True, False]
    assert typed["c"].tolist() == ["1", "2", "3"]
    assert typed["d"].tolist()[:2] == ["x", "y"]
    assert typed.isna().equals(frame.isna())


def test_picked_columns_have_the_types_of_the_tree_with_names_and_without() -> None:
    tree = replace(secateur.from_model(MODEL), categories=(None, ("1", "2"), None, None), feature_names=None)
    frame = pd.DataFrame({"a": [0.5, 1.5], "self": [1, 2], "c": [1.0, 2.0], "d": [1.0, 2.0]})
    for picking in (tree, replace(tree, feature_names=tuple(frame.columns))):
        picked = take_rows(as_file(frame), picking).X
        assert picked["self"].tolist() == ["1", "2"]
        assert picked["a"].tolist() == [0.5, 1.5]
    assert frame["self"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        ([0, 1], [0, 1], [0, 1]),
        ([0, 1], ["0", "1"], ["0", "1"]),
        (["0", "1"], [0, 1], [0, 1]),
        (["True", "false"], [False, True], [True, False]),
        (["x", "y"], [0, 1], ["x", "y"]),
    ],
)
def test_labels_become_those_of_the_model(labels: list[Any], classes: list[Any], expected: list[Any]) -> None:
    given = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
    assert to_label_types(given, classes).tolist() == expected


def test_a_row_is_read_as_a_person_writes_it(loans: TableFile) -> None:
    fitted = fit_table(loans, "outcome")
    rules = simplify_fitted(fitted, each_leaf=True)
    text = {"age": "34", "income": "", "children": "2", "purpose": "car", "member": "yes"}
    plain = {"age": 34, "income": None, "children": 2.0, "purpose": "car", "member": "yes"}
    frame = pd.DataFrame([{**plain, "income": np.nan}])
    found = rules.explain(parse_row(rules.tree, text)[0])
    assert found.text == rules.explain(parse_row(rules.tree, plain)[0]).text
    assert found.prediction == fitted.model.predict(frame[list(fitted.train.X.columns)])[0]
    with pytest.raises(InputError, match=r"know no column 'agee'\. Did you mean 'age'\?"):
        parse_row(rules.tree, {**text, "agee": "3"})
    with pytest.raises(InputError, match="has no value for 'age'"):
        rules.explain(parse_row(rules.tree, {"income": "3"})[0])
    with pytest.raises(InputError, match=r"--row is not written .* 'age' holds 'old' \(row 1\) in place of numbers"):
        parse_row(rules.tree, {**text, "age": "old"})


@pytest.mark.long
def test_a_saved_model_takes_codes_that_no_split_asks_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 300)
    table = pd.DataFrame({"age": age, "branch": rng.choice([101, 102, 205], 300), "bad": np.where(age > 40, "y", "n")})
    table.to_csv(tmp_path / "t.csv", index=False)
    asked = ("simplify", tmp_path / "t.csv", "--target", "bad", "-o", tmp_path / "r.json", "-q")
    made = CliRunner().invoke(app, [*map(str, asked), "--save-model", str(tmp_path / "m.skops")])
    assert made.exit_code == 0, made.output
    assert "branch" not in str(load_rules(tmp_path / "r.json"))
    for command in (("verify", tmp_path / "r.json"), ("simplify", tmp_path / "t.csv")):
        given = ["--data", tmp_path / "t.csv"] if command[0] == "verify" else []
        told = CliRunner().invoke(
            app, [*map(str, (*command, *given)), "--target", "bad", "--model", str(tmp_path / "m.skops")]
        )
        assert told.exit_code == 0, told.output
