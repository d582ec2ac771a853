"""IO entries read through a cache: each is fetched, checked and decoded once, however often it is read."""

from __future__ import annotations

from typing import Any, Final

from lakebed.caches import Counts, SingleFlight
from lakebed.deferred import pyarrow
from lakebed.errors import Corrupt, Invalid, NotFound
from lakebed.files import Files
from lakebed.table.entries.columns import FileColumns
from lakebed.table.entries.object import column_from, open_columns
from lakebed.table.manifest.io_entry import decode_entry
from lakebed.table.manifest.locations import Location

CACHE_BYTES: Final = 1 << 28

WHOLE_BYTES: Final = 1 << 20
"""An object of columns up to this size is read whole: a megabyte takes 0.1 ms, as long as eight of its columns."""

Cached = Any  # a buffer, an array or FileColumns


class EntryCache:
    """The entries of a lake's files. They are immutable, and shared by all readers."""

    def __init__(self, files: Files, cache_bytes: int = CACHE_BYTES) -> None:
        self._files = files
        self._cache: SingleFlight[Cached] = SingleFlight(cache_bytes, _size)

    def read(self, location: Location) -> pyarrow.Buffer:
        """The payload of an entry; `Corrupt` if its object is missing, too short or another one."""
        return self._cache.get(("entry", location), lambda: decode_entry(self._fetch(location), location))

    def columns(self, directory: Location) -> FileColumns:
        """The files whose columns a directory lists. Each column is read when it is asked for."""
        columns: FileColumns = self._cache.get(("directory", directory), lambda: self._open(directory))
        return columns

    def counts(self) -> Counts:
        """The cache's loads, hits, evictions and size."""
        return self._cache.counts()

    def _open(self, directory: Location) -> FileColumns:
        def load(location: Location) -> pyarrow.Array:
            def decode() -> pyarrow.Array:
                return column_from(decode_entry(self._part(location, directory), location), location)

            return self._cache.get(("column", location), decode)

        payload = decode_entry(self._part(directory, directory), directory)
        return open_columns(payload.to_pybytes(), directory, load)

    def _part(self, location: Location, directory: Location) -> pyarrow.Buffer:
        """The bytes of an entry in an object that ends with its directory."""
        if directory.end > WHOLE_BYTES:
            return self._fetch(location)
        if location.end > directory.end:
            raise Corrupt("an entry goes beyond its object", subject=str(location), expected=f"at most {directory.end}")
        whole = Location(directory.key, 0, directory.end, directory.end)
        return self._cache.get(("object", whole), lambda: self._fetch(whole)).slice(location.offset, location.length)

    def _fetch(self, location: Location) -> pyarrow.Buffer:
        try:
            return pyarrow.py_buffer(self._files.read(location.key, location.offset, location.length))
        except (NotFound, Invalid, Corrupt) as error:
            raise Corrupt(
                "an entry can't be read",
                subject=str(location),
                found=error.problem,
                advice="Restore it from a copy: it was removed, cut short or replaced.",
            ) from error


def _size(value: Cached) -> int:
    match value:
        case pyarrow.Buffer():
            return int(value.size)
        case FileColumns():
            return sum(map(len, value.names))
        case _:
            return int(value.get_total_buffer_size())
