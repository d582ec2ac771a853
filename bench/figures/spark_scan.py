"""A scan by Spark of a table against one of plain Parquet files with the same rows."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

import lakebed
from bench.data.spark_rows import FILES, new_table, rows, spark_session, write_plain
from bench.figure import Figure, Row, ratio
from bench.timing import in_turn, seconds

ROWS = 20_000_000
ROUNDS = 5
TWO = ("customer", "price")


def measure(folder: Path) -> list[Row]:
    """From the call that opens the table, or the folder, to the last row in a sink that discards them all."""
    with spark_session() as spark, lakebed.connect(folder / "lake") as lake:
        frame = rows(spark, ROWS)
        table, plain = new_table(lake, frame), folder / "plain"
        table.append(frame)
        write_plain(frame, plain)
        assert len(table.scan().files()) == len(list(plain.glob("*.parquet"))) == FILES

        def compared(what: str, columns: Sequence[str]) -> Row:
            ours = _timed(lambda: table.read(spark, columns=columns))
            theirs = _timed(lambda: spark.read.parquet(str(plain)).select(*columns))
            in_turn(ours, theirs, rounds=1, each=1)
            return ratio(what, in_turn(ours, theirs, rounds=ROUNDS, each=1), at_most=1.05)

        return [
            compared(f"all {len(frame.columns)} columns / plain Parquet", frame.columns),
            compared(f"{len(TWO)} of {len(frame.columns)} columns / plain Parquet", TWO),
        ]


def _timed(read: Callable[[], DataFrame]) -> Callable[[], float]:
    return lambda: seconds(lambda: read().write.format("noop").mode("overwrite").save())


FIGURE = Figure("spark-scan", f"Scanning {ROWS // 1_000_000}M rows with Spark", measure)
