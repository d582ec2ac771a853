"""Shares: read-only, live, granted objects only, revoked at once; P19."""

import pickle

import pyarrow
import pytest

import lakebed
from lakebed import Forbidden, Invalid, NotFound, event_id
from lakebed.catalog.inspect.registry import SYSTEM_TABLES
from lakebed.lake.namespace import Namespace
from lakebed.lake.table import Table
from lakebed.records.layout import Attribute

pytestmark = pytest.mark.sampled(2)


def numbers(*ids):
    return pyarrow.table({"id": pyarrow.array(ids, pyarrow.int64())})


def rows(table):
    return table.scan().to_arrow()["id"].to_pylist()


def shown(catalog):
    """The names that a catalog shows."""
    return [one.name for one in (*catalog.namespaces(recursive=True), *catalog.tables(recursive=True))]


@pytest.fixture
def grown(main):
    main.set_properties({"secret": "yes"})
    for name in ("sales", "sales.eu", "sales.us", "private"):
        main.create_namespace(name, properties={"of": name})
    for number, name in enumerate(["sales.orders", "sales.eu.orders", "sales.us.orders", "private.salaries", "top"]):
        main.create_table(name, {"id": "long"}, properties={"of": name}).append(numbers(number))
    return main


def test_a_share_shows_what_was_granted_and_what_leads_there(lake, grown):
    share = grown.create_share("partner", ["sales.eu", grown.table("top")])
    assert shown(share) == ["sales", "sales.eu", "top", "sales.eu.orders"]
    for same in (grown.share("Partner"), lake.catalog("default@partner"), grown.shares()[0]):
        assert (same, same.ref, same.name) == (share, "partner", "default")
    assert rows(share.table("sales.eu.orders")) == [1]
    assert share.namespace("sales").name == "sales"
    assert (share.namespace("sales").properties, share.namespace("sales.eu").properties) == ({}, {"of": "sales.eu"})
    assert share.properties == {}
    assert share.version == grown.version


def test_names_that_were_not_granted_are_not_there(grown):
    share = grown.create_share("partner", ["sales.eu", "top"])
    for name in ("private.salaries", "sales.orders", "sales.us.orders"):
        assert not share.table_exists(name)
        with pytest.raises(NotFound) as hidden:
            share.table(name)
        with pytest.raises(NotFound) as absent:
            share.table(name + "2" if name != "private.salaries" else "publicly.salaries")
        assert type(hidden.value) is type(absent.value)
    assert [share.namespace_exists(name) for name in ("sales", "sales.us", "private")] == [True, False, False]
    assert share.namespaces(prefix="pri") == []
    assert [one.name for one in share.tables(prefix="T")] == ["top"]
    assert share.tables("sales") == []


def test_ids_that_were_not_granted_are_not_there_either(grown):
    """Through a handle that is made from an id, everything that a handle can be asked."""
    share = grown.create_share("partner", ["sales.eu", "top"])
    table = Table(grown.table("private.salaries").id, share._scope)
    namespace = Namespace(grown.namespace("private").id, share._scope)
    leads = Namespace(grown.namespace("sales").id, share._scope)
    calls = [
        lambda: table.name,
        lambda: table.schema,
        lambda: table.properties,
        lambda: table.location,
        lambda: table.version,
        table.scan,
        table.snapshots,
        table.history,
        lambda: table.at(version=grown.version),
        lambda: namespace.name,
        lambda: namespace.properties,
        lambda: share.log(table=table),
    ]
    for call in calls:
        try:
            assert call() in ([], None)
        except NotFound as error:
            assert "salaries" not in str(error)
    for must in calls[:8]:
        with pytest.raises(NotFound):
            must()
    assert (leads.name, leads.properties) == ("sales", {})
    assert namespace.version is None


def test_the_past_of_what_was_not_granted_is_not_there(grown):
    """What the reader under a share answers, whoever asks it."""
    grown.drop_table("private.salaries")
    share = grown.create_share("partner", ["sales.eu"])
    private, sales, granted = (grown.namespace(name).id for name in ("private", "sales", "sales.eu"))
    reader, top = share._scope.read().reader, share._line.ref.catalog
    for hidden in (private, sales, top):
        assert reader.history(hidden, Attribute.LIFE).items == []
        assert reader.history(hidden, Attribute.PROPERTIES).items == []
        assert reader.dropped(hidden).items == []
        assert reader.log(object_id=hidden).items == []
    assert reader.paths([private, granted, sales])[0] == ()
    assert [len(one) for one in reader.paths([private, granted, sales])] == [0, 2, 1]
    assert len(reader.history(granted, Attribute.LIFE).items) == 1
    assert reader.attributes([(private, Attribute.LIFE), (sales, Attribute.PROPERTIES)]) == [None, None]


def test_a_commit_to_what_was_granted_and_what_was_not_shows_half_of_itself(grown):
    share = grown.create_share("partner", ["sales.eu"])
    with grown.transaction("both") as tx:
        tx.table("private.salaries").append(numbers(8))
        tx.table("sales.eu.orders").append(numbers(9))
        tx.create_table("private.more", {"id": "long"})
    [newest, *_] = share.log()
    assert (newest.message, [done.name for done in newest.operations]) == ("both", ["sales.eu.orders"])
    assert {done.name for commit in share.log() for done in commit.operations} == {"sales.eu", "sales.eu.orders"}
    logged = share.inspect("__commits").to_pylist()
    assert {name for row in logged for name in row["objects"]} == {"sales.eu", "sales.eu.orders"}


def test_a_share_follows_its_parent(grown):
    share = grown.create_share("partner", ["sales.eu"])
    orders = share.table("sales.eu.orders")
    grown.table("sales.eu.orders").append(numbers(7))
    grown.create_table("sales.eu.items", {"id": "long"})
    assert (rows(orders), len(share.tables("sales.eu"))) == ([1, 7], 2)
    grown.rename_namespace("sales", "trade")
    assert orders.name == "trade.eu.orders"
    grown.rename_table("trade.orders", "trade.eu.all")
    assert share.table_exists("trade.eu.all")
    grown.rename_table("trade.eu.orders", "trade.us.moved")
    with pytest.raises(NotFound):
        rows(orders)
    grown.drop_namespace("trade.eu", cascade=True)
    assert shown(share) == []


def test_a_granted_table_stays_granted_wherever_it_goes(grown):
    share = grown.create_share("partner", ["sales.orders"])
    grown.rename_table("sales.orders", "private.orders")
    assert shown(share) == ["private", "private.orders"]
    grown.drop_table("private.orders")
    assert shown(share) == []
    grown.create_table("private.orders", {"id": "long"})
    assert shown(share) == [], "another table of the same name is not the one that was granted"


def test_a_share_of_a_branch_follows_the_branch(grown):
    dev = grown.create_branch("dev")
    share = dev.create_share("partner", "top")
    dev.table("top").append(numbers(8))
    grown.table("top").append(numbers(9))
    assert (rows(share.table("top")), rows(grown.share("partner").table("top"))) == ([4, 8], [4, 8])
    grown.drop_branch("dev")
    with pytest.raises(NotFound, match="dropped"):
        share.tables()


def test_grants_are_given_and_taken_at_once(grown, unchanged):
    share = grown.create_share("partner", [])
    assert shown(share) == []
    commit = grown.grant_share("partner", ["top", ("sales", "eu")], message="why")
    assert (commit.operations[0].type, commit.operations[0].detail, commit.message) == ("grant", "top, sales.eu", "why")
    table, scan = share.table("top"), share.table("sales.eu.orders")
    assert rows(table) == [4]
    grown.revoke_share("partner", [grown.table("top"), "sales.eu"])
    for call in (lambda: rows(table), lambda: rows(scan), lambda: share.table("top"), lambda: table.name):
        with pytest.raises(NotFound):
            call()
    with unchanged(), pytest.raises(NotFound, match="not granted"):
        grown.revoke_share("partner", "top")
    with unchanged(), pytest.raises(NotFound):
        grown.grant_share("partner", "nothing")
    grown.grant_share("partner", "sales")
    with unchanged(), pytest.raises(NotFound, match="namespace"):
        grown.revoke_share("partner", "sales.orders")


def test_what_was_dropped_can_still_be_revoked(grown):
    table = grown.table("top")
    share = grown.create_share("partner", [table])
    grown.drop_table("top")
    grown.revoke_share("partner", table)
    past = share.at(grown.log(limit=2)[1].version)
    assert past.tables() == []


def test_time_travel_through_a_share_has_todays_grants(grown):
    before = grown.version
    share = grown.create_share("partner", ["top"])
    grown.table("top").append(numbers(9))
    past = share.at(before)
    assert (rows(past.table("top")), shown(past), past.version) == ([4], ["top"], before)
    assert rows(share.table("top").at(version=before)) == [4]
    kept = past.table("top")
    with pytest.raises(NotFound):
        past.table("private.salaries")
    grown.revoke_share("partner", ["top"])
    for call in (lambda: rows(kept), lambda: past.table("top")):
        with pytest.raises(NotFound):
            call()
    grown.grant_share("partner", ["private"])
    assert shown(past) == ["private", "private.salaries"]
    with pytest.raises(Forbidden):
        past.create_namespace("n")


def test_the_log_of_a_share_has_only_what_was_done_to_what_was_granted(grown):
    with grown.transaction("both") as tx:
        tx.table("top").append(numbers(1))
        tx.table("private.salaries").append(numbers(1))
    share = grown.create_share("partner", ["top", "sales.eu"])
    grown.table("private.salaries").append(numbers(2))
    found = share.log()
    assert [[(one.type, one.name) for one in commit.operations] for commit in found] == [
        [("insert", "top")],
        [("insert", "top")],
        [("create", "top")],
        [("insert", "sales.eu.orders")],
        [("create", "sales.eu.orders")],
        [("create", "sales.eu")],
    ]
    assert found[0].message == "both"
    for limit in range(7):
        assert share.log(limit=limit) == found[:limit]
    assert share.log(table="top") == found[:3]
    with pytest.raises(NotFound):
        share.log(table="private.salaries")


def test_a_dropped_share_shows_nothing_through_any_handle(grown):
    share = grown.create_share("partner", ["top"])
    table, past = share.table("top"), share.at(grown.version)
    grown.drop_share("partner")
    for call in (share.tables, lambda: rows(table), past.tables, lambda: grown.share("partner"), lambda: share.version):
        with pytest.raises(NotFound):
            call()
    grown.undrop_share("partner", as_name="friend")
    assert (rows(table), share.ref, [one.ref for one in grown.shares()]) == ([4], "friend", ["friend"])
    grown.rename_share("friend", "partner")
    grown.drop_share("partner")
    grown.purge_share("partner")
    with pytest.raises(NotFound):
        share.tables()


WRITES = {
    "create_namespace": lambda share: share.create_namespace("n"),
    "rename_namespace": lambda share: share.rename_namespace("sales", "n"),
    "drop_namespace": lambda share: share.drop_namespace("sales", cascade=True),
    "create_table": lambda share: share.create_table("t", {"id": "long"}),
    "rename_table": lambda share: share.rename_table("top", "t"),
    "drop_table": lambda share: share.drop_table("top"),
    "set_properties": lambda share: share.set_properties({"k": "v"}),
    "unset_properties": lambda share: share.unset_properties(["secret"]),
    "table.append": lambda share: share.table("top").append(numbers(1)),
    "table.rename": lambda share: share.table("top").rename("t"),
    "table.set_properties": lambda share: share.table("top").set_properties({"k": "v"}),
    "namespace.set_properties": lambda share: share.namespace("sales").set_properties({"k": "v"}),
    "past append": lambda share: share.table("top").at(version=share.version).append(numbers(1)),
    "undrop_table": lambda share: share.undrop_table("top"),
    "purge_table": lambda share: share.purge_table("top"),
    "undrop_namespace": lambda share: share.undrop_namespace("sales"),
    "create_view": lambda share: share.create_view("v", "select 1"),
    "restore_table": lambda share: share.restore_table("top", share.version),
    "reset": lambda share: share.reset(share.version),
    "cherry_pick": lambda share: share.cherry_pick(share.log()[0]),
    "revert": lambda share: share.revert(share.log()[0]),
    "merge": lambda share: share.merge(share),
    "try a merge": lambda share: share.merge(share, dry_run=True),
    "diff": lambda share: share.diff(share),
    "inspect branches": lambda share: share.inspect("__branches"),
    "inspect tags": lambda share: share.inspect("__tags"),
    "inspect shares": lambda share: share.inspect("__shares"),
    "transaction": lambda share: share.transaction("t"),
    "create_branch": lambda share: share.create_branch("b"),
    "branch": lambda share: share.branch("main"),
    "branches": lambda share: share.branches(),
    "branch_exists": lambda share: share.branch_exists("main"),
    "drop_branch": lambda share: share.drop_branch("dev"),
    "create_tag": lambda share: share.create_tag("t"),
    "tag": lambda share: share.tag("q4"),
    "tags": lambda share: share.tags(),
    "at a tag": lambda share: share.at(tag="q4"),
    "create_share": lambda share: share.create_share("s", ["top"]),
    "share": lambda share: share.share("partner"),
    "shares": lambda share: share.shares(),
    "grant_share": lambda share: share.grant_share("partner", ["private"]),
    "revoke_share": lambda share: share.revoke_share("partner", ["top"]),
    "rename_share": lambda share: share.rename_share("partner", "p"),
    "drop_share": lambda share: share.drop_share("partner"),
    "undrop_share": lambda share: share.undrop_share("partner"),
    "purge_share": lambda share: share.purge_share("partner"),
}


@pytest.mark.parametrize("call", WRITES)
def test_a_share_is_never_written_and_leads_to_no_other_ref(grown, unchanged, call):
    grown.create_tag("q4")
    share = grown.create_share("partner", ["top", "sales.eu"])
    with unchanged(), pytest.raises(Forbidden):
        WRITES[call](share)
    with unchanged(), pytest.raises(Forbidden):
        WRITES[call](share.at(share.version))


def test_a_share_is_no_side_of_a_merge_or_a_diff(grown, unchanged):
    """What it does not show would come with it."""
    share = grown.create_share("partner", ["top"])
    for other in (share, share.at(share.version)):
        for call in (grown.diff, grown.merge, lambda one: grown.merge(one, dry_run=True)):
            with unchanged(), pytest.raises(Forbidden):
                call(other)


def test_system_tables_of_a_share_name_only_what_was_granted(grown):
    grown.drop_table("private.salaries")
    share = grown.create_share("partner", ["top", "sales.eu"])
    hidden = [one.id for name in ("private", "sales.us") for one in [grown.namespace(name)]]
    hidden += [grown.table("sales.orders").id, "private", "salaries", "secret"]
    for name in (
        "__tables",
        "__namespaces",
        "__snapshots",
        "__files",
        "__schemas",
        "__commits",
        "__dropped",
        "__changes",
    ):
        for catalog in (share, share.at(share.version)):
            text = repr(catalog.inspect(name).to_pylist())
            assert not [one for one in hidden if one in text], name
    assert share.inspect("__tables").num_rows == 2


OF_REFS = ["__branches", "__tags", "__shares", "__conflicts"]


def test_every_system_table_of_a_shared_table_in_a_namespace_is_read_from_any_project(tmp_path):
    """`__records` failed, and an owner was whoever created the namespace, though another was named since."""
    with lakebed.connect(tmp_path, project="retail", author="ada") as theirs, lakebed.connect(tmp_path) as ours:
        main = theirs.create_catalog("shop")
        for name in ("sales", "sales.eu"):
            main.create_namespace(name, comment="hidden", location=f"elsewhere/{name}").set_owner("hidden")
        table = main.create_table("sales.eu.orders", {"id": "long", "day": "string"}, partition_by=["day"])
        table.append([{"id": 1, "day": "mon"}, {"id": 2, "day": "tue"}])
        table.create_partition({"day": "mon"})
        table.create_edition("2").append([{"id": 1, "day": "mon"}])
        table.stage_stream().append([{"id": 1, "day": "mon"}])
        table.stage_partition({"day": "tue"}).append([{"id": 1}])
        table.partition({"day": "mon"}).drop()
        table.checkpoint()
        main.create_table("sales.eu.hidden", {"id": "long"}).append([{"id": 1}])
        main.drop_table("sales.eu.hidden")
        share = main.create_share("partners", "sales.eu.orders")
        hidden = [main.undrop_table("sales.eu.hidden").id, "hidden"]
        for opened in (share, ours.catalog("retail/shop@partners"), share.at(share.version)):
            for name in set(SYSTEM_TABLES).difference(OF_REFS):
                text = repr(opened.inspect(name).to_pylist()).replace("sales.eu.orders", "")
                assert not [part for part in hidden if part in text], name
            rows = opened.inspect("__namespaces").to_pylist()
            assert [(row["name"], row["owner"], row["location"]) for row in rows] == [
                ("sales", None, None),
                ("sales.eu", None, None),
            ]
            [first, second] = [opened.namespace(row["name"]) for row in rows]
            assert (first.owner, first.location, second.owner, second.location) == (None, None, None, None)
            assert "hidden" not in repr(second.describe())
        inside = main.create_share("inside", "sales.eu").namespace("sales.eu")
        assert (inside.owner, inside.location) == ("hidden", None)


def test_a_share_shows_a_line_and_not_a_version(grown, unchanged):
    grown.create_tag("q4")
    for pinned in (grown.at(grown.version), grown.tag("q4")):
        with unchanged(), pytest.raises(Invalid, match="always shows the newest version"):
            pinned.create_share("partner", ["top"])


@pytest.mark.parametrize("objects", [17, None, [17], [None], [()], ["a//b"], ["nothing"], ["top", "sales.nothing"]])
def test_what_can_not_be_granted_is_refused(grown, unchanged, objects):
    with unchanged(), pytest.raises((Invalid, NotFound)):
        grown.create_share("partner", objects)


def test_a_share_of_many_tables_is_listed_page_by_page(grown):
    for number in range(7):
        grown.create_table(f"sales.t{number}", {"id": "long"})
    share = grown.create_share("partner", [f"sales.t{number}" for number in range(7)])
    reader, sales = share._scope.read().reader, grown.namespace("sales").id
    for size in (1, 2, 3, 7, 8):
        found, token = [], None
        while True:
            page = reader.children(sales, limit=size, token=token)
            assert len(page.items) <= size
            found += [one.name for one in page.items]
            token = page.token
            if token is None:
                break
        assert found == [f"t{number}" for number in range(7)]
    with pytest.raises(Invalid, match="another listing"):
        reader.children(sales, prefix="t", limit=1, token=reader.children(sales, limit=1).token)


def make(line, name, *rows):
    table = line.create_table(name, {"id": "long"})
    for row in rows:
        table.append(numbers(row))
    return table


def test_a_share_told_of_the_branches_that_were_merged(main):
    make(main, "t")
    dev = main.create_branch("dev")
    dev.table("t").append(numbers(1))
    main.table("t").append(numbers(2))
    main.merge(dev)
    share = main.create_share("share", "t")
    assert share.log(limit=1)[0].operations[0].type == "merge_branch"
    assert share.log(limit=1)[0].parents == ()
    assert share.inspect("__commits")["parents"].to_pylist()[0] == []


def test_a_share_told_whether_there_is_a_commit_of_an_id(main):
    make(main, "t")
    share = main.create_share("share", "t")
    for commit in (main.log(limit=1)[0].id, event_id("none")):
        for call in (share.cherry_pick, share.revert):
            with pytest.raises(Forbidden):
                call(commit)
    for version in (main.version, 10**6):
        with pytest.raises(Forbidden):
            share.reset(version)


def test_a_share_had_no_newest_commit_when_many_hidden_ones_came_after_it(main):
    make(main, "t")
    hidden = main.create_namespace("hidden")
    share = main.create_share("share", "t")
    for number in range(201):
        hidden.set_properties({"number": str(number)})
    page = share.log(limit=1)
    assert ([one.type for one in page[0].operations], page.token) == (["create"], None)
    assert "changed" in share.describe()


def test_a_share_opens_from_another_project(tmp_path):
    """It could not be opened at all: only the catalogs of the own project were looked at."""
    with lakebed.connect(tmp_path, project="retail") as theirs, lakebed.connect(tmp_path) as ours:
        main = theirs.create_catalog("shop")
        main.create_namespace("sales")
        main.create_table("sales.orders", pyarrow.table({"id": [1, 2]}))
        main.create_table("sales.secrets", {"id": "long"})
        main.create_share("partners/eu", "sales.orders")
        share = ours.catalog("retail/shop@partners/eu")
        assert [table.name for table in share.tables(recursive=True)] == ["sales.orders"]
        main.table("sales.orders").append(pyarrow.table({"id": [3]}))
        assert share.table("sales.orders").scan().count() == 3
        assert ours.catalog(f"retail/shop@partners/eu#{main.at(-1).version}").table("sales.orders").scan().count() == 2
        assert ours.query("select count(*) as n from sales.orders", ref="retail/shop@partners/eu").to_list() == [(3,)]
        assert pickle.loads(pickle.dumps(share)).table("sales.orders").scan().count() == 3
        assert theirs.catalog("retail/shop@partners/eu") == main.share("partners/eu")
        assert theirs.catalog("retail/shop") == main
        with pytest.raises(Forbidden):
            share.table("sales.orders").append(pyarrow.table({"id": [4]}))
        main.create_branch("dev")
        main.create_tag("q4")
        for place in ("retail/shop", "retail/shop@main", "retail/shop@dev", "retail/shop@q4", "retail/shop@nothing"):
            with pytest.raises(Forbidden, match="only the shares of another project"):
                ours.catalog(place)
        for place in ("nobody/shop@partners/eu", "retail/nothing@partners/eu"):
            with pytest.raises(NotFound, match=r"there is no (project|catalog) of this name"):
                ours.catalog(place)
        main.revoke_share("partners/eu", "sales.orders")
        assert share.tables(recursive=True) == []
