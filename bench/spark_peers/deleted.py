"""A scan of a table without one row in a hundred, against one of the same table before: of each kind with itself."""

from functools import partial

from bench.figure import Row
from bench.spark_peers.bed import DELTA, ICEBERG, OURS, Bed, same
from bench.spark_peers.delete import WHERE
from bench.spark_peers.rounds import compared, in_turn
from bench.spark_peers.scan import SHAPES, aggregated, aggregating

AT_MOST = {"all columns": 1.2, "one column": 2.0}


def measure(bed: Bed) -> list[Row]:
    name = bed.filled()
    bed.put_back()
    for kind in bed.changed.values():
        kind.delete(name, WHERE)
    found = []
    for shape, aggregates in SHAPES.items():
        same({one: aggregated(kind.read(name), aggregates) for one, kind in bed.changed.items()})
        reads = {}
        for one, kind in bed.changed.items():
            reads[one] = partial(kind.read, name)
            reads[f"{one} before"] = partial(kind.read_first, name)
        rounds = in_turn(reads, aggregating(aggregates), bed.size.many_rounds)
        what = f"scan with 1 % deleted, {shape}"
        found += compared(what, rounds, OURS, f"{OURS} before", wall=AT_MOST[shape])
        found += compared(what, rounds, ICEBERG, f"{ICEBERG} before")
        found += compared(what, rounds, DELTA, f"{DELTA} before")
        found += compared(what, rounds, OURS, ICEBERG)
    return found
