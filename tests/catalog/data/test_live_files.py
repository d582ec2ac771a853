"""All files of a table without a filter: what is counted by columns is what a read gives."""

from dataclasses import replace

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed.catalog.data.changes import change_files, delta_of
from lakebed.catalog.data.live_files import LiveFiles, live_files, table_files
from lakebed.catalog.data.planning import plan
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Request
from lakebed.errors import Conflict, Corrupt
from lakebed.table.entries import object, parts
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from tests.support.examples import examples

NO_CHECKPOINTS = {"checkpoint.deltas": "0", "checkpoint.bytes": "0"}
IN_FILES = {**NO_CHECKPOINTS, "write.inline-bytes": "0"}

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "inline", "empty", "delete", "update", "compact", "truncate"]),
        st.booleans(),
        st.integers(0, 9),
    ),
    max_size=10,
)


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "region": ["eu" if n % 2 else "us" for n in ids]})


def do(table, what, pick):
    match what:
        case "append":
            table.append(numbers(pick, pick + 1, pick + 2))
        case "inline":
            table.set_properties({"write.inline-bytes": "64000"})
            table.append(numbers(pick))
            table.set_properties({"write.inline-bytes": "0"})
        case "empty":
            table.append(numbers())
        case "delete":
            table.delete(f"id = {pick}")
        case "update":
            table.update({"region": "'asia'"}, where=f"id = {pick}")
        case "compact":
            table.compact()
        case "truncate":
            table.truncate()


def planned(table):
    work = table._scope.read()
    return plan(work, table_state(work, table.id)).files


def expected(table):
    """The files as they are folded from all deltas, in the order of a plan."""
    work = table._scope.read()
    state = table_state(work, table.id)
    pending = work.deltas.get(table._state.partition)
    own = [] if pending is None else [*pending.changed, *pending.added]
    paths = {one.path for one in own}
    committed = [one for path, one in live_files(work, state).items() if path not in paths]
    return [*sorted(committed, key=lambda one: (one.first_row_id, one.path)), *own]


def assert_agrees(table):
    files, wanted = planned(table), expected(table)
    assert isinstance(files, LiveFiles)
    assert len(files) == len(wanted)
    assert [one.file for one in files] == wanted
    assert [files[place].file for place in range(len(files))] == wanted
    assert [one.file for one in files[1:-1:2]] == wanted[1:-1:2]
    assert [one.file for one in files[::-1]] == wanted[::-1]
    rows = table.scan().to_arrow().num_rows
    assert table.scan().count() == rows
    assert [table.scan(limit=limit).count() for limit in (0, 2, 100)] == [0, min(2, rows), rows]
    assert table.scan("id >= 0 or id < 0").count() == rows


@settings(max_examples=examples(12, 25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, STEPS)
def test_what_is_counted_is_what_is_read(main, steps, later):
    """Law: `count()` is `to_arrow().num_rows`, whether a checkpoint has the files, deltas or the transaction itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_FILES", 2)
        name = f"t{sum(1 for _ in main.tables())}"
        form = {"id": "long", "region": "string"}
        table = main.create_table(name, form, partition_by=["region"], properties=IN_FILES)
        for what, is_pointed, pick in steps:
            do(table, what, pick)
            if is_pointed:
                table.checkpoint()
        assert_agrees(table)
        with main.transaction() as inside:
            for what, _, pick in later:
                do(inside.table(name), what, pick)
            assert_agrees(inside.table(name))
        assert_agrees(table)


@pytest.fixture
def table(main):
    """Twelve rows in files of a checkpoint."""
    table = main.create_table("t", {"id": "long", "region": "string"}, properties=IN_FILES)
    for start in range(0, 12, 3):
        table.append(numbers(start, start + 1, start + 2))
    table.checkpoint()
    return table


def refuse(*_):
    raise AssertionError("a file of a checkpoint became an object")


def test_a_count_makes_no_objects_of_a_checkpoint_s_files(table, monkeypatch):
    table.delete("id in (1, 2, 3)")
    table.checkpoint()
    table.delete("id = 11")
    monkeypatch.setattr(object, "assemble", refuse)
    assert table.scan().count() == 8
    assert len(planned(table)) == 4
    with pytest.raises(AssertionError):
        list(planned(table))


def test_few_rows_make_few_objects(table, monkeypatch):
    made, own = list[int](), object.assemble

    def counted(columns, rows):
        files = own(columns, rows)
        made.append(len(files))
        return files

    monkeypatch.setattr(object, "assemble", counted)
    monkeypatch.setattr("lakebed.catalog.data.live_files.FIRST_WINDOW", 1)
    assert table.scan(limit=2).to_arrow().num_rows == 2
    assert made == [1]
    assert planned(table)[3].file.num_rows == 3
    assert made == [1, 1]


def test_a_scan_counts_what_was_there_when_it_was_made(main, table):
    scans = [table.scan()]
    table.append(numbers(20))
    scans.append(table.scan())
    table.delete("id < 6")
    table.compact()
    table.checkpoint()
    with main.transaction() as inside:
        own = inside.table("t")
        scans.append(own.scan())
        own.append(numbers(21, 22))
        scans.append(own.scan())
        own.truncate()
        found = [(one.count(), one.to_arrow().num_rows) for one in scans]
        assert found == [(12, 12), (13, 13), (7, 7), (9, 9)]
        assert own.scan().count() == 0
    assert [one.count() for one in scans[:3]] == [12, 13, 7]


def test_a_transaction_takes_away_files_of_a_checkpoint_and_of_deltas_since(main, table):
    table.append(numbers(20, 21))
    table.delete("id = 0")
    with main.transaction() as inside:
        own = inside.table("t")
        own.delete("id in (0, 1, 6, 7, 8, 20, 21)")
        assert own.scan().count() == own.scan().to_arrow().num_rows == 7
        assert_agrees(own)
        own.delete("id in (2, 9)")
        assert_agrees(own)


def test_a_scan_of_which_nothing_was_asked_is_a_read_of_its_transaction(main, table):
    main.create_table("copy", {"id": "long"})
    with pytest.raises(Conflict), main.transaction(isolation="serializable") as inside:
        inside.table("t").scan()
        table.append(numbers(30))
        inside.table("copy").append(pyarrow.table({"id": [1]}))


def test_deletes_that_nobody_counted_are_counted(table):
    """As entries have them that another writer made: a vector, but no number of its positions."""
    table.delete("id in (0, 1, 5)")

    def uncounted(work):
        state = table_state(work, table.id)
        changed = [copied(one) for one in live_files(work, state).values() if one.HasField("dv_path")]
        change_files(work, state, replace(delta_of(state, "delete"), changed=tuple(changed)))

    table._scope.change(uncounted, Request("delete", (table.id,)))
    assert table.scan().count() == table.scan().to_arrow().num_rows == 9
    table.checkpoint()
    assert table.scan().count() == table.scan().to_arrow().num_rows == 9


def copied(file):
    made = DataFileRef()
    made.CopyFrom(file)
    made.ClearField("deleted_rows")
    return made


def test_a_file_that_the_checkpoint_lacks_can_t_be_removed_from_it(table):
    work = table._scope.read()
    files = table_files(work, table_state(work, table.id))
    stray = DataFileRef(path="data/stray.parquet", num_rows=1)
    for what in ("removed", "changed"):
        wrong = replace(files, overlay=replace(files.overlay, **{what: {stray.path: stray}}))
        with pytest.raises(Corrupt, match="a delta changes a file that is missing from its checkpoint") as caught:
            LiveFiles(work.context, wrong).live_rows()
        assert caught.value.subject == stray.path
        with pytest.raises(Corrupt, match="a delta changes a file that is missing from its checkpoint"):
            list(LiveFiles(work.context, wrong))


@pytest.mark.parametrize("is_pointed", [False, True])
def test_files_whose_rows_have_the_same_ids_are_in_the_order_of_their_paths(main, is_pointed):
    table = main.create_table("t", {"id": "long", "region": "string"}, properties=NO_CHECKPOINTS)

    def add(*paths):
        def added(work):
            state = table_state(work, table.id)
            files = tuple(DataFileRef(path=path, file_size=1, num_rows=1, first_row_id=7) for path in paths)
            change_files(work, state, replace(delta_of(state, "insert"), added=files))

        table._scope.change(added, Request("append", (table.id,)))

    add("data/d", "data/b", "data/é")
    if is_pointed:
        table.checkpoint()
    add("data/c", "data/a", "data/z")
    paths = [f"data/{name}" for name in "abcdzé"]
    assert [one.file.path for one in planned(table)] == paths
    assert [planned(table)[place].file.path for place in range(-6, 6)] == [*paths, *paths]
    with pytest.raises(IndexError):
        planned(table)[6]
