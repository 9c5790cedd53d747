"""Identifiers and codes are recognised by name and values, said so, and kept on demand."""

import numpy as np
import pandas as pd

from secateur.cli.tables.table_file import TableFile
from secateur.cli.tables.training_table import make_training_table

RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "Customer No.": [f"CUST-{number:05d}" for number in RANDOM.integers(0, 120, 400)],
        "Branch": RANDOM.integers(1000, 1040, 400),
        "Region": RANDOM.integers(1, 400, 400),
        "age": RANDOM.integers(18, 80, 400),
        "paid": np.where(RANDOM.random(400) > 0.5, "yes", "no"),
    }
)
KINDS = {"Customer No.": "text", "Branch": "number", "Region": "number", "age": "number", "paid": "text"}
TABLE = TableFile("loans.csv", FRAME, KINDS, ("Branch", "Region", "age"))


def test_a_number_of_customers_is_left_out_and_a_branch_is_a_category() -> None:
    table = make_training_table(TABLE, "paid")
    assert list(table.X.columns) == ["Branch", "Region", "age"]
    assert table.categories == ("Branch",)
    assert "Branch" not in table.whole
    assert table.whole == ("Region", "age"), "regions of one, two and three digits are counted"
    left, read = table.notes
    assert left.startswith("Left out 'Customer No.': its name and its ")
    assert read == (
        "Read 'Branch' as categories: its name, and that all its numbers have as many digits, say that it is a code "
        "(--keep reads it as numbers)."
    )


def test_both_are_kept_on_demand() -> None:
    table = make_training_table(TABLE, "paid", keep=["Branch, Customer No."])
    assert table.categories == ("Customer No.",)
    assert "Branch" in table.whole
    assert table.notes == ()
