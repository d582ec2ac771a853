"""System tables: what a catalog knows of itself, as Arrow tables (KV-1, KV-6)."""

import json
import re
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed import Expired, Field, Forbidden, Invalid, NotFound, Schema
from lakebed.arrow.types import arrow_schema
from lakebed.catalog.data.changes import change_files
from lakebed.catalog.data.planning import plan
from lakebed.catalog.inspect import documents
from lakebed.catalog.inspect.registry import SYSTEM_TABLES
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction.commits import Request
from lakebed.catalog.transaction.pending_delta import Delta
from lakebed.lake.lake import Lake
from lakebed.pipelines.records import journal
from lakebed.table.schema.json import schema_from_json

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files

PAGE = Path(__file__).parents[3] / "docs/guide/inspect.md"

# Source document 001, "Table Structure".
SEED = {
    "__tables": {
        "table_name": "string",
        "table_uuid": "string",
        "format_version": "int32",
        "location": "string",
        "current_snapshot_id": "int64",
        "last_updated_time": "int64",
        "properties": "binary",
        "schema": "binary",
        "partition_specs": "binary",
    },
    "__snapshots": {
        "table_name": "string",
        "snapshot_id": "int64",
        "parent_snapshot_id": "int64",
        "timestamp_ms": "int64",
        "operation": "string",
        "manifest_list": "string",
        "summary": "binary",
    },
    "__files": {
        "table_name": "string",
        "snapshot_id": "int64",
        "file_path": "string",
        "file_format": "string",
        "record_count": "int64",
        "file_size_bytes": "int64",
        "partition_values": "binary",
    },
}
every_table = pytest.mark.parametrize("name", SYSTEM_TABLES)


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def rows(catalog, name, **asked):
    return catalog.inspect(name, **asked).to_pylist()


def column(catalog, name, one, **asked):
    return catalog.inspect(name, columns=[one], **asked)[one].to_pylist()


@pytest.fixture
def orders(main):
    main.create_namespace("sales")
    made = main.create_table("sales.orders", {"id": "long"}, properties={"owner": "ädä"}, comment="bought")
    made.append(numbers(1, 2))
    return made


def remove(table, path):
    """Take a file away from a table, as a delete would."""

    def do(work):
        state = table_state(work, table.id)
        [gone] = [one.file for one in plan(work, state).files if path.endswith(one.file.path)]
        delta = Delta(table.id, state.partition, state.location, state.schema, "delete", removed=(gone,))
        change_files(work, state, delta)

    return table._scope.change(do, Request("delete"))


def busy(main):
    """Something for every system table to show."""
    main.create_namespace("sales", properties={"comment": "sold"})
    schema = Schema([Field("id", "long", required=True), Field("region", "string")])
    orders = main.create_table("sales.orders", schema, partition_by=["region"])
    orders.append(pyarrow.table({"id": [1, 2], "region": ["eu", None]}))
    orders.append(pyarrow.table({"id": [3], "region": ["eu"]}))
    remove(orders, orders.scan().files()[0])
    orders.checkpoint()
    orders.consumer("billing").advance(orders.version)
    with orders.evolve() as change:
        change.add_column("price", "double")
    main.create_view("sales.cheap", {"spark": "SELECT 1", "trino": "SELECT 2"}, schema={"a": "int"})
    dev = main.create_branch("dev")
    dev.table("sales.orders").set_properties({"owner": "dev"})
    orders.set_properties({"owner": "main"})
    main.create_tag("q4")
    main.create_share("partners", ["sales.orders"])
    main.create_table("gone", {"id": "long"})
    main.drop_table("gone")
    main.create_branch("old")
    main.drop_branch("old")
    run = journal.begin(
        Lake(main._scope.context), main, {"pipeline": "shop", "params": '{"country": "IT"}', "author": "me"}
    )
    run.step("sales.daily", status="done")
    run.checks([{"check": "sales.daily: unique(day)", "table": "sales.daily", "severity": "error", "passed": True}])
    run.lineage([{"table": "sales.daily", "column": "n", "input_table": "sales.orders", "input_column": "id"}])
    run.windows([{"step": "sales.daily", "window": "2026-11-01", "reason": "new", "rows": 1}])


@pytest.mark.parametrize("name", SEED)
def test_the_source_documents_columns_come_first(main, orders, name):
    """KV-1."""
    found = main.inspect(name).schema
    wanted = SEED[name]
    assert {one.name: str(one.type) for one in list(found)[: len(wanted)]} == wanted
    assert found.names[: len(wanted)] == list(wanted)


@every_table
def test_an_empty_catalog_has_every_system_table(main, name):
    found = main.inspect(name)
    assert found.schema == arrow_schema(SYSTEM_TABLES[name].schema)
    own = {"__branches": 1, "__commits": 1, "__records": 4}  # the trunk, and what there is of the catalog itself
    assert found.num_rows == own.get(name, 0)


@every_table
def test_a_busy_catalog_has_rows_in_every_system_table(main, name):
    busy(main)
    found = main.inspect(name.upper())
    assert found.schema == arrow_schema(SYSTEM_TABLES[name].schema)
    assert found.num_rows > 0
    found.validate(full=True)


def test_the_past_of_every_system_table_stays_as_it_was(main):
    busy(main)
    version = main.inspect("__commits")["version"][0].as_py()
    before = {name: main.at(int(version)).inspect(name) for name in SYSTEM_TABLES}
    newest = {name: main.inspect(name) for name in ("__tables", "__files", "__schemas", "__views", "__commits")}
    main.table("sales.orders").append(pyarrow.table({"id": [9]}))
    main.rename_table("sales.orders", "bought")
    main.view("sales.cheap").set_sql("SELECT 9")
    main.drop_namespace("sales", cascade=True)
    main.branch("dev").create_table("new", {"id": "long"})
    main.branch("dev").drop_table("sales.orders")
    main.rename_branch("dev", "done")
    main.drop_branch("done")
    main.drop_tag("q4")
    main.drop_share("partners")
    for name, found in before.items():
        assert main.at(int(version)).inspect(name).to_pylist() == found.to_pylist(), name
    for name, found in newest.items():
        assert found.to_pylist() == before[name].to_pylist(), name
        assert main.inspect(name).to_pylist() != found.to_pylist(), name


def test_a_table_is_one_row_with_all_that_it_is(main, orders):
    """KV-1."""
    [row] = rows(main, "__tables")
    assert (row["table_name"], row["table_uuid"], row["namespace"]) == ("sales.orders", orders.id, "sales")
    assert row["location"] == orders.location
    newest = orders.snapshots()[0]
    assert row["current_snapshot_id"] == newest.id
    assert row["last_updated_time"] == int(newest.time.timestamp() * 1000)
    assert documents.PROPERTIES.from_json(row["properties"]) == orders.properties
    assert schema_from_json(row["schema"]) == orders.schema
    assert documents.PARTITION_SPECS.from_json(row["partition_specs"]) == [{"spec_id": 0, "fields": []}]
    assert (row["comment"], row["total_files"], row["total_rows"]) == ("bought", 1, 2)
    assert (row["created_version"], row["version"]) == (int(orders.history()[-1].version), int(orders.version))
    orders.set_properties({"owner": "bob"})
    [again] = rows(main, "__tables")
    assert again["last_updated_time"] > row["last_updated_time"] or again["version"] > row["version"]
    assert again["current_snapshot_id"] == row["current_snapshot_id"]


def test_the_versions_of_objects_are_those_of_their_last_commits(main):
    busy(main)
    main.create_namespace("other")
    changes = [
        lambda: main.rename_table("sales.orders", "other.orders"),
        lambda: main.table("other.orders").append(pyarrow.table({"id": [9]})),
        lambda: main.namespace("other").set_properties({"a": "b"}),
        lambda: main.drop_table("other.orders"),
        lambda: main.undrop_table("other.orders"),
        lambda: main.view("sales.cheap").set_sql("SELECT 9"),
        lambda: main.merge(main.branch("dev"), strategy="theirs"),
        lambda: main.revert(main.table("other.orders").set_properties({"x": "y"})),
        lambda: main.unset_properties(["nothing"]),
        lambda: main.rename_namespace("other", "another"),
    ]
    for change in changes:
        change()
        for name, handles in (
            ("__tables", main.tables(recursive=True)),
            ("__views", main.views(recursive=True)),
            ("__namespaces", main.namespaces(recursive=True)),
        ):
            assert column(main, name, "version") == [int(one.version) for one in handles]


def test_tables_are_shown_with_their_partitions_order_and_key(main):
    main.create_table(
        "t", {"id": "long", "day": "date"}, partition_by=["day"], sort_by=["id"], primary_key=["id", "day"]
    )
    [row] = rows(main, "__tables")
    assert (row["spec_id"], row["sort_order_id"], row["primary_key"]) == (1, 1, ["id", "day"])
    [spec] = documents.PARTITION_SPECS.from_json(row["partition_specs"])
    assert [one["name"] for one in spec["fields"]] == ["day"]


def test_snapshots_come_in_the_order_of_their_numbers(main, orders):
    """KV-1: 10 after 9, which the order of texts would not give."""
    for number in range(10):
        orders.append(numbers(number))
    found = column(main, "__snapshots", "snapshot_id")
    assert found == sorted(found)
    assert len(found) == 12
    assert found.index(10) == found.index(9) + 1


def test_the_parents_lead_from_the_newest_snapshot_to_the_first(main, orders):
    """KV-6."""
    for number in range(3):
        orders.append(numbers(number))
    [table] = rows(main, "__tables")
    parents = {row["snapshot_id"]: row["parent_snapshot_id"] for row in rows(main, "__snapshots")}
    walked, here = [], table["current_snapshot_id"]
    while here is not None:
        walked.append(here)
        here = parents[here]
    assert walked == [one.id for one in orders.snapshots()]
    assert len(walked) == len(parents) == 5


def test_a_snapshot_is_shown_as_the_table_lists_it(main, orders):
    """KV-6: what is returned is what is stored, field by field."""
    remove(orders, orders.scan().files()[0])
    for row, info in zip(rows(main, "__snapshots"), reversed(orders.snapshots()), strict=True):
        assert (row["snapshot_id"], row["parent_snapshot_id"]) == (info.id, info.previous_id)
        assert (row["sequence_number"], row["schema_id"]) == (info.sequence_number, info.schema_id)
        assert (row["version"], row["time"], row["type"]) == (int(info.version), info.time, info.operation)
        summary = json.loads(row["summary"])
        assert {what: row[f"total_{what}"] for what in ("files", "rows", "bytes")} == info.totals
        assert int(summary["total-records"]) == info.totals["rows"]
        assert int(summary["added-records"]) == row["added_rows"] == info.counts.get("added_rows", 0)
        assert int(summary["deleted-files"]) == row["removed_files"] == info.counts.get("removed_files", 0)
    assert column(main, "__snapshots", "operation") == ["CREATE", "APPEND", "DELETE"]


def test_files_are_the_live_ones_with_the_snapshot_that_added_each(main, orders):
    """KV-1."""
    orders.append(numbers(3))
    second, first = (one.id for one in orders.snapshots()[:2])
    found = rows(main, "__files")
    assert [row["snapshot_id"] for row in found] == [first, second]
    assert sorted(row["file_path"] for row in found) == sorted(orders.scan().files())
    assert [row["record_count"] for row in found] == [2, 1]
    assert [Path(row["file_path"]).stat().st_size for row in found] == [row["file_size_bytes"] for row in found]
    assert {row["file_format"] for row in found} == {"parquet"}
    assert {row["partition_values"] for row in found} == {b"{}"}
    remove(orders, found[0]["file_path"])
    assert column(main, "__files", "snapshot_id") == [second]


def test_partition_values_are_texts_by_the_names_of_fields(main):
    made = main.create_table("t", {"id": "long", "region": "string"}, partition_by=["region"])
    made.append(pyarrow.table({"id": [1, 2], "region": ["é", None]}))
    found = [documents.PARTITION_VALUES.from_json(one) for one in column(main, "__files", "partition_values")]
    assert sorted(found, key=str) == [{"region": "é"}, {"region": None}]


def test_changes_say_what_each_snapshot_did_to_which_file(main, orders):
    [path] = orders.scan().files()
    orders.append(numbers(3))
    remove(orders, path)
    found = [(row["snapshot_id"], row["change"], row["file_path"], row["type"]) for row in rows(main, "__changes")]
    ids = [one.id for one in reversed(orders.snapshots())]
    assert found == [
        (ids[1], "added", path, "insert"),
        (ids[2], "added", *orders.scan().files(), "insert"),
        (ids[3], "removed", path, "delete"),
    ]


def test_schemas_are_all_that_a_table_ever_had(main, orders):
    with orders.evolve() as change:
        change.add_column("price", "double")
    with orders.evolve() as change:
        change.rename_column("price", "cost")
    found = rows(main, "__schemas")
    assert [row["columns"] for row in found] == [["id"], ["id", "price"], ["id", "cost"]]
    assert [row["is_current"] for row in found] == [False, False, True]
    assert schema_from_json(found[-1]["schema"]) == orders.schema
    assert [row["version"] for row in found] == sorted(row["version"] for row in found)


def test_namespaces_are_shown_with_what_they_are_in(main, orders):
    main.create_namespace("sales.eu", properties={"comment": "Europe"})
    main.create_namespace(("a.b",))
    main.create_table(("a.b", "c.d"), {"id": "long"})
    assert [(row["name"], row["parent"], row["comment"]) for row in rows(main, "__namespaces")] == [
        ("`a.b`", "", None),
        ("sales", "", None),
        ("sales.eu", "sales", "Europe"),
    ]
    assert column(main, "__tables", "table_name") == ["`a.b`.`c.d`", "sales.orders"]


def test_views_are_shown_with_their_texts(main):
    main.create_view("v", {"spark": "SELECT 1", "trino": "SELECT 2"}, comment="one", schema={"a": "int"})
    main.create_view("w", {"trino": "SELECT 3"})
    first, second = rows(main, "__views")
    assert (first["name"], first["sql"], first["dialects"]) == ("v", "SELECT 1", ["spark", "trino"])
    assert json.loads(first["texts"]) == {"spark": "SELECT 1", "trino": "SELECT 2"}
    assert (first["comment"], schema_from_json(first["schema"]).names) == ("one", ("a",))
    assert (second["sql"], second["schema"]) == (None, None)


def test_commits_are_the_log(main, orders):
    with main.transaction("two at once", author="bob") as tx:
        tx.create_table("other", {"id": "long"}).append(numbers(1))
        tx.table("sales.orders").append(numbers(7, 8))
    found, log = [row for row in rows(main, "__commits") if row["about"] == "objects"], main.log()
    assert [(row["version"], row["time"], row["id"]) for row in found] == [
        (int(one.version), one.time, one.id) for one in log
    ]
    newest = found[0]
    assert (newest["message"], newest["author"]) == ("two at once", "bob")
    assert newest["operations"] == [one.type for one in log[0].operations]
    assert newest["objects"] == [one.name for one in log[0].operations]
    assert (newest["added_files"], newest["added_rows"]) == (2, 3)


def test_commits_on_refs_and_catalogs_are_in_the_log(lake, main, orders):
    """They were in no system table."""
    dev = main.create_branch("dev", message="a branch")
    main.create_tag("q4")
    main.create_share("partners", [orders])
    main.grant_share("partners", "sales")
    main.revoke_share("partners", "sales")
    lake.rename_catalog("default", "first")
    found = [row for row in rows(main, "__commits") if row["about"] != "objects"]
    assert [(row["about"], row["operations"], row["objects"], row["details"]) for row in found] == [
        ("catalog", ["rename"], ["default"], ["first"]),
        ("refs", ["revoke"], ["partners"], ["sales"]),
        ("refs", ["grant"], ["partners"], ["sales"]),
        ("refs", ["create"], ["partners"], [""]),
        ("refs", ["create"], ["q4"], [""]),
        ("refs", ["create"], ["dev"], [""]),
        ("catalog", ["create", "create"], ["default", "default"], ["", ""]),
    ]
    assert [row["about"] for row in rows(dev, "__commits")][:1] == ["catalog"]
    assert set(column(main.share("partners"), "__commits", "about")) == {"objects"}
    versions = column(main, "__commits", "version")
    assert versions == sorted(versions, reverse=True)


def test_refs_are_shown_with_what_they_stand_for(main, orders):
    version = main.version
    dev = main.create_branch("dev")
    dev.create_branch("deeper")
    dev.create_table("own", {"id": "long"})
    dev.create_tag("q4", at=version)
    main.create_share("partners", [orders, "sales"])
    branches = {row["name"]: row for row in rows(main, "__branches")}
    assert {name: (row["parent"], row["depth"]) for name, row in branches.items()} == {
        "main": (None, 0),
        "dev": ("main", 1),
        "deeper": ("dev", 2),
    }
    assert branches["dev"]["fork_version"] >= int(version)
    assert (branches["main"]["version"], branches["dev"]["version"]) == (int(version), int(dev.version))
    [tag] = rows(dev, "__tags")
    assert (tag["name"], tag["branch"], tag["version"]) == ("q4", "dev", int(version))
    [share] = rows(main, "__shares")
    assert (share["name"], share["branch"]) == ("partners", "main")
    assert sorted(share["granted"]) == ["sales", "sales.orders"]
    assert sorted(share["granted_ids"]) == sorted([orders.id, main.namespace("sales").id])


def test_the_dropped_are_shown_with_what_undrop_needs(main, orders):
    for _ in range(2):
        main.create_table("t", {"id": "long"})
        main.drop_table("t")
    main.create_view("sales.v", "SELECT 1")
    main.drop_view("sales.v")
    main.drop_namespace("sales", cascade=True)
    main.create_tag("q4")
    main.drop_tag("q4")
    found = rows(main, "__dropped")
    assert sorted((row["kind"], row["parent"], row["name"]) for row in found) == [
        ("namespace", "", "sales"),
        ("table", "", "t"),
        ("table", "", "t"),
        ("tag", "", "q4"),
        ("view", "sales", "v"),
    ]
    assert {row["drop_type"] for row in found} == {"marked"}
    assert all(row["created_version"] < row["dropped_version"] for row in found)
    times = {row["version"]: row["time"] for row in rows(main, "__commits")}
    for row in found:
        assert (row["created_time"], row["dropped_time"]) == (
            times[row["created_version"]],
            times[row["dropped_version"]],
        )
    assert len({row["id"] for row in found}) == 5


def test_conflicts_are_those_that_a_merge_would_meet(main, orders):
    dev, fine = main.create_branch("dev"), main.create_branch("fine")
    dev.table("sales.orders").set_properties({"owner": "dev"})
    fine.table("sales.orders").append(numbers(5))
    assert rows(main, "__conflicts") == []
    orders.set_properties({"owner": "main"})
    found = rows(main, "__conflicts")
    assert {row["source"] for row in found} == {"dev"}
    assert {row["object_id"] for row in found} == {orders.id}
    [conflict] = main.merge(dev, dry_run=True).conflicts
    assert found == [
        {
            "source": "dev",
            "object_id": conflict.object_id,
            "name": conflict.name,
            "type": conflict.type,
            "what": conflict.what,
            "base": conflict.base,
            "ours": conflict.ours,
            "theirs": conflict.theirs,
        }
    ]
    assert rows(main, "__conflicts", where="source = 'fine'") == []
    main.merge(dev, strategy="ours")
    assert rows(main, "__conflicts") == []


def test_a_branch_shows_its_own_state(main, orders):
    dev = main.create_branch("dev")
    dev.rename_table("sales.orders", "renamed")
    dev.table("renamed").append(numbers(3))
    assert column(main, "__tables", "table_name") == ["sales.orders"]
    assert column(dev, "__tables", "table_name") == ["renamed"]
    assert (len(rows(main, "__files")), len(rows(dev, "__files"))) == (1, 2)
    assert column(dev, "__snapshots", "snapshot_id")[:2] == column(main, "__snapshots", "snapshot_id")


def test_a_tag_shows_what_it_is_a_name_for(main, orders):
    main.create_tag("before")
    orders.append(numbers(3))
    assert len(rows(main.tag("before"), "__files")) == 1


@pytest.mark.parametrize("name", ["__branches", "__tags", "__shares", "__conflicts"])
def test_a_share_does_not_show_the_refs(main, orders, name):
    main.create_share("partners", [orders])
    with pytest.raises(Forbidden):
        main.share("partners").inspect(name)


def test_a_share_shows_only_what_was_granted(main, orders):
    other = main.create_table("other", {"id": "long"})
    other.append(numbers(1))
    main.create_view("v", "SELECT 1")
    main.create_table("gone", {"id": "long"})
    main.drop_table("gone")
    main.create_branch("old")
    main.drop_branch("old")
    share = main.create_share("partners", [orders])
    for name in ("__tables", "__snapshots", "__files", "__changes", "__schemas"):
        assert set(column(share, name, "table_uuid")) == {orders.id}
    assert rows(share, "__views") == rows(share, "__dropped") == []
    assert {one for ids in column(share, "__commits", "object_ids") for one in ids} <= {orders.id}
    main.revoke_share("partners", [orders])
    assert rows(share, "__tables") == []


def test_the_past_of_a_purged_table_is_expired_and_not_left_out(main, orders):
    main.create_table("other", {"id": "long"})
    before = main.at(main.version)
    main.drop_table("other")
    main.purge_table("other")
    with pytest.raises(Expired, match="other"):
        before.inspect("__tables")
    assert column(before, "__tables", "table_name", where="table_name != 'other'") == ["sales.orders"]
    [row] = rows(main, "__dropped")
    assert (row["name"], row["drop_type"]) == ("other", "purged")


def test_what_came_by_a_merge_was_added_by_the_merge(main, orders):
    dev = main.create_branch("dev")
    dev.table("sales.orders").append(numbers(3))
    orders.append(numbers(4))
    merged = main.merge(dev).commit
    newest = orders.snapshots()[0]
    found = rows(main, "__files", where=f"snapshot_id = {newest.id}")
    assert [row["file_path"] for row in found] == column(dev, "__files", "file_path", where="sequence_number = 3")
    [row] = rows(main, "__snapshots", where=f"snapshot_id = {newest.id}")
    assert (row["type"], row["operation"], row["version"]) == ("merge_branch", "APPEND", int(merged.version))
    assert len(column(main, "__commits", "parents")[0]) == 2


def test_rows_and_columns_can_be_asked_for(main, orders):
    main.create_table("other", {"id": "long"}).append(numbers(1))
    assert column(main, "__tables", "table_name", where="table_name = 'other'") == ["other"]
    assert column(main, "__tables", "table_name", where="namespace = 'sales'") == ["sales.orders"]
    assert column(main, "__tables", "table_name", where="total_rows > 1 OR comment IS NULL") == [
        "other",
        "sales.orders",
    ]
    assert column(main, "__snapshots", "operation", where="table_name != 'other' AND added_rows > 0") == ["APPEND"]
    first = int(main.log()[-1].version)
    assert len(column(main, "__commits", "version", where=f"version > {first}")) == len(main.log()) - 1
    assert column(main, "__commits", "id", where="time < '2000-01-01'") == []
    assert main.inspect("__tables", columns=["version", "TABLE_NAME"]).schema.names == ["version", "table_name"]


@pytest.mark.parametrize(
    ("asked", "error", "problem"),
    [
        ({"name": "__nonsense"}, NotFound, "no system table with this name.*__tables"),
        ({"name": "tables"}, NotFound, "__tables"),
        ({"name": None}, NotFound, "__tables"),
        ({"name": "__tables", "where": "nonsense = 1"}, Invalid, "no such column"),
        ({"name": "__tables", "where": "table_name ="}, Invalid, "can't be read"),
        ({"name": "__tables", "where": "primary_key = 'id'"}, Invalid, "can't test this type"),
        ({"name": "__tables", "columns": ["nonsense"]}, Invalid, "no such column"),
        ({"name": "__tables", "columns": "table_name"}, Invalid, "must be a list of names"),
    ],
)
def test_what_is_not_there_is_said(main, orders, unchanged, asked, error, problem):
    with unchanged(), pytest.raises(error, match=problem):
        main.inspect(**asked)


def test_a_condition_on_the_name_spares_the_other_tables(main, orders):
    """Damage elsewhere is not met, since nothing of it is read."""
    broken = main.create_table("broken", {f"column_{number:04}": "string" for number in range(1000)})
    broken.append(pyarrow.table({f"column_{number:04}": ["x" * 40] for number in range(1000)}))
    [manifest] = Path(broken.location).glob("metadata/*.entries")
    manifest.unlink()
    with pytest.raises(Exception, match="an entry can't be read"):
        main.inspect("__files")
    for where in ("table_name = 'sales.orders'", "namespace > ''", "table_name IN ('a', 'sales.orders')"):
        assert len(rows(main, "__files", where=where)) == 1


conditions = st.sampled_from(
    [
        "table_name = 'b'",
        "table_name != 'b'",
        "table_name < 's'",
        "namespace = ''",
        "namespace >= 's'",
        "namespace IS NULL",
        "table_name IS NOT NULL",
        "table_name IN ('a', 's.c')",
        "table_name NOT IN ('a', 's.c')",
        "total_rows = 0",
        "comment IS NULL",
        "comment = 'x'",
    ]
)
filters = st.recursive(
    conditions,
    lambda inner: (
        st.builds("({} AND {})".format, inner, inner)
        | st.builds("({} OR {})".format, inner, inner)
        | st.builds("NOT ({})".format, inner)
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def three_tables(tmp_path_factory):
    import lakebed

    with lakebed.connect(tmp_path_factory.mktemp("lake")) as lake:
        main = lake.catalog()
        main.create_namespace("s")
        main.create_table("a", {"id": "long"})
        main.create_table("b", {"id": "long"}, comment="x").append(numbers(1))
        main.create_table("s.c", {"id": "long"}, comment="y")
        yield main


@settings(max_examples=40, deadline=None)
@given(filters)
def test_skipping_tables_never_changes_the_answer(three_tables, where):
    duckdb = pytest.importorskip("duckdb")
    everything = three_tables.inspect("__tables")
    wanted = duckdb.from_arrow(everything).filter(where).project("table_name").fetchall()
    assert column(three_tables, "__tables", "table_name", where=where) == [name for (name,) in wanted]


def test_the_page_has_every_column_of_every_system_table():
    """docs/guide/inspect.md is read by people; this is what keeps it true."""
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    found = {}
    for section in sections:
        title, _, text = section.partition("\n")
        found[title.strip("`")] = re.findall(r"^\| `(\w+)` \| `?([^`|]+)`? \| (.*) \|$", text, flags=re.MULTILINE)
    for name, table in SYSTEM_TABLES.items():
        assert found[name] == [(one.name, str(one.type), one.comment) for one in table.schema.fields]


def test_columns_that_are_no_list_were_a_type_error(main):
    with pytest.raises(Invalid, match="list"):
        main.inspect("__tables", columns=5)
    with pytest.raises(Invalid, match="column"):
        main.inspect("__tables", columns=[5])


@pytest.mark.parametrize("system", ["__files", "__partitions", "__segments"])
def test_the_files_of_the_past_are_shown_though_newer_ones_were_just_read(main, orders, system):
    """A line remembers the files that were read last."""
    then = main.at(version=main.version)
    before = rows(then, system)
    orders.append(numbers(5))
    orders.delete("id = 1")
    assert orders.scan().count()
    assert rows(then, system) == before != rows(main, system)
