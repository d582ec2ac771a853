"""Differences of rows on Spark: the same as by the local engine, in any history."""

import random

import pytest

import lakebed
from tests.support.examples import examples
from tests.support.feeds import STEPS, History, state_of
from tests.support.row_differences import expected, found_of, patched


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with lakebed.connect(tmp_path_factory.mktemp("differences") / "a lake") as lake:
        yield lake


def on_spark(rows, spark):
    """Differences that Spark reads, as values."""
    found = [row.asDict(recursive=True) for row in rows.read(spark).collect()]
    return [
        lakebed.RowDifference(
            row["change"], row.get("key") or {}, row["row_id"], tuple(row["columns"]), row["before"], row["after"]
        )
        for row in found
    ]


def by_text(rows):
    return sorted(rows, key=repr)


def test_both_engines_find_the_same_differences_and_they_turn_one_state_into_the_other(lake, spark):
    for number in range(examples(1, 12)):
        chosen = random.Random(number)
        main = lake.create_catalog(f"c{number}")
        wanted = ["files" if number % 2 else "inline", "append", "update", "merge", "compact", "delete", "upsert"]
        steps = [(name, chosen.randrange(10)) for name in [*wanted, *chosen.choices(STEPS, k=examples(2, 6))]]
        history = History(main, steps)
        one, other = history.versions[chosen.randrange(4)], history.versions[-1]
        for first, second in ((main.at(one), main.at(other)), (main.at(other), main.at(one))):
            [found] = [difference for difference in first.diff(second) if difference.type == "table"]
            rows = on_spark(found.rows(), spark)
            assert by_text(rows) == by_text(found.rows()), number
            newest = second.table("s.t").schema
            assert found_of(rows) == expected(first.table("s.t"), second.table("s.t"), newest)
            before, after = (state_of(state.table("s.t"), newest).values() for state in (first, second))
            assert patched(before, rows) == patched(after, [])


def test_keys_conditions_columns_and_limits_are_those_of_the_local_engine(lake, spark):
    main = lake.create_catalog("keys")
    types = {"at": "struct<x: long, y: string>", "odd name.x": "map<string, double>", "when": "timestamptz"}
    table = main.create_table("t", types, primary_key=["at.x"])

    def row(x, value):
        return {"at": {"x": x, "y": "a"}, "odd name.x": {"k": value}, "when": None}

    table.append([row(number, 1.0) for number in range(6)])
    before = main.version
    table.delete("at.x in (1, 2)")
    table.append([row(1, 2.0), row(2, 1.0), row(9, 1.0)])
    table.delete("at.x = 5")
    [found] = main.at(before).diff(main)
    assert [(row.change, row.key) for row in found.rows()] == [
        ("deleted", {"at.x": 5}),
        ("updated", {"at.x": 1}),
        ("inserted", {"at.x": 9}),
    ]
    assert found.rows(where="at.x = 5").read(spark).count() == found.rows(where="at.x = 5").count() == 1
    assert found.rows(where="at.x + 0 = 5 and length(at.y) = 1").read(spark).count() == 1
    assert found.rows(columns=["when"]).read(spark).count() == found.rows(columns=["when"]).count() == 2
    assert found.rows(limit=2).read(spark).count() == 2
    frame = found.rows().read(spark)
    assert frame.columns == found.rows().to_arrow().column_names
    changed = frame.where("change = 'updated'").collect()[0]
    assert (changed["columns"], changed["before"]["odd name.x"]) == (["odd name.x"], {"k": 1.0})


def test_editions_and_tables_that_one_state_does_not_have_are_compared(lake, spark):
    main = lake.create_catalog("editions")
    table = main.create_table("t", {"id": "long", "v": "string"}, primary_key=["id"])
    table.append([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    before = main.version
    table.create_edition("2", {"id": "long", "v": "string"}, primary_key=["id"])
    table.edition("2").append([{"id": 2, "v": "c"}, {"id": 3, "v": "d"}])
    table.activate("2")
    main.create_table("new", {"a": "int"}).append([{"a": 1}])
    main.create_table("empty", {"a": "int"})
    for first, second in ((main.at(before), main), (main, main.at(before))):
        for difference in first.diff(second):
            if difference.type in ("table", "edition"):
                found = by_text(on_spark(difference.rows(), spark))
                local = by_text(difference.rows())
                assert found == local, difference


def test_a_check_of_bisect_can_be_run_by_spark(lake, spark):
    main = lake.create_catalog("bisect")
    main.create_namespace("s")
    table = main.create_table("s.t", {"id": "long"})
    for number in range(6):
        table.append([{"id": number}], message=f"load {number}")
    found = main.bisect(-5, main.version, "SELECT count(*) < 4 FROM s.t", spark=spark)
    assert found.commit.message == "load 3"
    with pytest.raises(lakebed.Invalid):
        main.bisect(-5, main.version, "SELECT id FROM s.t", spark=spark)
