"""The shared half of a compaction: which groups are taken, in which order, what is told, and what others may change."""

from dataclasses import replace

import pyarrow
import pytest

from lakebed.arrow.compaction import GroupWriter, rewrite
from lakebed.catalog.data.compaction import PATIENCE, Compaction, Writer
from lakebed.catalog.data.target import target_of
from lakebed.catalog.tables.tables import table_state
from lakebed.errors import Corrupt, Invalid, NotFound
from tests.support.compacted_tables import after_making

LINEAGE = ["_row_id", "_last_updated_sequence_number"]


def ids(*numbers):
    return pyarrow.table({"id": pyarrow.array(numbers, pyarrow.int64()), "x": [float(one % 7) for one in numbers]})


def rows(table):
    found = table.scan(columns=[*table.schema.names, *LINEAGE]).to_arrow().to_pylist()
    return sorted((tuple(one.values()) for one in found), key=repr)


def entries(table):
    return [one.file for one in table.scan()._plan.files]


def parquet(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*.parquet")}


@pytest.fixture
def table_of(main):
    def table_of(**layout):
        return main.create_table("t", {"id": "long", "x": "double"}, properties={"write.inline-bytes": "0"}, **layout)

    return table_of


@pytest.fixture
def parted(table_of):
    """Two partitions, of two files each: ids from 0 on, and from 100 on."""
    table = table_of(partition_by=["truncate(100, id)"])
    for first in (0, 10, 100, 110):
        table.append(ids(*range(first, first + 10)))
    return table


class TestReport:
    def test_the_log_tells_of_files_bytes_and_deleted_rows_before_and_after(self, table_of):
        table = table_of()
        for first in (0, 10, 20):
            table.append(ids(*range(first, first + 10)))
        table.delete("id in (3, 14, 15)")
        before = sum(one.file_size for one in entries(table))
        [operation] = table.compact().operations
        after = sum(one.file_size for one in entries(table))
        assert operation.detail == f"3 files, {before:,} bytes, 3 deleted rows -> 1 file, {after:,} bytes"
        assert table.history()[0].operations[0].detail == operation.detail
        counts = operation.counts
        assert (counts["removed_files"], counts["added_files"]) == (3, 1)
        assert (counts["removed_bytes"], counts["added_bytes"]) == (before, after)

    def test_the_condition_stands_before_it(self, parted):
        [operation] = parted.compact(where="id < 50").operations
        assert operation.detail.startswith("id < 50: 2 files, ")


class TestOrder:
    def test_the_groups_that_gain_most_come_first_up_to_the_bytes_that_are_allowed(self, table_of):
        table = table_of(partition_by=["truncate(100, id)"])
        for first in (0, 50, 100, 110, 120, 130):
            table.append(ids(*range(first, first + 10)))
        before = rows(table)
        table.compact(most_bytes=1)
        assert [one.num_rows for one in entries(table)] == [10, 10, 40]
        table.compact(most_bytes=1)
        assert sorted(one.num_rows for one in entries(table)) == [20, 40]
        assert table.compact(most_bytes=1) is None
        assert rows(table) == before

    @pytest.mark.parametrize("size", [0, -1, True, "1"])
    def test_what_is_no_number_of_bytes_is_refused(self, parted, size):
        with pytest.raises(Invalid, match="most_bytes"):
            parted.compact(most_bytes=size)


class TestOthersMeanwhile:
    def test_a_group_that_others_keep_changing_is_left_and_the_others_are_committed(self, parted, monkeypatch, folder):
        before = {row[0]: row for row in rows(parted)}
        changes = after_making(
            monkeypatch, lambda attempt: parted.delete(f"id = {attempt}") if attempt <= PATIENCE else None
        )
        commit = parted.compact()
        assert len(changes) == PATIENCE + 1
        assert commit.operations[0].detail.endswith("; left alone: 1 group that others changed meanwhile")
        assert rows(parted) == sorted((before[one] for one in before if one not in (1, 2, 3)), key=repr)
        assert sorted(one.num_rows for one in entries(parted)) == [10, 10, 20]
        live = {one.path for one in entries(parted)}
        kept = {path for change in changes for one in change.rewrites for path in one.inputs}
        assert parquet(folder) == live | kept

    def test_the_group_of_the_others_is_written_once(self, parted, monkeypatch):
        changes = after_making(
            monkeypatch, lambda attempt: parted.delete(f"id = {attempt}") if attempt <= PATIENCE else None
        )
        parted.compact()
        outputs = [{one.path for one in change.written.files} for change in changes]
        assert len(set.intersection(*outputs)) == 1
        assert len(set.union(*outputs)) == 1 + PATIENCE

    def test_a_group_that_is_the_only_one_is_tried_on(self, table_of, monkeypatch):
        table = table_of()
        for first in (0, 10):
            table.append(ids(*range(first, first + 10)))
        after_making(monkeypatch, lambda attempt: table.delete(f"id = {attempt}") if attempt <= PATIENCE + 2 else None)
        assert table.compact() is not None
        assert sorted(row[0] for row in rows(table)) == [0, *range(PATIENCE + 3, 20)]
        assert len(entries(table)) == 1

    def test_keys_that_another_compaction_has_put_there_are_no_conflict(self, table_of, monkeypatch, folder):
        table = table_of(primary_key=["id"], partition_by=["truncate(100, id)"])
        for first in (0, 1, 100, 101):
            table.append(ids(*range(first, first + 20, 2)))

        def others(attempt):
            if attempt == 1:
                table.append(ids(*range(1, 90, 3)))  # across the first group, and no file of it
                table.compact(where="id < 100")

        before = [row[0] for row in rows(table)]
        changes = after_making(monkeypatch, others)
        table.compact()
        first, _, second = ({one.path for one in change.written.files} for change in changes)
        assert len(first & second) == 1
        assert [row[0] for row in rows(table)] == sorted([*before, *range(1, 90, 3)], key=repr)
        assert [one.level for one in entries(table)] == [1, 1]

    def test_a_file_that_is_gone_leaves_nothing_of_what_was_written(self, parted, folder):
        gone = folder / entries(parted)[-1].path
        content = gone.read_bytes()
        before = parquet(folder)
        gone.unlink()
        with pytest.raises(Corrupt):
            parted.compact()
        gone.write_bytes(content)
        assert parquet(folder) == before


class TestSorting:
    def spread(self, table, files=4):
        """Each file has all values of x, and its own ids."""
        for one in range(files):
            table.append(ids(*range(one, 400, files)))

    def test_files_that_lie_across_one_another_are_sorted_together(self, table_of):
        table = table_of()
        self.spread(table)
        before, version = rows(table), table.version
        table.compact(sort_by=["x", "id"], target_bytes=2000)
        assert len(entries(table)) > 2
        found = [value for one in table.scan().to_batches() for value in one.column("x").to_pylist()]
        assert found == sorted(found)
        assert rows(table) == before == rows(table.at(version=version))

    def test_what_is_sorted_is_left_alone(self, table_of):
        table = table_of(sort_by=["x desc", "id"])
        self.spread(table)
        assert table.compact(strategy="sort", target_bytes=3000) is not None
        assert table.compact(strategy="sort", target_bytes=3000) is None

    def test_large_files_are_taken_that_packing_leaves(self, table_of):
        table = table_of()
        self.spread(table)
        assert table.compact(target_bytes=100) is None
        assert table.compact(sort_by=["x"], target_bytes=100) is not None

    def test_a_table_with_levels_is_sorted_by_its_key_and_by_nothing_else(self, table_of):
        table = table_of(primary_key=["id"])
        self.spread(table)
        with pytest.raises(Invalid, match="sorted by its primary key"):
            table.compact(sort_by=["x"])
        assert table.compact(sort_by=["id"]) is not None
        assert table.compact(strategy="sort") is None

    @pytest.mark.parametrize(
        "asked",
        [
            {"strategy": "sort"},
            {"strategy": "z-order"},
            {"sort_by": "x"},
            {"sort_by": []},
            {"sort_by": ["y"]},
            {"sort_by": ["x"], "strategy": "bin-pack"},
        ],
    )
    def test_what_can_not_be_sorted_by_is_refused(self, table_of, asked, folder):
        table = table_of()
        self.spread(table)
        before = parquet(folder)
        with pytest.raises((Invalid, NotFound)):
            table.compact(**asked)
        assert parquet(folder) == before


def test_files_are_written_again_with_the_lineage_of_their_rows(parted):
    parted.delete("id in (3, 104)")
    parted.upsert(ids(5, 6), on="id")
    before = rows(parted)
    work = parted._scope.read()
    target = target_of(work, table_state(work, parted.id))
    made = rewrite(target, entries(parted))
    assert sum(one.num_rows for one in made) == len(before)
    assert [one.level for one in made] == [0, 0]
    tables = [pyarrow.parquet.read_table(work.context.files.location(one.path)) for one in made]
    found = [tuple(one.values()) for table in tables for one in table.to_pylist()]
    assert sorted(found, key=repr) == before
    assert rewrite(target, []) == []


def test_a_table_that_is_dropped_meanwhile_is_not_found_and_nothing_stays(parted, monkeypatch, main, folder):
    before = parquet(folder)
    after_making(monkeypatch, lambda _: main.drop_table("t") if main.table_exists("t") else None)
    with pytest.raises(NotFound):
        parted.compact()
    assert parquet(folder) == before


def test_an_engine_that_loses_a_row_is_found_out_and_nothing_stays(parted, folder):
    class Half(Writer):
        def __init__(self, own):
            self._own = own

        def write(self, groups, done):
            for one in groups:
                self._own.write([replace(one, files=one.files[1:])], lambda made, one=one: done([(one, made[0][1])]))

    before, work = parquet(folder), parted._scope.read()
    with pytest.raises(Corrupt, match="other rows than their entries say"):
        losing = Compaction(lambda target, form: Half(GroupWriter(target, form)), lambda _: None)
        losing.make(work, table_state(work, parted.id))
    assert parquet(folder) == before
