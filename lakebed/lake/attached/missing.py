"""Notes on Spark's errors about a name that neither the lake nor Spark has: what may be meant in the lake."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException

from lakebed.errors import LakebedError
from lakebed.lake.attached.names import Found, Names, Parts, parsed
from lakebed.lake.sql.nearest import meant

_PARAMETERS = {
    "TABLE_OR_VIEW_NOT_FOUND": "relationName",
    "SCHEMA_NOT_FOUND": "schemaName",
    "REQUIRES_SINGLE_PART_NAMESPACE": "identifier",
}
"""Spark's errors about names that lead nowhere, and which of their parameters is the name."""


@contextmanager
def noted_names(names: Names) -> Iterator[None]:
    """Add to an error of Spark's about a missing name that the lake does not have it either."""
    try:
        yield
    except AnalysisException as error:
        note = _note(names, error)
        if note:
            error.add_note(note)
        raise


def _note(names: Names, error: AnalysisException) -> str:
    condition = error.getCondition() or ""
    name = (error.getMessageParameters() or {}).get(_PARAMETERS.get(condition, ""))
    try:
        return _advice(names, condition, parsed(name)[1]) if name and names.is_open else ""
    except LakebedError:  # a name that the lake could not have
        return ""


def _advice(names: Names, condition: str, parts: Parts) -> str:
    if condition == "SCHEMA_NOT_FOUND":
        own = parts[1:] if parts[0] == "spark_catalog" else parts
        namespace = ".".join(own)
        if Found(names.catalog, own).is_namespace:
            return _not_looked_for(f"namespace {namespace}")
        return f"The lake has no namespace {namespace} either. CREATE NAMESPACE {namespace} creates it there."
    spelled, catalog = ".".join(parts), names.catalog
    if parts[-1].startswith(("branch_", "tag_")) and catalog.table_exists(parts[:-1]):
        return f"In the lake a ref follows the name: {'.'.join(parts[:-1])}@{parts[-1].partition('_')[2]}."
    whole = (*names.current.namespace, *parts) if len(parts) == 1 else parts
    if Found(catalog, whole).exists:
        return _not_looked_for(".".join(whole))
    return (
        f"The lake has no table or view {spelled} either. {meant(catalog, whole) or 'SHOW TABLES lists what it has.'}"
    )


def _not_looked_for(name: str) -> str:
    """The note where Spark runs a statement by itself that names something of the lake."""
    return (
        f"The lake has {name}, but Spark runs this statement, and looks in its own catalogs only. docs/guide/sql.md "
        "lists the statements that find the lake's names."
    )
