"""Manifests as files, for tables with `write.manifests` = `files`: the whole frame of each delta, beside the data.

A whole frame has the ids of its snapshot, its predecessor and its rows, which only the commit gives out. So a file is
written for the values that the commit would give, outside of the store's transaction, and the commit compares:

    commit, which finds no file for its values     nothing is written in the store
    the file, durable                              nothing refers to it yet
    commit, whose values are those in the file     its record points to the file, with length and checksum

If another commit came between, the values differ: the file is deleted, another one is written, and the commit is tried
again. A crash leaves a file that nothing refers to.
"""

from collections.abc import Mapping
from dataclasses import replace
from time import time_ns
from typing import Final
from uuid import uuid4

from lakebed.catalog.transaction.pending_delta import Delta, bare_manifest, head_of
from lakebed.errors import Conflict, Invalid
from lakebed.files import Files
from lakebed.metastore import Change, Commit, Metastore
from lakebed.records import records_pb2 as pb
from lakebed.table.manifest import frame
from lakebed.table.manifest.delta import DeltaHead, whole

MANIFESTS: Final = "write.manifests"
"""The property that says where a table's manifests are kept."""

PLACES: Final = ("auto", "files")
"""What the property may say: as they fit, in the metastore or column by column in files; or each whole in a file."""

ATTEMPTS: Final = 100
"""An attempt is lost only to another commit that took effect, so there is always progress."""


def in_files(properties: Mapping[str, str]) -> bool:
    """Whether a table's manifests are files; `Invalid` if the property says neither."""
    found = properties.get(MANIFESTS, PLACES[0]).strip().lower()
    if found not in PLACES:
        raise Invalid(
            "a property of the table is not a place for manifests",
            subject=MANIFESTS,
            expected=" or ".join(PLACES),
            found=repr(properties[MANIFESTS]),
        )
    return found == PLACES[1]


class Outrun(Exception):
    """Raised by a commit that gives a delta other values than those in its manifest's file."""

    def __init__(self, file: "ManifestFile", head: DeltaHead) -> None:
        super().__init__()
        self.file = file
        self.head = head


class ManifestFile:
    """The file of one delta's manifest, which is written again as long as the commit gives the delta other values."""

    inline_bytes = 0

    def __init__(self, files: Files, delta: Delta) -> None:
        self._files = files
        self._delta = delta
        self._head: DeltaHead | None = None
        self._length = self._crc32c = 0
        self.path: str | None = None

    def fill(self, record: pb.TableHistory) -> None:
        """Write into the delta's record where its manifest is; `Outrun` if the file has other values."""
        head = head_of(record)
        if head != self._head:
            raise Outrun(self, head)
        record.manifest_path = self.path or ""
        record.manifest_length = self._length
        record.manifest_crc32c = self._crc32c

    def write(self, head: DeltaHead) -> None:
        """Write the frame with these values, and delete the one before."""
        self.delete()
        manifest = whole(bare_manifest(self._delta), replace(head, time_ms=time_ns() // 1_000_000))
        data = frame.encode(manifest)
        path = f"{self._delta.location}/metadata/{head.snapshot_id:08}-{uuid4()}.manifest"
        self.path = path
        self._files.put_if_absent(path, data)
        self._head, self._length, self._crc32c = head, len(data), frame.crc32c(data)

    def delete(self) -> None:
        """Delete the file. If that fails, it is left for garbage collection."""
        if self.path is not None:
            self._files.delete_many([self.path])
        self.path = self._head = None


def commit_with_manifest_files(metastore: Metastore, change: Change) -> Commit:
    """Commit a change; the manifests of its deltas that are to be files are written on the way."""
    for _ in range(ATTEMPTS):
        try:
            return metastore.commit(change)
        except Outrun as outrun:
            outrun.file.write(outrun.head)
    raise Conflict(
        "other commits changed the table each time its manifest was written",
        expected=f"one of {ATTEMPTS} attempts to succeed",
        advice="Try again when fewer writers commit to the table.",
    )
