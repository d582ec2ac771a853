"""Namespaces, listings and properties of a catalog."""

import pytest

from lakebed import AlreadyExists, Invalid, NotFound
from lakebed.metastore import ROOT
from lakebed.records.layout import Attribute


def names(found):
    return [one.name for one in found]


@pytest.fixture
def grown(main):
    for name in ("b", "A", "a.z", "a.Y", "a.z.deep"):
        main.create_namespace(name)
    for name in ("top", "a.one", "a.Two", "a.z.three", "a.z.deep.four"):
        main.create_table(name, {"id": "long"})
    return main


def test_listings_are_in_the_order_of_names_without_case(grown):
    assert names(grown.namespaces()) == ["A", "b"]
    assert names(grown.namespaces("a")) == ["A.Y", "A.z"]
    assert names(grown.tables()) == ["top"]
    assert names(grown.tables("A")) == ["A.one", "A.Two"]


def test_recursive_listings_have_what_is_below_too(grown):
    assert names(grown.namespaces(recursive=True)) == ["A", "b", "A.Y", "A.z", "A.z.deep"]
    assert names(grown.tables(recursive=True)) == ["top", "A.one", "A.Two", "A.z.three", "A.z.deep.four"]
    assert names(grown.tables("a.z", recursive=True)) == ["A.z.three", "A.z.deep.four"]


def test_a_prefix_is_of_the_objects_own_name(grown):
    assert names(grown.tables("a", prefix="T")) == ["A.Two"]
    assert names(grown.tables(prefix="t", recursive=True)) == ["top", "A.Two", "A.z.three"]
    assert names(grown.namespaces(prefix="D", recursive=True)) == ["A.z.deep"]
    assert grown.tables("a", prefix="nothing") == []


def test_a_listing_of_what_is_not_there_is_not_found(grown):
    for name in ("none", "a.none", "top"):
        with pytest.raises(NotFound, match="no namespace"):
            grown.tables(name)
        with pytest.raises(NotFound, match="no namespace"):
            grown.namespaces(name)


def test_a_listing_goes_on_beyond_a_page(main):
    with main.transaction("many") as tx:
        for number in range(120):
            tx.create_namespace(f"n{number:03}")
    with main.transaction("more") as tx:
        for number in range(120, 240):
            tx.create_namespace(f"n{number:03}")
    assert names(main.namespaces()) == [f"n{number:03}" for number in range(240)]


def test_a_namespace_can_be_renamed_with_all_that_it_holds(grown):
    ids = {table.id for table in grown.tables("a", recursive=True)}
    grown.rename_namespace("a.z", "b.moved")
    assert names(grown.tables(recursive=True)) == ["top", "A.one", "A.Two", "b.moved.three", "b.moved.deep.four"]
    assert {table.id for table in grown.tables(recursive=True)} >= ids
    grown.rename_namespace("b", "B")
    assert names(grown.namespaces()) == ["A", "B"]


@pytest.mark.parametrize("new", ["a.inside", "a.z.inside", "a.z.deep.inside", "a.a"])
def test_a_namespace_cannot_be_moved_into_itself(grown, unchanged, new):
    with unchanged(), pytest.raises(Invalid, match="can't be in itself"):
        grown.rename_namespace("a", new)
    with grown.transaction("at once, and not at its end") as tx, pytest.raises(Invalid, match="can't be in itself"):
        tx.rename_namespace("a", new)
    assert tx.committed is None


def test_an_empty_namespace_can_be_dropped_and_a_full_one_with_all_that_it_holds(grown, unchanged):
    grown.drop_namespace("b")
    with unchanged(), pytest.raises(Invalid, match=r"not empty .*found one, Two, Y, z.*cascade=True"):
        grown.drop_namespace("a")
    grown.drop_namespace("a", cascade=True)
    assert (names(grown.namespaces(recursive=True)), names(grown.tables(recursive=True))) == ([], ["top"])
    for name in ("a", "a.z", "a.z.deep"):
        assert not grown.namespace_exists(name)
        with unchanged(), pytest.raises(NotFound):
            grown.create_table(f"{name}.new", {"id": "long"})
    grown.create_namespace("a")
    assert grown.tables("a", recursive=True) == []


def test_what_was_in_a_dropped_namespace_is_dead(grown, unchanged):
    table, namespace = grown.table("a.z.three"), grown.namespace("a.z")
    grown.drop_namespace("a", cascade=True)
    for call in (
        lambda: table.set_properties({"a": "b"}),
        lambda: table.rename("rescued"),
        lambda: namespace.set_properties({"a": "b"}),
        lambda: namespace.name,
    ):
        with unchanged(), pytest.raises(NotFound, match="dropped"):
            call()


def test_a_namespace_keeps_its_properties_when_others_change(grown):
    made = grown.create_namespace("c", properties={"owner": "ada", "tier": "1"})
    made.set_properties({"tier": "2", "new": ""})
    made.unset_properties(["owner", "never there"])
    assert grown.namespace("C").properties == {"new": "", "tier": "2"}
    assert made.version == grown.version
    grown.rename_namespace("c", "d")
    assert (made.name, made.properties) == ("d", {"new": "", "tier": "2"})


def test_a_catalog_has_properties_that_branches_inherit(grown):
    grown.set_properties({"a": "1", "b": "2"})
    dev = grown.create_branch("dev")
    grown.set_properties({"a": "3"})
    dev.unset_properties("b")
    assert (grown.properties, dev.properties) == ({"a": "3", "b": "2"}, {"a": "1"})


def test_setting_nothing_is_a_commit_only_with_an_event_id(grown):
    """P8."""
    before = grown.log()
    answers = grown.set_properties({}), grown.unset_properties([]), grown.table("top").unset_properties(["never there"])
    assert {(answer.id, answer.version) for answer in answers} == {("", before[0].version)}
    assert grown.log() == before
    asked = grown.set_properties({}, event_id="0" * 32)
    assert (asked, grown.log()) == (grown.set_properties({}, event_id="0" * 32), [asked, *before])


BAD_PROPERTIES = [{"a": 1}, {1: "a"}, {"": "a"}, {"a": None}, {"a": b"b"}, ["a"], "a", 17, {"a": "b", 1: "c"}]


@pytest.mark.parametrize("told", [{}, {"event_id": "0" * 32}], ids=["", "with event id"])
@pytest.mark.parametrize("properties", BAD_PROPERTIES, ids=repr)
def test_properties_are_texts_by_names(grown, unchanged, properties, told):
    calls = [
        lambda: grown.set_properties(properties, **told),
        lambda: grown.table("top").set_properties(properties, **told),
        lambda: grown.namespace("b").set_properties(properties, **told),
        lambda: grown.create_namespace("c", properties=properties, **told),
        lambda: grown.create_table("c", {"id": "long"}, properties=properties, **told),
    ]
    for call in calls:
        with unchanged(), pytest.raises(Invalid):
            call()


@pytest.mark.parametrize("keys", [[1], [None], 17, None])
def test_the_names_of_properties_are_texts(grown, unchanged, keys):
    for one in (grown, grown.table("top"), grown.namespace("b")):
        with unchanged(), pytest.raises(Invalid):
            one.unset_properties(keys)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        ("a", ""),
        (),
        None,
        17,
        ["a"],
        ("a", 1),
        "a|b",
        "a@b",
        "a#b",
        "a/b",
        "a\tb",
        "x" * 256,
    ],
    ids=repr,
)
def test_what_is_no_name_is_refused_by_every_call(grown, unchanged, name):
    calls = [
        lambda: grown.create_namespace(name),
        lambda: grown.namespace(name),
        lambda: grown.namespace_exists(name),
        lambda: grown.rename_namespace(name, "x"),
        lambda: grown.rename_namespace("b", name),
        lambda: grown.drop_namespace(name),
        lambda: grown.create_table(name, {"id": "long"}),
        lambda: grown.table(name),
        lambda: grown.table_exists(name),
        lambda: grown.rename_table(name, "x"),
        lambda: grown.rename_table("top", name),
        lambda: grown.table("top").rename(name),
        lambda: grown.drop_table(name),
    ]
    for call in calls:
        with unchanged(), pytest.raises(Invalid):
            call()


def test_names_keep_how_they_were_written(main):
    made = main.create_namespace("Größe")
    assert (made.name, main.namespace("GRÖSSE").id, main.namespace("gro\u0308ße").id) == ("Größe", made.id, made.id)
    with pytest.raises(AlreadyExists):
        main.create_namespace("grösse")


def test_the_log_names_objects_with_dots_as_people_quote_them(main):
    main.create_namespace(("a.b",), properties={"k": "v"})
    main.namespace(("a.b",)).set_properties({"k": "w"})
    main.rename_namespace(("a.b",), "plain")
    found = [(one.name, one.detail) for commit in main.log()[::-1] for one in commit.operations]
    assert found == [("`a.b`", ""), ("`a.b`", "k"), ("`a.b`", "plain")]


def test_catalogs_do_not_see_each_other(lake, grown):
    other = lake.create_catalog("Other")
    assert (other.name, other.ref, other.tables(recursive=True), other.log()) == ("Other", "main", [], [])
    other.create_namespace("a")
    other.create_table("a.one", {"id": "long"})
    assert other.table("a.one").id != grown.table("a.one").id
    assert names(lake.catalogs()) == ["default", "Other"]
    assert lake.catalog("OTHER") == other
    assert lake.catalog_exists("other")
    assert not lake.catalog_exists("third")
    with pytest.raises(NotFound, match="no catalog"):
        lake.catalog("third")


@pytest.mark.parametrize("name", ["default", "DEFAULT"])
def test_a_catalog_name_that_is_taken_is_refused(lake, unchanged, name):
    with unchanged(), pytest.raises(AlreadyExists):
        lake.create_catalog(name)


@pytest.mark.parametrize("name", ["", "a@b", "a#1", "a/b", None, 17])
def test_a_catalog_name_that_cannot_be_one_is_refused(lake, unchanged, name):
    with unchanged(), pytest.raises(Invalid):
        lake.create_catalog(name)


def test_the_version_of_a_line_is_its_newest_commit(lake, main):
    first = main.version
    assert lake.create_catalog("other").version > first
    assert main.version == first
    commit = main.set_properties({"a": "b"})
    assert main.version == commit.version
    dev = main.create_branch("dev")
    assert dev.version == commit.version
    assert dev.set_properties({"a": "c"}).version == dev.version > main.version == commit.version


WRITTEN = {
    "catalog": {"LIFE", "REF"},
    "namespace": {"LIFE", "PROPERTIES"},
    "table": {"LIFE", "PROPERTIES", "STORAGE", "SCHEMA", "SPEC", "SORT"},
    "view": {"LIFE", "PROPERTIES", "VIEW"},
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_all_that_is_written_of_a_new_object_has_the_version_of_its_commit(lake, main, kind):
    """P1: its name, each record and its first state, the log, and a table's data."""
    metastore = lake._context.metastore
    before = metastore.newest()
    if kind == "catalog":
        made, line, parent = lake.create_catalog("new")._line.ref.catalog, ROOT, lake._context.project
    else:
        needs = {"table": ({"id": "long"},), "view": ("select 1",)}.get(kind, ())
        layout = {"partition_by": ["id"], "sort_by": ["id"]} if kind == "table" else {}
        made = getattr(main, f"create_{kind}")("new", *needs, properties={"a": "b"}, **layout).id
        line, parent = main._line.ref.line, main._line.ref.catalog
    reader = metastore.reader(line)
    commit = reader.log(limit=1).items[0]
    assert commit.version == metastore.newest() == before.next()
    found = {one.name: reader.attributes([(made, one)])[0] for one in Attribute}
    written = {name: state for name, state in found.items() if state is not None}
    assert set(written) == WRITTEN[kind]
    assert {state.version for state in written.values()} == {commit.version}
    for name, state in written.items():
        assert reader.history(made, Attribute[name]).items == [state]
    assert reader.log(object_id=made).items == [commit]
    assert (reader.resolve([(parent, "new")]), metastore.reader(line, before).resolve([(parent, "new")])) == (
        [made],
        [None],
    )
    if kind == "table":
        assert [one.version for one in main.table("new").snapshots()] == [commit.version]


def test_a_namespace_has_a_comment_a_past_and_a_name_of_its_own(main):
    namespace = main.create_namespace("sales", comment="what is sold")
    main.create_table("sales.orders", {"id": "long"})
    assert (namespace.comment, namespace.properties) == ("what is sold", {"comment": "what is sold"})
    namespace.set_properties({"comment": "all that is sold"})
    namespace.rename("shop", message="it is one")
    assert (namespace.name, namespace.comment) == ("shop", "all that is sold")
    assert [one.operations[0].type for one in namespace.history()] == ["rename", "set_properties", "create"]
    assert main.table_exists("shop.orders")


def test_a_catalog_has_a_comment(main):
    main.set_properties({"comment": "the lake"})
    assert main.comment == main.create_branch("dev").comment == "the lake"
