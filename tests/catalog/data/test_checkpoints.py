"""Checkpoints: MO-17 to MO-22. A snapshot is the nearest checkpoint and the deltas since, whatever happens."""

import gc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed.catalog.data import checkpoint_schedule, checkpoints
from lakebed.catalog.data.live_files import files_since_checkpoint, table_files
from lakebed.catalog.tables.tables import table_state
from lakebed.catalog.transaction import pending_delta
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.errors import Corrupt, LakebedError, Unavailable
from lakebed.files import LocalFiles
from lakebed.lake.lake import Lake
from lakebed.table.entries import parts as checkpoint_parts
from tests.support import changed_files
from tests.support.live_files import files_from_deltas
from tests.support.unchecked import set_unchecked


@pytest.fixture
def table(main):
    return main.create_table("t", {"id": "long"}, properties={"checkpoint.deltas": "0", "checkpoint.bytes": "0"})


def state_of(files, context):
    """All that a snapshot is, byte by byte, in no order."""
    found = files.all(context)
    return files.overlay.snapshot_id, {
        path: (one.file.SerializeToString(deterministic=True), one.snapshot_id, one.schema_id)
        for path, one in found.items()
    }


def seen(table, how):
    work = table._scope.read()
    return state_of(how(work, table_state(work, table.id)), work.context)


def grow(table, count):
    return [changed_files.append_file(table) for _ in range(count)]


def deltas_folded(table):
    work = table._scope.read()
    return files_since_checkpoint(work, table_state(work, table.id)).overlay.deltas


def test_a_checkpoint_and_the_deltas_since_are_the_full_replay(table):
    grow(table, 5)
    version = table.checkpoint()
    assert version == table.version
    assert deltas_folded(table) == 0, "MO-19: a version that is a checkpoint's needs no delta"
    grow(table, 2)
    assert deltas_folded(table) == 2
    assert seen(table, files_since_checkpoint) == seen(table, files_from_deltas)


def test_a_checkpoint_again_writes_nothing(table):
    grow(table, 2)
    assert table.checkpoint() is not None
    assert table.checkpoint() is None


def test_a_reader_of_the_past_never_uses_a_later_checkpoint(table):
    """MO-19."""
    grow(table, 2)
    before = table.version
    truth = seen(table, files_from_deltas)
    grow(table, 2)
    table.checkpoint()
    work = table.at(version=before)._scope.read()
    found = files_since_checkpoint(work, table_state(work, table.id))
    assert found.checkpoint is None
    assert state_of(found, work.context) == truth


def test_a_branch_reads_its_parents_checkpoint_and_writes_its_own(main, table):
    grow(table, 3)
    table.checkpoint()
    dev = main.create_branch("dev").table("t")
    grow(table, 2)
    table.checkpoint()
    grow(dev, 1)
    assert deltas_folded(dev) == 1
    assert seen(dev, files_since_checkpoint) == seen(dev, files_from_deltas)
    dev.checkpoint()
    grow(table, 1)
    assert deltas_folded(dev) == 0
    assert deltas_folded(table) == 1
    for one in (dev, table):
        assert seen(one, files_since_checkpoint) == seen(one, files_from_deltas)


def test_a_branch_without_deltas_of_its_own_has_a_checkpoint_written_on_its_parent(main, table):
    grow(table, 3)
    dev = main.create_branch("dev").table("t")
    dev.checkpoint()
    assert deltas_folded(dev) == deltas_folded(table) == 0


def test_parts_that_did_not_change_are_used_again(table, monkeypatch):
    monkeypatch.setattr(checkpoint_parts, "PART_FILES", 4)
    monkeypatch.setattr(checkpoint_parts, "SMALL_PARTS", 2)
    paths = grow(table, 8)
    table.checkpoint()
    first = keys_of_parts(table)
    assert len(first) == 2
    changed_files.delete_rows(table, paths[6])
    grow(table, 3)
    table.checkpoint()
    second = keys_of_parts(table)
    assert first[0] in second, "the first part has none of the files that changed"
    assert first[1] not in second
    assert seen(table, files_since_checkpoint) == seen(table, files_from_deltas)


def test_small_parts_do_not_pile_up(table, monkeypatch):
    monkeypatch.setattr(checkpoint_parts, "PART_FILES", 100)
    for _ in range(3 * checkpoint_parts.SMALL_PARTS):
        grow(table, 1)
        table.checkpoint()
        assert len(keys_of_parts(table)) <= checkpoint_parts.SMALL_PARTS + 1
    assert seen(table, files_since_checkpoint) == seen(table, files_from_deltas)


def keys_of_parts(table):
    work = table._scope.read()
    return [one.entries.key for one in files_since_checkpoint(work, table_state(work, table.id)).checkpoint.parts]


def test_a_long_list_of_parts_is_an_object(table, monkeypatch, folder):
    monkeypatch.setattr(checkpoints, "TOP_BYTES", 0)
    grow(table, 3)
    table.checkpoint()
    assert list(folder.rglob("*.parts"))
    assert seen(table, files_since_checkpoint) == seen(table, files_from_deltas)


def test_a_part_that_is_gone_is_corrupt_and_never_an_empty_table(table, folder):
    grow(table, 3)
    table.checkpoint()
    for path in folder.rglob("*.part"):
        path.unlink()
    again = opened_again(table, LocalFiles(folder)).table("t")
    with pytest.raises(Corrupt, match="can't be read"):
        seen(again, files_since_checkpoint)


def opened_again(table, files):
    """The trunk of the same lake as another process sees it, which remembers nothing."""
    context = table._scope.context
    return Lake(Context(context.metastore, files, Bodies(context.metastore), context.project)).catalog()


class FailingFiles(LocalFiles):
    """Fails at the n-th put from now on."""

    left = None

    def put_if_absent(self, path, data):
        if FailingFiles.left is not None:
            FailingFiles.left -= 1
            if FailingFiles.left < 0:
                raise Unavailable("the disk is full", subject=path)
        super().put_if_absent(path, data)


def test_a_checkpoint_that_fails_at_any_write_leaves_the_old_state_and_no_file(table, folder, monkeypatch):
    """MO-20."""
    monkeypatch.setattr(checkpoint_parts, "PART_FILES", 2)
    monkeypatch.setattr(checkpoints, "TOP_BYTES", 0)
    grow(table, 5)
    context = table._scope.context
    failing = opened_again(table, FailingFiles(folder))
    truth = seen(table, files_from_deltas)
    failures = 0
    for point in range(10):
        before = sorted(folder.rglob("*.part*"))
        FailingFiles.left = point
        try:
            failing.table("t").checkpoint()
        except Unavailable:
            failures += 1
            assert sorted(folder.rglob("*.part*")) == before
            assert context.metastore.unfinished_checkpoints(0) == []
        else:
            break
        finally:
            FailingFiles.left = None
        assert seen(table, files_since_checkpoint) == truth
    assert failures == 4, "three parts and their list"
    assert seen(table, files_since_checkpoint) == truth


def test_a_checkpoint_whose_process_died_left_an_intent_that_names_its_files(table, folder, monkeypatch):
    """MO-20: half of a checkpoint can't be seen, and can be found."""
    grow(table, 3)
    truth = seen(table, files_from_deltas)

    class Killed(BaseException):
        pass

    def killed(*_, **__):
        raise Killed

    monkeypatch.setattr(type(table._scope.context.metastore), "put_checkpoint", killed)
    monkeypatch.setattr(checkpoints, "TOP_BYTES", 0)  # so that the list of the parts is a file, too
    with pytest.raises(Killed):
        table.checkpoint()
    monkeypatch.undo()
    gc.collect()
    [left] = table._scope.context.metastore.unfinished_checkpoints(0)
    written = [path.relative_to(folder) for path in folder.rglob("*.part*")]
    assert {path.suffix for path in written} == {".part", ".parts"}
    assert set(map(str, written)) <= set(left.paths)
    assert seen(table, files_since_checkpoint) == truth


def test_an_old_checkpoint_can_go_when_a_newer_one_is_there(table):
    """MO-21: nothing that is read at any version changes, also for a reader that had it open."""
    versions = []
    for _ in range(4):
        grow(table, 2)
        versions.append(table.version)
        table.checkpoint()
    truths = [seen(table.at(version=one), files_from_deltas) for one in versions]
    work = table._scope.read()
    state = table_state(work, table.id)
    opened = table_files(work, state)
    for version in versions[:-1]:
        work.context.metastore.drop_checkpoint(work.ref.line.id, state.partition, version)
    assert state_of(opened, work.context) == truths[-1]
    assert [seen(table.at(version=one), files_since_checkpoint) for one in versions] == truths


def test_commits_have_checkpoints_written_when_enough_have_come(main, lake, monkeypatch):
    """MO-22: by count, in a thread of its own."""
    monkeypatch.setattr(checkpoint_schedule, "LOOK_EVERY", 4)
    table = main.create_table("counted", {"id": "long"}, properties={"checkpoint.deltas": "8"})
    for _ in range(20):
        grow(table, 1)
        lake._checkpointing.wait()
        assert deltas_folded(table) <= 12
    assert seen(table, files_since_checkpoint) == seen(table, files_from_deltas)


def test_commits_whose_numbers_leap_have_checkpoints_written_too(main, lake, monkeypatch):
    """No number was a multiple of the commits between two looks, so there never was a look."""
    monkeypatch.setattr(checkpoint_schedule, "LOOK_EVERY", 4)
    table = main.create_table("merged", {"id": "long"}, properties={"checkpoint.deltas": "4"})
    for round in range(6):
        branch = main.create_branch(f"b{round}")
        grow(branch.table("merged"), 3)
        main.merge(branch)
        lake._checkpointing.wait()
        assert deltas_folded(table) <= 4
    assert {info.sequence_number % 4 for info in table.snapshots()} == {1}


def test_a_large_delta_has_a_checkpoint_written_soon(main, lake, monkeypatch):
    """By bytes."""
    monkeypatch.setattr(pending_delta, "INLINE_BYTES", 100)
    table = main.create_table("large", {"id": "long"}, properties={"checkpoint.bytes": "100"})
    grow(table, 1)
    lake._checkpointing.wait()
    assert deltas_folded(table) == 0


def test_a_checkpoint_that_fails_in_the_background_fails_no_commit(main, lake, monkeypatch, caplog):
    def fails(*_):
        raise Unavailable("the disk is full")

    monkeypatch.setattr(checkpoint_schedule, "LOOK_EVERY", 1)
    monkeypatch.setattr(checkpoints, "write_checkpoint", fails)
    table = main.create_table("t", {"id": "long"}, properties={"checkpoint.deltas": "2"})
    grow(table, 3)
    lake._checkpointing.wait()
    assert "the disk is full" in caplog.text
    assert len(seen(table, files_since_checkpoint)[1]) == 3


def test_many_deltas_without_a_checkpoint_are_told_to_the_log(main, caplog):
    """MO-22's alarm."""
    table = main.create_table("t", {"id": "long"}, properties={"checkpoint.deltas": "1"})
    grow(table, 10)
    work = table._scope.read()
    checkpoint_schedule.checkpoint_if_due(work, table.id)
    assert "table t has 11 deltas since its last checkpoint" in caplog.text


def test_a_property_that_is_no_number_is_refused(main):
    table = main.create_table("t", {"id": "long"})
    set_unchecked(table, {"checkpoint.deltas": "often"})
    with pytest.raises(LakebedError, match="not a number in its range"):
        checkpoint_schedule.checkpoint_if_due(table._scope.read(), table.id)


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "overwrite", "delete", "compact", "checkpoint", "branch"]),
              st.integers(0, 99)),
    min_size=1,
    max_size=25,
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_every_version_of_a_random_history_is_its_full_replay(main, steps):
    """MO-17, on a trunk and branches, with small parts: load(checkpoint) + deltas == replay == what was live then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint_parts, "PART_FILES", 3)
        patch.setattr(checkpoint_parts, "SMALL_PARTS", 2)
        number = sum(1 for _ in main.tables())
        off = {"checkpoint.deltas": "0", "checkpoint.bytes": "0"}
        main.create_table(f"t{number}", {"id": "long"}, properties=off)
        lines, captured = [main], []
        for what, pick in steps:
            line = lines[pick % len(lines)]
            table = line.table(f"t{number}")
            live = sorted(changed_files.live(table))
            if what == "append":
                changed_files.append_file(table)
            elif what == "branch" and len(lines) < 4:
                lines.append(line.create_branch(f"b{number}_{len(lines)}"))
            elif what == "checkpoint":
                table.checkpoint()
            elif live and what == "overwrite":
                changed_files.overwrite(table)
            elif live and what == "delete":
                changed_files.delete_rows(table, live[pick % len(live)], f"{pick}.puffin")
            elif live and what == "compact":
                changed_files.compact(table, *live[: 1 + pick % len(live)])
            captured.append((table, table.version, changed_files.live(table)))
        for table, version, live in captured:
            past = table.at(version=version)
            assert seen(past, files_since_checkpoint) == seen(past, files_from_deltas) == seen(past, table_files)
            assert changed_files.live(past) == live
