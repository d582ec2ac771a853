"""Files of text that Spark reads are rows as the local engine reads them, and so are those that can't be read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog
from lakebed.errors import Invalid


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(str(tmp_path / "a lake")) as lake:
        yield lake.catalog()


def rows(main: Catalog, name: str) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in main.table(name).scan().to_arrow().to_pylist())


def both(spark: SparkSession, main: Catalog, call: str, *given: Any, **named: Any) -> None:
    """Import with both engines, and compare the tables."""
    local = getattr(main, call)("local", *given, **named)
    distributed = getattr(main, call)("distributed", *given, **named, spark=spark)
    for name in ("files", "rows", "source_rows", "quarantined", "columns", "created"):
        assert getattr(local, name) == getattr(distributed, name), name
    assert rows(main, "local") == rows(main, "distributed")
    assert main.table("local").schema.names == main.table("distributed").schema.names
    if local.quarantined:
        assert rows(main, "local__rejects") == rows(main, "distributed__rejects")


def test_csv(spark: SparkSession, main: Catalog, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(3):
        good = [f'{number * 100 + one},"a, {one}",2026-01-0{one + 1},{one}.25,2026-01-01T10:00:00Z' for one in range(9)]
        lines = ["id,name,day,price,at", *good, f"x{number},b,2026-01-01,1,", "1,2"]
        (folder / f"{number}.csv").write_text("\n".join(lines) + "\n")
    schema = {"id": "long", "price": "decimal(10, 2)"}
    with pytest.raises(Invalid, match="row 11: id: 'x0' is not a long"):
        main.import_csv("t", folder, schema=schema, spark=spark)
    assert main.import_csv("t", folder, schema=schema, on_bad="quarantine", dry_run=True, spark=spark).rows == 27
    assert main.tables() == []
    both(spark, main, "import_csv", folder, schema=schema, on_bad="quarantine", partition_by=["day"])
    assert main.import_csv("distributed", folder, spark=spark).known_files == 3


def test_json(spark: SparkSession, main: Catalog, tmp_path: Path) -> None:
    lines = [json.dumps({"id": one, "s": {"a": [one], "b": None}, "at": "2026-01-01 10:00"}) for one in range(50)]
    (tmp_path / "a.json").write_text("\n".join([*lines, "null", '{"id": "x"}']))
    (tmp_path / "b.json").write_text('{"id": 7}\n')
    paths = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    both(spark, main, "import_json", paths, on_bad="quarantine")
    assert main.table("distributed").scan().count() == 51
