"""Commits and merges: log, show, diff, merge, conflicts, revert, reset, restore, cherry-pick, changes."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import lakebed
from tests.cli.conftest import Cli


@pytest.fixture
def apart(lake: lakebed.Lake) -> lakebed.Lake:
    """Both branches changed the price of order 2; dev has a new order."""
    main = lake.catalog()
    dev = main.create_branch("dev")
    dev.table("sales.orders").upsert([{"id": 2, "price": 13.0}, {"id": 4, "price": 1.0}], message="dev's price")
    main.table("sales.orders").upsert([{"id": 2, "price": 14.0}], message="main's price")
    return lake


def price(cli: Cli, id: int) -> float:
    [row] = cli("head", "sales.orders", "--where", f"id = {id}", "--json").json
    return float(row["price"])


def test_the_log_has_the_newest_first_and_can_be_limited(cli: Cli, lake: lakebed.Lake) -> None:
    assert [row["message"] for row in cli("log", "--json").json] == ["first orders", "make orders"]
    assert [row["version"] for row in cli("log", "-n", "1", "--json").json] == [4]
    assert [row["version"] for row in cli("log", "sales.orders", "--json").json] == [4, 3]
    assert cli("log").lines[1].startswith("4\t20")
    assert [row["version"] for row in cli("history", "sales.orders", "--json").json] == [4, 3]


def test_the_graph_draws_forks_and_merges(cli: Cli, apart: lakebed.Lake) -> None:
    apart.catalog().merge(apart.catalog("default@dev"), strategy="ours", message="together")
    drawn = [line.partition("  ")[0].rstrip() for line in cli("log", "--graph").lines]
    signs = ["".join(sign for sign in line if sign in "●│├─╮╯") for line in cli("log", "--graph").lines]
    assert signs == ["●", "├─╮", "●│", "│●", "├─╯", "●", "●"]
    assert any("(main)" in line for line in cli("log", "--graph").lines), drawn


def test_show_says_what_a_commit_did(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("show").lines[0] == "version\t4"
    assert "operation\tinsert sales.orders (added bytes 768, added files 1, added rows 3)" in cli("show", "4").out
    [shown] = cli("show", "4", "--json").json
    assert cli("show", shown["id"], "--json").json == [shown]
    assert cli("show", "99").code == 7


def test_a_diff_says_which_tables_differ(cli: Cli, apart: lakebed.Lake) -> None:
    [row] = cli("diff", "main", "dev", "--json").json
    assert (row["kind"], row["name"]) == ("changed", "sales.orders")
    assert cli("diff", "main", "main", "--json").json == []
    assert cli("diff", "4", "--json").json != []
    assert cli("diff", "main", "dev", "sales.none", "--json").code == 7


def test_a_conflict_ends_with_5_and_says_how_to_go_on(cli: Cli, apart: lakebed.Lake) -> None:
    answer = cli("merge", "dev")
    assert answer.code == 5
    assert "row id = 2" in answer.err
    assert "--keep-conflicts" in answer.err
    dry = cli("merge", "dev", "--dry-run", "--json")
    assert (dry.code, dry.json[0]["conflicts"][0]["key"]) == (5, {"id": 2})
    assert price(cli, 2) == 14.0


def test_the_only_conflict_of_a_merge_was_printed_twice_and_is_printed_once(cli: Cli, apart: lakebed.Lake) -> None:
    assert cli("merge", "dev").err.count("row id = 2") == 1


def test_a_merge_that_is_finished_too_early_says_how_to_decide(cli: Cli, apart: lakebed.Lake) -> None:
    cli("merge", "dev", "--keep-conflicts")
    answer = cli("conflicts", "--finish")
    assert answer.code == 5
    assert "Decide them first: `lakebed conflicts --ours ID`" in answer.err
    cli("conflicts", "--ours", "all")
    assert "1 decision " in cli("log", "--graph").out


def test_a_strategy_settles_conflicts(cli: Cli, apart: lakebed.Lake) -> None:
    assert cli("merge", "dev", "--strategy", "theirs").code == 0
    assert (price(cli, 2), price(cli, 4)) == (13.0, 1.0)
    again = cli("merge", "dev")
    assert (again.code, again.out) == (0, "nothing changed: dev has nothing new\n")


@pytest.mark.parametrize("way", ["ours", "theirs", "row", "file", "editor"])
def test_conflicts_are_listed_decided_and_finished(
    cli: Cli, apart: lakebed.Lake, folder: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("merge", "dev", "--keep-conflicts").code == 5
    [conflict] = cli("conflicts", "--json").json
    assert cli("conflicts", "--finish").code == 5, "it is not decided yet"
    if way == "editor":
        script = folder / "editor.sh"
        script.write_text('#!/bin/sh\nsleep 0.01; sed -i \'s/"decision": null/"decision": "theirs"/\' "$1"\n')
        script.chmod(0o755)
        monkeypatch.setenv("EDITOR", str(script))
        monkeypatch.setattr("click._termui_impl.Editor.get_editor", lambda _: str(script))
        decided = cli("conflicts", "--edit")
    elif way == "file":
        (folder / "decided.jsonl").write_text(json.dumps({**conflict, "decision": "theirs"}))
        decided = cli("conflicts", "--decide", "decided.jsonl")
    elif way == "row":
        decided = cli("conflicts", "--row", conflict["id"], '{"id": 2, "price": 99.0, "note": "by hand"}')
    else:
        decided = cli("conflicts", f"--{way}", conflict["id"][:4])
    assert decided.code == 0, decided.err
    assert "all are decided" in decided.err
    assert cli("conflicts", "--finish", "-m", "by hand").code == 0
    assert price(cli, 2) == {"ours": 14.0, "row": 99.0}.get(way, 13.0)
    assert cli("conflicts").code == 7


ROW = {"id": 2, "price": 14.0, "note": None}


def test_conflicts_were_texts_of_json_inside_of_json_and_are_what_a_dry_run_shows(
    cli: Cli, apart: lakebed.Lake
) -> None:
    """In the editor each quote was escaped; `jq .ours.price` found nothing."""
    [shown] = cli("merge", "dev", "--dry-run", "--json").json[0]["conflicts"]
    cli("merge", "dev", "--keep-conflicts")
    [conflict] = cli("conflicts", "--json").json
    assert {name: conflict[name] for name in shown} == shown
    assert (conflict["key"], conflict["columns"], conflict["ours"]) == ({"id": 2}, ["price"], ROW)
    header, line = (line.split("\t") for line in cli("conflicts").lines)
    piped = dict(zip(header, line, strict=True))
    assert (json.loads(piped["key"]), json.loads(piped["ours"])) == ({"id": 2}, ROW)
    cli("conflicts", "--row", conflict["id"], '{"id": 2, "price": 99.0}')
    assert cli("conflicts", "--json").json[0]["decision"] == {"id": 2, "price": 99.0}


COLUMNS = {
    "id": "long",
    "at": "timestamptz",
    "day": "date",
    "price": "decimal(9, 2)",
    "code": "uuid",
    "raw": "binary",
    "parts": "struct<since: timestamp>",
    "days": "list<date>",
}


def row_of_each_type(day: int) -> dict[str, Any]:
    moment = datetime(2026, 11, day, 10, tzinfo=UTC)
    return {
        "id": 1,
        "at": moment,
        "day": moment.date(),
        "price": Decimal(day),
        "code": UUID(int=day),
        "raw": b"\xff" * day,
        "parts": {"since": moment.replace(tzinfo=None)},
        "days": [moment.date()],
    }


@pytest.mark.parametrize("way", ["row", "file"])
def test_a_row_that_is_written_as_it_was_shown_is_a_decision_whatever_its_types(
    cli: Cli, folder: Path, lake: lakebed.Lake, way: str
) -> None:
    """Times, decimals and uuids are texts in JSON: the table has no such values."""
    main = lake.catalog()
    table = main.create_table("every", COLUMNS, primary_key=["id"])
    table.append([row_of_each_type(1)])
    main.create_branch("dev").table("every").upsert([row_of_each_type(2)])
    table.upsert([row_of_each_type(3)])
    cli("merge", "dev", "--keep-conflicts")
    [conflict] = cli("conflicts", "--json").json
    if way == "file":
        (folder / "decided.jsonl").write_text(json.dumps({**conflict, "decision": conflict["theirs"]}))
        decided = cli("conflicts", "--decide", "decided.jsonl")
    else:
        decided = cli("conflicts", "--row", conflict["id"], json.dumps(conflict["theirs"]))
    assert decided.code == 0, decided.err
    wrong = cli("conflicts", "--row", conflict["id"], json.dumps({**conflict["theirs"], "day": "soon"}))
    assert (wrong.code, "day: the value does not fit its column" in wrong.err) == (9, True)
    assert cli("conflicts", "--finish").code == 0
    assert table.get(1) == row_of_each_type(2)


def test_the_log_called_a_table_that_was_merged_a_branch(cli: Cli, apart: lakebed.Lake) -> None:
    cli("merge", "dev", "--strategy", "ours")
    assert cli("log", "-n", "1").lines[1].endswith("\tmerge branch dev; merge sales.orders")
    assert str(apart.catalog().log(limit=1)[0]).endswith("  merge branch dev; merge sales.orders")


def test_a_merge_can_be_abandoned(cli: Cli, apart: lakebed.Lake) -> None:
    cli("merge", "dev", "--keep-conflicts")
    assert "waits for decisions" in cli("status").out
    assert cli("conflicts", "--theirs", "zz").code == 7
    assert cli("conflicts", "--abandon").code == 0
    assert cli("status", "--json").json[0]["merge_in_progress"] is None


def test_a_commit_is_reverted_and_picked_elsewhere(cli: Cli, apart: lakebed.Lake) -> None:
    assert cli("revert", "-m", "a mistake").code == 0
    assert price(cli, 2) == 12.0
    [picked, *_] = cli("log", "--on", "dev", "--json").json
    assert cli("cherry-pick", str(picked["version"])).code == 0
    assert (price(cli, 2), price(cli, 4)) == (13.0, 1.0)


def test_a_strategy_settles_what_a_revert_and_a_pick_dispute(cli: Cli, apart: lakebed.Lake) -> None:
    [undone, *_] = cli("log", "--json").json
    apart.catalog().table("sales.orders").update({"price": "99"}, where="id = 2")
    refused = cli("revert", str(undone["version"]))
    assert refused.code == 5
    assert "Use --strategy" in refused.err
    assert cli("revert", str(undone["version"]), "--strategy", "theirs").code == 0
    assert price(cli, 2) == 12.0
    apart.catalog().table("sales.orders").update({"price": "77"}, where="id = 2")
    [picked, *_] = cli("log", "--on", "dev", "--json").json
    assert cli("cherry-pick", str(picked["version"])).code == 5
    assert cli("cherry-pick", str(picked["version"]), "--strategy", "theirs").code == 0
    assert price(cli, 2) == 13.0


def test_reset_asks_first_and_restore_brings_one_table_back(cli: Cli, lake: lakebed.Lake) -> None:
    lake.catalog().table("sales.orders").truncate()
    assert cli("restore", "sales.orders", "4").code == 0
    assert cli("count", "sales.orders").out == "3\n"
    assert cli("reset", "3").code == 9
    assert cli("count", "sales.orders").out == "3\n"
    assert cli("reset", "3", "--yes").code == 0
    assert cli("count", "sales.orders").out == "0\n"


def test_show_of_a_commit_that_was_made_on_another_branch_showed_no_change(cli: Cli, apart: lakebed.Lake) -> None:
    [made, *_] = apart.catalog("default@dev").log()
    assert cli("show", str(made.version), "--json").json[0]["changes"] != []
    apart.catalog().merge(apart.catalog("default@dev"), strategy="ours")
    [change] = cli("show", str(made.version), "--json").json[0]["changes"]
    assert change.startswith("changed table sales.orders")


def test_the_log_names_the_version_that_a_revert_undid_and_not_its_id(cli: Cli, apart: lakebed.Lake) -> None:
    [before, *_] = apart.catalog().log()
    assert cli("revert").code == 0
    [newest, *_] = apart.catalog().log()
    assert newest.operations[0].detail == before.id
    for words in (("log", "-n", "2"), ("log", "--graph"), ("history", "sales.orders")):
        assert f"revert version {before.version}" in cli(*words).out
    assert f"operation\trevert version {before.version}" in cli("show").out


@pytest.mark.parametrize("word", ["revert", "cherry-pick"])
def test_a_conflict_of_a_revert_or_a_pick_named_an_id_and_advised_about_python(
    cli: Cli, apart: lakebed.Lake, word: str
) -> None:
    table = apart.catalog().table("sales.orders")
    [commit, *_] = (apart.catalog() if word == "revert" else apart.catalog("default@dev")).log()
    table.update({"price": "99.0"}, "id = 2")
    answer = cli(word, str(commit.version))
    assert answer.code == 5
    assert f"to {word} version {commit.version}: " in answer.err
    assert f"`lakebed show {commit.version}` shows" in answer.err
    assert "error's" not in answer.err


def test_a_merge_that_is_reverted_was_in_progress_again(cli: Cli, apart: lakebed.Lake) -> None:
    cli("merge", "dev", "--keep-conflicts")
    cli("conflicts", "--ours", "all", "--finish")
    assert cli("revert").code == 0
    assert cli("status", "--json").json[0]["merge_in_progress"] is None
    assert cli("conflicts").code == 7


def test_restore_takes_back_the_last_change_of_the_table_whatever_came_after(cli: Cli, lake: lakebed.Lake) -> None:
    """What it did: `-1` was the commit before the newest of the branch, which need not be about the table."""
    lake.catalog().table("sales.orders").truncate()
    lake.catalog().create_namespace("other")
    assert cli("restore", "sales.orders", "-1").out == "version 7: sales.orders is what it was at version 4\n"
    assert cli("count", "sales.orders").out == "3\n"


def test_a_dropped_table_is_restored(cli: Cli, lake: lakebed.Lake) -> None:
    lake.catalog().drop_table("sales.orders")
    assert cli("restore", "sales.orders", "4").code == 0
    assert cli("count", "sales.orders").out == "3\n"


def test_the_question_of_a_reset_counts_in_words(cli: Cli, lake: lakebed.Lake) -> None:
    assert "(1 object changes)?" in cli("reset", "3").err
    lake.catalog().create_namespace("other")
    assert "(2 objects change)?" in cli("reset", "3").err


def test_changes_are_rows_and_without_a_table_counts(cli: Cli, apart: lakebed.Lake) -> None:
    rows = cli("changes", "sales.orders", "--since", "4", "--json").json
    assert [row["_change_type"] for row in rows] == ["update_preimage", "update_postimage"]
    [table] = cli("changes", "--since", "3", "--json").json
    assert (table["name"], table["added_rows"]) == ("sales.orders", 4)
    [counts] = cli("changes", "sales.orders", "--since", "4", "--summary", "--json").json
    assert (counts["inserted"], counts["updated"]) == (0, 1)


@pytest.mark.parametrize(
    "line",
    [
        b"[",
        b"[" * 50_000,
        b"7",
        b"null",
        b"[1]",
        b'{"decision": "ours"}',
        b'{"id": 7, "decision": "ours"}',
        b"\xff\xfe",
        b'{"id": "all", "decision": {"price": "x"}}',
        b'{"id": "all", "decision": "[[["}',
    ],
    ids=lambda line: repr(line)[:20],
)
def test_a_file_of_decisions_that_has_something_else_was_called_a_bug(
    cli: Cli, apart: lakebed.Lake, folder: Path, line: bytes
) -> None:
    assert cli("merge", "dev", "--keep-conflicts").code == 5
    (folder / "decisions").write_bytes(line + b"\n")
    answer = cli("conflicts", "--decide", "decisions")
    assert (answer.code, "This is a bug" in answer.err) == (9, False)
    assert cli("conflicts", "--ours", "all", "--finish").code == 0


def test_a_merge_in_progress_is_no_document_in_a_difference(cli: Cli, lake: lakebed.Lake) -> None:
    main = lake.catalog()
    other = main.create_branch("other")
    before = main.version
    other.table("sales.orders").update({"note": "'x'"}, "id = 1")
    main.table("sales.orders").update({"note": "'y'"}, "id = 1")
    main.merge(other, keep_conflicts=True)
    [catalog] = [one for one in main.at(version=before).diff(main) if one.type == "catalog"]
    assert [str(change) for change in catalog.changes] == ["property lakebed.merge added"]
