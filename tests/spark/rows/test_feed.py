"""The change feed on Spark: the same rows as by the local engine, in any history."""

import random

import pytest

import lakebed
from tests.support.examples import examples
from tests.support.feeds import STEPS, History, applied, events_of, state_of


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with lakebed.connect(tmp_path_factory.mktemp("feeds") / "a lake") as lake:
        yield lake


def on_spark(feed, spark):
    """The rows of a feed that Spark reads, as type, row id and values, in no order."""
    events = []
    for row in feed.read(spark).collect():
        found = row.asDict(recursive=True)
        values = tuple(value for name, value in found.items() if name not in lakebed_names)
        events.append((found["_change_type"], found["_row_id"], values))
    return sorted(events, key=repr)


lakebed_names = ("_change_type", "_commit_version", "_commit_timestamp", "_row_id")


def test_both_engines_show_the_same_rows_of_a_feed(lake, spark):
    for number in range(examples(1, 12)):
        chosen = random.Random(number)
        main = lake.create_catalog(f"c{number}")
        wanted = [
            "files" if number % 2 else "inline",
            "append",
            "update",
            "merge",
            "disputed merge",
            "compact",
            "rewrite rows",
        ]
        steps = [(name, chosen.randrange(10)) for name in [*wanted, *chosen.choices(STEPS, k=examples(2, 6))]]
        history = History(main, steps)
        table, first = history.table, history.versions[chosen.randrange(len(history.versions) // 2)]
        before, after = state_of(table.at(first), table.schema), state_of(table, table.schema)
        for net in (False, True):
            feed = table.changes(first, net=net)
            rows = on_spark(feed, spark)
            assert rows == sorted(events_of(feed.to_arrow()), key=repr), (number, net)
        assert (
            applied(
                before,
                [event for event in rows if event[0] in ("delete", "update_preimage")]
                + [event for event in rows if event[0] in ("insert", "update_postimage")],
            )
            == after
        )


def test_a_feed_on_spark_has_the_columns_types_and_rows_that_were_asked_for(lake, spark):
    main = lake.create_catalog("asked")
    table = main.create_table("t", {"id": "long", "odd name.x": "map<string, double>", "when": "timestamptz"})
    table.append([{"id": number, "odd name.x": [("a", 1.0)]} for number in range(5)])
    start = table.version
    table.update({"id": "id + 10"}, "id < 2")
    table.delete("id = 3")
    feed = table.changes(start, where="_change_type <> 'delete' and abs(id) > 0", columns=["id"])
    shown = feed.read(spark)
    assert shown.columns == ["id", *lakebed_names]
    assert [str(field.dataType) for field in shown.schema][2:] == ["DecimalType(29,0)", "TimestampType()", "LongType()"]
    local = feed.to_arrow().to_pylist()
    found = sorted((row.asDict() for row in shown.collect()), key=lambda row: (row["_row_id"], row["id"]))
    assert [(row["id"], row["_change_type"], row["_commit_version"]) for row in found] == [
        (row["id"], row["_change_type"], row["_commit_version"]) for row in local
    ]
    only_spark = table.changes(start, where="soundex(_change_type) = soundex('delete')")
    assert [row.id for row in only_spark.read(spark).collect()] == [3]
    with pytest.raises(lakebed.Invalid, match="Only Spark evaluates this"):
        only_spark.to_arrow()
    nothing = table.changes(table.version)
    assert (nothing.read(spark).count(), nothing.read(spark).columns) == (0, list(nothing.schema.names))
    assert table.changes(start, net=True).read(spark).count() == 5
