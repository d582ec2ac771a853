"""IO entries: exact bytes, every check by name with the place, and nothing damaged passes."""

import json
import struct
from contextlib import suppress
from pathlib import Path

import google_crc32c
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import Corrupt, TooLarge
from lakebed.table.manifest import io_entry
from lakebed.table.manifest.io_entry import HEAD_BYTES, Codec, decode_entry, encode_entry
from lakebed.table.manifest.locations import Location

TESTS = Path(__file__).parents[2]
GOLDEN = json.loads((TESTS / "golden/io_entry.json").read_text())
CORPUS = json.loads((TESTS / "corpus/io_entries.json").read_text())
SMALL, LARGE = b"nothing to compress", b"lakebed " * 200

PAYLOADS = st.binary(max_size=60) | st.builds(
    lambda one, times: one * times, st.binary(max_size=5), st.integers(0, 300)
)


def place(data, raw_length):
    return Location("metadata/a", 16, len(data), raw_length)


def decoded(data, raw_length):
    return decode_entry(data, place(data, raw_length)).to_pybytes()


def sealed(data):
    """The entry with a checksum that fits."""
    checksum = google_crc32c.extend(google_crc32c.value(data[: HEAD_BYTES - 4]), data[HEAD_BYTES:])
    return data[: HEAD_BYTES - 4] + checksum.to_bytes(4, "little") + data[HEAD_BYTES:]


def test_the_golden_bytes_of_an_entry():
    assert encode_entry(SMALL).hex() == GOLDEN["plain"]
    assert decoded(bytes.fromhex(GOLDEN["plain"]), len(SMALL)) == SMALL
    # Another version of zstd may write other bytes. It reads these.
    assert decoded(bytes.fromhex(GOLDEN["zstd"]), len(LARGE)) == LARGE


def test_the_layout_is_the_documented_one():
    data = encode_entry(SMALL)
    assert data[:8] == b"LBIO\x01\x00\x00\x00"
    assert struct.unpack("<III", data[8:20]) == (len(SMALL), len(SMALL), 0)
    assert data[HEAD_BYTES:] == SMALL
    assert data == sealed(data)


def test_what_can_be_made_smaller_is():
    assert len(encode_entry(LARGE)) < 100
    assert encode_entry(LARGE)[5] == Codec.ZSTD
    assert encode_entry(SMALL)[5] == Codec.NONE


@given(PAYLOADS)
def test_exactly_what_was_written_is_read(payload):
    assert decoded(encode_entry(payload), len(payload)) == payload
    assert decoded(encode_entry(pyarrow.py_buffer(payload)), len(payload)) == payload


@pytest.mark.parametrize("payload", [SMALL, LARGE, b""])
def test_a_flipped_bit_is_found_wherever_it_is(payload):
    data = encode_entry(payload)
    for bit in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Corrupt, match=r"metadata/a at 16, \d+ bytes: "):
            decoded(bytes(damaged), len(payload))


@pytest.mark.parametrize("payload", [SMALL, LARGE])
def test_an_entry_that_is_cut_is_found_wherever_it_is_cut(payload):
    data = encode_entry(payload)
    for length in range(len(data)):
        with pytest.raises(Corrupt):
            decode_entry(data[:length], place(data, len(payload)))
        with pytest.raises(Corrupt):  # also if the location is of the cut one
            decoded(data[:length], len(payload))


@pytest.mark.parametrize(
    "at, bytes_, problem",
    [
        (0, b"LBIX", "wrong magic"),
        (4, b"\x02", "unknown version"),
        (5, b"\x02", "unknown codec"),
        (6, b"\x01", "reserved bytes are not zero"),
        (16, b"\x01", "reserved bytes are not zero"),
        (8, b"\x01\x00\x00\x00", "states the wrong length"),
        (12, b"\x01\x00\x00\x00", "wrong raw length"),
    ],
)
@pytest.mark.parametrize("payload", [SMALL, LARGE], ids=["plain", "zstd"])
def test_each_check_has_a_name(payload, at, bytes_, problem):
    data = encode_entry(payload)
    with pytest.raises(Corrupt, match=rf"metadata/a at 16, {len(data)} bytes: .*{problem}"):
        decoded(sealed(data[:at] + bytes_ + data[at + len(bytes_) :]), len(payload))


@pytest.mark.parametrize("payload", [SMALL, LARGE], ids=["plain", "zstd"])
def test_a_location_with_another_raw_length_is_found(payload):
    for other in (len(payload) - 1, len(payload) + 1, 0):
        with pytest.raises(Corrupt, match="wrong raw length"):
            decoded(encode_entry(payload), other)


@pytest.mark.parametrize("difference", [-8, -1, 1, 8])
def test_a_raw_length_that_both_tell_wrong_is_found(difference):
    data, wrong = encode_entry(LARGE), len(LARGE) + difference
    with pytest.raises(Corrupt, match=r"decompressed|raw length"):
        decoded(sealed(data[:12] + wrong.to_bytes(4, "little") + data[16:]), wrong)


@given(st.sampled_from([SMALL, LARGE]), st.data())
@settings(max_examples=60)
def test_what_was_damaged_before_it_was_sealed_is_corrupt_or_as_long_as_said(payload, data):
    entry = bytearray(encode_entry(payload))
    for _ in range(data.draw(st.integers(1, 3))):
        entry[data.draw(st.integers(0, len(entry) - 1))] = data.draw(st.integers(0, 255))
    with suppress(Corrupt):
        assert len(decoded(sealed(bytes(entry)), len(payload))) == len(payload)


@given(st.binary(max_size=100), st.integers(0, 100))
def test_random_bytes_are_corrupt(data, raw_length):
    with pytest.raises(Corrupt):
        decoded(data, raw_length)


def test_what_is_read_can_not_be_written_to():
    assert not decode_entry(encode_entry(LARGE), place(encode_entry(LARGE), len(LARGE))).is_mutable
    assert not decode_entry(encode_entry(SMALL), place(encode_entry(SMALL), len(SMALL))).is_mutable


def test_an_entry_beyond_four_bytes_is_refused(monkeypatch):
    monkeypatch.setattr(io_entry, "END", 50)
    with pytest.raises(TooLarge, match="too large"):
        encode_entry(b"x" * 27)


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["name"])
def test_the_corpus_stays_as_it_is(case):
    entry, location = bytes.fromhex(case["entry"]), Location("metadata/a", 16, case["length"], case["raw_length"])
    if "check" in case:
        with pytest.raises(Corrupt, match=case["check"]) as caught:
            decode_entry(entry, location)
        assert caught.value.subject == str(location)
    else:
        assert decode_entry(entry, location).to_pybytes().hex() == case["payload"]
