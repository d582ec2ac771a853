"""Names: which are legal, when two are the same, who has one at which version."""

import threading

import pytest

from lakebed.errors import AlreadyExists, Conflict, Invalid, LakebedError
from lakebed.metastore.change import ListingRead, NameRead
from lakebed.metastore.kinds import life, new_id
from lakebed.metastore.line import Line
from lakebed.metastore.metastore import Child, Metastore
from lakebed.records import records_pb2 as pb
from lakebed.records.names import Casing
from lakebed.testing.metastore.writer import Writer, all_pages, trunk

ILLEGAL = {
    "empty": "",
    "a dot": ".",
    "two dots": "..",
    "a slash": "a/b",
    "a bar": "a|b",
    "an at": "a@b",
    "a hash": "a#b",
    "a NUL": "a\0b",
    "a newline": "a\nb",
    "a C1 control": "a\x85b",
    "an unassigned code point": "a\u0378b",
    "256 bytes": "é" * 128,
    "not NFC": "e\u0301",
}

LEGAL = ["a", "A b", "a.b", "...", "é" * 127, "名前", "\U0001f30a", "a:b*c?", " ", "straße", "İ", "\ufb01"]


class NamesSuite:
    @pytest.mark.parametrize("name", LEGAL)
    def test_a_legal_name_is_kept_as_written(self, metastore: Metastore, name: str) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table(name)
        assert writer.names() == {name: table}
        assert writer.resolve(name) == table

    @pytest.mark.parametrize("name", ILLEGAL.values(), ids=ILLEGAL.keys())
    def test_an_illegal_name_is_refused(self, metastore: Metastore, name: str) -> None:
        writer = Writer(metastore, trunk())
        before = metastore.newest()
        with pytest.raises(Invalid):
            writer.table(name)
        assert metastore.newest() == before
        assert writer.names() == {}

    def test_branches_tags_and_shares_may_have_slashes(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        writer.create(pb.BRANCH, "feature/x")
        with pytest.raises(Invalid):
            writer.create(pb.TAG, "feature//x")
        with pytest.raises(AlreadyExists):
            writer.create(pb.TAG, "Feature/X")
        assert list(writer.names()) == ["feature/x"]

    @pytest.mark.parametrize("one, other", [("t", "T"), ("straße", "STRASSE"), ("é", "É"), ("ς", "Σ"), ("\u0345", "ι")])
    def test_names_that_fold_alike_are_one(self, metastore: Metastore, one: str, other: str) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table(one)
        with pytest.raises(AlreadyExists):
            writer.namespace(other)
        assert writer.resolve(other) == table

    def test_a_look_up_normalises(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("caf\u00e9")
        assert writer.resolve("CAFE\u0301") == table

    def test_a_catalog_can_compare_names_exactly(self, metastore: Metastore) -> None:
        catalog = new_id()
        writer = Writer(metastore, Line(catalog, catalog, casing=Casing.EXACT))
        lower, upper = writer.table("t"), writer.table("T")
        assert (writer.resolve("t"), writer.resolve("T")) == (lower, upper)
        branch = writer.fork()
        with pytest.raises(AlreadyExists):
            branch.table("T")
        branch.drop(upper)
        assert (branch.resolve("t"), branch.resolve("T")) == (lower, None)

    @pytest.mark.parametrize("first", [pb.NAMESPACE, pb.TABLE, pb.VIEW])
    @pytest.mark.parametrize("second", [pb.NAMESPACE, pb.TABLE, pb.VIEW])
    def test_namespaces_tables_and_views_in_one_parent_share_names(
        self, metastore: Metastore, first: int, second: int
    ) -> None:
        writer = Writer(metastore, trunk())
        parent = writer.namespace("n")
        taken = writer.create(first, "a", parent)
        with pytest.raises(AlreadyExists) as caught:
            writer.create(second, "A", parent)
        assert repr("A") in str(caught.value)
        assert writer.names(parent) == {"a": taken}

    def test_one_name_in_two_parents_and_on_two_lines_is_fine(self, metastore: Metastore) -> None:
        writer, stranger = Writer(metastore, trunk()), Writer(metastore, trunk())
        parents = [writer.line.top, writer.namespace("n"), writer.namespace("m")]
        tables = [writer.table("a", parent) for parent in parents]
        other = stranger.table("a")
        assert writer.reader().resolve([(parent, "a") for parent in parents]) == tables
        assert stranger.names() == {"a": other}

    def test_a_rename_frees_the_old_name_and_keeps_the_id(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("a")
        before = metastore.newest()
        writer.rename(table, "b")
        assert writer.names() == {"b": table}
        assert (writer.resolve("a"), writer.resolve("b")) == (None, table)
        assert (writer.resolve("a", version=before), writer.resolve("b", version=before)) == (table, None)
        successor = writer.table("a")
        assert writer.names() == {"a": successor, "b": table}

    def test_a_name_can_change_its_case(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        table = writer.table("t")
        before = metastore.newest()
        writer.rename(table, "T")
        assert writer.reader().children(writer.line.top).items == [Child("T", table, pb.TABLE)]
        assert writer.reader(before).children(writer.line.top).items == [Child("t", table, pb.TABLE)]
        assert writer.resolve("t") == table

    def test_two_objects_swap_names_in_one_change(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        a, b = writer.table("a"), writer.namespace("b")
        writer.commit(lives={a: writer.life(a, name="b"), b: writer.life(b, name="a")})
        assert writer.names() == {"a": b, "b": a}

    def test_three_objects_rotate_names_across_parents(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        n, m = writer.namespace("n"), writer.namespace("m")
        a, b, c = writer.table("a", n), writer.table("b", n), writer.table("c", m)
        rotated = {
            a: writer.life(a, name="b"),
            b: writer.life(b, name="c", container_id=m),
            c: writer.life(c, name="a", container_id=n),
        }
        writer.commit(lives=rotated)
        assert (writer.names(n), writer.names(m)) == ({"b": a, "a": c}, {"c": b})

    def test_a_name_freed_in_a_change_is_free_in_it(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        old, new = writer.table("a"), new_id()
        gone = writer.life(old, dropped=True, drop_type=pb.MARKED)
        writer.commit(lives={new: life(pb.VIEW, writer.line.top, "A"), old: gone})
        assert writer.names() == {"A": new}
        assert [one.id for one in all_pages(writer.reader().dropped, writer.line.top)] == [old]

    def test_a_name_is_not_given_twice_in_one_change(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        with pytest.raises(AlreadyExists):
            writer.commit(lives={new_id(): life(pb.TABLE, writer.line.top, name) for name in ("a", "A")})
        assert writer.names() == {}

    def test_a_rename_onto_a_live_name_is_refused(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        a, b = writer.table("a"), writer.table("b")
        with pytest.raises(AlreadyExists):
            writer.rename(a, "B")
        assert writer.names() == {"a": a, "b": b}

    def test_a_name_that_stays_protects_itself_from_others_in_the_change(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        a, b = writer.table("a"), writer.table("b")
        with pytest.raises(AlreadyExists):
            writer.commit(lives={a: writer.life(a), b: writer.life(b, name="a")})

    @pytest.mark.parametrize(
        "prefix, expected", [("", 5), ("s", 3), ("STRASS", 2), ("straße", 2), ("strassen", 1), ("z", 0)]
    )
    def test_children_with_a_prefix_are_those_whose_folded_name_has_it(
        self, metastore: Metastore, prefix: str, expected: int
    ) -> None:
        writer = Writer(metastore, trunk())
        for name in ("Straße", "strassen", "stop", "Apfel", "\U0001f30a"):
            writer.table(name)
        assert len(writer.reader().children(writer.line.top, prefix=prefix).items) == expected

    def test_children_come_in_folded_order(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        for name in ("b", "A", "a0", "a!", "Z", "\uffdc", "é", "\U0001f30a", "B2"):
            writer.table(name)
        assert list(writer.names()) == ["A", "a!", "a0", "b", "B2", "Z", "é", "\uffdc", "\U0001f30a"]

    def test_many_names_are_resolved_in_one_call(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        a, b = writer.table("a"), writer.table("b")
        top = writer.line.top
        asked = [(top, "b"), (top, "x"), (top, "A"), (a, "a"), (top, "b")]
        assert writer.reader().resolve(asked) == [b, None, a, None, b]
        assert writer.reader().resolve([]) == []

    # What was read of names

    def test_a_free_name_that_was_read_and_is_taken_since_is_a_conflict(self, metastore: Metastore) -> None:
        writer, other = (Writer(metastore, line, author) for line in [trunk()] for author in ("ada", "bob"))
        base = metastore.newest()
        other.table("a")
        writer.commit(base=base, reads=(NameRead(writer.line.top, "b"),))
        with pytest.raises(Conflict) as caught:
            writer.commit(base=base, reads=(NameRead(writer.line.top, "A"),))
        [clash] = caught.value.conflicts
        assert clash.commit.author == "bob"
        assert "a" in clash.what.lower()

    @pytest.mark.parametrize("how", ["drop", "rename", "move", "case"])
    def test_a_taken_name_that_was_read_and_freed_since_is_a_conflict(self, metastore: Metastore, how: str) -> None:
        writer = Writer(metastore, trunk())
        table, namespace = writer.table("a"), writer.namespace("n")
        base = metastore.newest()
        match how:
            case "drop":
                writer.drop(table)
            case "rename":
                writer.rename(table, "b")
            case "move":
                writer.move(table, namespace)
            case "case":
                writer.rename(table, "A")
        with pytest.raises(Conflict):
            writer.commit(base=base, reads=(NameRead(writer.line.top, "a"),))
        writer.commit(base=metastore.newest(), reads=(NameRead(writer.line.top, "a"),))

    @pytest.mark.parametrize("how", ["create", "drop", "undrop", "rename", "move in", "move out"])
    def test_a_listing_that_was_read_conflicts_with_every_change_of_names_in_it(
        self, metastore: Metastore, how: str
    ) -> None:
        writer = Writer(metastore, trunk())
        n, m = writer.namespace("n"), writer.namespace("m")
        here, there, gone = writer.table("a", n), writer.table("b", m), writer.table("c", n)
        writer.drop(gone)
        base = metastore.newest()
        match how:
            case "create":
                writer.table("d", n)
            case "drop":
                writer.drop(here)
            case "undrop":
                writer.undrop(gone)
            case "rename":
                writer.rename(here, "A")
            case "move in":
                writer.move(there, n)
            case "move out":
                writer.move(here, m)
        with pytest.raises(Conflict) as caught:
            writer.commit(base=base, reads=(ListingRead(n),))
        [clash] = caught.value.conflicts
        assert (clash.object_id, clash.found) == (n, metastore.newest())

    def test_a_listing_does_not_conflict_with_what_changes_no_name_in_it(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        n, m = writer.namespace("n"), writer.namespace("m")
        table, inner = writer.table("a", n), writer.namespace("inner", n)
        base = metastore.newest()
        writer.set(table, 1)
        writer.append(table)
        writer.table("b", m)
        writer.table("c", inner)
        writer.rename(n, "renamed")
        writer.commit(lives={table: writer.life(table)})
        writer.commit(base=base, reads=(ListingRead(n), NameRead(n, "a")))

    def test_of_eight_threads_that_create_one_name_one_succeeds(self, metastore: Metastore) -> None:
        writer = Writer(metastore, trunk())
        namespace = writer.namespace("n")
        start = threading.Barrier(8)
        outcomes: list[str] = []

        def create(number: int) -> None:
            start.wait()
            try:
                outcomes.append(writer.create(pb.TABLE, "aA"[number % 2], namespace))
            except LakebedError as error:
                outcomes.append(error.kind)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count("already_exists") == 7
        [winner] = [outcome for outcome in outcomes if outcome != "already_exists"]
        assert list(writer.names(namespace).values()) == [winner]
