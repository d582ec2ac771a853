"""Rows that somebody gives, brought to the form of a table's files, or refused with every reason."""

import decimal
import math
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import hypothesis
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pytest
from hypothesis import strategies

from lakebed.arrow.fit import BATCH_ROWS, fit, reader_of
from lakebed.arrow.types import file_schema
from lakebed.errors import Invalid
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field, List, Map, Struct


def table_schema(*fields: Field) -> Schema:
    return with_ids(Schema(fields), 0, 1)


def fitted(data: Any, schema: Schema) -> pyarrow.Table:
    return pyarrow.Table.from_batches(fit(data, schema), file_schema(schema))


def one_column(array: Any, type: str, required: bool = False) -> pyarrow.Array:
    schema = table_schema(Field("a", type, required))
    return fitted(pyarrow.table({"a": array}), schema).column("a").combine_chunks()


def categories(value: str | bytes, type: pyarrow.DataType) -> pyarrow.DictionaryArray:
    """The value, a null and the value, as places in a dictionary."""
    return pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([1, None, 1], pyarrow.uint32()), pyarrow.array([value * 2, value], type)
    )


def test_columns_are_found_by_name_in_any_order_and_case() -> None:
    schema = table_schema(Field("Id", "long", True), Field("name", "string"), Field("later", "date"))
    found = fitted(pyarrow.table({"NAME": ["x", None], "id": [1, 2]}), schema)
    assert found.to_pylist() == [{"Id": 1, "name": "x", "later": None}, {"Id": 2, "name": None, "later": None}]
    assert found.schema.equals(file_schema(schema), check_metadata=True)


def test_one_refusal_lists_every_problem() -> None:
    inner = Struct((Field("b", "int"), Field("must", "int", True)))
    schema = table_schema(Field("a", "long"), Field("s", inner), Field("key", "long", True), Field("m", "list<date>"))
    data = pyarrow.table(
        {
            "a": ["1"],
            "extra": [1.5],
            "s": [{"b": 1, "other": 2}],
            "m": pyarrow.array([[1]], pyarrow.list_(pyarrow.int32())),
            "A": [1],
        }
    )
    with pytest.raises(Invalid) as caught:
        fit(data, schema)
    assert caught.value.found.split("; ") == [
        "a: long expected, string found",
        "extra: double, which the table does not have",
        "s.b: int expected, int64 found",
        "s.other: int64, which the table does not have",
        "s.must: int not null expected, no such column found",
        "m.element: date expected, int32 found",
        "A: int64 once more, which the table does not have",
        "key: long not null expected, no such column found",
    ]
    assert "key long not null" in caught.value.expected
    assert caught.value.advice


@pytest.mark.parametrize(
    ("given", "type", "values"),
    [
        (pyarrow.array([1, None], pyarrow.int8()), "long", [1, None]),
        (pyarrow.array([2**32 - 1], pyarrow.uint32()), "long", [2**32 - 1]),
        (pyarrow.array([65535], pyarrow.uint16()), "int", [65535]),
        (pyarrow.array([0.1], pyarrow.float32()), "double", [float(pyarrow.scalar(0.1, pyarrow.float32()).as_py())]),
        (pyarrow.array([0.5], pyarrow.float16()), "float", [0.5]),
        (pyarrow.array(["x"], pyarrow.large_string()), "string", ["x"]),
        (pyarrow.array(["x"], pyarrow.string_view()), "string", ["x"]),
        (pyarrow.array([b"x"], pyarrow.binary_view()), "binary", [b"x"]),
        (pyarrow.array(["x", None, "x"]).dictionary_encode(), "string", ["x", None, "x"]),
        (categories("x", pyarrow.string_view()), "string", ["x", None, "x"]),  # as polars has them
        (categories(b"x", pyarrow.binary_view()), "binary", [b"x", None, b"x"]),
        (pyarrow.ListArray.from_arrays([0, 2], categories("x", pyarrow.string_view())), "list<string>", [["x", None]]),
        (pyarrow.array([1, 1], pyarrow.int8()).dictionary_encode(), "long", [1, 1]),
        (pyarrow.array([decimal.Decimal("1.5")]), "decimal(10, 3)", [decimal.Decimal("1.500")]),
        (pyarrow.array([decimal.Decimal("1.5")], pyarrow.decimal256(4, 1)), "decimal(4, 1)", [decimal.Decimal("1.5")]),
        (pyarrow.nulls(2), "struct<a: int>", [None, None]),
        (pyarrow.array([[]], pyarrow.list_(pyarrow.null())), "list<long>", [[]]),
    ],
)
def test_types_that_lose_nothing_are_cast(given: pyarrow.Array, type: str, values: list[Any]) -> None:
    assert one_column(given, type).to_pylist() == values


TOKENS = [bytes(16), b"\xff" * 16, None]


@pytest.mark.parametrize(
    ("given", "type", "values"),
    [
        (pyarrow.array(TOKENS, pyarrow.binary(16)), "uuid", TOKENS),
        (pyarrow.array(TOKENS), "uuid", TOKENS),
        (pyarrow.array(TOKENS, pyarrow.large_binary()), "uuid", TOKENS),
        (pyarrow.array(TOKENS).dictionary_encode(), "uuid", TOKENS),
        (pyarrow.array([uuid.UUID(int=5)]), "uuid", [uuid.UUID(int=5).bytes]),
        (pyarrow.nulls(2), "uuid", [None, None]),
        (pyarrow.array([b"ab", None], pyarrow.binary_view()), "fixed(2)", [b"ab", None]),
        (pyarrow.array([b"ab", None], pyarrow.binary(2)), "binary", [b"ab", None]),
    ],
)
def test_bytes_of_the_length_are_uuids_and_fixed_ones(given: pyarrow.Array, type: str, values: list[Any]) -> None:
    found = one_column(given, type)
    assert (found.cast(pyarrow.binary(16)) if type == "uuid" else found).to_pylist() == values


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize(("type", "zone"), [("timestamp_ns", None), ("timestamptz_ns", "Asia/Tokyo")])
def test_times_of_every_unit_are_nanoseconds_too(unit: str, type: str, zone: str | None) -> None:
    given = pyarrow.array([1, -1], pyarrow.timestamp("s", zone)).cast(pyarrow.timestamp(unit, zone))
    assert one_column(given, type).cast(pyarrow.int64()).to_pylist() == [1_000_000_000, -1_000_000_000]


@pytest.mark.parametrize(
    "form", [pyarrow.time32("s"), pyarrow.time32("ms"), pyarrow.time64("us"), pyarrow.time64("ns")], ids=str
)
def test_times_of_day_of_every_unit_fit_when_they_are_whole_microseconds(form: pyarrow.DataType) -> None:
    given = pyarrow.array([1, 86_399], pyarrow.time32("s")).cast(form)
    assert one_column(given, "time").cast(pyarrow.int64()).to_pylist() == [1_000_000, 86_399_000_000]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize(("type", "zone"), [("timestamp", None), ("timestamptz", "Asia/Tokyo")])
def test_times_of_every_unit_fit_when_they_are_whole_microseconds(unit: str, type: str, zone: str | None) -> None:
    given = pyarrow.array([1, -1], pyarrow.timestamp("s", zone)).cast(pyarrow.timestamp(unit, zone))
    assert one_column(given, type).cast(pyarrow.int64()).to_pylist() == [1_000_000, -1_000_000]


@pytest.mark.parametrize(
    ("given", "type"),
    [
        (pyarrow.array([1_001], pyarrow.timestamp("ns")), "timestamp"),
        (pyarrow.array([2**60], pyarrow.timestamp("s")), "timestamp"),
        (pyarrow.Array.from_buffers(pyarrow.date64(), 1, [None, pyarrow.py_buffer(b"\1" + bytes(7))]), "date"),
        (pyarrow.array([1], pyarrow.time64("ns")), "time"),
        (pyarrow.array([2**60], pyarrow.timestamp("us")), "timestamp_ns"),
        (pyarrow.array([b"ab", b"abc"]), "fixed(2)"),
        (pyarrow.array([b"ab", b"abcd"], pyarrow.large_binary()), "fixed(3)"),
        (pyarrow.array([b"a" * 15, b"a" * 17], pyarrow.binary_view()), "uuid"),
    ],
)
def test_a_value_that_would_be_lost_is_refused_with_its_column(given: pyarrow.Array, type: str) -> None:
    with pytest.raises(Invalid, match="does not fit the column") as caught:
        one_column(given, type)
    assert caught.value.subject == "a"


@pytest.mark.parametrize(
    ("given", "type"),
    [
        (pyarrow.array([1.0]), "float"),
        (pyarrow.array([1]), "double"),
        (pyarrow.array([1]), "decimal(38, 0)"),
        (pyarrow.array(["1"]), "long"),
        (pyarrow.array([1]), "string"),
        (pyarrow.array([b"x"]), "string"),
        (pyarrow.array([b"x"], pyarrow.binary(1)), "fixed(2)"),
        (pyarrow.array([b"x" * 15], pyarrow.binary(15)), "uuid"),
        (pyarrow.array([b"x" * 16], pyarrow.uuid()), "fixed(16)"),
        (pyarrow.array([b"x" * 16], pyarrow.uuid()), "binary"),
        (pyarrow.array(["00000000-0000-0000-0000-000000000005"]), "uuid"),
        (pyarrow.array([0], pyarrow.time64("us")), "timestamp"),
        (pyarrow.array([0], pyarrow.timestamp("us")), "time"),
        (pyarrow.array([0]), "time"),
        (pyarrow.array([0], pyarrow.timestamp("ns")), "timestamptz_ns"),
        (pyarrow.array([0], pyarrow.timestamp("ns", "UTC")), "timestamp_ns"),
        (pyarrow.array([0], pyarrow.date32()), "timestamp"),
        (pyarrow.array([0], pyarrow.timestamp("us")), "timestamptz"),
        (pyarrow.array([0], pyarrow.timestamp("us", "UTC")), "timestamp"),
        (pyarrow.array([decimal.Decimal("1.25")]), "decimal(38, 1)"),
        (pyarrow.array([decimal.Decimal("100")]), "decimal(3, 1)"),
        (pyarrow.array([True]), "int"),
        (pyarrow.array([[1]]), "long"),
        (pyarrow.array([{"a": 1}]), "map<string, long>"),
    ],
)
def test_nothing_else_is_cast(given: pyarrow.Array, type: str) -> None:
    with pytest.raises(Invalid) as caught:
        one_column(given, type)
    assert caught.value.subject == "a"
    assert str(given.type) in caught.value.found


WIDER = {pyarrow.int64(): (-(2**63), 2**63), pyarrow.uint32(): (0, 2**32), pyarrow.uint64(): (0, 2**64)}
NARROWER = {"int": (-(2**31), 2**31), "long": (-(2**63), 2**63)}


@hypothesis.given(strategies.sampled_from(list(WIDER)), strategies.sampled_from(list(NARROWER)), strategies.data())
def test_whole_numbers_of_more_bits_were_refused_although_their_values_fit(
    type: pyarrow.DataType, wanted: str, data: strategies.DataObject
) -> None:
    (first, end), (low, high) = WIDER[type], NARROWER[wanted]
    numbers = strategies.integers(first, end - 1) | strategies.sampled_from([first, end - 1])
    near = strategies.sampled_from([max(first, min(end - 1, value)) for value in (low - 1, low, 0, high - 1, high)])
    values = data.draw(strategies.lists(numbers | near | strategies.none(), min_size=1, max_size=4))
    unfit = [value for value in values if value is not None and not low <= value < high]
    if not unfit:
        assert one_column(pyarrow.array(values, type), wanted).to_pylist() == values
    else:
        with pytest.raises(
            Invalid, match=f"does not fit the column .*found {unfit[0]} in row {values.index(unfit[0])}"
        ):
            one_column(pyarrow.array(values, type), wanted)


@pytest.mark.parametrize("type", ["string", "date", "list<long>", "boolean", "decimal(5, 2)"])
def test_a_column_of_pandas_without_values_did_not_fit_because_it_is_a_float(type: str) -> None:
    schema = table_schema(Field("a", type))
    assert fitted(pandas.DataFrame({"a": [math.nan, math.nan]}), schema)["a"].to_pylist() == [None, None]
    with pytest.raises(Invalid):
        fitted(pandas.DataFrame({"a": [math.nan, 0.5]}), schema)


@pytest.mark.parametrize("value", [-1, 86_400_000_000, 2**63 - 1])
def test_a_time_of_another_day_is_refused(value: int) -> None:
    with pytest.raises(Invalid, match="not a time of day") as caught:
        one_column(pyarrow.array([0, None, value], pyarrow.time64("us")), "time")
    assert caught.value.subject == "a"
    assert f"time64[us] {value}" in caught.value.found
    nested = pyarrow.ListArray.from_arrays([0, 1], pyarrow.array([value], pyarrow.time64("us")))
    with pytest.raises(Invalid, match=r"a\.element: a value is not a time of day"):
        one_column(nested, "list<time>")


NULLS: list[tuple[Field, list[Any], str]] = [
    (Field("a", "int", True), [1, None], "a"),
    (Field("a", Struct((Field("b", "int", True),))), [None, {"b": None}], "a.b"),
    (Field("a", List(Struct((Field("b", "int"),)), True)), [None, [], [None]], "a.element"),
    (Field("a", List(Struct((Field("b", "int", True),)))), [[None], [{"b": None}]], "a.element.b"),
    (
        Field("a", Map(Struct((Field("b", "int"),)), List(Field("x", "int").type), True)),
        [[({"b": 1}, None)]],
        "a.value",
    ),
    (Field("a", Struct((Field("b", Struct((Field("c", "int", True),))),))), [{"b": None}, {"b": {"c": None}}], "a.b.c"),
]


@pytest.mark.parametrize(("field", "values", "path"), NULLS, ids=[path for _, _, path in NULLS])
def test_a_null_where_none_may_be_is_refused_by_its_path(field: Field, values: list[Any], path: str) -> None:
    schema = table_schema(field)
    optional = pyarrow.array(values, _optional(file_schema(schema).field(0).type))
    with pytest.raises(Invalid, match="required column has a null") as caught:
        fitted(pyarrow.table({"a": optional}), schema)
    assert caught.value.subject == path


def _optional(type: pyarrow.DataType) -> pyarrow.DataType:
    if pyarrow.types.is_struct(type):
        return pyarrow.struct([(one.name, _optional(one.type)) for one in type])
    if pyarrow.types.is_map(type):
        return pyarrow.map_(_optional(type.key_type), _optional(type.item_type))
    return pyarrow.list_(_optional(type.value_type)) if pyarrow.types.is_list(type) else type


def test_no_rows_of_a_column_without_type_fit_a_required_one() -> None:
    assert len(one_column(pyarrow.nulls(0), "int", required=True)) == 0
    with pytest.raises(Invalid, match="required column has a null"):
        one_column(pyarrow.nulls(1), "int", required=True)


def test_a_required_field_of_a_null_struct_may_be_null() -> None:
    inner = Struct((Field("b", "string", True), Field("c", Struct((Field("d", "list<int>", True),)), True)))
    values = [{"b": "x", "c": {"d": [1]}}, None, {"b": "y", "c": {"d": []}}]
    schema = table_schema(Field("a", inner))
    data = pyarrow.table({"a": pyarrow.array(values, _optional(file_schema(schema).field(0).type))})
    found = fitted(data, schema)
    found.validate(full=True)
    assert found.column("a").to_pylist() == values


def test_large_batches_are_cut() -> None:
    batch = pyarrow.record_batch({"a": range(BATCH_ROWS + 1)})
    assert [one.num_rows for one in fit(batch, table_schema(Field("a", "long")))] == [BATCH_ROWS, 1]


def test_an_error_of_the_source_goes_through() -> None:
    def rows() -> Iterator[pyarrow.RecordBatch]:
        yield pyarrow.record_batch({"a": [1]})
        raise KeyError("mine")

    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("a", pyarrow.int64())]), rows())
    batches = fit(reader, table_schema(Field("a", "long")))
    assert next(batches).num_rows == 1
    with pytest.raises(KeyError, match="mine"):
        next(batches)


TABLE = pyarrow.table({"a": [1, 2], "b": ["x", "y"]})


class Stream:
    """What any library offers that speaks Arrow's C stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "give",
    [
        lambda: TABLE,
        lambda: TABLE.to_batches()[0],
        TABLE.to_reader,
        lambda: TABLE.to_pandas(),
        lambda: TABLE.to_pandas().set_index(pandas.Index([7, 9])),
        lambda: TABLE.to_pandas().set_index(pandas.Index([7, 9], name="b2")),
        lambda: duckdb.sql("select * from (values (1::bigint, 'x'), (2, 'y')) as t(a, b)"),
        Stream,
        lambda: TABLE.to_batches(1),
        lambda: TABLE.to_pylist(),
        lambda: tuple(TABLE.to_pylist()),
        lambda: TABLE.to_pydict(),
        lambda: pyarrow.dataset.dataset(TABLE),
        lambda: pyarrow.dataset.dataset(TABLE).scanner(),
        lambda: polars.from_arrow(TABLE),
        lambda: polars.from_arrow(TABLE).lazy(),
    ],
    ids=[
        "table",
        "batch",
        "reader",
        "pandas",
        "pandas with an index",
        "pandas with a named index",
        "duckdb",
        "stream",
        "batches",
        "dicts",
        "tuple of dicts",
        "lists",
        "dataset",
        "scanner",
        "polars",
        "lazy polars",
    ],
)
def test_rows_come_in_many_forms(give: Callable[[], Any]) -> None:
    found = reader_of(give()).read_all()
    assert found.to_pydict() == TABLE.to_pydict()


@pytest.mark.parametrize(
    "data", [7, None, "rows", b"rows", iter([{"a": 1}]), {1, 2}, object()], ids=lambda data: type(data).__name__
)
def test_what_has_no_rows_is_refused(data: object) -> None:
    with pytest.raises(Invalid, match="these are not rows") as caught:
        reader_of(data)
    assert caught.value.found == type(data).__name__


def test_a_path_and_rows_one_by_one_are_refused_with_what_to_do(tmp_path: Path) -> None:
    for data, advice in (
        ("x.parquet", "add_files"),
        (tmp_path, "add_files"),
        (iter([{"a": 1}]), r"append\(list\(rows"),
    ):
        with pytest.raises(Invalid, match=advice):
            reader_of(data)


def test_a_dataframe_of_mixed_values_is_refused() -> None:
    with pytest.raises(Invalid, match="values of different types"):
        reader_of(pandas.DataFrame({"a": [1, "x"]}))


def test_a_frame_with_two_columns_of_one_name_is_refused_for_that() -> None:
    frame = pandas.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    with pytest.raises(Invalid, match=r"^a: columns of the DataFrame have the same name"):
        fitted(frame, table_schema(Field("a", "long")))


def test_the_advice_about_columns_that_do_not_fit_is_about_these() -> None:
    schema = table_schema(Field("a", "string"), Field("b", "long"))
    for rows, casts, adds in (({"a": [1]}, True, False), ({"c": [1]}, False, True), ({"a": [1], "c": [1]}, True, True)):
        with pytest.raises(Invalid) as caught:
            fitted(pyarrow.table(rows), schema)
        assert ("cast=True" in caught.value.advice, "evolve=" in caught.value.advice) == (casts, adds)


def test_rows_are_taken_while_another_thread_imports_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    # What it did: an append beside the first append of another thread, which imports pandas, was an AttributeError.
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    assert reader_of([{"a": 1}]).read_all().to_pylist() == [{"a": 1}]
