"""What the transactions of a history saw of each other, and what is wrong with that before any order is looked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.support.histories.anomalies import Anomaly, Finding
from tests.support.histories.histories import (
    History,
    Key,
    Model,
    Operation,
    Outcome,
    Read,
    Transaction,
    Write,
    settled,
    without_own,
    writers,
)


@dataclass(frozen=True, slots=True)
class Observations:
    """A history's transactions that took effect, what each saw of the others, and who of them wrote what."""

    transactions: tuple[Transaction, ...]
    seen: Mapping[str, Mapping[Key, tuple[str, ...]]]
    writers: Mapping[tuple[Key, str], Transaction]
    findings: tuple[Finding, ...]

    def reads(self, key: Key) -> list[tuple[Transaction, tuple[str, ...]]]:
        """Who read a key, and what they saw."""
        return [(one, self.seen[one.name][key]) for one in self.transactions if key in self.seen[one.name]]

    def writes(self, key: Key) -> list[Transaction]:
        """Who wrote a key."""
        return [one for one in self.transactions if key in one.written]

    def touched(self) -> list[Key]:
        """All that was read or written."""
        return list(dict.fromkeys(operation.key for one in self.transactions for operation in one.operations))


def observe(history: History) -> Observations:
    """Read a history: a transaction without an answer took effect if somebody saw what it wrote."""
    looks = {one.name: _look(one) for one in history}
    by_value = writers(history)
    effective = _effective(history, looks)
    findings = [finding for one in effective for finding in looks[one.name].findings]
    names = {one.name for one in effective}
    for one in effective:
        for key, values in looks[one.name].seen.items():
            findings += _wrong(one, key, values, by_value, names)
    seen = {one.name: looks[one.name].seen for one in effective}
    known = {written: writer for written, writer in by_value.items() if writer.name in names}
    return Observations(tuple(effective), seen, known, tuple(findings))


def saw(reader: Transaction, key: Key, values: tuple[str, ...]) -> str:
    """A read in words."""
    shown = ["…", *values[-4:]] if len(values) > 4 else list(values)
    return f"{reader.name} saw {key} as [{', '.join(shown)}]"


def forks(observed: Observations) -> list[Finding]:
    """Reads of one list that are not the beginning of the longest one."""
    found = []
    for key in observed.touched():
        if key.model is Model.LIST and (reads := observed.reads(key)):
            longest, whole = max(reads, key=lambda read: len(read[1]))
            for reader, values in reads:
                if values != whole[: len(values)]:
                    steps = saw(longest, key, whole), saw(reader, key, values)
                    found.append(Finding(Anomaly.FORKED, (longest.name, reader.name), steps))
    return found


def lost_updates(observed: Observations) -> list[Finding]:
    """Transactions that saw the same of a key and all wrote it: all but one wrote over what they had not seen.

    What a set was given is not lost: there it is a cycle or nothing.
    """
    found = []
    for key in observed.touched():
        updates: dict[tuple[str, ...], list[Transaction]] = {}
        for one, values in observed.reads(key) if key.model is not Model.SET else ():
            if key in one.written:
                updates.setdefault(values, []).append(one)
        for values, rivals in updates.items():
            if len(rivals) > 1:
                steps = (f"{saw(one, key, values)} and wrote {', '.join(one.written[key])}" for one in rivals)
                found.append(Finding(Anomaly.LOST_UPDATE, tuple(one.name for one in rivals), tuple(steps)))
    return found


@dataclass(slots=True)
class _Look:
    """What one transaction saw of others, and where it does not agree with itself."""

    seen: dict[Key, tuple[str, ...]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def _effective(history: History, looks: Mapping[str, _Look]) -> list[Transaction]:
    """Those that took effect. One without an answer that was seen shows, by its reads, that others took effect."""
    effective = settled(history, ())
    while True:
        seen = [(key, value) for one in effective for key, of in looks[one.name].seen.items() for value in of]
        more = settled(history, seen)
        if len(more) == len(effective):
            return more
        effective = more


def _look(transaction: Transaction) -> _Look:
    look, own = _Look(), dict[Key, tuple[str, ...]]()
    for operation in transaction.operations:
        key = operation.key
        if isinstance(operation, Write):
            own[key] = (*own.get(key, ()), operation.value)
            continue
        rest = without_own(key, operation.values, own.get(key, ()))
        if rest is None:
            wanted = f"with {list(own[key])}, which it had written"
            look.findings.append(_internal(transaction, operation, wanted))
        elif not (own.get(key) and key.model is Model.REGISTER) and look.seen.setdefault(key, rest) != rest:
            look.findings.append(_internal(transaction, operation, f"as before, {list(look.seen[key])}"))
    return look


def _internal(transaction: Transaction, operation: Operation, wanted: str) -> Finding:
    assert isinstance(operation, Read)
    step = f"{transaction.name} read {operation.key} as {list(operation.values)}, expected it {wanted}"
    return Finding(Anomaly.INTERNAL, (transaction.name,), (step,))


def _wrong(
    reader: Transaction,
    key: Key,
    values: tuple[str, ...],
    by_value: Mapping[tuple[Key, str], Transaction],
    effective: set[str],
) -> Iterator[Finding]:
    looked = saw(reader, key, values)
    if len(set(values)) < len(values):
        yield Finding(Anomaly.REPEATED, (reader.name,), (looked,))
    for value in dict.fromkeys(values):
        writer = by_value.get((key, value))
        if writer is None:
            yield Finding(Anomaly.UNWRITTEN, (reader.name,), (looked, f"nobody wrote {value!r}"))
        elif writer is reader:
            yield Finding(Anomaly.INTERNAL, (reader.name,), (looked, f"it wrote {value!r} only later"))
        elif writer.name not in effective:
            assert writer.outcome is Outcome.ABORTED
            wrote = f"{writer.name} wrote {value!r} and was aborted"
            yield Finding(Anomaly.G1A, (writer.name, reader.name), (wrote, looked))
    yield from _partial(reader, key, values, by_value)


def _partial(
    reader: Transaction, key: Key, values: tuple[str, ...], by_value: Mapping[tuple[Key, str], Transaction]
) -> Iterator[Finding]:
    """Writers of which a part was seen, or of whose appends another order."""
    for writer in {one.name: one for value in values if (one := by_value.get((key, value))) is not None}.values():
        written = writer.written[key]
        steps = f"{writer.name} wrote {', '.join(written)}, one after the other", saw(reader, key, values)
        final = written[-1:] if key.model is Model.REGISTER else written
        if writer is not reader and not set(final) <= set(values):
            yield Finding(Anomaly.G1B, (writer.name, reader.name), steps)
        elif key.model is Model.LIST and [one for one in dict.fromkeys(values) if one in written] != list(written):
            yield Finding(Anomaly.FORKED, (writer.name, reader.name), steps)
