"""Rows changed in transactions: seen inside, all at once outside, and without a trace if there is no commit."""

from uuid import uuid4

import pytest

from lakebed import Conflict, Invalid, NotFound
from tests.support.row_tables import (
    LAYOUTS,
    SCHEMA,
    START,
    arrow,
    assert_counted,
    counted_table,
    ids,
    row,
    rows,
    shown,
    used_paths,
)


@pytest.fixture(params=LAYOUTS)
def table(request, main, inline):
    """Six rows in two commits; its counts are proved when the test is over."""
    yield from counted_table(main, inline, request.param)


def test_a_transaction_reads_what_it_changed_and_nobody_else_does(main, table):
    with main.transaction("all") as tx:
        own = tx.table("t")
        own.append(arrow(row(7), row(8), row(9)))
        own.delete("id in (1, 8)")
        assert ids(own) == [2, 3, 4, 5, 6, 7, 9]
        own.upsert(arrow(row(7, "twice"), row(2, "twice")))
        own.upsert(arrow(row(7, "thrice"), row(10, "thrice")))
        assert ids(own, where="region = 'thrice'") == [7, 10]
        assert own.get(7) == row(7, "thrice")
        assert own.get(8) is None
        own.overwrite(arrow(row(5, "over")), "id = 5 or id = 9")
        own.delete("id = 10")
        assert ids(own) == [2, 3, 4, 5, 6, 7]
        assert own.scan().count() == 6
        assert rows(table) == shown(START)
    expected = [START[2], START[3], START[5], row(2, "twice"), row(5, "over"), row(7, "thrice")]
    assert rows(table) == shown(expected)


def test_what_a_transaction_adds_and_deletes_was_never_there(main, table):
    before, chain = rows(table), len(table.snapshots())
    with main.transaction("nothing") as tx:
        own = tx.table("t")
        own.append(arrow(row(7), row(8)))
        own.delete("id = 7")
        own.delete("id = 8")
    assert rows(table) == before
    assert table.snapshots()[0].counts.get("added_rows", 0) == 0
    assert len(table.snapshots()) <= chain + 1


def test_a_table_is_truncated_and_filled_in_one_transaction(main, table):
    with main.transaction("again") as tx:
        tx.table("t").truncate()
        assert ids(tx.table("t")) == []
        tx.table("t").append(arrow(row(1), row(2)))
        tx.table("t").delete("id = 2")
    assert rows(table) == shown([row(1)])


def test_a_table_that_a_transaction_makes_can_be_changed_in_it(main, inline):
    with main.transaction("make") as tx:
        made = tx.create_table("made", SCHEMA, primary_key=["id"], properties={"write.inline-bytes": inline})
        made.append(arrow(*START))
        made.delete("id > 4")
        made.upsert(arrow(row(1), row(9)))
        assert ids(made) == [1, 2, 3, 4, 9]
    assert ids(main.table("made")) == [1, 2, 3, 4, 9]
    assert_counted(main.table("made"))


def test_a_transaction_that_fails_leaves_no_trace(main, table, unchanged):
    with unchanged(), pytest.raises(ZeroDivisionError), main.transaction("fails") as tx:
        own = tx.table("t")
        own.append(arrow(row(7), row(8)))
        own.delete("id in (1, 7)")
        own.delete("id in (2)")
        own.upsert(arrow(row(3), row(9)))
        own.overwrite(arrow(row(11)), "id = 4")
        _ = 1 / 0


def test_a_call_of_a_transaction_that_fails_leaves_the_others_good(main, table):
    with main.transaction("goes on") as tx:
        own = tx.table("t")
        own.delete("id = 1")
        with pytest.raises(Invalid):
            own.upsert(arrow(row(7), row(7)))
        with pytest.raises((Invalid, NotFound)):
            own.delete("nothing = 1")
        own.append(arrow(row(7)))
    assert ids(table) == [2, 3, 4, 5, 6, 7]


def test_changes_of_one_transaction_have_no_words_of_their_own(main, table):
    with main.transaction("told") as tx:
        for call in (
            lambda: tx.table("t").delete("id = 1", message="why"),
            lambda: tx.table("t").upsert(arrow(row(1)), author="bob"),
            lambda: tx.table("t").truncate(event_id=str(uuid4())),
        ):
            with pytest.raises(Invalid, match="inside a transaction"):
                call()
    assert tx.committed is None
    assert rows(table) == shown(START)


def test_what_a_transaction_wrote_and_replaced_again_is_not_left_behind(main, table, files):
    with main.transaction("twice") as tx:
        own = tx.table("t")
        own.append(arrow(row(7), row(8)))
        for number in (1, 4, 7):
            own.delete(f"id = {number}")
        own.upsert(arrow(row(2), row(9)))
        own.upsert(arrow(row(2), row(9)))
    assert ids(table) == [2, 3, 5, 6, 8, 9]
    used = {path for version in table.snapshots() for path in used_paths(table.at(snapshot=version.id))}
    assert set(files()) == used


def test_an_update_that_lost_its_transaction_leaves_no_trace(main, table, unchanged):
    with unchanged(), pytest.raises(ZeroDivisionError), main.transaction("fails") as tx:
        tx.table("t").update({"amount": "1.0"}, "id < 3")
        _ = 1 / 0


def test_a_conflict_of_a_transaction_leaves_no_trace_of_it(main, table, files):
    with pytest.raises(Conflict), main.transaction("loses") as tx:
        tx.table("t").delete("id = 1")
        tx.table("t").upsert(arrow(row(2), row(8)))
        table.delete("id = 1")
        kept = set(files())
    assert set(files()) <= kept
    assert set(files()) == used_paths(table) | used_paths(table.at(table.snapshots()[1].version))
    assert ids(table) == [2, 3, 4, 5, 6]
