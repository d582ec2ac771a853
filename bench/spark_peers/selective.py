"""A filter that one file of many has rows for, on a column by which the files are apart."""

from pyspark.sql.functions import input_file_name

from bench.figure import Row, ratio
from bench.spark_peers.bed import DELTA, ICEBERG, OURS, PARQUET, Bed, nullable
from bench.spark_peers.rounds import compared, in_turn, took
from bench.spark_peers.tables import Tables
from bench.spark_rows import rows_by_id

NAME = "many_files"
EACH = 2_000
"""Rows of a file: few, so that it is the files that count."""


def measure(bed: Bed) -> list[Row]:
    files = bed.size.many_files
    rows = rows_by_id(bed.spark.range(0, files * EACH, 1, files))
    first = files // 2 * EACH
    where = f"id >= {first + 100} AND id < {first + 200}"
    for kind in bed.kinds.values():
        kind.new(NAME, nullable(rows.schema))
        kind.append(NAME, rows)
    assert bed.kinds[OURS].read(NAME).select(input_file_name()).distinct().count() == files

    def found(kind: Tables) -> None:
        assert len(kind.read(NAME, where).collect()) == 100

    rounds = in_turn(bed.kinds, lambda kind: took(lambda: found(kind)), bed.size.many_rounds)
    for kind in bed.kinds.values():
        kind.drop(NAME)
    what = f"a filter on {files:,} files"
    return [
        ratio(f"{what}: {PARQUET} / {OURS}", rounds.wall(PARQUET, OURS), at_least=5),
        *compared(what, rounds, OURS, ICEBERG),
        *compared(what, rounds, OURS, DELTA),
    ]
