"""A versioned lakehouse catalog. Each export is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakebed import documents as documents
    from lakebed import spark as spark
    from lakebed.arrow.read.scan import Scan
    from lakebed.catalog.inspect.dropped import DroppedObject
    from lakebed.catalog.merge.merge import MergeResult
    from lakebed.catalog.partitions.deltas import Delta
    from lakebed.catalog.tables.locators import Locator
    from lakebed.catalog.tables.storage import Storage
    from lakebed.catalog.transaction.commits import Commit, event_id
    from lakebed.catalog.transaction.conflicts import MergeConflict, RowConflict
    from lakebed.errors import (
        AlreadyExists,
        Ambiguous,
        CheckFailed,
        Conflict,
        Corrupt,
        Expired,
        Forbidden,
        Held,
        Invalid,
        LakebedError,
        NotFound,
        OutcomeUnknown,
        StepFailed,
        TimedOut,
        TooLarge,
        Unavailable,
    )
    from lakebed.lake.catalog import Catalog
    from lakebed.lake.clauses import (
        when_matched_delete,
        when_matched_update,
        when_not_matched_by_source_delete,
        when_not_matched_by_source_update,
        when_not_matched_insert,
    )
    from lakebed.lake.description import Description
    from lakebed.lake.diff.bisect import Bisection
    from lakebed.lake.diff.blame import Blame, RowBlame
    from lakebed.lake.diff.difference import Difference
    from lakebed.lake.diff.rows import RowDifference, RowDifferences, RowSummary
    from lakebed.lake.evolve import Evolve
    from lakebed.lake.imports.answer import Import
    from lakebed.lake.lake import Lake, connect
    from lakebed.lake.merging.progress import MergeInProgress
    from lakebed.lake.namespace import Namespace
    from lakebed.lake.partition import Partition
    from lakebed.lake.query.rows import QueryRows
    from lakebed.lake.rows.changes import Changes
    from lakebed.lake.rows.consumer import Consumer
    from lakebed.lake.shown import Listing
    from lakebed.lake.table import Stream, Table
    from lakebed.lake.transaction import Transaction
    from lakebed.lake.view import View
    from lakebed.store.version import Version
    from lakebed.table.expression.lit import lit
    from lakebed.table.filter.column import col
    from lakebed.table.schema.schema import Schema
    from lakebed.table.types.types import Field

    __version__: str

__all__ = [
    "AlreadyExists",
    "Ambiguous",
    "Bisection",
    "Blame",
    "Catalog",
    "Changes",
    "CheckFailed",
    "Commit",
    "Conflict",
    "Consumer",
    "Corrupt",
    "Delta",
    "Description",
    "Difference",
    "DroppedObject",
    "Evolve",
    "Expired",
    "Field",
    "Forbidden",
    "Held",
    "Import",
    "Invalid",
    "Lake",
    "LakebedError",
    "Listing",
    "Locator",
    "MergeConflict",
    "MergeInProgress",
    "MergeResult",
    "Namespace",
    "NotFound",
    "OutcomeUnknown",
    "Partition",
    "QueryRows",
    "RowBlame",
    "RowConflict",
    "RowDifference",
    "RowDifferences",
    "RowSummary",
    "Scan",
    "Schema",
    "StepFailed",
    "Storage",
    "Stream",
    "Table",
    "TimedOut",
    "TooLarge",
    "Transaction",
    "Unavailable",
    "Version",
    "View",
    "__version__",
    "col",
    "connect",
    "event_id",
    "lit",
    "when_matched_delete",
    "when_matched_update",
    "when_not_matched_by_source_delete",
    "when_not_matched_by_source_update",
    "when_not_matched_insert",
]

_HOMES = {
    "Bisection": "lakebed.lake.diff.bisect",
    "Blame": "lakebed.lake.diff.blame",
    "Catalog": "lakebed.lake.catalog",
    "Changes": "lakebed.lake.rows.changes",
    "Commit": "lakebed.catalog.transaction.commits",
    "Consumer": "lakebed.lake.rows.consumer",
    "Delta": "lakebed.catalog.partitions.deltas",
    "Description": "lakebed.lake.description",
    "Difference": "lakebed.lake.diff.difference",
    "DroppedObject": "lakebed.catalog.inspect.dropped",
    "Evolve": "lakebed.lake.evolve",
    "Field": "lakebed.table.types.types",
    "Import": "lakebed.lake.imports.answer",
    "Lake": "lakebed.lake.lake",
    "Listing": "lakebed.lake.shown",
    "Locator": "lakebed.catalog.tables.locators",
    "MergeConflict": "lakebed.catalog.transaction.conflicts",
    "RowConflict": "lakebed.catalog.transaction.conflicts",
    "MergeInProgress": "lakebed.lake.merging.progress",
    "MergeResult": "lakebed.catalog.merge.merge",
    "Namespace": "lakebed.lake.namespace",
    "Partition": "lakebed.lake.partition",
    "QueryRows": "lakebed.lake.query.rows",
    "RowBlame": "lakebed.lake.diff.blame",
    "RowDifference": "lakebed.lake.diff.rows",
    "RowDifferences": "lakebed.lake.diff.rows",
    "RowSummary": "lakebed.lake.diff.rows",
    "Scan": "lakebed.arrow.read.scan",
    "Schema": "lakebed.table.schema.schema",
    "Storage": "lakebed.catalog.tables.storage",
    "Stream": "lakebed.lake.table",
    "Table": "lakebed.lake.table",
    "Transaction": "lakebed.lake.transaction",
    "Version": "lakebed.store.version",
    "View": "lakebed.lake.view",
    "col": "lakebed.table.filter.column",
    "connect": "lakebed.lake.lake",
    "event_id": "lakebed.catalog.transaction.commits",
    "lit": "lakebed.table.expression.lit",
    **dict.fromkeys(
        (
            "when_matched_delete",
            "when_matched_update",
            "when_not_matched_by_source_delete",
            "when_not_matched_by_source_update",
            "when_not_matched_insert",
        ),
        "lakebed.lake.clauses",
    ),
}
_ERRORS = "lakebed.errors"


def _load(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("lakebed")
    if name in ("documents", "spark"):  # so that `lakebed.spark.session(lake)` needs no second import
        import_module("lakebed.forks")
        return import_module(f"lakebed.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'lakebed' has no attribute {name!r}")
    if name in _HOMES:
        import_module("lakebed.forks")  # first, so that a fork waits for what follows
    value = globals()[name] = getattr(import_module(_HOMES.get(name, _ERRORS)), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:
    __getattr__ = _load  # hidden from mypy, which would otherwise accept any misspelt name as an export
