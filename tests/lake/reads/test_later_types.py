"""Tables with times of day, UUIDs, fixed bytes and nanoseconds, from their creation to their merge."""

import subprocess
import sys
import uuid
from datetime import time
from typing import Any

import pyarrow
import pytest

from lakebed.errors import Invalid
from lakebed.lake.catalog import Catalog
from tests.support.scans import opened_files

COLUMNS = {
    "token": "uuid",
    "code": "fixed(3)",
    "opens": "time",
    "local": "timestamp_ns",
    "instant": "timestamptz_ns",
    "friends": "list<uuid>",
    "visits": "map<uuid, timestamp_ns>",
}
ONE, OTHER = uuid.UUID(int=1), uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")


def rows(*tokens: uuid.UUID) -> pyarrow.Table:
    count, ids = len(tokens), pyarrow.array([one.bytes for one in tokens], pyarrow.uuid())
    offsets = pyarrow.array(range(count + 1), pyarrow.int32())
    moments = pyarrow.array([-1] * count, pyarrow.timestamp("ns"))
    return pyarrow.table(
        {
            "token": ids,
            "code": pyarrow.array([one.bytes[-3:] for one in tokens], pyarrow.binary(3)),
            "opens": pyarrow.array([time(9, 30)] * count),
            "local": moments,
            "instant": pyarrow.array([2**63 - 1] * count, pyarrow.timestamp("ns", "UTC")),
            "friends": pyarrow.ListArray.from_arrays(offsets, ids),
            "visits": pyarrow.MapArray.from_arrays(offsets, ids, moments),
        }
    )


@pytest.fixture(params=["0", "64000"], ids=["files", "inline"])
def properties(request: pytest.FixtureRequest) -> dict[str, str]:
    return {"write.inline-bytes": request.param}


@pytest.mark.parametrize("key", ["token", "code", "opens", "instant"])
def test_rows_come_back_and_are_found(main: Catalog, properties: dict[str, str], key: str) -> None:
    table = main.create_table("t", COLUMNS, primary_key=[key], properties=properties)
    assert [str(one.type) for one in table.schema.fields] == list(COLUMNS.values())
    for token in (ONE, OTHER):
        table.append(rows(token))
    assert table.scan().to_arrow().select(list(COLUMNS)).to_pylist() == rows(ONE, OTHER).to_pylist()
    for where in (
        f"token = '{OTHER}'",
        f"token > '{ONE}'",
        f"token in ('{OTHER}') and opens = TIME '09:30:00'",
        "code >= X'f00000' or code = X'b785e7'",
        f"token != '{ONE}' and local = '1969-12-31 23:59:59.999999999' and instant > '2262-01-01'",
    ):
        assert table.scan(where).to_arrow()["token"].to_pylist() == [OTHER], where
    assert table.scan("opens < '09:30:00' or local < '1969-12-31 23:59:59.999999999'").count() == 0


def test_tables_are_partitioned_and_sorted_by_them(main: Catalog, properties: dict[str, str]) -> None:
    parts = ["bucket(4, token)", "code", "hour(instant)", "opens"]
    table = main.create_table("t", COLUMNS, partition_by=parts, sort_by=["token desc"], properties=properties)
    table.append(rows(ONE, OTHER))
    shown = table.scan(f"token = '{ONE}' and instant > '2262-04-11 23:00'").to_arrow()
    assert shown["token"].to_pylist() == [ONE]
    assert table.scan("code = X'000002'").count() == 0


@pytest.mark.parametrize(
    ("type", "default", "shown"),
    [
        ("uuid", OTHER, OTHER),
        ("fixed(2)", b"\x00\xff", b"\x00\xff"),
        ("time", time(23, 59, 59, 999999), time(23, 59, 59, 999999)),
    ],
)
def test_columns_of_later_have_defaults(
    main: Catalog, properties: dict[str, str], type: str, default: Any, shown: Any
) -> None:
    table = main.create_table("t", {"id": "long"}, properties=properties)
    table.append(pyarrow.table({"id": [1]}))
    with table.evolve() as change:
        change.add_column("a", type, default=default)
    table.append(pyarrow.table({"id": [2]}))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "a": shown}, {"id": 2, "a": shown}]


def test_branches_merge_by_keys_that_are_uuids(main: Catalog, properties: dict[str, str]) -> None:
    table = main.create_table("t", COLUMNS, primary_key=["token"], properties=properties)
    branch = main.create_branch("b")
    table.append(rows(ONE))
    branch.table("t").append(rows(OTHER))
    main.merge(branch)
    assert sorted(table.scan().to_arrow()["token"].to_pylist()) == [ONE, OTHER]


def test_what_does_not_fit_is_refused(main: Catalog) -> None:
    table = main.create_table("t", COLUMNS)
    with pytest.raises(Invalid, match=r"code: a value does not fit the column"):
        table.append(pyarrow.table({"code": [b"abcd"]}))
    with pytest.raises(Invalid, match=r"opens: a value is not a time of day"):
        table.append(pyarrow.table({"opens": pyarrow.array([-1], pyarrow.time64("us"))}))
    with pytest.raises(Invalid, match=r"column 'token' of type uuid"):
        table.scan("token = 'abc'")
    with pytest.raises(Invalid, match=r"can only get wider"), table.evolve() as change:
        change.widen_column("code", "fixed(4)")
    assert table.scan().count() == 0


def test_files_are_compacted_in_the_order_of_uuids(main: Catalog, properties: dict[str, str]) -> None:
    table = main.create_table("t", COLUMNS, sort_by=["token desc"], properties=properties)
    for token in (ONE, OTHER, uuid.UUID(int=2**127)):
        table.append(rows(token))
    table.compact()
    assert len(opened_files(table.scan())) == 1
    assert table.scan().to_arrow()["token"].to_pylist() == [OTHER, uuid.UUID(int=2**127), ONE]
    assert table.scan(f"token < '{OTHER}'").count() == 2


WITHOUT_PANDAS = """
import importlib.abc, sys, tempfile

class NoPandas(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoPandas())
import lakebed, pyarrow

def rows(*nanos):
    return pyarrow.table({"at": pyarrow.array(nanos, pyarrow.timestamp("ns"))})

with lakebed.connect(tempfile.mkdtemp()) as lake:
    table = lake.catalog().create_table("t", {"at": "timestamp_ns", "micros": "timestamp"}, primary_key=["at"])
    table.append(rows(1001))
    for call in (
        lambda: table.get(1001),
        lambda: table.update({"micros": "at"}),
        lambda: table.upsert(rows(1001, 1001)),
        lambda: table.merge(rows(1001, 1001), "at", lakebed.when_matched_update({"micros": "NULL"})),
    ):
        try:
            call()
        except lakebed.Invalid as error:
            assert "0.000001001" in str(error) or "Install pandas" in str(error), error
        else:
            raise AssertionError("not refused")
"""


def test_without_pandas_nanoseconds_broke_the_errors_that_were_to_show_them():
    subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], check=True)
