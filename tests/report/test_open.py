"""The desk is served to this machine's browser alone, answers as Python does, and ends without leaving anything."""

from __future__ import annotations

import http.client
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError
from secateur.report.desk import Desk, DeskServer, Training

DATA = load_breast_cancer(as_frame=True)
X, Y = DATA.data, DATA.target
SEEN, NEW = slice(0, 400), slice(400, None)


def train(columns: list[str], name: str = "first") -> Training:
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[columns][SEEN], Y[SEEN])
    rules = secateur.simplify(model, X[columns][SEEN], Y[SEEN], class_names=["malignant", "benign"])
    return Training(name, rules, X[columns][NEW], Y[NEW], tuple(columns), {"target": "diagnosis"})


def make_desk() -> Desk:
    columns = list(X.columns)
    return Desk([train(columns)], lambda without: train([c for c in columns if c not in without], "second"))


@pytest.fixture(scope="module")
def server() -> Iterator[DeskServer]:
    with DeskServer(make_desk()) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def connect(port: int) -> closing[http.client.HTTPConnection]:
    return closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60))


def ask(server: DeskServer, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], str]:
    """Ask as a browser does: a question if there is a body, else for a page."""
    own = {} if body is None else {"Origin": server.origin}
    content = None if body is None else body if isinstance(body, str) else json.dumps(body)
    with connect(server.server_port) as connection:
        connection.request("GET" if body is None else "POST", path, content, {**own, **headers})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()


STRIKE = {"journal": [{"edit": "strike", "line": 1, "reason": "too few rows"}]}


def test_the_page_is_served_with_its_token_and_a_policy(server: DeskServer) -> None:
    status, headers, page = ask(server, f"/{server.token}/")
    assert status == 200
    assert page.startswith("<!doctype html>")
    assert "connect-src &#39;self&#39;" in page or "connect-src 'self'" in page
    assert "default-src" in page
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert len(server.token) >= 32
    assert server.server_address[0] == "127.0.0.1"
    with DeskServer(make_desk()) as second:  # two at once: another port, another token
        assert second.server_port != server.server_port
        assert second.token != server.token


@pytest.mark.parametrize("question", [None, STRIKE])
@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/{token}/0/{question}", {"Host": "secateur.example:{port}"}, 403),
        ("/{token}/0/{question}", {"Host": "localhost:{port}"}, 403),
        ("/{token}/0/{question}", {"Host": "127.0.0.1"}, 403),
        ("/{token}/0/{question}", {"Origin": "https://secateur.example"}, 403),
        ("/{token}/0/{question}", {"Origin": "null"}, 403),
        ("/{wrong}/0/{question}", {}, 404),
        ("//0/{question}", {}, 404),
        ("/", {}, 404),
        ("/{token}", {}, 404),
        ("/{token}/../etc/passwd", {}, 404),
        ("/{token}/7/{question}", {}, 404),
    ],
)
def test_another_host_token_origin_or_place_gets_nothing(
    server: DeskServer, question: Any, path: str, headers: dict[str, str], status: int
) -> None:
    named = {"token": server.token, "wrong": server.token[:-1] + "~", "port": server.server_port}
    named["question"] = "" if question is None else "edit"
    filled = {name: value.format(**named) for name, value in headers.items()}
    found, answered, text = ask(server, path.format(**named), question, **filled)
    assert found == (400 if status == 404 and question and "/7/" in path else status)
    assert len(text) < 200, "a sentence, and nothing of the page"
    assert "malignant" not in text
    assert server.token not in text
    assert "Access-Control-Allow-Origin" not in answered


def test_a_question_without_an_origin_or_that_is_none_is_rejected(server: DeskServer) -> None:
    path = f"/{server.token}/0/edit"
    with connect(server.server_port) as connection:
        connection.request("POST", path, json.dumps(STRIKE))
        assert connection.getresponse().status == 403
    for body, status, said in [
        ("strike", 400, "JSON"),
        ("[]", 400, "JSON"),
        ("{}", 400, "Expected a list of edits"),
        ({"journal": [{"edit": "strike", "line": 99}]}, 400, "There is no line 99"),
        ({"journal": [{"edit": "paint"}]}, 400, "Expected an edit"),
        ("[" * 100_000, 400, "JSON"),
    ]:
        found, _, text = ask(server, path, body)
        assert (found, said in text) == (status, True), text
    with connect(server.server_port) as connection:
        connection.putrequest("POST", path)
        for name, value in (("Origin", server.origin), ("Content-Length", "1000001")):
            connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().status == 413
    assert ask(server, f"/{server.token}/0/paint", {})[0] == 400
    assert ask(server, path)[0] == 405
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD"):
        with connect(server.server_port) as connection:
            connection.request(method, path)
            assert connection.getresponse().status == 501


def test_edits_are_priced_by_the_rows_behind_the_page(server: DeskServer) -> None:
    training = server.desk.trainings[0]
    rules = training.rules.measure(X[NEW], Y[NEW])
    journal = [{"edit": "strike", "line": 2, "reason": "old"}, {"edit": "rounded"}]
    journal.append({"edit": "answer", "line": 1, "to": 1 - int(rules.class_ids[0])})
    expected = rules.replay(journal)
    status, _, text = ask(server, f"/{server.token}/0/edit", {"journal": journal})
    assert status == 200, text
    found = json.loads(text)
    assert found["guarantee"] == expected.guarantee
    for kind, price in (("training", expected.price), ("unseen", expected.unseen_price)):
        assert price is not None
        assert found["price"][kind]["differs"] == price.differs
        assert found["price"][kind]["lost"] == price.lost.tolist()
    assert [line["class"] for line in found["list"]["lines"]] == expected.class_ids.tolist()
    assert [one["text"] for one in found["regions"]] == [one.text for one in expected.changed()][:50]
    assert [edit["edit"] for edit in found["journal"]] == ["strike", "rounded", "answer"]
    again = rules.replay(found["journal"])  # what the page saves
    assert again.to_json() == expected.to_json()
    limited = json.loads(ask(server, f"/{server.token}/0/edit", {"journal": [], "lines": 2})[2])
    assert len(limited["list"]["lines"]) == 2
    assert [edit["edit"] for edit in limited["journal"]] == ["strike"] * len(limited["journal"])


def test_two_at_once_are_both_answered_and_do_not_disturb_one_another(server: DeskServer) -> None:
    found: dict[int, Any] = {}

    def edit(line: int) -> None:
        found[line] = ask(server, f"/{server.token}/0/edit", {"journal": [{"edit": "strike", "line": line}]})

    threads = [threading.Thread(target=edit, args=(line,)) for line in (1, 2, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rules = server.desk.trainings[0].rules
    for line in (1, 2):
        price = rules.strike(line - 1).price
        assert price is not None
        assert found[line][0] == 200
        assert json.loads(found[line][2])["price"]["training"]["differs"] == price.differs


def test_a_tree_is_fitted_again_and_shown_beside_the_first() -> None:
    desk = make_desk()
    used = desk.trainings[0].rules.tree.feature_name(int(desk.trainings[0].rules.tree.feature[0]))
    assert desk.ask(0, "refit", {"without": [used]}) == {"training": 1}
    second = desk.trainings[1].rules
    assert used not in [second.tree.feature_name(int(one)) for one in second.tree.feature[~second.tree.is_leaf]]
    found = desk.ask(1, "beside", {"other": 0})
    assert found["names"] == ["first", "second"]
    said = desk.trainings[0].rules.predict(X[NEW]), second.predict(desk.trainings[1].X)
    assert f"{int(np.sum(said[0] != said[1])):,} of 169 rows" in found["told"]
    assert "Accuracy changes by" in found["told"]
    assert desk.render(1).startswith("<!doctype html>")
    for question, asked, words in [
        ("refit", {"without": ["colour"]}, "Expected the columns"),
        ("refit", {"without": []}, "Expected the columns"),
        ("beside", {"other": "0"}, "Expected the number"),
        ("beside", {"other": 9}, "There is no training 9"),
    ]:
        with pytest.raises(InputError, match=words):
            desk.ask(0, question, asked)
    with pytest.raises(InputError, match="where a table was opened"):
        Desk(desk.trainings).ask(0, "refit", {"without": [used]})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "cancer.csv"
    DATA.frame.assign(target=np.where(Y == 1, "benign", "malignant")).iloc[::4, -6:].to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("how", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), ("closed terminal", 129)]
)
@pytest.mark.long
def test_it_ends_with_a_signal_or_its_terminal_and_leaves_nothing(how: Any, status: int, table: Path) -> None:
    room = table.parent / "room"
    room.mkdir()
    environment = {**os.environ, "TMPDIR": str(room), "HOME": str(room)}
    command = [sys.executable, "-m", "secateur", "open", str(table), "--target", "target"]
    primary, secondary = pty.openpty()
    with subprocess.Popen(
        command,
        stdin=secondary,
        stdout=subprocess.PIPE,
        stderr=secondary,
        env=environment,
        cwd=room,
        start_new_session=True,
        preexec_fn=_take_terminal,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        os.close(secondary)
        assert address.startswith("http://127.0.0.1:"), os.read(primary, 4000)
        port, path = int(address.split(":")[2].split("/")[0]), "/" + address.split("/", 3)[3]
        with connect(port) as connection, connect(port) as slow:
            connection.request("GET", path)
            assert connection.getresponse().read().startswith(b"<!doctype html>")
            slow.connect()  # a browser that is still there must not keep it alive
            if how == "closed terminal":
                os.close(primary)
            else:
                process.send_signal(how)
            assert process.wait(30) == status
        if how != "closed terminal":
            os.close(primary)
    with connect(port) as connection, pytest.raises(OSError, match=r"refused|reset"):
        connection.connect()
    assert [one for one in room.rglob("*") if one.is_file() and ".cache" not in one.parts] == []


def _take_terminal() -> None:
    """Make the terminal on standard input the one whose closing ends the process."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests that run under nohup would pass on that it is ignored
