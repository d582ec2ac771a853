"""Lines: a trunk or a branch, with the ancestors that it inherits from."""

from dataclasses import dataclass

from lakebed.records.cells import LineAt, Sight
from lakebed.records.names import Casing
from lakebed.store import Version

NOWHERE = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class Line:
    """Where a reader looks and a commit writes.

    `top` is the object that contains the line's outermost names: the catalog's id, the same on its trunk and on all its
    branches. `ancestry` is nearest first, each with the version at which this line forked off. These versions never
    increase from one to the next.
    """

    id: str
    top: str
    ancestry: tuple[LineAt, ...] = ()
    casing: Casing = Casing.FOLDED

    def sight(self, version: Version) -> Sight:
        """What is visible of this line and its ancestors at `version`."""
        if not self.ancestry or self.ancestry[0].version <= version:
            return (LineAt(self.id, version), *self.ancestry)
        return (LineAt(self.id, version), *(LineAt(at.line, min(at.version, version)) for at in self.ancestry))

    def fork(self, child: str, version: Version) -> "Line":
        """A new line that sees this one as it is at `version`."""
        return Line(child, self.top, self.sight(version), self.casing)


ROOT = Line(NOWHERE, NOWHERE)
"""The line of projects and catalogs. It has no ancestors and is never forked."""
