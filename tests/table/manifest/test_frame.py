"""The frame of a manifest: exact bytes, every check by name, no bit unseen, unknown fields kept."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt, TooLarge
from lakebed.table.manifest import frame
from lakebed.table.manifest import manifest_pb2 as pb

TESTS = Path(__file__).parents[2]
GOLDEN = json.loads((TESTS / "golden/manifest.json").read_text())
CORPUS = json.loads((TESTS / "corpus/manifests.json").read_text())
DOCUMENT = bytes.fromhex(GOLDEN["document"])

# Fields that this Lakebed does not know: a varint, text, a fixed32, by the tags that an older writer may meet.
UNKNOWN = b"\x78\x05" + b"\xc2\x01\x03abc" + b"\xc5\x0c\x01\x02\x03\x04"


def documented():
    """The manifest of acceptance document 003's golden frame."""
    file = pb.DataFileRef(
        path="data/L0/abc.parquet",
        file_size=1024,
        num_rows=100,
        level=0,
        seq_min=1,
        seq_max=100,
        key_min=b"\x00\x01",
        key_max=b"\xff\xfe",
        status=1,
        format=1,
    )
    return pb.Manifest(
        snapshot_id=42,
        sequence_number=7,
        data_files=[file],
        previous_snapshot_id=41,
        table_uuid="deadbeef-1234-5678-9abc-0123456789ab",
        last_updated_ms=1_700_000_000_000,
        properties={"merutable.job": "flush"},
        last_column_id=2,
    )


def with_unknown_fields():
    return pb.Manifest.FromString(
        documented().SerializeToString(deterministic=True)
        + UNKNOWN
        + b"\x2a"  # data_files, with the same unknown fields inside
        + bytes((len(UNKNOWN) + 3,))
        + b"\x0a\x01p"
        + UNKNOWN
    )


def decode_own(data):
    return frame.decode_own(data, "m", length=len(data), crc32c=frame.crc32c(data))


def flips(data, start, end):
    for place in range(8 * start, 8 * end):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        yield place, bytes(flipped)


def test_the_golden_frame_of_the_document_encodes_and_decodes_exactly():
    assert frame.frame(documented().SerializeToString(deterministic=True)) == DOCUMENT
    assert frame.decode(DOCUMENT) == documented()


def test_the_head_is_magic_version_and_length():
    assert (DOCUMENT[:4], DOCUMENT[4], int.from_bytes(DOCUMENT[5:9], "little")) == (b"MRUB", 1, len(DOCUMENT) - 9)
    assert frame.frame(b"") == bytes.fromhex("4d5255420100000000")


def test_the_golden_bytes_of_a_frame_that_lakebed_writes():
    data = frame.encode(documented())
    assert data.hex() == GOLDEN["sealed"]
    assert data[9:-6] == DOCUMENT[9:]
    assert data[-6:-4] == b"\xa5\x06"
    assert int.from_bytes(data[-4:], "little") == frame.crc32c(data[9:-6])


def test_the_checksum_is_castagnolis():
    assert frame.crc32c(b"123456789") == 0xE3069283


def test_what_was_encoded_comes_back():
    data = frame.encode(documented())
    assert frame.decode(data) == documented()
    assert decode_own(data) == documented()


@pytest.mark.parametrize(
    ("data", "problem", "expected", "found"),
    [
        (b"", "shorter than its head", "at least 9 bytes", 0),
        (DOCUMENT[:8], "shorter than its head", "at least 9 bytes", 8),
        (b"MRUC" + DOCUMENT[4:], "wrong magic", b"MRUB".hex(), b"MRUC".hex()),
        (b"{" + DOCUMENT[1:], "wrong magic", b"MRUB".hex(), b"{RUB".hex()),
        (DOCUMENT[:4] + b"\x02" + DOCUMENT[5:], "unknown format version", 1, 2),
        (DOCUMENT[:4] + b"\x00" + DOCUMENT[5:], "unknown format version", 1, 0),
        (DOCUMENT[:-1], "truncated", "121 bytes", 120),
        (DOCUMENT[:9], "truncated", "121 bytes", 0),
        (DOCUMENT + b"\x00", "trailing garbage", "121 bytes", 122),
        (frame.frame(b"\x0a\xff"), "not protobuf", "a Manifest", None),
        (frame.frame(b"\x2a\x02\x0a\xff"), "not protobuf", "a Manifest", None),
    ],
)
def test_a_failed_check_is_corrupt_and_says_which_where_and_what(data, problem, expected, found):
    with pytest.raises(Corrupt, match=problem) as caught:
        frame.decode(data, "metadata/7.manifest")
    assert caught.value.subject == "metadata/7.manifest"
    assert caught.value.expected == expected
    assert caught.value.found == found or (found is None and caught.value.found)


def test_a_payload_beyond_four_bytes_of_length_is_refused_before_anything_is_made():
    class Huge(bytes):
        def __len__(self):
            return 2**32

    with pytest.raises(TooLarge) as caught:
        frame.frame(Huge())
    assert caught.value.found == 2**32


def test_every_flipped_bit_of_an_own_frame_is_found_by_its_record():
    data = frame.encode(documented())
    crc32c = frame.crc32c(data)
    for _, flipped in flips(data, 0, len(data)):
        with pytest.raises(Corrupt, match="m: the frame's checksum is not the one in its record"):
            frame.decode_own(flipped, "m", length=len(data), crc32c=crc32c)


@pytest.mark.parametrize("manifest", [documented(), with_unknown_fields()], ids=["known", "unknown"])
def test_every_flipped_bit_is_found_by_the_frame_alone_unless_it_hides_the_checksum(manifest):
    data = frame.encode(manifest)
    tag = range(8 * (len(data) - 6), 8 * (len(data) - 4))
    for place, flipped in flips(data, 0, len(data)):
        if place in tag:
            continue  # a frame without a checksum is one of another writer: its record is needed to tell
        with pytest.raises(Corrupt):
            frame.decode(flipped, "m")


def test_a_wrong_checksum_says_what_it_should_be():
    data = frame.encode(documented())
    with pytest.raises(Corrupt, match="the checksum does not match the payload") as caught:
        frame.decode(data[:-4] + bytes(4), "m")
    assert (caught.value.expected, caught.value.found) == (0, int.from_bytes(data[-4:], "little"))


def test_a_frame_of_another_writer_is_accepted_unless_it_is_said_to_be_ours():
    assert frame.decode(DOCUMENT) == documented()
    with pytest.raises(Corrupt, match="does not end with its checksum"):
        decode_own(DOCUMENT)


def test_an_own_frame_of_another_length_is_found():
    data = frame.encode(documented())
    with pytest.raises(Corrupt, match="m: the frame's length is not the one in its record") as caught:
        frame.decode_own(data[:-1], "m", length=len(data), crc32c=frame.crc32c(data))
    assert (caught.value.expected, caught.value.found) == (len(data), len(data) - 1)


def test_values_of_another_writer_that_end_like_a_checksum_are_taken_for_a_damaged_one():
    """Here the last bytes are a varint that ends in `a5 06`, and a field of four bytes: safe, and rare."""
    payload = pb.Manifest(next_row_id=0x325, first_row_id=2**20).SerializeToString(deterministic=True)
    assert payload[-6:-4] == frame.SEAL_TAG
    with pytest.raises(Corrupt, match="the checksum does not match"):
        frame.decode(frame.frame(payload))


def test_a_checksum_that_somebody_moved_is_never_kept_beside_a_new_one():
    payload = frame.encode(documented())[9:]
    for moved in (payload + b"\x58\x03", payload + payload[-6:]):
        with pytest.raises(Corrupt, match="checksum"):
            frame.decode(frame.frame(moved), "m")
    twice = frame.frame(payload + frame.SEAL_TAG + frame.crc32c(payload).to_bytes(4, "little"))
    for read in (frame.decode, decode_own):
        with pytest.raises(Corrupt, match="stands before the end"):
            read(twice)


def test_unknown_fields_of_both_messages_survive_byte_for_byte():
    manifest = with_unknown_fields()
    data = frame.encode(manifest)
    assert data.count(UNKNOWN) == 2
    again = frame.decode(data)
    assert frame.encode(again) == data
    assert [file.path for file in again.data_files] == ["data/L0/abc.parquet", "p"]
    assert (again.snapshot_id, again.last_column_id) == (42, 2)


def test_unknown_fields_survive_a_change_of_the_known_ones():
    manifest = frame.decode(frame.encode(with_unknown_fields()))
    manifest.snapshot_id = 43
    manifest.data_files[1].num_rows = 5
    data = frame.encode(manifest)
    assert data.count(UNKNOWN) == 2
    assert data.count(frame.SEAL_TAG) == 1


def test_unset_is_not_zero():
    """ME-6."""
    unset = frame.decode(frame.encode(pb.Manifest(data_files=[pb.DataFileRef()])))
    zero = pb.Manifest(previous_snapshot_id=0, data_files=[pb.DataFileRef(dv_path="", dv_offset=0, dv_length=0)])
    again = frame.decode(frame.encode(zero))
    assert not unset.HasField("previous_snapshot_id")
    assert again.HasField("previous_snapshot_id")
    for field in ("dv_path", "dv_offset", "dv_length"):
        assert not unset.data_files[0].HasField(field)
        assert again.data_files[0].HasField(field)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_manifest_or_corrupt_and_never_another_error(data):
    for bytes_ in (data, frame.frame(data)):
        try:
            frame.decode(bytes_)
        except Corrupt:
            continue


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["name"])
def test_the_corpus_stays_as_it_is(case):
    def read():
        data = bytes.fromhex(case["frame"])
        return frame.decode_own(data, "m", length=case["length"], crc32c=case["crc32c"])

    if "check" in case:
        with pytest.raises(Corrupt, match=case["check"]) as caught:
            read()
        assert caught.value.subject == "m"
    else:
        assert [one.path for one in read().data_files] == case["paths"]
