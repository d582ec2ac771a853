"""An append to a new table. Ours is synced to disk when it ends, those of the others are not."""

from bench.figure import Row
from bench.spark_peers.rounds import Took, compared, in_turn, took
from bench.spark_peers.tables import Tables
from bench.spark_peers.testbed import DELTA, ICEBERG, OURS, PARQUET, Testbed

NAME = "appended"


def measure(testbed: Testbed) -> list[Row]:
    rows = testbed.rows()

    def appended(kind: Tables) -> Took:
        kind.new(NAME, rows.schema)
        found = took(lambda: kind.append(NAME, rows))
        assert kind.read(NAME).count() == testbed.size.rows
        kind.drop(NAME)
        return found

    rounds = in_turn(testbed.kinds, appended, testbed.size.rounds)
    return [
        *compared("append", rounds, OURS, PARQUET, wall=1.1),
        *compared("append", rounds, OURS, ICEBERG),
        *compared("append", rounds, OURS, DELTA),
    ]
