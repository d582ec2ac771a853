"""A delta as it is stored and as a whole: the one follows from the other and the head, and nothing is lost."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import Corrupt
from lakebed.table.manifest import frame
from lakebed.table.manifest import manifest_pb2 as pb
from lakebed.table.manifest.delta import (
    ADDED,
    COLUMNAR,
    DELETED,
    DUAL,
    EXISTING,
    DeltaHead,
    bare,
    file_format,
    replaced,
    whole,
    with_status,
)

TABLE = "deadbeef-1234-5678-9abc-0123456789ab"
UNKNOWN = b"\x78\x05" + b"\xc2\x01\x03abc" + b"\xc5\x0c\x01\x02\x03\x04"  # fields 15, 24 and 200

HEAD = DeltaHead(
    snapshot_id=42,
    previous_snapshot_id=41,
    sequence_number=7,
    schema_id=3,
    spec_id=1,
    table_id=TABLE,
    time_ms=1_700_000_000_000,
    last_column_id=9,
    first_row_id=1000,
    next_row_id=1030,
    totals={"files": 5, "rows": 900, "bytes": 12345},
)


def new(path, rows):
    return pb.DataFileRef(path=path, num_rows=rows, status=ADDED)


def come_by_merge(path, rows, first_row_id):
    return pb.DataFileRef(path=path, num_rows=rows, status=ADDED, seq_min=2, seq_max=4, first_row_id=first_row_id)


def stored(*files, **fields):
    return pb.Manifest(schema_id=3, partition_spec_id=1, table_uuid=TABLE, data_files=files, **fields)


def test_the_whole_manifest_has_what_its_head_says():
    manifest = whole(stored(properties={"job": "load"}), HEAD)
    assert manifest == pb.Manifest(
        snapshot_id=42,
        sequence_number=7,
        schema_id=3,
        partition_spec_id=1,
        previous_snapshot_id=41,
        table_uuid=TABLE,
        last_updated_ms=1_700_000_000_000,
        properties={"job": "load", "total-files": "5", "total-rows": "900", "total-bytes": "12345"},
        last_column_id=9,
        next_row_id=1030,
        first_row_id=1000,
    )


def test_new_files_get_the_sequence_and_their_rows_ids_in_order():
    manifest = whole(stored(new("a", 10), new("b", 0), new("c", 20)), HEAD)
    assert [(one.seq_min, one.seq_max, one.first_row_id) for one in manifest.data_files] == [
        (7, 7, 1000),
        (7, 7, 1010),
        (7, 7, 1010),
    ]


def test_files_that_come_by_merge_keep_their_sequences_and_ids():
    manifest = whole(stored(new("a", 10), come_by_merge("b", 50, 300), new("c", 20)), HEAD)
    assert [(one.seq_min, one.seq_max, one.first_row_id) for one in manifest.data_files] == [
        (7, 7, 1000),
        (2, 4, 300),
        (7, 7, 1010),
    ]
    assert bare(manifest).data_files[1] == come_by_merge("b", 50, 300)


def test_files_whose_rows_were_only_moved_keep_the_sequences_of_their_rows():
    moved = [
        pb.DataFileRef(path="moved", num_rows=10, status=ADDED, seq_min=2, seq_max=4),
        pb.DataFileRef(path="some new", num_rows=20, status=ADDED, seq_min=3),
    ]
    manifest = whole(stored(*moved), HEAD)
    assert [(one.seq_min, one.seq_max, one.first_row_id) for one in manifest.data_files] == [(2, 4, 1000), (3, 7, 1010)]
    assert list(bare(manifest).data_files) == moved


def test_files_of_what_is_staged_get_their_sequences_from_the_commit_that_shows_them():
    filled = whole(stored(new("a", 10), staged=True), HEAD)
    [file] = filled.data_files
    assert (file.seq_min, file.seq_max, file.first_row_id) == (0, 0, 1000)
    assert bare(filled) == stored(new("a", 10), staged=True)
    shown = whole(stored(with_status(file, ADDED)), replace(HEAD, sequence_number=9, first_row_id=1010))
    assert [(one.seq_min, one.seq_max, one.first_row_id) for one in shown.data_files] == [(9, 9, 1000)]
    assert bare(shown) == stored(file)


def test_files_that_are_deleted_or_changed_stay_as_they_are():
    files = [
        pb.DataFileRef(path="gone", status=DELETED, num_rows=5, seq_min=1, seq_max=1, first_row_id=0),
        pb.DataFileRef(path="less", status=EXISTING, num_rows=5, seq_min=1, seq_max=1, first_row_id=5, dv_path="v"),
        pb.DataFileRef(path="old", status=DELETED, num_rows=5, seq_min=1, seq_max=1),
    ]
    manifest = whole(stored(*files), HEAD)
    assert list(manifest.data_files) == files
    assert list(bare(manifest).data_files) == files


def test_the_first_snapshot_has_no_previous_one_and_any_other_has():
    """ME-8: the chain's values come from the head."""
    assert not whole(stored(), replace(HEAD, previous_snapshot_id=None)).HasField("previous_snapshot_id")
    assert whole(stored(), replace(HEAD, previous_snapshot_id=0)).HasField("previous_snapshot_id")


def test_a_stored_manifest_has_nothing_that_only_the_commit_knows():
    manifest = bare(whole(stored(new("a", 10), properties={"job": "load"}), HEAD))
    assert [field.number for field, _ in manifest.ListFields()] == [3, 4, 5, 8, 10]
    assert dict(manifest.properties) == {"job": "load"}
    assert [field.number for field, _ in manifest.data_files[0].ListFields()] == [1, 3, 12]


def test_a_loser_that_commits_again_gets_another_whole_of_the_same_stored_bytes():
    manifest = stored(new("a", 10))
    again = replace(
        HEAD, snapshot_id=44, previous_snapshot_id=43, sequence_number=8, first_row_id=2000, next_row_id=2010
    )
    first, second = whole(manifest, HEAD), whole(manifest, again)
    assert first.data_files[0].first_row_id == 1000
    assert second.data_files[0].first_row_id == 2000
    assert frame.encode(bare(first)) == frame.encode(bare(second)) == frame.encode(manifest)


def test_neither_changes_what_it_was_given():
    manifest = stored(new("a", 10))
    before = manifest.SerializeToString(deterministic=True)
    complete = whole(manifest, HEAD)
    between = complete.SerializeToString(deterministic=True)
    bare(complete)
    assert manifest.SerializeToString(deterministic=True) == before
    assert complete.SerializeToString(deterministic=True) == between


def test_unknown_fields_of_both_messages_survive():
    """ME-5."""
    inner = b"\x0a\x01p\x60\x01" + UNKNOWN
    payload = stored().SerializeToString() + UNKNOWN + b"\x2a" + bytes((len(inner),)) + inner
    manifest = pb.Manifest.FromString(payload)
    complete = whole(manifest, HEAD)
    assert complete.SerializeToString(deterministic=True).count(UNKNOWN) == 2
    assert bare(complete).SerializeToString(deterministic=True) == manifest.SerializeToString(deterministic=True)


def test_unknown_fields_of_a_file_survive_what_changes_it():
    """ME-5: another status, level or deletion vector, and a commit that is put on top of the file's entry."""
    file = pb.DataFileRef.FromString(b"\x0a\x01p\x60\x01" + UNKNOWN)
    changed = [with_status(file, DELETED), replaced(file, level=1), replaced(file, dv_path="v", dv_offset=4)]
    for one in (*changed, replaced(changed[-1], dv_path=None, dv_offset=None)):
        assert UNKNOWN in one.SerializeToString()
    assert file == pb.DataFileRef.FromString(b"\x0a\x01p\x60\x01" + UNKNOWN), "the entry that others hold"


def test_a_manifest_of_another_table_is_corrupt():
    other = "00000000-1234-5678-9abc-0123456789ab"
    with pytest.raises(Corrupt, match=f"snapshot 42: the manifest belongs to another table .*{TABLE}.*{other}"):
        whole(pb.Manifest(table_uuid=other), HEAD)


def test_rows_beyond_the_ids_that_were_taken_are_corrupt():
    """Else the next commit would give their ids to other rows."""
    whole(stored(new("a", 30)), HEAD)
    with pytest.raises(Corrupt, match=r"more new rows than ids .expected 1030, found 1031"):
        whole(stored(new("a", 30), new("b", 1)), HEAD)


@pytest.mark.parametrize(
    ("level", "stamp", "found"),
    [(0, None, DUAL), (1, None, COLUMNAR), (6, None, COLUMNAR), (0, COLUMNAR, COLUMNAR), (3, DUAL, DUAL)],
)
def test_a_file_without_a_stamp_has_the_format_of_its_level(level, stamp, found):
    """ME-6."""
    assert file_format(pb.DataFileRef(level=level, format=stamp)) == found


texts = st.text(max_size=5)
sizes = st.integers(0, 1000)
new_files = st.builds(
    pb.DataFileRef,
    path=texts,
    file_size=sizes,
    num_rows=sizes,
    level=st.integers(0, 6),
    status=st.just(ADDED),
    seq_min=sizes,  # of rows that were only moved
    seq_max=sizes,
)
old_files = st.builds(
    pb.DataFileRef,
    path=texts,
    num_rows=sizes,
    status=st.sampled_from([EXISTING, ADDED, DELETED]),
    seq_min=sizes,
    seq_max=sizes,
    first_row_id=st.integers(0, 999),
    dv_path=st.none() | texts,
)
manifests = st.builds(
    pb.Manifest,
    schema_id=sizes,
    partition_spec_id=sizes,
    table_uuid=st.just(TABLE),
    data_files=st.lists(new_files | old_files, max_size=6),
    properties=st.dictionaries(texts, texts, max_size=3),
    staged=st.booleans(),
)
heads = st.builds(
    DeltaHead,
    snapshot_id=sizes,
    previous_snapshot_id=st.none() | sizes,
    sequence_number=st.integers(1001, 2000),  # above those of all rows before
    schema_id=st.just(0),
    spec_id=st.just(0),
    table_id=st.just(TABLE),
    time_ms=sizes,
    last_column_id=sizes,
    first_row_id=st.integers(1000, 2**60),
    next_row_id=st.just(2**62),
    totals=st.fixed_dictionaries({"files": sizes, "rows": sizes, "bytes": sizes}),
)


@given(manifests, heads)
def test_the_stored_form_of_a_whole_manifest_is_what_was_stored(manifest, head):
    own = replace(head, schema_id=manifest.schema_id, spec_id=manifest.partition_spec_id)
    assert bare(whole(manifest, own)) == manifest


@given(manifests)
def test_what_is_bare_stays_as_it_is(manifest):
    assert bare(manifest) == manifest == bare(bare(manifest))


@given(manifests, heads)
def test_no_two_new_files_share_an_id_of_a_row(manifest, head):
    after = whole(manifest, head)
    ids = [
        (now.first_row_id, now.first_row_id + now.num_rows)
        for then, now in zip(manifest.data_files, after.data_files, strict=True)
        if then.status == ADDED and not then.HasField("first_row_id")
    ]
    assert [start for start, _ in ids] == [head.first_row_id, *(end for _, end in ids)][: len(ids)]
