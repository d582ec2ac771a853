"""Existing Parquet files become rows of a table where they are, and stay the property of whoever wrote them."""

import multiprocessing
import os
import shutil
import threading
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import lakebed
from lakebed import Catalog, Lake
from lakebed.errors import AlreadyExists, Conflict, Corrupt, Forbidden, Invalid, NotFound
from tests.support.scans import opened_files

SCHEMA = {"id": "long", "name": "string"}


@pytest.fixture
def outside(tmp_path: Path):
    """Write rows to a file outside the lake, and answer its path."""

    def put(*ids, name="a.parquet", **columns):
        path = tmp_path / "outside" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pyarrow.table({"id": list(ids), "name": [f"n{one}" for one in ids], **columns})
        pyarrow.parquet.write_table(table, path)
        return str(path)

    return put


@pytest.fixture
def table(main: Catalog):
    return main.create_table("t", SCHEMA)


def ids(table, where=None):
    return sorted(table.scan(where, columns=["id"]).to_arrow()["id"].to_pylist())


def contents(folder: Path):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Adding


def test_the_rows_of_files_are_rows_of_the_table_and_nothing_is_copied(table, outside, files, tmp_path):
    paths = [outside(1, 2), outside(3, name="b c/ü%20[1].parquet")]
    theirs, ours = contents(tmp_path / "outside"), files()
    commit = table.add_files([paths[0], Path(paths[1])], message="adopt")
    assert table.scan().to_arrow().to_pylist() == [{"id": one, "name": f"n{one}"} for one in (1, 2, 3)]
    assert ids(table, "id > 1 AND name < 'n3'") == [2]
    assert table.scan().count() == 3
    assert table.scan().files() == paths
    assert contents(tmp_path / "outside") == theirs
    assert files() == ours
    [operation] = commit.operations
    assert (operation.type, operation.counts["added_files"], operation.counts["added_rows"]) == ("insert", 2, 3)
    assert (commit.message, table.history()[0]) == ("adopt", commit)


def test_paths_are_absolute_or_of_the_working_folder_or_urls(table, outside, tmp_path, monkeypatch):
    outside(1), outside(2, name="b.parquet"), outside(3, name="c d.parquet")
    monkeypatch.chdir(tmp_path / "outside")
    table.add_files(["a.parquet", "../outside/b.parquet", f"file://{tmp_path}/outside/c%20d.parquet"])
    assert ids(table) == [1, 2, 3]
    monkeypatch.chdir("/")
    assert ids(table) == [1, 2, 3]


def test_files_inside_the_lake_have_relative_paths_and_move_with_it(tmp_path, outside):
    with lakebed.connect(str(tmp_path / "lake")) as lake:
        table = lake.catalog().create_table("t", SCHEMA)
        (tmp_path / "lake" / "landing").mkdir()
        shutil.copy(outside(1), tmp_path / "lake" / "landing" / "a.parquet")
        table.add_files([tmp_path / "lake" / "landing" / "a.parquet", outside(2)])
        assert table.scan().files()[0] == f"{tmp_path}/lake/landing/a.parquet"
    (tmp_path / "lake").rename(tmp_path / "moved")
    with lakebed.connect(str(tmp_path / "moved")) as lake:
        assert ids(lake.catalog().table("t")) == [1, 2]


def test_rows_have_ids_as_those_of_any_file(table, outside):
    table.append(pyarrow.table({"id": [7]}))
    table.add_files([outside(1, 2), outside(3, name="b.parquet")])
    found = table.scan(columns=["id", "_row_id", "_last_updated_sequence_number"]).to_arrow().to_pylist()
    assert [(one["id"], one["_row_id"]) for one in found] == [(7, 1), (1, 2), (2, 3), (3, 4)]
    assert len({one["_last_updated_sequence_number"] for one in found[1:]}) == 1


def test_files_and_appended_rows_live_together(table, outside):
    table.add_files([outside(1, 2, 3)])
    table.append(pyarrow.table({"id": [4], "name": ["n4"]}))
    table.delete("id = 2")
    table.upsert(pyarrow.table({"id": [3], "name": ["new"]}), on="id")
    assert ids(table) == [1, 3, 4]
    assert table.scan("name = 'new'").to_arrow()["id"].to_pylist() == [3]
    table.compact()
    assert ids(table) == [1, 3, 4]
    assert all(str(table.location) in one for one in opened_files(table.scan()))


def test_files_of_duckdb_with_bloom_filters_are_pruned_right(main, tmp_path):
    path = tmp_path / "duck.parquet"
    duckdb.sql(
        f"""COPY (SELECT (range % 50) * 2 AS id, 'n' || (range % 50) AS name FROM range(6000))
        TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)"""
    )
    table = main.create_table("t", SCHEMA)
    table.add_files([path])
    for one in (0, 42, 98):
        assert table.scan(f"id = {one}").count() == table.scan(f"name = 'n{one // 2}'").count() == 120
    assert table.scan("id = 43").count() == table.scan("name = 'n77'").count() == 0
    assert "bloom filters: cut 1 file" in table.scan("name = 'n2x'").explain()


def test_a_row_of_an_added_file_is_found_by_its_key(main, outside):
    table = main.create_table("t", SCHEMA, primary_key=["id"])
    table.add_files([outside(1, 2), outside(3, name="b.parquet")])
    assert table.get(2) == {"id": 2, "name": "n2"}
    assert table.get(9) is None
    with pytest.raises(Invalid, match="id: 1 nulls"):
        table.add_files([outside(4, None, name="c.parquet")])


def test_nothing_is_added_to_an_empty_list(table):
    before = table.version
    assert table.add_files([]).version > before
    assert table.scan().count() == 0


@pytest.mark.parametrize(
    "given", [b"a.parquet", None, 5, [5], [b"a"], [None], "", [""], ["a\0"], "http://host/a.parquet"], ids=repr
)
def test_what_is_not_a_path_is_refused(table, unchanged, given):
    with unchanged(), pytest.raises(Invalid):
        table.add_files(given)


# Columns that come and go


def test_columns_that_the_table_lacks_stay_hidden_whatever_the_table_gets_later(table, outside):
    table.add_files([outside(1, 2, extra=["x", "y"], other=[1, 2])])
    with table.evolve() as change:
        change.add_column("extra", "string")
        change.add_column("other", "date")  # of another type than in the file
    assert table.scan().to_arrow()["extra"].to_pylist() == [None, None]
    assert ids(table, "extra = 'x'") == []
    assert ids(table, "extra IS NULL AND other IS NULL") == [1, 2]
    table.append(pyarrow.table({"id": [3], "extra": ["x"]}))
    assert ids(table, "extra = 'x'") == [3]
    table.compact()
    assert ids(table, "extra IS NULL") == [1, 2]


def test_hidden_columns_stay_hidden_inside_of_structs(main, tmp_path):
    table = main.create_table("t", {"id": "long", "s": "struct<a: long>"})
    rows = pyarrow.table({"id": [1, 2], "s": pyarrow.array([{"a": 1, "b": 5}, None])})
    pyarrow.parquet.write_table(rows, tmp_path / "a.parquet")
    table.add_files([tmp_path / "a.parquet"])
    with table.evolve() as change:
        change.add_column("s.b", "long")
    assert table.scan().to_arrow()["s"].to_pylist() == [{"a": 1, "b": None}, None]
    assert ids(table, "s.b = 5") == []
    assert ids(table, "s.b IS NULL") == [1, 2]


def test_a_dropped_column_that_comes_back_shows_nothing_of_files_added_meanwhile(main, table, outside):
    table.append(pyarrow.table({"id": [1], "name": ["old"]}))
    with table.evolve() as change:
        change.drop_column("name")
    dropped = table.history()[0]
    table.add_files([outside(2)])  # has a column `name`
    main.revert(dropped)
    found = {row["id"]: row["name"] for row in table.scan().to_arrow().to_pylist()}
    assert found == {1: "old", 2: None}
    assert ids(table, "name = 'n2'") == []
    assert ids(table, "name IS NULL") == [2]


def test_a_column_of_a_branch_shows_nothing_of_files_that_trunk_added(main, table, outside):
    dev = main.create_branch("dev")
    with dev.table("t").evolve() as change:
        change.add_column("extra", "long")
    table.add_files([outside(1, extra=[5])])
    main.merge(dev)
    assert table.scan().to_arrow()["extra"].to_pylist() == [None]
    assert ids(table, "extra = 5") == []
    assert ids(table, "extra IS NULL") == [1]


def test_hidden_columns_don_not_prune_row_groups(main, tmp_path):
    table = main.create_table("t", {"id": "long"})
    rows = pyarrow.table({"id": [1, 2, 3, 4], "extra": [1, 2, 3, 4]})
    pyarrow.parquet.write_table(rows, tmp_path / "a.parquet", row_group_size=2)
    table.add_files([tmp_path / "a.parquet"])
    with table.evolve() as change:
        change.add_column("extra", "long", default=9)
    assert ids(table, "extra = 9") == [1, 2, 3, 4]
    assert ids(table, "extra = 1") == []


def test_defaults_of_columns_that_files_lack_are_shown(table, outside):
    with table.evolve() as change:
        change.add_column("kind", "string", default="plain")
    table.add_files([outside(1)])
    assert table.scan("kind = 'plain'").to_arrow()["kind"].to_pylist() == ["plain"]


def test_what_hidden_columns_are_survives_a_checkpoint(table, outside):
    table.add_files([outside(1, extra=["x"])])
    assert table.checkpoint() is not None
    with table.evolve() as change:
        change.add_column("extra", "string")
    assert ids(table, "extra = 'x'") == []
    assert table.scan().to_arrow()["extra"].to_pylist() == [None]


# Partitions


def test_files_are_in_the_partition_of_their_rows(main, outside):
    table = main.create_table("t", {"id": "long", "name": "string"}, partition_by=["truncate(10, id)"])
    table.add_files([outside(11, 12), outside(25, name="b.parquet")])
    found = main.inspect("__files").to_pylist()
    assert sorted(one["partition_values"] for one in found) == [b'{"id_trunc_10": "10"}', b'{"id_trunc_10": "20"}']
    assert table.scan("id >= 20").files() == table.scan("id = 25").files()
    assert ids(table, "id < 20") == [11, 12]
    with pytest.raises(Invalid, match="several partitions"):
        table.add_files([outside(5, 15, name="c.parquet")])
    table.overwrite_partitions(pyarrow.table({"id": [13], "name": ["n"]}))
    assert ids(table) == [13, 25]


# Refusals


def test_a_file_that_the_table_has_is_refused(table, outside, unchanged):
    path = outside(1)
    table.add_files([path])
    with unchanged(), pytest.raises(AlreadyExists) as caught:
        table.add_files([outside(2, name="b.parquet"), path])
    assert path in caught.value.subject
    table.checkpoint()
    with unchanged(), pytest.raises(AlreadyExists):
        table.add_files([path])
    assert ids(table) == [1]


def test_a_file_that_was_taken_away_can_be_added_again(table, outside):
    path = outside(1, 2)
    table.add_files([path])
    table.delete("id = 1")
    table.checkpoint()
    table.truncate()
    table.add_files([path])
    assert ids(table) == [1, 2]
    table.checkpoint()
    assert ids(table) == [1, 2]
    table.delete("id = 2")
    assert ids(table) == [1]


@pytest.mark.parametrize("break_it", ["lies", "misfit", "absent", "folder", "twice"])
def test_a_refused_file_leaves_everything_as_it_was(table, outside, unchanged, tmp_path, break_it):
    good = outside(1)
    bad = {
        "misfit": outside(2, name="b.parquet").replace("b.parquet", "m.parquet"),
        "absent": str(tmp_path / "nothing"),
        "folder": str(tmp_path),
        "lies": str(tmp_path / "lies"),
        "twice": good,
    }
    pyarrow.parquet.write_table(pyarrow.table({"id": ["text"]}), bad["misfit"])
    Path(bad["lies"]).write_bytes(b"PAR1 no file PAR1")
    with unchanged(), pytest.raises(NotFound if break_it == "absent" else Invalid):
        table.add_files([good, bad[break_it]])
    assert table.scan().count() == 0


def test_files_are_refused_where_nothing_can_be_written(main, table, outside):
    with pytest.raises(Forbidden):
        main.at(version=main.version).table("t").add_files([outside(1)])
    with pytest.raises(Forbidden):
        table.at(version=main.version).add_files([outside(1)])


# Files that change afterwards


@pytest.mark.parametrize("how", ["vanished", "shrank", "grew", "became a folder", "is another"])
def test_a_file_that_is_not_the_one_that_was_added_is_corrupt(table, outside, how):
    path = Path(outside(1, 2, 3))
    table.add_files([path])
    content = path.read_bytes()
    match how:
        case "vanished":
            path.unlink()
        case "shrank":
            path.write_bytes(content[:-1])
        case "grew":
            path.write_bytes(content + b"x")
        case "became a folder":
            path.unlink()
            path.mkdir()
        case "is another":
            path.write_bytes(b"x" * len(content))
    with pytest.raises(Corrupt) as caught:
        table.scan().to_arrow()
    assert caught.value.subject == f"file://{path}"
    assert table.scan().count() == 3  # which nobody has to open a file for


def test_other_rows_in_a_file_of_the_same_size_are_found_by_its_footer(table, outside):
    path = Path(outside(*range(1000)))
    table.add_files([path])
    size = path.stat().st_size
    content = Path(outside(*range(10), name="b.parquet")).read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    padding = bytes(size - len(content))  # before the footer, where nobody looks
    path.write_bytes(content[:-footer] + padding + content[-footer:])
    assert pyarrow.parquet.read_table(path).num_rows == 10
    with pytest.raises(Corrupt, match="its footer"):
        table.scan().to_arrow()


# History


def test_branches_tags_time_travel_and_diffs_see_added_files(main, table, outside):
    before = main.version
    dev = main.create_branch("dev")
    dev.table("t").add_files([outside(1)])
    assert ids(table) == []
    assert [one.name for one in main.diff(dev)] == ["t"]
    main.merge(dev)
    main.create_tag("with-files")
    table.truncate()
    assert ids(table) == []
    assert ids(table.at(tag="with-files")) == [1]
    assert ids(table.at(version=before)) == []
    main.drop_table("t")
    main.undrop_table("t")
    main.restore_table("t", main.at(tag="with-files").version)
    assert ids(main.table("t")) == [1]


def test_a_file_that_two_branches_add_is_merged_to_one(main, table, outside):
    path = outside(1, 2)
    dev = main.create_branch("dev")
    dev.table("t").add_files([path])
    table.add_files([path])
    main.merge(dev)
    assert ids(table) == [1, 2]
    assert table.scan().count() == 2


def test_reverting_takes_the_files_out_and_leaves_them_where_they_are(main, table, outside):
    path = outside(1)
    commit = table.add_files([path])
    main.revert(commit)
    assert ids(table) == []
    assert Path(path).exists()


def test_a_replayed_call_answers_the_first_commit(table, outside, unchanged):
    path, event = outside(1), lakebed.event_id("adopt", 1)
    commit = table.add_files([path], event_id=event)
    with unchanged():
        assert table.add_files([path], event_id=event) == commit
        with pytest.raises(Invalid, match="another change"):
            table.add_files([outside(2, name="b.parquet")], event_id=event)
    Path(path).unlink()
    assert table.add_files([path], event_id=event) == commit


# Transactions


def test_a_transaction_sees_its_files_and_commits_them_with_the_rest(main, table, outside):
    with main.transaction("load") as tx:
        inside = tx.table("t")
        assert inside.add_files([outside(1)]) is None
        inside.append(pyarrow.table({"id": [2]}))
        assert ids(inside) == [1, 2]
        assert ids(table) == []
        with pytest.raises(AlreadyExists):
            inside.add_files([outside(1)])
    assert ids(table) == [1, 2]
    assert len(table.history()) == 2


def test_a_transaction_that_ends_in_an_error_deletes_no_file_of_others(lake: Lake, main, folder, outside):
    (folder / "landing").mkdir(parents=True)
    shutil.copy(outside(1), folder / "landing" / "a.parquet")
    table = main.create_table("t", SCHEMA)
    theirs = contents(folder / "landing") | contents(Path(outside(1)).parent)
    with pytest.raises(ZeroDivisionError), main.transaction("load") as tx:
        tx.table("t").add_files([folder / "landing" / "a.parquet", outside(1)])
        raise ZeroDivisionError
    with main.transaction("made and dropped") as tx:
        tx.create_table("u", SCHEMA).add_files([folder / "landing" / "a.parquet", outside(1)])
        tx.drop_table("u")
    assert ids(table) == []
    assert contents(folder / "landing") | contents(Path(outside(1)).parent) == theirs


def test_one_transaction_can_not_take_a_file_away_and_add_it_again(main, table, outside):
    path = outside(1)
    table.add_files([path])
    with pytest.raises(Invalid, match="removes a file and adds it"), main.transaction("reload") as tx:
        tx.table("t").truncate()
        tx.table("t").add_files([path])
    assert ids(table) == [1]


def test_files_added_and_taken_away_in_one_transaction_stay_where_they_are(main, table, outside):
    path = Path(outside(1))
    with main.transaction("try") as tx:
        tx.table("t").add_files([path])
        tx.table("t").truncate()
    assert ids(table) == []
    assert path.exists()


# Races


def test_of_many_who_add_one_file_at_once_exactly_one_does(main, table, outside):
    path, barrier, outcomes = outside(1), threading.Barrier(6), []

    def add():
        barrier.wait()
        try:
            table.add_files([path])
            outcomes.append("added")
        except AlreadyExists:
            outcomes.append("there")

    threads = [threading.Thread(target=add) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(outcomes) == ["added", *["there"] * 5]
    assert ids(table) == [1]
    assert table.scan().count() == 1


def add_in_process(lake_path, path, queue):
    with lakebed.connect(lake_path) as lake:
        try:
            lake.catalog().table("t").add_files([path])
            queue.put("added")
        except AlreadyExists:
            queue.put("there")


@pytest.mark.long
def test_of_many_processes_that_add_one_file_exactly_one_does(tmp_path, outside):
    path = outside(1, 2)
    with lakebed.connect(str(tmp_path / "lake")) as lake:
        lake.catalog().create_table("t", SCHEMA)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    several = [context.Process(target=add_in_process, args=(str(tmp_path / "lake"), path, queue)) for _ in range(3)]
    for one in several:
        one.start()
    assert sorted(queue.get(timeout=120) for _ in several) == ["added", "there", "there"]
    for one in several:
        one.join()
    with lakebed.connect(str(tmp_path / "lake")) as lake:
        assert ids(lake.catalog().table("t")) == [1, 2]


def test_two_transactions_that_add_one_file_conflict(main, table, outside):
    path = outside(1)
    with pytest.raises(Conflict), main.transaction("slow") as tx:
        tx.table("t").add_files([path])
        table.add_files([path])
    assert ids(table) == [1]


def test_appends_and_other_files_meanwhile_are_no_conflict(main, table, outside):
    with main.transaction("slow") as tx:
        tx.table("t").add_files([outside(1)])
        table.append(pyarrow.table({"id": [2]}))
        table.add_files([outside(3, name="b.parquet")])
    assert ids(table) == [1, 2, 3]


# Purging


def test_purging_a_table_leaves_files_that_are_not_in_its_folder(main, folder, outside):
    table = main.create_table("t", SCHEMA)
    (folder / "landing").mkdir(parents=True, exist_ok=True)
    shutil.copy(outside(1), folder / "landing" / "a.parquet")
    table.add_files([folder / "landing" / "a.parquet", outside(2, name="b.parquet")])
    table.delete("id = 2")
    theirs = contents(folder / "landing") | contents(Path(outside(1)).parent)
    main.drop_table("t")
    main.purge_table("t")
    assert contents(folder / "landing") | contents(Path(outside(1)).parent) == theirs


def test_files_are_made_durable_before_the_commit(table, outside, monkeypatch, store):
    path, order = outside(1), []
    real = os.fsync

    def note(descriptor):
        order.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    table.add_files([path])
    assert order[:2] == [path, os.path.dirname(path)]


NOT_TEXT = pyarrow.array([b"fine", b"\xff\xfe"], pyarrow.binary()).view(pyarrow.string())


@pytest.mark.parametrize(
    ("type", "values", "column"),
    [
        ("string", NOT_TEXT, "s"),
        ("struct<inner: string>", pyarrow.StructArray.from_arrays([NOT_TEXT], ["inner"]), "s.inner"),
        ("list<string>", pyarrow.ListArray.from_arrays([0, 1, 2], NOT_TEXT), "s"),
    ],
    ids=["text", "struct", "list"],
)
def test_a_file_with_text_that_is_not_utf_8_was_added_and_no_scan_could_read_it(main, tmp_path, type, values, column):
    path = tmp_path / "bad.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2], "s": values}), path, write_statistics=False)
    table = main.create_table("texts", {"id": "long", "s": type})
    with pytest.raises(Invalid, match=rf"bad\.parquet: {column}.*not text"):
        table.add_files(path)
    assert table.scan().to_arrow().num_rows == 0
    pyarrow.parquet.write_table(pyarrow.table({"id": [3]}), tmp_path / "good.parquet")
    table.add_files(tmp_path / "good.parquet")
    assert table.scan().count() == 1


def test_a_file_added_without_a_look_at_its_text_is_named_by_the_scan_and_can_be_reverted(main, tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2], "s": NOT_TEXT}), tmp_path / "bad.parquet")
    table = main.create_table("texts", {"id": "long", "s": "string"})
    commit = table.add_files(tmp_path / "bad.parquet", verify=False)
    with pytest.raises(Corrupt, match=r"bad\.parquet.*UTF8"):
        table.scan().to_arrow()
    assert table.scan(columns=["id"]).to_arrow().num_rows == 2
    main.revert(commit)
    assert table.scan().to_arrow().num_rows == 0
