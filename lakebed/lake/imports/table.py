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


@dataclass(slots=True)
class TableImport:
    """A table of another format to import. With `since`, a history begins with that version."""

    table: ForeignTable
    into: Into
    copy: bool = False
    verify: bool = False
    since: int | None = None
    _versions: dict[int, ForeignVersion] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.table.kind

    def version(self, number: int) -> ForeignVersion:
        """A version, read once."""
        if number not in self._versions:
            while len(self._versions) >= KEPT:
                del self._versions[next(iter(self._versions))]
            self._versions[number] = self.table.version(number)
        return self._versions[number]

    def position(self, work: Work) -> int | None:
        """The version that was imported last; None if there is none."""
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
        return None if found is None else int(found["version"])

    def remembered(self, number: int) -> dict[str, Any]:
        """What the table remembers."""
        return {"source": self.table.place, "id": self.table.id, "version": number}

    def next_numbers(self, position: int | None) -> Sequence[int]:
        """The versions that are to come."""
        return self.table.numbers(position, self.since if position is None else None)
