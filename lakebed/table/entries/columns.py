"""The files of a snapshot, column by column: a scan looks at a few columns of all files, and then at few files."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

import numpy
import pyarrow
from numpy.typing import NDArray

from lakebed.table.entries.layout import Layouts, column_type, layouts_from
from lakebed.table.entries.shred import Shredded
from lakebed.table.manifest.snapshot import LiveFile

T = TypeVar("T")

REMEMBERED: Final = 16
"""What is made of columns and kept beside them: of 16,384 files about 130 kB each."""


class Source(Protocol):
    """Where columns come from: entries, or an object that has them."""

    @property
    def num_rows(self) -> int: ...

    @property
    def names(self) -> Iterable[str]: ...

    def load(self, name: str) -> pyarrow.Array:
        """A column that is there."""

    def files(self, rows: Iterable[int]) -> list[LiveFile]: ...


class FileColumns:
    """The files of a snapshot, or of a part of one, as columns. It never changes, and threads may share it."""

    __slots__ = ("_made", "_names", "_source")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names = dict.fromkeys(source.names)
        self._made: dict[Hashable, Any] = {}

    @staticmethod
    def of(files: Sequence[LiveFile]) -> "FileColumns":
        """These files as columns, each made when it is first asked for. The entries must not be changed afterwards."""
        return FileColumns(Shredded(files))

    @property
    def num_rows(self) -> int:
        """How many files there are."""
        return self._source.num_rows

    @property
    def names(self) -> Sequence[str]:
        """The columns that are there; all others hold nothing but nulls."""
        return tuple(self._names)

    def has(self, name: str) -> bool:
        """Whether the column is there."""
        return name in self._names

    def column(self, name: str) -> pyarrow.Array:
        """One column, in one piece; null is unset. `Invalid` for a name that no column of files has."""
        return self._source.load(name) if name in self._names else pyarrow.nulls(self.num_rows, column_type(name))

    def files(self, rows: Iterable[int]) -> list[LiveFile]:
        """These files, in this order, byte for byte as they were; only these cost objects."""
        return self._source.files(rows)

    def has_statistics(self, field_id: int) -> NDArray[numpy.bool_]:
        """For each file whether its entry has statistics of the column, be they as empty as may be."""
        return self._layouts("statistics").has(field_id)

    def has_partition(self, field_id: int) -> NDArray[numpy.bool_]:
        """For each file whether its entry has a value of the partition field, be it null."""
        return self._layouts("partition").has(field_id)

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made of the columns before under this key, else what `make` makes; the last few are kept."""
        found: T | None = self._made.get(key)
        if found is None:
            found = make()
            if len(self._made) >= REMEMBERED:
                self._made.clear()
            self._made[key] = found
        return found

    def _layouts(self, name: str) -> Layouts:
        return layouts_from(self.column(name))


def columns_of(files: Sequence[LiveFile]) -> dict[str, pyarrow.Array]:
    """All columns of these files but those that hold nothing but nulls."""
    return filled_columns(FileColumns.of(files))


def filled_columns(columns: FileColumns) -> dict[str, pyarrow.Array]:
    """All columns but those that hold nothing but nulls."""
    loaded = ((name, columns.column(name)) for name in columns.names)
    return {name: column for name, column in loaded if column.null_count < len(column)}
