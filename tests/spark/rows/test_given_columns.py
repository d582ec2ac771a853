"""Rows whose columns are not those of the table, by Spark: some are missing, or of other types."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog, Field, Schema
from lakebed.errors import Invalid

COLUMNS = [
    Field("id", "long", required=True),
    Field("name", "string", required=True),
    Field("n", "int"),
    Field("tags", "map<string, long>"),
    Field("note", "string", write_default="none"),
]


@pytest.fixture(scope="module")
def main(tmp_path_factory: Any) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path_factory.mktemp("given") / "lake") as lake:
        yield lake.catalog()


def test_an_upsert_of_some_columns_by_spark_keeps_the_others(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("kept", Schema(COLUMNS), primary_key=["id"])
    table.append([{"id": 1, "name": "one", "tags": {"a": 1}, "note": "mine"}, {"id": 2, "name": "two", "n": 2}])
    ids = {one["id"]: one["_row_id"] for one in table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()}
    table.upsert(spark.sql("SELECT 2D AS id, 7 AS n UNION ALL SELECT 1D, null"))
    assert table.get(1) == {"id": 1, "name": "one", "n": None, "tags": [("a", 1)], "note": "mine"}
    assert table.get(2) == {"id": 2, "name": "two", "n": 7, "tags": None, "note": None}
    found = table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    assert {one["id"]: one["_row_id"] for one in found} == ids
    with pytest.raises(Invalid, match="name"):
        table.upsert(spark.sql("SELECT 1L AS id, 8 AS n UNION ALL SELECT 3L, 8"))
    table.upsert(spark.sql("SELECT 3L AS id, 'three' AS name"))
    assert table.get(3) == {"id": 3, "name": "three", "n": None, "tags": None, "note": "none"}
    table.upsert(spark.sql("SELECT 1L AS id, 'new' AS name"), fill="default")
    assert table.get(1) == {"id": 1, "name": "new", "n": None, "tags": None, "note": "none"}


TEXTS = "SELECT '5' AS id, ' 7 ' AS n, '1.500' AS price, '2026-01-31T00:00:00Z' AS day, 'true' AS flag, '-inf' AS w"
NUMBERS = "SELECT 6 AS id, 9L AS n, 1.25D AS price, TIMESTAMP_NTZ '2026-01-31 00:00:00' AS day, 1 AS flag, 1 AS w"
LOST = {
    "SELECT 'x' AS id": r"column 'id': a value does not fit .*expected long, found x",
    "SELECT '1.5' AS n": r"column 'n': .*found 1.5",
    "SELECT 3000000000L AS n": r"column 'n': .*expected int, found 3000000000",
    "SELECT 1.234D AS price": r"column 'price': .*found 1.234",
    "SELECT TIMESTAMP_NTZ '2026-01-31 05:00:00' AS day": r"column 'day'",
    "SELECT 2 AS flag": r"column 'flag'",
    "SELECT '1.005' AS price": r"column 'price': .*found 1.005",
    "SELECT '1.005e0' AS price": r"column 'price': .*found 1.005e0",
    "SELECT '2026-01-31 05:00' AS day": r"column 'day': .*found 2026-01-31 05:00",
    "SELECT '1e400' AS w": r"column 'w': .*found 1e400",
}


@pytest.mark.long
def test_spark_casts_by_choice_and_takes_whole_floats_always(main: Catalog, spark: SparkSession) -> None:
    types = {"id": "long", "n": "int", "price": "decimal(8, 2)", "day": "date", "flag": "boolean", "w": "double"}
    table = main.create_table("cast", types)
    table.append(spark.sql("SELECT 1D AS id, CAST(2 AS float) AS n UNION ALL SELECT null, null"))
    for value in ("1.5D", "double('NaN')", "9007199254740994D"):
        with pytest.raises(Invalid, match=r"column 'id': a value does not fit the column .*expected long, found"):
            table.append(spark.sql(f"SELECT {value} AS id"))
    with pytest.raises(Invalid, match="does not fit the table"):
        table.append(spark.sql(TEXTS))
    table.append(spark.sql(TEXTS), cast=True)
    table.overwrite(spark.sql(NUMBERS), where="id = 1", cast=True)
    for query, problem in LOST.items():
        with pytest.raises(Invalid, match=problem):
            table.append(spark.sql(query), cast=True)
    with pytest.raises(Invalid, match=LOST["SELECT 'x' AS id"]):
        table.upsert(spark.sql("SELECT 'x' AS id"), on="id", cast=True)
    found = table.scan("id > 1", columns=list(types)).to_arrow().to_pylist()
    local = main.create_table("cast_locally", types)
    local.append(spark.sql(NUMBERS).toArrow(), cast=True)
    local.append(spark.sql(TEXTS).toArrow(), cast=True)
    key = lambda one: one["id"]  # noqa: E731
    assert sorted(found, key=key) == sorted(local.scan().to_arrow().to_pylist(), key=key)
    assert len(found) == 2
