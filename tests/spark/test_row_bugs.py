"""What changes of rows by Spark did to people, each under the name of it."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Barrier

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
import lakebed.spark.compaction
from lakebed import (
    Catalog,
    Table,
    when_matched_delete,
    when_matched_update,
    when_not_matched_by_source_delete,
    when_not_matched_by_source_update,
)
from lakebed.errors import Corrupt, Invalid
from lakebed.spark.jobs.jobs import ClassicJobs
from lakebed.spark.rows.addresses import check_unreserved
from lakebed.spark.write.write import write
from lakebed.table.schema.metadata_columns import check_free_name

Setting = Callable[[dict[str, str]], AbstractContextManager[None]]


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog()


def values(table: Table, name: str) -> list[object]:
    return sorted(table.scan().to_arrow()[name].to_pylist(), key=repr)


@pytest.mark.parametrize("name", ["gone_at", "source.id", "source.gone_at"])
def test_rows_that_the_source_does_not_match_were_deleted_by_its_own_columns(
    main: Catalog, spark: SparkSession, name: str
) -> None:
    table = main.create_table("t", {"id": "long", "n": "long"})
    table.append(pyarrow.table({"id": [1, 2], "n": [1, 2]}))
    source = spark.createDataFrame(pyarrow.table({"id": [1], "n": [10], "gone_at": [5]}))
    for clause in (
        when_not_matched_by_source_delete(f"{name} is null"),
        when_not_matched_by_source_update({"n": name}),
        when_not_matched_by_source_update({"n": "0"}, f"{name} is null"),
    ):
        with pytest.raises(Invalid, match="there is no such column"):
            table.merge(source, "id", clause)
    assert values(table, "n") == [1, 2]
    table.merge(source, "id", when_not_matched_by_source_update({"n": "target.n + id"}, "target.n = n"))
    assert values(table, "n") == [1, 4]


def written(path: Path, ids: range, note: int) -> int:
    """A Parquet file with a note of so many letters in its footer, and its size."""
    with pyarrow.parquet.ParquetWriter(path, pyarrow.schema({"id": "int64"}), compression="none") as writer:
        writer.write_table(pyarrow.table({"id": list(ids)}))
        writer.add_key_value_metadata({"note": "x" * note})
    return os.path.getsize(path)


def test_a_copy_of_a_file_that_had_lost_rows_took_them_away(main: Catalog, spark: SparkSession, tmp_path: Path) -> None:
    given, other = tmp_path / "given.parquet", tmp_path / "other.parquet"
    size = written(given, range(100), 200)
    assert next((note for note in range(200, 600) if written(other, range(90), note) == size), None) is not None
    table = main.create_table("t", {"id": "long"}, properties={"write.row-changes": "copy-on-write"})
    table.add_files([given])
    before = table.version
    shutil.copy(other, given)
    with pytest.raises(Corrupt, match=r"files have other rows than their entries say .*99.*89"):
        table.delete("id = 5", spark)
    assert table.version == before
    data = Path(main.table("t").location.removeprefix("file://"), "data")
    assert not [one for one in data.rglob("*") if one.is_file()]


def test_a_column_of_the_name_that_places_have_had_other_rows_deleted(main: Catalog, spark: SparkSession) -> None:
    for name in ("lakebed.file", "Lakebed.position", "lakebed.row"):
        with pytest.raises(Invalid, match="names with this prefix are reserved for Lakebed"):
            main.create_table("t", {"id": "long", name: "int"})
        with pytest.raises(Invalid, match="a name that Lakebed needs for itself"):
            check_unreserved(["id", name])
    check_free_name("lakebed_file")
    table = main.create_table("t", {"id": "long"})
    table.append(pyarrow.table({"id": [1]}))
    with pytest.raises(Invalid, match="a name that Lakebed needs for itself"):
        table.merge(spark.range(2).selectExpr("id", "1 as `lakebed.source`"), "id", when_matched_delete())
    assert values(table, "id") == [1]


def test_a_source_of_many_columns_was_too_deep_for_java(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long"})
    table.append(pyarrow.table({"id": [1, 2]}))
    wide = pyarrow.table({"id": [2], **{f"c{one}": ["x"] for one in range(700)}})
    table.merge(spark.createDataFrame(wide), "id", when_matched_delete())
    assert values(table, "id") == [1]


@pytest.mark.parametrize(
    ("kind", "key"),
    [("timestamptz", "timestamp_micros(253402300800000000 + id)"), ("date", "date_add(date'9999-12-31', int(id) + 1)")],
)
def test_keys_behind_the_last_year_of_python_could_not_be_upserted(
    main: Catalog, spark: SparkSession, kind: str, key: str
) -> None:
    table = main.create_table("t", {"k": kind, "v": "int"}, primary_key=["k"])
    rows = spark.range(300).selectExpr(f"{key} k", "1 v")
    table.append(rows)
    table.upsert(rows.selectExpr("k", "2 v"))
    assert values(table, "v") == [2] * 300
    twice = rows.union(rows)
    with pytest.raises(Invalid, match="300"):
        table.upsert(twice)
    with pytest.raises(Invalid, match=r"k = \+1\d{4}-"):
        table.merge(twice, "k", when_matched_update({"v": "source.v"}))
    table.set_properties({"write.check-keys": "true"})
    with pytest.raises(Invalid, match=r"k = \+1\d{4}-.* is in the table already|is in the table already.*k = \+1"):
        table.append(rows)


def test_a_key_was_looked_for_by_the_tables_spelling(main: Catalog, spark: SparkSession, setting: Setting) -> None:
    table = main.create_table("t", {"Straße": "long", "v": "int"})
    table.append(pyarrow.table({"Straße": [1, 2], "v": pyarrow.array([1, 1], "int32")}))
    table.upsert(spark.range(2, 4).selectExpr("id `STRASSE`", "2 v"), ["Straße"])
    with setting({"spark.sql.caseSensitive": "true"}):
        table.upsert(spark.range(3, 5).selectExpr("id `straße`", "3 v"), ["Straße"])
    assert sorted(table.scan().to_arrow().to_pydict()["v"]) == [1, 2, 3, 3]


def test_rows_were_left_out_whose_new_value_was_none_or_several(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long", "tags": "list<string>", "tag": "string"})
    tags = pyarrow.array([["a"], [], None], pyarrow.list_(pyarrow.string()))
    table.append(pyarrow.table({"id": [1, 2, 3], "tags": tags}))
    with pytest.raises(Invalid, match="can't be read by Spark"):
        table.update({"tag": "explode(tags)"}, None, spark)
    for value, where in (("max(tag)", None), ("'x'", "count(*) > 1"), ("'x'", "row_number() over (order by id) = 1")):
        with pytest.raises(Invalid, match="t"):
            table.update({"tag": value}, where, spark)
    assert values(table, "tag") == [None, None, None]


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
    assert values(table, "id") == list(range(6))
