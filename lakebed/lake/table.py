"""The handle of a table: every call on it, on one page. The work is done by the modules beside this one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Generic, Literal, overload
from typing import cast as typed
from uuid import UUID

from lakebed.catalog.objects.log import Asked, log, newest_commit, read_all
from lakebed.catalog.objects.undrop import check_id
from lakebed.catalog.tables.storage import Storage, StorageChange
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.bound import asked_id, subject_of
from lakebed.catalog.transaction.commits import Answer, Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name, shown_name
from lakebed.catalog.transaction.objects import name_of, rename
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.catalog.transaction.work import Work
from lakebed.deferred import deferred
from lakebed.errors import Invalid
from lakebed.lake.arguments import SchemaLike, Terms, check_flag, check_not_staged, order_terms, spec_terms
from lakebed.lake.engines import arrow_engine, engine_for
from lakebed.lake.levels.editions import Editions, asked_edition, check_table, create_edition, edition_id
from lakebed.lake.levels.streams import StreamCalls, Streams, find_stream, stage_stream
from lakebed.lake.settings import properties
from lakebed.lake.shown import Listing, counted, object_text, safely_html
from lakebed.table.manifest.summary import given_summary
from lakebed.table.partition.sort_order import SortField
from lakebed.table.partition.spec import PartitionField
from lakebed.table.schema.schema import Path, Schema

if TYPE_CHECKING:
    import os

    import duckdb
    import pandas
    import polars
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from lakebed.arrow.read.scan import Scan
    from lakebed.catalog.data import checkpoint_schedule, target
    from lakebed.catalog.data import snapshots as versions
    from lakebed.catalog.data.snapshots import SnapshotInfo
    from lakebed.catalog.data.streams import Stream as FoundStream
    from lakebed.catalog.inspect import history
    from lakebed.catalog.inspect import opened as opening
    from lakebed.lake import description as describing
    from lakebed.lake import evolve as evolving
    from lakebed.lake import partition as partitions
    from lakebed.lake.description import Description
    from lakebed.lake.diff import blame as blaming
    from lakebed.lake.diff.blame import Blame, RowBlame
    from lakebed.lake.evolve import Evolve
    from lakebed.lake.partition import Partition
    from lakebed.lake.partitions import changes as partition_calls
    from lakebed.lake.partitions import opened
    from lakebed.lake.rows import appends, compact, reads, writes
    from lakebed.lake.rows import changes as feed
    from lakebed.lake.rows import consumer as consuming
    from lakebed.lake.rows import given as asking
    from lakebed.lake.rows import restore as restoring
    from lakebed.lake.rows.appends import Address
    from lakebed.lake.rows.changes import Changes
    from lakebed.lake.rows.consumer import Consumer
    from lakebed.lake.rows.grow import Evolution
    from lakebed.lake.settings import storage
    from lakebed.lake.streaming import load as streaming
    from lakebed.lake.streaming.modes import Mode, Trigger
    from lakebed.store import Version
    from lakebed.table.expression.merge_clauses import Clause
    from lakebed.table.filter.condition import Condition
    from lakebed.table.manifest.framed import FramedManifest
else:
    blaming = deferred("lakebed.lake.diff.blame")
    appends = deferred("lakebed.lake.rows.appends")
    compact = deferred("lakebed.lake.rows.compact")
    reads = deferred("lakebed.lake.rows.reads")
    writes = deferred("lakebed.lake.rows.writes")
    feed = deferred("lakebed.lake.rows.changes")
    asking = deferred("lakebed.lake.rows.given")
    consuming = deferred("lakebed.lake.rows.consumer")
    restoring = deferred("lakebed.lake.rows.restore")
    partition_calls = deferred("lakebed.lake.partitions.changes")
    opened = deferred("lakebed.lake.partitions.opened")
    storage = deferred("lakebed.lake.settings.storage")
    streaming = deferred("lakebed.lake.streaming.load")
    history = deferred("lakebed.catalog.inspect.history")
    opening = deferred("lakebed.catalog.inspect.opened")
    versions = deferred("lakebed.catalog.data.snapshots")
    target = deferred("lakebed.catalog.data.target")
    partitions = deferred("lakebed.lake.partition")
    describing = deferred("lakebed.lake.description")
    evolving = deferred("lakebed.lake.evolve")
    checkpoint_schedule = deferred("lakebed.catalog.data.checkpoint_schedule")


@dataclass(frozen=True, slots=True, repr=False)
class Table(Editions[Answer], Streams[Answer], Generic[Answer]):
    """A table by its id: the handle stays good when it is renamed. Every call is one transaction.

    A handle of a transaction works inside it; a handle of a catalog at a version shows the table as it was then.
    `message`, `author` and `event_id` are for the commit: the same call with the same event id commits once. Inside a
    transaction they are refused, and the answer is None: the transaction has them. `summary` is what you say of the
    snapshot that a write makes: texts by key, which `snapshots()` shows.
    """

    id: str
    _scope: Scope = field(repr=False)

    # What it is.

    @property
    def name(self) -> Name:
        """Its name now: dotted text, or a tuple if a part has a dot."""
        return shown_name(name_of(self._scope.read(), self.id))

    @property
    def schema(self) -> Schema:
        """Its columns."""
        return self._state.schema

    @property
    def spec(self) -> Terms[PartitionField]:
        """How new files are partitioned; printed: `day(ordered_at), bucket(16, id)`."""
        return spec_terms(self._state)

    @property
    def sort_order(self) -> Terms[SortField]:
        """How the rows of new files are sorted."""
        return order_terms(self._state)

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns that identify a row, none if the table has no key."""
        return self._state.schema.key

    @property
    def location(self) -> str:
        """The folder of its new files; `set_storage` changes it.

        Give another engine `scan().to_dataset()` or the paths of `scan().files()`, never the folder.
        """
        return self._scope.context.files.location(self._state.location)

    @property
    def storage(self) -> Storage:
        """How and where its files are stored, and who owns it."""
        return storage.storage_of(self._scope, self.id)

    @property
    def version(self) -> "Version | None":
        """The last commit that changed it; None if it is new in a transaction."""
        return newest_commit(self._read_all(), subject_of(self.id))

    @property
    def properties(self) -> dict[str, str]:
        """Its properties, by name."""
        return properties.properties_of(self._scope, self.id)

    @property
    def comment(self) -> str | None:
        """Its description; the property `comment`."""
        return properties.comment_of(self._scope, self.id)

    def describe(self) -> "Description":
        """What the table is now: printed, as text; by its methods, as the documents of source document 001."""
        return describing.Description(history.table_past(self._scope.read(), self.id))

    # Its past.

    def at(
        self,
        moment: Moment | None = None,
        *,
        version: "Version | int | str | None" = None,
        time: date | str | None = None,
        snapshot: int | None = None,
        tag: str | None = None,
    ) -> "Table[Answer]":
        """The table as it was at a version, a time, one of its snapshots or a tag; `NotFound` if it was not there.

        `at(-1)` is the table before the last commit that changed it; `at("1 hour ago")`, `at("2026-11-01")` are times.
        """
        past = reads.table_at(self._scope, self.id, moment, version=version, time=time, snapshot=snapshot, tag=tag)
        return Table(self.id, past)

    def history(self) -> Listing[Commit]:
        """The commits that changed the table, or one of its editions, newest first."""
        return Listing(log(self._read_all(), Asked(subject_of(self.id))))

    def snapshots(self) -> Listing["SnapshotInfo"]:
        """The table's snapshots, newest first."""
        work = self._scope.read()
        return Listing(versions.snapshots(work, table_state(work, self.id)))

    def manifest(self, snapshot: int | None = None) -> "FramedManifest":
        """What a snapshot did to the table's files, the newest unless one is named, as source document 003's manifest.

        `.data` is the whole frame, `.decoded()` has its fields by name, and `Catalog.open` opens its `.path`.
        """
        return opening.whole_frame(self._scope.read(), self.id, snapshot)

    # Reading rows.

    def scan(
        self, where: "str | Condition | None" = None, columns: Sequence[str] | None = None, limit: int | None = None
    ) -> "Scan":
        """Rows by the local engine: `.to_arrow()`, `.to_batches()`, `.to_pandas()`, `.to_polars()`, `.to_dataset()`, ….

        `where` is an SQL condition, or one built with `lakebed.col`. The scan shows the table as it is at this call,
        whatever is committed before its rows are read.
        """
        return reads.scan(self._scope, self.id, where, columns, limit)

    def read(
        self, spark: "SparkSession", where: "str | Condition | None" = None, columns: Sequence[str] | None = None
    ) -> "DataFrame":
        """Rows as a Spark DataFrame, read by Spark's own Parquet reader; `where` is the same as in `scan`."""
        return reads.read(self._scope, self.id, spark, where, columns)

    def get(self, *key: Any) -> dict[str, Any] | None:
        """The row with a primary key, None if there is none: `orders.get(17)`."""
        work = self._scope.read()
        return arrow_engine().get(target.target_of(work, table_state(work, self.id)), key)

    def changes(
        self,
        since: "Moment | Table[Any]",
        until: "Moment | Table[Any] | None" = None,
        *,
        net: bool = False,
        updates: bool = True,
        where: "str | Condition | None" = None,
        columns: Sequence[str] | None = None,
    ) -> "Changes":
        """The rows that were inserted, deleted and updated after `since`, up to and with `until`, or up to now.

        Both are moments of `at`, or handles of this table on another branch or at a version. Commit by commit, or with
        `net=True` once for each row that is not as it was. Without `updates` a changed row is a `delete` and an
        `insert`. `where` is tested on each row of the feed. Compactions are not changes. Only changed files are read.
        """
        return feed.changes(self._scope, self.id, since, until, net=net, updates=updates, where=where, columns=columns)

    def read_stream(
        self,
        spark: "SparkSession",
        since: Moment | None = None,
        changes: bool = False,
        max_files: int | None = None,
        max_bytes: int | None = None,
        on_change: str = "fail",
    ) -> "DataFrame":
        """Its rows as a streaming DataFrame: all that it has when a query first begins, or those that came after
        `since`, then those that come. Spark's own file source reads them, each once, by the query's checkpoint.

        Compactions are not seen. A commit that updates or deletes rows fails the query, or with `on_change="ignore"`
        adds its new rows alone. `changes=True` streams all changes, in the columns of `changes()`. A batch has at most
        `max_files` files, or about `max_bytes`. If the columns change, the query fails: start it again.
        """
        return streaming.read_stream(
            self._scope,
            self.id,
            spark,
            since,
            changes=changes,
            max_files=max_files,
            max_bytes=max_bytes,
            on_change=on_change,
        )

    @overload
    def blame(self, first: Any, /, *rest: Any) -> "RowBlame": ...

    @overload
    def blame(self, *, where: "str | Condition | None" = None, limit: int | None = None) -> "Blame": ...

    def blame(self, *key: Any, where: "str | Condition | None" = None, limit: int | None = None) -> "RowBlame | Blame":
        """The commits that last changed a row and each of its cells, by its primary key: `orders.blame(17)`.

        Without a key, those of all rows that pass `where`, at most `limit`: `orders.blame(where="_row_id = 5")` also
        works without a primary key. What a merge brought is blamed on the commit of its branch; compactions are not
        changes. Only commits that touched the row's files are read. `NotFound` if there is no row with the key.
        """
        if not key:
            return blaming.blame_rows(self._scope, self.id, where, limit)
        if where is not None or limit is not None:
            raise Invalid("name a key or a condition", expected="blame(key), or blame(where=…, limit=…)")
        return blaming.blame_key(self._scope, self.id, key)

    def consumer(self, name: str) -> "Consumer[Answer]":
        """Somebody who follows its changes, by name: `changes()` since its position, which `advance` moves on."""
        check_not_staged(self.id, "consumer()")
        return consuming.consumer_of(self._scope, self.id, name)

    def to_arrow(self) -> "pyarrow.Table":
        """Its rows, as they are now, in memory; `scan(where, columns)` reads fewer."""
        return self.scan().to_arrow()

    def to_pandas(self) -> "pandas.DataFrame":
        """Its rows, as they are now, as a DataFrame of pandas, which has to be installed."""
        return self.scan().to_pandas()

    def to_polars(self) -> "polars.LazyFrame":
        """Its rows, as they are now, as a lazy frame of polars; its columns and filters are pushed down."""
        return self.scan().to_polars()

    def to_duckdb(
        self, connection: "duckdb.DuckDBPyConnection | None" = None, name: str | None = None
    ) -> "duckdb.DuckDBPyRelation":
        """Its rows, as they are now, as a relation of DuckDB; its columns and filters are pushed down.

        Without a connection it is DuckDB's default one. With a name, SQL on the connection can use it.
        """
        return self.scan().to_duckdb(connection, name)

    def __arrow_c_schema__(self) -> object:
        """Its columns for all that read Arrow's C data."""
        return self.scan(limit=0).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Its rows for all that read Arrow's C stream: `pyarrow.table(orders)`, `polars.DataFrame(orders)`."""
        return self.scan().__arrow_c_stream__(requested_schema)

    def export_iceberg(self, path: str | None = None) -> str:
        """Write the table's Iceberg metadata, as of this version, and answer where the metadata document is.

        `path` is a folder of the lake, by default one of the table's own. `Invalid` if the table has rows that
        Iceberg's readers can't reach, such as inline ones: `compact()` writes them to files.
        """
        return reads.export(self._scope, self.id, path)

    # Adding rows.

    def append(
        self,
        data: Any,
        *,
        evolve: "Evolution" = None,
        cast: bool = False,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Add rows: a Spark DataFrame, an Arrow table, reader or dataset, a frame of pandas or polars, a list of dicts,
        a dict of lists, or anything with Arrow's C stream.

        Columns are matched by name, without case. Missing ones get their default. Columns that the table does not have
        are `Invalid`, or with `evolve="add"` are added to it in the same commit. Types must fit; with `cast=True` they
        are cast, such as the texts of a CSV, and a value that would be lost is `Invalid`. Files are written first, then
        one commit shows them all; a few small rows (property `write.inline-bytes`) are kept in the commit itself. After
        an error nothing of it can be seen. Columns that others add meanwhile do no harm. If the table changes so that
        the rows no longer fit, those in memory are written again; for others it is a `Conflict`. A row that breaks a
        check of the table is `Invalid`.
        """
        by = asking.By(message, author, event_id, summary)
        return typed("Answer", asking.append(self._scope, self.id, data, by, evolve=evolve, cast=cast))

    def write_stream(
        self,
        df: "DataFrame",
        checkpoint: "str | os.PathLike[str]",
        mode: "Mode" = "append",
        trigger: "Trigger" = None,
        name: str | None = None,
        *,
        output_mode: str | None = None,
    ) -> "StreamingQuery":
        """Start a query that writes a streaming DataFrame, each batch as one commit, once however often Spark delivers
        it: the commit's event id is made of the checkpoint's id and the batch's number.

        `mode` is "append", "upsert" (by primary key; of rows with `_change_type` the last change of each key, deletes
        too), or a function `fn(batch, tx)` that writes a batch to any tables, in a transaction that commits after it
        and is tried again on a `Conflict`. `trigger` is "availableNow" (what is there, then end), an interval such as
        "10 seconds", or None: batches follow each other. `output_mode` is Spark's; "append" for appends, else "update".
        """
        return streaming.write_stream(self, df, checkpoint, mode, trigger, name, output_mode)

    def add_files(
        self,
        paths: "Address | Iterable[Address]",
        *,
        verify: bool = True,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Add Parquet files where they are: none is copied or changed, and Lakebed never deletes them.

        A path is a file, a folder with all files below it, or a pattern such as `data/**/*.parquet`: absolute, relative
        to the working folder, or `file:///…`. Columns are found by the names that they have in the table's files.
        Missing ones have the value that Hive's folders say (`month=2026-01/`) if the table is partitioned by the
        column, else their default, else null; others are not shown, now or later. Each file has rows of one partition.
        Columns of text, decimals and times of day are read, so that every row can be read later; with `verify=False`
        only footers are. `Invalid` lists every reason why files don't fit, `AlreadyExists` the files that it has.
        """
        given, verify = appends.given_addresses(paths), check_flag("verify", verify)
        request = Request("add_files", (asked_id(self.id), *given), message, author, event_id, given_summary(summary))
        return typed("Answer", appends.add_files(self._scope, self.id, given, request, verify=verify))

    # Changing rows. The local engine does it in this process, or Spark if it is given a session or a DataFrame.

    def delete(
        self,
        where: "str | Condition",
        spark: "SparkSession | None" = None,
        *,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Delete the rows that pass. Files are removed unread if all their rows go; others get deletion vectors.

        With a session Spark looks for the rows, and `where` may be any condition of its SQL.
        """
        request = Request("delete", (asked_id(self.id), str(where)), message, author, event_id, given_summary(summary))
        return typed("Answer", writes.delete(self._scope, self.id, where, engine_for(spark=spark), request))

    def truncate(
        self,
        *,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Delete all rows. No file is read."""
        request = Request("truncate", (asked_id(self.id),), message, author, event_id, given_summary(summary))
        return typed("Answer", writes.truncate(self._scope, self.id, request))

    def update(
        self,
        values: Mapping[str, Any],
        where: "str | Condition | None" = None,
        spark: "SparkSession | None" = None,
        *,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Set columns of the rows that pass, of all without `where`. The rows keep their ids.

        `values` are SQL expressions over the table's columns, as text, or values as `lakebed.lit(…)`: each sees the row
        as it was before. With a session Spark changes the rows, and both may be any SQL that it knows.
        """
        given = writes.given_values(values)
        request = Request(
            "update",
            writes.update_arguments(asked_id(self.id), given, where),
            message,
            author,
            event_id,
            given_summary(summary),
        )
        return typed("Answer", writes.update(self._scope, self.id, given, where, engine_for(spark=spark), request))

    def upsert(
        self,
        data: Any,
        on: str | Sequence[str] | None = None,
        fill: Literal["keep", "default"] = "keep",
        *,
        cast: bool = False,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Replace the rows with the same key (the primary key, or the columns `on`), and insert the rest.

        Columns that the data does not have keep their values in rows that exist, and get their default in new ones;
        with `fill="default"` in both. A key that comes twice in the data is `Invalid`. The data is what `append` takes,
        and is held in memory; a DataFrame by its executors.
        """
        by = asking.By(message, author, event_id, summary)
        return typed("Answer", asking.upsert(self._scope, self.id, data, on, fill, by, cast=cast))

    def merge(
        self,
        source: Any,
        on: str | Sequence[str],
        *clauses: "Clause",
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """SQL's MERGE: `orders.merge(changes, "order_id", when_matched_update(), when_not_matched_insert())`.

        `on` is a column, several, or `target.a = source.b AND …`. Of the clauses for a row, the first whose condition
        is true decides. A row that several rows of the source match is `Invalid`, unless it is deleted anyway; so is a
        primary key that two rows would have. The source is what `append` takes, and is held in memory. With a DataFrame
        Spark merges, and `on`, conditions and values may be any SQL that it knows.
        """
        request = writes.merge_request(self.id, on, clauses, message, author, event_id, summary)
        return typed("Answer", writes.merge(self._scope, self.id, source, on, clauses, request))

    def overwrite(
        self,
        data: Any,
        where: "str | Condition | None" = None,
        *,
        evolve: "Evolution" = None,
        cast: bool = False,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Replace the rows that pass, or all, in one commit.

        Readers see the old rows or the new ones. The new rows need not pass `where`. `evolve` and `cast` are those of
        `append`.
        """
        by = asking.By(message, author, event_id, summary)
        return typed("Answer", asking.overwrite(self._scope, self.id, data, where, by, evolve=evolve, cast=cast))

    def overwrite_partitions(
        self,
        data: Any,
        *,
        cast: bool = False,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Replace all rows of the partitions that the new rows are in; other partitions stay.

        `Invalid` for a table without partitions, and while it has files of an older spec. `cast` is that of `append`.
        """
        by = asking.By(message, author, event_id, summary)
        return typed("Answer", asking.overwrite_partitions(self._scope, self.id, data, by, cast=cast))

    # Changing the table.

    def rename(
        self,
        new_name: Name,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Give the table another name, in another namespace too. Its id, history and files stay."""
        check_table(self.id, "renamed")
        request = Request("rename_table", (asked_id(self.id), parse_name(new_name)), message, author, event_id)
        return typed("Answer", self._scope.change(lambda work: rename(work, self.id, new_name), request))

    def restore(
        self,
        version: Moment,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Make the table what it was at a version or time, its name included, by a new commit; later history stays.

        Moments are those of `at`: `orders.restore(-1)` undoes the last commit that changed the table, to this table.
        """
        check_table(self.id, "restored")
        return typed("Answer", restoring.restore_table(self._scope, self.id, version, message, author, event_id))

    def evolve(
        self, *, message: str | None = None, author: str | None = None, event_id: str | UUID | None = None
    ) -> "Evolve":
        """Change its columns, partition spec, sort order or key: `with table.evolve() as change: change.add_column(…)`.

        One commit at the end of the `with`, none after an exception; in a transaction it is part of that.
        """
        check_not_staged(self.id, "evolve()")
        return evolving.Evolve(self.id, self._scope, message, author, event_id)

    def set_properties(
        self,
        values: Mapping[str, str],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Set some properties; the others stay.

        Those that begin with `write.`, `check.` and `checkpoint.` are Lakebed's: an unknown name, a value that can't
        be used and a check that can't be evaluated are `Invalid`. Sizes may be written `128MB`.
        """
        check_not_staged(self.id, "set_properties()")
        return typed("Answer", properties.set_table_properties(self._scope, self.id, values, message, author, event_id))

    def set_comment(
        self,
        comment: str | None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Set its description, the property `comment`; None or "" removes it."""
        check_not_staged(self.id, "set_comment()")
        return typed("Answer", properties.set_comment(self._scope, self.id, comment, message, author, event_id))

    def unset_properties(
        self,
        keys: Iterable[str],
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Remove some properties; those that are not there are fine."""
        check_not_staged(self.id, "unset_properties()")
        return typed("Answer", properties.unset_properties(self._scope, self.id, keys, message, author, event_id))

    def set_storage(
        self,
        *,
        location: str | None = None,
        owner: str | None = None,
        file_format: str | None = None,
        input_format: str | None = None,
        output_format: str | None = None,
        serde: str | None = None,
        properties: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Change how it is stored, and its owner; what is not given stays. `properties` replaces the storage's own.

        `location` is a folder of the lake, in which the table gets one of its own for new files; its other files stay
        where they are. The formats and the serde are Hive's names for Parquet: any other is `Invalid`, because readers
        could not read the files.
        """
        check_not_staged(self.id, "set_storage()")
        change = StorageChange(location, file_format, input_format, output_format, serde, owner, properties)
        return typed("Answer", storage.change_storage(self._scope, self.id, change, message, author, event_id))

    # Its partitions. The root has all rows that no explicit partition has; hidden partitioning makes none.

    def partitions(self) -> list["Partition[Answer]"]:
        """The root, then the explicit partitions by their values."""
        check_not_staged(self.id, "partitions()")
        return [partitions.Partition(one, self.id, self._scope) for one in opened.listed(self._scope, self.id)]

    def partition(
        self, values: Mapping[str, Any] | str | UUID | None = None, *, id: str | UUID | None = None
    ) -> "Partition[Answer]":
        """The explicit partition with these values, or the partition of an id; without both the root."""
        found = opened.find(self._scope, self.id, values, id)
        if (values, id) != (None, None):
            check_not_staged(self.id, "partition(…)")
        return partitions.Partition(found, self.id, self._scope)

    def create_partition(
        self,
        values: Mapping[str, Any],
        location: str | None = None,
        format: str | None = None,
        properties: Mapping[str, str] | None = None,
        id: str | UUID | None = None,
        *,
        if_not_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Partition[Answer]":
        """Make rows with these values an explicit partition: `create_partition({"dt": "2026-11-01"}, location="…")`.

        There is one value for each column that the table is partitioned by as it is. With a location, the Parquet files
        in this folder become its rows, where they are, with the values as constants. Rows that the table has with these
        values are in it too. `AlreadyExists` if there is an explicit partition with them, unless `if_not_exists`.
        """
        check_not_staged(self.id, "create_partition()")
        new = partition_calls.new_partition(location, format, properties, id)
        request = Request(
            "create_partition", partition_calls.new_arguments(self.id, values, new), message, author, event_id
        )
        is_fine = check_flag("if_not_exists", if_not_exists)
        made = partition_calls.create(self._scope, self.id, values, new, request, if_not_exists=is_fine)
        return partitions.Partition(made, self.id, self._scope)

    def stage_partition(
        self,
        values: Mapping[str, Any],
        id: str | UUID | None = None,
        properties: Mapping[str, str] | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Partition[Answer]":
        """A partition to fill beside the table: `append`, `add_files`, `scan` it, then `commit()` swaps it in whole.

        Until then no reader of the table sees it. `partition(id=…)` opens it again.
        """
        check_not_staged(self.id, "stage_partition()")
        new = partition_calls.new_partition(None, None, properties, id)
        asked = partition_calls.new_arguments(self.id, values, new)
        request = Request("stage_partition", asked, message, author, event_id)
        staged = partition_calls.stage(self._scope, self.id, values, new, request)
        return partitions.Partition(staged, self.id, self._scope)

    def drop_partition(
        self,
        values: Mapping[str, Any],
        *,
        if_exists: bool = False,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Drop an explicit partition with its rows. No file is deleted, and `undrop_partition` brings both back."""
        check_not_staged(self.id, "drop_partition()")
        asked = partition_calls.values_argument(values)
        request = Request("drop_partition", (self.id, asked), message, author, event_id)
        return partition_calls.drop(self._scope, self.id, values, None, request, if_exists=if_exists)

    def undrop_partition(
        self,
        values: Mapping[str, Any] | None = None,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Answer:
        """Bring back a dropped partition, by its values or its id, with the rows that it had then.

        Rows with its values that came since stay. If several with these values were dropped, `id` selects one.
        """
        check_not_staged(self.id, "undrop_partition()")
        asked = partition_calls.values_argument(values), "" if id is None else str(id)
        request = Request("undrop_partition", (self.id, *asked), message, author, event_id)
        return typed("Answer", partition_calls.undrop(self._scope, self.id, values, id, request))

    # Its editions and streams; `editions()`, `activate(…)` and more are in lake/levels.

    def edition(self, name: str) -> "Table[Answer]":
        """A handle of one edition, by its name or id, whatever edition is active; or `NotFound`.

        It takes every call of a table but `rename` and `restore`. Its name in SQL is `sales.orders.edition_2`.
        """
        return Table(edition_id(self._scope, self.id, name), self._scope)

    def create_edition(
        self,
        name: str,
        schema: SchemaLike | None = None,
        *,
        partition_by: Iterable[str] | None = None,
        sort_by: Iterable[str] | None = None,
        primary_key: Iterable[Path] | None = None,
        properties: Mapping[str, str] | None = None,
        id: str | UUID | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Table[Answer]":
        """Create an empty edition beside the one that readers see, and answer its handle. It is `unreleased`.

        Without a schema it has the columns, layout and key of the active edition; each can be given instead. With a
        schema, what is not given is empty. Properties are the active edition's unless they are given. `id` is kept as
        it is given, else one is made. Nobody who reads the table sees it before `activate`.
        """
        check_not_staged(self.id, "create_edition()")
        asked = asked_edition(name, schema, (partition_by, sort_by, primary_key), properties, id)
        request = Request("create_edition", (asked_id(self.id), *asked.arguments), message, author, event_id)
        return Table(create_edition(self._scope, self.id, asked, request), self._scope)

    def stream(self, name: str) -> "Stream[Answer]":
        """The committed stream by its format (`parquet`) or its id, or a staged one by its id; else `NotFound`."""
        return self._stream(find_stream(self._scope, self.id, name))

    def stage_stream(
        self,
        id: str | UUID | None = None,
        *,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> "Stream[Answer]":
        """Stage an empty stream: fill it like a table, then `commit()` replaces all rows of the table by its rows.

        Readers of the table don't see it before. `id` is kept as it is given, else one is made.
        """
        given = None if id is None else check_id(id)
        request = Request("stage_stream", (asked_id(self.id), given), message, author, event_id)
        return self._stream(stage_stream(self._scope, self.id, given, request))

    # Maintenance. It changes no read.

    def compact(
        self,
        spark: "SparkSession | None" = None,
        *,
        where: "str | Condition | None" = None,
        target_bytes: int | None = None,
        most_bytes: int | None = None,
        strategy: str | None = None,
        sort_by: Sequence[str] | None = None,
        summary: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Rewrite badly laid-out files: small ones, inline rows, deleted rows, partitions of an older spec.

        No result changes: rows keep their ids, and earlier versions their files. `where` limits it to files that may
        have rows that pass. `most_bytes` limits what is rewritten (at least one group is); the groups that gain most go
        first. New files have about `target_bytes`, or what the property `write.target-file-bytes` says. The strategy
        is "bin-pack", or "sort": files whose values overlap are sorted together, by `sort_by` or the table's own order.
        Concurrent appends don't conflict. Files that change are read again, and skipped if they keep changing. With
        nothing to do the answer is None; else the operation's `detail` shows the files before and after. With a session
        it runs on Spark.
        """
        condition, order = "" if where is None else str(where), compact.asked_order(strategy, sort_by)
        asked = (asked_id(self.id), condition, str(target_bytes or ""), *compact.later_options(most_bytes, order))
        request = Request("compact", asked, message, author, event_id, given_summary(summary))
        sizes = compact.Sizes(target_bytes, most_bytes)
        return compact.compact(self._scope, self.id, where, sizes, order, engine_for(spark=spark), request)

    def checkpoint(self) -> "Version | None":
        """Write a checkpoint, so that opening the table reads only later commits; None if it has no commit yet.

        It is not a commit. Commits start it by themselves when enough of them have come.
        """
        written = checkpoint_schedule.checkpoint(self._scope.read(), self.id)
        return None if written is None else written.version

    def __repr__(self) -> str:
        """Its name, where it looks, how many rows it has and its version: it asks the lake, and never fails."""
        return object_text(type(self).__name__, self._scope, self.id, self._details)

    def _repr_html_(self) -> str:
        return safely_html(lambda: self.scan()._html(repr(self)), lambda: repr(self))

    def _details(self, work: Work) -> list[str]:
        return [counted(reads.row_count(work, self.id), "row"), f"version {newest_commit(work, subject_of(self.id))}"]

    @property
    def _state(self) -> TableState:
        return table_state(self._scope.read(), self.id)

    def _read_all(self) -> Work:
        work = self._scope.read()
        state = table_state(work, self.id)
        read_all(work, self.id)
        read_all(work, state.id, state.partition)
        return work

    def _stream(self, found: "FoundStream") -> "Stream[Answer]":
        return Stream(self.id if found.cell is None else found.bound, self._scope, stream_id=found.id)


@dataclass(frozen=True, slots=True, repr=False)
class Stream(StreamCalls[Answer], Table[Answer]):
    """A stream of a table. A staged one takes every call that reads or writes rows, and `commit` and `discard`.

    The committed one is the table's rows themselves.
    """

    stream_id: str = field(default="", kw_only=True)
