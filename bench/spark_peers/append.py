"""An append to a new table. Ours is on the disk when it ends, those of the others where the system has them."""

from bench.figure import Row
from bench.spark_peers.bed import DELTA, ICEBERG, OURS, PARQUET, Bed
from bench.spark_peers.rounds import Took, compared, in_turn, took
from bench.spark_peers.tables import Tables

NAME = "appended"


def measure(bed: Bed) -> list[Row]:
    rows = bed.rows()

    def appended(kind: Tables) -> Took:
        kind.new(NAME, rows.schema)
        found = took(lambda: kind.append(NAME, rows))
        assert kind.read(NAME).count() == bed.size.rows
        kind.drop(NAME)
        return found

    rounds = in_turn(bed.kinds, appended, bed.size.rounds)
    return [
        *compared("append", rounds, OURS, PARQUET, wall=1.1),
        *compared("append", rounds, OURS, ICEBERG),
        *compared("append", rounds, OURS, DELTA),
    ]
