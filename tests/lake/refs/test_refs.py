"""What all calls on refs and catalogs promise: one commit whatever is lost, the same answer again; P7."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow
import pytest

from lakebed import AlreadyExists, Forbidden, Invalid, event_id
from lakebed.records.check.check import check
from lakebed.store import MemoryStore
from tests.support.examples import diagonal
from tests.support.faults import Fault, FaultyStore

pytestmark = pytest.mark.sampled(2)

FAULTS = {
    "before": (Fault.BEFORE_COMMIT,),
    "after": (Fault.AFTER_COMMIT,),
    "before and then after": (Fault.BEFORE_COMMIT, Fault.AFTER_COMMIT),
}

REFS = {
    "create_branch": lambda main, **told: main.create_branch("new", **told),
    "rename_branch": lambda main, **told: main.rename_branch("dev", "new", **told),
    "drop_branch": lambda main, **told: main.drop_branch("dev", **told),
    "undrop_branch": lambda main, **told: main.undrop_branch("old", **told),
    "purge_branch": lambda main, **told: main.purge_branch("old", **told),
    "create_tag": lambda main, **told: main.create_tag("new", **told),
    "rename_tag": lambda main, **told: main.rename_tag("q4", "new", **told),
    "drop_tag": lambda main, **told: main.drop_tag("q4", **told),
    "undrop_tag": lambda main, **told: main.undrop_tag("q3", **told),
    "purge_tag": lambda main, **told: main.purge_tag("q3", **told),
    "create_share": lambda main, **told: main.create_share("new", ["t"], **told),
    "grant_share": lambda main, **told: main.grant_share("partner", ["n"], **told),
    "revoke_share": lambda main, **told: main.revoke_share("partner", ["t"], **told),
    "rename_share": lambda main, **told: main.rename_share("partner", "new", **told),
    "drop_share": lambda main, **told: main.drop_share("partner", **told),
    "undrop_share": lambda main, **told: main.undrop_share("former", **told),
    "purge_share": lambda main, **told: main.purge_share("former", **told),
}
CATALOGS = {
    "create_catalog": lambda lake, **told: lake.create_catalog("new", **told),
    "rename_catalog": lambda lake, **told: lake.rename_catalog("second", "new", **told),
    "drop_catalog": lambda lake, **told: lake.drop_catalog("second", **told),
    "undrop_catalog": lambda lake, **told: lake.undrop_catalog("gone", **told),
    "purge_catalog": lambda lake, **told: lake.purge_catalog("gone", **told),
}
CALLS = {
    **{name: lambda lake, call=call, **told: call(lake.catalog(), **told) for name, call in REFS.items()},
    **CATALOGS,
}


@pytest.fixture
def faulty():
    with FaultyStore(MemoryStore()) as store:
        yield store
        assert check(store.store) == []


def grown(lake):
    main = lake.catalog()
    main.create_table("t", {"id": "long"}).append(pyarrow.table({"id": [1]}))
    main.create_namespace("n")
    main.create_branch("dev")
    main.create_branch("old").create_namespace("own")
    main.create_tag("q4")
    main.create_tag("q3")
    main.create_share("partner", ["t"])
    main.create_share("former", ["t"])
    main.drop_branch("old")
    main.drop_tag("q3")
    main.drop_share("former")
    lake.create_catalog("second")
    lake.create_catalog("gone").create_namespace("n")
    lake.drop_catalog("gone", cascade=True)
    return lake


def picture(lake):
    """All refs that can be seen, with what they show."""
    seen = {}
    for catalog in lake.catalogs():
        here = seen[catalog.name] = {"branch": {}, "tag": {}, "share": {}}
        here["branch"] = {one.ref: contents(one) for one in catalog.branches()}
        here["tag"] = {one.ref: contents(one) for one in catalog.tags()}
        here["share"] = {one.ref: contents(one) for one in catalog.shares()}
        commits = catalog._line.refs("log").read().reader.log().items
        here["log"] = [(one.type, one.name, one.detail) for commit in commits for one in commit.operations]
    return seen


def contents(catalog):
    return [one.name for one in (*catalog.namespaces(), *catalog.tables())]


@pytest.mark.parametrize(("call", "faults"), diagonal(CALLS, FAULTS))
def test_a_lost_answer_makes_one_commit_and_one_effect(faulty, open_lake, call, faults):
    lake = grown(open_lake(faulty))
    faulty.arm(*faults)
    CALLS[call](lake)
    assert faulty.armed == ()
    sure = grown(open_lake(MemoryStore()))
    CALLS[call](sure)
    assert picture(lake) == picture(sure)


@pytest.mark.parametrize("call", CALLS)
def test_the_same_event_id_again_answers_the_same_and_changes_nothing(lake, unchanged, call):
    told = {"event_id": event_id(call), "message": "why", "author": "grace"}
    before = picture(grown(lake))
    first = CALLS[call](lake, **told)
    assert picture(lake) != before or call.startswith("purge")
    with unchanged():
        again = CALLS[call](lake, **told)
    assert again == first
    if not call.startswith("create"):
        assert (first.id, first.message, first.author) == tuple(told.values())
    with unchanged(), pytest.raises(Invalid, match="event id"):
        lake.catalog().create_namespace("other", event_id=told["event_id"])
    with unchanged(), pytest.raises(Invalid, match="event id"):
        lake.catalog().create_tag("other", event_id=told["event_id"])


@pytest.mark.parametrize("call", [name for name in REFS if name not in ("create_branch", "create_tag", "create_share")])
def test_refs_are_not_changed_through_a_handle_of_the_past(lake, unchanged, call):
    main = grown(lake).catalog()
    for past in (main.at(main.version), main.tag("q4")):
        with unchanged(), pytest.raises(Forbidden):
            REFS[call](past)


@pytest.mark.parametrize("told", [{"message": 17}, {"author": 17}, {"event_id": "x"}, {"event_id": 17}])
@pytest.mark.parametrize("call", CALLS)
def test_who_and_why_are_checked(lake, unchanged, call, told):
    grown(lake)
    with unchanged(), pytest.raises(Invalid):
        CALLS[call](lake, **told)


@pytest.mark.parametrize("call", ["create_branch", "create_tag", "create_share", "create_catalog"])
def test_of_many_that_make_one_name_at_once_one_succeeds(lake, call):
    """P2."""
    grown(lake)

    def make(_):
        try:
            return CALLS[call](lake)
        except AlreadyExists:
            return None

    with ThreadPoolExecutor(8) as threads:
        made = [one for one in threads.map(make, range(8)) if one is not None]
    assert len(made) == 1
