"""What a read by Spark promises: few files, few row groups, no listing, the table as its transaction sees it."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed import Catalog, Conflict, Table
from lakebed.arrow.write.write import write as write_arrow
from lakebed.files import LocalFiles
from lakebed.spark.read.read import read
from lakebed.table.filter.bind import parse_filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.pruning import may_match
from lakebed.table.schema.schema import Schema, with_ids

IN_GROUPS = {"write.inline-bytes": "0", "write.row-group-rows": "100"}
Setting = Callable[[dict[str, str]], AbstractContextManager[None]]


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path / "a lake") as lake:
        yield lake.catalog()


def agree(spark: SparkSession, table: Table, where: str | None = None) -> list[dict[str, Any]]:
    """The rows that both engines show; Spark with the filter given to it, and with the same put on its frame later."""
    here = sorted(table.scan(where=where).to_arrow().to_pylist(), key=repr)
    frames = [table.read(spark, where=where)] + ([] if where is None else [table.read(spark).where(where)])
    for frame in frames:
        assert sorted(frame.toArrow().to_pylist(), key=repr) == here, where
    return here


def scanned(frame: DataFrame) -> int:
    """How many rows Spark's scans gave to what follows them: those of the row groups that were not skipped."""
    execution = frame._jdf.queryExecution()
    frame._jdf.collectToPython()
    leaves = execution.executedPlan().collectLeaves()
    found = [leaves.apply(place) for place in range(leaves.size())]
    return sum(
        one.metrics().apply("numOutputRows").value() for one in found if "FileSourceScan" in one.getClass().getName()
    )


def test_filters_put_on_a_frame_later_skip_row_groups(main: Catalog, spark: SparkSession, setting: Setting) -> None:
    table = main.create_table("t", {"id": "long", "n": "int", "name": "string"}, properties=IN_GROUPS)
    numbers = range(1000)
    table.append(
        pyarrow.table({"id": numbers, "n": pyarrow.array(numbers, "int32"), "name": [f"{one:04}" for one in numbers]})
    )
    with setting({"spark.sql.adaptive.enabled": "false"}):
        assert scanned(table.read(spark)) == 1000
        assert scanned(table.read(spark).where("id >= 950")) <= 100
        with table.evolve() as change:
            change.rename_column("id", "key")
            change.rename_column("name", "id")
            change.widen_column("n", "long")
            change.add_column("later", "int", default=5)
        for later in ("key >= 950", "id >= '0950'", "n >= 950", "key >= 950 and later = 5"):
            frame = table.read(spark).where(later)
            assert scanned(frame) <= 100 and frame.count() == 50, later
        assert scanned(table.read(spark, where="n >= 950")) <= 100
        table.delete("key in (0, 960)")
        frame = table.read(spark, columns=["id", "key", "_pos", "_row_id"]).where("key >= 950")
        assert scanned(frame) <= 100 and frame.count() == 49


def test_columns_that_came_went_and_grew_are_right_under_filters(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"a": "int", "b": "string", "c": "float"}, properties=IN_GROUPS)
    first = {"a": pyarrow.array(range(300), "int32"), "b": [f"b{one % 7}" for one in range(300)]}
    table.append(pyarrow.table(first | {"c": pyarrow.array(range(300), "float")}))
    with table.evolve() as change:
        change.drop_column("c")
    with table.evolve() as change:
        change.rename_column("b", "c")
        change.widen_column("a", "long")
        change.add_column("b", "int", default=3)
    table.append(pyarrow.table({"a": [1 << 40, 5], "c": ["b1", None], "b": pyarrow.array([None, 4], "int32")}))
    with table.evolve() as change:
        change.rename_column("a", "A2")
        change.add_column("a", "string", default="new")
    table.append(pyarrow.table({"A2": [7, 8], "c": ["x", "y"], "a": ["given", None]}))
    assert len(agree(spark, table)) == 304
    for where, count in {
        "c = 'b1'": 44,
        "A2 > 1000": 1,
        "b = 3": 302,
        "b is null": 1,
        "a = 'new' and A2 < 10": 11,
        "a is null": 1,
        "b <> 3 or c = 'x'": 2,
    }.items():
        assert len(agree(spark, table, where)) == count, where


def test_a_struct_is_there_though_a_file_lacks_the_field_asked_for(main: Catalog, spark: SparkSession) -> None:
    """Spark 4.0 takes it for null, if its own pruning is let through."""
    table = main.create_table("t", {"id": "long", "s": "struct<a: long>"}, properties=IN_GROUPS)
    table.append(pyarrow.table({"id": [1, 2], "s": [{"a": 1}, None]}))
    with table.evolve() as change:
        change.add_column("s.b", "int")
    rows = table.read(spark).where("s is not null").selectExpr("id", "s.b").collect()
    assert [tuple(one) for one in rows] == [(1, None)]


def test_other_partitions_than_before_are_not_seen(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long", "place": "string"}, partition_by=["place"])
    rows = pyarrow.table({"id": range(20), "place": [["here", "there", None][one % 3] for one in range(20)]})
    table.append(rows)
    with table.evolve() as change:
        change.partition_by(["bucket(4, id)"])
    table.append(rows)
    with table.evolve() as change:
        change.partition_by([])
    table.append(spark.createDataFrame(rows))
    table.delete("id = 3")
    assert len(agree(spark, table)) == 57
    for where, count in {"place = 'here'": 18, "id = 4": 3, "place is null and id > 10": 9, "id = 3": 0}.items():
        assert len(agree(spark, table, where)) == count, where


def test_files_are_left_out_by_partitions_ranges_and_blooms(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table(
        "t",
        {"id": "long", "place": "string", "code": "string"},
        partition_by=["place"],
        properties=IN_GROUPS | {"write.bloom.columns": "code"},
    )
    for start in (0, 100):
        codes = [f"{(one * 7919 + start) % 100_003:06}" for one in range(100)]
        places = [["here", "there"][one % 2] for one in range(100)]
        table.append(pyarrow.table({"id": range(start, start + 100), "place": places, "code": codes}))
    assert len(table.read(spark).inputFiles()) == 4
    for where, files in {
        "place = 'here'": 2,
        "id < 100": 2,
        "id = 101 and place = 'there'": 1,
        "code = '007919'": 1,
        "id > 500": 0,
    }.items():
        frame = table.read(spark, where=where)
        assert len(frame.inputFiles()) == len(table.scan(where=where).files()) == files, where
        assert frame.count() == table.scan(where=where).count()


class CountedFiles(LocalFiles):
    """Files that count what is asked of them."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked = Counter[str]()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in ("read", "read_ranges", "head", "list"):
            self.asked[name] += 1
        return found


@pytest.mark.long
def test_ten_thousand_files_are_planned_without_listing(spark: SparkSession, tmp_path: Path) -> None:
    files, schema = CountedFiles(tmp_path / "lake"), with_ids(Schema({"id": "long"}), 0, 1)
    [one] = write_arrow(files, "data", schema, pyarrow.table({"id": [1]}))
    (tmp_path / "lake" / "many").mkdir()
    entries = [DataFileRef() for _ in range(10_000)]
    for number, entry in enumerate(entries):
        entry.CopyFrom(one)
        entry.path = f"many/{number}.parquet"
        os.link(files.location(one.path), files.location(entry.path))
    files.asked.clear()
    group = "planning ten thousand"
    spark.sparkContext.setJobGroup(group, "")
    try:
        frame = read(spark, files, schema, entries, columns=["id", "_file", "_pos"])
        assert len(frame.inputFiles()) == 10_000
        # Each is looked at once, and its footer: one of another size or schema would lose rows without a word.
        assert files.asked == {"head": 10_000, "read": 10_000}
        filter = parse_filter("id = 2", schema)
        planned = [entry for entry in entries if may_match(filter, entry)]
        assert read(spark, files, schema, planned, filter=filter).inputFiles() == []
        assert files.asked == {"head": 10_000, "read": 10_000}, "files that the plan leaves out are not looked at"
        assert spark.sparkContext.statusTracker().getJobIdsForGroup(group) == []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_a_read_in_a_transaction_sees_its_own_writes(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long", "name": "string"})
    table.append(pyarrow.table({"id": range(10), "name": ["old"] * 10}))
    with main.transaction("writes") as change:
        inside = change.table("t")
        inside.append(pyarrow.table({"id": [100], "name": ["inline"]}))
        inside.append(spark.range(200, 203).selectExpr("id", "'spark' as name"))
        inside.delete("id in (1, 201)")
        inside.update({"name": "'new'"}, "id = 2")
        assert len(agree(spark, inside)) == 12
        assert len(agree(spark, inside, "name <> 'old'")) == 4
        assert table.read(spark).count() == 10, "nobody else sees them"
    assert len(agree(spark, table)) == 12


@pytest.mark.parametrize(("where", "is_lost"), [("id > 100", True), ("id = 3", False), (None, True)])
def test_a_read_in_a_transaction_is_part_of_what_it_has_read(
    main: Catalog, spark: SparkSession, where: str | None, is_lost: bool
) -> None:
    table = main.create_table("t", {"id": "long"})
    other = main.create_table("other", {"id": "long"})
    table.append(pyarrow.table({"id": range(10)}))

    def work() -> None:
        with main.transaction("reads") as change:
            change.table("other").append(change.table("t").read(spark, where=where).limit(1))
            change.table("other").append(pyarrow.table({"id": [1]}))
            table.append(pyarrow.table({"id": [200]}))

    if is_lost:
        with pytest.raises(Conflict, match="table t"):
            work()
        assert other.read(spark).count() == 0
    else:
        work()
        assert other.read(spark).count() == 2


def test_a_frame_shows_the_table_as_it_was_when_it_was_made(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long"}, properties={"write.inline-bytes": "0"})
    table.append(pyarrow.table({"id": range(10)}))
    frame = table.read(spark)
    table.delete("id < 5")
    table.append(pyarrow.table({"id": [50]}))
    table.compact()
    assert sorted(row.id for row in frame.collect()) == list(range(10))
    assert sorted(row.id for row in table.read(spark).collect()) == [5, 6, 7, 8, 9, 50]
