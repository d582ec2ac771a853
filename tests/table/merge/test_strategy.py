"""Conflicts of files that are settled for one side: what the loser loses, and what goes with it."""

import pytest

from lakebed.table.merge.strategy import Settle
from tests.support.file_lines import SIDES, forks, merged


@pytest.mark.parametrize("settle", SIDES)
def test_a_conflicting_file_takes_the_winners_state(settle):
    base, one, other, [old, beside] = forks("a", "a")
    one.delete(old)
    other.remove(old)
    other.remove(beside)
    line, found = merged(base, one, other, settle)
    assert found == [f"file {old}"]
    assert line.paths() == ({old} if settle is Settle.OURS else set())


@pytest.mark.parametrize("settle", SIDES)
def test_an_update_that_loses_a_file_loses_its_new_rows_and_its_other_files_too(settle):
    base, one, other, [first, second] = forks("a", "a")
    one.update(first)
    other.update(first, second)
    line, found = merged(base, one, other, settle)
    assert found == [f"file {first}"]
    assert line.rows() == (one if settle is Settle.OURS else other).rows()


def test_an_overwrite_that_wins_leaves_out_what_was_appended_to_it():
    base, one, other, [_, kept] = forks("a", "b")
    written = one.overwrite("a")
    other.append("a")
    beside = other.append("b")
    assert merged(base, one, other, Settle.OURS)[0].paths() == {written, kept, beside}
    assert merged(base, other, one, Settle.THEIRS)[0].paths() == {written, kept, beside}


def test_an_append_that_wins_stays_beside_what_the_overwrite_wrote():
    base, one, other, [_, kept] = forks("a", "b")
    written, added = one.overwrite("a"), other.append("a")
    assert merged(base, one, other, Settle.THEIRS)[0].paths() == {written, kept, added}
    assert merged(base, other, one, Settle.OURS)[0].paths() == {written, kept, added}


@pytest.mark.parametrize("settle", SIDES)
def test_an_overwrite_that_loses_a_file_has_not_been(settle):
    base, one, other, _ = forks("a", "a")
    one.overwrite()
    other.overwrite("a")
    line, _ = merged(base, one, other, settle)
    assert line.paths() == (one if settle is Settle.OURS else other).paths()


def test_an_overwrite_without_rows_that_loses_a_file_has_not_been():
    base, one, other, [first, second] = forks("a", "a")
    one.delete(first)
    other.commit("overwrite", removed=other.copies([first, second]))
    assert merged(base, one, other, Settle.OURS)[0].paths() == {first, second}
    assert merged(base, one, other, Settle.THEIRS)[0].paths() == set()


def test_appends_that_lose_take_a_changed_compaction_of_them_along():
    base, one, other, _ = forks("b")
    output = one.compact(one.append("a"), one.append("a"))
    one.delete(output)
    other.overwrite("a")
    assert merged(base, one, other, Settle.THEIRS)[0].paths() == other.paths()
    assert merged(base, one, other, Settle.OURS)[0].paths() == one.paths() | other.paths()


def test_files_that_lose_their_keys_are_left_out():
    base, one, other, [old] = forks("a")
    mine, yours = one.append("a"), other.update(old)
    share = {"may_share_keys": lambda ours, theirs: True}
    assert merged(base, one, other, Settle.OURS, **share)[0].paths() == {old, mine}
    line, _ = merged(base, one, other, Settle.THEIRS, **share)
    assert (line.paths(), line.rows()) == ({old, yours}, other.rows())


@pytest.mark.parametrize("settle", SIDES)
def test_all_files_of_a_conflicting_compaction_take_the_winners_state(settle):
    base, one, other, [first, second, beside] = forks("a", "a", "b")
    output = one.compact(first, second, one.append("a"))
    one.delete(output)
    other.delete(first)
    line, _ = merged(base, one, other, settle)
    assert line.paths() == ({output, beside} if settle is Settle.OURS else {first, second, beside})
    assert line.rows() == (one if settle is Settle.OURS else other).rows()
