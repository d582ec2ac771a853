"""Rows and keys come to this process if they are few, and stay with the executors if they are many: to the same end."""

import datetime

import pyarrow
import pytest
from pyspark.sql import functions as F

import lakebed
from lakebed import Invalid, when_matched_delete, when_matched_update, when_not_matched_insert
from lakebed.spark.rows import addresses, upsert
from lakebed.spark.rows.source import SHORT, source_keys_with_repeats, stable_rows
from lakebed.table.filter.filter import OneOf
from lakebed.table.types.types import DATE, LONG, STRING, TIMESTAMPTZ, Field

SCHEMA = {"id": "long", "name": "string"}


@pytest.fixture(params=["few", "many"])
def limit(request, monkeypatch):
    """How many rows are few; the limit in the middle of what is changed is that of few."""
    if request.param == "many":
        monkeypatch.setattr(addresses, "FEW", 1)
        monkeypatch.setattr(upsert, "FEW", 1)


@pytest.fixture
def table(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        found = lake.catalog().create_table("orders", SCHEMA, properties={"write.inline-bytes": "0"})
        for start in (0, 5):
            found.append(rows(range(start, start + 5), "old"))
        found.append(rows([7], "twice"))
        yield found


def rows(ids, name):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64()), "name": [name] * len(ids)})


def shown(table):
    found = table.scan(columns=["id", "name", "_row_id"]).to_arrow().to_pylist()
    return sorted((one["id"], one["name"], one["_row_id"]) for one in found)


@pytest.mark.sampled(2)
def test_the_rows_and_their_ids_are_the_same_after_every_change(table, spark, limit):
    first = {id: number for id, _, number in reversed(shown(table))}  # of two rows with one key the lesser
    table.delete("id IN (0, 1, 6)", spark)
    table.update({"name": "concat(name, '!')"}, "id IN (2, 3, 5)", spark)
    new = spark.createDataFrame(rows([3, 4, 7, 20], "new"))
    table.upsert(new, "id")
    merged = spark.createDataFrame(rows([2, 8, 9], "merged"))
    table.merge(merged, "id", when_matched_delete("target.id = 9"), when_matched_update())
    ids = {id: number for id, _, number in shown(table)}
    names = {2: "merged", 3: "new", 4: "new", 5: "old!", 7: "new", 8: "merged"}
    assert shown(table) == [*((id, name, first[id]) for id, name in names.items()), (20, "new", ids[20])]
    assert ids[20] > max(first.values())


@pytest.mark.sampled(2)
def test_a_row_that_two_of_the_source_match_is_refused(table, spark, limit):
    before = shown(table)
    source = spark.createDataFrame(rows([2, 3, 3], "new"))
    with pytest.raises(Invalid, match="id = 3"):
        table.merge(source, "id", when_matched_update(), when_not_matched_insert())
    assert shown(table) == before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ids", [[2, 2, 3], [None, 3, 4]], ids=["twice", "null"])
def test_keys_that_are_wrong_are_refused(table, spark, limit, ids):
    before = shown(table)
    with pytest.raises(Invalid, match="id = 2" if ids[0] else "null"):
        table.upsert(spark.createDataFrame(rows(ids, "new")), "id")
    assert shown(table) == before


def test_what_is_known_of_keys_is_the_same_wherever_they_are_looked_at(spark, monkeypatch):
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    values = [(id, start + datetime.timedelta(hours=id), start.date(), f"é{id}") for id in range(300)]
    source = stable_rows(spark.createDataFrame(values, "i bigint, t timestamp, d date, s string"))
    types = {"i": LONG, "t": TIMESTAMPTZ, "d": DATE, "s": STRING}
    keys = {Field(name, type, id=place): F.col(name) for place, (name, type) in enumerate(types.items(), 1)}
    here = source_keys_with_repeats(source, keys)
    monkeypatch.setattr(addresses, "FEW", 299)
    there = source_keys_with_repeats(source, keys)
    assert (here.rows, here.filter) == (there.rows, there.filter)
    assert any(isinstance(one, OneOf) for one in here.filter.parts)
    assert not any(there.nulls.values())


def test_a_long_key_is_not_taken_for_a_null(table, spark):
    long = "x" * (SHORT + 1)
    table.upsert(spark.createDataFrame(rows([50], long)), "name")
    table.upsert(spark.createDataFrame(rows([51], long)), "name")
    assert [one[:2] for one in shown(table) if one[0] >= 50] == [(51, long)]
