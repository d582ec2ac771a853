"""System tables of namespaces, views, dropped objects and commits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge

from lakebed.catalog.inspect import documents
from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns, instant, number
from lakebed.catalog.objects.log import Asked, log
from lakebed.catalog.objects.namespaces import owner_of, shown_location
from lakebed.catalog.objects.properties import COMMENT, properties_of
from lakebed.catalog.objects.walk import Named, created_version, last_changes, loaded, objects_of_kind
from lakebed.catalog.refs.share_reader import GrantedReader
from lakebed.catalog.tables.views import SPARK, view_state
from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.context import Ref
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import ROOT
from lakebed.records import records_pb2 as pb
from lakebed.table.schema.json import schema_to_json

_VERSIONS = (
    ("created_version", VERSION, "the commit that created it"),
    ("version", VERSION, "the last commit that changed it"),
)
_ID = ("id", "string", "its id, which never changes")
_COMMENT = ("comment", "string", "the property of this name")
_PROPERTIES = ("properties", "binary", "JSON: texts by name")


def _wanted(work: Work, keep: Keep, kind: int, container: str) -> Iterator[tuple[Named, int | None, int | None]]:
    """The objects that may be wanted, each with the versions that created it and last changed it."""
    wanted = (
        one for one in objects_of_kind(work, kind) if keep({"name": one.name, "id": one.id, container: one.namespace})
    )
    for batch in loaded(work, wanted):
        for named, changed in zip(batch, last_changes(work, [named.id for named in batch]), strict=True):
            yield named, number(created_version(work, named.id)), number(changed)


def _namespace_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for named, *versions in _wanted(work, keep, pb.NAMESPACE, "parent"):
        properties = properties_of(work, named.id)
        yield (
            named.name,
            named.id,
            named.namespace,
            properties.get(COMMENT),
            documents.PROPERTIES.to_json(properties),
            *versions,
            shown_location(work, named.id),
            owner_of(work, named.id),
            "|".join(named.parts),
        )


NAMESPACES = SystemTable(
    "__namespaces",
    "One row for each namespace.",
    columns(
        ("name", "string", "the full name, with dots"),
        _ID,
        ("parent", "string", "its parent namespace; empty at the top"),
        _COMMENT,
        _PROPERTIES,
        *_VERSIONS,
        ("location", "string", "the folder in which its new tables get theirs; null where a share does not show it"),
        ("owner", "string", "who owns it: whoever was named, or else created it; null where a share does not show it"),
        ("canonical", "string", "its canonical string, of the names of what it is in and its own"),
    ),
    _namespace_rows,
)


def _view_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for named, *versions in _wanted(work, keep, pb.VIEW, "namespace"):
        state, properties = view_state(work, named.id), properties_of(work, named.id)
        yield (
            named.name,
            named.id,
            named.namespace,
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
    "One row for each view.",
    columns(
        ("name", "string", "the full name, with dots"),
        _ID,
        ("namespace", "string", "the namespace of the view; empty at the top"),
        _COMMENT,
        ("sql", "string", "its text in Spark's dialect, if any"),
        ("dialects", "list<string>", "the dialects of its texts"),
        ("texts", "binary", "JSON: its texts by dialect"),
        ("schema", "binary", "JSON: Iceberg's schema of its columns; null if they were not declared"),
        _PROPERTIES,
        *_VERSIONS,
    ),
    _view_rows,
)


_COUNTS = ("added_files", "added_rows", "added_bytes", "removed_files", "removed_rows", "removed_bytes")


def _commit_rows(work: Work, keep: Keep) -> Iterator[Row]:
    for about, commit in line_commits(work):
        if keep({"author": commit.author, "message": commit.message, "about": about}):
            yield _commit_row(about, commit)


def line_commits(work: Work) -> Iterator[tuple[str, Commit]]:
    """The commits of the line, of its catalog's refs and of the catalog, each with what it is about; newest first."""
    return merge(*_logs(work), key=lambda one: one[1].version, reverse=True)


def _logs(work: Work) -> Iterator[Iterable[tuple[str, Commit]]]:
    """The commits of the line; unless it is shared, those of the catalog's refs and of the catalog itself too."""
    yield (("objects", commit) for commit in log(work))
    if not isinstance(work.reader, GrantedReader):
        refs = Work(work.context, Ref(work.ref.catalog, work.ref.refs), work.base)
        root = Work(work.context, Ref(ROOT.top, ROOT), work.base)
        yield (("refs", commit) for commit in log(refs))
        yield (("catalog", commit) for commit in log(root, Asked(work.ref.catalog)))


def _commit_row(about: str, commit: Commit) -> Row:
    operations = commit.operations
    return (
        int(commit.version),
        instant(commit.time),
        commit.author,
        commit.message,
        commit.id,
        commit.line,
        [operation.type for operation in operations],
        [operation.name for operation in operations],
        [operation.object_id for operation in operations],
        *_sums([operation.counts for operation in operations]),
        [str(parent.version) for parent in commit.parents],
        about,
        [operation.detail for operation in operations],
    )


def _sums(counts: Sequence[Mapping[str, int]]) -> list[int]:
    return [sum(count.get(what, 0) for count in counts) for what in _COUNTS]


COMMITS = SystemTable(
    "__commits",
    "The commits of the line and its ancestors before the fork, of the catalog's refs, of the catalog; newest first.",
    columns(
        ("version", VERSION, "its position in the order of all commits of the lake"),
        ("time", "timestamptz", "when it was made"),
        ("author", "string", "the author"),
        ("message", "string", "the commit message"),
        ("id", "string", "its event id"),
        ("line", "string", "the id of the line on which it was made"),
        ("operations", "list<string>", "what it did, in order"),
        ("objects", "list<string>", "the name of the object of each operation"),
        ("object_ids", "list<string>", "the id of the object of each operation"),
        *((name, "long", "total of all operations") for name in _COUNTS),
        ("parents", "list<string>", "the parent versions of a merge or a reset"),
        (
            "about",
            "string",
            "what it changed: objects (namespaces, tables, views), refs, or the catalog itself",
        ),
        ("details", "list<string>", "more about each operation, such as a new name"),
    ),
    _commit_rows,
)
