"""A Delta table becomes a table by one call, in place; later calls bring what it has done since."""

import datetime
import shutil
from decimal import Decimal

import pyarrow
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import lakebed
from lakebed.errors import Conflict, Corrupt, Expired, Invalid, NotFound, Unavailable
from lakebed.lake.imports import versions
from tests.lake.imports.conftest import contents, rows
from tests.lake.imports.delta_log import DeltaLog, mapped
from tests.lake.imports.test_import_crashes import killed

ID = {"name": "id", "type": "long"}


def ids(*values):
    return pyarrow.table({"id": pyarrow.array(values, pyarrow.int64())})


def theirs(place, version=None):
    """The rows of a Delta table, as the library answers them."""
    table = DeltaTable(place, version=version)
    found = pyarrow.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all())
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


def same(main, name, place, version=None):
    assert list(rows(main.table(name))) == theirs(place, version)


# One call


def test_a_delta_table_becomes_a_table_in_one_commit_and_nothing_is_copied(main, source, files):
    zone = datetime.UTC
    given = {
        "id": [1, 2, 3],
        "b": [True, False, None],
        "i": pyarrow.array([1, 2, None], pyarrow.int32()),
        "d": [datetime.date(1969, 12, 31), None, datetime.date(2020, 1, 1)],
        "t": pyarrow.array(
            [datetime.datetime(1969, 1, 1, 12, 0, 0, 5, tzinfo=zone)] * 3, pyarrow.timestamp("us", "UTC")
        ),
        "n": pyarrow.array([datetime.datetime(2020, 1, 1, 0, 0, 0, 7)] * 3, pyarrow.timestamp("us")),
        "x": pyarrow.array([Decimal("1.20"), None, Decimal("-7.00")], pyarrow.decimal128(5, 2)),
        "s": ["é/ %", "a=b", None],
    }
    write_deltalake(source, pyarrow.table(given), partition_by=["b", "i", "d", "t", "n", "x", "s"])
    write_deltalake(source, pyarrow.table(given), mode="append")
    before, version = contents(source), main.version
    found = main.import_delta("sales.orders", source, message="bring it in")
    same(main, "sales.orders", source)
    assert (found.created, found.files, found.source_rows, found.rows, found.versions) == (True, 6, 6, 6, 1)
    assert (found.commit, found.commit.message) == (main.log()[0], "bring it in")
    assert [commit.version for commit in main.log() if commit.version > version] == [found.commit.version]
    assert contents(source) == before
    assert [name for name in files() if name.endswith((".parquet", ".puffin"))] == []


def test_a_dry_run_of_a_delta_table_answers_the_same_and_writes_nothing(main, source, unchanged):
    log = DeltaLog(source, [ID])
    log.write("WRITE", log.add("a.parquet", ids(1, 2, 3)))
    log.write("DELETE", *log.delete("a.parquet", 1))
    with unchanged():
        tried = main.import_delta("t", source, dry_run=True)
        whole = main.import_delta("t", source, dry_run=True, history=True)
        assert not main.table_exists("t")
    done = main.import_delta("t", source)
    assert (tried.files, tried.rows, tried.source_rows, tried.columns) == (done.files, 2, 2, done.columns)
    assert (whole.versions, whole.rows, tried.dry_run, tried.commit) == (3, 2, True, None)


def test_copied_rows_are_the_lakes_own(main, source, put):
    log = DeltaLog(source, [ID, {"name": "at", "type": "timestamp"}])
    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    table = pyarrow.table({"id": [1, 2, 3], "at": pyarrow.array([at] * 3, pyarrow.timestamp("us", "UTC"))})
    log.write("WRITE", log.add("a.parquet", table, use_deprecated_int96_timestamps=True))
    log.write("DELETE", *log.delete("a.parquet", 0))
    with pytest.raises(Invalid, match="nothing was imported"):
        main.import_delta("t", source)
    found = main.import_delta("t", source, copy=True)
    assert (found.rows, rows(main.table("t"))) == (2, [(2, at), (3, at)])
    log.write("WRITE", log.add("b.parquet", table))
    assert main.import_delta("t", source, copy=True).rows == 3
    log.write("DELETE", *log.remove("b.parquet"))
    with pytest.raises(Conflict, match="its rows were copied"):
        main.import_delta("t", source, copy=True)
    shutil.rmtree(source)
    assert len(rows(main.table("t"))) == 5


# A second call


def test_a_second_call_brings_what_the_source_did_since(main, source):
    write_deltalake(source, ids(1, 2, 3))
    main.import_delta("t", source)
    assert not main.import_delta("t", source).is_new
    write_deltalake(source, ids(4), mode="append")
    DeltaTable(source).delete("id = 2")
    again = main.import_delta("t", source)
    assert (again.files, again.rows, again.source_rows, again.created) == (2, 0, 0, False)
    same(main, "t", source)
    DeltaTable(source).optimize.compact()
    assert main.import_delta("t", source).rows == 0
    same(main, "t", source)
    write_deltalake(source, ids(7), mode="overwrite")
    assert main.import_delta("t", source).rows == -2
    same(main, "t", source)


def test_rows_that_were_changed_here_stay_as_long_as_the_source_leaves_their_files(main, source):
    log = DeltaLog(source, [ID])
    log.write("WRITE", log.add("a.parquet", ids(1, 2, 3, 4, 5)))
    main.import_delta("t", source)
    main.table("t").delete("id in (1, 5)")
    main.table("t").append({"id": [100]})
    log.write("DELETE", *log.delete("a.parquet", 0, 1))
    found = main.import_delta("t", source)
    assert (found.source_rows, found.rows) == (-2, -1)
    assert rows(main.table("t")) == [(100,), (3,), (4,)]
    log.write("RESTORE", *log.delete("a.parquet", 3))
    main.import_delta("t", source)
    assert rows(main.table("t")) == [(1,), (100,), (2,), (3,)]
    main.table("t").delete("id = 1")
    log.write("OPTIMIZE", *log.remove("a.parquet"), log.add("b.parquet", ids(1, 2, 3)))
    with pytest.raises(Conflict) as refused:
        main.import_delta("t", source)
    assert "2 rows of it were deleted here" in refused.value.found
    assert rows(main.table("t")) == [(100,), (2,), (3,)]


def test_files_that_were_compacted_here_can_not_follow_the_source(main, source):
    write_deltalake(source, ids(1))
    write_deltalake(source, ids(2), mode="append")
    main.import_delta("t", source)
    main.table("t").compact()
    write_deltalake(source, ids(3), mode="append")
    assert main.import_delta("t", source).rows == 1
    DeltaTable(source).delete("id = 1")
    with pytest.raises(Conflict, match="can't be made on top"):
        main.import_delta("t", source)
    assert rows(main.table("t")) == [(1,), (2,), (3,)]


def test_what_was_undone_is_imported_again(main, source):
    write_deltalake(source, ids(1))
    main.import_delta("t", source)
    write_deltalake(source, ids(2), mode="append")
    second = main.import_delta("t", source)
    main.revert(second.commit)
    assert rows(main.table("t")) == [(1,)]
    assert main.import_delta("t", source).rows == 1
    same(main, "t", source)


def test_a_call_with_an_event_id_is_made_once(main, source):
    write_deltalake(source, ids(1, 2))
    event = lakebed.event_id("night", 1)
    first = main.import_delta("t", source, event_id=event)
    write_deltalake(source, ids(3), mode="append")
    again = main.import_delta("t", source, event_id=event)
    assert (again.commit, again.rows, again.created) == (first.commit, 2, True)
    with pytest.raises(Invalid, match="history has many"):
        main.import_delta("t", source, history=True, event_id=event)


def test_another_table_in_its_place_is_not_taken_for_the_next_version(main, source):
    write_deltalake(source, ids(1))
    main.import_delta("t", source)
    shutil.rmtree(source)
    write_deltalake(source, ids(9))
    with pytest.raises(Invalid, match="another table"):
        main.import_delta("t", source)


# History


def test_each_version_is_a_commit_with_the_rows_that_it_had(main, source):
    write_deltalake(source, ids(1, 2, 3))
    write_deltalake(source, ids(4), mode="append")
    DeltaTable(source).delete("id = 2")
    DeltaTable(source).optimize.compact()
    start = main.version
    found = main.import_delta("t", source, history=True)
    commits = [commit for commit in reversed(main.log()) if commit.version > start]
    assert (found.versions, found.rows, found.commit) == (4, 3, commits[-1])
    for number, commit in enumerate(commits):
        same(main.at(version=commit.version), "t", source, number)
        assert commit.message.startswith(f"Delta version {number}: ")
    assert "DELETE" in commits[2].message
    assert "id = 2" in commits[2].message
    assert not main.import_delta("t", source, history=True).is_new
    write_deltalake(source, ids(5), mode="append")
    write_deltalake(source, ids(6), mode="append")
    again = main.import_delta("t", source, history=True, message="nightly")
    assert (again.versions, again.files, again.rows) == (2, 2, 2)
    assert main.log()[0].message.endswith("\n\nnightly")
    same(main, "t", source)


def test_deleted_rows_of_each_version_are_vectors_here(main, source, files):
    log = DeltaLog(source, [ID])
    log.write("WRITE", log.add("a %.parquet", ids(1, 2, 3)))
    log.write("DELETE", *log.delete("a %.parquet", 1))
    log.write("DELETE", *log.delete("a %.parquet", 0, 1, 2))
    log.write("RESTORE", *log.delete("a %.parquet", 2))
    start = main.version
    main.import_delta("t", source, history=True)
    commits = [commit for commit in reversed(main.log()) if commit.version > start]
    for number, commit in enumerate(commits):
        same(main.at(version=commit.version), "t", source, number)
    assert commits[1].author == "ben"
    changes = main.table("t").changes(commits[1].version, commits[2].version).to_arrow().to_pylist()
    assert [(row["_change_type"], row["id"]) for row in changes] == [("delete", 2)]
    assert len([name for name in files() if name.endswith(".puffin")]) == 3


def test_versions_whose_files_were_vacuumed_are_expired(main, source):
    write_deltalake(source, ids(1, 2))
    DeltaTable(source).delete("id = 1")
    write_deltalake(source, ids(3), mode="append")
    DeltaTable(source).vacuum(0, dry_run=False, enforce_retention_duration=False)
    for dry_run in (True, False):
        with pytest.raises(Expired, match="version 0") as refused:
            main.import_delta("t", source, history=True, dry_run=dry_run)
        assert "since=1" in refused.value.advice
    assert not main.table_exists("t")
    found = main.import_delta("t", source, history=True, since=1)
    assert found.versions >= 2
    same(main, "t", source)
    with pytest.raises(Invalid, match="history=True"):
        main.import_delta("t", source, since=1)


def test_a_version_that_the_log_no_longer_has_is_expired(main, source):
    for number in range(4):
        write_deltalake(source, ids(number), mode="append")
    main.import_delta("old", source)
    for number in range(4, 7):
        write_deltalake(source, ids(number), mode="append")
    DeltaTable(source).create_checkpoint()
    for number in range(6):
        (source / "_delta_log" / f"{number:020}.json").unlink()
    with pytest.raises(Expired, match="since=6"):
        main.import_delta("t", source, history=True)
    assert main.import_delta("t", source, history=True, since=6).rows == 7
    same(main, "t", source)
    with pytest.raises(Expired):
        main.import_delta("old", source)
    assert len(rows(main.table("old"))) == 4


def test_an_import_that_stops_between_versions_goes_on_with_the_next(main, source, monkeypatch):
    for number in range(3):
        write_deltalake(source, ids(number), mode="append")
    whole, left = versions.in_one_commit, [2]

    def stopped(*given):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return whole(*given)

    monkeypatch.setattr(versions, "in_one_commit", stopped)
    with pytest.raises(KeyboardInterrupt):
        main.import_delta("t", source, history=True)
    same(main, "t", source, 1)
    left[0] = 1
    assert main.import_delta("t", source, history=True).versions == 1
    same(main, "t", source)


@pytest.mark.long
def test_an_import_that_is_killed_between_versions_goes_on(tmp_path, source):
    log = DeltaLog(source, [ID])
    log.write("WRITE", log.add("a.parquet", ids(1, 2)))
    log.write("DELETE", *log.delete("a.parquet", 0))
    before, seen = contents(source), set()
    lakes = killed(tmp_path, "import_delta", name="t", path=str(source), history=True)
    for folder in lakes:
        with lakebed.connect(folder, author="ada") as lake:
            main = lake.catalog()
            left = main.import_delta("t", source, history=True).versions
            seen.add(left)
            assert (rows(main.table("t")), lake.check()) == ([(2,)], [])
            assert len(main.log()) == len({commit.id for commit in main.log()}) == 2 + 3
    assert seen == {0, 1, 2, 3}
    assert contents(source) == before


# Columns


def test_columns_that_the_source_adds_come_with_their_version(main, source):
    write_deltalake(source, ids(1))
    write_deltalake(source, pyarrow.table({"id": [2], "s": [{"a": 1}]}), mode="append", schema_mode="merge")
    wider = pyarrow.table({"id": [3], "s": [{"a": 2, "b": "x"}]})
    write_deltalake(source, wider, mode="append", schema_mode="merge")
    start = main.version
    main.import_delta("t", source, history=True)
    commits = [commit for commit in reversed(main.log()) if commit.version > start]
    assert [len(main.at(version=commit.version).table("t").schema.fields) for commit in commits] == [1, 2, 2]
    same(main, "t", source)
    fresh = pyarrow.table({"id": ["now text"], "k": [1]})
    write_deltalake(source, fresh, mode="overwrite", schema_mode="overwrite")
    assert main.import_delta("t", source).rows == -2
    same(main, "t", source)
    assert rows(main.at(version=commits[-1].version).table("t"), "id") == [(1,), (2,), (3,)]


def test_mapped_columns_are_found_by_their_ids_whatever_they_are_called(main, source):
    def table(**columns):
        numbers = {"col-1": b"1", "col-2": b"2", "col-9": b"9"}
        fields = [
            pyarrow.field(name, values.type, metadata={b"PARQUET:field_id": numbers[name]})
            for name, values in columns.items()
        ]
        return pyarrow.Table.from_arrays(list(columns.values()), schema=pyarrow.schema(fields))

    def longs(*values):
        return pyarrow.array(values, pyarrow.int64())

    first = [mapped("id", "long", 1, "col-1"), mapped("old name", "long", 2, "col-2")]
    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    log = DeltaLog(source, first, **settings)
    log.write("WRITE", log.add("a.parquet", table(**{"col-1": longs(1), "col-2": longs(10)})))
    main.import_delta("t", source)
    assert rows(main.table("t"), "id", "old name") == [(1, 10)]
    renamed = [mapped("id", "long", 1, "col-1"), mapped("new", "long", 2, "col-2")]
    log.write("RENAME COLUMN", log.metadata(renamed))
    log.write("WRITE", log.add("b.parquet", table(**{"col-1": longs(2), "col-2": longs(20)})))
    swapped = [mapped("id", "long", 1, "col-1"), mapped("new", "long", 9, "col-9")]
    log.write("REPLACE COLUMN", log.metadata(swapped, **{"delta.columnMapping.maxColumnId": "9"}))
    log.write("WRITE", log.add("c.parquet", table(**{"col-1": longs(3), "col-9": longs(99)})))
    main.import_delta("whole", source, history=True)
    main.import_delta("t", source)
    for name in ("t", "whole"):
        table = main.table(name)
        assert sorted(rows(table, "id", "new"), key=lambda row: row[0]) == [(1, None), (2, None), (3, 99)]
        assert [field.id for field in table.schema.fields] == [1, 9]
    with main.table("t").evolve() as change:
        change.add_column("own", "long")
    assert main.table("t").schema.fields[-1].id > 9


def test_what_is_left_behind_is_said(main, source):
    log = DeltaLog(source, [ID], **{"delta.constraints.positive": "id > 0"})
    log.write("WRITE", log.add("a.parquet", ids(1)))
    assert "not imported: the constraint positive (id > 0)" in main.import_delta("t", source).notes


@pytest.mark.parametrize("type", ["variant", "interval"])
def test_a_type_that_no_table_here_has_is_refused_by_name(main, source, type):
    DeltaLog(source, [ID, {"name": "v", "type": type}])
    with pytest.raises(Invalid):
        main.import_delta("t", source)


# Errors


def test_a_source_that_is_not_a_delta_table_is_not_found(main, source, put):
    put("a.parquet", {"id": [1]})
    with pytest.raises(NotFound, match="no Delta table"):
        main.import_delta("t", source)
    write_deltalake(source / "d", ids(1))
    with pytest.raises(Invalid, match="import_delta"):
        main.import_parquet("t", source / "d")


def test_without_the_library_the_extra_is_named(main, source, monkeypatch):
    write_deltalake(source, ids(1))
    monkeypatch.setattr("lakebed.lake.engines.find_spec", lambda package: None)
    with pytest.raises(Unavailable, match=r"lakebed\[delta\]"):
        main.import_delta("t", source)


def test_a_file_that_is_not_the_one_of_the_log_is_corrupt(main, source):
    log = DeltaLog(source, [ID])
    log.write("WRITE", log.add("a.parquet", ids(1, 2)))
    pyarrow.parquet.write_table(ids(5), source / "a.parquet")
    with pytest.raises(Corrupt, match="not the one"):
        main.import_delta("t", source)
    assert not main.table_exists("t")


def test_two_imports_at_once_bring_each_version_once(main, source, monkeypatch):
    for number in range(3):
        write_deltalake(source, ids(number), mode="append")
    whole = versions.in_one_commit

    def overtaken(*given):
        monkeypatch.setattr(versions, "in_one_commit", whole)
        main.import_delta("t", source, history=True)
        return whole(*given)

    monkeypatch.setattr(versions, "in_one_commit", overtaken)
    assert main.import_delta("t", source, history=True).versions == 0
    same(main, "t", source)
    assert len([commit for commit in main.log() if commit.message.startswith("Delta version")]) == 3
