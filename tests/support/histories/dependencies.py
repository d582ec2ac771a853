"""Which transaction has to come before which, as the values that they saw tell.

    ww  one wrote a version of a key, the other the version after it
    wr  one wrote what the other saw
    rw  one saw a version of a key, the other wrote a version after it
    process    one process did both, one after the other
    real time  one was over before the other began

Nothing here looks at versions of commits: orders come from the data. A list shows its own order. A set has none, and
needs none. A register's order is known where a transaction read one value and wrote the next.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from tests.support.histories.histories import Key, Model, Transaction
from tests.support.histories.observations import Observations, saw


class Kind(Enum):
    """Why one transaction comes before another."""

    WW = "ww"
    WR = "wr"
    RW = "rw"
    PROCESS = "process"
    REAL_TIME = "real time"


@dataclass(frozen=True, slots=True)
class Edge:
    """One transaction comes before another, by name; `key` is what both touched."""

    source: str
    target: str
    kind: Kind
    key: Key | None
    reason: str

    def __str__(self) -> str:
        return f"{self.source} -{self.kind.value}-> {self.target}: {self.reason}"


def dependencies(observed: Observations) -> list[Edge]:
    """All edges between different transactions."""
    kinds = {Model.LIST: _list_edges, Model.SET: _set_edges, Model.REGISTER: _register_edges}
    found = [edge for key in observed.touched() for edge in kinds[key.model](observed, key)]
    found += [*_process_edges(observed.transactions), *_real_time_edges(observed.transactions)]
    return [edge for edge in found if edge.source != edge.target]


def _list_edges(observed: Observations, key: Key) -> Iterator[Edge]:
    whole = max((values for _, values in observed.reads(key)), key=len, default=())
    order = [(value, one) for value in whole if (one := observed.writers.get((key, value))) is not None]
    # A list only grows: what nobody saw, and was committed, came after all that was seen.
    unseen = [(one.written[key][0], one) for one in observed.writes(key) if not set(one.written[key]) & set(whole)]
    for (_, earlier), (value, later) in pairwise(order):
        yield _overwrite(earlier, key, value, later)
    for value, later in unseen if order else ():
        yield _overwrite(order[-1][1], key, value, later)
    for reader, values in observed.reads(key):
        if values != whole[: len(values)]:
            continue
        if values and (writer := observed.writers.get((key, values[-1]))) is not None:
            yield _flow(writer, key, values[-1], reader)
        following = [(value, one) for value, one in order[len(values) :] if one is not reader]
        for value, writer in following[:1] or unseen:
            yield _missed(reader, key, values, value, writer)


def _set_edges(observed: Observations, key: Key) -> Iterator[Edge]:
    for reader, values in observed.reads(key):
        for writer in observed.writes(key):
            seen = [value for value in writer.written[key] if value in values]
            if seen:
                yield _flow(writer, key, seen[0], reader)
            else:
                yield _missed(reader, key, values, writer.written[key][0], writer)


def _register_edges(observed: Observations, key: Key) -> Iterator[Edge]:
    reads = observed.reads(key)
    for reader, values in reads:
        writer = observed.writers.get((key, values[-1])) if values else None
        if writer is not None:
            yield _flow(writer, key, values[-1], reader)
        # Every value comes after none; what comes right after another one is known only from who saw that one.
        seen_same = [one for one, seen in reads if seen == values and key in one.written]
        for later in seen_same if values else observed.writes(key):
            yield _missed(reader, key, values, later.written[key][-1], later)
        if writer is not None and key in reader.written:
            yield _overwrite(writer, key, reader.written[key][-1], reader)


def _process_edges(transactions: Iterable[Transaction]) -> Iterator[Edge]:
    last: dict[str, Transaction] = {}
    for one in sorted(transactions, key=lambda one: one.began):
        if (before := last.get(one.process)) is not None:
            yield Edge(before.name, one.name, Kind.PROCESS, None, f"process {one.process} did one after the other")
        last[one.process] = one


def _real_time_edges(transactions: Iterable[Transaction]) -> Iterator[Edge]:
    """From each transaction to those that began after its end, but for edges that follow from others."""
    beginnings = [(one.began, 0, one) for one in transactions]
    endings = [(one.ended, 1, one) for one in transactions if one.ended is not None]
    last: list[Transaction] = []
    # A beginning comes before an end at the same time: the clock can't tell that they did not overlap.
    for moment, ends, one in sorted((*beginnings, *endings), key=lambda event: event[:2]):
        if ends:
            last = [*(other for other in last if other.ended is not None and other.ended >= one.began), one]
        else:
            for before in last:
                reason = f"{before.name} ended at {before.ended}, {one.name} began at {moment}"
                yield Edge(before.name, one.name, Kind.REAL_TIME, None, reason)


def _overwrite(earlier: Transaction, key: Key, value: str, later: Transaction) -> Edge:
    wrote = ", ".join(earlier.written[key])
    return Edge(earlier.name, later.name, Kind.WW, key, f"{later.name} wrote {value} to {key} after {wrote}")


def _flow(writer: Transaction, key: Key, value: str, reader: Transaction) -> Edge:
    return Edge(writer.name, reader.name, Kind.WR, key, f"{reader.name} saw {value} in {key}")


def _missed(reader: Transaction, key: Key, values: tuple[str, ...], value: str, writer: Transaction) -> Edge:
    reason = f"{saw(reader, key, values)}, without {value}"
    return Edge(reader.name, writer.name, Kind.RW, key, reason)
