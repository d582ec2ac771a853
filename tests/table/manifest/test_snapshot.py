"""What deltas fold to, on nothing and on a checkpoint: in which order, added when, and what can't be. MO-18."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt, Invalid
from lakebed.table.manifest.delta import ADDED, DELETED, EXISTING
from lakebed.table.manifest.manifest_pb2 import DataFileRef, DeleteFileRef, Manifest
from lakebed.table.manifest.snapshot import EMPTY, LiveFile, Overlay, Span, over

TABLE = "deadbeef-1234-5678-9abc-0123456789ab"
STATUSES = {"+": ADDED, "-": DELETED, "=": EXISTING, "?": 9}
FIFTH = Overlay(Span(5, 5), 50, TABLE)
"""What is over the checkpoint of the fifth delta: nothing yet."""


def delta(number, *changes, **fields):
    """The manifest of snapshot 10 × number: `+a` adds a file, `-a` deletes it, `=a` changes it."""
    previous = {"previous_snapshot_id": 10 * (number - 1)} if number > 1 else {}
    files = [DataFileRef(path=change[1:], status=STATUSES[change[0]], num_rows=number) for change in changes]
    known = {"snapshot_id": 10 * number, "sequence_number": number, "table_uuid": TABLE, "data_files": files}
    return Manifest(**{**known, **previous, **fields})


def paths(overlay, base=()):
    return list(overlay.on([LiveFile(DataFileRef(path=path), 1, 1) for path in base]))


def added_in(overlay):
    """The snapshot that added each live file."""
    return {path: one.snapshot_id for path, one in overlay.on(()).items()}


def test_nothing_folds_to_no_file():
    assert over(EMPTY, []) == EMPTY
    assert (paths(EMPTY), EMPTY.snapshot_id) == ([], None)


def test_files_keep_the_order_in_which_they_were_added():
    overlay = over(EMPTY, [delta(1, "+b", "+a"), delta(2, "+c", "=b"), delta(3, "-a", "+d")])
    assert paths(overlay) == ["b", "c", "d"]
    assert (overlay.snapshot_id, overlay.span, overlay.table_id, overlay.deltas) == (30, Span(0, 3), TABLE, 3)


def test_a_file_is_added_in_its_snapshot_and_existing_afterwards_and_absent_once_it_is_deleted():
    """ME-22."""
    deltas = [delta(1, "+a"), delta(2, "+b"), delta(3, "-a"), delta(4)]
    assert [added_in(over(EMPTY, deltas[:count])) for count in (1, 2, 3, 4)] == [
        {"a": 10},
        {"a": 10, "b": 20},
        {"b": 20},
        {"b": 20},
    ]


def test_a_changed_file_has_its_new_entry_and_was_added_when_it_was():
    [live] = over(EMPTY, [delta(1, "+a", schema_id=3), delta(2, "=a", schema_id=4)]).on(()).values()
    assert (live.snapshot_id, live.schema_id, live.file.num_rows) == (10, 3, 2)


def test_a_file_that_comes_back_is_added_anew_at_the_end():
    overlay = over(EMPTY, [delta(1, "+a", "+b"), delta(2, "-a"), delta(3, "+a")])
    assert list(added_in(overlay).items()) == [("b", 10), ("a", 30)]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("+a", "snapshot 20, a: a delta adds a file that is already live"),
        ("?a", "snapshot 20, a: a file has an unknown status"),
        ("-x", "x: a delta changes a file that is missing from its checkpoint"),
        ("=x", "x: a delta changes a file that is missing from its checkpoint"),
    ],
)
def test_a_change_that_does_not_follow_is_corrupt_and_names_the_file(change, problem):
    with pytest.raises(Corrupt, match=problem):
        over(EMPTY, [delta(1, "+a"), delta(2, change)]).on(())


@pytest.mark.parametrize(
    "changes", [("+a", "+a"), ("-a", "-a"), ("-a", "=a"), ("=a", "+a"), ("?a",)], ids=lambda changes: "".join(changes)
)
def test_what_does_not_follow_on_a_checkpoint_is_corrupt(changes):
    with pytest.raises(
        Corrupt, match=r"snapshot 60, a: a (delta (adds|deletes|changes) a file that is|file has an unknown)"
    ):
        over(FIFTH, [delta(6, *changes)])


def test_a_missing_delta_is_corrupt():
    """ME-8: each one names the one before it."""
    with pytest.raises(Corrupt, match=r"snapshot 30: a delta is missing before this one .expected 10, found 20"):
        over(EMPTY, [delta(1), delta(3)])
    with pytest.raises(Corrupt, match=r"snapshot 20: a delta is missing before this one .expected 10, found 11"):
        over(EMPTY, [delta(1), delta(2, previous_snapshot_id=11)])
    with pytest.raises(Corrupt, match=r"snapshot 20: a delta is missing before this one .expected none, found 10"):
        over(EMPTY, [delta(2)])
    with pytest.raises(Corrupt, match=r"a delta is missing before this one .expected 50, found none"):
        over(FIFTH, [delta(1, sequence_number=6)])


def test_numbers_may_leap_from_one_delta_to_the_next():
    """As after a merge that brought rows with greater ones."""
    overlay = over(EMPTY, [delta(1, "+a"), delta(2, "+b", sequence_number=9)])
    assert (overlay.span, overlay.deltas) == (Span(0, 9), 2)
    overlay = over(overlay, [delta(2, "+b", sequence_number=9), delta(3, "+c", sequence_number=12)])
    assert (overlay.span, overlay.deltas, [*added_in(overlay)]) == (Span(0, 12), 3, ["a", "b", "c"])
    assert over(FIFTH, [delta(6, sequence_number=11)]).span == Span(5, 11)


def test_deltas_out_of_order_or_with_a_gap_are_corrupt():
    with pytest.raises(Corrupt, match="a delta is missing"):
        over(over(EMPTY, [delta(1)]), [delta(3)])
    with pytest.raises(Corrupt, match="snapshot 10: the deltas are out of order"):
        over(over(EMPTY, [delta(1)]), [delta(2), delta(1)])
    with pytest.raises(Corrupt, match="out of order"):
        over(EMPTY, [delta(1), delta(1)])


@pytest.mark.parametrize("before", [FIFTH, over(EMPTY, [delta(1)])], ids=["checkpoint", "delta"])
def test_a_delta_of_another_table_is_corrupt(before):
    with pytest.raises(Corrupt, match=r"snapshot \d0: the delta belongs to another table"):
        over(before, [delta(before.span.end + 1, "+a", table_uuid="another")])


def test_delete_files_are_refused_and_never_overlooked():
    with pytest.raises(Invalid, match=r"d\.parquet: a manifest has delete files"):
        over(EMPTY, [delta(1, delete_files=[DeleteFileRef(path="d.parquet", content=1)])])


def test_folding_changes_no_manifest_and_nothing_that_was_folded_before():
    deltas = [delta(1, "+a", "+b"), delta(2, "-a", "=b")]
    manifests = deepcopy(deltas)
    first = over(EMPTY, deltas[:1])
    before = added_in(first)
    over(first, deltas[1:])
    assert deltas == manifests
    assert added_in(first) == before == {"a": 10, "b": 10}
    with pytest.raises(TypeError):
        first.added["c"] = LiveFile(DataFileRef(), 1, 1)


def test_unknown_fields_of_a_file_survive():
    file = DataFileRef.FromString(b"\x0a\x01a\x60\x01" + b"\xc2\x01\x03abc")
    first = Manifest(snapshot_id=10, sequence_number=1, table_uuid=TABLE, data_files=[file])
    [live] = over(EMPTY, [first, delta(2)]).on(()).values()
    assert live.file.SerializeToString().endswith(b"\xc2\x01\x03abc")


def test_the_same_delta_twice_is_once():
    first, second = delta(1, "+a"), delta(2, "+b")
    once = over(EMPTY, [first, second])
    assert over(once, [first, second]) == over(once, [second]) == once
    assert paths(once) == ["a", "b"]


def test_what_is_removed_and_changed_is_the_checkpoints():
    later = over(FIFTH, [delta(6, "-a", "=b", "+c")])
    assert paths(later, ["a", "b"]) == ["b", "c"]
    with pytest.raises(Corrupt, match="a: a delta changes a file that is missing from its checkpoint"):
        paths(later, ["b"])
    with pytest.raises(Corrupt, match="c: a delta adds a file that its checkpoint already has"):
        paths(later, ["a", "b", "c"])


def test_a_file_that_was_removed_can_come_again():
    later = over(FIFTH, [delta(6, "-a"), delta(7, "+a"), delta(8, "=a")])
    assert paths(later, ["a"]) == ["a"]
    assert paths(over(later, [delta(9, "-a")]), ["a"]) == []


@st.composite
def histories(draw):
    """Deltas that follow from each other, and the live files after them with what added each, kept by hand."""
    live, deltas, names = {}, [], iter(range(1000))
    for number in range(1, draw(st.integers(0, 8)) + 1):
        gone = draw(st.lists(st.sampled_from(list(live)), unique=True)) if live else []
        added = [str(next(names)) for _ in range(draw(st.integers(0, 3)))]
        deltas.append(delta(number, *("-" + one for one in gone), *("+" + one for one in added)))
        live = {path: by for path, by in live.items() if path not in gone} | dict.fromkeys(added, 10 * number)
    return deltas, live


@given(histories(), st.integers(0, 8))
def test_folding_in_two_steps_is_folding_in_one_and_both_are_what_happened(history, split):
    deltas, live = history
    overlay = over(EMPTY, deltas)
    assert overlay == over(over(EMPTY, deltas[:split]), deltas[split:])
    assert list(added_in(overlay).items()) == list(live.items())
