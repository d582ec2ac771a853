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
    ("created_version", VERSION, "the commit that made it"),
    ("created_time", "timestamptz", "when that was"),
)


@dataclass(frozen=True, slots=True)
class Refs:
    """A catalog's refs at the version that was asked for."""

    work: Work

    def of_kind(self, kind: int) -> list[tuple[Child, pb.CatalogRecord]]:
        found = list(refs.listed(self.work, kind))
        self.work.load((one.id, Attribute.LIFE) for one in found)
        return list(zip(found, refs.records_of(self.work, [one.id for one in found]), strict=True))

    def created(self, ids: Sequence[str]) -> list[tuple[int, int]]:
        """The versions that made some refs, and their times."""
        versions = [Version(cast(LifeRecord, self.work.life(one)).create_version) for one in ids]
        return list(zip(map(int, versions), self.work.context.metastore.times(versions), strict=True))

    def line_name(self, line: str) -> str:
        """What a line is called; a dropped one has the name that it had."""
        return TRUNK if line == self.work.top else cast(LifeRecord, self.work.life(line)).name


def refs_of(work: Work) -> Refs:
    """The refs of the catalog that a work is on; a share may not see them."""
    if isinstance(work.reader, GrantedReader):
        raise forbidden("inspecting the catalog's refs")
    return Refs(Work(work.context, Ref(work.ref.catalog, work.ref.refs), work.base))


def _branch_rows(work: Work, keep: Keep) -> Iterator[Row]:
    every, context = refs_of(work), work.context
    found = every.of_kind(pb.BRANCH)
    catalog = work.ref.catalog
    first = first_version(context, catalog)
    lines = open_lines(context, catalog, [catalog, *(one.id for one, _ in found)])
    heads = [_head(work, line) for line in lines]
    yield (TRUNK, catalog, None, None, None, 0, int(first), context.metastore.times([first])[0], heads[0])
    created = every.created([one.id for one, _ in found])
    for (child, record), line, made, head in zip(found, lines[1:], created, heads[1:], strict=True):
        yield (
            child.name,
            child.id,
            every.line_name(record.parent_id),
            record.parent_id,
            int(Version(record.parent_version)),
            len(line.line.ancestry),
            *made,
            head,
        )


def _head(work: Work, line: Ref) -> int | None:
    commits = work.context.metastore.reader(line.line, work.base).log(limit=1).items
    return number(commits[0].version if commits else None)


BRANCHES = SystemTable(
    "__branches",
    "The catalog's branches, the trunk first.",
    columns(
        _NAME,
        _ID,
        ("parent", "string", "the branch that it forked from; null of the trunk"),
        ("parent_id", "string", "that one's id"),
        ("fork_version", VERSION, "the version at which it forked"),
        ("depth", "int", "how many branches are between it and nothing: 0 of the trunk"),
        *_CREATED,
        ("version", VERSION, "its newest commit, or that of its ancestors if it has none"),
    ),
    _branch_rows,
)


def _tag_rows(work: Work, keep: Keep) -> Iterator[Row]:
    every = refs_of(work)
    found = every.of_kind(pb.TAG)
    versions = [Version(record.parent_version) for _, record in found]
    times = work.context.metastore.times(versions)
    created = every.created([one.id for one, _ in found])
    for (child, record), version, time, made in zip(found, versions, times, created, strict=True):
        yield child.name, child.id, every.line_name(record.parent_id), record.parent_id, int(version), time, *made


TAGS = SystemTable(
    "__tags",
    "The catalog's tags, by name.",
    columns(
        _NAME,
        _ID,
        ("branch", "string", "the branch that it is on"),
        ("branch_id", "string", "that one's id"),
        ("version", VERSION, "what it is a name for"),
        ("time", "timestamptz", "when that version was committed"),
        *_CREATED,
    ),
    _tag_rows,
)


def _share_rows(work: Work, keep: Keep) -> Iterator[Row]:
    every, context = refs_of(work), work.context
    found = every.of_kind(pb.SHARE)
    created = every.created([one.id for one, _ in found])
    lines = open_lines(context, work.ref.catalog, [record.parent_id for _, record in found])
    for (child, record), line, made in zip(found, lines, created, strict=True):
        granted = list(record.granted_ids)
        names = _names(Work(context, line, work.base), granted)
        yield child.name, child.id, every.line_name(record.parent_id), record.parent_id, granted, names, *made


def _names(work: Work, granted: list[str]) -> list[str]:
    """The names of what is granted; those of what is not there are left out."""
    paths = ([cast(LifeRecord, one.record) for one in path] for path in work.reader.paths(granted))
    return [spelled(tuple(one.name for one in path)) for path in paths if path and not any(one.dropped for one in path)]


SHARES = SystemTable(
    "__shares",
    "The catalog's shares, by name.",
    columns(
        _NAME,
        _ID,
        ("branch", "string", "the branch that it shows"),
        ("branch_id", "string", "that one's id"),
        ("granted_ids", "list<string>", "what it shows, by ids"),
        ("granted", "list<string>", "the names of those that are there"),
        *_CREATED,
    ),
    _share_rows,
)
