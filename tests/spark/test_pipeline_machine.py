"""A table that both engines change by turns, beside a model of dictionaries: each shows what the model has."""

import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from lakebed import Lake
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.records.check.check import check
from lakebed.store import MemoryStore
from tests.support.pipeline.changes import (
    CHANGES,
    append,
    compact,
    delete,
    merge,
    overwrite_partitions,
    update,
    upsert,
)
from tests.support.pipeline.evolutions import EVOLUTIONS
from tests.support.pipeline.layouts import orders, specs
from tests.support.pipeline.line import ENGINES, TABLE, Line
from tests.support.pipeline.model import Model, shown
from tests.support.pipeline.values import KEYS, NAMES, PROPERTIES, VALUES, Column, schema_of

STEPS = [*CHANGES, *EVOLUTIONS, compact]
MERGEABLE = [append, delete, update, upsert, merge, compact, *EVOLUTIONS]


class PipelineMachine(RuleBasedStateMachine):
    """One table, its key unique; what was done to it is done by the engine that chance says."""

    def __init__(self, spark):
        super().__init__()
        self.spark = spark
        self.folder = tempfile.mkdtemp(suffix=" 100% [ünï]")
        self.store = MemoryStore()
        self.past = {}  # what the table was, by version
        self.row_ids = {}
        self.made = 0

    @initialize(data=st.data())
    def begin(self, data):
        metastore = RecordsMetastore(self.store)
        project = open_project(metastore, DEFAULT, "ada")
        self.lake = Lake(Context(metastore, LocalFiles(self.folder), Bodies(metastore), project, "ada"))
        self.main = self.lake.catalog()
        kinds = data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=4), "types")
        kind = data.draw(st.sampled_from(sorted(KEYS)), "key")
        columns = [Column(0, "key", kind, born=kind)]
        columns += [Column(place, NAMES[place], kind) for place, kind in enumerate(kinds, 1)]
        model = Model(columns, keyed=data.draw(st.booleans(), "primary key"))
        model.part(data.draw(specs(columns), "spec"))
        model.sort(data.draw(orders(columns), "order"))
        self.main.create_namespace("n")
        self.main.create_table(
            TABLE,
            schema_of(columns),
            partition_by=model.texts(model.spec),
            sort_by=model.texts(model.order),
            primary_key=["key"] if model.keyed else [],
            properties={name: data.draw(st.sampled_from(some), name) for name, some in PROPERTIES.items()},
        )
        self.line = Line(self.main, model, self.spark, list(range(len(columns))))
        append(self.line, data)
        append(self.line, data)

    def did(self, data):
        """Look at everything after a step."""
        self.line.check(data)
        self.rows_kept_their_ids(data)
        self.past[self.main.version] = self.line.model.shown()

    def rows_kept_their_ids(self, data):
        key = self.line.model.name(0)
        columns = data.draw(st.permutations([key, "_row_id"]))
        if data.draw(ENGINES, "engine") == "local":
            found = self.line.table.scan(columns=columns).to_arrow().to_pylist()
        else:
            found = self.line.table.read(self.spark, columns=columns).toArrow().to_pylist()
        now = {one[key]: one["_row_id"] for one in found}
        assert len(set(now.values())) == len(found) and None not in now.values()
        stayed = (now.keys() & self.row_ids.keys()) - self.line.fresh
        assert {one: now[one] for one in stayed} == {one: self.row_ids[one] for one in stayed}
        self.row_ids, self.line.fresh = now, set()

    @rule(data=st.data(), step=st.sampled_from(CHANGES))
    def change(self, data, step):
        step(self.line, data)
        self.did(data)

    @rule(data=st.data(), step=st.sampled_from(EVOLUTIONS))
    def evolve(self, data, step):
        step(self.line, data)
        self.did(data)

    @rule(data=st.data())
    def compact(self, data):
        compact(self.line, data)
        self.did(data)

    @precondition(lambda self: self.line.model.known_partitions())
    @rule(data=st.data())
    def overwrite_partitions(self, data):
        overwrite_partitions(self.line, data)
        self.did(data)

    @rule(data=st.data(), name=st.sampled_from(sorted(PROPERTIES)))
    def set_a_property(self, data, name):
        self.line.table.set_properties({name: data.draw(st.sampled_from(PROPERTIES[name]))})

    @rule(data=st.data(), steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=3))
    def transaction(self, data, steps):
        with self.main.transaction("many") as tx:
            own = Line(tx, self.line.model, self.spark, self.line.numbers)
            own.take_steps(data, steps)
            own.check(data)
        self.line.fresh |= own.fresh
        self.did(data)

    @rule(data=st.data(), steps=st.lists(st.sampled_from(MERGEABLE), min_size=1, max_size=3))
    def branch_and_merge(self, data, steps):
        """What a branch did comes to main, which had rows appended or was compacted meanwhile."""
        self.made += 1
        dev = self.main.create_branch(f"dev{self.made}")
        theirs = Line(dev, self.line.model.copy(), self.spark, self.line.numbers)
        known = set(self.line.model.rows)
        theirs.take_steps(data, steps)
        theirs.check(data)
        self.line.check(data)
        known |= set(theirs.model.rows)
        if data.draw(st.booleans(), "append meanwhile"):
            rows = [row for row in self.line.drawn(data) if row[0] not in known]
            self.line.table.append(self.line.handed(data, self.line.model.columns, rows))
            theirs.model.put(rows)
        else:
            compact(self.line, data)
        self.main.merge(dev)
        self.line.model = theirs.model
        self.line.fresh |= theirs.fresh
        self.did(data)

    @precondition(lambda self: self.past)
    @rule(data=st.data())
    def look_back(self, data):
        version = data.draw(st.sampled_from(sorted(self.past)))
        assert shown(self.line.table.at(version).read(self.spark).toArrow().to_pylist()) == self.past[version]

    def teardown(self):
        if self.past:
            self.every_version_is_what_it_was()
            self.lake._checkpointing.wait()
        assert check(self.store) == []
        shutil.rmtree(self.folder)

    def every_version_is_what_it_was(self):
        for version, rows in self.past.items():
            assert shown(self.line.table.at(version).scan().to_arrow().to_pylist()) == rows
        first = next(iter(self.past))
        assert shown(self.line.table.at(first).read(self.spark).toArrow().to_pylist()) == self.past[first]


def run(spark, phases, **how):
    chosen = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=phases, **how)
    run_state_machine_as_test(lambda: PipelineMachine(spark), settings=chosen)


def test_both_engines_by_turns_do_what_a_model_does(spark):
    """What fails is not made smaller here: that takes longer than a test may."""
    run(spark, [Phase.reuse, Phase.generate], max_examples=2, stateful_step_count=8)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_both_engines_by_turns_do_what_a_model_does_at_length(spark):
    run(spark, list(Phase), max_examples=200, stateful_step_count=15)
