"""What one transaction read and another has changed is a conflict, and nothing else is; law 3, P6."""

import threading

import pyarrow
import pytest

from lakebed import AlreadyExists, Conflict, NotFound


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def ids(table, **asked):
    return table.scan(**asked).to_arrow()["id"].to_pylist()


@pytest.fixture
def lines(main):
    """Two namespaces, each with two tables that have a row."""
    for namespace in ("a", "b"):
        main.create_namespace(namespace)
        for name in ("one", "two"):
            main.create_table(f"{namespace}.{name}", {"id": "long"}).append(numbers(1))
    return main


READS = {
    "name": lambda tx: tx.table("a.one"),
    "free name": lambda tx: tx.table_exists("a.three"),
    "free namespace": lambda tx: tx.namespace_exists("c"),
    "listing": lambda tx: tx.tables("a"),
    "listing of all": lambda tx: tx.tables(recursive=True),
    "properties": lambda tx: tx.table("a.one").properties,
    "namespace properties": lambda tx: tx.namespace("a").properties,
    "catalog properties": lambda tx: tx.properties,
    "data": lambda tx: tx.table("a.one").scan(),
    "some data": lambda tx: tx.table("a.one").scan("id < 10"),
    "snapshots": lambda tx: tx.table("a.one").snapshots(),
    "version": lambda tx: tx.table("a.one").version,
    "history": lambda tx: tx.table("a.one").history(),
    "namespace version": lambda tx: tx.namespace("a").version,
}
CHANGES = {
    "append": lambda main: main.table("a.one").append(numbers(5)),
    "append far away": lambda main: main.table("a.one").append(numbers(50)),
    "rename": lambda main: main.rename_table("a.one", "a.other"),
    "drop": lambda main: main.drop_table("a.one"),
    "drop namespace": lambda main: main.drop_namespace("a", cascade=True),
    "create": lambda main: main.create_table("a.three", {"id": "long"}),
    "create namespace": lambda main: main.create_namespace("c"),
    "set properties": lambda main: main.table("a.one").set_properties({"x": "y"}),
    "set namespace properties": lambda main: main.namespace("a").set_properties({"x": "y"}),
    "set catalog properties": lambda main: main.set_properties({"x": "y"}),
    "elsewhere": lambda main: main.create_table("b.three", {"id": "long"}).append(numbers(5)),
    "append elsewhere": lambda main: main.table("a.two").append(numbers(5)),
}
# What each read clashes with; with all else it does not.
CLASHES = {
    "name": {"rename", "drop", "drop namespace"},
    "free name": {"create", "drop namespace"},
    "free namespace": {"create namespace"},
    "listing": {"rename", "drop", "create", "drop namespace"},
    "listing of all": {"rename", "drop", "create", "drop namespace", "create namespace", "elsewhere"},
    "properties": {"rename", "drop", "drop namespace", "set properties"},
    "namespace properties": {"drop namespace", "set namespace properties"},
    "catalog properties": {"set catalog properties"},
    "data": {"rename", "drop", "drop namespace", "append", "append far away"},
    "some data": {"rename", "drop", "drop namespace", "append"},
    "snapshots": {"rename", "drop", "drop namespace", "append", "append far away"},
    "version": {"append", "append far away", "rename", "drop", "drop namespace", "set properties"},
    "history": {"append", "append far away", "rename", "drop", "drop namespace", "set properties"},
    "namespace version": {"drop namespace", "set namespace properties"},
}


@pytest.mark.parametrize("read", READS)
def test_a_transaction_conflicts_with_changes_of_what_it_read_and_no_others(lines, read):
    """Each change on a branch of its own. The write alone would never conflict: nothing else touches its table."""
    clashing = set()
    for name, change in CHANGES.items():
        branch = lines.create_branch(name)
        if conflict(branch, READS[read], change):
            clashing.add(name)
    assert clashing == CLASHES[read]


def conflict(branch, read, change):
    """Whether a transaction that read something fails because of a change; then it has to name it."""
    before = branch.log()
    try:
        with branch.transaction("reads and writes") as tx:
            read(tx)
            tx.table("b.two").append(numbers(2))
            change(branch)
    except Conflict as error:
        others = {commit.id for commit in branch.log()[: -len(before)]}
        assert {clash.commit.id for clash in error.conflicts} & others
        assert ids(branch.table("b.two")) == [1]
        return True
    assert ids(branch.table("b.two")) == [1, 2]
    return False


def test_a_conflict_says_what_was_changed_and_by_whom(lines):
    commit = None
    with pytest.raises(Conflict) as caught, lines.transaction("mine") as tx:
        tx.table("a.one").scan()
        tx.table("a.two").append(numbers(2))
        commit = lines.table("a.one").append(numbers(3), message="theirs", author="bob")
    [clash] = caught.value.conflicts
    assert (clash.what, clash.commit.id, clash.found) == ("data", commit.id, commit.version)
    for word in ("data", "bob", "theirs", commit.id, str(commit.version)):
        assert word in str(caught.value)


def test_a_conflict_changes_nothing_and_leaves_no_file(lines, unchanged):
    tx = lines.transaction("mine")
    tx.__enter__()
    ids(tx.table("a.one"))
    lines.table("a.one").append(numbers(3))
    with unchanged():
        tx.table("a.two").append(numbers(2))
        tx.create_table("a.new", {"id": "long"}).append(numbers(2))
        with pytest.raises(Conflict):
            tx.__exit__(None, None, None)
    assert tx.committed is None


def test_appends_never_conflict_with_appends(lines):
    """P6: to one table, by transactions that were open at once; none is lost."""
    open_ones = [lines.transaction(f"number {number}") for number in range(5)]
    for number, tx in enumerate(open_ones):
        tx.__enter__()
        tx.table("a.one").append(numbers(10 + number))
    for tx in reversed(open_ones):
        tx.__exit__(None, None, None)
    assert ids(lines.table("a.one")) == [1, 14, 13, 12, 11, 10]
    chain = lines.table("a.one").snapshots()
    assert [one.previous_id for one in chain] == [*(one.id for one in chain[1:]), None]


def test_write_skew_is_refused(lines):
    """Each reads what the other writes: one of them has to lose."""
    with pytest.raises(Conflict), lines.transaction("first") as first:
        total = sum(ids(first.table("a.one")) + ids(first.table("a.two")))
        with lines.transaction("second") as second:
            assert sum(ids(second.table("a.one")) + ids(second.table("a.two"))) == total
            second.table("a.two").append(numbers(-total))
        first.table("a.one").append(numbers(-total))
    assert (ids(lines.table("a.one")), ids(lines.table("a.two"))) == ([1], [1, -total])


def test_a_phantom_is_refused(lines):
    """A row that a filter would have found, had it been there."""
    with pytest.raises(Conflict), lines.transaction("first") as first:
        assert ids(first.table("a.one"), where="id = 7") == []
        lines.table("a.one").append(numbers(7))
        first.table("a.one").append(numbers(7))
    assert ids(lines.table("a.one")) == [1, 7]


def test_a_row_that_no_filter_asked_for_is_no_conflict(lines):
    with lines.transaction("first") as first:
        assert ids(first.table("a.one"), where="id = 7") == []
        lines.table("a.one").append(numbers(8))
        first.table("a.one").append(numbers(7))
    assert ids(lines.table("a.one")) == [1, 8, 7]


def test_two_that_create_one_name_do_not_both_succeed(lines):
    with pytest.raises((Conflict, AlreadyExists)), lines.transaction("first") as first:
        first.create_table("a.new", {"id": "long"}).append(numbers(1))
        second = lines.create_table("A.NEW", {"id": "long"})
    assert lines.table("a.new").id == second.id


def test_a_transaction_that_read_and_wrote_elsewhere_conflicts(lines):
    """Serializable: what it saw can't have been the state at its commit."""
    with pytest.raises(Conflict), lines.transaction("looks") as tx:
        tx.table("a.one").scan()
        tx.create_namespace("seen")
        lines.table("a.one").append(numbers(2))


def test_a_transaction_may_write_what_it_read(lines):
    with lines.transaction("both") as tx:
        table = tx.table("a.one")
        table.append(numbers(max(ids(table)) + 1))
        table.append(numbers(max(ids(table)) + 1))
    assert ids(lines.table("a.one")) == [1, 2, 3]


def test_changes_outside_transactions_find_their_way_through_others(lines):
    """KV-8: two set different properties at once, again and again, and no property is lost."""
    table = lines.table("a.one")
    failures = []

    def set_many(name):
        try:
            for number in range(10):
                table.set_properties({f"{name} {number}": "x"})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=set_many, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(table.properties) == 30


def test_of_eight_that_create_one_name_one_succeeds(lines):
    """P2: namespaces, tables and views together."""
    barrier, answers = threading.Barrier(8), []
    makers = [
        lambda: lines.create_table("a.Contested", {"id": "long"}),
        lambda: lines.create_namespace("a.contested"),
        lambda: lines.create_view("a.CONTESTED", "select 1"),
    ]

    def create(number):
        barrier.wait()
        try:
            answers.append(makers[number % 3]().id)
        except AlreadyExists as error:
            answers.append(error)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [winner] = [answer for answer in answers if isinstance(answer, str)]
    assert len(answers) == 8
    kinds = (lines.tables, lines.namespaces, lines.views)
    assert [one.id for listed in kinds for one in listed("a", prefix="contested")] == [winner]


def test_threads_that_append_to_one_table_lose_nothing(lines):
    """P6."""
    table, failures = lines.table("a.one"), []

    def append(first):
        try:
            for number in range(5):
                table.append(numbers(first + number))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=append, args=(100 * number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(ids(table)) == [1, *(100 * one + number for one in range(1, 5) for number in range(5))]
    assert table.snapshots()[0].totals["rows"] == 21


def test_creating_in_a_namespace_that_is_dropped_meanwhile_fails(lines):
    with pytest.raises((Conflict, NotFound)), lines.transaction("too late") as tx:
        tx.create_table("a.new", {"id": "long"})
        lines.drop_namespace("a", cascade=True)
    assert not lines.namespace_exists("a")


def test_dropping_an_empty_namespace_that_is_filled_meanwhile_fails(lines):
    lines.create_namespace("empty")
    with pytest.raises(Conflict), lines.transaction("too late") as tx:
        tx.drop_namespace("empty")
        lines.create_table("empty.new", {"id": "long"})
    assert lines.table_exists("empty.new")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (lambda main: main.create_table("a.new", {"id": "int"}), lambda tx: tx.create_table("a.new", {"id": "int"})),
        (lambda main: main.drop_table("a.one"), lambda tx: tx.table("a.one").append(numbers(7))),
        (lambda main: main.drop_namespace("b", cascade=True), lambda tx: tx.create_table("b.new", {"id": "int"})),
    ],
    ids=[
        "a name that is taken meanwhile",
        "a table that is dropped meanwhile",
        "a namespace that is dropped meanwhile",
    ],
)
def test_a_transaction_that_lost_a_race_is_a_conflict_whatever_it_lost(lines, theirs, ours):
    """It used to be AlreadyExists or NotFound, which no retry after `Conflict` would catch."""
    with pytest.raises(Conflict), lines.transaction("ours") as tx:
        ours(tx)
        theirs(lines)
    assert tx.committed is None
    assert lines.log(limit=1)[0].message == ""


# KV-7, KV-8, D19: what two do at once to one object, and to two


def evolve(line, **steps):
    with line.table("a.one").evolve() as change:
        for step, arguments in steps.items():
            getattr(change, step)(*arguments)


# What two may do to one table at once, and how it can be seen that they did.
EDITS = {
    "set p": (lambda line: line.table("a.one").set_properties({"p": "1"}), lambda t: t.properties.get("p") == "1"),
    "set p otherwise": (
        lambda line: line.table("a.one").set_properties({"p": "2"}),
        lambda t: t.properties.get("p") == "2",
    ),
    "set q": (lambda line: line.table("a.one").set_properties({"q": "1"}), lambda t: "q" in t.properties),
    "add x": (lambda line: evolve(line, add_column=("x", "string")), lambda t: "x" in t.schema.names),
    "add y": (lambda line: evolve(line, add_column=("y", "string")), lambda t: "y" in t.schema.names),
    "rename id": (lambda line: evolve(line, rename_column=("id", "number")), lambda t: "number" in t.schema.names),
    "spec": (lambda line: evolve(line, partition_by=(["bucket(4, id)"],)), lambda t: "4" in str(t.spec)),
    "another spec": (lambda line: evolve(line, partition_by=(["bucket(8, id)"],)), lambda t: "8" in str(t.spec)),
    "order": (lambda line: evolve(line, sort_by=(["id desc"],)), lambda t: "desc" in str(t.sort_order)),
    "another order": (
        lambda line: evolve(line, sort_by=(["truncate(5, id)"],)),
        lambda t: "truncate" in str(t.sort_order),
    ),
    "rename": (lambda line: line.rename_table("a.one", "a.first"), lambda t: t.name == "a.first"),
    "another name": (lambda line: line.rename_table("a.one", "a.second"), lambda t: t.name == "a.second"),
    "append": (lambda line: line.table("a.one").append(numbers(7)), lambda t: t.scan().count() > 1),
}
SAME = [{"set p", "set p otherwise"}, {"spec", "another spec"}, {"order", "another order"}, {"rename", "another name"}]


@pytest.mark.parametrize("mine", EDITS)
def test_of_two_edits_of_one_table_both_are_there_or_one_is_refused(lines, mine):
    """KV-8: every pair, each on a branch of its own, from one base; a third possibility would be a lost update."""
    do, done = EDITS[mine]
    refused = set()
    for other, (do_other, done_other) in EDITS.items():
        branch = lines.create_branch(other)
        table = branch.table("a.one")
        try:
            with branch.transaction("mine") as tx:
                do(tx)
                do_other(branch)
        except Conflict:
            refused.add(other)
        assert done_other(table), other
        assert other == mine or done(table) is (other not in refused), other
    assert all(pair <= refused | {mine} for pair in SAME if mine in pair)


@pytest.mark.parametrize("what", ["set q", "add x", "spec", "order", "rename"])
def test_a_stale_base_is_told_with_the_version_expected_and_found(lines, files, what):
    """KV-7: tables, snapshots, files and commits stay what they were. Ids that were given out are not given again."""
    do, _ = EDITS[what]
    tx, base = lines.transaction("mine").__enter__(), lines.version
    do(lines)
    found, seen = lines.version, (picture(lines), files())
    tx.table("a.one").append(numbers(7))
    do(tx)
    with pytest.raises(Conflict) as caught:
        tx.__exit__(None, None, None)
    assert (picture(lines), files()) == seen
    assert (caught.value.expected, caught.value.found) == (f"nothing after version {base}", f"version {found}")
    assert all(f"version {one}" in str(caught.value) for one in (base, found))


def picture(line):
    return {name: line.inspect(name).to_pylist() for name in ("__tables", "__snapshots", "__files", "__commits")}


ELSEWHERE = {
    "append": lambda line, name: line.table(name).append(numbers(2)),
    "set properties": lambda line, name: line.table(name).set_properties({"x": "y"}),
    "read": lambda line, name: ids(line.table(name)),
    "evolve": lambda line, name: add_column(line.table(name)),
    "rename": lambda line, name: line.rename_table(name, f"{name} renamed"),
    "move": lambda line, name: line.rename_table(name, f"top {name[2:]}"),
    "drop": lambda line, name: line.drop_table(name),
    "create": lambda line, name: line.create_table(f"{name} new", {"id": "long"}),
    "create a view": lambda line, name: line.create_view(f"{name} view", "select 1"),
    "create a namespace": lambda line, name: line.create_namespace(f"{name} namespace"),
    "undrop": lambda line, name: line.undrop_table(f"{name} gone"),
}


def add_column(table):
    with table.evolve() as change:
        change.add_column("x", "string")


@pytest.mark.parametrize("mine", ELSEWHERE)
def test_transactions_on_two_tables_of_one_namespace_never_conflict(lines, mine):
    """D19: whatever they do."""
    for name in ("a.one gone", "a.two gone"):
        lines.create_table(name, {"id": "long"})
        lines.drop_table(name)
    for other, change in ELSEWHERE.items():
        branch = lines.create_branch(other)
        with branch.transaction("mine") as tx:
            ELSEWHERE[mine](tx, "a.one")
            with branch.transaction("other") as another:
                change(another, "a.two")
        assert [tx.committed is None, another.committed is None] == [mine == "read", other == "read"]


TAKERS = {
    "create table": lambda line, _: line.create_table("b.wanted", {"id": "long"}),
    "create view": lambda line, _: line.create_view("b.Wanted", "select 1"),
    "create namespace": lambda line, _: line.create_namespace("b.WANTED"),
    "rename table": lambda line, side: line.rename_table(f"a.{side}", "b.wanted"),
    "rename view": lambda line, side: line.rename_view(f"a.view {side}", "b.wanted"),
    "rename namespace": lambda line, side: line.rename_namespace(f"namespace {side}", "b.wanted"),
    "undrop table": lambda line, side: line.undrop_table(f"a.gone {side}", as_name="b.wanted"),
}


@pytest.mark.parametrize("mine", TAKERS)
def test_of_two_that_take_one_name_in_whatever_way_one_wins(lines, mine):
    """D19, P2: in transactions it is a conflict, in single calls the name is taken."""
    for side in ("one", "two"):
        lines.create_view(f"a.view {side}", "select 1")
        lines.create_namespace(f"namespace {side}")
        lines.create_table(f"a.gone {side}", {"id": "long"})
        lines.drop_table(f"a.gone {side}")
    for other, take in TAKERS.items():
        branch = lines.create_branch(other)
        with pytest.raises(Conflict), branch.transaction("mine") as tx:
            TAKERS[mine](tx, "one")
            take(branch, "two")
        held = held_as(branch, "b.wanted")
        with pytest.raises(AlreadyExists):
            TAKERS[mine](branch, "one")
        assert held_as(branch, "b.wanted") == held


def held_as(line, name):
    """The one object that has a name."""
    ways = ((line.table_exists, line.table), (line.view_exists, line.view), (line.namespace_exists, line.namespace))
    [found] = [find(name) for exists, find in ways if exists(name)]
    return found.id


OVERTAKEN = {
    "the name is taken": (lambda main: main.create_table("a.new", {"id": "long"}, message="theirs", author="bob"), "a"),
    "the table was dropped": (lambda main: main.drop_table("a.one", message="theirs", author="bob"), "a"),
    "its namespace was dropped": (
        lambda main: main.drop_namespace("a", cascade=True, message="theirs", author="bob"),
        "the catalog",
    ),
}


@pytest.mark.parametrize("case", OVERTAKEN)
def test_a_name_that_was_taken_or_dropped_meanwhile_says_by_whom(lines, case):
    """The commit in the row is one that handles take, like those of the log."""
    meddle, where = OVERTAKEN[case]
    with pytest.raises(Conflict) as caught, lines.transaction("mine") as tx:
        tx.table("a.one").append(numbers(2))
        tx.create_table("a.new", {"id": "long"})
        meddle(lines)
    [theirs] = lines.log(1)
    [row] = caught.value.conflicts
    assert (row.name, row.commit, row.found) == (where, theirs, theirs.version)
    assert lines.at(row.commit).version == theirs.version
    for word in ("bob", "theirs", theirs.id):
        assert word in str(caught.value)
        assert word in str(row)
