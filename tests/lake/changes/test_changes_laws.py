"""The laws of the change feed, in any history."""

import tempfile
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed import Lake
from lakebed.catalog.refs.catalogs import DEFAULT, open_project
from lakebed.catalog.transaction.bodies import Bodies
from lakebed.catalog.transaction.context import Context
from lakebed.files import LocalFiles
from lakebed.metastore import RecordsMetastore
from lakebed.store import MemoryStore
from tests.support.examples import examples
from tests.support.feeds import STEPS, History, applied, events_of, net_of, state_of

SOME_STEPS = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9)), min_size=2, max_size=12)


@contextmanager
def a_lake():
    with tempfile.TemporaryDirectory() as folder, MemoryStore() as store:
        metastore = RecordsMetastore(store)
        project = open_project(metastore, DEFAULT, "ada")
        yield Lake(Context(metastore, LocalFiles(Path(folder)), Bodies(metastore), project, "ada"))


@given(SOME_STEPS, st.data())
@settings(max_examples=examples(10, 200), deadline=None)
def test_a_feed_turns_one_state_into_the_other(steps, data):
    """Commit by commit, net and without updates; and the nets of two feeds are the net of both."""
    with a_lake() as lake:
        history = History(lake.catalog(), steps)
        table, versions = history.table, history.versions
        first, middle, last = sorted(data.draw(st.lists(st.sampled_from(versions), min_size=3, max_size=3)))
        until = table.at(last)
        before, after = state_of(table.at(first), until.schema), state_of(until, until.schema)
        feeds = {
            "commits": table.changes(first, last),
            "net": table.changes(first, last, net=True),
            "no updates": table.changes(first, last, updates=False),
            "net, no updates": table.changes(first, last, net=True, updates=False),
        }
        for name, feed in feeds.items():
            events = events_of(feed.to_arrow())
            assert applied(before, events) == after, name
            assert feed.count() == len(events), name
        net = sorted(events_of(feeds["net"].to_arrow()), key=repr)
        assert sorted(net_of(events_of(feeds["commits"].to_arrow())), key=repr) == net
        halves = [
            *events_of(table.changes(first, middle).to_arrow()),
            *events_of(table.changes(middle, last).to_arrow()),
        ]
        if table.at(middle).schema == until.schema:
            assert sorted(net_of(halves), key=repr) == net


@given(SOME_STEPS, SOME_STEPS)
@settings(max_examples=examples(4, 80), deadline=None)
def test_a_feed_between_two_lines_turns_one_into_the_other(ours, theirs):
    with a_lake() as lake:
        history = History(lake.catalog(), ours[:4])
        there = history.on_branch("other line")
        for name, number in ours[4:]:
            history.step(name, number)
        for name, number in theirs:
            there.step(name, number)
        for one, other in ((history.table, there.table), (there.table, history.table)):
            feed = other.changes(one)
            before, after = state_of(one, other.schema), state_of(other, other.schema)
            assert applied(before, events_of(feed.to_arrow())) == after


@given(SOME_STEPS)
@settings(max_examples=examples(3, 40), deadline=None)
def test_the_log_of_a_line_names_each_table_that_a_feed_has_rows_of(steps):
    with a_lake() as lake:
        history = History(lake.catalog(), steps)
        for before, after in pairwise(history.versions):
            counted = {one.name for one in history.main.changes(before, after)}
            if history.table.changes(before, after).count():
                assert counted == {"s.t"}
