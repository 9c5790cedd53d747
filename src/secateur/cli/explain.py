"""``secateur explain``: which rule decides a row, which conditions it has, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.console import print_json
from secateur.cli.option_groups import Reading, Trusting, spread
from secateur.cli.options import Json
from secateur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["command"]


@spread
def command(
    rules_file: Annotated[
        Path, typer.Argument(metavar="RULES", help="Rules as JSON, or a model, whose rules by `exact` are used.")
    ],
    data: Annotated[str | None, typer.Argument(metavar="ROWS", help="A table of rows; - is standard input.")] = None,
    *,
    row: Annotated[
        str | None, typer.Option(metavar="VALUES", help="One row, as `age=34,ward=B` or as a JSON object.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Give the reasons for every row of a table too (slow).")] = False,
    method: Annotated[str | None, typer.Option(help="Method for the rules of a model.  [default: exact]")] = None,
    as_json: Json = False,
    reading: Reading,
    trusting: Trusting,
) -> None:
    """Say which rule decides a row, what it asks, and why each condition is asked or not.

    For example:

    secateur explain rules.json --row 'age=34,ward=B'
    secateur explain rules.json --row '{"age": 34, "ward": null}' --json
    secateur explain rules.json new_patients.csv
    """
    if (row is None) == (data is None):
        raise ParameterError("Name a table of rows, or one row with --row 'age=34,ward=B'.")
    rules = _open_rules(rules_file, method, trusting)
    if row is not None:
        _explain_one(rules, row, as_json=as_json)
        return
    from secateur.cli.tables.model_rows import pick_columns

    table = reading.open(str(data), tree=rules.tree)
    named = rules.tree.feature_names
    beside = [] if named is not None else list(table.frame.columns)[rules.tree.n_features :]
    rows = pick_columns(table, rules.tree, beside=beside)
    if why:
        explained = ((place + 1, rules.explain(rows.iloc[[place]])) for place in range(len(rows)))
        if as_json:
            print_json([{"row": number, **one.to_dict()} for number, one in explained])
        else:
            for number, one in explained:
                _print_row(number, "", f" {one.text}")
        return
    told = [(rules[index], rules[index].text) for index in range(len(rules))]
    found = enumerate(rules.apply(rows).tolist(), 1)
    if as_json:
        print_json(
            [
                {"row": number, "prediction": told[index][0].prediction, "rule": index + 1, "text": told[index][1]}
                for number, index in found
            ]
        )
    else:
        for number, index in found:
            _print_row(number, f" {told[index][0].class_name}", f" by rule {index + 1}: {told[index][1]}")


def _open_rules(path: Path, method: str | None, trusting: Trusting) -> RuleSet:
    """A rule set from its JSON, or the rules of a model by a method that needs no rows."""
    from secateur.cli.model_files import is_rules_file, load_rules
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.simplification import simplify

    if method is None and is_rules_file(path):
        return load_rules(path)
    return simplify(read_one_tree(trusting.load(path)), method="exact" if method is None else method)


def _explain_one(rules: RuleSet, row: str, *, as_json: bool) -> None:
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.cli.tables.model_rows import parse_row

    explanation = rules.explain(parse_row(rules.tree, _parse(row)))
    if as_json:
        print_json(explanation.to_dict())
    else:
        out.print(Text(explanation.text))


def _print_row(place: int, prediction: str, words: str) -> None:
    from rich.text import Text

    from secateur.cli.console import out

    out.print(Text.assemble((f"Row {place}:{prediction}", "bold"), words))


def _parse(row: str) -> dict[str, Any]:
    """A row as a person writes it: a JSON object, or names and values with commas between them."""
    if row.lstrip().startswith("{"):
        try:
            content: dict[str, Any] = json.loads(row)
        except ValueError as error:
            raise InputError(f"The row is no JSON object: {error}.") from error
        return content
    values: dict[str, Any] = {}
    for part in row.split(","):
        name, sign, value = part.partition("=")
        if not sign:
            raise InputError(
                f"Expected NAME=VALUE, found {part!r}: write --row 'age=34,ward=B', or a JSON object where a value "
                "holds a comma."
            )
        values[name.strip()] = value.strip()
    return values
