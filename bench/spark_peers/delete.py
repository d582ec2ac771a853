"""A delete of one row in a hundred, of all files."""

from bench.figure import Row
from bench.spark_peers.bed import DELTA, ICEBERG, OURS, Bed, same
from bench.spark_peers.rounds import Took, compared, in_turn, took
from bench.spark_peers.scan import ALL, aggregated
from bench.spark_peers.tables import ChangedTables

WHERE = "id % 100 = 7"


def measure(bed: Bed) -> list[Row]:
    name = bed.filled()

    def deleted(kind: ChangedTables) -> Took:
        kind.put_back(name)
        return took(lambda: kind.delete(name, WHERE))

    rounds = in_turn(bed.changed, deleted, bed.size.rounds)
    same({one: aggregated(kind.read(name), ALL) for one, kind in bed.changed.items()})
    return [
        *compared("delete of 1 %", rounds, OURS, ICEBERG, wall=1.0),
        *compared("delete of 1 %", rounds, OURS, DELTA),
    ]
