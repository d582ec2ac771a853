"""Compaction of a table, by the local engine or by Spark."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from lakebed.catalog.data.row_changes import RowChange
from lakebed.catalog.data.row_sources import sources
from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.commits import Commit, Request
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, LakebedError, OutcomeUnknown
from lakebed.files import Files
from lakebed.lake.engines import load_engine, run_on_table, spark_source
from lakebed.lake.row_engines import Make, row_engine
from lakebed.lake.writes import Rows
from lakebed.table.filter.bind import bind
from lakebed.table.filter.condition import Condition
from lakebed.table.filter.filter import Filter
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BIN_PACK, SORT = "bin-pack", "sort"


class Compacting(Rows):
    """The calls that change a table's rows, and the one that only lays them out anew."""

    __slots__ = ()

    def compact(
        self,
        spark: "SparkSession | None" = None,
        *,
        where: str | Condition | None = None,
        target_bytes: int | None = None,
        most_bytes: int | None = None,
        strategy: str | None = None,
        sort_by: Sequence[str] | None = None,
        message: str | None = None,
        author: str | None = None,
        event_id: str | UUID | None = None,
    ) -> Commit | None:
        """Write rows again that lie in small files, inline, beside deleted ones or in partitions of an older spec.

        No read changes: rows keep their ids, and earlier versions their files. Only files that may have rows for which
        `where` is true are taken, of at most `most_bytes`, those first that gain most; the new ones have about
        `target_bytes`, or what `write.target-file-bytes` says. The strategy is "bin-pack", or "sort": files that have
        values of the sort order in common are sorted anew together, by `sort_by` or the table's own order. Rows that
        come meanwhile are no conflict; files that are changed meanwhile are read again, and left if that goes on. If
        there is nothing to do the answer is None, and there is no commit; else its operation's `detail` tells of the
        files before and after. With a session it runs on Spark.
        """
        condition, order = "" if where is None else str(where), _order(strategy, sort_by)
        told = (self.id, condition, str(target_bytes or ""), *_told(most_bytes, order))
        request = Request("compact", told, message, author, event_id)

        def filter_of(schema: Schema) -> Filter | None:
            return None if where is None else bind(where, schema)

        attempts = row_engine(spark).attempts
        compaction = self._compaction(spark, filter_of, target_bytes, most_bytes=most_bytes, sort_by=order)
        files = self._scope.context.files
        try:
            commit = self._changed("compact", _made(spark, compaction, files), request, condition, _keep, attempts)
        except OutcomeUnknown:
            raise
        except LakebedError:
            compaction.discard(files)
            raise
        compaction.discard_unused(files)
        return commit

    def _compaction(self, spark: "SparkSession | None", *asked: Any, **options: Any) -> Any:
        if spark is None:
            return load_engine("arrow").Compaction(*asked, **options)
        return load_engine("spark").Compaction(
            lambda work: spark_source(spark, sources(work, self.id)), *asked, **options
        )


def _made(spark: "SparkSession | None", compaction: Any, files: Files) -> Make:
    """What makes the change, on Spark as work that is shown and can be cancelled."""

    def make(work: Work, state: TableState) -> RowChange | None:
        def made() -> RowChange | None:
            return cast("RowChange | None", compaction.make(work, state))

        if spark is None:
            return made()
        return run_on_table(spark, "compact", work, state, made, lambda _: compaction.discard(files))

    return make


def _order(strategy: str | None, sort_by: Sequence[str] | None) -> tuple[str, ...] | None:
    """The order to sort by, the table's own if it has no field; None if nothing is to be sorted."""
    if strategy not in (None, BIN_PACK, SORT):
        raise Invalid("there is no such strategy", subject=f"{strategy!r:.80}", expected=f"{BIN_PACK} or {SORT}")
    if sort_by is None:
        return () if strategy == SORT else None
    if strategy == BIN_PACK or isinstance(sort_by, str) or not sort_by:
        raise Invalid(
            "this is no order to sort by",
            subject="sort_by",
            expected='such as ["day(ordered_at)", "price desc"], and no other strategy than "sort"',
            found=f"{sort_by!r:.80}",
        )
    return tuple(sort_by)


def _told(most_bytes: int | None, order: tuple[str, ...] | None) -> tuple[str, ...]:
    """What a request has of options that came later: a call without them is the one that it was."""
    return () if most_bytes is None and order is None else (str(most_bytes), repr(order))


def _keep(change: RowChange, files: Files) -> None:
    """Leave what was written: the next attempt may have a use for it."""
