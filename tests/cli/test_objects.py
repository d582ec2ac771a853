"""Objects: created, dropped, undropped, renamed, purged, set, evolved."""

import shlex

import pytest

import lakebed
from tests.cli.conftest import Cli


def test_drop_prints_the_line_that_undrops(cli: Cli, lake: lakebed.Lake) -> None:
    answer = cli("drop", "sales.orders")
    assert answer.out == "version 5: dropped table sales.orders\n"
    line = answer.err.strip().removeprefix("undo: ")
    assert cli(*shlex.split(line)[1:]).code == 0
    assert cli("count", "sales.orders").out == "3\n"


def test_the_line_that_undrops_names_the_branch_that_was_worked_on(cli: Cli, lake: lakebed.Lake) -> None:
    lake.catalog().create_branch("dev")
    line = cli("drop", "sales.orders", "--on", "dev", "--json").json[0]["undrop"]
    assert cli(*shlex.split(line)[1:]).code == 0
    assert cli("count", "sales.orders@dev").out == "3\n"


def test_a_dropped_table_comes_back_under_another_name(cli: Cli, lake: lakebed.Lake) -> None:
    cli("drop", "sales.orders")
    cli("create", "sales.orders", "id:long")
    assert cli("undrop", "sales.orders", "--as", "sales.old").code == 0
    assert cli("ls", "sales", "-q").lines == ["sales.old", "sales.orders"]


def test_dropped_lists_what_undrop_takes(cli: Cli, lake: lakebed.Lake) -> None:
    cli("drop", "sales", "--cascade")
    [gone] = [row for row in cli("dropped", "--json").json if row["type"] == "namespace"]
    assert cli("undrop", gone["name"], "--id", gone["id"]).code == 0
    assert cli("count", "sales.orders").out == "3\n"
    assert cli("undrop", "nothing").code == 7


def test_what_was_dropped_from_a_table_was_not_listed_and_came_back_by_other_words(
    cli: Cli, lake: lakebed.Lake
) -> None:
    days = lake.catalog().create_table("sales.days", {"id": "long", "day": "string"}, partition_by=["day"])
    days.create_partition({"day": "2026-11-01"}).drop()
    days.create_edition("2")
    days.drop_edition("2")
    days.stage_stream().discard()
    found = cli("dropped", "--json").json
    assert [row["type"] for row in found] == ["stream", "edition", "partition"]
    for row in found:
        purged = cli("purge", row["name"], "--yes")
        assert (purged.code, "is purged with its table" in purged.err) == (9, True)
        assert cli("undrop", row["name"], "--as", "other").code == 2
        assert cli("undrop", row["name"]).code == 0
    assert cli("dropped", "--json").json == []
    for _ in range(2):
        days.drop_partition({"day": "2026-11-01"})
        days.create_partition({"day": "2026-11-01"})
    days.drop_partition({"day": "2026-11-01"})
    several = cli("undrop", "sales.days.day=2026-11-01")
    assert (several.code, "several dropped partitions" in several.err) == (9, True)
    last = cli("dropped", "--json").json[0]
    assert cli("undrop", last["name"], "--id", last["id"]).code == 0


def test_purge_asks_and_without_a_terminal_refuses(cli: Cli, lake: lakebed.Lake) -> None:
    cli("drop", "sales.orders")
    refused = cli("purge", "sales.orders")
    assert (refused.code, "--yes" in refused.err) == (9, True)
    assert [row["name"] for row in cli("dropped", "--json").json] == ["sales.orders"]
    assert cli("purge", "sales.orders", "--yes").code == 0
    assert cli("dropped", "-q").lines == []


def test_one_commit_makes_a_table_with_its_namespaces(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("create", "eu.west.items", "id:long", "tags:list<string>", "--primary-key", "id").code == 7
    assert cli("create", "eu.west.items", "id:long", "tags:list<string>", "--primary-key", "id", "-p").code == 0
    [newest, *_] = lake.catalog().log(limit=1)
    assert [one.name for one in newest.operations] == ["eu", "eu.west", "eu.west.items"]
    assert cli("schema", "eu.west.items").lines[1:] == ["id\tlong\ttrue\t1\t", "tags\tlist<string>\tfalse\t2\t"]


def test_views_namespaces_and_catalogs_are_created_too(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("create", "sales.big", "--view", "select * from sales.orders where price > 9").code == 0
    assert cli("create", "--namespace", "eu", "--comment", "Europe").code == 0
    assert cli("create", "--catalog", "lab").code == 0
    assert [row["type"] for row in cli("ls", "-r", "--json").json] == ["namespace", "namespace", "table", "view"]
    assert cli("ls", "--on", "lab@main").lines == ["name\ttype\tversion\tcomment"]
    assert cli("describe", "sales.big", "--json").json[0]["type"] == "view"


def test_catalogs_could_be_created_and_neither_listed_nor_dropped(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("create", "--catalog", "lab").code == 0
    assert cli("create", "t", "id:long", "--on", "lab@main").code == 0
    assert cli("ls", "--catalogs", "-q").lines == ["default", "lab"]
    assert cli("rename", "lab", "labs", "--catalog").code == 0
    assert cli("drop", "labs", "--catalog").code == 9
    line = cli("drop", "labs", "--catalog", "--cascade", "--json").json[0]["undrop"]
    assert cli("ls", "--catalogs", "-q").lines == ["default"]
    assert cli("drop", "labs", "--catalog", "--if-exists").code == 0
    assert cli(*shlex.split(line)[1:]).code == 0
    assert cli("count", "t", "--on", "labs@main").out == "0\n"


@pytest.mark.parametrize("words", [["sales.orders", "id:long"], ["sales", "--namespace"], ["default", "--catalog"]])
def test_what_is_there_already_was_reported_as_created(cli: Cli, lake: lakebed.Lake, words: list[str]) -> None:
    answer = cli("create", *words, "--if-not-exists")
    assert answer.code == 0
    assert answer.out.startswith("nothing changed: there is a ")


def test_a_column_without_a_type_is_answered_with_its_shape(cli: Cli, lake: lakebed.Lake) -> None:
    for words in (["create", "sales.x", "id"], ["edition", "sales.orders", "--create", "2", "--column", "id"]):
        answer = cli(*words)
        assert answer.code == 2
        assert "'id' is not COLUMN:TYPE" in answer.err


def test_rename_keeps_the_rows(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("rename", "sales.orders", "sales.bought").code == 0
    assert cli("count", "sales.bought").out == "3\n"


def test_properties_are_set_shown_and_unset(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("set", "sales.orders", "team=a=b", "tier=1").code == 0
    assert cli("set", "sales.orders").lines == ["property\tvalue", "team\ta=b", "tier\t1"]
    assert cli("set", "sales.orders", "--unset", "team").code == 0
    assert cli("set", "sales.orders", "-q").lines == ["tier"]
    assert cli("set", "sales.orders", "nonsense").code == 2


def test_columns_evolve_in_one_commit(cli: Cli, lake: lakebed.Lake) -> None:
    changes = ["--rename", "note=remark", "--add", "region:string", "--first", "region", "--sort-by", "price desc"]
    before = len(lake.catalog().log())
    assert cli("evolve", "sales.orders", *changes, "-m", "tidy").code == 0
    assert cli("schema", "sales.orders", "-q").lines == ["region", "id", "price", "remark"]
    assert len(lake.catalog().log()) == before + 1
    assert cli("evolve", "sales.orders").code == 2


def test_the_same_event_id_twice_is_one_commit(cli: Cli, lake: lakebed.Lake) -> None:
    event = lakebed.event_id("a", 1)
    for _ in range(2):
        assert cli("set", "sales.orders", "a=1", "--event-id", event).code == 0
    assert len(lake.catalog().log()) == 3


def test_a_table_in_a_missing_namespace_is_answered_with_how_to_create_it(cli: Cli, lake: lakebed.Lake) -> None:
    answer = cli("create", "shop.items", "id:long")
    assert answer.code == 7
    assert "`lakebed create --namespace shop` creates it; or add --parents." in answer.err
    assert "ls -r" not in answer.err
    assert cli("create", "shop.items", "id:long", "--parents").code == 0
