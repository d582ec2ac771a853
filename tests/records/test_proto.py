"""records.proto: the source document's twenty types with all their fields, and generated code that is current."""

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor as Field

from lakebed.records import codec
from lakebed.records import records_pb2 as pb
from lakebed.table.manifest import manifest_pb2

ROOT = Path(__file__).parent.parent.parent

# Source document 002, in its order. `segmentType` is spelled segment_type here; everything else is as written there.
DOCUMENT = {
    "ObjectName": "type parent_id name object_id",
    "DroppedObjectName": "type parent_id name object_id dropped_time",
    "TableObjectName": "catalog_id database_id name object_id",
    "DroppedTableObjectName": "catalog_id database_id name object_id create_time dropped_time drop_type",
    "CatalogRecord": (
        "project_id catalog_id name create_time properties parent_type parent_project_id parent_id parent_version"
        " user_id"
    ),
    "CatalogHistory": (
        "event_id project_id catalog_id name properties dropped version parent_type parent_id parent_version"
    ),
    "CatalogCommit": "event_id project_id catalog_id commit_time operation detail version",
    "DatabaseRecord": (
        "project_id catalog_id database_id catalog_name name properties location create_time description user_id"
    ),
    "DatabaseHistory": (
        "event_id catalog_id database_id name create_time version properties location description user_id"
    ),
    "TableReference": "catalog_id database_id table_id name latest_meta latest_data",
    "TableSchema": "catalog_id database_id table_id column",
    "TableStorage": (
        "catalog_id database_id table_id location source_short_name file_format input_format output_format serde"
        " user_id"
    ),
    "TableProperties": "catalog_id database_id table_id properties",
    "TablePartition": (
        "catalog_id database_id table_id name partition_id location file_format input_format output_format serde"
        " properties"
    ),
    "TableHistory": (
        "event_id catalog_id database_id table_id segment_type cur_set_id set_ids table_index_url version"
    ),
    "TableSchemaHistory": "event_id catalog_id database_id table_id version column",
    "TableStorageHistory": (
        "event_id catalog_id database_id table_id location source_short_name file_format input_format output_format"
        " serde user_id version properties"
    ),
    "TablePropertiesHistory": "event_id catalog_id database_id table_id properties version",
    "TablePartitionHistory": (
        "event_id catalog_id database_id table_id version name partition_id location file_format input_format"
        " output_format serde properties"
    ),
    "TableCommit": (
        "event_id catalog_id database_id table_id table_name create_time commit_time operation dropped_time version"
    ),
}

# What is not `string` in the document; `properties` is always `map<string, string>`.
INTEGERS = {"ObjectName.type", "DroppedObjectName.type"}
LONGS = {
    "DroppedObjectName.dropped_time",
    "DroppedTableObjectName.create_time",
    "DroppedTableObjectName.dropped_time",
    "CatalogCommit.commit_time",
    "TableCommit.create_time",
    "TableCommit.commit_time",
    "TableCommit.dropped_time",
}
ENUMS = {
    "DroppedTableObjectName.drop_type": "ObjectDropType",
    "CatalogRecord.parent_type": "ObjectType",
    "CatalogHistory.parent_type": "ObjectType",
    "TableHistory.segment_type": "SegmentSetType",
}
MESSAGES = {
    "TableSchema.column": "Column",
    "TableSchemaHistory.column": "Column",
    "TableCommit.operation": "Operation",
}

# Fields that the document gives to the history alone; the current record has them too, so that both read alike.
SHARED = {"CatalogRecord": {"dropped"}, "TableStorage": {"properties"}}


def test_the_document_has_twenty_types_and_they_are_numbered_in_its_order():
    assert [codec.TYPES[number].DESCRIPTOR.name for number in range(1, 21)] == list(DOCUMENT)


@pytest.mark.parametrize("name", DOCUMENT)
def test_a_type_has_all_fields_of_the_document_and_ours_from_100_on(name):
    fields = pb.DESCRIPTOR.message_types_by_name[name].fields
    documented = {*DOCUMENT[name].split(), *SHARED.get(name, ())}
    assert {field.name for field in fields if field.number < 100} == documented
    for field in fields:
        if field.name in documented:
            assert_typed_as_documented(f"{name}.{field.name}", field)


def assert_typed_as_documented(where: str, field: Field) -> None:
    if field.name == "properties":
        assert [entry.type for entry in field.message_type.fields] == [Field.TYPE_STRING] * 2
    elif where in ENUMS:
        assert field.enum_type.name == ENUMS[where]
    elif where in MESSAGES:
        assert (field.message_type.name, field.is_repeated) == (MESSAGES[where], True)
    else:
        assert field.type == scalar_type(where, field.name), where
    if field.name == "set_ids":
        assert field.is_repeated


def scalar_type(where: str, name: str) -> int:
    if where in INTEGERS:
        return Field.TYPE_INT32
    if where in LONGS:
        return Field.TYPE_INT64
    if name == "dropped":
        return Field.TYPE_BOOL
    return Field.TYPE_BYTES if name in {"version", "parent_version"} else Field.TYPE_STRING


def test_every_single_field_knows_whether_it_was_set():
    """Absent and empty are different: proto3's plain fields would not tell."""
    for message in pb.DESCRIPTOR.message_types_by_name.values():
        assert [field.name for field in message.fields if not field.is_repeated and not field.has_presence] == []


def test_a_location_has_the_bytes_of_one_in_a_manifest():
    """The layers do not know each other: what one writes, the other reads."""
    ours, theirs = pb.EntryLocation, manifest_pb2.EntryLocation
    assert [(field.name, field.number, field.type) for field in ours.DESCRIPTOR.fields] == [
        (field.name, field.number, field.type) for field in theirs.DESCRIPTOR.fields
    ]
    parts = {"key": "metadata/é", "offset": 2**32 - 1, "length": 7, "raw_length": 9, "shared": True}
    assert theirs.FromString(ours(**parts).SerializeToString()) == theirs(**parts)
    assert ours.FromString(theirs(**parts).SerializeToString()) == ours(**parts)


def test_the_generated_code_is_current(tmp_path):
    source = "lakebed/records/records.proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    subprocess.run([*command, source], cwd=ROOT, check=True)
    for name in ("records_pb2.py", "records_pb2.pyi"):
        path = Path("lakebed/records") / name
        assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes(), "run `make proto`"
