"""D7: the whole chain, namespace to delta, is read back by names and by ids, now and when the lake is opened again."""

from uuid import uuid4

import pytest

from lakebed import NotFound


@pytest.fixture
def given():
    """The ids that a caller gives."""
    return {kind: str(uuid4()) for kind in ("edition", "stream", "partition")}


def levels(main, edition, stream, partition):
    """One object of each level, as it is read."""
    [shown] = [one for one in main.table("s.t").editions() if one.id == edition.id]
    delta = partition.deltas()[0]
    return [
        (main.namespace("s").id, main.namespace("s").name, str(main.namespace("s").locator)),
        (main.table("s.t").id, main.table("s.t").schema, str(main.table("s.t").locator)),
        shown,
        [one for one in edition.streams() if one.id == stream.stream_id],
        (partition.id, partition.values, partition.state, str(partition.locator)),
        (delta, bytes(delta.manifest), delta.manifest.added),
    ]


def by_names(main):
    edition = main.table("s.t").edition("2")
    return levels(main, edition, edition.stream("parquet"), edition.partition({"day": "mon"}))


def by_ids(main, given):
    edition = main.table("s.t").edition(given["edition"])
    return levels(main, edition, edition.stream(given["stream"]), edition.partition(id=given["partition"]))


def shown(table):
    """What a table shows of its editions, streams and partitions, with their rows and properties."""
    return (
        [(one.name, one.id, one.state, one.previous, one.rows) for one in table.editions()],
        [(one.id, one.state, one.previous, one.rows) for one in table.streams()],
        [(one.id, one.values, one.state, one.properties, one.location, one.count()) for one in table.partitions()],
        sorted((row["id"], row["day"]) for row in table.scan().to_arrow().to_pylist()),
    )


def test_every_state_of_editions_streams_and_partitions_is_there_from_its_version_on_until_the_next_one(main):
    """P5, at v - 1, v and v + 1 of each change."""
    table = main.create_table("t", {"id": "long", "day": "string"}, partition_by=["day"])
    table.append([{"id": 1, "day": "mon"}, {"id": 2, "day": "tue"}])
    versions, states = [main.version], [shown(table)]

    def changed(*_):
        versions.append(main.version)
        states.append(shown(table))
        assert states[-1] != states[-2]

    monday = table.create_partition({"day": "mon"})
    changed()
    changed(monday.set_properties({"owner": "ada"}))
    changed(monday.append([{"id": 3}]))
    changed(monday.rename({"day": "sun"}))
    changed(table.drop_partition({"day": "sun"}))
    changed(table.undrop_partition({"day": "sun"}))
    staged = table.stage_partition({"day": "sun"})
    staged.append([{"id": 4}])
    changed(staged.commit())
    changed(table.create_edition("2").append([{"id": 9, "day": "wed"}]))
    changed(table.set_edition_state("2", "beta"))
    changed(table.activate("2"))
    changed(table.drop_edition("1"))
    changed(table.undrop_edition("1"))
    stream = table.stage_stream()
    changed(stream.append([{"id": 10, "day": "thu"}]))
    changed(stream.commit())
    changed(table.activate("1"))
    for number, state in enumerate(states):
        assert shown(table.at(version=versions[number])) == state
        if number:
            before = int(versions[number]) - 1
            assert shown(table.at(version=before)) != state
            assert shown(main.at(before + 1).table("t")) == state


def test_the_chain_from_namespace_to_delta_is_read_back_by_names_and_by_ids(main, store, open_lake, given):
    main.create_namespace("s")
    table = main.create_table("s.t", {"id": "long", "day": "string"}, partition_by=["day"])
    edition = table.create_edition("2", id=given["edition"])
    staged = edition.stage_stream(given["stream"])
    with pytest.raises(NotFound):
        staged.partition({"day": "mon"})
    staged.commit()
    edition.create_partition({"day": "mon"}, id=given["partition"]).append([{"id": 1}, {"id": 2}])
    assert [one.is_root for one in edition.partitions()] == [True, False]
    found = by_names(main)
    assert found == by_ids(main, given)
    chain = f"s|t|2|{given['stream']}|{given['partition']}"
    assert (found[0][2], found[1][2], found[2].canonical) == ("s", "s|t", "s|t|2")
    assert [one.canonical for one in found[3]] == [f"s|t|2|{given['stream']}"]
    assert (found[4][3], str(found[5][0].locator)) == (chain, f"{chain}|{found[5][0].position}")
    above = [found[5][0].locator]
    while above[-1].namespace:
        above.append(above[-1].parent)
    assert [one.kind for one in above[:-1]] == ["delta", "partition", "stream", "edition", "table", "namespace"]
    assert [file.rows for file in found[5][2]] == [2]
    again = open_lake(store).catalog()
    assert by_names(again) == by_ids(again, given) == found
    assert table.scan().count() == 0, "an edition that is not active is not the table"
