"""Dropped editions, streams and partitions: listed with what undrop takes, like dropped tables."""

import pytest

DAYS = {"id": "long", "day": "string"}


def shown(main):
    return [(one.type, one.name) for one in main.dropped()]


@pytest.fixture
def days(main):
    main.create_namespace("s")
    return main.create_table("s.days", DAYS, partition_by=["day"])


def test_what_was_dropped_from_a_table_was_not_listed(lake, main, days):
    """A dropped table was; the id by which a partition comes back was in a system table of its own alone."""
    days.create_partition({"day": "mon"}).append([{"id": 1}])
    second = days.create_edition("2")
    second.create_partition({"day": "a.b"})
    streams = [days.stage_stream(), second.stage_stream()]
    days.drop_partition({"day": "mon"})
    for stream in streams:
        stream.discard()
    second.drop_partition({"day": "a.b"})
    assert shown(main) == [
        ("partition", "s.days.edition_2.`day=a.b`"),
        ("stream", f"s.days.edition_2.stream_{streams[1].stream_id}"),
        ("stream", f"s.days.stream_{streams[0].stream_id}"),
        ("partition", "s.days.day=mon"),
    ]
    days.drop_edition("2", author="grace")
    assert [str(one).partition(", dropped")[0] for one in lake.dropped()] == [
        "edition s.days.edition_2 of default",
        f"stream s.days.stream_{streams[0].stream_id} of default",
        "partition s.days.day=mon of default",
    ], "what is in a dropped edition comes back with it"
    assert main.dropped()[0].author == "grace"
    rows = main.inspect("__dropped").to_pylist()
    assert {(row["kind"], row["parent"], row["name"]) for row in rows} == {
        ("edition", "s.days", "edition_2"),
        ("stream", "s.days", f"stream_{streams[0].stream_id}"),
        ("partition", "s.days", "day=mon"),
    }
    assert {(row["id"], row["dropped_version"]) for row in rows} == {
        (one.id, int(one.version)) for one in main.dropped()
    }


def test_all_that_is_listed_comes_back_by_its_id(main, days):
    days.create_partition({"day": "mon"}).append([{"id": 1}])
    days.drop_partition({"day": "mon"})
    staged = days.stage_partition({"day": "tue"})
    staged.discard()
    days.stage_stream().discard()
    days.create_edition("2")
    days.drop_edition("2")
    calls = {
        "edition": lambda one: days.undrop_edition("2", one.id),
        "stream": lambda one: days.undrop_stream(one.id),
        "partition": lambda one: days.undrop_partition(id=one.id),
    }
    for gone in main.dropped():
        calls[gone.type](gone)
    assert shown(main) == []
    assert days.partition({"day": "mon"}).count() == 1
    assert staged.state == "staged"


def test_a_partition_that_was_swapped_out_is_listed(main, days):
    first = days.create_partition({"day": "mon"})
    days.stage_partition({"day": "mon"}).commit()
    assert [(one.type, one.id) for one in main.dropped()] == [("partition", first.id)]


def test_what_goes_with_its_table_comes_back_with_it_and_is_not_listed_alone(main, days):
    days.create_partition({"day": "mon"})
    days.create_edition("2")
    main.drop_table("s.days")
    assert shown(main) == [("table", "s.days")]
    main.undrop_table("s.days")
    assert shown(main) == []


def test_a_branch_lists_what_a_merge_dropped_and_a_share_what_it_shows(main, days):
    for day in ("mon", "tue"):
        days.create_partition({"day": day})
    main.create_table("hidden", DAYS, partition_by=["day"]).create_partition({"day": "x"}).drop()
    dev = main.create_branch("dev")
    dev.table("s.days").drop_partition({"day": "mon"})
    main.merge(dev)
    assert sorted(shown(main)) == [
        ("partition", "hidden.day=x"),
        ("partition", "s.days.day=mon"),
    ]
    share = main.create_share("given", "s")
    assert sorted(shown(share)) == sorted(shown(main))[1:]
    then = main.at(version=days.history()[-1].version)
    assert shown(then) == []
