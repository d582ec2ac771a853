"""The handle of a table: every call on it, on one page. The work is done by the modules beside this one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Generic, Literal
from typing import cast as typed
from uuid import UUID

from lakebed.catalog.data import checkpoint_schedule
from lakebed.catalog.data.engine import Fill
from lakebed.catalog.data.snapshots import SnapshotInfo, snapshots
from lakebed.catalog.data.target import target_of
from lakebed.catalog.inspect.history import table_past
from lakebed.catalog.objects.log import Asked, log, newest_commit, read_all
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.commits import Answer, Commit, Request
from lakebed.catalog.transaction.names import Name, parse_name, shown_name
from lakebed.catalog.transaction.objects import name_of, rename
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.catalog.transaction.work import Work
from lakebed.lake import properties
from lakebed.lake.arguments import Terms, check_flag, order_terms, spec_terms
from lakebed.lake.description import Description
from lakebed.lake.engines import arrow_engine, engine_for
from lakebed.lake.evolve import Evolve
from lakebed.lake.rows import appends, compact, reads, writes
from lakebed.lake.rows.appends import Address, given_addresses
from lakebed.lake.rows.casting import casting
from lakebed.lake.rows.grow import Evolution, asked_evolution, grow
from lakebed.lake.rows.restore import restore_table
from lakebed.lake.shown import counted, object_text, safely_html
from lakebed.store import Version
from lakebed.table.expression.merge_clauses import Clause
from lakebed.table.filter.condition import Condition
from lakebed.table.manifest.summary import given_summary
from lakebed.table.partition.sort_order import SortField
from lakebed.table.partition.spec import PartitionField
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    import duckdb
    import polars
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.arrow.read.scan import Scan


@dataclass(frozen=True, slots=True, repr=False)
class Table(Generic[Answer]):
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
        """The folder of its files, those of all branches and versions together.

        Give another engine `scan().to_dataset()` or the paths of `scan().files()`, never the folder.
        """
        return self._scope.context.files.location(self._state.location)

    @property
    def version(self) -> Version | None:
        """The last commit that changed it; None if it is new in a transaction."""
        return newest_commit(self._read_all(), self.id)

    @property
    def properties(self) -> dict[str, str]:
        """Its properties, by name."""
        return properties.properties_of(self._scope, self.id)

    @property
    def comment(self) -> str | None:
        """Its description; the property `comment`."""
        return properties.comment_of(self._scope, self.id)

    def describe(self) -> Description:
        """What the table is now: printed, as text; by its methods, as the documents of source document 001."""
        return Description(table_past(self._scope.read(), self.id))

    # Its past.

    def at(
        self,
        moment: Moment | None = None,
        *,
        version: Version | int | str | None = None,
        time: date | str | None = None,
        snapshot: int | None = None,
        tag: str | None = None,
    ) -> "Table[Answer]":
        """The table as it was at a version, a time, one of its snapshots or a tag; `NotFound` if it was not there.

        `at(-1)` is the table before the last commit that changed it; `at("1 hour ago")`, `at("2026-11-01")` are times.
        """
        return Table(
            self.id,
            reads.table_at(self._scope, self.id, moment, version=version, time=time, snapshot=snapshot, tag=tag),
        )

    def history(self) -> list[Commit]:
        """The commits that changed the table, newest first."""
        return log(self._read_all(), Asked(self.id))

    def snapshots(self) -> list[SnapshotInfo]:
        """The table's snapshots, newest first."""
        work = self._scope.read()
        return snapshots(work, table_state(work, self.id))

    # Reading rows.

    def scan(
        self, where: str | Condition | None = None, columns: Sequence[str] | None = None, limit: int | None = None
    ) -> "Scan":
        """Rows by the local engine: `.to_arrow()`, `.to_batches()`, `.to_pandas()`, `.to_polars()`, `.to_dataset()`, ….

        `where` is an SQL condition, or one built with `lakebed.col`. The scan shows the table as it is at this call,
        whatever is committed before its rows are read.
        """
        return reads.scan(self._scope, self.id, where, columns, limit)

    def read(
        self, spark: "SparkSession", where: str | Condition | None = None, columns: Sequence[str] | None = None
    ) -> "DataFrame":
        """Rows as a Spark DataFrame, read by Spark's own Parquet reader; `where` is the same as in `scan`."""
        return reads.read(self._scope, self.id, spark, where, columns)

    def get(self, *key: Any) -> dict[str, Any] | None:
        """The row with a primary key, None if there is none: `orders.get(17)`."""
        work = self._scope.read()
        return arrow_engine().get(target_of(work, table_state(work, self.id)), key)

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
        evolve: Evolution = None,
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
        asked = asked_evolution(evolve)
        later = writes.later_words(cast=check_flag("cast", cast))
        request = Request("append", (self.id, *asked, *later), message, author, event_id, given_summary(summary))
        append = casting(appends.append) if cast else appends.append
        if asked:
            return typed("Answer", grow(self._scope, self.id, data, request, append))
        return typed("Answer", append(self._scope, self.id, data, request))

    def add_files(
        self,
        paths: Address | Iterable[Address],
        *,
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
        `Invalid` lists every reason why files don't fit, `AlreadyExists` the files that the table has.
        """
        given = given_addresses(paths)
        request = Request("add_files", (self.id, *given), message, author, event_id, given_summary(summary))
        return typed("Answer", appends.add_files(self._scope, self.id, given, request))

    # Changing rows. The local engine does it in this process, or Spark if it is given a session or a DataFrame.

    def delete(
        self,
        where: str | Condition,
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
        request = Request("delete", (self.id, str(where)), message, author, event_id, given_summary(summary))
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
        request = Request("truncate", (self.id,), message, author, event_id, given_summary(summary))
        return typed("Answer", writes.truncate(self._scope, self.id, request))

    def update(
        self,
        values: Mapping[str, Any],
        where: str | Condition | None = None,
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
            "update", writes.update_arguments(self.id, given, where), message, author, event_id, given_summary(summary)
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
        names, filled = writes.given_names(on), writes.given_fill(fill)
        writes.check_alike(data, filled)
        later = writes.later_words(fill="default" if filled is Fill.DEFAULT else None, cast=check_flag("cast", cast))
        request = Request("upsert", (self.id, *names, *later), message, author, event_id, given_summary(summary))
        upsert = writes.upserting(names, filled)
        return typed("Answer", (casting(upsert) if cast else upsert)(self._scope, self.id, data, request))

    def merge(
        self,
        source: Any,
        on: str | Sequence[str],
        *clauses: Clause,
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
        asked = writes.given_names(on), tuple(writes.clause_text(clause) for clause in clauses)
        request = Request("merge", (self.id, *asked), message, author, event_id, given_summary(summary))
        return typed("Answer", writes.merge(self._scope, self.id, source, on, clauses, request))

    def overwrite(
        self,
        data: Any,
        where: str | Condition | None = None,
        *,
        evolve: Evolution = None,
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
        asked = asked_evolution(evolve)
        condition, later = "" if where is None else str(where), writes.later_words(cast=check_flag("cast", cast))
        request = Request(
            "overwrite", (self.id, condition, *asked, *later), message, author, event_id, given_summary(summary)
        )
        overwrite = casting(writes.overwriting(where)) if cast else writes.overwriting(where)
        if asked:
            return typed("Answer", grow(self._scope, self.id, data, request, overwrite))
        return typed("Answer", overwrite(self._scope, self.id, data, request))

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
        later = writes.later_words(cast=check_flag("cast", cast))
        request = Request("overwrite_partitions", (self.id, *later), message, author, event_id, given_summary(summary))
        overwrite = casting(writes.overwrite_partitions) if cast else writes.overwrite_partitions
        return typed("Answer", overwrite(self._scope, self.id, data, request))

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
        request = Request("rename_table", (self.id, parse_name(new_name)), message, author, event_id)
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
        return typed("Answer", restore_table(self._scope, self.id, version, message, author, event_id))

    def evolve(
        self, *, message: str | None = None, author: str | None = None, event_id: str | UUID | None = None
    ) -> Evolve:
        """Change its columns, partition spec, sort order or key: `with table.evolve() as change: change.add_column(…)`.

        One commit at the end of the `with`, none after an exception; in a transaction it is part of that.
        """
        return Evolve(self.id, self._scope, message, author, event_id)

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
        return typed("Answer", properties.unset_properties(self._scope, self.id, keys, message, author, event_id))

    # Maintenance. It changes no read.

    def compact(
        self,
        spark: "SparkSession | None" = None,
        *,
        where: str | Condition | None = None,
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
        asked = (self.id, condition, str(target_bytes or ""), *compact.later_options(most_bytes, order))
        request = Request("compact", asked, message, author, event_id, given_summary(summary))
        sizes = compact.Sizes(target_bytes, most_bytes)
        return compact.compact(self._scope, self.id, where, sizes, order, engine_for(spark=spark), request)

    def checkpoint(self) -> Version | None:
        """Write a checkpoint, so that opening the table reads only later commits; None if it has no commit yet.

        It is not a commit. Commits start it by themselves when enough of them have come.
        """
        written = checkpoint_schedule.checkpoint(self._scope.read(), self.id)
        return None if written is None else written.version

    def __repr__(self) -> str:
        """Its name, where it looks, how many rows it has and its version: it asks the lake, and never fails."""
        return object_text("Table", self._scope, self.id, self._details)

    def _repr_html_(self) -> str:
        return safely_html(lambda: self.scan()._html(repr(self)), lambda: repr(self))

    def _details(self, work: Work) -> list[str]:
        return [counted(reads.row_count(work, self.id), "row"), f"version {newest_commit(work, self.id)}"]

    @property
    def _state(self) -> TableState:
        return table_state(self._scope.read(), self.id)

    def _read_all(self) -> Work:
        work = self._scope.read()
        read_all(work, self.id, table_state(work, self.id).partition)
        return work
