"""A table as people really have it: amounts, percentages, two kinds of dates, ids, notes, blanks and a rare class."""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["make_messy"]


def make_messy(n_rows: int = 3_000, seed: int = 7) -> pd.DataFrame:
    """Make a table of customers in which late payers are rare, and defaults rarer."""
    rng = np.random.default_rng(seed)
    income = np.round(np.exp(rng.normal(10.3, 0.6, n_rows)), -2)
    used = rng.beta(2, 3, n_rows).round(3)
    opened = pd.Timestamp("2018-01-01") + pd.to_timedelta(rng.integers(0, 2200, n_rows), unit="D")
    seen = opened + pd.to_timedelta(rng.integers(0, 900 * 24 * 60, n_rows), unit="min")
    score = 1.5 * (used > 0.7) + 1.2 * (opened >= "2022-01-01") - (income > 40_000) + rng.normal(0, 0.3, n_rows)
    table = pd.DataFrame(
        {
            "customer_id": [f"C{100_000 + i}" for i in range(n_rows)],
            "account id": rng.permutation(n_rows * 7)[:n_rows] + 1_000_000,
            "opened": opened.strftime("%d/%m/%Y"),
            "last_seen": seen.strftime("%Y-%m-%d %H:%M"),
            "income": [f"{int(one):,}" for one in income],
            "balance": [f"${one:,.2f}" for one in income * used / 5],
            "used": [f"{100 * one:.1f}%" for one in used],
            "plan": rng.choice(["Basic", "Plus"], n_rows),
            "auto-pay": rng.choice(["Yes", "No"], n_rows),
            "note": [f"called at {i % 40} and again at {i % 23} about it" for i in range(n_rows)],
            "status": np.where(score > 2.6, "default", np.where(score > 1, "late", "good")),
        }
    )
    for column in ("income", "opened"):
        table.loc[rng.random(n_rows) < 0.05, column] = None
    return table
