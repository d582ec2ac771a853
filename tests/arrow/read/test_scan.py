"""A scan: rows of one snapshot, asked for by filter, columns and limit."""

import decimal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.write import write
from lakebed.catalog.tables.properties import WriteOptions
from lakebed.errors import Corrupt, Invalid
from lakebed.files import LocalFiles
from lakebed.table.filter.bind import parse_filter
from lakebed.table.filter.filter import ALWAYS, NEVER, And, Filter, Or
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import NAMES, Decimal, Field, List, Map, Struct, Type
from tests.support.sources import sources_of

SCHEMA = with_ids(Schema([Field("id", "long", True), Field("name", "string"), Field("x", "double")]), 0, 1)


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


@pytest.fixture
def ten(files: LocalFiles) -> list[DataFileRef]:
    """Ten files of ten rows, ids 0 to 99."""
    return [one for start in range(0, 100, 10) for one in write(files, "d", SCHEMA, rows(start, 10))]


def rows(start: int, count: int) -> pyarrow.Table:
    numbers = list(range(start, start + count))
    names = [None if one % 3 == 0 else f"n{one}" for one in numbers]
    return pyarrow.table({"id": numbers, "name": names, "x": [one / 2 for one in numbers]})


def where(text: str) -> Any:
    return parse_filter(text, SCHEMA)


def scanned(
    files: LocalFiles,
    schema: Schema,
    data_files: list[DataFileRef],
    filter: Filter | None = None,
    *more: Any,
    **others: Any,
) -> Scan:
    plan = pruned_plan([PlannedFile(one) for one in data_files], filter)
    return Scan(sources_of(files), schema, plan, filter, *more, **others)


def ids(scan: Scan) -> list[int]:
    return scan.to_arrow().column("id").to_pylist()


def test_rows_come_in_the_order_of_files_and_rows(files: LocalFiles, ten: list[DataFileRef]) -> None:
    shuffled = [ten[place] for place in (3, 1, 9, 0, 2, 8, 7, 4, 6, 5)]
    expected = [10 * place + one for place in (3, 1, 9, 0, 2, 8, 7, 4, 6, 5) for one in range(10)]
    assert ids(scanned(files, SCHEMA, shuffled)) == expected
    assert ids(scanned(files, SCHEMA, shuffled, where("x >= 0"))) == expected


def test_a_result_has_the_tables_schema_exactly(files: LocalFiles, ten: list[DataFileRef]) -> None:
    form = arrow_schema(SCHEMA)
    assert not form.field("id").nullable
    for scan in (
        scanned(files, SCHEMA, ten),
        scanned(files, SCHEMA, []),
        scanned(files, SCHEMA, ten, where("id < 0")),
        scanned(files, SCHEMA, ten, where("id > 3 and id < 4 or name = 'none'")),
        scanned(files, SCHEMA, ten, limit=0),
    ):
        assert scan.to_arrow().schema.equals(form, check_metadata=True)
        assert scan.to_batches().schema.equals(form, check_metadata=True)
        scan.to_arrow().validate(full=True)


def test_columns_are_given_as_asked(files: LocalFiles, ten: list[DataFileRef]) -> None:
    found = scanned(files, SCHEMA, ten, columns=["X", "id"], limit=2).to_arrow()
    assert found.to_pylist() == [{"x": 0.0, "id": 0}, {"x": 0.5, "id": 1}]
    assert scanned(files, SCHEMA, ten, where("id = 42"), ["name"]).to_arrow().to_pylist() == [{"name": None}]
    for columns in (["id", "nope"], ["id", "ID"]):
        with pytest.raises(Invalid):
            scanned(files, SCHEMA, ten, columns=columns)


def test_rows_without_columns_are_still_rows(files: LocalFiles, ten: list[DataFileRef]) -> None:
    assert scanned(files, SCHEMA, ten, columns=[]).to_arrow().num_rows == 100
    assert scanned(files, SCHEMA, ten, columns=[]).to_batches().read_all().num_rows == 100
    assert scanned(files, SCHEMA, ten, where("name is null"), [], 20).to_arrow().num_rows == 20
    assert scanned(files, SCHEMA, ten, columns=[]).to_pandas().shape == (100, 0)
    assert scanned(files, SCHEMA, ten, columns=[]).to_arrow().schema == pyarrow.schema([])


@pytest.mark.parametrize("limit", [0, 1, 9, 10, 11, 99, 100, 1000])
def test_a_limit_gives_the_first_rows(files: LocalFiles, ten: list[DataFileRef], limit: int) -> None:
    scan = scanned(files, SCHEMA, ten, limit=limit)
    assert ids(scan) == list(range(min(limit, 100)))
    assert scan.count() == min(limit, 100)
    assert sum(batch.num_rows for batch in scan.to_batches()) == min(limit, 100)
    filtered = scanned(files, SCHEMA, ten, where("id >= 50"), limit=limit)
    assert ids(filtered) == list(range(50, min(50 + limit, 100)))
    assert filtered.count() == min(limit, 50)


@pytest.mark.parametrize("limit", [-1, 1.0, "5", True])
def test_what_is_no_number_of_rows_is_no_limit(files: LocalFiles, limit: Any) -> None:
    with pytest.raises(Invalid, match="limit"):
        scanned(files, SCHEMA, [], limit=limit)


def test_a_limit_stops_reading(files: LocalFiles, ten: list[DataFileRef]) -> None:
    for file in ten[2:]:
        files.delete(file.path)
    assert ids(scanned(files, SCHEMA, ten, limit=20)) == list(range(20))
    assert ids(scanned(files, SCHEMA, ten, where("x >= 2"), limit=16)) == list(range(4, 20))
    with pytest.raises(Corrupt):
        ids(scanned(files, SCHEMA, ten, limit=21))


def test_files_are_those_that_a_read_opens(files: LocalFiles, ten: list[DataFileRef]) -> None:
    paths = [files.location(one.path) for one in ten]
    assert scanned(files, SCHEMA, ten).files() == paths
    assert scanned(files, SCHEMA, ten, where("id = 42 or id > 88")).files() == [paths[4], paths[8], paths[9]]
    assert scanned(files, SCHEMA, ten, limit=11).files() == paths[:2]
    assert scanned(files, SCHEMA, ten, where("id >= 50"), limit=1).files() == paths[5:]
    assert scanned(files, SCHEMA, ten, limit=0).files() == []
    for place in (0, 1, 2, 3, 5, 6, 7):
        files.delete(ten[place].path)
    assert ids(scanned(files, SCHEMA, ten, where("id = 42 or id > 88"))) == [42, *range(89, 100)]


def test_counting_without_a_filter_opens_nothing(files: LocalFiles, ten: list[DataFileRef]) -> None:
    assert scanned(files, SCHEMA, ten, where("name is null")).count() == 34
    assert scanned(files, SCHEMA, ten, where("id < 0")).count() == 0
    files.delete_many([one.path for one in ten])
    assert scanned(files, SCHEMA, ten).count() == 100


def test_a_filter_without_columns_keeps_all_or_nothing(files: LocalFiles, ten: list[DataFileRef]) -> None:
    for filter, count in ((ALWAYS, 100), (NEVER, 0), (And((ALWAYS, And(()))), 100), (Or((NEVER,)), 0)):
        assert scanned(files, SCHEMA, ten, filter).to_arrow().num_rows == count
        assert scanned(files, SCHEMA, ten, filter, columns=[]).to_arrow().num_rows == count
        assert scanned(files, SCHEMA, ten, filter).count() == count


@pytest.mark.parametrize(
    "text", ["id between 13 and 15", "name = 'n14'", "not (x < 49) and name is not null", "x <> 1"]
)
def test_pruned_and_unpruned_reads_give_the_same_rows(files: LocalFiles, ten: list[DataFileRef], text: str) -> None:
    bare = [DataFileRef(path=one.path, file_size=one.file_size, num_rows=one.num_rows) for one in ten]
    pruned, whole = scanned(files, SCHEMA, ten, where(text)), scanned(files, SCHEMA, bare, where(text))
    assert pruned.to_arrow().equals(whole.to_arrow())
    assert duckdb.arrow(rows(0, 100)).filter(text).aggregate("count(*)").fetchall() == [(whole.count(),)]


def test_a_scan_can_be_read_again_and_in_part(files: LocalFiles, ten: list[DataFileRef]) -> None:
    scan = scanned(files, SCHEMA, ten)
    reader = scan.to_batches()
    assert reader.read_next_batch().column("id").to_pylist() == list(range(10))
    reader.close()
    assert scan.to_arrow().equals(scan.to_batches().read_all())
    assert duckdb.sql("select sum(id) from reader", connection=_connection(scan)).fetchall() == [(4950,)]


def _connection(scan: Scan) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("reader", scan.to_batches())
    return connection


def test_pandas_has_the_same_rows(files: LocalFiles, ten: list[DataFileRef]) -> None:
    found = scanned(files, SCHEMA, ten, where("id < 2")).to_pandas()
    assert isinstance(found, pandas.DataFrame)
    assert found.to_dict("list") == {"id": [0, 1], "name": [None, "n1"], "x": [0.0, 0.5]}


def _overwrite(files: LocalFiles, path: str) -> None:
    files.put(path, b"PAR1" + bytes(files.size(path) - 8) + b"PAR1")


def _cut(files: LocalFiles, path: str) -> None:
    files.put(path, files.read(path)[:-1])


@pytest.mark.parametrize("harm", [_overwrite, _cut, LocalFiles.delete], ids=["overwritten", "cut", "deleted"])
def test_damage_is_named_when_it_is_reached(
    files: LocalFiles, ten: list[DataFileRef], harm: Callable[[LocalFiles, str], None]
) -> None:
    harm(files, ten[7].path)
    for read in (
        scanned(files, SCHEMA, ten).to_arrow,
        scanned(files, SCHEMA, ten, columns=[]).to_arrow,
        scanned(files, SCHEMA, ten).to_pandas,
        scanned(files, SCHEMA, ten, where("x >= 0")).count,
        scanned(files, SCHEMA, ten).to_batches().read_all,
    ):
        with pytest.raises(Corrupt) as caught:
            read()
        assert caught.value.subject == ten[7].path
    reader = scanned(files, SCHEMA, ten).to_batches()
    assert [reader.read_next_batch().num_rows for _ in range(7)] == [10] * 7
    with pytest.raises(Corrupt):
        reader.read_next_batch()


def test_a_file_whose_deletes_are_nowhere_is_never_shown(files: LocalFiles, ten: list[DataFileRef]) -> None:
    ten[3].dv_path = "d/deletes.puffin"
    with pytest.raises(Corrupt) as caught:
        scanned(files, SCHEMA, ten).to_arrow()
    assert ten[3].path in caught.value.subject


# --- whatever is written is read back

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "date": st.dates(),
    "timestamp": st.integers(-(2**55), 2**55),
    "timestamptz": st.integers(-(2**55), 2**55),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    "binary": st.binary(max_size=40),
}
decimals = st.integers(1, 38).flatmap(lambda most: st.builds(Decimal, st.just(most), st.integers(0, most)))
primitives = st.sampled_from([NAMES[one] for one in VALUES]) | decimals


def wrapped(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    fields = st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3)
    structs = fields.map(lambda some: Struct(tuple(Field(f"f{n}", one, must) for n, (one, must) in enumerate(some))))
    return st.builds(List, inner, st.booleans()) | st.builds(Map, primitives, inner, st.booleans()) | structs


def values_of(type: Type, required: bool) -> st.SearchStrategy[Any]:
    match type:
        case Decimal(precision, scale):
            most = 10**precision - 1
            some: st.SearchStrategy[Any] = st.integers(-most, most).map(lambda number: exactly(number, scale))
        case List():
            some = st.lists(values_of(type.element, type.element_required), max_size=3)
        case Map():
            entry = st.tuples(values_of(type.key, True), values_of(type.value, type.value_required))
            some = st.lists(entry, max_size=3)
        case Struct(fields):
            some = st.fixed_dictionaries({one.name: values_of(one.type, one.required) for one in fields})
        case _:
            some = VALUES[type.name]
    return some if required else st.none() | some


def exactly(number: int, scale: int) -> decimal.Decimal:
    return decimal.Decimal(number).scaleb(-scale, decimal.Context(prec=60))


def stored_elsewhere(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields as if each had been renamed since it was written first."""
    return tuple(replace(one, physical_name=f"p{one.id}", type=_elsewhere(one.type)) for one in fields)


def _elsewhere(type: Type) -> Type:
    match type:
        case Struct(fields):
            return Struct(stored_elsewhere(fields))
        case List():
            return replace(type, element=_elsewhere(type.element))
        case Map():
            return replace(type, key=_elsewhere(type.key), value=_elsewhere(type.value))
        case _:
            return type


@st.composite
def tables(draw: st.DrawFn) -> tuple[Schema, list[dict[str, Any]]]:
    types = draw(
        st.lists(st.tuples(st.recursive(primitives, wrapped, max_leaves=4), st.booleans()), min_size=1, max_size=4)
    )
    schema = with_ids(Schema([Field(f"c{n}", one, must) for n, (one, must) in enumerate(types)]), 0, 1)
    row = st.fixed_dictionaries({one.name: values_of(one.type, one.required) for one in schema.fields})
    return Schema(stored_elsewhere(schema.fields)), draw(st.lists(row, max_size=8))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables(), st.integers(1, 4))
def test_what_is_written_is_read_back(
    files: LocalFiles, table: tuple[Schema, list[dict[str, Any]]], group: int
) -> None:
    schema, values = table
    form = arrow_schema(schema)
    data = pyarrow.table(
        [pyarrow.array([one[name] for one in values], form.field(name).type) for name in form.names], form
    )
    written = write(files, "d", schema, data, options=WriteOptions(group_rows=group))
    found = scanned(files, schema, written).to_arrow()
    assert found.schema.equals(form, check_metadata=True)
    found.validate(full=True)
    assert found.combine_chunks().equals(data.combine_chunks())
    assert found.num_rows == len(values) == sum(one.num_rows for one in written)
    for file in written:
        foreign = duckdb.sql(f"select count(*) from '{files.location(file.path)}'").fetchall()
        assert foreign == [(file.num_rows,)]
