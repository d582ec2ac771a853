"""The files of a snapshot, column by column: a scan looks at a few columns of all files, then at a few files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from lakebed.deferred import numpy, pyarrow
from lakebed.table.entries.layout import Layouts, column_type, layouts_from
from lakebed.table.entries.shred import Shredded
from lakebed.table.manifest.snapshot import LiveFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

REMEMBERED: Final = 16
"""How many values derived from columns are cached: about 130 kB each for 16,384 files."""


class Source(Protocol):
    """Where columns come from: entries, or an object that stores them."""

    @property
    def num_rows(self) -> int: ...

    @property
    def names(self) -> Iterable[str]: ...

    def load(self, name: str) -> pyarrow.Array:
        """Load a column that is among the names."""

    def files(self, rows: Iterable[int]) -> list[LiveFile]: ...


class FileColumns:
    """The files of a snapshot, or of a part of it, as columns. It is immutable, and threads may share it."""

    __slots__ = ("_cache", "_names", "_source")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names = dict.fromkeys(source.names)
        self._cache: dict[Hashable, Any] = {}

    @staticmethod
    def of(files: Sequence[LiveFile]) -> FileColumns:
        """These files as columns, each made when first asked for. The entries must not be changed afterwards."""
        return FileColumns(Shredded(files))

    @property
    def num_rows(self) -> int:
        """The number of files."""
        return self._source.num_rows

    @property
    def names(self) -> Sequence[str]:
        """The columns that exist; all others hold only nulls."""
        return tuple(self._names)

    def has(self, name: str) -> bool:
        """Whether the column exists."""
        return name in self._names

    def column(self, name: str) -> pyarrow.Array:
        """One column, in one piece; null is unset. `Invalid` for a name that is not one of a column of files."""
        return self._source.load(name) if name in self._names else pyarrow.nulls(self.num_rows, column_type(name))

    def files(self, rows: Iterable[int]) -> list[LiveFile]:
        """These files, in this order, byte for byte as they were; only they become objects."""
        return self._source.files(rows)

    def has_statistics(self, field_id: int) -> NDArray[numpy.bool_]:
        """For each file whether its entry has statistics of the column, even empty ones."""
        return self._layouts("statistics").has(field_id)

    def has_partition(self, field_id: int) -> NDArray[numpy.bool_]:
        """For each file whether its entry has a value of the partition field, even null."""
        return self._layouts("partition").has(field_id)

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """The cached value with this key, else what `make` returns, which is then cached."""
        value: T | None = self._cache.get(key)
        if value is None:
            value = make()
            if len(self._cache) >= REMEMBERED:
                self._cache.clear()
            self._cache[key] = value
        return value

    def _layouts(self, name: str) -> Layouts:
        return layouts_from(self.column(name))


def columns_of(files: Sequence[LiveFile]) -> dict[str, pyarrow.Array]:
    """All columns of these files, except those that hold only nulls."""
    return filled_columns(FileColumns.of(files))


def filled_columns(columns: FileColumns) -> dict[str, pyarrow.Array]:
    """All columns, except those that hold only nulls."""
    loaded = ((name, columns.column(name)) for name in columns.names)
    return {name: column for name, column in loaded if column.null_count < len(column)}
