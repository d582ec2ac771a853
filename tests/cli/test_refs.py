"""Branches, tags, shares, and the branch that is switched to."""

import os
import shlex
from pathlib import Path

import pytest

import lakebed
from tests.cli.conftest import Cli


def test_a_branch_is_created_listed_renamed_dropped_and_undropped(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("branch", "dev").out == "created branch dev at version 4\n"
    assert [row["name"] for row in cli("branch", "--json").json] == ["main", "dev"]
    assert cli("branch", "-m", "dev", "next").code == 0
    dropped = cli("branch", "-d", "next", "--json").json[0]
    assert dropped["undrop"].startswith("lakebed undrop next --type branch --id ")
    assert cli(*dropped["undrop"].split()[1:]).code == 0
    assert cli("branch", "-q").lines == ["main", "next"]


@pytest.mark.parametrize(
    ("kind", "drop"), [("branch", "branch -d a b"), ("tag", "tag -d a b"), ("share", "share -d a b")]
)
def test_the_line_that_undoes_a_drop_did_not_name_the_lake_and_was_ambiguous(
    cli: Cli, lake: lakebed.Lake, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, drop: str
) -> None:
    """Of a share it also left out the quotes."""
    for _ in range(2):  # the second one has the same name
        getattr(lake.catalog(), f"create_{kind}")("a b", *([["sales.orders"]] if kind == "share" else []))
        word, option, name = drop.split(" ", 2)
        dropped = cli(word, option, name, "--lake", str(folder), "--json")
    monkeypatch.chdir("/")
    assert cli(*shlex.split(dropped.json[0]["undrop"])[1:]).code == 0
    assert getattr(lake.catalog(), f"{kind}_exists")("a b")


def test_the_line_that_undoes_the_drop_of_the_branch_one_is_on_names_another(cli: Cli, lake: lakebed.Lake) -> None:
    cli("switch", "-c", "dev")
    dropped = cli("branch", "-d", "dev", "--json").json[0]
    assert cli(*shlex.split(dropped["undrop"])[1:]).code == 0
    assert cli("status").code == 0


@pytest.mark.parametrize(("words", "name"), [("tag", "v1"), ("share", "partners")])
def test_a_message_for_a_tag_or_a_share_renamed_it_and_is_now_its_message(
    cli: Cli, lake: lakebed.Lake, words: str, name: str
) -> None:
    objects = ["sales.orders"] if words == "share" else []
    assert cli(words, name, *objects, "-m", "release one").code == 0
    assert cli(words, "-q").lines == [name]
    assert cli("log", "--all", "--json", "-n", "1").json[0]["message"] == "release one"


def test_switch_is_remembered_and_shown_in_every_answer(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("switch", "-c", "dev").code == 0
    status = cli("status", "--json").json[0]
    assert (status["ref"], status["switched"], status["on"]) == ("dev", True, "default@dev")
    assert "on default@dev" in cli("ls").err
    assert cli("ls", "--on", "main").err == ""
    assert cli("switch", "-").out == "switched to default@main, version 4\n"
    assert cli("switch", "-").out == "switched to default@dev, version 4\n"


def test_what_is_remembered_is_one_file_that_a_check_and_a_backup_leave_out(
    cli: Cli, lake: lakebed.Lake, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = {path.name for path in folder.iterdir()}
    cli("switch", "-c", "dev")
    [remembered] = {path.name for path in folder.iterdir()} - before
    assert remembered.startswith("switched-")
    assert (folder / remembered).read_text() == "default@dev\ndefault@main\n"
    assert cli("check", "--orphans").out == ""
    copy = tmp_path_factory.mktemp("backup") / "copy"
    assert cli("backup", str(copy)).code == 0
    assert not list(copy.glob("switched-*"))


def test_a_switched_branch_that_is_gone_says_how_to_get_away(cli: Cli, lake: lakebed.Lake) -> None:
    cli("switch", "-c", "dev")
    lake.catalog().drop_branch("dev")
    answer = cli("ls")
    assert answer.code == 7
    assert "lakebed switch main" in answer.err
    assert cli("switch", "main").code == 0
    assert cli("ls").code == 0


def test_a_renamed_branch_is_still_the_one_that_was_switched_to(cli: Cli, lake: lakebed.Lake) -> None:
    cli("switch", "-c", "dev")
    assert cli("branch", "-m", "dev", "next").code == 0
    assert cli("status", "--json").json[0]["ref"] == "next"


def test_where_nothing_can_be_remembered_the_option_is_advised(
    cli: Cli, lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.catalog().create_branch("dev")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.replace", refuse)
    answer = cli("switch", "dev")
    assert answer.code == 10
    assert "--on REF" in answer.err


def test_tags_name_versions(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("tag", "empty", "3").code == 0
    assert cli("count", "sales.orders", "--on", "empty").out == "0\n"
    assert cli("tag", "--json").json == [{"name": "empty", "version": 3, "on": "default@main"}]
    assert cli("tag", "-d", "empty").code == 0


def test_a_version_is_also_named_as_a_name_has_it(cli: Cli, lake: lakebed.Lake) -> None:
    """`lakebed diff '#3'` said that an empty text can't be a name."""
    assert cli("diff", "#3", "--json").out == cli("diff", "3", "--json").out != ""
    assert cli("diff", "#99").code == cli("diff", "#").code == 9


def test_names_have_refs_and_moments(cli: Cli, lake: lakebed.Lake) -> None:
    lake.catalog().create_branch("dev").table("sales.orders").append([{"id": 9}])
    assert cli("count", "sales.orders@dev").out == "4\n"
    assert cli("count", "sales.orders#3").out == "0\n"
    assert cli("count", "sales.orders@dev#4").out == "3\n"
    assert cli("count", "sales.orders", "--at", "-1").out == "0\n"
    assert cli("count", "sales.orders@dev", "--at", "3").out == "4\n", "what the name says itself comes first"


def test_a_moment_of_a_tag_is_refused_as_the_api_does(cli: Cli, lake: lakebed.Lake) -> None:
    cli("tag", "t")
    answer = cli("count", "sales.orders@t#3")
    assert answer.code == 9
    assert "a tag has a version" in answer.err


def test_a_line_that_is_to_be_pasted_is_quoted(cli: Cli, lake: lakebed.Lake) -> None:
    assert "lakebed switch 'a b'" in cli("branch", "a b").err
    assert "lakebed undrop 'a b' --type branch" in cli("branch", "-d", "a b").err


def test_a_share_shows_what_was_granted(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("share", "partners", "sales.orders", "--json").json[0]["objects"] == ["sales.orders"]
    assert cli("ls", "sales", "--on", "partners", "-q").lines == ["sales.orders"]
    assert cli("share", "partners", "--revoke", "sales.orders").code == 0
    assert cli("share", "--json").json[0]["objects"] == []
    assert cli("share", "-d", "partners").code == 0


def test_a_private_lake_remembered_the_branch_in_a_file_that_others_could_read(
    cli: Cli, lake: lakebed.Lake, folder: Path
) -> None:
    folder.chmod(0o700)
    assert cli("switch", "-c", "dev").code == 0
    [remembered] = folder.glob("switched-*")
    assert oct(remembered.stat().st_mode & 0o777) == "0o600"


def test_a_pipe_in_place_of_the_remembered_branch_hung_the_command(cli: Cli, lake: lakebed.Lake, folder: Path) -> None:
    assert cli("switch", "-c", "dev").code == 0
    [remembered] = folder.glob("switched-*")
    remembered.unlink()
    os.mkfifo(remembered)
    assert cli("count", "sales.orders").code == 0
    assert "can't be remembered" in cli("switch", "dev").err


def test_init_takes_the_lake_that_the_other_words_would_take(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It made one in the working folder, and the next word worked on that of the variable, or found none."""
    assert cli("init").err == "next: lakebed load sales.orders orders.csv\n"
    assert cli("init", "my shop").err == "next: lakebed load sales.orders orders.csv --lake 'my shop'\n"
    monkeypatch.setenv("LAKEBED_LAKE", "other")
    assert cli("init").err == "next: lakebed load sales.orders orders.csv\n"
    assert (folder / "other" / "catalog.db").exists()
    assert cli("init", "--lake", "third").err.endswith("--lake third\n")
