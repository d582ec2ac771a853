"""Branches: they see their ancestors as they were at the fork, and nobody else sees what they write."""

from collections.abc import Callable

import pytest

from lakebed.errors import AlreadyExists, Conflict, Invalid, NotFound
from lakebed.metastore.change import AttributeRead, ListingRead, NameRead
from lakebed.metastore.kinds import new_id
from lakebed.metastore.metastore import Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.testing.metastore.writer import Writer, all_pages, picture, root_partition, trunk

# What may happen on a line; none of it may be seen through another.
EVENTS: dict[str, Callable[[Writer, str, str], object]] = {
    "create": lambda writer, namespace, table: writer.table("new", namespace),
    "drop": lambda writer, namespace, table: writer.drop(table),
    "drop the namespace": lambda writer, namespace, table: writer.drop(namespace),
    "rename": lambda writer, namespace, table: writer.rename(table, "other"),
    "rename the namespace": lambda writer, namespace, table: writer.rename(namespace, "other"),
    "change the case": lambda writer, namespace, table: writer.rename(table, "T"),
    "move": lambda writer, namespace, table: writer.move(table, writer.line.top),
    "alter": lambda writer, namespace, table: writer.set(table, 99),
    "insert": lambda writer, namespace, table: writer.append(table, 50),
    "drop and recreate": lambda writer, namespace, table: (writer.drop(table), writer.table("t", namespace)),
    "rename and reuse": lambda writer, namespace, table: (writer.rename(table, "u"), writer.table("t", namespace)),
}
NAMES = ("n", "t", "T", "u", "other", "new")


def grown(metastore: Metastore) -> tuple[Writer, str, str]:
    """A trunk with a table in a namespace, with properties and data."""
    writer = Writer(metastore, trunk())
    namespace = writer.namespace("n")
    table = writer.table("t", namespace)
    writer.set(table, 1)
    writer.append(table, 10)
    return writer, namespace, table


class BranchesSuite:
    @pytest.mark.parametrize("event", EVENTS)
    def test_what_happens_on_the_parent_after_the_fork_is_not_seen(self, metastore: Metastore, event: str) -> None:
        """P14."""
        writer, namespace, table = grown(metastore)
        ids = (namespace, table)
        branch = writer.fork()
        before = picture(branch.reader(), ids, NAMES)
        EVENTS[event](writer, namespace, table)
        assert picture(branch.reader(), ids, NAMES) == before
        assert picture(writer.reader(), ids, NAMES) != before

    @pytest.mark.parametrize("event", EVENTS)
    def test_what_happens_on_a_branch_is_not_seen_elsewhere(self, metastore: Metastore, event: str) -> None:
        """P15."""
        writer, namespace, table = grown(metastore)
        ids = (namespace, table)
        branch, sibling = writer.fork(), writer.fork()
        before = [picture(one.reader(), ids, NAMES) for one in (writer, sibling)]
        child = branch.fork()
        EVENTS[event](branch, namespace, table)
        assert [picture(one.reader(), ids, NAMES) for one in (writer, sibling)] == before
        seen, early = (picture(one.reader(), ids, NAMES) for one in (branch, child))
        assert seen != early
        late = branch.fork()
        assert {**picture(late.reader(), ids, NAMES)} == seen

    def test_a_branch_hides_an_inherited_table_that_it_drops_and_shows_it_again(self, metastore: Metastore) -> None:
        writer, namespace, table = grown(metastore)
        branch = writer.fork()
        dropped = branch.drop(table).version
        assert (branch.names(namespace), writer.names(namespace)) == ({}, {"t": table})
        [row] = all_pages(branch.reader().dropped, namespace)
        assert (row.id, row.dropped) == (table, dropped)
        assert row.created == writer.life(table).create_version
        assert all_pages(writer.reader().dropped, namespace) == []
        branch.undrop(table)
        assert (branch.names(namespace), all_pages(branch.reader().dropped, namespace)) == ({"t": table}, [])
        assert (branch.number(table), branch.rows(table)) == (1, 10)

    def test_what_was_dropped_before_the_fork_can_be_undropped_on_the_branch(self, metastore: Metastore) -> None:
        writer, namespace, table = grown(metastore)
        writer.drop(table)
        branch = writer.fork()
        branch.undrop(table)
        assert branch.is_alive(table)
        assert not writer.is_alive(table)
        assert all_pages(branch.reader().dropped, namespace) == []
        assert len(all_pages(writer.reader().dropped, namespace)) == 1

    def test_an_inherited_name_is_taken_and_free_again_after_a_drop_there(self, metastore: Metastore) -> None:
        """P18."""
        writer, namespace, table = grown(metastore)
        branch = writer.fork().fork()
        with pytest.raises(AlreadyExists):
            branch.create(pb.VIEW, "T", namespace)
        branch.drop(table)
        successor = branch.create(pb.VIEW, "T", namespace)
        assert branch.names(namespace) == {"T": successor}
        assert writer.names(namespace) == {"t": table}

    def test_a_renamed_namespace_on_the_parent_keeps_its_old_name_on_the_branch(self, metastore: Metastore) -> None:
        writer, namespace, table = grown(metastore)
        branch = writer.fork()
        writer.rename(namespace, "m")
        reused = writer.namespace("n")
        assert branch.names() == {"n": namespace}
        assert writer.names() == {"m": namespace, "n": reused}
        branch.rename(table, "u")
        assert [state.record.name for state in branch.reader().paths([table])[0]] == ["n", "u"]  # type: ignore[attr-defined]
        assert [state.record.name for state in writer.reader().paths([table])[0]] == ["m", "t"]  # type: ignore[attr-defined]

    def test_a_grandchild_reads_the_grandparent_at_the_childs_branch_point(self, metastore: Metastore) -> None:
        """P16."""
        writer, _, table = grown(metastore)
        child = writer.fork()
        writer.set(table, 2)
        grandchild = child.fork()
        writer.set(table, 3)
        assert (writer.number(table), child.number(table), grandchild.number(table)) == (3, 1, 1)
        child.set(table, 4)
        assert grandchild.number(table) == 1
        late = child.fork()
        assert late.number(table) == 4
        grandchild.append(table, 1)
        assert [one.rows(table) for one in (writer, child, grandchild, late)] == [10, 10, 11, 10]

    def test_a_branch_can_begin_at_an_older_version(self, metastore: Metastore) -> None:
        """P17."""
        writer, namespace, table = grown(metastore)
        old = metastore.newest()
        writer.set(table, 2)
        writer.drop(table)
        middle = metastore.newest()
        writer.undrop(table)
        branch = writer.fork(old)
        assert (branch.number(table), branch.is_alive(table)) == (1, True)
        assert not writer.fork(middle).is_alive(table)
        branch.set(table, 5)
        assert writer.number(table) == 2
        # A branch of the branch, from before the branch began.
        nested = branch.fork(old.previous())
        assert (nested.rows(table), nested.number(table)) == (0, 1)
        assert nested.names(namespace) == {"t": table}

    def test_a_branch_read_before_its_fork_is_its_ancestor_then(self, metastore: Metastore) -> None:
        writer, namespace, table = grown(metastore)
        early = metastore.newest()
        writer.set(table, 2)
        writer.rename(table, "u")
        branch = writer.fork()
        child = branch.fork()
        branch.set(table, 3)
        child.set(table, 4)
        ids = (namespace, table)
        for version in (early, early.previous(), early.next()):
            expected = picture(writer.reader(version), ids, NAMES)
            assert picture(branch.reader(version), ids, NAMES) == expected
            assert picture(child.reader(version), ids, NAMES) == expected

    def test_names_are_read_through_many_ancestors(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        lines = [writer]
        tables = []
        for number in range(12):
            tables.append(lines[-1].table(f"t{number:02}"))
            lines.append(lines[-1].fork())
        last = lines[-1]
        assert list(last.names().values()) == tables
        last.drop(tables[0])
        last.rename(tables[5], "t00")
        assert last.resolve("t00") == tables[5]
        assert last.resolve("t05") is None
        assert len(last.names()) == 11
        assert list(lines[6].names().values()) == tables[:7]

    def test_histories_and_the_log_go_through_ancestors_to_the_fork(self, metastore: Metastore) -> None:
        writer, _, table = grown(metastore)
        branch = writer.fork()
        own = branch.set(table, 2)
        late = writer.set(table, 3)
        child = branch.fork()
        newest = child.set(table, 4)
        unit = (table, Attribute.PROPERTIES)
        numbers = [state.record.properties["number"] for state in all_pages(child.reader().history, *unit)]  # type: ignore[attr-defined]
        assert numbers == ["4", "2", "1"]
        log = all_pages(child.reader().log)
        assert log[:2] == [newest, own]
        assert late not in log
        assert log[2:] == all_pages(writer.reader(branch.line.ancestry[0].version).log)
        assert all_pages(child.reader().log, object_id=table)[:2] == [newest, own]
        assert [state.line for state in all_pages(child.reader().history, *unit)] == [
            child.line.id,
            branch.line.id,
            writer.line.id,
        ]

    # Commits on a branch

    def test_the_parents_commits_never_conflict_with_the_branchs(self, metastore: Metastore) -> None:
        writer, namespace, table = grown(metastore)
        branch = writer.fork()
        base = metastore.newest()
        writer.set(table, 2)
        writer.rename(table, "u")
        writer.table("v", namespace)
        reads = (
            AttributeRead(table, Attribute.PROPERTIES),
            NameRead(namespace, "t"),
            ListingRead(namespace),
            AttributeRead(namespace, Attribute.LIFE),
        )
        branch.commit(base=base, reads=reads)
        branch.rename(table, "w", base)
        assert branch.names(namespace) == {"w": table}

    def test_a_read_of_another_line_is_validated_there(self, metastore: Metastore) -> None:
        writer, _, table = grown(metastore)
        branch = writer.fork()
        base = metastore.newest()
        reads = (AttributeRead(table, Attribute.PROPERTIES, writer.line.id),)
        branch.set(table, 5)
        branch.commit(base=base, reads=reads)
        by = Writer(metastore, writer.line, "bob").set(table, 2)
        with pytest.raises(Conflict) as caught:
            branch.commit(base=base, reads=reads)
        [clash] = caught.value.conflicts
        assert clash.commit == by

    def test_a_listing_on_another_line_is_validated_there(self, metastore: Metastore) -> None:
        writer, namespace, _ = grown(metastore)
        branch = writer.fork()
        base = metastore.newest()
        reads = (ListingRead(namespace, writer.line.id),)
        branch.table("new", namespace)
        branch.commit(base=base, reads=reads)
        writer.table("new", namespace)
        with pytest.raises(Conflict) as caught:
            branch.commit(base=base, reads=reads)
        assert [clash.what for clash in caught.value.conflicts] == ["listing"]

    def test_two_writers_of_one_branch_conflict(self, metastore: Metastore) -> None:
        writer, _, table = grown(metastore)
        branch = writer.fork()
        base = metastore.newest()
        branch.set(table, 2)
        with pytest.raises(Conflict):
            branch.set(table, 3, base)

    def test_a_namespace_dropped_on_the_branch_takes_nothing_there(self, metastore: Metastore) -> None:
        writer, namespace, table = grown(metastore)
        branch = writer.fork()
        base = metastore.newest()
        branch.drop(namespace)
        with pytest.raises(NotFound):
            branch.table("v", namespace, base=base)
        with pytest.raises(NotFound):
            branch.append(table, base=base)
        writer.append(table)

    def test_a_base_from_before_the_fork_is_refused(self, metastore: Metastore) -> None:
        """Through the branch one saw its ancestor then, and that has changed up to the fork."""
        writer, _, table = grown(metastore)
        base = metastore.newest()
        writer.set(table, 2)
        branch = writer.fork()
        with pytest.raises((Invalid, Conflict)):
            branch.set(table, 3, base)
        assert branch.number(table) == 2

    def test_a_line_that_forks_in_the_future_takes_no_commit(self, metastore: Metastore) -> None:
        writer, _, table = grown(metastore)
        branch = writer.fork(metastore.newest().next().next())
        with pytest.raises(Invalid):
            branch.set(table, 2)
        writer.set(table, 3)
        writer.set(table, 4)
        assert branch.number(table) == 4

    def test_data_on_a_branch_goes_on_from_the_ancestors(self, metastore: Metastore) -> None:
        writer, _, table = grown(metastore)
        branch = writer.fork()
        writer.append(table, 100)
        branch.append(table, 1)
        branch.append(table, 1)
        assert (writer.rows(table), branch.rows(table)) == (110, 12)
        deltas = all_pages(branch.reader().history, root_partition(table), Attribute.DATA)
        snapshots = [state.record.snapshot_id for state in deltas]  # type: ignore[attr-defined]
        assert snapshots == [4, 3, 1], "ids are shared by all lines"

    # The index of branches

    def test_branches_and_shares_are_listed_by_what_they_forked_from(self, metastore: Metastore) -> None:
        refs = Writer(metastore, trunk())
        catalog = new_id()

        def ref(kind: int, name: str, parent: str, project: str = "") -> str:
            made = refs.create(kind, name)
            record = pb.CatalogRecord(parent_id=parent, parent_project_id=project)
            refs.commit(attributes={(made, Attribute.REF): record})
            return made

        branch, share, foreign = (
            ref(pb.BRANCH, "b", catalog),
            ref(pb.SHARE, "s", catalog),
            ref(pb.SHARE, "f", catalog, "other"),
        )
        nested = ref(pb.BRANCH, "c", branch)
        assert set(metastore.forks(catalog)) == {branch, share}
        assert metastore.forks(catalog, project="other") == [foreign]
        assert metastore.forks(branch) == [nested]
        assert metastore.forks(nested) == []
        refs.commit(attributes={(nested, Attribute.REF): pb.CatalogRecord(parent_id=catalog)})
        assert set(metastore.forks(catalog)) == {branch, share, nested}
        assert metastore.forks(branch) == []
        refs.commit(attributes={(share, Attribute.REF): pb.CatalogRecord()})
        assert set(metastore.forks(catalog)) == {branch, nested}
