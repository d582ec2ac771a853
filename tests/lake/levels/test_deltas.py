"""Deltas: what each commit did to a partition, with its place in the stream, its type and its manifest."""

from datetime import date

import pytest

import lakebed
from lakebed.table.manifest import frame

FIRST, SECOND = date(2026, 11, 1), date(2026, 11, 2)


@pytest.fixture
def table(main):
    options = {"write.inline-bytes": "0"}
    return main.create_table(
        "t", {"id": "long", "dt": "date"}, partition_by=["dt"], primary_key=["id"], properties=options
    )


def rows(*ids, day=FIRST):
    return [{"id": id, "dt": day} for id in ids]


def types(partition):
    return [(delta.operation, delta.type) for delta in partition.deltas()]


def test_each_commit_of_the_table_is_a_delta_of_the_root_newest_first(main, table):
    table.append(rows(1, 2, 3))
    table.upsert(rows(3, 4))
    table.update({"id": "id + 10"}, "id = 4")
    table.delete("id = 1")
    table.compact()
    table.truncate()
    assert types(table.partition()) == [
        ("truncate", "delete"),
        ("compact", "upsert"),
        ("delete", "delete"),
        ("update", "upsert"),
        ("upsert", "upsert"),
        ("insert", "append"),
        ("create", "append"),
    ]
    deltas = table.partition().deltas()
    assert [delta.position for delta in deltas] == [7, 6, 5, 4, 3, 2, 1]
    assert [delta.previous_position for delta in deltas] == [6, 5, 4, 3, 2, 1, None]
    assert [delta.version for delta in deltas] == [snapshot.version for snapshot in table.snapshots()]
    assert deltas[-2].counts == {"added_files": 1, "added_rows": 3, "added_bytes": deltas[-2].counts["added_bytes"]}


def test_an_explicit_partition_has_the_deltas_that_touched_its_files(table):
    partition = table.create_partition({"dt": FIRST})
    table.append([*rows(1, 2), *rows(3, 4, day=SECOND)])
    table.append(rows(5, day=SECOND))
    table.delete("id in (2, 4)")
    [deleted, added] = partition.deltas()
    assert (added.position, added.previous_position, deleted.position, deleted.previous_position) == (2, None, 4, 2)
    assert (added.counts["added_rows"], len(added.manifest.added)) == (2, 1)
    assert [len(getattr(deleted.manifest, what)) for what in ("added", "removed", "changed")] == [0, 0, 1]
    [changed] = deleted.manifest.changed
    assert (changed.path, changed.rows, changed.deleted_rows) == (added.manifest.added[0].path, 2, 1)
    assert changed.vector is not None


def test_the_rows_of_a_partition_are_the_sum_of_what_its_deltas_added_and_removed(main, table):
    """A delta that deleted rows by a vector removed none, as it said."""
    parts = [table.create_partition({"dt": day}) for day in (FIRST, SECOND)]
    table.append([*rows(*range(1, 9)), *rows(*range(11, 19), day=SECOND)])
    deleted = table.delete("id in (1, 2, 11)")
    assert [part.deltas()[0].counts["removed_rows"] for part in parts] == [2, 1]
    table.delete("id in (3, 12)")
    assert [part.deltas()[0].counts["removed_rows"] for part in parts] == [1, 1]
    table.update({"id": "id + 100"}, "id in (4, 13)")
    main.revert(deleted)
    assert [part.deltas()[0].counts.get("added_rows") for part in parts] == [2, 1]
    table.compact()
    parts[0].delete()
    for part in (*parts, table.partition()):
        counts = [delta.counts for delta in part.deltas()]
        sums = [sum(one.get(f"{what}_rows", 0) for one in counts) for what in ("added", "removed")]
        shown = table.scan().count() if part.id == table.partition().id else part.count()
        assert sums[0] - sums[1] == shown
    listed = main.inspect("__deltas", where=f"partition_id = '{parts[1].id}'").to_pylist()
    assert sum(row["added_rows"] - row["removed_rows"] for row in listed) == parts[1].count()


def test_a_partition_that_nothing_was_written_to_has_no_delta(main, table):
    """Its deltas, and the system table of the whole catalog, were a ValueError of Python's."""
    assert table.create_partition({"dt": FIRST}).deltas() == []
    assert main.inspect("__deltas")["partition_id"].to_pylist() == [table.partition().id]


def test_a_renamed_partition_keeps_its_deltas(main, table):
    """Only the rename itself was left of them, as if it had appended the rows."""
    partition = table.create_partition({"dt": FIRST})
    table.append([*rows(1, 2), *rows(3, day=SECOND)])
    table.delete("id = 1")
    third = date(2026, 11, 3)
    partition.rename({"dt": third})
    table.append(rows(4, day=third))
    table.append(rows(5))  # has the values of before: it is the root's
    assert types(partition) == [
        ("insert", "append"),
        ("alter_partition", "upsert"),
        ("delete", "delete"),
        ("insert", "append"),
    ]
    renamed = partition.deltas()[1]
    assert [len(getattr(renamed.manifest, what)) for what in ("added", "removed")] == [1, 1]
    assert (renamed.counts["added_rows"], renamed.counts["removed_rows"]) == (1, 1)
    told = main.inspect("__deltas", where=f"partition_id = '{partition.id}'").to_pylist()
    assert sum(one["added_rows"] - one["removed_rows"] for one in told) == partition.count() == 2


def test_a_delta_is_of_the_stream_that_it_was_made_in(main, table):
    """All were shown under the newest stream, and those of a staged one under the one that readers saw."""
    table.append(rows(1))
    first = table.stream("parquet").stream_id
    staged = table.stage_stream()
    staged.append(rows(2))
    assert [delta.locator.stream for delta in staged.partition().deltas()] == [staged.stream_id] * 2
    staged.commit()
    table.append(rows(3))
    streams = [delta.locator.stream for delta in table.partition().deltas()]
    assert streams == [staged.stream_id, staged.stream_id, first, first]
    shown = main.inspect("__deltas").to_pylist()
    assert [one["canonical"].split("|")[2] for one in shown] == streams[::-1]


def test_a_manifest_is_the_whole_frame_of_its_commit(table):
    partition = table.create_partition({"dt": FIRST})
    table.stage_partition({"dt": SECOND}).append(rows(4, day=SECOND))  # takes the id of a snapshot
    table.append([*rows(1, 2), *rows(3, day=SECOND)])
    [delta] = partition.deltas()
    data = bytes(delta.manifest)
    assert (data[:4], data, len(delta.manifest)) == (b"MRUB", delta.manifest.frame, len(data))
    [newest] = [info for info in table.snapshots() if info.id == delta.snapshot_id]
    whole = table.manifest(delta.snapshot_id)
    assert (delta.manifest.decoded(), delta.manifest.path) == (whole.decoded(), whole.path)
    assert (newest.sequence_number, delta.manifest.decoded()["snapshot_id"]) == (delta.position, newest.id)
    assert newest.id > newest.sequence_number
    manifest = frame.decode(data, "")
    assert (manifest.sequence_number, manifest.table_uuid, len(manifest.data_files)) == (2, table.id, 2)
    assert manifest.last_updated_ms == int(delta.time.timestamp() * 1000)
    assert {file.path for file in delta.manifest.added} < {file.path for file in manifest.data_files}


def test_rows_that_come_with_their_ids_are_added_out_of_order(main, table):
    dev = main.create_branch("dev")
    dev.table("t").append(rows(1))
    main.merge(dev)
    partition = table.create_partition({"dt": FIRST})
    table.drop_partition({"dt": FIRST})
    table.undrop_partition(id=partition.id)
    assert types(table.partition())[:3] == [("undrop", "add"), ("drop_partition", "delete"), ("merge_branch", "add")]


def test_a_partition_and_a_delta_have_a_canonical_string(main):
    """D7."""
    main.create_namespace("s")
    table = main.create_table("s.t", {"id": "long", "dt": "date"}, partition_by=["dt"])
    partition = table.create_partition({"dt": FIRST})
    partition.append([{"id": 1}])
    [delta] = partition.deltas()
    root = table.partition().locator
    assert (root.namespace, root.table, root.edition, root.kind) == (("s",), "t", "1", "partition")
    assert partition.locator.canonical == f"s|t|1|{root.stream}|{partition.id}"
    assert (str(delta.locator), delta.locator.parent) == (f"{partition.locator}|2", partition.locator)
    assert main.inspect("__deltas")["canonical"].to_pylist()[-1] == str(delta.locator)
    assert main.inspect("__partitions")["canonical"].to_pylist() == [str(root), str(partition.locator)]


def test_the_system_table_has_them_all(main, table):
    partition = table.create_partition({"dt": FIRST})
    table.append([*rows(1, 2), *rows(3, day=SECOND)])
    found = main.inspect("__deltas", where="operation = 'insert'").to_pylist()
    assert [(one["partition_id"], one["stream_position"], one["added_rows"], one["type"]) for one in found] == [
        (table.partition().id, 2, 3, "append"),
        (partition.id, 2, 2, "append"),
    ]


def test_the_past_and_a_share_show_their_deltas(lake, main, table):
    table.append(rows(1))
    then = table.version
    table.append(rows(2))
    main.create_share("given", ["t"])
    assert len(table.at(version=then).partition().deltas()) == 2
    assert len(lake.catalog("default@given").table("t").partition().deltas()) == 3
    assert isinstance(table.partition().deltas()[0], lakebed.Delta)
