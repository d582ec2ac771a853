"""D7: the whole chain, namespace to delta, is read back by names and by ids, now and when the lake is opened again."""

from uuid import uuid4

import pytest

from lakebed import Delta, Invalid, Locator, Namespace, NotFound, Partition, Stream, Table


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


def by_locators(main, given):
    """All from the canonical string of the newest delta, and its parents."""
    chain = f"s|t|2|{given['stream']}|{given['partition']}"
    deltas = main.find(chain).deltas()
    delta = main.find(f"{chain}|{deltas[0].position}")
    assert delta == main.find(delta.locator) == deltas[0]
    partition = main.find(delta.locator.parent)
    stream = main.find(partition.locator.parent)
    edition = main.find(stream.locator.parent)
    assert main.find(edition.locator.parent) == main.table("s.t")
    assert main.find(main.find("s|t").locator.parent).locator == main.find("s").locator
    return levels(main, edition, stream, partition)


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
    assert by_locators(main, given) == found
    again = open_lake(store).catalog()
    assert by_names(again) == by_ids(again, given) == by_locators(again, given) == found
    assert table.scan().count() == 0, "an edition that is not active is not the table"


def test_each_level_is_found_by_its_locator_now_and_in_the_past(main):
    for name in ("s", "s.eu", "s.eu.north"):
        main.create_namespace(name)
    table = main.create_table("s.eu.t", {"id": "long", "day": "string"}, partition_by=["day"])
    table.append([{"id": 1, "day": "mon"}])
    monday = table.create_partition({"day": "mon"})
    [stream], root = table.streams(), table.partition()
    staged = table.stage_stream()
    staged.append([{"id": 2, "day": "mon"}])
    kept = table.stage_partition({"day": "tue"})
    kept.append([{"id": 3}])
    expected = [
        (main.namespace("s.eu.north").locator, Namespace),
        (table.locator, Table),
        (table.editions()[0].locator, Table),
        (stream.locator, Stream),
        (root.locator, Partition),
        (monday.locator, Partition),
        (root.delta(1).locator, Delta),
        (monday.deltas()[0].locator, Delta),
        (staged.locator, Stream),
        (staged.partition().locator, Partition),
        (staged.partition().delta(2).locator, Delta),
        (kept.locator, Partition),
        (kept.delta(1).locator, Delta),
    ]
    for locator, kind in expected:
        for line in (main, main.at(main.version), main.create_branch(f"b{hash(locator)}")):
            found = line.find(locator)
            assert (type(found), found.locator if kind is not Table else locator) == (kind, locator)
            assert type(line.find(str(locator))) is kind
        assert Locator.parse(str(locator), locator.kind) == locator
    assert main.find("S|EU|T|1|parquet").stream_id == stream.id
    was = [delta.locator for delta in root.deltas()]
    before = main.version
    staged.commit()
    with pytest.raises(NotFound, match="replaced by another"):
        main.find(stream.locator)
    assert [main.find(locator).locator for locator in was] == was
    assert main.at(before).find(stream.locator).locator == stream.locator
    newest = root.deltas()[0]
    with pytest.raises(NotFound, match="the stream has no delta at this position"):
        main.find(f"{stream.locator}|{root.id}|{newest.position}")


@pytest.mark.parametrize("text", ["", "|", "s||t", "s|t|", 17, None, "s|v", "s|t|1|parquet|x|1|2"])
def test_what_is_not_a_canonical_string_is_invalid(main, text):
    main.create_namespace("s")
    main.create_table("s.t", {"id": "long"})
    main.create_view("s.v", "select 1 as one")
    with pytest.raises(Invalid, match="canonical string"):
        main.find(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("s", "edition"), ("s|t|1|a|b|0", "delta"), ("s|t|1|a|b|x", "delta"), ("s|t|1|a|b|²", "delta"), ("s", "row")],
)
def test_a_text_of_another_level_is_not_parsed(text, kind):
    with pytest.raises(Invalid):
        Locator.parse(text, kind)


def test_a_locator_of_what_is_not_there_is_not_found(main):
    main.create_namespace("s")
    table = main.create_table("s.t", {"id": "long"})
    chain = table.partition().locator
    gone = [Locator(("s", "t")), Locator(("x",)), f"s|u|1|{chain.stream}", "s|t|3", f"s|t|1|{uuid4()}"]
    for locator in [*gone, f"{chain.parent}|{uuid4()}", f"{chain}|9"]:
        with pytest.raises(NotFound):
            main.find(locator)


LEVELS = ["__namespaces", "__tables", "__editions", "__streams", "__partitions", "__deltas"]


def test_every_row_of_the_six_levels_has_a_canonical_string_by_which_it_is_found(main):
    """Two levels had none, and two called it their locator."""
    for name in ("s", "s.eu"):
        main.create_namespace(name)
    table = main.create_table("s.eu.t", {"id": "long", "day": "string"}, partition_by=["day"])
    table.create_partition({"day": "mon"}).append([{"id": 1}])
    table.create_edition("2").append([{"id": 2, "day": "tue"}])
    table.stage_stream().append([{"id": 3, "day": "wed"}])
    kinds = (Namespace, Table, Table, Stream, Partition, Delta)
    for system, kind in zip(LEVELS, kinds, strict=True):
        rows = main.inspect(system).to_pylist()
        found = [main.find(row["canonical"]) for row in rows]
        assert {type(one) for one in found} == {kind}
        assert [str(one.locator) for one in found if kind is not Table] == [
            row["canonical"] for row in rows if kind is not Table
        ]
    assert main.inspect("__editions")["canonical"].to_pylist() == ["s|eu|t|1", "s|eu|t|2"]
    for name in ("edition_2", f"stream_{table.streams()[1].id}"):
        [row] = main.inspect("__tables", where=f"table_name = 's.eu.t.{name}'").to_pylist()
        assert main.find(row["canonical"]).name == f"s.eu.t.{name}"
    deltas = main.inspect("__deltas").to_pylist()
    assert [row["snapshot_id"] for row in deltas] == [main.find(row["canonical"]).snapshot_id for row in deltas]


def test_a_stream_was_created_with_its_edition_or_when_it_was_staged(main):
    """Those that editions are born with had no version."""
    table = main.create_table("t", {"id": "long"})
    born = main.version
    table.append([{"id": 1}])
    edition = table.create_edition("2")
    second = main.version
    staged = table.stage_stream()
    rows = main.inspect("__streams").to_pylist()
    assert [int(row["created_version"]) for row in rows] == [int(born), int(main.version), int(second)]
    assert [one.version for one in table.streams()] == [born, main.version]
    assert [one.version for one in edition.streams()] == [second]
    staged.commit(seen=main.version)
    assert [one.version for one in table.streams()] == [staged.streams()[0].version, born]
