"""The interface of engines: the local engine and Spark."""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from lakebed.catalog.data.compaction import Form, Writer
from lakebed.catalog.data.row_changes import RowChange, Written
from lakebed.catalog.data.target import Target
from lakebed.table.expression.assignments import Values
from lakebed.table.expression.merge_clauses import Clause
from lakebed.table.filter.condition import Condition
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.schema import Schema

Where = str | Condition | None
"""The condition of a change, None for all rows."""

# By name, so that neither library has to be loaded.
_IN_MEMORY = {
    ("pyarrow", "Table"),
    ("pyarrow", "RecordBatch"),
    ("pandas", "DataFrame"),
    ("polars", "DataFrame"),
    ("builtins", "list"),
    ("builtins", "tuple"),
    ("builtins", "dict"),
}


class Fill(Enum):
    """What an upsert sets a column to that its rows don't have, in rows of the table that they replace."""

    KEEP = "keep"  # nothing: it stays as it is
    DEFAULT = "default"


class KeptRows(Protocol):
    """A caller's rows, kept so that a change with them can be made again on a newer state of the table."""

    def schema(self, target: Schema) -> Schema:
        """The columns of the rows, as a change of a table with these columns takes them."""

    def upsert(self, target: Target, on: Sequence[str], fill: Fill) -> RowChange:
        """Replace the table's rows with the same key; insert the rest, with defaults for missing columns."""

    def merge(self, target: Target, on: str | Sequence[str], clauses: Sequence[Clause]) -> RowChange:
        """SQL's MERGE with these rows as the source."""


class Engine(Protocol):
    """Reads and writes rows for changes that the catalog then commits.

    Each call gets a `Target` and returns what it wrote, which nobody can see before the commit. A call that fails
    leaves nothing behind. An engine asks the catalog for nothing else.
    """

    @property
    def attempts(self) -> int:
        """How often a change that conflicts with other commits is made before it fails."""

    def columns_of(self, data: object) -> tuple[Schema, object]:
        """The columns of a caller's rows, and the rows, which can still be written."""

    def cast(self, schema: Schema, data: object) -> object:
        """A caller's rows with their columns cast to the schema's types; a value that would be lost is `Invalid`."""

    def write(self, target: Target, data: object) -> Written:
        """Write rows, matched to the table's columns by name; `Invalid` if a row does not fit or breaks a check."""

    def check_keys(self, target: Target, change: RowChange) -> None:
        """`Invalid` if two rows would have one primary key: of the written rows, or of the rows that are left."""

    def keep(self, data: object) -> KeptRows:
        """Rows for an upsert or a merge."""

    def delete(self, target: Target, where: str | Condition) -> RowChange:
        """Delete the rows that pass."""

    def update(self, target: Target, values: Values, where: Where) -> RowChange:
        """Set columns of the rows that pass to SQL expressions."""

    def overwrite(self, target: Target, written: Written, where: Where) -> RowChange:
        """Delete the rows that pass, in the same change that adds the written rows."""

    def rewrite(self, target: Target, files: Sequence[DataFileRef]) -> Sequence[DataFileRef]:
        """New files with the rows of these files that are not deleted, each with its lineage."""

    def writer(self, target: Target, form: Form) -> Writer:
        """The writer for the groups of a compaction."""


def can_be_read_again(data: object) -> bool:
    """Whether the rows are in memory and can be written again. A stream is used up; a job may take hours."""
    return any((kind.__module__.partition(".")[0], kind.__name__) in _IN_MEMORY for kind in type(data).__mro__)
