"""Where a table's folder may be: not in the catalog's own files, nor in the folder of another table."""

import pytest

from lakebed.catalog.tables.locations import check_location
from lakebed.errors import Invalid

ID = "0190a5c0-7f3e-7b7e-8f00-000000000001"


@pytest.mark.parametrize("parent", ["cold", "cold/store", "tables", "catalog", "x/catalog.db", "ä/日本", "x" * 255])
def test_a_folder_of_the_lake_is_a_location(parent):
    check_location(parent)


@pytest.mark.parametrize(
    "parent",
    [
        "catalog.db",
        "CATALOG.DB",
        "catalog.db/inside",
        "catalog.db-wal",
        "catalog.db-shm/x",
        "catalog.db-journal",
        "catalog.db.new",
        "backup.json",
        "",
        ".",
        "..",
        "/",
        "/tmp",
        "a//b",
        "a/",
        "tables/../catalog.db",
        "./catalog.db",
        "a/./b",
        f"tables/{ID}",
        f"tables/{ID}/data",
        f"cold/{ID.upper()}",
        "a\nb",
        "a\0b",
        "a\\b",
        ".tmp-1",
        "x" * 256,
        "/".join(["x" * 200] * 5),
        7,
        None,
    ],
)
def test_a_table_was_created_where_it_can_not_be_written(parent):
    with pytest.raises(Invalid):
        check_location(parent)
