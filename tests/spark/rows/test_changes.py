"""Rows that Spark deletes, updates, upserts and overwrites: as the local engine does on an equal table."""

import datetime
import random
from decimal import Decimal

import pyarrow
import pytest

import lakebed
from lakebed import Conflict, Invalid, col, lit
from lakebed.spark import engine
from tests.support.examples import long_but

SCHEMA = {"id": "long", "name": "string", "amount": "decimal(8, 2)", "n": "int", "day": "date"}
FORM = pyarrow.schema(
    {
        "id": pyarrow.int64(),
        "name": pyarrow.string(),
        "amount": pyarrow.decimal128(8, 2),
        "n": pyarrow.int32(),
        "day": pyarrow.date32(),
    }
)
START = datetime.date(2026, 1, 1)


def row(id, chance):
    name = chance.choice(["ann", "bob", None, "it's"])
    amount = chance.choice([None, Decimal(chance.randrange(-9999, 9999)) / 100])
    return {
        "id": id,
        "name": name,
        "amount": amount,
        "n": chance.choice([None, chance.randrange(-5, 5)]),
        "day": START + datetime.timedelta(days=chance.randrange(4)),
    }


def arrow(rows):
    return pyarrow.Table.from_pylist(list(rows), FORM)


def frame(spark, rows):
    return spark.createDataFrame(arrow(rows))


@pytest.fixture
def lake(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        yield lake


@pytest.fixture
def main(lake):
    return lake.catalog()


def twins(main, chance=None, count=40, **layout):
    """Two equal tables of three files, of which one has deleted rows, and of inline rows."""
    chance = chance or random.Random(3)
    parts = [[row(id, chance) for id in range(start, count, 4)] for start in range(4)]
    found = []
    for name in ("local", "spark"):
        table = main.create_table(name, SCHEMA, properties={"write.inline-bytes": "0"}, **layout)
        for part in parts[:3]:
            table.append(arrow(part))
        table.delete("id = 4")
        table.set_properties({"write.inline-bytes": "64000"})
        table.append(arrow(parts[3]))
        found.append(table)
    return found


def shown(table):
    return sorted(map(repr, table.scan(columns=[*SCHEMA, "_row_id"]).to_arrow().to_pylist()))


def values(table):
    return sorted(map(repr, table.scan(columns=list(SCHEMA)).to_arrow().to_pylist()))


def row_ids(table):
    found = table.scan(columns=["id", "_row_id"]).to_arrow().to_pylist()
    return {one["id"]: one["_row_id"] for one in found}


def kept(before, after):
    """The rows that have the ids that they had."""
    return {id for id, number in after.items() if before.get(id) == number}


def counts(commit):
    [operation] = commit.operations
    return operation.type, {name: operation.counts.get(name, 0) for name in ("added_rows", "removed_rows")}


def assert_alike(tables, before):
    """The same rows; those that were there in both have the ids that they had, and no id is there twice."""
    local, spark = tables
    after = [row_ids(one) for one in tables]
    assert values(spark) == values(local)
    assert kept(before[1], after[1]) == kept(before[0], after[0])
    numbers = spark.scan(columns=["_row_id"]).to_arrow()["_row_id"].to_pylist()
    assert None not in numbers
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    "layout", long_but([{}, {"partition_by": ["day"]}], [{"partition_by": ["day"]}]), ids=["plain", "by day"]
)
def test_changes_one_after_another_are_those_of_the_local_engine(main, spark, layout):
    """Random data, and every call on what the ones before it left: of both engines on both tables in turn."""
    chance = random.Random(11)
    local, other = tables = twins(main, chance, **layout)
    steps = [
        lambda table, session: table.delete("id IN (1, 8) OR name IS NULL AND n > 2", session),
        lambda table, session: table.update(
            {"amount": "amount * 2", "n": "coalesce(n, 0) + 1", "name": lit("it's")}, "n > 0", session
        ),
        lambda table, session: table.update({"day": lit(START)}, col("id").between(10, 14), session),
        lambda table, session: table.delete("day = DATE '2026-01-03'", session),
    ]
    for step in steps:
        before = [row_ids(one) for one in tables]
        assert counts(step(other, spark)) == counts(step(local, None))
        assert_alike(tables, before)
    new = [row(id, chance) for id in (2, 3, 30, 100, 101)]
    before = [row_ids(one) for one in tables]
    assert counts(other.upsert(frame(spark, new), "id")) == counts(local.upsert(arrow(new), "id"))
    assert_alike(tables, before)
    again = [row(id, chance) for id in (200, 201)]
    before = [row_ids(one) for one in tables]
    where = "id < 20 AND day >= DATE '2026-01-02'"
    assert counts(other.overwrite(frame(spark, again), where)) == counts(local.overwrite(arrow(again), where))
    assert_alike(tables, before)
    if layout:
        last = [{**row(300, chance), "day": START}]
        assert counts(other.overwrite_partitions(frame(spark, last))) == counts(local.overwrite_partitions(arrow(last)))
        assert values(other) == values(local)


def test_sql_that_only_spark_knows_changes_the_rows_that_it_says(main, spark):
    _, table = twins(main)
    expected = [one for one in table.scan().to_arrow()["id"].to_pylist() if not (one > 5 and one % 7 == 3)]
    table.delete("id > 5 AND pmod(id, 7) = 3", spark)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == sorted(expected)
    table.update({"name": "format_string('%d!', id)"}, "id IN (SELECT id * 2 FROM range(6)) AND id > 2", spark)
    assert set(table.scan("name LIKE '%!'").to_arrow()["name"].to_pylist()) == {"6!", "8!"}


def test_a_delete_that_covers_files_reads_none_of_them(main, spark, monkeypatch):
    table = main.create_table("t", SCHEMA, properties={"write.inline-bytes": "0"}, partition_by=["day"])
    chance = random.Random(5)
    table.append(arrow([{**row(id, chance), "day": START} for id in range(5)]))
    monkeypatch.setattr("lakebed.spark.rows.delete.placed_rows", None)  # whoever reads rows fails
    commit = table.delete(col("day") == START, spark)
    assert counts(commit) == ("delete", {"added_rows": 0, "removed_rows": 5})


def test_an_upsert_of_few_rows_reads_no_file_that_can_not_have_them(main, spark, monkeypatch):
    table = main.create_table("t", SCHEMA, properties={"write.inline-bytes": "0"}, primary_key=["id"])
    chance = random.Random(5)
    for start in range(0, 50, 10):
        table.append(arrow(row(id, chance) for id in range(start, start + 10)))
    seen = []
    own = lakebed.spark.rows.upsert.placed_rows

    def noted(source, schema, files, filter, columns):
        seen.append((len(files), list(columns)))
        return own(source, schema, files, filter, columns)

    monkeypatch.setattr("lakebed.spark.rows.upsert.placed_rows", noted)
    table.upsert(frame(spark, [row(12, chance), row(13, chance)]))
    assert seen == [(1, ["id"])]
    assert table.scan().count() == 50
    assert {one.file.level for one in table.scan()._plan.files} == {0}


def test_a_transaction_changes_its_own_rows_and_commits_once(main, spark):
    local, other = twins(main)
    before = [row_ids(one) for one in (local, other)]
    chance = random.Random(9)
    fresh = [row(id, chance) for id in (500, 501, 502)]
    newer = [row(id, chance) for id in (0, 501, 600)]
    for name, session, given in (("local", None, arrow(newer)), ("spark", spark, frame(spark, newer))):
        with main.transaction() as transaction:
            table = transaction.table(name)
            table.append(arrow(fresh))
            table.update({"n": "id + 1"}, "id >= 500", session)
            table.delete("id IN (3, 502)", session)
            table.upsert(given, "id")
            assert table.scan("id = 500").to_arrow()["n"].to_pylist() == [501]
    assert values(other) == values(local)
    assert_alike((local, other), before)


@pytest.fixture
def same(lake, main, tmp_path):
    """That what happens inside changes no table and no file."""

    def state():
        files = {str(one) for one in (tmp_path / "lake").rglob("*") if one.suffix in (".parquet", ".puffin")}
        return files, main.table("spark").version, shown(main.table("spark"))

    return state


@pytest.mark.long
def test_bad_calls_say_what_is_wrong_and_change_nothing(main, spark, same, capfd):
    _, table = twins(main)
    before = same()
    one = row(1, random.Random(1))
    bad = [
        (lambda: table.delete("nothing = 1", spark), "spark: `nothing`: there is no such column"),
        (lambda: table.delete(col("nothing") == 1, spark), "no such column"),
        (lambda: table.delete("id = 1", "spark"), "not a Spark session"),
        (lambda: table.update({"nothing": "1"}, None, spark), "no such column"),
        (lambda: table.update({}, None, spark), "values are given by column"),
        (lambda: table.update({"n": "id * 3000000000"}, "id > 0", spark), "column 'n'"),
        (lambda: table.update({"n": "1 / (id - 5)"}, None, spark), "DIVIDE_BY_ZERO"),
        (lambda: table.update({"n": "name"}, None, spark), "can't be stored"),
        (lambda: table.update({"n": 5}, None, spark), "lakebed.lit(5)"),
        (lambda: table.update({"n": "(SELECT"}, None, spark), "can't be read by Spark"),
        (lambda: table.upsert(frame(spark, [one, one]), "id"), "1 repeated keys"),
        (lambda: table.upsert(frame(spark, [{**one, "id": None}]), "id"), "1 rows without a value"),
        (lambda: table.upsert(frame(spark, [one]).withColumnRenamed("n", "m"), "id"), "m is not a column of the table"),
        (lambda: table.upsert(frame(spark, [one])), "no primary key"),
        (lambda: table.overwrite(frame(spark, [one]), "nothing = 1"), "there is no such column"),
    ]
    for call, told in bad:
        with pytest.raises(Invalid) as caught:
            call()
        assert told in str(caught.value)
        assert same() == before
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()
    told = capfd.readouterr()
    assert "Exception" not in told.out + told.err


def test_a_null_in_a_required_column_is_refused(main, spark):
    schema = lakebed.Schema([lakebed.Field("id", "long", required=True), lakebed.Field("n", "int")])
    table = main.create_table("t", schema)
    table.append(
        pyarrow.table({"id": pyarrow.array([1], pyarrow.int64()), "n": pyarrow.array([None], pyarrow.int32())})
    )
    with pytest.raises(Invalid, match="required"):
        table.update({"id": "n"}, None, spark)
    with pytest.raises(Invalid, match="not null"):
        table.update({"id": lit(None)}, None, spark)
    assert table.scan().to_arrow()["id"].to_pylist() == [1]


def test_a_change_that_lost_a_race_is_made_again_and_in_the_end_says_what_to_do(main, lake, spark, monkeypatch, same):
    _, table = twins(main)
    rival = lake.catalog().table("spark")
    own, races = engine.delete_rows, iter(range(1000))

    def overtaken(target, source, where):
        made = own(target, source, where)
        if next(races) != 1:  # the second attempt is left alone
            rival.append(arrow([row(7, random.Random(1))]))
        return made

    monkeypatch.setattr(engine, "delete_rows", overtaken)
    monkeypatch.setattr(engine.SparkEngine, "attempts", 2)
    assert counts(table.delete("id = 7", spark)) == ("delete", {"added_rows": 0, "removed_rows": 2})
    rival.append(arrow([row(7, random.Random(2))]))  # a delete of nothing can't lose a race
    with pytest.raises(Conflict, match="made 2 times") as caught:
        table.delete("id = 7", spark)
    assert "fewer write" in caught.value.advice


def test_copy_on_write_by_spark_has_the_rows_and_the_lineage_of_vectors(main, spark):
    vectors, copies = twins(main)
    copies.set_properties({"write.row-changes": "copy-on-write"})
    before = [row_ids(one) for one in (vectors, copies)]
    new = [row(id, random.Random(4)) for id in (5, 700)]
    for table, session in ((vectors, None), (copies, spark)):
        table.delete("id IN (6, 9)", session)
        table.upsert(arrow(new) if session is None else frame(spark, new), "id")
    assert_alike((vectors, copies), before)
    columns = ["id", "_last_updated_sequence_number"]
    old = [
        {one["id"]: one["_last_updated_sequence_number"] for one in table.scan(columns=columns).to_arrow().to_pylist()}
        for table in (vectors, copies)
    ]
    assert {id: number for id, number in old[0].items() if id not in (5, 700)} == {
        id: number for id, number in old[1].items() if id not in (5, 700)
    }
    vectors_left = [one.file for one in copies.scan()._plan.files if one.file.HasField("dv_path")]
    assert [one.deleted_rows for one in vectors_left] == [1]  # that of id 4, from before


def test_a_delete_whose_condition_is_missing_deleted_every_row(main, spark):
    table = main.create_table("kept", {"id": "long"})
    table.append(pyarrow.table({"id": [1, 2, 3]}))
    with pytest.raises(Invalid):
        table.delete(None, spark)
    assert table.scan().count() == 3
