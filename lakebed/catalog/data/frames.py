"""Whole frames of a table's deltas, and the names by which they are opened.

lakebed:<table id>/snapshots/<snapshot id>            the list of the manifests that a snapshot is made of
lakebed:<table id>/snapshots/<snapshot id>/manifest   the frame of the delta that made it
"""

import re
from dataclasses import dataclass
from typing import Final

from lakebed.catalog.data.deltas import record_of, stored_frame, whole_manifest
from lakebed.catalog.transaction.context import Context
from lakebed.errors import Invalid
from lakebed.metastore import State
from lakebed.table.manifest import frame
from lakebed.table.manifest.framed import FramedManifest

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME: Final = re.compile(rf"lakebed:(?P<table>{_UUID})/snapshots/(?P<snapshot>[0-9]{{1,19}})(?P<manifest>/manifest)?")


@dataclass(frozen=True, slots=True)
class DocumentName:
    """The name of a snapshot's manifest list, or of its manifest."""

    table: str
    snapshot_id: int
    is_manifest: bool = False

    def __str__(self) -> str:
        return f"lakebed:{self.table}/snapshots/{self.snapshot_id}{'/manifest' if self.is_manifest else ''}"


def parse_document_name(text: str) -> DocumentName:
    """The name in a text, or `Invalid`."""
    found = _NAME.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise Invalid(
            "this does not name a manifest list or a manifest",
            subject=repr(text),
            expected="lakebed:<table id>/snapshots/<snapshot id>, or the same with /manifest",
            advice="Take it from describe().snapshot() or describe().manifest_list().",
        )
    return DocumentName(found["table"], int(found["snapshot"]), found["manifest"] is not None)


def framed_manifest(context: Context, state: State, time_ms: int) -> FramedManifest:
    """The whole frame of a delta, with all its files: as its file has it, or put together.

    `time_ms` is the time of its commit; a file has the time when it was written.
    """
    record = record_of(state)
    data, manifest = stored_frame(context, state)
    if manifest.snapshot_id:  # a frame that is not whole leaves it out
        return FramedManifest(context.files.location(record.manifest_path), data)
    name = DocumentName(record.table_id, record.snapshot_id, is_manifest=True)
    return FramedManifest(str(name), frame.encode(whole_manifest(context, state, time_ms)))
