"""States and names at versions: of objects, of what holds them, and while transactions are open; P5, D20, D21."""

import pyarrow
import pytest

from lakebed import Conflict, NotFound

pytestmark = pytest.mark.usefixtures("in_files")  # its tests look at files


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table):
    return sorted(table.scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def grown(main):
    """A table and a view, two namespaces deep."""
    main.create_namespace("a")
    main.create_namespace("a.b")
    main.create_table("a.b.t", {"id": "long"}).append(numbers(1))
    main.create_view("a.b.v", "select 1")
    return main


def evolve(line, **steps):
    with line.table("a.b.t").evolve() as change:
        for step, arguments in steps.items():
            getattr(change, step)(*arguments)


# What is looked at, and two changes of it, one after the other.
ATTRIBUTES = {
    "the catalog's properties": (
        lambda line: line.properties,
        lambda main, n: main.set_properties({"n": n}),
    ),
    "a namespace's properties": (
        lambda line: line.namespace("a").properties,
        lambda main, n: main.namespace("a").set_properties({"n": n}),
    ),
    "a table's properties": (
        lambda line: line.table("a.b.t").properties,
        lambda main, n: main.table("a.b.t").set_properties({"n": n}),
    ),
    "a table's schema": (
        lambda line: (line.table("a.b.t").schema.names, line.table("a.b.t").scan().to_arrow().column_names),
        lambda main, n: evolve(main, add_column=(f"c{n}", "string")),
    ),
    "a table's partition spec": (
        lambda line: str(line.table("a.b.t").spec),
        lambda main, n: evolve(main, partition_by=([f"bucket({n}, id)"],)),
    ),
    "a table's sort order": (
        lambda line: str(line.table("a.b.t").sort_order),
        lambda main, n: evolve(main, sort_by=([f"truncate({n}, id)"],)),
    ),
    "a table's data": (
        lambda line: (ids(line.table("a.b.t")), line.table("a.b.t").scan().files(), line.table("a.b.t").snapshots()),
        lambda main, n: main.table("a.b.t").append(numbers(int(n))),
    ),
    "a table's storage": (
        lambda line: line.table("a.b.t").storage,
        lambda main, n: main.table("a.b.t").set_storage(location=f"elsewhere/{n}", properties={"n": n}),
    ),
    "a namespace's location and owner": (
        lambda line: (line.namespace("a.b").location, line.namespace("a.b").owner),
        lambda main, n: (main.namespace("a.b").set_owner if n == "2" else main.namespace("a.b").set_location)(n),
    ),
    "a view's text": (
        lambda line: line.view("a.b.v").sql,
        lambda main, n: main.view("a.b.v").set_sql(f"select {n}"),
    ),
    "what is in a namespace": (
        lambda line: [one.name for one in line.tables("a.b")],
        lambda main, n: main.create_table(f"a.b.new{n}", {"id": "long"}),
    ),
}


@pytest.mark.parametrize("what", ATTRIBUTES)
def test_a_state_is_there_from_its_version_on_until_the_next_one(grown, what):
    """P5: one before it, at it, one after it; of a tag and of a branch that begins there too."""
    see, change = ATTRIBUTES[what]
    before = see(grown)
    change(grown, "2")
    version, after = grown.version, see(grown)
    following = grown.create_namespace("unrelated").version
    change(grown, "3")
    assert len({repr(one) for one in (before, after, see(grown))}) == 3
    assert following == version.next()
    expected = [(version.previous(), before), (version, after), (following, after)]
    assert [(one, see(grown.at(one))) for one, _ in expected] == expected
    for number, (one, state) in enumerate(expected):
        assert see(grown.create_tag(f"tag {number}", at=one)) == state
        assert see(grown.create_branch(f"branch {number}", at=one)) == state


def test_an_object_is_there_from_the_version_that_made_it_to_the_one_that_dropped_it(grown):
    """P5: and neither before nor after."""
    made = grown.create_table("a.new", {"id": "long"})
    first, gone = made.version, grown.drop_table("a.new").version
    seen = [grown.at(one).table_exists("a.new") for one in (first.previous(), first, gone.previous(), gone)]
    assert seen == [False, True, True, False]
    for one in (first.previous(), gone):
        with pytest.raises(NotFound):
            made.at(version=one)
    assert made.at(version=first).name == "a.new"


# Names, each with who has it as of then


RENAMES = {
    "a": lambda main: main.rename_namespace("a", "x"),
    "b": lambda main: main.rename_namespace("a.b", "a.y"),
    "t": lambda main: main.rename_table("a.b.t", "a.b.z"),
    "b moves to the top": lambda main: main.rename_namespace("a.b", "b"),
    "t moves to the top": lambda main: main.rename_table("a.b.t", "t"),
}
NOW = {"a": "x.b.t", "b": "a.y.t", "t": "a.b.z", "b moves to the top": "b.t", "t moves to the top": "t"}


@pytest.mark.parametrize("what", RENAMES)
def test_a_name_is_that_of_its_time_whoever_of_those_above_was_renamed(grown, what):
    """P5, D21: by name, by handle, in listings and in system tables, at v−1, v and v+1."""
    table = grown.table("a.b.t")
    version = RENAMES[what](grown).version
    table.append(numbers(2))
    for moment, name, other in (
        (version.previous(), "a.b.t", NOW[what]),
        (version, NOW[what], "a.b.t"),
        (version.next(), NOW[what], "a.b.t"),
    ):
        then = grown.at(moment)
        assert (then.table(name).id, then.table(name).name, table.at(moment).name) == (table.id, name, name)
        assert [one.name for one in then.tables(recursive=True)] == [name]
        assert then.inspect("__tables")["table_name"].to_pylist() == [name]
        assert not then.table_exists(other)


def test_names_above_are_those_of_their_time_in_what_is_told_of_the_past(grown):
    """D21: a commit tells the name that it was made under, whatever came later."""
    grown.table("a.b.t").append(numbers(2))
    grown.rename_namespace("a", "x")
    grown.table("x.b.t").append(numbers(3))
    told = [(one.operations[0].type, one.operations[0].name) for one in grown.log(table="x.b.t")]
    assert told == [("insert", "x.b.t"), ("insert", "a.b.t"), ("insert", "a.b.t"), ("create", "a.b.t")]


def test_names_that_went_round_are_those_of_each_time(grown):
    """D21: every object has had every name."""
    for name in "pqr":
        grown.create_namespace(name)
        grown.create_table(f"{name}.t", {"id": "long"})
    seen = {}
    for _ in range(4):
        with grown.transaction("go round") as tx:
            tx.rename_namespace("p", "spare")
            tx.rename_namespace("q", "p")
            tx.rename_namespace("r", "q")
            tx.rename_namespace("spare", "r")
        seen[grown.version] = {f"{name}.t": grown.table(f"{name}.t").id for name in "pqr"}
    rounds = list(seen.values())
    assert rounds[0] == rounds[3] != rounds[1] != rounds[2]
    for version, held in seen.items():
        then = grown.at(version)
        assert {one.name: one.id for one in then.tables(recursive=True) if one.name != "a.b.t"} == held
        assert {name: then.table(name).id for name in held} == held


def test_what_was_dropped_and_made_again_has_its_old_id_as_of_before(grown):
    """D21: the table, the view, and the namespaces above."""

    def held(line):
        return [line.namespace("a").id, line.namespace("a.b").id, line.table("a.b.t").id, line.view("a.b.v").id]

    before, old = grown.version, held(grown)
    between = grown.drop_namespace("a", cascade=True).version
    grown.create_namespace("a")
    grown.create_namespace("a.b")
    grown.create_table("a.b.t", {"id": "long"})
    grown.create_view("a.b.v", "select 2")
    assert (held(grown.at(before)), ids(grown.at(before).table("a.b.t"))) == (old, [1])
    assert not grown.at(between).namespace_exists("a")
    assert not set(held(grown)) & set(old)
    assert ids(grown.table("a.b.t")) == []


def test_a_renamed_catalog_had_another_name_before(lake, grown):
    """P5."""
    catalog = lake.create_catalog("second")
    version = lake.rename_catalog("second", "third").version
    catalog.create_namespace("n")
    names = [catalog.at(moment).name for moment in (version.previous(), version, version.next())]
    assert (names, catalog.name) == (["second", "third", "third"], "third")


# Transactions that are still open


def test_a_transaction_sees_its_own_names_and_nobody_else_does(grown, unchanged):
    """D20: a rename of what a table is in, before it is committed and when it never is."""
    table = grown.table("a.b.t")
    with unchanged(), pytest.raises(ZeroDivisionError), grown.transaction("never") as tx:
        tx.rename_namespace("a", "x")
        tx.rename_namespace("x.b", "x.y")
        assert (tx.table("x.y.t").name, tx.tables("x.y")[0].name, tx.table_exists("a.b.t")) == ("x.y.t", "x.y.t", False)
        assert (table.name, [one.name for one in grown.tables(recursive=True)]) == ("a.b.t", ["a.b.t"])
        assert (grown.table_exists("x.y.t"), grown.namespace_exists("x")) == (False, False)
        assert grown.at(grown.version).table("a.b.t").name == "a.b.t"
        raise ZeroDivisionError
    assert table.name == "a.b.t"


def test_a_transaction_sees_no_name_that_was_given_after_it_began(grown):
    """D20: not even that of what its tables are in; and it is told at its end."""
    with pytest.raises(Conflict, match="was changed"), grown.transaction("reads") as tx:
        table = tx.table("a.b.t")
        grown.rename_namespace("a", "x")
        assert (table.name, tx.table_exists("a.b.t"), tx.table_exists("x.b.t")) == ("a.b.t", True, False)
        assert [one.name for one in tx.tables(recursive=True)] == ["a.b.t"]
        tx.create_namespace("seen")
    assert grown.table("x.b.t").id == table.id


def test_a_handle_at_a_version_never_moves(grown):
    """D20: a reader that began before a commit does not see it."""
    then = grown.at(grown.version)
    seen = [(one.id, one.name, ids(one)) for one in then.tables(recursive=True)]
    for name in ("t", "a", "b"):
        grown.table("a.b.t").append(numbers(2))
        branch = grown.create_branch(f"branch {name}")
        RENAMES[name](branch)
        RENAMES["t moves to the top"](grown)
        grown.rename_table("t", "a.b.t")
        assert [(one.id, one.name, ids(one)) for one in then.tables(recursive=True)] == seen


def test_nobody_sees_a_name_that_was_never_committed(main):
    main.create_namespace("sales")
    table = main.create_table("sales.orders", {"id": "long"})
    dev = main.create_branch("dev")
    with pytest.raises(ZeroDivisionError), main.transaction("never") as tx:
        tx.rename_namespace("sales", "sold")
        assert tx.table("sold.orders").id == table.id
        for line in (main, dev, main.at(main.version)):
            assert [one.name for one in line.tables(recursive=True)] == ["sales.orders"]
            assert not line.table_exists("sold.orders")
        assert table.name == "sales.orders"
        raise ZeroDivisionError
    assert (table.name, main.namespace_exists("sold")) == ("sales.orders", False)


def test_nobody_makes_a_table_under_a_name_that_was_never_committed(main):
    main.create_namespace("sales")
    with pytest.raises(ZeroDivisionError), main.transaction("never") as tx:
        tx.rename_namespace("sales", "sold")
        with pytest.raises(NotFound):
            main.create_table("sold.orders", {"id": "long"})
        main.create_table("sales.orders", {"id": "long"})
        raise ZeroDivisionError
    assert [one.name for one in main.tables(recursive=True)] == ["sales.orders"]


def test_the_past_does_not_show_a_namespaces_later_name(main):
    main.create_namespace("eu")
    main.create_namespace("eu.sales")
    table = main.create_table("eu.sales.orders", {"id": "long"})
    before = main.version
    main.rename_namespace("eu", "europe")
    main.rename_namespace("europe.sales", "europe.sold")
    then = main.at(before)
    assert (then.table("eu.sales.orders").name, table.at(before).name) == ("eu.sales.orders",) * 2
    assert [one.name for one in then.namespaces(recursive=True)] == ["eu", "eu.sales"]
    for later in ("europe.sold.orders", "eu.sold.orders", "europe.sales.orders"):
        assert not then.table_exists(later)
    assert table.name == "europe.sold.orders"
