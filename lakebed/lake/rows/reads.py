"""Reading a table: bind the condition, plan the files, and let an engine read them."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from lakebed.catalog.data.deletion_vectors import live_rows
from lakebed.catalog.data.engine import Where
from lakebed.catalog.data.planning import plan, plan_unread
from lakebed.catalog.data.row_sources import Sources, sources
from lakebed.catalog.data.snapshots import find_snapshot
from lakebed.catalog.objects.naming import about
from lakebed.catalog.refs.shares import Shared, forbidden
from lakebed.catalog.tables.tables import TableState, table_state
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import name_of
from lakebed.catalog.transaction.scopes import Scope
from lakebed.catalog.transaction.versions import Moment
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid, NotFound
from lakebed.lake.arguments import at_tag, version_of
from lakebed.lake.engines import arrow_engine, export_iceberg, spark_engine
from lakebed.store import Version
from lakebed.table.expression.build import SPARK
from lakebed.table.expression.where import bind_where
from lakebed.table.filter.filter import ALWAYS, Filter
from lakebed.table.plan.plan import Plan
from lakebed.table.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakebed.arrow.read.scan import Scan


SLOW_SECONDS = 1.0
"""A plan that takes longer is worth a warning."""

_log = logging.getLogger("lakebed.lake")


@dataclass(frozen=True, slots=True)
class _Planned:
    """The files of a table to read, where they are, and the version that they are of."""

    version: Version
    sources: Sources
    state: TableState
    plan: Plan
    filter: Filter | None
    replan: Callable[[Filter], Plan] | None
    """Plans the same snapshot again; None in a transaction, where later changes would be seen."""


def scan(scope: Scope, table: str, where: Where, columns: Sequence[str] | None, limit: int | None = None) -> "Scan":
    """Rows by the local engine."""
    with only_spark("read(spark, where=…)"):
        found = _planned(scope, table, _local_filter(where))
    return _scan(scope, table, found, columns, limit)


def _scan(scope: Scope, table: str, found: "_Planned", columns: Sequence[str] | None, limit: int | None) -> "Scan":
    again = None
    if not scope.is_transaction:
        again = partial(_scan_again, scope.at(found.version), table, found.filter, columns, limit)
    schema = found.state.schema
    return arrow_engine().scan(found.sources, schema, found.plan, found.filter, columns, limit, found.replan, again)


def _scan_again(
    scope: Scope, table: str, filter: Filter | None, columns: Sequence[str] | None, limit: int | None
) -> "Scan":
    """The same scan in a process that was sent it."""
    return _scan(scope, table, _planned(scope, table, lambda _: filter), columns, limit)


def row_count(work: Work, table: str) -> int:
    """How many rows a table has, by its metadata."""
    state = table_state(work, table)
    planned = plan(work, state, None)
    if planned.live_rows is not None:
        return planned.live_rows()
    return sum(live_rows(work.context.files, file.file) for file in planned.files)


def read(scope: Scope, table: str, spark: "SparkSession", where: Where, columns: Sequence[str] | None) -> "DataFrame":
    """Rows as a DataFrame."""
    engine = spark_engine(spark)
    bound = None

    def planning_filter(schema: Schema) -> Filter | None:
        nonlocal bound
        bound = None if where is None else engine.bound(where, schema)
        return None if bound is None or bound.filter == ALWAYS else bound.filter

    with about(scope.read(), table):
        found = _planned(scope, table, planning_filter)
        files = [planned.file for planned in found.plan.files]
        name = spelled(name_of(scope.read(), table))
        return engine.read(name, found.sources, found.state.schema, files, bound, columns)


def export(scope: Scope, table: str, path: str | None) -> str:
    """Write a table's Iceberg metadata. It writes files into the lake, so a share can't."""
    if isinstance(scope, Shared):
        raise forbidden("export_iceberg")
    if path is not None and (not isinstance(path, str) or not path or path.startswith("/")):
        raise Invalid("this is not a folder of the lake", subject=repr(path), expected='for example "exports/orders"')
    work = scope.read()
    with about(work, table):
        return export_iceberg(work, table_state(work, table), path)


def table_at(
    scope: Scope,
    table: str,
    moment: Moment | None,
    *,
    version: Version | int | str | None,
    time: date | str | None,
    snapshot: int | None,
    tag: str | None,
) -> Scope:
    """The scope that shows a table as it was at a moment; `NotFound` if it was not there."""
    if sum(given is not None for given in (moment, version, time, snapshot, tag)) != 1:
        raise Invalid("name one moment", expected="a version, a time, a snapshot or a tag")
    if tag is not None:
        past = at_tag(scope, tag)
    elif snapshot is not None:
        past = scope.at(_snapshot_version(scope, table, snapshot))
    else:
        past = scope.at(version_of(scope, moment, version=version, time=time, table=table))
    then = past.read()
    if not then.is_alive(table):
        name = spelled(name_of(scope.read(), table))
        raise NotFound("the table did not exist at that version", subject=name, found=f"version {then.base}")
    return past


def _planned(scope: Scope, table: str, filter_of: Callable[[Schema], Filter | None]) -> _Planned:
    began = monotonic()
    work = scope.read()
    state = table_state(work, table)
    filter = filter_of(state.schema)
    replan = None if scope.is_transaction else partial(plan_unread, work, state)
    planned = _Planned(work.base, sources(work, state.id), state, plan(work, state, filter), filter, replan)
    if (seconds := monotonic() - began) > SLOW_SECONDS:
        _log.warning("slow: planning a read of table %s took %.1f s", spelled(name_of(work, table)), seconds)
    return planned


def _local_filter(where: Where) -> Callable[[Schema], Filter | None]:
    return lambda schema: None if where is None else bind_where(where, schema).filter


@contextmanager
def only_spark(call: str) -> Iterator[None]:
    """Advise to read with Spark by this call, since the local engine takes no session."""
    try:
        yield
    except Invalid as error:
        if error.advice == SPARK:
            error.advice = f"Only Spark evaluates this: use {call}."
        raise


def _snapshot_version(scope: Scope, table: str, snapshot: int) -> Version:
    if not isinstance(snapshot, int) or isinstance(snapshot, bool):
        raise Invalid("a snapshot is named by its number", expected="int", found=repr(snapshot))
    work = scope.read()
    return find_snapshot(work, table_state(work, table), snapshot)
