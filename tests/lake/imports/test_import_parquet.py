"""Parquet files become rows of a table by one call; a second one brings what is new."""

import json
import multiprocessing
import os
import shutil
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.dataset
import pytest

import lakebed
from lakebed import Catalog
from lakebed.catalog.data import imports as remembered
from lakebed.errors import AlreadyExists, Conflict, Corrupt, Forbidden, Invalid, NotFound
from lakebed.lake.imports import batches
from tests.lake.imports.conftest import contents, rows

GOLDEN = Path(__file__).parents[2] / "golden"

# One call


def test_a_folder_becomes_a_table_in_one_commit_and_nothing_is_copied(main, source, put, files):
    put("a.parquet", {"id": [1, 2], "name": ["a", None]})
    put("deep/er/b.parquet", {"id": [3], "name": ["c"]})
    theirs, before = contents(source), main.version
    found = main.import_parquet("sales.eu.orders", source, message="bring it in")
    assert rows(main.table("sales.eu.orders")) == [(1, "a"), (2, None), (3, "c")]
    assert (found.files, found.source_rows, found.rows, found.created) == (2, 3, 3, True)
    assert found.commit == main.log()[0]
    assert (found.commit.message, [one.version for one in main.log() if one.version > before]) == (
        "bring it in",
        [found.commit.version],
    )
    assert contents(source) == theirs
    assert [name for name in files() if name.endswith(".parquet")] == []


def test_a_dry_run_answers_the_same_and_changes_nothing(main, source, put, unchanged):
    put("month=1/a.parquet", {"id": [1, 2]})
    with unchanged():
        tried = main.import_parquet("sales.orders", source, dry_run=True)
        assert not main.table_exists("sales.orders")
        copied = main.import_parquet("sales.orders", source, dry_run=True, copy=True)
    done = main.import_parquet("sales.orders", source)
    for one in (tried, copied):
        assert (one.files, one.bytes, one.source_rows, one.columns, one.created, one.misfits) == (
            done.files,
            done.bytes,
            done.source_rows,
            done.columns,
            done.created,
            (),
        )
        assert one.dry_run
        assert one.commit is None
    assert (tried.rows, done.rows, copied.rows) == (2, 2, None)


def test_a_second_call_brings_only_new_files(main, source, put):
    put("a.parquet", {"id": [1]})
    main.import_parquet("t", source)
    again = main.import_parquet("t", source)
    assert (again.commit, again.files, again.known_files, again.is_new) == (None, 0, 1, False)
    put("b.parquet", {"id": [2, 3]})
    more = main.import_parquet("t", source)
    assert (more.files, more.known_files, more.rows, more.created) == (1, 1, 2, False)
    assert rows(main.table("t")) == [(1,), (2,), (3,)]


@pytest.mark.parametrize("copy", [False, True])
def test_rows_do_not_come_twice_after_the_table_was_compacted_and_changed(main, source, put, copy):
    put("a.parquet", {"id": [1, 2]})
    put("b.parquet", {"id": [3]})
    main.import_parquet("t", source, copy=copy)
    table = main.table("t")
    table.compact()
    table.delete("id = 3")
    put("c.parquet", {"id": [4]})
    assert main.import_parquet("t", source, copy=copy).files == 1
    assert rows(table) == [(1,), (2,), (4,)]
    table.truncate()
    assert main.import_parquet("t", source, copy=copy).files == 0
    table.rename("other")
    assert main.import_parquet("other", source, copy=copy).known_files == 3


def test_what_was_undone_is_imported_again(main, source, put):
    put("a.parquet", {"id": [1]})
    main.import_parquet("t", source)
    put("b.parquet", {"id": [2]})
    second = main.import_parquet("t", source)
    main.revert(second.commit)
    assert rows(main.table("t")) == [(1,)]
    assert main.import_parquet("t", source).files == 1
    main.table("t").restore(-1)
    assert main.import_parquet("t", source).files == 1
    main.reset(second.commit.version)
    assert main.import_parquet("t", source).files == 0
    assert rows(main.table("t")) == [(1,), (2,)]


def test_a_table_that_was_dropped_and_made_again_begins_again(main, source, put):
    put("a.parquet", {"id": [1]})
    main.import_parquet("t", source)
    main.drop_table("t")
    assert main.import_parquet("t", source).created
    assert rows(main.table("t")) == [(1,)]


def test_a_new_edition_remembers_no_import(main, source, put):
    put("a.parquet", {"id": [1]})
    main.import_parquet("t", source)
    main.table("t").create_edition("next")
    main.table("t").activate("next")
    assert rows(main.table("t")) == []
    assert main.import_parquet("t", source).files == 1
    assert rows(main.table("t")) == [(1,)]


def test_files_that_were_added_by_hand_are_known(main, source, put):
    path = put("a.parquet", {"id": [1]})
    main.create_table("t", {"id": "long"}).add_files(path)
    assert main.import_parquet("t", source).known_files == 1


def test_unsetting_the_property_forgets_what_was_copied(main, source, put):
    put("a.parquet", {"id": [1]})
    main.import_parquet("t", source, copy=True)
    main.table("t").unset_properties([remembered.FILES])
    main.import_parquet("t", source, copy=True)
    assert rows(main.table("t")) == [(1,), (1,)]


def test_the_same_call_with_the_same_event_id_commits_once(main, source, put):
    put("a.parquet", {"id": [1]})
    event = lakebed.event_id("nightly", 1)
    first = main.import_parquet("t", source, event_id=event)
    put("b.parquet", {"id": [2]})
    again = main.import_parquet("t", source, event_id=event)
    assert again.commit == first.commit
    assert (again.files, again.rows, again.created) == (1, 1, True)
    assert rows(main.table("t")) == [(1,)]
    with pytest.raises(Invalid, match="event id"):
        main.import_parquet("t", source, copy=True, event_id=event)


def test_many_imports_are_remembered_together(main, source, put, monkeypatch):
    monkeypatch.setattr(remembered, "MOST_BODIES", 3)
    for number in range(8):
        put(f"{number}.parquet", {"id": [number]})
        assert main.import_parquet("t", source).files == 1
        assert main.table("t").properties[remembered.FILES].count(",") <= 5
    assert main.import_parquet("t", source).known_files == 8


def test_two_folders_go_into_one_table(main, put):
    one, other = Path(put("one/a.parquet", {"id": [1]})).parent, Path(put("other/a.parquet", {"id": [2]})).parent
    main.import_parquet("t", one)
    assert main.import_parquet("t", [one, other]).files == 1
    assert main.import_parquet("t", f"{one.parent}/*/*.parquet").known_files == 2


# Never changing the source


def test_the_source_survives_everything(main, source, put):
    put("month=1/a.parquet", {"id": [1, 2]})
    put("month=2/a.parquet", {"id": [3]})
    theirs = contents(source)
    main.import_parquet("t", source)
    table = main.table("t")
    table.delete("id = 1")
    table.update({"id": "id + 10"}, "id = 2")
    table.compact()
    table.overwrite({"id": [9], "month": [1]})
    main.drop_table("t")
    main.purge_table("t")
    assert contents(source) == theirs


# Hive's folders


def test_folders_become_columns_and_partitions(main, source, put):
    for month, day in ((1, "2026-01-05"), (2, "2026-02-06")):
        folders = f"month=0{month}/day={day}/zip=0{month}234/k=a%2Fb/ym=2026-0{month}/at={day} 10%3A00%3A00"
        put(f"{folders}/a.parquet", {"id": [month]})
    found = main.import_parquet("t", source)
    table = main.table("t")
    assert [(one.name, one.type) for one in found.columns] == [
        ("id", "long"),
        ("month", "int"),
        ("day", "date"),
        ("zip", "string"),
        ("k", "string"),
        ("ym", "string"),
        ("at", "timestamp"),
    ]
    assert list(table.spec) == ["month", "day", "zip", "k", "ym", "at"]
    assert rows(table, "id", "month", "zip", "k") == [(1, 1, "01234", "a/b"), (2, 2, "02234", "a/b")]
    assert len(table.scan("month = 2", columns=["id"]).files()) == 1
    theirs = pyarrow.dataset.dataset(source, partitioning="hive").to_table()
    assert sorted(theirs["id"].to_pylist()) == [1, 2]


def test_types_of_folders_can_be_given(main, source, put):
    put("month=01/a.parquet", {"id": [1]})
    main.import_parquet("t", source, types={"month": "string"})
    assert rows(main.table("t")) == [(1, "01")]


def test_a_folder_for_nulls(main, source, put):
    put("k=__HIVE_DEFAULT_PARTITION__/a.parquet", {"id": [1]})
    put("k=7/a.parquet", {"id": [2]})
    main.import_parquet("t", source)
    assert rows(main.table("t")) == [(1, None), (2, 7)]


def test_a_column_that_is_in_the_files_too_has_to_say_the_same(main, source, put):
    put("month=1/a.parquet", {"id": [1], "month": [1]})
    put("month=2/a.parquet", {"id": [2], "month": [1]})
    found = main.import_parquet("t", source, dry_run=True)
    [misfit] = found.misfits
    assert misfit.problem == "month: the folder says 2, the file 1"
    with pytest.raises(Invalid, match="the folder says 2, the file 1"):
        main.import_parquet("t", source)
    assert not main.table_exists("t")
    main.import_parquet("t", source, partitions=None)
    assert rows(main.table("t")) == [(1, 1), (2, 1)]
    assert list(main.table("t").spec) == []


def test_one_folder_at_a_time(main, source, put):
    put("month=1/a.parquet", {"id": [1]})
    put("month=2/a.parquet", {"id": [2]})
    main.import_parquet("t", source / "month=1")
    main.import_parquet("t", source / "month=2")
    assert rows(main.table("t")) == [(1, 1), (2, 2)]


def test_what_is_above_the_folder_says_nothing(main, source, put):
    put("env=prod/orders/month=1/a.parquet", {"id": [1]})
    main.import_parquet("t", source / "env=prod/orders")
    assert main.table("t").schema.names == ("id", "month")


def test_folders_of_other_names_are_a_misfit(main, source, put):
    put("a/month=1/a.parquet", {"id": [1]})
    put("b/year=1/a.parquet", {"id": [1]})
    put("c/a.parquet", {"id": [1]})
    found = main.import_parquet("t", source, dry_run=True)
    assert [one.problem for one in found.misfits] == [
        "its folders say year, those of others month",
        "its folders say nothing, those of others month",
    ]


def test_a_folder_that_the_table_has_no_column_for_is_a_misfit(main, source, put):
    main.create_table("t", {"id": "long"})
    put("region=eu/a.parquet", {"id": [1]})
    with pytest.raises(Invalid, match="region: only folders say it, and the table has no such column"):
        main.import_parquet("t", source)


def test_partitions_by_terms(main, source, put):
    put("a.parquet", {"id": [1, 2]})
    put("b.parquet", {"id": [11]})
    main.import_parquet("t", source, partitions=["truncate(10, id)"])
    assert list(main.table("t").spec) == ["truncate(10, id)"]
    put("c.parquet", {"id": [3, 30]})
    with pytest.raises(Invalid, match="rows of several partitions"):
        main.import_parquet("t", source)


# Columns


def test_the_columns_of_all_files_together(main, source, put):
    put("a.parquet", {"id": pyarrow.array([1], "int32"), "x": pyarrow.array([1.5], "float32")})
    put("b.parquet", {"id": pyarrow.array([2**40], "int64"), "s": [{"a": 1}]})
    put("c.parquet", {"x": pyarrow.array([0.1], "float64"), "s": [{"b": "t"}]})
    main.import_parquet("t", source)
    assert str(main.table("t").schema).split("\n")[1:] == [
        "  id: long",
        "  x: double",
        "  s: struct<a: long, b: string>",
    ]
    assert rows(main.table("t")) == [
        (1, 1.5, None),
        (1099511627776, None, {"a": 1, "b": None}),
        (None, 0.1, {"a": None, "b": "t"}),
    ]


def test_decimals_grow(main, source, put):
    put("a.parquet", {"d": pyarrow.array([1], pyarrow.decimal128(5, 2))})
    put("b.parquet", {"d": pyarrow.array([2], pyarrow.decimal128(12, 2))})
    main.import_parquet("t", source)
    assert str(main.table("t").schema.field("d").type) == "decimal(12, 2)"
    assert duckdb.sql("select sum(d) from t", connection=connected(main, "t")).fetchall()[0][0] == 3


def connected(main: Catalog, name: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register(name, main.table(name).scan().to_arrow())
    return connection


def test_columns_that_do_not_fit_are_listed_and_can_be_left_out(main, source, put):
    put("a.parquet", {"id": [1], "x": ["a"], "t": pyarrow.array([1], pyarrow.duration("us"))})
    put("b.parquet", {"id": [2], "x": [7], "u": pyarrow.array([1], "uint8")})
    found = main.import_parquet("t", source, dry_run=True)
    assert [one.problem for one in found.misfits] == [
        "t: a table can't have a column of this type (duration[us])",
        "x: string in other files, long here",
        "x: string expected, int64 found",
        "u: int expected, INT32 Int(bitWidth=8, isSigned=false) found",
    ]
    assert {one.source: one.type for one in found.columns}["t"] is None
    assert "t: duration[us], left out" in str(found)
    main.import_parquet("t", source, leave_out=["T", "x", "u"])
    assert rows(main.table("t")) == [(1,), (2,)]


def test_copies_take_types_that_rows_in_place_can_not_have(main, source, put):
    columns = {
        "u": pyarrow.array([200], "uint8"),
        "w": pyarrow.array([2**32 - 1], "uint32"),
        "m": pyarrow.array([1000], pyarrow.time32("ms")),
        "d": pyarrow.array(["a"]).dictionary_encode(),
        "n": pyarrow.array([1_700_000_000_000_000_000], pyarrow.timestamp("ns")),
    }
    put("k=1/a.parquet", columns, use_deprecated_int96_timestamps=True)
    main.import_parquet("t", source, copy=True)
    [row] = main.table("t").scan().to_arrow().to_pylist()
    assert (row["u"], row["w"], str(row["m"]), row["d"], row["k"]) == (200, 2**32 - 1, "00:00:01", "a", 1)
    assert row["n"].isoformat() == "2023-11-14T22:13:20+00:00"
    with pytest.raises(Invalid, match=r"timestamptz expected, timestamp\[ns\] found"):
        main.import_parquet("other", source, leave_out=["u", "w", "m", "d"])


def test_new_columns_are_added_by_choice(main, source, put):
    put("a.parquet", {"id": [1]})
    main.import_parquet("t", source)
    put("b.parquet", {"id": [2], "more": ["x"]})
    with pytest.raises(Invalid, match='more: the table has no such column: pass evolve="add"'):
        main.import_parquet("t", source)
    main.import_parquet("t", source, evolve="add")
    assert rows(main.table("t")) == [(1, None), (2, "x")]


def test_ids_of_fields_are_kept_if_they_are_those_of_one_table(main, source, put):
    def field(name: str, id: int) -> pyarrow.Field:
        return pyarrow.field(name, pyarrow.int64(), metadata={"PARQUET:field_id": str(id)})

    put("a.parquet", pyarrow.table([[1], [2]], schema=pyarrow.schema([field("a", 7), field("b", 3)])))
    main.import_parquet("t", source)
    table = main.table("t")
    assert [(one.name, one.id) for one in table.schema.fields] == [("a", 7), ("b", 3)]
    with table.evolve() as change:
        change.add_column("c", "long")
    assert table.schema.field("c").id == 8
    put("b.parquet", pyarrow.table([[1], [2]], schema=pyarrow.schema([field("a", 3), field("b", 7)])))
    with pytest.raises(Invalid, match="another table's file"):
        main.import_parquet("t", source)


def test_names_that_are_no_plain_words_are_found_again(main, source, put):
    put("a b=1/a.parquet", {"order id": [1], "ü.x": [2], "_metadata": [3]})
    main.import_parquet("t", source)
    assert rows(main.table("t"), "order id", "ü.x", "_metadata", "a b") == [(1, 2, 3, 1)]


@pytest.mark.parametrize("names", [["id", "ID"], ["_row_id"], ["lakebed.x"]])
def test_names_that_a_table_can_not_have_are_misfits(main, source, put, names):
    put("a.parquet", pyarrow.table([[1]] * len(names), names=names))
    assert len(main.import_parquet("t", source, dry_run=True).misfits) >= 1
    with pytest.raises(Invalid, match="not all of the source fits"):
        main.import_parquet("t", source)


def test_a_key_is_looked_for_when_the_table_is_made(main, source, put):
    put("a.parquet", {"id": [1, 2]})
    put("b.parquet", {"id": [2]})
    for copy in (False, True):
        with pytest.raises(Invalid, match="primary key"):
            main.import_parquet("t", source, primary_key=["id"], copy=copy)
    assert not main.table_exists("t")
    (source / "b.parquet").unlink()
    main.import_parquet("t", source, primary_key=["id"], sort_by=["id"], properties={"write.check-keys": "true"})
    assert main.table("t").get(2) == {"id": 2}
    put("c.parquet", {"id": [1]})
    with pytest.raises(Invalid, match="primary key"):
        main.import_parquet("t", source)


def test_the_same_call_every_night_gives_the_same_layout(main, source, put):
    def nightly(**other):
        layout = {"primary_key": ["id"], "sort_by": ["id desc"], "properties": {"write.row-group-rows": "5"}}
        return main.import_parquet("t", source, **{**layout, **other})

    put("a.parquet", {"id": [1]})
    nightly()
    put("b.parquet", {"id": [2]})
    assert nightly().files == 1
    for other in ({"primary_key": ["x"]}, {"sort_by": ["id"]}, {"properties": {"write.row-group-rows": "6"}}):
        with pytest.raises(Invalid, match="there already, with another layout"):
            nightly(**other)


# Hostile and odd sources


def test_every_file_that_can_not_be_read_is_named(main, source, put):
    put("good.parquet", {"id": [1]})
    whole = (source / "good.parquet").read_bytes()
    (source / "cut.parquet").write_bytes(whole[:-20])
    (source / "text.parquet").write_text("id\n1\n")
    (source / "empty.parquet").write_bytes(b"")
    (source / "README.md").write_text("about")
    (source / "_SUCCESS").write_text("")
    (source / ".hidden.crc").write_text("")
    damaged = bytearray(whole)
    damaged[-30] ^= 255
    (source / "damaged.parquet").write_bytes(damaged)
    found = main.import_parquet("t", source, dry_run=True)
    named = {one.subject.rpartition("/")[2] for one in found.misfits}
    assert {"cut.parquet", "text.parquet", "empty.parquet", "README.md"} <= named
    assert named <= {"cut.parquet", "text.parquet", "empty.parquet", "README.md", "damaged.parquet"}
    with pytest.raises(Invalid, match=r"cut\.parquet.*nothing was imported|nothing was imported.*cut\.parquet"):
        main.import_parquet("t", source)
    assert main.import_parquet("t", f"{source}/good*").files == 1


def test_files_without_rows_are_counted_and_left_out(main, source, put):
    put("empty.parquet", {"id": pyarrow.array([], "int64")})
    found = main.import_parquet("t", source)
    assert (found.created, found.files, found.empty_files, found.rows) == (True, 0, 1, 0)
    assert main.table("t").schema.names == ("id",)
    put("a.parquet", {"id": [1]})
    more = main.import_parquet("t", source)
    assert (more.files, more.empty_files) == (1, 0)


def test_a_file_that_was_changed_after_its_import_is_a_misfit(main, source, put):
    path = put("a.parquet", {"id": [1]})
    main.import_parquet("t", source, copy=True)
    os.utime(path, (1, 1))  # copied again by another program, with the same bytes
    assert main.import_parquet("t", source, copy=True).known_files == 1
    put("a.parquet", {"id": [2, 3]})
    put("b.parquet", {"id": [4]})
    with pytest.raises(Invalid, match="it was changed after it was imported"):
        main.import_parquet("t", source, copy=True)
    assert rows(main.table("t")) == [(1,)]


def test_the_folder_of_another_format_is_refused(main, source, put):
    put("delta/a.parquet", {"id": [1]})
    (source / "delta/_delta_log").mkdir()
    put("ice/data/a.parquet", {"id": [1]})
    (source / "ice/metadata").mkdir()
    (source / "ice/metadata/v1.metadata.json").write_text("{}")
    (source / "hudi/.hoodie").mkdir(parents=True)
    for folder in ("delta", "ice", "hudi"):
        with pytest.raises(Invalid, match="which also has files of its past"):
            main.import_parquet("t", source / folder)


def test_files_of_the_lake_itself_are_refused(main, lake, folder, source, in_files):
    main.create_table("own", {"id": "long"}).append({"id": [1]})
    with pytest.raises(Invalid, match="in the folder of a table"):
        main.import_parquet("t", main.table("own").location)


def test_what_is_not_there(main, source):
    with pytest.raises(NotFound):
        main.import_parquet("t", source / "nowhere.parquet")
    with pytest.raises(Invalid, match="the folder has no files"):
        main.import_parquet("t", source)
    with pytest.raises(Invalid):
        main.import_parquet("t", "s3://bucket/orders/")


def test_damaged_memory_is_not_taken_for_nothing(main, source, put):
    put("a.parquet", {"id": [1]})
    main.import_parquet("t", source)
    main.table("t").set_properties({remembered.FILES: "{"})
    with pytest.raises(Corrupt, match="unset_properties"):
        main.import_parquet("t", source)
    main.table("t").set_properties({remembered.FILES: '{"format": 2, "edition": "", "bodies": []}'})
    with pytest.raises(Invalid, match="Upgrade"):
        main.import_parquet("t", source)


def test_a_row_count_that_differs_commits_nothing(main, source, put, monkeypatch):
    put("a.parquet", {"id": [1]})
    from lakebed.lake.imports import parquet

    monkeypatch.setattr(parquet, "row_count", lambda work, table: 5)
    with pytest.raises(Corrupt, match="did not get the rows"):
        main.import_parquet("t", source)
    assert not main.table_exists("t")


def test_what_can_only_be_read_takes_no_import(main, source, put, tmp_path):
    put("a.parquet", {"id": [1]})
    with pytest.raises(Forbidden):
        main.at(main.version).import_parquet("t", source)
    lakebed.connect(tmp_path / "closed", create=True).close()
    with lakebed.connect(tmp_path / "closed", read_only=True) as lake, pytest.raises(Forbidden):
        lake.catalog().import_parquet("t", source)


# Bytes


def test_the_bytes_of_what_is_remembered(main):
    files = [remembered.ImportedFile("file:///a/ü.parquet", 7, 2**32 - 1, 1_700_000_000_000_000)]
    body = remembered.encode(files)
    assert list(remembered.decode(body)) == files
    golden = json.loads((GOLDEN / "imports.json").read_text())
    assert [*remembered.decode(bytes.fromhex(golden["body"]))] == [
        remembered.ImportedFile(*one) for one in golden["files"]
    ]
    for damaged in (body[:-3], b"LKBI\x01abc", b"NOPE"):
        with pytest.raises(Corrupt):
            list(remembered.decode(damaged))
    with pytest.raises(Invalid, match="Upgrade"):
        list(remembered.decode(b"LKBI\x02abc"))


# Races and batches


def test_imports_that_race_bring_each_file_once(tmp_path, source, put):
    for number in range(6):
        put(f"{number}.parquet", {"id": [number]})
    lakebed.connect(tmp_path / "lake", create=True).close()
    context = multiprocessing.get_context("spawn")
    runs = [context.Process(target=import_it, args=(str(tmp_path / "lake"), str(source))) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0]
    with lakebed.connect(tmp_path / "lake") as lake:
        assert rows(lake.catalog().table("t")) == [(number,) for number in range(6)]


def import_it(lake: str, source: str) -> None:
    with lakebed.connect(lake) as opened:
        opened.catalog().import_parquet("t", source, copy=True)


def test_two_branches_that_import_the_same_conflict_when_they_are_merged(main, source, put):
    put("a.parquet", {"id": [1]})
    main.import_parquet("t", source, copy=True)
    dev = main.create_branch("dev")
    put("b.parquet", {"id": [2]})
    for line in (main, dev):
        line.import_parquet("t", source, copy=True)
    with pytest.raises(Conflict):
        main.merge(dev)


def test_an_import_on_a_branch_is_merged_with_what_it_remembers(main, source, put):
    put("a.parquet", {"id": [1]})
    dev = main.create_branch("dev")
    dev.import_parquet("t", source)
    main.merge(dev)
    assert main.import_parquet("t", source).known_files == 1


def test_batches_are_one_commit_of_the_line(main, source, put, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 1)
    for number in range(4):
        put(f"k={number}/a.parquet", {"id": pyarrow.array([number], "int32" if number < 2 else "int64")})
    before = main.version
    found = main.import_parquet("sales.t", source, copy=True, message="all of it")
    assert [one.message for one in main.log(table="sales.t") if one.line == found.commit.line] == ["all of it"]
    assert (found.files, found.rows, found.source_rows, found.created) == (4, 4, 4, True)
    assert found.commit.version > before
    assert len(main.branches()) == 1
    assert rows(main.table("sales.t")) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    put("k=9/a.parquet", {"id": [9]})
    assert main.import_parquet("sales.t", source, copy=True).known_files == 4


def test_batches_that_stopped_go_on(main, source, put, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 1)
    for number in range(4):
        put(f"{number}.parquet", {"id": [number]})
    own, done = batches._batch, []

    def stopping(*arguments):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(own(*arguments))
        return done[-1]

    monkeypatch.setattr(batches, "_batch", stopping)
    with pytest.raises(KeyboardInterrupt):
        main.import_parquet("t", source, copy=True)
    assert not main.table_exists("t")
    monkeypatch.setattr(batches, "_batch", own)
    put("later.parquet", {"id": [9]})
    found = main.import_parquet("t", source, copy=True)
    assert found.files == 3
    assert rows(main.table("t")) == [(0,), (1,), (2,), (3,), (9,)]
    assert [branch.ref for branch in main.branches()] == ["main"]


def test_a_table_that_others_made_meanwhile_is_not_merged_over(main, source, put, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_BYTES", 1)
    for number in range(2):
        put(f"{number}.parquet", {"id": [number]})
    own = batches._batch
    monkeypatch.setattr(
        batches, "_batch", lambda *given: (main.create_table("t", {"x": "long"}, if_not_exists=True), own(*given))[1]
    )
    with pytest.raises((Conflict, AlreadyExists)) as refused:
        main.import_parquet("t", source, copy=True)
    assert "import-" in str(refused.value)
    assert main.table("t").schema.names == ("x",)


def test_it_prints_what_it_did(main, source, put):
    put("month=1/a.parquet", {"order id": [1], "x": pyarrow.array([1], "int8")})
    text = str(main.import_parquet("t", source))
    version = main.version
    assert text.split("\n") == [
        f"t from parquet {source}",
        "  created, 1 file, 1 row in the source, +1 in the table",
        "  order id: int64 -> long",
        "  x: int8 -> int",
        "  month: folder -> int",
        f"  version {version}",
    ]
    assert main.import_parquet("t", source)._repr_html_().startswith("<")


def test_files_in_place_that_are_gone_are_noted(main, source, put):
    put("a.parquet", {"id": [1]})
    main.import_parquet("t", source)
    shutil.move(source / "a.parquet", source / "b.parquet")
    found = main.import_parquet("t", source, dry_run=True)
    assert found.files == 1
    [note] = found.notes
    assert note.endswith("a.parquet: reads of its rows fail")
    assert note in str(found)
    main.table("t").truncate()
    assert main.import_parquet("t", source, dry_run=True).notes == ()


def test_a_file_whose_only_column_is_too_deep_was_called_a_table_without_columns(main, source, put):
    column, value = pyarrow.int64(), 1
    for _ in range(40):
        column, value = pyarrow.struct([("a", column)]), {"a": value}
    put("a.parquet", pyarrow.table({"x": pyarrow.array([value], column)}))
    with pytest.raises(Invalid, match="x: a column is nested too deeply"):
        main.import_parquet("t", source)
    assert "nested too deeply" in main.import_parquet("t", source, dry_run=True).misfits[0].problem
