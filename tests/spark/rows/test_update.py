"""Updates by Spark whose values are not those of single rows."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
import lakebed.spark.compaction
from lakebed import Catalog, Table
from lakebed.errors import Invalid


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog()


def values(table: Table, name: str) -> list[object]:
    return sorted(table.scan().to_arrow()[name].to_pylist(), key=repr)


def test_rows_were_left_out_whose_new_value_was_none_or_several(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long", "tags": "list<string>", "tag": "string"})
    tags = pyarrow.array([["a"], [], None], pyarrow.list_(pyarrow.string()))
    table.append(pyarrow.table({"id": [1, 2, 3], "tags": tags}))
    with pytest.raises(Invalid, match="can't be read by Spark"):
        table.update({"tag": "explode(tags)"}, None, spark)
    for value, where in (("max(tag)", None), ("'x'", "count(*) > 1"), ("'x'", "row_number() over (order by id) = 1")):
        with pytest.raises(Invalid, match="t"):
            table.update({"tag": value}, where, spark)
    assert values(table, "tag") == [None, None, None]
