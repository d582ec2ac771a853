"""Compaction on Spark of many small partitions: few jobs, a file for each of them, and no row changes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
import lakebed.spark.compaction
from lakebed import Catalog, Table
from lakebed.catalog.data.compaction import Compaction
from lakebed.errors import Corrupt
from lakebed.spark import compaction
from lakebed.spark.jobs.jobs import ClassicJobs
from lakebed.spark.write.write import write
from lakebed.table.keys.encoding import encode_key, key_types
from tests.support.compacted_tables import COLUMNS, IN_FILES, LINEAGE, entries, rows

WIDTH = 10
"""How many ids a partition has."""


@pytest.fixture
def main(tmp_path):
    with lakebed.connect(tmp_path / "a lake, 100%") as lake:
        yield lake.catalog()


def parted(main, count, *, properties=IN_FILES, **layout):
    """A table of so many partitions, of three files each, whose ids are in no order."""
    table = main.create_table("t", COLUMNS, partition_by=[f"truncate({WIDTH}, id)"], properties=properties, **layout)
    for first in (7, 3, 0):
        numbers = [one for one in reversed(range(count * WIDTH)) if one % WIDTH in (first, first + 1, first + 2)]
        table.append(pyarrow.table({"id": numbers, "name": [f"n{one * 7919 % 1000}" for one in numbers]}))
    return table


def by_spark(spark, table):
    found = table.read(spark, columns=[*table.schema.names, *LINEAGE]).toArrow().to_pylist()
    return sorted((tuple(one.values()) for one in found), key=repr)


def stored(table, file):
    return pyarrow.parquet.ParquetFile(table._scope.context.files.location(file.path)).read()


def parquet(table):
    files = table._scope.context.files
    return {one.path for one in files.list(f"{table._state.data_folder}/") if one.path.endswith(".parquet")}


def jobs_folders(files):
    """The folders of the jobs that wrote the files."""
    return {one.path.split("/data/")[-1].split("/")[0] for one in files}


def values(file):
    """The partition of a file, as its entry has it."""
    return [one.value for one in file.partition]


def check_partitions(table, before):
    """Each file has the rows of one partition, and the value that the files of that partition had before."""
    known = {stored(table, one)["id"][0].as_py() // WIDTH: values(one) for one in before}
    for one in entries(table):
        [found] = {number // WIDTH for number in stored(table, one)["id"].to_pylist()}
        assert values(one) == known[found]


@pytest.mark.long
def test_sixty_partitions_become_a_file_each_by_few_jobs_and_no_row_changes(spark, main):
    table = parted(main, 60)
    table.delete("id in (3, 53, 104, 577)")
    table.update({"name": "'changed'"}, "id between 205 and 215")
    versions = {one.version: rows(table.at(version=one.version)) for one in table.history()}
    before, context = entries(table), spark.sparkContext
    context.addJobTag("sixty")
    try:
        table.compact(spark)
    finally:
        context.removeJobTag("sixty")
    assert len(context._jsc.sc().statusTracker().getJobIdsForTag("sixty")) < 10
    files = entries(table)
    assert (len(files), len(jobs_folders(files))) == (60, 1)
    assert not any(one.HasField("dv_path") or one.level for one in files)
    check_partitions(table, before)
    assert all(rows(table.at(version=one)) == found for one, found in versions.items())
    assert by_spark(spark, table) == versions[max(versions)]
    for one in files:
        [known] = [each for each in one.statistics if each.field_id == 2147483539]
        numbers = stored(table, one)[LINEAGE[1]].to_pylist()
        assert [int.from_bytes(end, "little") for end in (known.lower, known.upper)] == [min(numbers), max(numbers)]
    assert table.scan("id = 212").count() == 1
    assert table.compact() is None


def test_rows_without_an_order_stay_in_that_of_their_files(spark, main):
    table = parted(main, 5)
    written = {
        partition: [number for one in entries(table) if values(one) == [partition] for number in ids_of(table, one)]
        for partition in {value for one in entries(table) for value in values(one)}
    }
    table.compact(spark)
    assert {values(one)[0]: ids_of(table, one) for one in entries(table)} == written
    assert any(found != sorted(found) for found in written.values())


def ids_of(table, file):
    return stored(table, file)["id"].to_pylist()


@pytest.mark.parametrize("asked", [{}, {"strategy": "sort"}, {"sort_by": ["bucket(2, id)", "name"]}])
def test_each_file_is_sorted(spark, main, asked):
    table = parted(main, 5, sort_by=["name desc"])
    before, found = entries(table), rows(table)
    table.compact(spark, **asked)
    files = entries(table)
    assert (len(files), len(jobs_folders(files))) == (5, 1)
    if "sort_by" not in asked:
        names = [stored(table, one)["name"].to_pylist() for one in files]
        assert names == [sorted(one, reverse=True) for one in names]
    else:
        assert all(falls(stored(table, one)["name"].to_pylist()) <= 1 for one in files)  # where the bucket changes
    check_partitions(table, before)
    assert rows(table) == found


def falls(names):
    """How often a name is below the one before it."""
    return sum(one > other for one, other in pairwise(names))


def test_levels_have_exact_keys(spark, main):
    table = parted(main, 6, primary_key=["id"])
    table.append(pyarrow.table({"id": [14, 15], "name": ["again", "again"]}))
    table.delete("id = 20")
    before, found, newest = entries(table), rows(table), table.get(14)
    table.compact(spark)
    files, types = entries(table), key_types(table.schema)
    assert (len(files), len(jobs_folders(files))) == (6, 1)
    for one in files:
        numbers = ids_of(table, one)
        assert numbers == sorted(numbers)
        assert (one.level, one.key_schema_id) == (1, table.schema.id)
        assert [one.key_min, one.key_max] == [encode_key(types, [end]) for end in (numbers[0], numbers[-1])]
    check_partitions(table, before)
    assert rows(table) == found
    assert table.get(14) == newest
    assert table.compact() is None


def test_inline_rows_go_with_those_of_files(spark, main):
    table = parted(main, 6, properties={})
    assert not parquet(table)
    table.delete("id in (3, 44)")
    table.set_properties(IN_FILES)
    table.append(pyarrow.table({"id": [9, 19, 29], "name": ["file"] * 3}))
    found = rows(table)
    table.compact(spark)
    files = entries(table)
    assert {one.path for one in files} <= parquet(table)
    assert (len(files), len(jobs_folders(files))) == (6, 1)
    assert by_spark(spark, table) == rows(table) == found


def test_a_large_partition_is_written_by_a_job_of_its_own(spark, main):
    table = parted(main, 4)
    table.append(pyarrow.table({"id": [7] * 3000, "name": [f"{one * 104729 % 1000003}" for one in range(3000)]}))
    before, found = entries(table), rows(table)
    largest = max(one.file_size for one in before)
    table.compact(spark, target_bytes=largest // 2)
    counts = sorted(one.num_rows for one in entries(table))
    assert counts[:3] == [9, 9, 9]
    assert len(counts) > 4
    assert len(jobs_folders(entries(table))) == 2
    check_partitions(table, before)
    assert rows(table) == found


def test_a_job_that_fails_leaves_nothing_of_those_that_did_not(spark, main, monkeypatch):
    monkeypatch.setattr(compaction, "BATCH_FILES", 6)
    table = parted(main, 6)
    before, found = parquet(table), rows(table)
    place = Path(table._scope.context.files.location(entries(table)[-1].path))
    whole = place.read_bytes()
    place.write_bytes(whole[:10] + bytes(one ^ 0xFF for one in whole[10:60]) + whole[60:])
    with pytest.raises(Corrupt):
        table.compact(spark)
    place.write_bytes(whole)
    assert parquet(table) == before
    table.compact(spark)
    assert len(jobs_folders(entries(table))) == 3
    assert rows(table) == found


def test_only_the_partition_that_others_changed_is_written_again(spark, main, monkeypatch):
    table = parted(main, 6)
    before = {row[0]: row for row in rows(table)}
    made, changes = Compaction.make, []

    def make(self, work, state):
        changes.append(made(self, work, state))
        if len(changes) == 1:
            table.delete("id = 27")
        return changes[-1]

    monkeypatch.setattr(Compaction, "make", make)
    table.compact(spark)
    first, second = ({one.path for one in change.written.files} for change in changes)
    assert (len(first), len(second), len(first & second)) == (6, 6, 5)
    del before[27]
    assert by_spark(spark, table) == rows(table) == sorted(before.values(), key=repr)
    assert parquet(table) == second | {path for one in changes[-1].rewrites for path in one.inputs}


def values_of(table: Table, name: str) -> list[object]:
    return sorted(table.scan().to_arrow()[name].to_pylist(), key=repr)


def test_the_jobs_of_one_compaction_had_the_tags_of_one_another(
    main: Catalog, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = main.create_table(
        "t", {"id": "long", "p": "int"}, partition_by=["p"], properties={"write.inline-bytes": "0"}
    )
    for start in (0, 3):
        rows = {"id": range(start, start + 3), "p": pyarrow.array(range(3), "int32")}
        table.append(pyarrow.table(rows))
    seen: list[tuple[str, set[str]]] = []
    together = Barrier(3, timeout=60)

    class Watched(ClassicJobs):
        @contextmanager
        def tagged(self) -> Iterator[None]:
            with super().tagged():
                together.wait()
                seen.append((self._tag, {one for one in spark.sparkContext.getJobTags() if "-write-" in one}))
                yield

    monkeypatch.setattr(lakebed.spark.compaction, "SMALL_BYTES", 0)  # a job for each group
    monkeypatch.setattr(
        sys.modules[write.__module__], "jobs_of", lambda session, tag: Watched(session.sparkContext, tag)
    )
    table.compact(spark)
    assert len(seen) == 3 and all(tags == {own} for own, tags in seen)
    assert values_of(table, "id") == list(range(6))
