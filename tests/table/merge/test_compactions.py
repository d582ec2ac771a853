"""Compactions in a merge: done again where nobody changed the inputs, else they give way."""

import pytest

from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.merge.files import FileMerge
from tests.support.file_lines import (
    Line,
    both_ways,
    conflicts,
    forks,
    merge,
    merged,
    result,
    turn,
)


@both_ways
@pytest.mark.parametrize("change", [Line.delete, Line.update, Line.rewrite, Line.remove])
def test_a_compaction_gives_way_for_the_groups_whose_inputs_were_changed(turned, change):
    base, one, other, [first, second, third, fourth] = forks("a", "a", "b", "b")
    one.compact(first, second)
    kept = one.compact(third, fourth)
    change(other, first)
    assert result(base, one, other, turned) == other.paths() - {third, fourth} | {kept}


@both_ways
def test_an_input_that_comes_back_has_the_deletes_that_it_had_when_it_was_compacted(turned):
    base, one, other, [first, second] = forks("a", "a")
    one.delete(second)
    vector = one.files[second].dv_path
    one.compact(first, second)
    other.delete(first)
    line, _ = merged(base, *turn(turned, one, other))
    assert (line.files[second].dv_path, line.files[first].dv_path) == (vector, other.files[first].dv_path)
    assert result(base, one, other, turned) == {first, second}


def test_the_delete_entries_of_a_compaction_say_which_deletes_its_inputs_had():
    base, one, other, [first, second] = forks("a", "a")
    one.delete(second)
    vector = one.files[second].dv_path
    one.compact(first, second)
    del one.deltas[0]
    other.delete(first)
    assert merged(base, one, other)[0].files[second].dv_path == vector


@both_ways
def test_an_appended_file_comes_back_from_a_compaction_that_gives_way(turned):
    base, one, other, [old] = forks("a")
    added = one.append("a")
    one.compact(old, added)
    other.delete(old)
    assert result(base, one, other, turned) == {old, added}


@both_ways
@pytest.mark.parametrize("change", [Line.delete, Line.update])
def test_changed_inputs_of_a_compaction_whose_outputs_were_changed_are_a_conflict(turned, change):
    base, one, other, [first, second] = forks("a", "a")
    change(one, one.compact(first, second))
    other.delete(first)
    assert conflicts(base, one, other, turned) == ["compaction"]


@both_ways
def test_a_changed_output_is_fine_if_nobody_changed_the_inputs(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    output = one.compact(first, second)
    one.delete(output)
    other.delete(third)
    assert result(base, one, other, turned) == {output, third}


@both_ways
def test_a_compaction_gives_way_to_another_whose_output_was_changed(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    output = one.compact(first, second)
    one.delete(output)
    other.compact(second, third)
    assert result(base, one, other, turned) == {output, third}


@both_ways
def test_a_chain_of_compactions_gives_way_as_far_as_it_must(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    middle = one.compact(first, second)
    last = one.compact(middle, third)
    assert result(base, one, other, turned) == {last}
    other.delete(third)
    assert result(base, one, other, turned) == {middle, third}
    other.delete(first)
    assert result(base, one, other, turned) == {first, second, third}


@both_ways
def test_a_chain_with_deletes_in_its_middle_is_a_conflict_with_changes_before_them(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    middle = one.compact(first, second)
    one.delete(middle)
    one.compact(middle, third)
    later = Line(other.world, other.files)
    later.delete(third)
    assert result(base, one, later, turned) == {middle, third}
    other.delete(first)
    assert conflicts(base, one, other, turned) == ["compaction"]


@both_ways
def test_a_compaction_that_left_no_rows_gives_way(turned):
    base, one, other, [old] = forks("a")
    one.delete(old, count=2)
    assert one.compact(old) == ""
    assert result(base, one, other, turned) == set()
    other.delete(old)
    assert conflicts(base, one, other, turned) == [f"file {old}"]


def test_of_two_compactions_of_the_same_inputs_the_destinations_stays():
    base, one, other, [first, second] = forks("a", "a")
    mine, yours = one.compact(first, second), other.compact(first, second)
    assert result(base, one, other, False) == {mine}
    assert result(base, one, other, True) == {yours}


def test_of_two_compactions_with_some_inputs_in_common_the_destinations_stays():
    base, one, other, [first, second, third] = forks("a", "a", "a")
    mine, yours = one.compact(first, second), other.compact(second, third)
    assert result(base, one, other, False) == {mine, third}
    assert result(base, one, other, True) == {first, yours}


@both_ways
def test_two_changed_compactions_of_one_file_are_a_conflict(turned):
    base, one, other, [first, second, third] = forks("a", "a", "a")
    one.delete(one.compact(first, second))
    other.delete(other.compact(second, third))
    assert conflicts(base, one, other, turned) == ["compaction"]


def test_a_compaction_that_comes_over_brings_its_groups_with_their_first_inputs():
    base, one, other, [first, second, third] = forks("a", "a", "a")
    output = other.compact(other.compact(first, second), third)
    answer = merge(base, one, other)
    assert answer.rewrites == (pb.Rewrite(inputs=sorted([first, second, third]), outputs=[output]),)
    assert merge(base, other, one) == FileMerge()


def test_a_compaction_that_says_no_groups_is_one_group():
    base, one, other, [first, second] = forks("a", "a")
    one.compact(first, second)
    one.deltas[0].manifest.ClearField("rewrites")
    other.delete(first)
    assert result(base, one, other, False) == {first, second}


def test_a_compaction_of_a_file_that_no_delta_shows_is_not_undone():
    """It came by a merge, with a file in it that was only ever on the other side."""
    base, one, other, [first, second] = forks("a", "a")
    output = one.compact(first, second)
    one.deltas[0].manifest.rewrites[0].inputs.append("elsewhere")
    assert merged(base, one, other)[0].paths() == {output}
    other.delete(first)
    assert conflicts(base, one, other, False) == ["compaction"]
