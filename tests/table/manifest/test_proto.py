"""manifest.proto: the source document's messages with all their fields, and generated code that is current."""

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.descriptor_pb2 import DescriptorProto

from lakebed.table.manifest import manifest_pb2 as pb

ROOT = Path(__file__).parents[3]
TYPES = {
    "string": Field.TYPE_STRING,
    "bytes": Field.TYPE_BYTES,
    "int32": Field.TYPE_INT32,
    "int64": Field.TYPE_INT64,
    "message": Field.TYPE_MESSAGE,
}

# Source document 003, field by field: number, type, name; `?` has presence, `*` repeats. The last three of row lineage
# are what its upstream has since made of numbers that the document reserves.
DOCUMENT = {
    "DataFileRef": """
        1 string path, 2 int64 file_size, 3 int64 num_rows, 4 int32 level, 5 int64 seq_min, 6 int64 seq_max,
        7 bytes key_min, 8 bytes key_max, 9 string? dv_path, 10 int64? dv_offset, 11 int64? dv_length,
        12 int32 status, 13 int32? format, 14 int64? first_row_id
    """,
    "DeleteFileRef": "1 string path, 2 int64 file_size, 3 int32 content",
    "Manifest": """
        1 int64 snapshot_id, 2 int64 sequence_number, 3 int32 schema_id, 4 int32 partition_spec_id,
        5 message* data_files, 6 message* delete_files, 7 int64? previous_snapshot_id, 8 string table_uuid,
        9 int64 last_updated_ms, 10 message* properties, 11 int32 last_column_id,
        12 int64? next_row_id, 13 int64? first_row_id
    """,
}


def spelled(field):
    name = next(name for name, number in TYPES.items() if number == field.type)
    mark = "*" if field.is_repeated else "?" if field.has_presence else ""
    return f"{field.number} {name}{mark} {field.name}"


@pytest.mark.parametrize("name", DOCUMENT)
def test_a_message_has_the_fields_of_the_document_and_ours_from_100_on(name):
    fields = pb.DESCRIPTOR.message_types_by_name[name].fields
    documented = [" ".join(field.split()) for field in DOCUMENT[name].split(",")]
    assert [spelled(field) for field in fields if field.number < 100] == documented


def test_the_number_of_the_checksum_is_reserved():
    text = (ROOT / "lakebed/table/manifest/manifest.proto").read_text()
    assert "reserved 100;" in text
    assert all(field.number != 100 for field in pb.Manifest.DESCRIPTOR.fields)


@pytest.mark.parametrize("name, first, last", [("DataFileRef", 15, 20), ("DeleteFileRef", 4, 10), ("Manifest", 14, 24)])
def test_the_numbers_that_the_document_reserves_are_reserved(name, first, last):
    stored = DescriptorProto()
    pb.DESCRIPTOR.message_types_by_name[name].CopyToProto(stored)
    assert (first, last + 1) in {(kept.start, kept.end) for kept in stored.reserved_range}


def test_every_figure_of_a_column_knows_whether_it_was_set():
    fields = pb.ColumnStatistics.DESCRIPTOR.fields
    assert [field.name for field in fields if not field.has_presence] == ["field_id"]


def test_the_generated_code_is_current(tmp_path):
    source = "lakebed/table/manifest/manifest.proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I.", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    subprocess.run([*command, source], cwd=ROOT, check=True)
    for name in ("manifest_pb2.py", "manifest_pb2.pyi"):
        path = Path("lakebed/table/manifest") / name
        assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes(), "run `make proto`"


def test_the_checksum_of_a_footer_is_field_109():
    stored = bytes.fromhex("0a0161 e806 effdb6f50d")
    assert pb.DataFileRef.FromString(stored) == pb.DataFileRef(path="a", footer_checksum=0xDEADBEEF)
