"""What an import did, or would do: printed, as text for people."""

from collections.abc import Iterator
from dataclasses import dataclass

from lakebed.catalog.transaction.commits import Commit
from lakebed.catalog.transaction.names import Name, parse_name, spelled
from lakebed.errors import Invalid
from lakebed.html import pre_html
from lakebed.lake.shown import counted

SHOWN = 10
"""How many columns' or problems' lines are printed."""


@dataclass(frozen=True, slots=True)
class ImportedColumn:
    """A column of the source and what it is in the table; `name` and `type` are None if the table does not get it."""

    source: str
    source_type: str
    name: str | None
    type: str | None

    def __str__(self) -> str:
        if self.name is None:
            return f"{self.source}: {self.source_type}, left out"
        own = self.type if self.name == self.source else f"{self.name} {self.type}"
        return f"{self.source}: {self.source_type} -> {own}"


@dataclass(frozen=True, slots=True)
class Misfit:
    """What did not fit: a file, a column or a row of the source, and why."""

    subject: str
    problem: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Import:
    """What one call imported, or would import if `dry_run`. `commit` is None if nothing was new.

    `files` came with this call and have `source_rows`, as the source counts them; `rows` is by how many the table
    grew, and `quarantined` are rows that went to the quarantine instead. `known_files` had come before, `empty_files`
    have no rows. `versions` are those of the source that became commits, `tags` the tags that were made. `misfits` is
    what did not fit: a call that is not a dry run is refused if there are any. `notes` are worth a look.
    """

    kind: str
    source: str
    table: Name
    commit: Commit | None = None
    created: bool = False
    dry_run: bool = False
    files: int = 0
    bytes: int = 0
    known_files: int = 0
    empty_files: int = 0
    source_rows: int | None = None
    rows: int | None = None
    quarantined: int = 0
    versions: int = 0
    tags: tuple[str, ...] = ()
    columns: tuple[ImportedColumn, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether there was anything to import."""
        return self.commit is not None or bool(self.created or self.files or self.versions or self.source_rows)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return pre_html(str(self))

    def _lines(self) -> Iterator[str]:
        name = spelled(parse_name(self.table))
        yield f"{name} from {self.kind} {self.source}{', a dry run' if self.dry_run else ''}"
        yield f"  {self._what()}"
        yield from (f"  {column}" for column in self.columns[:SHOWN])
        if len(self.columns) > SHOWN:
            yield f"  and {len(self.columns) - SHOWN:,} more columns"
        if self.misfits:
            yield f"  {counted(len(self.misfits), 'thing')} did not fit:"
            yield from (f"    {misfit}" for misfit in self.misfits[:SHOWN])
        if len(self.misfits) > SHOWN:
            yield f"    and {len(self.misfits) - SHOWN:,} more"
        yield from (f"  {note}" for note in self.notes)
        if self.commit is not None:
            yield f"  version {self.commit.version}"

    def _what(self) -> str:
        if not self.is_new:
            return f"nothing new{self._before()}"
        made = ["created"] if self.created else []
        came = [
            *([counted(self.versions, "version")] if self.versions else []),
            *([counted(self.files, "file")] if self.files else []),
            *([f"{counted(self.source_rows, 'row')} in the source"] if self.source_rows is not None else []),
            *([f"{self.rows:+,} in the table"] if self.rows is not None else []),
            *([f"{self.quarantined:,} quarantined"] if self.quarantined else []),
            *([f"tags {', '.join(self.tags)}"] if self.tags else []),
        ]
        return ", ".join([*made, *came]) + self._before()

    def _before(self) -> str:
        left = [
            *([f"{counted(self.known_files, 'file')} came before"] if self.known_files else []),
            *([f"{counted(self.empty_files, 'file')} without rows"] if self.empty_files else []),
        ]
        return f"; {', '.join(left)}" if left else ""


def check_fits(found: Import) -> None:
    """`Invalid` names all that did not fit."""
    if found.misfits:
        raise Invalid(
            "not all of the source fits: nothing was imported",
            subject=found.source,
            found="; ".join(map(str, found.misfits)),
            advice="Call it with dry_run=True to see what fits.",
        )
