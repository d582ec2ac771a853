"""Rows changed on branches: merged, reverted, picked, restored, and as they were."""

import pytest

from tests.support.row_tables import (
    LAYOUTS,
    START,
    arrow,
    assert_counted,
    counted_table,
    ids,
    row,
    row_ids,
    rows,
    shown,
)

pytestmark = pytest.mark.sampled(3)


@pytest.fixture(params=LAYOUTS)
def table(request, main, inline):
    """Six rows in two commits; its counts are proved when the test is over."""
    yield from counted_table(main, inline, request.param)


@pytest.fixture
def plain(main, inline):
    yield from counted_table(main, inline)


def test_a_branch_changes_rows_of_its_own_and_a_merge_brings_them(main, table):
    dev = main.create_branch("dev")
    own = dev.table("t")
    own.delete("id = 1")
    own.upsert(arrow(row(2, "dev"), row(7, "dev")))
    assert rows(table) == shown(START)
    [difference] = main.diff(dev)
    assert (difference.rows_removed, difference.rows_added) == (2, 2)
    main.merge(dev)
    assert rows(table) == rows(own)
    assert rows(table) == shown([*START[2:], row(2, "dev"), row(7, "dev")])
    assert main.diff(dev) == []


def test_a_merge_brings_appends_of_both_sides_and_a_delete_of_one(main, table):
    dev = main.create_branch("dev")
    dev.table("t").delete("id = 4")
    table.append(arrow(row(8)))
    dev.table("t").append(arrow(row(9)))
    main.merge(dev)
    assert ids(table) == [1, 2, 3, 5, 6, 8, 9]


CHANGES = {
    "delete": lambda table: table.delete("id in (1, 2, 6)"),
    "truncate": lambda table: table.truncate(),
    "upsert": lambda table: table.upsert(arrow(row(2), row(7))),
    "overwrite": lambda table: table.overwrite(arrow(row(7), row(8))),
    "overwrite by a condition": lambda table: table.overwrite(arrow(row(7)), "id > 2"),
    "compact": lambda table: table.compact(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_revert_gives_back_what_was_and_a_restore_too(main, plain, change):
    """Law 8."""
    before, version = rows(plain), main.version
    known = row_ids(plain)
    commit = CHANGES[change](plain)
    after = rows(plain)
    main.revert(commit)
    assert (rows(plain), row_ids(plain)) == (before, known)
    main.restore_table("t", commit.version)
    assert rows(plain) == after
    main.restore_table("t", version)
    assert (rows(plain), row_ids(plain)) == (before, known)


@pytest.mark.parametrize("change", CHANGES)
def test_a_revert_leaves_what_was_appended_later(main, plain, change):
    commit = CHANGES[change](plain)
    plain.append(arrow(row(50)))
    main.revert(commit)
    assert rows(plain) == shown([*START, row(50)])


@pytest.mark.parametrize("change", CHANGES)
def test_a_pick_does_here_what_was_done_there(main, plain, change):
    dev = main.create_branch("dev")
    commit = CHANGES[change](dev.table("t"))
    main.cherry_pick(commit)
    assert rows(plain) == rows(dev.table("t"))
    assert_counted(dev.table("t"))


@pytest.mark.parametrize("change", CHANGES)
def test_a_branch_at_the_commit_before_has_the_rows_of_then(main, plain, change):
    version = main.version
    CHANGES[change](plain)
    dev = main.create_branch("dev", version)
    assert rows(dev.table("t")) == shown(START)
    CHANGES[change](dev.table("t"))
    assert rows(dev.table("t")) == rows(plain)


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_changes_no_read(main, table, change):
    """Law 6."""
    versions = [table.version]
    CHANGES[change](table)
    before = [rows(table), rows(table.at(versions[0]))]
    table.checkpoint()
    assert [rows(table), rows(table.at(versions[0]))] == before
    table.delete("id = 3")
    table.append(arrow(row(60)))
    assert len(rows(table)) == len([one for one in before[0] if not one.startswith("{'id': 3,")]) + 1
    table.checkpoint()
    assert [rows(table.at(versions[0]))] == before[1:]
