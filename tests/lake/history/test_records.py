"""Document 002's records: every field is filled, by the calls that the page names, and shows where it says.

The calls are those that the handles have: `tests/support/mutations.py` has one case for each, or its own test fails.
"""

import json
import re
from pathlib import Path

import pytest

from lakebed import Lake
from lakebed.catalog.inspect.registry import SYSTEM_TABLES
from lakebed.catalog.refs.refs import record_of
from lakebed.catalog.transaction.commits import Request
from lakebed.records import codec
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from tests.support.mutations import numbers
from tests.support.stored_fields import BORN, Field, MemoryStore, opened_lake, shown_fields, written_fields

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/internals/records.md"
DOCUMENTED = 100  # fields with lower numbers are the document's
TYPES = {kind.DESCRIPTOR.name: kind.DESCRIPTOR for kind in codec.TYPES.values()}
OURS = {codec.TYPES[number].DESCRIPTOR.name for number in codec.TYPES if number > 100}

# Only a commit by a clock that is behind has the first: tests/lake/history/test_clocks.py. The second is of every kind
# of life; a partition is purged with its table, whose life alone says so.
RARE = {("CatalogCommit", "clock"), ("TablePartition", "drop_version")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("records")


@pytest.fixture(scope="module")
def written(folder) -> dict[Field, set[str]]:
    return written_fields(folder)


@pytest.fixture(scope="module")
def shown(folder) -> set[Field]:
    with MemoryStore() as store:
        return shown_fields(opened_lake(store, folder))


def rows_of_page() -> dict[Field, tuple[str, str]]:
    """By field, who writes it and where it shows."""
    [table] = re.findall(r"<!-- fields -->\n(.*?)<!-- end -->", PAGE.read_text(), flags=re.DOTALL)
    found: dict[Field, tuple[str, str]] = {}
    for line in table.splitlines()[2:]:
        record, fields, writer, shows = (cell.strip() for cell in line.strip("|").split("|"))
        for field in named(fields):
            assert (record.strip("`"), field) not in found
            found[record.strip("`"), field] = writer, shows
    return found


def named(cell: str) -> list[str]:
    return re.findall("`([^`]+)`", cell)


def number_of(field: Field) -> int:
    return TYPES[field[0]].fields_by_name[field[1]].number


def is_of_document(field: Field) -> bool:
    return field[0] not in OURS and number_of(field) < DOCUMENTED


def test_every_field_of_a_record_is_on_the_page_once():
    assert set(rows_of_page()) == {(name, field.name) for name, kind in TYPES.items() for field in kind.fields}


def test_no_field_is_left_that_nobody_fills(written, shown):
    every = {(name, field.name) for name, kind in TYPES.items() for field in kind.fields}
    assert every - set(written) - shown - RARE == set()
    assert not RARE & set(written), "a call stores it: take it out of RARE"


def test_a_field_is_stored_by_the_calls_that_the_page_names(written):
    for field, (writer, _) in rows_of_page().items():
        calls = named(writer)
        assert set(calls) <= written.get(field, set()), field
        assert BORN not in calls or field[0] == "LakeRecord", f"{field}: name the call"
        if not calls:
            assert field not in written, f"{field} is stored, and the page names no call"


def test_a_field_shows_where_the_page_says(shown):
    for field, (_, shows) in rows_of_page().items():
        places = named(shows)
        assert places or shows == "inside", field
        assert places or not is_of_document(field), field
        for place in places:
            table, _, column = place.partition(".")
            assert not column or column in SYSTEM_TABLES[table].schema.names, place
        if "__records" in places:
            assert field in shown, field


def test_every_type_of_operation_is_emitted(written):
    """Those of indexes were in the enum, and no call emitted them."""
    emitted = {name for kind, name in written if kind == "OperationType"}
    assert {name for name, number in pb.OperationType.items() if number} - emitted == set()


# What `__records` says is true.


def records(line, record, **where) -> list[dict[str, object]]:
    condition = " AND ".join([f"record = '{record}'", *(f"{key} = '{value}'" for key, value in where.items())])
    return [json.loads(row["fields"]) for row in line.inspect("__records", where=condition).to_pylist()]


def test_the_records_of_a_table_say_what_it_is_and_was(lake: Lake, main):
    sales = main.create_namespace("sales", comment="c", author="grace")
    orders = main.create_table("sales.orders", {"id": "long"}, author="grace")
    filled = orders.append(numbers(1), event_id="00000000-0000-4000-8000-000000000009")
    [reference] = records(main, "TableReference", name="sales.orders")
    assert reference == {
        "catalog_id": filled.line,
        "database_id": sales.id,
        "table_id": orders.id,
        "name": "orders",
        "latest_meta": str(orders.history()[-1].version),
        "latest_data": str(filled.version),
    }
    [storage] = records(main, "TableStorage", name="sales.orders")
    assert (storage["location"], storage["user_id"]) == (orders.location, "grace")
    [schema] = records(main, "TableSchema", name="sales.orders")
    assert schema["column"] == [
        {"field_id": 1, "name": "id", "type": "long", "required": False, "physical_name": "id"},
    ]
    dropped = main.drop_table("sales.orders")
    commits = records(main, "TableCommit", name="sales.orders")
    assert [commit["version"] for commit in commits] == [str(one.version) for one in main.log(3)]
    assert [commit["operation"][0]["type"] for commit in commits] == ["drop", "insert", "create"]
    assert {commit["table_name"] for commit in commits} == {"sales.orders"}
    assert commits[1]["event_id"] == "00000000-0000-4000-8000-000000000009"
    assert (commits[0]["dropped_time"], "dropped_time" in commits[1]) == (commits[0]["commit_time"], False)
    assert {commit["create_time"] for commit in commits} == {commits[2]["commit_time"]}
    assert records(main, "TableReference", name="sales.orders") == []
    [gone] = records(main, "DroppedTableObjectName")
    assert (gone["object_id"], gone["database_id"], gone["drop_type"]) == (orders.id, sales.id, "marked")
    assert gone["dropped_time"] == commits[0]["commit_time"]
    assert main.at(version=dropped.version.previous()).inspect("__records", where="record = 'TableReference'").num_rows


def test_the_record_of_a_namespace_says_its_place_and_owner(lake: Lake, main):
    sales = main.create_namespace("sales", comment="all of it", location="hot", owner="grace", properties={"a": "1"})
    [now] = records(main, "DatabaseRecord", name="sales")
    assert now["catalog_name"] == "default"
    assert (now["location"], now["description"], now["user_id"]) == (sales.location, "all of it", "grace")
    assert now["properties"] == {"a": "1"}
    sales.set_owner("linus")
    sales.rename("shop")
    lake.rename_catalog("default", "first")
    past = records(main, "DatabaseHistory", object_id=sales.id)
    assert [(one["name"], one["user_id"]) for one in past] == [
        ("sales", "grace"),
        ("sales", "linus"),
        ("shop", "linus"),
    ]
    assert [one["event_id"] for one in past] == [commit.id for commit in reversed(sales.history())]
    assert records(main, "DatabaseRecord", name="shop")[0]["catalog_name"] == "first"


def test_the_record_of_a_dropped_table_says_when_it_was_created_and_dropped(main):
    main.create_table("t", {"id": "long"})
    [created, *_] = main.log()
    dropped = main.drop_table("t")
    [record] = records(main, "DroppedTableObjectName")
    times = [int(commit.time.timestamp() * 1_000_000 + 0.5) for commit in (created, dropped)]
    assert times[0] < times[1]
    assert [record["create_time"], record["dropped_time"]] == times
    assert (record["name"], record["drop_type"]) == ("t", "marked")


def test_a_ref_says_whether_it_is_a_branch_a_tag_or_a_share(lake: Lake, main):
    """It said what its parent is."""
    main.create_namespace("sales")
    dev = main.create_branch("dev")
    dev.create_branch("deeper")
    dev.create_tag("q4")
    main.create_share("partners", "sales", author="grace")
    found = {one["name"]: one for one in records(main, "CatalogRecord")}
    assert {name: one.get("parent_type") for name, one in found.items()} == {
        "default": None,
        "dev": "branch",
        "deeper": "branch",
        "q4": "tag",
        "partners": "share",
    }
    refs = main._line.refs("log").read()
    stored = {name: record_of(refs, one["catalog_id"]) for name, one in found.items() if name != "default"}
    assert {name: record.parent_type for name, record in stored.items()} == {
        "dev": pb.BRANCH,
        "deeper": pb.BRANCH,
        "q4": pb.TAG,
        "partners": pb.SHARE,
    }
    assert found["partners"]["user_id"] == "grace"
    assert found["deeper"]["parent_id"] == found["q4"]["parent_id"] == found["dev"]["catalog_id"]
    main.rename_branch("dev", "development")
    main.drop_tag("q4")
    past = records(main, "CatalogHistory", object_id=found["dev"]["catalog_id"])
    assert [one["name"] for one in past] == ["dev", "development"]
    assert [one.get("dropped") for one in records(main, "CatalogHistory", object_id=found["q4"]["catalog_id"])] == [
        None,
        True,
    ]


def test_a_ref_of_a_lake_from_before_says_what_it_is(main):
    """The kind of its parent was stored."""
    main.create_branch("dev")
    scope = main._line.refs("create_branch")
    [old] = [one for one in records(main, "CatalogRecord") if one["name"] == "dev"]

    def as_before(work):
        record = pb.CatalogRecord()
        record.CopyFrom(record_of(work, old["catalog_id"]))
        record.parent_type = pb.CATALOG
        work.put_attribute(old["catalog_id"], Attribute.REF, record)

    scope.change(as_before, Request("create_branch", ()))
    [now] = [one for one in records(main, "CatalogRecord") if one["name"] == "dev"]
    assert now["parent_type"] == "branch"


def test_a_share_shows_records_of_what_was_granted_alone(main):
    """In a namespace that only leads there it was a KeyError."""
    for name in ("eu", "eu.north"):
        main.create_namespace(name, comment="hidden")
    for name in ("eu.north.shown", "hidden"):
        main.create_table(name, {"id": "long"})
    share = main.create_share("partners", "eu.north.shown")
    assert {row["name"] for row in share.inspect("__records").to_pylist()} <= {"eu.north.shown", ""}
    assert share.inspect("__records", where="record = 'CatalogRecord'").num_rows == 0
    assert share.inspect("__records", where="record like 'Database%'").num_rows == 0
    inside = main.create_share("inside", "eu.north").inspect("__records").to_pylist()
    assert {row["name"] for row in inside} == {"eu.north", "eu.north.shown", ""}
    [own] = [json.loads(row["fields"]) for row in inside if row["record"] == "DatabaseRecord"]
    assert (own["description"], "location" in own) == ("hidden", False)


def test_the_data_index_grows_from_nothing_over_deltas_to_a_checkpoint(main):
    """P24: the parts of the checkpoint are the sets, and what it names can be opened."""
    orders = main.create_table("orders", {"id": "long"})
    orders.append(numbers(1))
    version = orders.checkpoint()
    orders.append(numbers(2))

    def index():
        rows = main.inspect("__snapshots", where="table_name = 'orders'").to_pylist()
        return [(row["segment_type"], len(row["set_ids"])) for row in rows]

    assert index() == [("init", 0), ("index", 1), ("index", 1)]
    parts = {part for row in main.inspect("__snapshots").to_pylist() for part in row["set_ids"]}
    orders.delete("id = 1")
    orders.checkpoint()
    newer = main.inspect("__snapshots").to_pylist()
    assert [set(row["set_ids"]) & parts for row in newer] == [set(), parts, parts, set()]
    assert [len(row["set_ids"]) for row in newer] == [0, 1, 1, 1]
    dev = main.create_branch("dev", version.previous())
    assert [row["segment_type"] for row in dev.inspect("__snapshots").to_pylist()] == ["init"]
    dev.table("orders").append(numbers(3))
    assert [row["segment_type"] for row in dev.inspect("__snapshots").to_pylist()] == ["init", "data"]
    for row in main.inspect("__snapshots").to_pylist():
        assert main.open(row["cur_set_id"]) == main.table("orders").manifest(row["snapshot_id"]).data
        assert json.loads(main.open(row["table_index_url"])) == orders.describe().manifest_list(row["snapshot_id"])
        assert all(Path(part).is_file() for part in row["set_ids"])
    past = {one["version"]: one for one in records(main, "TableHistory", name="orders")}
    assert past[str(version)]["segment_type"] == "index"
    assert [one["segment_type"] for one in past.values()].count("init") == 1


def test_the_commits_of_a_table_had_no_table_name_if_they_changed_an_edition_or_partition(main):
    """Document 002 requires it; and their operations were left out."""
    main.create_namespace("sales")
    orders = main.create_table("sales.orders", {"id": "long", "day": "string"}, partition_by=["day"])
    orders.create_partition({"day": "mon"}).append([{"id": 1}])
    second = orders.create_edition("2")
    second.create_partition({"day": "tue"})
    main.rename_namespace("sales", "shop")
    orders.stage_stream().append([{"id": 2, "day": "wed"}])
    orders.drop_edition("2")
    orders.rename("shop.sold")
    found = records(main, "TableCommit", name="shop.sold")
    assert [one["table_name"] for one in found] == ["shop.orders"] * 4 + ["sales.orders"] * 5
    assert [one["operation"][0]["name"].partition(".")[2] for one in found] == [
        "orders",
        "orders.edition_2",
        f"orders.stream_{orders.streams()[1].id}",
        f"orders.stream_{orders.streams()[1].id}",
        "orders.edition_2.day=tue",
        "orders.edition_2",
        "orders",
        "orders.day=mon",
        "orders",
    ]
    assert all("dropped_time" not in one for one in found), "the table was not dropped"


def test_the_records_of_an_edition_that_is_not_active_were_nowhere(main):
    """Those of the table are of its active edition, as in every system table; others have names."""
    orders = main.create_table("orders", {"id": "long"}, properties={"a": "1"})
    orders.append(numbers(1))
    second = orders.create_edition("2", {"number": "int"})
    second.append([{"number": 2}])
    staged = second.stage_stream()
    staged.append([{"number": 3}])

    def kinds(name):
        rows = main.inspect("__records", where=f"name = '{name}'", columns=["record", "object_id", "fields"])
        found = [(row["record"], row["object_id"], json.loads(row["fields"])) for row in rows.to_pylist()]
        assert all(fields["table_id"] == orders.id for _, _, fields in found)
        assert all(fields["event_id"] for kind, _, fields in found if kind.endswith("History"))
        return found

    table = {"TableSchema", "TableStorage", "TableProperties", "TableSchemaHistory", "TableStorageHistory"}
    table |= {"TablePropertiesHistory", "TableHistory", "TableCommit"}
    of_second = kinds("orders.edition_2")
    assert {kind for kind, _, _ in of_second} == table
    assert {id for _, id, _ in of_second} == {orders.editions()[1].id}
    [columns] = [fields["column"] for kind, _, fields in of_second if kind == "TableSchema"]
    assert [column["name"] for column in columns] == ["number"]
    of_stream = kinds(f"orders.edition_2.stream_{staged.stream_id}")
    assert {kind for kind, _, _ in of_stream} == {"TableHistory", "TableCommit"}
    assert len([one for one in of_stream if one[0] == "TableHistory"]) == 2
    orders.activate("2")
    of_first = kinds("orders.edition_1")
    assert {kind for kind, _, _ in of_first} == table
    assert [fields["properties"] for kind, _, fields in of_first if kind == "TableProperties"] == [{"a": "1"}]
    assert records(main, "TableSchema", name="orders.edition_9") == []
