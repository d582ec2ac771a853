"""A table as the tasks of another engine read and write it, by options of text: what Spark's Python data source calls.

Every call opens the lake on its own, since each may be in another process: a plan, the tasks of a read or a write on
other machines, the commit. What goes from one to the next is pickled.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import uuid4

import pyarrow

from lakebed.arrow.tasks import ReadTask, WriteTask, read_tasks, write_task
from lakebed.catalog.data.planning import plan
from lakebed.catalog.data.row_sources import sources
from lakebed.catalog.data.target import target_of
from lakebed.catalog.refs.catalogs import DEFAULT
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import check_event_id
from lakebed.errors import Invalid, LakebedError, OutcomeUnknown
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake, connect
from lakebed.lake.rows.written import Prepared
from lakebed.lake.table import Table
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import Condition, all_conditions
from lakebed.table.filter.parse import parse_condition
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.plan.splits import TARGET_BYTES
from lakebed.table.schema.schema import Schema

_PLACE = frozenset({"path", "lake", "catalog", "ref"})
_MOMENT = frozenset({"version", "time", "tag"})
_READ = _PLACE | _MOMENT | {"where", "columns", "split_bytes"}
_WRITE = _PLACE | {"where", "message", "author", "event_id", "partitionoverwritemode"}

Message = tuple[bytes, ...]
"""What a task reports of its writes: the entries of its files."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """The tables of the lake that the option `lake` names, or of this one."""

    url: str | None = None

    def reading(self, options: Mapping[str, str]) -> "Reading":
        """A table as it is now, or at the moment that is asked for; whatever is committed later is not seen."""
        place = self._place(options, _READ)
        with connect(place.url, create=False) as lake:
            catalog = place.open(lake)
            moment = {name: options[name] for name in _MOMENT if name in options}
            pinned = catalog.at(**cast(Any, moment)) if moment else catalog
            version = int(pinned.version)
            if "tag" in moment:  # which may be of another line
                place = replace(place, ref=moment["tag"])
            table = place.open(lake).at(version=version).table(place.name)
            names = _names(options.get("columns"))
            schema = table.scan(columns=names).schema
            where = options.get("where")
            if where is not None:
                bind(where, table.schema)
            return Reading(place, version, schema, table.schema, where, _bytes(options.get("split_bytes")))

    def writing(self, options: Mapping[str, str], form: pyarrow.Schema, *, overwrite: bool) -> "Writing":
        """A write of rows of this form into a table; `Invalid` for a form that it can't hold."""
        place = self._place(options, _WRITE)
        how = _how(options, overwrite)
        event = check_event_id(options["event_id"]) if "event_id" in options else str(uuid4())
        with connect(place.url, create=False) as lake:
            table = place.open(lake).table(place.name)
            work = table._scope.read()
            task = write_task(target_of(work, table_state(work, table.id)))
        task.check(form)
        return Writing(place, task, how, options.get("where"), event, options.get("message"), options.get("author"))

    def _place(self, options: Mapping[str, str], known: frozenset[str]) -> "Place":
        for name in sorted(set(map(str.lower, options)) - known):
            raise Invalid("there is no such option", subject=name, expected=", ".join(sorted(known)))
        url, table = options.get("lake", self.url), options.get("path")
        if url is None:
            raise Invalid(
                "the lake is not named",
                expected='.option("lake", url)',
                advice="spark.dataSource.register(pyspark_lakebed.source_for(lake.url)) names it for a whole session.",
            )
        if not table:
            raise Invalid("the table is not named", expected='such as load("sales.orders") or save("sales.orders")')
        return Place(url, options.get("catalog", DEFAULT), options.get("ref"), table)


@dataclass(frozen=True, slots=True)
class Place:
    """Which table of which lake."""

    url: str
    catalog: str
    ref: str | None
    name: str

    def open(self, lake: Lake) -> Catalog:
        return lake.catalog(self.catalog if self.ref is None else f"{self.catalog}@{self.ref}")


@dataclass(frozen=True, slots=True)
class Reading:
    """A table at a version; `schema` has the columns that are asked for, of those that it has."""

    place: Place
    version: int
    schema: Schema
    columns: Schema
    where: str | None
    split_bytes: int | None

    def takes(self, condition: Condition) -> bool:
        """Whether a condition can be part of the plan."""
        try:
            bind(condition, self.columns)
        except Invalid:
            return False
        return True

    def tasks(self, conditions: Iterable[Condition]) -> list[ReadTask]:
        """The read as tasks, of the rows for which these conditions are true as well."""
        given = [] if self.where is None else [parse_condition(self.where)]
        wanted = [*given, *conditions]
        with connect(self.place.url, create=False) as lake:
            table = self.place.open(lake).at(version=self.version).table(self.place.name)
            work = table._scope.read()
            state = table_state(work, table.id)
            filter = bind(all_conditions(wanted), state.schema) if wanted else None
            planned = plan(work, state, filter)
            size = TARGET_BYTES if self.split_bytes is None else self.split_bytes
            return read_tasks(sources(work, state.id), state.schema, planned.files, filter, self.schema.names, size)


@dataclass(frozen=True, slots=True)
class Writing:
    """A write on its way. By its event id anybody can look up whether its commit took effect."""

    place: Place
    task: WriteTask
    how: str
    where: str | None
    event: str
    message: str | None
    author: str | None

    def write(self, rows: pyarrow.RecordBatchReader) -> Message:
        """What one task does. Rows of a task that failed, or ran twice, are in files that nothing refers to."""
        return tuple(one.SerializeToString() for one in self.task.write(rows))

    def commit(self, messages: Sequence[Message | None]) -> None:
        """One commit of what all tasks have written."""
        written = _entries(messages)
        with connect(self.place.url, create=False) as lake:
            try:
                known = self._is_committed(lake)
                rows = Prepared(self.state, self.task.checks, written)
                self._commit(Table(self.state.id, self.place.open(lake)._scope), rows)
            except OutcomeUnknown as error:
                error.advice = f'Its files are kept. Write the same again with .option("event_id", "{self.event}").'
                raise
            except LakebedError:
                self._delete(written)
                raise
            if known:  # the same write came again: what it has written now is of no use
                self._delete(written)

    def abort(self, messages: Sequence[Message | None]) -> None:
        """Delete what the tasks of a write have written, after one of them failed.

        Spark calls this after a commit that failed too, in another process. If every task has a message, there
        was a commit: it has deleted the files itself, or can't know whether it took effect, or will yet.
        """
        if None not in messages:
            return
        with connect(self.place.url, create=False) as lake:
            if not self._is_committed(lake):
                self._delete(_entries(messages))

    @property
    def state(self) -> TableState:
        return self.task.state

    def _commit(self, table: Table, rows: Prepared) -> None:
        signed: dict[str, Any] = {"message": self.message, "author": self.author, "event_id": self.event}
        if self.how == "append":
            table.append(rows, **signed)
        elif self.how == "dynamic":
            table.overwrite_partitions(rows, **signed)
        else:
            table.overwrite(rows, self.where, **signed)

    def _is_committed(self, lake: Lake) -> bool:
        return lake._context.metastore.find(self.event) is not None

    def _delete(self, written: Sequence[DataFileRef]) -> None:
        # What can't be deleted now is unreferenced, and left for garbage collection.
        self.task.files.delete_many([one.path for one in written])


def _entries(messages: Sequence[Message | None]) -> list[DataFileRef]:
    return [DataFileRef.FromString(one) for message in messages if message is not None for one in message]


def _how(options: Mapping[str, str], overwrite: bool) -> str:
    mode = options.get("partitionOverwriteMode", "static").lower()
    if mode not in ("static", "dynamic"):
        raise Invalid(
            "there is no such mode", subject="partitionOverwriteMode", expected="static or dynamic", found=mode
        )
    if not overwrite and (mode == "dynamic" or "where" in options):
        raise Invalid(
            "an append replaces nothing", advice='Use .mode("overwrite"), or leave out what it would replace.'
        )
    if mode == "dynamic" and "where" in options:
        raise Invalid("rows are replaced by partition or by a condition", found="both")
    return ("dynamic" if mode == "dynamic" else "overwrite") if overwrite else "append"


def _names(columns: str | None) -> list[str] | None:
    return None if columns is None else [one.strip() for one in columns.split(",")]


def _bytes(text: str | None) -> int | None:
    if text is None or (text.isascii() and text.isdigit()):
        return None if text is None else int(text)
    raise Invalid("this is not a number of bytes", subject="split_bytes", expected="digits", found=repr(text))
