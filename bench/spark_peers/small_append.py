"""Appends of ten rows, one after the other to the same table."""

from bench.data.spark_rows import rows_by_id
from bench.figure import Row
from bench.spark_peers.rounds import compared, in_turn, took
from bench.spark_peers.testbed import DELTA, ICEBERG, OURS, Testbed, nullable

NAME, ROWS = "ten", 10


def measure(testbed: Testbed) -> list[Row]:
    rows = rows_by_id(testbed.spark.range(0, ROWS, 1, 1))
    for kind in testbed.changed.values():
        kind.new(NAME, nullable(rows.schema))
    rounds = in_turn(testbed.changed, lambda kind: took(lambda: kind.append(NAME, rows)), testbed.size.many_rounds)
    for kind in testbed.changed.values():
        kind.drop(NAME)
    return [
        *compared("append of 10 rows", rounds, OURS, ICEBERG),
        *compared("append of 10 rows", rounds, OURS, DELTA),
    ]
