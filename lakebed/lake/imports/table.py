"""A table of another format that is to be imported, and how far it was."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lakebed.catalog.data.foreign import ForeignTable, ForeignVersion
from lakebed.catalog.data.imports import imported_position
from lakebed.catalog.transaction.work import Work
from lakebed.errors import Invalid
from lakebed.lake.imports.into import Into

KEPT = 2
"""How many versions are kept in memory: the one before, and the one that is imported."""


@dataclass(frozen=True, slots=True)
class Position:
    """The version that was imported last, and the form that it had."""

    number: int
    form: str


@dataclass(slots=True)
class TableImport:
    """A table of another format to import. With `since`, a history begins with that version."""

    table: ForeignTable
    into: Into
    copy: bool = False
    verify: bool = False
    since: int | None = None
    _versions: dict[Position, ForeignVersion] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.table.kind

    def newest(self, number: int) -> Position:
        """A version in its newest form."""
        return Position(number, self.table.form(number))

    def version(self, at: Position) -> ForeignVersion:
        """A version, read once."""
        if at not in self._versions:
            while len(self._versions) >= KEPT:
                del self._versions[next(iter(self._versions))]
            self._versions[at] = self.table.version(at.number, at.form)
        return self._versions[at]

    def position(self, work: Work) -> Position | None:
        """How far it was imported; None if it was not."""
        table = self.into.find(work)
        found = None if table is None else imported_position(work, table, self.kind, self.table.place)
        if found is not None and found["id"] != self.table.id:
            raise Invalid(
                "another table is where the imported one was",
                subject=self.table.place,
                expected=f"the table with the id {found['id']}",
                found=self.table.id,
                advice="Import it under another name.",
            )
        return None if found is None else Position(int(found["version"]), found.get("form", ""))

    def remembered(self, at: Position) -> dict[str, Any]:
        """What the table remembers."""
        own = {"source": self.table.place, "id": self.table.id, "version": at.number}
        return {**own, "form": at.form} if at.form else own

    def to_come(self, position: Position | None) -> Sequence[Position]:
        """The versions that are to come; the one that came last is, if its columns were changed since."""
        if position is None:
            return [self.newest(number) for number in self.table.numbers(None, self.since)]
        later = [self.newest(number) for number in self.table.numbers(position.number)]
        last = self.newest(self.table.newest)
        return later or ([] if position == last else [last])
