"""Checkpoints: which one a reader gets, what may stand where, and what an unfinished one leaves behind."""

from typing import Any, cast

import pytest

from lakebed.errors import Invalid, NotFound
from lakebed.metastore.change import DataRead, State
from lakebed.metastore.kinds import new_id
from lakebed.metastore.metastore import Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.testing.metastore.writer import (
    Writer,
    all_pages,
    checkpoint_of,
    picture,
    root_partition,
    trunk,
)

A_DAY = 86_400


def grown(metastore: Metastore, appends: int = 5) -> tuple[Writer, str, list[Version]]:
    """A table, and the version of each of its deltas, with other commits between them."""
    writer = Writer(metastore, trunk())
    table = writer.table("t")
    versions = []
    for number in range(appends):
        versions.append(writer.append(table, number + 1).version)
        writer.set(table, number)
    return writer, table, versions


def seen(writer: Writer, table: str, version: Version | None = None) -> tuple[Version, str] | None:
    """The version and the line of the checkpoint that a reader gets."""
    found = writer.reader(version).checkpoint(root_partition(table))
    return None if found is None else (found.version, found.line)


def own(writer: Writer, table: str) -> list[State]:
    return writer.metastore.checkpoints(writer.line.id, root_partition(table))


def begun(writer: Writer, table: str, *paths: str) -> str:
    return writer.metastore.begin_checkpoint(writer.line.id, root_partition(table), paths)


def unfinished(metastore: Metastore) -> list[str]:
    return [one.intent for one in metastore.unfinished_checkpoints(0)]


class CheckpointsSuite:
    # Which one is found

    def test_a_reader_gets_the_newest_checkpoint_that_is_not_later_than_itself(self, metastore: Metastore) -> None:
        """MO-19: one of exactly its version is used, a later one never."""
        writer, table, versions = grown(metastore)
        for number in (1, 3):
            writer.checkpoint(table, versions[number])
        expected = [None, versions[1], versions[1], versions[3], versions[3]]
        for version, nearest in zip(versions, expected, strict=True):
            for at in (version, version.next()):
                assert seen(writer, table, at) == (None if nearest is None else (nearest, writer.line.id))
        for number in (1, 3):
            before = seen(writer, table, versions[number].previous())
            assert before == (None if number == 1 else (versions[1], writer.line.id))
        assert seen(writer, table) == (versions[3], writer.line.id)

    def test_a_checkpoint_is_the_record_that_was_put(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore, 1)
        record = checkpoint_of(writer.deltas(table)[versions[0]], 7)
        record.table_id, record.schema_id, record.last_row_id, record.written_ms = table, 3, 99, 1234
        record.top.key, record.top.offset, record.top.length, record.top.raw_length = "data/x", 1, 2, 2**32 - 1
        record.top_list = b"\x00\xff"
        record.MergeFromString(b"\xfa\x3e\x05later")
        metastore.put_checkpoint(writer.line.id, root_partition(table), versions[0], record)
        expected = State(record, versions[0], writer.line.id)
        assert writer.reader().checkpoint(root_partition(table)) == expected
        assert own(writer, table) == [expected]

    def test_without_a_checkpoint_there_is_none(self, metastore: Metastore) -> None:
        writer, table, _ = grown(metastore)
        assert writer.reader().checkpoint(root_partition(table)) is None
        assert own(writer, table) == []
        assert metastore.unfinished_checkpoints(0) == []

    def test_every_checkpoint_that_a_line_shows_is_listed_oldest_first(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        other = writer.table("u")
        writer.append(other)
        for number in (3, 1):
            writer.checkpoint(table, versions[number])
        branch = writer.fork(versions[2])
        later = branch.append(table).version
        branch.checkpoint(table, later)
        partitions = [root_partition(table), root_partition(other)]
        for reader, expected in (
            (writer.reader(), [versions[1], versions[3]]),
            (writer.reader(versions[2]), [versions[1]]),
            (branch.reader(), [versions[1], later]),
        ):
            found, nothing = reader.every_checkpoint(partitions)
            assert ([state.version for state in found], nothing) == (expected, [])
        assert writer.reader().every_checkpoint([]) == []

    def test_a_checkpoint_is_of_one_partition(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        other = writer.table("u")
        version = writer.append(other).version
        writer.checkpoint(table, versions[-1])
        assert seen(writer, other) is None
        writer.checkpoint(other, version)
        assert (seen(writer, table), seen(writer, other)) == (
            (versions[-1], writer.line.id),
            (version, writer.line.id),
        )

    def test_a_reader_that_was_there_before_may_use_a_checkpoint_that_came_later(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        reader = writer.reader(versions[2])
        branch = writer.fork(versions[2]).reader()
        assert reader.checkpoint(root_partition(table)) is branch.checkpoint(root_partition(table)) is None
        writer.checkpoint(table, versions[2])
        writer.checkpoint(table, versions[3])
        for one in (reader, branch):
            found = one.checkpoint(root_partition(table))
            assert found is not None and found.version == versions[2]

    def test_the_checkpoints_of_a_line_are_listed_newest_first(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        for number in (2, 0, 4):
            writer.checkpoint(table, versions[number], number)
        branch = writer.fork()
        assert [state.version for state in own(writer, table)] == [versions[4], versions[2], versions[0]]
        assert [state.line for state in own(writer, table)] == [writer.line.id] * 3
        assert own(branch, table) == []

    def test_the_checkpoints_of_many_partitions_are_read_in_one_call(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        other, bare = writer.table("other"), writer.table("bare")
        version = writer.append(other, 1).version
        writer.checkpoint(table, versions[1])
        branch = writer.fork()
        writer.checkpoint(other, version)
        branch.checkpoint(table, branch.append(table, 1).version)
        partitions = [root_partition(one) for one in (other, bare, table, other)]
        for reader in (writer.reader(), branch.reader(), writer.reader(versions[1]), writer.reader(versions[0])):
            assert reader.checkpoints(partitions) == [reader.checkpoint(one) for one in partitions]
        assert [found is None for found in branch.reader().checkpoints(partitions)] == [False, True, False, False]
        assert writer.reader().checkpoints([]) == []

    def test_every_delta_and_checkpoint_of_all_lines_is_found(self, metastore: Metastore) -> None:
        assert list(metastore.data_records()) == []
        writer, table, versions = grown(metastore)
        other = writer.table("other")
        writer.append(other, 1)
        writer.checkpoint(table, versions[1])
        branch = writer.fork()
        last = branch.append(table, 1).version
        branch.checkpoint(table, last)
        writer.drop(other)
        deltas = [
            (root_partition(one), state)
            for line in (writer, branch)
            for one in (table, other)
            for state in line.deltas(one).values()
        ]
        checkpoints = [(root_partition(table), state) for line in (writer, branch) for state in own(line, table)]
        found = list(metastore.data_records())
        assert sorted(found, key=str) == sorted([*deltas, *checkpoints], key=str)
        assert (len(deltas), len(checkpoints)) == (7, 2)
        metastore.erase(branch.line.id, [root_partition(table)])
        assert last not in [state.version for _, state in metastore.data_records()]

    def test_a_checkpoint_and_the_deltas_after_it_are_the_whole_history(self, metastore: Metastore) -> None:
        """MO-17 at this level: what a reader adds to its checkpoint is just what the checkpoint does not stand for."""
        writer, table, versions = grown(metastore, 4)
        branch = writer.fork(versions[2])
        later = [branch.append(table, 10).version for _ in range(3)]
        partition = root_partition(table)
        for one, put in ((writer, versions[1]), (writer, versions[3]), (branch, later[1])):
            one.checkpoint(table, put)
        for one, mine in ((writer, versions), (branch, [*versions[:3], *later])):
            for place, version in enumerate(mine):
                reader = one.reader(version)
                found = reader.checkpoint(partition)
                since = None if found is None else found.version
                steps = all_pages(reader.history, partition, Attribute.DATA, since=since)
                covered = 0 if found is None else cast(pb.TableCheckpoint, found.record).counts["rows"]
                added = sum(cast(pb.TableHistory, step.record).counts["rows"] for step in steps)
                assert covered + added == one.rows(table, version)
                assert [step.version for step in reversed(steps)] == [
                    at for at in mine[: place + 1] if since is None or at > since
                ]

    # Branches

    def test_a_branch_never_sees_a_checkpoint_of_its_parent_after_the_fork(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        branch = writer.fork(versions[2])
        writer.checkpoint(table, versions[3])
        assert seen(branch, table) is None
        writer.checkpoint(table, versions[2])
        assert seen(branch, table) == (versions[2], writer.line.id)
        branch.append(table)
        assert seen(branch, table) == (versions[2], writer.line.id)

    def test_a_parent_never_sees_a_checkpoint_of_its_branch(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        branch, sister = writer.fork(), writer.fork()
        writer.checkpoint(table, versions[0])
        version = branch.append(table).version
        branch.checkpoint(table, version)
        assert seen(branch, table) == (version, branch.line.id)
        for one in (writer, sister):
            assert seen(one, table) == (versions[0], writer.line.id)

    def test_the_nearest_line_of_three_has_the_say(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore, 2)
        middle = writer.fork()
        inner = [middle.append(table).version for _ in range(2)]
        leaf = middle.fork(inner[0])
        last = leaf.append(table).version
        writer.append(table)
        expected: list[tuple[Version, str] | None] = [None]
        assert seen(leaf, table) is None
        for one, version in ((writer, versions[1]), (middle, inner[0]), (leaf, last)):
            one.checkpoint(table, version)
            expected.append((version, one.line.id))
            assert seen(leaf, table) == expected[-1]
        middle.checkpoint(table, inner[1])
        assert seen(leaf, table) == expected[3], "what came after the fork is another state"
        assert seen(leaf, table, last.previous()) == expected[2]
        assert seen(leaf, table, inner[0].previous()) == expected[1]
        assert seen(leaf, table, versions[1].previous()) is None
        assert seen(middle, table) == (inner[1], middle.line.id)
        assert seen(writer, table) == expected[1]

    # What may stand where

    def test_a_checkpoint_of_a_version_without_a_delta_is_refused(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        record = checkpoint_of(writer.deltas(table)[versions[1]])
        for version in (versions[1].next(), versions[1].previous(), Version.parse(0), metastore.newest()):
            with pytest.raises(Invalid):
                metastore.put_checkpoint(writer.line.id, root_partition(table), version, record)
        for line, partition in ((new_id(), root_partition(table)), (writer.line.id, new_id())):
            with pytest.raises(Invalid):
                metastore.put_checkpoint(line, partition, versions[1], record)
        assert own(writer, table) == []

    def test_a_branch_has_no_checkpoint_of_a_delta_that_it_inherits(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        branch = writer.fork()
        record = checkpoint_of(writer.deltas(table)[versions[1]])
        with pytest.raises(Invalid):
            metastore.put_checkpoint(branch.line.id, root_partition(table), versions[1], record)
        assert own(branch, table) == []

    @pytest.mark.parametrize("field", ["snapshot_id", "sequence_number"])
    def test_a_checkpoint_of_another_snapshot_is_refused(self, metastore: Metastore, field: str) -> None:
        writer, table, versions = grown(metastore)
        first = writer.checkpoint(table, versions[1])
        other = checkpoint_of(writer.deltas(table)[versions[1]], 2)
        setattr(other, field, getattr(other, field) + 100)
        for version in versions[1:3]:
            with pytest.raises(Invalid):
                metastore.put_checkpoint(writer.line.id, root_partition(table), version, other)
        assert own(writer, table) == [State(first, versions[1], writer.line.id)]

    def test_the_same_checkpoint_again_is_fine_and_another_one_takes_its_place(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        for files in (1, 1, 2):
            record = writer.checkpoint(table, versions[1], files)
            assert own(writer, table) == [State(record, versions[1], writer.line.id)]

    def test_what_is_no_checkpoint_is_refused(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore, 1)
        record: Any = writer.deltas(table)[versions[0]].record
        with pytest.raises(Invalid):
            metastore.put_checkpoint(writer.line.id, root_partition(table), versions[0], record)

    @pytest.mark.parametrize("bad", ["", "x", "7928B745-642C-4480-A036-BEC3B8C02CEB", "a/b/c"])
    def test_ids_that_are_none_are_refused(self, metastore: Metastore, bad: str) -> None:
        good, version, record = new_id(), metastore.newest(), pb.TableCheckpoint()
        for line, partition in ((bad, good), (good, bad)):
            for call in (
                lambda line=line, partition=partition: metastore.begin_checkpoint(line, partition, []),
                lambda line=line, partition=partition: metastore.put_checkpoint(line, partition, version, record),
                lambda line=line, partition=partition: metastore.checkpoints(line, partition),
                lambda line=line, partition=partition: metastore.drop_checkpoint(line, partition, version),
            ):
                with pytest.raises(Invalid):
                    call()
        for intent in (bad, f"{good}/{good}", f"{good}/{good}/{bad}", f"{good}/{good}/{good}/{good}"):
            for end in (metastore.abandon_checkpoint, metastore.end_checkpoint):
                with pytest.raises(Invalid):
                    end(intent)
        with pytest.raises(Invalid):
            metastore.reader(trunk()).checkpoint(bad)
        assert metastore.unfinished_checkpoints(0) == []

    def test_a_dropped_checkpoint_gives_way_to_the_one_before(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        for number in (1, 3):
            writer.checkpoint(table, versions[number])
        for _ in range(2):
            metastore.drop_checkpoint(writer.line.id, root_partition(table), versions[3])
            assert seen(writer, table) == (versions[1], writer.line.id)
        metastore.drop_checkpoint(writer.line.id, root_partition(table), versions[1])
        assert seen(writer, table) is None
        assert len(writer.deltas(table)) == 5

    # Beside commits

    def test_checkpoints_are_no_commits_and_change_nothing_that_is_read(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        base = metastore.newest()
        before = picture(writer.reader(base), [table], ["t"])
        intent = begun(writer, table, "a")
        writer.checkpoint(table, versions[2], intent=intent)
        writer.checkpoint(table, versions[4])
        metastore.drop_checkpoint(writer.line.id, root_partition(table), versions[4])
        assert picture(writer.reader(base), [table], ["t"]) == picture(writer.reader(), [table], ["t"]) == before
        writer.append(table, base=base, reads=(DataRead(root_partition(table)),))

    # Intents

    def test_an_intent_is_unfinished_until_its_checkpoint_is_put(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        intent = begun(writer, table, "metadata/a", "metadata/é")
        [found] = metastore.unfinished_checkpoints(0)
        assert (found.intent, found.line, found.partition) == (intent, writer.line.id, root_partition(table))
        assert (found.paths, found.abandoned) == (("metadata/a", "metadata/é"), False)
        assert metastore.unfinished_checkpoints(A_DAY) == []
        assert seen(writer, table) is None, "a half checkpoint is not seen"
        record = writer.checkpoint(table, versions[1], intent=intent)
        assert unfinished(metastore) == []
        metastore.put_checkpoint(writer.line.id, root_partition(table), versions[1], record, intent)
        assert own(writer, table) == [State(record, versions[1], writer.line.id)], "the same again is fine"

    def test_intents_of_several_checkpoints_stand_apart(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        branch = writer.fork()
        version = branch.append(table).version
        intents = [begun(one, table, str(number)) for number, one in enumerate((writer, writer, branch))]
        assert len(set(intents)) == 3
        assert sorted(unfinished(metastore)) == sorted(intents)
        branch.checkpoint(table, version, intent=intents[2])
        assert sorted(unfinished(metastore)) == sorted(intents[:2])
        metastore.end_checkpoint(intents[0])
        assert unfinished(metastore) == intents[1:2]
        writer.checkpoint(table, versions[0])
        assert unfinished(metastore) == intents[1:2], "one that was put without an intent ends none"

    def test_a_checkpoint_that_is_refused_keeps_its_intent(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        intent = begun(writer, table, "a")
        record = checkpoint_of(writer.deltas(table)[versions[1]])
        with pytest.raises(Invalid):
            metastore.put_checkpoint(writer.line.id, root_partition(table), versions[2], record, intent)
        assert unfinished(metastore) == [intent]

    def test_an_ended_intent_is_good_for_no_checkpoint(self, metastore: Metastore) -> None:
        """Its files may be gone."""
        writer, table, versions = grown(metastore)
        intent = begun(writer, table, "a")
        for _ in range(2):
            metastore.end_checkpoint(intent)
        with pytest.raises(Invalid):
            writer.checkpoint(table, versions[1], intent=intent)
        assert own(writer, table) == []

    def test_an_abandoned_checkpoint_can_not_be_put_and_is_still_unfinished(self, metastore: Metastore) -> None:
        """Who deletes its files may be killed: the next one finds them."""
        writer, table, versions = grown(metastore)
        intent = begun(writer, table, "a")
        for _ in range(2):
            metastore.abandon_checkpoint(intent)
            [found] = metastore.unfinished_checkpoints(0)
            assert (found.intent, found.paths, found.abandoned) == (intent, ("a",), True)
        with pytest.raises(Invalid):
            writer.checkpoint(table, versions[1], intent=intent)
        assert (own(writer, table), unfinished(metastore)) == ([], [intent])

    def test_a_finished_checkpoint_can_not_be_abandoned(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        intent = begun(writer, table, "a")
        writer.checkpoint(table, versions[1], intent=intent)
        with pytest.raises(NotFound):
            metastore.abandon_checkpoint(intent)
        assert seen(writer, table) == (versions[1], writer.line.id)

    def test_an_intent_of_another_line_or_partition_is_refused(self, metastore: Metastore) -> None:
        writer, table, versions = grown(metastore)
        other = writer.table("u")
        writer.append(other)
        for intent in (begun(writer.fork(), table, "a"), begun(writer, other, "a"), "x"):
            with pytest.raises(Invalid):
                writer.checkpoint(table, versions[1], intent=intent)
        assert (own(writer, table), len(unfinished(metastore))) == ([], 2)

    def test_paths_that_are_not_unicode_are_refused(self, metastore: Metastore) -> None:
        with pytest.raises(Invalid):
            metastore.begin_checkpoint(new_id(), new_id(), ["\ud800"])
        assert unfinished(metastore) == []
