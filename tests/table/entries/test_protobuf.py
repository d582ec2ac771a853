"""Many messages read at once say what protobuf says of each."""

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import TooLarge
from lakebed.table.entries import protobuf
from lakebed.table.entries.protobuf import Fields, messages_of, tags_of
from lakebed.table.manifest.manifest_pb2 import ColumnStatistics, DataFileRef, Manifest
from tests.support.examples import examples
from tests.support.file_entries import ENTRIES, STATISTICS


def fields_of(messages):
    found = messages_of([one.SerializeToString() for one in messages])
    return found.data, Fields(found)


@given(st.lists(STATISTICS, max_size=8))
@settings(max_examples=examples(30, 60))
def test_every_field_is_as_protobuf_has_it(messages):
    data, fields = fields_of(messages)
    for field in ColumnStatistics.DESCRIPTOR.fields:
        tag = tags_of(ColumnStatistics)[field.name]
        if field.name in ("lower", "upper"):
            found = fields.slices(tag).array(data, pyarrow.binary()).to_pylist()
        else:
            found = fields.numbers(tag).array(pyarrow.int64()).to_pylist()
        if field.has_presence:
            expected = [getattr(one, field.name) if one.HasField(field.name) else None for one in messages]
        else:
            expected = [getattr(one, field.name) or None for one in messages]
        assert found == expected, field.name


@given(st.lists(ENTRIES, max_size=5))
@settings(max_examples=examples(30, 60))
def test_what_is_listed_comes_in_its_order_with_its_row(entries):
    data, fields = fields_of(entries)
    rows, nested = fields.repeated(tags_of(DataFileRef)["statistics"])
    found = [
        (row, bytes(data[begin:end]))
        for row, begin, end in zip(rows.tolist(), nested.begins.tolist(), nested.ends.tolist(), strict=True)
    ]
    assert found == [(row, one.SerializeToString()) for row, entry in enumerate(entries) for one in entry.statistics]


@given(st.lists(ENTRIES, max_size=5))
@settings(max_examples=examples(30, 60))
def test_a_span_is_all_that_a_list_takes(entries):
    data, fields = fields_of(entries)
    found = fields.spans(tags_of(DataFileRef)["blocks"]).array(data, pyarrow.binary()).to_pylist()
    assert found == [DataFileRef(blocks=one.blocks).SerializeToString() or None for one in entries]


@given(st.lists(ENTRIES, max_size=5))
@settings(max_examples=examples(30, 60))
def test_fields_that_protobuf_does_not_know_are_seen(entries):
    _, fields = fields_of(entries)
    found = fields.others(set(tags_of(DataFileRef).values())).tolist()
    expected = []
    for one in entries:
        copy = DataFileRef()
        copy.CopyFrom(one)
        for field in DataFileRef.DESCRIPTOR.fields:
            copy.ClearField(field.name)
        expected.append(copy.ByteSize() > 0)
    assert found == expected


def test_the_tag_of_a_field_has_its_wire_type():
    tags = tags_of(Manifest)
    assert (tags["snapshot_id"], tags["data_files"], tags["table_uuid"]) == (0x08, 0x2A, 0x42)
    written = Manifest(snapshot_id=1, table_uuid="t").SerializeToString()
    assert (written[0], written[2]) == (tags["snapshot_id"], tags["table_uuid"])


def test_a_column_beyond_arrows_offsets_is_refused(monkeypatch):
    monkeypatch.setattr(protobuf, "_COLUMN_BYTES", 10)
    data, fields = fields_of([ColumnStatistics(lower=b"123456"), ColumnStatistics(lower=b"12345")])
    with pytest.raises(TooLarge, match="too large"):
        fields.slices(tags_of(ColumnStatistics)["lower"]).array(data, pyarrow.binary())
