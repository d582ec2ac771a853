"""Deletion vectors: Iceberg's bytes exactly, every check by name, and no bit of a blob that goes unseen."""

import json
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.deletion_vector import DeletionVector, _extract_vector_payload
from pyroaring import BitMap64

from lakebed.errors import Corrupt, Invalid
from lakebed.table.manifest.deletion_vectors import (
    MAGIC,
    MAX_POSITION,
    blob_length,
    decode_vector,
    encode_vector,
    vector_of,
)

TESTS = Path(__file__).parents[2]
GOLDEN = json.loads((TESTS / "golden/deletion_vectors.json").read_text())
CORPUS = json.loads((TESTS / "corpus/deletion_vectors.json").read_text())
DOCUMENT = bytes.fromhex(GOLDEN["document"]["blob"])

near = st.integers(0, 200_000)
vectors = st.one_of(
    st.lists(near, max_size=30),
    st.builds(lambda first, many: list(range(first, first + many)), near, st.integers(0, 6_000)),
    st.lists(st.integers(0, 2 << 32), max_size=10),
)


def sealed(data: bytes, more: int = 0) -> bytes:
    """A blob of anything, with the length and the checksum that fit."""
    return (len(data) + more).to_bytes(4, "big") + data + zlib.crc32(data).to_bytes(4, "big")


def pyiceberg(blob: bytes) -> list[int]:
    bitmaps = DeletionVector._deserialize_bitmap(_extract_vector_payload(blob))
    return [(key << 32) + one for key, bitmap in enumerate(bitmaps) for one in bitmap]


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_blobs_are_written_and_read_exactly(name: str) -> None:
    blob, positions = bytes.fromhex(GOLDEN[name]["blob"]), GOLDEN[name]["positions"]
    held = [one for first, last in positions for one in range(first, last + 1)]
    assert encode_vector(held) == blob
    assert list(decode_vector(blob, "golden")) == held == pyiceberg(blob)


def test_the_layout_is_the_specifications() -> None:
    blob = encode_vector([0, 5, 10])
    assert blob == DOCUMENT
    assert int.from_bytes(blob[:4], "big") == len(blob) - 8
    assert blob[4:8] == MAGIC
    assert blob[-4:] == zlib.crc32(blob[4:-4]).to_bytes(4, "big")


@given(vectors)
def test_what_is_written_is_read_here_and_by_pyiceberg(positions: list[int]) -> None:
    blob = encode_vector(positions)
    assert list(decode_vector(blob, "v")) == sorted(set(positions)) == pyiceberg(blob)


def test_runs_are_used_where_they_are_shorter_as_by_java() -> None:
    # Its arrays become runs if 2 bytes a position are more than 2 and 4 a run: with four positions, not with three.
    assert decode_size([0, 1, 2]) == decode_size([0, 2, 4])
    assert decode_size([0, 1, 2, 3]) < decode_size([0, 2, 4, 6])
    assert decode_size(range(1_000_000)) < 300


def decode_size(positions: object) -> int:
    return len(encode_vector(positions))  # type: ignore[arg-type]


def test_the_length_is_read_with_the_checksum_and_without() -> None:
    with_checksum = (len(DOCUMENT) - 4).to_bytes(4, "big") + DOCUMENT[4:]
    assert list(decode_vector(with_checksum, "v")) == [0, 5, 10]
    for length in (len(DOCUMENT) - 7, len(DOCUMENT) - 5, len(DOCUMENT), 0, 1 << 31):
        with pytest.raises(Corrupt, match="damaged: length"):
            decode_vector(length.to_bytes(4, "big") + DOCUMENT[4:], "v")


def test_an_entry_counts_the_whole_blob_or_what_delta_counts() -> None:
    assert blob_length(DOCUMENT, 46) == 46
    assert blob_length(DOCUMENT[:38], 38) == 46


def test_what_is_answered_cannot_be_changed() -> None:
    vector = decode_vector(DOCUMENT, "v")
    assert not any(hasattr(vector, name) for name in ("add", "add_range", "discard", "remove", "clear", "update"))
    copy = BitMap64(vector)
    copy.add(7)
    other = vector
    other |= BitMap64([8])
    assert (list(vector), list(copy), list(other)) == ([0, 5, 10], [0, 5, 7, 10], [0, 5, 8, 10])


@pytest.mark.parametrize("place", range(len(DOCUMENT)))
def test_every_flipped_bit_is_found(place: int) -> None:
    for bit in range(8):
        damaged = bytearray(DOCUMENT)
        damaged[place] ^= 1 << bit
        with pytest.raises(Corrupt) as caught:
            decode_vector(bytes(damaged), "d/x.puffin at 4, 46 bytes")
        assert caught.value.subject == "d/x.puffin at 4, 46 bytes"


def test_a_cut_or_longer_blob_is_found() -> None:
    for end in range(len(DOCUMENT)):
        with pytest.raises(Corrupt):
            decode_vector(DOCUMENT[:end], "v")
    with pytest.raises(Corrupt):
        decode_vector(DOCUMENT + b"\0", "v")


@given(vectors, st.data())
def test_damage_under_a_right_checksum_is_corrupt_or_sound(positions: list[int], data: st.DataObject) -> None:
    inner = bytearray(encode_vector(positions)[4:-4])
    for place in data.draw(st.lists(st.integers(0, len(inner) - 1), min_size=1, max_size=3)):
        inner[place] ^= data.draw(st.integers(1, 255))
    blob = sealed(bytes(inner[: data.draw(st.integers(0, len(inner)))] if data.draw(st.booleans()) else inner))
    try:
        found = list(decode_vector(blob, "v"))
    except Corrupt as error:
        assert error.subject == "v"
    else:
        assert found == sorted(set(found))
        if max(found, default=0) < 8 << 32:  # PyIceberg has a list of all upper halves
            assert pyiceberg(blob) == found


@given(st.binary(max_size=80))
def test_no_bytes_are_a_surprise(blob: bytes) -> None:
    with pytest.raises(Corrupt):
        decode_vector(blob, "v")
    with pytest.raises(Corrupt):
        decode_vector(sealed(blob), "v")


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["name"])
def test_the_corpus_stays_as_it_is(case: dict[str, object]) -> None:
    blob = bytes.fromhex(str(case["blob"]))
    if "check" in case:
        with pytest.raises(Corrupt, match=str(case["check"])):
            decode_vector(blob, "v")
    else:
        assert list(decode_vector(blob, "v")) == case["positions"]


@pytest.mark.parametrize("positions", [[-1], [1 << 64], ["a"], [None], [MAX_POSITION + 1]])
def test_what_is_no_position_is_refused(positions: list[object]) -> None:
    with pytest.raises(Invalid, match="not the position"):
        vector_of(positions)  # type: ignore[arg-type]


def test_the_last_position_that_iceberg_has_is_one() -> None:
    assert pyiceberg_last(encode_vector([MAX_POSITION])) == MAX_POSITION


def pyiceberg_last(blob: bytes) -> int:
    # PyIceberg fills a list up to the key; the key itself and the bitmap behind it are enough here.
    payload = _extract_vector_payload(blob)
    [low] = DeletionVector._deserialize_bitmap(payload[:8] + bytes(4) + payload[12:])
    return (int.from_bytes(payload[8:12], "little") << 32) + low.max()
