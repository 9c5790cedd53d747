"""A first line is a header if it differs from the lines below it."""

from __future__ import annotations

import pytest

from secateur.rows.file_bytes import has_header

CASES = {
    "words over numbers": ("age,ward\n34,A\n51,B\n", True),
    "numbers over numbers": ("34,A\n51,B\n27,A\n", False),
    "only numbers": ("1,2\n3,4\n", False),
    "one line of numbers": ("1,2\n", False),
    "one line of words": ("age,ward\n", True),
    "years over numbers": ("country,2019,2020\nPeru,1,2\nChile,3,4\n", True),
    "years over years": ("2019,A\n2020,B\n2021,A\n", False),
    "words only": ("a,b\n" + "x,y\nx,z\n" * 10, True),
    "words like all others": ("x,y\n" + "x,y\nw,z\n" * 10, False),
    "dates": ("2021-03-01,$5\n2021-03-02,$6\n", False),
    "a date over a word": ("when,paid\n2021-03-01,$5\n", True),
    "blanks": ("name,age\n,\nx,\ny,3\n", True),
    "names without any number below": ("id,text\na1,hello there\nb2,good bye\n", True),
}


@pytest.mark.parametrize("case", CASES)
def test_a_header_is_told_by_the_lines_below(case: str) -> None:
    text, wanted = CASES[case]
    assert has_header(text, ",", ("", "NA")) is wanted
