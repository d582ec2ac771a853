"""An Iceberg table becomes a table by one call, in place and with its ids; later calls bring what it has done since."""

import datetime
import json
import os
import shutil
from pathlib import Path

import pyarrow
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

import lakebed
from lakebed.errors import Conflict, Expired, Invalid, NotFound
from tests.lake.imports.conftest import contents, rows
from tests.lake.imports.iceberg_deletes import with_deletes
from tests.lake.imports.test_import_crashes import killed

COLUMNS = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "k", StringType()), NestedField(3, "at", TimestamptzType())
)
AT = datetime.datetime(1969, 1, 1, 0, 0, 0, 7, tzinfo=datetime.UTC)


@pytest.fixture
def catalog(source):
    catalog = SqlCatalog("c", uri=f"sqlite:///{source}/c.db", warehouse=f"file://{source}")
    catalog.create_namespace("s")
    yield catalog
    catalog.engine.dispose()


@pytest.fixture
def table(catalog):
    return catalog.create_table("s.t", COLUMNS)


@pytest.fixture(params=["1", "2"])
def any_table(catalog, request):
    return catalog.create_table("s.t", COLUMNS, properties={"format-version": request.param})


def data(*values, **more):
    count = len(values)
    columns = {"id": pyarrow.array(values, pyarrow.int64()), "k": [f"k{value}" for value in values]}
    at = pyarrow.array([AT] * count, pyarrow.timestamp("us", "UTC"))
    return pyarrow.table({**columns, "at": at, **{name: [value] * count for name, value in more.items()}})


def folder(table):
    return table.location().removeprefix("file://")


def theirs(metadata, snapshot=None):
    found = StaticTable.from_metadata(metadata).scan(snapshot_id=snapshot).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


def same(main, name, table, snapshot=None):
    metadata = table if isinstance(table, str) else table.metadata_location
    assert list(rows(main.table(name))) == theirs(metadata, snapshot)


def files_of(table):
    return [task.file.file_path for task in table.scan().plan_files()]


# One call


def test_an_iceberg_table_becomes_a_table_in_one_commit_with_its_ids(main, catalog, source, files):
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "k"))
    table = catalog.create_table("s.t", COLUMNS, partition_spec=spec)
    table.append(data(1, 2, 15))
    with table.update_schema() as change:
        change.add_column("more", LongType())
    with table.update_schema() as change:
        change.delete_column("more")
        change.add_column("n", LongType())
        change.rename_column("at", "moment")
    table.append(data(16).rename_columns(["id", "k", "moment"]))
    before = contents(source)
    found = main.import_iceberg("sales.orders", folder(table))
    same(main, "sales.orders", table)
    assert (found.created, found.files, found.rows, found.source_rows, found.versions) == (True, 4, 4, 4, 1)
    assert [(field.id, field.name) for field in main.table("sales.orders").schema.fields] == [
        (1, "id"),
        (2, "k"),
        (3, "moment"),
        (5, "n"),
    ]
    assert contents(source) == before
    assert [name for name in files() if name.endswith(".parquet")] == []


def test_a_dry_run_of_an_iceberg_table_answers_the_same_and_writes_nothing(main, table, unchanged):
    table.append(data(1, 2, 3))
    moved = with_deletes(table.metadata_location, {files_of(table)[0]: [1]})
    with unchanged():
        tried = main.import_iceberg("t", moved, dry_run=True)
        whole = main.import_iceberg("t", moved, dry_run=True, history=True)
    done = main.import_iceberg("t", moved)
    assert (tried.files, tried.rows, tried.columns, tried.commit) == (done.files, 2, done.columns, None)
    assert (whole.versions, whole.rows, done.rows) == (2, 2, 2)


def test_a_table_without_a_snapshot_is_an_empty_table(main, table):
    assert main.import_iceberg("t", folder(table)).created
    assert not main.import_iceberg("t", folder(table)).is_new
    table.append(data(1))
    assert main.import_iceberg("t", folder(table), history=True).rows == 1


# Deleted rows


def test_position_deletes_are_vectors_here(main, table):
    table.append(data(1, 2, 3))
    table.append(data(4, 5))
    first, second = sorted(files_of(table))
    once = with_deletes(table.metadata_location, {first: [0]})
    twice = with_deletes(once, {first: [1], second: [0, 1]})
    main.import_iceberg("t", once)
    same(main, "t", once)
    again = main.import_iceberg("t", twice)
    assert (again.rows, again.source_rows, again.files) == (-3, -3, 0)
    same(main, "t", twice)
    start = main.version
    main.import_iceberg("whole", twice, history=True)
    body = json.loads(Path(twice).read_text())
    commits = [commit for commit in reversed(main.log()) if commit.version > start]
    for snapshot, commit in zip(body["snapshots"], commits, strict=True):
        same(main.at(version=commit.version), "whole", twice, snapshot["snapshot-id"])
    copied = main.import_iceberg("copied", twice, copy=True)
    assert copied.rows == 2 or copied.rows == 1
    same(main, "copied", twice)


def test_deletes_do_not_touch_rows_that_were_written_after_them(main, table):
    table.append(data(1, 2))
    [path] = files_of(table)
    once = with_deletes(table.metadata_location, {path: [0]})
    body = json.loads(Path(once).read_text())
    listing = body["snapshots"][-1]["manifest-list"]
    from tests.lake.imports import iceberg_deletes as avro

    schema, header, manifests = avro._read(listing)
    manifests[0]["sequence_number"] = body["last-sequence-number"] + 5  # the data came later
    avro._write(Path(listing.removeprefix("file://")), schema, header, manifests)
    main.import_iceberg("t", once)
    assert rows(main.table("t"), "id") == [(1,), (2,)]


def test_deletion_vectors_of_the_third_version_come_along_from_wherever_the_table_was_moved(main, tmp_path):
    with lakebed.connect(tmp_path / "other", create=True) as other:
        own = other.catalog().create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
        own.append({"id": list(range(10))})
        own.delete("id < 4")
        metadata = own.export_iceberg()
        path = metadata.removeprefix("file://")
        shutil.copytree(os.path.dirname(os.path.dirname(path)), tmp_path / "moved")
    shutil.rmtree(tmp_path / "other")
    found = main.import_iceberg("t", tmp_path / "moved")
    assert (found.rows, rows(main.table("t"))) == (6, [(id,) for id in range(4, 10)])


def test_deletes_by_values_are_refused_with_what_to_do(main, table):
    table.append(data(1, 2))
    changed = with_deletes(table.metadata_location, {files_of(table)[0]: [0]}, content=2)
    with pytest.raises(Invalid, match="deleted by their values") as refused:
        main.import_iceberg("t", changed)
    assert "rewrite_data_files" in refused.value.advice
    assert not main.table_exists("t")


# A second call, and history


def test_a_second_call_brings_what_the_iceberg_table_did_since(main, table):
    table.append(data(1, 2))
    main.import_iceberg("t", folder(table))
    assert not main.import_iceberg("t", folder(table)).is_new
    table.append(data(3))
    table.delete("id = 1")
    again = main.import_iceberg("t", folder(table))
    assert (again.rows, again.source_rows, again.created) == (0, 0, False)
    same(main, "t", table)
    table.overwrite(data(7))
    main.import_iceberg("t", folder(table))
    same(main, "t", table)
    main.table("t").compact()


def test_each_snapshot_is_a_commit_with_the_rows_that_it_had(main, any_table):
    table = any_table
    table.append(data(1, 2))
    table.append(data(3))
    table.delete("id = 1")
    start = main.version
    found = main.import_iceberg("t", folder(table), history=True)
    commits = [commit for commit in reversed(main.log()) if commit.version > start]
    snapshots = table.metadata.snapshots
    assert (found.versions, len(commits)) == (3, 3)
    for snapshot, commit in zip(snapshots, commits, strict=True):
        same(main.at(version=commit.version), "t", table, snapshot.snapshot_id)
        assert commit.message.startswith(f"Iceberg snapshot {snapshot.snapshot_id}: {snapshot.summary.operation.value}")
    assert not main.import_iceberg("t", folder(table), history=True).is_new
    table.append(data(5))
    assert main.import_iceberg("t", folder(table), history=True).versions == 1
    same(main, "t", table)


def test_a_source_that_went_back_takes_the_table_back(main, table):
    table.append(data(1))
    back = table.current_snapshot().snapshot_id
    table.append(data(2))
    main.import_iceberg("t", folder(table), history=True)
    table.manage_snapshots().rollback_to_snapshot(back).commit()
    assert main.import_iceberg("t", folder(table), history=True).rows == -1
    same(main, "t", table)
    table.append(data(9))
    main.import_iceberg("t", folder(table), history=True)
    same(main, "t", table)


def test_snapshots_that_expired_are_said_to_be(main, table):
    for number in range(3):
        table.append(data(number))
    main.import_iceberg("old", folder(table))
    for number in range(3, 5):
        table.append(data(number))
    oldest = [snapshot.snapshot_id for snapshot in table.metadata.snapshots]
    for id in oldest[:-1]:
        table.maintenance.expire_snapshots().by_id(id).commit()
    with pytest.raises(Expired) as refused:
        main.import_iceberg("t", folder(table), history=True)
    assert f"since={oldest[-1]}" in refused.value.advice
    assert main.import_iceberg("t", folder(table), history=True, since=oldest[-1]).rows == 5
    same(main, "t", table)
    with pytest.raises(Expired):
        main.import_iceberg("old", folder(table))
    with pytest.raises(Invalid, match="never at this snapshot"):
        main.import_iceberg("new", folder(table), history=True, since=1)


# Columns


def test_columns_of_the_source_and_of_the_lake_get_along(main, table):
    table.append(data(1))
    main.import_iceberg("t", folder(table))
    with main.table("t").evolve() as change:
        change.add_column("own", "long", default=8)
    with table.update_schema() as change:
        change.add_column("n", LongType())
    assert main.import_iceberg("t", folder(table)).versions == 1
    table.append(data(2, n=5))
    with table.update_schema() as change:
        change.rename_column("k", "key")
        change.delete_column("at")
    main.import_iceberg("t", folder(table))
    assert rows(main.table("t"), "id", "key", "n", "own") == [(1, "k1", None, 8), (2, "k2", 5, 8)]
    found = {field.name: field.id for field in main.table("t").schema.fields}
    assert (found["n"], found["key"]) == (4, 2)
    assert "at" not in found
    main.import_iceberg("whole", folder(table), history=True)
    same(main, "whole", table)


def test_files_of_an_older_partition_spec_need_no_partition(main, table):
    table.append(data(1, 2))
    with table.update_spec() as change:
        change.add_field("k", IdentityTransform())
    table.append(data(3, 4))
    main.import_iceberg("t", folder(table))
    same(main, "t", table)
    main.import_iceberg("whole", folder(table), history=True)
    same(main, "whole", table)


def test_tags_and_branches_of_the_source_are_left_behind_and_said_so(main, table):
    table.append(data(1))
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "v1").commit()
    [note] = main.import_iceberg("t", folder(table)).notes
    assert note.startswith("not imported: the tag v1 of the source")


# Errors


def test_rows_deleted_here_from_a_file_that_the_source_replaced_are_a_conflict(main, table):
    table.append(data(1, 2, 3))
    main.import_iceberg("t", folder(table))
    main.table("t").delete("id = 3")
    table.delete("id = 1")
    with pytest.raises(Conflict, match="can't be made on top"):
        main.import_iceberg("t", folder(table))
    assert rows(main.table("t"), "id") == [(1,), (2,)]


@pytest.mark.parametrize("text", ["", "[]", '{"format-version": 2}', '{"format-version": 9}', "\x1f\x8b"])
def test_a_document_that_is_not_a_tables_is_refused(main, source, text):
    path = source / "00000-x.metadata.json"
    path.write_text(text)
    with pytest.raises(Invalid):
        main.import_iceberg("t", path)
    with pytest.raises(NotFound, match="no Iceberg table"):
        main.import_iceberg("t", source)


def test_a_type_that_only_old_snapshots_have_refuses_their_history_alone(main, table):
    table.append(data(1))
    with table.update_schema() as change:
        change.add_column("n", LongType())
    table.append(data(2, n=3))
    path = Path(table.metadata_location.removeprefix("file://"))
    body = json.loads(path.read_text())
    body["schemas"][0]["fields"][1]["type"] = "geometry"
    path.write_text(json.dumps(body))
    with pytest.raises(Invalid, match="no table here can have"):
        main.import_iceberg("t", path, history=True)
    assert main.import_iceberg("t", path).rows == 2


def test_a_folder_whose_newest_document_is_unclear_is_not_guessed_at(main, table):
    table.append(data(1))
    path = table.metadata_location.removeprefix("file://")
    shutil.copy(path, Path(path).with_name(f"1{Path(path).name}".replace("100001", "00001-1")))
    with pytest.raises(Invalid, match="only the table's catalog knows"):
        main.import_iceberg("t", folder(table))
    assert main.import_iceberg("t", path).rows == 1
    with pytest.raises(Invalid, match="import_iceberg"):
        main.import_parquet("p", folder(table))


@pytest.mark.long
def test_an_import_of_snapshots_that_is_killed_goes_on(tmp_path, source, table):
    table.append(data(1, 2))
    moved = with_deletes(table.metadata_location, {files_of(table)[0]: [1]})
    before, seen = contents(source), set()
    for place in killed(tmp_path, "import_iceberg", name="t", path=moved, history=True):
        with lakebed.connect(place, author="ada") as lake:
            main = lake.catalog()
            seen.add(main.import_iceberg("t", moved, history=True).versions)
            same(main, "t", moved)
            assert lake.check() == []
    assert seen == {0, 1, 2}
    assert contents(source) == before
