"""Puffin files: written as Iceberg writes them, opened by PyIceberg, and read with every check."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap64

from lakebed.errors import Corrupt
from lakebed.table.manifest.deletion_vectors import decode_vector
from lakebed.table.manifest.puffin import DELETION_VECTOR, Blob, encode_puffin, parse_puffin

TESTS = Path(__file__).parents[2]
GOLDEN = bytes.fromhex(json.loads((TESTS / "golden/puffin.json").read_text())["two vectors"])
CORPUS = json.loads((TESTS / "corpus/puffin.json").read_text())
TWO = [("s3://lake/data/a.parquet", BitMap64([0, 5, 10])), ("s3://lake/data/ä b.parquet", BitMap64(range(1000)))]

vectors = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.sets(st.integers(0, 3 << 31)).map(BitMap64)
    ),
    max_size=4,
)


def file_of(footer: object, blobs: bytes = b"", flags: bytes = bytes(4)) -> bytes:
    """A file with any footer, whose frame is right."""
    payload = footer if isinstance(footer, bytes) else json.dumps(footer).encode()
    return b"PFA1" + blobs + b"PFA1" + payload + len(payload).to_bytes(4, "little") + flags + b"PFA1"


def blob(**changed: Any) -> dict[str, Any]:
    """What a footer says of a vector of 46 bytes, with something else in it; None leaves a key out."""
    body = {
        "type": DELETION_VECTOR,
        "fields": [2147483645],
        "snapshot-id": -1,
        "sequence-number": -1,
        "offset": 4,
        "length": 46,
        "properties": {"referenced-data-file": "a", "cardinality": "3"},
        **{key.replace("_", "-"): value for key, value in changed.items()},
    }
    return {key: value for key, value in body.items() if value is not None}


def test_the_golden_file_is_written_and_read_exactly() -> None:
    data, blobs = encode_puffin(TWO)
    assert data == GOLDEN
    assert parse_puffin(GOLDEN, "p") == blobs


def test_the_footer_says_what_icebergs_writer_says() -> None:
    data, [first, second] = encode_puffin(TWO)
    properties = {"referenced-data-file": "s3://lake/data/a.parquet", "cardinality": "3"}
    assert first == Blob(DELETION_VECTOR, (2147483645,), -1, -1, 4, 46, None, properties)
    assert second.offset == 50
    assert data[-8:-4] == bytes(4)
    footer = PuffinFile(data).footer
    assert [one.compression_codec for one in footer.blobs] == [None, None]
    assert footer.properties == {"created-by": "Lakebed"}
    size = int.from_bytes(data[-12:-8], "little")
    assert list(json.loads(data[-12 - size : -12])["blobs"][0]) == list(blob())
    assert b" " not in data[-12 - size : -12].replace("ä b".encode(), b"")


@given(vectors)
def test_pyiceberg_opens_what_is_written_with_equal_positions(given: list[tuple[str, BitMap64]]) -> None:
    data, blobs = encode_puffin(given)
    found = deletion_vectors_from_puffin_file(PuffinFile(data))
    assert [one.referenced_data_file for one in found] == [path for path, _ in given]
    for (path, vector), theirs, ours in zip(given, found, blobs, strict=True):
        positions = [(key << 32) + one for key, bitmap in enumerate(theirs._bitmaps) for one in bitmap]
        assert positions == list(vector)
        assert decode_vector(data[ours.offset : ours.offset + ours.length], path) == vector
    assert parse_puffin(data, "p") == blobs


def test_blobs_of_other_types_and_codecs_are_listed() -> None:
    other = blob(type="apache-datasketches-theta-v1", compression_codec="zstd", properties=None)
    [found] = parse_puffin(file_of({"blobs": [other]}, bytes(46)), "p")
    assert (found.type, found.compression, found.properties) == ("apache-datasketches-theta-v1", "zstd", {})


@pytest.mark.parametrize(
    ("data", "check"),
    [
        (b"", "the length"),
        (GOLDEN[:15], "the length"),
        (b"PFA2" + GOLDEN[4:], "the first bytes"),
        (GOLDEN[:-1] + b"2", "the last bytes"),
        (file_of({"blobs": []}, flags=b"\1\0\0\0"), "the flags"),
        (file_of({"blobs": []}, flags=b"\0\0\0\x80"), "the flags"),
        (GOLDEN[:-12] + b"\xff\xff\xff\xff" + GOLDEN[-8:], "the footer's length"),
        (GOLDEN[:-12] + b"\xff\xff\xff\x7f" + GOLDEN[-8:], "the footer's length"),
        (GOLDEN[:-12] + b"\x09\0\0\0" + GOLDEN[-8:], "the bytes before the footer"),
        (file_of(b"{"), "the footer"),
        (file_of(b"\xff"), "the footer"),
        (file_of(b"[" * 100_000), "the footer"),
        (file_of([]), "the footer"),
        (file_of({"blobs": {}}), "the footer"),
        (file_of({"blobs": [1]}), "a blob of the footer"),
        (file_of({"blobs": [blob()]}), "the place of a blob"),
        (file_of({"blobs": [blob(offset=3)]}, bytes(46)), "the place of a blob"),
        (file_of({"blobs": [blob(length=-1)]}, bytes(46)), "the place of a blob"),
        (file_of({"blobs": [blob(length=47)]}, bytes(46)), "the place of a blob"),
        (file_of({"blobs": [blob(offset=True)]}, bytes(46)), "offset of a blob"),
        (file_of({"blobs": [blob(type=None)]}, bytes(46)), "type of a blob"),
        (file_of({"blobs": [blob(fields={"a": 1})]}, bytes(46)), "fields of a blob"),
        (file_of({"blobs": [blob(fields=["a"])]}, bytes(46)), "fields of a blob"),
        (file_of({"blobs": [blob(snapshot_id="1")]}, bytes(46)), "snapshot-id of a blob"),
        (file_of({"blobs": [blob(sequence_number=None)]}, bytes(46)), "sequence-number of a blob"),
        (file_of({"blobs": [blob(type="t", compression_codec="gzip")]}, bytes(46)), "the codec of a blob"),
        (file_of({"blobs": [blob(compression_codec="zstd")]}, bytes(46)), "the codec of a deletion vector"),
        (file_of({"blobs": [blob(properties=[])]}, bytes(46)), "the properties of a blob"),
        (file_of({"blobs": [blob(properties={"cardinality": 3})]}, bytes(46)), "the properties of a blob"),
        (file_of({"blobs": [blob(properties={})]}, bytes(46)), "the properties of a deletion vector"),
        (file_of({"blobs": [blob(properties={"referenced-data-file": "a"})]}, bytes(46)), "cardinality"),
    ],
)
def test_each_check_has_its_name(data: bytes, check: str) -> None:
    with pytest.raises(Corrupt, match=check) as caught:
        parse_puffin(data, "d/x.puffin")
    assert caught.value.subject == "d/x.puffin"


@given(st.data())
def test_damage_is_corrupt_or_a_sound_footer(data: st.DataObject) -> None:
    damaged = bytearray(GOLDEN)
    for place in data.draw(st.lists(st.integers(0, len(GOLDEN) - 1), min_size=1, max_size=3)):
        damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    if data.draw(st.booleans()):
        damaged = damaged[: data.draw(st.integers(0, len(GOLDEN)))]
    try:
        found = parse_puffin(bytes(damaged), "p")
    except Corrupt as error:
        assert error.subject == "p"
    else:
        assert all(4 <= one.offset <= one.offset + one.length <= len(damaged) for one in found)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["blobs", "type", "fields", "offset", "length", "properties"]), inner, max_size=4
            )
        ),
        max_leaves=10,
    )
)
def test_no_footer_is_a_surprise(footer: object) -> None:
    try:
        parse_puffin(file_of(footer, bytes(50)), "p")
    except Corrupt as error:
        assert error.subject == "p"


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["name"])
def test_the_corpus_stays_as_it_is(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["file"])
    if "check" in case:
        with pytest.raises(Corrupt, match=case["check"]):
            parse_puffin(data, "p")
    else:
        assert [one.type for one in parse_puffin(data, "p")] == case["types"]
