"""The life of a branch after it was made: renamed, dropped, undropped, purged; P9, P10, P20."""

import pyarrow
import pytest

from lakebed import AlreadyExists, Ambiguous, Conflict, Expired, Invalid, NotFound


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def rows(table):
    return table.scan().to_arrow()["id"].to_pylist()


def picture(line):
    """All that a line shows: names, properties, rows."""
    names = [one.name for one in line.namespaces(recursive=True)]
    return names, {one.name: (one.id, one.properties, rows(one)) for one in line.tables(recursive=True)}


def erased(line):
    """Whether the line's own rows are gone: those of its namespace `own`."""
    return line._line.context.metastore.reader(line._line.ref.line).resolve([(line._line.ref.catalog, "own")]) == [None]


@pytest.fixture
def grown(main):
    main.create_namespace("sales")
    main.create_table("sales.orders", {"id": "long"}, properties={"a": "1"}).append(numbers(0))
    return main


def test_a_renamed_branch_keeps_its_handles_children_and_rows(grown):
    dev = grown.create_branch("dev")
    child = dev.create_branch("child")
    dev.table("sales.orders").append(numbers(10))
    seen = picture(dev)
    commit = grown.rename_branch("DEV", "feature/x", message="why")
    assert (commit.message, commit.operations[0].type) == ("why", "rename")
    assert (dev.ref, picture(dev), grown.branch("feature/X")) == ("feature/x", seen, dev)
    assert not grown.branch_exists("dev")
    assert child.branch("feature/x") == dev
    grown.rename_branch("feature/x", "Feature/X")
    assert dev.ref == "Feature/X"
    dev.create_namespace("more")


def test_a_dropped_branch_can_not_be_read_or_written_and_its_children_can(grown):
    """P20."""
    dev = grown.create_branch("dev")
    dev.table("sales.orders").append(numbers(10))
    table, namespace, past = dev.table("sales.orders"), dev.namespace("sales"), dev.at(dev.version)
    child = dev.create_branch("child")
    seen, shown = picture(child), picture(past)
    grown.drop_branch("dev")
    assert not grown.branch_exists("dev")
    assert [one.ref for one in grown.branches()] == ["main", "child"]
    calls = [
        dev.tables,
        lambda: dev.version,
        lambda: dev.log(),
        lambda: table.scan(),
        lambda: namespace.name,
        lambda: dev.create_branch("other"),
        lambda: dev.create_tag("other"),
        lambda: dev.create_share("other", ["sales"]),
        lambda: dev.create_namespace("more"),
        lambda: table.append(numbers(5)),
        lambda: dev.transaction("more").__enter__(),
        lambda: grown.branch("dev"),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            call()
    assert (picture(child), picture(past)) == (seen, shown)
    child.table("sales.orders").append(numbers(10))
    assert picture(child) != seen


def test_a_transaction_on_a_branch_that_is_dropped_before_its_end_changes_nothing(grown):
    dev = grown.create_branch("dev")
    with pytest.raises(Conflict, match="dropped"), dev.transaction("late") as tx:
        tx.create_namespace("more")
        grown.drop_branch("dev")
    grown.undrop_branch("dev")
    assert not dev.namespace_exists("more")


def test_an_undropped_branch_is_as_it_was(grown):
    dev = grown.create_branch("dev")
    dev.table("sales.orders").append(numbers(10))
    seen = picture(dev)
    grown.drop_branch("dev")
    commit = grown.undrop_branch("Dev")
    assert commit.operations[0].type == "undrop"
    assert (picture(dev), grown.branch("dev"), dev.ref) == (seen, dev, "dev")
    dev.create_table("sales.new", {"id": "long"})
    assert picture(dev) != seen


def test_an_undropped_branch_can_have_another_name(grown, unchanged):
    dev = grown.create_branch("dev")
    grown.drop_branch("dev")
    other = grown.create_branch("dev")
    with unchanged(), pytest.raises(AlreadyExists):
        grown.undrop_branch("dev")
    grown.undrop_branch("dev", as_name="old")
    assert (grown.branch("old"), grown.branch("dev")) == (dev, other)


def test_several_dropped_branches_of_one_name_are_told_apart_by_their_ids(grown, unchanged):
    made = []
    for value in "one", "two":
        made.append(grown.create_branch("dev"))
        made[-1].set_properties({"k": value})
        grown.drop_branch("dev")
    with unchanged(), pytest.raises(Ambiguous) as caught:
        grown.undrop_branch("dev")
    ids = [one.id for one in caught.value.candidates]
    assert sorted(ids) == sorted(one._line.ref.line.id for one in made)
    for one in caught.value.candidates:
        assert one.created < one.dropped
        assert one.id in str(caught.value)
        assert f"{one.dropped:%Y-%m-%d %H:%M:%S}" in str(caught.value)
    grown.undrop_branch("dev", id=made[0]._line.ref.line.id)
    assert grown.branch("dev").properties["k"] == "one"
    grown.undrop_branch("dev", as_name="second")
    assert grown.branch("second").properties["k"] == "two"


def test_a_purged_branch_is_gone_for_good(grown, unchanged):
    dev = grown.create_branch("dev")
    dev.table("sales.orders").append(numbers(10))
    past = dev.at(dev.version)
    dev.create_namespace("own")
    seen = picture(grown)
    grown.drop_branch("dev")
    commit = grown.purge_branch("dev")
    assert commit.operations[0].type == "purge"
    assert erased(dev)
    assert picture(grown) == seen
    for call in (past.tables, lambda: past.table("sales.orders"), lambda: past.log(), lambda: past.create_branch("x")):
        with unchanged(), pytest.raises(Expired, match="purged"):
            call()
    with unchanged(), pytest.raises(NotFound, match="purged"):
        dev.tables()
    with unchanged(), pytest.raises(Expired):
        grown.undrop_branch("dev")
    other = grown.create_branch("dev")
    with unchanged(), pytest.raises(Invalid, match="not dropped"):
        grown.purge_branch("dev")
    with unchanged():
        assert grown.purge_branch("dev", id=dev._line.ref.line.id).id == commit.id
    grown.drop_branch("dev")
    grown.undrop_branch("dev")
    assert grown.branch("dev") == other


def test_a_purge_that_was_broken_off_goes_on_when_it_is_called_again(grown, monkeypatch):
    dev = grown.create_branch("dev")
    dev.create_namespace("own")
    grown.drop_branch("dev")
    metastore = type(grown._line.context.metastore)
    with monkeypatch.context() as patch:
        patch.setattr(metastore, "erase_line", lambda self, line: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            grown.purge_branch("dev")
    assert not erased(dev)
    [marked] = [one for one in _ref_log(grown) if one.operations[0].type == "purge"]
    assert grown.purge_branch("dev").id == marked.id
    assert erased(dev)
    assert grown.purge_branch("dev", id=dev._line.ref.line.id).id == marked.id


def _ref_log(catalog):
    return catalog._line.refs("log").read().reader.log().items


def test_a_branch_on_which_others_hang_is_not_purged(grown, unchanged):
    """P20: children, dropped ones too, tags and shares are named; once they are purged it can be."""
    dev = grown.create_branch("dev")
    child = dev.create_branch("child")
    dev.create_tag("q4")
    dev.create_share("partner", ["sales"])
    child_version = child.version
    grown.drop_branch("child")
    grown.drop_branch("dev")
    with unchanged(), pytest.raises(Invalid, match="branch child, share partner, tag q4"):
        grown.purge_branch("dev")
    assert child.at(child_version).table_exists("sales.orders")
    for drop in (lambda: grown.drop_tag("q4"), lambda: grown.drop_share("partner")):
        drop()
    for purge in (
        lambda: grown.purge_tag("q4"),
        lambda: grown.purge_share("partner"),
        lambda: grown.purge_branch("child"),
    ):
        with pytest.raises(Invalid, match="depend on"):
            grown.purge_branch("dev")
        purge()
    grown.purge_branch("dev")


def test_only_a_dropped_branch_is_undropped_or_purged(grown, unchanged):
    grown.create_branch("dev")
    for call, error in ((grown.undrop_branch, NotFound), (grown.purge_branch, Invalid)):
        with unchanged(), pytest.raises(error, match="dropped"):
            call("dev")
        with unchanged(), pytest.raises(NotFound):
            call("nothing")
        with unchanged(), pytest.raises(NotFound):
            call("dev", id="00000000-0000-4000-8000-000000000000")
        with unchanged(), pytest.raises(Invalid):
            call("dev", id=17)


@pytest.mark.parametrize("name", ["main", "MAIN"])
def test_the_trunk_is_neither_renamed_nor_dropped(grown, unchanged, name):
    calls = [
        lambda: grown.rename_branch(name, "other"),
        lambda: grown.drop_branch(name),
        lambda: grown.undrop_branch(name),
        lambda: grown.purge_branch(name),
    ]
    for call in calls:
        with unchanged(), pytest.raises(Invalid, match="trunk"):
            call()
    grown.create_branch("dev")
    with unchanged(), pytest.raises(AlreadyExists):
        grown.rename_branch("dev", name)


def test_a_dropped_branch_can_be_forked_in_its_past(grown):
    """Nothing is lost until it is purged: what it held can be had again under another name."""
    dev = grown.create_branch("dev")
    dev.table("sales.orders").append(numbers(10))
    past, seen = dev.at(dev.version), picture(dev)
    grown.drop_branch("dev")
    again = past.create_branch("again")
    past.create_tag("kept")
    assert picture(again) == seen
    with pytest.raises(Invalid, match="branch again, tag kept"):
        grown.purge_branch("dev")


def test_a_purge_and_a_fork_of_the_same_branch_do_not_both_succeed(grown, monkeypatch):
    """The fork comes after the purge has looked for children, and before it commits."""
    dev = grown.create_branch("dev")
    past = dev.at(grown._line.context.metastore.newest())
    grown.drop_branch("dev")
    found, metastore = [], type(grown._line.context.metastore)
    look = metastore.forks

    def forks(self, parent, **options):
        answer = look(self, parent, **options)
        if not found:
            found.append(past.create_branch("late"))
        return answer

    monkeypatch.setattr(metastore, "forks", forks)
    with pytest.raises(Invalid, match="branch late"):
        grown.purge_branch("dev")
    assert rows(found[0].table("sales.orders")) == [0]


@pytest.mark.parametrize(
    "make",
    [
        lambda dev: dev.create_branch("new"),
        lambda dev: dev.create_tag("new"),
        lambda dev: dev.create_share("new", ["sales"]),
    ],
    ids=["branch", "tag", "share"],
)
def test_nothing_is_made_of_a_branch_that_is_dropped_meanwhile(grown, monkeypatch, make):
    """The drop comes after the call has looked at the branch, and before it commits."""
    dev = grown.create_branch("dev")
    metastore, dropped = type(grown._line.context.metastore), []
    commit = metastore.commit

    def late(self, change):
        if not dropped:
            dropped.append("dev")
            grown.drop_branch("dev")
        return commit(self, change)

    monkeypatch.setattr(metastore, "commit", late)
    with pytest.raises(NotFound, match="dropped"):
        make(dev)
    assert ([one.ref for one in grown.branches()], grown.tags(), grown.shares()) == (["main"], [], [])
