"""Who can see a line's objects: every state of a catalog that one of its refs shows for good."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from lakebed.catalog.transaction.context import TRUNK, Context, Ref
from lakebed.catalog.transaction.lines import open_lines
from lakebed.metastore import Line, Reader
from lakebed.metastore.change import LifeRecord
from lakebed.metastore.kinds import type_name
from lakebed.metastore.pages import every
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version


@dataclass(frozen=True, slots=True)
class VisibleState:
    """A ref and a state that it shows: a branch at its newest version or at its fork, a tag at its version."""

    kind: int
    name: str
    line: Line
    version: Version

    def __str__(self) -> str:
        return f"{type_name(self.kind)} {self.name!r}"

    def lives(self, context: Context, objects: Sequence[str]) -> Iterator[tuple[LifeRecord, ...]]:
        """Of each object its life and those of what it is in, in what the ref shows; none if it is not there."""
        for path in context.metastore.reader(self.line, self.version).paths(objects):
            yield tuple(cast(LifeRecord, state.record) for state in path)


def visible_states(context: Context, ref: Ref, version: Version) -> list[VisibleState]:
    """All refs of a catalog but those that were purged, as of a version."""
    reader = context.metastore.reader(ref.refs, version)
    refs = list(_kept_refs(reader, ref.catalog))
    branches = {one: name for one, name, kind in refs if kind == pb.BRANCH}
    lines = open_lines(context, ref.catalog, [ref.catalog, *branches])
    found = [VisibleState(pb.BRANCH, branches.get(one.line.id, TRUNK), one.line, version) for one in lines]
    forks = [replace(one, version=one.line.ancestry[0].version) for one in found if one.line.ancestry]
    tags = {one: name for one, name, kind in refs if kind == pb.TAG}
    return [*found, *forks, *_tags(context, ref, reader, tags)]


def line_ids(context: Context, ref: Ref, version: Version) -> list[str]:
    """The lines of a catalog but those that were purged, as of a version."""
    refs = _kept_refs(context.metastore.reader(ref.refs, version), ref.catalog)
    return [ref.catalog, *(one for one, _, kind in refs if kind == pb.BRANCH)]


def _tags(context: Context, ref: Ref, reader: Reader, tags: Mapping[str, str]) -> Iterator[VisibleState]:
    states = reader.attributes([(one, Attribute.REF) for one in tags])
    records = [cast(pb.CatalogRecord, state.record) for state in states if state is not None]
    lines = open_lines(context, ref.catalog, [one.parent_id for one in records])
    for name, record, line in zip(tags.values(), records, lines, strict=True):
        yield VisibleState(pb.TAG, name, line.line, Version(record.parent_version))


def _kept_refs(reader: Reader, catalog: str) -> Iterator[tuple[str, str, int]]:
    """The id, name and kind of each ref, the dropped ones too."""
    live, dropped = every(partial(reader.children, catalog)), every(partial(reader.dropped, catalog))
    yield from ((ref.id, ref.name, ref.type) for ref in live)
    yield from ((ref.id, ref.name, ref.type) for ref in dropped if ref.drop_type != pb.PURGED)
