"""Spark says of each row where it is and whence it came, as the local engine does."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

import pyarrow
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import Catalog, Table
from lakebed.arrow.write.write import write as write_arrow
from lakebed.catalog.data.deletion_vectors import write_vectors
from lakebed.catalog.data.target import target_of
from lakebed.catalog.tables.tables import table_state
from lakebed.errors import Invalid
from lakebed.files import LocalFiles
from lakebed.lake.engines import spark_engine
from lakebed.spark.read.read import read
from lakebed.spark.read.scan import IGNORE_SINK_LOGS
from lakebed.spark.read.source import ORDINAL
from lakebed.table.filter.bind import parse_filter
from lakebed.table.manifest.manifest_pb2 import DataFileRef
from lakebed.table.schema.metadata_columns import METADATA_COLUMNS
from lakebed.table.schema.schema import Schema, with_ids
from tests.support.examples import long_but

ADDED = [one.name for one in METADATA_COLUMNS]
IN_FILES = {"write.inline-bytes": "0"}
SCHEMA = with_ids(Schema({"id": "long", "name": "string"}), 0, 1)
Setting = Callable[[dict[str, str]], AbstractContextManager[None]]


@pytest.fixture
def main(tmp_path: Path) -> Iterator[Catalog]:
    with lakebed.connect(tmp_path / "a lake") as lake:
        yield lake.catalog()


def agree(spark: SparkSession, table: Table, where: str | None = None) -> pyarrow.Table:
    """The rows as both engines show them, with all that can be asked for."""
    columns = [*ADDED[:2], *table.schema.names, *ADDED[2:]]
    found = table.read(spark, where=where, columns=columns)
    here = table.scan(where=where, columns=columns).to_arrow()
    assert found.columns == columns
    assert sorted(map(repr, found.toArrow().to_pylist())) == sorted(map(repr, here.to_pylist()))
    return here


def ids(start: int, count: int) -> pyarrow.Table:
    numbers = list(range(start, start + count))
    return pyarrow.table({"id": numbers, "n": pyarrow.array(numbers, "int32"), "name": [f"n{one}" for one in numbers]})


@pytest.mark.parametrize("seed", long_but([1, 2], [1]))
def test_both_engines_agree_on_a_table_with_a_past(main: Catalog, spark: SparkSession, seed: int) -> None:
    table = main.create_table("t", {"id": "long", "n": "int", "name": "string"})
    random, steps = Random(seed), list[str]()
    rows = iter(range(0, 10_000, 100))

    def evolve() -> None:
        with table.evolve() as change:
            change.rename_column(next(one for one in table.schema.names if one.startswith("n")), f"n_{len(steps)}")
            change.add_column(f"later {len(steps)}", "int", default=len(steps))

    def spark_append() -> None:
        frame = spark.createDataFrame(ids(next(rows), 9)).select("id")
        table.append(frame.repartition(2))

    kinds: dict[str, Callable[[], object]] = {
        "inline": lambda: table.append(ids(next(rows), 5).select(["id"])),
        "spark": spark_append,
        "delete": lambda: table.delete(f"id = {random.randrange(500)}"),
        "delete many": lambda: table.delete(f"id between {(low := random.randrange(800))} and {low + 3}"),
        "update": lambda: table.update(
            {"id": "id + 5000"}, f"id between {(low := random.randrange(800))} and {low + 2}"
        ),
        "evolve": evolve,
        "compact": lambda: table.compact(),
    }
    for step in ["inline", "spark", "inline", *random.choices(list(kinds), k=6), "delete many", "update"]:
        kinds[step]()
        steps.append(step)
        agree(spark, table)
    found = agree(spark, table, where="id > 102 and id <> 205")
    assert found.num_rows, steps
    lineage = table.scan(columns=["_row_id"]).to_arrow()["_row_id"].to_pylist()
    assert len(set(lineage)) == len(lineage) and None not in lineage


def test_a_row_keeps_its_id_in_every_engine_when_it_is_written_again(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long", "name": "string"}, properties=IN_FILES)
    table.append(pyarrow.table({"id": range(10), "name": ["a"] * 10}))
    table.append(pyarrow.table({"id": range(10, 20), "name": ["b"] * 10}))
    before = {one.id: one._row_id for one in table.read(spark, columns=["id", "_row_id"]).collect()}
    table.update({"name": "'new'"}, "id in (3, 13)")
    table.delete("id = 4")
    table.compact()
    found = table.read(spark, columns=["id", "_row_id", "_last_updated_sequence_number"]).collect()
    assert {one.id: one._row_id for one in found} == {id: row for id, row in before.items() if id != 4}
    assert len({one._last_updated_sequence_number for one in found}) == 3
    agree(spark, table)


def test_rows_of_a_transaction_have_a_place_but_no_lineage_yet(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long"})
    table.append(pyarrow.table({"id": [1, 2]}))
    with main.transaction() as change:
        inside = change.table("t")
        inside.append(pyarrow.table({"id": [3]}))
        inside.append(spark.range(4, 6))
        agree(spark, inside)
        found = {one.id: one for one in inside.read(spark, columns=["id", *ADDED]).collect()}
    assert [found[id]._row_id for id in (3, 4, 5)] == [None] * 3
    assert [found[id]._last_updated_sequence_number for id in (3, 4, 5)] == [None] * 3
    assert found[1]._row_id != found[2]._row_id and None not in (found[1]._row_id, found[3]._file, found[5]._pos)
    agree(spark, table)


def test_files_that_were_added_have_lineage_by_their_places(main: Catalog, spark: SparkSession, tmp_path: Path) -> None:
    table = main.create_table("t", {"id": "long"}, properties=IN_FILES)
    foreign = pyarrow.table({"id": range(5), "_row_id": [900] * 5, "other": ["x"] * 5})
    pyarrow.parquet.write_table(foreign, tmp_path / "foreign, 1%.parquet")
    table.append(pyarrow.table({"id": [10]}))
    table.add_files([tmp_path / "foreign, 1%.parquet"])
    table.update({"id": "id + 100"}, "id = 2")
    agree(spark, table)
    assert 900 not in table.scan(columns=["_row_id"]).to_arrow()["_row_id"].to_pylist()


def test_a_column_that_is_nowhere_is_refused(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long"})
    for columns in (["_files"], ["_pos", "_pos"], "_pos"):
        with pytest.raises(Invalid):
            table.read(spark, columns=columns)
    assert table.read(spark, columns=["_pos", "_file"]).columns == ["_pos", "_file"]  # without any row


def entries(files: LocalFiles, count: int) -> list[DataFileRef]:
    """Files of ten rows each, whose row ids begin at a hundred times their number; two of each are deleted in half."""
    found = list[DataFileRef]()
    for number in range(count):
        rows = pyarrow.table({"id": range(number * 10, number * 10 + 10), "name": [None] * 10})
        [file] = write_arrow(files, f"data/{number}, ünï % +#", SCHEMA, rows)
        file.first_row_id, file.seq_max = number * 100, number
        if number % 2:
            [file] = write_vectors(files, "data", [(file, [1, number])])
        found.append(file)
    return found


@pytest.mark.parametrize("ignored", ["false", "true"])
def test_ordinals_are_places_among_the_files_given(
    spark: SparkSession, tmp_path: Path, setting: Setting, ignored: str
) -> None:
    files = LocalFiles(tmp_path / "a lake, 100% ünïcode #1 +~!'()&=@;: \u00a0\u2028💧")
    given = entries(files, 7)
    Random(3).shuffle(given)
    where = parse_filter("id >= 20", SCHEMA)  # two of the files can't match, and stay counted
    with setting({IGNORE_SINK_LOGS: ignored}):
        frame = read(spark, files, SCHEMA, given, filter=where, columns=["id", *ADDED, ORDINAL])
        found = [row.asDict() for row in frame.collect()]
    assert sorted(one["id"] for one in found) == [
        one for one in range(20, 70) if not (one // 10 % 2 and one % 10 in (1, one // 10))
    ]
    for one in found:
        number, position = divmod(one["id"], 10)
        file = given[one[ORDINAL]]
        assert (one["_file"], one["_pos"]) == (file.path, position)
        assert (one["_row_id"], one["_last_updated_sequence_number"]) == (number * 100 + position, number)


def test_ordinals_of_inline_rows_and_files_are_of_one_list(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long"})
    table.append(pyarrow.table({"id": [1, 2]}))
    table.append(spark.range(3, 5).coalesce(1))
    table.append(pyarrow.table({"id": [5, 6]}))
    table.delete("id = 5")
    work = table._scope.read()
    target = target_of(work, table_state(work, table.id))
    given = [one.file for one in target.plan(None).files]
    source, columns = spark_engine(spark).source(target), [ORDINAL, "id", "_pos"]
    frame = read(spark, source.files, table.schema, given, columns=columns, inline_rows=source.inline_rows)
    found = frame.collect()
    assert len(found) == 5
    by_file = table.scan(columns=["id", "_file", "_pos"]).to_arrow().to_pylist()
    assert {(one["id"], one["_file"], one["_pos"]) for one in by_file} == {
        (id, given[ordinal].path, position) for ordinal, id, position in found
    }


def test_filters_are_pushed_beside_metadata_columns(
    spark: SparkSession, files: LocalFiles, capsys: pytest.CaptureFixture[str]
) -> None:
    where = parse_filter("id > 12", SCHEMA)
    frame = read(spark, files, SCHEMA, entries(files, 3), filter=where, columns=["name", *ADDED, ORDINAL])
    capsys.readouterr()
    frame.where("name > 'a'").explain("formatted")
    shown = capsys.readouterr().out
    pushed = "PushedFilters: [IsNotNull(id), IsNotNull(name), GreaterThan(id,12), GreaterThan(name,a)]"
    assert shown.count(pushed) == 2 and shown.count("Batched: true") == 2
