"""A lake with something of everything, frozen in `tests/golden`: later Lakebeds open it, read each version, and write.

`python -m tests.support.frozen_lake 2_pipelines` grows one and freezes it with its answers. A frozen lake is never made
again: a new format, or a new kind of record, gets a new one beside the old ones.
"""

import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow

import lakebed
from lakebed import Catalog, Lake
from lakebed.pipelines.expectations import QUARANTINE
from lakebed.pipelines.records import journal

ERRORS, RUN = "_errors", "_run"

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


def grow_more(lake: Lake) -> None:
    """The same, and what came with merges by row, consumers and pipelines."""
    grow(lake)
    main = lake.catalog()
    _merge_rows(main)
    _stage(main)
    _consume(main)
    _note_run(lake, main)


def _merge_rows(main: Catalog) -> None:
    """Merge rows, cells and new rows of both sides in files, and keep a merge that has conflicts."""
    prices = main.create_table(
        "sales.prices", {"id": "long", "price": "double", "note": "string"}, primary_key=["id"], properties=IN_FILES
    )
    prices.append([{"id": number, "price": float(number), "note": "old"} for number in range(20)])
    side = main.create_branch("side")
    side.table("sales.prices").update({"note": "'side'"}, "id < 5")
    side.table("sales.prices").upsert([{"id": 30, "price": 3.0, "note": None}, {"id": 6, "price": 6.5, "note": "side"}])
    side.table("sales.prices").delete("id = 19")
    prices.update({"price": "price + 1"}, "id < 5 or id > 15 and id < 19")
    prices.append([{"id": 31, "price": 1.0}])
    main.merge(side, message="rows and cells of both")
    disputed = main.create_branch("disputed")
    disputed.table("sales.prices").update({"price": "100"}, "id in (8, 9)")
    prices.update({"price": "200"}, "id in (8, 9)")
    main.merge(disputed, keep_conflicts=True)
    main.merge_in_progress().decide({"sales.prices": {8: "theirs"}})


def _stage(main: Catalog) -> None:
    """Leave parts staged, show others, and change rows of what was staged."""
    parts = main.create_table("sales.parts", {"id": "long", "day": "string"}, partition_by=["day"], properties=IN_FILES)
    parts.append([{"id": 1, "day": "mon"}, {"id": 2, "day": "tue"}])
    tuesday = parts.stage_partition({"day": "tue"})
    tuesday.append([{"id": 20}, {"id": 21}])
    tuesday.append([{"id": 22}])
    parts.append([{"id": 3, "day": "mon"}])
    tuesday.commit()
    parts.update({"id": "id + 100"}, "id = 21")
    waiting = parts.stage_partition({"day": "mon"})
    waiting.append([{"id": 10}])
    parts.create_partition({"day": "wed"}).append([{"id": 30}])
    parts.drop_partition({"day": "wed"})
    parts.undrop_partition({"day": "wed"})
    parts.stage_stream().append([{"id": 7, "day": "sun"}])


def _consume(main: Catalog) -> None:
    prices = main.table("sales.prices")
    prices.consumer("billing").advance(main.version)
    prices.consumer("search").advance(main.version)
    prices.append([{"id": 40, "price": 4.0}])
    prices.consumer("search").advance(main.version)


def _note_run(lake: Lake, main: Catalog) -> None:
    """What a run of a pipeline leaves, as its driver notes it."""
    bad = {"id": 3, "price": -1.0, ERRORS: ["price >= 0"], RUN: "1"}
    main.create_table(f"sales.prices{QUARANTINE}", [bad], comment="rows that sales.prices did not take")
    for status in ("published", "failed"):
        run = journal.begin(lake, main, {"pipeline": "shop", "params": '{"country": "IT"}', "author": "ada"})
        run.step("sales.prices", status="done")
        run.checks([{"check": "unique(id)", "table": "sales.prices", "severity": "error", "passed": True}])
        run.lineage([{"table": "sales.prices", "column": "id", "input_table": "sales.orders", "input_column": "id"}])
        run.windows([{"step": "sales.prices", "window": "2026-11-01", "reason": "new", "rows": 1}])
        run.change(status=status)


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


KEPT = {
    "__consumers": ("table_name", "consumer", "version", "time"),
    "__conflicts": ("source", "name", "type", "what"),
    "__streams": ("table_name", "stream_id", "format", "state"),
    "__partitions": ("table_name", "partition_id", "partition_values", "state", "files", "rows"),
    "__runs": ("id", "pipeline", "status", "branch", "base", "started", "params", "author"),
    "__steps": ("run", "step", "status"),
    "__checks": ("run", "check", "table", "severity", "passed", "time"),
    "__lineage": ("run", "table", "column", "input_table", "input_column"),
    "__windows": ("run", "step", "window", "reason", "rows"),
}
"""System tables whose rows are frozen too, of the trunk as it is now."""


def records(lake: Lake) -> dict[str, list[str]]:
    """The rows of these system tables as texts."""
    return {name: _rows(lake.catalog().inspect(name, columns=shown)) for name, shown in KEPT.items()}


GROWN: dict[str, Callable[[Lake], None]] = {"2": grow, "2_pipelines": grow_more}
"""What grows each frozen lake."""


def freeze(number: str) -> None:
    """Write the lake, and what it answers, beside the other golden files."""
    with TemporaryDirectory() as folder:
        with lakebed.connect(Path(folder) / "lake", author="ada") as lake:
            GROWN[number](lake)
            texts = {"answers": answers(lake), "records": records(lake)}
        with zipfile.ZipFile(GOLDEN / f"frozen_lake_{number}.zip", "x", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted((Path(folder) / "lake").rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(Path(folder) / "lake"))
            for name, found in texts.items():
                archive.writestr(f"{name}.json", json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False))


if __name__ == "__main__":
    freeze(sys.argv[1])
