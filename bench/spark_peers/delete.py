"""A delete of one row in a hundred, spread over all files."""

from bench.figure import Row
from bench.spark_peers.rounds import Took, compared, in_turn, took
from bench.spark_peers.scan import ALL, aggregated
from bench.spark_peers.tables import ChangedTables
from bench.spark_peers.testbed import DELTA, ICEBERG, OURS, Testbed, check_same

WHERE = "id % 100 = 7"


def measure(testbed: Testbed) -> list[Row]:
    name = testbed.filled()

    def deleted(kind: ChangedTables) -> Took:
        kind.put_back(name)
        return took(lambda: kind.delete(name, WHERE))

    rounds = in_turn(testbed.changed, deleted, testbed.size.rounds)
    check_same({label: aggregated(kind.read(name), ALL) for label, kind in testbed.changed.items()})
    return [
        *compared("delete of 1 %", rounds, OURS, ICEBERG, wall=1.0),
        *compared("delete of 1 %", rounds, OURS, DELTA),
    ]
