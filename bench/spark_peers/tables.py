"""Tables of the four kinds behind the same few calls, each in the simplest way of its kind."""

import shutil
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import lakebed
from bench.data.spark_rows import write_plain

MERGE = (
    "MERGE INTO {table} t USING {rows} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


class Tables(Protocol):
    """Tables of one kind, by name."""

    def new(self, name: str, schema: StructType) -> None: ...

    def append(self, name: str, rows: DataFrame) -> None: ...

    def read(self, name: str, where: str | None = None) -> DataFrame: ...

    def drop(self, name: str) -> None: ...


class ChangedTables(Tables, Protocol):
    """Tables whose rows can be changed, and that can be reset to their state after their only append."""

    def delete(self, name: str, where: str) -> None: ...

    def upsert(self, name: str, rows: DataFrame) -> None: ...

    def put_back(self, name: str) -> None: ...

    def read_first(self, name: str) -> DataFrame:
        """The table as it was after its first append, whatever happened since."""


class Plain:
    """Folders of Parquet files."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder

    def new(self, name: str, schema: StructType) -> None:
        """Nothing to do: the folder is created with its files."""

    def append(self, name: str, rows: DataFrame) -> None:
        write_plain(rows, self._folder / name)

    def read(self, name: str, where: str | None = None) -> DataFrame:
        return _kept(self._spark.read.parquet(str(self._folder / name)), where)

    def drop(self, name: str) -> None:
        shutil.rmtree(self._folder / name)


class Lakebed:
    """Tables of a lake. Row changes happen on a branch, a new one after each reset."""

    def __init__(self, spark: SparkSession, lake: lakebed.Lake) -> None:
        self._spark, self._main = spark, lake.catalog()
        self._branch = self._main
        self._branches = 0

    def new(self, name: str, schema: StructType) -> None:
        self._branch = self._main  # the last branch will not have it
        self._main.create_table(name, schema)

    def append(self, name: str, rows: DataFrame) -> None:
        self._main.table(name).append(rows)

    def read(self, name: str, where: str | None = None) -> DataFrame:
        return self._branch.table(name).read(self._spark, where)

    def drop(self, name: str) -> None:
        location = self._main.table(name).location
        self._main.drop_table(name)
        shutil.rmtree(location)

    def delete(self, name: str, where: str) -> None:
        self._branch.table(name).delete(where, self._spark)

    def upsert(self, name: str, rows: DataFrame) -> None:
        self._branch.table(name).upsert(rows, on="id")

    def put_back(self, name: str) -> None:
        self._branches += 1
        self._branch = self._main.create_branch(f"round{self._branches}")

    def read_first(self, name: str) -> DataFrame:
        return self._main.table(name).read(self._spark)


class Iceberg:
    """Merge-on-read tables of format version 3, in a Hadoop catalog."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._firsts: dict[str, int] = {}

    def new(self, name: str, schema: StructType) -> None:
        modes = ", ".join(f"'write.{change}.mode'='merge-on-read'" for change in ("delete", "update", "merge"))
        properties = f"'format-version'='3', {modes}"
        self._spark.sql(
            f"CREATE TABLE {self._table(name)} ({_columns(schema)}) USING iceberg TBLPROPERTIES ({properties})"
        )

    def append(self, name: str, rows: DataFrame) -> None:
        rows.writeTo(self._table(name)).append()

    def read(self, name: str, where: str | None = None) -> DataFrame:
        return _kept(self._spark.table(self._table(name)), where)

    def drop(self, name: str) -> None:
        self._spark.sql(f"DROP TABLE {self._table(name)} PURGE")

    def delete(self, name: str, where: str) -> None:
        self._spark.sql(f"DELETE FROM {self._table(name)} WHERE {where}")

    def upsert(self, name: str, rows: DataFrame) -> None:
        _merge(self._spark, self._table(name), rows)

    def put_back(self, name: str) -> None:
        self._spark.sql(f"CALL iceberg.system.rollback_to_snapshot('bench.{name}', {self._first(name)})")

    def read_first(self, name: str) -> DataFrame:
        return self._spark.read.option("versionAsOf", self._first(name)).table(self._table(name))

    def _first(self, name: str) -> int:
        if name not in self._firsts:
            snapshots = self._spark.table(f"{self._table(name)}.snapshots").orderBy("committed_at")
            self._firsts[name] = int(snapshots.collect()[0].snapshot_id)
        return self._firsts[name]

    def _table(self, name: str) -> str:
        return f"iceberg.bench.{name}"


class Delta:
    """Tables with deletion vectors, by their folders."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder

    def new(self, name: str, schema: StructType) -> None:
        properties = "'delta.enableDeletionVectors'='true'"
        self._spark.sql(
            f"CREATE TABLE {self._table(name)} ({_columns(schema)}) USING delta TBLPROPERTIES ({properties})"
        )

    def append(self, name: str, rows: DataFrame) -> None:
        rows.write.format("delta").mode("append").save(str(self._folder / name))

    def read(self, name: str, where: str | None = None) -> DataFrame:
        return _kept(self._spark.read.format("delta").load(str(self._folder / name)), where)

    def drop(self, name: str) -> None:
        shutil.rmtree(self._folder / name)

    def delete(self, name: str, where: str) -> None:
        self._spark.sql(f"DELETE FROM {self._table(name)} WHERE {where}")

    def upsert(self, name: str, rows: DataFrame) -> None:
        _merge(self._spark, self._table(name), rows)

    def put_back(self, name: str) -> None:
        self._spark.sql(f"RESTORE TABLE {self._table(name)} TO VERSION AS OF 1")  # 0 has no rows

    def read_first(self, name: str) -> DataFrame:
        return self._spark.read.format("delta").option("versionAsOf", 1).load(str(self._folder / name))

    def _table(self, name: str) -> str:
        return f"delta.`{self._folder / name}`"


def _merge(spark: SparkSession, table: str, rows: DataFrame) -> None:
    rows.createOrReplaceTempView("changes")
    spark.sql(MERGE.format(table=table, rows="changes"))


def _columns(schema: StructType) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)


def _kept(rows: DataFrame, where: str | None) -> DataFrame:
    return rows if where is None else rows.where(where)
