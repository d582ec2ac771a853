"""A scan after one row in a hundred was deleted, against a scan of the same table before, for each kind."""

from functools import partial

from bench.figure import Row
from bench.spark_peers.delete import WHERE
from bench.spark_peers.rounds import compared, in_turn
from bench.spark_peers.scan import SHAPES, aggregated, aggregating
from bench.spark_peers.testbed import DELTA, ICEBERG, OURS, Testbed, check_same

AT_MOST = {"all columns": 1.2, "one column": 2.0}


def measure(testbed: Testbed) -> list[Row]:
    name = testbed.filled()
    testbed.put_back()
    for kind in testbed.changed.values():
        kind.delete(name, WHERE)
    found = []
    for shape, aggregates in SHAPES.items():
        check_same({label: aggregated(kind.read(name), aggregates) for label, kind in testbed.changed.items()})
        reads = {}
        for label, kind in testbed.changed.items():
            reads[label] = partial(kind.read, name)
            reads[f"{label} before"] = partial(kind.read_first, name)
        rounds = in_turn(reads, aggregating(aggregates), testbed.size.many_rounds)
        what = f"scan with 1 % deleted, {shape}"
        found += compared(what, rounds, OURS, f"{OURS} before", wall=AT_MOST[shape])
        found += compared(what, rounds, ICEBERG, f"{ICEBERG} before")
        found += compared(what, rounds, DELTA, f"{DELTA} before")
        found += compared(what, rounds, OURS, ICEBERG)
    return found
