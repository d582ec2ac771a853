"""Objects of columns: what others refer to, and what becomes of damaged, foreign and newer ones."""

import json
import struct
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Corrupt, Invalid, LakebedError, TooLarge
from lakebed.table.entries import object
from lakebed.table.entries.columns import columns_of
from lakebed.table.entries.layout import SURE_COLUMNS
from lakebed.table.entries.object import ALIGNMENT, column_from, column_payload, open_columns, pack
from lakebed.table.manifest.io_entry import decode_entry, encode_entry
from lakebed.table.manifest.locations import Location
from tests.support.file_entries import plain_files

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/column_object.json").read_text())
FILES = plain_files(3)


def opened(data, directory):
    def load(location):
        return column_from(decode_entry(data[location.offset : location.end], location), location)

    payload = decode_entry(data[directory.offset : directory.end], directory)
    return open_columns(payload.to_pybytes(), directory, load)


def written(files):
    return [(one.file.SerializeToString(deterministic=True), one.snapshot_id, one.schema_id) for one in files]


def test_a_golden_object_is_read():
    # Only read: another version of Arrow or zstd may write other bytes.
    columns = opened(bytes.fromhex(GOLDEN["object"]), Location("golden", *GOLDEN["directory"], shared=True))
    assert written(columns.files(range(3))) == written(FILES)


def test_the_directory_is_the_documented_one():
    packed = pack({"level": pyarrow.array([1, 2], pyarrow.int32())}, "key")
    payload = decode_entry(packed.data[packed.directory.offset :], packed.directory).to_pybytes()
    version, files, columns, offset, _, raw_length, name_bytes = struct.unpack("<BQIIIIH", payload[:27])
    assert (version, files, columns, offset, name_bytes, payload[27:]) == (1, 2, 1, 0, 5, b"level")
    assert raw_length == column_payload("level", pyarrow.array([1, 2], pyarrow.int32())).size
    assert packed.directory == Location("key", packed.directory.offset, packed.directory.length, len(payload), True)


def test_the_directory_ends_the_object_and_entries_are_aligned():
    packed = pack(columns_of(FILES), "key")
    assert packed.directory.end == len(packed.data)
    places = [place for place in range(0, len(packed.data), ALIGNMENT) if packed.data[place : place + 4] == b"LBIO"]
    assert len(places) == len(columns_of(FILES)) + 1
    assert packed.directory.offset == places[-1]


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(Invalid, match="differ in length"):
        pack({"level": pyarrow.nulls(2, pyarrow.int32()), "path": pyarrow.array(["a"])}, "key")


def test_an_object_beyond_four_bytes_is_refused(monkeypatch):
    monkeypatch.setattr(object, "END", 500)
    with pytest.raises(TooLarge, match="key: an object of columns is too large"):
        pack(columns_of(FILES), "key")


def test_a_column_of_a_newer_lakebed_is_told():
    packed = pack({"level": pyarrow.array([1], pyarrow.int32())}, "key")
    payload = decode_entry(packed.data[packed.directory.offset :], packed.directory).to_pybytes()
    with pytest.raises(Invalid, match=r"color in key at .*does not know"):
        open_columns(payload.replace(b"level", b"color"), packed.directory, lambda location: None)


@pytest.mark.parametrize(
    "change, problem",
    [
        (lambda payload: b"\x02" + payload[1:], "unknown version"),
        (lambda payload: payload + b"\x00", "surplus bytes"),
        (lambda payload: payload[:-1], "truncated"),
        (lambda payload: payload[:13] + b"\xff" * 8 + payload[21:], "beyond four bytes"),
    ],
)
def test_a_directory_that_is_none_is_corrupt(change, problem):
    packed = pack({"level": pyarrow.array([1], pyarrow.int32())}, "key")
    payload = decode_entry(packed.data[packed.directory.offset :], packed.directory).to_pybytes()
    with pytest.raises(Corrupt, match=problem):
        open_columns(change(payload), packed.directory, lambda location: None)


def test_a_column_of_another_type_or_length_is_corrupt():
    for column in (pyarrow.array([1, 2, 3], pyarrow.int64()), pyarrow.array([1, 2], pyarrow.int32())):
        packed = pack(columns_of(FILES), "key")
        payload = decode_entry(packed.data[packed.directory.offset :], packed.directory).to_pybytes()
        columns = open_columns(payload, packed.directory, lambda location, column=column: column)
        with pytest.raises(Corrupt, match=r"key at \d+, \d+ bytes: column level has the wrong type or length"):
            columns.column("level")


@pytest.mark.parametrize("name", SURE_COLUMNS)
def test_a_directory_without_a_column_that_every_file_has_is_corrupt(name):
    packed = pack({other: column for other, column in columns_of(FILES).items() if other != name}, "key")
    with pytest.raises(Corrupt, match=f"columns that every file has are missing .expected {name}"):
        opened(packed.data, packed.directory)
    none = pack({}, "key")
    assert opened(none.data, none.directory).files([]) == []


@pytest.mark.parametrize("payload", [b"", b"no arrow", b"\xff" * 40, b"ARROW1\x00\x00"])
def test_a_payload_without_a_column_is_corrupt(payload):
    location = Location("key", 0, 10, len(payload))
    with pytest.raises(Corrupt, match="key at 0, 10 bytes: an entry does not hold a column"):
        column_from(pyarrow.py_buffer(payload), location)


def test_a_payload_with_two_columns_or_batches_is_corrupt():
    sink = pyarrow.BufferOutputStream()
    batch = pyarrow.record_batch({"a": [1], "b": [2]})
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(Corrupt, match="does not hold a column"):
        column_from(sink.getvalue(), Location("key", 0, 1, 1))
    sink = pyarrow.BufferOutputStream()
    batch = pyarrow.record_batch({"a": [1]})
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch)
    with pytest.raises(Corrupt, match="does not hold a column"):
        column_from(sink.getvalue(), Location("key", 0, 1, 1))


@given(st.data())
@settings(max_examples=60)
def test_a_damaged_object_gives_the_files_or_is_corrupt(data):
    packed = pack(columns_of(FILES), "key")
    damaged = bytearray(packed.data)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = written(opened(bytes(damaged), packed.directory).files(range(3)))
    except Corrupt:
        return
    assert found == written(FILES)  # only zeros between entries were hit


@given(st.data())
@settings(max_examples=100)
def test_a_column_that_was_damaged_before_it_was_sealed_never_crashes(data):
    name = data.draw(st.sampled_from(["path", "level", "lower.1", "statistics", "num_rows"]))
    packed = pack(columns_of(FILES), "key")
    columns = opened(packed.data, packed.directory)
    payload = bytearray(column_payload(name, columns.column(name)).to_pybytes())
    for _ in range(data.draw(st.integers(1, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] ^= data.draw(st.integers(1, 255))
    entry = encode_entry(bytes(payload))
    location = Location("key", 0, len(entry), len(payload))
    damaged = {one: columns.column(one) for one in columns.names}
    try:
        damaged[name] = column_from(decode_entry(entry, location), location)
        again = pack(damaged, "key")
        opened(again.data, again.directory).files(range(3))
    except LakebedError:
        return
