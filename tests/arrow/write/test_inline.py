"""Rows that are few enough to be bodies in the metastore."""

from collections.abc import Iterator
from typing import Any

import pandas
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.ipc import open_stream

from lakebed.arrow.types import file_schema, schema_of
from lakebed.arrow.validation import ValidRows
from lakebed.arrow.write.inline import ID_BITS, PLAIN_BYTES, TRIED, Inlined, inline
from lakebed.errors import Invalid
from lakebed.table.manifest.delta import ADDED, COLUMNAR
from lakebed.table.manifest.inline import inline_id, is_inline
from lakebed.table.partition.sort_order import make_sort_order
from lakebed.table.partition.spec import make_spec
from lakebed.table.partition.values import partition_texts
from lakebed.table.schema.schema import Schema, with_ids
from lakebed.table.types.types import Field

SCHEMA = Schema([Field("id", "long", id=1, physical_name="id-1"), Field("name", "string", id=2, physical_name="name")])
LIMIT, ROOM = 64_000, 4_000_000


def rows(count: int, start: int = 0) -> pyarrow.Table:
    numbers = range(start, start + count)
    names = pyarrow.array([f"n{one}" for one in numbers], pyarrow.string())
    return pyarrow.table({"id": pyarrow.array(numbers, pyarrow.int64()), "name": names})


def kept(data: Any, limit: int = LIMIT, schema: Schema = SCHEMA, **layout: Any) -> Inlined:
    made = inline(schema, data, limit, room_bytes=ROOM, **layout)
    assert isinstance(made, Inlined)
    return made


def stored(made: Inlined) -> list[list[dict[str, Any]]]:
    """The rows of each entry, as its body has them."""
    return [open_stream(made.bodies[inline_id(one)]).read_all().to_pylist() for one in made.entries]


def test_rows_in_memory_are_one_stream_in_the_form_of_files() -> None:
    made = kept(rows(3))
    [entry], [body] = made.entries, made.bodies.values()
    assert is_inline(entry)
    assert entry.path == f"inline:{next(iter(made.bodies))}"
    assert (entry.num_rows, entry.file_size, entry.status, entry.format) == (3, len(body), ADDED, COLUMNAR)
    assert [one.field_id for one in entry.statistics] == [1, 2]
    table = open_stream(body).read_all()
    assert table.schema.equals(file_schema(SCHEMA), check_metadata=True)
    assert table.to_pylist() == [{"id-1": one, "name": f"n{one}"} for one in range(3)]


@pytest.mark.parametrize(
    "data",
    [
        rows(5),
        rows(5).to_batches()[0],
        rows(5).to_reader(2),
        rows(5).to_pandas(),
        pyarrow.concat_tables([rows(2), rows(3, 2)]),
        rows(9).slice(0, 5),
    ],
    ids=["table", "batch", "reader", "pandas", "chunks", "slice"],
)
def test_rows_of_every_kind_are_kept(data: Any) -> None:
    [found] = stored(kept(data))
    assert [one["id-1"] for one in found] == list(range(5))


def test_ids_are_random_and_fit_a_signed_number() -> None:
    ids = [number for _ in range(200) for number in kept(rows(1)).bodies]
    assert len(set(ids)) == 200
    assert 2 ** (ID_BITS - 4) < max(ids) < 2**ID_BITS


def test_no_rows_are_no_entry() -> None:
    assert kept(rows(0)) == Inlined((), {})


def test_the_limit_is_of_the_stream() -> None:
    size = kept(rows(10)).entries[0].file_size
    assert kept(rows(10), size).entries[0].file_size == size
    given_back = inline(SCHEMA, rows(10), size - 1, room_bytes=ROOM)
    assert isinstance(given_back, ValidRows)
    assert given_back.reader.read_all() == rows(10)


def test_the_room_is_for_all_bodies() -> None:
    size = kept(rows(10)).entries[0].file_size
    assert isinstance(inline(SCHEMA, rows(10), LIMIT, room_bytes=size), Inlined)
    assert isinstance(inline(SCHEMA, rows(10), LIMIT, room_bytes=size - 1), ValidRows)


@given(st.lists(st.integers(0, 50), max_size=6), st.integers(1, 4000))
def test_no_row_is_lost_or_doubled_whatever_the_limit(sizes: list[int], limit: int) -> None:
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    batches = [batch for size, start in zip(sizes, starts, strict=True) for batch in rows(size, start).to_batches()]
    reader = pyarrow.RecordBatchReader.from_batches(rows(0).schema, batches)
    made = inline(SCHEMA, reader, limit, room_bytes=ROOM)
    if isinstance(made, Inlined):
        found = [one["id-1"] for part in stored(made) for one in part]
        assert all(one.file_size <= limit for one in made.entries)
    else:
        found = made.reader.read_all()["id"].to_pylist()
    assert found == list(range(sum(sizes)))


def test_a_stream_is_read_no_further_than_it_takes_to_know() -> None:
    seen: list[int] = []

    def given_batches() -> Iterator[pyarrow.RecordBatch]:
        for number in range(1000):
            seen.append(number)
            yield rows(10_000, number).to_batches()[0]

    reader = pyarrow.RecordBatchReader.from_batches(rows(0).schema, given_batches())
    assert isinstance(inline(SCHEMA, reader, LIMIT, room_bytes=ROOM), ValidRows)
    assert len(seen) == 1 + TRIED * LIMIT // rows(10_000).nbytes


def test_few_rows_of_a_large_table_are_few() -> None:
    assert len(kept(rows(100_000).slice(500, 3)).bodies) == 1


def test_larger_streams_are_compressed_and_small_ones_not() -> None:
    small, large = kept(rows(10)), kept(rows(4000))
    assert small.entries[0].file_size < PLAIN_BYTES < large.entries[0].file_size
    assert large.entries[0].file_size < 0.8 * rows(4000).nbytes
    assert [one["id-1"] for one in stored(large)[0]] == list(range(4000))


def test_rows_that_do_not_compress_stay_as_they_are() -> None:
    noise = pyarrow.table({"name": [bytes(range(256)).hex()[::-1]], "id": [1]})
    random = pandas.DataFrame({"id": range(2000), "name": [f"{hash((one, 'x')):x}" for one in range(2000)]})
    assert len(stored(kept(noise))[0]) == 1
    assert len(stored(kept(random))[0]) == 2000


def test_each_partition_is_an_entry_with_its_values() -> None:
    spec = make_spec(SCHEMA, ["truncate(10, id)"], spec_id=3)
    made = kept(rows(25), spec=spec)
    assert [one.spec_id for one in made.entries] == [3, 3, 3]
    assert [partition_texts(one, spec, SCHEMA) for one in made.entries] == [
        {"id_trunc_10": text} for text in ["0", "10", "20"]
    ]
    assert [[one["id-1"] for one in part] for part in stored(made)] == [
        list(range(start, min(start + 10, 25))) for start in (0, 10, 20)
    ]
    assert [one.num_rows for one in made.entries] == [10, 10, 5]
    assert [one.statistics[0].lower[0] for one in made.entries] == [0, 10, 20]


def test_many_partitions_of_few_rows_are_inline_while_there_is_room() -> None:
    spec = make_spec(SCHEMA, ["id"], spec_id=1)
    made = kept(rows(500), spec=spec)
    total = sum(one.file_size for one in made.entries)
    assert len(made.bodies) == 500
    assert total > LIMIT
    assert isinstance(inline(SCHEMA, rows(500), LIMIT, spec, room_bytes=total), Inlined)
    assert isinstance(inline(SCHEMA, rows(500), LIMIT, spec, room_bytes=total - 1), ValidRows)


def test_a_limit_that_several_partitions_pass_together_gives_all_rows_back() -> None:
    spec = make_spec(SCHEMA, ["id"], spec_id=1)
    given_back = inline(SCHEMA, rows(60), 500, spec, room_bytes=ROOM)
    assert isinstance(given_back, ValidRows)
    assert given_back.reader.read_all() == rows(60)


def test_rows_are_sorted() -> None:
    order = make_sort_order(SCHEMA, ["id desc"], order_id=1)
    made = kept(pyarrow.concat_tables([rows(3, 5), rows(5)]), order=order)
    assert [one["id-1"] for one in stored(made)[0]] == list(range(7, -1, -1))


def test_rows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(Invalid, match="do not fit"):
        inline(SCHEMA, pyarrow.table({"id": ["x"]}), LIMIT, room_bytes=ROOM)
    with pytest.raises(Invalid, match="these are not rows"):
        inline(SCHEMA, 7, LIMIT, room_bytes=ROOM)


def test_an_error_of_a_stream_goes_through() -> None:
    def failing() -> Iterator[pyarrow.RecordBatch]:
        yield rows(1).to_batches()[0]
        raise OSError("the source is gone")

    reader = pyarrow.RecordBatchReader.from_batches(rows(0).schema, failing())
    with pytest.raises(OSError, match="the source is gone"):
        inline(SCHEMA, reader, LIMIT, room_bytes=ROOM)


def test_nested_rows_of_a_slice_are_whole() -> None:
    given_rows = pyarrow.table(
        {"l": [[1, 2], None, [3]], "m": pyarrow.array([[("a", 1)], [], None], pyarrow.map_("string", "int64"))}
    )
    schema = with_ids(schema_of(given_rows.schema), 0, 1)
    [found] = stored(kept(given_rows.slice(1, 2), schema=schema))
    assert found == [{"l": None, "m": []}, {"l": [3], "m": None}]
