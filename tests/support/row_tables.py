"""Small tables whose rows tests change: six rows with what is hard about values, in several layouts."""

import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow

from lakebed.lake.catalog import Catalog
from lakebed.lake.table import Table
from lakebed.table.manifest.inline import is_inline
from lakebed.table.manifest.manifest_pb2 import DataFileRef

Row = dict[str, Any]

NAN: Final = math.nan
SCHEMA: Final = {"id": "long", "region": "string", "amount": "double", "tags": "list<string>"}

START: Final[list[Row]] = [
    {"id": 1, "region": "north", "amount": 1.0, "tags": ["a"]},
    {"id": 2, "region": "south", "amount": NAN, "tags": None},
    {"id": 3, "region": None, "amount": None, "tags": []},
    {"id": 4, "region": "north", "amount": -0.0, "tags": ["b", None]},
    {"id": 5, "region": "south", "amount": math.inf, "tags": None},
    {"id": 6, "region": None, "amount": 6.0, "tags": None},
]

LAYOUTS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "by region": {"partition_by": ["region"]},
    "bucketed": {"partition_by": ["bucket(2, id)"], "sort_by": ["amount desc nulls last"]},
}


def new_table(line: Catalog, inline_bytes: str, layout: str = "plain") -> Table:
    """A table `t` with the six rows, which came in two commits."""
    properties = {"write.inline-bytes": inline_bytes}
    table = line.create_table("t", SCHEMA, primary_key=["id"], properties=properties, **LAYOUTS[layout])
    table.append(arrow(*START[:3]))
    table.append(arrow(*START[3:]))
    return table


def counted_table(line: Catalog, inline_bytes: str, layout: str = "plain") -> Iterator[Table]:
    """The same for a fixture: the table's counts are proved when the test is over."""
    table = new_table(line, inline_bytes, layout)
    yield table
    assert_counted(table)


def arrow(*rows: Row) -> pyarrow.Table:
    """Rows as an engine gives them."""
    form = pyarrow.schema(
        {
            "id": pyarrow.int64(),
            "region": pyarrow.string(),
            "amount": pyarrow.float64(),
            "tags": pyarrow.list_(pyarrow.string()),
        }
    )
    return pyarrow.Table.from_pylist(list(rows), form)


def row(id: int, region: str | None = "new", amount: float | None = 0.5, tags: list[str] | None = None) -> Row:
    return {"id": id, "region": region, "amount": amount, "tags": tags}


def shown(rows: Iterable[Row]) -> list[str]:
    """Rows by id, NaNs equal to each other."""
    return sorted(repr(one) for one in rows)


def rows(table: Table, **asked: Any) -> list[str]:
    """What a scan gives, shown."""
    return shown(table.scan(**asked).to_arrow().to_pylist())


def ids(table: Table, **asked: Any) -> list[int]:
    return sorted(table.scan(**asked).to_arrow()["id"].to_pylist())


def only(*wanted: int) -> list[str]:
    """Those of the six, shown."""
    return shown(one for one in START if one["id"] in wanted)


def row_ids(table: Table) -> dict[int, int]:
    found = table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    return {one["id"]: one["_row_id"] for one in found}


def entries(table: Table) -> list[DataFileRef]:
    return [one.file for one in table.scan()._plan.files]


def used_paths(table: Table) -> set[str]:
    """The files that it is made of."""
    live = entries(table)
    return {one.path for one in live if not is_inline(one)} | {one.dv_path for one in live if one.dv_path}


def assert_counted(table: Table) -> None:
    """KV-19: every snapshot's totals are what its files add up to, and the counts lead from one to the next."""
    before = {"files": 0, "rows": 0, "bytes": 0}
    for snapshot in table.snapshots()[::-1]:
        then = table.at(snapshot=snapshot.id)
        live = entries(then)
        found = {
            "files": len(live),
            "rows": then.scan().to_arrow().num_rows,
            "bytes": sum(one.file_size for one in live),
        }
        assert snapshot.totals == found
        assert then.scan().count() == found["rows"]
        assert all(count >= 0 for count in snapshot.counts.values())
        for what, total in found.items():
            change = snapshot.counts.get(f"added_{what}", 0) - snapshot.counts.get(f"removed_{what}", 0)
            assert before[what] + change == total, (snapshot.operation, what)
        before = found
