"""`write.manifests` = `files`: every delta is a manifest file beside the data, for the source document's reader."""

import json
import threading
from pathlib import Path

import pyarrow
import pytest

import lakebed
from lakebed import Conflict, Corrupt, Invalid
from lakebed.catalog.transaction import manifest_files, pending_delta
from tests.lake.reads.test_open import busy_table, check_all_open, ids
from tests.support.seed_reader import read_manifest

IN_FILES = {"write.manifests": "files", "write.inline-bytes": "0"}


def frames(table):
    """The manifests in the table's folder, by snapshot id, read by whoever has only the source document."""
    paths = Path(table.location).rglob("*.manifest")
    found = [(read_manifest(path.read_bytes()), path) for path in paths]
    assert len({manifest["snapshot_id"] for manifest, _ in found}) == len(found)
    return {manifest["snapshot_id"]: manifest for manifest, _ in sorted(found, key=lambda one: one[0]["snapshot_id"])}


def check_chain(table, found):
    """ME-8, and what the snapshots say; the live files are those that the frames leave."""
    infos = {info.id: info for info in table.snapshots()}
    assert found.keys() >= infos.keys()
    live = {}
    for id, info in sorted(infos.items()):
        manifest = found[id]
        assert manifest["sequence_number"] == info.sequence_number
        assert manifest.get("previous_snapshot_id") == info.previous_id
        assert (manifest["schema_id"], manifest["partition_spec_id"]) == (info.schema_id, info.spec_id)
        assert manifest["table_uuid"] == table.id
        assert abs(manifest["last_updated_ms"] - info.time.timestamp() * 1000) < 60_000
        assert manifest["properties"].items() >= {f"total-{name}": str(n) for name, n in info.totals.items()}.items()
        for file in manifest["data_files"]:
            assert (file["path"] in live) == (file["status"] != 1)
            live.pop(file["path"], None)
            if file["status"] != 2:
                live[file["path"]] = file
                assert 0 < file["seq_min"] <= file["seq_max"] <= info.sequence_number
    return live


def test_the_source_documents_reader_opens_every_manifest(main):
    table = busy_table(main, **IN_FILES)
    found = frames(table)
    assert len(found) == len(table.snapshots())
    live = check_chain(table, found)
    root = Path(table.location).parent.parent
    assert {str(root / path) for path in live} == set(table.scan(columns=["id"]).files())
    for path, file in live.items():
        assert (root / path).stat().st_size == file["file_size"]
        assert pyarrow.parquet.read_metadata(root / path).num_rows == file["num_rows"]


def test_documents_name_the_files_and_open_them(main):
    table = busy_table(main, **IN_FILES)
    opened = check_all_open(main, table)
    for id, path in opened.items():
        assert Path(path).read_bytes() == main.open(path) == table.manifest(id).data
        assert main.open(f"lakebed:{table.id}/snapshots/{id}/manifest") == main.open(path)
    assert [bytes(delta.manifest) for delta in table.partition().deltas()] == [
        table.manifest(info.id).data for info in table.snapshots()
    ]
    rows = main.inspect("__manifests").to_pylist()
    assert [Path(row["manifest_path"]).read_bytes() for row in rows] == [row["frame"] for row in rows]


def test_a_table_reads_the_same_wherever_its_manifests_are(main):
    filed, kept = busy_table(main, "filed", **IN_FILES), busy_table(main, "kept", **{"write.inline-bytes": "0"})
    for one, other in zip(filed.snapshots(), kept.snapshots(), strict=True):
        then, also = filed.at(snapshot=one.id), kept.at(snapshot=other.id)
        assert then.scan().to_arrow().sort_by("id") == also.scan().to_arrow().sort_by("id")
        assert (one.totals["rows"], one.counts.get("added_rows")) == (
            other.totals["rows"],
            other.counts.get("added_rows"),
        )
    assert filed.get(5) == kept.get(5)


def test_a_large_delta_is_one_frame_too(main, files, monkeypatch):
    monkeypatch.setattr(pending_delta, "INLINE_BYTES", 300)  # larger ones are columns, if they are not to be frames
    table = main.create_table("t", {"id": "long", "part": "long"}, partition_by=["part"], properties=IN_FILES)
    table.append(pyarrow.table({"id": range(40), "part": range(40)}))
    assert not [path for path in files() if path.endswith(".entries")]
    assert len(frames(table)[2]["data_files"]) == 40
    assert table.scan("part = 17").count() == 1


def test_the_property_can_be_set_and_unset_at_any_time(main):
    table = main.create_table("t", {"id": "long"})
    table.append(ids(1))
    table.set_properties({"write.manifests": "files"})
    table.append(ids(2), summary={"batch": "17"})
    table.set_properties({"write.manifests": "auto"})
    table.append(ids(3))
    assert [one["properties"].get("batch") for one in frames(table).values()] == ["17"]
    assert table.snapshots()[1].summary == {"batch": "17"}
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    check_all_open(main, table)
    with pytest.raises(Invalid, match="not a place for manifests"):
        table.set_properties({"write.manifests": "avro"})


def test_branches_merges_and_reverts_write_frames(main):
    table = main.create_table("t", {"id": "long"}, properties=IN_FILES)
    table.append(ids(1))
    dev = main.create_branch("dev")
    dev.table("t").append(ids(2))
    made = table.append(ids(3))
    main.merge(dev)
    main.revert(made)
    found = frames(table)
    check_chain(table, found)
    check_chain(dev.table("t"), found)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]


def test_one_transaction_writes_a_frame_for_each_table(main):
    with main.transaction() as tx:
        for name in "abc":
            tx.create_table(name, {"id": "long"}, properties=IN_FILES).append(ids(1))
    assert [len(frames(main.table(name))) for name in "abc"] == [1, 1, 1]
    with main.transaction() as tx:
        for name in "abc":
            tx.table(name).append(ids(2))
    for name in "abc":
        check_chain(main.table(name), frames(main.table(name)))
        assert len(frames(main.table(name))) == 2


def test_concurrent_writers_lose_no_commit_and_leave_no_file(main, lake):
    table = main.create_table("t", {"id": "long"}, properties=IN_FILES)

    def write(start):
        for number in range(5):
            main.table("t").append(ids(start + number))

    threads = [threading.Thread(target=write, args=(10 * start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert table.scan().count() == 20
    found = frames(table)
    assert len(found) == len(table.snapshots()) == 21
    check_chain(table, found)
    assert lake.check() == [] and lake.check().orphans == ()


def test_a_commit_that_fails_leaves_no_manifest(main, monkeypatch):
    table = main.create_table("t", {"id": "long"}, properties=IN_FILES)
    before = frames(table)
    with pytest.raises(Conflict), main.transaction() as tx:
        own = tx.table("t")
        assert own.scan().count() == 0
        own.append(ids(1))
        table.append(ids(2))
    assert len(frames(table)) == len(before) + 1
    monkeypatch.setattr(manifest_files, "ATTEMPTS", 1)
    with pytest.raises(Conflict, match="each time its manifest was written"), main.transaction() as tx:
        tx.table("t").append(ids(3))
    assert len(frames(table)) == len(before) + 1


def test_a_writer_that_dies_before_its_commit_leaves_an_orphan_and_the_old_state(main, lake, monkeypatch):
    table = main.create_table("t", {"id": "long"}, properties=IN_FILES)
    table.append(ids(1))
    own = manifest_files.ManifestFile.write

    def die_after(file, head):
        own(file, head)
        monkeypatch.setattr(manifest_files.ManifestFile, "delete", lambda file: None)
        raise KeyboardInterrupt

    monkeypatch.setattr(manifest_files.ManifestFile, "write", die_after)
    with pytest.raises(KeyboardInterrupt):
        table.append(ids(2))
    monkeypatch.undo()
    found = lake.check()
    assert found == []
    assert any(path.endswith(".manifest") for path in found.orphans)
    assert table.scan().count() == 1
    table.append(ids(3))
    assert table.scan().count() == 2


def test_a_damaged_manifest_file_is_corrupt_and_found(main, lake):
    table = busy_table(main, **IN_FILES)
    path = next(Path(table.location).rglob("*.manifest"))
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(Corrupt):
        main.inspect("__manifests")
    assert any(path.name in problem for problem in lake.check())


def test_a_backup_has_the_manifests(tmp_path):
    with lakebed.connect(tmp_path / "lake") as lake:
        table = busy_table(lake.catalog(), **IN_FILES)
        lake.backup(tmp_path / "copy")
        expected = frames(table)
    with lakebed.connect(tmp_path / "copy", create=False) as copy:
        assert frames(copy.catalog().table("t")) == expected
        assert json.loads(copy.catalog().open(table_list(copy)))


def table_list(lake):
    return lake.catalog().table("t").describe().snapshot()["manifest-list"]
