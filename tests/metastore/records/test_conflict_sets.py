"""Commits to unrelated objects share no key: neither reads or writes what the other writes. Related ones do."""

from itertools import combinations

import pytest

from lakebed.metastore import RecordsMetastore, life, new_id
from lakebed.metastore.change import AttributeRead, DataRead, ListingRead, NameRead
from lakebed.records import records_pb2 as pb
from lakebed.records.layout import Attribute
from lakebed.store import MemoryStore
from lakebed.testing.metastore.writer import RECORDS, Writer, root_partition, trunk
from tests.support.faults import RecordingStore

pytestmark = pytest.mark.sampled(4)


@pytest.fixture
def store():
    return RecordingStore(MemoryStore())


@pytest.fixture
def writer(store):
    return Writer(RecordsMetastore(store), trunk())


def meet(store, one, other):
    """Whether two commits would have disturbed each other: what either reads or writes, the other writes."""
    recorded = []
    for work in (one, other):
        store.commits.clear()
        work()
        [commit] = store.commits
        recorded.append(commit)
    return recorded[0].meets(recorded[1])


def everything(writer, namespace, table, dropped, name):
    """Every kind of change to one table in one namespace."""
    return {
        "create": lambda: writer.table(name, namespace),
        "rename": lambda: writer.rename(table, f"{name} renamed"),
        "properties": lambda: writer.set(table, 1),
        "schema": lambda: writer.write(table, Attribute.SCHEMA, 1),
        "append": lambda: writer.append(table, 1),
        "overwrite": lambda: writer.append(table, 1, reads=(DataRead(root_partition(table)),)),
        "body": lambda: writer.commit(bodies={(table, "schema", 1): b"body"}),
        "ref": lambda: writer.write(table, Attribute.REF, 1),
        "list": lambda: writer.commit(reads=(ListingRead(namespace), NameRead(namespace, name))),
        "drop": lambda: writer.drop(table),
        "undrop": lambda: writer.undrop(dropped),
    }


def place(writer, namespace, mark):
    table, dropped = writer.table(f"t {mark}", namespace), writer.table(f"gone {mark}", namespace)
    writer.append(table)
    writer.drop(dropped)
    return table, dropped


KINDS = list(everything(*[None] * 5))


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_changes_in_two_namespaces_share_no_key(store, writer, first, second):
    changes = []
    for mark in "ab":
        namespace = writer.namespace(mark)
        changes.append(everything(writer, namespace, *place(writer, namespace, mark), f"new {mark}"))
    assert not meet(store, changes[0][first], changes[1][second])


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_changes_of_two_tables_in_one_namespace_meet_only_in_its_listing(store, writer, first, second):
    namespace = writer.namespace("n")
    one = everything(writer, namespace, *place(writer, namespace, "a"), "new a")
    other = everything(writer, namespace, *place(writer, namespace, "b"), "new b")
    names = {"create", "rename", "drop", "undrop"}
    listed = (first == "list" and second in names) or (second == "list" and first in names)
    store.commits.clear()
    one[first]()
    other[second]()
    earlier, later = store.commits
    assert (earlier.reads.meets(later.written) or later.reads.meets(earlier.written)) == listed


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("body", "append", "overwrite", "ref")])
def test_the_same_change_on_two_branches_shares_no_key(store, writer, kind):
    namespace = writer.namespace("n")
    table, dropped = place(writer, namespace, "a")
    branches = [writer.fork(), writer.fork(), writer.fork()]
    changes = [everything(branch, namespace, table, dropped, "new") for branch in branches]
    assert not meet(store, changes[0][kind], changes[1][kind])
    trunks = everything(writer, namespace, table, dropped, "new")
    assert not meet(store, trunks[kind], lambda: branches[2].set(table, 2))


def test_appends_on_two_branches_meet_only_in_the_ids_that_lines_share(store, writer):
    table = writer.table("t")
    branches = [writer.fork(), writer.fork()]
    store.commits.clear()
    for branch in branches:
        branch.append(table)
    one, other = store.commits
    shared = set(one.written.keys) & set(other.written.keys)
    assert len(shared) == 2, "the next snapshot id and the next row id"


def test_unrelated_catalogs_share_no_key(store, writer):
    stranger = Writer(writer.metastore, trunk())
    assert not meet(store, lambda: writer.table("t"), lambda: stranger.table("t"))


@pytest.mark.parametrize("deep", [1, 3])
def test_related_changes_share_a_key(store, writer, deep):
    path = [writer.namespace("n0")]
    for number in range(1, deep):
        path.append(writer.namespace(f"n{number}", path[-1]))
    table = writer.table("t", path[-1])
    related = [
        (lambda: writer.append(table), lambda: writer.append(table)),
        (lambda: writer.set(table, 1), lambda: writer.set(table, 2)),
        (lambda: writer.set(table, 3), lambda: writer.commit(reads=(AttributeRead(table, Attribute.PROPERTIES),))),
        (lambda: writer.table("a", path[-1]), lambda: writer.commit(reads=(ListingRead(path[-1]),))),
        (lambda: writer.table("b", path[-1]), lambda: writer.commit(reads=(NameRead(path[-1], "B"),))),
        (lambda: writer.table("c", path[-1]), lambda: writer.drop(path[0])),
        (lambda: writer.undrop(path[0]), lambda: writer.append(table)),
        (lambda: writer.set(table, 4), lambda: writer.drop(table)),
    ]
    for one, other in related:
        assert meet(store, one, other)


def test_two_creators_of_one_name_share_a_key(store, writer):
    store.commits.clear()
    first = writer.table("a")
    writer.drop(first)
    writer.create(pb.VIEW, "A")
    assert all(one.meets(other) for one, other in combinations(store.commits, 2))


def test_a_thousand_children_are_no_part_of_a_create(store, writer):
    """The conflict set of a create does not grow with what is there."""
    sizes = []
    for count in (1, 1000):
        writer.commit(lives={new_id(): life(pb.TABLE, writer.line.top, f"{count} {number}") for number in range(count)})
        store.commits.clear()
        writer.table(f"new {count}")
        [commit] = store.commits
        sizes.append((len(commit.reads.keys), len(list(commit.reads.ranges)), len(commit.written.keys)))
    assert sizes[0] == sizes[1]


def test_a_property_change_writes_its_own_two_rows_and_the_log(store, writer):
    """P4: the current row and the history row; the commit, its place in the log, and the table's commit."""
    table = writer.table("t")
    for attribute in RECORDS:
        store.commits.clear()
        writer.write(table, attribute, 1)
        [commit] = store.commits
        assert len(commit.written.keys) == (6 if attribute is Attribute.REF else 5)


CHECKPOINTS = ["begin", "put", "put with an intent", "put again", "abandon", "end", "drop"]


@pytest.mark.parametrize("step", CHECKPOINTS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_commit_meets_what_is_done_to_a_checkpoint(store, writer, kind, step):
    """Of the same table, on its line and on a branch: neither makes the other run again."""
    namespace = writer.namespace("n")
    table, dropped = place(writer, namespace, "a")
    version, partition = writer.append(table).version, root_partition(table)
    metastore, line = writer.metastore, writer.line.id
    intent = metastore.begin_checkpoint(line, partition, ["a"])
    if step in ("put again", "drop"):
        writer.checkpoint(table, version)
    steps = {
        "begin": lambda: metastore.begin_checkpoint(line, partition, ["b"]),
        "put": lambda: writer.checkpoint(table, version),
        "put with an intent": lambda: writer.checkpoint(table, version, intent=intent),
        "put again": lambda: writer.checkpoint(table, version, files=2),
        "abandon": lambda: metastore.abandon_checkpoint(intent),
        "end": lambda: metastore.end_checkpoint(intent),
        "drop": lambda: metastore.drop_checkpoint(line, partition, version),
    }
    branch = writer.fork()
    store.commits.clear()
    steps[step]()
    for one in (writer, branch):
        everything(one, namespace, table, dropped, "new")[kind]()
    done, *commits = store.commits
    assert len(commits) == 2
    assert not any(done.meets(commit) for commit in commits)


def test_two_checkpoints_of_one_place_meet_and_those_of_two_places_do_not(store, writer):
    table = writer.table("t")
    versions = [writer.append(table).version for _ in range(2)]
    assert meet(store, lambda: writer.checkpoint(table, versions[0]), lambda: writer.checkpoint(table, versions[0], 2))
    assert not meet(
        store, lambda: writer.checkpoint(table, versions[0], 3), lambda: writer.checkpoint(table, versions[1])
    )
