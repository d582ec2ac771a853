"""Files of text to import: CSV and lines of JSON, whole, mutated, compressed and damaged."""

import bz2
import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lakebed
from lakebed.lake.lake import Lake

FORMS = ("csv", "json")

_FIELDS = (
    "1",
    "-0",
    "1e400",
    "NaN",
    "",
    '""',
    '"a',
    "0012",
    "2026-02-30",
    "2026-11-01T10:00:00+99:00",
    "\x00",
    "ü",
    "x" * 9000,
)
_NAMES = ("id", "ID", "_row_id", "a.b", "", "lakebed.x", "name")
_LINES = (
    *(
        "null",
        "[]",
        "1",
        "{}",
        '{"id": 1}{"id": 2}',
        '{"id": 1',
        '{"id": 1, "ID": 2}',
        '{"id": 1, "id": 2}',
        "\x00",
        "  ",
    ),
    *('{"id": null}', '{"id": 99999999999999999999}', '{"id": NaN}', '{"id": "\\ud800"}', '{"": 1}', '{"_row_id": 1}'),
    *('{"id": [1, "a", null]}', '{"id": {"a": {}}}', '{"id": [[], [[]]]}', '{"id": "2026-02-30"}', '{"id": 1e400}'),
)
_TYPES = (
    "long",
    "string",
    "date",
    "timestamptz",
    "decimal(5, 2)",
    "list<int>",
    "map<string, long>",
    "uuid",
    "binary",
    "nope",
)


def imported_text(folder: Path, lake: Lake, chance: random.Random) -> tuple[str, Callable[[], Any]]:
    """An import of a file that is made for it."""
    form = chance.choice(FORMS)
    name, content = _named(form, _content(form, chance), chance)
    path = folder / name
    path.write_bytes(content)
    options: dict[str, Any] = {"on_bad": chance.choice(("fail", "quarantine")), "evolve": chance.choice((None, "add"))}
    if chance.random() < 0.4:
        options["schema"] = {"id": chance.choice(_TYPES), "name": chance.choice(_TYPES)}
    if chance.random() < 0.2:
        options["leave_out"] = [chance.choice(_NAMES)]
    if form == "csv" and chance.random() < 0.3:
        options |= {"delimiter": chance.choice((",", ";", "\t", "", "ab", '"')), "header": "schema" not in options}
    options["dry_run"] = chance.random() < 0.2
    main, into = lake.catalog(), chance.choice(("brought", "wide"))
    call = main.import_csv if form == "csv" else main.import_json

    def run() -> None:
        call(into, path, **options)

    return f"import_{form}({into}, {name}: {content[:80]!r}, {options})", run


def _content(form: str, chance: random.Random) -> bytes:
    rows = chance.randint(0, 30)
    if form == "csv":
        names = [chance.choice(_NAMES) for _ in range(chance.randint(1, 3))]
        lines = [",".join(names), *(",".join(chance.choice(_FIELDS) for _ in names) for _ in range(rows))]
    else:
        deep = chance.choice((2, 40, 300, 900, 20_000))
        nested = ('{"a":' * deep + "1" + "}" * deep, '{"a":' + "[" * deep + "]" * deep + "}")
        lines = [chance.choice((*_LINES, *nested)) for _ in range(rows)]
    content = bytearray(chance.choice(("\n", "\r\n", "\r")).join(lines).encode())
    for _ in range(chance.choice((0, 0, 1, 5))):
        if content:
            content[chance.randrange(len(content))] = chance.randrange(256)
    return bytes(content)


def _named(form: str, content: bytes, chance: random.Random) -> tuple[str, bytes]:
    """The content under a name that says how it is compressed, which it may not be, or no longer well."""
    name = f"{lakebed.event_id(str(chance.random()))}.{form}"
    how = chance.choice(("", "", "gz", "bz2"))
    if not how:
        return name, content
    packed = gzip.compress(content) if how == "gz" else bz2.compress(content)
    damage = chance.choice(("none", "not packed", "cut", "flipped"))
    if damage == "not packed":
        packed = content
    elif damage == "cut":
        packed = packed[: chance.randrange(len(packed))]
    elif damage == "flipped":
        place = chance.randrange(len(packed))
        packed = packed[:place] + bytes([packed[place] ^ (1 << chance.randrange(8))]) + packed[place + 1 :]
    return f"{name}.{how}", packed
