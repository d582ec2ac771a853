"""What a commit keeps of a table's new files: inline while it is small, else as a file that is proved whole."""

from uuid import uuid4

import pyarrow
import pytest

from lakebed.catalog.data.deltas import stored_manifest
from lakebed.catalog.transaction import pending_delta
from lakebed.catalog.transaction.pending_delta import Delta, data_change, write_manifest
from lakebed.errors import Conflict, Corrupt, NotFound
from lakebed.files import LocalFiles
from lakebed.metastore import State
from lakebed.store import Version
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema, with_ids


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table):
    return table.scan().to_arrow()["id"].to_pylist()


def manifest_files(folder):
    return sorted(folder.rglob("*.manifest"))


@pytest.fixture
def table(main):
    # Its rows are in files, so that what manifests say of them can be seen.
    return main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})


@pytest.fixture
def filed(table, monkeypatch):
    """A table whose manifests all become files."""
    monkeypatch.setattr(pending_delta, "INLINE_BYTES", 0)
    table.append(numbers(1))
    return table


def test_a_small_manifest_is_no_file(table, folder):
    table.append(numbers(1))
    assert manifest_files(folder) == []


def test_a_large_manifest_is_a_file_and_reads_the_same(table, folder, monkeypatch):
    table.append(numbers(1))
    monkeypatch.setattr(pending_delta, "INLINE_BYTES", 0)
    table.append(numbers(2))
    table.append(numbers(3))
    assert len(manifest_files(folder)) == 2
    assert ids(table) == [1, 2, 3]
    assert [one.totals["rows"] for one in table.snapshots()] == [3, 2, 1, 0]
    assert table.scan("id = 2").files() == table.scan().files()[1:2]


def test_the_entries_of_a_manifest_beyond_what_a_value_holds_are_a_file_column_by_column(table, folder):
    """Two thousand files in one commit: their manifest has more than 100,000 bytes."""
    work = table._scope.read()
    schema = table.schema
    files = tuple(DataFileRef(path=f"{'x' * 40}/{number}", num_rows=1, file_size=1, status=1) for number in range(2000))
    delta = Delta(table.id, str(uuid4()), "tables/x", schema, "insert", files)
    change = data_change(delta, write_manifest(work.context.files, delta))
    record = change.fold(None, {"snapshot": 1, "row": 1})
    assert len(record.manifest) < 1000
    [path] = folder.rglob("*.entries")
    assert len(path.read_bytes()) < 100_000, "columns are smaller than messages"
    read = stored_manifest(work.context, stored(record))
    assert list(read.data_files) == list(files)
    assert record.totals["rows"] == 2000


def test_the_stored_manifest_has_the_ids_of_its_schema_and_spec(table):
    work = table._scope.read()
    delta = Delta(table.id, str(uuid4()), "tables/x", table.schema, "insert", spec_id=3)
    record = data_change(delta, write_manifest(work.context.files, delta)).fold(None, {"snapshot": 1})
    read = stored_manifest(work.context, stored(record))
    assert (read.schema_id, read.partition_spec_id) == (table.schema.id, 3)


def test_a_missing_manifest_is_corrupt(filed, folder):
    [path] = manifest_files(folder)
    path.unlink()
    with pytest.raises(Corrupt, match="a manifest is missing") as caught:
        filed.scan()
    assert path.name in str(caught.value)


@pytest.mark.parametrize("place", [0, 4, 5, 9, 20, -1])
def test_a_changed_manifest_is_corrupt(filed, folder, place):
    [path] = manifest_files(folder)
    damaged = bytearray(path.read_bytes())
    damaged[place] ^= 1
    path.write_bytes(bytes(damaged))
    with pytest.raises(Corrupt) as caught:
        filed.scan()
    assert path.name in str(caught.value)


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\x00", lambda data: b""])
def test_a_manifest_of_another_length_is_corrupt(filed, folder, change):
    [path] = manifest_files(folder)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(Corrupt):
        filed.scan()


def test_the_manifest_of_another_table_is_corrupt(main, filed, folder):
    [own] = manifest_files(folder)
    other = main.create_table("other", {"id": "long"})
    before = set(manifest_files(folder))
    other.append(numbers(7))
    [foreign] = set(manifest_files(folder)) - before
    foreign.write_bytes(own.read_bytes())
    with pytest.raises(Corrupt):
        other.scan()


def test_a_transaction_that_fails_leaves_no_manifest(main, filed, folder):
    before = manifest_files(folder)
    with pytest.raises(Conflict), main.transaction("loses") as tx:
        tx.table("t").append(numbers(2))
        main.rename_table("t", "u")
    assert manifest_files(folder) == before


def test_an_append_that_fails_leaves_no_manifest(main, filed, folder):
    before = manifest_files(folder)

    def rows():
        yield from numbers(2).to_batches()
        main.drop_table("t")

    with pytest.raises(NotFound):
        filed.append(pyarrow.RecordBatchReader.from_batches(numbers().schema, rows()))
    assert manifest_files(folder) == before


def test_a_delta_follows_the_one_before(tmp_path):
    """Sequence, parent, totals, row ids, and the highest column id."""
    schema = with_ids(Schema({"a": "long", "b": "list<string>"}), 1, 1)
    table = str(uuid4())
    first = changed(tmp_path, Delta(table, str(uuid4()), "t", schema, "create", first_ids={"schema": 1, "field": 3}))
    assert first.allocate == {"snapshot": 1, "schema": 1, "field": 3}
    created = first.fold(None, {"snapshot": 5, "schema": 1, "field": 1})
    assert (created.snapshot_id, created.sequence_number, created.HasField("previous_snapshot_id")) == (5, 1, False)
    assert (created.last_column_id, dict(created.totals)) == (3, {"files": 0, "rows": 0, "bytes": 0})
    assert created.first_row_id == 1

    new = (DataFileRef(path="x", num_rows=3, file_size=10), DataFileRef(path="y", num_rows=4, file_size=20))
    second = changed(tmp_path, Delta(table, str(uuid4()), "t", schema, "insert", tuple(new)))
    assert second.allocate == {"snapshot": 1, "row": 7}
    filled = second.fold(stored(created), {"snapshot": 9, "row": 1})
    assert (filled.snapshot_id, filled.previous_snapshot_id, filled.sequence_number) == (9, 5, 2)
    assert (dict(filled.totals), filled.first_row_id) == ({"files": 2, "rows": 7, "bytes": 30}, 1)

    third = changed(tmp_path, Delta(table, str(uuid4()), "t", schema, "insert"))
    empty = third.fold(stored(filled), {"snapshot": 10})
    assert (empty.first_row_id, dict(empty.counts), dict(empty.totals)) == (8, {}, dict(filled.totals))


def test_ids_that_were_given_out_before_a_table_was_made_are_corrupt(tmp_path):
    schema = with_ids(Schema({"a": "long"}), 1, 1)
    change = changed(
        tmp_path, Delta(str(uuid4()), str(uuid4()), "t", schema, "create", first_ids={"schema": 1, "field": 1})
    )
    with pytest.raises(Corrupt, match="already given out"):
        change.fold(None, {"snapshot": 1, "schema": 2, "field": 1})


def changed(folder, delta):
    return data_change(delta, write_manifest(LocalFiles(folder), delta))


def stored(record):
    return State(record, Version.parse(1), "line")
