"""What tables, namespaces and catalogs say they are: text, and the documents of source document 001."""

import json
from datetime import datetime

import pyarrow
import pytest

from lakebed import Field, NotFound, Schema, event_id
from lakebed.catalog.inspect import documents

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files

# The source document's examples, as far as their keys and kinds of values go.
METADATA = {
    "format-version": 2,
    "table-uuid": "",
    "location": "",
    "last-sequence-number": 3,
    "last-updated-ms": 1,
    "current-snapshot-id": 1,
    "snapshots": [
        {
            "snapshot-id": 1,
            "timestamp-ms": 1,
            "summary": {
                "operation": "append",
                "added-data-files": 3,
                "added-records": 1500,
                "changed-partition-count": 2,
            },
            "manifest-list": "",
        }
    ],
    "partition-specs": [
        {"spec-id": 1, "fields": [{"source-id": 2, "field-id": 1000, "name": "region", "transform": "identity"}]}
    ],
    "schema": {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": False}]},
}
SNAPSHOT = {"snapshot-id": 1, "timestamp-ms": 1, "operation": "append", "manifest-list": ""}
MANIFEST_LIST = [
    {
        "manifest-path": "",
        "manifest-length": 1024,
        "partition-summaries": [{"contains-null": False, "lower-bound": {}, "upper-bound": {}}],
    }
]
FILE = {"file-path": "", "file-format": "PARQUET", "partition-values": {}, "record-count": 1, "file-size-in-bytes": 1}
MANIFEST = {"added-data-files": [FILE], "existing-data-files": [], "deleted-data-files": []}


def covers(example, found):
    """Whether all keys of the example are there, with the same nesting and the same kinds of values."""
    if isinstance(example, dict):
        return isinstance(found, dict) and all(key in found and covers(one, found[key]) for key, one in example.items())
    if isinstance(example, list):
        return isinstance(found, list) and all(covers(example[0], one) for one in found if example)
    return type(found) is type(example)


def rows(*given):
    ids, regions, days = zip(*given, strict=True)
    return pyarrow.table(
        {
            "id": pyarrow.array(ids, pyarrow.int64()),
            "region": pyarrow.array(regions, pyarrow.string()),
            "date": pyarrow.array([None if day is None else datetime.fromisoformat(day) for day in days]).cast(
                pyarrow.timestamp("us")
            ),
        }
    )


@pytest.fixture
def table(main):
    """KV-18's table: partitioned by region and by the day of date."""
    main.create_namespace("sales")
    schema = Schema(
        [
            Field("id", "long", required=True, comment="the key"),
            Field("region", "string"),
            Field("date", "timestamp"),
        ]
    )
    made = main.create_table(
        "sales.orders",
        schema,
        partition_by=["region", "day(date)"],
        sort_by=["id desc"],
        primary_key=["id"],
        properties={"owner": "ädä"},
        comment="what was bought",
    )
    made.append(
        rows((1, "us-east", "2023-01-01T10:00"), (2, "us-east", "2023-01-31T23:59"), (3, "us-west", "2023-01-15"))
    )
    made.append(rows((4, None, "2023-02-01"), (5, "us-west", "2023-02-28")))
    return made


def test_the_metadata_document_of_a_partitioned_table(table):
    """KV-18."""
    found = table.describe().metadata()
    assert covers(METADATA, found)
    assert (found["format-version"], found["table-uuid"], found["location"]) == (2, table.id, table.location)
    newest, *_ = infos = table.snapshots()
    assert (found["last-sequence-number"], found["current-snapshot-id"]) == (3, newest.id)
    assert found["last-updated-ms"] == int(newest.time.timestamp() * 1000)
    assert [one["snapshot-id"] for one in found["snapshots"]] == [one.id for one in reversed(infos)]
    assert [one["summary"]["operation"] for one in found["snapshots"]] == ["create", "append", "append"]
    assert [one["summary"]["added-data-files"] for one in found["snapshots"]] == [0, 3, 2]
    assert [one["summary"]["added-records"] for one in found["snapshots"]] == [0, 3, 2]
    assert [one["summary"]["changed-partition-count"] for one in found["snapshots"]] == [0, 3, 2]
    assert found["partition-specs"] == [
        {
            "spec-id": 1,
            "fields": [
                {"source-id": 2, "field-id": 1000, "name": "region", "transform": "identity"},
                {"source-id": 3, "field-id": 1001, "name": "date_day", "transform": "day"},
            ],
        }
    ]
    assert found["schema"]["fields"] == [
        {"id": 1, "name": "id", "type": "long", "nullable": False},
        {"id": 2, "name": "region", "type": "string", "nullable": True},
        {"id": 3, "name": "date", "type": "timestamp", "nullable": True},
    ]


def test_the_snapshot_document(table):
    """KV-18."""
    described, infos = table.describe(), table.snapshots()
    assert covers(SNAPSHOT, described.snapshot())
    assert described.snapshot()["snapshot-id"] == infos[0].id
    for one in infos:
        found = described.snapshot(one.id)
        assert (found["snapshot-id"], found["timestamp-ms"]) == (one.id, int(one.time.timestamp() * 1_000_000) // 1000)
        assert found["manifest-list"] in {
            entry["manifest-list"] for entry in described.metadata()["snapshots"] if entry["snapshot-id"] == one.id
        }


def test_the_manifest_list_document_has_the_ranges_of_the_partitions(table):
    """KV-18."""
    found = table.describe().manifest_list()
    assert covers(MANIFEST_LIST, found)
    assert [one["partition-summaries"] for one in found] == [
        [
            {
                "contains-null": False,
                "lower-bound": {"region": "us-east", "date_day": "2023-01-01"},
                "upper-bound": {"region": "us-west", "date_day": "2023-01-31"},
            }
        ],
        [
            {
                "contains-null": True,
                "lower-bound": {"region": "us-west", "date_day": "2023-02-01"},
                "upper-bound": {"region": "us-west", "date_day": "2023-02-28"},
            }
        ],
    ]
    assert all(one["manifest-length"] > 0 for one in found)
    second = table.snapshots()[1].id
    assert table.describe().manifest_list(second) == found[:1]
    assert table.at(snapshot=second).describe().manifest_list() == found[:1]


def test_the_manifest_document_has_each_file_with_its_partition(table):
    """KV-18."""
    found = table.describe().manifest()
    assert covers(MANIFEST, found)
    assert [one["partition-values"] for one in found["added-data-files"]] in (
        [{"region": None, "date_day": "2023-02-01"}, {"region": "us-west", "date_day": "2023-02-28"}],
        [{"region": "us-west", "date_day": "2023-02-28"}, {"region": None, "date_day": "2023-02-01"}],
    )
    assert {one["record-count"] for one in found["added-data-files"]} == {1}
    paths = {one["file-path"] for one in found["added-data-files"]}
    assert paths < set(table.scan().files())
    first = table.snapshots()[-1].id
    assert table.describe().manifest(first) == {
        "added-data-files": [],
        "existing-data-files": [],
        "deleted-data-files": [],
    }


def test_every_document_of_a_table_can_be_written_and_read(table):
    """KV-17."""
    found = table.describe()
    for form, body in (
        (documents.METADATA, found.metadata()),
        (documents.SNAPSHOT, found.snapshot()),
        (documents.MANIFEST_LIST, found.manifest_list()),
        (documents.MANIFEST, found.manifest()),
        (documents.PROPERTIES, found.properties()),
        (documents.PARTITION_SPECS, found.partition_specs()),
        (documents.SNAPSHOTS, found.snapshots()),
        (documents.DATA_FILES, found.data_files()),
    ):
        assert form.from_json(form.to_json(body)) == body == json.loads(json.dumps(body))


def test_what_kvcatalog_keeps_as_json(table):
    """KV-17, KV-19."""
    found = table.describe()
    assert found.properties() == {"owner": "ädä", "comment": "what was bought"}
    assert found.partition_specs() == [
        {
            "spec_id": 1,
            "fields": [
                {"source_id": 2, "field_id": 1000, "name": "region", "transform": "identity"},
                {"source_id": 3, "field_id": 1001, "name": "date_day", "transform": "day"},
            ],
        }
    ]
    newest = found.snapshots()[-1]
    assert (newest["operation"], newest["parent_snapshot_id"]) == ("append", found.snapshots()[-2]["snapshot_id"])
    files = found.data_files()
    assert [one["file_path"] for one in files] == table.scan().files()
    summary = {key: int(value) for key, value in newest["summary"].items()}
    assert (summary["added-files"], summary["added-records"], summary["deleted-files"]) == (2, 2, 0)
    assert summary["total-files"] == len(files)
    assert summary["total-records"] == sum(one["record_count"] for one in files) == table.scan().count()
    assert summary["total-bytes"] == sum(one["file_size_bytes"] for one in files)


def test_a_transform_with_a_number_has_it_apart(main):
    made = main.create_table(
        "t", {"id": "long", "name": "string"}, partition_by=["bucket(16, id)", "truncate(3, name)"]
    )
    [spec] = made.describe().partition_specs()
    assert [(one["transform"], one["transform_param"]) for one in spec["fields"]] == [("bucket", 16), ("truncate", 3)]
    [spec] = made.describe().metadata()["partition-specs"]
    assert [one["transform"] for one in spec["fields"]] == ["bucket[16]", "truncate[3]"]


def test_a_table_that_got_a_partition_spec_later_shows_both(main):
    made = main.create_table("t", {"id": "long", "region": "string"})
    assert [one["spec_id"] for one in made.describe().partition_specs()] == [0]
    made.append(pyarrow.table({"id": [1], "region": ["eu"]}))
    with made.evolve() as change:
        change.partition_by(["region"])
    made.append(pyarrow.table({"id": [2], "region": ["us"]}))
    assert [len(one["fields"]) for one in made.describe().partition_specs()] == [0, 1]
    assert [one["partition_values"] for one in made.describe().data_files()] == [{}, {"region": "us"}]
    first, _ = made.describe().manifest_list()
    assert first["partition-summaries"] == []


def test_a_partition_is_shown_by_the_column_that_was_dropped_since(main):
    made = main.create_table("t", {"id": "int", "region": "string"}, partition_by=["region", "id"])
    made.append(pyarrow.table({"id": pyarrow.array([1], pyarrow.int32()), "region": ["eu"]}))
    with made.evolve() as change:
        change.partition_by([])
    with made.evolve() as change:
        change.drop_column("region")
        change.widen_column("id", "long")
    [file] = made.describe().data_files()
    assert file["partition_values"] == {"region": "eu", "id": "1"}


def test_a_description_is_of_the_moment_at_which_it_was_asked_for(main, table):
    described, version = table.describe(), main.version
    before = (str(described), described.metadata(), described.data_files())
    table.append(rows((9, "eu", "2024-01-01")))
    table.set_properties({"owner": "bob"})
    main.rename_table("sales.orders", "bought")
    assert (str(described), described.metadata(), described.data_files()) == before
    assert str(table.describe()) != before[0]
    assert table.at(version).describe().metadata() == before[1]


def test_a_snapshot_counts_the_partitions_that_it_changed_and_not_their_files(main):
    made = main.create_table("counted", {"id": "long", "region": "string"}, partition_by=["region"])
    for id, region in enumerate(("eu", "eu", "us")):
        made.append([{"id": id, "region": region}])
    made.truncate()
    counted = [one["summary"]["changed-partition-count"] for one in made.describe().metadata()["snapshots"]]
    assert counted == [0, 1, 1, 1, 2]


def test_another_snapshot_is_not_found(main, table):
    with pytest.raises(NotFound, match=r"there is no snapshot 99"):
        table.describe().snapshot(99)
    with main.transaction() as tx:
        made = tx.create_table("new", {"id": "long"})
        assert made.describe().metadata()["current-snapshot-id"] is None
        assert "table new" in str(made.describe())
        with pytest.raises(NotFound, match="there is no snapshot yet"):
            made.describe().snapshot()


def test_a_large_manifest_is_named_and_opened_like_others(main):
    made = main.create_table("t", {f"column_{number:04}": "string" for number in range(1000)})
    made.append(pyarrow.table({f"column_{number:04}": ["x" * 40] for number in range(1000)}))
    [entry] = made.describe().manifest_list()
    assert len(main.open(entry["manifest-path"])) == entry["manifest-length"] > 64_000


def test_a_table_is_described_in_words(table):
    text = str(table.describe())
    assert text.splitlines()[0] == "table sales.orders"
    for part in (
        table.id,
        "what was bought",
        table.location,
        "primary key     id",
        "partitioned by  region, day(date)",
        "sorted by       id desc nulls last",
        "rows            5",
        "files           5",
        f"changed         {table.version} at ",
        "id      long not null  -- the key",
        "owner = ädä",
    ):
        assert part in text


def test_namespaces_and_catalogs_are_described_in_words(main, table):
    main.namespace("sales").set_properties({"comment": "all that is sold"})
    main.create_view("sales.v", "SELECT 1")
    text = main.namespace("sales").describe()
    for part in ("namespace sales", "all that is sold", "tables      1", "views       1"):
        assert part in text
    main.set_properties({"team": "east"})
    dev = main.create_branch("dev")
    assert "catalog default@main" in main.describe()
    for part in ("catalog default@dev", "namespaces  1", "tables      1", "team = east"):
        assert part in dev.describe()


def test_a_pinned_branch_of_a_dropped_catalog_could_be_read_and_not_described(lake):
    catalog = lake.create_catalog("c")
    same = event_id("tag")
    dev = catalog.create_branch("dev")
    pinned, tag = dev.at(dev.version), dev.create_tag("tag", event_id=same)
    lake.drop_catalog("c", cascade=True)
    assert [pinned.ref, tag.ref] == ["dev", "tag"]
    assert pinned.describe().startswith("catalog c@dev")
    assert tag.describe().startswith("catalog c@tag")
    assert dev.create_tag("tag", event_id=same) == tag
