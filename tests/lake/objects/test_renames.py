"""D4, D8 to D11, D13: ids, and what renames leave alone, as the records keep them."""

from uuid import UUID

import pytest

from lakebed import AlreadyExists, Invalid, NotFound
from lakebed.records import layout
from lakebed.records.layout import Attribute
from lakebed.store import MemoryStore
from tests.lake.conftest import dump
from tests.support.faults import RecordingStore
from tests.support.mutations import numbers


def test_ids_of_namespaces_and_tables_are_random_and_never_change(main):
    """D4."""
    namespace, table = main.create_namespace("n"), main.create_table("n.t", {"id": "long"})
    assert {UUID(one.id).version for one in (namespace, table)} == {4}
    known = namespace.id, table.id
    namespace.rename("m")
    table.rename("t2")
    assert (namespace.id, table.id) == known
    assert (main.namespace("m").id, main.table("t2").id) == known


@pytest.fixture
def recorded(open_lake):
    """A catalog whose commits' keys can be looked at."""
    with RecordingStore(MemoryStore()) as store:
        yield open_lake(store).catalog(), store


def is_about(key, object_id):
    return UUID(object_id).bytes in key or object_id.encode() in key


def test_a_renamed_table_writes_its_names_and_nothing_of_its_contents(recorded, folder):
    """D8: what was stored is there byte for byte, but for the current row of its name."""
    main, store = recorded
    main.create_namespace("n")
    table = main.create_table("n.t", {"id": "long"}, properties={"a": "b", "write.inline-bytes": "0"})
    table.append(numbers(1))
    known, files = table.id, {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    before, snapshots = dict(dump(store.store)), table.snapshots()
    main.rename_table("n.t", "n.other")
    after = dict(dump(store.store))
    changed = [key for key, value in before.items() if after.get(key) != value]
    assert len(changed) <= 6, "the name, its holder's listing, the life and the logs' newest"
    written = [key for key, value in after.items() if before.get(key) != value]
    rows = [layout.attribute_cell(known, one).rest for one in Attribute if one is not Attribute.LIFE]
    assert [key for key in written for row in rows if row in key] == [], "no schema, storage, properties or data"
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == files
    with pytest.raises(NotFound):
        main.table("n.t")
    assert main.table("n.other").id == known
    assert (main.table("n.other").snapshots(), main.table("n.other").properties) == (snapshots, table.properties)


def test_a_renamed_namespace_writes_nothing_of_what_is_in_it(recorded):
    """D9: a table below it is under the new name, and no key that is written is about it, however many there are."""
    main, store = recorded
    costs = []
    for count in (1, 30):
        main.create_namespace((f"n{count}",))
        main.create_namespace((f"n{count}", "deep"))
        with main.transaction("fill") as tx:
            tables = [tx.create_table((f"n{count}", "deep", f"t{one}"), {"id": "long"}) for one in range(count)]
            direct = [tx.create_table((f"n{count}", f"t{one}"), {"id": "long"}) for one in range(count)]
        known = [table.id for table in tables]
        known_direct = [table.id for table in direct]
        store.commits.clear()
        main.rename_namespace(f"n{count}", f"m{count}")
        [commit] = store.commits
        costs.append(len(commit.written.keys))
        assert not any(is_about(key, one) for key in commit.written.keys for one in known + known_direct)
        assert {table.id for table in main.tables(f"m{count}", recursive=True)} == {*known, *known_direct}
        assert [main.table((f"m{count}", "deep", f"t{one}")).id for one in range(count)] == known
        assert [main.table((f"m{count}", f"t{one}")).id for one in range(count)] == known_direct
        with pytest.raises(NotFound):
            main.table((f"n{count}", "deep", "t0"))
    assert costs[0] == costs[1]


@pytest.mark.parametrize("kind", ["table", "namespace", "view"])
def test_a_rename_onto_a_live_name_writes_nothing_and_an_old_name_is_free(main, unchanged, kind):
    """D10."""
    make = {
        "table": lambda name: main.create_table(name, {"id": "long"}),
        "namespace": main.create_namespace,
        "view": lambda name: main.create_view(name, "select 1"),
    }[kind]
    first, other = make("a"), make("b")
    with unchanged(), pytest.raises(AlreadyExists):
        first.rename("B")
    first.rename("c")
    again = make("a")
    assert len({first.id, other.id, again.id}) == 3
    with unchanged(), pytest.raises(AlreadyExists):
        first.rename("a")
    assert (first.name, again.name) == ("c", "a")


def test_a_name_that_comes_back_is_the_same_table_with_its_three_names(main):
    """D11."""
    table = main.create_table("a", {"id": "long"})
    versions = [main.version, table.rename("b").version, table.rename("a").version]
    assert main.table("a").id == table.id
    for version, name in zip(versions, ("a", "b", "a"), strict=True):
        then = main.at(version)
        assert [one.name for one in then.tables()] == [name]
        assert then.table(name).id == table.id
    with pytest.raises(NotFound):
        main.table("b")


REFUSED = ["", ".", "..", "a|b", "a/b", "a\x00b", "a\nb", "\x7f"]
DISTINCT = ["a", "a.b", "ä", "a\u0308b", "ab", "a b", "日本", "a`b", "A-b", "%2F", "a\\b", "é"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_could_be_taken_for_a_path_is_refused(main, unchanged, name):
    """D13."""
    main.create_namespace("n")
    for make in (
        lambda: main.create_namespace((name,)),
        lambda: main.create_table((name,), {"id": "long"}),
        lambda: main.create_table(("n", name), {"id": "long"}),
        lambda: main.create_view((name,), "select 1"),
        *(
            [] if "/" in name else [lambda: main.create_branch(name), lambda: main.create_tag(name)]
        ),  # as git's may have
        lambda: main.rename_namespace("n", (name,)),
    ):
        with unchanged(), pytest.raises(Invalid, match="name"):
            make()


def test_names_with_other_letters_are_of_other_tables(main):
    """D13: what is not refused is unambiguous."""
    made = {name: main.create_table((name,), {"id": "long"}).id for name in DISTINCT}
    assert len(set(made.values())) == len(DISTINCT)
    assert {name: main.table((name,)).id for name in DISTINCT} == made
