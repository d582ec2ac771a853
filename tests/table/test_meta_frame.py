"""The frame around lists of metadata: each check by name, and no bit unseen."""

import struct

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt
from lakebed.table.entries.segments import (
    BLOCK_METAS,
    SEGMENT_METAS,
    BlockMeta,
    ColumnMeta,
    SegmentMeta,
)
from lakebed.table.manifest.locations import LOCATIONS, META_INFOS, Location, MetaInfo

PLACE = Location("data/a", 8, 100, 300)
COLUMN = ColumnMeta(3, PLACE, b"a", None, PLACE)
FRAMES = [
    (LOCATIONS, LOCATIONS.encode([PLACE])),
    (META_INFOS, META_INFOS.encode([MetaInfo(1, PLACE, PLACE), MetaInfo(2, PLACE)])),
    (SEGMENT_METAS, SEGMENT_METAS.encode([SegmentMeta(1, 2, (COLUMN,))])),
    (BLOCK_METAS, BLOCK_METAS.encode([BlockMeta(1, 2, 3, (COLUMN, ColumnMeta(4)))])),
]
KINDS = pytest.mark.parametrize("items, data", FRAMES, ids=["locations", "meta infos", "segments", "blocks"])


def sealed(data):
    return data + google_crc32c.value(data).to_bytes(4, "little")


@KINDS
def test_a_flipped_bit_is_found_wherever_it_is(items, data):
    for place in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(Corrupt):
            items.decode(bytes(damaged), "frame")


@KINDS
def test_a_frame_that_is_cut_or_has_more_is_found(items, data):
    for length in range(len(data)):
        with pytest.raises(Corrupt):
            items.decode(data[:length], "frame")
    with pytest.raises(Corrupt, match="another length"):
        items.decode(data + b"\x00", "frame")


@KINDS
def test_an_unknown_version_is_an_error(items, data):
    with pytest.raises(Corrupt, match=r"frame: the frame has another version \(expected 1, found 2\)"):
        items.decode(sealed(data[:4] + b"\x02" + data[5:-4]), "frame")


def test_a_frame_of_another_kind_is_told_by_its_magic():
    with pytest.raises(Corrupt, match="another magic"):
        META_INFOS.decode(FRAMES[0][1])


@KINDS
def test_a_count_that_is_not_that_of_the_items_is_found(items, data):
    _, version, count, length = struct.unpack("<4sBII", data[:13])
    for other in (count - 1, count + 1):
        with pytest.raises(Corrupt, match=r"behind the last item|cut"):
            items.decode(sealed(struct.pack("<4sBII", data[:4], version, other, length) + data[13:-4]))


@given(st.sampled_from(FRAMES), st.data())
def test_items_that_were_damaged_before_they_were_sealed_are_corrupt_or_read(frame, data):
    items, good = frame
    body = bytearray(good[:-4])
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(13, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = items.decode(sealed(bytes(body)))
    except Corrupt:
        return
    assert items.encode(read) == sealed(bytes(body))  # one form: what is read is written so again


@given(st.sampled_from(FRAMES), st.binary(max_size=80))
def test_random_bytes_are_corrupt(frame, data):
    with pytest.raises(Corrupt):
        frame[0].decode(data)
