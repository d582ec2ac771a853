"""How two states came apart: the base, and the commits of both sides, against a plain search of the graph."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakebed import connect
from lakebed.catalog.merge import logs
from lakebed.catalog.merge.merge_base import Head, divergence, touched
from lakebed.catalog.refs.catalogs import open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.lake.lake import Lake
from lakebed.metastore import RecordsMetastore
from lakebed.store import MemoryStore

NOTHING = pa.table({"id": pa.array([], pa.int64())})


class Graph:
    """Commits as a plain graph: each with its parents, by version."""

    def __init__(self, lake):
        self.lake = lake
        self.lines = [lake.catalog()]
        self.parents = {}
        self.heads = [None]

    def commit(self, line):
        made = self.lines[line].set_properties({"n": str(len(self.parents))})
        self.parents[made.version] = [self.heads[line]]
        self.heads[line] = made.version

    def branch(self, line):
        self.lines.append(self.lines[line].create_branch(f"b{len(self.lines)}"))
        self.heads.append(self.heads[line])

    def merge(self, line, other):
        if line != other:
            made = self.lines[line].merge(self.lines[other], strategy="theirs").commit
            if made is not None:
                self.parents[made.version] = [self.heads[line], self.heads[other]]
                self.heads[line] = made.version

    def reset(self, line, back):
        way = sorted(one for one in self.reach(self.heads[line]) if one is not None)
        if way:
            target = way[-1 - back % len(way)]
            if target in [one.version for one in self.lines[line].log()]:
                made = self.lines[line].reset(target)
                self.parents[made.version] = [target]
                self.heads[line] = made.version

    def reach(self, version):
        found, waiting = set(), [version]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.parents.get(one, [])
        return found


STEPS = st.lists(
    st.tuples(st.sampled_from(["commit", "branch", "merge", "reset"]), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=20,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, remembered=st.sampled_from([0, 3, 2_000]))
def test_the_base_and_the_sides_are_those_of_the_graph(steps, remembered, tmp_path):
    with MemoryStore() as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "REMEMBERED", remembered)
        graph = Graph(opened(store, tmp_path))
        for what, one, other in steps:
            line, second = one % len(graph.lines), other % len(graph.lines)
            match what:
                case "commit":
                    graph.commit(line)
                case "branch" if len(graph.lines) < 5:
                    graph.branch(line)
                case "merge":
                    graph.merge(line, second)
                case "reset":
                    graph.reset(line, other)
        for one in range(len(graph.lines)):
            for other in range(len(graph.lines)):
                compare(graph, one, other)


def compare(graph, one, other):
    context, newest = graph.lake._context, graph.lake._context.metastore.newest()
    ours, theirs = (Head(graph.lines[line]._line.ref, newest) for line in (one, other))
    found = divergence(context, ours, theirs)
    mine, other_side = graph.reach(graph.heads[one]), graph.reach(graph.heads[other])
    common = [version for version in mine & other_side if version is not None]
    base = max(common, default=None)
    if base is not None:
        assert found.base.version == base
    below = graph.reach(base)
    assert {commit.version for commit in found.ours} == mine - below - {None}
    assert {commit.version for commit in found.theirs} == other_side - below - {None}


def opened(store, folder):
    metastore = RecordsMetastore(store)
    project = open_project(metastore, "default", "ada")
    return Lake(Context(metastore, LocalFiles(folder), Bodies(metastore), project, "ada"))


def test_objects_are_touched_in_the_order_of_their_first_commits(tmp_path):
    with MemoryStore() as store:
        main = opened(store, tmp_path).catalog()
        start = main.create_branch("start")
        namespace, table = main.create_namespace("n"), main.create_table("n.t", {"id": "long"})
        table.append(NOTHING)
        newest = main._line.context.metastore.newest()
        found = divergence(main._line.context, Head(start._line.ref, newest), Head(main._line.ref, newest))
        assert touched(found.theirs) == [namespace.id, table.id]
        assert found.ours == ()
        assert found.base.version < main.log()[-1].version


@pytest.mark.parametrize("count", [0, 1, 450])
def test_long_sides_are_walked_whole(tmp_path, count):
    with MemoryStore() as store:
        main = opened(store, tmp_path).catalog()
        main.create_namespace("n")
        dev = main.create_branch("dev")
        for number in range(count):
            dev.set_properties({"n": str(number)})
        newest = main._line.context.metastore.newest()
        found = divergence(main._line.context, Head(main._line.ref, newest), Head(dev._line.ref, newest))
        assert (len(found.ours), len(found.theirs)) == (0, count)


def test_a_merge_takes_as_many_reads_after_many_merges_of_its_branch(tmp_path, monkeypatch):
    # What it did: a merge asked twice for each earlier one: 83 ms became 231 ms over 600 merges.
    with connect(tmp_path / "lake") as lake:
        main = lake.catalog()
        dev = main.create_branch("dev")
        store, asked = lake._context.metastore._store, []
        read = store.read
        monkeypatch.setattr(store, "read", lambda *arguments: asked.append(None) or read(*arguments))
        counts = []
        for number in range(40):
            dev.set_properties({"n": str(number)})
            asked.clear()
            assert main.merge(dev).commit is not None
            counts.append(len(asked))
        assert counts[-1] <= counts[4] + 2


def test_a_merge_takes_as_many_reads_after_many_merges_of_other_branches(tmp_path, monkeypatch):
    # What it did: a merge of a branch asked three times for each branch that was merged since it had forked.
    with connect(tmp_path / "lake") as lake:
        main = lake.catalog()
        old = main.create_branch("old")
        old.set_properties({"old": "yes"})
        store, asked = lake._context.metastore._store, []
        read = store.read
        monkeypatch.setattr(store, "read", lambda *arguments: asked.append(None) or read(*arguments))
        counts = []
        for number in range(30):
            branch = main.create_branch(f"b{number}")
            branch.set_properties({"n": str(number)})
            main.merge(branch)
            asked.clear()
            main.merge(old, dry_run=True)
            counts.append(len(asked))
        assert counts[-1] <= counts[4] + 2
