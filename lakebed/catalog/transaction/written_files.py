"""The files that were written for a work, to be deleted unless its commit refers to them."""

from collections.abc import Iterable, Set

from lakebed.catalog.transaction.pending_delta import Delta, ManifestPlace, write_manifest
from lakebed.files import Files


class WrittenFiles:
    """Paths of data files and manifests. What can't be deleted is left for garbage collection, without an error."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._paths: set[str] = set()
        self._manifests: list[str] = []

    def add(self, paths: Iterable[str]) -> None:
        self._paths.update(paths)

    def write_manifest(self, delta: Delta, room_bytes: int) -> ManifestPlace:
        """Put a delta's manifest where it has room, and remember the files that this writes."""
        place = write_manifest(self._files, delta, room_bytes)
        self._manifests += place.written
        return place

    def delete(self, deltas: Iterable[Delta], but: Set[str] = frozenset()) -> None:
        """Delete the files of these deltas, and all others that were added, except some."""
        self._files.delete_many({*(self._paths - but), *(path for delta in deltas for path in delta.own_paths)})

    def delete_manifests(self) -> None:
        self._files.delete_many(self._manifests)
