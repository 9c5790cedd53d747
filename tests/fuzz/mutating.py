"""Change a good file a little, as damage, a careless editor or a forger would: seeded, and with an eye for its form.

Every function takes a ``random.Random`` and gives the same bytes for the same state of it.
"""

from __future__ import annotations

import copy
import io
import json
import math
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any
from xml.etree import ElementTree

DEEP: Any = 1
for _ in range(60):
    DEEP = [DEEP]

ODD_VALUES = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 0.5, -0.0, 1e308, -1e308, 5e-324, 1e-45, 2**24 + 1, 2**31, 2**53 + 1),
    *(
        2**63,
        2**64,
        -(2**63),
        10**400,
        math.nan,
        math.inf,
        -math.inf,
        "inf",
        "nan",
        "",
        " ",
        "0",
        "1",
        "yes",
        "é\u202e",
    ),
    *("x" * 300, "\ud800", "\x00", "a\nb", "=1+1", [], {}, [[]], [None], [0], [0, 1], {"": 0}, DEEP),
)
ODD_CELLS = (
    *("", " ", "NA", "nan", "?", "inf", "-inf", "1e999", "1e-400", "0x10", "1_000", "1,5", "1.5.2", "+3", "-0", "007"),
    *("9007199254740993", "18446744073709551616", "true", "no", "é", "\u202e", "\x00", '"', '""', "'", "=1+1", "a\tb"),
    *("2024-02-30", "24:00:00", "1;2", "1|2", "12 %", "\ufeff", "x" * 500, "\u2028", "{}", "[1,2]", "null"),
)
ODD_BYTES = (0, 1, 2, 4, 8, 9, 10, 13, 32, 34, 44, 48, 58, 59, 127, 128, 194, 239, 254, 255)
ODD_WORDS = (0, 1, -1, 2, 7, 127, 128, 255, 65_536, 2**31 - 1, -(2**31), 10**6)


def damage_bytes(data: bytes, rng: Random) -> bytes:
    """Change, cut out, double or put in some bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 12))):
        if not changed:
            break
        place = rng.randrange(len(changed))
        kind = rng.randrange(8)
        if kind == 0:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[place] = rng.choice(ODD_BYTES)
        elif kind == 2:
            changed[place] = rng.randrange(256)
        elif kind == 3:  # a number of four bytes, where files of tables keep theirs
            place -= place % 4
            changed[place : place + 4] = rng.choice(ODD_WORDS).to_bytes(4, "little", signed=True)
        elif kind == 4:
            del changed[place : place + rng.choice((1, 1, 2, 4, 30))]
        elif kind == 5:
            piece = changed[place : place + rng.choice((1, 4, 8, 60))]
            other = rng.randrange(len(changed))
            changed[other:other] = piece
        elif kind == 6:
            changed[place:place] = bytes([rng.choice(ODD_BYTES)]) * rng.choice((1, 1, 3, 40))
        elif rng.random() < 0.3:
            del changed[place:]
    return bytes(changed)


# --- JSON -------------------------------------------------------------------------------------------------------------


def change_json(content: Any, rng: Random) -> Any:
    """Change some places of parsed JSON, in place."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder, key = _find_place(content, rng)
        if holder is None:
            return rng.choice(ODD_VALUES)
        _change_place(content, holder, key, rng)
    return content


def _find_place(content: Any, rng: Random) -> tuple[Any, Any]:
    """Walk down at random; the higher a field, the more often it is met, as there are fewer of them."""
    holder, key, here = None, None, content
    while isinstance(here, (dict, list)) and here and (holder is None or rng.random() < 0.85):
        holder = here
        key = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        here = here[key]
    return holder, key


def _change_place(content: Any, holder: Any, key: Any, rng: Random) -> None:
    kind = rng.randrange(10)
    value = holder[key]
    if kind == 0:
        del holder[key]
    elif kind == 1:
        if isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(value))
        else:
            holder[rng.choice((f"{key}2", key.upper(), ""))] = value
    elif kind == 2:
        other = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        holder[key], holder[other] = holder[other], value
    elif kind == 3:  # what stands elsewhere in the file
        other_holder, other = _find_place(content, rng)
        holder[key] = copy.deepcopy(other_holder[other]) if other_holder is not None else None
    elif kind in (4, 5):
        holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    elif isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = value + rng.choice((1, -1, 2, 10, -value - 1, -2 * value))
    elif isinstance(value, float):
        holder[key] = _nudge(value, rng)
    elif isinstance(value, str):
        holder[key] = change_text(value, rng)
    elif isinstance(value, list) and value:
        rng.shuffle(value)
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))


def _nudge(value: float, rng: Random) -> float:
    return rng.choice(
        (
            math.nextafter(value, math.inf),
            math.nextafter(value, -math.inf),
            -value,
            value + 1,
            value * 1e300,
            round(value) if math.isfinite(value) else 0,
        )
    )


def change_text(text: str, rng: Random) -> str:
    """Change a text, or take another one."""
    place = rng.randrange(len(text) + 1)
    return rng.choice((rng.choice(ODD_CELLS), text[:place], text[place:] + text[:place], text + text, text.upper()))


def write_json(content: Any, rng: Random) -> bytes:
    """Write JSON in one of the ways that programs do; half of a character is written as it stands."""
    text = json.dumps(content, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 1)))
    return text.encode("utf-8", "surrogatepass")


# --- XML, zip files, ONNX ---------------------------------------------------------------------------------------------

WORDS = (
    *(
        "none",
        "defaultChild",
        "lastPrediction",
        "nullPrediction",
        "returnLastPrediction",
        "returnNullPrediction",
        "asIs",
    ),
    *("asMissing", "returnInvalid", "isMissing", "isNotMissing", "equal", "notEqual", "lessThan", "lessOrEqual"),
    *(
        "greaterThan",
        "greaterOrEqual",
        "isIn",
        "isNotIn",
        "and",
        "or",
        "xor",
        "surrogate",
        "double",
        "integer",
        "string",
    ),
    *("float", "boolean", "continuous", "categorical", "ordinal", "active", "target", "predicted", "supplementary"),
)
TAGS = ("Node", "True", "False", "SimplePredicate", "CompoundPredicate", "Value", "Interval", "Array", "MiningField")
ATTRIBUTES = (
    "defaultChild",
    "score",
    "missingValueReplacement",
    "missingValueStrategy",
    "noTrueChildStrategy",
    "value",
)


def change_xml(data: bytes, rng: Random) -> bytes:
    """Change elements and attributes of an XML document."""
    root = ElementTree.fromstring(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        elements = list(root.iter())
        element = rng.choice(elements)
        children = list(element)
        kind = rng.randrange(9)
        if kind == 0 and children:
            element.remove(rng.choice(children))
        elif kind == 1 and children:
            element.insert(rng.randrange(len(children) + 1), copy.deepcopy(rng.choice(children)))
        elif kind == 2 and len(children) > 1:
            rng.shuffle(children)
            element[:] = children
        elif kind == 3:
            element.tag = element.tag.rpartition("}")[0] + ("}" if "}" in element.tag else "") + rng.choice(TAGS)
        elif kind == 4:
            element.append(copy.deepcopy(rng.choice(elements)))  # an element within itself would have no end
            if sum(1 for _ in root.iter()) > 2_000:
                break
        elif kind == 5:
            element.set(rng.choice(ATTRIBUTES), rng.choice((*WORDS, *ODD_CELLS[:12])))
        elif kind == 6 and element.text and element.text.strip():
            element.text = change_text(element.text, rng)
        elif element.attrib:
            name = rng.choice(list(element.attrib))
            value = element.attrib[name]
            if rng.random() < 0.15:
                del element.attrib[name]
            elif rng.random() < 0.5 and _is_number(value):
                element.set(name, repr(_nudge(float(value), rng)))
            else:
                others = [one.attrib[name] for one in elements if name in one.attrib]
                element.set(name, rng.choice((*WORDS, *others, *others, change_text(value, rng))))
    try:
        return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    except (RecursionError, ValueError):
        return damage_bytes(data, rng)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def change_zip(data: bytes, rng: Random) -> bytes:
    """Change a member of a zip file, so that the file itself stays sound."""
    members = {}
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        for name in packed.namelist():
            members[name] = packed.read(name)
    name = rng.choice(list(members))
    if name.endswith(".json") or rng.random() < 0.5:
        name = next(one for one in members if one.endswith(".json"))
        members[name] = write_json(change_json(json.loads(members[name]), rng), rng)
    else:
        members[name] = damage_bytes(members[name], rng)
    if rng.random() < 0.05:
        del members[rng.choice(list(members))]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as packed:
        for one, content in members.items():
            packed.writestr(zipfile.ZipInfo(one), content)
    return target.getvalue()


def change_onnx(data: bytes, rng: Random) -> bytes:
    """Change attributes, nodes and names of an ONNX model."""
    import onnx

    model = onnx.ModelProto.FromString(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        node = rng.choice(model.graph.node)
        kind = rng.randrange(8)
        if kind == 0 and node.attribute:
            del node.attribute[rng.randrange(len(node.attribute))]
        elif kind == 1:
            node.op_type = rng.choice(
                ("Identity", "Cast", "ArgMax", "TreeEnsemble", "TreeEnsembleClassifier", "ZipMap", "?")
            )
        elif kind == 2 and node.input:
            node.input[0] = rng.choice([name for one in model.graph.node for name in (*one.input, *one.output)])
        elif node.attribute:
            _change_attribute(rng.choice(node.attribute), rng)
    return bytes(model.SerializeToString())


def _change_attribute(attribute: Any, rng: Random) -> None:
    listed = next((part for part in (attribute.ints, attribute.floats, attribute.strings) if len(part)), None)
    if listed is None:
        attribute.i = rng.choice((0, 1, -1, 2, 7, attribute.i + 1))
        return
    place, kind = rng.randrange(len(listed)), rng.randrange(5)
    if kind == 0:
        del listed[place]
    elif kind == 1:
        listed.append(listed[place])
    elif kind == 2:
        listed[place] = listed[rng.randrange(len(listed))]
    elif listed is attribute.ints:
        listed[place] = rng.choice((0, 1, -1, 2, listed[place] + 1, listed[place] - 1, 10**6, 2**62))
    elif listed is attribute.floats:
        listed[place] = rng.choice((0.0, -1.0, 1.0, 0.5, math.nan, math.inf, -math.inf, -listed[place], 3e38, 1e-45))
    else:
        listed[place] = rng.choice(
            (b"LEAF", b"BRANCH_LEQ", b"BRANCH_LT", b"BRANCH_GT", b"BRANCH_EQ", b"", b"\xff", b"x")
        )


# --- tables -----------------------------------------------------------------------------------------------------------


def change_csv(data: bytes, rng: Random) -> bytes:
    """Change cells and lines of a CSV file."""
    text = data.decode("utf-8")
    mark = rng.choice((",", ";", "\t", "|")) if rng.random() < 0.1 else ","
    lines = [line.replace(",", mark).split(mark) for line in text.splitlines()]
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(lines))
        cells = lines[place]
        cell = rng.randrange(len(cells)) if cells else 0
        kind = rng.randrange(8)
        if kind == 0:
            del lines[place]
            lines = lines or [[""]]
        elif kind == 1:
            lines.insert(rng.randrange(len(lines) + 1), list(cells))
        elif kind == 2 and cells:
            del cells[cell]
        elif kind == 3:
            cells.insert(cell, rng.choice(ODD_CELLS))
        elif kind == 4 and cells:
            for line in lines[1:]:
                if cell < len(line):
                    line[cell] = rng.choice(ODD_CELLS) if rng.random() < 0.5 else line[cell]
        elif cells:
            cells[cell] = rng.choice(ODD_CELLS) if kind < 7 else '"' + cells[cell] + rng.choice(('"', "", '""', '\n"'))
    ending = rng.choice(("\n", "\n", "\r\n", "\r"))
    written = ending.join(mark.join(cells) for cells in lines) + rng.choice((ending, ""))
    encoding = rng.choice(("utf-8",) * 8 + ("utf-8-sig", "latin-1", "utf-16"))
    return written.encode(encoding, "replace")


def change_json_lines(data: bytes, rng: Random) -> bytes:
    """Change values and lines of JSON lines."""
    lines: list[Any] = [json.loads(line) for line in data.splitlines()]
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0 and len(lines) > 1:
            del lines[place]
        elif kind == 1:
            lines.insert(place, copy.deepcopy(lines[rng.randrange(len(lines))]))
        else:
            lines[place] = change_json(lines[place], rng)
    # One record a line, whatever is in it; now and then all of them in a list.
    written = [json.dumps(line, ensure_ascii=rng.random() < 0.5) for line in lines]
    text = "\n".join(written) if rng.random() < 0.9 else f"[{', '.join(written)}]"
    return text.encode("utf-8", "surrogatepass")


def change_table(table: Any, rng: Random) -> Any:
    """Change the columns of an Arrow table: their types, names, order and blanks."""
    for _ in range(rng.choice((1, 1, 2))):
        table = _change_column(table, rng)
        if table.num_rows == 0:
            break
    return table


def _change_column(table: Any, rng: Random) -> Any:
    import pyarrow as pa

    place, n_rows = rng.randrange(table.num_columns), len(table)
    name, column = table.column_names[place], table.column(place)
    odd_types = (pa.string(), pa.large_string(), pa.float32(), pa.float64(), pa.decimal128(20, 3))
    odd_floats = (0.5, math.nan, math.inf, 1e308, -0.0, 5e-324)
    kinds: list[Callable[[], Any]] = [
        lambda: pa.nulls(n_rows, rng.choice((pa.null(), pa.int64(), pa.string()))),
        lambda: column.cast(rng.choice(odd_types)),
        lambda: column.dictionary_encode(),
        lambda: pa.array([rng.choice((value, None)) for value in column.to_pylist()]),
        lambda: pa.array([[value] for value in column.to_pylist()]),
        lambda: pa.array([{"a": value} for value in column.to_pylist()]),
        lambda: pa.array(range(n_rows), rng.choice((pa.int8(), pa.uint64(), pa.timestamp("ns"), pa.date32()))),
        lambda: pa.array([rng.choice(odd_floats) for _ in range(n_rows)]),
        lambda: pa.array([rng.choice((b"\xff", b"a", b"")) for _ in range(n_rows)], pa.binary()),
    ]
    try:
        return table.set_column(place, rng.choice((name, name, name, *ODD_CELLS[:3], "age")), rng.choice(kinds)())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return table.slice(rng.randrange(n_rows + 1))
