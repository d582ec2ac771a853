"""The engine's part of a compaction: what is written is exactly what was live, or nothing stays behind."""

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import lakebed
from lakebed.arrow.compaction import GroupWriter
from lakebed.arrow.sorted_rows import HELD_BYTES
from lakebed.catalog.data.compaction import Compaction
from lakebed.catalog.tables.tables import table_state
from lakebed.errors import Corrupt

SCHEMA = {"id": "long", "name": "string", "x": "double"}


@pytest.fixture
def main(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        lake.catalog().create_namespace("s")
        yield lake.catalog()


def table_of(main, **layout):
    return main.create_table("s.t", SCHEMA, properties={"write.inline-bytes": "0"}, **layout)


def rows(first, last, step=1):
    numbers = range(first, last, step)
    names = [f"name {one}" for one in numbers]
    return pyarrow.table({"id": numbers, "name": names, "x": [float(one) for one in numbers]})


def parquet(table):
    return {path.name for path in place(table, table._state.data_folder).glob("*.parquet")}


def place(table, path):
    return Path(table._scope.context.files.location(path))


def made(table, held_bytes=HELD_BYTES, **options):
    work = table._scope.read()
    return Compaction(lambda target, form: GroupWriter(target, form, held_bytes), lambda _: None, **options).make(
        work, table_state(work, table.id)
    )


def test_a_change_has_the_groups_as_rewrites(main):
    table = table_of(main, partition_by=["truncate(100, id)"])
    for first in (0, 50, 100, 150):
        table.append(rows(first, first + 50))
    change = made(table)
    assert len(change.rewrites) == 2
    assert {path for one in change.rewrites for path in one.inputs} == {one.path for one in change.removed}
    assert {path for one in change.rewrites for path in one.outputs} == {one.path for one in change.written.files}
    assert change.written.bodies == {}
    assert [one.num_rows for one in change.written.files] == [100, 100]


@pytest.mark.parametrize(
    "layout", [{}, {"primary_key": ["id"]}, {"sort_by": ["x desc"]}, {"partition_by": ["truncate(25, id)"]}]
)
def test_a_file_that_lost_rows_is_found_and_nothing_stays_behind(main, layout):
    table = table_of(main, **layout)
    table.append(rows(0, 50))
    table.append(rows(50, 100))
    table.delete("id in (7, 40, 57)")
    before = parquet(table)
    damaged = place(table, table.scan()._plan.files[1].file.path)
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Corrupt, match="not the one that was written"):
        table.compact()
    assert parquet(table) == before
    damaged.write_bytes(whole)
    assert table.compact() is not None


@pytest.mark.parametrize("held", [10_000, 1 << 28])
def test_rows_that_do_not_fit_in_memory_are_sorted_range_by_range(main, held):
    table = table_of(main, primary_key=["id"])
    for first in range(4):
        table.append(rows(first, 4000, 4))
    change = made(table, target_bytes=4000, held_bytes=held)
    files = sorted(change.written.files, key=lambda one: one.key_min)
    assert sum(one.num_rows for one in files) == 4000
    assert len(files) > 3
    assert all(files[place].key_max < files[place + 1].key_min for place in range(len(files) - 1))
    found = [value for one in files for value in pyarrow.parquet.read_table(place(table, one.path))["id"].to_pylist()]
    assert found == list(range(4000))


def test_bloom_filters_and_row_groups_are_those_of_the_table(main):
    table = table_of(main)
    table.set_properties({"write.bloom.columns": "name", "write.row-group-rows": "30"})
    for first in (0, 50):
        table.append(rows(first, first + 50))
    [file] = made(table).written.files
    assert len(file.blocks) == 4
    assert all(block.columns[1].HasField("bloom_offset") for block in file.blocks)


def test_the_entry_knows_the_last_change_of_its_rows(main):
    table = table_of(main, primary_key=["id"])
    table.append(rows(0, 5))
    table.append(rows(5, 10))
    [file] = made(table).written.files
    [known] = [one for one in file.statistics if one.field_id == 2147483539]
    numbers = [int.from_bytes(one, "little") for one in (known.lower, known.upper)]
    found = table.scan(columns=["_last_updated_sequence_number"]).to_arrow().column(0).to_pylist()
    assert numbers == [min(found), max(found)]
