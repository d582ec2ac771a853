"""All objects of a line with their full names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from lakebed.catalog.transaction.names import spelled
from lakebed.catalog.transaction.objects import ATTRIBUTES, children
from lakebed.catalog.transaction.work import Work
from lakebed.records import records_pb2 as pb
from lakebed.store import Version

BATCH = 100
"""Objects whose attributes are read in one round trip."""


@dataclass(frozen=True, slots=True)
class Named:
    """An object with its full name."""

    id: str
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return spelled(self.parts)

    @property
    def uuid(self) -> str:
        """The id that is shown: for an edition or stream that was named, that of its table."""
        return str(self.id)

    @property
    def namespace(self) -> str:
        """What it is in; empty at the top."""
        return spelled(self.parts[:-1])


@dataclass(frozen=True, slots=True)
class NamedLevel(Named):
    """An edition or a staged stream, as if it were the table: `id` is that of its handle, `inside` the table's name."""

    table: str
    inside: tuple[str, ...]

    @property
    def uuid(self) -> str:
        return self.table

    @property
    def namespace(self) -> str:
        return spelled(self.inside[:-1])


def objects_of_kind(work: Work, kind: int) -> Iterator[Named]:
    """The objects of a kind by name, those of a namespace before those of the namespaces in it."""
    return _below(work, kind, work.top, ())


def loaded(work: Work, found: Iterator[Named]) -> Iterator[list[Named]]:
    """The same objects in batches, the attributes of each batch read together."""
    while batch := list(islice(found, BATCH)):
        work.load((named.id, attribute) for named in batch for attribute in ATTRIBUTES)
        yield batch


def created_version(work: Work, object_id: str) -> Version | None:
    """The version that created an object; None if it is new."""
    life = work.life(object_id)
    return Version(life.create_version) if life is not None and life.create_version else None


def last_changes(work: Work, ids: Sequence[str]) -> list[Version | None]:
    """The versions that last changed these objects, except for their data; None for a new object.

    They come from the attributes, in at most one round trip. The log would list thousands of objects for some commits.
    """
    work.load((object_id, attribute) for object_id in ids for attribute in ATTRIBUTES)
    return [_last_change(work, object_id) for object_id in ids]


def _last_change(work: Work, object_id: str) -> Version | None:
    versions = (work.stored_version(object_id, attribute) for attribute in ATTRIBUTES)
    return max((version for version in versions if version is not None), default=None)


def _below(work: Work, kind: int, parent: str, parts: tuple[str, ...]) -> Iterator[Named]:
    for child in children(work, parent, kind):
        yield Named(child.id, (*parts, child.name))
    for namespace in children(work, parent, pb.NAMESPACE):
        yield from _below(work, kind, namespace.id, (*parts, namespace.name))
