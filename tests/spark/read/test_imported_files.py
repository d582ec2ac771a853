"""Folders that Spark and DuckDB wrote are imported, and read by both engines as their writers read them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog
from tests.support.examples import long_but

SELECT = """
    select cast(id as int) id, cast(id as tinyint) tiny, id * 1000000000000 big, id / 3 as d, cast(id as float) f,
           cast(id as decimal(12, 3)) amount, concat('n', id) name, id % 2 = 0 even,
           timestamp_micros(id * 1234567) at, cast(timestamp_micros(id) as timestamp_ntz) local,
           date_add(date'2026-01-30', cast(id as int)) day, cast(concat('b', id) as binary) bytes,
           array(id, null) list, map('k', id) mapping, named_struct('a', id, 'b', array(named_struct('c', 'x'))) inside,
           date_format(date_add(date'2026-01-30', cast(id as int)), 'yyyy-MM') month,
           if(id % 5 = 0, null, id % 3) as part
    from range(40)
"""


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(str(tmp_path / "a lake")) as lake:
        yield lake.catalog()


def values(rows: Any) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("copy", long_but([False, True], [False]), ids=["in place", "copied"])
def test_a_folder_that_spark_wrote(spark: SparkSession, main: Catalog, tmp_path: Path, copy: bool) -> None:
    folder = str(tmp_path / "spärk's, folder")
    spark.sql(SELECT).repartition(2).write.partitionBy("month", "part").parquet(folder)
    found = main.import_parquet("sales.t", folder, copy=copy)
    theirs = spark.read.parquet(folder)
    names = theirs.columns
    assert list(main.table("sales.t").schema.names) == names
    expected = values(theirs.toArrow().to_pylist())
    assert (found.rows, found.source_rows, len(expected)) == (40, 40, 40)
    table = main.table("sales.t")
    assert values(table.scan().to_arrow().to_pylist()) == expected
    assert values(table.read(spark).toArrow().to_pylist()) == expected
    for where in ("part = 1", "part is null", "month = '2026-02'", "id > 20 and part = 2"):
        wanted = values(theirs.where(where).toArrow().to_pylist())
        assert values(table.scan(where).to_arrow().to_pylist()) == wanted
        assert values(table.read(spark, where).toArrow().to_pylist()) == wanted
    spark.sql(SELECT).limit(7).write.mode("append").partitionBy("month", "part").parquet(folder)
    assert main.import_parquet("sales.t", folder, copy=copy).rows == 7
    assert main.import_parquet("sales.t", folder, copy=copy).commit is None


@pytest.mark.parametrize("copy", [False, True], ids=["in place", "copied"])
def test_a_folder_that_duckdb_wrote(main: Catalog, tmp_path: Path, copy: bool) -> None:
    folder = tmp_path / "duck"
    duckdb.sql(
        f"""copy (select range id, 'n' || range name, date '2026-01-01' + range::int as day, range % 3 as part,
                         uuid() as key, [range, null] as list, interval '0' day is null as flag
                  from range(50)) to '{folder}' (format parquet, partition_by (part))"""
    )
    main.import_parquet("t", folder, copy=copy)
    theirs = duckdb.sql(f"select * from read_parquet('{folder}/**/*.parquet', hive_partitioning=true)").to_arrow_table()
    ours = main.table("t").scan(columns=theirs.column_names).to_arrow().to_pylist()
    assert values({**row, "key": str(row["key"])} for row in ours) == values(theirs.to_pylist())
