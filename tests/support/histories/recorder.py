"""Records what one process does to a lake, in a file that outlives it, and reads such files back as a history.

A transaction is a line before its commit, with all that it read and wrote, and a line after the answer. A process that
is killed leaves the first alone; whether the commit took effect is then looked up in the lake's log, by its event id.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic_ns
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import pyarrow

from lakebed.errors import LakebedError, OutcomeUnknown
from lakebed.lake.catalog import Catalog
from lakebed.lake.transaction import Transaction as Handle
from tests.support.histories.histories import Key, Model, Operation, Outcome, Read, Transaction, Write

ROWS = {"value": "string", "part": "string"}
"""The schema of tables whose rows are recorded."""


class Recording:
    """What a transaction does, put into words that a checker understands."""

    def __init__(self, objects: Catalog | Handle) -> None:
        self._objects = objects
        self.operations: list[Operation] = []

    def rows(self, table: str, part: str | None = None) -> tuple[str, ...]:
        """The values in a table, or in a part of it, in the order in which they were committed."""
        where = None if part is None else f"part = '{part}'"
        found = self._objects.table(table).scan(where).to_arrow()["value"].to_pylist()
        return self._read(_rows(table, part), found)

    def add_row(self, table: str, value: str, part: str) -> None:
        """Append a row. It is in the list of all rows and in that of its part, so that scans with a filter tell."""
        self._objects.table(table).append(pyarrow.table({"value": [value], "part": [part]}))
        self._write(_rows(table, None), value)
        self._write(_rows(table, part), value)

    def property(self, table: str, name: str) -> tuple[str, ...]:
        """A table's property as a register: its value, or nothing."""
        found = self._objects.table(table).properties.get(name)
        return self._read(_property(Model.REGISTER, table, name), () if found is None else (found,))

    def set_property(self, table: str, name: str, value: str) -> None:
        self._objects.table(table).set_properties({name: value})
        self._write(_property(Model.REGISTER, table, name), value)

    def words(self, table: str, name: str) -> tuple[str, ...]:
        """A table's property as a list: its words between commas."""
        text = self._objects.table(table).properties.get(name)
        return self._read(_property(Model.LIST, table, name), text.split(",") if text else ())

    def add_word(self, table: str, name: str, word: str) -> None:
        """Append to a property by reading it and writing it anew."""
        self._objects.table(table).set_properties({name: ",".join((*self.words(table, name), word))})
        self._write(_property(Model.LIST, table, name), word)

    def names(self, namespace: str) -> tuple[str, ...]:
        """The names of the tables in a namespace, as a set."""
        found = sorted(str(one.name).rpartition(".")[2] for one in self._objects.tables(namespace))
        return self._read(Key(Model.SET, f"tables of {namespace}"), found)

    def create(self, namespace: str, name: str) -> None:
        """Make a table, which adds to the set of names."""
        self._objects.create_table(f"{namespace}.{name}", ROWS)
        self._write(Key(Model.SET, f"tables of {namespace}"), name)

    def names_by_id(self, namespace: str) -> dict[str, str]:
        """What the tables in a namespace are called: for each id, a register."""
        found = {one.id: str(one.name).rpartition(".")[2] for one in self._objects.tables(namespace)}
        for object_id, name in found.items():
            self._read(_name_of(object_id), (name,))
        return found

    def rename(self, namespace: str, name: str, new_name: str) -> None:
        """Give the table of this name another one, which sets the register of its id."""
        renamed = self._objects.table(f"{namespace}.{name}").id
        self._objects.rename_table(f"{namespace}.{name}", f"{namespace}.{new_name}")
        self._write(_name_of(renamed), new_name)

    def make_named(self, namespace: str, name: str) -> None:
        """Make a table whose name is to be changed later."""
        self._write(_name_of(self._objects.create_table(f"{namespace}.{name}", ROWS).id), name)

    def _read(self, key: Key, values: Iterable[str]) -> tuple[str, ...]:
        found = tuple(values)
        self.operations.append(Read(key, found))
        return found

    def _write(self, key: Key, value: str) -> None:
        self.operations.append(Write(key, value))


class Recorder:
    """Everything that one process does to a line of a lake, written to a file as it happens."""

    def __init__(self, catalog: Catalog, path: Path, process: str) -> None:
        self.catalog = catalog
        self._process = process
        self._count = 0
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    @contextmanager
    def transaction(self) -> Iterator[Recording]:
        """A transaction of the lake that is recorded, however it ends."""
        name, event = self._next_name(), str(uuid4())
        began = monotonic_ns()
        transaction = self.catalog.transaction(name, author=self._process, event_id=event)
        try:
            with transaction as objects:
                recording = Recording(objects)
                try:
                    yield recording
                finally:
                    self._write_intent(name, event, began, recording)
        except OutcomeUnknown:
            raise
        except LakebedError:  # any other error has no answer either: the log tells
            self._write_answer(name, Outcome.ABORTED)
            raise
        committed = transaction.committed  # None if it only read: then it has no version
        self._write_answer(name, Outcome.COMMITTED, None if committed is None else int(committed.version))

    @contextmanager
    def glance(self) -> Iterator[Recording]:
        """Single reads outside of any transaction: of the lake's promises, each is one of its own."""
        began, recording = monotonic_ns(), Recording(self.catalog)
        yield recording
        name = self._next_name()
        assert len(recording.operations) == 1, "a glance is one read"
        self._write_intent(name, "", began, recording)
        self._write_answer(name, Outcome.COMMITTED)

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _next_name(self) -> str:
        self._count += 1
        return f"{self._process}.{self._count}"

    def _write_intent(self, name: str, event: str, began: int, recording: Recording) -> None:
        operations = [_to_json(one) for one in recording.operations]
        line = {"name": name, "process": self._process, "event": event, "began": began, "operations": operations}
        self._write_line(line)

    def _write_answer(self, name: str, outcome: Outcome, version: int | None = None) -> None:
        self._write_line({"name": name, "ended": monotonic_ns(), "outcome": outcome.value, "version": version})

    def _write_line(self, line: Mapping[str, Any]) -> None:
        # One call for a whole line: a kill between two would leave half of it.
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read_history(paths: Iterable[Path], catalog: Catalog) -> list[Transaction]:
    """What the processes recorded, once all of them are over; what has no answer is looked up in the lake's log."""
    log = {commit.id: int(commit.version) for commit in catalog.log()}
    return [transaction for path in paths for transaction in _recorded(path, log)]


def _recorded(path: Path, log: Mapping[str, int]) -> Iterator[Transaction]:
    lines = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    answers = {line["name"]: line for line in lines if "outcome" in line}
    for line in lines:
        if "outcome" not in line:
            yield _transaction(line, answers.get(line["name"]), log)


def _transaction(intent: Mapping[str, Any], answer: Mapping[str, Any] | None, log: Mapping[str, int]) -> Transaction:
    operations = tuple(_from_json(one) for one in intent["operations"])
    name, process, began = intent["name"], intent["process"], intent["began"]
    if answer is not None:
        outcome, version = Outcome(answer["outcome"]), answer["version"]
        return Transaction(name, process, began, answer["ended"], operations, outcome, version)
    found = log.get(intent["event"])
    outcome = Outcome.ABORTED if found is None else Outcome.COMMITTED
    return Transaction(name, process, began, None, operations, outcome, found)


def _to_json(operation: Operation) -> list[Any]:
    what = operation.values if isinstance(operation, Read) else operation.value
    return [operation.key.model.value, operation.key.name, what]


def _from_json(stored: list[Any]) -> Operation:
    model, name, what = stored
    key = Key(Model(model), name)
    return Write(key, what) if isinstance(what, str) else Read(key, tuple(what))


def _rows(table: str, part: str | None) -> Key:
    return Key(Model.LIST, f"rows of {table}" if part is None else f"rows of {table}, part {part}")


def _property(model: Model, table: str, name: str) -> Key:
    return Key(model, f"property {name} of {table}")


def _name_of(object_id: str) -> Key:
    return Key(Model.REGISTER, f"name of table {object_id}")
