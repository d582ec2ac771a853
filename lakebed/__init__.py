"""A versioned lakehouse catalog. Each export is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakebed import spark as spark
    from lakebed.arrow.read.scan import Scan
    from lakebed.catalog.inspect.dropped import DroppedObject
    from lakebed.catalog.merge.diff import Difference
    from lakebed.catalog.merge.merge import MergeResult
    from lakebed.catalog.transaction.commits import Commit, event_id
    from lakebed.catalog.transaction.conflicts import MergeConflict
    from lakebed.errors import (
        AlreadyExists,
        Ambiguous,
        Conflict,
        Corrupt,
        Expired,
        Forbidden,
        Invalid,
        LakebedError,
        NotFound,
        OutcomeUnknown,
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
    from lakebed.lake.evolve import Evolve
    from lakebed.lake.lake import Lake, connect
    from lakebed.lake.namespace import Namespace
    from lakebed.lake.objects import Listing
    from lakebed.lake.query.rows import QueryRows
    from lakebed.lake.table import Table
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
    "Catalog",
    "Commit",
    "Conflict",
    "Corrupt",
    "Description",
    "Difference",
    "DroppedObject",
    "Evolve",
    "Expired",
    "Field",
    "Forbidden",
    "Invalid",
    "Lake",
    "LakebedError",
    "Listing",
    "MergeConflict",
    "MergeResult",
    "Namespace",
    "NotFound",
    "OutcomeUnknown",
    "QueryRows",
    "Scan",
    "Schema",
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
    "Catalog": "lakebed.lake.catalog",
    "Commit": "lakebed.catalog.transaction.commits",
    "Description": "lakebed.lake.description",
    "Difference": "lakebed.catalog.merge.diff",
    "DroppedObject": "lakebed.catalog.inspect.dropped",
    "Evolve": "lakebed.lake.evolve",
    "Field": "lakebed.table.types.types",
    "Lake": "lakebed.lake.lake",
    "Listing": "lakebed.lake.objects",
    "MergeConflict": "lakebed.catalog.transaction.conflicts",
    "MergeResult": "lakebed.catalog.merge.merge",
    "Namespace": "lakebed.lake.namespace",
    "QueryRows": "lakebed.lake.query.rows",
    "Scan": "lakebed.arrow.read.scan",
    "Schema": "lakebed.table.schema.schema",
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
    if name == "spark":  # so that `lakebed.spark.session(lake)` needs no second import
        import_module("lakebed.forks")
        return import_module("lakebed.spark")
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
