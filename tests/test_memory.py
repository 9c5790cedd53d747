"""What an input becomes in memory is bounded, and a program that works on it can be stopped."""

from __future__ import annotations

import gzip
import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import Rules, Tree
from secateur.adapters import read_iai, read_onnx, read_pmml
from secateur.errors import FormatError, InputError, SecateurError
from secateur.limits import JSON_MARKS, XML_MARKS, check_parsed_size
from secateur.rows import checking
from secateur.tree import paths as tracing
from secateur.tree.paths import Paths
from secateur.tree.tree import make_tree

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts memory as Linux does")

# Prints what a command says and the most memory, in kB, that it had.
MEASURED = """
import resource, subprocess, sys
ended = subprocess.run([sys.executable, *sys.argv[1:]], capture_output=True, text=True)
print(ended.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, ended.stdout + ended.stderr)
"""


def measure(*arguments: str) -> tuple[int, int, str]:
    """Run Python; return its status, the most MB that it had, and what it said."""
    command = [sys.executable, "-c", MEASURED, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "1000"})
    status, peak, said = ended.stdout.split(" ", 2)
    return int(status), int(peak) >> 10, said.strip()


def make_chain(n_splits: int) -> Tree:
    place = np.arange(2 * n_splits + 1)
    is_split = (place % 2 == 0) & (place < 2 * n_splits)
    return make_tree(
        children_left=np.where(is_split, place + 1, -1),
        children_right=np.where(is_split, place + 2, -1),
        feature=np.where(is_split, 0, -1),
        threshold=np.where(is_split, place, np.nan),
        leaf_class=np.where(is_split, -1, place // 2 % 2),
        classes=["no", "yes"],
        n_features=1,
    )


@pytest.mark.long
@on_linux
@pytest.mark.parametrize("item", [b"[],", b'{"a":1},'])
def test_a_packed_text_of_many_items_is_rejected_in_a_sentence(item: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rules.json.gz"
    text = b'{"format":"secateur-rules","x":[' + item * 16_000_000 + b"0]}"
    path.write_bytes(gzip.compress(text, 1))
    status, peak, said = measure("-m", "secateur", "verify", str(path))
    assert status == 2
    assert said.startswith(f"Error: {path} ")
    assert "SECATEUR_MAX_" in said
    assert "\n" not in said
    assert peak < 900


@pytest.mark.parametrize("read", [Tree.from_json, Rules.from_json, read_iai])
def test_every_reader_of_json_counts_what_a_text_becomes(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECATEUR_MAX_MODEL", "100K")
    with pytest.raises(FormatError, match=r"would take up to 1\d\d\.\d KiB of memory once it is parsed.*=200KiB"):
        read('{"x":[' + "[]," * 1_000 + "0]}")


def test_a_text_of_many_elements_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECATEUR_MAX_MODEL", "100K")
    with pytest.raises(FormatError, match="The PMML would take up to"):
        read_pmml("<PMML>" + "<a/>" * 1_000 + "</PMML>")


@pytest.mark.long
@on_linux
@pytest.mark.parametrize("kind", ["json", "xml"])
@pytest.mark.parametrize("place", range(8))
def test_the_marks_of_a_text_bound_its_memory(kind: str, place: int) -> None:
    items = {
        "json": ["[],", "[1],", "{},", '{"a":1},', "1.5,", "999,", '"ab",', '{"a":[{}],"b":"cd"},'],
        "xml": [
            "<a/>",
            '<a b=""/>',
            '<a b="cd"/>',
            "<a>xx</a>yy",
            '<a b="cd" c="12"/>',
            "<a></a>",
            "<a> </a>",
            "<?a?>",
        ],
    }
    item, n_items = items[kind][place], 300_000
    around = ("[", "0]") if kind == "json" else ("<r>", "</r>")
    parse = "json.loads" if kind == "json" else "xml.etree.ElementTree.fromstring"
    code = (
        "import json, resource, xml.etree.ElementTree as _, xml\n"
        f"text = {around[0]!r} + {item!r} * {n_items} + {around[1]!r}\n"
        "held = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"before = held()\nparsed = {parse}(text)\nprint((held() - before) << 10)"
    )
    used = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    text = around[0] + item * n_items + around[1]
    marks = JSON_MARKS if kind == "json" else XML_MARKS
    bound = sum(n_bytes * text.count(mark) for mark, n_bytes in marks.items()) + len(text)
    assert used < bound + (4 << 20)  # memory comes in larger pieces
    check_parsed_size(text, marks, "It")  # and it is taken


def test_an_onnx_file_of_many_parts_is_rejected() -> None:
    onnx = pytest.importorskip("onnx")
    graph = onnx.GraphProto(node=[onnx.NodeProto()] * 100_001)
    with pytest.raises(FormatError, match="more than 100,000 parts: expected one tree"):
        read_onnx(onnx.ModelProto(ir_version=8, graph=graph).SerializeToString())


@given(strategies.trees(), st.integers(1, 40), st.randoms(use_true_random=False))
def test_paths_made_a_part_at_a_time_are_those_of_a_walk(tree: Tree, part: int, random: Any) -> None:
    walked: list[list[int]] = []
    waiting: list[tuple[int, list[int]]] = [(0, [])]
    while waiting:
        node, path = waiting.pop()
        if tree.children_left[node] < 0:
            walked.append(path)
        for child in (tree.children_right[node], tree.children_left[node]):
            if child >= 0:
                waiting.append((int(child), [*path, int(child)]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "PART_ENTRIES", part)
        paths = Paths(tree, 1e-12)
        assert [paths.links[paths.entries(rule)].tolist() for rule in range(paths.n_rules)] == walked
        marked = np.array([random.random() < 0.5 for _ in paths.links], dtype=bool)
        assert paths.count(marked).tolist() == [int(marked[paths.entries(k)].sum()) for k in range(paths.n_rules)]


def test_more_conditions_than_the_limit_are_rejected_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"have 450,045,000 conditions in all, and at most 60,000,000 are taken: .*"):
        secateur.simplify(make_chain(30_000))
    monkeypatch.setenv("SECATEUR_MAX_CONDITIONS", "100")
    with pytest.raises(InputError, match=r"have 135 conditions .* SECATEUR_MAX_CONDITIONS=200, to take more"):
        secateur.simplify(make_chain(15))
    assert len(secateur.simplify(make_chain(12), each_leaf=True)) == 13


def test_rules_are_written_only_if_they_could_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = secateur.simplify(make_chain(30), each_leaf=True)
    text = rules.to_json()
    needed = len(text) + sum(n_bytes * text.count(mark) for mark, n_bytes in JSON_MARKS.items())
    monkeypatch.setenv("SECATEUR_MAX_MODEL", str(needed))
    assert Rules.from_json(rules.to_json()) == rules
    for less in (needed - 1, 216 * 495 - 1):
        monkeypatch.setenv("SECATEUR_MAX_MODEL", str(less))
        with pytest.raises(FormatError, match="which have 495 conditions, would take up to"):
            rules.to_json()


# The function alone: what the tests import takes longer than what is measured.
CHAIN = f"""
from __future__ import annotations
import numpy as np, secateur
from secateur.tree.tree import make_tree
{inspect.getsource(make_chain)}
rules = secateur.simplify(make_chain(2_000), each_leaf={{}})
print(len(rules.deleted))
"""


@pytest.mark.long
@on_linux
@pytest.mark.parametrize("each_leaf", [True, False])
def test_a_deep_chain_takes_few_bytes_for_each_condition(each_leaf: bool) -> None:
    script = CHAIN.format(each_leaf)
    _, small, _ = measure("-c", script.replace("2_000", "700"))  # enough for compiled code, which takes its own
    status, peak, said = measure("-c", script)
    assert (status, said) == (0, "2003000")
    # It was 50 bytes when numbers were stored that there were none of. A list keeps what it was chosen from.
    assert (peak - small) << 20 < (25 if each_leaf else 32) * 1_756_950


@given(st.data())
def test_a_small_frame_is_read_as_its_columns_are(data: st.DataObject) -> None:
    kinds = {"f": [0.5, -1e300, np.nan, np.inf, 2.0**53], "i": [0, 3, -7, 2**53, 2**53 + 1, -(2**62)], "u": [0, 2**63]}
    columns = {}
    for name in "abc":
        kind = data.draw(st.sampled_from("fiu"))
        values = data.draw(
            st.lists(st.sampled_from(kinds[kind][: data.draw(st.integers(2, 6))]), min_size=3, max_size=3)
        )
        columns[name] = np.array(values, dtype={"f": np.float64, "i": np.int64, "u": np.uint64}[kind])
    model = DecisionTreeClassifier(random_state=0).fit([[0, 0, 0], [1, 0, 1], [2, 1, 0]], [0, 1, 0])
    tree = secateur.from_model(model, accepts_missing=data.draw(st.booleans()))
    found = []
    for most in (0, 1 << 22):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checking, "FEW_CELLS", most)
            try:
                found.append(checking.check_rows(tree, pd.DataFrame(columns)).matrix.tolist())
            except SecateurError as error:
                found.append(str(error))
    np.testing.assert_equal(found[1], found[0])


def test_the_columns_of_a_wide_frame_are_not_listed_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 400)), columns=[f"c{k}" for k in range(400)])
    y = np.arange(30) % 2
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    listed = []
    columns = nw.DataFrame.columns.fget
    monkeypatch.setattr(nw.DataFrame, "columns", property(lambda frame: listed.append(1) or columns(frame)))
    monkeypatch.setattr(checking, "FEW_CELLS", 0)
    assert secateur.simplify(model, X, y).verify(X, y).ok
    assert len(listed) < 100


# A library's call that takes minutes, while outputs are staged.
BUSY = """
import hashlib, sys
from pathlib import Path
from secateur.cli import main
def work():
    from secateur.rows.whole_files import make_room
    from secateur.rows.whole_files import stage_file
    with make_room() as room, stage_file(Path(sys.argv[1]), replace=True) as staged:
        staged.write_text("new, in part")
        (room / "ready").touch()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
main._run_command = work
main.start()
"""


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="has other signals")
@pytest.mark.parametrize(
    ("how", "status", "words"),
    [(signal.SIGINT, 130, b"\nStopped.\n"), (signal.SIGTERM, 143, b"Stopped by a signal (SIGTERM).\n")],
)
def test_a_signal_ends_a_librarys_long_call(how: signal.Signals, status: int, words: bytes, tmp_path: Path) -> None:
    output, rooms = tmp_path / "out" / "rules.json", tmp_path / "rooms"
    for directory in (output.parent, rooms):
        directory.mkdir()
    output.write_text("old")
    environment = {**os.environ, "TMPDIR": str(rooms)}
    command = [sys.executable, "-c", BUSY, str(output)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        try:
            waited = 0.0
            while not list(rooms.glob("*/ready")) and waited < 60:
                time.sleep(0.1)
                waited += 0.1
            process.send_signal(how)
            shown, complaint = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, shown, complaint) == (status, b"", words)
    assert output.read_text() == "old"
    assert os.listdir(output.parent) == ["rules.json"]
    assert not os.listdir(rooms)
