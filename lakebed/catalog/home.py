"""Where catalogs live, and which line of which one a handle works on."""

from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID, uuid5

from lakebed.catalog.schemas import Schemas
from lakebed.catalog.whereabouts import Whereabouts
from lakebed.files import Files
from lakebed.metastore import ROOT, Holder, Line, Metastore

TRUNK = "main"
"""The name of a catalog's first line, which has no record of its own."""


@dataclass(frozen=True, slots=True)
class Home:
    """What `connect` opened: the metastore, the storage beside it, the tenant and who is asking."""

    metastore: Metastore
    files: Files
    schemas: Schemas
    project: str
    author: str = ""
    whereabouts: Whereabouts = field(default_factory=Whereabouts)


@dataclass(frozen=True, slots=True)
class Ref:
    """One line of a catalog, by ids: it stays the same when catalog or branch are renamed."""

    catalog: str
    line: Line

    @property
    def is_trunk(self) -> bool:
        return self.line.id == self.catalog

    @property
    def refs(self) -> Line:
        """The line of the catalog's branches, tags and shares: never forked, merged or reset."""
        return _refs(self.catalog)

    @property
    def holders(self) -> tuple[Holder, ...]:
        """What has to be alive for the line to be read and written: its catalog, and the branch that it is."""
        if self.line.id == ROOT.id:
            return ()
        return _holders(self.catalog, self.line.id)


@lru_cache(maxsize=1024)
def _refs(catalog: str) -> Line:
    """Remembered, because every call on a handle asks for it: 10 µs."""
    return Line(str(uuid5(UUID(catalog), "refs")), catalog)


@lru_cache(maxsize=1024)
def _holders(catalog: str, line: str) -> tuple[Holder, ...]:
    held, refs = Holder(ROOT.id, catalog), _refs(catalog).id
    return (held,) if line in (catalog, refs) else (held, Holder(refs, line))
