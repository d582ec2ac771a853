"""The bytes of records: golden, checksummed, and nothing that a newer Lakebed wrote is lost."""

import json
import zlib
from contextlib import suppress
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt, Invalid
from lakebed.records import codec
from lakebed.records import records_pb2 as pb
from lakebed.store import Version

GOLDEN = json.loads((Path(__file__).parent.parent / "golden/records.json").read_text())

LINE = "00000000-0000-4000-8000-000000000001"
OBJECT = "00000000-0000-4000-8000-000000000002"

UNKNOWN = b"\xfa\x3e\x05later"  # field 1007 with the text "later"
HEADS = sorted(codec.HISTORIES, key=lambda kind: kind.DESCRIPTOR.name)


# A filled example of every type: each field set, the same on every run.


def filled_example(kind: type[Message]) -> Message:
    """The record with every field set, messages inside it included."""
    record = kind()
    for field in kind.DESCRIPTOR.fields:
        if _is_map(field):
            _fill_map(record, field)
        elif field.is_repeated:
            _fill_list(record, field)
        elif field.message_type is not None:
            getattr(record, field.name).CopyFrom(_message(field))
        else:
            setattr(record, field.name, _scalar(field))
    return record


def _fill_map(record: Message, field: FieldDescriptor) -> None:
    value = field.message_type.fields_by_name["value"]
    for key in ("b", "a"):  # not in the order in which they are written
        getattr(record, field.name)[key] = _scalar(value)


def _fill_list(record: Message, field: FieldDescriptor) -> None:
    values = [_message(field)] * 2 if field.message_type is not None else [_scalar(field), "second"]
    getattr(record, field.name).extend(values)


def _message(field: FieldDescriptor) -> Message:
    return filled_example(field.message_type._concrete_class)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _scalar(field: FieldDescriptor) -> object:
    """A value that tells the field by its number."""
    if field.type == FieldDescriptor.TYPE_STRING:
        return f"{field.name} é"
    if field.type == FieldDescriptor.TYPE_BYTES:
        return bytes((field.number, 0, 255))
    if field.type == FieldDescriptor.TYPE_BOOL:
        return True
    if field.type == FieldDescriptor.TYPE_ENUM:
        return min(field.enum_type.values[-1].number, 32)  # the last when the bytes were made: new ones change none
    return 1000 + field.number


def name(kind):
    return kind.DESCRIPTOR.name


def sealed(body):
    return body + zlib.crc32(body).to_bytes(4, "little")


def with_unknown(record):
    record.MergeFromString(UNKNOWN)
    return record


def unknown_numbers(record):
    return [field.field_number for field in UnknownFieldSet(record)]


# Golden bytes


@pytest.mark.parametrize(("number", "kind"), codec.TYPES.items(), ids=map(name, codec.TYPES.values()))
def test_a_record_has_the_golden_bytes_and_they_give_it_back(number, kind):
    golden = bytes.fromhex(GOLDEN["values"][name(kind)])
    assert codec.encode(filled_example(kind)).hex() == golden.hex()
    assert golden[:2] == bytes((1, number))
    assert golden == sealed(golden[:-4])
    decoded = codec.decode(golden)
    assert type(decoded) is kind
    assert unknown_numbers(decoded) == []
    assert codec.encode(decoded) == golden


@pytest.mark.parametrize("current", HEADS, ids=name)
def test_a_history_record_has_the_golden_bytes_and_is_read_as_its_current_type(current):
    golden = bytes.fromhex(GOLDEN["histories"][name(current)])
    record = filled_example(current)
    assert codec.encode_both(record)[1].hex() == golden.hex()
    assert type(codec.decode(golden)) is codec.HISTORIES[current]
    found = codec.filled(codec.decode_current(golden), LINE, OBJECT)
    assert found == codec.filled(record, LINE, OBJECT)


def test_the_golden_file_has_every_type_and_no_other():
    assert set(GOLDEN["values"]) == {name(kind) for kind in codec.TYPES.values()}
    assert set(GOLDEN["histories"]) == {name(kind) for kind in codec.HISTORIES}
    assert len(codec.TYPES) == 20 + 6
    assert list(codec.TYPES)[:20] == list(range(1, 21))


def test_a_record_whose_history_has_no_type_of_its_own_is_kept_as_it_is():
    record = pb.TableSpec(spec_id=3)
    assert codec.encode_both(record)[1] == codec.encode(record)
    assert codec.decode_current(codec.encode(record)) == record


def test_the_order_in_which_a_map_was_filled_does_not_change_the_bytes():
    one, two = pb.TableProperties(), pb.TableProperties()
    keys = [str(number) for number in range(50)]
    one.properties.update(dict.fromkeys(keys, ""))
    two.properties.update(dict.fromkeys(reversed(keys), ""))
    assert codec.encode(one) == codec.encode(two)


# A current record and its history


@pytest.mark.parametrize("current", HEADS, ids=name)
def test_a_current_record_and_its_history_are_the_same_on_the_wire(current):
    mine, theirs = current.DESCRIPTOR, codec.HISTORIES[current].DESCRIPTOR
    for field in theirs.fields:
        twin = mine.fields_by_name.get(field.name)
        if twin is None:
            assert field.number not in mine.fields_by_number, f"{field.name} has the number of another field"
        else:
            assert (field.number, field.type, field.is_repeated) == (twin.number, twin.type, twin.is_repeated)
            assert field.message_type is twin.message_type or name_of(field) == name_of(twin)
            assert field.enum_type is twin.enum_type


def name_of(field):
    """A map's entry is a type of its own in each message; what it holds has to be the same."""
    return [(entry.name, entry.number, entry.type) for entry in field.message_type.fields]


# Unknown fields


@pytest.mark.parametrize("kind", codec.TYPES.values(), ids=name)
def test_an_unknown_field_survives_a_rewrite(kind):
    record = codec.decode(codec.encode(with_unknown(filled_example(kind))))
    text = next(field for field in kind.DESCRIPTOR.fields if not field.is_repeated)
    record.ClearField(text.name)
    again = codec.decode(codec.encode(record))
    assert UNKNOWN in again.SerializeToString()
    assert unknown_numbers(again) == [1007]


def test_unknown_fields_inside_other_messages_survive_a_rewrite_too():
    schema = pb.TableSchema(table_id=OBJECT, column=[with_unknown(pb.Column(name="a")), pb.Column(name="b")])
    found = codec.decode_current(codec.encode_both(schema)[1])
    found.column[0].name = "z"
    found.column.append(pb.Column(name="c"))
    again = codec.decode(codec.encode(found))
    assert [unknown_numbers(column) for column in again.column] == [[1007], [], []]
    assert again.column[0].name == "z"


def test_a_field_that_the_history_type_lacks_comes_back_from_history():
    record = pb.DatabaseRecord(name="sales", container_id=LINE, dropped=True, catalog_name="default")
    assert codec.decode_current(codec.encode_both(record)[1]) == record


def test_an_enum_value_of_a_newer_lakebed_survives_a_rewrite():
    value = sealed(b"\x01\x0a" + b"\xa0\x06\x63")  # TableReference.type = 99
    record = codec.decode(value)
    assert record.type == 99
    assert codec.encode(record) == value


# Damage


values = st.sampled_from([bytes.fromhex(text) for text in GOLDEN["values"].values()])


@given(values, st.data())
def test_a_flipped_bit_is_never_another_record(value, data):
    place = data.draw(st.integers(0, 8 * len(value) - 1))
    broken = bytearray(value)
    broken[place // 8] ^= 1 << place % 8
    for read in (codec.decode, codec.decode_current):
        with pytest.raises((Corrupt, Invalid)):
            read(bytes(broken))


@given(values, st.data())
def test_a_value_that_was_cut_off_is_corrupt(value, data):
    with pytest.raises(Corrupt):
        codec.decode(value[: data.draw(st.integers(0, len(value) - 1))])
    with pytest.raises(Corrupt):
        codec.decode(value[data.draw(st.integers(1, len(value))) :])


@given(st.binary(max_size=40))
def test_what_is_no_record_is_a_typed_error(junk):
    for value in (junk, sealed(b"\x01\x0a" + junk)):
        with suppress(Corrupt, Invalid):
            codec.encode(codec.decode(value))


def test_a_sound_checksum_around_what_is_no_protobuf_is_corrupt():
    with pytest.raises(Corrupt, match="TableReference"):
        codec.decode(sealed(b"\x01\x0a\x22\x7fshort"))
    with pytest.raises(Corrupt):
        codec.decode(sealed(b"\x01\x0a\x22\x01\xff"))  # text that is not UTF-8


@pytest.mark.parametrize(
    ("head", "problem"), [(b"\x02\x0a", "newer format"), (b"\x01\x64", "does not know"), (b"\x01\x00", "does not know")]
)
def test_a_record_of_a_newer_lakebed_is_refused_with_advice(head, problem):
    with pytest.raises(Invalid, match=f"{problem}.*Upgrade Lakebed"):
        codec.decode(sealed(head))


def test_a_current_row_has_its_version_in_front():
    version = Version(bytes(range(12)))
    assert codec.split_current(version + b"rest") == (version, b"rest")
    with pytest.raises(Corrupt, match="truncated"):
        codec.split_current(version[:11])


# What the key holds


@pytest.mark.parametrize(
    ("record", "kept"),
    [
        (pb.CatalogRecord(catalog_id=OBJECT, project_id="p"), {"project_id"}),
        (pb.DatabaseRecord(catalog_id=LINE, database_id=OBJECT, name="n"), {"name"}),
        (pb.TableReference(catalog_id=LINE, table_id=OBJECT, database_id="d"), {"database_id"}),
        (pb.TableSchema(catalog_id=LINE, table_id=OBJECT, schema_id=1), {"schema_id"}),
        (pb.TableStorage(catalog_id=LINE, table_id=OBJECT, location="l"), {"location"}),
        (pb.TableProperties(catalog_id=LINE, table_id=OBJECT, properties={"a": "b"}), {"properties"}),
        (pb.TablePartition(catalog_id=LINE, partition_id=OBJECT, table_id="t"), {"table_id"}),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, set) else "",
)
def test_what_the_key_holds_is_left_out_and_put_back(record, kept):
    before = type(record)()
    before.CopyFrom(record)
    stored = codec.decode(codec.encode(record))
    assert {field.name for field, _ in stored.ListFields()} == kept
    assert codec.filled(stored, LINE, OBJECT) == record == before, "and the caller's record is as it was"


def test_a_record_without_a_field_says_nothing():
    assert len(codec.encode(pb.ObjectName())) == codec.EMPTY_BYTES
    assert len(codec.encode(pb.TableReference(catalog_id=LINE, table_id=OBJECT))) == codec.EMPTY_BYTES
