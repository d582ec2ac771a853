"""The whole catalog beside a pure model: whatever is done on whatever line, every version shows what the model says."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lakebed import AlreadyExists, Conflict, Invalid, Lake, NotFound
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records.check.check import check
from lakebed.store import MemoryStore
from tests.support.catalog import model
from tests.support.catalog.history import ROOT, History
from tests.support.catalog.merge_model import merge
from tests.support.catalog.model import NAMESPACE, TABLE, VIEW, Refused, State
from tests.support.catalog.steps import COLUMNS, EVOLUTIONS, PARTS, PICK, STEPS, Deed, Step, picked
from tests.support.examples import examples

MOST_LINES = 6


def agree(do, of_model):
    """Do it to the catalog and to the model: both allow it and the new state is answered, or both refuse it."""
    try:
        made, error = do(), None
    except (AlreadyExists, Invalid, NotFound) as refusal:
        made, error = None, refusal
    try:
        after = of_model(made)
    except Refused:
        assert error is not None, "the catalog allowed what the model refuses"
        return None
    assert error is None, f"the catalog refused what the model allows: {error}"
    return after


def picture_of(state: State):
    """What a state shows."""
    found = {
        one.id: (one.kind, state.name(one.id), one.properties, one.columns, sorted(one.rows), one.sql)
        for one in state.alive(NAMESPACE, TABLE, VIEW)
    }
    return {**found, "": state.things[state.top].properties}


def picture(line):
    """The same of the catalog: by listings, and by name."""
    found = {}
    for one in line.namespaces(recursive=True):
        found[one.id] = (NAMESPACE, one.name, one.properties, {}, [], None)
    for one in line.views(recursive=True):
        found[one.id] = (VIEW, one.name, one.properties, {}, [], one.sql_for("spark"))
    for one in line.tables(recursive=True):
        columns = {column.id: column.name for column in one.schema.fields}
        found[one.id] = (TABLE, one.name, one.properties, columns, rows(one, columns[1]), None)
    for id, (kind, name, *_) in found.items():
        assert getattr(line, kind)(name.upper()).id == id
    return {**found, "": line.properties}


def rows(table, column):
    return sorted(table.scan(columns=[column]).to_arrow()[column].to_pylist())


def dropped_ids(state: State):
    return sorted(one.id for one in state.things.values() if one.dropped)


class CatalogMachine(RuleBasedStateMachine):
    """Lines by name, beside their history in the model; tags; and branches that were dropped."""

    @initialize(names=st.permutations(["t", "u", "v"]))
    def open(self, names):
        self.folder = tempfile.mkdtemp()
        self.store = MemoryStore()
        self.metastore = RecordsMetastore(self.store)
        project = open_project(self.metastore, DEFAULT, "ada")
        self.lake = Lake(Context(self.metastore, LocalFiles(Path(self.folder)), Bodies(self.metastore), project, "ada"))
        main = self.lake.catalog()
        self.lines = {"main": main}
        self.history = History("main", model.empty(main._owner))
        self.first = self.newest()
        self.dropped, self.tags, self.row, self.steps, self.seen = {}, {}, 0, 0, {}
        for place, kind in ((("a",), NAMESPACE), (("a", "b"), NAMESPACE), (("a", names[0]), TABLE), (("c",), VIEW)):
            self.change(0, Step("create", kind, 1, place[-1], place, "x"), place)
        self.change(0, Step("append", TABLE, 1, "a", ("a",), "x"))

    def newest(self):
        return int(self.metastore.newest())

    def pick_line(self, pick):
        name = picked(sorted(self.lines), pick)
        return name, self.lines[name]

    def pick_version(self, name, pick):
        """A version of a line's past, of its ancestors' too, or one at which something else happened."""
        versions = [*self.history.log(name, self.newest()), self.first]
        return picked(versions, pick)

    def pick_commit(self, pick):
        """A commit that some line shows."""
        versions = sorted({one for line in self.lines for one in self.history.log(line, self.newest())}, reverse=True)
        return picked(versions, pick)

    def committed(self, name, state, parents=None):
        """One call is one commit, or none if it changes nothing; the model has it from now on."""
        commits = self.lines[name].log(limit=2)
        newest = int(commits[0].version) if commits else ROOT
        if parents is None and newest == self.history.head(name):
            assert state == self.history.state(name), "it was committed"
            return
        assert newest > self.history.head(name), "it was committed"
        assert self.history.head(name) in (ROOT, *(int(one.version) for one in commits[1:])), "by one commit"
        self.history.add(name, newest, state, parents)

    # One line

    @rule(pick=PICK, step=STEPS)
    def change(self, pick, step, place=None):
        name, line = self.pick_line(pick)
        self.row += 1
        deed = Deed(line, self.history.state(name), step, self.row)
        deed.name = place or deed.name
        after = agree(deed.do, deed.model)
        if after is not None:
            self.committed(name, after)

    @rule(pick=PICK, key=COLUMNS, value=st.none() | PARTS)
    def set_catalog_property(self, pick, key, value):
        name, line = self.pick_line(pick)
        state = self.history.state(name)
        if value is None:
            line.unset_properties([key])
        else:
            line.set_properties({key: value})
        self.committed(name, model.put_property(state, state.top, key, value))

    @rule(pick=PICK, steps=st.lists(STEPS, max_size=5), fails=st.booleans())
    def transact(self, pick, steps, fails):
        """Steps that are refused inside are left out; all of it is if the transaction fails, or may not end so."""
        name, line = self.pick_line(pick)
        state = self.history.state(name)
        working, changed, moved = state, set(), set()
        tx = line.transaction("steps")
        tx.__enter__()
        for step in steps:
            self.row += 1
            deed = Deed(tx, working, step, self.row)
            after = agree(deed.do, deed.model)
            if after is not None:
                (moved if step.what in ("rename", "move", "undrop") else changed).update(touched_by(deed, after))
                working = dropped_where_it_was(state, after)
        assert picture(tx) == picture_of(working), "a transaction sees what it did"
        dead = {one for one in changed | moved if one in state.things and not working.is_alive(one)}
        is_doomed = any(one in changed or not working.things[one].dropped for one in dead)
        if fails:
            tx.__exit__(Refused, Refused(), None)
        elif is_doomed:
            with pytest.raises(Invalid, match="changes an object and drops it"):
                tx.__exit__(None, None, None)
        else:
            tx.__exit__(None, None, None)
            self.committed(name, without_stillborn(state, working))
            return

    # Refs

    @precondition(lambda self: len(self.lines) < MOST_LINES)
    @rule(pick=PICK, moment=st.none() | PICK)
    def branch(self, pick, moment):
        name, line = self.pick_line(pick)
        if self.history.depth(name) == 3:
            return
        fork = f"line {len(self.history.lines)}"
        version = self.newest() if moment is None else self.pick_version(name, moment)
        self.lines[fork] = line.create_branch(fork, None if moment is None else version)
        self.history.fork(fork, name, version)

    @precondition(lambda self: len(self.lines) > 2)
    @rule(pick=PICK)
    def drop_branch(self, pick):
        name, line = self.pick_line(pick)
        if name == "main":
            return
        self.lines["main"].drop_branch(name)
        with pytest.raises(NotFound):
            line.tables()
        self.dropped[name] = self.lines.pop(name)

    @precondition(lambda self: self.dropped)
    @rule(pick=PICK)
    def undrop_branch(self, pick):
        name = picked(sorted(self.dropped), pick)
        self.lines["main"].undrop_branch(name)
        self.lines[name] = self.dropped.pop(name)

    @precondition(lambda self: len(self.tags) < 4)
    @rule(pick=PICK, moment=st.none() | PICK)
    def tag(self, pick, moment):
        name, line = self.pick_line(pick)
        version = self.newest() if moment is None else self.pick_version(name, moment)
        tag = f"tag {len(self.tags)}"
        line.create_tag(tag, None if moment is None else version)
        self.tags[tag] = (name, version)

    # Several lines

    def source(self, pick, moment):
        """A line, a line at a version, or a tag: its handle, and where it is in the model."""
        name, line = self.pick_line(pick)
        if moment is None:
            return line, name, self.newest()
        if self.tags and moment % 5 == 0:
            tag = picked(sorted(self.tags), moment)
            return self.lines["main"].tag(tag), *self.tags[tag]
        version = self.pick_version(name, moment)
        return line.at(version=version), name, version

    @rule(pick=PICK, other=PICK, moment=st.none() | PICK, strategy=st.sampled_from(["fail", "fail", "ours", "theirs"]))
    def merge(self, pick, other, moment, strategy):
        name, line = self.pick_line(pick)
        source, theirs, version = self.source(other, moment)
        if theirs == name:
            with pytest.raises(Invalid):
                line.merge(source, strategy=strategy)
            return
        ours_head, theirs_head = self.history.head(name), self.history.head(theirs, version)
        if theirs_head in self.history.ancestors(ours_head):
            assert line.merge(source, strategy=strategy).commit is None
            return
        merged = merge(self.history.sides(ours_head, theirs_head), strategy)
        found = line.merge(source, strategy=strategy, dry_run=True)
        assert bool(found.conflicts) is not merged.is_fine, (merged.conflicts, merged.tangled, found.conflicts)
        if merged.tangled and strategy != "fail":
            self.try_out(line, source, strategy)
            return
        conflicts = conflicts_of(lambda: line.merge(source, strategy=strategy))
        assert conflicts == (found.conflicts if strategy == "fail" else ())
        if not conflicts:
            self.committed(name, merged.state, (ours_head, theirs_head))

    def try_out(self, line, source, strategy):
        """What the model can't foretell is done beside: it comes to something whole, and is done then."""
        beside = line.create_branch("beside")
        assert beside.merge(source, strategy=strategy).commit is not None
        picture(beside)
        assert beside.merge(source, strategy=strategy).commit is None
        line.drop_branch("beside")
        line.purge_branch("beside")

    @rule(pick=PICK, which=PICK)
    def cherry_pick(self, pick, which):
        name, line = self.pick_line(pick)
        version = self.pick_commit(which)
        self.apply(name, lambda: line.cherry_pick(self.event_id(version)), self.history.picked(name, version))

    @rule(pick=PICK, which=PICK)
    def revert(self, pick, which):
        name, line = self.pick_line(pick)
        version = self.pick_commit(which)
        if version not in self.history.ancestors(self.history.head(name)):
            with pytest.raises(Invalid):
                line.revert(self.event_id(version))
            return
        self.apply(name, lambda: line.revert(self.event_id(version)), self.history.reverted(name, version))

    def event_id(self, version):
        for line in self.lines.values():
            for commit in line.log():
                if int(commit.version) == version:
                    return commit.id
        raise AssertionError(version)

    def apply(self, name, do, sides):
        merged = merge(sides)
        conflicts = conflicts_of(do)
        assert bool(conflicts) is not merged.is_fine, (merged.conflicts, merged.tangled, conflicts)
        if merged.is_fine:
            self.committed(name, merged.state)

    @rule(pick=PICK, moment=PICK)
    def reset(self, pick, moment):
        name, line = self.pick_line(pick)
        version = self.pick_version(name, moment)
        target = self.history.head(name, version)
        line.reset(version)
        state = model.reset(self.history.state(name), self.history.state(name, version))
        self.committed(name, state, (target,))

    @rule(pick=PICK, which=PICK, moment=PICK)
    def restore_table(self, pick, which, moment):
        name, line = self.pick_line(pick)
        version = self.pick_version(name, moment)
        now, then = self.history.state(name), self.history.state(name, version)
        parts = {state.parts(one.id) for state in (now, then) for one in state.alive(TABLE)}
        table = picked(sorted(parts) or [("t",)], which)
        after = agree(lambda: line.restore_table(table, version), lambda _: model.restore(now, then, table))
        if after is not None:
            self.committed(name, after)

    # What is seen

    @invariant()
    def every_line_shows_what_the_model_says(self):
        """Lines on which something happened, one of the others, and a version of its past: each in its turn."""
        lines = sorted(getattr(self, "lines", ()))
        heads = {name: self.history.head(name) for name in lines}
        for turn, name in enumerate(lines):
            if heads[name] != self.seen.get(name) or turn == self.steps % len(lines):
                self.compare(name)
        if lines:
            name = lines[self.steps % len(lines)]
            versions = [*self.history.log(name, self.newest()), self.first]
            self.compare_at(name, versions[self.steps // len(lines) % len(versions)])
            self.seen, self.steps = heads, self.steps + 1

    def compare_the_past(self):
        """Every version of every line that is there."""
        for name in sorted(self.lines):
            for version in [*self.history.log(name, self.newest()), self.first]:
                self.compare_at(name, version)

    def compare(self, name):
        line, state = self.lines[name], self.history.state(name)
        assert picture(line) == picture_of(state)
        ids = line.inspect("__dropped", where="kind in ('namespace', 'table', 'view')")["id"].to_pylist()
        assert sorted(ids) == dropped_ids(state)
        assert [int(one.version) for one in line.log()] == list(self.history.log(name, self.newest()))

    def compare_at(self, name, version):
        assert picture(self.lines[name].at(version=version)) == picture_of(self.history.state(name, version))

    @rule(pick=PICK, moment=PICK)
    def look_back(self, pick, moment):
        name, _ = self.pick_line(pick)
        self.compare_at(name, self.pick_version(name, moment))

    @precondition(lambda self: self.tags)
    @rule(pick=PICK)
    def look_at_a_tag(self, pick):
        tag = picked(sorted(self.tags), pick)
        assert picture(self.lines["main"].tag(tag)) == picture_of(self.history.state(*self.tags[tag]))

    @rule(one=PICK, first=st.none() | PICK, other=PICK, second=st.none() | PICK)
    def diff(self, one, first, other, second):
        before, *of_before = self.source(one, first)
        after, *of_after = self.source(other, second)
        states = self.history.state(*of_before), self.history.state(*of_after)
        found = {
            model.Compared(row.kind, row.object_id, row.name, row.rows_added, row.rows_removed)
            for row in before.diff(after)
        }
        assert found == model.differences(*states)
        assert before.diff(before) == []

    def teardown(self):
        if not hasattr(self, "lake"):
            return
        self.compare_the_past()
        assert check(self.store) == []
        self.lake.close()
        shutil.rmtree(self.folder)


class ThoroughMachine(CatalogMachine):
    """The same, and after each step every version of every line."""

    @invariant()
    def every_version_shows_what_the_model_says(self):
        if hasattr(self, "lines"):
            self.compare_the_past()


def conflicts_of(do):
    """Do it; the answer is what it conflicts with."""
    try:
        do()
    except Conflict as conflict:
        assert conflict.conflicts
        return conflict.conflicts
    return ()


def touched_by(deed: Deed, after: State):
    """The objects that a step has changed, moved or brought back."""
    if deed.step.what in ("create", "drop", "drop all"):
        return ()
    if deed.step.what in ("undrop", *EVOLUTIONS):
        # An evolution may leave the table as it was: a column gets the name that it has. Then no schema is written, and
        # a drop loses nothing. Properties and texts are written whatever they were, so those are always changes.
        return [id for id, one in after.things.items() if deed.state.get(id) != one]
    return [deed.thing.id]


def dropped_where_it_was(before: State, after: State) -> State:
    """What a transaction moves and drops is dropped from where others saw it last."""
    gone = [one for id, one in after.things.items() if one.dropped and id in before.things]
    places = {one.id: before.things[one.id] for one in gone}
    return after.put(*(replace(one, parent=places[one.id].parent, name=places[one.id].name) for one in gone))


def without_stillborn(before: State, after: State) -> State:
    """What was made and dropped in one transaction was never there."""
    kept = {id: one for id, one in after.things.items() if id in before.things or after.is_alive(id)}
    return State(after.top, kept)


SETTINGS = settings(stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))


def test_the_catalog_and_its_model_agree():
    run_state_machine_as_test(CatalogMachine, settings=settings(SETTINGS, max_examples=examples(8, 20)))


def test_the_catalog_and_its_model_agree_on_every_version_after_each_step():
    run_state_machine_as_test(
        ThoroughMachine, settings=settings(SETTINGS, max_examples=examples(2, 5), stateful_step_count=20)
    )


@pytest.mark.long
def test_the_catalog_and_its_model_agree_for_long():
    run_state_machine_as_test(CatalogMachine, settings=settings(SETTINGS, max_examples=500, stateful_step_count=50))
