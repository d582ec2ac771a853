"""The handle of a partition: every call on it, on one page. The work is done by the modules beside this one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic
from typing import cast as typed
from uuid import UUID

from lakebed.catalog.objects.properties import check_keys
from lakebed.catalog.partitions.locators import partition_locator
from lakebed.catalog.tables.locators import Locator
from lakebed.catalog.transaction.commits import Answer, Request
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred
from lakebed.errors import NotFound
from lakebed.lake.arguments import check_flag
from lakebed.lake.engines import engine_for
from lakebed.lake.shown import counted, object_text, safely_html
from lakebed.table.manifest.summary import given_summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.arrow.read.scan import Scan
    from lakebed.catalog.partitions import changes as partition_changes
    from lakebed.catalog.partitions import deltas
    from lakebed.catalog.partitions.deltas import Delta
    from lakebed.lake.partitions import changes, rows
    from lakebed.lake.partitions import opened as opening
    from lakebed.lake.partitions.opened import Opened, Values
    from lakebed.lake.rows import appends, reads, writes
    from lakebed.lake.rows.appends import Address
    from lakebed.table.filter.condition import Condition
else:
    appends = deferred("lakebed.lake.rows.appends")
    reads = deferred("lakebed.lake.rows.reads")
    writes = deferred("lakebed.lake.rows.writes")
    changes = deferred("lakebed.lake.partitions.changes")
    rows = deferred("lakebed.lake.partitions.rows")
    opening = deferred("lakebed.lake.partitions.opened")
    partition_changes = deferred("lakebed.catalog.partitions.changes")
    deltas = deferred("lakebed.catalog.partitions.deltas")


@dataclass(frozen=True, slots=True, repr=False)
class Partition(Generic[Answer]):
    """A part of a table, by its id: the root, which every table has, or an explicit partition.

    An explicit partition is all rows of the table with its values, whoever wrote them. The root is all other rows. One
    that is staged is filled beside the table, and seen by nobody else, until `commit`.
    Every call is one transaction, as those of `Table` are.
    """

    id: str
    _table: str = field(repr=False)
    _scope: Scope = field(repr=False)

    # What it is.

    @property
    def values(self) -> dict[str, Any]:
        """Its values by column; none for the root."""
        opened = self._opened
        return {} if opened.partition.values is None else opened.partition.values.python(opened.schema)

    @property
    def name(self) -> str:
        """Its values as text, `dt=2026-11-01/region=eu`; "" for the root."""
        opened = self._opened
        return opened.partition.text(opened.schema)

    @property
    def locator(self) -> Locator:
        """Where it is: `str(partition.locator)` is its canonical string, `sales|orders|1|<stream>|<id>`."""
        opened = self._opened
        return partition_locator(opened.work, opened.table, self.id)

    @property
    def is_root(self) -> bool:
        """Whether it is the partition that the table was born with."""
        return self._opened.partition.values is None

    @property
    def state(self) -> str:
        """`committed`, or `staged` while it is filled."""
        return self._opened.partition.state

    @property
    def location(self) -> str | None:
        """The folder whose files were registered as its own, if there is one. Lakebed writes nothing there."""
        found = self._opened.partition.location
        return None if found is None else self._scope.context.files.location(found)

    @property
    def format(self) -> str:
        """The format of its files: `parquet`."""
        return self._opened.partition.file_format

    @property
    def properties(self) -> dict[str, str]:
        """Its properties, by name."""
        return dict(self._opened.partition.properties)

    @property
    def previous(self) -> str | None:
        """The id of the partition that it was swapped in for."""
        return self._opened.partition.previous

    # Reading.

    def scan(
        self, where: "str | Condition | None" = None, columns: Sequence[str] | None = None, limit: int | None = None
    ) -> "Scan":
        """Its rows by the local engine, as `Table.scan` has them."""
        return reads.scan(self._scope, self._source, self._opened.where(where), columns, limit)

    def read(
        self, spark: "SparkSession", where: "str | Condition | None" = None, columns: Sequence[str] | None = None
    ) -> "DataFrame":
        """Its rows as a Spark DataFrame."""
        return reads.read(self._scope, self._source, spark, self._opened.where(where), columns)

    def count(self) -> int:
        """How many rows it has. No file is opened."""
        return self._opened.count()

    def files(self) -> list[str]:
        """The paths of its live files, as the lake has them."""
        return [file.path for file in self._opened.files()]

    @property
    def size(self) -> int:
        """The bytes of its live files."""
        return sum(file.file_size for file in self._opened.files())

    def deltas(self) -> list["Delta"]:
        """What each commit did to it, newest first: place in the stream, type, counts, manifest."""
        opened = self._opened
        return deltas.deltas_of(opened.work, opened.table, replace(opened.partition, values=opened.within))

    def delta(self, position: int) -> "Delta":
        """What the commit at a position of the stream did to it; `NotFound` if there is none, or it did nothing."""
        found = next((delta for delta in self.deltas() if delta.position == position), None)
        if found is None:
            raise NotFound(
                "the partition has no delta at this position",
                subject=str(self.locator),
                found=repr(position),
                advice="deltas() lists them.",
            )
        return found

    # Rows.

    def append(
        self,
        data: Any,
        *,
        cast: bool = False,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Add rows, as `Table.append` does. Those without its columns get its values; other values are `Invalid`."""
        later = writes.later_words(cast=check_flag("cast", cast))
        request = Request("append", (self._table, self.id, *later), message, author, event_id, given_summary(summary))
        return typed("Answer", rows.append(self._scope, self._table, self.id, data, request, cast=cast))

    def overwrite(
        self,
        data: Any,
        *,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Replace all its rows in one commit; other partitions stay as they are."""
        request = Request("overwrite", (self._table, self.id), message, author, event_id, given_summary(summary))
        return typed("Answer", rows.overwrite(self._scope, self._table, self.id, data, request))

    def delete(
        self,
        where: "str | Condition | None" = None,
        spark: "SparkSession | None" = None,
        *,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Delete its rows that pass, without `where` all. The partition stays."""
        asked = (self._table, self.id, "" if where is None else str(where))
        request = Request("delete", asked, message, author, event_id, given_summary(summary))
        engine = engine_for(spark=spark)
        return typed("Answer", rows.delete(self._scope, self._table, self.id, where, engine, request))

    def add_files(
        self,
        paths: "Address | Iterable[Address] | None" = None,
        *,
        verify: bool = True,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Add Parquet files where they are, with its values as constants; without paths, the new ones at its location.

        A file is new if the table never had it: rows that were compacted, changed or deleted don't come again.
        Files may have the partition's columns, with its values, or not have them. Else it is as `Table.add_files`.
        """
        given, verify = () if paths is None else appends.given_addresses(paths), check_flag("verify", verify)
        request = Request(
            "add_files", (self._table, self.id, *given), message, author, event_id, given_summary(summary)
        )
        return typed("Answer", changes.add_files(self._scope, self._table, self.id, given, request, verify=verify))

    # Changing the partition.

    def alter(
        self,
        *,
        location: str,
        format: str | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Point it to another folder: the Parquet files there replace all its files, in one commit, as in Hive."""
        partition_changes.check_format(format)
        request = Request("alter_partition", (self._table, self.id, location), message, author, event_id)
        return typed("Answer", changes.move(self._scope, self._table, self.id, location, request))

    def rename(
        self,
        values: "Values",
        spark: "SparkSession | None" = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Give it other values: its rows get them, in one commit. It keeps its id, the rows keep theirs."""
        asked = changes.values_argument(values)
        request = Request("rename_partition", (self._table, self.id, asked), message, author, event_id)
        return typed("Answer", rows.rename(self._scope, self._table, self.id, values, engine_for(spark=spark), request))

    def drop(
        self, *, message: str | None = None, author: str | None = None, event_id: str | UUID | None = None
    ) -> Answer:
        """Drop it with its rows. No file is deleted, and `Table.undrop_partition` brings both back."""
        request = Request("drop_partition", (self._table, self.id), message, author, event_id)
        return typed("Answer", changes.drop(self._scope, self._table, None, self.id, request))

    def set_properties(
        self,
        values: Mapping[str, str],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Set some properties; the others stay. They are the caller's: none has an effect."""
        request = Request("set_properties", (self.id, dict(values)), message, author, event_id)
        return typed("Answer", changes.set_properties(self._scope, self._table, self.id, dict(values), request))

    def unset_properties(
        self,
        keys: Iterable[str],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Remove some properties; those that are not there are fine."""
        names = check_keys(keys)
        request = Request("unset_properties", (self.id, *names), message, author, event_id)
        return typed("Answer", changes.unset_properties(self._scope, self._table, self.id, names, request))

    # A staged partition: filled before anybody sees it. Its id leads to it, its values don't yet.

    def commit(
        self,
        *,
        over_newer: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Swap it in by one commit: its rows replace all rows of the table with its values; other rows are untouched.

        `Conflict` if others changed rows with its values since it was staged, unless `over_newer`: then they go too.
        """
        asked = (self._table, self.id, *writes.later_words(over_newer=check_flag("over_newer", over_newer)))
        request = Request("commit_partition", asked, message, author, event_id)
        return typed("Answer", changes.commit(self._scope, self._table, self.id, request, over_newer=over_newer))

    def discard(
        self, *, message: str | None = None, author: str | None = None, event_id: str | UUID | None = None
    ) -> Answer:
        """Give it up: nobody finds it any more. `Table.undrop_partition(id=…)` brings it back, still staged."""
        request = Request("discard_partition", (self._table, self.id), message, author, event_id)
        return typed("Answer", changes.discard(self._scope, self._table, self.id, request))

    def __repr__(self) -> str:
        """Its table, its values, where it looks and how many rows it has: it asks the lake, and never fails."""
        return object_text("Partition of", self._scope, self._table, self._details)

    def _repr_html_(self) -> str:
        return safely_html(lambda: self.scan()._html(repr(self)), lambda: repr(self))

    def _details(self, work: Work) -> list[str]:
        opened = opening.Opened.in_work(work, self._table, self.id)
        return [opened.partition.text(opened.schema) or "root", counted(opened.count(), "row")]

    @property
    def _source(self) -> str:
        return opening.source(self._scope, self._table, self.id)

    @property
    def _opened(self) -> "Opened":
        return opening.Opened.of(self._scope, self._table, self.id)
