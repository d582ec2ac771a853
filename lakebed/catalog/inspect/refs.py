"""System tables of branches, tags and shares."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from lakebed.catalog.inspect.system_table import VERSION, Keep, Row, SystemTable, columns, number
from lakebed.catalog.refs import refs
from lakebed.catalog.refs.catalogs import first_version
from lakebed.catalog.refs.share_reader import GrantedReader
from lakebed.catalog.refs.shares import forbidden
from lakebed.catalog.transaction.context import TRUNK, Ref
from lakebed.catalog.transaction.lines import open_lines
from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.work import Work
from lakebed.metastore import Child
from lakebed.metastore.change import LifeRecord
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version

_NAME = ("name", "string", "its name")
_ID = ("id", "string", "its id, which never changes")
_CREATED = (
    ("created_version", VERSION, "the commit that created it"),
    ("created_time", "timestamptz", "the time of that commit"),
)


@dataclass(frozen=True, slots=True)
class Refs:
    """A catalog's refs at the version that is inspected."""

    work: Work

    def of_kind(self, kind: int) -> list[tuple[Child, pb.CatalogRecord]]:
        listed = list(refs.listed(self.work, kind))
        self.work.load((ref.id, Attribute.LIFE) for ref in listed)
        return list(zip(listed, refs.records_of(self.work, [ref.id for ref in listed]), strict=True))

    def created(self, ids: Sequence[str]) -> list[tuple[int, int]]:
        """The versions that created these refs, with their times."""
        versions = [Version(cast(LifeRecord, self.work.life(ref)).create_version) for ref in ids]
        return list(zip(map(int, versions), self.work.context.metastore.times(versions), strict=True))

    def line_name(self, line: str) -> str:
        """The name of a line; if it was dropped, the name that it had."""
        return TRUNK if line == self.work.top else cast(LifeRecord, self.work.life(line)).name


def refs_of(work: Work) -> Refs:
    """The refs of the work's catalog; a share may not see them."""
    if isinstance(work.reader, GrantedReader):
        raise forbidden("inspecting the catalog's refs")
    return Refs(Work(work.context, Ref(work.ref.catalog, work.ref.refs), work.base))


def _branch_rows(work: Work, keep: Keep) -> Iterator[Row]:
    all_refs, context = refs_of(work), work.context
    found = all_refs.of_kind(pb.BRANCH)
    catalog = work.ref.catalog
    first = first_version(context, catalog)
    lines = open_lines(context, catalog, [catalog, *(ref.id for ref, _ in found)])
    heads = [number(version) for version in context.metastore.heads([ref.line for ref in lines], work.base)]
    yield (TRUNK, catalog, None, None, None, 0, int(first), context.metastore.times([first])[0], heads[0])
    created = all_refs.created([ref.id for ref, _ in found])
    for (child, record), line, made, head in zip(found, lines[1:], created, heads[1:], strict=True):
        yield (
            child.name,
            child.id,
            all_refs.line_name(record.parent_id),
            record.parent_id,
            int(Version(record.parent_version)),
            len(line.line.ancestry),
            *made,
            head,
        )


BRANCHES = SystemTable(
    "__branches",
    "The catalog's branches, the trunk first.",
    columns(
        _NAME,
        _ID,
        ("parent", "string", "the branch that it was forked from; null for the trunk"),
        ("parent_id", "string", "the id of that branch"),
        ("fork_version", VERSION, "the version at which it was forked"),
        ("depth", "int", "the number of its ancestor branches: 0 for the trunk"),
        *_CREATED,
        ("version", VERSION, "its newest commit, or its ancestors' newest if it has none"),
    ),
    _branch_rows,
)


def _tag_rows(work: Work, keep: Keep) -> Iterator[Row]:
    all_refs = refs_of(work)
    found = all_refs.of_kind(pb.TAG)
    versions = [Version(record.parent_version) for _, record in found]
    times = work.context.metastore.times(versions)
    created = all_refs.created([ref.id for ref, _ in found])
    for (child, record), version, time, made in zip(found, versions, times, created, strict=True):
        yield child.name, child.id, all_refs.line_name(record.parent_id), record.parent_id, int(version), time, *made


TAGS = SystemTable(
    "__tags",
    "The catalog's tags, by name.",
    columns(
        _NAME,
        _ID,
        ("branch", "string", "the branch that it is on"),
        ("branch_id", "string", "the id of that branch"),
        ("version", VERSION, "the version that it names"),
        ("time", "timestamptz", "when that version was committed"),
        *_CREATED,
    ),
    _tag_rows,
)


def _share_rows(work: Work, keep: Keep) -> Iterator[Row]:
    all_refs, context = refs_of(work), work.context
    found = all_refs.of_kind(pb.SHARE)
    created = all_refs.created([ref.id for ref, _ in found])
    lines = open_lines(context, work.ref.catalog, [record.parent_id for _, record in found])
    for (child, record), line, made in zip(found, lines, created, strict=True):
        granted = list(record.granted_ids)
        names = _names(Work(context, line, work.base), granted)
        yield child.name, child.id, all_refs.line_name(record.parent_id), record.parent_id, granted, names, *made


def _names(work: Work, granted: list[str]) -> list[str]:
    """The names of the granted objects that exist."""
    paths = ([cast(LifeRecord, state.record) for state in path] for path in work.reader.paths(granted))
    alive = (path for path in paths if path and not any(life.dropped for life in path))
    return [spelled(tuple(life.name for life in path)) for path in alive]


SHARES = SystemTable(
    "__shares",
    "The catalog's shares, by name.",
    columns(
        _NAME,
        _ID,
        ("branch", "string", "the branch that it shows"),
        ("branch_id", "string", "the id of that branch"),
        ("granted_ids", "list<string>", "the ids of the objects that it shows"),
        ("granted", "list<string>", "the names of those objects that exist"),
        *_CREATED,
    ),
    _share_rows,
)
