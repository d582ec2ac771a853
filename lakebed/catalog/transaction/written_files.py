"""The files that were written for a work, to be deleted unless its commit refers to them."""

from collections.abc import Iterable, Set

from lakebed.catalog.transaction.manifest_files import ManifestFile
from lakebed.catalog.transaction.pending_delta import Delta, ManifestPlace, write_manifest
from lakebed.files import Files


class WrittenFiles:
    """Paths of data files and manifests. What can't be deleted is left for garbage collection, without an error."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._paths: set[str] = set()
        self._manifests: list[str] = []
        self._manifest_files: list[ManifestFile] = []

    def add(self, paths: Iterable[str]) -> None:
        self._paths.update(paths)

    def write_manifest(self, delta: Delta, room_bytes: int) -> ManifestPlace:
        """Put a delta's manifest where it has room, and remember the files that this writes."""
        place = write_manifest(self._files, delta, room_bytes)
        self._manifests += place.written
        return place

    def manifest_file(self, delta: Delta) -> ManifestFile:
        """A file for a delta's manifest; the commit writes it."""
        self._manifest_files.append(ManifestFile(self._files, delta))
        return self._manifest_files[-1]

    def delete(self, deltas: Iterable[Delta], but: Set[str] = frozenset()) -> None:
        """Delete the files of these deltas, and all others that were added, except some."""
        self._files.delete_many({*(self._paths - but), *(path for delta in deltas for path in delta.own_paths)})

    def delete_manifests(self) -> None:
        self._files.delete_many(self._manifests)
        for file in self._manifest_files:
            file.delete()
