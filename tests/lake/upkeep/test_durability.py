"""What a commit makes visible is on the disk before it: files first, then the folders that they are in (ME-13)."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files


@pytest.fixture
def events(main, monkeypatch):
    """What is synced, by its path, and the commits between."""
    seen = []
    sync, metastore = os.fsync, main._scope.context.metastore
    commit = metastore.commit

    def recorded_sync(descriptor):
        sync(descriptor)
        seen.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    def recorded_commit(change):
        seen.append("commit")
        return commit(change)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(metastore, "commit", recorded_commit)
    return seen


def assert_durable(table, events):
    """Every file of the table, and each folder from there up to the lake, was synced, in this order, then committed."""
    done = events[: events.index("commit")]
    root = table._scope.context.files.root
    paths = table.scan().files()
    assert paths
    for path in paths:
        file = Path(root, path)
        assert str(file) in done
        assert str(file.parent) in done[done.index(str(file)) :]
        assert file.stat().st_size > 0
    return done


def test_what_arrow_wrote_is_on_the_disk_before_the_commit(main, events):
    table = main.create_table("t", {"id": "long"})
    events.clear()
    table.append(pa.table({"id": [1, 2, 3]}))
    assert_durable(table, events)


def test_what_spark_wrote_is_on_the_disk_before_the_commit(main, events, spark):
    table = main.create_table("t", {"id": "long"})
    events.clear()
    table.append(spark.range(0, 100, 1, 3))
    done = assert_durable(table, events)
    assert len(table.scan().files()) == 3
    folder = str(Path(table._scope.context.files.root, table.scan().files()[0]).parent)
    assert os.path.dirname(folder) in done  # the job's folder is new in it
    table.append(spark.range(100, 200, 1, 2))  # and another job finds a folder of its own
    assert table.scan().count() == 200


def test_a_manifest_that_is_to_be_a_file_is_on_the_disk_before_the_commit_that_takes_effect(main, events):
    table = main.create_table("t", {"id": "long"}, properties={"write.manifests": "files"})
    events.clear()
    table.append(pa.table({"id": [1]}))
    assert events.count("commit") == 2, "the first says which values the manifest gets"
    done = events[: len(events) - events[::-1].index("commit")]
    [path] = {path for path in done if path.endswith(".manifest") or "/metadata/" in path}
    assert os.path.dirname(path) in done[done.index(path) :]


def test_a_large_manifest_is_on_the_disk_before_the_commit(main, events, monkeypatch):
    table = main.create_table("t", {"id": "long"})
    monkeypatch.setattr("lakebed.catalog.transaction.pending_delta.INLINE_BYTES", 10)
    events.clear()
    table.append(pa.table({"id": [1]}))
    done = assert_durable(table, events)
    synced = [path for path in done if "/metadata/" in path]
    # The entries column by column, and the rest of the manifest, which is large here too.
    metadata = Path(table._scope.context.files.root, table._state.location, "metadata")
    assert sorted(one.suffix for one in metadata.iterdir()) == [".entries", ".manifest"]
    assert len(set(synced)) == 2
    for path in synced:
        assert os.path.dirname(path) in done[done.index(path) :]
