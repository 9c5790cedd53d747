"""A method added as one file is registered, runs on all kinds of rows, and shows up wherever methods are listed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rows import doors

import secateur

FILE = Path(__file__).parents[1] / "methods" / "careless.py.txt"
USE = """
import json, os, warnings
import pyarrow as pa
import secateur
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from rows import doors
from secateur.spark import open_session

def careless(rows, y, **settings):
    return secateur.simplify(doors.TREE, rows, y, method="C-1", each_leaf=True, **settings)

warnings.simplefilter("ignore")
gateway = launch_gateway()  # to the Java that runs already; a second one would take longer than all else here
java = gateway.jvm.JavaSparkContext(gateway.jvm.org.apache.spark.SparkContext.getOrCreate())
context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf()))
context.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]  # of workers that have the file too
table = pa.Table.from_pandas(doors.FRAME, preserve_index=False)
df = open_session().createDataFrame(table).coalesce(1)
made = [careless(rows, "outcome", floor=0.8) for rows in (doors.FRAME, "t.parquet", df)]
page = json.loads(made[0].report().to_json())
try:
    secateur.simplify(doors.TREE, method="exact", floor=0.5)
except secateur.SecateurError as error:
    rejection = str(error)
print(json.dumps({
    "equal": [one.to_json() == made[0].to_json() for one in made],
    "deleted": int(made[0].deleted.sum()),
    "guarantee": made[0].guarantee,
    "method": page["method"]["name"],
    "rejection": rejection,
    "reasons": sorted({why.text[-16:] for rule in made[0] for why in rule.reasons.values() if why.deleted}),
}))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with one file more, beside a table."""
    pytest.importorskip("pyspark")
    place = tmp_path_factory.mktemp("house")
    package, made = Path(secateur.__file__).parent, place / "secateur"
    shutil.copytree(package / "methods", made / "methods")
    shutil.copy(FILE, made / "methods" / "careless.py")
    for one in package.iterdir():  # the other rooms are the same ones, with what was compiled of them
        if one.name not in ("methods", "__pycache__"):
            (made / one.name).symlink_to(one)
    doors.FRAME.to_parquet(place / "t.parquet")
    return place


def run(house: Path, *arguments: str, **told: str) -> Any:
    paths = os.pathsep.join([str(house), str(Path(__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore", "PYSPARK_PYTHON": sys.executable}
    environment |= told
    done = subprocess.run(
        [sys.executable, *arguments], cwd=house, env=environment, capture_output=True, text=True, check=False
    )
    return done


def test_one_file_adds_a_method_everywhere(house: Path, spark: Any) -> None:
    java = spark.sparkContext._gateway.gateway_parameters
    done = run(house, "-c", USE, PYSPARK_GATEWAY_PORT=str(java.port), PYSPARK_GATEWAY_SECRET=java.auth_token)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["equal"] == [True, True, True]
    assert found["deleted"] > 0
    assert found["guarantee"] == "The training reliability of every shortened rule is at least 0.8."
    assert found["method"] == "careless"
    assert found["rejection"] == "The method 'exact' does not read floor; 'careless' does. Leave floor out."
    assert all(words.endswith("at least 0.8") for words in found["reasons"])


def test_the_command_line_lists_and_compares_it(house: Path) -> None:
    call = "from secateur.cli.main import run; run()"
    listed = json.loads(run(house, "-c", call, "methods", "--json").stdout)
    assert listed[-1]["name"] == "careless"
    compared = json.loads(run(house, "-c", call, "compare", "t.parquet", "--target", "outcome", "--json").stdout)
    (step,) = (one for one in compared["methods"] if one["method"] == "careless")
    assert step["problem"] is None
    assert step["removed"] > 0
    completed = run(house, "-c", "from secateur.cli.options import complete_method as c; print(c('care'))")
    assert completed.stdout.strip() == "['careless']"
