from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secateur.cli.main import app
from secateur.cli.model_files import is_rules_file, load_rules
from secateur.errors import InputError
from secateur.rows.file_bytes import has_packed_name, is_packed, pack, peek, unpack


def test_what_was_packed_comes_back() -> None:
    content = bytes(range(256)) * 1000
    assert unpack(pack(content), "x.gz") == content
    assert pack(content) == pack(content)
    assert unpack(pack(b"one") + pack(b"two"), "x.gz") == b"onetwo"
    assert unpack(gzip.compress(content), "x.gz") == content
    assert peek(pack(content)[:4000], 10) == content[:10]
    assert (is_packed(pack(b"")), is_packed(b"{}")) == (True, False)
    assert (has_packed_name(Path("a.JSON.GZ")), has_packed_name("a.json")) == (True, False)


def test_damaged_and_cut_bytes_are_rejected_in_a_sentence() -> None:
    packed = pack(b"rules" * 1000)
    with pytest.raises(InputError, match=r"^r\.gz is no whole gzip file: it was cut\. Write it again\.$"):
        unpack(packed[:-9], "r.gz")
    with pytest.raises(InputError, match=r"^r\.gz is no whole gzip file: it was damaged\. Write it again\.$"):
        unpack(packed[:20] + b"\xff\xff\xff" + packed[23:], "r.gz")
    with pytest.raises(InputError, match="it was damaged"):
        unpack(packed + b"more", "r.gz")
    assert peek(b"\x1f\x8b damaged") == b""


def test_a_bomb_is_rejected_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECATEUR_MAX_MODEL", "1MiB")
    with pytest.raises(InputError, match=r"^b\.gz unpacks to more than 1 MiB, and .*SECATEUR_MAX_MODEL"):
        unpack(pack(bytes(50 << 20)), "b.gz")
    assert len(unpack(pack(bytes(1 << 20)), "b.gz")) == 1 << 20


@pytest.mark.long
def test_a_file_of_very_many_parts_is_read_in_one_go() -> None:
    """Each part that is unpacked by itself would copy the rest: 3 MB would take 20 seconds."""
    assert unpack(pack(b"") * 300_000 + pack(b"end"), "m.gz") == b"end"


def test_commands_write_and_read_packed_rules(tmp_path: Path) -> None:
    packed, plain = tmp_path / "rules.json.gz", tmp_path / "rules.json"
    for path in (packed, plain):
        done = CliRunner().invoke(app, ["simplify", "--quiet", "-o", str(path)])
        assert done.exit_code == 0, done.output
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert is_rules_file(packed)
    assert load_rules(packed) == load_rules(plain)
    done = CliRunner().invoke(app, ["export", str(packed), "-o", str(tmp_path / "rules.sql.gz")])
    assert done.exit_code == 0, done.output
    assert b"WITH typed AS" in gzip.decompress((tmp_path / "rules.sql.gz").read_bytes())
    packed.write_bytes(packed.read_bytes()[:-20])
    done = CliRunner().invoke(app, ["verify", str(packed)])
    assert isinstance(done.exception, InputError)
