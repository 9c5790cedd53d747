"""PostgreSQL says of every row what its line says, in both forms, also where the row contradicts a fact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from net import answers, forms
from net.cases import SEEDS, Case, list_cases
from net.tables import Told
from numpy.typing import NDArray


def ask_postgres(connection: Any, rules: Any, rows: pd.DataFrame) -> answers.Said:
    columns = ", ".join(f'"{name}" DOUBLE PRECISION' for name in rows)
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        cursor.execute(f'CREATE TABLE "rows" ("place" INT, {columns})')
        with cursor.copy('COPY "rows" FROM STDIN') as copy:
            for row in rows.astype(object).where(rows.notna(), None).itertuples(name=None):
                copy.write_row(row)
        cursor.execute(rules.to_sql("postgres"))
        found = pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description])
    found = found.sort_values("place")
    return found["prediction"], found["rule"]


@pytest.mark.parametrize("case", list_cases("facts", "groups"))
def test_postgres_says_what_the_lines_say(postgres: Any, case: Case) -> None:
    def find_wrong(_: int, rules: Any, told: Told, rows: pd.DataFrame) -> dict[str, NDArray[np.int64]]:
        said = ask_postgres(postgres, rules, rows)
        wrong = answers.differ_from_lines(rules, forms.applied(rules, rows), *said)
        return {"PostgreSQL": wrong} if len(wrong) else {}

    case.check(SEEDS, find_wrong)
