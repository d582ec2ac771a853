"""How tables are stored, and where namespaces put them: set, shown, kept through time, merged, purged."""

import json

import pyarrow as pa
import pytest

from lakebed.catalog.transaction.commits import Request
from lakebed.errors import Conflict, Invalid
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute

ROWS = pa.table({"id": list(range(20_000))})
SERDE = "parquet.hive.serde.ParquetHiveSerDe"
HIVE = "org.apache.hadoop.hive.ql.io.parquet"


@pytest.fixture
def sales(main):
    return main.create_namespace("sales")


# Namespaces


def test_new_tables_go_to_the_location_of_their_namespace(lake, main, sales):
    first = main.create_table("sales.first", {"id": "long"})
    assert main.namespace("sales").location.endswith("/tables")
    sales.set_location("warehouse/sales")
    assert sales.location.endswith("/warehouse/sales")
    second = main.create_table("sales.second", ROWS)
    assert first.location.endswith(f"/tables/{first.id}")
    assert second.location.endswith(f"/warehouse/sales/{second.id}")
    assert "/warehouse/sales/" in main.inspect("__files")["file_path"][0].as_py()
    main.create_namespace("sales.eu")
    assert main.create_table("sales.eu.third", {"id": "long"}).location.rsplit("/", 1)[0] == sales.location
    given = main.create_table("sales.fourth", {"id": "long"}, location="elsewhere")
    assert given.location.endswith(f"/elsewhere/{given.id}")
    sales.set_location(None)
    assert sales.location == main.namespace("sales.eu").location
    assert sales.location.endswith("/tables")
    assert lake.check() == []


def test_a_namespace_is_owned_by_whoever_created_it_unless_another_is_named(main):
    own = main.create_namespace("own", author="ada")
    named = main.create_namespace("named", owner="grace", author="ada", location="hot", comment="the best")
    assert (own.owner, named.owner) == ("ada", "grace")
    commit = own.set_owner("linus")
    assert [(done.type, done.name, done.detail) for done in commit.operations] == [("alter_namespace", "own", "owner")]
    assert own.owner == "linus"
    assert main.at(-1).namespace("own").owner == "ada"
    own.set_owner(None)
    assert own.owner == "ada"
    assert named.properties == {"comment": "the best"}
    assert "owner       grace" in named.describe()
    shown = {row["name"]: row for row in main.inspect("__namespaces").to_pylist()}
    assert shown["named"]["owner"] == "grace"
    assert shown["named"]["location"].endswith("/hot")


def test_the_comment_of_a_namespace_is_its_description(main, sales):
    """It used to be one of the properties, and the field of the record stayed empty."""
    sales.set_properties({"comment": "all of it", "tier": "1"})
    [stored] = main._scope.read().reader.attributes([(sales.id, Attribute.PROPERTIES)])
    assert stored.record == pb.DatabaseRecord(
        catalog_id=stored.record.catalog_id, database_id=sales.id, description="all of it", properties={"tier": "1"}
    )
    assert sales.properties == {"comment": "all of it", "tier": "1"}
    sales.unset_properties(["comment"])
    assert sales.properties == {"tier": "1"}


def test_the_comment_of_a_namespace_from_before_is_still_read(lake, main, sales):
    """Lakes from before have it among the properties."""
    old = pb.DatabaseRecord(properties={"comment": "old", "tier": "1"})
    scope = main._scope
    scope.change(
        lambda work: work.put_attribute(sales.id, Attribute.PROPERTIES, old), Request("set_properties", ("as before",))
    )
    assert (sales.comment, sales.properties) == ("old", {"comment": "old", "tier": "1"})
    [record] = [
        json.loads(row["fields"]) for row in main.inspect("__records", where="record = 'DatabaseRecord'").to_pylist()
    ]
    assert (record["description"], record["properties"]) == ("old", {"tier": "1"})
    dev = main.create_branch("dev")
    dev.namespace("sales").set_comment("new")
    assert [change.what for row in main.diff(dev) for change in row.changes] == ["property comment"]
    sales.set_properties({"more": "2"})
    main.merge(dev)
    assert sales.properties == {"comment": "new", "tier": "1", "more": "2"}


def test_the_location_and_owner_of_a_namespace_stay_when_its_properties_change(sales):
    sales.set_location("hot")
    sales.set_owner("ada")
    sales.set_properties({"tier": "1"})
    assert (sales.location.endswith("/hot"), sales.owner) == (True, "ada")


@pytest.mark.parametrize("location", ["/absolute", "../up", "catalog.db", "", 7])
def test_a_folder_that_can_not_be_a_namespaces_is_refused(main, sales, unchanged, location):
    with unchanged(), pytest.raises(Invalid):
        sales.set_location(location)
    with unchanged(), pytest.raises(Invalid):
        main.create_namespace("other", location=location)


@pytest.mark.parametrize("owner", ["", 7, "\ud800"])
def test_an_owner_that_is_no_text_is_refused(main, sales, unchanged, owner):
    with unchanged(), pytest.raises(Invalid, match="an owner is text"):
        sales.set_owner(owner)
    with unchanged(), pytest.raises(Invalid, match="an owner is text"):
        main.create_namespace("other", owner=owner)


# Tables


def test_a_table_says_how_it_is_stored(main):
    orders = main.create_table("orders", {"id": "long"}, author="ada")
    storage = orders.storage
    assert (storage.location, storage.owner, storage.properties) == (orders.location, "ada", {})
    assert (storage.source_short_name, storage.file_format) == ("lakebed", "parquet")
    assert storage.input_format == f"{HIVE}.MapredParquetInputFormat"
    assert storage.output_format == f"{HIVE}.MapredParquetOutputFormat"
    assert storage.serde == f"{HIVE}.serde.ParquetHiveSerDe"
    text = str(orders.describe())
    assert "  owner     ada\n" in text
    assert f"  serde     {storage.serde}\n" in text


def test_new_files_go_to_a_changed_location_and_those_of_before_stay(lake, main):
    orders = main.create_table("orders", ROWS)
    commit = orders.set_storage(location="hot")
    assert [(done.type, done.detail) for done in commit.operations] == [("change_storage", "location")]
    orders.append(ROWS)
    folders = {
        path.as_py().split(f"/{orders.id}/")[0].rsplit("/", 1)[1] for path in main.inspect("__files")["file_path"]
    }
    assert folders == {"tables", "hot"}
    assert orders.scan().to_arrow().num_rows == 40_000
    orders.delete("id < 5")
    orders.compact()
    assert orders.checkpoint() == orders.version
    assert orders.scan().to_arrow().num_rows == 39_990
    assert orders.at(commit.version).storage.location.endswith(f"/hot/{orders.id}")
    assert lake.check() == []


def test_every_storage_that_a_table_had_is_found_at_its_version(main):
    """P5: the state at a version is the newest row of the history up to it."""
    orders = main.create_table("orders", {"id": "long"}, author="ada")
    versions = [orders.version]
    versions.append(orders.set_storage(owner="grace").version)
    orders.set_properties({"unrelated": "1"})
    versions.append(orders.set_storage(properties={"serialization.format": "1"}, serde=SERDE).version)
    versions.append(orders.set_storage(properties={}).version)
    rows = main.inspect("__storage", where="table_name = 'orders'").to_pylist()
    assert [int(row["version"]) for row in rows] == [int(version) for version in versions]
    assert [row["is_current"] for row in rows] == [False, False, False, True]
    assert [row["owner"] for row in rows] == ["ada", "grace", "grace", "grace"]
    assert [row["properties"] for row in rows] == [b"{}", b"{}", b'{"serialization.format": "1"}', b"{}"]
    assert [row["serde"] == SERDE for row in rows] == [False, False, True, True]
    for version, row in zip(versions, rows, strict=True):
        assert (orders.at(version).storage.owner, orders.at(version).storage.serde) == (row["owner"], row["serde"])
    assert orders.at(version=int(versions[2]) - 1).storage.owner == "grace"


def test_a_change_of_storage_writes_its_own_history_and_no_other(main):
    """P4 for storage."""
    orders = main.create_table("orders", {"id": "long"})
    before = {attribute: history(orders, attribute) for attribute in Attribute}
    orders.set_storage(owner="grace")
    after = {attribute: history(orders, attribute) for attribute in Attribute}
    assert {attribute for attribute in Attribute if before[attribute] != after[attribute]} == {Attribute.STORAGE}


def history(table, attribute):
    return len(table._scope.read().reader.history(table.id, attribute).items)


@pytest.mark.parametrize(
    "given",
    [
        {"file_format": "orc"},
        {"serde": "org.apache.hadoop.hive.ql.io.orc.OrcSerde"},
        {"input_format": "org.apache.hadoop.mapred.TextInputFormat"},
        {"output_format": ""},
        {"location": "../up"},
        {"location": "tables/00000000-0000-4000-8000-000000000001"},
        {"owner": ""},
        {"properties": {"a": 1}},
    ],
    ids=str,
)
def test_storage_that_would_make_readers_wrong_is_refused(main, unchanged, given):
    orders = main.create_table("orders", {"id": "long"})
    with unchanged(), pytest.raises(Invalid):
        orders.set_storage(**given)


def test_setting_storage_to_what_it_is_changes_nothing(main):
    orders = main.create_table("orders", {"id": "long"}, author="ada")
    assert orders.set_storage(owner="ada").id == ""
    assert orders.set_storage().id == ""


def test_a_purge_deletes_the_files_of_every_location_that_a_table_had(main, files):
    """The files of before a change would have stayed for good."""
    dev = main.create_branch("dev")
    orders = main.create_table("orders", ROWS)
    orders.set_storage(location="hot")
    orders.append(ROWS)
    dev.merge(main)
    dev.table("orders").set_storage(location="of_dev")
    dev.table("orders").append(ROWS)
    assert {path.split("/")[0] for path in files() if path.endswith(".parquet")} == {"tables", "hot", "of_dev"}
    dev.drop_table("orders")
    main.drop_table("orders")
    main.purge_table("orders")
    assert [path for path in files() if orders.id in path] == []


# Branches and merges


def test_storage_and_namespaces_are_merged_value_by_value(main, sales):
    orders = main.create_table("sales.orders", {"id": "long"}, author="ada")
    dev = main.create_branch("dev")
    dev.table("sales.orders").set_storage(owner="grace", properties={"a": "1"})
    dev.namespace("sales").set_owner("linus")
    orders.set_storage(location="hot", properties={"b": "2"})
    sales.set_location("cold")
    found = [change.what for row in main.diff(dev) for change in row.changes]
    assert sorted(found) == [
        "location",
        "owner",
        "owner",
        "storage location",
        "storage property a",
        "storage property b",
    ]
    main.merge(dev)
    assert (orders.storage.owner, orders.storage.properties) == ("grace", {"a": "1", "b": "2"})
    assert f"/hot/{orders.id}" in orders.location
    assert (sales.owner, sales.location.endswith("/cold")) == ("linus", True)
    assert main.log(1)[0].operations[0].type == "merge_branch"


def test_values_of_storage_that_both_sides_changed_are_a_conflict(main, sales):
    orders = main.create_table("sales.orders", {"id": "long"})
    dev = main.create_branch("dev")
    dev.table("sales.orders").set_storage(owner="grace")
    dev.namespace("sales").set_location("there")
    orders.set_storage(owner="linus")
    sales.set_location("here")
    with pytest.raises(Conflict) as refused:
        main.merge(dev)
    assert sorted((row.name, row.what, row.ours, row.theirs) for row in refused.value.conflicts) == [
        ("sales", "location", "here", "there"),
        ("sales.orders", "owner", "linus", "grace"),
    ]
    main.merge(dev, strategy="theirs")
    assert (orders.storage.owner, sales.location.rsplit("/", 1)[1]) == ("grace", "there")


def test_a_reset_and_a_restored_table_have_the_storage_of_then(main, sales):
    orders = main.create_table("sales.orders", {"id": "long"}, author="ada")
    before = main.version
    orders.set_storage(owner="grace", location="hot")
    sales.set_owner("linus")
    main.restore_table("sales.orders", before)
    assert (orders.storage.owner, "/tables/" in orders.location, sales.owner) == ("ada", True, "linus")
    main.reset(before)
    assert sales.owner != "linus"


def test_a_brought_namespace_keeps_its_creator(main):
    dev = main.create_branch("dev")
    dev.create_namespace("new", author="grace", location="hot")
    main.merge(dev, author="ada")
    assert (main.namespace("new").owner, main.namespace("new").location.endswith("/hot")) == ("grace", True)


def test_a_table_is_created_while_others_change_the_properties_of_its_namespace(main, sales):
    """Its folder is looked up there, and nothing else depends on it."""
    with main.transaction("create") as tx:
        tx.create_table("sales.orders", {"id": "long"})
        sales.set_properties({"tier": "1"})
        sales.set_location("hot")
    assert main.table("sales.orders").location.endswith(f"/tables/{main.table('sales.orders').id}")


def test_an_append_goes_on_while_others_change_the_storage_of_its_table(main):
    orders = main.create_table("orders", {"id": "long"})
    seen = main.table("orders")
    orders.set_storage(location="hot")
    seen.append(ROWS)
    assert "/hot/" in main.inspect("__files")["file_path"][0].as_py()


def test_the_storage_of_a_table_is_that_of_its_active_edition(main):
    """`__storage` went on showing the first edition's."""
    orders = main.create_table("orders", {"id": "long"})
    orders.create_edition("2", schema={"id": "long"})
    orders.edition("2").set_storage(location="hot", owner="grace")
    assert orders.storage.owner == "ada"
    orders.activate("2")
    assert (orders.storage.owner, "/hot/" in orders.location) == ("grace", True)
    shown = main.inspect("__storage", where="is_current").to_pylist()
    assert [(row["owner"], row["location"]) for row in shown] == [("grace", orders.location)]
    assert orders.edition("1").storage.owner == "ada"
