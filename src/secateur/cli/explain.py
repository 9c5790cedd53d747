"""``secateur explain``: say which rule decides a row, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.console import print_json, say, tell
from secateur.cli.options import Json, Reading, Trusting, spread
from secateur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from secateur.rules.rules import Rules

THOUSANDS = re.compile(r"\d{3}(?!\d)[^=]*$")


@spread
def explain_command(
    rules_file: Annotated[
        Path, typer.Argument(metavar="RULES", help="Rules as JSON, or a model, for the rules of its leaves.")
    ],
    data: Annotated[str | None, typer.Argument(metavar="ROWS", help="A table of rows; - is standard input.")] = None,
    *,
    row: Annotated[
        str | None, typer.Option(metavar="VALUES", help="One row, as `age=34,ward=B` or as a JSON object.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Give the reasons for every row of a table too (slow).")] = False,
    method: Annotated[str | None, typer.Option(help="Method for the rules of a model.  [default: exact]")] = None,
    changes: Annotated[bool, typer.Option("--changes", help="Say what would get another class (slow).")] = False,
    lock: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column that cannot change, for --changes.")
    ] = None,
    letter: Annotated[
        Path | None, typer.Option(metavar="DIRECTORY", help="Write a letter with at most four reasons for each row.")
    ] = None,
    as_json: Json = False,
    reading: Reading,
    trusting: Trusting,
) -> None:
    """Say which rule decides a row and what it asks; of one rule for each leaf, why each condition is asked or not.

    For example:

    secateur explain rules.json --row 'age=34,ward=B'
    secateur explain rules.json --row '{"age": 34, "ward": null}' --json
    secateur explain rules.json new_patients.csv
    secateur explain rules.json cases.csv --changes --lock age --letter letters
    """
    if (row is None) == (data is None):
        raise ParameterError("Name a table of rows, or one row with --row 'age=34,ward=B'.")
    from secateur.cli.tables.table_columns import parse_row, take_rows

    rules = _open_rules(rules_file, method, trusting)
    if row is not None:
        how = {name: getattr(reading, name) for name in ("month_first", "blank_unreadable")}
        parsed, notes = parse_row(rules.tree, _parse(row), missing=reading.missing or (), **how)
        tell(*notes)
        one = rules.explain(parsed, changes=changes, locked=lock or ())
        if letter is not None:
            _write_letters(letter, [one.letter()])
        print_json(one.to_dict()) if as_json else say(one.text)
        return
    table = reading.open(str(data), tree=rules.tree)
    beside = [] if rules.tree.feature_names is not None else list(table.frame.columns)[rules.tree.n_features :]
    rows, _, notes = take_rows(table, rules.tree, beside)
    tell(*notes)
    if letter is not None:
        found_rows = (rules.explain(rows.iloc[[at]], changes=changes, locked=lock or ()) for at in range(len(rows)))
        _write_letters(letter, [one.letter() for one in found_rows])
    found = _explain_rows(rules, rows, why=why or changes, changes=changes, locked=lock or ())
    if as_json:
        print_json([record for record, _, _ in found])
    else:
        for record, prediction, words in found:
            say((f"Row {record['row']}:{prediction}", "bold"), f" {words}")


def _write_letters(directory: Path, letters: list[str]) -> None:
    """Write a file for each row into a new or empty directory."""
    from secateur.rows.whole_files import write_whole

    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"{directory} exists already and is not an empty directory: name another one for the letters.")
    directory.mkdir(exist_ok=True)
    for number, text in enumerate(letters, start=1):
        write_whole(directory / f"row-{number}.txt", text.encode("utf-8"))
    tell(f"Wrote {len(letters)} {'letter' if len(letters) == 1 else 'letters'} to {directory}.")


def _explain_rows(
    rules: Rules, rows: Any, *, why: bool, changes: bool, locked: Sequence[str]
) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Give a record for machines of each row, and a prediction and words for people."""
    from secateur.results.answer import describe_rows

    if why:
        explained = rules.explain(rows, changes=changes, locked=locked)
        for place, one in enumerate([explained] if len(rows) == 1 else explained):
            yield {"row": place + 1, **one.to_dict()}, "", one.text
        return
    lines = rules.lines

    @cache
    def describe(index: int) -> tuple[dict[str, Any], str, str]:
        line = lines[index]
        record = {name: getattr(line, name) for name in ("prediction", "text", "share", "support", "reliability")}
        where = f"by {rules.line_word} {index + 1}: {line.words}"
        return {"line": index + 1, **record}, f" {line.class_name}", f"{where} ({describe_rows(line)})"

    for place, index in enumerate(rules.apply(rows).tolist()):
        record, prediction, words = describe(index)
        yield {"row": place + 1, **record}, prediction, words


def _open_rules(path: Path, method: str | None, trusting: Trusting) -> Rules:
    """Read rules from their JSON, or make those of a model's leaves by a method that needs no rows."""
    from secateur.cli.model_files import is_rules_file, load_rules
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.simplification import simplify

    if method is None and is_rules_file(path):
        return load_rules(path)
    named: dict[str, Any] = {} if method is None else {"method": method}
    return simplify(read_one_tree(trusting.load(path)), each_leaf=True, **named)


def _parse(row: str) -> dict[str, Any]:
    """Read a row as a person writes it: a JSON object, or names and values separated by commas."""
    if row.lstrip().startswith("{"):
        try:
            content: dict[str, Any] = json.loads(row)
        except ValueError as error:
            raise InputError(f"The row is not a JSON object: {error}.") from error
        return content
    values: dict[str, Any] = {}
    name = ""
    for part in row.split(","):
        if name and values[name][-1:].isdigit() and THOUSANDS.match(part):  # an amount such as 37,900
            values[name] += f",{part.rstrip()}"
            continue
        name, sign, value = part.partition("=")
        if not sign:
            raise InputError(
                f"Expected NAME=VALUE, found {part!r}: write --row 'age=34,ward=B', or a JSON object if a value "
                "holds a comma."
            )
        name = name.strip()
        values[name] = value.strip()
    return values
