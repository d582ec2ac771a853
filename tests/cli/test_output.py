"""The three forms of an answer, and the values in them."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakebed
from lakebed.cli.addresses import parse_typed, spelled_name
from lakebed.cli.values import ago, byte_text, json_line, plain_text, terminal_text
from lakebed.store import Version
from tests.cli.conftest import Cli


@given(st.text())
def test_a_value_in_a_pipe_is_one_field_from_which_the_text_comes_back(text: str) -> None:
    field = plain_text(text)
    assert not set(field) & set("\t\n\r")
    escapes = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}
    back, characters = "", iter(field)
    for character in characters:
        back += escapes[next(characters)] if character == "\\" else character
    assert back == text


@given(st.text())
def test_a_value_on_a_terminal_moves_no_cursor(text: str) -> None:
    assert not set(terminal_text(text)) & {chr(code) for code in range(32) if chr(code) not in "\n\t"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Version.parse(17), 17),
        (datetime(2026, 11, 1, 12, tzinfo=UTC), "2026-11-01T12:00:00+00:00"),
        (date(2026, 11, 1), "2026-11-01"),
        (Decimal("1.50"), "1.50"),
        (b"\x00\xff", "AP8="),
        (float("nan"), "nan"),
        ({"a": (1, None)}, {"a": [1, None]}),
        (True, True),
    ],
)
def test_a_value_in_json_is_the_one_that_the_page_says(value: object, expected: object) -> None:
    assert json.loads(json_line(value)) == expected


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *((1, "just now"), (59, "59 seconds ago"), (60, "1 minute ago"), (7300, "2 hours ago"), (9e7, "2 years ago")),
        (17 * 86_400, "17 days ago"),  # which was "17 daies ago"
    ],
)
def test_a_time_on_a_terminal_is_relative(seconds: float, said: str) -> None:
    now = datetime(2026, 11, 18, tzinfo=UTC)
    assert ago(now - timedelta(seconds=seconds), now) == said


def test_sizes_are_for_people() -> None:
    assert [byte_text(size) for size in (1, 999, 1500, 2_000_000_000)] == ["1 byte", "999 bytes", "1.5 kB", "2.0 GB"]


@given(st.lists(st.text("ab.@# é", min_size=1).filter(lambda part: part.strip() == part and part), min_size=1))
def test_a_name_that_is_spelled_is_the_same_when_it_is_typed(parts: list[str]) -> None:
    assert parse_typed(spelled_name(tuple(parts))).name == tuple(parts)
    typed = parse_typed(f"{spelled_name(tuple(parts))}@dev#17")
    assert (typed.name, typed.ref, typed.moment) == (tuple(parts), "dev", "17")


@pytest.mark.parametrize("text", ["", "a..b", ".a", "a.", "a@", "a#", "@dev", "a@#17"])
def test_what_is_not_a_name_is_refused(text: str) -> None:
    with pytest.raises(lakebed.Invalid):
        parse_typed(text)


def test_a_pipe_gets_a_header_and_tabs(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("ls", "-r").lines == [
        "name\ttype\tversion\tcomment",
        "sales\tnamespace\t3\t",
        "sales.orders\ttable\t4\t",
    ]
    assert cli("head", "sales.orders", "-n", "2").lines == ["id\tprice\tnote", "1\t9.5\ta", "2\t12.0\t"]


def test_a_description_in_a_pipe_was_text_for_people_and_is_tab_separated(cli: Cli, lake: lakebed.Lake) -> None:
    shown = dict(line.split("\t", 1) for line in cli("describe", "sales.orders").lines)
    assert (shown["name"], shown["rows"], shown["primary_key"]) == ("sales.orders", "3", '["id"]')
    assert dict(line.split("\t", 1) for line in cli("describe").lines)["ref"] == "main"


def test_each_level_is_described_by_its_canonical_string(cli: Cli, lake: lakebed.Lake) -> None:
    root = lake.catalog().table("sales.orders").partition()
    delta = root.deltas()[0].locator
    place, types = delta, []
    while place.namespace:
        [shown] = cli("describe", str(place), "--json").json if "|" in str(place) else [{"type": "namespace"}]
        types.append(shown["type"])
        place = place.parent
    assert types == ["delta", "partition", "stream", "table", "table", "namespace"]
    shown = dict(line.split("\t", 1) for line in cli("describe", str(delta)).lines)
    assert (shown["name"], shown["kind"], shown["added_rows"]) == (str(delta), "append", "3")
    assert cli("inspect", shown["manifest"], "--json").json[0]["sequence_number"] == delta.delta
    assert cli("describe", f"{delta.parent}|99").code == 7
    assert cli("describe", "sales||orders").code == 9


def test_times_in_a_pipe_are_iso_in_show_and_in_the_graph(cli: Cli, lake: lakebed.Lake) -> None:
    [newest, *_] = lake.catalog().log()
    assert f"time\t{newest.time.isoformat()}" in cli("show").lines
    assert f"{newest.time.isoformat()}]" in cli("log", "--graph").lines[0]


def test_what_changed_nothing_does_not_say_that_it_was_done(cli: Cli, lake: lakebed.Lake) -> None:
    table = lake.catalog().table("sales.orders")
    table.compact()
    assert cli("compact", "sales.orders").out == "nothing changed: sales.orders has nothing to compact\n"


def test_quiet_prints_names_alone(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("ls", "-r", "-q").lines == ["sales", "sales.orders"]
    assert cli("branch", "dev", "--quiet").out == ""


def test_rows_of_data_have_their_columns_and_nothing_else_in_json(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("head", "sales.orders", "-n", "1", "--json").json == [{"id": 1, "price": 9.5, "note": "a"}]
    assert cli("count", "sales.orders", "--json").json == [{"name": "sales.orders", "rows": 3, "on": "default@main"}]


EVERY_ANSWER = [
    "status", "doctor", "version", "completion bash", "ls -r", "show", "describe", "describe sales.orders",
    "describe sales", "head sales.orders", "count sales.orders", "schema sales.orders", "branch", "branch x", "switch",
    "switch main", "tag t", "tag", "share s sales.orders", "share", "log", "log --graph", "log --all",
    "diff 3 4", "changes --since 3", "changes sales.orders --since 3", "changes sales.orders --since 3 --summary",
    "edition sales.orders", "stream sales.orders", "stream sales.orders --stage",
    "partition sales.orders", "create a.b id:long -p", "drop sales.orders", "set sales.orders",
    "set sales.orders a=b", "set c=d", "evolve sales.orders --add x:int", "rename sales.orders sales.o", "dropped",
    "query 1", "files sales.orders", "explain sales.orders", "history sales.orders", "inspect __tables", "usage",
    "usage --by ref", "compact sales.orders", "checkpoint sales.orders", "revert", "restore sales.orders 3",
    "reset 3 --yes", "export sales.orders o.csv",
]  # fmt: skip


@pytest.mark.parametrize("words", EVERY_ANSWER)
def test_every_word_that_answers_does_so_in_lines_of_json(cli: Cli, lake: lakebed.Lake, words: str) -> None:
    arguments = ["query", "select 1 as one"] if words == "query 1" else words.split()
    answer = cli(*arguments, "--json")
    assert answer.code == 0, answer.err
    assert answer.err == ""
    found = answer.json
    assert all(isinstance(one, dict) for one in found)
    assert found or words in ("dropped", "set sales.orders", "tag", "share")
