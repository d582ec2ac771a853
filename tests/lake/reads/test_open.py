"""Every manifest list and manifest that a table's documents name can be opened."""

import json

import pyarrow
import pytest

from lakebed import Invalid, NotFound
from lakebed.catalog.transaction import pending_delta
from tests.support.seed_reader import read_manifest


def ids(*given):
    return pyarrow.table({"id": pyarrow.array(given, pyarrow.int64())})


def busy_table(main, name="t", **properties):
    """A table with every kind of change, and a checkpoint in between."""
    table = main.create_table(name, {"id": "long"}, primary_key=["id"], properties=properties)
    table.append(ids(1, 2, 3))
    table.append(ids(4, 5))
    table.checkpoint()
    table.delete("id = 2")
    table.upsert(ids(5, 6))
    table.compact()
    return table


def check_all_open(main, table):
    """Open all that the documents name; the frames are read by a reader that only knows the source document."""
    described = table.describe()
    lists = {one["snapshot_id"]: one["manifest_list"] for one in described.snapshots()}
    assert lists == {one["snapshot-id"]: one["manifest-list"] for one in described.metadata()["snapshots"]}
    assert lists == {id: described.snapshot(id)["manifest-list"] for id in lists}
    paths = []
    for id, name in lists.items():
        listed = json.loads(main.open(name))
        assert listed == described.manifest_list(id)
        for entry in listed:
            frame = main.open(entry["manifest-path"])
            assert len(frame) == entry["manifest-length"]
            found = read_manifest(frame)
            assert found["table_uuid"] == described.metadata()["table-uuid"]
            assert found["data_files"]
            paths.append((found["snapshot_id"], entry["manifest-path"]))
        assert not listed or paths[-1][0] <= id
    for id, path in paths:
        assert main.open(path) == table.manifest(id).data
        assert table.manifest(id).path == path
    return dict(paths)


def test_manifests_in_the_store_are_opened_by_their_names(main):
    table = busy_table(main)
    opened = check_all_open(main, table)
    assert len(opened) == len(table.snapshots()) - 1  # all but that of the empty table
    assert all(path == f"lakebed:{table.id}/snapshots/{id}/manifest" for id, path in opened.items())


def test_manifests_whose_entries_are_in_files_are_opened_whole(main, monkeypatch, files):
    monkeypatch.setattr(pending_delta, "INLINE_BYTES", 10)
    table = busy_table(main)
    assert any(path.endswith(".entries") for path in files())
    check_all_open(main, table)
    assert [len(read_manifest(main.open(path))["data_files"]) for path in check_all_open(main, table).values()]


def test_a_frame_has_the_values_of_its_commit(main):
    table = busy_table(main)
    chain = [read_manifest(table.manifest(info.id).data) for info in reversed(table.snapshots())]
    for info, found in zip(reversed(table.snapshots()), chain, strict=True):
        assert (found["snapshot_id"], found["sequence_number"]) == (info.id, info.sequence_number)
        assert found.get("previous_snapshot_id") == info.previous_id
        assert (found["schema_id"], found["partition_spec_id"]) == (info.schema_id, info.spec_id)
        assert found["last_updated_ms"] == int(info.time.timestamp() * 1_000_000) // 1000
        assert found["properties"] == {f"total-{name}": str(count) for name, count in info.totals.items()}
        assert found["last_column_id"] == 1
    assert table.manifest().data == table.manifest(table.snapshots()[0].id).data


def test_the_system_table_has_the_same_frames(main):
    table, other = busy_table(main), main.create_table("other", {"id": "long"})
    rows = main.inspect("__manifests", where="table_name = 't'").to_pylist()
    assert [row["snapshot_id"] for row in rows] == sorted(info.id for info in table.snapshots())
    for row in rows:
        framed = table.manifest(row["snapshot_id"])
        assert (row["frame"], row["manifest_path"], row["manifest_length"]) == (framed.data, framed.path, len(framed))
        assert main.open(row["manifest_path"]) == row["frame"]
        shown, decoded = json.loads(row["decoded"]), framed.decoded()
        assert shown.keys() == decoded.keys()
        assert shown["sequence_number"] == decoded["sequence_number"]
        assert [file["path"] for file in shown.get("data_files", ())] == [
            file["path"] for file in decoded.get("data_files", ())
        ]
    assert {row["table_uuid"] for row in main.inspect("__manifests").to_pylist()} == {table.id, other.id}
    assert main.inspect("__manifests", where="snapshot_id = 2 AND table_name = 't'").num_rows == 1


def test_a_branch_opens_what_it_inherits_and_what_it_did(main):
    table = busy_table(main)
    before = check_all_open(main, table)
    dev = main.create_branch("dev")
    dev.table("t").append(ids(7))
    assert check_all_open(dev, dev.table("t")).items() > before.items()
    [new] = check_all_open(dev, dev.table("t")).items() - before.items()
    with pytest.raises(NotFound, match=f"there is no snapshot {new[0]}"):
        main.open(new[1])


def test_the_past_opens_what_it_had(main):
    table = busy_table(main)
    old = table.snapshots()[-2]
    then, now = main.at(old.version), table.describe().snapshot()["manifest-list"]
    assert check_all_open(then, then.table("t"))
    with pytest.raises(NotFound, match="there is no snapshot"):
        then.open(now)


def test_a_share_opens_nothing_that_it_does_not_show(main):
    shown, hidden = busy_table(main), busy_table(main, "hidden")
    share = main.create_share("s", ["t"])
    assert check_all_open(share, share.table("t"))
    assert shown.manifest().data == share.open(shown.manifest().path)
    with pytest.raises(NotFound):
        share.open(hidden.manifest().path)


@pytest.mark.parametrize("place", ["auto", "files"])
def test_every_edition_opens_its_own_whichever_is_active(main, place):
    table = busy_table(main, **{"write.manifests": place})
    first = check_all_open(main, table)
    second = table.create_edition("2")
    second.append(ids(7))
    paths = check_all_open(main, table.edition("2"))
    table.activate("2")
    assert check_all_open(main, table) == paths
    assert check_all_open(main, table.edition("1")) == first
    assert not set(first.values()) & set(paths.values())


def test_a_dropped_table_is_opened_again_once_it_is_back(main):
    table = busy_table(main)
    path = table.manifest().path
    main.drop_table("t")
    with pytest.raises(NotFound):
        main.open(path)
    main.undrop_table("t")
    assert main.open(path)


@pytest.mark.parametrize("path", ["", "lakebed:", "lakebed:x/snapshots/1", None, 7])
def test_what_names_nothing_is_invalid(main, path):
    with pytest.raises(Invalid, match="does not name a manifest list or a manifest"):
        main.open(path)


def test_a_name_with_more_behind_it_is_invalid(main):
    path = busy_table(main).manifest().path
    for wrong in (f"{path}/", f" {path}", path.upper(), f"{path}\n"):
        with pytest.raises((Invalid, NotFound)):
            main.open(wrong)


def test_files_that_are_not_manifests_of_a_table_are_not_found(main, tmp_path, in_files):
    table = busy_table(main)
    stray = tmp_path / "stray.manifest"
    stray.write_bytes(table.manifest().data)  # a frame of the table, which its record does not point to
    for path in (str(stray), str(tmp_path), str(tmp_path / "missing"), f"{tmp_path}/missing.part", "inline:1"):
        with pytest.raises(NotFound, match="no table here has this manifest or this file"):
            main.open(path)


def test_a_live_file_opens_as_its_entry_and_an_object_of_a_checkpoint_as_all_of_its_entries(main):
    table = busy_table(main)
    table.checkpoint()
    [path] = set(main.inspect("__files", "table_name = 't'")["file_path"].to_pylist())
    entry = json.loads(main.open(path))
    assert path.endswith(entry["path"])
    assert entry["num_rows"] == 5
    [key] = set(main.inspect("__segments", "table_name = 't'")["base_key"].to_pylist())
    assert key.endswith(".part")
    assert json.loads(main.open(key)) == [entry]
    table.append([{"id": 99}])
    assert json.loads(main.open(key)) == [entry], "the checkpoint is that of before"


def test_a_share_opens_no_entries_of_what_it_does_not_show(main):
    table = busy_table(main)
    table.checkpoint()
    [path] = set(main.inspect("__files", "table_name = 't'")["file_path"].to_pylist())
    [key] = set(main.inspect("__segments", "table_name = 't'")["base_key"].to_pylist())
    main.create_table("shown", [{"id": 1}])
    share = main.create_share("s", "shown")
    for one in (path, key):
        with pytest.raises(NotFound):
            share.open(one)
