"""Appends whose rows are in the commit itself: no file, and the same as any rows to everybody who reads."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakebed
from lakebed import Conflict, Corrupt, Expired, Invalid, event_id
from lakebed.catalog.data.live_files import live_files
from lakebed.catalog.tables.tables import table_state
from lakebed.lake.rows import appends
from lakebed.records import layout
from lakebed.records.check.check import check
from lakebed.records.layout import PREFIX, Space
from lakebed.store import SQLiteStore
from lakebed.table.manifest.inline import BODY_KIND, inline_id, is_inline
from tests.support.faults import RecordingStore
from tests.support.unchecked import set_unchecked

INLINE_BYTES = "write.inline-bytes"


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table, **asked):
    return table.scan(**asked).to_arrow()["id"].to_pylist()


def entries(table):
    work = table._scope.read()
    return list(live_files(work, table_state(work, table.id)).values())


def are_inline(table):
    return [is_inline(one) for one in entries(table)]


def bodies(store, table_id):
    """The keys of all bodies of inline rows of a table."""
    prefix = PREFIX[Space.BODY] + layout.id_element(table_id) + layout.name_element(BODY_KIND)
    wanted = layout.prefix_range(prefix)
    return store.read(lambda transaction: [key for key, _ in transaction.snapshot.get_range(wanted).entries])


@pytest.fixture
def orders(main):
    orders = main.create_table("orders", {"id": "long"})
    orders.append(numbers(1, 2))
    return orders


def test_a_small_append_writes_no_file(orders, files):
    assert are_inline(orders) == [True]
    assert files() == {}
    assert ids(orders) == [1, 2]
    assert orders.scan().count() == 2
    [snapshot, _] = orders.snapshots()
    assert snapshot.counts["added_files"] == 1
    assert snapshot.counts["added_rows"] == 2
    assert snapshot.totals["bytes"] == entries(orders)[0].file_size


def test_it_is_one_commit_of_the_store(main, open_lake, store):
    recorded = RecordingStore(store)
    table = open_lake(recorded).catalog().create_table("t", {"id": "long"})
    recorded.commits.clear()
    table.append(numbers(1))
    assert len(recorded.commits) == 1


def test_rows_have_ids_and_sequences_as_those_of_files_have(orders):
    orders.append(numbers(3))
    first, second = entries(orders)
    assert (first.first_row_id, second.first_row_id) == (1, 3)
    assert (first.seq_min, second.seq_min) == (2, 3)


def test_filters_prune_and_test_them(orders):
    orders.append(numbers(10, 20))
    assert ids(orders, where="id >= 2 and id <= 10") == [2, 10]
    assert ids(orders, where="id > 100") == []
    assert orders.scan(where="id = 20").count() == 1


def test_other_engines_are_not_given_a_path_that_is_none(orders):
    with pytest.raises(Invalid, match="inline rows"):
        orders.scan().files()


def test_zero_turns_it_off_and_unsetting_on_again(orders, files):
    orders.set_properties({INLINE_BYTES: "0"})
    orders.append(numbers(3))
    assert are_inline(orders) == [True, False]
    assert len(files()) == 1
    orders.unset_properties([INLINE_BYTES])
    orders.append(numbers(4))
    assert are_inline(orders) == [True, False, True]
    assert ids(orders) == [1, 2, 3, 4]


def test_a_table_can_be_made_without_it(main):
    table = main.create_table("t", {"id": "long"}, properties={INLINE_BYTES: "0"})
    table.append(numbers(1))
    assert are_inline(table) == [False]


def test_the_limit_is_what_the_property_says(orders):
    size = entries(orders)[0].file_size
    orders.set_properties({INLINE_BYTES: str(size)})
    orders.append(numbers(3, 4))
    orders.set_properties({INLINE_BYTES: str(size - 1)})
    orders.append(numbers(5, 6))
    assert are_inline(orders) == [True, True, False]


@pytest.mark.parametrize("text", ["", "-1", "1e3", "٣", "1000001", "0x10", "9" * 5000, "1 000"])
def test_a_property_that_is_no_number_is_named(orders, text, unchanged):
    with unchanged(), pytest.raises(Invalid, match=INLINE_BYTES):
        orders.set_properties({INLINE_BYTES: text})
    set_unchecked(orders, {INLINE_BYTES: text})
    with unchanged(), pytest.raises(Invalid, match=INLINE_BYTES) as refused:
        orders.append(numbers(3))
    assert "set_properties" in refused.value.advice


def test_many_rows_are_a_file(orders):
    orders.append(numbers(*range(100_000)))
    assert are_inline(orders) == [True, False]
    assert orders.scan().count() == 100_002


def test_a_long_stream_is_a_file_and_loses_no_row(orders):
    orders.append(numbers(*range(200_000)).to_reader(1000))
    assert are_inline(orders) == [True, False]
    assert ids(orders)[2:] == list(range(200_000))


def test_a_short_stream_is_inline(orders):
    orders.append(numbers(3, 4, 5).to_reader(1))
    assert are_inline(orders) == [True, True]
    assert ids(orders) == [1, 2, 3, 4, 5]


def test_no_rows_are_no_entry(orders):
    orders.append(numbers())
    assert len(entries(orders)) == 1


def test_a_past_version_shows_the_rows_of_then(orders):
    before = orders.version
    orders.append(numbers(3))
    assert ids(orders.at(before)) == [1, 2]
    assert ids(orders.at(snapshot=orders.snapshots()[1].id)) == [1, 2]


def test_branches_share_the_rows_that_they_forked_with_and_keep_their_own(main, orders, store):
    dev = main.create_branch("dev")
    dev.table("orders").append(numbers(3))
    orders.append(numbers(4))
    assert (ids(dev.table("orders")), ids(orders)) == ([1, 2, 3], [1, 2, 4])
    assert len(bodies(store, orders.id)) == 3


def test_a_merge_brings_rows_without_copying_them(main, orders, store):
    dev = main.create_branch("dev")
    dev.table("orders").append(numbers(3))
    made = dev.create_table("made", {"id": "long"})
    made.append(numbers(7))
    orders.append(numbers(4))
    before = [*bodies(store, orders.id), *bodies(store, made.id)]
    main.merge(dev)
    assert sorted(ids(orders)) == [1, 2, 3, 4]
    assert ids(main.table("made")) == [7]
    assert [*bodies(store, orders.id), *bodies(store, made.id)] == before
    dev.drop_table("made")
    assert ids(main.table("made")) == [7]


def test_a_merge_looks_for_common_keys_in_them(main):
    table = main.create_table("t", {"id": "long"}, primary_key=["id"])
    dev = main.create_branch("dev")
    table.append(numbers(1, 5))
    dev.table("t").append(numbers(2, 4))
    main.merge(dev)
    assert sorted(ids(table)) == [1, 2, 4, 5]
    table.append(numbers(6, 8))
    dev.table("t").append(numbers(7, 8))
    main.merge(dev)
    assert sorted(ids(table)) == [1, 2, 4, 5, 6, 7, 8]  # both sides' row 8 is one row


def test_pick_revert_reset_and_restore_see_them(main, orders):
    dev = main.create_branch("dev")
    picked = dev.table("orders").append(numbers(3))
    main.cherry_pick(picked)
    assert ids(orders) == [1, 2, 3]
    commit = orders.append(numbers(4))
    main.revert(commit)
    assert ids(orders) == [1, 2, 3]
    main.reset(commit.version)
    assert ids(orders) == [1, 2, 3, 4]
    main.restore_table("orders", picked.version)
    assert ids(orders) == [1, 2]


def test_a_diff_counts_them(main, orders):
    dev = main.create_branch("dev")
    dev.table("orders").append(numbers(3))
    [difference] = main.diff(dev)
    assert (difference.files_added, difference.rows_added) == (1, 1)


def test_a_dropped_table_comes_back_with_them(main, orders):
    main.drop_table("orders")
    main.undrop_table("orders")
    assert ids(main.table("orders")) == [1, 2]


def test_purging_a_table_takes_them_away(main, orders, store):
    kept = main.create_table("kept", {"id": "long"})
    kept.append(numbers(1))
    main.drop_table("orders")
    assert bodies(store, orders.id)
    main.purge_table("orders")
    assert bodies(store, orders.id) == []
    assert ids(kept) == [1]
    with pytest.raises(Expired):
        main.undrop_table("orders", id=orders.id)


def test_a_transaction_reads_its_own_rows_and_nobody_else_does(main, orders, unchanged):
    with main.transaction("load") as tx:
        with unchanged():
            table = tx.table("orders")
            table.append(numbers(3))
            made = tx.create_table("made", {"id": "long"})
            made.append(numbers(7))
            table.append(numbers(4))
            assert (ids(table), ids(made)) == ([1, 2, 3, 4], [7])
            assert ids(table, where="id = 4") == [4]
        assert ids(orders) == [1, 2]
    assert (ids(orders), ids(main.table("made"))) == ([1, 2, 3, 4], [7])


def test_a_transaction_that_fails_leaves_nothing(main, orders, unchanged):
    with unchanged(), pytest.raises(ZeroDivisionError), main.transaction("load") as tx:
        tx.table("orders").append(numbers(3))
        _ = 1 / 0


def test_a_transaction_that_loses_leaves_nothing(main, orders, store):
    with pytest.raises(Conflict), main.transaction("load") as tx:
        assert ids(tx.table("orders")) == [1, 2]
        tx.table("orders").append(numbers(3))
        orders.append(numbers(4))
    assert ids(orders) == [1, 2, 4]
    assert len(bodies(store, orders.id)) == 2


def test_a_table_that_is_made_and_dropped_in_one_transaction_leaves_none(main, store):
    with main.transaction("nothing") as tx:
        made = tx.create_table("made", {"id": "long"})
        made.append(numbers(1))
        tx.drop_table("made")
    assert bodies(store, made.id) == []


def test_a_commit_has_a_budget_and_the_rows_beyond_it_are_files(main, files, monkeypatch):
    table = main.create_table("t", {"id": "long"})
    table.append(numbers(1))
    size = entries(table)[0].file_size
    monkeypatch.setattr("lakebed.catalog.data.target.BUDGET_BYTES", 2 * size)
    with main.transaction("load") as tx:
        for number in (2, 3, 4):
            tx.table("t").append(numbers(number))
        other = tx.create_table("u", {"id": "long"})
        other.append(numbers(5))
    assert are_inline(table) == [True, True, True, False]
    assert are_inline(main.table("u")) == [False]
    assert len(files()) == 2
    assert (ids(table), ids(main.table("u"))) == ([1, 2, 3, 4], [5])


def test_a_manifest_that_has_no_room_beside_the_rows_is_a_file(main, orders, files, monkeypatch):
    size = entries(orders)[0].file_size
    monkeypatch.setattr("lakebed.catalog.transaction.work.BUDGET_BYTES", size + 10)
    orders.append(numbers(3, 4))
    assert are_inline(orders) == [True, True]
    assert files()
    assert all("/metadata/" in path for path in files())
    assert ids(orders) == [1, 2, 3, 4]


def test_large_transactions_stay_within_the_stores_limits(main):
    table = main.create_table("t", {"id": "long", "noise": "binary"})
    with main.transaction("load") as tx:
        for number in range(100):
            rows = pyarrow.table({"id": [number], "noise": [os.urandom(60_000)]})
            tx.table("t").append(rows)
    kept = are_inline(table)
    assert kept.count(True) == 4_000_000 // entries(table)[0].file_size
    assert kept.index(False) == kept.count(True)
    assert ids(table) == list(range(100))


def test_a_call_that_comes_again_adds_nothing(orders, store, unchanged):
    event = event_id("load", 1)
    first = orders.append(numbers(3), event_id=event)
    with unchanged():
        assert orders.append(numbers(3), event_id=event) == first
    assert ids(orders) == [1, 2, 3]


def test_a_transaction_that_comes_again_sees_its_rows_and_adds_nothing(main, orders, unchanged):
    event = event_id("load", 2)
    for _ in range(2):
        with main.transaction("load", event_id=event) as tx:
            tx.table("orders").append(numbers(3))
            assert ids(tx.table("orders")) == [1, 2, 3]
    assert ids(orders) == [1, 2, 3]


def test_rows_are_put_again_when_a_race_is_lost(main, orders, store, monkeypatch):
    """Live.change runs again: every attempt has the bodies."""
    metastore, lost = main._scope.context.metastore, []
    commit = metastore.commit

    def losing(change):
        if len(lost) < 3:
            lost.append(change.bodies)
            raise Conflict("somebody was quicker")
        return commit(change)

    monkeypatch.setattr(metastore, "commit", losing)
    orders.append(numbers(3))
    assert len(lost) == 3
    assert ids(orders) == [1, 2, 3]
    assert len(bodies(store, orders.id)) == 2


def test_rows_written_before_a_column_came_are_committed_as_they_are_and_show_its_default(main, orders, monkeypatch):
    written = appends.write_rows
    seen = []

    def racing(*arguments, **options):
        made = written(*arguments, **options)
        if not seen:
            seen.append(made)
            with main.table("orders").evolve() as change:
                change.add_column("note", "string", default="none")
        return made

    monkeypatch.setattr(appends, "write_rows", racing)
    orders.append(numbers(3))
    assert orders.scan().to_arrow().to_pylist() == [{"id": number, "note": "none"} for number in (1, 2, 3)]
    assert len(seen) == 1
    assert len(entries(orders)[1].statistics) == 1


def test_a_property_that_changes_meanwhile_is_no_conflict(main, orders):
    with main.transaction("load") as tx:
        tx.table("orders").append(numbers(3))
        orders.set_properties({INLINE_BYTES: "0"})
    assert ids(orders) == [1, 2, 3]


def test_rows_written_before_a_column_changed_are_shown_as_the_table_is(main, orders):
    with orders.evolve() as change:
        change.rename_column("id", "number")
        change.add_column("price", "decimal(9, 2)")
        change.add_column("place", "string", default="here")
    orders.append(pyarrow.table({"number": [3], "place": ["there"]}))
    assert orders.scan().to_arrow().to_pylist() == [
        {"number": 1, "price": None, "place": "here"},
        {"number": 2, "price": None, "place": "here"},
        {"number": 3, "price": None, "place": "there"},
    ]
    assert orders.scan(where="place = 'here'").count() == 2


def test_hidden_partitions_and_sort_orders_hold_for_them(main):
    table = main.create_table("t", {"id": "long", "n": "int"}, partition_by=["truncate(10, id)"], sort_by=["n desc"])
    table.append(pyarrow.table({"id": [1, 11, 2, 12, 3], "n": pyarrow.array([1, 2, 3, 4, 5], pyarrow.int32())}))
    assert are_inline(table) == [True, True]
    assert table.scan().to_arrow()["id"].to_pylist() == [3, 2, 1, 12, 11]
    assert table.scan(where="id >= 10").to_arrow()["id"].to_pylist() == [12, 11]


def test_the_system_tables_and_documents_name_them(main, orders):
    found = main.inspect("__files").to_pylist()
    [entry] = entries(orders)
    assert [(one["file_path"], one["file_format"], one["record_count"]) for one in found] == [(entry.path, "inline", 2)]
    described = orders.describe().data_files()
    assert [(one["file_path"], one["format"]) for one in described] == [(entry.path, "inline")]


def test_rows_that_the_store_lost_are_corrupt(main, orders, store):
    [key] = bodies(store, orders.id)
    store.run(lambda transaction: transaction.clear(key))
    with pytest.raises(Corrupt, match=r"inline rows are not those that were written.*none") as damage:
        ids(orders)
    assert entries(orders)[0].path in damage.value.subject
    store.run(lambda transaction: transaction.set(key, b"\x01\xff"))
    with pytest.raises(Corrupt):
        ids(orders)
    store.run(lambda transaction: transaction.clear(key))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["0", "700", "1000000"])), max_size=6))
def test_rows_are_the_same_wherever_they_are(main, appends):
    """The same rows, order, ids and statistics, inline or in files."""
    made = [main.create_table(f"{side}-{time.monotonic_ns()}", {"id": "long"}) for side in ("mixed", "files")]
    mixed, plain = made
    plain.set_properties({INLINE_BYTES: "0"})
    start = 0
    for count, limit in appends:
        mixed.set_properties({INLINE_BYTES: limit})
        for table in made:
            table.append(numbers(*range(start, start + count)))
        start += count
    assert mixed.scan().to_arrow() == plain.scan().to_arrow()
    assert mixed.scan(where="id > 5").to_arrow() == plain.scan(where="id > 5").to_arrow()
    known = [[(one.num_rows, one.first_row_id, one.seq_max) for one in entries(table)] for table in made]
    assert known[0] == known[1]


# Processes

APPENDER = """
import os, sys
import pyarrow
import lakebed

folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with lakebed.connect(folder, author=f"process {first}") as lake:
    table = lake.catalog().table("t")
    for number in range(first, first + count):
        table.append(pyarrow.table({"id": [number]}))
        os.write(1, b"%d\\n" % number)
"""


@pytest.fixture
def folder_on_disk(tmp_path):
    folder = tmp_path / "lake"
    with lakebed.connect(folder) as lake:
        lake.catalog().create_table("t", {"id": "long"})
    return folder


def start(folder, tmp_path, first, count):
    with (tmp_path / f"out {first}").open("w") as out:
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", APPENDER, str(folder), str(first), str(count)],
            stdout=out,
            env=os.environ | {"PYTHONPATH": str(Path(lakebed.__file__).parent.parent)},
        )


def told(tmp_path, first):
    return [int(line) for line in (tmp_path / f"out {first}").read_text().split("\n")[:-1]]


def assert_sound(folder, expected):
    """All numbers are there once, nothing is a file, and every body belongs to an entry."""
    with lakebed.connect(folder) as lake:
        table = lake.catalog().table("t")
        assert sorted(ids(table)) == expected
        assert all(are_inline(table))
        known = {inline_id(one) for one in entries(table)}
        table_id = table.id
    assert not list((folder / "tables").rglob("*.parquet"))
    with SQLiteStore(folder / "catalog.db") as store:
        assert check(store) == []
        assert len(bodies(store, table_id)) == len(known) == len(expected)


@pytest.mark.long
def test_eight_processes_that_append_to_one_table_lose_nothing(folder_on_disk, tmp_path):
    """KV-9."""
    firsts = [1000 * place for place in range(8)]
    processes = [start(folder_on_disk, tmp_path, first, 12) for first in firsts]
    assert [process.wait(240) for process in processes] == [0] * 8
    assert_sound(folder_on_disk, sorted(first + number for first in firsts for number in range(12)))


def test_what_was_acknowledged_survives_a_kill_and_the_rest_is_whole_or_not_there(folder_on_disk, tmp_path):
    process = start(folder_on_disk, tmp_path, 0, 100_000)
    try:
        deadline = time.monotonic() + 120
        while len(told(tmp_path, 0)) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    done = told(tmp_path, 0)
    assert len(done) >= 20
    with lakebed.connect(folder_on_disk) as lake:
        found = sorted(ids(lake.catalog().table("t")))
    assert found in (done, [*done, len(done)])
    assert_sound(folder_on_disk, found)


@pytest.mark.parametrize("inline_bytes", ["0", "64000"])
def test_one_append_of_bytes_as_text_made_the_table_unreadable(main, unchanged, inline_bytes):
    """Inline they were `Corrupt` for every scan from then on; from a file they broke whoever looked at the text."""
    table = main.create_table("t", {"id": "long", "words": "list<string>", "word": "string"})
    table.set_properties({"write.inline-bytes": inline_bytes})
    table.append(pyarrow.table({"id": [1], "word": ["é"]}))
    text = pyarrow.array([b"\xff"]).view(pyarrow.string())
    words = pyarrow.ListArray.from_arrays(pyarrow.array([0, 1], pyarrow.int32()), text)
    for name, column in (("word", text), ("words", words)):
        with unchanged(), pytest.raises(Invalid, match=f"{name}.*: a value is not text"):
            table.append(pyarrow.table({"id": [2], name: column}))
    assert table.scan(columns=["id", "word"]).to_arrow().to_pylist() == [{"id": 1, "word": "é"}]
