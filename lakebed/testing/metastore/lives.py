"""Lives: what an object may be in, moving, dropping and undropping, and who is dead."""

import pytest

from lakebed.errors import AlreadyExists, Conflict, Invalid, NotFound
from lakebed.metastore.change import Holder, ListingRead
from lakebed.metastore.kinds import CONTAINERS, life, new_id
from lakebed.metastore.metastore import Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.testing.metastore.writer import (
    RECORDS,
    Writer,
    all_pages,
    properties,
    root_partition,
    trunk,
)

KINDS = sorted(CONTAINERS)


def nest(writer: Writer, depth: int) -> list[str]:
    """Namespaces, each in the one before."""
    path: list[str] = []
    for number in range(depth):
        path.append(writer.namespace(f"n{number}", path[-1] if path else None))
    return path


def one_of_each(writer: Writer) -> dict[int | None, str]:
    """An object of every kind, each where it may be; None is the top."""
    found: dict[int | None, str] = {None: writer.line.top}
    for kind in KINDS:
        container = next(found[one] for one in CONTAINERS[kind] if one in found)
        found[kind] = writer.create(kind, f"kind-{kind}", container)
    return found


class LivesSuite:
    def test_every_kind_of_object_can_be_made_where_it_belongs(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        found = one_of_each(writer)
        for kind in KINDS:
            [path] = writer.reader().paths([found[kind]])
            assert path[-1].record.type == kind  # type: ignore[attr-defined]
            assert writer.resolve(f"kind-{kind}", path[-1].record.container_id) == found[kind]  # type: ignore[attr-defined]

    @pytest.mark.parametrize("kind", KINDS)
    def test_an_object_is_refused_where_it_does_not_belong(self, metastore: Metastore, kind: int) -> None:
        writer = Writer(metastore, trunk())
        for container, object_id in one_of_each(writer).items():
            if container not in CONTAINERS[kind]:
                with pytest.raises(Invalid):
                    writer.create(kind, "x", object_id)
                assert writer.resolve("x", object_id) is None

    def test_an_object_has_its_own_kind_of_record(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        wrong = pb.DatabaseRecord(container_id=writer.line.top, name="t", type=pb.TABLE)
        with pytest.raises(Invalid):
            writer.commit(lives={new_id(): wrong})
        with pytest.raises(Invalid):
            writer.commit(lives={new_id(): pb.TableReference(container_id=writer.line.top, name="t")})

    def test_an_object_never_changes_its_type(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("a")
        with pytest.raises(Invalid):
            writer.alter("rename", table, type=pb.VIEW)
        assert writer.life(table).type == pb.TABLE

    def test_the_top_of_a_line_is_no_object_on_it(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        with pytest.raises(Invalid):
            writer.commit(lives={writer.line.top: life(pb.NAMESPACE, writer.line.top, "n")})

    def test_a_container_that_is_not_there_is_not_found(self, metastore: Metastore) -> None:
        writer, stranger = Writer(metastore, trunk()), Writer(metastore, trunk())
        with pytest.raises(NotFound):
            writer.table("a", new_id())
        with pytest.raises(NotFound):
            writer.table("a", stranger.namespace("n"))

    def test_a_container_can_be_made_in_the_same_change(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        outer, inner, table = new_id(), new_id(), new_id()
        lives = {
            table: life(pb.TABLE, inner, "t"),
            inner: life(pb.NAMESPACE, outer, "inner"),
            outer: life(pb.NAMESPACE, writer.line.top, "outer"),
        }
        commit = writer.commit(lives=lives)
        [path] = writer.reader().paths([table])
        assert [state.record.name for state in path] == ["outer", "inner", "t"]  # type: ignore[attr-defined]
        assert {state.version for state in path} == {commit.version}

    # Moves

    def test_a_move_takes_the_object_and_all_in_it_along(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        a, b = writer.namespace("a"), writer.namespace("b")
        inner = writer.namespace("inner", a)
        table = writer.table("t", inner)
        before = metastore.newest()
        writer.move(inner, b)
        for version, outer in ((before, "a"), (None, "b")):
            [path] = writer.reader(version).paths([table])
            assert [state.record.name for state in path] == [outer, "inner", "t"]  # type: ignore[attr-defined]
        assert (writer.names(a), writer.names(b)) == ({}, {"inner": inner})

    def test_a_move_onto_a_taken_name_is_refused(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        a, b = writer.namespace("a"), writer.namespace("b")
        table, other = writer.table("t", a), writer.table("T", b)
        with pytest.raises(AlreadyExists):
            writer.move(table, b)
        assert (writer.names(a), writer.names(b)) == ({"t": table}, {"T": other})

    @pytest.mark.parametrize("depth", [1, 2, 5])
    def test_a_move_into_itself_is_refused(self, metastore: Metastore, depth: int) -> None:
        writer = Writer(metastore, trunk())
        path = nest(writer, depth)
        before = metastore.newest()
        with pytest.raises(Invalid):
            writer.move(path[0], path[-1])
        assert metastore.newest() == before
        assert len(writer.reader().paths([path[-1]])[0]) == depth

    def test_a_circle_made_by_two_moves_is_refused(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        a, b = writer.namespace("a"), writer.namespace("b")
        with pytest.raises(Invalid):
            writer.commit(lives={a: writer.life(a, container_id=b), b: writer.life(b, container_id=a)})
        base = metastore.newest()
        writer.move(a, b)
        with pytest.raises(Invalid):
            writer.move(b, a, base)
        assert writer.names() == {"b": b}

    def test_parent_and_child_can_change_places_in_one_change(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        a, b = nest(writer, 2)
        writer.commit(lives={a: writer.life(a, container_id=b), b: writer.life(b, container_id=writer.line.top)})
        [path] = writer.reader().paths([a])
        assert [state.record.name for state in path] == ["n1", "n0"]  # type: ignore[attr-defined]

    @pytest.mark.parametrize("target", ["itself", "its child", "nothing", "a table"])
    def test_a_drop_can_not_put_an_object_where_it_can_not_be(self, metastore: Metastore, target: str) -> None:
        writer = Writer(metastore, trunk())
        outer, inner = nest(writer, 2)
        table = writer.table("t")
        container = {"itself": outer, "its child": inner, "nothing": new_id(), "a table": table}[target]
        with pytest.raises((Invalid, NotFound)):
            writer.alter("drop", outer, dropped=True, container_id=container)
        assert len(writer.reader().paths([inner])[0]) == 2

    # Drop and undrop

    def test_a_dropped_object_is_dead_and_its_name_is_free(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("a")
        created = metastore.newest()
        dropped = writer.drop(table).version
        assert writer.names() == {}
        assert not writer.is_alive(table)
        assert writer.is_alive(table, created)
        [row] = all_pages(writer.reader().dropped, writer.line.top)
        assert (row.name, row.id, row.type) == ("a", table, pb.TABLE)
        assert (row.created, row.dropped, row.drop_type) == (created, dropped, pb.MARKED)
        assert all_pages(writer.reader(created).dropped, writer.line.top) == []

    def test_a_drop_writes_one_life_whatever_is_inside(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        namespace = writer.namespace("n")
        tables = [writer.table(f"t{number}", namespace) for number in range(5)]
        base = metastore.newest()
        writer.drop(namespace)
        units = [(table, Attribute.LIFE) for table in tables]
        assert all(state and state.version <= base for state in writer.reader().attributes(units))
        assert not any(writer.is_alive(table) for table in tables)
        assert len(writer.names(namespace)) == 5

    def test_an_undropped_namespace_brings_back_all_but_what_was_dropped_before_it(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        namespace = writer.namespace("n")
        kept, gone = writer.table("kept", namespace), writer.table("gone", namespace)
        writer.drop(gone)
        writer.drop(namespace)
        writer.undrop(namespace)
        assert (writer.is_alive(kept), writer.is_alive(gone)) == (True, False)
        assert writer.names(namespace) == {"kept": kept}

    def test_undrop_is_the_identity_after_drop(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("a")
        created = metastore.newest()
        before = writer.life(table)
        writer.set(table, 7)
        writer.append(table, 3)
        writer.drop(table)
        writer.undrop(table)
        after = writer.life(table)
        assert (after.name, after.container_id, after.dropped) == (before.name, before.container_id, False)
        assert after.create_version == created
        assert (writer.number(table), writer.rows(table), writer.resolve("a")) == (7, 3, table)
        assert all_pages(writer.reader().dropped, writer.line.top) == []

    def test_two_objects_dropped_under_one_name_are_two_rows(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        first = writer.table("a")
        writer.drop(first)
        second = writer.create(pb.VIEW, "A")
        writer.drop(second)
        other = writer.table("b")
        writer.drop(other)
        reader = writer.reader()
        assert {row.id for row in all_pages(reader.dropped, writer.line.top, name="a")} == {first, second}
        assert [row.id for row in all_pages(reader.dropped, writer.line.top, name="B")] == [other]
        assert len(all_pages(reader.dropped, writer.line.top)) == 3
        writer.undrop(first)
        assert [row.id for row in all_pages(writer.reader().dropped, writer.line.top, name="a")] == [second]
        assert {row.id for row in all_pages(reader.dropped, writer.line.top, name="a")} == {first, second}

    @pytest.mark.parametrize("kind", [pb.TABLE, pb.NAMESPACE])
    def test_a_dropped_object_that_is_changed_was_still_dropped_when_it_was(
        self, metastore: Metastore, kind: int
    ) -> None:
        """Otherwise the time in which it can be undropped would start again."""
        writer = Writer(metastore, trunk())
        one = writer.create(kind, "a")
        dropped = writer.drop(one).version
        writer.alter("purge", one, drop_type=pb.PURGED)
        [row] = all_pages(writer.reader().dropped, writer.line.top)
        assert (row.dropped, row.drop_type) == (dropped, pb.PURGED)
        writer.undrop(one)
        again = writer.drop(one).version
        [row] = all_pages(writer.reader().dropped, writer.line.top)
        assert (row.dropped, row.drop_type) == (again, pb.MARKED)

    def test_an_undrop_onto_a_live_name_is_refused_and_works_under_another(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        old = writer.table("a")
        writer.drop(old)
        new = writer.table("a")
        with pytest.raises(AlreadyExists):
            writer.undrop(old)
        writer.undrop(old, name="b")
        assert writer.names() == {"a": new, "b": old}
        assert all_pages(writer.reader().dropped, writer.line.top) == []

    def test_an_undrop_under_a_dead_parent_is_not_found_and_works_elsewhere(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        outer, inner = nest(writer, 2)
        table = writer.table("t", inner)
        writer.drop(table)
        writer.drop(outer)
        with pytest.raises(NotFound):
            writer.undrop(table)
        writer.undrop(table, container_id=writer.line.top)
        assert writer.is_alive(table)

    def test_what_is_alive_under_a_dead_parent_can_be_moved_out(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        namespace = writer.namespace("n")
        table = writer.table("t", namespace)
        writer.drop(namespace)
        writer.move(table, writer.line.top)
        assert writer.is_alive(table)
        writer.undrop(namespace)
        assert writer.names(namespace) == {}

    def test_a_drop_under_a_dead_parent_is_fine(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        namespace = writer.namespace("n")
        table = writer.table("t", namespace)
        writer.drop(namespace)
        writer.drop(table)
        writer.undrop(namespace)
        assert writer.names(namespace) == {}
        assert [row.id for row in all_pages(writer.reader().dropped, namespace)] == [table]

    def test_an_object_may_come_dropped_with_all_that_it_has(self, metastore: Metastore) -> None:
        """What a merge brings and gives no name can be undropped."""
        writer = Writer(metastore, trunk())
        table, gone = new_id(), life(pb.TABLE, writer.line.top, "a")
        gone.dropped, gone.drop_type = True, pb.MARKED
        made = writer.commit(lives={table: gone}, attributes={(table, Attribute.PROPERTIES): properties(1)})
        [row] = all_pages(writer.reader().dropped, writer.line.top)
        assert (row.id, row.created, row.dropped) == (table, made.version, made.version)
        assert writer.names(writer.line.top) == {}
        writer.undrop(table)
        assert writer.names(writer.line.top) == {"a": table}
        [state] = writer.reader().attributes([(table, Attribute.PROPERTIES)])
        assert state is not None
        assert state.record.properties == properties(1).properties  # type: ignore[attr-defined]

    def test_an_object_that_comes_dropped_is_in_something_that_is_there(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        gone = life(pb.TABLE, new_id(), "a")
        gone.dropped = True
        with pytest.raises(NotFound):
            writer.commit(lives={new_id(): gone})

    def test_nothing_is_written_to_a_line_whose_holder_was_dropped(self, metastore: Metastore) -> None:
        refs, writer = Writer(metastore, trunk()), Writer(metastore, trunk())
        holder = refs.create(pb.BRANCH, "dev")
        writer.commit(lives={new_id(): life(pb.TABLE, writer.line.top, "a")}, hangs_on=(Holder(refs.line.id, holder),))
        refs.drop(holder)
        before = metastore.newest()
        for gone in (holder, new_id()):
            with pytest.raises(NotFound):
                writer.commit(
                    lives={new_id(): life(pb.TABLE, writer.line.top, "b")}, hangs_on=(Holder(refs.line.id, gone),)
                )
        assert metastore.newest() == before

    @pytest.mark.parametrize("dead", ["never made", "dropped", "in a dropped namespace", "in a dropped grandparent"])
    @pytest.mark.parametrize("write", ["attribute", "data", "rename", "child"])
    def test_the_dead_can_not_be_written(self, metastore: Metastore, dead: str, write: str) -> None:
        writer = Writer(metastore, trunk())
        outer, inner = nest(writer, 2)
        table = writer.table("t", inner)
        edition = writer.create(pb.EDITION, "1", table)
        if dead == "never made":
            table = new_id()
        else:
            writer.drop({"dropped": table, "in a dropped namespace": inner, "in a dropped grandparent": outer}[dead])
        before = metastore.newest()
        with pytest.raises(NotFound):
            match write:
                case "attribute":
                    writer.set(table, 1)
                case "data":
                    writer.append(table)
                case "rename":
                    writer.rename(edition, "2") if dead != "never made" else writer.set(table, 1)
                case "child":
                    writer.create(pb.EDITION, "3", table)
        assert metastore.newest() == before

    def test_an_object_can_be_made_with_all_its_attributes_and_data(self, metastore: Metastore) -> None:
        """P1: everything that one change makes has one version."""
        writer = Writer(metastore, trunk())
        table = new_id()
        attributes = {(table, attribute): make(1) for attribute, make in RECORDS.items()}
        commit = writer.append(table, 5, lives={table: life(pb.TABLE, writer.line.top, "t")}, attributes=attributes)
        units = [(table, Attribute.LIFE), *attributes, (root_partition(table), Attribute.DATA)]
        states = writer.reader().attributes(units)
        assert [state.version if state else None for state in states] == [commit.version] * len(units)
        assert writer.resolve("t") == table
        early = writer.reader(commit.version.previous())
        assert early.attributes(units) == [None] * len(units)
        assert early.resolve([(writer.line.top, "t")]) == [None]

    def test_an_undrop_and_a_write_go_in_one_change(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("a")
        writer.drop(table)
        back = writer.life(table, dropped=False)
        writer.commit(lives={table: back}, attributes={(table, Attribute.PROPERTIES): RECORDS[Attribute.PROPERTIES](1)})
        assert (writer.number(table), writer.is_alive(table)) == (1, True)
        gone = writer.life(table, dropped=True)
        with pytest.raises(NotFound):
            writer.append(table, lives={table: gone})

    # Write skew: a create or write inside what is being dropped

    @pytest.mark.parametrize("depth", [1, 3])
    def test_creating_in_a_namespace_that_was_dropped_meanwhile_is_refused(
        self, metastore: Metastore, depth: int
    ) -> None:
        writer = Writer(metastore, trunk())
        path = nest(writer, depth)
        base = metastore.newest()
        writer.drop(path[0])
        with pytest.raises(NotFound):
            writer.table("t", path[-1], base=base)

    def test_dropping_an_empty_namespace_that_was_filled_meanwhile_is_refused(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        namespace = writer.namespace("n")
        base = metastore.newest()
        table = writer.table("t", namespace)
        gone = writer.life(namespace, dropped=True)
        with pytest.raises(Conflict):
            writer.commit(base=base, lives={namespace: gone}, reads=(ListingRead(namespace),))
        assert writer.is_alive(table)

    def test_a_first_life_says_when_it_began_and_later_ones_keep_it(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("a")
        created = metastore.newest()
        writer.rename(table, "b")
        forgetful = writer.life(table, name="c")
        forgetful.ClearField("create_version")
        writer.commit(lives={table: forgetful})
        lies = life(pb.TABLE, writer.line.top, "d")
        lies.create_version = bytes(created)
        liar = new_id()
        writer.commit(lives={liar: lies})
        assert [state.record.create_version for state in all_pages(writer.reader().history, table, Attribute.LIFE)] == [  # type: ignore[attr-defined]
            created
        ] * 3
        assert writer.life(liar).create_version == metastore.newest()
