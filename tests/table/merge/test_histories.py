"""Merges of files after any history, beside a model that knows the rows in the files."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.table.merge.files import FileConflict, FileMerge, merge_files
from lakebed.table.merge.strategy import Settle
from tests.support.examples import examples
from tests.support.file_lines import SIDES, Line, World, expected_rows, falls_in, merge, merged

choices = st.integers(0, 99)
steps = st.tuples(
    st.sampled_from(["append", "append", "delete", "remove", "update", "rewrite", "overwrite", "compact", "compact"]),
    choices,
)


def take(line, step):
    """Do one step with what the line has; the number chooses."""
    name, number = step
    part = "ab"[number % 2]
    paths = sorted(path for path in line.files if path[0] == part)
    if name == "append":
        line.append(part, rows=1 + number % 3)
    elif name == "overwrite":
        line.overwrite([None, "a", "b"][number % 3])
    elif name == "compact" and paths:
        line.compact(*paths[number % len(paths) :][: 2 + number % 2])
    elif name == "remove" and paths:
        line.remove(paths[number % len(paths)])
    elif paths and line.first_rows(path := paths[number % len(paths)]):
        {"delete": line.delete, "update": line.update, "rewrite": line.rewrite}.get(name, line.delete)(path)


@st.composite
def three(draw):
    """A base and its two forks, after some steps on each."""
    base = Line(World())
    for step in draw(st.lists(steps, min_size=1, max_size=6)):
        take(base, step)
    one, other = base.fork(), base.fork()
    for line in (one, other):
        for step in draw(st.lists(steps, max_size=4)):
            take(line, step)
    return base, one, other


def no_key_twice(line):
    keys = Counter(key for key, _ in line.rows().elements())
    return keys.total() == len(keys)


def turned_round(conflict):
    return FileConflict(conflict.what, conflict.base, conflict.theirs, conflict.ours)


@given(three())
def test_a_merge_with_a_side_that_did_nothing_is_the_other_side(lines):
    base, one, other = lines
    assert merge(base, one, base.fork()) == FileMerge()
    line, found = merged(base, base.fork(), other)
    assert (line.files.keys(), line.rows(), found) == (other.files.keys(), other.rows(), [])


@settings(max_examples=examples(120, 300))
@given(three())
def test_a_merge_without_conflicts_has_the_rows_that_both_left_and_either_added_whichever_way(lines):
    base, one, other = lines
    forth, back = merge(base, one, other), merge(base, other, one)
    assert set(forth.conflicts) == {turned_round(conflict) for conflict in back.conflicts}
    if not forth.conflicts:
        assert merged(base, one, other)[0].rows() == expected_rows(base, one, other)
        assert merged(base, other, one)[0].rows() == expected_rows(base, one, other)


@settings(max_examples=examples(120, 300))
@given(three(), st.sampled_from(SIDES))
def test_a_settled_merge_keeps_what_the_winner_did_and_has_no_row_twice(lines, settle):
    base, one, other = lines
    winner = one if settle is Settle.OURS else other
    answer = merge(base, one, other, settle)
    line, _ = merged(base, one, other, settle)
    assert answer.conflicts == merge(base, one, other).conflicts
    assert winner.rows() - base.rows() <= line.rows()
    assert not (base.rows() - winner.rows()) & line.rows()
    assert no_key_twice(line)


@given(three())
def test_a_merge_changes_nothing_that_it_was_given(lines):
    base, one, other = lines
    given_ = [base.files, one.side(), other.side()]
    before = [repr(value) for value in given_]
    merge_files(*given_, Settle.OURS, falls_in=falls_in)
    assert [repr(value) for value in given_] == before


# Found by longer runs: rows that were there twice, or came back, after merges that gave way or were settled.
HARD = [
    "0 compact 0,1 delete 0,3,0 remove 0,2",
    "0 append 0,0 compact 0,1 delete 0,3,0 delete 0,3,2",
    "0 compact 55,1 compact 7,1 append 6,3,3,1 delete 11,0 remove 97,2",
    "1 compact 50,3,1 compact 5,0 update 74,1 rewrite 4,0 delete 23,3,0 compact 41,0 rewrite 34,1 compact 17,2",
    "1 delete 75,0 delete 87,2,1 update 33,1 compact 54,0 rewrite 10,0 compact 77,2,1 remove 68,0 remove 16,3",
    "0 rewrite 32,0 rewrite 47,1 compact 65,1 delete 27,1 delete 80,3,0 remove 50,0 delete 41,2,2,1 compact 20,3",
    "2,1 rewrite 40,3,1 rewrite 43,0 rewrite 99,2,1 delete 70,1 remove 9,3,2,0 rewrite 76",
]


@pytest.mark.parametrize("settle", SIDES)
@pytest.mark.parametrize("text", HARD)
def test_a_history_that_once_went_wrong_goes_right(text, settle):
    words = [[*step.split(), "", "0"] for step in text.split(",")]
    check_history([(int(which), (name, int(number))) for which, name, number, *_ in words], settle)


@settings(max_examples=examples(80, 200))
@given(st.lists(st.tuples(st.integers(0, 3), steps), max_size=24), st.sampled_from(SIDES))
def test_lines_that_merge_again_and_again_have_the_right_rows_and_gain_nothing_by_merging_twice(history, settle):
    check_history(history, settle)


def check_history(history, settle):
    """Lines 0 and 1 take steps; 2 and 3 merge one into the other, which is then the base of what comes."""
    start = Line(World())
    start.append("a"), start.append("b")
    lines, base = [start.fork(), start.fork()], start.fork()
    for which, step in history:
        if which < 2:
            take(lines[which], step)
            continue
        into, source = lines[which - 2], lines[3 - which]
        answer = merge(base, into, source, settle)
        if not answer.conflicts:
            wanted = expected_rows(base, into, source)
        into.apply(answer)
        assert answer.conflicts or into.rows() == wanted
        assert no_key_twice(into)
        base, source.deltas = Line(start.world, source.files), []
        assert merge(base, into, source) == FileMerge()
