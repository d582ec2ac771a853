"""A small lake at the level of the metastore, on SQLite, and the changes that figures commit to it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.data.floor import RecordingStore
from lakebed.metastore import Change, DataChange, Line, Operation, RecordsMetastore, State, life, new_id
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute

MANIFEST_BYTES = 500


@dataclass(frozen=True, slots=True)
class Table:
    id: str
    partition: str


def new_table() -> Table:
    return Table(new_id(), new_id())


class Lake:
    """A metastore with one namespace. `base` follows its own commits, as for a writer without competitors."""

    def __init__(self, path: Path) -> None:
        self.store = RecordingStore(path)
        self.metastore = RecordsMetastore(self.store)
        catalog = new_id()
        self.line = Line(catalog, catalog)
        self.namespace = new_id()
        self.base = self.metastore.newest()
        self.commit(self.change("create", self.namespace, lives={self.namespace: namespace(catalog, "sales")}))

    def commit(self, change: Change) -> None:
        self.base = self.metastore.commit(change).version

    def change(self, operation: str, object_id: str, **what: object) -> Change:
        operations = (Operation(operation, object_id),)
        return Change(event_id=new_id(), line=self.line, base=self.base, operations=operations, **what)  # type: ignore[arg-type]

    def create(self, table: Table, name: str) -> Change:
        """A new table of eight columns: life, properties, schema, storage, a first delta."""
        return self.change(
            "create",
            table.id,
            lives={table.id: life(pb.TABLE, self.namespace, name)},
            attributes={
                (table.id, Attribute.PROPERTIES): properties(0),
                (table.id, Attribute.SCHEMA): schema(8),
                (table.id, Attribute.STORAGE): pb.TableStorage(location=f"data/{table.id}", file_format="parquet"),
            },
            data=(DataChange(table.id, table.partition, _first, {"snapshot": 1}),),
        )

    def set_properties(self, table: Table, number: int) -> Change:
        return self.change(
            "set_properties", table.id, attributes={(table.id, Attribute.PROPERTIES): properties(number)}
        )

    def append(self, table: Table) -> Change:
        """A delta with an inline manifest, based on the previous delta, with a snapshot id allocated by the commit."""
        data = DataChange(table.id, table.partition, _next(os.urandom(MANIFEST_BYTES)), {"snapshot": 1})
        return self.change("insert", table.id, data=(data,))

    def add_table(self, name: str) -> Table:
        table = new_table()
        self.commit(self.create(table, name))
        return table

    def close(self) -> None:
        self.metastore.close()


def namespace(parent: str, name: str) -> pb.DatabaseRecord:
    record = life(pb.NAMESPACE, parent, name)
    assert isinstance(record, pb.DatabaseRecord)
    return record


def properties(number: int) -> pb.TableProperties:
    return pb.TableProperties(properties={"owner": "bench", "comment": f"change {number}"})


def schema(columns: int) -> pb.TableSchema:
    names = [pb.Column(field_id=n, name=f"column_{n}", type="string", required=False) for n in range(1, columns + 1)]
    return pb.TableSchema(schema_id=1, column=names)


def _first(_: State | None, ids: Mapping[str, int]) -> pb.TableHistory:
    return pb.TableHistory(snapshot_id=ids["snapshot"], schema_id=1, operation=pb.CREATE)


def _next(manifest: bytes) -> Callable[[State | None, Mapping[str, int]], pb.TableHistory]:
    def fold(previous: State | None, ids: Mapping[str, int]) -> pb.TableHistory:
        before = pb.TableHistory() if previous is None else previous.record
        assert isinstance(before, pb.TableHistory)
        return pb.TableHistory(
            snapshot_id=ids["snapshot"],
            previous_snapshot_id=before.snapshot_id,
            sequence_number=before.sequence_number + 1,
            schema_id=1,
            operation=pb.INSERT,
            totals={"rows": before.totals["rows"] + 100, "files": before.totals["files"] + 1},
            counts={"rows": 100, "files": 1},
            manifest=manifest,
        )

    return fold
