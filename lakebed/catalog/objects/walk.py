"""All objects of a line with their whole names."""

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
    """An object with its whole name."""

    id: str
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return spelled(self.parts)

    @property
    def namespace(self) -> str:
        """What it is in; empty at the top."""
        return spelled(self.parts[:-1])


def every(work: Work, kind: int) -> Iterator[Named]:
    """The objects of a kind by name, each namespace's before those of the namespaces in it."""
    return _below(work, kind, work.top, ())


def loaded(work: Work, found: Iterator[Named]) -> Iterator[list[Named]]:
    """The same objects in batches, the attributes of each batch read together."""
    while batch := list(islice(found, BATCH)):
        work.load((one.id, attribute) for one in batch for attribute in ATTRIBUTES)
        yield batch


def created_version(work: Work, object_id: str) -> Version | None:
    """The commit that made an object; None of one that is new."""
    life = work.life(object_id)
    return Version(life.create_version) if life is not None and life.create_version else None


def last_changes(work: Work, ids: Sequence[str]) -> list[Version | None]:
    """The commits that last wrote something of these objects, but for their data; None of one that is new.

    From the attributes, in one round trip: the log has all that each commit did, which may be thousands of objects.
    """
    wanted = [(one, attribute) for one in ids for attribute in ATTRIBUTES]
    newest: dict[str, Version] = {}
    for (one, _), state in zip(wanted, work.reader.attributes(wanted), strict=True):
        if state is not None:
            newest[one] = max(state.version, newest.get(one, state.version))
    return [newest.get(one) for one in ids]


def _below(work: Work, kind: int, parent: str, parts: tuple[str, ...]) -> Iterator[Named]:
    for child in children(work, parent, kind):
        yield Named(child.id, (*parts, child.name))
    for namespace in children(work, parent, pb.NAMESPACE):
        yield from _below(work, kind, namespace.id, (*parts, namespace.name))
