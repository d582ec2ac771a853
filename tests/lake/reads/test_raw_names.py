"""A lake of Lakebed 0.1, whose columns are called in files as they are in the table: it stays readable and writable."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow
import pyarrow.parquet
import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession

import lakebed
from lakebed import Invalid, Table

GOLDEN = Path(__file__).parents[2] / "golden/raw_names.zip"
INNER = pyarrow.struct([("${java.version}", pyarrow.int32()), ("c d", pyarrow.string())])
FORM = pyarrow.schema(
    [
        pyarrow.field("id", pyarrow.int64(), nullable=False),
        ("${user.name}", pyarrow.string()),
        ("a.b", pyarrow.int32()),
        ("a b", pyarrow.int32()),
        ("${env.HOME}", INNER),
        ("Größe", pyarrow.float64()),
    ]
)


def row(id: int, from_id: int | None = None) -> dict[str, Any]:
    number = id if from_id is None else from_id
    inner = {"${java.version}": number + 100, "c d": f"s{number}"}
    plain = {"id": id, "${user.name}": f"n{number % 2}", "a.b": number * 10, "a b": -number}
    return {**plain, "${env.HOME}": inner, "Größe": number / 2}


ROWS = [*map(row, range(5)), row(9, 0)]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """Two partitions in files, a deleted row, and an inline row."""
    with ZipFile(GOLDEN) as golden:
        golden.extractall(tmp_path / "lake")
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog().table("odd")


def rows_of(found: pyarrow.Table) -> list[dict[str, Any]]:
    return sorted(found.to_pylist(), key=lambda one: one["id"])


def test_an_old_lake_is_read_and_written_under_its_own_names(table: Table) -> None:
    assert rows_of(table.scan().to_arrow()) == ROWS
    assert rows_of(table.scan(where="`${user.name}` = 'n1' AND `a.b` > 10").to_arrow()) == [row(3)]
    table.append(pyarrow.Table.from_pylist([row(7)], FORM))
    with table.evolve() as change:
        change.add_column(("later one",), "int", default=1)
    table.compact()
    later = [{**one, "later one": 1} for one in sorted([*ROWS, row(7)], key=lambda one: one["id"])]
    assert rows_of(table.scan().to_arrow()) == later
    assert rows_of(StaticTable.from_metadata(table.export_iceberg()).scan().to_arrow()) == later


def test_spark_reads_and_compacts_an_old_lake(
    spark: SparkSession, table: Table, setting: Callable[[dict[str, str]], AbstractContextManager[None]]
) -> None:
    assert rows_of(table.read(spark).toArrow()) == ROWS
    where = "`${user.name}` = 'n1' AND `${env.HOME}`.`${java.version}` > 101"
    assert rows_of(table.read(spark, where=where).toArrow()) == [row(3)]
    table.append(spark.createDataFrame(pyarrow.Table.from_pylist([row(7)], FORM)))
    table.compact(spark)
    now = sorted([*ROWS, row(7)], key=lambda one: one["id"])
    assert rows_of(table.read(spark).toArrow()) == rows_of(table.scan().to_arrow()) == now
    assert rows_of(table.scan(where="`${user.name}` = 'n1' AND `a b` < -6").to_arrow()) == [row(7)]
    assert rows_of(StaticTable.from_metadata(table.export_iceberg()).scan().to_arrow()) == now
    table.append(pyarrow.Table.from_pylist([row(8)], FORM))  # inline, or in a file under the old names
    with setting({"spark.sql.caseSensitive": "true"}), pytest.raises(Invalid, match="Hadoop would replace"):
        table.set_properties({"write.inline-bytes": "0"})
        table.append(pyarrow.Table.from_pylist([row(11)], FORM))
        table.read(spark)
