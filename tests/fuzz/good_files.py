"""Small good files of every format that is read, and how each is changed."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from exported_rules import ward_rules
from fuzz import mutating
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines
from secateur.cli.model_files import dump_model
from secateur.export.json import _digest
from secateur.rows.file_bytes import pack

MODELS = Path(__file__).parents[1] / "models"
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {"age": RNG.integers(18, 60, 60), "income": RNG.normal(size=60).round(2), "children": RNG.integers(0, 3, 60)}
)
Y = np.where(X["age"] + 20 * X["income"] + 5 * RNG.normal(size=60) > 40, "yes", "no")
X3, Y3 = load_iris(return_X_y=True)


def _fit(depth: int = 3) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, Y)


def _told_tree() -> secateur.Tree:
    """A tree with a group, whole numbers, a bound and an implication."""
    rows = pd.DataFrame(
        {"hue_red": [1, 0, 0, 0, 1, 0] * 5, "hue_blue": [0, 1, 0, 1, 0, 0] * 5, "n": [1, 2, 3, 4, 5, 6] * 5}
    )
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(rows, rows["n"] * (1 - rows["hue_red"]) > 3)
    facts = ["n is a whole number", "n >= 0", "hue = red => n <= 5"]
    return secateur.simplify(fitted, facts=facts, groups={"hue": ["hue_red", "hue_blue"]}, each_leaf=True).tree


def _monotone_tree() -> secateur.Tree:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "income"])
    root = builder.split("age", 30)
    for side, limit, counts in (("left", 2.5, ([9, 1], [3, 4])), ("right", 1.5, ([5, 4], [1, 9]))):
        node = builder.split("income", limit, parent=root, side=side)
        for below, own in zip(("left", "right"), counts, strict=True):
            builder.leaf(own, parent=node, side=below)
    return builder.build()


def _each_leaf() -> list[Any]:
    model = _fit()
    weights = RNG.integers(1, 4, 60).astype(float)
    settings: dict[str, dict[str, Any]] = {
        "none": {},
        "exact": {},
        "redundancy": {},
        "faithful": {"tolerance": 0.1},
        "mismatch": {"tolerance": 0.1},
        "budgeted": {"max_conflict": 0.05},
        "quinlan": {},
    }
    made = [secateur.simplify(model, X, Y, method=name, each_leaf=True, **own) for name, own in settings.items()]
    made += [
        secateur.simplify(model, X, Y, sample_weight=weights, each_leaf=True),
        secateur.simplify(model, method="sibling", each_leaf=True),
        ward_rules(),
    ]
    made += [
        secateur.simplify(_told_tree(), each_leaf=True),
        secateur.simplify(ward_rules().tree, method="exact", each_leaf=True),
    ]
    made.append(
        secateur.simplify(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X3, Y3), X3, Y3, each_leaf=True)
    )
    made.append(secateur.simplify(model, X, Y, method="mismatch-certified", each_leaf=True))
    # Rules that may overlap and that nothing ranks.
    made.append(secateur.simplify(_monotone_tree(), method="mismatch-certified", monotone=[1, 1], each_leaf=True))
    return made


def _lists() -> list[Any]:
    iris = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X3, Y3)
    made = [secateur.simplify(_fit(), X, Y), secateur.simplify(_fit(), X, Y, budget=0.05), secateur.simplify(_fit())]
    made += [secateur.simplify(iris, X3, Y3, budget=0.02), secateur.simplify(_told_tree()), choose_lines(ward_rules())]
    made.append(secateur.simplify(iris, X3, Y3, method="faithful"))
    made.append(secateur.simplify(_fit(4), X, Y, method="mismatch", budget=0.3))
    made.append(secateur.approximate(RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, Y), X, Y))
    return made


def _in_columns() -> list[bytes]:
    """Rules of so many leaves that lines are written without words; here, of few."""
    with mock.patch("secateur.export.json.WORDED_CONDITIONS", -1):
        return [secateur.simplify(_fit(), X, Y, each_leaf=each).to_json().encode() for each in (True, False)]


def _scaled() -> Any:
    return secateur.simplify(
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, Y), each_leaf=True
    ).tree


def _trees() -> list[Any]:
    clock = ward_rules().tree
    return [secateur.from_model(_fit()), ward_rules().tree, _told_tree(), _scaled(), replace(clock, dtype="float64")]


def _onnx() -> list[bytes]:
    from skl2onnx import to_onnx

    iris = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X3.astype(np.float32), Y3)
    models = [
        to_onnx(iris, X3[:1].astype(np.float32), options={id(iris): {"zipmap": False}}),
        to_onnx(_fit(), X.to_numpy(np.float32)[:1]),
    ]
    for model in models:  # the name of the graph and some orders are others each time
        model.graph.name = "tree"
        imports = sorted({(one.domain, one.version) for one in model.opset_import})
        del model.opset_import[:]
        for domain, version in imports:
            model.opset_import.add(domain=domain, version=version)
        for node in model.graph.node:
            attributes = sorted(node.attribute, key=lambda one: str(one.name))
            del node.attribute[:]
            node.attribute.extend(attributes)
    return [bytes(model.SerializeToString()) for model in models]


PMML = Path(__file__).with_name("branches.pmml").read_text(encoding="utf-8")


def _pmml() -> list[bytes]:
    strategies = (
        'missingValueStrategy="defaultChild" noTrueChildStrategy="returnLastPrediction"',
        'missingValueStrategy="lastPrediction"',
        "",
    )
    return [PMML.format(model=words).encode() for words in strategies]


def _table(n_rows: int = 24) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "income": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows).round(3)),
            "city": rng.choice(["Paris", "Roma", "Köln"], n_rows),
            "member": rng.choice([True, False], n_rows),
            "when": rng.choice(["2024-01-03", "2023-12-31"], n_rows),
            "outcome": rng.choice(["no", "yes"], n_rows),
        }
    )


def arrow_table() -> pa.Table:
    """The table as Arrow holds it, one column as a dictionary."""
    table = pa.Table.from_pandas(_table(), preserve_index=False)
    return table.set_column(2, "city", table["city"].cast(pa.string()).dictionary_encode())


def write_arrow(table: pa.Table, *, is_stream: bool = False, packed: str | None = None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=packed)
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=10)
    return sink.getvalue()


def write_parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=10, **options)
    return sink.getvalue()


def _pack_again(data: bytes) -> bytes:
    """A skops file without the hour it was written and the places of its objects in memory."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as packed, zipfile.ZipFile(target, "w") as again:
        schema = packed.read("schema.json").decode()
        for place, found in enumerate(dict.fromkeys(re.findall(r'"__id__": (\d+)', schema))):
            schema = re.sub(rf'"__id__": {found}\b', f'"__id__": {place}', schema)
        renamed = {name: f"array_{place}.npy" for place, name in enumerate(packed.namelist()) if name.endswith(".npy")}
        for name, new in renamed.items():
            schema = schema.replace(name, new)
        for name in packed.namelist():
            content = schema.encode() if name == "schema.json" else packed.read(name)
            again.writestr(zipfile.ZipInfo(renamed.get(name, name)), content)
    return target.getvalue()


def _skops() -> list[bytes]:
    models = [
        _fit(),
        DecisionTreeClassifier(max_depth=2, random_state=0).fit(X3, Y3),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, Y),
        RandomForestClassifier(2, max_depth=2, random_state=0).fit(X3, Y3),
        DecisionTreeClassifier(max_depth=2, random_state=0).fit(X.where(X["age"] > 25), Y),
    ]
    return [_pack_again(dump_model(model)) for model in models]


MAKERS: dict[str, Callable[[], list[bytes]]] = {
    "rules": lambda: [*(rules.to_json().encode() for rules in (*_each_leaf(), *_lists())), *_in_columns()],
    "packed": lambda: [pack(data) for data in good_files("rules")],
    "tree": lambda: [tree.to_json().encode() for tree in _trees()],
    "iai": lambda: [path.read_bytes() for path in sorted(MODELS.glob("iai_*.json"))],
    "skops": _skops,
    "onnx": _onnx,
    "pmml": _pmml,
    "csv": lambda: [_table().to_csv(index=False).encode(), _table(9).drop(columns="when").to_csv(index=False).encode()],
    "parquet": lambda: [
        write_parquet(arrow_table(), compression="NONE"),
        write_parquet(arrow_table(), compression="ZSTD"),
        write_parquet(arrow_table(), compression="NONE", use_dictionary=False, data_page_version="2.0"),
    ],
    "arrow": lambda: [
        write_arrow(arrow_table(), is_stream=is_stream, packed=packed)
        for is_stream in (False, True)
        for packed in (None, None, "zstd", "lz4")
    ],
    "jsonl": lambda: [_table().to_json(orient="records", lines=True, force_ascii=False).encode()],
}


@cache
def good_files(kind: str) -> tuple[bytes, ...]:
    """The good files of a format."""
    return tuple(MAKERS[kind]())


def _json_again(data: bytes, rng: Random) -> bytes:
    return mutating.write_json(mutating.change_json(json.loads(data), rng), rng)


def _forge(data: bytes, rng: Random) -> bytes:
    """Change rules, and make their digest anew every other time, as a forger would."""
    content = mutating.change_json(json.loads(data), rng)
    if rng.random() < 0.5:
        try:
            content.pop("digest")
            content["digest"] = _digest(content)
        except (AttributeError, KeyError, TypeError, ValueError):
            pass  # what is left of it has no digest
    return mutating.write_json(content, rng)


def _pack_otherwise(data: bytes, rng: Random) -> bytes:
    """Change what is packed, and the way it is: in several members, with a name, or with something behind it."""
    text = gzip.decompress(data)
    if rng.random() < 0.5:
        text = _forge(text, rng)
    cut = rng.randrange(len(text) + 1)
    members = [gzip.compress(part, rng.randrange(10), mtime=0) for part in (text[:cut], text[cut:])]
    named = io.BytesIO()
    with gzip.GzipFile(rng.choice(["", "rules.json", "ñ"]), "wb", fileobj=named, mtime=rng.randrange(1 << 32)) as file:
        file.write(text)
    behind = rng.choice([b"", b"\0" * 9, b"more", members[0][:5]])
    return rng.choice([b"".join(members), named.getvalue() + behind, b"".join(reversed(members)), members[0]])


def _change_columns(data: bytes, rng: Random, write: Callable[..., bytes]) -> bytes:
    del data
    return write(mutating.change_table(arrow_table(), rng))


CHANGES: dict[str, Callable[[bytes, Random], bytes]] = {
    "rules": _forge,
    "packed": _pack_otherwise,
    "tree": _json_again,
    "iai": _json_again,
    "skops": mutating.change_zip,
    "onnx": mutating.change_onnx,
    "pmml": mutating.change_xml,
    "csv": mutating.change_csv,
    "jsonl": mutating.change_json_lines,
    "parquet": lambda data, rng: _change_columns(data, rng, write_parquet),
    "arrow": lambda data, rng: _change_columns(data, rng, write_arrow),
}
# How often bytes are changed without an eye for the format.
BLIND = {"rules": 0.1, "parquet": 0.85, "arrow": 0.85}


def changed_file(kind: str, number: int) -> bytes:
    """The changed file of a format and a number, always the same."""
    rng = Random(f"{kind} {number}")
    data = rng.choice(good_files(kind))
    if rng.random() < BLIND.get(kind, 0.2):
        return mutating.damage_bytes(data, rng)
    return CHANGES[kind](data, rng)
