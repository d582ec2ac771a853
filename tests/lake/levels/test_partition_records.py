"""The bytes that an explicit partition's values are stored as: they never change."""

from datetime import date

import pytest

from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute


@pytest.fixture
def table(main):
    return main.create_table("t", {"id": "long", "dt": "date", "r": "string"}, partition_by=["dt", "r"])


def record(table, partition):
    [state] = table._scope.read().reader.attributes([(partition.id, Attribute.PARTITION)])
    return state.record


def test_values_have_the_golden_bytes(table):
    partition = table.create_partition({"dt": date(2026, 11, 1), "r": "Éa"}, properties={"a": "b"})
    found = record(table, partition)
    assert found.values.hex() == "0a080802120416510000" + "0a0708031203c38961"
    assert (found.state, found.file_format, found.location) == ("committed", "parquet", "")
    values = pb.PartitionValues.FromString(found.values).values
    assert [(one.field_id, one.value) for one in values] == [(2, b"\x16\x51\x00\x00"), (3, "Éa".encode())]


def test_null_is_a_value_without_bytes(table):
    found = record(table, table.create_partition({"dt": None, "r": "x"}))
    assert found.values.hex() == "0a020802" + "0a05080312" + "0178"


def test_what_a_later_version_stored_with_a_partition_is_kept(main, table, tmp_path):
    """Unknown fields survive a change of the location."""
    partition = table.create_partition({"dt": None, "r": "x"})
    known = record(table, partition)
    known.MergeFromString(bytes.fromhex("aa3f01ff"))  # field 1013
    with main.transaction("later") as tx:
        work = tx._scope.read()
        work.put_attribute(partition.id, Attribute.PARTITION, known)
        work.note(type(main.log()[0].operations[0])("alter_partition", partition.id))
    partition.alter(location=str(tmp_path))
    assert bytes.fromhex("aa3f01ff") in record(table, partition).SerializeToString()
