"""An append of ten rows, one after the other to the same table."""

from bench.figure import Row
from bench.spark_peers.bed import DELTA, ICEBERG, OURS, Bed, nullable
from bench.spark_peers.rounds import compared, in_turn, took
from bench.spark_rows import rows_by_id

NAME, ROWS = "ten", 10


def measure(bed: Bed) -> list[Row]:
    rows = rows_by_id(bed.spark.range(0, ROWS, 1, 1))
    for kind in bed.changed.values():
        kind.new(NAME, nullable(rows.schema))
    rounds = in_turn(bed.changed, lambda kind: took(lambda: kind.append(NAME, rows)), bed.size.many_rounds)
    for kind in bed.changed.values():
        kind.drop(NAME)
    return [
        *compared("append of 10 rows", rounds, OURS, ICEBERG),
        *compared("append of 10 rows", rounds, OURS, DELTA),
    ]
