"""What deltas change of a checkpoint's files: MO-18."""

import pytest

from lakebed.errors import Corrupt
from lakebed.table.delta import ADDED, DELETED, EXISTING
from lakebed.table.live_file import LiveFile
from lakebed.table.manifest_pb2 import DataFileRef, Manifest
from lakebed.table.overlay import EMPTY, Overlay, over
from lakebed.table.span import Span


def delta(number, *entries):
    files = [DataFileRef(path=path, status=status, num_rows=1) for path, status in entries]
    manifest = Manifest(snapshot_id=number, sequence_number=number, table_uuid="t", schema_id=1, data_files=files)
    if number > 1:
        manifest.previous_snapshot_id = number - 1
    return manifest


def paths(overlay, base=()):
    return sorted(overlay.on([LiveFile(DataFileRef(path=path), 1, 1) for path in base]))


def test_the_same_delta_twice_is_once():
    first, second = delta(1, ("a", ADDED)), delta(2, ("b", ADDED))
    once = over(EMPTY, [first, second])
    assert over(once, [first, second]) == over(once, [second]) == once
    assert paths(once) == ["a", "b"]


def test_deltas_out_of_order_or_with_a_gap_are_corrupt():
    with pytest.raises(Corrupt, match="out of order"):
        over(over(EMPTY, [delta(1)]), [delta(2), delta(1)])
    with pytest.raises(Corrupt):
        over(over(EMPTY, [delta(1)]), [delta(3)])


def test_what_is_removed_and_changed_is_the_checkpoints():
    start = Overlay(Span(5, 5), 5, "t")
    later = over(start, [delta(6, ("a", DELETED), ("b", EXISTING), ("c", ADDED))])
    assert paths(later, ["a", "b"]) == ["b", "c"]
    with pytest.raises(Corrupt, match="lacks"):
        paths(later, ["b"])
    with pytest.raises(Corrupt, match="adds a file"):
        paths(later, ["a", "b", "c"])


def test_a_file_that_was_removed_can_come_again():
    start = Overlay(Span(5, 5), 5, "t")
    later = over(start, [delta(6, ("a", DELETED)), delta(7, ("a", ADDED)), delta(8, ("a", EXISTING))])
    assert paths(later, ["a"]) == ["a"]
    assert paths(over(later, [delta(9, ("a", DELETED))]), ["a"]) == []


@pytest.mark.parametrize(
    "entries",
    [
        [("a", ADDED), ("a", ADDED)],
        [("a", DELETED), ("a", DELETED)],
        [("a", DELETED), ("a", EXISTING)],
        [("a", EXISTING), ("a", ADDED)],
        [("a", 7)],
    ],
)
def test_what_does_not_follow_is_corrupt(entries):
    with pytest.raises(Corrupt):
        over(Overlay(Span(5, 5), 5, "t"), [delta(6, *entries)])


def test_a_delta_of_another_table_is_corrupt():
    other = delta(6, ("a", ADDED))
    other.table_uuid = "another"
    with pytest.raises(Corrupt, match="another table"):
        over(Overlay(Span(5, 5), 5, "t"), [other])
