"""A snapshot: the live files of a table after a delta, folded from the deltas up to it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from lakebed.errors import Corrupt, Invalid
from lakebed.table import manifest_pb2 as pb
from lakebed.table.delta import ADDED, DELETED, EXISTING


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Live files by path, in the order in which they were added. `added` are those that the last delta added.

    The messages are shared with the manifests that they came in, and their status may be of then: `entries` has the
    right one.
    """

    files: Mapping[str, pb.DataFileRef] = field(default_factory=lambda: MappingProxyType({}))
    snapshot_id: int | None = None
    sequence_number: int = 0
    table_id: str = ""
    added: frozenset[str] = frozenset()

    def entries(self) -> Iterator[pb.DataFileRef]:
        """The live files, as a manifest of the whole snapshot lists them: added by its last delta, or existing."""
        for path, file in self.files.items():
            yield with_status(file, ADDED if path in self.added else EXISTING)


EMPTY: Final = Snapshot()


def fold(manifests: Iterable[pb.Manifest], onto: Snapshot = EMPTY) -> Snapshot:
    """The snapshot after these whole manifests, oldest first; `Corrupt` if one does not follow from what is before it.

    The manifests must not be changed afterwards: the snapshot shares their entries.
    """
    files = dict(onto.files)
    last, added = onto, onto.added
    for manifest in manifests:
        check_chain(manifest, last.snapshot_id, last.sequence_number, last.table_id)
        added = frozenset(_apply(manifest, files))
        last = Snapshot({}, manifest.snapshot_id, manifest.sequence_number, manifest.table_uuid)
    return Snapshot(MappingProxyType(files), last.snapshot_id, last.sequence_number, last.table_id, added)


def _apply(manifest: pb.Manifest, files: dict[str, pb.DataFileRef]) -> list[str]:
    """Change the files as the manifest says; the answer is what it added."""
    added = []
    for file in manifest.data_files:
        path, status = file.path, file.status
        if (path in files) is (status == ADDED):
            raise _misplaced(manifest, file)
        if status == DELETED:
            del files[path]
        elif status in (ADDED, EXISTING):
            files[path] = file
        else:
            raise corrupt("a file has an unknown status", manifest, path, "0, 1 or 2", status)
        if status == ADDED:
            added.append(path)
    return added


def check_chain(manifest: pb.Manifest, last_id: int | None, last_number: int, table_id: str) -> None:
    """Refuse a manifest that does not follow from the snapshot before it, which is told by its id and sequence."""
    previous = manifest.previous_snapshot_id if manifest.HasField("previous_snapshot_id") else None
    if previous != last_id:
        raise corrupt("a delta is missing before this one", manifest, "", last_id, previous)
    if last_id is not None and manifest.sequence_number != last_number + 1:
        raise corrupt("the sequence has a gap", manifest, "", last_number + 1, manifest.sequence_number)
    if last_id is not None and manifest.table_uuid != table_id:
        raise corrupt("the delta is of another table", manifest, "", table_id, manifest.table_uuid)
    if manifest.delete_files:
        raise Invalid(
            "a manifest has delete files, which this Lakebed does not read",
            subject=manifest.delete_files[0].path,
            expected="deletion vectors",
            advice="Compact the table with its own engine first.",
        )


def with_status(file: pb.DataFileRef, status: int) -> pb.DataFileRef:
    """The entry with another status: a copy, unless it is the same."""
    if file.status == status:
        return file
    copy = pb.DataFileRef()
    copy.CopyFrom(file)
    copy.status = status
    return copy


def _misplaced(manifest: pb.Manifest, file: pb.DataFileRef) -> Corrupt:
    if file.status == ADDED:
        return corrupt("a file is added that is live already", manifest, file.path, "not live", "live")
    verb = "deleted" if file.status == DELETED else "changed"
    return corrupt(f"a file is {verb} that is not live", manifest, file.path, "live", "not live")


def corrupt(problem: str, manifest: pb.Manifest, path: str, expected: object, found: object) -> Corrupt:
    """What says that a manifest does not fit."""
    subject = f"snapshot {manifest.snapshot_id}" + (f", {path}" if path else "")
    return Corrupt(problem, subject=subject, expected=expected or "none", found="none" if found is None else found)
