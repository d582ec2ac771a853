"""Histories: what processes did to a lake and what they saw, as values that can be checked.

Three kinds of things are read and written. Every written value is unique for its key, so that what was read tells who
wrote it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from lakebed.errors import Invalid


class Model(Enum):
    """How writes add up."""

    LIST = "list"
    """A write appends; a read sees all values in order."""
    SET = "set"
    """A write adds; a read sees all values, sorted."""
    REGISTER = "register"
    """A write replaces; a read sees one value, or none before the first write."""


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be read and written."""

    model: Model
    name: str

    def __str__(self) -> str:
        return f"{self.model.value} {self.name!r}"


@dataclass(frozen=True, slots=True)
class Read:
    """All that a key held when a transaction looked, the transaction's own writes included."""

    key: Key
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """A value that a transaction appended, added or set."""

    key: Key
    value: str


Operation = Read | Write


class Outcome(Enum):
    """What a process knows of its transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Transaction:
    """What one process did in one transaction, in order.

    `began` and `ended` are readings of one clock, before the call and after its answer; `ended` is None if no answer
    came. `version` is the commit's, where there is one.
    """

    name: str
    process: str
    began: int
    ended: int | None
    operations: tuple[Operation, ...]
    outcome: Outcome = Outcome.COMMITTED
    version: int | None = None

    @property
    def written(self) -> dict[Key, tuple[str, ...]]:
        """What it wrote to each key, in order."""
        found: dict[Key, tuple[str, ...]] = {}
        for one in self.operations:
            if isinstance(one, Write):
                found[one.key] = (*found.get(one.key, ()), one.value)
        return found


History = Sequence[Transaction]


def writers(history: History) -> dict[tuple[Key, str], Transaction]:
    """Who wrote a value; `Invalid` if two did, for then no read could tell whom it saw."""
    found: dict[tuple[Key, str], Transaction] = {}
    for transaction in history:
        for key, values in transaction.written.items():
            for value in values:
                if (key, value) in found:
                    raise Invalid(
                        "a history has one value twice",
                        subject=str(key),
                        expected="a new value for each write",
                        found=f"{value!r} by {found[key, value].name} and {transaction.name}",
                    )
                found[key, value] = transaction
    return found


def without_own(key: Key, values: Sequence[str], own: Sequence[str]) -> tuple[str, ...] | None:
    """What others had written of the values that a transaction read; None if its own writes are not where they belong.

    Of a register that the transaction has set, nothing of others can be seen: then it is empty.
    """
    if not own:
        return tuple(values)
    match key.model:
        case Model.LIST:
            rest = len(values) - len(own)
            return tuple(values[:rest]) if rest >= 0 and tuple(values[rest:]) == tuple(own) else None
        case Model.SET:
            return tuple(one for one in values if one not in own) if set(own) <= set(values) else None
        case Model.REGISTER:
            return () if tuple(values) == (own[-1],) else None


def with_write(key: Key, values: Sequence[str], value: str) -> tuple[str, ...]:
    """What a key holds after a write."""
    match key.model:
        case Model.LIST:
            return (*values, value)
        case Model.SET:
            return tuple(sorted({*values, value}))
        case Model.REGISTER:
            return (value,)


def settled(history: History, seen: Iterable[tuple[Key, str]]) -> list[Transaction]:
    """The transactions that took effect: those told so, and those without an answer whose writes were seen."""
    known = set(seen)
    return [
        one
        for one in history
        if one.outcome is Outcome.COMMITTED
        or (one.outcome is Outcome.UNKNOWN and any((key, value) in known for key, value in _writes(one)))
    ]


def _writes(transaction: Transaction) -> list[tuple[Key, str]]:
    return [(key, value) for key, values in transaction.written.items() for value in values]
