"""Which refs can see a line's objects: every state of a catalog that one of its refs shows permanently."""

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
        """For each object its life and those of its containers in this state; none if it is not there."""
        for path in context.metastore.reader(self.line, self.version).paths(objects):
            yield tuple(cast(LifeRecord, state.record) for state in path)


def visible_states(context: Context, ref: Ref, version: Version) -> list[VisibleState]:
    """What all refs of a catalog show at a version, except purged refs."""
    reader = context.metastore.reader(ref.refs, version)
    refs = list(_kept_refs(reader, ref.catalog))
    names = {ref_id: name for ref_id, name, kind in refs if kind == pb.BRANCH}
    lines = open_lines(context, ref.catalog, [ref.catalog, *names])
    heads = [VisibleState(pb.BRANCH, names.get(branch.line.id, TRUNK), branch.line, version) for branch in lines]
    forks = [replace(head, version=head.line.ancestry[0].version) for head in heads if head.line.ancestry]
    tags = {ref_id: name for ref_id, name, kind in refs if kind == pb.TAG}
    return [*heads, *forks, *_tagged_states(context, ref, reader, tags)]


def line_ids(context: Context, ref: Ref, version: Version) -> list[str]:
    """The lines of a catalog at a version, except purged lines."""
    refs = _kept_refs(context.metastore.reader(ref.refs, version), ref.catalog)
    return [ref.catalog, *(ref_id for ref_id, _, kind in refs if kind == pb.BRANCH)]


def _tagged_states(context: Context, ref: Ref, reader: Reader, tags: Mapping[str, str]) -> Iterator[VisibleState]:
    states = reader.attributes([(tag, Attribute.REF) for tag in tags])
    records = [cast(pb.CatalogRecord, state.record) for state in states if state is not None]
    lines = open_lines(context, ref.catalog, [record.parent_id for record in records])
    for name, record, line in zip(tags.values(), records, lines, strict=True):
        yield VisibleState(pb.TAG, name, line.line, Version(record.parent_version))


def _kept_refs(reader: Reader, catalog: str) -> Iterator[tuple[str, str, int]]:
    """The id, name and kind of each ref, dropped or not, except purged refs."""
    live, dropped = every(partial(reader.children, catalog)), every(partial(reader.dropped, catalog))
    yield from ((ref.id, ref.name, ref.type) for ref in live)
    yield from ((ref.id, ref.name, ref.type) for ref in dropped if ref.drop_type != pb.PURGED)
