"""Rules as Python source: a function that needs no import and takes a row, or one that takes columns and needs numpy.

Names and labels enter the source as ``repr`` writes them, and as comments of one line: they cannot become code. A
missing number is NaN, which no comparison passes, so nothing needs to be asked twice.
"""

import keyword
import math
from collections.abc import Iterable

from secateur.errors import ParameterError
from secateur.export.plain_names import FreeNames, head_lines, one_line, plain_name
from secateur.rules.decision_list import Column, ColumnTest, DecisionList, double_limit, make_decision_list
from secateur.rules.rules import Rules
from secateur.tree.columns import STEPS, ColumnParser
from secateur.tree.tree import Label
from secateur.words.conditions import format_threshold

# What the written functions use; a function of that name would take its place.
RESERVED = (
    *("bool", "datetime", "float", "hasattr", "isinstance", "iter", "len", "next", "np", "object", "re", "str", "zip"),
    *("_find_codes", "_read", "_read_all", "__debug__"),
)

PLAIN = '''\
"""Rules of a decision tree, written by secateur. Nothing needs to be installed{or_imported}."""
{imports}
{head}


def {name}(row):
    """The {answer}, the number of the rule that decides (from 1) and its share, for one row.

    The row is a mapping of column names to values; None and NaN stand for a missing value. A row that the tree
    rejects gives None, None, None.
    """
{body}
'''

VECTORIZED = '''\
"""Rules of a decision tree, written by secateur. Needs numpy."""
{imports}
import numpy as np

{head}


def {name}(columns):
    """The {answer}, the number of the rule that decides (from 1) and its share, an array each.

    The columns are a mapping of names to arrays, or a data frame; None and NaN stand for a missing value. A row that
    the tree rejects gives None, 0 and NaN.
    """
    n_rows = len(columns[{first}])
    undecided = np.ones(n_rows, dtype=bool)
    rule = np.zeros(n_rows, dtype=np.int64)
{body}
    # What follows from the number of the rule; the first is for rows that are rejected.
    prediction = np.array({labels}, dtype=object)[rule]
    share = np.array({shares}, dtype=np.float64)[rule]
    return prediction, rule, share
'''

CODES = '''\


def _find_codes(values, known{cuts}):
    """The code of each label: -1 for a missing value, the one after the last for a label that is not listed."""
    listed = np.asarray(values, dtype=object).tolist()
{cut}    same = [v == v for v in listed]  # which pandas.NA neither affirms nor denies
    is_missing = [v is None or not isinstance(s, (bool, np.bool_)) or not s for v, s in zip(listed, same)]
    found = [-1 if missing else known.get(v, len(known)) for v, missing in zip(listed, is_missing)]
    return np.array(found, dtype=np.int64)
'''


CUT = """\
    if cuts_blanks:
        listed = [v.strip(" ") or None if isinstance(v, str) else v for v in listed]
"""

IMPORTS = "\nimport datetime\nimport re\n"

# A twin of rows/encoding.py for one value.
READ = '''\


def _read(value, pattern, decimal, step, is_clock, is_month_first):
    """The number that a text, a date or a time means: NaN for a blank, None for what it cannot be."""
    if value is None or value != value:
        return float("nan")
    if hasattr(value, "__float__"):
        return float(value)
    first_day = datetime.datetime(1970, 1, 1)
    if isinstance(value, str):
        text = value.strip(" ")
        found = re.fullmatch(pattern, text)
        if not text or found is None:
            return None if text else float("nan")
        if decimal:
            return float(re.sub("[^0-9" + decimal + "-]", "", text).replace(decimal, "."))
        part = found.groupdict()
        date = part.get("year"), part.get("month"), part.get("day")
        if part.get("last"):
            date = part["last"], part["then"], part["first"]
            date = (date[0], date[2], date[1]) if is_month_first else date
        date = ("1970", "1", "1") if is_clock else date
        clock = part["hour"] or 0, part["minute"] or 0, part["second"] or 0, ((part["part"] or ".")[1:] + "000000")[:6]
        try:
            value = datetime.datetime(*(int(number) for number in (*date, *clock)))
        except ValueError:
            return None
    elif isinstance(value, datetime.time):
        value = datetime.datetime.combine(first_day, value)
    elif isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    elif not isinstance(value, datetime.datetime) or decimal:
        return None
    if value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    ticks = (value - first_day) // datetime.timedelta(microseconds=1)
    return float(ticks // step * step) / (1e6 if is_clock else 86400e6)
'''

READ_ALL = '''\


def _read_all(values, *how):
    """The numbers that values mean, and whether each could be read."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        array = array.astype("datetime64[us]")
    numbers = [_read(value, *how) for value in array.tolist()]
    known = np.array([number is not None for number in numbers], dtype=bool)
    return np.array([float("nan") if number is None else number for number in numbers]), known
'''


def rules_to_python(rules: Rules, *, vectorized: bool = False, name: str = "predict") -> str:
    """Write the rules as the source of a Python function."""
    check_function_name(name)
    listed = make_decision_list(rules)
    head = head_lines(rules, "", "#")
    taken = FreeNames([name, "row", "columns", "undecided", "rule", "hit", "known"])
    names = [taken.take(plain_name(column)) for column in listed.columns]
    reads = any(column.reading is not None and not column.reading.is_trim for column in listed.columns)
    imports = IMPORTS if reads else ""
    answer = "value" if rules.tree.is_regression else "class"
    if not vectorized:
        body = _indent(_write_plain(listed, names))
        also = "" if reads else " or imported"
        source = PLAIN.format(head=head, name=name, body=body, imports=imports, or_imported=also, answer=answer)
        return source + READ * reads
    by_number = {rule.index + 1: rule for rule in listed.rules}
    ordered = [by_number.get(number) for number in range(1, max(by_number) + 1)]
    source = VECTORIZED.format(
        head=head,
        answer=answer,
        imports=imports,
        name=name,
        first=repr(listed.columns[0].name) if listed.columns else "next(iter(columns))",
        body=_indent(_write_vectorized(listed, names)),
        labels=_write_list(None if rule is None else rule.label for rule in ordered),
        shares=_write_list(None if rule is None else rule.share for rule in ordered),
    )
    if any(column.labels is not None for column in listed.columns):
        cuts = any(column.labels is not None and column.reading is not None for column in listed.columns)
        source += CODES.format(cuts=", cuts_blanks=False" * cuts, cut=CUT * cuts)
    return source + (READ + READ_ALL) * reads


def check_function_name(name: object) -> None:
    """Reject what cannot name the written function."""
    is_plain = isinstance(name, str) and name.isascii() and name.isidentifier()  # other letters may mean the same name
    if not is_plain or keyword.iskeyword(str(name)) or name in RESERVED:
        raise ParameterError(f"Expected a name that a Python function can have, found {name!r}.")


def _indent(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _write_label(label: Label | None) -> str:
    """Write a label as a plain literal, whatever subclass it is of."""
    if isinstance(label, str):
        return str.__repr__(label)
    if isinstance(label, float):
        return float.__repr__(label) if math.isfinite(label) else f"float({str(float(label))!r})"
    return repr(label)


def _write_list(labels: Iterable[Label | None]) -> str:
    return f"[None, {', '.join(map(_write_label, labels))}]"


def _write_set(labels: Iterable[Label]) -> str:
    return f"{{{', '.join(map(_write_label, labels))}}}"


def _write_plain(listed: DecisionList, names: list[str]) -> list[str]:
    """Write the body of the function that takes one row."""
    lines = []
    for column, name in zip(listed.columns, names, strict=True):
        lines.append(f"{name} = row[{_write_label(column.name)}]")
        if column.reading is not None and not column.reading.is_trim:
            lines += [f"{name} = _read({name}, {_write_reading(column.reading)})"]
            lines += [f"if {name} is None:", "    return None, None, None"]
        elif column.labels is None:
            lines.append(f'{name} = float("nan") if {name} is None else float({name})')
        else:
            lines.append(f"{name} = None if {name} != {name} else {name}")
        if column.reading is not None and column.reading.is_trim:
            lines.append(f'{name} = {name}.strip(" ") or None if isinstance({name}, str) else {name}')
        if rejected := _reject_value(column, name):
            lines += [f"if {rejected}:", "    return None, None, None"]
    for rule in listed.rules:
        answer = f"return {_write_label(rule.label)}, {rule.index + 1}, {_write_label(rule.share)}"
        lines.append(f"# {one_line(rule.text)}")
        if not rule.tests:  # no later rule can win
            return [*lines, answer]
        tests = [_ask_value(listed.columns[test.column], names[test.column], test) for test in rule.tests]
        lines += [f"if {' and '.join(tests)}:", f"    {answer}"]
    return [*lines, "return None, None, None"]


def _write_reading(reading: ColumnParser) -> str:
    """Write the arguments of ``_read`` for one column."""
    decimal = "" if reading.is_moment else reading.decimal
    how = (reading.pattern, decimal, STEPS[reading.step], reading.kind == "clock", reading.order == "mdy")
    return ", ".join(map(repr, how))


def _reject_value(column: Column, name: str) -> str:
    if column.labels is None:
        low, high = column.ends
        if column.takes_missing:
            return f"{name} < {low!r} or {name} > {high!r}"
        return f"not {low!r} <= {name} <= {high!r}"
    parts = [] if column.takes_missing else [f"{name} is None"]
    if not column.takes_unlisted:
        known = f"{name} not in {_write_set(column.labels)}"
        parts.append(f"{name} is not None and {known}" if column.takes_missing else known)
    return " or ".join(parts)


def _ask_value(column: Column, name: str, test: ColumnTest) -> str:
    """Write what a rule asks of one value; a missing one passes only a test for missing values."""
    parts = []
    for low, high in test.intervals:
        first, last = double_limit(low, column.dtype), double_limit(high, column.dtype)
        if math.isinf(low):
            parts.append(f"{name} == {name}" if math.isinf(high) else f"{name} <= {last!r}")
        else:
            parts.append(f"{name} > {first!r}" if math.isinf(high) else f"{first!r} < {name} <= {last!r}")
    if column.labels is not None:
        parts = _ask_label(column, name, test)
    elif test.missing:
        parts.append(f"{name} != {name}")
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def _ask_label(column: Column, name: str, test: ColumnTest) -> list[str]:
    parts = []
    if test.unlisted:
        others = [label for label in column.labels or () if label not in test.labels]
        if others and test.missing:
            return [f"{name} not in {_write_set(others)}"]
        excluded = f"({name} is not None and {name} not in {_write_set(others)})"
        parts.append(excluded if others else f"{name} is not None")
    elif test.labels:
        parts.append(f"{name} in {_write_set(test.labels)}")
    if test.missing:
        parts.append(f"{name} is None")
    return parts


def _write_vectorized(listed: DecisionList, names: list[str]) -> list[str]:
    """Write the body of the function that takes columns."""
    lines = []
    for column, name in zip(listed.columns, names, strict=True):
        given = f"columns[{_write_label(column.name)}]"
        if column.labels is not None:
            known = ", ".join(f"{_write_label(label)}: {code}" for code, label in enumerate(column.labels))
            cut = ", cuts_blanks=True" if column.reading is not None else ""
            lines.append(f"{name} = _find_codes({given}, {{{known}}}{cut})")
        elif column.reading is not None:
            lines.append(f"{name}, known = _read_all({given}, {_write_reading(column.reading)})")
            lines.append("undecided &= known")
        else:
            lines.append(f"{name} = np.asarray({given}, dtype=np.float64)")
        lines += [f"undecided &= {kept}" for kept in _keep_array(column, name)]
        if column.labels is None and column.dtype == "float32":
            lines.append('with np.errstate(over="ignore"):  # as the tree compares')
            lines.append(f"    {name} = {name}.astype(np.float32).astype(np.float64)")
    for rule in listed.rules:
        lines.append(f"# {one_line(rule.text)}")
        tests = [_ask_array(listed.columns[test.column], names[test.column], test) for test in rule.tests]
        lines.append(" & ".join(["hit = undecided", *tests]))
        lines.append(f"rule[hit] = {rule.index + 1}")
        if not rule.tests:
            break
        lines.append("undecided &= ~hit")
    return lines


def _keep_array(column: Column, name: str) -> list[str]:
    """Write what the values of a column must be."""
    if column.labels is None:
        low, high = column.ends
        if column.takes_missing:
            return [f"~(({name} < {low!r}) | ({name} > {high!r}))"]
        return [f"({name} >= {low!r}) & ({name} <= {high!r})"]
    parts = [] if column.takes_missing else [f"{name} >= 0"]
    return parts if column.takes_unlisted else [*parts, f"{name} < {len(column.labels)}"]


def _ask_array(column: Column, name: str, test: ColumnTest) -> str:
    if column.labels is not None:
        codes = [code for code, label in enumerate(column.labels) if label in test.labels]
        codes += [len(column.labels)] * test.unlisted + [-1] * test.missing
        return f"({name} == {codes[0]})" if len(codes) == 1 else f"np.isin({name}, {codes})"
    parts = []
    for low, high in test.intervals:
        ends = [] if math.isinf(low) else [f"({name} > {format_threshold(low, column.dtype)})"]
        ends += [] if math.isinf(high) else [f"({name} <= {format_threshold(high, column.dtype)})"]
        parts.append(" & ".join(ends) or f"~np.isnan({name})")
    if test.missing:
        parts.append(f"np.isnan({name})")
    return parts[0] if len(parts) == 1 else f"({' | '.join(f'({part})' for part in parts)})"
