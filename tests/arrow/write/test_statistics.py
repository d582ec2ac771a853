"""Statistics of rows in memory: what the footer of a Parquet file of the same rows says."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.arrow.fit import fit
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.statistics import FEW_ROWS, add_statistics
from lakebed.arrow.write.write import write
from lakebed.files import LocalFiles
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import ROW_ID
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field, Struct

IN_MEMORY_ALONE = ("size", "raw_size", "offset", "bloom_offset", "bloom_length")
"""What a file has of a column and rows in memory don't."""

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32) | st.sampled_from([0.0, -0.0, float("nan")]),
    "double": st.floats() | st.sampled_from([0.0, -0.0, float("nan")]),
    "decimal(9, 2)": st.decimals(Decimal("-9999999.99"), Decimal("9999999.99"), places=2),
    "decimal(38, 10)": st.decimals(Decimal(-(10**27)), Decimal(10**27), places=10),
    "date": st.dates(),
    "timestamp": st.datetimes(),
    "timestamptz": st.datetimes(),
    "string": st.text() | st.sampled_from(["", "\x00", "\U0010ffff" * 20, "é" * 40, "x" * 100]),
    "binary": st.binary() | st.sampled_from([b"", b"\x00" * 40, b"\xff" * 40, b"a" + b"\xff" * 40]),
}
COUNTS = st.integers(0, 5) | st.integers(FEW_ROWS - 1, FEW_ROWS + 2)


def known(schema: Schema, data: Any) -> DataFileRef:
    """The entry of rows in memory, but for what only a file has."""
    file = DataFileRef()
    for batch in fit(data, schema):
        add_statistics(file, schema, batch)
    return file


def known_of_file(schema: Schema, data: Any, folder: Path) -> DataFileRef:
    [file] = write(LocalFiles(folder), "data", schema, data)
    for one in file.statistics:
        for name in IN_MEMORY_ALONE:
            one.ClearField(name)
    return DataFileRef(statistics=file.statistics)


def table_of(schema: Schema, columns: dict[str, list[Any]]) -> pyarrow.Table:
    form = arrow_schema(schema)
    return pyarrow.table([pyarrow.array(columns[one.name], one.type) for one in form], schema=form)


@pytest.mark.parametrize("type", VALUES)
def test_they_are_those_of_a_file(type: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    schema = with_ids(Schema({"v": type}), 0, 1)

    @given(st.data())
    def agree(data: st.DataObject) -> None:
        count = data.draw(COUNTS.filter(bool))
        values = data.draw(st.lists(st.none() | VALUES[type], min_size=count, max_size=count))
        rows = table_of(schema, {"v": values})
        assert known(schema, rows) == known_of_file(schema, rows, folder)

    agree()


@given(st.data())
def test_columns_inside_structs_are_null_where_one_of_them_is(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    inner = Struct((Field("n", "long", True, physical_name="n-1"), Field("x", "double")))
    schema = with_ids(
        Schema([Field("s", Struct((Field("in", inner, physical_name="in.2"), Field("t", "string"))))]), 0, 1
    )
    insides = st.fixed_dictionaries({"n": VALUES["long"], "x": st.none() | VALUES["double"]})
    structs = st.fixed_dictionaries({"in": st.none() | insides, "t": st.none() | VALUES["string"]})
    values = data.draw(st.lists(st.none() | structs, min_size=1, max_size=FEW_ROWS + 2))
    rows = table_of(schema, {"s": values})
    assert known(schema, rows) == known_of_file(schema, rows, tmp_path_factory.mktemp("files"))


def test_what_is_inside_lists_and_maps_has_none() -> None:
    schema = with_ids(Schema({"l": "list<int>", "m": "map<string, int>", "n": "int"}), 0, 1)
    rows = table_of(schema, {"l": [[1]], "m": [[("a", 1)]], "n": [5]})
    assert [one.field_id for one in known(schema, rows).statistics] == [3]


def test_a_rows_lineage_has_none() -> None:
    schema = Schema([*with_ids(Schema({"n": "int"}), 0, 1).fields, ROW_ID])
    rows = table_of(schema, {"n": [1], ROW_ID.name: [7]})
    assert [one.field_id for one in known(schema, rows).statistics] == [1]


def text(count: int) -> pyarrow.Table:
    """Bytes that are no UTF-8 in a column of text, as some writers leave it."""
    bad = pyarrow.array([b"\xff\xfe"] * count).view(pyarrow.string())
    return pyarrow.table({"v": bad})


@pytest.mark.parametrize("count", [1, FEW_ROWS + 1])
@pytest.mark.parametrize(
    ("type", "rows"),
    [
        ("string", text),
        ("double", lambda count: pyarrow.table({"v": [float("nan")] * count})),
        ("long", lambda count: pyarrow.table({"v": pyarrow.nulls(count, pyarrow.int64())})),
    ],
)
def test_values_without_an_order_have_no_bounds(type: str, rows: Callable[[int], pyarrow.Table], count: int) -> None:
    file = DataFileRef()
    [batch] = rows(count).to_batches()  # as files have it that others wrote: no row with such text is taken
    add_statistics(file, with_ids(Schema({"v": type}), 0, 1), batch)
    [column] = file.statistics
    assert not column.HasField("lower")
    assert not column.HasField("upper")
    assert column.value_count == count


@pytest.mark.parametrize("count", [1, FEW_ROWS + 1])
def test_times_beyond_pythons_have_bounds(count: int) -> None:
    schema = with_ids(Schema({"d": "date", "t": "timestamptz"}), 0, 1)
    far = {"d": pyarrow.array([2**31 - 1] * count).cast(pyarrow.int32()), "t": pyarrow.array([2**63 - 1] * count)}
    rows = pyarrow.table({"d": far["d"].view(pyarrow.date32()), "t": far["t"].view(pyarrow.timestamp("us", "UTC"))})
    days, micros = known(schema, rows).statistics
    assert (days.upper, micros.upper) == ((2**31 - 1).to_bytes(4, "little"), (2**63 - 1).to_bytes(8, "little"))


def test_bounds_are_of_the_values_as_they_are() -> None:
    schema = with_ids(Schema({"d": "date", "t": "timestamp"}), 0, 1)
    rows = table_of(schema, {"d": [date(1970, 1, 2)], "t": [datetime(1970, 1, 1, 0, 0, 1)]})
    days, micros = known(schema, rows).statistics
    assert (days.lower, micros.lower) == ((1).to_bytes(4, "little"), (1_000_000).to_bytes(8, "little"))
