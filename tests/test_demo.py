"""The demo, on little data."""

from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
from demo.__main__ import load, query, run
from demo.graph import draw
from demo.page import compare, expect
from demo.tpch import NAMES, make_files, on_main

SCALE = 0.001


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "tpch"
    make_files(folder, SCALE)
    return folder


def test_the_demo_runs_to_its_end(
    spark: SparkSession, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(spark, files, tmp_path / "lake")
    printed = capsys.readouterr().out
    assert "● Query dev as of version" in printed
    assert "merge dev" in printed.rpartition("$ lakebed log --graph")[2]
    assert "o_comment" in printed.rpartition("--summary")[2]
    assert "VERSION AS OF" in printed.rpartition("● Query the orders in SQL")[2]
    assert "tableExists('tpch.by_status'): True" in printed
    assert printed.count("✓ 5 questions, 3 engines, equal") == 7
    assert "the change feed says 0 inserted, 0 deleted" in printed
    assert "one conflict: table tpch.orders: row" in printed
    pipeline = printed.rpartition("● Run a pipeline on a branch")[2]
    assert "run 1 made 3 tables on run/1, and published them in version" in pipeline
    assert "held back: o_totalprice > 0 failed for 1 row; run/2 is kept" in pipeline
    assert "run 2 read only what had changed: 2 orders" in pipeline


def test_the_demo_draws_every_commit_and_branch(tmp_path: Path) -> None:
    with lakebed.connect(tmp_path / "lake") as lake:
        main = lake.catalog()
        main.create_table("t<1>", {"id": "long"})
        dev = main.create_branch("dev")
        dev.table("t<1>").append([{"id": 1}], message="one & only")
        main.merge(dev)
        picture = ElementTree.fromstring(draw(main))
    texts = [found.text for found in picture.iter() if found.tag.endswith("}text")]
    assert {"main", "dev", "one & only", "create t<1>"} <= set(texts)
    assert picture[1].get("class") == "page", "in the dark its light texts were on a browser's white"
    assert sum(found.tag.endswith("}circle") for found in picture.iter()) == 3
    assert sum(found.tag.endswith("}path") for found in picture.iter()) == 3, "before, fork and merge"


def test_verbose_prints_every_result(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pyarrow.table({"key": [17]})
    compare("Which", {"Spark": rows, "DuckDB": rows}, reference="DuckDB")
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("demo.page.VERBOSE", True)
    compare("Which", {"Spark": rows, "DuckDB": rows}, reference="DuckDB")
    assert capsys.readouterr().out.split() == ["Which?", "Spark", "│", "DuckDB", "17", "│", "17"]


def test_the_data_is_made_once(files: Path) -> None:
    made = {path: path.stat().st_mtime_ns for path in files.iterdir()}
    assert {path.stem for path in made} == set(NAMES)
    make_files(files, SCALE)
    assert {path: path.stat().st_mtime_ns for path in files.iterdir()} == made


@pytest.mark.long
def test_one_cent_in_one_row_of_the_raw_files_ends_the_demo(spark: SparkSession, tmp_path: Path) -> None:
    files = tmp_path / "tpch"
    make_files(files, SCALE)
    frames = {name: spark.read.parquet(str(files / f"{name}.parquet")) for name in NAMES}
    with lakebed.connect(tmp_path / "lake") as lake:
        main = lake.catalog()
        main.create_namespace("tpch")
        for name, frame in frames.items():
            main.create_table(f"tpch.{name}", frame.schema)
        load(main, frames)
        query(spark, main, on_main(files))
        _add_a_cent(files / "orders.parquet")
        with pytest.raises(SystemExit) as ended:
            query(spark, main, on_main(files))
    printed = str(ended.value.code)  # text, so the exit code is 1
    assert "DIFFERENT: How many orders does each status have" in printed
    assert "only from Spark" in printed and "only from Lakebed" in printed and "only from DuckDB" in printed


def _add_a_cent(path: Path) -> None:
    table = pyarrow.parquet.read_table(path)
    at = table.column_names.index("o_totalprice")
    first, *others = table["o_totalprice"].to_pylist()
    prices = pyarrow.array([first + Decimal("0.01"), *others], table.schema.field(at).type)
    pyarrow.parquet.write_table(table.set_column(at, table.schema.field(at), prices), path)


def test_a_row_that_one_engine_lacks_ends_the_demo() -> None:
    ours, theirs = pyarrow.table({"key": [3, 1]}), pyarrow.table({"key": [1, 2, 3]})
    with pytest.raises(SystemExit, match="only from DuckDB: 2"):
        compare("Which", {"Spark": ours, "DuckDB": theirs}, reference="DuckDB")


def test_a_row_that_comes_twice_ends_the_demo() -> None:
    ours, theirs = pyarrow.table({"key": [1, 2, 2]}), pyarrow.table({"key": [1, 2]})
    with pytest.raises(SystemExit, match="Spark: 3 rows; DuckDB: 2 rows"):
        compare("Which", {"Spark": ours, "DuckDB": theirs}, reference="DuckDB")


def test_the_order_of_rows_and_the_names_of_columns_mean_nothing() -> None:
    ours, theirs = pyarrow.table({"a": [3, None, 1]}), pyarrow.table({"b": [1, 3, None]})
    compare("Which", {"Spark": ours, "DuckDB": theirs}, reference="DuckDB")


def test_what_has_to_be_so_ends_the_demo_when_it_is_not() -> None:
    expect("tables", [], [])
    with pytest.raises(SystemExit, match="tables: expected 0, found 1"):
        expect("tables", 1, 0)
