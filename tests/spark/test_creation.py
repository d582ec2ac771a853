"""Tables that are created from what Spark users have: DataFrames, and schemas with lengths."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, CharType, ShortType, StringType, StructField, StructType, VarcharType

import lakebed
from lakebed.errors import Invalid


def test_a_dataframe_is_a_table_in_one_commit(spark: SparkSession, tmp_path: Path) -> None:
    with lakebed.connect(tmp_path) as lake:
        main = lake.catalog()
        frame = spark.range(5).selectExpr("id", "cast(id as smallint) small", "timestamp'2026-01-01' at")
        before = len(main.log())
        table = main.create_table("t", frame, primary_key=["id"], message="all of it")
        assert len(main.log()) == before + 1
        assert [str(field.type) for field in table.schema.fields] == ["long", "int", "timestamptz"]
        assert [field.required for field in table.schema.fields] == [True, False, False]
        assert table.read(spark).count() == 5
        assert main.create_table("t", frame, if_not_exists=True) == table
        replaced = main.create_or_replace_table("t", table.read(spark).where("id < 2"))
        assert (replaced.scan().count(), table.id == replaced.id) == (2, False)
        with main.transaction() as tx:
            tx.create_or_replace_table("t", spark.range(3))
        assert main.table("t").scan().count() == 3


def test_lengths_of_sparks_schema_are_checked(spark: SparkSession, tmp_path: Path) -> None:
    columns = [
        StructField("code", CharType(2)),
        StructField("name", VarcharType(3)),
        StructField("small", ShortType()),
        StructField("free", StringType()),
    ]
    with lakebed.connect(tmp_path) as lake:
        main = lake.catalog()
        table = main.create_table("t", StructType(columns))
        assert table.properties == {"check.code-length": "length(code) <= 2", "check.name-length": "length(name) <= 3"}
        table.append(spark.sql("select 'a' code, 'abc' name, 1S small, 'whatever' free"))
        with pytest.raises(Invalid, match=r"check\.name-length"):
            table.append(spark.sql("select 'a' code, 'abcd' name"))
        with pytest.raises(Invalid, match=r"check\.code-length"):
            table.update({"code": "'abc'"}, spark=spark)
        assert table.read(spark).collect()[0].asDict() == {"code": "a", "name": "abc", "small": 1, "free": "whatever"}
        with pytest.raises(Invalid, match="a length"):
            main.create_table("u", StructType([StructField("tags", ArrayType(VarcharType(3)))]))
