"""A table's live files at one commit: those of a checkpoint, with the deltas since then laid over them.

`over` folds deltas into an `Overlay`, `Overlay.on` lays it over the checkpoint's files, and a `Span` is the range of
sequence numbers that an overlay covers. Deltas that don't follow one another are `Corrupt`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from lakebed.errors import Corrupt, Invalid
from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING


@dataclass(frozen=True, slots=True)
class Span:
    """The deltas between two states, given by their sequence numbers: `Span(0, 100)` is the first hundred deltas."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise Corrupt("a span ends before it begins", expected="a start that is at most the end", found=str(self))

    def __add__(self, later: "Span") -> "Span":
        """Both spans together, which may overlap; `Corrupt` if deltas between them are missing.

        `[0, 100] + [90, 110]` is `[0, 110]`, `[0, 100] + [85, 95]` is `[0, 100]`, `[0, 100] + [110, 120]` is a gap.
        """
        if later.start > self.end:
            raise Corrupt("deltas are missing", subject=f"{self} + {later}", expected=f"from {self.end}", found=later)
        if later.start < self.start:
            raise Corrupt("a delta is older than the state it is added to", subject=f"{self} + {later}")
        return Span(self.start, max(self.end, later.end))

    def __str__(self) -> str:
        return f"[{self.start}, {self.end}]"


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A file of a snapshot, and the snapshot and schema of the commit that added it to the branch."""

    file: pb.DataFileRef
    snapshot_id: int
    schema_id: int


@dataclass(frozen=True, slots=True)
class Overlay:
    """The deltas since a checkpoint as one change to its files.

    `added` are live files that the checkpoint does not have. `removed` and `changed` are files of the checkpoint, as
    they were when they were removed, and as they are now. `span` reaches from the checkpoint to the last delta.
    """

    span: Span = field(default_factory=lambda: Span(0, 0))
    snapshot_id: int | None = None
    table_id: str = ""
    added: Mapping[str, LiveFile] = field(default_factory=lambda: MappingProxyType({}))
    removed: Mapping[str, pb.DataFileRef] = field(default_factory=lambda: MappingProxyType({}))
    changed: Mapping[str, pb.DataFileRef] = field(default_factory=lambda: MappingProxyType({}))
    deltas: int = 0

    def on(self, base: Iterable[LiveFile]) -> dict[str, LiveFile]:
        """The live files by path, given those of the checkpoint; `Corrupt` if a removed or changed file is missing."""
        files = {live.file.path: live for live in base}
        for path in (*self.removed, *self.changed):
            if path not in files:
                raise Corrupt("a delta changes a file that is missing from its checkpoint", subject=path)
        for path in self.removed:
            del files[path]
        for path, file in self.changed.items():
            files[path] = LiveFile(file, files[path].snapshot_id, files[path].schema_id)
        for path in self.added:
            if path in files:
                raise Corrupt("a delta adds a file that its checkpoint already has", subject=path)
        return {**files, **self.added}


EMPTY: Final = Overlay()


def over(overlay: Overlay, manifests: Iterable[pb.Manifest]) -> Overlay:
    """The overlay with later deltas, which are whole manifests, oldest first; deltas that it covers are skipped.

    `Corrupt` if a delta is missing, out of order, or does not follow from the one before it. The manifests must not be
    changed afterwards, since the overlay shares their entries.
    """
    fold = _Fold(overlay)
    for manifest in manifests:
        fold.add(manifest)
    return fold.result()


class _Fold:
    def __init__(self, overlay: Overlay) -> None:
        self._last = overlay
        self._span = overlay.span
        self._added = dict(overlay.added)
        self._removed = dict(overlay.removed)
        self._changed = dict(overlay.changed)
        self._deltas = overlay.deltas
        self._seen = -1

    def add(self, manifest: pb.Manifest) -> None:
        number = manifest.sequence_number
        if number <= self._seen:
            raise _corrupt("the deltas are out of order", manifest, "", f"after {self._seen}", number)
        self._seen = number
        if number <= self._span.end:
            return  # the overlay has it already
        _check_follows(manifest, self._last)
        # Numbers grow by more than one where a merge brought greater ones.
        start = self._span.start if self._last.snapshot_id is not None else number - 1
        self._span = Span(start, number)
        for file in manifest.data_files:
            self._apply(manifest, file)
        self._deltas += 1
        self._last = Overlay(self._span, manifest.snapshot_id, manifest.table_uuid)

    def _apply(self, manifest: pb.Manifest, file: pb.DataFileRef) -> None:
        path = file.path
        if file.status == ADDED:
            if path in self._added or path in self._changed:
                raise _corrupt("a delta adds a file that is already live", manifest, path, "not live", "live")
            self._added[path] = LiveFile(file, manifest.snapshot_id, manifest.schema_id)
        elif file.status == DELETED:
            self._remove(manifest, file)
        elif file.status == EXISTING:
            self._change(manifest, file)
        else:
            raise _corrupt("a file has an unknown status", manifest, path, "0, 1 or 2", file.status)

    def _remove(self, manifest: pb.Manifest, file: pb.DataFileRef) -> None:
        if self._added.pop(file.path, None) is not None:
            return
        if file.path in self._removed:
            raise _corrupt("a delta deletes a file that is not live", manifest, file.path, "live", "not live")
        self._changed.pop(file.path, None)
        self._removed[file.path] = file

    def _change(self, manifest: pb.Manifest, file: pb.DataFileRef) -> None:
        before = self._added.get(file.path)
        if before is not None:
            self._added[file.path] = LiveFile(file, before.snapshot_id, before.schema_id)
        elif file.path in self._removed:
            raise _corrupt("a delta changes a file that is not live", manifest, file.path, "live", "not live")
        else:
            self._changed[file.path] = file

    def result(self) -> Overlay:
        return Overlay(
            self._span,
            self._last.snapshot_id,
            self._last.table_id,
            MappingProxyType(self._added),
            MappingProxyType(self._removed),
            MappingProxyType(self._changed),
            self._deltas,
        )


def _check_follows(manifest: pb.Manifest, last: Overlay) -> None:
    """Refuse a manifest that does not follow from the delta before it."""
    previous = manifest.previous_snapshot_id if manifest.HasField("previous_snapshot_id") else None
    if previous != last.snapshot_id:
        raise _corrupt("a delta is missing before this one", manifest, "", last.snapshot_id, previous)
    if last.snapshot_id is not None and manifest.table_uuid != last.table_id:
        raise _corrupt("the delta belongs to another table", manifest, "", last.table_id, manifest.table_uuid)
    if manifest.delete_files:
        raise Invalid(
            "a manifest has delete files, which this version of Lakebed does not read",
            subject=manifest.delete_files[0].path,
            expected="deletion vectors",
            advice="Compact the table with its own engine first.",
        )


def _corrupt(problem: str, manifest: pb.Manifest, path: str, expected: object, found: object) -> Corrupt:
    subject = f"snapshot {manifest.snapshot_id}" + (f", {path}" if path else "")
    return Corrupt(problem, subject=subject, expected=expected or "none", found="none" if found is None else found)
