"""Files column by column: what goes in comes out, byte for byte, and each column holds what the entries say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.entries.columns import FileColumns, columns_of
from lakebed.table.entries.layout import (
    ENTRY_COLUMNS,
    LAYOUT_COLUMNS,
    LIVE_COLUMNS,
    OPEN_COLUMNS,
    STATISTIC_FIELDS,
    column_type,
)
from lakebed.table.entries.object import column_from, column_payload, open_columns, pack
from lakebed.table.manifest.io_entry import decode_entry
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef, PartitionValue
from lakebed.table.manifest.snapshot import LiveFile
from tests.support.examples import examples
from tests.support.file_entries import LIVE_FILES, plain_files

FILES = st.lists(LIVE_FILES, max_size=6)


def stored(files):
    """The files as columns that come from an object."""
    packed = pack(columns_of(files), "object")

    def read(location):
        return decode_entry(packed.data[location.offset : location.end], location)

    return open_columns(
        read(packed.directory).to_pybytes(), packed.directory, lambda location: column_from(read(location), location)
    )


def written(files):
    return [(one.file.SerializeToString(deterministic=True), one.snapshot_id, one.schema_id) for one in files]


@given(FILES)
@settings(max_examples=examples(40, 100))
def test_files_are_byte_for_byte_what_they_were(files):
    assert written(stored(files).files(range(len(files)))) == written(files)


@given(FILES, st.data())
@settings(max_examples=40)
def test_rows_come_in_the_order_asked(files, data):
    rows = data.draw(st.lists(st.integers(0, len(files) - 1), max_size=8)) if files else []
    for columns in (FileColumns.of(files), stored(files)):
        assert written(columns.files(rows)) == written([files[row] for row in rows])


@given(FILES)
@settings(max_examples=examples(30, 60))
def test_columns_hold_what_the_entries_say(files):
    held, kept = FileColumns.of(files), stored(files)
    for columns in (held, kept):
        assert columns.num_rows == len(files)
        for name in ("path", "file_size", "level", "status"):
            assert columns.column(name).to_pylist() == [getattr(one.file, name) for one in files]
        for name in ("dv_path", "dv_offset", "format", "first_row_id", "spec_id", "deleted_rows"):
            expected = [getattr(one.file, name) if one.file.HasField(name) else None for one in files]
            assert columns.column(name).to_pylist() == expected
        assert columns.column("key_min").to_pylist() == [one.file.key_min or None for one in files]
        assert columns.column("snapshot_id").to_pylist() == [one.snapshot_id for one in files]
        for field_id in (1, 2, 0, -1, 9):
            found = [_first(one.file.statistics, field_id) for one in files]
            assert columns.has_statistics(field_id).tolist() == [one is not None for one in found]
            for kind, field in STATISTIC_FIELDS.items():
                expected = [getattr(one, field) if one is not None and one.HasField(field) else None for one in found]
                assert columns.column(f"{kind}.{field_id}").to_pylist() == expected
        for field_id in (1000, 1001, 7):
            found = [_first(one.file.partition, field_id) for one in files]
            assert columns.has_partition(field_id).tolist() == [one is not None for one in found]
            expected = [one.value if one is not None and one.HasField("value") else None for one in found]
            assert columns.column(f"partition.{field_id}").to_pylist() == expected


def _first(messages, field_id):
    return next((one for one in messages if one.field_id == field_id), None)


def test_null_and_absent_partition_values_are_told_apart():
    null = DataFileRef(path="a", spec_id=1, partition=[PartitionValue(field_id=1000)])
    files = [LiveFile(null, 1, 1), LiveFile(DataFileRef(path="b", spec_id=0), 1, 1)]
    columns = stored(files)
    assert columns.column("partition.1000").to_pylist() == [None, None]
    assert columns.has_partition(1000).tolist() == [True, False]
    assert written(columns.files([0, 1])) == written(files)


def test_statistics_that_say_nothing_are_kept():
    empty = LiveFile(DataFileRef(path="a", statistics=[ColumnStatistics(field_id=5)]), 1, 1)
    columns = stored([empty])
    assert columns.has_statistics(5).tolist() == [True]
    assert written(columns.files([0])) == written([empty])


def test_a_column_of_nothing_but_nulls_is_left_out():
    columns = stored(plain_files(3))
    assert not columns.has("nans.1")
    assert not columns.has("rest")
    assert columns.column("nans.1").to_pylist() == [None] * 3
    assert columns.column("nans.1").type == column_type("nans.1")


def test_a_name_that_no_column_has_is_refused():
    for name in ("colour", "lower", "lower.", "lower.x", "path.1", "lower.1.2", ""):
        with pytest.raises(Invalid, match="no such column"):
            FileColumns.of([]).column(name)


def test_what_is_regular_is_not_kept_twice():
    assert "rest" not in columns_of(plain_files(5))


def test_every_field_of_an_entry_has_a_column():
    # A field without one would be kept in `rest`, for every file.
    lists = {*LAYOUT_COLUMNS, "blocks"}
    few = {"constants", "column_names"}  # only files that were added in place have them
    assert {field.name for field in DataFileRef.DESCRIPTOR.fields} == {*ENTRY_COLUMNS, *lists, *few}
    statistics = {field.name for field in ColumnStatistics.DESCRIPTOR.fields}
    assert statistics == {"field_id", *STATISTIC_FIELDS.values()}
    assert {field.name for field in PartitionValue.DESCRIPTOR.fields} == {"field_id", "value"}


def test_no_files_are_columns_too():
    for columns in (FileColumns.of([]), stored([])):
        assert columns.num_rows == 0
        assert columns.files([]) == []
        assert columns.column("path").to_pylist() == columns.column("lower.1").to_pylist() == []
        assert columns.has_statistics(1).tolist() == []


def test_columns_can_not_be_changed():
    columns = stored(plain_files(50))
    values = columns.column("lower.1")
    with pytest.raises(ValueError, match="read-only"):
        columns.column("file_size").to_numpy()[0] = 7
    assert not any(buffer.is_mutable for buffer in values.buffers() if buffer is not None)


def test_only_the_columns_that_are_asked_for_are_read():
    packed = pack(columns_of(plain_files(10)), "object")
    asked = []

    def load(location):
        asked.append(location)
        data = packed.data[location.offset : location.end]
        return column_from(decode_entry(data, location), location)

    directory = decode_entry(packed.data[packed.directory.offset :], packed.directory).to_pybytes()
    columns = open_columns(directory, packed.directory, load)
    assert not asked
    columns.column("lower.2")
    assert len(asked) == 1
    assert column_payload("lower.2", columns.column("lower.2")).size == asked[0].raw_length


def test_all_columns_have_types():
    for name in (*ENTRY_COLUMNS, *LIVE_COLUMNS, *LAYOUT_COLUMNS, *OPEN_COLUMNS, "lower.1", "bloom_length.-3"):
        assert column_type(name) is not None
