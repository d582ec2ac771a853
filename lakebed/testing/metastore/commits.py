"""Commits: conflicts that say what and who, event ids, parents, and no lost update."""

from typing import Any

import pytest

from lakebed.errors import Conflict, Invalid
from lakebed.metastore.change import AttributeRead, DataRead, NameRead, Operation, State
from lakebed.metastore.kinds import life, new_id
from lakebed.metastore.metastore import Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.cells import LineAt
from lakebed.records.layout import Attribute
from lakebed.store import Version
from lakebed.testing.metastore.writer import (
    RECORDS,
    Writer,
    all_pages,
    appending,
    in_threads,
    properties,
    root_partition,
    trunk,
)


class CommitsSuite:
    # What was read and has changed

    @pytest.mark.parametrize("attribute", [Attribute.LIFE, *RECORDS], ids=lambda attribute: attribute.name)
    def test_a_read_that_was_changed_is_a_conflict_that_says_what_and_who(
        self, metastore: Metastore, attribute: Attribute
    ) -> None:
        line = trunk()
        ada, bob = Writer(metastore, line, "ada"), Writer(metastore, line, "bob")
        table = ada.table("t")
        base = metastore.newest()
        if attribute is Attribute.LIFE:
            by = bob.rename(table, "u")
        else:
            by = bob.write(table, attribute, 1)
        ada.commit(base=base)
        with pytest.raises(Conflict) as caught:
            ada.commit(base=base, reads=(AttributeRead(table, attribute),))
        [clash] = caught.value.conflicts
        assert clash.what == attribute.name.lower()
        assert (clash.object_id, clash.base, clash.found, clash.commit) == (table, base, by.version, by)
        assert (clash.commit.author, clash.commit.message) == ("bob", "a test")
        ada.commit(base=by.version, reads=(AttributeRead(table, attribute),))

    def test_who_read_an_attribute_says_whether_its_newest_state_objects(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        base = metastore.newest()
        seen: list[Version] = []
        answers: list[str | None] = ["", "it no longer fits", None]

        def objection(newest: State) -> str | None:
            seen.append(newest.version)
            return answers[-1]

        read = AttributeRead(table, Attribute.SCHEMA, objection=objection)
        writer.commit(base=base, reads=(read,))
        assert seen == [], "nothing has changed, so nobody is asked"
        writer.write(table, Attribute.SCHEMA, 1)
        newest = writer.write(table, Attribute.SCHEMA, 2).version
        writer.commit(base=base, reads=(read,))
        assert set(seen) == {newest}
        while answers := answers[:-1]:
            with pytest.raises(Conflict) as caught:
                writer.commit(base=base, reads=(read,))
            [clash] = caught.value.conflicts
            assert (clash.object_id, clash.found, clash.reason) == (table, newest, answers[-1])
        answers = [None]
        with pytest.raises(Conflict):
            writer.commit(base=base, reads=(AttributeRead(table, Attribute.SCHEMA), read))

    def test_a_conflict_lists_everything_that_changed(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        base = metastore.newest()
        writer.set(table, 1)
        writer.write(table, Attribute.SCHEMA, 1)
        writer.append(table)
        writer.table("u")
        reads = (
            AttributeRead(table, Attribute.PROPERTIES),
            AttributeRead(table, Attribute.SPEC),
            NameRead(writer.line.top, "u"),
            DataRead(root_partition(table)),
        )
        with pytest.raises(Conflict) as caught:
            writer.commit(base=base, reads=reads, attributes={(table, Attribute.SCHEMA): pb.TableSchema(schema_id=2)})
        assert len(caught.value.conflicts) == 4
        assert {clash.object_id for clash in caught.value.conflicts} == {table, writer.line.top, root_partition(table)}

    @pytest.mark.parametrize("attribute", RECORDS, ids=lambda attribute: attribute.name)
    def test_what_is_written_counts_as_read(self, metastore: Metastore, attribute: Attribute) -> None:
        """Law 3: no lost update."""
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        base = metastore.newest()
        first = writer.write(table, attribute, 1)
        with pytest.raises(Conflict):
            writer.write(table, attribute, 2, base)
        [state] = writer.reader().attributes([(table, attribute)])
        assert state is not None
        assert state.version == first.version

    def test_a_life_that_is_written_counts_as_read(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        base = metastore.newest()
        writer.rename(table, "u")
        with pytest.raises(Conflict):
            writer.rename(table, "v", base)
        with pytest.raises(Conflict):
            writer.drop(table, base)
        assert writer.names() == {"u": table}

    def test_other_attributes_of_the_same_object_do_not_conflict(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        namespace = writer.namespace("n")
        table = writer.table("t", namespace)
        base = metastore.newest()
        writer.set(table, 1, base)
        writer.rename(table, "u", base)
        writer.write(table, Attribute.SCHEMA, 2, base)
        writer.append(table, 5, base=base)
        writer.set(namespace, 3, base)
        writer.rename(namespace, "m", base)
        writer.table("v", namespace, base=base)
        assert (writer.number(table), writer.rows(table), writer.names(namespace)["u"]) == (1, 5, table)

    def test_a_long_transaction_is_validated(self, metastore: Metastore) -> None:
        """However many commits ago its base was, beyond any log of the store's."""
        writer = Writer(metastore, trunk())
        table, busy, quiet = writer.table("t"), writer.table("busy"), writer.table("quiet")
        partition = root_partition(table)
        base = metastore.newest()
        changed = writer.set(table, 1)
        writer.append(table)
        for number in range(2100):
            writer.set(busy, number)
        with pytest.raises(Conflict) as caught:
            writer.set(table, 2, base)
        assert caught.value.conflicts[0].commit == changed
        with pytest.raises(Conflict):
            writer.set(busy, 0, base)
        with pytest.raises(Conflict):
            writer.commit(base=base, reads=(DataRead(partition),))
        writer.commit(base=base, reads=(DataRead(root_partition(quiet)), AttributeRead(quiet, Attribute.LIFE)))
        writer.set(quiet, 3, base)
        assert (writer.number(table), writer.number(quiet)) == (1, 3)

    def test_a_base_later_than_the_newest_is_invalid(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        with pytest.raises(Invalid):
            writer.table("t", base=metastore.newest().next())
        assert writer.names() == {}

    # Event ids

    def test_the_same_event_id_twice_is_one_commit(self, metastore: Metastore) -> None:
        """Law 4. The second answers the first's commit, though its base is old and its name taken."""
        writer = Writer(metastore, trunk())
        table, event = new_id(), new_id()
        change: dict[str, Any] = {
            "event_id": event,
            "base": metastore.newest(),
            "fingerprint": b"create t",
            "lives": {table: life(pb.TABLE, writer.line.top, "t")},
            "attributes": {(table, Attribute.PROPERTIES): properties(1)},
            "data": (appending(table, 5),),
            "operations": (Operation("create", table, "t", {"rows": 5}, "x"),),
            "parents": (LineAt(new_id(), metastore.newest()),),
            "project": "default",
        }
        first = writer.commit(**change)
        assert writer.commit(**change) == first
        writer.set(table, 2)
        writer.drop(table)
        newest = metastore.newest()
        assert writer.commit(**change) == first
        assert metastore.newest() == newest
        assert metastore.find(event) == first
        assert writer.rows(table, first.version) == 5
        assert [commit.id for commit in all_pages(writer.reader().log)].count(event) == 1

    def test_an_event_id_of_another_change_is_invalid(self, metastore: Metastore) -> None:
        writer, elsewhere = Writer(metastore, trunk()), Writer(metastore, trunk())
        event = new_id()
        writer.commit(event_id=event, fingerprint=b"one")
        with pytest.raises(Invalid):
            writer.commit(event_id=event, fingerprint=b"two")
        with pytest.raises(Invalid):
            elsewhere.commit(event_id=event, fingerprint=b"one")
        with pytest.raises(Invalid):
            writer.fork().commit(event_id=event, fingerprint=b"one")
        assert len(all_pages(writer.reader().log)) == 1

    def test_the_event_id_is_looked_up_before_all_else(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        event = new_id()
        first = writer.commit(event_id=event)
        gone = new_id()
        wrong: list[dict[str, Any]] = [
            {"base": metastore.newest().next()},
            {"attributes": {(gone, Attribute.PROPERTIES): properties(1)}},
            {"lives": {gone: life(pb.TABLE, new_id(), "t")}},
            {"bodies": {(gone, "schema", 1): bytes(11_000_000)}},
        ]
        for parts in wrong:
            assert writer.commit(event_id=event, **parts) == first

    def test_a_commit_is_found_by_its_event_id(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        commit = writer.commit(message="m" * 1000, author="é", project="p")
        assert metastore.find(commit.id) == commit
        assert (commit.message, commit.author, commit.project) == ("m" * 1000, "é", "p")
        assert metastore.find(new_id()) is None
        with pytest.raises(Invalid):
            metastore.find("not an id")

    def test_one_event_id_in_eight_threads_is_one_commit(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table, event = writer.table("t"), new_id()
        commits = in_threads(8, lambda _: writer.append(table, 3, event_id=event, fingerprint=b"f"))
        assert len({commit.version for commit in commits}) == 1
        assert writer.rows(table) == 3

    # Parents

    def test_the_parents_of_merges_and_resets_are_kept(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        branch = writer.fork()
        theirs = LineAt(branch.line.id, branch.commit().version)
        ours = LineAt(writer.line.id, writer.commit().version)
        merge = writer.commit(parents=(ours, theirs), operations=(Operation("merge_branch", writer.line.top),))
        reset = writer.commit(parents=(ours,))
        plain = writer.commit()
        assert [commit.parents for commit in all_pages(writer.reader().log)[:3]] == [(), (ours,), (ours, theirs)]
        assert [metastore.find(commit.id) for commit in (merge, reset, plain)] == [merge, reset, plain]

    def test_counters_that_many_threads_raise_lose_nothing(self, metastore: Metastore) -> None:
        """Law 3: read, add one, write, and again on `Conflict`."""
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        writer.set(table, 0)

        def raise_it(_: int) -> int:
            done = lost = 0
            while done < 10:
                base = metastore.newest()
                try:
                    writer.set(table, (writer.number(table, base) or 0) + 1, base)
                    done += 1
                except Conflict:
                    lost += 1
            return lost

        in_threads(4, raise_it)
        assert writer.number(table) == 40
