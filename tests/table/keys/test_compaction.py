"""Which files a compaction takes: the small, inline, deleted-from and old ones, and what their keys overlap."""

from hypothesis import given
from hypothesis import strategies as st

from lakebed.table.keys.compaction import (
    GROUP_TARGETS,
    OLDER_SPEC,
    Group,
    choose_by_key,
    choose_by_size,
    live_bytes,
    most_gain_first,
)
from lakebed.table.keys.levels import ALL_KEYS, KeySpan, Placed
from lakebed.table.manifest.manifest_pb2 import DataFileRef

TARGET = 100


def file(name, size=10, *, partition="p", keys=None, level=0, deleted=0, rows=10):
    entry = DataFileRef(path=name, file_size=size, num_rows=rows, level=level)
    if deleted:
        entry.dv_path, entry.deleted_rows = "vector", deleted
    span = ALL_KEYS if keys is None else KeySpan(*(bytes([one]) for one in keys))
    return Placed(entry, partition, span, level)


def by_size(*files):
    return [[one.path for one in group.files] for group in choose_by_size(files, TARGET)]


def by_key(*files, asked=None):
    paths = frozenset(one.file.path for one in files) if asked is None else frozenset(asked)
    return [[one.path for one in group.files] for group in choose_by_key(files, paths, TARGET)]


def test_small_files_of_a_partition_go_together():
    assert by_size(file("a"), file("b", partition="q"), file("c"), file("d", partition="q")) == [["a", "c"], ["b", "d"]]


def test_one_small_file_alone_is_left_as_it_is():
    assert by_size(file("a"), file("b", partition="q"), file("c", 90)) == []


def test_a_file_of_three_quarters_of_the_target_is_large_enough():
    assert by_size(file("a", 75), file("b", 75)) == []
    assert by_size(file("a", 74), file("b", 20)) == [["a", "b"]]


def test_files_that_would_not_become_fewer_are_left_as_they_are():
    assert by_size(file("a", 70), file("b", 70)) == []
    assert by_size(file("a", 70), file("b", 70), file("c", 50)) == [["a", "b", "c"]]


def test_inline_rows_deleted_rows_and_older_specs_are_due_alone_and_however_large():
    assert by_size(file("inline:7")) == [["inline:7"]]
    assert by_size(file("a", 500, deleted=1)) == [["a"]]
    assert by_size(file("a", 500, partition=OLDER_SPEC)) == [["a"]]


def test_what_is_deleted_does_not_count_for_the_size():
    nearly_gone = file("a", 1000, deleted=9)
    assert live_bytes(nearly_gone.file) == 100
    assert by_size(nearly_gone, file("b", 20)) == [["a", "b"]]


def test_a_group_is_no_larger_than_some_targets():
    groups = by_size(*(file(f"{one:03}", 50) for one in range(100)))
    assert [len(one) for one in groups] == [8] * 12 + [4]
    assert [path for group in groups for path in group] == [f"{one:03}" for one in range(100)]


def test_level_0_takes_what_it_overlaps_above_it_and_nothing_else():
    apart = [file("x", 90, keys=(0, 9), level=1), file("y", 90, keys=(10, 19), level=1)]
    assert by_key(*apart) == []
    assert by_key(*apart, file("a", 50, keys=(5, 7))) == [["x", "a"]]
    assert by_key(*apart, file("a", 50, keys=(9, 10))) == [["x", "a", "y"]]
    assert by_key(*apart, file("a", 50, keys=(20, 30))) == [["a"]]


def test_files_that_hang_together_over_others_are_one_group():
    chain = [file(name, 200, keys=keys) for name, keys in (("a", (0, 2)), ("b", (2, 4)), ("c", (4, 6)), ("d", (7, 8)))]
    assert by_key(*chain) == [["a", "b", "c"], ["d"]]


def test_a_file_without_bounds_takes_the_whole_partition():
    other = file("z", 90, keys=(0, 9), level=1, partition="q")
    assert by_key(file("a"), file("x", 90, keys=(0, 9), level=1), other) == [["a", "x"]]


def test_small_neighbours_above_level_0_go_together_but_not_over_a_file_that_stays():
    low, middle, high = (file(name, 20, keys=(one, one + 5), level=1) for name, one in (("a", 0), ("b", 10), ("c", 30)))
    assert by_key(low, middle, high) == [["a", "b", "c"]]
    assert by_key(low, middle, file("large", 90, keys=(20, 29), level=1), high) == [["a", "b"]]


def test_deleted_rows_above_level_0_are_due():
    deleted = file("a", 90, keys=(0, 5), level=1, deleted=1)
    assert by_key(deleted, file("b", 90, keys=(6, 9), level=1)) == [["a"]]
    assert by_key(deleted, asked=()) == []


def test_only_files_that_are_asked_for_are_taken_with_what_they_overlap_above():
    files = [file("a", keys=(0, 5)), file("b", keys=(3, 9)), file("x", 90, keys=(4, 6), level=1)]
    assert by_key(*files, asked=["a"]) == [["a", "x"]]
    assert by_key(*files, asked=["x"]) == []


def test_files_of_an_older_spec_are_taken_whatever_their_keys():
    old = [file(name, 200, partition=OLDER_SPEC, keys=(0, 5), level=level) for name, level in (("a", 0), ("b", 1))]
    groups = choose_by_key([*old, file("c", keys=(0, 5))], frozenset("abc"), TARGET)
    assert [([one.path for one in group.files], group.partition) for group in groups] == [
        (["a", "b"], OLDER_SPEC),
        (["c"], "p"),
    ]


SPANS = st.tuples(st.integers(0, 20), st.integers(0, 6)).map(lambda drawn: (drawn[0], drawn[0] + drawn[1]))
FILES = st.lists(st.tuples(SPANS, st.integers(1, 150), st.integers(0, 1)), max_size=12)


@given(FILES)
def test_groups_never_overlap_a_file_above_level_0_that_stays(drawn):
    """Outputs lie between the first and the last key of their inputs, so they overlap none that is left."""
    files = [
        file(str(place), size, keys=keys, level=level, rows=100) for place, (keys, size, level) in enumerate(drawn)
    ]
    groups = choose_by_key(files, frozenset(one.file.path for one in files), TARGET)
    spans = {one.file.path: one.span for one in files}
    taken = [one.path for group in groups for one in group.files]
    assert len(taken) == len(set(taken))
    hulls = [_hull(spans[one.path] for one in group.files) for group in groups]
    hulls += [one.span for one in files if one.level > 0 and one.file.path not in taken]
    assert not any(one.overlaps(other) for place, one in enumerate(hulls) for other in hulls[:place])
    assert {one.file.path for one in files if one.level == 0} <= set(taken)


@given(st.lists(st.tuples(st.sampled_from("pq"), st.integers(1, 150)), max_size=30))
def test_groups_by_size_have_each_file_once_and_are_worth_it(drawn):
    files = [file(str(place), size, partition=partition) for place, (partition, size) in enumerate(drawn)]
    for group in choose_by_size(files, TARGET):
        size = sum(one.file_size for one in group.files)
        assert -(-size // TARGET) < len(group.files)
        assert size <= GROUP_TARGETS * TARGET
        assert {one.partition for one in files if one.file in group.files} == {group.partition}


def _hull(spans):
    spans = list(spans)
    return KeySpan(min(one.low for one in spans), max(one.high for one in spans))


def test_many_small_files_and_many_deleted_rows_come_first():
    few = Group((file("a", 40).file, file("b", 40).file), "p")
    many = Group(tuple(file(str(one), 10).file for one in range(8)), "p")
    deleted, hardly = Group((file("c", 80, deleted=9).file,), "p"), Group((file("d", 80, deleted=1).file,), "p")
    assert most_gain_first([few, many], TARGET) == [many, few]
    assert most_gain_first([hardly, deleted], TARGET) == [deleted, hardly]
    assert many.size == 80
