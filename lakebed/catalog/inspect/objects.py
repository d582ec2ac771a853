"""System tables of namespaces and views, of what was dropped, and of commits."""

from collections.abc import Iterable, Iterator, Mapping

from lakebed.catalog.inspect import documents
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns, instant, number
from lakebed.catalog.objects.log import log
from lakebed.catalog.objects.properties import COMMENT, properties_of
from lakebed.catalog.objects.walk import Named, created_version, every, last_changes, loaded
from lakebed.catalog.refs.share_reader import GrantedReader
from lakebed.catalog.tables.views import SPARK, view_state
from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.context import Ref
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Dropped
from lakebed.metastore.kinds import type_name
from lakebed.records import records_pb2 as pb
from lakebed.table.schema.json import schema_to_json

_VERSIONS = (
    ("created_version", VERSION, "the commit that made it"),
    ("version", VERSION, "the last commit that changed it"),
)
_ID = ("id", "string", "its id, which never changes")
_COMMENT = ("comment", "string", "the property of this name")
_PROPERTIES = ("properties", "binary", "JSON: texts by name")


def _wanted(work: Work, keep: Keep, kind: int, container: str) -> Iterator[tuple[Named, int | None, int | None]]:
    """The objects that may be asked for, each with the versions that made it and that last changed it."""
    found = (one for one in every(work, kind) if keep({"name": one.name, "id": one.id, container: one.namespace}))
    for batch in loaded(work, found):
        for one, changed in zip(batch, last_changes(work, [named.id for named in batch]), strict=True):
            yield one, number(created_version(work, one.id)), number(changed)


def _namespace_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for one, *versions in _wanted(work, keep, pb.NAMESPACE, "parent"):
        properties = properties_of(work, one.id)
        yield (
            one.name,
            one.id,
            one.namespace,
            properties.get(COMMENT),
            documents.PROPERTIES.to_json(properties),
            *versions,
        )


NAMESPACES = SystemTable(
    "__namespaces",
    "Namespaces, one row for each.",
    columns(
        ("name", "string", "the whole name, with dots"),
        _ID,
        ("parent", "string", "the namespace that it is in; empty at the top"),
        _COMMENT,
        _PROPERTIES,
        *_VERSIONS,
    ),
    _namespace_rows,
)


def _view_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for one, *versions in _wanted(work, keep, pb.VIEW, "namespace"):
        state, properties = view_state(work, one.id), properties_of(work, one.id)
        yield (
            one.name,
            one.id,
            one.namespace,
            properties.get(COMMENT),
            state.sql.get(SPARK),
            list(state.sql),
            documents.PROPERTIES.to_json(state.sql),
            None if state.schema is None else schema_to_json(state.schema),
            documents.PROPERTIES.to_json(properties),
            *versions,
        )


VIEWS = SystemTable(
    "__views",
    "Views, one row for each.",
    columns(
        ("name", "string", "the whole name, with dots"),
        _ID,
        ("namespace", "string", "what the view is in; empty at the top"),
        _COMMENT,
        ("sql", "string", "its text in Spark's dialect, if it has one"),
        ("dialects", "list<string>", "those that it has texts in"),
        ("texts", "binary", "JSON: its texts by dialect"),
        ("schema", "binary", "JSON: Iceberg's, of the columns that it gives; null if they were not said"),
        _PROPERTIES,
        *_VERSIONS,
    ),
    _view_rows,
)


def _dropped_rows(work: Work, keep: Keep) -> Iterator[Row]:
    found = [*_dropped_below(work, work.top, ()), *((one, "") for one in _dropped_refs(work))]
    versions = [version for one, _ in found for version in (one.created, one.dropped)]
    times = iter(work.context.metastore.times(versions))
    for one, parent in found:
        yield (
            type_name(one.type),
            one.name,
            one.id,
            parent,
            int(one.created),
            next(times),
            int(one.dropped),
            next(times),
            pb.ObjectDropType.Name(one.drop_type).lower(),
        )


def _dropped_below(work: Work, parent: str, parts: tuple[str, ...]) -> Iterator[tuple[Dropped, str]]:
    """What was dropped out of a namespace, and out of those in it, alive or dropped with something in them."""
    gone = list(work.dropped(parent))
    yield from ((one, spelled(parts)) for one in gone)
    alive = ((one.id, one.name) for one in work.children(parent) if one.type == pb.NAMESPACE)
    for namespace, name in [*alive, *((one.id, one.name) for one in gone if one.type == pb.NAMESPACE)]:
        yield from _dropped_below(work, namespace, (*parts, name))


def _dropped_refs(work: Work) -> Iterator[Dropped]:
    """The catalog's refs that were dropped, which a share does not show."""
    if isinstance(work.reader, GrantedReader):
        return iter(())
    refs = Work(work.context, Ref(work.ref.catalog, work.ref.refs), work.base)
    return refs.dropped(refs.top)


DROPPED = SystemTable(
    "__dropped",
    "What was dropped, one row for each: namespaces, tables, views, and the catalog's branches, tags and shares.",
    columns(
        ("kind", "string", "namespace, table, view, branch, tag or share"),
        ("name", "string", "the last part of the name that it had"),
        _ID,
        ("parent", "string", "the namespace that it was in; empty at the top"),
        ("created_version", VERSION, "the commit that made it"),
        ("created_time", "timestamptz", "when that was"),
        ("dropped_version", VERSION, "the commit that dropped it"),
        ("dropped_time", "timestamptz", "when that was"),
        ("drop_type", "string", "marked: it can be undropped; purged: it can't"),
    ),
    _dropped_rows,
)

_COUNTS = ("added_files", "added_rows", "added_bytes", "removed_files", "removed_rows", "removed_bytes")


def _commit_rows(work: Work, keep: Keep) -> Iterator[Row]:
    return (_commit_row(one) for one in log(work) if keep({"author": one.author, "message": one.message}))


def _commit_row(commit: Commit) -> Row:
    operations = commit.operations
    return (
        int(commit.version),
        instant(commit.time),
        commit.author,
        commit.message,
        commit.id,
        commit.line,
        [one.type for one in operations],
        [one.name for one in operations],
        [one.object_id for one in operations],
        *_sums(one.counts for one in operations),
        [str(one.version) for one in commit.parents],
    )


def _sums(counts: Iterable[Mapping[str, int]]) -> list[int]:
    every = list(counts)
    return [sum(one.get(what, 0) for one in every) for what in _COUNTS]


COMMITS = SystemTable(
    "__commits",
    "The commits of the line and, from before it forked, of its ancestors, newest first.",
    columns(
        ("version", VERSION, "its place in the order of the whole lake"),
        ("time", "timestamptz", "when it was made"),
        ("author", "string", "who made it"),
        ("message", "string", "what was said"),
        ("id", "string", "its event id"),
        ("line", "string", "the id of the line that it was made on"),
        ("operations", "list<string>", "what it did, in order"),
        ("objects", "list<string>", "the name of what each operation was done to"),
        ("object_ids", "list<string>", "the id of what each operation was done to"),
        *((name, "long", "over all operations") for name in _COUNTS),
        ("parents", "list<string>", "the versions that a merge or a reset followed"),
    ),
    _commit_rows,
)
