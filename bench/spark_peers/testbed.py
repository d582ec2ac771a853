"""What the figures share: a session, tables of each kind, and one table that all kinds have with the same rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

import lakebed
from bench.data.spark_rows import rows_by_id
from bench.spark_peers.session import peers_session
from bench.spark_peers.size import Size
from bench.spark_peers.tables import ChangedTables, Delta, Iceberg, Lakebed, Plain, Tables

OURS, PARQUET, ICEBERG, DELTA = "lakebed", "Parquet", "Iceberg", "Delta"
FILLED = "filled"
SPREAD = 7_368_787
"""Coprime to the number of rows, a multiple of powers of ten, so that each id occurs once."""


@dataclass(slots=True)
class Testbed:
    spark: SparkSession
    folder: Path
    size: Size
    kinds: Mapping[str, Tables]
    changed: Mapping[str, ChangedTables]
    """The kinds whose rows can be changed."""
    _is_filled: bool = field(default=False, init=False)

    def rows(self) -> DataFrame:
        """Rows in as many partitions as files are to be written; each has ids from the whole range, unordered."""
        ids = self.spark.range(0, self.size.rows, 1, self.size.files)
        return rows_by_id(ids.selectExpr(f"id * {SPREAD} % {self.size.rows} AS id"))

    def new(self, name: str, rows: DataFrame) -> None:
        """Create a table of each kind for such rows."""
        for kind in self.kinds.values():
            kind.new(name, nullable(rows.schema))

    def filled(self) -> str:
        """The name of the table that all kinds have; the first call creates it."""
        if not self._is_filled:
            self.new(FILLED, self.rows())
            for kind in self.kinds.values():
                kind.append(FILLED, self.rows())
            self._is_filled = True
        return FILLED

    def put_back(self) -> None:
        for kind in self.changed.values():
            kind.put_back(self.filled())


@contextmanager
def open_testbed(folder: Path, size: Size) -> Iterator[Testbed]:
    with peers_session(folder) as spark, lakebed.connect(folder / "lake") as lake:
        ours, iceberg, delta = Lakebed(spark, lake), Iceberg(spark), Delta(spark, folder / "delta")
        changed = {OURS: ours, ICEBERG: iceberg, DELTA: delta}
        yield Testbed(spark, folder, size, {OURS: ours, PARQUET: Plain(spark, folder / "plain"), **changed}, changed)


def nullable(schema: StructType) -> StructType:
    """The schema with nullable columns, which every kind of table allows."""
    return StructType([StructField(field.name, field.dataType) for field in schema.fields])


def check_same(results: Mapping[str, tuple[object, ...]]) -> None:
    """Fail unless all kinds give the same result; sums of doubles depend on the order."""
    first, *others = results.values()
    for other in others:
        for ours, theirs in zip(first, other, strict=True):
            are_floats = isinstance(ours, float) and isinstance(theirs, float)
            alike = isclose(ours, theirs) if are_floats else ours == theirs
            assert alike, results
