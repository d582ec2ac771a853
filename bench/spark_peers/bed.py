"""What the figures share: a session, tables of each kind, and one that all kinds have with the same rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

import lakebed
from bench.spark_peers.session import peers_session
from bench.spark_peers.size import Size
from bench.spark_peers.tables import ChangedTables, Delta, Iceberg, Lakebed, Plain, Tables
from bench.spark_rows import rows_by_id

OURS, PARQUET, ICEBERG, DELTA = "lakebed", "Parquet", "Iceberg", "Delta"
FILLED = "filled"
SPREAD = 7_368_787
"""It has no factor in common with the number of rows, a multiple of powers of ten: each id comes once."""


@dataclass(slots=True)
class Bed:
    spark: SparkSession
    folder: Path
    size: Size
    kinds: Mapping[str, Tables]
    changed: Mapping[str, ChangedTables]
    """The kinds whose rows can be changed."""
    _is_filled: bool = field(default=False, init=False)

    def rows(self) -> DataFrame:
        """As many partitions as files are to be written; each has ids from all over the range, in no order."""
        ids = self.spark.range(0, self.size.rows, 1, self.size.files)
        return rows_by_id(ids.selectExpr(f"id * {SPREAD} % {self.size.rows} AS id"))

    def new(self, name: str, rows: DataFrame) -> None:
        """A table of each kind for such rows."""
        for kind in self.kinds.values():
            kind.new(name, nullable(rows.schema))

    def filled(self) -> str:
        """The name of the table that all kinds have; the first call fills it."""
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
def made_bed(folder: Path, size: Size) -> Iterator[Bed]:
    with peers_session(folder) as spark, lakebed.connect(folder / "lake") as lake:
        ours, iceberg, delta = Lakebed(spark, lake), Iceberg(spark), Delta(spark, folder / "delta")
        changed = {OURS: ours, ICEBERG: iceberg, DELTA: delta}
        yield Bed(spark, folder, size, {OURS: ours, PARQUET: Plain(spark, folder / "plain"), **changed}, changed)


def nullable(schema: StructType) -> StructType:
    """The columns as a table of any kind may have them."""
    return StructType([StructField(one.name, one.dataType) for one in schema.fields])


def same(results: Mapping[str, tuple[object, ...]]) -> None:
    """Fail unless all kinds have the same answer; sums of doubles depend on the order."""
    first, *others = results.values()
    for other in others:
        for one, two in zip(first, other, strict=True):
            alike = isclose(one, two) if isinstance(one, float) and isinstance(two, float) else one == two
            assert alike, results
