"""Exit codes and errors: each kind has its own code, and no traceback is shown."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lakebed
from lakebed import errors
from lakebed.cli.failures import error_json, error_text, exit_code
from lakebed.cli.words import ELSEWHERE, SENTENCES, WORDS
from tests.cli.conftest import ROOT, Cli

CODES = {
    "Conflict": 5,
    "NotFound": 7,
    "AlreadyExists": 8,
    "Invalid": 9,
    "Ambiguous": 9,
    "TooLarge": 9,
    "Forbidden": 10,
    "Unavailable": 11,
    "TimedOut": 11,
    "OutcomeUnknown": 12,
    "Corrupt": 13,
    "Expired": 14,
    "Held": 6,
    "StepFailed": 4,
    "CheckFailed": 3,
    "LakebedError": 1,
}
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.LakebedError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_error_has_the_exit_code_of_the_design(kind: type[errors.LakebedError]) -> None:
    assert exit_code(kind("it failed")) == CODES[kind.__name__]


def test_an_error_says_what_found_and_what_to_do() -> None:
    error = errors.NotFound("there is none", subject="x", expected="a table", found="a view", advice="Create it.")
    assert error_text(error) == "x: there is none\n  expected: a table\n  found: a view\n  Create it."
    assert json.loads(error_json(error)) == {
        "error": "not_found",
        "problem": "there is none",
        "subject": "x",
        "expected": "a table",
        "found": "a view",
        "advice": "Create it.",
        "exit": 7,
    }


def test_an_error_moves_no_cursor_of_a_terminal() -> None:
    assert "\x1b" not in error_text(errors.Invalid("bad", subject="\x1b[2J"))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("describe sales.none", 7),
        ("branch main", 8),
        ("evolve sales.orders --add x:nosuchtype", 9),
        ("drop sales.orders --at 4", 10),
        ("switch nosuch", 7),
        ("head sales.orders#99999", 9),
        ("head sales.orders --where nosuch=1", 9),
        ("head", 2),
        ("head sales.orders -n many", 2),
        ("purge sales.orders", 7),
        ("create sales.orders id:long", 8),
        ("load sales.orders nosuch.csv", 7),
    ],
)
def test_a_failed_word_ends_with_its_code_and_a_sentence(cli: Cli, lake: lakebed.Lake, words: str, code: int) -> None:
    answer = cli(*words.split())
    assert answer.code == code, answer.err
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert len(answer.err.strip()) > 10


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("ls nosuch", "`lakebed ls -r` lists"),
        ("head sales.none", "`lakebed ls -r` lists"),
        ("log nosuch", "`lakebed ls -r` lists"),
        ("merge nosuch", "`lakebed branch` lists"),
        ("drop sales", "use --cascade"),
        ("count sales.orders --at 2020-01-01", "`lakebed log` shows"),
        ("count sales.orders --at nonsense", "A tag is named by --on"),
        ("query selec", ""),
        ("conflicts", "`lakebed merge REF --keep-conflicts` begins one"),
        ("blame sales.orders 77", "ask an earlier version: --at VERSION"),
        ("partition sales.orders --drop id=9", "`lakebed evolve TABLE --partition-by dt`"),
    ],
)
def test_advice_speaks_the_words_of_the_command_line(cli: Cli, lake: lakebed.Lake, words: str, advice: str) -> None:
    answer = cli(*words.split(" ", 3))
    assert answer.code in (7, 9), answer.err
    assert advice in answer.err
    assert not [sign for sign in ("(…)", "=True", "=…", "()") if sign in answer.err], answer.err


def test_where_the_named_folder_has_no_lake_the_advice_names_it(cli: Cli, folder: Path) -> None:
    assert "`lakebed init shop`" in cli("ls", "--lake", "shop").err
    (folder / "orders.csv").write_text("id\n1\n")
    answer = cli("ls", "--lake", "orders.csv")
    assert (answer.code, "found: a file" in answer.err, "lakebed init" in answer.err) == (7, True, False)
    assert "None" not in cli("ls").err


def test_trace_shows_where_it_failed(cli: Cli, lake: lakebed.Lake) -> None:
    answer = cli("describe", "sales.none", "--trace")
    assert answer.code == 7
    assert "Traceback" in answer.err


def test_an_error_in_json_is_one_object_on_the_standard_error(cli: Cli, lake: lakebed.Lake) -> None:
    answer = cli("describe", "sales.none", "--json")
    assert answer.out == ""
    assert json.loads(answer.err)["error"] == "not_found"
    usage = cli("head", "--json")
    assert json.loads(usage.err) == {"error": "usage", "problem": "Missing argument 'TABLE'.", "exit": 2}


def test_where_there_is_no_lake_the_answer_says_how_to_get_one(cli: Cli, folder: Path) -> None:
    answer = cli("ls")
    assert answer.code == 7
    assert "lakebed init" in answer.err
    assert list(folder.iterdir()) == []


def test_a_lake_is_found_from_a_folder_inside_it(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("init").code == 0
    (folder / "a/b").mkdir(parents=True)
    monkeypatch.chdir(folder / "a/b")
    assert cli("status").code == 0
    assert cli("init").code == 0, "a folder inside a lake can be one of its own"


def test_a_lake_that_is_opened_for_reading_refuses_changes(cli: Cli, lake: lakebed.Lake, folder: Path) -> None:
    url = f"file:{folder}?read_only=true"
    assert cli("count", "sales.orders", "--lake", url).out == "3\n"
    refused = cli("drop", "sales.orders", "--lake", url)
    assert refused.code == 10
    assert "read_only=True" not in refused.err
    assert "reading only" in cli("status", "--lake", url).out


def test_the_variable_names_the_lake_and_the_option_wins(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        assert cli("init", name).code == 0
    monkeypatch.setenv("LAKEBED_LAKE", "one")
    assert cli("status", "--json").json[0]["lake"] == str(folder / "one")
    assert cli("status", "--json", "--lake", "two").json[0]["lake"] == str(folder / "two")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *(("brunch", "branch"), ("undo", "revert"), ("resolve", "conflicts"), ("checkout", "switch"), ("rm", "drop")),
        *(("config", "set"), ("use", "switch"), ("get", "head"), ("stash", "branch")),  # conflicts, usage, set, status
    ],
)
def test_a_word_of_git_or_a_misspelt_one_is_answered_with_ours(cli: Cli, typed: str, meant: str) -> None:
    answer = cli(typed)
    assert answer.code == 2
    assert f"Did you mean {meant}?" in answer.err


def test_every_word_that_is_suggested_exists() -> None:
    named = {name for text in SENTENCES.values() for name in re.findall(r"`lakebed ([a-z-]+)", text)}
    assert set(ELSEWHERE.values()) | named <= set(WORDS)
    assert not {*ELSEWHERE, *SENTENCES} & set(WORDS)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("commit", "makes a commit"),
        ("delete", "`lakebed sql` changes rows"),
        ("gc", "Nothing expires"),
        ("serve", "yet"),
    ],
)
def test_a_word_that_has_no_counterpart_was_taken_for_one_with_the_same_letters(
    cli: Cli, typed: str, said: str
) -> None:
    """What it did: `commit` was answered with "Did you mean compact?"."""
    answer = cli(typed)
    assert answer.code == 2
    assert said in answer.err
    assert "Did you mean" not in answer.err


def test_help_can_be_typed_as_a_word(cli: Cli) -> None:
    assert cli("help").out == cli("--help").out
    assert cli("help", "branch").out == cli("branch", "--help").out


@pytest.mark.parametrize("typed", ["orders", "sales.order", "Sale.Orders"])
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(cli: Cli, lake: lakebed.Lake, typed: str) -> None:
    for word in ("head", "describe"):
        answer = cli(word, typed)
        assert answer.code == 7
        assert "Did you mean sales.orders?" in answer.err


def test_a_misspelt_table_had_no_differences_and_now_does_not_exist(cli: Cli, lake: lakebed.Lake) -> None:
    assert cli("diff", "3", "main", "sales.orders").code == 0
    assert cli("diff", "4", "main", "sales.orders").code == 0, "it has no differences"
    answer = cli("diff", "3", "main", "sales.order")
    assert answer.code == 7
    assert "Did you mean sales.orders?" in answer.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("query", "@."), 9, "Is a directory"),
        (("export", "sales.orders", "no/such/orders.csv"), 7, "there is no folder for this file"),
        (("export", "sales.orders", f"{'x' * 300}.csv"), 9, "too long"),
        (("load", "a.b", "sales.csv/x.csv"), 7, "there is no such file"),
        (("query", "@bad.sql"), 9, "expected: UTF-8"),
    ],
)
def test_what_the_system_refuses_was_called_a_bug(
    cli: Cli, lake: lakebed.Lake, folder: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    (folder / "sales.csv").write_text("id\n1\n")
    (folder / "bad.sql").write_bytes(b"select '\xff'")
    answer = cli(*words)
    assert answer.code == code, answer.err
    assert said in answer.err
    assert "bug" not in answer.err


NOBODY = """
import os, sys
from lakebed.cli.main import run

os.chdir(sys.argv[1])
words = ["status", "ls -r", "head sales.orders -n 1", "drop sales.orders", "switch dev"]
for line in words:  # all that they need is loaded, since this Python may be in a folder of root
    run([*line.split(), "--at", "3", "--lake", sys.argv[1] + "/nosuch"])
run(["ls", "--lake", sys.argv[2]])
run(["head", "sales.orders", "--lake", sys.argv[2]])
run(["dropped", "--lake", sys.argv[2]])
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for line in words:
    print(f"{line}: {run(line.split())}", flush=True)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user: run as root, as CI does")
def test_a_lake_that_one_may_only_read_could_not_be_opened_without_a_url(
    folder: Path, lake: lakebed.Lake, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with TemporaryDirectory() as name:  # pytest's own folders are for root alone
        copy = Path(name)
        lake.catalog().create_branch("dev")
        lake.backup(copy / "lake")
        for path in (copy, copy / "lake", *(copy / "lake").rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        command = [sys.executable, "-c", NOBODY, str(copy / "lake"), str(folder)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert re.findall(r"^[a-z].*: \d+$", answer.stdout, re.MULTILINE) == [
        "status: 0",
        "ls -r: 0",
        "head sales.orders -n 1: 0",
        "drop sales.orders: 10",
        "switch dev: 10",
    ], answer.stderr
    assert "the lake is open for reading only" in answer.stdout
    assert "Ask for write access to its folder" in answer.stderr


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_negative_number_is_quoted_with_the_sign_that_was_typed(
    cli: Cli, lake: lakebed.Lake, form: tuple[str, ...]
) -> None:
    answer = cli("head", "sales.orders", "-n", "-3", *form)
    assert answer.code == 2
    assert "'-3'" in answer.err


def test_a_pair_that_is_not_one_is_answered_with_its_shape(cli: Cli, lake: lakebed.Lake) -> None:
    assert "'note' is not COLUMN:TYPE." in cli("evolve", "sales.orders", "--add", "note").err
    assert "'a' is not OLD=NEW." in cli("evolve", "sales.orders", "--rename", "a").err


def test_a_load_into_a_tag_says_how_to_write_there(cli: Cli, lake: lakebed.Lake) -> None:
    lake.catalog().create_tag("v1")
    answer = cli("load", "sales.orders", "-", "--on", "v1", given="id\n9\n")
    assert answer.code == 10
    assert "`lakebed branch NAME`" in answer.err


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["query", "delete from sales.orders"], "`lakebed load` changes tables"),
        (["bisect", "--good", "3", "select 1"], 'For example "select count(*) = 0 from sales.orders'),
    ],
)
def test_advice_about_a_query_names_no_call_of_python(
    cli: Cli, lake: lakebed.Lake, words: list[str], advice: str
) -> None:
    answer = cli(*words)
    assert answer.code == 9
    assert advice in answer.err
    assert not [sign for sign in ("(…)", "lambda", "handle") if sign in answer.err], answer.err


def test_rows_with_one_key_twice_are_refused_with_the_words_of_the_command_line(cli: Cli, lake: lakebed.Lake) -> None:
    answer = cli("load", "sales.new", "-", "--primary-key", "id", given="id\n1\n1\n")
    assert answer.code == 9
    assert "lakebed load --upsert" in answer.err


HUGE = "9" * 5_000


@pytest.mark.parametrize(
    "words",
    [
        ("show", HUGE),
        ("show", f"-{HUGE}"),
        ("diff", HUGE),
        ("revert", HUGE),
        ("count", "sales.orders", "--at", HUGE),
        ("query", "@."),
        ("query", "@binary"),
        ("query", "@a\0b"),
        ("query", "-"),
        ("load", "t", "x" * 5_000),
        ("load", "t", "a\0b.csv"),
        ("backup", "a\0b"),
        ("backup", "\ud800"),
        ("init", "\ud800"),
        ("inspect", "\ud800"),
    ],
    ids=lambda words: " ".join(words)[:20].encode("ascii", "backslashreplace").decode(),
)
def test_odd_arguments_and_files_were_called_a_bug(
    cli: Cli, lake: lakebed.Lake, folder: Path, words: tuple[str, ...]
) -> None:
    (folder / "binary").write_bytes(b"\xff\xfe")
    answer = cli(*words, given=b"\xff\xfe")
    assert answer.code in (2, 7, 9), answer.err
    assert "This is a bug" not in answer.err


def test_a_table_at_a_version_before_it_was_an_id_that_nobody_knows(cli: Cli, lake: lakebed.Lake) -> None:
    answer = cli("restore", "sales.orders", "2")
    assert (answer.code, answer.err) == (
        7,
        "error: sales.orders: the table did not exist at that version\n  found: version 2\n",
    )


def test_a_lake_without_commits_was_said_to_lack_the_commit_minus_zero(cli: Cli, folder: Path) -> None:
    cli("init")
    answer = cli("show")
    assert (answer.code, answer.err.splitlines()[0]) == (7, "error: there is no commit on this line yet")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("create table sales.items id:long", "lakebed create sales.items id:long"),
        ("create TABLE sales.items", "lakebed create sales.items"),
        ("create namespace eu", "lakebed create --namespace eu"),
        ("create catalog eu", "lakebed create --catalog eu"),
        ("create view v", "lakebed create --view QUERY v"),
    ],
)
def test_the_kind_of_what_is_created_was_taken_for_its_name(
    cli: Cli, lake: lakebed.Lake, typed: str, meant: str
) -> None:
    answer = cli(*typed.split())
    assert (answer.code, answer.err.splitlines()[-1]) == (2, f"Error: The kind is not written, or an option: {meant}")


@pytest.mark.parametrize("typed", ["sales.oders", '"sales"."oders"', "sale.orders", "orders"])
def test_a_misspelt_table_of_a_query_is_answered_with_the_right_one(cli: Cli, lake: lakebed.Lake, typed: str) -> None:
    pytest.importorskip("duckdb", reason="pip install 'lakebed[duckdb]'")
    answer = cli("query", f"select * from {typed}")
    assert (answer.code, "Did you mean sales.orders?" in answer.err) == (7, True)
