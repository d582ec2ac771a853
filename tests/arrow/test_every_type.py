"""What is written is what is read, for every type and on every level, with the values that trip readers up."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed.arrow.read.scan import Scan, pruned_plan
from lakebed.arrow.types import arrow_schema
from lakebed.arrow.write.inline import Inlined, inline
from lakebed.arrow.write.write import write
from lakebed.catalog.tables.properties import WriteOptions
from lakebed.errors import Corrupt
from lakebed.files import LocalFiles
from lakebed.table.filter.bind import parse_filter
from lakebed.table.filter.filter import Filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.partition.sort_order import make_sort_order
from lakebed.table.partition.spec import make_spec
from lakebed.table.partition.transforms import Transform
from lakebed.table.partition.values import partition_values
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import NAMES, Decimal, Field, Fixed, List, Map, Struct, Type
from lakebed.table.types.values import decode_bound, scaled
from tests.support import filters
from tests.support.sources import sources_of

pytestmark = pytest.mark.sampled(2)

DAY = 86_400_000_000
INT, LONG = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
NASTY_BYTES = [b"", b"\x00", b"\xff", b"\x00" * 40, b"\xff" * 40, b"a\x00b", b"\x7f\xff\x80"]
NASTY_TEXT = ["", "\x00", "\uffff", "\U0010ffff" * 12, "é" * 20, "e\u0301", "'\"\\\n", "\ud7ff\ue000"]


def whole(limits: tuple[int, int], *others: int) -> st.SearchStrategy[int]:
    return st.sampled_from([*limits, *others, 0, 1, -1]) | st.integers(*limits)


def sized(length: int) -> st.SearchStrategy[bytes]:
    edges = [b"\x00" * length, b"\xff" * length, b"\x80".ljust(length, b"\x00"), b"\x7f".ljust(length, b"\xff")]
    return st.sampled_from(edges) | st.binary(min_size=length, max_size=length)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": whole(INT),
    "long": whole(LONG),
    "float": st.floats(width=32),
    "double": st.floats(),
    "date": whole(INT, -719162, -719163, 2932896, 2932897),
    "time": st.sampled_from([0, DAY - 1]) | st.integers(0, DAY - 1),
    "timestamp": whole(LONG, -DAY, -DAY - 1),
    "timestamptz": whole(LONG, -DAY, -DAY - 1),
    "timestamp_ns": whole(LONG, -1000, -1001),
    "timestamptz_ns": whole(LONG, -1000, -1001),
    "string": st.sampled_from(NASTY_TEXT) | st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    "uuid": sized(16),
    "binary": st.sampled_from(NASTY_BYTES) | st.binary(max_size=40),
}
RAW = {
    "date": pyarrow.int32(),
    **dict.fromkeys(("time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"), pyarrow.int64()),
    "uuid": pyarrow.binary(16),
}
decimals = st.integers(1, 38).flatmap(lambda most: st.builds(Decimal, st.just(most), st.integers(0, most)))
simple = st.sampled_from(list(NAMES.values())) | decimals | st.sampled_from([Fixed(1), Fixed(16), Fixed(40)])


def nested(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    fields = st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3)
    structs = fields.map(lambda some: Struct(tuple(Field(f"f{n}", one, must) for n, (one, must) in enumerate(some))))
    return st.builds(List, inner, st.booleans()) | st.builds(Map, simple, inner, st.booleans()) | structs


def values_of(type: Type, required: bool) -> st.SearchStrategy[Any]:
    match type:
        case Decimal(precision, scale):
            most = 10**precision - 1
            some: st.SearchStrategy[Any] = whole((-most, most)).map(lambda digits: scaled(digits, scale))
        case Fixed(length):
            some = sized(length)
        case List():
            some = st.lists(values_of(type.element, type.element_required), max_size=3)
        case Map():
            some = st.lists(
                st.tuples(values_of(type.key, True), values_of(type.value, type.value_required)), max_size=3
            )
        case Struct(fields):
            some = st.fixed_dictionaries({one.name: values_of(one.type, one.required) for one in fields})
        case _:
            some = VALUES[type.name]
    return some if required else st.none() | some


def raw_type(type: Type, form: pyarrow.DataType) -> pyarrow.DataType:
    """The form with numbers for times and bytes for UUIDs: Python's own end before a column's do."""
    match type:
        case List():
            return pyarrow.list_(form.value_field.with_type(raw_type(type.element, form.value_type)))
        case Map():
            value = form.item_field.with_type(raw_type(type.value, form.item_type))
            return pyarrow.map_(form.key_field.with_type(raw_type(type.key, form.key_type)), value)
        case Struct(fields):
            parts = zip(fields, form, strict=True)
            return pyarrow.struct([there.with_type(raw_type(one.type, there.type)) for one, there in parts])
        case _:
            return RAW.get(str(type), form)


def column_of(type: Type, values: list[Any], form: pyarrow.DataType) -> pyarrow.Array:
    return pyarrow.array(values, raw_type(type, form)).cast(form)


def table_of(schema: Schema, rows: list[dict[str, Any]]) -> pyarrow.Table:
    form = arrow_schema(schema)
    columns = [column_of(one.type, [row[one.name] for row in rows], form.field(one.name).type) for one in schema.fields]
    return pyarrow.table(columns, schema=form)


def plain_rows(schema: Schema, table: pyarrow.Table) -> list[str]:
    """Every row as text that tells zeros apart, and NaNs from everything but NaNs."""
    forms = [
        one.with_type(raw_type(field.type, one.type)) for field, one in zip(schema.fields, table.schema, strict=True)
    ]
    return [repr(row) for row in table.cast(pyarrow.schema(forms)).to_pylist()]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Schema, list[dict[str, Any]]]:
    types = draw(st.lists(st.tuples(st.recursive(simple, nested, max_leaves=4), st.booleans()), min_size=1, max_size=4))
    schema = with_ids(Schema([Field(f"c{n}", one, must) for n, (one, must) in enumerate(types)]), 0, 1)
    row = st.fixed_dictionaries({one.name: values_of(one.type, one.required) for one in schema.fields})
    return schema, draw(st.lists(row, max_size=8))


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


def scanned(files: LocalFiles, schema: Schema, data_files: list[DataFileRef], filter: Filter | None = None) -> Scan:
    return Scan(sources_of(files), schema, pruned_plan([PlannedFile(one) for one in data_files], filter), filter)


def test_every_type_has_values() -> None:
    assert VALUES.keys() == NAMES.keys()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables(), st.integers(1, 4))
def test_what_is_written_is_what_is_read(
    files: LocalFiles, table: tuple[Schema, list[dict[str, Any]]], group: int
) -> None:
    schema, rows = table
    data = table_of(schema, rows)
    found = scanned(files, schema, write(files, "d", schema, data, options=WriteOptions(group_rows=group))).to_arrow()
    assert found.schema.equals(arrow_schema(schema), check_metadata=True)
    found.validate(full=True)
    assert plain_rows(schema, found) == plain_rows(schema, data)
    assert len(plain_rows(schema, found)) == len(rows)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables())
def test_inline_rows_are_read_and_known_as_those_of_a_file(
    files: LocalFiles, table: tuple[Schema, list[dict[str, Any]]]
) -> None:
    schema, rows = table
    data = table_of(schema, rows)
    made = inline(schema, data, 1_000_000, room_bytes=1_000_000)
    assert isinstance(made, Inlined)
    plan = pruned_plan([PlannedFile(one) for one in made.entries])
    found = Scan(sources_of(files, made.bodies), schema, plan).to_arrow()
    assert found.schema.equals(arrow_schema(schema), check_metadata=True)
    found.validate(full=True)
    assert plain_rows(schema, found) == plain_rows(schema, data)
    assert [known(one) for one in made.entries] == [known(one) for one in write(files, "d", schema, data)]


def known(file: DataFileRef) -> tuple[int, list[tuple[int, ...]], list[tuple[bytes | None, ...]]]:
    """What an entry says of its rows, but for what only a file has: sizes and places."""
    counts = [(one.field_id, one.value_count, one.null_count, one.nan_count) for one in file.statistics]
    bounds = [
        tuple(getattr(one, name) if one.HasField(name) else None for name in ("lower", "upper"))
        for one in file.statistics
    ]
    return file.num_rows, counts, bounds


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data(), simple)
def test_rows_are_cut_and_sorted_by_every_type(files: LocalFiles, data: st.DataObject, type: Type) -> None:
    schema = with_ids(Schema([Field("n", "long"), Field("a", type)]), 0, 1)
    values = data.draw(st.lists(values_of(type, required=False), max_size=8))
    bucket = ["bucket(3, a)"] if Transform("bucket", 3).can_transform(type) else []
    spec = make_spec(schema, data.draw(st.sampled_from([["a"], bucket])), spec_id=1)
    order = make_sort_order(schema, ["a desc"], order_id=1)
    given_rows = table_of(schema, [{"n": at, "a": value} for at, value in enumerate(values)])
    written = write(files, "d", schema, given_rows, spec, order)
    found = scanned(files, schema, written).to_arrow()
    assert Counter(plain_rows(schema, found)) == Counter(plain_rows(schema, given_rows))
    for file in written:
        there = [values[at] for at in scanned(files, schema, [file]).to_arrow()["n"].to_pylist()]
        [field] = spec.fields or [None]
        if field is not None:
            [kept] = partition_values(file, spec, schema).values()
            assert {repr(field.transform.apply(type, value)) for value in there} == {repr(kept)}
        present = [value for value in there if value is not None and value == value]
        assert present == sorted(present, reverse=True)


SEEDS = range(60)


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> tuple[LocalFiles, list[dict[str, Any]], list[DataFileRef]]:
    """Files of rows with the nasty values of `tests.support.filters`, in row groups that can be skipped."""
    store, rows = LocalFiles(tmp_path_factory.mktemp("filtered")), filters.rows(Random(3), 60)
    written = [
        file
        for start in range(0, 60, 12)
        for file in write(
            store,
            "d",
            filters.SCHEMA,
            table_of(filters.SCHEMA, rows[start : start + 12]),
            options=WriteOptions(group_rows=3),
        )
    ]
    return store, rows, written


@pytest.mark.parametrize("seed", SEEDS)
def test_a_filtered_scan_keeps_the_rows_that_the_words_are_true_of(
    seed: int, filtered: tuple[LocalFiles, list[dict[str, Any]], list[DataFileRef]]
) -> None:
    store, rows, written = filtered
    later = {one.name: filters.CONSTANTS[one.name] for one in filters.SCHEMA.fields[-5:]}
    asked = filters.condition(Random(seed), later)
    found = scanned(store, filters.SCHEMA, written, parse_filter(asked.text, filters.SCHEMA)).to_arrow()
    kept = [row for row, keeps in zip(rows, asked.kept(rows), strict=True) if keeps]
    assert plain_rows(filters.SCHEMA, found) == plain_rows(filters.SCHEMA, table_of(filters.SCHEMA, kept)), asked.text


LATER = with_ids(
    Schema(
        {
            "t": "time",
            "u": "uuid",
            "f": "fixed(3)",
            "n": "timestamp_ns",
            "z": "timestamptz_ns",
            "lists": "list<uuid>",
            "maps": "map<uuid, timestamp_ns>",
            "structs": "struct<t: time, f: fixed(2)>",
        }
    ),
    0,
    1,
)
ROW = {
    "t": DAY - 1,
    "u": bytes(range(16)),
    "f": b"abc",
    "n": LONG[0],
    "z": LONG[1],
    "lists": [b"\xff" * 16, None],
    "maps": [(bytes(16), -1)],
    "structs": {"t": 0, "f": b"\x00\xff"},
}


def test_other_engines_see_what_the_columns_are(files: LocalFiles) -> None:
    [file] = write(files, "d", LATER, table_of(LATER, [ROW]))
    path = files.location(file.path)
    columns = pyarrow.parquet.read_metadata(path).schema
    seen = {columns.column(at).path: columns.column(at) for at in range(len(columns.names))}
    assert [str(seen[name].logical_type).partition(", is_from")[0] for name in ("t", "u", "f", "n", "z")] == [
        "Time(isAdjustedToUTC=false, timeUnit=microseconds)",  # as Iceberg's specification has it
        "UUID",
        "None",
        "Timestamp(isAdjustedToUTC=false, timeUnit=nanoseconds",
        "Timestamp(isAdjustedToUTC=true, timeUnit=nanoseconds",
    ]
    assert (seen["f"].physical_type, seen["f"].length) == ("FIXED_LEN_BYTE_ARRAY", 3)
    assert {str(seen[name].logical_type) for name in ("lists.list.element", "maps.key_value.key")} == {"UUID"}
    described = duckdb.sql(f"describe from '{path}'").fetchall()
    assert [one[1] for one in described] == [
        "TIME",
        "UUID",
        "BLOB",
        "TIMESTAMP_NS",
        "TIMESTAMPTZ_NS",
        "UUID[]",
        "MAP(UUID, TIMESTAMP_NS)",
        "STRUCT(t TIME, f BLOB)",
    ]
    assert duckdb.sql(f"select t::varchar, u::varchar, f from '{path}'").fetchall() == [
        ("23:59:59.999999", "00010203-0405-0607-0809-0a0b0c0d0e0f", b"abc")
    ]


def test_bounds_of_a_file_are_its_values(files: LocalFiles) -> None:
    [file] = write(files, "d", LATER, table_of(LATER, [ROW]))
    types = {one.id: one.type for one in LATER.fields}
    found = {one.field_id: one for one in file.statistics if one.field_id in types}
    assert [decode_bound(types[id], found[id].lower) for id in range(1, 6)] == [ROW[name] for name in "tufnz"]
    assert all(one.lower == one.upper for one in found.values())


def test_columns_of_later_show_their_defaults_and_nulls_in_older_files(files: LocalFiles) -> None:
    old = with_ids(Schema({"id": "long"}), 0, 100)
    written = write(files, "d", old, pyarrow.table({"id": [1, 2]}))
    fields = [
        Field(one.name, one.type, id=one.id, physical_name=one.physical_name, initial_default=default)
        for one, default in zip(LATER.fields, [*(ROW[name] for name in "tufnz"), None, None, None], strict=True)
    ]
    schema = Schema([*old.fields, *fields])
    expected = [{"id": id, **ROW, "lists": None, "maps": None, "structs": None} for id in (1, 2)]
    assert plain_rows(schema, scanned(files, schema, written).to_arrow()) == plain_rows(
        schema, table_of(schema, expected)
    )


def test_a_file_with_a_time_of_another_day_is_corrupt(files: LocalFiles) -> None:
    schema = with_ids(Schema({"t": "time"}), 0, 1)
    folder = "00000000-0000-4000-8000-000000000000"  # of a table: in the files of others Arrow itself would find it
    [file] = write(files, folder, schema, table_of(schema, [{"t": 5}]))
    lie = pyarrow.table({"t": pyarrow.array([DAY], pyarrow.int64()).cast(pyarrow.time64("us"))})
    pyarrow.parquet.write_table(lie, files.location(file.path))
    file.file_size = files.head(file.path).size
    file.ClearField("footer_checksum")
    with pytest.raises(Corrupt, match="not a time of day"):
        scanned(files, schema, [file]).to_arrow()


@pytest.mark.parametrize("text", ["uuid", "fixed(16)"])
def test_bytes_that_other_writers_left_without_a_length_are_read(files: LocalFiles, text: str) -> None:
    schema = with_ids(Schema({"u": text}), 0, 1)
    [file] = write(files, "d", schema, table_of(schema, [{"u": b"\x01" * 16}]))
    pyarrow.parquet.write_table(pyarrow.table({"u": pyarrow.array([b"\x02" * 16])}), files.location(file.path))
    file.file_size = files.head(file.path).size
    file.ClearField("footer_checksum")
    expected = plain_rows(schema, table_of(schema, [{"u": b"\x02" * 16}]))
    assert plain_rows(schema, scanned(files, schema, [file]).to_arrow()) == expected
