"""Editions and streams beside a model of them: on a branch and its parent, with merges, drops and time travel."""

import copy
from itertools import count

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lakebed
from lakebed.errors import Conflict, Invalid

NAMES = ("2", "3")


class Model:
    """What a branch has: the rows of each edition and staged stream, and which edition is active."""

    def __init__(self):
        self.rows = {"1": {0}}
        self.active = "1"
        self.staged = {}  # by stream id: edition, rows, and the edition's rows when it was staged
        self.swaps = {"1": 0}
        self.had = {0}  # every row that was ever shown

    def copy(self):
        return copy.deepcopy(self)


def rows_of(ids):
    return pa.table({"id": pa.array(sorted(ids), pa.int64())})


class LevelsMachine(RuleBasedStateMachine):
    """Every rule is made on the lake and on the model; after each, all branches and some past are compared."""

    @initialize()
    def begin(self):
        self.lake = lakebed.connect(self.folder(), author="ann")
        self.ids = count(1)
        self.names = count(1)
        main = self.lake.catalog()
        main.create_table("t", {"id": "long"}).append(rows_of([0]))
        self.lines = {"main": main}
        self.models = {"main": Model()}
        self.base = None
        self.past = []

    def folder(self):
        return FOLDER.mktemp("levels") / "lake"

    def table(self, line):
        return self.lines[line].table("t")

    def line(self, wanted):
        return "dev" if wanted and "dev" in self.lines else "main"

    @rule(dev=st.booleans(), name=st.sampled_from(NAMES))
    def create(self, dev, name):
        line = self.line(dev)
        if name in self.models[line].rows:
            with pytest.raises(lakebed.AlreadyExists):
                self.table(line).create_edition(name)
            return
        self.table(line).create_edition(name)
        self.models[line].rows[name], self.models[line].swaps[name] = set(), 0

    @rule(dev=st.booleans(), place=st.integers(0, 9), by_table=st.booleans())
    def append(self, dev, place, by_table):
        line, row = self.line(dev), next(self.ids)
        model = self.models[line]
        name = model.active if by_table else sorted(model.rows)[place % len(model.rows)]
        table = self.table(line)
        (table if by_table else table.edition(name)).append(rows_of([row]))
        model.rows[name].add(row)
        model.had.add(row)

    @rule(dev=st.booleans(), place=st.integers(0, 9))
    def delete(self, dev, place):
        line = self.line(dev)
        model = self.models[line]
        name = sorted(model.rows)[place % len(model.rows)]
        if model.rows[name]:
            gone = min(model.rows[name])
            self.table(line).edition(name).delete(f"id = {gone}")
            model.rows[name].discard(gone)

    @rule(dev=st.booleans(), place=st.integers(0, 9))
    def activate(self, dev, place):
        line = self.line(dev)
        model = self.models[line]
        name = sorted(model.rows)[place % len(model.rows)]
        self.remember(line)
        self.table(line).activate(name)
        model.active = name

    @rule(dev=st.booleans(), place=st.integers(0, 9))
    def drop_and_perhaps_undrop(self, dev, place):
        line = self.line(dev)
        model = self.models[line]
        name = sorted(model.rows)[place % len(model.rows)]
        if name == model.active:
            with pytest.raises(Invalid):
                self.table(line).drop_edition(name)
            return
        [own] = [one.id for one in self.table(line).editions() if one.name == name]
        self.table(line).drop_edition(name)
        if place % 2:
            self.table(line).undrop_edition(name, own)  # several of this name may have been dropped
            return
        del model.rows[name]
        model.staged = {stream: one for stream, one in model.staged.items() if one[0] != name}

    @rule(dev=st.booleans(), place=st.integers(0, 9))
    def stage(self, dev, place):
        line, row = self.line(dev), next(self.ids)
        model = self.models[line]
        name = sorted(model.rows)[place % len(model.rows)]
        stream = self.table(line).edition(name).stage_stream()
        stream.append(rows_of([row]))
        model.staged[stream.stream_id] = name, {row}, set(model.rows[name])

    @precondition(lambda self: any(model.staged for model in self.models.values()))
    @rule(dev=st.booleans(), place=st.integers(0, 9), has_seen=st.booleans())
    def commit(self, dev, place, has_seen):
        line = self.line(dev)
        model = self.models[line]
        if not model.staged:
            return
        stream = list(model.staged)[place % len(model.staged)]  # not by their ids, which are random
        name, rows, then = model.staged[stream]
        table = self.table(line).edition(name)
        try:
            table.stream(stream).commit(seen=self.lines[line].version if has_seen else None)
        except Conflict:
            assert not has_seen
            return
        # Rows may have come and gone again: then it is a Conflict, though they are as they were.
        assert has_seen or model.rows[name] == then
        del model.staged[stream]
        model.rows[name] = set(rows)
        model.had |= rows
        model.swaps[name] += 1

    @precondition(lambda self: "dev" not in self.lines)
    @rule()
    def fork(self):
        self.lines["dev"] = self.lines["main"].create_branch(f"dev{next(self.names)}")
        self.models["dev"] = self.models["main"].copy()
        self.base = self.models["main"].copy()

    @precondition(lambda self: "dev" in self.lines)
    @rule()
    def merge(self):
        ours, theirs, base = self.models["main"], self.models["dev"], self.base
        try:
            self.lines["main"].merge(self.lines["dev"])
        except Conflict:
            assert vars(ours) != vars(base), "nothing conflicts with a side that did nothing"
        else:
            for name in theirs.rows.keys() - ours.rows.keys() - base.rows.keys():
                ours.rows[name], ours.swaps[name] = set(theirs.rows[name]), theirs.swaps[name]
            for name in base.rows.keys() - theirs.rows.keys() & ours.rows.keys():
                ours.rows.pop(name, None)
            for name in ours.rows.keys() & theirs.rows.keys() & base.rows.keys():
                # Both may have committed one staged stream; what either deleted of it since is gone.
                came, gone = theirs.rows[name] - ours.had, theirs.had - theirs.rows[name]
                ours.rows[name] = (ours.rows[name] | came) - gone
            ours.had |= theirs.had
            ours.active = ours.active if theirs.active == base.active else theirs.active
            ours.staged = {
                stream: one
                for stream, one in (theirs.staged | ours.staged).items()
                if one[0] in ours.rows
                and (stream in ours.staged or stream not in base.staged)
                and (stream in theirs.staged or stream not in base.staged)
            }
        del self.lines["dev"], self.models["dev"]

    def remember(self, line):
        table = self.table(line)
        model = self.models[line]
        self.past = [*self.past[-2:], (self.lines[line].at(version=table.version), set(model.rows[model.active]))]

    @invariant()
    def all_is_as_the_model_says(self):
        for line, model in getattr(self, "models", {}).items():
            table = self.table(line)
            assert ids(table) == model.rows[model.active]
            shown = {one.name: one for one in table.editions()}
            assert shown.keys() == model.rows.keys()
            assert [name for name, one in shown.items() if one.state == "active"] == [model.active]
            for name, rows in model.rows.items():
                edition = table.edition(name)
                assert (ids(edition), shown[name].rows) == (rows, len(rows))
                staged = {one.id for one in edition.streams() if one.state == "staged"}
                assert staged == {stream for stream, one in model.staged.items() if one[0] == name}
                assert all(ids(edition.stream(stream)) == model.staged[stream][1] for stream in staged)
        for then, rows in getattr(self, "past", ()):
            assert ids(then.table("t")) == rows

    def teardown(self):
        if hasattr(self, "lake"):
            assert self.lake.check() == []
            self.lake.close()


def ids(table):
    return set(table.scan().to_arrow()["id"].to_pylist())


FOLDER = None


@pytest.fixture(autouse=True)
def folder(tmp_path_factory):
    global FOLDER
    FOLDER = tmp_path_factory


def run(**how):
    machine = type("Run", (LevelsMachine,), {})
    test = machine.TestCase
    test.settings = settings(deadline=None, suppress_health_check=list(HealthCheck), **how)
    test("runTest").runTest()


def test_editions_and_streams_are_what_a_model_says():
    run(max_examples=6, stateful_step_count=25, derandomize=True)


@pytest.mark.long
def test_editions_and_streams_are_what_a_model_says_for_long():
    run(max_examples=40, stateful_step_count=40)
