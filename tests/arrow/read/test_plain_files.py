"""`scan().files()` hands out files only if other engines see the same rows and columns in them: DuckDB is the judge."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import lakebed
from lakebed import Catalog, Table
from lakebed.errors import Invalid

IN_FILES = {"write.inline-bytes": "0"}
ROWS = pyarrow.table({"id": [1, 2], "name": ["a", "b"], "place": [{"x": 1}, {"x": 2}]})


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog()


@pytest.fixture
def table(main: Catalog) -> Table:
    table = main.create_table("t", ROWS.schema, properties=IN_FILES)
    table.append(ROWS)
    return table


def by_duckdb(paths: list[str]) -> list[dict]:
    files = ", ".join(f"'{path}'" for path in paths)
    return duckdb.connect().sql(f"select * from read_parquet([{files}]) order by id").to_arrow_table().to_pylist()


def refused(table: Table, reason: str, **asked) -> None:
    with pytest.raises(Invalid, match=reason) as caught:
        table.scan(**asked).files()
    assert "to_dataset()" in caught.value.advice and "export_iceberg()" in caught.value.advice


def test_plain_files_are_handed_out(table):
    table.append(ROWS)
    assert len(table.scan().files()) == 2
    assert by_duckdb(table.scan().files()) == sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])


def test_a_renamed_column_is_not_handed_out_under_its_old_name(table):
    with table.evolve() as change:
        change.rename_column("name", "label")
    refused(table, "label has another name in the files: name")
    assert len(table.scan(columns=["id"]).files()) == 1


def test_a_renamed_field_inside_a_struct_is_not_handed_out(table):
    with table.evolve() as change:
        change.rename_column("place.x", "y")
    refused(table, "fields inside place have other names")


def test_values_of_a_dropped_column_are_not_handed_out_under_a_name_that_came_back(table):
    with table.evolve() as change:
        change.drop_column("name")
    refused(table, "has name too")
    with table.evolve() as change:
        change.add_column("name", "string")
    assert table.scan().to_arrow()["name"].to_pylist() == [None, None]
    refused(table, "name has another name in the files")


def test_a_column_that_files_are_older_than_is_not_handed_out(table):
    with table.evolve() as change:
        change.add_column("score", "int", default=7)
    refused(table, "does not have score")


def test_a_widened_column_is_not_handed_out_in_its_old_type(main):
    table = main.create_table("n", {"n": "int"}, properties=IN_FILES)
    table.append(pyarrow.table({"n": pyarrow.array([1], pyarrow.int32())}))
    with table.evolve() as change:
        change.widen_column("n", "long")
    refused(table, "has n as int32")


def test_row_ids_of_compacted_files_are_not_handed_out_as_columns(table):
    table.append(ROWS)
    table.compact()
    refused(table, "has _last_updated_sequence_number too")
    paths = table.scan(columns=["id", "name", "place"]).files()
    shown = by_duckdb(paths)
    assert [row["name"] for row in shown] == ["a", "a", "b", "b"]


def test_deleted_and_inline_rows_are_not_handed_out(table):
    table.delete("id = 1")
    refused(table, "deleted rows in 1 files", columns=["id"])
    table.set_properties({"write.inline-bytes": "10000"})
    table.append(ROWS)
    refused(table, "inline rows, which are in no file", where="id = 1")
    table.compact()
    assert len(table.scan(columns=["id"]).files()) == 1


def test_other_columns_of_added_files_are_not_handed_out(main, tmp_path):
    table = main.create_table("t", {"id": "long"})
    pyarrow.parquet.write_table(pyarrow.table({"id": [1], "name": ["not the table's"]}), tmp_path / "a.parquet")
    table.add_files(tmp_path / "a.parquet")
    refused(table, "has name too")
    with table.evolve() as change:
        change.add_column("name", "string")
    refused(table, "does not have name")


def test_values_of_hive_folders_and_metadata_columns_are_in_no_file(main, tmp_path):
    table = main.create_table("t", {"id": "long", "month": "string"}, partition_by=["month"])
    (tmp_path / "month=1").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"id": [1]}), tmp_path / "month=1" / "a.parquet")
    table.add_files(tmp_path / "month=1")
    refused(table, "does not have month")
    refused(table, "_row_id is in no file", columns=["id", "_row_id"])
