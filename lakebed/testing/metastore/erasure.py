"""Erasing: what purged objects and purged lines had goes for good, and nothing else does."""

import pytest

from lakebed.errors import Invalid
from lakebed.metastore.kinds import life, new_id
from lakebed.metastore.line import Line
from lakebed.metastore.metastore import TOMBSTONE, Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.testing.metastore.writer import (
    RECORDS,
    Writer,
    all_pages,
    checkpoint_of,
    picture,
    root_partition,
    trunk,
)

NAMES = ("n", "t", "u")


def filled(writer: Writer, name: str, changes: int = 2) -> str:
    """A table with several states of every attribute, data, ids and a body."""
    table = writer.table(name)
    for number in range(1, changes + 1):
        for attribute in RECORDS:
            writer.write(table, attribute, number)
        writer.append(table, number)
    writer.commit(bodies={(table, "schema", 1): b"x" * 200_000})
    return table


def units(table: str) -> list[tuple[str, Attribute]]:
    """Where a table's attributes are, but its life."""
    return [*((table, attribute) for attribute in RECORDS), (root_partition(table), Attribute.DATA)]


def purge(writer: Writer, object_id: str) -> None:
    writer.drop(object_id)
    writer.alter("purge", object_id, drop_type=pb.PURGED)


class ErasureSuite:
    @pytest.mark.parametrize("changes", [1, 60])
    def test_an_erased_object_has_no_attributes_at_any_version_but_its_lives(
        self, metastore: Metastore, changes: int
    ) -> None:
        writer = Writer(metastore, trunk())
        table = filled(writer, "t", changes)
        then = metastore.newest()
        purge(writer, table)
        lives, log = all_pages(writer.reader().history, table, Attribute.LIFE), all_pages(writer.reader().log)
        metastore.erase(writer.line.id, [table, root_partition(table)], bodies_of=[table])
        assert metastore.newest() > then
        for version in (None, then):
            assert writer.reader(version).attributes(units(table)) == [None] * len(units(table))
        for unit in units(table):
            assert all_pages(writer.reader().history, *unit) == []
        assert metastore.bodies([(table, "schema", 1)]) == [None]
        assert metastore.allocate(table, "row") == 1, "its allocators are gone too"
        assert all_pages(writer.reader().history, table, Attribute.LIFE) == lives
        assert all_pages(writer.reader().log) == log

    @pytest.mark.parametrize("changes", [1, 60])
    def test_the_checkpoints_of_an_erased_partition_go_and_its_intents_stay(
        self, metastore: Metastore, changes: int
    ) -> None:
        """An intent names files that somebody may yet write: whoever deletes those ends it."""
        writer = Writer(metastore, trunk())
        table, kept = filled(writer, "t", changes), filled(writer, "u", 1)
        branch = writer.fork()
        branch.append(table)
        for one, name in ((writer, table), (writer, kept), (branch, table)):
            for version in one.deltas(name):
                one.checkpoint(name, version)
        intent = metastore.begin_checkpoint(writer.line.id, root_partition(table), ["a"])
        [last, *_] = deltas = writer.deltas(table)
        purge(writer, table)
        metastore.erase(writer.line.id, [table, root_partition(table)], bodies_of=[table])
        assert metastore.checkpoints(writer.line.id, root_partition(table)) == []
        assert writer.reader(last).checkpoint(root_partition(table)) is None
        assert len(metastore.checkpoints(branch.line.id, root_partition(table))) == 1
        assert len(metastore.checkpoints(writer.line.id, root_partition(kept))) == 1
        record = checkpoint_of(deltas[last])
        for named in (None, intent):
            with pytest.raises(Invalid):
                metastore.put_checkpoint(writer.line.id, root_partition(table), last, record, named)
        assert [one.intent for one in metastore.unfinished_checkpoints(0)] == [intent]

    def test_the_checkpoints_of_an_erased_line_go_with_it(self, metastore: Metastore) -> None:
        refs, writer = Writer(metastore, trunk()), Writer(metastore, trunk())
        table = filled(writer, "t")
        branch = writer.fork()
        deltas = [branch.append(table).version for _ in range(3)]
        refs.commit(lives={branch.line.id: life(pb.BRANCH, refs.line.top, "dev")})
        records = [branch.checkpoint(table, version) for version in deltas]
        [first, *_] = writer.deltas(table)
        writer.checkpoint(table, first)
        purge(refs, branch.line.id)
        metastore.erase_line(branch.line.id)
        assert metastore.checkpoints(branch.line.id, root_partition(table)) == []
        with pytest.raises(Invalid):
            metastore.put_checkpoint(branch.line.id, root_partition(table), deltas[0], records[0])
        found = branch.reader().checkpoint(root_partition(table))
        assert found is not None and (found.version, found.line) == (first, writer.line.id)

    def test_the_names_of_an_erased_object_still_lead_to_it_as_of_then(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = filled(writer, "t")
        then = metastore.newest()
        purge(writer, table)
        metastore.erase(writer.line.id, [table, root_partition(table)], bodies_of=[table])
        assert (writer.resolve("t", version=then), writer.resolve("t")) == (table, None)
        [row] = all_pages(writer.reader().dropped, writer.line.top)
        assert (row.id, row.drop_type) == (table, pb.PURGED)

    def test_nothing_else_goes_with_an_erased_object(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        kept, gone = filled(writer, "t"), filled(writer, "u")
        other = Writer(metastore, trunk())
        other.commit(
            lives={gone: life(pb.TABLE, other.line.top, "u")},
            attributes={(gone, Attribute.SCHEMA): RECORDS[Attribute.SCHEMA](7)},
        )
        purge(writer, gone)
        before = picture(writer.reader(), [kept], NAMES), picture(other.reader(), [gone], NAMES)
        metastore.erase(writer.line.id, [gone, root_partition(gone)], bodies_of=[gone])
        assert (picture(writer.reader(), [kept], NAMES), picture(other.reader(), [gone], NAMES)) == before
        assert metastore.bodies([(kept, "schema", 1)]) == [b"x" * 200_000]

    def test_the_tombstone_of_an_erased_object_stays(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        bodies = {(table, kind, 1): kind.encode() for kind in ("a", TOMBSTONE, f"{TOMBSTONE}x", "z")}
        writer.commit(bodies=bodies)
        metastore.erase(writer.line.id, [table], bodies_of=[table])
        assert metastore.bodies(list(bodies)) == [None, TOMBSTONE.encode(), None, None]

    def test_to_erase_again_changes_nothing(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = filled(writer, "t")
        purge(writer, table)
        seen = []
        for _ in range(2):
            metastore.erase(writer.line.id, [table, root_partition(table)], bodies_of=[table])
            seen.append(picture(writer.reader(), [table], NAMES))
        assert seen[0] == seen[1]

    def test_a_branch_sees_no_more_of_an_erased_object_than_its_parent(self, metastore: Metastore) -> None:
        """Also where the branch had looked before, and might remember."""
        writer = Writer(metastore, trunk())
        table = filled(writer, "t")
        branch = writer.fork()
        assert None not in branch.reader().attributes(units(table))
        purge(writer, table)
        metastore.erase(writer.line.id, [table, root_partition(table)])
        assert branch.reader().attributes(units(table)) == [None] * len(units(table))
        assert branch.resolve("t") == table

    def test_an_erased_line_says_nothing_but_its_commits(self, metastore: Metastore) -> None:
        refs, writer = Writer(metastore, trunk()), Writer(metastore, trunk())
        table = filled(writer, "t")
        branch = writer.fork()
        made = filled(branch, "u", 60)
        branch.rename(table, "renamed")
        refs.commit(lives={branch.line.id: life(pb.BRANCH, refs.line.top, "dev")})
        purge(refs, branch.line.id)
        before = picture(writer.reader(), [table, made], NAMES)
        log = [commit.id for commit in all_pages(branch.reader().log)]
        metastore.erase_line(branch.line.id)
        own = Line(branch.line.id, branch.line.top)
        seen = picture(metastore.reader(own), [table, made], NAMES)
        for part in ("attributes", "names"):
            assert set(seen[part].values()) == {None}  # type: ignore[attr-defined]
        for part in ("histories", "paths", "children", "dropped"):
            assert not any(seen[part].values())  # type: ignore[attr-defined]
        assert [commit.id for commit in all_pages(branch.reader().log)] == log
        assert branch.resolve("t") == table, "what its ancestors have shows through"
        assert picture(writer.reader(), [table, made], NAMES) == before

    def test_an_erased_line_leaves_the_index_of_branches_as_it_is(self, metastore: Metastore) -> None:
        refs, writer = Writer(metastore, trunk()), Writer(metastore, trunk())
        branch = writer.fork()
        ref = pb.CatalogRecord(parent_id=writer.line.id, parent_project_id="p")
        refs.commit(
            lives={branch.line.id: life(pb.BRANCH, refs.line.top, "dev")},
            attributes={(branch.line.id, Attribute.REF): ref},
        )
        purge(refs, branch.line.id)
        metastore.erase_line(branch.line.id)
        assert metastore.forks(writer.line.id, project="p") == [branch.line.id]

    @pytest.mark.parametrize("bad", ["", "x", "7928B745-642C-4480-A036-BEC3B8C02CEB"])
    def test_only_ids_can_be_erased(self, metastore: Metastore, bad: str) -> None:
        for line, objects, tables in ((bad, [new_id()], []), (new_id(), [bad], []), (new_id(), [], [bad])):
            with pytest.raises(Invalid):
                metastore.erase(line, objects, tables)
        with pytest.raises(Invalid):
            metastore.erase_line(bad)
