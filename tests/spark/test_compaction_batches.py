"""Which groups of a compaction are written by one job."""

from hypothesis import given
from hypothesis import strategies as st

from lakebed.spark import compaction
from lakebed.spark.compaction import BATCH_TARGETS, SMALL_BYTES, batches_of, file_count
from lakebed.table.keys.compaction import OLDER_SPEC, Group
from lakebed.table.manifest.manifest_pb2 import DataFileRef

TARGET = 1000


def group(*sizes, partition="p"):
    return Group(tuple(DataFileRef(file_size=one, num_rows=1) for one in sizes), partition)


def test_groups_that_become_a_file_each_go_together():
    small = [group(1, 2), group(700, 700), group(3)]
    assert batches_of(small, TARGET) == [small]


def test_a_large_group_and_one_of_an_older_spec_are_alone():
    large, old, small = group(900, 900), group(1, 1, partition=OLDER_SPEC), [group(1), group(2)]
    assert batches_of([small[0], large, old, small[1]], TARGET) == [[large], [old], small]


def test_a_group_that_takes_longer_to_shuffle_than_a_job_to_start_is_alone():
    groups = [group(SMALL_BYTES), group(SMALL_BYTES, 1), group(5)]
    assert batches_of(groups, 100 * SMALL_BYTES) == [groups[1:2], [groups[0], groups[2]]]


def test_rows_that_are_deleted_do_not_make_a_group_large():
    file = DataFileRef(file_size=3000, num_rows=3, deleted_rows=2)
    assert file_count([file], TARGET) == 1


@given(st.lists(st.lists(st.integers(0, 1400), min_size=1, max_size=8), max_size=60))
def test_each_group_is_in_one_batch_and_a_batch_has_a_bound(sizes):
    groups = [group(*one, partition=number) for number, one in enumerate(sizes)]
    batches = batches_of(groups, TARGET)
    assert sorted(one.partition for batch in batches for one in batch) == [*range(len(groups))]
    for batch in batches:
        assert len(batch) == 1 or sum(one.size for one in batch) <= BATCH_TARGETS * TARGET
        assert len(batch) == 1 or all(file_count(one.files, TARGET) == 1 for one in batch)


def test_a_batch_has_so_many_files_at_most(monkeypatch):
    monkeypatch.setattr(compaction, "BATCH_FILES", 5)
    groups = [group(1, 1), group(1, 1), group(1, 1), group(*[1] * 7), group(1)]
    assert batches_of(groups, TARGET) == [groups[:2], groups[2:3], groups[3:4], groups[4:]]
