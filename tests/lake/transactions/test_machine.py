"""The handles beside a model of dictionaries: whatever is done on whatever line, all that can be seen agrees."""

import shutil
import tempfile
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from lakebed import AlreadyExists, Invalid, Lake, NotFound
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records.check.check import check
from lakebed.store import MemoryStore
from tests.support.examples import examples

PARTS = st.sampled_from(["a", "A", "b", "c"])
NAMES = st.lists(PARTS, min_size=1, max_size=3).map(tuple)
ROWS = st.lists(st.integers(-3, 3), max_size=3)
PICK = st.integers(0, 1000)


class Refused(Exception):
    """What the model does not allow; the handles have to refuse it too."""


@dataclass
class Thing:
    """A namespace, or a table if it has rows."""

    shown: tuple[str, ...]
    properties: dict[str, str] = field(default_factory=dict)
    rows: list[int] | None = None
    is_new: bool = True
    is_changed: bool = False
    is_moved: bool = False

    @property
    def is_table(self) -> bool:
        return self.rows is not None


def folded(name):
    return tuple(part.lower() for part in name)


class Model:
    """The things on one line, by folded name, and the properties of the catalog there."""

    def __init__(self):
        self.things: dict[tuple[str, ...], Thing] = {}
        self.properties: dict[str, str] = {}
        self.is_doomed = False

    def begin(self):
        """A copy for a transaction, in which nothing is new or changed."""
        working = deepcopy(self)
        for thing in working.things.values():
            thing.is_new = thing.is_changed = thing.is_moved = False
        working.is_doomed = False
        return working

    def find(self, name, is_table):
        found = self.things.get(folded(name))
        if found is None or found.is_table is not is_table:
            raise Refused
        return found

    def shown(self, name, but=None):
        """The name as it will be shown: its parent's own spelling, then the last part as it is written."""
        parent = name[:-1]
        above = self.find(parent, False).shown if parent else ()
        if folded(name) in self.things and folded(name) != but:
            raise Refused
        return (*above, name[-1])

    def create(self, name, rows):
        self.things[folded(name)] = Thing(self.shown(name), rows=rows)

    def rename(self, old, new, is_table):
        moved = self.find(old, is_table)
        shown = self.shown(new, but=folded(old))
        if not is_table and folded(new)[: len(old)] == folded(old) and len(new) > len(old):
            raise Refused
        inside = {key: self.things.pop(key) for key in list(self.things) if key[: len(old)] == folded(old)}
        depth = len(moved.shown)
        moved.is_moved = True
        for key, thing in inside.items():
            thing.shown = (*shown, *thing.shown[depth:])
            self.things[(*folded(new), *key[len(old) :])] = thing

    def drop(self, name, is_table, cascade=True):
        self.find(name, is_table)
        inside = [key for key in self.things if key[: len(name)] == folded(name)]
        if len(inside) > 1 and not cascade:
            raise Refused
        for key in inside:
            gone = self.things.pop(key)
            # One transaction may not change what it drops, nor move what it drops with something else.
            if not gone.is_new and (gone.is_changed or (gone.is_moved and key != folded(name))):
                self.is_doomed = True

    def append(self, name, rows):
        found = self.find(name, True)
        found.rows.extend(rows)
        found.is_changed = True

    def put(self, name, is_table, key, value):
        properties = self.properties
        if name:
            found = self.find(name, is_table)
            properties, found.is_changed = found.properties, True
        if value is None:
            properties.pop(key, None)
        else:
            properties[key] = value

    def picture(self):
        tables = {".".join(one.shown): (one.properties, one.rows) for one in self.things.values() if one.is_table}
        rest = {".".join(one.shown): one.properties for one in self.things.values() if not one.is_table}
        return self.properties, rest, tables


def picture(line):
    """The same of the handles: by listing, and by name."""
    tables = {one.name: (one.properties, rows(one)) for one in line.tables(recursive=True)}
    rest = {one.name: one.properties for one in line.namespaces(recursive=True)}
    for name in tables:
        assert (line.table(name.upper()).name, line.table_exists(name)) == (name, True)
    return line.properties, rest, tables


def rows(table):
    found = table.scan().to_arrow()["id"].to_pylist()
    assert table.scan().count() == len(found)
    return found


def numbers(ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


class Step(NamedTuple):
    """Something that can be done on a line or in a transaction. What it is done to is picked when it is done."""

    kind: str
    is_table: bool
    pick: int
    part: str
    other: tuple[str, ...]
    ids: list[int]


STEPS = st.builds(
    Step,
    kind=st.sampled_from(
        ["create", "create", "append", "append", "append", "rename", "drop", "drop all", "set", "unset"]
    ),
    is_table=st.booleans(),
    pick=PICK,
    part=PARTS,
    other=NAMES,
    ids=ROWS,
)


def name_for(model, step):
    """A free place to create in, or something of the kind that is there; now and then a name that may be nothing."""
    if step.pick % 7 == 0:
        return step.other
    is_table = step.kind != "create" and (step.is_table or step.kind == "append")
    there = sorted(key for key, thing in model.things.items() if thing.is_table is is_table)
    if step.kind == "create":
        return (*[(), *there][step.pick % (len(there) + 1)][-2:], step.part)
    return there[step.pick % len(there)] if there else step.other


def pair(target, model, step):
    """The step as it is done to the handles, and to the model."""
    name, is_table, word = name_for(model, step), step.is_table or step.kind == "append", step.part
    open_one = (lambda: target.table(name)) if is_table else (lambda: target.namespace(name))
    match step.kind:
        case "create" if is_table:
            return lambda: target.create_table(name, {"id": "long"}), lambda: model.create(name, [])
        case "create":
            return lambda: target.create_namespace(name), lambda: model.create(name, None)
        case "append":
            return lambda: open_one().append(numbers(step.ids)), lambda: model.append(name, step.ids)
        case "rename":
            rename = target.rename_table if is_table else target.rename_namespace
            return lambda: rename(name, step.other), lambda: model.rename(name, step.other, is_table)
        case "drop" | "drop all" if is_table:
            return lambda: target.drop_table(name), lambda: model.drop(name, True)
        case "drop" | "drop all":
            cascade = step.kind == "drop all"
            return lambda: target.drop_namespace(name, cascade), lambda: model.drop(name, False, cascade)
        case "set":
            return lambda: open_one().set_properties({"k": word}), lambda: model.put(name, is_table, "k", word)
        case "unset":
            return lambda: open_one().unset_properties(["k"]), lambda: model.put(name, is_table, "k", None)
    raise AssertionError(step.kind)


def agree(do, model):
    """Do it to the handles and to the model: both allow it, or both refuse it."""
    try:
        model()
    except Refused:
        refused = True
    else:
        refused = False
    try:
        do()
    except (AlreadyExists, Invalid, NotFound):
        assert refused, "the handles refused what the model allows"
    else:
        assert not refused, "the handles allowed what the model refuses"
    return not refused


class HandlesMachine(RuleBasedStateMachine):
    """Lines by name, each with its model; and what each line showed at each version that was looked at."""

    @initialize()
    def open(self):
        self.folder = tempfile.mkdtemp()
        self.store = MemoryStore()
        metastore = RecordsMetastore(self.store)
        project = open_project(metastore, DEFAULT, "ada")
        self.lake = Lake(Context(metastore, LocalFiles(Path(self.folder)), Bodies(metastore), project, "ada"))
        self.lines = {"main": self.lake.catalog()}
        self.models = {"main": Model()}
        self.past = {"main": {self.newest(): Model()}}
        main, model = self.lines["main"], self.models["main"]
        for name, ids in ((("a",), None), (("a", "B"), None), (("a", "c"), [1]), (("a", "B", "t"), [2, 3])):
            made = main.create_namespace(name) if ids is None else main.create_table(name, {"id": "long"})
            model.create(name, ids)
            if name[-1] == "t":  # its rows are in files, those of all other tables inline
                made.set_properties({"write.inline-bytes": "0"})
                model.put(name, True, "write.inline-bytes", "0")
            if ids is not None:
                made.append(numbers(ids))
        self.remember("main")

    def newest(self):
        return self.lake._context.metastore.newest()

    def line(self, pick):
        name = sorted(self.lines)[pick % len(self.lines)]
        return name, self.lines[name], self.models[name]

    def remember(self, name):
        self.past[name][self.newest()] = deepcopy(self.models[name])

    def next_versions(self, before, was, model):
        """The versions that a change may end at. One that changes nothing commits nothing, except for an append."""
        return (before.next(), before) if model.picture() == was else (before.next(),)

    @rule(pick=PICK, step=STEPS)
    def change(self, pick, step):
        name, line, model = self.line(pick)
        before, was = self.newest(), model.picture()
        if agree(*pair(line, model, step)):
            assert self.newest() in self.next_versions(before, was, model), "one call is one commit"
            self.remember(name)
        else:
            assert self.newest() == before, "an error changes nothing"

    @rule(pick=PICK, key=PARTS, value=st.none() | PARTS)
    def set_catalog_property(self, pick, key, value):
        name, line, model = self.line(pick)
        if value is None:
            line.unset_properties([key])
        else:
            line.set_properties({key: value})
        model.put((), False, key, value)
        self.remember(name)

    @rule(pick=PICK, steps=st.lists(STEPS, max_size=5), fails=st.booleans())
    def transact(self, pick, steps, fails):
        """Steps that are refused inside are left out; all of it is if the transaction fails, or may not end so."""
        name, line, model = self.line(pick)
        before, files = self.newest(), self.files()
        working = model.begin()
        tx = line.transaction("steps")
        tx.__enter__()
        for step in steps:
            agree(*pair(tx, working, step))
        assert picture(tx) == working.picture(), "a transaction sees what it did"
        assert self.newest() == before, "and nobody else does"
        if fails:
            tx.__exit__(Refused, Refused(), None)
        elif working.is_doomed:
            with pytest.raises(Invalid, match="changes an object and drops it"):
                tx.__exit__(None, None, None)
        else:
            tx.__exit__(None, None, None)
            assert self.newest() in self.next_versions(before, model.picture(), working)
            self.models[name] = working
            self.remember(name)
            return
        assert (self.newest(), self.files()) == (before, files), "an end that is not good leaves nothing"

    @precondition(lambda self: len(self.lines) < 5)
    @rule(pick=PICK, moment=PICK)
    def branch(self, pick, moment):
        """Now, or at a version in the past."""
        name, line, _ = self.line(pick)
        versions = sorted(self.past[name])
        version = versions[moment % len(versions)]
        fork = f"line {len(self.lines)}"
        self.lines[fork] = line.create_branch(fork, version)
        self.models[fork] = deepcopy(self.past[name][version])
        self.past[fork] = {one: deepcopy(model) for one, model in self.past[name].items() if one <= version}
        self.remember(fork)

    @rule(pick=PICK, moment=PICK)
    def look_back(self, pick, moment):
        name, line, _ = self.line(pick)
        versions = sorted(self.past[name])
        version = versions[moment % len(versions)]
        assert picture(line.at(version)) == self.past[name][version].picture()

    @rule(pick=PICK)
    def look(self, pick):
        _, line, model = self.line(pick)
        assert picture(line) == model.picture()

    def files(self):
        return {str(path) for path in Path(self.folder).rglob("*.parquet")}

    def teardown(self):
        if not hasattr(self, "lake"):
            return
        for name, line in self.lines.items():
            assert picture(line) == self.models[name].picture()
            assert line.branch(name) == line
            versions = sorted(self.past[name])
            for version in versions[:: max(1, len(versions) // 3)]:
                assert picture(line.at(version)) == self.past[name][version].picture()
        assert check(self.store) == []
        self.lake.close()
        shutil.rmtree(self.folder)


TestHandles = HandlesMachine.TestCase
TestHandles.settings = settings(
    max_examples=examples(12, 50),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
