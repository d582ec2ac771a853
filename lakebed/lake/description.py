"""What a table is at a moment: as text, and as the documents of source document 001."""

from dataclasses import dataclass, field

from lakebed.catalog.inspect import table_documents
from lakebed.catalog.inspect.describe import table_text
from lakebed.catalog.inspect.documents import Json
from lakebed.catalog.inspect.history import Step, TablePast
from lakebed.catalog.transaction.names import spelled
from lakebed.errors import NotFound
from lakebed.html import pre_html


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """A table as it was when `describe` was called; printed it is text for people.

    The documents are plain JSON values of its committed snapshots; `lakebed.documents` has their forms.
    """

    _past: TablePast = field(repr=False)

    def metadata(self) -> dict[str, Json]:
        """The table with its snapshots, specs and columns."""
        return table_documents.metadata(self._past)

    def snapshot(self, id: int | None = None) -> dict[str, Json]:
        """One snapshot, the newest unless one is named."""
        return table_documents.snapshot(self._past, self._step(id))

    def manifest_list(self, snapshot: int | None = None) -> list[dict[str, Json]]:
        """The manifests that a snapshot is made of, oldest first."""
        return table_documents.manifest_list(self._past, self._step(snapshot))

    def manifest(self, snapshot: int | None = None) -> dict[str, Json]:
        """The files that a snapshot added, changed and removed."""
        return table_documents.manifest(self._past, self._step(snapshot))

    def properties(self) -> dict[str, str]:
        """The table's properties."""
        return dict(self._past.properties)

    def partition_specs(self) -> list[dict[str, Json]]:
        """The partition specs that the table ever had, in the order in which it got them."""
        return table_documents.partition_specs(self._past.specs)

    def snapshots(self) -> list[dict[str, Json]]:
        """All snapshots, oldest first."""
        return table_documents.snapshots(self._past)

    def data_files(self, snapshot: int | None = None) -> list[dict[str, Json]]:
        """The live files of a snapshot, with their partition values."""
        return table_documents.data_files(self._past, self._step(snapshot))

    def _step(self, id: int | None) -> Step:
        for one in reversed(self._past.steps):
            if id is None or one.id == id:
                return one
        what = "there is no snapshot yet" if id is None else f"there is no snapshot {id}"
        raise NotFound(what, subject=f"table {spelled(self._past.name)}")

    def __str__(self) -> str:
        return table_text(self._past)

    def __repr__(self) -> str:
        return f"Description of table {spelled(self._past.name)}"

    def _repr_html_(self) -> str:
        return pre_html(str(self))
