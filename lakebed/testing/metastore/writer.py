"""A short way to write and to look: one commit per call, as the tests of a metastore need it."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import NAMESPACE_OID, uuid5

from google.protobuf.message import Message

from lakebed.metastore.change import Change, Commit, DataChange, LifeRecord, Operation, State
from lakebed.metastore.kinds import life, new_id
from lakebed.metastore.line import Line
from lakebed.metastore.metastore import Metastore, Reader
from lakebed.metastore.pages import Page
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version

T = TypeVar("T")

# Each attribute that is written as a whole record, with a record that differs by its number.
RECORDS: dict[Attribute, Callable[[int], Message]] = {
    Attribute.PROPERTIES: lambda number: pb.TableProperties(properties={"number": str(number)}),
    Attribute.STORAGE: lambda number: pb.TableStorage(location=f"data/{number}", file_format="parquet"),
    Attribute.SCHEMA: lambda number: pb.TableSchema(schema_id=number),
    Attribute.SPEC: lambda number: pb.TableSpec(spec_id=number),
    Attribute.SORT: lambda number: pb.TableSortOrder(sort_order_id=number),
    Attribute.VIEW: lambda number: pb.ViewText(sql={"spark": f"SELECT {number}"}),
    Attribute.REF: lambda number: pb.CatalogRecord(parent_id=new_id(), user_id=str(number)),
    Attribute.PARTITION: lambda number: pb.TablePartition(location=f"data/{number}"),
}


def trunk() -> Line:
    """A new catalog's first line."""
    catalog = new_id()
    return Line(catalog, catalog)


def root_partition(table: str) -> str:
    """Where the tests keep a table's data."""
    return str(uuid5(NAMESPACE_OID, table))


@dataclass(frozen=True, slots=True)
class Writer:
    """Somebody who commits to one line. Each call is one commit, against the newest version unless `base` is named."""

    metastore: Metastore
    line: Line
    author: str = "ada"

    def commit(self, *, base: Version | None = None, **parts: Any) -> Commit:
        parts = {"event_id": new_id(), "author": self.author, "message": "a test", **parts}
        return self.metastore.commit(Change(line=self.line, base=base or self.metastore.newest(), **parts))

    def reader(self, version: Version | None = None) -> Reader:
        return self.metastore.reader(self.line, version)

    def fork(self, version: Version | None = None) -> "Writer":
        """The same author on a new branch."""
        return Writer(self.metastore, self.line.fork(new_id(), version or self.metastore.newest()), self.author)

    # Lives

    def create(self, kind: int, name: str, container: str | None = None, **parts: Any) -> str:
        """The id of a new object, in the line's top unless a container is named."""
        object_id = new_id()
        lives = {object_id: life(kind, container or self.line.top, name)}
        self.commit(lives=lives, operations=(Operation("create", object_id, name),), **parts)
        return object_id

    def namespace(self, name: str, container: str | None = None, **parts: Any) -> str:
        return self.create(pb.NAMESPACE, name, container, **parts)

    def table(self, name: str, container: str | None = None, **parts: Any) -> str:
        return self.create(pb.TABLE, name, container, **parts)

    def life(self, object_id: str, version: Version | None = None, **fields: Any) -> LifeRecord:
        """The object's life with some fields changed; it is not written."""
        [state] = self.reader(version).attributes([(object_id, Attribute.LIFE)])
        assert state is not None, f"{object_id} has no life"
        record = cast(LifeRecord, state.record)
        for field, value in fields.items():
            setattr(record, field, value)
        return record

    def alter(self, operation: str, object_id: str, base: Version | None = None, **fields: Any) -> Commit:
        """Write the object's life as it was at `base`, with some fields changed."""
        record = self.life(object_id, base, **fields)
        operations = (Operation(operation, object_id, record.name),)
        return self.commit(base=base, lives={object_id: record}, operations=operations)

    def rename(self, object_id: str, name: str, base: Version | None = None) -> Commit:
        return self.alter("rename", object_id, base, name=name)

    def move(self, object_id: str, container: str, base: Version | None = None) -> Commit:
        return self.alter("rename", object_id, base, container_id=container)

    def drop(self, object_id: str, base: Version | None = None) -> Commit:
        return self.alter("drop", object_id, base, dropped=True, drop_type=pb.MARKED)

    def undrop(self, object_id: str, base: Version | None = None, **fields: Any) -> Commit:
        return self.alter("undrop", object_id, base, dropped=False, drop_type=pb.DROP_TYPE_UNSPECIFIED, **fields)

    # Attributes and data

    def write(self, object_id: str, attribute: Attribute, number: int, base: Version | None = None) -> Commit:
        operations = (Operation("set_properties", object_id),)
        return self.commit(
            base=base, attributes={(object_id, attribute): RECORDS[attribute](number)}, operations=operations
        )

    def set(self, object_id: str, number: int, base: Version | None = None) -> Commit:
        return self.write(object_id, Attribute.PROPERTIES, number, base)

    def append(self, table: str, rows: int = 1, **parts: Any) -> Commit:
        operations = (Operation("insert", table, counts={"rows": rows}),)
        return self.commit(data=(appending(table, rows),), operations=operations, **parts)

    def checkpoint(self, table: str, version: Version, files: int = 1, intent: str | None = None) -> pb.TableCheckpoint:
        """Put a checkpoint of the line's own delta of this version."""
        record = checkpoint_of(self.deltas(table)[version], files)
        self.metastore.put_checkpoint(self.line.id, root_partition(table), version, record, intent)
        return record

    # Looking

    def deltas(self, table: str) -> dict[Version, State]:
        """The line's own deltas of a table."""
        found = all_pages(self.reader().history, root_partition(table), Attribute.DATA)
        return {state.version: state for state in found if state.line == self.line.id}

    def names(self, parent: str | None = None, version: Version | None = None) -> dict[str, str]:
        """The children of a parent: name to id."""
        page = self.reader(version).children(parent or self.line.top)
        return {child.name: child.id for child in page.items}

    def resolve(self, name: str, parent: str | None = None, version: Version | None = None) -> str | None:
        return self.reader(version).resolve([(parent or self.line.top, name)])[0]

    def number(self, object_id: str, version: Version | None = None) -> int | None:
        """What `set` has set."""
        [state] = self.reader(version).attributes([(object_id, Attribute.PROPERTIES)])
        return None if state is None else int(cast(pb.TableProperties, state.record).properties["number"])

    def rows(self, table: str, version: Version | None = None) -> int:
        """How many rows were appended."""
        [state] = self.reader(version).attributes([(root_partition(table), Attribute.DATA)])
        return total(state)

    def is_alive(self, object_id: str, version: Version | None = None) -> bool:
        [path] = self.reader(version).paths([object_id])
        return bool(path) and not any(cast(LifeRecord, state.record).dropped for state in path)


def appending(table: str, rows: int = 1) -> DataChange:
    """A delta that adds rows, with a snapshot id and row ids of its own."""

    def fold(previous: State | None, first: Mapping[str, int]) -> pb.TableHistory:
        record = pb.TableHistory(snapshot_id=first["snapshot"], first_row_id=first["row"], counts={"rows": rows})
        record.totals["rows"] = total(previous) + rows
        if previous is not None:
            record.previous_snapshot_id = cast(pb.TableHistory, previous.record).snapshot_id
        return record

    return DataChange(table, root_partition(table), fold, {"snapshot": 1, "row": rows})


def checkpoint_of(delta: State, files: int = 1) -> pb.TableCheckpoint:
    """A checkpoint that stands for a delta; `files` tells one from another."""
    of = cast(pb.TableHistory, delta.record)
    return pb.TableCheckpoint(
        snapshot_id=of.snapshot_id, sequence_number=of.sequence_number, counts={"files": files, "rows": total(delta)}
    )


def total(state: State | None) -> int:
    return 0 if state is None else cast(pb.TableHistory, state.record).totals["rows"]


def all_pages(ask: Callable[..., Page[T]], *arguments: Any, limit: int = 1000, **filters: Any) -> list[T]:
    """Every item of a paged answer."""
    return [item for page in pages(ask, *arguments, limit=limit, **filters) for item in page]


def pages(ask: Callable[..., Page[T]], *arguments: Any, limit: int, **filters: Any) -> Iterator[list[T]]:
    token = None
    while True:
        page = ask(*arguments, limit=limit, token=token, **filters)
        assert len(page.items) <= limit
        yield page.items
        if page.token is None:
            return
        token = page.token


def picture(
    reader: Reader,
    ids: Collection[str],
    names: Collection[str],
    number: Callable[[Version], object] = int,
    *,
    attributes: Collection[Attribute] = tuple(Attribute),
    limit: int = 1000,
) -> dict[str, object]:
    """All that a reader can say of these objects and names, as plain values; `number` says how versions are shown."""
    parents = [reader.line.top, *ids]
    units = [(one, attribute) for one in ids for attribute in attributes]
    units += [(root_partition(one), Attribute.DATA) for one in ids]
    asked = [(parent, name) for parent in parents for name in names]

    def shown(state: State | None) -> object:
        return None if state is None else (plain(state.record, number), number(state.version), state.line)

    def logged(commit: Commit) -> object:
        return (
            commit.id,
            commit.line,
            number(commit.version),
            commit.author,
            commit.message,
            commit.operations,
            commit.parents,
        )

    return {
        "attributes": {unit: shown(state) for unit, state in zip(units, reader.attributes(units), strict=True)},
        "histories": {
            unit: [shown(state) for state in all_pages(reader.history, *unit, limit=limit)] for unit in units
        },
        "paths": {
            one: [shown(state) for state in path] for one, path in zip(ids, reader.paths(list(ids)), strict=True)
        },
        "names": dict(zip(asked, reader.resolve(asked), strict=True)),
        "children": {parent: all_pages(reader.children, parent, limit=limit) for parent in parents},
        "dropped": {
            parent: [
                (one.name, one.id, one.type, number(one.created), number(one.dropped), one.drop_type)
                for one in all_pages(reader.dropped, parent, limit=limit)
            ]
            for parent in parents
        },
        "log": [logged(commit) for commit in all_pages(reader.log, limit=limit)],
        "log by object": {
            one: [commit.id for commit in all_pages(reader.log, object_id=one, limit=limit)] for one in ids
        },
    }


def plain(record: Message, number: Callable[[Version], object] = int) -> tuple[object, ...]:
    """A record as values that compare: its type, its fields, the versions in a life as `number` shows them."""
    copy = type(record)()
    copy.CopyFrom(record)
    marks = [mark for mark in ("create_version", "drop_version") if getattr(copy, mark, b"")]
    versions = tuple((mark, number(Version(getattr(copy, mark)))) for mark in marks)
    for mark in marks:
        copy.ClearField(mark)
    for field in ("table_id",) if isinstance(copy, pb.TableHistory) else ():
        copy.ClearField(field)
    return type(copy).__name__, copy.SerializeToString(deterministic=True), versions


def properties(number: int) -> pb.TableProperties:
    return cast(pb.TableProperties, RECORDS[Attribute.PROPERTIES](number))


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work` answers in each thread; the first error is raised."""
    start = threading.Barrier(count)
    answers: list[Any] = []
    errors: list[BaseException] = []

    def run(number: int) -> None:
        start.wait()
        try:
            answers.append(work(number))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error
    return answers
