"""Data sets: shapes and classes as published, and a clear sentence when a file is not to be had."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from secateur.datasets import DATASETS, PUBLISHED, encode, load
from secateur.errors import InputError, ParameterError
from secateur.lab import published

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.long
def test_every_published_data_set_has_its_shape_and_class_count(data_dir: str) -> None:
    assert tuple(published.PUBLISHED) == PUBLISHED
    for name, source in published.PUBLISHED.items():
        data = load(name, data_dir)
        assert data.X.shape == (source.n_rows, source.n_features)
        assert data.X.dtype == np.float32
        assert np.bincount(data.y).tolist() == [source.n_rows - source.n_class_one, source.n_class_one]
        assert len(set(data.feature_names)) == source.n_features


def test_numeric_columns_come_first_and_levels_are_sorted(data_dir: str) -> None:
    data = load("heart-h", data_dir)
    assert data.feature_names[:2] == ("age", "oldpeak")
    assert data.feature_names[2:6] == ("sex=female", "sex=male", "chest_pain=asympt", "chest_pain=atyp_angina")
    assert "chol=?" in data.feature_names
    indicators = data.X[:, 2:]
    assert set(np.unique(indicators)) == {0.0, 1.0}
    assert (indicators.sum(axis=1) == 11).all()  # one level of each of the eleven attributes that are no numbers


def test_the_tables_are_part_of_the_package() -> None:
    assert load("weather").X.shape == (14, 10)
    assert load("human-id").class_names == ("+", "-")
    assert DATASETS[:2] == ("weather", "human-id")


def test_a_column_is_numeric_only_if_every_cell_is_a_number() -> None:
    X, names = encode(["a", "b"], np.array([["1", "2"], ["3", "?"]]))
    assert names == ("a", "b=2", "b=?")
    assert X.tolist() == [[1.0, 1.0, 0.0], [3.0, 0.0, 1.0]]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="no data set 'iris'; the data sets are weather, human-id, adult"):
        load("iris")


def test_a_damaged_file_is_rejected(data_dir: str, tmp_path: Path) -> None:
    text = (Path(data_dir) / "german.data").read_text()
    (tmp_path / "german.data").write_text(text.replace("A11", "A12", 1))
    with pytest.raises(InputError, match=r"not the published file of german: its sha256 starts with"):
        load("german", tmp_path)


def test_a_file_of_the_wrong_shape_is_rejected(data_dir: str, tmp_path: Path) -> None:
    path = tmp_path / "german.data"
    lines = (Path(data_dir) / "german.data").read_text().splitlines()
    path.write_text("\n".join(lines[:900]))
    with pytest.raises(InputError, match=r"gives 900 rows, .* but german has 1000, 61 and 300"):
        published.read_published("german", path)


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"data directory .*nowhere does not exist"):
        load("german", tmp_path / "nowhere")


def test_the_environment_names_a_directory_too(data_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECATEUR_DATA", data_dir)
    assert len(load("cancer").y) == 683


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pooch = pytest.importorskip("pooch")
    place = tmp_path / "cache"
    monkeypatch.delenv("SECATEUR_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: place)
    return place


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A file server on this machine: its address and the directory that it serves."""
    root = tmp_path / "served"
    root.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", root
    running.shutdown()
    thread.join()
    running.server_close()


def test_a_file_is_downloaded_once_and_then_found_in_the_cache(
    data_dir: str, cache: Path, server: tuple[str, Path]
) -> None:
    address, root = server
    shutil.copy(Path(data_dir) / "german.data", root)
    source = replace(published.PUBLISHED["german"], url=f"{address}/german.data")
    assert published.find_file("german", source, None) == cache / "german.data"
    (root / "german.data").unlink()
    assert published.find_file("german", source, None) == cache / "german.data"


def test_a_download_with_the_wrong_hash_is_rejected_and_not_kept(cache: Path, server: tuple[str, Path]) -> None:
    address, root = server
    (root / "german.data").write_text("something else")
    source = replace(published.PUBLISHED["german"], url=f"{address}/german.data")
    with pytest.raises(InputError, match=r"wrong sha256.*Get german.data from UCI .* put it into"):
        published.find_file("german", source, None)
    assert not (cache / "german.data").exists()


def test_without_a_network_the_sentence_says_where_to_put_the_file(cache: Path) -> None:
    source = replace(published.PUBLISHED["german"], url="http://127.0.0.1:9/german.data")
    with pytest.raises(InputError, match=r"could not be downloaded .*put it into .*cache, or into a dir"):
        published.find_file("german", source, None)


def test_a_file_that_needs_a_login_is_asked_for(cache: Path) -> None:
    with pytest.raises(InputError, match=r"without a login\. Get backache\.csv from Kaggle"):
        load("backache")
