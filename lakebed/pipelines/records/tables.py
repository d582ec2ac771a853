"""The tables of the catalog `_runs`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lakebed.catalog.inspect.runs import CATALOG, RUN_TABLES, RunTable
from lakebed.errors import AlreadyExists, NotFound
from lakebed.lake.catalog import Catalog
from lakebed.lake.lake import Lake


def opened(lake: Lake) -> Catalog | None:
    """The catalog of the runs; None if nothing ran yet."""
    try:
        return lake.catalog(CATALOG)
    except NotFound:
        return None


def opened_or_made(lake: Lake) -> Catalog:
    """The catalog of the runs, made now if it is not there."""
    catalog = lake.create_catalog(CATALOG, if_not_exists=True, message="runs of pipelines")
    for kind in RUN_TABLES.values():
        if catalog.table_exists(kind.table):
            _widen(catalog, kind)
        else:
            make = partial(catalog.create_table, kind.table, kind.schema, primary_key=kind.key)
            try:
                make()
            except AlreadyExists:  # another first run
                continue
    return catalog


def _widen(catalog: Catalog, kind: RunTable) -> None:
    """Add the columns that an older Lakebed did not note."""
    table = catalog.table(kind.table)
    missing = [field for field in kind.schema.fields if field.name not in table.schema.names]
    if missing:
        with table.evolve(message="columns of a newer Lakebed") as change:
            for field in missing:
                change.add_column((field.name,), field.type)


def put(catalog: Catalog, kind: RunTable, rows: Sequence[Mapping[str, Any]]) -> None:
    """Note rows; a row with the same key is replaced."""
    if rows:
        catalog.table(kind.table).upsert(_table(kind, rows))


def rows_of(catalog: Catalog, kind: RunTable, where: str | None = None) -> list[dict[str, Any]]:
    """Rows as they were noted."""
    return list(catalog.table(kind.table).scan(where).to_arrow().to_pylist())


def _table(kind: RunTable, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names = [name for name in kind.schema.names if any(name in row for row in rows)]
    return [{name: row.get(name) for name in names} for row in rows]
