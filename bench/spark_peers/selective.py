"""A filter that matches rows of one file of many, on a column by which the files are clustered."""

from pyspark.sql.functions import input_file_name

from bench.data.spark_rows import rows_by_id
from bench.figure import Row, ratio
from bench.spark_peers.rounds import compared, in_turn, took
from bench.spark_peers.tables import Tables
from bench.spark_peers.testbed import DELTA, ICEBERG, OURS, PARQUET, Testbed, nullable

NAME = "many_files"
EACH = 2_000
"""Rows of a file: few, so that the number of files matters."""


def measure(testbed: Testbed) -> list[Row]:
    files = testbed.size.many_files
    rows = rows_by_id(testbed.spark.range(0, files * EACH, 1, files))
    first = files // 2 * EACH
    where = f"id >= {first + 100} AND id < {first + 200}"
    for kind in testbed.kinds.values():
        kind.new(NAME, nullable(rows.schema))
        kind.append(NAME, rows)
    assert testbed.kinds[OURS].read(NAME).select(input_file_name()).distinct().count() == files

    def found(kind: Tables) -> None:
        assert len(kind.read(NAME, where).collect()) == 100

    rounds = in_turn(testbed.kinds, lambda kind: took(lambda: found(kind)), testbed.size.many_rounds)
    for kind in testbed.kinds.values():
        kind.drop(NAME)
    what = f"a filter on {files:,} files"
    return [
        ratio(f"{what}: {PARQUET} / {OURS}", rounds.wall(PARQUET, OURS), at_least=5),
        *compared(what, rounds, OURS, ICEBERG),
        *compared(what, rounds, OURS, DELTA),
    ]
