"""Snapshots: what deltas fold to, in which order and with which status, and what they can't fold to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt, Invalid
from lakebed.table import manifest_pb2 as pb
from lakebed.table.delta import ADDED, DELETED, EXISTING
from lakebed.table.snapshot import EMPTY, Snapshot, fold

TABLE = "deadbeef-1234-5678-9abc-0123456789ab"
STATUSES = {"+": ADDED, "-": DELETED, "=": EXISTING, "?": 9}


def delta(number, *changes, **fields):
    """The manifest of snapshot 10 × number: `+a` adds a file, `-a` deletes it, `=a` changes it."""
    previous = {"previous_snapshot_id": 10 * (number - 1)} if number > 1 else {}
    files = [pb.DataFileRef(path=change[1:], status=STATUSES[change[0]], num_rows=number) for change in changes]
    known = {"snapshot_id": 10 * number, "sequence_number": number, "table_uuid": TABLE, "data_files": files}
    return pb.Manifest(**{**known, **previous, **fields})


def paths(snapshot):
    return list(snapshot.files)


def statuses(snapshot):
    return {one.path: one.status for one in snapshot.entries()}


def test_nothing_folds_to_the_empty_snapshot():
    assert fold([]) == EMPTY
    assert (paths(EMPTY), EMPTY.snapshot_id, list(EMPTY.entries())) == ([], None, [])


def test_files_keep_the_order_in_which_they_were_added():
    snapshot = fold([delta(1, "+b", "+a"), delta(2, "+c", "=b"), delta(3, "-a", "+d")])
    assert paths(snapshot) == ["b", "c", "d"]
    assert (snapshot.snapshot_id, snapshot.sequence_number, snapshot.table_id) == (30, 3, TABLE)


def test_a_file_is_added_in_its_snapshot_and_existing_afterwards_and_absent_once_it_is_deleted():
    """ME-22."""
    deltas = [delta(1, "+a"), delta(2, "+b"), delta(3, "-a"), delta(4)]
    assert [statuses(fold(deltas[:count])) for count in (1, 2, 3, 4)] == [
        {"a": ADDED},
        {"a": EXISTING, "b": ADDED},
        {"b": EXISTING},
        {"b": EXISTING},
    ]


def test_a_changed_file_is_existing_and_has_its_new_entry():
    [entry] = fold([delta(1, "+a"), delta(2, "=a")]).entries()
    assert (entry.status, entry.num_rows) == (EXISTING, 2)


def test_a_file_that_comes_back_is_added_anew_at_the_end():
    snapshot = fold([delta(1, "+a", "+b"), delta(2, "-a"), delta(3, "+a")])
    assert paths(snapshot) == ["b", "a"]
    assert statuses(snapshot) == {"b": EXISTING, "a": ADDED}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("+a", "a file is added that is live already"),
        ("-x", "a file is deleted that is not live"),
        ("=x", "a file is changed that is not live"),
        ("?a", "a file has an unknown status"),
    ],
)
def test_a_change_that_does_not_follow_is_corrupt_and_names_file_and_snapshot(change, problem):
    with pytest.raises(Corrupt, match=f"snapshot 20, {change[1]}: {problem}"):
        fold([delta(1, "+a"), delta(2, change)])


def test_a_file_added_twice_in_one_delta_is_corrupt():
    with pytest.raises(Corrupt, match="live already"):
        fold([delta(1, "+a", "+a")])


def test_a_missing_delta_is_corrupt():
    """ME-8: each one names the one before it."""
    with pytest.raises(Corrupt, match=r"snapshot 30: a delta is missing before this one .expected 10, found 20"):
        fold([delta(1), delta(3)])
    with pytest.raises(Corrupt, match=r"snapshot 20: a delta is missing before this one .expected none, found 10"):
        fold([delta(2)])
    with pytest.raises(Corrupt, match=r"expected 10, found none"):
        fold([delta(1), delta(1)])


def test_a_sequence_with_a_gap_is_corrupt():
    with pytest.raises(Corrupt, match=r"snapshot 20: the sequence has a gap .expected 2, found 3"):
        fold([delta(1), delta(2, sequence_number=3)])


def test_a_delta_of_another_table_is_corrupt():
    with pytest.raises(Corrupt, match="snapshot 20: the delta is of another table"):
        fold([delta(1), delta(2, table_uuid="other")])


def test_delete_files_are_refused_and_never_overlooked():
    with pytest.raises(Invalid, match=r"d\.parquet: a manifest has delete files"):
        fold([delta(1, delete_files=[pb.DeleteFileRef(path="d.parquet", content=1)])])


def test_folding_changes_no_manifest_and_no_snapshot():
    deltas = [delta(1, "+a", "+b"), delta(2, "-a", "=b")]
    before = [one.SerializeToString() for one in deltas]
    first = fold(deltas[:1])
    list(fold(deltas[1:], first).entries())
    assert [one.SerializeToString() for one in deltas] == before
    assert (paths(first), statuses(first)) == (["a", "b"], {"a": ADDED, "b": ADDED})
    with pytest.raises(TypeError):
        first.files["c"] = pb.DataFileRef()


def test_unknown_fields_of_a_file_survive():
    file = pb.DataFileRef.FromString(b"\x0a\x01a\x60\x01" + b"\xc2\x01\x03abc")
    first = pb.Manifest(snapshot_id=10, sequence_number=1, table_uuid=TABLE, data_files=[file])
    [entry] = fold([first, delta(2)]).entries()
    assert entry.status == EXISTING
    assert entry.SerializeToString().endswith(b"\xc2\x01\x03abc")


def test_a_snapshot_can_be_made_of_a_checkpoint():
    checkpoint = Snapshot({"a": pb.DataFileRef(path="a")}, 10, 1, TABLE)
    assert statuses(fold([], checkpoint)) == {"a": EXISTING}
    assert statuses(fold([delta(2, "+b")], checkpoint)) == {"a": EXISTING, "b": ADDED}


@st.composite
def histories(draw):
    """Deltas that follow from each other, each with the live files after it, as a list kept by hand."""
    live, deltas, states, names = [], [], [], iter(range(1000))
    for number in range(1, draw(st.integers(0, 8)) + 1):
        gone = draw(st.lists(st.sampled_from(live), unique=True)) if live else []
        added = [str(next(names)) for _ in range(draw(st.integers(0, 3)))]
        deltas.append(delta(number, *("-" + one for one in gone), *("+" + one for one in added)))
        live = [one for one in live if one not in gone] + added
        states.append((list(live), set(added)))
    return deltas, states


@given(histories(), st.integers(0, 8))
def test_folding_in_two_steps_is_folding_in_one_and_both_are_what_happened(history, split):
    deltas, states = history
    snapshot = fold(deltas)
    assert snapshot == fold(deltas[split:], fold(deltas[:split]))
    live, added = states[-1] if states else ([], set())
    assert statuses(snapshot) == {path: ADDED if path in added else EXISTING for path in live}
    assert paths(snapshot) == live
