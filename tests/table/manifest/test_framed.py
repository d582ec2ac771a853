"""Whole frames: their bytes, and their fields as plain values."""

import pytest

from lakebed.errors import Corrupt
from lakebed.table.manifest import frame
from lakebed.table.manifest.framed import FramedManifest
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef, Manifest, Rewrite
from tests.support.seed_reader import read_manifest

MANIFEST = Manifest(
    snapshot_id=42,
    sequence_number=7,
    partition_spec_id=3,
    table_uuid="deadbeef-1234-5678-9abc-0123456789ab",
    properties={"job": "flush"},
    data_files=[
        DataFileRef(
            path="a.parquet",
            num_rows=-(2**63),
            key_min=b"\0",
            status=1,
            statistics=[ColumnStatistics(field_id=1, lower=b"\x01")],
        )
    ],
    rewrites=[Rewrite(inputs=["b", "c"], outputs=["a.parquet"])],
)


def test_fields_have_the_documents_names_and_unset_ones_are_left_out():
    found = FramedManifest("m", frame.encode(MANIFEST)).decoded()
    [file] = found["data_files"]
    assert (found["snapshot_id"], found["partition_spec_id"], found["schema_id"]) == (42, 3, 0)
    assert found["properties"] == {"job": "flush"}
    assert found["rewrites"] == [{"inputs": ["b", "c"], "outputs": ["a.parquet"]}]
    assert "previous_snapshot_id" not in found and "dv_path" not in file and "blocks" not in file
    assert (file["num_rows"], file["key_min"], file["level"]) == (-(2**63), b"\0", 0)
    assert file["statistics"] == [{"field_id": 1, "lower": b"\x01"}]


def test_a_frame_is_bytes_with_a_length_and_shows_its_path():
    framed = FramedManifest("m", frame.encode(MANIFEST))
    assert bytes(framed) == framed.data and len(framed) == len(framed.data)
    assert framed.message == MANIFEST
    assert repr(framed) == "FramedManifest(path='m')"


def test_a_damaged_frame_is_not_decoded():
    with pytest.raises(Corrupt, match="m: "):
        FramedManifest("m", frame.encode(MANIFEST)[:-1]).decoded()


def test_a_reader_of_the_documents_text_finds_the_same():
    data = frame.encode(MANIFEST)
    found, decoded = read_manifest(data), FramedManifest("m", data).decoded()
    for name in ("snapshot_id", "sequence_number", "schema_id", "partition_spec_id", "table_uuid", "properties"):
        assert found[name] == decoded[name]
    assert found["data_files"][0].items() <= decoded["data_files"][0].items()
