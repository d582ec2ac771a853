"""What the names in a table's documents stand for: manifest lists and entries of files as JSON, manifests as frames."""

from typing import Never

from lakebed.catalog.data.deltas import record_of
from lakebed.catalog.data.frames import DocumentName, parse_document_name
from lakebed.catalog.data.snapshots import delta_of_snapshot
from lakebed.catalog.inspect.documents import MANIFEST_LIST
from lakebed.catalog.inspect.entries import entries_json
from lakebed.catalog.inspect.history import step_of, table_past
from lakebed.catalog.inspect.table_documents import manifest_list
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.bound import bound_to
from lakebed.catalog.transaction.work import Work
from lakebed.errors import LakebedError, NotFound
from lakebed.table.manifest import frame
from lakebed.table.manifest.framed import FramedManifest

_SCHEME = "lakebed:"


def open_document(work: Work, path: str) -> bytes:
    """The bytes that a `manifest-list` or `manifest-path` stands for; `NotFound` if the line does not have it.

    A manifest list is a JSON document, a manifest a frame. A manifest that is a file is opened by its location too.
    Entries of live files are JSON: of one by its `file_path`, of all in an object of a checkpoint by its key.
    """
    if isinstance(path, str) and path and not path.startswith(_SCHEME):
        return _manifest_file(work, path) or entries_json(work, path) or _refused(path)
    name = parse_document_name(path)
    return whole_frame(work, bound_to(name.table), name.snapshot_id).data if name.is_manifest else _list(work, name)


def whole_frame(work: Work, table: str, snapshot_id: int | None = None) -> FramedManifest:
    """The manifest of the delta that made a snapshot of a table, the newest unless one is named."""
    delta = delta_of_snapshot(work, table_state(work, table), snapshot_id)
    return step_of(work, delta).frame(work.context)


def _list(work: Work, name: DocumentName) -> bytes:
    past = table_past(work, bound_to(name.table))
    until = next((step for step in past.steps if step.id == name.snapshot_id), None)
    if until is None:
        raise NotFound(f"there is no snapshot {name.snapshot_id}", subject=f"table {name.table}")
    return MANIFEST_LIST.to_json(manifest_list(past, until))


def _manifest_file(work: Work, location: str) -> bytes | None:
    """The frame in a file, if it is a manifest of a table that the line shows."""
    path = work.context.files.path_of(location)
    try:
        claimed = frame.decode(work.context.files.read(path), path)
        delta = delta_of_snapshot(work, table_state(work, bound_to(claimed.table_uuid)), claimed.snapshot_id)
    except LakebedError:
        return None
    return step_of(work, delta).frame(work.context).data if record_of(delta).manifest_path == path else None


def _refused(location: str) -> Never:
    raise NotFound(
        "no table here has this manifest or this file",
        subject=location,
        advice='Take a path from describe().manifest_list() of one of its tables, or from inspect("__files").',
    )
