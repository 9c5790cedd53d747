"""A table of loans as a bank might export it, for tests that read files."""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["make_loans"]


def make_loans(n_rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Numbers, texts, truth values, dates, blanks, a number of the row, and a column that says nothing."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(7.6, 0.5, n_rows).round(2)
    table = pd.DataFrame(
        {
            "number": np.arange(1, n_rows + 1),
            "name": [f"person {i}" for i in range(n_rows)],
            "age": rng.integers(18, 80, n_rows),
            "income": np.where(rng.random(n_rows) < 0.1, np.nan, income),
            "children": pd.array(np.where(rng.random(n_rows) < 0.1, -1, rng.integers(0, 5, n_rows)), dtype="Int64"),
            "purpose": rng.choice(np.array(["car", "boat", "travel", None], dtype=object), n_rows),
            "member": rng.choice(["yes", "no"], n_rows),
            "bank": "B1",
            "applied": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n_rows), unit="D"),
        }
    )
    table["children"] = table["children"].mask(table["children"] < 0)
    poor = (table["income"].fillna(2000) < 1800) & (table["purpose"] != "boat")
    young = (table["member"] == "no") & (table["age"] < 30)
    table["outcome"] = np.where((poor | young) ^ (rng.random(n_rows) < 0.05), "default", "repaid")
    return table
