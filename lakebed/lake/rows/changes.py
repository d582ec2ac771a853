"""A table's change feed: which rows were inserted, deleted and updated between two of its states."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeGuard, cast

from lakebed.catalog.data.engine import Where
from lakebed.catalog.feed.columns import DELETE, FEED_COLUMNS, FEED_NAMES, INSERT, PREIMAGE, feed_schema
from lakebed.catalog.feed.counts import TableChanges, table_changes
from lakebed.catalog.feed.ends import End, end_at
from lakebed.catalog.feed.feed import Feed, feed_of
from lakebed.catalog.objects.naming import about
from lakebed.catalog.transaction.lines import check_kept
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.errors import Invalid, NotFound
from lakebed.html import ROWS, Text, pre_html, table_html
from lakebed.lake.arguments import check_flag, check_not_staged, version_of
from lakebed.lake.engines import arrow_engine, check_session, spark_engine
from lakebed.lake.rows.reads import only_spark
from lakebed.lake.shown import counted
from lakebed.store import Version
from lakebed.table.expression.build import SPARK
from lakebed.table.expression.where import bind_where
from lakebed.table.manifest.inline import is_inline
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.arrow.read.feed import ArrowFeed


class Handle(Protocol):
    """A handle of a table, on any branch, at any version."""

    @property
    def id(self) -> str: ...

    @property
    def _scope(self) -> Scope: ...


Since = Moment | Handle
"""Where a feed begins or ends."""

_STAGED = "scan() shows its rows. Commit it, and ask the table for its changes."


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """How many rows a feed has, by what happened to them; an update is one row, of which the feed shows two.

    `commits` is how many commits wrote to the table between the two states, compactions included.
    """

    inserted: int
    deleted: int
    updated: int
    commits: int

    def __str__(self) -> str:
        rows = f"{self.inserted:,} inserted, {self.deleted:,} deleted, {self.updated:,} updated"
        return f"{rows}, in {counted(self.commits, 'commit')}"


class Changes:
    """The rows that turn one state of a table into another; each method reads them again, always the same ones.

    The columns are the table's, by the newer schema, then `_change_type` (`insert`, `delete`, `update_preimage`,
    `update_postimage`), `_commit_version`, `_commit_timestamp` and `_row_id`. `since` and `until` are the versions.
    """

    def __init__(
        self,
        since: End,
        until: End,
        feed: Feed,
        *,
        updates: bool = True,
        where: Where = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.since: Version = since.version
        self.until: Version = until.version
        self.schema: Schema = feed_schema(feed.schema, columns)
        self._end, self._feed, self._updates, self._where, self._columns = until, feed, updates, where, columns

    def to_arrow(self) -> "pyarrow.Table":
        """All rows in memory, oldest commits first."""
        return self._local.to_arrow()

    def to_batches(self) -> "pyarrow.RecordBatchReader":
        """The rows, one batch at a time; a commit that both removes and adds rows is held in memory."""
        return self._local.to_batches()

    def to_pandas(self) -> "pandas.DataFrame":
        """All rows as a pandas DataFrame; pandas has to be installed."""
        return self.to_arrow().to_pandas()

    def read(self, spark: "SparkSession") -> "DataFrame":
        """The rows as a Spark DataFrame: executors read the changed files, and match rows by their ids; in no order."""
        check_session(spark, advice="Without one, to_arrow() reads the rows.")
        name = spelled(name_of(self._end.work, self._end.table))
        return spark_engine(spark).feed(name, self._feed, self.schema, updates=self._updates, where=self._where)

    def count(self) -> int:
        """How many rows the feed has; a file is opened only if rows have to be matched or tested."""
        return sum(self._local.counts().values())

    def summary(self) -> ChangeCounts:
        """How many rows were inserted, deleted and updated."""
        counts = self._local.counts()
        return ChangeCounts(counts[INSERT], counts[DELETE], counts[PREIMAGE], self._feed.commits)

    def explain(self) -> str:
        """Which commits and files it reads, and how many rows they have at most."""
        return Text("\n".join(self._explained()))

    @property
    def reached(self) -> Version:
        """The version up to which a consumer has seen it all: `since` if no commit wrote to the table after it."""
        return self.until if self._feed.commits else self.since

    def check_of(self, table: str) -> None:
        """`Invalid` unless these are the changes of a table."""
        if str(self._end.table) != table:
            raise Invalid("these are the changes of another table", found=repr(self))

    def __repr__(self) -> str:
        return f"Changes from {self.since} to {self.until}: {next(self._explained())}"

    def _repr_html_(self) -> str:
        try:
            rows = self.to_arrow().slice(0, ROWS)
            return table_html(repr(self), rows.schema.names, (row.values() for row in rows.to_pylist()))
        except Exception as error:  # a purged table, a closed lake: a notebook shows what it was
            return pre_html(f"{self!r}\n{error}")

    def __arrow_c_schema__(self) -> object:
        return self.to_batches().schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for all that read Arrow's C stream: pyarrow, polars, DuckDB, `append` of another table."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> NoReturn:
        raise Invalid("a feed can't be pickled", advice="Pickle the table, and ask for the feed in the other process.")

    @property
    def _local(self) -> "ArrowFeed":
        with only_spark("read(spark)"):
            filter = None if self._where is None else bind_where(self._where, _tested_columns(self._feed)).filter
        return arrow_engine().feed(self._feed, self.schema, updates=self._updates, filter=filter)

    def _explained(self) -> Iterator[str]:
        steps, net = self._feed.steps, self._feed.is_net
        sides = [side for step in steps for side in (step.removed, step.added)]
        files = {piece.file.path: piece.file for side in sides for piece in side.pieces}
        stored = [file for file in files.values() if not is_inline(file)]
        kind = "net of" if net else f"{len(steps)} with changed rows, of"
        size = sum(file.file_size for file in stored)
        inline = len(files) - len(stored)
        reads = f"{counted(len(stored), 'file')} ({size:,} bytes)" + (
            f" and inline rows of {inline:,}" if inline else ""
        )
        yield f"{kind} {counted(self._feed.commits, 'commit')}; reads {reads}"
        for step in steps:
            at_most = "at most " if step.has_pairs else ""
            yield f"  {step.version}: {at_most}{step.added.count:,} rows came, {step.removed.count:,} went"


def changes(
    scope: Scope,
    table: str,
    since: Since,
    until: Since | None,
    *,
    net: bool,
    updates: bool,
    where: Where,
    columns: Sequence[str] | None,
) -> Changes:
    """The feed of a table between two states."""
    check_not_staged(table, "changes()", _STAGED)
    check_flag("net", net)
    check_flag("updates", updates)
    newest = end_at(scope, table, scope.read().base) if until is None else _end(scope, table, until)
    name_of(newest.work, table)  # `NotFound` if it is dropped
    oldest = _end(scope, table, since)
    _check_order(oldest, newest)
    with about(newest.work, table):
        feed = feed_of(oldest, newest, net=net)
        _check_where(where, feed)
        return Changes(oldest, newest, feed, updates=updates, where=where, columns=columns)


def tables_changed(scope: Scope, since: Moment, until: Moment | None) -> list[TableChanges]:
    """The tables of a line whose rows changed between two moments."""
    first = version_of(scope, since)
    last = scope.read().base if until is None else version_of(scope, until)
    if first > last:
        raise _misordered(first, last)
    return table_changes(scope.at(last).read(), first)


def _end(scope: Scope, table: str, given: Since) -> End:
    if _is_handle(given):
        if str(given.id) != str(table):
            raise Invalid(
                "a feed is of one table",
                expected="a version, a time, or a handle of the same table",
                found=f"a handle of another object: {given!r:.120}",
                advice="Open the same table on the other branch.",
            )
        check_not_staged(given.id, "changes()", _STAGED)
        other = given._scope
        return end_at(other, given.id, _newest(other))
    return end_at(scope, table, version_of(scope, cast("Moment", given), table=table))


def _newest(scope: Scope) -> Version:
    """The version that a handle shows; `Expired` if its branch was purged, as for every feed without a past."""
    try:
        return scope.read().base
    except NotFound:
        check_kept(scope.context, scope.ref)
        raise


def _check_where(where: Where, feed: Feed) -> None:
    """Refuse a condition that can't be read now; one that only Spark evaluates waits for `read`."""
    try:
        _ = None if where is None else bind_where(where, _tested_columns(feed))
    except Invalid as error:
        if error.advice != SPARK:
            raise


def _tested_columns(feed: Feed) -> Schema:
    """What a condition may name: all columns of the table that the feed's do not hide, and those of the feed."""
    return Schema([*(field for field in feed.schema.fields if field.name not in FEED_NAMES), *FEED_COLUMNS])


def _is_handle(given: object) -> TypeGuard[Handle]:
    return hasattr(given, "_scope") and hasattr(given, "id")


def _check_order(since: End, until: End) -> None:
    if since.work.ref.line.id == until.work.ref.line.id and since.version > until.version:
        raise _misordered(since.version, until.version)


def _misordered(since: Version, until: Version) -> Invalid:
    return Invalid(
        "a feed begins before it ends",
        expected="since at or before until",
        found=f"since {since}, until {until}",
        advice="Swap the two, or leave until out.",
    )
