"""SQL's MERGE by Spark, as the local engine does it on an equal table, and what only Spark can do."""

import random
import re

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import (
    Catalog,
    Invalid,
    Table,
    lit,
    when_matched_delete,
    when_matched_update,
    when_not_matched_by_source_delete,
    when_not_matched_by_source_update,
    when_not_matched_insert,
)
from tests.support.examples import long_but

SCHEMA = {"id": "long", "name": "string", "n": "int"}
FORM = pyarrow.schema({"id": pyarrow.int64(), "name": pyarrow.string(), "n": pyarrow.int32()})


def arrow(*rows):
    return pyarrow.Table.from_pylist([dict(zip(SCHEMA, one, strict=True)) for one in rows], FORM)


def frame(spark, rows):
    return spark.createDataFrame(rows)


@pytest.fixture
def main(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake.catalog()


def twins(main, **layout):
    found = []
    for name in ("local", "spark"):
        table = main.create_table(name, SCHEMA, properties={"write.inline-bytes": "0"}, **layout)
        table.append(arrow(*((id, f"a{id}", id) for id in range(10))))
        table.append(arrow(*((id, None, None) for id in range(10, 20))))
        table.delete("id = 3")
        table.set_properties({"write.inline-bytes": "64000"})
        table.append(arrow((20, "inline", 20), (21, "inline", 21)))
        found.append(table)
    return found


def rows(table):
    return sorted(table.scan().to_arrow().to_pylist(), key=repr)


def old_ids(table):
    found = table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    return {one["id"]: one["_row_id"] for one in found if one["_row_id"] <= 22}


def counts(commit):
    [operation] = commit.operations
    return operation.type, {name: operation.counts.get(name, 0) for name in ("added_rows", "removed_rows")}


CASES = {
    "all": ("id", [when_matched_update(), when_not_matched_insert()]),
    "conditions": (
        "target.id = source.id",
        [
            when_matched_delete("source.n > target.n + 10"),
            when_matched_update({"name": "concat(target.name, '-', source.name)", "n": lit(-1)}, "target.id < 12"),
            when_not_matched_insert({"id": "source.id", "name": "upper(name)"}, "source.n IS NOT NULL"),
            when_not_matched_insert({"id": "id"}),
        ],
    ),
    "deletes": (["id"], [when_matched_delete()]),
    "the others": (
        "id",
        [
            when_matched_update({"n": "source.n"}),
            when_not_matched_by_source_update({"n": "n + 100", "name": "target.name || id"}, "id < 5"),
            when_not_matched_by_source_delete("id IN (18, 21)"),
        ],
    ),
    "inserts alone": ("id", [when_not_matched_insert()]),
}


@pytest.mark.parametrize("case", long_but(CASES, ["all", "the others"]), ids=[one.replace(" ", "_") for one in CASES])
def test_a_merge_does_what_the_local_engine_does(main, spark, case):
    on, clauses = CASES[case]
    local, other = twins(main)
    chance = random.Random(case)
    source = arrow(
        *((id, chance.choice(["x", None]), chance.choice([None, 1, 50])) for id in chance.sample(range(30), 12))
    )
    assert counts(other.merge(frame(spark, source), on, *clauses)) == counts(local.merge(source, on, *clauses))
    assert rows(other) == rows(local)
    assert old_ids(other) == old_ids(local)


def test_only_files_that_may_match_are_read_and_of_them_the_key_alone(main, spark, monkeypatch):
    _, table = twins(main)
    seen = []
    read = lakebed.spark.rows.merge.placed_rows

    def files(source, schema, data_files, filter, columns):
        seen.append(len(data_files))
        return read(source, schema, data_files, filter, columns)

    monkeypatch.setattr("lakebed.spark.rows.merge.placed_rows", files)
    plans = []
    paired = lakebed.spark.rows.merge._pairs

    def noted(merge, target):
        found = paired(merge, target)
        plans.append(found._jdf.queryExecution().executedPlan().toString())
        return found

    monkeypatch.setattr("lakebed.spark.rows.merge._pairs", noted)
    table.merge(frame(spark, arrow((15, "new", 1))), "id", when_matched_update())
    assert seen == [1]
    [read_schema] = re.findall(r"ReadSchema: struct<([^>]*)>", plans[0])
    names = {one.partition(":")[0] for one in read_schema.split(",")}
    assert names - {"_tmp_metadata_row_index"} == {"id", "_row_id"}
    assert "BroadcastHashJoin" in plans[0]
    assert table.scan("id = 15").to_arrow().to_pylist() == [{"id": 15, "name": "new", "n": 1}]


def test_any_condition_may_match_rows(main, spark):
    _, table = twins(main)
    source = spark.createDataFrame([(0, 4, "low"), (15, 17, "high")], "first long, last long, label string")
    table.merge(
        source,
        "target.id BETWEEN source.first AND source.last AND target.id % 2 = 0",
        when_matched_update({"name": "label"}),
    )
    found = {one["id"]: one["name"] for one in table.scan("name IN ('low', 'high')").to_arrow().to_pylist()}
    assert found == {0: "low", 2: "low", 4: "low", 16: "high"}


def test_a_source_that_is_never_the_same_is_looked_at_once(main, spark):
    _, table = twins(main)
    source = (
        spark.range(100, 140).selectExpr("id", "uuid() AS name", "cast(rand() * 1000 AS int) AS n").where("n > 300")
    )
    commit = table.merge(source, "id", when_matched_update(), when_not_matched_insert())
    added = commit.operations[0].counts["added_rows"]
    names = table.scan("id >= 100").to_arrow()["name"].to_pylist()
    assert len(names) == added == len(set(names))
    assert min(table.scan("id >= 100").to_arrow()["n"].to_pylist()) > 300


@pytest.mark.long
def test_rows_that_several_of_the_source_match_are_refused_unless_they_go_anyway(main, spark):
    local, table = twins(main)
    source = arrow((1, "x", 1), (1, "y", 2), (2, "z", 1))
    version = table.version
    for clauses in ([when_matched_update()], [when_matched_delete("source.n = 1")]):
        with pytest.raises(Invalid, match="more than one row of the source") as caught:
            table.merge(frame(spark, source), "id", *clauses)
        assert "id = 1" in str(caught.value)
        assert "spark" in str(caught.value)
        with pytest.raises(Invalid, match="more than one row of the source"):
            local.merge(source, "id", *clauses)
    assert table.version == version
    assert counts(table.merge(frame(spark, source), "id", when_matched_delete())) == (
        "merge_rows",
        {"added_rows": 0, "removed_rows": 2},
    )


@pytest.mark.long
def test_bad_merges_say_what_is_wrong_and_change_nothing(main, spark):
    _, table = twins(main, primary_key=["id"])
    source = frame(spark, arrow((1, "x", 1), (50, "y", 2)))
    twice = frame(spark, arrow((50, "x", 1), (50, "y", 2)))
    before, version = rows(table), table.version
    bad = [
        (lambda: table.merge(source, "nothing", when_matched_update()), "no such column"),
        (lambda: table.merge(source, "target.id = source.nothing", when_matched_update()), "no such column"),
        (lambda: table.merge(source, "target.id = = source.id", when_matched_update()), "can't be read by Spark"),
        (lambda: table.merge(source, "id", when_matched_update({"n": "n + 1"})), "ambiguous"),
        (lambda: table.merge(source, "id", when_matched_update({"n": "source.name"})), "column 'n'"),
        (lambda: table.merge(source.drop("n"), "id", when_matched_update()), "some are missing in the source"),
        (
            lambda: table.merge(source, "id", when_matched_delete(), when_matched_update()),
            "no row can reach this clause",
        ),
        (lambda: table.merge(source, "id", when_not_matched_insert({"name": "'x'"})), "required"),
        (lambda: table.merge(twice, "id", when_not_matched_insert()), "id = 50: a key comes twice"),
        (lambda: table.merge(source, "id", when_matched_update({"n": "1 / (source.n - 1)"})), "DIVIDE_BY_ZERO"),
    ]
    for call, told in bad:
        with pytest.raises(Invalid) as caught:
            call()
        assert told in str(caught.value)
    assert rows(table) == before
    assert table.version == version


def test_an_empty_source_changes_nothing_but_rows_that_it_does_not_match(main, spark):
    _, table = twins(main)
    none = frame(spark, arrow((1, "x", 1))).where("id > 1")
    before = rows(table)
    table.merge(none, "id", when_matched_update(), when_not_matched_insert())
    assert rows(table) == before
    table.merge(none, "id", when_not_matched_by_source_delete("id < 15"))
    assert {one["id"] for one in rows(table)} == {15, 16, 17, 18, 19, 20, 21}


def values(table: Table, name: str) -> list[object]:
    return sorted(table.scan().to_arrow()[name].to_pylist(), key=repr)


@pytest.mark.parametrize("name", long_but(["gone_at", "source.id", "source.gone_at"], ["source.id"]))
def test_rows_that_the_source_does_not_match_were_deleted_by_its_own_columns(
    main: Catalog, spark: SparkSession, name: str
) -> None:
    table = main.create_table("t", {"id": "long", "n": "long"})
    table.append(pyarrow.table({"id": [1, 2], "n": [1, 2]}))
    source = spark.createDataFrame(pyarrow.table({"id": [1], "n": [10], "gone_at": [5]}))
    for clause in (
        when_not_matched_by_source_delete(f"{name} is null"),
        when_not_matched_by_source_update({"n": name}),
        when_not_matched_by_source_update({"n": "0"}, f"{name} is null"),
    ):
        with pytest.raises(Invalid, match="there is no such column"):
            table.merge(source, "id", clause)
    assert values(table, "n") == [1, 2]
    table.merge(source, "id", when_not_matched_by_source_update({"n": "target.n + id"}, "target.n = n"))
    assert values(table, "n") == [1, 4]


@pytest.mark.long
def test_a_source_of_many_columns_was_too_deep_for_java(main: Catalog, spark: SparkSession) -> None:
    table = main.create_table("t", {"id": "long"})
    table.append(pyarrow.table({"id": [1, 2]}))
    wide = pyarrow.table({"id": [2], **{f"c{one}": ["x"] for one in range(700)}})
    table.merge(spark.createDataFrame(wide), "id", when_matched_delete())
    assert values(table, "id") == [1]
