"""ME-23: what an Iceberg export says of a table, key by key, and its rows in other readers, after every change."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from pyiceberg.table import StaticTable

from lakebed import Lake, Table, when_matched_delete, when_not_matched_insert

Export = Callable[[Table], str]

# Each with what Iceberg calls it; None if the calls make no snapshot.
CHANGES: dict[str, tuple[Callable[[Table], Any], str | None]] = {
    "append": (lambda table: table.append(orders(1, 2, 3, 4)), "append"),
    "append again": (lambda table: table.append(orders(5, 6)), "append"),
    "upsert": (lambda table: table.upsert(orders(2, 7, note="upserted")), "overwrite"),
    "delete": (lambda table: table.delete("id in (1, 5)"), "delete"),
    "evolve": (lambda table: evolve(table), None),
    "update": (lambda table: table.update({"remark": "'updated'"}, "id = 3"), "overwrite"),
    "merge": (lambda table: merge(table), "overwrite"),
    "compact": (lambda table: table.compact(), "replace"),
    "delete after compact": (lambda table: table.delete("id = 6"), "delete"),
    "overwrite": (lambda table: table.overwrite(evolved_orders(20, 21), "id = 8"), "overwrite"),
    "evolve and back": (lambda table: evolve_and_back(table), "delete"),
}


def orders(*ids: int, note: str = "new") -> pyarrow.Table:
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "note": [f"{note} {one}" for one in ids]})


def evolved_orders(*ids: int) -> pyarrow.Table:
    prices = pyarrow.array([Decimal(one) for one in ids], pyarrow.decimal128(9, 2))
    return pyarrow.table({"id": list(ids), "remark": [f"late {one}" for one in ids], "price": prices})


def evolve(table: Table) -> None:
    with table.evolve() as change:
        change.rename_column("note", "remark")
        change.add_column("gone", "int")
    with table.evolve() as change:
        change.drop_column("gone")
        change.add_column("price", "decimal(9, 2)")
        change.partition_by(["bucket(2, id)"])
        change.sort_by(["id desc"])
    table.set_properties({"owner": "grace"})


def evolve_and_back(table: Table) -> None:
    """The column is gone, and its id is used."""
    with table.evolve() as change:
        change.add_column("brief", "int")
    with table.evolve() as change:
        change.drop_column("brief")
    table.delete("id = 20")


def merge(table: Table) -> None:
    clauses = when_matched_delete("target.id = 4"), when_not_matched_insert()
    table.merge(evolved_orders(4, 8), "id", *clauses)


def mapping(table: Table) -> dict[str, Any]:
    """What the handle says that Iceberg's metadata has a key for."""
    newest = table.snapshots()[0]
    return {
        "table-uuid": table.id,
        "location": table.location,
        "last-sequence-number": newest.sequence_number,
        "current-schema-id": table.schema.id,
        "default-spec-id": table.spec.id,
        "default-sort-order-id": table.sort_order.id,
        "current-snapshot-id": newest.id,
        "refs": {"main": {"snapshot-id": newest.id, "type": "branch"}},
        "snapshot-log": [{"snapshot-id": newest.id, "timestamp-ms": milliseconds(newest.time)}],
    }


def milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def assert_exact(table: Table, found: dict[str, Any], iceberg: StaticTable) -> None:
    """The newest snapshot, with its predecessor, what it did, and every file with its size and its rows."""
    newest = table.snapshots()[0]
    [snapshot] = found["snapshots"]
    assert snapshot["snapshot-id"] == newest.id
    assert snapshot["parent-snapshot-id"] == newest.previous_id
    assert snapshot["sequence-number"] == newest.sequence_number
    assert snapshot["schema-id"] == newest.schema_id
    assert snapshot["timestamp-ms"] == milliseconds(newest.time) <= found["last-updated-ms"]
    files = [task.file for task in iceberg.scan().plan_files()]
    assert sorted(file.file_path for file in files) == sorted(
        file["file_path"] for file in table.describe().data_files()
    )
    summary = {key: int(value) for key, value in snapshot["summary"].items() if key != "operation"}
    counts = newest.counts
    told = {
        "added-data-files": counts.get("added_files", 0),
        "deleted-data-files": counts.get("removed_files", 0),
        "added-records": counts.get("added_rows", 0),
        "deleted-records": counts.get("removed_rows", 0),
        "total-data-files": newest.totals["files"],
        "total-files-size": newest.totals["bytes"],
        "total-records": newest.totals["rows"] + summary["total-position-deletes"],
    }
    assert {key: summary[key] for key in told} == told
    assert summary["total-records"] == sum(file.record_count for file in files)
    assert summary["total-position-deletes"] == sum(file.record_count for file in files) - table.scan().count()
    for file in files:
        path = Path(file.file_path.removeprefix("file://"))
        assert file.file_size_in_bytes == path.stat().st_size
        assert file.record_count == pyarrow.parquet.read_metadata(path).num_rows


def counted(rows: pyarrow.Table) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows.to_pylist())


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection | None]:
    """DuckDB with its extension for Iceberg, if it is installed here; `INSTALL iceberg` does, once, online."""
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        try:
            connection.execute("LOAD iceberg")
        except duckdb.Error:
            yield None
        else:
            yield connection


def test_an_export_says_what_the_table_is_after_every_kind_of_change(
    lake: Lake, export: Export, duck: duckdb.DuckDBPyConnection | None
) -> None:
    """PyIceberg has the table's rows, and so has DuckDB; test_export_spark.py asks Iceberg's own reader in Spark."""
    own = {"write.inline-bytes": "0", "owner": "ada"}
    table = lake.catalog().create_table("t", {"id": "long", "note": "string"}, primary_key=["id"], properties=own)
    expected = "append"
    for call, (change, operation) in CHANGES.items():
        change(table)
        expected = operation or expected
        path = export(table)
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        iceberg = StaticTable.from_metadata(path)
        assert {key: found[key] for key in mapping(table)} == mapping(table), call
        assert found["snapshots"][0]["summary"]["operation"] == expected, call
        assert_exact(table, found, iceberg)
        assert counted(iceberg.scan().to_arrow()) == counted(table.scan().to_arrow()), call
        if duck is not None:
            seen = duck.execute("SELECT * FROM iceberg_scan(?)", [path]).to_arrow_table()
            assert counted(seen) == counted(table.scan().to_arrow()), call
    assert_past(found)


def assert_past(found: dict[str, Any]) -> None:
    """Schemas, specs, orders and properties of the whole past: a column keeps its id, and none is used again."""
    ids = [{field["name"]: field["id"] for field in schema["fields"]} for schema in found["schemas"]]
    last = {"id": 1, "remark": 2, "price": 4}
    assert ids[:4] == [{"id": 1, "note": 2}, {"id": 1, "remark": 2, "gone": 3}, last, {**last, "brief": 5}]
    assert ids[4:] in ([], [last])
    assert [schema["schema-id"] for schema in found["schemas"]] == list(range(1, len(ids) + 1))
    assert {tuple(schema["identifier-field-ids"]) for schema in found["schemas"]} == {(1,)}
    assert (found["last-column-id"], found["last-partition-id"]) == (5, 1000)
    specs = [
        [(field["source-id"], field["transform"]) for field in spec["fields"]] for spec in found["partition-specs"]
    ]
    assert specs == [[], [(1, "bucket[2]")]]
    orders = [[(field["source-id"], field["direction"]) for field in order["fields"]] for order in found["sort-orders"]]
    assert orders == [[], [(1, "desc")]]
    assert found["properties"]["owner"] == "grace"
