"""Columns of any name: both engines write and read the same rows, and nobody reads anything into a name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
import lakebed.spark
from lakebed import Catalog, Invalid, Lake, Table, when_matched_update, when_not_matched_insert
from tests.support.nasty_names import NASTY_NAMES, REFUSED_NAMES, RESERVED_NAMES, VARIABLES, quoted

IN_FILES = {"write.inline-bytes": "0"}
INNER = ("${user.name}", "a.b", "_row_id", "a", "é")
"""Names of fields in a struct."""

Names = Sequence[str]
SOME = (
    *VARIABLES[:4],
    "${",
    "{t0}",
    "a.b",
    "a b",
    "a`b",
    "'",
    "/*x*/",
    "💧",
    "e\u0301x",
    "x" * 255,
    "_metadata",
    "*",
    "c0",
)
"""Spark takes time for each column: a sample for every run."""


def columns(names: Names = NASTY_NAMES) -> pyarrow.Schema:
    inner = pyarrow.struct([(name, pyarrow.int64()) for name in INNER])
    id = pyarrow.field("id", pyarrow.int64(), nullable=False)
    return pyarrow.schema([id, *((name, pyarrow.int64()) for name in names), ("nested ${user.name}", inner)])


def row(id: int, names: Names = NASTY_NAMES) -> dict[str, Any]:
    values = {name: id * 1000 + number for number, name in enumerate(names)}
    inner = {name: -id * 1000 - number for number, name in enumerate(INNER)}
    return {"id": id, **values, "nested ${user.name}": inner}


def arrow(ids: Sequence[int], names: Names = NASTY_NAMES) -> pyarrow.Table:
    return pyarrow.Table.from_pylist([row(id, names) for id in ids], columns(names))


def rows_of(found: pyarrow.Table) -> list[dict[str, Any]]:
    return sorted(found.to_pylist(), key=lambda one: one["id"])


def agreed(spark: SparkSession, table: Table, where: str | None = None) -> list[dict[str, Any]]:
    """The rows that both engines read."""
    here = rows_of(table.scan(where=where).to_arrow())
    assert rows_of(table.read(spark, where=where).toArrow()) == here
    return here


@pytest.mark.parametrize("names", [SOME, pytest.param(NASTY_NAMES, marks=pytest.mark.long)], ids=["some", "all"])
def test_rows_in_columns_of_any_name_survive_every_change(spark: SparkSession, main: Catalog, names: Names) -> None:
    """Spark read a column called `${user.name}` as null, and its compaction wrote the nulls for good."""
    table = main.create_table("nasty", columns(names), primary_key=["id"], sort_by=["`a b` desc"], properties=IN_FILES)
    with table.evolve() as change:
        change.partition_by(["truncate(100000, `${user.name}`)", "bucket(2, `a.b`)"])
    rows = {id: row(id, names) for id in range(8)}
    table.append(arrow(range(4), names))
    table.append(spark.createDataFrame(arrow(range(4, 8), names)))
    changes = arrow([7, 8], names)
    source = "source.`${user.name}` > 0 AND '${user.name}' <> ''"
    values = {name: f"source.{quoted(name)} + 5" for name in names}
    update = when_matched_update(values, source)
    table.merge(spark.createDataFrame(changes), "id", update, when_not_matched_insert())
    rows[7] |= {name: rows[7][name] + 5 for name in names}
    rows[8] = row(8, names)
    table.update({name: f"{quoted(name)} + 1" for name in names}, "`a.b` IS NOT NULL AND id = 3", spark=spark)
    rows[3] |= {name: rows[3][name] + 1 for name in names}
    table.delete("`nested ${user.name}`.`${user.name}` = -2000 AND concat('${x}', id) = '${x}2'", spark=spark)
    del rows[2]
    table.compact(spark)
    assert agreed(spark, table) == [rows[id] for id in sorted(rows)]
    condition = " AND ".join(f"{quoted(name)} >= 5000" for name in names)
    assert [one["id"] for one in agreed(spark, table, f"{condition} AND `${{env:HOME}}` < 6000")] == [5]


@pytest.mark.parametrize("properties", [IN_FILES, {}], ids=["in files", "inline"])
@pytest.mark.parametrize("check", [{}, {"check.inner": "`deep ${x}`.`y z` > 0"}], ids=["", "with a check"])
def test_fields_whose_names_files_do_not_have_were_null_after_an_upsert(
    main: Catalog, check: dict[str, str], properties: dict[str, str]
) -> None:
    """And after an append to a table with a check, which then passed: Arrow's cast finds fields by their names."""
    inner = pyarrow.struct([("y z", pyarrow.int64()), ("a.b", pyarrow.string())])
    values = {"deep ${x}": inner, "many": pyarrow.list_(inner), "by key": pyarrow.map_(pyarrow.string(), inner)}
    form = pyarrow.schema([("id", pyarrow.int64()), *values.items()])

    def made(id: int, text: str = "a.b") -> dict[str, Any]:
        one = {"y z": id, "a.b": f"{id}"}
        return {"id": id, "deep ${x}": {"y z": id, text: f"{id}"}, "many": [one, None], "by key": [("k", one)]}

    def given(*ids: int) -> pyarrow.Table:
        return pyarrow.Table.from_pylist([made(id) for id in ids], form)

    table = main.create_table("inner", form, properties=properties | check)
    table.append(given(1, 2))
    table.upsert(given(2, 3), "id")
    table.upsert(given(3, 4).select(["id", "many"]), "id")
    table.delete("id = 4")
    table.merge(given(5), "id", when_not_matched_insert())
    table.merge(given(5), "id", when_matched_update())
    table.update({"id": "id"}, "id = 1")
    table.overwrite(given(6), "id = 2")
    with table.evolve() as change:
        change.rename_column(("deep ${x}", "a.b"), "later")
    table.upsert(given(1).select(["id", "many"]), "id")
    table.compact()
    assert rows_of(table.scan().to_arrow()) == [made(id, "later") for id in (1, 3, 5, 6)]


def test_columns_come_go_and_are_renamed_under_any_name(spark: SparkSession, main: Catalog) -> None:
    table = main.create_table("evolving", {"id": "long", "$x": "long", "gone": "long"}, properties=IN_FILES)
    table.append(spark.range(2).selectExpr("id", "id + 10 AS `$x`", "id AS gone"))
    with table.evolve() as change:
        change.add_column(("${user.name}",), "string", default="${env:HOME}")
        change.rename_column(("$x",), "${env:HOME}")
        change.drop_column("gone")
        change.add_column(("$x",), "int")
    table.append(spark.createDataFrame([(7, 5, 6)], "id long, `${env:HOME}` long, `$x` int"))
    with table.evolve() as change:
        change.widen_column(("$x",), "long")
        change.rename_column(("${user.name}",), "plain")
    for _ in range(2):
        assert agreed(spark, table) == [
            {"id": 0, "${env:HOME}": 10, "plain": "${env:HOME}", "$x": None},
            {"id": 1, "${env:HOME}": 11, "plain": "${env:HOME}", "$x": None},
            {"id": 7, "${env:HOME}": 5, "plain": "${env:HOME}", "$x": 6},
        ]
        table.compact(spark)


@pytest.mark.parametrize("name", REFUSED_NAMES)
def test_a_name_that_no_column_can_have_is_refused(main: Catalog, name: str) -> None:
    with pytest.raises(Invalid, match="a column's name"):
        main.create_table("t", {name: "long"})
    table = main.create_table("t", {"id": "long"})
    with pytest.raises(Invalid, match="column"), table.evolve() as change:
        change.add_column((name,), "long")


@pytest.mark.parametrize("name", RESERVED_NAMES)
def test_a_name_of_metadata_is_refused(main: Catalog, name: str) -> None:
    with pytest.raises(Invalid, match="Choose another name"):
        main.create_table("t", {name: "long"})


def test_names_that_differ_in_case_only_are_refused(main: Catalog) -> None:
    for one, other in (("a b", "A B"), ("é", "E\u0301"), ("ſ", "s"), ("\u212a", "k"), ("${user.name}", "${USER.name}")):
        with pytest.raises(Invalid, match="the same name"):
            main.create_table("t", {one: "long", other: "long"})


def test_names_in_files_are_plain_and_never_given_twice(main: Catalog, folder: Path) -> None:
    table = main.create_table("t", {"a b": "long", "a_b_1": "long", "a_b_1_1": "long"}, properties=IN_FILES)
    with table.evolve() as change:
        change.drop_column(("a b",))
        change.add_column(("a b",), "long")
        change.add_column("A_b_4", "long")
    names = [field.physical_name for field in table.schema.fields]
    assert names == ["a_b_1", "a_b_1_1", "a_b_4", "A_b_4_5"]
    table.append(pyarrow.table({name: [1] for name in table.schema.names}))
    [file] = folder.rglob("*.parquet")
    assert pyarrow.parquet.read_schema(file).names == names


def test_files_for_other_engines_have_plain_names_only(main: Catalog) -> None:
    """Others would see `a_b_2` in the files, so they are refused unless only plain columns are asked for."""
    table = main.create_table("t", {"id": "long", "a b": "long"}, properties=IN_FILES)
    table.append(pyarrow.table({"id": [1], "a b": [2]}))
    with pytest.raises(Invalid, match="a b has another name in the files: a_b_2"):
        table.scan().files()
    assert len(table.scan(columns=["id"]).files()) == 1


def test_iceberg_shows_the_names_and_finds_columns_by_their_ids(main: Catalog) -> None:
    table = main.create_table("t", columns(), properties=IN_FILES)
    table.append(arrow(range(3)))
    shown = StaticTable.from_metadata(table.export_iceberg()).scan().to_arrow()
    assert rows_of(shown.rename_columns(shown.schema.names)) == [row(id) for id in range(3)]


def foreign_file(folder: Path, ids: Sequence[int]) -> str:
    """A file of another writer, whose columns have the table's names, and which has no field ids."""
    folder.mkdir(exist_ok=True)
    path = folder / f"${{user.name}} {ids[0]}.parquet"
    pyarrow.parquet.write_table(arrow(ids), path)
    return str(path)


def test_files_of_others_are_added_under_the_names_that_they_have(main: Catalog, tmp_path: Path) -> None:
    table = main.create_table("t", columns(), properties=IN_FILES)
    table.append(arrow([1]))
    table.add_files([foreign_file(tmp_path / "theirs", [2, 3])])
    assert rows_of(table.scan().to_arrow()) == [row(id) for id in (1, 2, 3)]
    table.checkpoint()
    where = "`${user.name}` >= 3000 AND `nested ${user.name}`.`a.b` < 0"
    assert rows_of(table.scan(where=where).to_arrow()) == [row(3)]
    with table.evolve() as change:
        change.rename_column(("${user.name}",), "renamed")
    expected = [
        {name.replace("${user.name}", "renamed", name == "${user.name}"): value for name, value in row(id).items()}
        for id in (1, 2, 3)
    ]
    assert rows_of(table.scan().to_arrow()) == expected
    shown = StaticTable.from_metadata(table.export_iceberg()).scan().to_arrow()
    assert rows_of(shown) == expected
    table.compact()
    assert rows_of(table.scan().to_arrow()) == expected


def test_a_file_that_calls_a_column_almost_so_is_refused(main: Catalog, tmp_path: Path) -> None:
    table = main.create_table("t", {"id": "long", "Order ID": "long"})
    path = tmp_path / "theirs.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": [1], "order id": [2]}), path)
    with pytest.raises(Invalid, match="files of the table call the column 'Order ID'"):
        table.add_files([str(path)])


@pytest.mark.long  # each name goes through Spark many times
def test_spark_reads_files_of_others_under_any_name(spark: SparkSession, main: Catalog, tmp_path: Path) -> None:
    table = main.create_table("t", columns(), properties=IN_FILES)
    table.add_files([foreign_file(tmp_path / "theirs", [1, 2])])
    assert agreed(spark, table) == [row(1), row(2)]
    assert agreed(spark, table, "`${user.name}` > 1500 AND `nested ${user.name}`.`${user.name}` < 0") == [row(2)]
    table.append(spark.createDataFrame(arrow([3])))
    table.delete("`${env.HOME}` < 2000", spark=spark)
    assert agreed(spark, table) == [row(2), row(3)]
    table.compact(spark)
    assert agreed(spark, table) == [row(2), row(3)]


@pytest.mark.long
@pytest.mark.parametrize("name", NASTY_NAMES)
def test_a_filter_on_a_column_of_any_name_prunes_the_same(spark: SparkSession, main: Catalog, name: str) -> None:
    kept = pyarrow.schema([("id", pyarrow.int64()), (name, pyarrow.int64())])
    # The property separates names by commas, and blanks around them don't count.
    blooms = {"write.bloom.columns": name} if "," not in name and name == name.strip() else {}
    parts = [f"truncate(1000, {quoted(name)})"]
    table = main.create_table("t", kept, partition_by=parts, properties=IN_FILES | blooms)
    table.append(spark.createDataFrame(arrow([1, 2]).select(["id", name])))
    table.append(arrow([3]).select(["id", name]))
    table.upsert(spark.createDataFrame(arrow([2, 4]).select(["id", name])), on=[name])
    value = row(2)[name]
    assert agreed(spark, table, f"{quoted(name)} = {value}") == [{"id": 2, name: value}]
    assert len(agreed(spark, table, f"abs({quoted(name)}) + 0 <= {value}")) == 2
    table.compact(spark)
    assert agreed(spark, table) == [{"id": id, name: row(id)[name]} for id in range(1, 5)]


@pytest.mark.long
def test_the_format_reads_and_writes_columns_of_any_name(spark: SparkSession, tmp_path: Path) -> None:
    with lakebed.connect(tmp_path / "a ${user.name}") as lake:
        table = lake.catalog().create_table("t", columns())
        source = spark.createDataFrame(arrow([1, 2])).write.format("lakebed").option("lake", lake.url)
        source.mode("append").save("t")
        found = spark.read.format("lakebed").option("lake", lake.url).load("t")
        assert rows_of(found.toArrow()) == agreed(spark, table) == [row(1), row(2)]
        some = found.where(F.col("`${user.name}`") > 1500).select("`a.b`", "`nested ${user.name}`.`a.b`")
        assert [tuple(one) for one in some.collect()] == [(row(2)["a.b"], -2001)]


@pytest.mark.long
def test_an_attached_session_writes_columns_of_any_name(spark: SparkSession, tmp_path: Path) -> None:
    with lakebed.connect(tmp_path / "lake") as lake:
        lakebed.spark.attach(spark, lake)
        try:
            frame = spark.createDataFrame(arrow([1]))
            lake.catalog().create_namespace("s")
            frame.write.saveAsTable("s.saved")
            frame.write.insertInto("s.saved")
            frame.writeTo("s.saved").append()
            frame.write.partitionBy("${user.name}", "a.b", "💧").saveAsTable("s.parted")
            spark.sql("CREATE TABLE s.copy AS SELECT *, '${env:HOME}' AS `x ${env:HOME}` FROM s.parted")
            spark.sql("INSERT OVERWRITE s.parted SELECT * FROM s.saved WHERE `${user.name}` > 0 LIMIT 1")
            assert spark.table("s.saved").count() == 3
            assert rows_of(spark.table("s.parted").toArrow()) == [row(1)]
            assert rows_of(spark.table("s.copy").toArrow()) == [{**row(1), "x ${env:HOME}": "${env:HOME}"}]
        finally:
            lakebed.spark.detach(spark)


@pytest.mark.long
def test_partition_values_and_places_of_any_name(spark: SparkSession, tmp_path: Path) -> None:
    values = ["${user.name}", "__HIVE_DEFAULT_PARTITION__", "", None, "a/b", "a=b", "..", ".", "%2F", "\\", "💧", "n"]
    values += ["x" * 300, "x61", "h", " ", "null", "'", "\0", "\n"]
    rows = pyarrow.table({"id": range(len(values)), "p": values, "q": values[::-1]})
    for place in ("p${user.name}q", "a %41#?&;'\"`{}[]*\\$ 💧"):
        with lakebed.connect(tmp_path / place) as lake:
            columns = {"id": "long", "p": "string", "q": "string"}
            where = {"location": "at ${user.name}"} if "[" not in place else {}
            table = lake.catalog().create_table("t", columns, partition_by=["p", "truncate(20, q)"], **where)
            table.append(spark.createDataFrame(rows))
            table.compact(spark)
            assert rows_of(table.read(spark).toArrow()) == rows_of(table.scan().to_arrow()) == rows.to_pylist()
            for id, value in enumerate(values):
                is_it = lakebed.col("p").is_null() if value is None else lakebed.col("p") == value
                assert [one["id"] for one in table.read(spark, where=is_it).collect()] == [id]


@pytest.mark.long
def test_tables_namespaces_and_branches_of_any_name(spark: SparkSession, lake: Lake, main: Catalog) -> None:
    main.create_namespace(("${user.name}",))
    names = [name for name in NASTY_NAMES if not set(name) & set("|/@#")]
    for name in names:
        table = main.create_table(("${user.name}", name), {"id": "long"})
        lake.sql(spark, f"INSERT INTO `${{user.name}}`.{quoted(name)} VALUES (1)")
        found = lake.sql(spark, f"SELECT id AS {quoted(name)} FROM `${{user.name}}`.{quoted(name)}")
        assert found.columns == [name] and found.count() == table.scan().count() == 1
    for name in VARIABLES:
        main.create_branch(name)
        other = lake.create_catalog(f"in {name}")
        other.create_namespace("s")
        table = other.create_table("s.t", {"id": "long"}, properties={name: name})
        table.append(pyarrow.table({"id": [1]}))
        other.create_tag(f"at {name}")
        assert table.properties[name] == name
        for text in (
            f"SELECT count(*) FROM `${{user.name}}`.{quoted(f'${{nope}}@{name}')}",
            f"SELECT count(*) FROM {quoted(f'in {name}')}.s.t",
            f"SELECT count(*) FROM {quoted(f'in {name}')}.s.{quoted(f't@at {name}')}",
        ):
            assert lake.sql(spark, text).collect() == [(1,)], text
