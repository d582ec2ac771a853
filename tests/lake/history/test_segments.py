"""`__segments` and `__blocks` are true: an independent reader finds their numbers in entries, and Arrow in footers."""

import struct
from uuid import UUID

import pyarrow
import pyarrow.parquet
import pytest

from lakebed import Invalid
from lakebed.catalog.transaction import pending_delta
from tests.support.entry_reader import location, read_columns
from tests.support.seed_reader import fields, read_manifest

OPTIONS = {"write.inline-bytes": "0", "write.row-group-rows": "10", "write.bloom.columns": "name"}
SCHEMA = {"id": "long", "name": "string", "weight": "double", "note": "string"}
IDS = {"id": 1, "name": 2, "weight": 3, "note": 4}


def rows(start, count):
    numbers = range(start, start + count)
    return pyarrow.table(
        {
            "id": pyarrow.array(numbers, pyarrow.int64()),
            "name": [f"n{number:04}" if number % 3 else None for number in numbers],
            "weight": [number / 4 - 7 for number in numbers],
            "note": pyarrow.array([None] * count, pyarrow.string()),
        }
    )


def make(main, name="t", **properties):
    """Three files, of 3, 2 and 1 row groups."""
    table = main.create_table(name, SCHEMA, properties={**OPTIONS, **properties})
    for start, count in ((0, 30), (100, 15), (200, 7)):
        table.append(rows(start, count))
    return table


def segments(main, name="t"):
    return main.inspect("__segments", where=f"table_name = '{name}'").to_pylist()


def blocks(main, name="t"):
    return main.inspect("__blocks", where=f"table_name = '{name}'").to_pylist()


def value(column, data):
    """A bound as a value, by Iceberg's single-value bytes."""
    if data is None:
        return None
    return data.decode() if column in ("name", "note") else struct.unpack({"id": "<q", "weight": "<d"}[column], data)[0]


def check_against_footers(table, segment_rows, block_rows):
    """Every number of the system tables is the one that Arrow reads from the file's footer."""
    assert {row["file_path"] for row in segment_rows} == set(table.scan(columns=list(SCHEMA)).files())
    number = int.from_bytes(UUID(table.id).bytes[:8], "big")
    for segment in segment_rows:
        assert (segment["table_id"], segment["table_uuid"]) == (number, table.id)
        footer = pyarrow.parquet.read_metadata(segment["file_path"])
        assert (segment["row_count"], segment["blocks"]) == (footer.num_rows, footer.num_row_groups)
        own = [row for row in block_rows if row["segment_id"] == segment["segment_id"]]
        assert {row["table_id"] for row in own} == {number}
        assert {row["block_id"] for row in own} == set(range(footer.num_row_groups))
        for row in own:
            group = footer.row_group(row["block_id"])
            check_column(row, segment["file_path"], group)
            assert row["row_count"] == row["value_count"] == group.num_rows
        check_segment_columns(segment, own)


def check_column(row, path, group):
    [(place, name)] = [(place, name) for place, name in enumerate(IDS) if IDS[name] == row["column_idx"]]
    chunk = group.column(place)
    assert chunk.path_in_schema == name
    known, data, bloom = chunk.statistics, location(row, "data"), location(row, "bloom")
    starts = [chunk.data_page_offset, *([chunk.dictionary_page_offset] if chunk.has_dictionary_page else [])]
    assert (data.key, data.offset, data.shared) == (path, min(starts), False)
    assert (data.length, data.original_length) == (chunk.total_compressed_size, chunk.total_uncompressed_size)
    assert row["null_count"] == known.null_count
    bounds = (known.min, known.max) if known.has_min_max else (None, None)
    assert (value(name, row["min"]), value(name, row["max"])) == bounds
    if chunk.bloom_filter_offset is None:
        assert bloom is None
    else:
        assert (bloom.key, bloom.offset, bloom.length) == (path, chunk.bloom_filter_offset, chunk.bloom_filter_length)


def check_segment_columns(segment, block_rows):
    """MO-16: a segment's column is the union of those of its blocks; with one block it is that block's."""
    assert [column["column_idx"] for column in segment["columns"]] == list(IDS.values())
    for column in segment["columns"]:
        own = [row for row in block_rows if row["column_idx"] == column["column_idx"]]
        name = next(name for name, id in IDS.items() if id == column["column_idx"])
        least = [value(name, row["min"]) for row in own if row["min"] is not None]
        most = [value(name, row["max"]) for row in own if row["max"] is not None]
        assert value(name, column["min"]) == min(least, default=None)
        assert value(name, column["max"]) == max(most, default=None)
        alone = {key: own[0][key] for key in column} if len(own) == 1 else None
        assert column == alone or (alone is None and location(column, "data") is None)


def check_against_entries(main, segment_rows, block_rows):
    """The entry at each base location has the file's numbers; `shared` says whether it has others too."""
    for segment in segment_rows:
        base = location(segment, "base")
        if base.key.startswith("lakebed:") or base.key.endswith(".manifest"):
            paths = check_frame(main, segment, base)
        else:
            paths = check_columns(segment, base, block_rows)
        assert base.shared == (len(paths) > 1)


def check_frame(main, segment, base):
    data = main.open(base.key)
    assert (base.offset, base.length, base.original_length) == (0, len(data), len(data))
    files = read_manifest(data)["data_files"]
    [own] = [file for file in files if segment["file_path"].endswith(file["path"]) and file["status"] != 2]
    assert own["num_rows"] == segment["row_count"]
    check_vector(segment, own.get("dv_path"), own.get("dv_offset"), own.get("dv_length"))
    return [file["path"] for file in files]


def check_columns(segment, base, block_rows):
    columns = read_columns(base)
    [row] = [row for row, path in enumerate(columns["path"]) if segment["file_path"].endswith(path)]
    first = columns.get("first_row_id")
    assert first is None or first[row] in (None, segment["segment_id"])
    assert columns["num_rows"][row] == segment["row_count"]
    for column in segment["columns"]:
        id = column["column_idx"]
        own = [
            known for known in block_rows if known["column_idx"] == id and known["segment_id"] == segment["segment_id"]
        ]
        assert columns[f"nulls.{id}"][row] == sum(known["null_count"] for known in own)
        assert columns[f"values.{id}"][row] == segment["row_count"]
        for side, name in (("lower", "min"), ("upper", "max")):
            assert (columns[f"{side}.{id}"][row] if f"{side}.{id}" in columns else None) == column[name]
    stored = columns["blocks"][row] if "blocks" in columns else None
    groups = [] if stored is None else [group for number, group in fields(stored) if number == 103]
    assert max(1, len(groups)) == segment["blocks"]
    check_vector(segment, *(columns.get(name, [None] * 99)[row] for name in ("dv_path", "dv_offset", "dv_length")))
    return columns["path"]


def check_vector(segment, path, offset, length):
    delta = location(segment, "delta")
    if path is None:
        assert delta is None
        return
    assert delta.key.endswith(path)
    assert (delta.offset, delta.length, delta.original_length, delta.shared) == (offset, length, length, False)


def check_all(main, table, name="t"):
    segment_rows, block_rows = segments(main, name), blocks(main, name)
    check_against_footers(table, segment_rows, block_rows)
    check_against_entries(main, segment_rows, block_rows)
    return [row["base_shared"] for row in segment_rows]


def test_numbers_are_those_of_footers_and_frames(main):
    table = make(main)
    assert check_all(main, table) == [False, False, False]


def test_a_frame_with_several_files_is_shared(main):
    table = main.create_table("t", SCHEMA, partition_by=["bucket(2, id)"], properties=OPTIONS)
    table.append(rows(0, 25))
    assert check_all(main, table) == [True, True]


def test_a_frame_in_a_file_is_the_entry(main):
    table = make(main, **{"write.manifests": "files"})
    check_all(main, table)
    assert all(row["base_key"].endswith(".manifest") for row in segments(main))


@pytest.mark.parametrize(("layout", "shared"), [("shared", True), ("non-shared", False)])
def test_both_layouts_of_checkpoints_can_be_asked_for(main, layout, shared):
    table = make(main, **{"checkpoint.layout": layout})
    before = table.scan().to_arrow()
    table.checkpoint()
    assert check_all(main, table) == [shared] * 3
    assert len({row["base_key"] for row in segments(main)}) == (1 if shared else 3)
    assert all(row["base_key"].endswith(".part") for row in segments(main))
    assert table.scan().to_arrow() == before
    assert table.scan("id = 107").count() == 1
    assert [row for row in main.inspect("__checkpoints").to_pylist() if row["parts"] == (1 if shared else 3)]


def test_a_checkpoint_of_one_file_is_not_shared(main):
    table = main.create_table("t", SCHEMA, properties=OPTIONS)
    table.append(rows(0, 5))
    table.checkpoint()
    assert check_all(main, table) == [False]


def test_a_large_delta_has_its_entries_in_a_shared_object(main, monkeypatch):
    monkeypatch.setattr(pending_delta, "INLINE_BYTES", 10)
    table = main.create_table("t", SCHEMA, partition_by=["bucket(2, id)"], properties=OPTIONS)
    table.append(rows(0, 25))
    assert all(row["base_key"].endswith(".entries") for row in segments(main))
    assert check_all(main, table) == [True, True]


def test_a_large_delta_of_one_file_is_not_shared(main, monkeypatch):
    monkeypatch.setattr(pending_delta, "INLINE_BYTES", 10)
    table = main.create_table("t", SCHEMA, properties=OPTIONS)
    table.append(rows(0, 25))
    assert [row["base_key"].rpartition(".")[2] for row in segments(main)] == ["entries"]
    assert check_all(main, table) == [False]


def test_a_layout_that_is_changed_holds_from_the_next_checkpoint_on(main):
    table = make(main)
    table.checkpoint()
    table.set_properties({"checkpoint.layout": "non-shared"})
    table.append(rows(300, 2))
    table.checkpoint()
    assert check_all(main, table) == [False] * 4
    table.set_properties({"checkpoint.layout": "shared"})
    for start in range(400, 470, 10):
        table.append(rows(start, 2))
    table.checkpoint()
    assert True in check_all(main, table)
    with pytest.raises(Invalid, match="not a layout of checkpoints"):
        table.set_properties({"checkpoint.layout": "wide"})


def test_an_entry_that_was_changed_is_where_the_change_is(main):
    table = make(main)
    table.checkpoint()
    table.delete("id = 3")
    [changed] = [row for row in segments(main) if row["delta_key"] is not None]
    assert changed["base_key"] == table.manifest().path
    check_against_entries(main, segments(main), blocks(main))
    table.checkpoint()
    [changed] = [row for row in segments(main) if row["delta_key"] is not None]
    assert changed["base_key"].endswith(".part")
    check_against_entries(main, segments(main), blocks(main))


def test_inline_rows_are_segments_without_chunks(main):
    table = main.create_table("t", SCHEMA)
    table.append(rows(0, 5))
    [segment] = segments(main)
    assert segment["file_path"].startswith("inline:")
    assert all(location(column, "data") is None for column in segment["columns"])
    assert [row["null_count"] for row in blocks(main)] == [0, 2, 0, 5]
    check_against_entries(main, [segment], blocks(main))


def test_the_past_and_branches_show_their_own(main):
    table = make(main)
    then = table.version
    dev = main.create_branch("dev")
    dev.table("t").append(rows(500, 3))
    table.checkpoint()
    table.truncate()
    assert segments(main) == []
    assert len(segments(main.at(then))) == 3
    assert len(segments(dev)) == 4
    check_against_footers(dev.table("t"), segments(dev), blocks(dev))
    check_against_entries(dev, segments(dev), blocks(dev))
