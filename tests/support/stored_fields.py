"""Which fields of which records a lake's rows have, and which call wrote them."""

import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from unittest.mock import patch

from google.protobuf.message import Message

from lakebed import Lake, LakebedError
from lakebed.catalog.data import checkpoints
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.transaction import pending_delta
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records import codec, commits, layout
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Space
from lakebed.store import KeyRange, MemoryStore, Store
from lakebed.table.types.types import LONG
from lakebed.table.types.types import Field as Column
from tests.support.mutations import CALLS, PURGES, Held, grown, numbers, without_branches

Field = tuple[str, str]
"""The names of a record's type and of a field."""

_VERSIONED = (Space.CURRENT, Space.NAME, Space.DROPPED, Space.COMMIT)
_RECORDS = (
    Space.LAKE,
    *_VERSIONED,
    Space.HISTORY,
    Space.NAME_HISTORY,
    Space.DROPPED_HISTORY,
    Space.TABLE_COMMIT,
    Space.OPERATIONS,
    Space.CHECKPOINT,
    Space.INTENT,
)
BORN = "connect"
"""What is there before the first call."""


def written_fields(folder: Path) -> dict[Field, set[str]]:
    """By field, the calls that store it, each made on a copy of one lake. `connect` stands for what made that one.

    Types of operations are among the fields, as those of `OperationType`.
    """
    with MemoryStore() as store:
        held = grown(opened_lake(store, folder))
        before = dump(store)
        found = {field: {BORN} for field in stored_fields(before)}
        for call in CALLS:
            with copied(store) as own:
                CALLS[call](reopened(held, own, folder))
                _note(found, call, dump(own).items() - before.items())
        _note_more(found, held, store, folder)
    return found


def _note_more(found: dict[Field, set[str]], held: Held, store: MemoryStore, folder: Path) -> None:
    """What is not a commit, what wants a lake without branches, and what only large commits do."""
    for name, call in MORE.items():
        with copied(store) as own:
            here = reopened(held, own, folder)
            here = without_branches(here) if name == "purge" else here
            before = dump(own)
            call(here)
            here.lake._checkpointing.wait()
            _note(found, name, dump(own).items() - before.items())


def _purge(held: Held) -> None:
    for call in PURGES.values():
        call(held)


def _evolve(held: Held) -> None:
    with held.parted.evolve() as change:
        change.add_column("note", "int")
    with held.parted.evolve() as change:
        change.widen_column("note", "long")
        change.move_column("note", first=True)
    with held.parted.evolve() as change:
        change.drop_column("note")
    new = held.main.create_table("sales.keyed", [Column("id", LONG, required=True)])
    with new.evolve() as change:
        change.primary_key(["id"])


def _swap(held: Held) -> None:
    staged = held.days.stage_partition({"day": "mon"})
    staged.append(numbers(7))
    staged.commit()


def _large_commit(held: Held) -> None:
    small = patch.object(commits, "OPERATION_BYTES", 100), patch.object(pending_delta, "INLINE_BYTES", 0)
    with small[0], small[1], held.main.transaction() as tx:
        tx.create_namespace("first")
        tx.create_namespace("second")
        tx.table("sales.orders").append(numbers(1))


def _large_checkpoint(held: Held) -> None:
    with patch.object(checkpoints, "TOP_BYTES", 0):
        held.orders.checkpoint()


def _unfinished_checkpoint(held: Held) -> None:
    metastore = held.lake._context.metastore
    metastore.abandon_checkpoint(
        metastore.begin_checkpoint(held.main._line.ref.line.id, held.orders.id, ["metadata/a"])
    )


MORE: dict[str, Callable[[Held], object]] = {
    "purge": _purge,
    "table.evolve": _evolve,
    "partition.commit": _swap,
    "table.checkpoint": lambda held: held.orders.checkpoint(),
    "a commit of many operations or files": _large_commit,
    "a checkpoint of many parts": _large_checkpoint,
    "Metastore.begin_checkpoint": _unfinished_checkpoint,
}


def _note(found: dict[Field, set[str]], call: str, rows: Iterable[tuple[bytes, bytes]]) -> None:
    for field in stored_fields(dict(rows)):
        found.setdefault(field, set()).add(call)


def shown_fields(lake: Lake) -> set[Field]:
    """The fields that `__records` shows after every call that still can be made was made, one after another."""
    held = grown(lake)
    held.orders.checkpoint()
    seen = _shown(held)
    for number, call in enumerate(CALLS.values()):
        with suppress(LakebedError):
            call(held)
        seen |= _shown(held) if number % 10 == 0 else set()
    return seen | _shown(held)


def _shown(held: Held) -> set[Field]:
    rows = held.main.inspect("__records").to_pylist()
    return {(row["record"], name) for row in rows for name in json.loads(row["fields"])}


def stored_fields(rows: dict[bytes, bytes]) -> set[Field]:
    """The fields that these rows have set; messages inside of records are records too."""
    return {field for key, value in rows.items() for field in _fields_of_row(key, value)}


def _fields_of_row(key: bytes, value: bytes) -> Iterator[Field]:
    space = next(space for space in reversed(Space) if key.startswith(layout.PREFIX[space]))
    if space in _RECORDS:
        yield from _set_fields(codec.decode(codec.split_current(value)[1] if space in _VERSIONED else value))


def _set_fields(record: Message) -> Iterator[Field]:
    for described, value in record.ListFields():
        yield record.DESCRIPTOR.name, described.name
        if isinstance(record, pb.Operation) and described.name == "type":
            yield "OperationType", pb.OperationType.Name(value)
        is_map = described.message_type is not None and described.message_type.GetOptions().map_entry
        if described.message_type is not None and not is_map:
            for one in value if described.is_repeated else [value]:
                yield from _set_fields(one)


def dump(store: Store) -> dict[bytes, bytes]:
    return dict(store.read(lambda transaction: transaction.snapshot.get_range(KeyRange(b"", b"\xff")).entries))


def copied(store: MemoryStore) -> MemoryStore:
    """Another store with the same rows at the same versions."""
    copy = MemoryStore()
    for name in ("_keys", "_values", "_commits", "_log"):
        setattr(copy, name, deepcopy(getattr(store, name)))
    return copy


def reopened(held: Held, store: MemoryStore, folder: Path) -> Held:
    """The same handles of a lake on another store, as a pickled handle is opened in another process."""
    lake = opened_lake(store, folder)
    handles = pickle.loads(pickle.dumps(tuple(held[1:])))
    return Held(lake, *handles)


def opened_lake(store: Store, folder: Path) -> Lake:
    """A lake whose pickled handles are opened as those of the lake that was opened last."""
    metastore = RecordsMetastore(store)
    project = open_project(metastore, DEFAULT, "ada")
    _OPENED[:] = [Context(metastore, LocalFiles(folder), Bodies(metastore), project, "ada", reopen=opened_last)]
    return Lake(_OPENED[0])


_OPENED: list[Context] = []


def opened_last() -> Context:
    return _OPENED[0]
