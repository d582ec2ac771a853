"""Hostile rows: whatever is in a caller's buffers, it is refused before the commit, or read back as it is."""

import errno
import io
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.json
import pyarrow.parquet
import pytest

import lakebed
from lakebed.errors import Invalid

STORED = {"inline": "65536", "file": "0"}


def buffers(type: pyarrow.DataType, length: int, *parts: bytes | None) -> pyarrow.Array:
    return pyarrow.Array.from_buffers(type, length, [part and pyarrow.py_buffer(part) for part in parts])


def numbers(form: str, *values: int) -> bytes:
    return struct.pack(f"<{len(values)}{form}", *values)


def digits(*values: int, width: int = 16) -> bytes:
    return b"".join(value.to_bytes(width, "little", signed=True) for value in values)


def seen_as(type: pyarrow.DataType, storage: pyarrow.DataType, *values: int) -> pyarrow.Array:
    return pyarrow.array(values, storage).view(type)


def dictionary(index: int, values: pyarrow.Array) -> pyarrow.Array:
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([index], pyarrow.int8()), values, safe=False)


NOT_TEXT = buffers(pyarrow.string(), 1, None, numbers("i", 0, 2), b"\xff\xfe")
TEXTS = pyarrow.array(["a"])

# A column's type, and an array that claims to have such values.
DAMAGED: dict[str, tuple[str, pyarrow.Array]] = {
    "digits": ("decimal(3, 0)", buffers(pyarrow.decimal128(3, 0), 1, None, digits(10**5))),
    "negative digits": ("decimal(9, 2)", buffers(pyarrow.decimal128(9, 2), 1, None, digits(-(10**9)))),
    "most digits": ("decimal(38, 0)", buffers(pyarrow.decimal128(38, 0), 1, None, digits(10**38))),
    "wide digits": ("decimal(38, 0)", buffers(pyarrow.decimal256(38, 0), 1, None, digits(10**60, width=32))),
    "narrow digits": ("decimal(5, 0)", buffers(pyarrow.decimal32(5, 0), 1, None, digits(10**6, width=4))),
    "text": ("string", NOT_TEXT),
    "surrogate": ("string", buffers(pyarrow.string(), 1, None, numbers("i", 0, 3), b"\xed\xa0\x80")),
    "large text": ("string", buffers(pyarrow.large_string(), 1, None, numbers("q", 0, 2), b"\xff\xfe")),
    "falling offsets": ("string", buffers(pyarrow.string(), 2, None, numbers("i", 0, 2, 1), b"ab")),
    "falling offsets of bytes": ("binary", buffers(pyarrow.binary(), 2, None, numbers("i", 0, 2, 1), b"ab")),
    "index beyond": ("string", dictionary(5, TEXTS)),
    "index below": ("string", dictionary(-5, TEXTS)),
    "words": ("string", dictionary(0, NOT_TEXT)),
    "time": ("time", seen_as(pyarrow.time64("us"), pyarrow.int64(), 86_400_000_000)),
    "time in seconds": ("time", seen_as(pyarrow.time32("s"), pyarrow.int32(), -1)),
    "half a day": ("date", seen_as(pyarrow.date64(), pyarrow.int64(), 43_200_000)),
    "nulls": ("long", pyarrow.Array.from_buffers(pyarrow.int64(), 1, [*map(pyarrow.py_buffer, (b"\1", bytes(8)))], 1)),
}

# The same with arrays whose values every reader gives back.
EXTREME: dict[str, tuple[str, pyarrow.Array]] = {
    "dates": ("date", seen_as(pyarrow.date32(), pyarrow.int32(), 2**31 - 1, -(2**31))),
    "times": ("time", seen_as(pyarrow.time64("us"), pyarrow.int64(), 0, 86_399_999_999)),
    "moments": ("timestamp", seen_as(pyarrow.timestamp("us"), pyarrow.int64(), 2**63 - 1, -(2**63))),
    "instants": ("timestamptz", seen_as(pyarrow.timestamp("us", "UTC"), pyarrow.int64(), 2**63 - 1, -(2**63))),
    "nanoseconds": ("timestamp_ns", seen_as(pyarrow.timestamp("ns"), pyarrow.int64(), 2**63 - 1, -(2**63))),
    "digits": ("decimal(38, 0)", buffers(pyarrow.decimal128(38, 0), 2, None, digits(10**38 - 1, 1 - 10**38))),
    "longs": ("long", pyarrow.array([2**63 - 1, -(2**63)])),
    "under nulls": ("decimal(3, 0)", buffers(pyarrow.decimal128(3, 0), 2, b"\1", digits(1, 10**9))),
    "text under nulls": ("string", buffers(pyarrow.string(), 2, b"\1", numbers("i", 0, 1, 3), b"a\xff\xfe")),
    "null words": ("string", dictionary(0, pyarrow.array([None], pyarrow.string()))),
    "views": ("string", pyarrow.array(["a", "longer than twelve bytes"], pyarrow.string_view())),
    "zero bytes": ("string", pyarrow.array(["", "\0", "a\0"])),
    "infinities": ("double", pyarrow.array([float("inf"), -0.0])),
}

# Types that no table has, or that only look like a column's.
FOREIGN: dict[str, tuple[str, pyarrow.Array]] = {
    "runs": ("long", pyarrow.RunEndEncodedArray.from_arrays([3], [1])),
    "union": ("long", pyarrow.UnionArray.from_sparse(pyarrow.array([0], pyarrow.int8()), [pyarrow.array([1])])),
    "json": ("string", pyarrow.ExtensionArray.from_storage(pyarrow.json_(), pyarrow.array(["{}"]))),
    "bool8": ("boolean", pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), pyarrow.array([1], pyarrow.int8()))),
    "duration": ("long", pyarrow.array([1], pyarrow.duration("s"))),
    "interval": ("long", pyarrow.array([(1, 2, 3)], pyarrow.month_day_nano_interval())),
    "longer bytes": ("fixed(3)", pyarrow.array([b"abcd"], pyarrow.binary(4))),
    "wider decimal": ("decimal(3, 0)", pyarrow.array([Decimal(1)], pyarrow.decimal128(4, 0))),
}

Shape = Callable[[str, pyarrow.Array], tuple[str, pyarrow.Array | pyarrow.ChunkedArray]]


def in_list(type: str, array: pyarrow.Array) -> tuple[str, pyarrow.Array]:
    offsets = pyarrow.array([0, len(array)], pyarrow.int32())
    return f"list<{type}>", pyarrow.ListArray.from_arrays(offsets, array)


def in_map(type: str, array: pyarrow.Array) -> tuple[str, pyarrow.Array]:
    keys = pyarrow.array([f"{place}" for place in range(len(array))])
    return f"map<string, {type}>", pyarrow.MapArray.from_arrays([0, len(array)], keys, array)


SHAPES: dict[str, Shape] = {
    "plain": lambda type, array: (type, array),
    "after a good chunk": lambda type, array: (type, pyarrow.chunked_array([array.slice(0, 0), array])),
    "in a slice": lambda type, array: (f"list<{type}>", _doubled(array).slice(1)),
    "in a struct": lambda type, array: (f"struct<a: {type}>", pyarrow.StructArray.from_arrays([array], ["a"])),
    "in a list": in_list,
    "in a map": in_map,
    "in a list of structs": lambda type, array: in_list(
        f"struct<a: {type}>", pyarrow.StructArray.from_arrays([array], ["a"])
    ),
}


QUICK = (("plain", "inline"), ("plain", "file"), ("in a list of structs", "inline"), ("in a slice", "file"))


def _doubled(array: pyarrow.Array) -> pyarrow.Array:
    """Two lists of the same elements, the first of which a slice will hide."""
    offsets = pyarrow.array([0, 0, len(array)], pyarrow.int32())
    return pyarrow.ListArray.from_arrays(offsets, array)


GRID = [
    pytest.param(shape, stored, marks=[] if (shape, stored) in QUICK else pytest.mark.long)
    for shape in SHAPES
    for stored in STORED
]


@pytest.fixture(scope="module")
def main(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lakebed.Catalog]:
    with lakebed.connect(tmp_path_factory.mktemp("lake")) as lake:
        yield lake.catalog()


def created(main: lakebed.Catalog, type: str, stored: str) -> lakebed.Table:
    properties = {"write.inline-bytes": STORED[stored]}
    return main.create_or_replace_table("hostile", {"c": type}, properties=properties)


@pytest.mark.parametrize(("shape", "stored"), GRID)
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_value_was_committed_and_no_scan_could_read_it(main, damage, shape, stored):
    type, column = SHAPES[shape](*DAMAGED[damage])
    table = created(main, type, stored)
    for write in (table.append, lambda rows: table.overwrite(rows.to_reader())):
        with pytest.raises(Invalid, match=r"c.*: a value (does not fit|is not)"):
            write(pyarrow.table({"c": column}))
    assert table.scan().count() == 0


@pytest.mark.parametrize(("shape", "stored"), GRID)
@pytest.mark.parametrize("extreme", EXTREME)
def test_an_extreme_value_is_read_back(main, extreme, shape, stored):
    type, column = SHAPES[shape](*EXTREME[extreme])
    table = created(main, type, stored)
    table.append(pyarrow.table({"c": column}))
    before = read_back(table)
    given = pyarrow.chunked_array([column] if isinstance(column, pyarrow.Array) else column.chunks)
    if pyarrow.types.is_dictionary(given.type):
        given = pyarrow.chunked_array([chunk.dictionary_decode() for chunk in given.chunks])
    if shape in ("plain", "after a good chunk"):
        assert before.equals(given.cast(before.type))
    table.append(pyarrow.table({"c": column}))
    table.compact()
    assert read_back(table).equals(pyarrow.chunked_array([*before.chunks, *before.chunks]))


def read_back(table: lakebed.Table) -> pyarrow.ChunkedArray:
    rows = table.scan().to_arrow()
    rows.validate(full=True)
    return rows["c"]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_a_type_that_no_table_has_is_refused(main, foreign):
    type, column = FOREIGN[foreign]
    table = created(main, type, "inline")
    with pytest.raises(Invalid, match="do not fit"):
        table.append(pyarrow.table({"c": column}))


def test_a_reader_that_fails_half_way_leaves_nothing(main):
    table = created(main, "long", "file")

    def failing() -> Iterator[pyarrow.RecordBatch]:
        yield pyarrow.record_batch({"c": [1]})
        raise pyarrow.ArrowInvalid("the stream is cut")

    form = pyarrow.schema({"c": pyarrow.int64()})
    with pytest.raises(Invalid, match=r"can't read the rows to their end .found the stream is cut"):
        table.append(pyarrow.RecordBatchReader.from_batches(form, failing()))
    assert table.scan().count() == 0


def test_a_damaged_file_of_a_dataset_was_an_error_of_the_system(main, tmp_path):
    path = tmp_path / "theirs.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"c": range(50_000)}), path)
    data = path.read_bytes()
    path.write_bytes(data[:3_000] + b"\xff" * 1_000 + data[4_000:])
    table = created(main, "long", "file")
    dataset = pyarrow.dataset.dataset(path)
    for rows in (lambda: dataset, dataset.scanner, lambda: dataset.scanner().to_reader()):
        for write in (table.append, table.overwrite, lambda given: main.create_table("of_rows", given)):
            with pytest.raises(Invalid, match="Arrow can't read the rows to their end"):
                write(rows())
    assert table.scan().count() == 0


def test_an_error_of_the_system_in_a_callers_own_reader_stays_what_it_is(main):
    def failing() -> Iterator[pyarrow.RecordBatch]:
        yield pyarrow.record_batch({"c": [1]})
        raise PermissionError(errno.EACCES, "no", "a.csv")

    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"c": pyarrow.int64()}), failing())
    with pytest.raises(PermissionError):
        created(main, "long", "file").append(reader)


@pytest.mark.parametrize("line", [b'{"a": 1, "\xff": 1}', b'{"a": {"\xff": 1}}'])
def test_a_name_that_is_not_utf8_was_a_raw_error_wherever_rows_come_in(main, line):
    rows = pyarrow.json.read_json(io.BytesIO(line))
    table = main.create_or_replace_table("named", {"a": "long"})
    calls = (
        lambda: main.create_table("other", rows),
        lambda: main.create_table("other", rows.schema),
        lambda: table.append(rows),
        lambda: table.append(rows.to_reader()),
        lambda: table.append(rows.to_batches()),
        lambda: table.append(rows, evolve="add"),
        lambda: table.append(rows, cast=True),
        lambda: table.upsert(rows, on="a"),
        lambda: table.merge(rows, "a", lakebed.when_matched_update()),
        lambda: table.create_edition("2", rows.schema),
        lambda: table.stage_stream().append(rows),
    )
    for call in calls:
        with pytest.raises(Invalid, match="a column's name is not UTF-8"):
            call()


def test_batches_and_frames_that_arrow_does_not_take_are_refused(main):
    table = created(main, "long", "inline")
    mixed = [pyarrow.record_batch({"c": [1]}), pyarrow.record_batch({"c": ["x"]})]
    for rows in (mixed, polars.DataFrame({"c": [1]}, schema={"c": polars.Int128})):
        with pytest.raises(Invalid, match="Arrow can't read the rows"):
            table.append(rows)


def test_a_list_that_holds_itself_ended_the_process(main):
    loop: list[Any] = []
    loop.append([1, loop])
    table = created(main, "list<long>", "inline")
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    rows = numpy.empty(1, dtype=object)
    rows[0] = loop
    for given in ([{"c": loop}], {"c": [loop]}, {"c": rows}, pandas.DataFrame({"c": [loop]}), [{"c": {"a": deep}}]):
        with pytest.raises(Invalid, match="c: a column is nested too deeply"):
            table.append(given)
        with pytest.raises(Invalid, match="c: a column is nested too deeply"):
            main.create_table("loops", given)


def test_a_reader_whose_batches_have_other_columns_ended_in_a_raw_error(main):
    table = created(main, "long", "file")
    form = pyarrow.schema({"c": pyarrow.int64()})
    for other in ({"c": ["x"]}, {"d": [1]}, {"c": [1], "d": [1]}):
        reader = pyarrow.RecordBatchReader.from_batches(form, iter([pyarrow.record_batch(other)]))
        with pytest.raises(Invalid, match="other columns than the reader"):
            table.append(reader)
    inner = main.create_table("inner", {"c": "struct<x: long, y: long>"})
    form_of_inner = pyarrow.schema({"c": pyarrow.struct({"x": pyarrow.int64(), "y": pyarrow.int64()})})
    renamed = pyarrow.record_batch({"c": [{"x": 1, "z": 2}]})  # which Arrow takes, with a null for y
    with pytest.raises(Invalid, match="other columns than the reader"):
        inner.append(pyarrow.RecordBatchReader.from_batches(form_of_inner, iter([renamed])))
    narrow = pyarrow.record_batch({"c": pyarrow.array([1], pyarrow.int8())})
    table.append(pyarrow.RecordBatchReader.from_batches(form, iter([narrow])))
    assert table.scan().to_arrow().to_pylist() == [{"c": 1}]


def test_damaged_rows_of_an_upsert_or_a_merge_change_nothing(main):
    keyed = main.create_or_replace_table("keyed", {"id": "long", "c": "decimal(3, 0)"}, primary_key=["id"])
    keyed.append([{"id": 1, "c": Decimal(1)}])
    _, damaged = DAMAGED["digits"]
    rows = pyarrow.table({"id": [1], "c": damaged})
    for change in (keyed.upsert, lambda rows: keyed.merge(rows, "id", lakebed.when_matched_update())):
        with pytest.raises(Invalid, match="c: a value does not fit the column"):
            change(rows)
    assert keyed.get(1) == {"id": 1, "c": Decimal(1)}


def test_a_decimal_that_an_update_makes_too_large_changes_nothing(main):
    table = main.create_or_replace_table("amounts", {"id": "long", "c": "decimal(3, 0)"})
    table.append([{"id": 1, "c": Decimal(999)}])
    for text in ("c * 1000", "c + 1", "cast(id as decimal(38, 0)) * 100000", "1000"):
        with pytest.raises(Invalid):
            table.update({"c": text})
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "c": Decimal(999)}]
