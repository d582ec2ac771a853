"""Merges of files: every cell of the matrix in both directions, keys, and what an answer is made of."""

import pytest

from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from lakebed.table.merge.files import FileConflict
from tests.support.file_lines import Line, both_ways, conflicts, forks, merge, result, turn

# The matrix: append, overwrite, rows changed, compacted.


@both_ways
def test_appends_on_both_sides_merge(turned):
    base, one, other, [old] = forks("a")
    assert result(base, one, other, turned) == {old}
    new, newer = one.append("a"), other.append("a")
    assert result(base, one, other, turned) == {old, new, newer}


@both_ways
def test_an_append_into_what_was_overwritten_is_a_conflict(turned):
    base, one, other, _ = forks("a", "b")
    one.append("a")
    other.overwrite("a")
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_an_append_beside_what_was_overwritten_is_fine(turned):
    base, one, other, [_, kept] = forks("a", "b")
    added, written = one.append("b"), other.overwrite("a")
    assert result(base, one, other, turned) == {kept, added, written}


@both_ways
def test_an_append_and_changed_rows_merge(turned):
    base, one, other, [old] = forks("a")
    added, moved = one.append("a"), other.update(old)
    assert result(base, one, other, turned) == {old, added, moved}


@both_ways
def test_an_append_and_a_compaction_merge(turned):
    base, one, other, [first, second] = forks("a", "a")
    added, output = one.append("a"), other.compact(first, second)
    assert result(base, one, other, turned) == {added, output}


@both_ways
def test_overwrites_of_different_files_merge(turned):
    base, one, other, _ = forks("a", "b")
    assert result(base, one, other, turned) == base.paths()
    left, right = one.overwrite("a"), other.overwrite("b")
    assert result(base, one, other, turned) == {left, right}


@both_ways
@pytest.mark.parametrize("part", ["a", None], ids=["a part", "all"])
def test_overwrites_of_the_same_file_are_a_conflict(turned, part):
    base, one, other, _ = forks("a", "b")
    one.overwrite("a")
    other.overwrite(part)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_changed_rows_of_what_was_overwritten_are_a_conflict(turned):
    base, one, other, [old, _] = forks("a", "b")
    one.overwrite("a")
    other.delete(old)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_a_file_removed_on_one_side_and_overwritten_on_the_other_is_a_conflict(turned):
    base, one, other, [old, _] = forks("a", "b")
    one.overwrite("a")
    other.remove(old)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_changed_rows_beside_what_was_overwritten_are_fine(turned):
    base, one, other, [_, kept] = forks("a", "b")
    written = one.overwrite("a")
    other.delete(kept)
    assert result(base, one, other, turned) == {kept, written}


@both_ways
def test_an_overwrite_that_removed_an_input_of_a_compaction_is_a_conflict(turned):
    base, one, other, [first, second, _] = forks("a", "a", "b")
    one.overwrite("a")
    other.compact(first, second)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_an_overwrite_beside_a_compaction_is_fine(turned):
    base, one, other, [first, second, _] = forks("a", "a", "b")
    written, output = one.overwrite("b"), other.compact(first, second)
    assert result(base, one, other, turned) == {written, output}


@both_ways
def test_changed_rows_of_different_files_merge(turned):
    base, one, other, [first, second] = forks("a", "a")
    one.delete(first)
    moved = other.update(second)
    assert result(base, one, other, turned) == {first, second, moved}


@both_ways
@pytest.mark.parametrize("change", [Line.delete, Line.update, Line.rewrite, Line.remove])
def test_changed_rows_of_the_same_file_are_a_conflict(turned, change):
    base, one, other, [old] = forks("a")
    one.delete(old)
    change(other, old)
    assert conflicts(base, one, other, turned) == [f"file {old}"]


@both_ways
@pytest.mark.parametrize("change", [Line.remove, Line.rewrite])
def test_a_file_that_one_side_removed_and_the_other_wrote_anew_is_a_conflict(turned, change):
    """Else its rows would be back, or there twice."""
    base, one, other, [old] = forks("a")
    one.rewrite(old)
    change(other, old)
    assert conflicts(base, one, other, turned) == [f"file {old}"]


@both_ways
def test_a_file_that_one_side_updated_and_then_both_removed_is_a_conflict(turned):
    base, one, other, [old] = forks("a")
    one.update(old)
    one.remove(old)
    other.remove(old)
    assert conflicts(base, one, other, turned) == [f"file {old}"]


@both_ways
def test_a_file_that_both_sides_removed_is_gone(turned):
    base, one, other, [first, second] = forks("a", "a")
    one.remove(first)
    other.remove(first)
    assert result(base, one, other, turned) == {second}


@both_ways
def test_an_append_that_was_compacted_still_falls_in_what_was_overwritten(turned):
    base, one, other, [old, _] = forks("a", "b")
    one.compact(old, one.append("a"))
    other.overwrite("b")
    assert conflicts(base, one, other, turned) == []
    other.overwrite("a")
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_an_overwrite_of_a_compactions_output_is_one_of_its_inputs(turned):
    base, one, other, [first, second] = forks("a", "a")
    one.compact(first, second)
    one.overwrite("a")
    other.delete(first)
    assert conflicts(base, one, other, turned) == ["overwrite"]


@both_ways
def test_an_overwrite_that_was_undone_is_none(turned):
    base, one, other, [old] = forks("a")
    written = one.overwrite("a")
    one.commit("revert", added=base.copies([old]), removed=one.copies([written]))
    added = other.append("a")
    assert result(base, one, other, turned) == {old, added}


@both_ways
@pytest.mark.parametrize("shape", ["removes only", "adds only", "changes only"])
def test_an_append_into_an_overwrite_is_a_conflict_whatever_the_overwrite_found(turned, shape):
    base, one, other, [old] = forks("a")
    if shape == "removes only":
        one.commit("overwrite", removed=one.copies([old]))
    elif shape == "adds only":
        one.commit("overwrite", [one.world.file("a", [(0, 0)])])
    else:
        one.commit("overwrite", changed=[one.without(old, one.first_rows(old))])
    other.append("a")
    assert conflicts(base, one, other, turned) == ["overwrite"]


# Keys.


def keys_of(files):
    return {file.path for file in files}


@both_ways
def test_files_of_both_sides_that_share_keys_are_a_conflict(turned):
    base, one, other, [old] = forks("a")
    mine, yours = one.append("a"), other.update(old)
    asked = []

    def share(ours, theirs):
        asked.append([keys_of(ours), keys_of(theirs)])
        return True

    assert conflicts(base, one, other, turned, may_share_keys=share) == ["keys"]
    assert asked == [list(turn(turned, {mine}, {yours}))]
    assert conflicts(base, one, other, turned, may_share_keys=lambda ours, theirs: False) == []


@both_ways
def test_keys_of_a_compaction_are_those_of_the_rows_that_are_new_in_it(turned):
    base, one, other, [old, older] = forks("a", "a")
    added = one.append("a")
    one.delete(one.compact(old, added))
    yours = other.append("a")
    other.compact(older, yours)
    asked = []
    merge(base, *turn(turned, one, other), may_share_keys=lambda *sides: asked.append([*map(keys_of, sides)]))
    assert asked == [list(turn(turned, {added}, {yours}))]


def test_keys_are_not_asked_for_if_one_side_added_no_rows():
    base, one, other, [first, second] = forks("a", "a")
    one.append("a")
    other.compact(first, second)

    def never(ours, theirs):
        raise AssertionError("asked")

    assert merge(base, one, other, may_share_keys=never).conflicts == ()


# What an answer is made of.


def test_entries_have_their_status_and_keep_the_ids_and_sequences_of_their_rows():
    base, one, other, [first, second, third] = forks("a", "a", "b")
    other.delete(first)
    other.remove(second)
    added = other.append("b")
    one.compact(third)
    answer = merge(base, one, other)
    assert [(file.path, file.status) for file in answer.changed] == [(first, EXISTING)]
    assert [(file.path, file.status) for file in answer.removed] == [(second, DELETED)]
    [entry] = answer.added
    assert (entry.path, entry.status, entry.first_row_id, entry.seq_min, entry.seq_max) == (added, ADDED, 1000, 7, 8)


def test_a_conflict_says_what_each_side_has():
    base, one, other, [old] = forks("a")
    one.delete(old)
    other.remove(old)
    deletes = f"deletes of {one.files[old].dv_path} at 4"
    assert merge(base, one, other).conflicts == (FileConflict(f"file {old}", "without deletes", deletes, "not there"),)
    base, one, other, [old] = forks("a")
    one.overwrite("a")
    added = other.append("a")
    assert merge(base, one, other).conflicts == (FileConflict("overwrite", "", "overwrote a", f"added {added}"),)
