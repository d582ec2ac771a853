"""A lake with something of everything, frozen in `tests/golden`: later Lakebeds open it, read each version, and write.

`python -m tests.support.frozen_lake 2` grows one and freezes it with its answers. A frozen lake is never made again: a
new format gets a new one beside the old ones.
"""

import json
import sys
import zipfile
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow

import lakebed
from lakebed import Catalog, Lake

GOLDEN = Path(__file__).parents[1] / "golden"
IN_FILES = {"write.inline-bytes": "0", "checkpoint.deltas": "3"}
TYPES = {
    "id": "long",
    "name": "string",
    "price": "decimal(9, 2)",
    "day": "date",
    "ratio": "double",
    "raw": "binary",
    "tags": "list<string>",
}


def grow(lake: Lake) -> None:
    """Make all calls whose bytes have to stay readable."""
    main = lake.catalog()
    main.create_namespace("sales", owner="ada", comment="all that is sold")
    _change_rows(main)
    _branch_and_merge(main)
    _rebuild(main)
    main.create_view("sales.dear", "select * from sales.orders where price > 2")
    main.create_table("sales.gone", {"id": "int"})
    main.drop_table("sales.gone")
    main.create_tag("q4")
    main.create_share("partner", ["sales.orders"])
    lake.create_catalog("other").create_table("t", [{"id": 1}])


def _change_rows(main: Catalog) -> None:
    orders = main.create_table("sales.orders", TYPES, primary_key=["id"], partition_by=["month(day)"])
    orders.append([_order(number) for number in range(5)])  # inline
    orders.set_properties(IN_FILES)
    orders.append([_order(number) for number in range(5, 40)])
    orders.update({"price": "price + 1"}, "id < 8")
    orders.delete("id % 10 = 3")
    orders.upsert([{**_order(7), "name": "seven"}, _order(50)])
    with orders.evolve() as change:
        change.add_column("note", "string", default="none")
        change.rename_column("ratio", "share")
    orders.append([{"id": 60, "note": "new"}], summary={"source": "frozen"})
    orders.compact()
    orders.delete("id = 60")


def _branch_and_merge(main: Catalog) -> None:
    dev = main.create_branch("dev")
    dev.table("sales.orders").update({"note": "'dev'"}, "id < 3")
    main.table("sales.orders").update({"price": "0"}, "id < 2")
    main.merge(dev, message="cells of both")
    main.revert(main.table("sales.orders").delete("id = 9"))
    main.cherry_pick(dev.table("sales.orders").append([{"id": 70}]))
    dev.create_table("sales.items", [{"item": "tea"}])
    main.merge(dev)


def _rebuild(main: Catalog) -> None:
    days = main.create_table("sales.days", {"id": "long", "day": "string"}, partition_by=["day"], properties=IN_FILES)
    days.append([{"id": 1, "day": "mon"}, {"id": 2, "day": "tue"}])
    days.create_partition({"day": "wed"}).append([{"id": 3}])
    monday = days.stage_partition({"day": "mon"})
    monday.append([{"id": 7}])
    monday.commit()
    stream = days.stage_stream()
    stream.append([{"id": 8, "day": "mon"}, {"id": 9, "day": "sun"}])
    stream.commit()
    days.stage_partition({"day": "fri"})
    days.create_edition("2", {"id": "string", "day": "string"}).append([{"id": "a", "day": "mon"}])
    days.activate("2")


def _order(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": None if number % 7 == 0 else f"n{number}",
        "price": Decimal(number) / 4,
        "day": date(2026, 1 + number % 3, 1 + number % 28),
        "ratio": [0.5, -0.0, float("nan"), None][number % 4],
        "raw": bytes([number, 255]),
        "tags": [f"t{number}", None] if number % 2 else [],
    }


def answers(lake: Lake) -> dict[str, Any]:
    """The rows of every table at every version of the trunk and of each branch, as texts."""
    main = lake.catalog()
    return {line.ref: {str(at.version): _tables(at) for at in _versions(line)} for line in main.branches()}


def _versions(line: Catalog) -> Iterator[Catalog]:
    for commit in reversed(list(line.log())):
        yield line.at(commit.version)


def _tables(at: Catalog) -> dict[str, list[str]]:
    return {str(table.name): _rows(table.scan().to_arrow()) for table in at.tables(recursive=True)}


def _rows(rows: pyarrow.Table) -> list[str]:
    return sorted(repr(row) for row in rows.to_pylist())


def freeze(number: str) -> None:
    """Write the lake, and what it answers, beside the other golden files."""
    with TemporaryDirectory() as folder:
        with lakebed.connect(Path(folder) / "lake", author="ada") as lake:
            grow(lake)
            text = json.dumps(answers(lake), indent=1, sort_keys=True, ensure_ascii=False)
        with zipfile.ZipFile(GOLDEN / f"frozen_lake_{number}.zip", "x", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted((Path(folder) / "lake").rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(Path(folder) / "lake"))
            archive.writestr("answers.json", text)


if __name__ == "__main__":
    freeze(sys.argv[1])
