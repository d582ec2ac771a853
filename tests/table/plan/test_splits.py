"""Splits: a plan in tasks, with each row group in exactly one."""

import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Invalid
from lakebed.table.manifest.manifest_pb2 import Block, ColumnStatistics, DataFileRef
from lakebed.table.plan.plan import PlannedFile
from lakebed.table.plan.splits import Split, splits, tasks


def entry(path: str, size: int, *blocks: tuple[int, int | None]) -> DataFileRef:
    """A file with row groups of these rows and bytes; without any, of ten rows."""
    file = DataFileRef(path=path, file_size=size, num_rows=sum(rows for rows, _ in blocks) if blocks else 10)
    for rows, taken in blocks:
        known = [ColumnStatistics(field_id=1, size=taken), ColumnStatistics(field_id=2, size=0)]
        file.blocks.append(Block(num_rows=rows, columns=known))
    return file


BLOCKS = st.lists(st.tuples(st.integers(0, 50), st.none() | st.integers(0, 400)), max_size=6)


@st.composite
def plans(draw: st.DrawFn) -> list[PlannedFile]:
    files = [entry(f"f{place}", draw(st.integers(0, 1000)), *draw(BLOCKS)) for place in range(draw(st.integers(0, 8)))]
    return [PlannedFile(one, draw(_some_blocks(one))) for one in files]


def _some_blocks(file: DataFileRef) -> st.SearchStrategy[tuple[int, ...] | None]:
    if not file.blocks:
        return st.none()
    numbers = st.sets(st.integers(0, len(file.blocks) - 1), min_size=1)
    return st.none() | numbers.map(lambda chosen: tuple(sorted(chosen)))


def groups(files: tuple[PlannedFile, ...] | list[PlannedFile]) -> list[tuple[str, int]]:
    """The row groups that are read, in order; a file that lists none has one."""
    return [
        (one.file.path, number)
        for one in files
        for number in (range(max(1, len(one.file.blocks))) if one.row_groups is None else one.row_groups)
    ]


def first(split: Split) -> Split:
    """The first row group of a split, as a split of its own."""
    return splits(split.files, 1)[0]


@given(plans(), st.integers(1, 1500))
def test_each_row_group_is_in_one_split_in_the_order_of_the_plan(files: list[PlannedFile], target: int) -> None:
    found = splits(files, target)
    assert [one for split in found for one in groups(split.files)] == groups(files)
    assert all(split.files for split in found)
    rows = sum(one.file.blocks[n].num_rows for one in files if one.file.blocks for _, n in groups([one]))
    assert sum(one.rows for one in found) == rows + 10 * sum(1 for one in files if not one.file.blocks)


@given(plans(), st.integers(1, 1500))
def test_a_split_is_as_large_as_the_target_allows(files: list[PlannedFile], target: int) -> None:
    found = splits(files, target)
    assert all(one.bytes <= target or len(groups(one.files)) == 1 for one in found)
    assert all(one.bytes + first(after).bytes > target for one, after in pairwise(found))


@given(plans(), st.integers(1, 1500))
def test_the_bytes_of_files_that_are_read_whole_are_all_in_splits(files: list[PlannedFile], target: int) -> None:
    whole = [PlannedFile(one.file) for one in files]
    assert sum(one.bytes for one in splits(whole, target)) == sum(one.file.file_size for one in whole)


@given(plans(), st.integers(1, 1500))
def test_the_same_plan_has_the_same_splits_and_they_can_be_sent(files: list[PlannedFile], target: int) -> None:
    copy = pickle.loads(pickle.dumps(files))
    assert pickle.loads(pickle.dumps(splits(files, target))) == splits(copy, target)


def test_row_groups_weigh_what_their_columns_take() -> None:
    file = entry("f", 1200, (5, 100), (5, 300), (5, 200))
    assert [one.bytes for one in splits([PlannedFile(file)], 1)] == [200, 600, 400]


def test_row_groups_weigh_by_their_rows_where_one_was_not_measured() -> None:
    file = entry("f", 1000, (10, 100), (30, None), (60, 100))
    assert [one.bytes for one in splits([PlannedFile(file)], 1)] == [100, 300, 600]


def test_row_groups_of_which_nothing_is_known_weigh_the_same() -> None:
    file = entry("f", 100, (0, None), (0, None))
    assert [one.bytes for one in splits([PlannedFile(file)], 1)] == [50, 50]


def test_files_that_fit_together_are_one_split() -> None:
    files = [PlannedFile(entry(str(place), 40)) for place in range(5)]
    assert splits(files, 100) == [
        Split(tuple(files[:2]), 80, 20),
        Split(tuple(files[2:4]), 80, 20),
        Split(tuple(files[4:]), 40, 10),
    ]
    assert splits(files) == [Split(tuple(files), 200, 50)]


def test_a_file_that_is_planned_twice_is_read_twice() -> None:
    planned = PlannedFile(entry("f", 100, (1, 50), (1, 50)))
    assert splits([planned, planned], 1000) == [Split((planned, planned), 200, 4)]


def test_no_file_is_no_split() -> None:
    assert splits([]) == []


@pytest.mark.parametrize("target", [0, -1, 1.5, True, None, "128"])
def test_a_target_is_a_number_of_bytes(target: object) -> None:
    with pytest.raises(Invalid, match="a split can't have this size"):
        splits([], target)  # type: ignore[arg-type]


MEGABYTE = 1 << 20


def wide(path: str, *group_bytes: int) -> PlannedFile:
    """A file with row groups of these sizes, whose columns 1 to 10 take a tenth each."""
    file = DataFileRef(path=path, file_size=sum(group_bytes), num_rows=len(group_bytes))
    for size in group_bytes:
        columns = [ColumnStatistics(field_id=id, size=size // 10) for id in range(1, 11)]
        file.blocks.append(Block(num_rows=1, columns=columns))
    return PlannedFile(file)


@pytest.mark.parametrize(
    ("ids", "threads", "expected"),
    [
        (range(1, 11), 1, 40),  # all columns: 4 MB are a row group
        ([3], 1, 4),  # one of ten: ten row groups have as much to read
        ([3], 8, 20),  # but there is enough for all threads
        ([3], 1000, 40),  # and no task is smaller than it was
        ([99], 1, 2),  # no column that was measured: as large as leaves both halves
    ],
)
def test_a_task_is_as_much_to_read_however_few_columns_are_read(ids: list[int], threads: int, expected: int) -> None:
    """What it did: a thread opened a file for each 4 MB of it, of which it read a fifteenth."""
    files = [wide(f"f{number}", *[4 * MEGABYTE] * 4) for number in range(10)]
    assert len(tasks(files, ids, threads)) == expected


def test_tasks_of_files_that_say_nothing_of_their_columns() -> None:
    files = [PlannedFile(entry(str(place), 4 * MEGABYTE)) for place in range(6)]
    assert len(tasks(files, [1], 2)) == 6
    assert tasks([], [1], 2) == []
