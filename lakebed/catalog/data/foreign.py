"""Files that other writers wrote, and what is known of them besides their bytes: Parquet, and rows as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lakebed.table.filter.filter import Value

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
