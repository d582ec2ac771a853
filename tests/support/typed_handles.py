"""What type checkers know of handles: mypy reads this file with the others, and nobody runs it.

A change answers its commit outside of a transaction, and nothing inside it.
"""

from typing import assert_type

import pyarrow

from lakebed import Catalog, Commit, Lake, Listing, Namespace, Scan, Table, Transaction, View

ROWS: pyarrow.Table = pyarrow.table({"id": [1]})


def outside(main: Catalog) -> None:
    """Handles of a catalog."""
    table = main.create_table("t", {"id": "long"})
    assert_type(table, Table[Commit])
    assert_type(main.table("t").append(ROWS), Commit)
    assert_type(table.at(-1).delete("id = 1"), Commit)
    assert_type(table.set_properties({"a": "b"}), Commit)
    assert_type(table.compact(), Commit | None)
    assert_type(main.tables(), Listing[Table[Commit]])
    assert_type(main.create_view("v", "SELECT 1"), View[Commit])
    assert_type(main.namespace("n").rename("m"), Commit)
    assert_type(main.set_properties({"a": "b"}), Commit)
    assert_type(main.branch("dev").view("v").set_sql("SELECT 2"), Commit)
    assert_type(main.drop_table("t", if_exists=True), Commit | None)
    assert_type(table.scan(), Scan)


def inside(tx: Transaction) -> None:
    """Handles of a transaction."""
    table = tx.create_or_replace_table("t", ROWS)
    assert_type(table, Table[None])
    table.append(ROWS)
    assert_type(tx.namespace("n"), Namespace[None])
    assert_type([table.id for table in tx.tables()], list[str])


def either(table: Table) -> Commit | None:
    """A plain handle may be of both."""
    return table.append(ROWS)


def both(lake: Lake, main: Catalog) -> None:
    """Both may be given where a plain handle is wanted."""
    either(main.table("t"))
    with main.transaction() as tx:
        either(tx.table("t"))
    assert_type(lake.run(lambda tx: len(tx.tables())), int)
