"""The change feed on Spark: the same rows as by the local engine, in any history."""

import random

import pytest

import lakebed
from tests.support.examples import examples, long_but
from tests.support.feeds import STEPS, History, applied, events_of, net_of, state_of


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with lakebed.connect(tmp_path_factory.mktemp("feeds") / "a lake") as lake:
        yield lake


def on_spark(feed, spark):
    """The rows of a feed that Spark reads, as type, row id and values: commit by commit, and what goes first."""
    events = []
    for row in feed.read(spark).collect():
        found = row.asDict(recursive=True)
        values = tuple(value for name, value in found.items() if name not in lakebed_names)
        is_gone = found["_change_type"] in ("delete", "update_preimage")
        events.append(((found["_commit_version"], not is_gone), (found["_change_type"], found["_row_id"], values)))
    return [event for _, event in sorted(events, key=place_of)]


def place_of(event):
    order, shown = event
    return (*order, repr(shown))


def in_no_order(events):
    return sorted(events, key=repr)


lakebed_names = ("_change_type", "_commit_version", "_commit_timestamp", "_row_id")


def history_of(lake, name, seed):
    """A random past, which has merges, compactions and both ways to store rows."""
    chosen = random.Random(seed)
    wanted = ["files" if seed % 2 else "inline", "append", "update", "merge", "disputed merge", "compact"]
    steps = [*wanted, "rewrite rows", *chosen.choices(STEPS, k=examples(2, 6))]
    return History(lake.create_catalog(f"{name} {seed}"), [(step, chosen.randrange(10)) for step in steps]), chosen


@pytest.mark.parametrize("seed", long_but(range(24), [0]))
def test_a_feed_on_spark_turns_one_state_into_the_other_and_its_halves_into_the_whole(lake, spark, seed):
    """The laws of test_changes_laws.py; and both engines show the same rows."""
    history, chosen = history_of(lake, "states", seed)
    table = history.table
    first, middle = sorted(chosen.choices(history.versions[:-1], k=2))
    before, after = state_of(table.at(first), table.schema), state_of(table, table.schema)
    nets = {}
    for net in (False, True):
        feed = table.changes(first, net=net)
        events = on_spark(feed, spark)
        assert in_no_order(events) == in_no_order(events_of(feed.to_arrow())), net
        assert applied(before, events) == after, net
        nets[net] = in_no_order(net_of(events))
    assert nets[False] == nets[True]
    if table.at(middle).schema == table.schema:
        halves = [*on_spark(table.changes(first, middle), spark), *on_spark(table.changes(middle), spark)]
        assert in_no_order(net_of(halves)) == nets[True]


@pytest.mark.parametrize("seed", long_but(range(24), [0]))
def test_a_feed_on_spark_between_two_lines_turns_one_into_the_other(lake, spark, seed):
    history, chosen = history_of(lake, "lines", seed)
    there = history.on_branch("other line")
    for line in (history, there):
        for name in chosen.choices(STEPS, k=examples(3, 6)):
            line.step(name, chosen.randrange(10))
    for one, other in ((history.table, there.table), (there.table, history.table)):
        feed = other.changes(one)
        events = on_spark(feed, spark)
        assert in_no_order(events) == in_no_order(events_of(feed.to_arrow()))
        assert applied(state_of(one, other.schema), events) == state_of(other, other.schema)


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
