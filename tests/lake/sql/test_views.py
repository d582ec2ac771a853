"""Views: create, open, list, rename, change, drop, at a version, on branches, in transactions."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import lakebed
from lakebed import AlreadyExists, Conflict, Field, Forbidden, Invalid, NotFound, Schema

QUERY = "SELECT id, 'ä' AS letter FROM sales.orders -- kept as given  "


@pytest.fixture
def view(main):
    main.create_namespace("sales")
    return main.create_view("sales.Open", QUERY, properties={"owner": "ada"}, comment="not yet paid")


def test_what_was_created_is_what_is_opened(main, view):
    found = main.view("SALES.open")
    assert found == view
    assert (found.id, found.name) == (view.id, "sales.Open")
    assert found.sql == {"spark": QUERY}
    assert found.sql_for("spark") == found.sql_for() == QUERY
    assert found.properties == {"comment": "not yet paid", "owner": "ada"}
    assert (found.comment, found.schema) == ("not yet paid", None)
    assert found.version == main.version
    assert [one.operations[0].type for one in found.history()] == ["create"]


def test_a_view_has_texts_in_many_dialects(main):
    texts = {"trino": "SELECT 1", "duckdb": "SELECT 2", "spark": "SELECT 3"}
    view = main.create_view("many", texts)
    assert view.sql == texts
    assert view.sql_for("trino") == "SELECT 1"
    with pytest.raises(NotFound, match=r"no text in this dialect.*one of duckdb, spark, trino"):
        view.sql_for("oracle")


def test_a_view_says_which_columns_it_gives(main):
    schema = Schema([Field("id", "long", required=True), Field("tags", "list<string>", comment="any")])
    view = main.create_view("typed", "SELECT 1", schema=schema)
    assert view.schema.names == ("id", "tags")
    assert [(one.required, one.comment) for one in view.schema.fields] == [(True, ""), (False, "any")]
    assert main.create_view("mapped", "SELECT 1", schema={"a": "int"}).schema.names == ("a",)
    first = main.version
    view.set_sql("SELECT 2", schema={"other": "string"})
    assert view.schema.names == ("other",)
    assert view.at(first).schema.names == ("id", "tags")


def test_two_branches_never_give_one_number_to_two_schemas_of_a_view(main):
    view = main.create_view("v", "SELECT 1", schema={"a": "int"})
    dev = main.create_branch("dev")
    view.set_sql("SELECT 2", schema={"b": "int"})
    dev.view("v").set_sql("SELECT 3", schema={"c": "int"})
    assert (view.schema.names, dev.view("v").schema.names) == (("b",), ("c",))


def test_another_text_is_a_new_version_and_the_old_one_stays_readable(main, view):
    first = main.version
    commit = view.set_sql({"spark": "SELECT 2", "trino": "SELECT 3"}, message="better")
    assert [(one.type, one.name, one.detail) for one in commit.operations] == [
        ("alter_view", "sales.Open", "spark, trino")
    ]
    assert view.sql == {"spark": "SELECT 2", "trino": "SELECT 3"}
    assert view.at(first).sql == main.at(first).view("sales.open").sql == {"spark": QUERY}
    assert view.properties["owner"] == "ada"
    assert [one.message for one in view.history()] == ["better", ""]
    assert view.version == commit.version


def test_a_text_in_one_dialect_replaces_those_in_all(main):
    """The others would go on to say what the view was before."""
    view = main.create_view("v", {"spark": "SELECT 1", "trino": "SELECT 1"})
    view.set_sql("SELECT 2")
    assert view.sql == {"spark": "SELECT 2"}


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("", "not an SQL query"),
        (" \n", "not an SQL query"),
        (None, "needs SQL"),
        (1, "needs SQL"),
        ({}, "needs SQL"),
        (["SELECT 1"], "needs SQL"),
        ({"spark": None}, "not an SQL query"),
        ({"spark": "SELECT 1", "trino": ""}, "not an SQL query"),
        ({"Spark": "SELECT 1"}, "not the name of an SQL dialect"),
        ({"": "SELECT 1"}, "not the name of an SQL dialect"),
        ({"my dialect": "SELECT 1"}, "not the name of an SQL dialect"),
        ({1: "SELECT 1"}, "not the name of an SQL dialect"),
        ("SELECT '\ud800'", "not an SQL query"),
    ],
)
def test_what_is_no_query_is_refused_and_changes_nothing(main, view, unchanged, sql, problem):
    with unchanged(), pytest.raises(Invalid, match=problem):
        main.create_view("v", sql)
    with unchanged(), pytest.raises(Invalid, match=problem):
        view.set_sql(sql)


def test_names_are_shared_with_tables_and_namespaces(main, view, unchanged):
    main.create_table("sales.orders", {"id": "long"})
    with unchanged(), pytest.raises(AlreadyExists, match=r"the name is taken.*a view"):
        main.create_table("sales.open", {"id": "long"})
    with unchanged(), pytest.raises(AlreadyExists, match=r"the name is taken.*a view"):
        main.create_namespace("sales.open")
    with unchanged(), pytest.raises(AlreadyExists, match=r"the name is taken.*a table"):
        main.create_view("sales.orders", "SELECT 1")
    with unchanged(), pytest.raises(AlreadyExists, match=r"the name is taken.*a namespace"):
        main.create_view("sales", "SELECT 1", schema={"a": "int"})
    with unchanged(), pytest.raises(AlreadyExists, match=r"the name is taken.*a table"):
        view.rename("sales.orders")


def test_a_view_is_no_table_and_a_table_no_view(main, view, unchanged):
    main.create_table("sales.orders", {"id": "long"})
    with pytest.raises(NotFound, match=r"there is no table of this name.*found a view"):
        main.table("sales.open")
    with pytest.raises(NotFound, match=r"there is no view of this name.*found a table"):
        main.view("sales.orders")
    with unchanged(), pytest.raises(NotFound, match="found a view"):
        main.drop_table("sales.open")
    with unchanged(), pytest.raises(NotFound, match="found a table"):
        main.drop_view("sales.orders")
    assert (main.view_exists("sales.open"), main.table_exists("sales.open")) == (True, False)
    assert (main.view_exists("sales.orders"), main.table_exists("sales.orders")) == (False, True)


def test_views_are_listed_apart_from_tables(main, view):
    main.create_namespace("sales.eu")
    main.create_view("top", "SELECT 1")
    main.create_view("sales.eu.deep", "SELECT 1")
    main.create_table("sales.orders", {"id": "long"})
    assert [one.name for one in main.views()] == ["top"]
    assert [one.name for one in main.views("sales")] == ["sales.Open"]
    assert [one.name for one in main.views(recursive=True)] == ["top", "sales.Open", "sales.eu.deep"]
    assert [one.name for one in main.views("sales", prefix="OP")] == ["sales.Open"]
    assert main.views("sales", prefix="or") == []
    assert [one.name for one in main.tables("sales")] == ["sales.orders"]


def test_a_renamed_view_keeps_its_handle_and_its_history(main, view):
    first = main.version
    main.rename_view("sales.open", "due")
    assert (view.name, view.sql_for()) == ("due", QUERY)
    assert not main.view_exists("sales.open")
    view.rename("sales.due")
    assert view.name == "sales.due"
    assert view.at(first).name == "sales.Open"
    assert [one.operations[0].type for one in view.history()] == ["rename", "rename", "create"]


def test_a_dropped_view_frees_its_name_and_stays_readable_in_the_past(main, view):
    before = main.version
    main.drop_view("sales.open")
    with pytest.raises(NotFound, match="was dropped"):
        view.sql  # noqa: B018  # reading it is the test
    assert main.at(before).view("sales.open").sql_for() == QUERY
    again = main.create_view("sales.open", "SELECT 2")
    assert again.id != view.id
    assert [one.operations[0].type for one in again.history()] == ["create"]


def test_properties_of_a_view_are_changed_one_by_one(main, view):
    view.set_properties({"team": "east"})
    view.unset_properties(["owner"])
    assert view.properties == {"comment": "not yet paid", "team": "east"}
    assert view.sql_for() == QUERY


def test_a_namespace_with_a_view_is_not_empty(main, view, unchanged):
    with unchanged(), pytest.raises(Invalid, match=r"not empty.*Open"):
        main.drop_namespace("sales")
    main.drop_namespace("sales", cascade=True)
    with pytest.raises(NotFound):
        view.sql_for()


def test_a_branch_has_views_of_its_own(main, view):
    dev = main.create_branch("dev")
    dev.view("sales.open").set_sql("SELECT 2")
    dev.create_view("new", "SELECT 3")
    assert (view.sql_for(), dev.view("sales.open").sql_for()) == (QUERY, "SELECT 2")
    assert not main.view_exists("new")
    main.drop_view("sales.open")
    assert dev.view("sales.open").id == view.id


def test_a_view_at_a_version_can_not_be_changed(main, view, unchanged):
    past = view.at(main.version)
    for change in (
        lambda: past.set_sql("SELECT 2"),
        lambda: past.rename("other"),
        lambda: past.set_properties({"a": "b"}),
        lambda: main.at(main.version).create_view("v", "SELECT 1"),
        lambda: main.at(main.version).drop_view("sales.open"),
    ):
        with unchanged(), pytest.raises(Forbidden):
            change()


def test_a_view_is_not_there_before_it_was_made(main, view):
    later = main.create_view("later", "SELECT 1")
    with pytest.raises(NotFound):
        later.at(view.version)


def test_a_transaction_makes_a_table_and_its_view_together(main):
    with main.transaction("both") as tx:
        tx.create_table("orders", {"id": "long"})
        made = tx.create_view("open", "SELECT * FROM orders", schema={"id": "long"})
        assert (made.name, made.sql_for(), made.version) == ("open", "SELECT * FROM orders", None)
        assert tx.view("open").schema.names == ("id",)
        made.set_sql("SELECT id FROM orders")
        assert [one.name for one in tx.views()] == ["open"]
        assert not main.view_exists("open")
    assert main.view("open").sql_for() == "SELECT id FROM orders"
    assert main.view("open").schema is None
    assert [one.type for one in tx.committed.operations] == ["create", "create", "alter_view"]


def test_a_transaction_that_read_a_view_conflicts_with_its_change(main, view):
    other = main.create_table("other", {"id": "long"})
    with pytest.raises(Conflict), main.transaction() as tx:
        tx.table("other").set_properties({"query": tx.view("sales.open").sql_for()})
        view.set_sql("SELECT 2")
    assert other.properties == {}


def test_the_same_event_id_twice_is_one_view(main):
    once = lakebed.event_id("view")
    made = main.create_view("v", "SELECT 1", schema={"a": "int"}, event_id=once)
    assert main.create_view("v", "SELECT 1", schema={"a": "int"}, event_id=once) == made
    changed = made.set_sql("SELECT 2", event_id=lakebed.event_id("change"))
    made.set_sql("SELECT 3")
    assert made.set_sql("SELECT 2", event_id=lakebed.event_id("change")) == changed
    assert made.sql_for() == "SELECT 3"
    with pytest.raises(Invalid, match="another change"):
        main.create_view("v", "SELECT 9", schema={"a": "int"}, event_id=once)


def test_a_text_that_is_too_long_for_a_record_is_refused(main, unchanged):
    with unchanged(), pytest.raises(lakebed.TooLarge):
        main.create_view("long", f"SELECT '{'x' * 200_000}'")


def test_a_view_describes_itself(main, view):
    view.set_sql({"spark": "SELECT 1,\n       2", "trino": "SELECT 3"}, schema={"a": "int"})
    text = view.describe()
    assert text.splitlines()[0] == "view sales.Open"
    for part in (view.id, "not yet paid", "owner = ada", "a  int", "sql, spark\n  SELECT 1,\n         2", "sql, trino"):
        assert part in text


def test_a_dropped_view_comes_back_with_its_id_and_its_texts(main, view):
    main.drop_view("sales.open")
    commit = main.undrop_view("sales.OPEN")
    assert [(one.type, one.object_id) for one in commit.operations] == [("undrop", view.id)]
    assert main.view("sales.open") == view
    assert (view.sql_for(), view.comment) == (QUERY, "not yet paid")
    main.drop_view("sales.open")
    main.create_view("sales.open", "SELECT 2")
    with pytest.raises(AlreadyExists):
        main.undrop_view("sales.open")
    main.undrop_view("sales.open", as_name="open_before")
    assert view.name == "open_before"


def test_of_two_dropped_views_one_is_named_by_its_id(main, view, unchanged):
    main.drop_view("sales.open")
    second = main.create_view("sales.open", "SELECT 2")
    main.drop_view("sales.open")
    with unchanged(), pytest.raises(lakebed.Ambiguous, match="several dropped views"):
        main.undrop_view("sales.open")
    main.undrop_view("sales.open", id=view.id)
    assert main.view("sales.open").sql_for() == QUERY
    assert second.id != view.id


def test_only_a_dropped_view_is_undropped(main, view, unchanged):
    main.create_table("sales.t", {"id": "long"})
    main.drop_table("sales.t")
    with unchanged(), pytest.raises(NotFound):
        main.undrop_view("sales.open")
    with unchanged(), pytest.raises(NotFound, match="no view of this name was dropped"):
        main.undrop_view("sales.t")


def test_a_purged_view_is_gone_for_good(main, view, unchanged):
    before = main.version
    with unchanged(), pytest.raises(Invalid, match="was not dropped"):
        main.purge_view("sales.open")
    main.drop_view("sales.open")
    commit = main.purge_view("sales.open")
    assert [(one.type, one.object_id) for one in commit.operations] == [("purge", view.id)]
    with unchanged(), pytest.raises(lakebed.Expired):
        main.undrop_view("sales.open")
    with pytest.raises(lakebed.Expired):
        view.at(before).sql_for()


def test_views_are_listed_page_by_page(main):
    for name in "abc":
        main.create_view(name, "SELECT 1")
        main.create_table(f"table_{name}", {"id": "long"})
    first = main.views(limit=2)
    assert [one.name for one in first] == ["a", "b"]
    assert [one.name for one in main.views(limit=2, token=first.token)] == ["c"]


def test_a_view_at_a_tag_is_what_it_was_then(main, view):
    main.create_tag("q4")
    view.set_sql("SELECT 2")
    assert view.at(tag="q4").sql_for() == QUERY
    with pytest.raises(Invalid, match="name one moment"):
        view.at(tag="q4", version=1)
    with pytest.raises(Invalid, match="name one moment"):
        view.at()


def test_a_view_is_created_or_replaced_in_one_commit(main, view, unchanged):
    id, before = view.id, main.version
    main.create_table("sales.taken", {"id": "long"})
    replaced = main.create_or_replace_view(
        "sales.open", "select 2", properties={"a": "b"}, comment="x", schema={"n": "int"}
    )
    assert (replaced.id, replaced.sql_for(), replaced.properties) == (id, "select 2", {"a": "b", "comment": "x"})
    assert (replaced.schema.names, replaced.at(version=before).sql_for()) == (("n",), QUERY)
    assert [commit.version for commit in replaced.history()][1:] == [before]
    made = main.create_or_replace_view("sales.new", "select 3")
    assert main.create_or_replace_view("sales.new", "select 3") == made  # as it is already: no error
    assert (made.sql_for(), len(made.history())) == ("select 3", 1)
    with unchanged(), pytest.raises(AlreadyExists, match="a table"):
        main.create_or_replace_view("sales.taken", "select 1")


def test_racing_replacements_make_one_view(main, view):
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda one: main.create_or_replace_view("sales.raced", f"select {one}"), range(8)))
    assert len({one.id for one in made}) == 1
    assert len(made[0].history()) == 8


def test_a_replacement_that_comes_again_with_its_event_id_is_one_commit(main, view):
    event = lakebed.event_id("replace")
    first = main.create_or_replace_view("sales.open", "select 2", event_id=event)
    view.set_sql("select 3")
    assert main.create_or_replace_view("sales.open", "select 2", event_id=event) == first
    assert view.sql_for() == "select 3"


@pytest.mark.parametrize(
    "text",
    [
        "selec 1 frm t",
        "delete from t",
        "select * from (t",
        "select 1; select 2",
        "drop view v",
        "explain select 1",
        "( )",
    ],
)
def test_a_view_that_nobody_could_read_was_created(main, text):
    with pytest.raises(Invalid, match=r"query of a view|not SQL"):
        main.create_view("v", text)
    view = main.create_view("v", "select 1 as a")
    with pytest.raises(Invalid, match=r"query of a view|not SQL"):
        view.set_sql(text)
    assert main.view("v").sql_for() == "select 1 as a"


@pytest.mark.parametrize(
    "text", ["(select 1) union (select 2);", "from t", "with q as (select 1) select * from q", "table t"]
)
def test_every_form_of_a_query_is_a_view(main, text):
    assert main.create_view("v", text).sql_for() == text
