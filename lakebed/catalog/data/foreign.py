"""What other writers wrote, and what is known of it besides its bytes: Parquet files, rows as text, whole tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from pyroaring import FrozenBitMap64

from lakebed.table.filter.filter import Value
from lakebed.table.types.types import Fields

EMPTY: Final = FrozenBitMap64()

Problem = tuple[str, str]
"""A file, by its path, and one reason why its rows can't be read as rows of the table."""


@dataclass(frozen=True, slots=True)
class ForeignFiles:
    """Files by their paths, each with the place where the user found it, with links as they are.

    Unless `has_folders` is False, Hive's folders below `root` say values of columns. `values` are those of all files,
    and `values_of` those of single ones, by the ids of columns: no folder may contradict them. `names` are what files
    call fields, by id, the likeliest first; a field that is not there has its own name. `by_ids`: the field ids in a
    file's footer decide, and `names` are for files without any. Without `verify` only footers are read, and columns
    that they don't say enough about.
    """

    places: Mapping[str, str]
    root: str = ""
    has_folders: bool = True
    values: Mapping[int, Value | None] = field(default_factory=dict)
    values_of: Mapping[str, Mapping[int, Value | None]] = field(default_factory=dict)
    names: Mapping[int, Sequence[str]] = field(default_factory=dict)
    by_ids: bool = False
    verify: bool = True

    @property
    def is_exact(self) -> bool:
        """Whether ids or given names say which column a field is in: then its own name says nothing."""
        return self.by_ids or bool(self.names)

    def values_in(self, path: str) -> dict[int, Value | None]:
        """The values that are known of a file's columns, by their ids."""
        return {**self.values, **self.values_of.get(path, {})}


CSV: Final = "csv"
JSON: Final = "json"


@dataclass(frozen=True, slots=True)
class TextForm:
    """How rows are written as text. Without a header the columns of a CSV are called `names`.

    `nulls` are texts that are null in every column; None: the usual ones are, in columns that are not text. `without`
    are columns that are left out, by folded name.
    """

    format: str
    delimiter: str = ","
    names: tuple[str, ...] = ()
    nulls: tuple[str, ...] | None = None
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that can't be read: its file, its number there from 1 on (that of a CSV's header), why, and its text."""

    file: str
    row: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A data file of a table of another format, as the table's metadata describe it.

    `rows` count deleted rows too, and are None if the metadata don't say. `values` are those of columns that the file
    need not have, by their names there. `deleted` are positions. A file that `is_elsewhere` was written for another
    partition spec than the table's newest.
    """

    place: str
    size: int
    rows: int | None = None
    values: Mapping[str, Value | None] = field(default_factory=dict)
    deleted: FrozenBitMap64 = EMPTY
    is_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class ForeignVersion:
    """A version of a table of another format. `physical_name` of a field is its name in files.

    Fields have ids, on every level, if files have them; `last_id` is then the highest that the table has ever used, and
    0 if names decide. `files` are by place. `notes` are what an import leaves behind. `names` are
    further names of fields in files that have no ids, by id. `form` says which columns and partitions it has, if a
    source may change these without another version.
    """

    number: int
    called: str
    message: str
    author: str | None
    fields: Fields
    last_id: int
    partition_by: tuple[str, ...]
    files: Mapping[str, ForeignFile]
    notes: tuple[str, ...] = ()
    names: Mapping[int, Sequence[str]] = field(default_factory=dict)
    form: str = ""

    @property
    def rows(self) -> int | None:
        """How many rows it has, None if the metadata don't say."""
        counts = [None if file.rows is None else file.rows - len(file.deleted) for file in self.files.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None


class ForeignTable(Protocol):
    """A table of another format: versions with numbers, of which old ones may have expired."""

    @property
    def kind(self) -> str:
        """The word for the format."""

    @property
    def place(self) -> str:
        """Where it is."""

    @property
    def id(self) -> str:
        """What tells it from a table that was made in its place later."""

    @property
    def newest(self) -> int:
        """The newest version."""

    def numbers(self, after: int | None, since: int | None = None) -> Sequence[int]:
        """The versions after one, or all `since` one, oldest first; `Expired` if one of them is not there any more."""

    def form(self, number: int) -> str:
        """The newest form of a version."""

    def version(self, number: int, form: str | None = None) -> ForeignVersion:
        """A version, with the columns of a form, by default its newest; `Expired` if it is not there any more."""
