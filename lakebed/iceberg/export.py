"""Write a table's Iceberg metadata. The data files stay where they are, and so do vectors that mislead no reader."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

from lakebed.catalog.tables.tables import TableState
from lakebed.catalog.transaction.work import Work
from lakebed.files import Files
from lakebed.iceberg.manifest_list import StoredManifest, encode_manifest_list
from lakebed.iceberg.manifests import encode_manifest, manifests
from lakebed.iceberg.metadata import encode_metadata
from lakebed.iceberg.table import ExportedTable, exported_table
from lakebed.iceberg.vectors import encode_rewritten, with_rewritten


def export_table(work: Work, state: TableState, folder: str | None = None) -> str:
    """Write a table's metadata in Iceberg's format, and return the location of its metadata document.

    The export shows the table at the work's version; after a later commit, export again. `folder` is a path in the
    lake, by default the table's own. The document is written last, and a failed export leaves no file. `Invalid` if the
    table has rows that Iceberg's readers can't reach, such as inline rows: `compact()` writes them to files.
    """
    table = exported_table(work, state)
    writer = _Writer(work.context.files, folder or f"{state.location}/metadata")
    try:
        return writer.write(table)
    except BaseException:
        writer.files.delete_many(writer.written)
        raise


class _Writer:
    """Writes the files of one export, under names that no other export uses."""

    def __init__(self, files: Files, folder: str) -> None:
        self.files = files
        self.written: list[str] = []
        self._folder = folder
        self._id = uuid4()

    def write(self, table: ExportedTable) -> str:
        if table.vectors.rewritten:
            table = self._with_rewritten_vectors(table)
        stored = list(self._write_manifests(table))
        manifest_list = self._put(f"snap-{table.snapshot.id}-{self._id}.avro", encode_manifest_list(table, stored))
        name = f"{table.snapshot.record.sequence_number:05}-{self._id}.metadata.json"
        return self._put(name, encode_metadata(table, manifest_list))

    def _with_rewritten_vectors(self, table: ExportedTable) -> ExportedTable:
        data, blobs = encode_rewritten(self.files, table.vectors)
        location = self._put(f"{self._id}-deletes.puffin", data)
        return replace(table, vectors=with_rewritten(table.vectors, location, len(data), blobs))

    def _write_manifests(self, table: ExportedTable) -> Iterator[StoredManifest]:
        for number, manifest in enumerate(manifests(table)):
            data = encode_manifest(table, manifest)
            yield StoredManifest(manifest, self._put(f"{self._id}-m{number}.avro", data), len(data))

    def _put(self, name: str, data: bytes) -> str:
        path = f"{self._folder}/{name}"
        self.files.put_if_absent(path, data)
        self.written.append(path)
        return self.files.location(path)
